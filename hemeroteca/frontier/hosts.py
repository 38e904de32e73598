"""Hosts with work: when each may be asked again, and which of those that may has the best visit."""

import heapq
from collections import deque
from typing import TYPE_CHECKING

from hemeroteca.frontier.models import Host
from hemeroteca.frontier.site_settings import SiteSettings
from hemeroteca.frontier.visit import Visit

if TYPE_CHECKING:
    from hemeroteca.frontier.lease import Lease


class HostQueue:
    """A host with work: when it may be asked again, and its next visits."""

    __slots__ = (
        "asleep",
        "at",
        "best",
        "crawls",
        "delay",
        "failures",
        "given_up",
        "given_up_origin",
        "held",
        "holder",
        "id",
        "name",
        "note",
        "out",
        "ready",
        "settings",
        "ticket",
    )

    def __init__(self, row: Host, now: float) -> None:
        self.id = row.pk
        self.name = row.name
        self.delay = row.delay_ms / 1000
        self.at = min(row.next_ms / 1000, now + self.delay)  # later: the clock was ahead when it was written
        self.failures = row.failures
        self.note = row.note
        self.settings = SiteSettings.read(row.settings)
        self.ready: deque[Visit] = deque()  # the best first
        self.best = float("-inf")  # no visit of it has a higher score
        self.crawls: set[int] = set()  # those that may have visits queued here
        self.holder: Lease | None = None  # who may ask it now …
        self.held = 0  # … for so many visits
        self.ticket = 0  # its place in the order of hosts; 0: none
        self.asleep = False  # … at the time its next visit is due
        self.out = 0  # pages leased, or ended and not on disk yet
        self.given_up = ""  # why its visits will be failed at the next `write` …
        self.given_up_origin = ""  # … those of this origin; empty: all


class HostOrder:
    """Which host is next: of those whose time has come, the one with the best visit.

    An entry counts only while its number is the host's ticket: a host that changes its place leaves the old one behind.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, HostQueue]] = []  # by time
        self._open: list[tuple[float, int, HostQueue]] = []  # by score, best first, then in the order they came
        self._tickets = 0
        self._now = 0.0

    def add(self, host: HostQueue, not_before: float = 0.0) -> None:
        """Let a host wait for its turn, unless it does already or is held."""
        if not host.ticket and host.holder is None:
            host.asleep = not_before > host.at
            heapq.heappush(self._waiting, (max(host.at, not_before), self._ticket(host), host))

    def wake(self, host: HostQueue, score: float) -> None:
        """It has a new visit: it may be asleep until another is due, or stand behind hosts with worse ones."""
        better = score > host.best
        host.best = max(score, host.best)
        if host.asleep:
            host.ticket, host.asleep = 0, False
        elif better and host.ticket and host.at <= self._now:
            self.reopen(host)
        self.add(host)

    def reopen(self, host: HostQueue) -> None:
        """Let a host that may be asked take its place by its best visit."""
        heapq.heappush(self._open, (-host.best, self._ticket(host), host))

    def rerank(self, host: HostQueue, best: float) -> None:
        """Its visits have other scores than before."""
        host.best = best
        if host.ticket and not host.asleep and host.at <= self._now:
            self.reopen(host)

    def pop(self, now: float) -> HostQueue | None:
        """The host to ask next; it stands here no longer."""
        self._now = now
        waiting = self._waiting
        while waiting and waiting[0][0] <= now:
            _, ticket, host = heapq.heappop(waiting)
            if ticket == host.ticket:
                heapq.heappush(self._open, (-host.best, ticket, host))
        if not _valid_first(self._open):
            return None
        host = heapq.heappop(self._open)[2]
        host.ticket, host.asleep = 0, False
        return host

    @property
    def best(self) -> float:
        """The best score among the hosts that may be asked."""
        return -self._open[0][0] if _valid_first(self._open) else float("-inf")

    def next_time(self) -> float | None:
        """When a host may be asked next; None when none waits."""
        if _valid_first(self._open):
            return self._now
        return self._waiting[0][0] if _valid_first(self._waiting) else None

    def clear(self) -> None:
        self._waiting, self._open = [], []

    def _ticket(self, host: HostQueue) -> int:
        self._tickets += 1
        host.ticket = self._tickets
        return self._tickets


def _valid_first(heap: list[tuple[float, int, HostQueue]]) -> bool:
    """Drop entries that hosts left behind; whether one remains."""
    while heap and heap[0][1] != heap[0][2].ticket:
        heapq.heappop(heap)
    return bool(heap)

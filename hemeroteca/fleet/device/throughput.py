"""How much a device does: how long its requests take, how much of what it lends is used, how much more work it
wants."""

from __future__ import annotations

from collections.abc import Iterable

from hemeroteca.fleet.device.result_file import FetchedUrl
from hemeroteca.fleet.device.work_in_hand import DeviceHost

AHEAD_SECONDS = 3.0  # of work it wants in hand …
SPARE = 1.1  # … and a little more: requests differ in length, and hosts in hand are closed to everybody else
FIRST_SECONDS = 0.5  # that a request is thought to take, before one was made
MAX_HELD = 1024  # URLs in hand


class Throughput:
    """`parallel`: requests it may make at once. Times are monotonic seconds."""

    def __init__(self, parallel: int, now: float) -> None:
        self._parallel = parallel
        self._seconds = 0.0  # of a request, on average …
        self._measured = 0  # … over so many
        self._busy_seconds = self._work_seconds = 0.0  # of requests, and with work in hand …
        self._noted = now  # … until then

    @property
    def speed(self) -> float:
        """URLs per second it could do: what runs at once, by the time a request takes. 0: nobody knows yet."""
        return self._parallel / self._seconds if self._seconds and self._measured >= self._parallel else 0.0

    @property
    def used(self) -> float:
        """Requests under way, on average while it had work."""
        return self._busy_seconds / self._work_seconds if self._work_seconds else 0.0

    def measure(self, url: str, answer: FetchedUrl) -> None:
        """How long a request takes here: an average that forgets. Files of rules are quicker than pages."""
        if not answer.status or url.endswith("/robots.txt"):
            return
        self._measured += 1
        share = max(0.05, 1 / self._measured)
        self._seconds += share * (answer.seconds - self._seconds)

    def note(self, now: float, under_way: int, has_work: bool) -> None:
        """Before what is under way or in hand changes."""
        passed, self._noted = now - self._noted, now
        self._busy_seconds += passed * under_way
        self._work_seconds += passed * has_work

    def room(self, hosts: Iterable[DeviceHost], under_way: int, now: float) -> int:
        """URLs there is room for; none while it has enough to do. A host's URLs count as often as it may be asked
        soon: a hundred of one host keep nobody busy, and hosts in hand are closed to everybody else."""
        each = self._seconds or FIRST_SECONDS
        held = soon = 0
        for host in hosts:
            held += len(host.jobs)
            left = AHEAD_SECONDS - max(0.0, host.at - now)
            if left > 0:
                soon += min(len(host.jobs), 1 + int(left / (each + max(host.delay, host.factor * each))))
        enough = SPARE * self._parallel * max(1.0, AHEAD_SECONDS / each)
        if under_way < self._parallel:  # a limit of its own, or many hosts wait at once: others may help
            enough *= 2
        return max(0, MAX_HELD - held) if soon < enough else 0

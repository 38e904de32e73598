"""Visits without an answer: pages and hosts rest longer each time, and an address that never answered is tried again.

A host that is down gets a single probe at a time, so that nothing waits to fall on it the moment it is back.
"""

import msgspec

from hemeroteca.frontier.models import Page
from hemeroteca.urls.candidate import Candidate
from hemeroteca.watch.scheduler_state import (
    HOST_QUEUE,
    VISIT_PRIORITY,
    ActiveSubscription,
    SchedulerState,
    VisitUnderWay,
)
from hemeroteca.watch.visits import planner_hour

DOWN_AFTER = 3  # visits in a row without an answer after which a host gets single probes
PROBE_HOURS = (0.25, 24.0)  # between probes of a host that is down: first, and at most (doubling)


class Entrance(msgspec.Struct):
    """The address of a subscription while it has never answered."""

    failures: int
    retry_at: float


class DownHost(msgspec.Struct):
    """A host that does not answer."""

    failures: int = 0
    until: float = 0.0


class Outages:
    def __init__(self, state: SchedulerState) -> None:
        self._state = state
        self._down: dict[str, DownHost] = {}
        self._entrances: dict[int, Entrance] = {}

    def host_failed(self, site: str) -> None:
        down = self._down.setdefault(site, DownHost())
        down.failures += 1
        first, most = PROBE_HOURS
        down.until = self._state.clock() + 3600 * min(first * 2.0 ** max(0, down.failures - DOWN_AFTER), most)

    def host_answered(self, site: str) -> None:
        self._down.pop(site, None)

    def room(self, site: str, now: float) -> int:
        """Visits of a host that may wait at a time."""
        down = self._down.get(site)
        if down is None or down.failures < DOWN_AFTER:
            return HOST_QUEUE
        return 0 if down.until > now else 1

    def down(self) -> dict[str, float]:
        """Hosts that are down, and when each is tried again."""
        return {site: down.until for site, down in self._down.items() if down.failures >= DOWN_AFTER}

    def no_answer(
        self, sub: ActiveSubscription, key: int, site: str, reason: str, at_ms: int, asked: bool = True
    ) -> None:
        """`asked`: a request was made; not, when a page was given up together with its host."""
        page = self._state.pages.get(key)
        first = min(3600.0, sub.fixed_hours * 3600) if sub.mode == "fixed" else 3600.0
        if page is None and key in sub.seeds:
            failures = min(self._entrances[key].failures + 1, 30) if key in self._entrances else 1
            self._entrances[key] = Entrance(failures, at_ms / 1000 + min(first * 2.0 ** (failures - 1), 86_400.0))
        if page is not None:
            page.failures = min(page.failures + 1, 30)
            wait = min(first * 2.0 ** (page.failures - 1), 7 * 86_400.0)
            page.retry_at = at_ms / 1000 + wait
            if sub.policy is None and key in self._state.plan.planner:
                self._state.plan.planner.fail([key], planner_hour(at_ms))
                self._state.plan.visit_early(key, page, page.retry_at)
            elif sub.policy is not None:
                sub.policy.postpone(key, planner_hour(page.retry_at * 1000))
            self._state.writes.page_failed(key, int(page.retry_at * 1000), wait / 3600)
        sub.failures += asked or not sub.failures
        sub.failing_since_ms = sub.failing_since_ms or at_ms
        self._state.writes.trouble(sub.id, sub.failures, sub.failing_since_ms, f"{site}: {reason}")

    def well_again(self, sub: ActiveSubscription) -> None:
        if sub.failures:
            sub.failures = sub.failing_since_ms = 0
            self._state.writes.trouble(sub.id, 0, 0, "")

    def find_lost(self, now: float) -> None:
        """Visits that ended without a word: their host was given up, or their crawl ended."""
        old = self._state.under_way.overdue(now)
        for start in range(0, len(old), 500):
            rows = Page.objects.filter(key__in=old[start : start + 500]).exclude(state=Page.State.QUEUED)
            for key, reason, state in rows.values_list("key", "reason", "state"):
                page = self._state.pages[key]
                self._state.under_way.end(key)
                sub = self._state.subs.get(page.sub)
                if sub is not None and state != Page.State.DONE:  # done: by another crawl that had it queued
                    reason = reason or "the visit ended without an answer"
                    self.no_answer(sub, key, page.site, reason, int(now * 1000), asked=False)

    def try_entrances(self, now: float) -> list[Candidate]:
        """Addresses that have never answered: a subscription made while its site was down must not wait for ever."""
        missing = {key: sub for sub in self._state.subs.values() for key in sub.seeds if key not in self._state.pages}
        keys, found = list(missing), []
        for start in range(0, len(keys), 500):
            failed = Page.objects.filter(
                key__in=keys[start : start + 500], state__in=[Page.State.FAILED, Page.State.EXCLUDED]
            )
            for key, url, host, reason in failed.values_list("key", "url", "host__name", "reason"):
                sub, entrance = missing[key], self._entrances.get(key)
                if entrance is None and sub.failures:  # it was counted before a restart
                    entrance = self._entrances[key] = Entrance(sub.failures, now)
                if entrance is None or key in self._state.under_way:
                    self._state.under_way.end(key)
                    self.no_answer(sub, key, host, reason or "no answer", int(now * 1000))
                elif now >= entrance.retry_at and sub.is_open and self._state.budgets.open(sub, host):
                    self._state.under_way.start(key, VisitUnderWay(host, now, planned=False))
                    found.append(Candidate(key, url, host, sub.crawl, priority=VISIT_PRIORITY))
        return found

    def forget_entrance(self, key: int) -> None:
        self._entrances.pop(key, None)

    def turn_back(self, now: float) -> None:
        for entrance in self._entrances.values():
            entrance.retry_at = min(entrance.retry_at, now + 3600)
        for down in self._down.values():
            down.until = min(down.until, now + 3600)

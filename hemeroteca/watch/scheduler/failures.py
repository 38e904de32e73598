"""Visits without an answer: pages and hosts rest longer each time, and an address that never answered is tried again.

A host that is down gets a single probe at a time, so that nothing waits to fall on it the moment it is back.
"""

import msgspec

from hemeroteca.frontier.models import Visit
from hemeroteca.frontier.visit import State as VisitState
from hemeroteca.urls.candidate import Candidate
from hemeroteca.watch import memory
from hemeroteca.watch.scheduler.budgets import Budgets
from hemeroteca.watch.scheduler.planning import Planning
from hemeroteca.watch.scheduler.state import HOST_QUEUE, State, Sub

DOWN_AFTER = 3  # visits in a row without an answer after which a host gets single probes
PROBES = (0.25, 24.0)  # hours between probes of a host that is down: first, and at most (doubling)


class Entrance(msgspec.Struct):
    """The address of a subscription while it has never answered."""

    failures: int
    retry_at: float
    asked: bool = False  # since the last failure


class Down(msgspec.Struct):
    """A host that does not answer."""

    failures: int = 0
    until: float = 0.0


class Failures:
    def __init__(self, state: State, budgets: Budgets, planning: Planning) -> None:
        self._state = state
        self._budgets = budgets
        self._planning = planning
        self._down: dict[str, Down] = {}
        self._entrances: dict[int, Entrance] = {}

    def host_failed(self, site: str) -> None:
        down = self._down.setdefault(site, Down())
        down.failures += 1
        first, most = PROBES
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

    def no_answer(self, sub: Sub, key: int, site: str, reason: str, at_ms: int, asked: bool = True) -> None:
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
            if sub.policy is None and key in self._planning.planner:
                self._planning.planner.fail([key], memory.hour(at_ms))
                self._planning.new_pages.retry(key, page)
            elif sub.policy is not None:
                sub.policy.postpone(key, memory.hour(page.retry_at * 1000))
            self._state.records.page_failed(key, int(page.retry_at * 1000), wait / 3600)
        sub.failures += asked or not sub.failures
        sub.failing_since_ms = sub.failing_since_ms or at_ms
        self._state.records.trouble(sub.id, sub.failures, sub.failing_since_ms, f"{site}: {reason}")

    def well_again(self, sub: Sub) -> None:
        if sub.failures:
            sub.failures = sub.failing_since_ms = 0
            self._state.records.trouble(sub.id, 0, 0, "")

    def find_lost(self, now: float) -> None:
        """Visits that ended without a word: their host was given up, or their crawl ended."""
        old = self._state.underway.overdue(now)
        for start in range(0, len(old), 500):
            rows = Visit.objects.filter(page__key__in=old[start : start + 500]).exclude(state=VisitState.QUEUED)
            for key, crawl, reason, state in rows.values_list("page__key", "crawl", "reason", "state"):
                page = self._state.pages[key]
                sub = self._state.subs.get(page.sub)
                if sub is not None and crawl != sub.crawl:
                    continue
                self._state.underway.end(key, page.site)
                if sub is not None and state != VisitState.DONE:
                    reason = reason or "the visit ended without an answer"
                    self.no_answer(sub, key, page.site, reason, int(now * 1000), asked=False)

    def try_entrances(self, now: float) -> list[Candidate]:
        """Addresses that have never answered: a subscription made while its site was down must not wait for ever."""
        missing = {key: sub for sub in self._state.subs.values() for key in sub.seeds if key not in self._state.pages}
        keys, found = list(missing), []
        for start in range(0, len(keys), 500):
            failed = Visit.objects.filter(page__key__in=keys[start : start + 500], state__gte=VisitState.FAILED)
            rows = failed.values_list("page__key", "page__url", "host__name", "crawl", "reason")
            for key, url, host, crawl, reason in rows:
                sub, entrance = missing[key], self._entrances.get(key)
                if crawl != sub.crawl:
                    continue
                if entrance is None and sub.failures:  # it was counted before a restart
                    entrance = self._entrances[key] = Entrance(sub.failures, now)
                if entrance is None or entrance.asked:
                    self.no_answer(sub, key, host, reason or "no answer", int(now * 1000))
                elif now >= entrance.retry_at and sub.is_open and self._budgets.open(sub, host):
                    entrance.asked = True
                    found.append(Candidate(key, url, host, sub.crawl))
        return found

    def forget_entrance(self, key: int) -> None:
        self._entrances.pop(key, None)

    def turn_back(self, now: float) -> None:
        for entrance in self._entrances.values():
            entrance.retry_at = min(entrance.retry_at, now + 3600)
        for down in self._down.values():
            down.until = min(down.until, now + 3600)

"""Visits without an answer: pages and hosts rest longer each time, and an address that never answered is tried again.

A host that is down gets a single probe at a time, so that nothing waits to fall on it the moment it is back.
"""

import msgspec
from django.db.models import Q

from hemeroteca import urls
from hemeroteca.frontier.models import QueuedVisit
from hemeroteca.frontier.visit import State
from hemeroteca.urls.candidate import Candidate
from hemeroteca.watch.answered_visit import planner_hour
from hemeroteca.watch.scheduler_state import HOST_QUEUE, ActiveSubscription, SchedulerState, VisitUnderWay

DOWN_AFTER = 3  # visits in a row without an answer after which a host gets single probes
PROBE_HOURS = (0.25, 24.0)  # between probes of a host that is down: first, and at most (doubling)


class Entrance(msgspec.Struct):
    """The address of a subscription while it has never answered."""

    url: str
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
        self._entrances: dict[tuple[int, int], Entrance] = {}  # by subscription and page
        self.asked = False  # somebody waits for one of them

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
        self, sub: ActiveSubscription, key: int, url: str, reason: str, at_ms: int, asked: bool = True
    ) -> None:
        """`asked`: a request was made; not, when a page was given up together with its host."""
        page = self._state.pages.get(key)
        first = min(3600.0, sub.fixed_hours * 3600) if sub.mode == "fixed" else 3600.0
        if page is None and key in sub.seeds:
            known = self._entrances.get((sub.id, key))
            failures = min(known.failures + 1, 30) if known is not None else 1
            again = at_ms / 1000 + min(first * 2.0 ** (failures - 1), 86_400.0)
            self._entrances[sub.id, key] = Entrance(url, failures, again)
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
        self._state.writes.trouble(sub.id, sub.failures, sub.failing_since_ms, f"{urls.host(url)}: {reason}")

    def well_again(self, sub: ActiveSubscription, key: int) -> None:
        """A page of it answered. An address that never did stays its trouble, whatever images or sitemaps answer."""
        self._entrances.pop((sub.id, key), None)
        if sub.failures and not any(number == sub.id for number, _key in self._entrances):
            sub.failures = sub.failing_since_ms = 0
            self._state.writes.trouble(sub.id, 0, 0, "")

    def load_entrances(self, sub: ActiveSubscription) -> None:
        """Addresses of a subscription that were given up before it was taken up."""
        missing = [key for key in sub.seeds if key not in self._state.pages]
        error = Q(state=State.DONE, reason__startswith="http-")  # which was captured
        failed = QueuedVisit.objects.filter(Q(state__gte=State.FAILED) | error, crawl=sub.crawl, page__key__in=missing)
        for key, url, reason in failed.values_list("page__key", "page__url", "reason"):
            if sub.failures:  # it was counted before
                self._entrances[sub.id, key] = Entrance(url, sub.failures, self._state.now)
            else:
                self.no_answer(sub, key, url, reason or "no answer", self._state.now_ms)

    def check(self, sub: int) -> None:
        """Somebody wants the pages of a subscription visited at once: what never answered is tried, too."""
        for (number, _key), entrance in self._entrances.items():
            if number == sub:
                entrance.retry_at = 0.0
                self.asked = True

    def try_entrances(self, now: float) -> list[Candidate]:
        """Addresses that have never answered: a subscription made while its site was down must not wait for ever."""
        found = []
        self.asked = False
        for (number, key), entrance in self._entrances.items():
            sub, host = self._state.subs.get(number), urls.host(entrance.url)
            if sub is None or key in self._state.under_way or now < entrance.retry_at:
                continue
            if sub.is_open and self._state.budgets.open(sub, host):
                self._state.under_way.start(key, VisitUnderWay(sub.crawl, host, planned=False))
                found.append(Candidate(key, entrance.url, host, sub.crawl))
        return found

    def forget_entrances(self, *, key: int | None = None, sub: int | None = None) -> None:
        """Of a page that answers, or of a subscription that is let go."""
        self._entrances = {of: entrance for of, entrance in self._entrances.items() if of[1] != key and of[0] != sub}

    def turn_back(self, now: float) -> None:
        for entrance in self._entrances.values():
            entrance.retry_at = min(entrance.retry_at, now + 3600)
        for down in self._down.values():
            down.until = min(down.until, now + 3600)

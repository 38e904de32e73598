"""Which pages are visited now: every way to be chosen has its turn, under what is allowed at all."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Protocol

from hemeroteca.frontier.models import Page, Visit
from hemeroteca.frontier.visit import State as VisitState
from hemeroteca.urls.candidate import Candidate
from hemeroteca.watch.scheduler.announcements import Announcements
from hemeroteca.watch.scheduler.budgets import Budgets
from hemeroteca.watch.scheduler.failures import Failures
from hemeroteca.watch.scheduler.state import Allowed, State


class Way(Protocol):
    """A reason to visit pages, see `ways`."""

    def due(self, now: float, allowed: Allowed) -> Iterator[int]:
        """Pages to visit for it, those that are allowed, the best first."""


class Choosing:
    def __init__(
        self, state: State, budgets: Budgets, failures: Failures, announcements: Announcements, ways: Sequence[Way]
    ) -> None:
        self._state = state
        self._budgets = budgets
        self._failures = failures
        self._announcements = announcements
        self._ways = ways

    def choose(self, now: float) -> list[int]:
        chosen: list[int] = []
        due = [way.due(now, self._allowed) for way in self._ways]
        for round_ in zip_longest(*due):  # each way gets its turn, so that none starves the others
            for key in round_:
                if key is None:
                    continue
                page = self._state.pages.get(key)
                if page is None:
                    continue  # its subscription was set aside meanwhile
                sub = self._state.subs[page.sub]
                chosen.append(key)
                self._state.underway.start(key, page.site, now)
                self._budgets.start(sub, page.site, told=key in self._announcements.hasty)
            if not self._budgets.instance.open:
                break
        return [key for key in chosen if key in self._state.pages]

    def found(self, keys: list[int]) -> list[Candidate]:
        found: list[Candidate] = []
        for start in range(0, len(keys), 500):
            part = keys[start : start + 500]
            crawls = {key: self._state.subs[self._state.pages[key].sub].crawl for key in part}
            visits = Visit.objects.filter(page__key__in=part, crawl__in=set(crawls.values()))
            known = {
                (key, crawl): (depth, role, state)
                for key, crawl, depth, role, state in visits.values_list("page__key", "crawl", "depth", "role", "state")
            }
            for key, url, host in Page.objects.filter(key__in=part).values_list("key", "url", "host__name"):
                depth, role, state = known.get((key, crawls[key]), (0, 0, VisitState.DONE))
                if state != VisitState.QUEUED:  # else its crawl has it in its queue already
                    found.append(Candidate(key, url, host, crawls[key], depth, role=role))
        return found

    def _allowed(self, key: int, now: float, told: bool = False) -> bool:
        page = self._state.pages.get(key)
        if page is None or key in self._state.underway or page.retry_at > now:
            return False
        sub = self._state.subs.get(page.sub)
        if sub is None or not sub.is_open or now * 1000 - page.last_ms < sub.min_ms:
            return False
        room = self._failures.room(page.site, now)
        return self._state.underway.at(page.site) < room and self._budgets.open(sub, page.site, told)

"""Which pages are visited now: several ways to be chosen, each with its turn, under what is allowed at all."""

from collections.abc import Iterator
from itertools import zip_longest

from hemeroteca.frontier.models import Page
from hemeroteca.frontier.values import Found
from hemeroteca.watch import memory
from hemeroteca.watch.scheduler.enrolment import Enrolment
from hemeroteca.watch.scheduler.explaining import Explaining
from hemeroteca.watch.scheduler.hearing import Hearing
from hemeroteca.watch.scheduler.planning import Planning
from hemeroteca.watch.scheduler.purses import Purses
from hemeroteca.watch.scheduler.state import HOST_QUEUE, VISIT_PRIORITY, WORTH, State
from hemeroteca.watch.scheduler.trouble import Trouble
from hemeroteca.watch.scheduler.underway import UnderWay
from hemeroteca.watch.scheduler.youth import Youth
from hemeroteca.watch.values import HOUR_MS

AT_ONCE = 60.0  # s after a visit from which a signal may bring another
HASTY = 8  # pages visited at a time because of signals alone: sources that lie are found out by these


class Choosing:
    def __init__(
        self,
        state: State,
        enrolment: Enrolment,
        purses: Purses,
        planning: Planning,
        underway: UnderWay,
        trouble: Trouble,
        hearing: Hearing,
        youth: Youth,
        explaining: Explaining,
    ) -> None:
        self._state = state
        self._enrolment = enrolment
        self._purses = purses
        self._planning = planning
        self._underway = underway
        self._trouble = trouble
        self._hearing = hearing
        self._youth = youth
        self._explaining = explaining
        self._late: dict[int, list[int]] = {}  # by subscription, see `find_late`

    def choose(self, now: float) -> list[int]:
        chosen: list[int] = []
        ways = (
            *(self._listings(now), self._by_policy(now), self._youth.due(now, self._allowed)),
            *(self._by_signal(now), self._by_planner(now)),
        )
        for round_ in zip_longest(*ways):  # each way gets its turn, so that none starves the others
            for key in round_:
                if key is None:
                    continue
                page = self._state.pages.get(key)
                if page is None:
                    continue  # its subscription was set aside meanwhile
                sub = self._state.subs[page.sub]
                chosen.append(key)
                self._underway.start(key, now)
                self._purses.start(sub, page.site, told=key in self._hearing.hasty)
            if not self._purses.instance.open:
                break
        return [key for key in chosen if key in self._state.pages]

    def find_late(self, now: float) -> None:
        """Policies that only rank pages know no longest interval: their pages that have waited it out."""
        self._late = {sub.id: [] for sub in self._state.subs.values() if sub.policy is not None}
        if not self._late:
            return
        for key, page in self._state.pages.items():
            late = self._late.get(page.sub)
            if late is None or page.poll or len(late) >= HOST_QUEUE:
                continue
            if now * 1000 - page.last_ms >= self._state.subs[page.sub].max_ms:
                late.append(key)

    def found(self, keys: list[int]) -> list[Found]:
        found: list[Found] = []
        for start in range(0, len(keys), 500):
            rows = Page.objects.filter(key__in=keys[start : start + 500]).values_list(
                "key", "url", "host__name", "depth", "role", "state"
            )
            for key, url, host, depth, role, state in rows:
                if state == Page.State.QUEUED:
                    continue  # some crawl has it in its queue already; `find_lost` sees what becomes of it
                crawl = self._state.subs[self._state.pages[key].sub].crawl
                found.append(Found(key, url, host, crawl, depth, 0, role, VISIT_PRIORITY))
        return found

    def _allowed(self, key: int, now: float, told: bool = False) -> bool:
        page = self._state.pages.get(key)
        if page is None or key in self._underway or page.retry_at > now:
            return False
        sub = self._state.subs.get(page.sub)
        if sub is None or not sub.is_open or now * 1000 - page.last_ms < sub.min_ms:
            return False
        room = self._trouble.room(page.site, now)
        return self._underway.at(page.site) < room and self._purses.open(sub, page.site, told)

    def _listings(self, now: float) -> Iterator[int]:
        for key in list(self._state.polled):
            page = self._state.pages.get(key)
            if page is None:
                continue
            if now * 1000 - page.last_ms >= page.poll * HOUR_MS and self._allowed(key, now):
                self._state.records.page_chosen(key, int(now * 1000), {"code": "listing", "hours": page.poll})
                yield key

    def _by_policy(self, now: float) -> Iterator[int]:
        hour = memory.hour(now * 1000)
        for sub in list(self._state.subs.values()):
            if sub.policy is None or not sub.is_open:
                continue
            due: list[int] = []
            with self._enrolment.alone(sub.id):
                due = [*self._late.get(sub.id, ()), *sub.policy.due(hour, HOST_QUEUE)]
            for key in due:
                if key in self._state.pages and self._allowed(key, now):
                    self._explaining.why_by_policy(sub, key, now)
                    yield key

    def _by_signal(self, now: float) -> Iterator[int]:
        """Announced pages, at once: the planner lets a page rest for an hour, and an instance spreads its visits out.

        Few at a time: those of a source that lies are no longer worth a visit once these have been looked at.
        """
        hour = memory.hour(now * 1000)
        under_way = sum(key in self._underway for key in self._hearing.hasty)
        looked = 0
        for key in list(self._hearing.hasty):
            page = self._state.pages.get(key)
            if page is None or key not in self._hearing.told or key not in self._planning.planner:
                del self._hearing.hasty[key]  # visited meanwhile
                continue
            if under_way >= HASTY or looked >= HOST_QUEUE:
                return
            looked += 1
            if now - page.last_ms / 1000 < AT_ONCE or not self._allowed(key, now, told=True):
                continue
            chance = float(self._planning.planner.chance([key], hour)[0])
            if chance * min(self._state.subs[page.sub].weight, 2.0) < WORTH:
                del self._hearing.hasty[key]  # not believed: the planner's affair
                continue
            under_way += 1
            self._explaining.why(key, now, chance)
            yield key

    def _by_planner(self, now: float) -> Iterator[int]:
        """The planner's pages, best first, as long as they are worth a visit."""
        if not self._planning:
            return
        hour = memory.hour(now * 1000)
        self._planning.plan(now, self._purses.instance.visits)
        in_vain = 0
        while in_vain < 20 and (key := self._planning.planner.next()) is not None:
            if not self._allowed(key, now):
                in_vain += self._state.pages.get(key) is not None and key not in self._underway
                continue
            page = self._state.pages[key]
            sub = self._state.subs[page.sub]
            chance = float(self._planning.planner.chance([key], hour)[0])
            overdue = now * 1000 - page.last_ms >= sub.max_ms
            if not (sub.purse.visits.per_day or overdue or chance * min(sub.weight, 2.0) >= WORTH):
                in_vain += 5
                continue
            self._explaining.why(key, now, chance)
            yield key

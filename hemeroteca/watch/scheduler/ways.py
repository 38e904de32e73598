"""The ways a page comes to be visited. `choosing` gives each its turn; new pages have theirs in `new_pages`."""

from collections.abc import Iterator

from hemeroteca.watch import memory
from hemeroteca.watch.scheduler.announcements import Announcements
from hemeroteca.watch.scheduler.budgets import Budgets
from hemeroteca.watch.scheduler.explaining import Explaining
from hemeroteca.watch.scheduler.planning import Planning
from hemeroteca.watch.scheduler.state import HOST_QUEUE, WORTH, Allowed, State
from hemeroteca.watch.scheduler.subscriptions import Subscriptions
from hemeroteca.watch.values import HOUR_MS

AT_ONCE = 60.0  # s after a visit from which a signal may bring another
HASTY = 8  # pages visited at a time because of signals alone: sources that lie are found out by these


class Listings:
    """Feeds and sitemaps, each in the rhythm it was found to have."""

    def __init__(self, state: State) -> None:
        self._state = state

    def due(self, now: float, allowed: Allowed) -> Iterator[int]:
        for key in list(self._state.polled):
            page = self._state.pages.get(key)
            if page is None:
                continue
            if now * 1000 - page.last_ms >= page.poll * HOUR_MS and allowed(key, now):
                self._state.records.page_chosen(key, int(now * 1000), {"code": "listing", "hours": page.poll})
                yield key


class ByPolicy:
    """Pages of subscriptions with a policy of their own, when it or the longest interval asks for them."""

    def __init__(self, state: State, subscriptions: Subscriptions, explaining: Explaining) -> None:
        self._state = state
        self._subscriptions = subscriptions
        self._explaining = explaining
        self._late: dict[int, list[int]] = {}  # by subscription, see `find_late`

    def due(self, now: float, allowed: Allowed) -> Iterator[int]:
        hour = memory.hour(now * 1000)
        for sub in list(self._state.subs.values()):
            if sub.policy is None or not sub.is_open:
                continue
            due: list[int] = []
            with self._subscriptions.alone(sub.id):
                due = [*self._late.get(sub.id, ()), *sub.policy.due(hour, HOST_QUEUE)]
            for key in due:
                if key in self._state.pages and allowed(key, now):
                    self._explaining.why_by_policy(sub, key, now)
                    yield key

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


class BySignal:
    """Announced pages, at once: the planner lets a page rest for an hour, and an instance spreads its visits out.

    Few at a time: those of a source that lies are no longer worth a visit once these have been looked at.
    """

    def __init__(self, state: State, planning: Planning, announcements: Announcements, explaining: Explaining) -> None:
        self._state = state
        self._planning = planning
        self._announcements = announcements
        self._explaining = explaining

    def due(self, now: float, allowed: Allowed) -> Iterator[int]:
        hour = memory.hour(now * 1000)
        under_way = sum(key in self._state.underway for key in self._announcements.hasty)
        looked = 0
        for key in list(self._announcements.hasty):
            page = self._state.pages.get(key)
            if page is None or key not in self._announcements.told or key not in self._planning.planner:
                del self._announcements.hasty[key]  # visited meanwhile
                continue
            if under_way >= HASTY or looked >= HOST_QUEUE:
                return
            looked += 1
            if now - page.last_ms / 1000 < AT_ONCE or not allowed(key, now, told=True):
                continue
            chance = float(self._planning.planner.chance([key], hour)[0])
            if chance * min(self._state.subs[page.sub].weight, 2.0) < WORTH:
                del self._announcements.hasty[key]  # not believed: the planner's affair
                continue
            under_way += 1
            self._explaining.why(key, now, chance)
            yield key


class ByPlanner:
    """The planner's pages, best first, as long as they are worth a visit."""

    def __init__(self, state: State, planning: Planning, budgets: Budgets, explaining: Explaining) -> None:
        self._state = state
        self._planning = planning
        self._budgets = budgets
        self._explaining = explaining

    def due(self, now: float, allowed: Allowed) -> Iterator[int]:
        if not self._planning:
            return
        hour = memory.hour(now * 1000)
        self._planning.plan(now, self._budgets.instance.visits)
        in_vain = 0
        while in_vain < 20 and (key := self._planning.planner.next()) is not None:
            if not allowed(key, now):
                in_vain += self._state.pages.get(key) is not None and key not in self._state.underway
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

"""Pages that follow a policy with an interval per page (or a shared budget) instead of the planner.

The policies of `predict` work on arrays of a fixed size; here pages come and go. They are put into blocks: the pages
that came in the same week share one, so that the time a policy counts from its start is (nearly) that of the page.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np

from hemeroteca.predict import Calendar, World, country_calendar, policy_of, week_calendar
from hemeroteca.watch.answered_visit import PLANNER_ORIGIN

BLOCK = 256
WEEK = 168.0  # hours
REPLAYED = 60  # observations of a page that a policy which does not say learns from again after a start

# keys and how many of each, the newest → (key, hour, hours since the visit before, changed), in order of time
History = Callable[[Sequence[int], int], Iterable[tuple[int, float, float, bool]]]


class PolicyPages:
    """The pages of one subscription that follow a policy. Hours are planner time."""

    def __init__(self, name: str, *, fixed_hours: float, per_day: float, country: str, history: History) -> None:
        self.shares_budget = bool(getattr(policy_of(name), "budgeted", False))
        self._name = name
        self._fixed_hours = fixed_hours
        self._per_day = per_day
        self._country = country
        self._history = history
        self._blocks: list[_Block] = []
        self._where: dict[int, _Block] = {}
        self._waiting: dict[int, float] = {}  # pages of a shared budget that wait for the next, larger, block …
        self._gathered = -math.inf  # … made at most once an hour

    def __len__(self) -> int:
        return len(self._where) + len(self._waiting)

    def __contains__(self, key: int) -> bool:
        return key in self._where or key in self._waiting

    def add(self, pages: Sequence[tuple[int, float]]) -> None:
        """Pages and when each was last visited. What is known of them is learned again."""
        pages = [(key, last) for key, last in pages if key not in self]
        if not pages:
            return
        if self.shares_budget:
            self._waiting.update(pages)
            return
        for key, last in sorted(pages, key=lambda page: page[1]):
            week = math.floor(last / WEEK) * WEEK
            block = next((b for b in self._blocks if b.start == week and b.free), None)
            if block is None:
                block = self._new_block(week, BLOCK)
                self._blocks.append(block)
            block.add(key, last)
            self._where[key] = block
        self._replay([key for key, _ in pages])

    def discard(self, key: int) -> None:
        self._waiting.pop(key, None)
        block = self._where.pop(key, None)
        if block is not None:
            block.discard(key)

    def observe(self, key: int, hour: float, changed: bool) -> None:
        if key in self._where:
            self._where[key].observe(key, hour, changed)

    def notify(self, key: int, hour: float) -> None:
        if key in self._where:
            self._where[key].notify(key, hour)

    def postpone(self, key: int, hour: float) -> None:
        """No visit before this time."""
        if key in self._where:
            self._where[key].postpone(key, hour)

    def next_at(self, key: int) -> float | None:
        """When the policy wants the next visit; None when it only ranks pages."""
        return self._where[key].next_at(key) if key in self._where else None

    def due(self, hour: float, most: int, share: float = 1.0) -> list[int]:
        """Pages to visit now, the longest overdue first; below 1, when that share of their interval has passed."""
        if self._waiting and abs(hour - self._gathered) >= 1:
            self._gathered = hour
            self._gather(hour)
        found: list[tuple[float, int]] = []
        for block in self._blocks:
            found += block.due(hour, most, share)
        return [key for _, key in sorted(found)[:most]]

    def turn_back(self, hour: float) -> None:
        """The clock went back: nothing was seen in the future, and nothing waits for a time that is far away."""
        for block in self._blocks:
            block.turn_back(hour)

    def _gather(self, hour: float) -> None:
        """A budget is shared by one block: it is made anew, larger, and learns again what its pages taught."""
        pages = {**dict.fromkeys(self._where, hour), **self._waiting}
        self._waiting.clear()
        start = math.floor(min(pages.values()) / WEEK) * WEEK
        block = self._new_block(start, len(pages))
        self._blocks = [block]
        self._where = dict.fromkeys(pages, block)
        for key, last in pages.items():
            block.add(key, last)
        self._replay(list(pages))

    def _replay(self, keys: list[int]) -> None:
        for key, hour, gap, changed in self._history(keys, max(block.replayed for block in self._blocks)):
            self._where[key].observe(key, hour, changed, gap)

    def _new_block(self, start: float, size: int) -> "_Block":
        options = {"hours": self._fixed_hours} if self._name == "fixed" else {}
        first = PLANNER_ORIGIN + timedelta(hours=start)
        calendar = calendar_of(self._country, first) if self._country else week_calendar(first)
        budget = self._per_day or None if self.shares_budget else None
        world = World([""] * size, [""] * size, visits_per_step=budget, calendar=calendar)
        policy = policy_of(self._name)(**options)
        policy.start(world)
        return _Block(policy, start, size)


class _Block:
    """A policy and which page has which place in it. Times inside are hours since `start`."""

    def __init__(self, policy: Any, start: float, size: int) -> None:
        self.start = start
        self.free = list(range(size - 1, -1, -1))
        self._policy = policy
        self._place: dict[int, int] = {}
        self._key: dict[int, int] = {}
        self._intervals = hasattr(policy, "next")
        self.replayed = getattr(policy, "replayed", REPLAYED)
        if self._intervals:
            policy.next[:] = np.inf

    def add(self, key: int, last: float) -> None:
        place = self.free.pop()
        self._place[key], self._key[place] = place, key
        at = last - self.start
        self._policy.last[place] = at
        if self._intervals:
            # Pages found together must not be due together for ever: the first wait is half to a whole interval.
            self._policy.next[place] = at + self._policy.interval[place] * (0.5 + 0.5 * _spread(key))

    def discard(self, key: int) -> None:
        place = self._place.pop(key)
        del self._key[place]
        if self._intervals:
            self._policy.next[place] = np.inf  # its place is not used again: what it learned is another page's

    def observe(self, key: int, hour: float, changed: bool, gap: float | None = None) -> None:
        place = np.array([self._place[key]])
        if gap is not None:  # one of the past: what came before it may not be known
            self._policy.last[place] = hour - gap - self.start
        self._policy.observe(place, hour - self.start, np.array([changed]))

    def notify(self, key: int, hour: float) -> None:
        self._policy.notify(np.array([self._place[key]]), hour - self.start)

    def postpone(self, key: int, hour: float) -> None:
        if self._intervals:
            self._policy.next[self._place[key]] = hour - self.start

    def next_at(self, key: int) -> float | None:
        return float(self._policy.next[self._place[key]]) + self.start if self._intervals else None

    def due(self, hour: float, most: int, share: float) -> list[tuple[float, int]]:
        if self._intervals and share < 1:
            policy, at = self._policy, hour - self.start
            early = np.flatnonzero(policy.last + (policy.next - policy.last) * share <= at + 1e-6)
            return [(float(policy.next[p]) + self.start, self._key[p]) for p in early.tolist()[:most]]
        places = self._policy.choose(hour - self.start, most)
        if self._intervals:
            return [(float(self._policy.next[p]) + self.start, self._key[p]) for p in places.tolist()]
        return [(float(rank), self._key[p]) for rank, p in enumerate(places.tolist()) if p in self._key]

    def turn_back(self, hour: float) -> None:
        at = hour - self.start
        policy = self._policy
        policy.last[:] = np.minimum(policy.last, at)
        if self._intervals:
            wait = policy.interval * policy.stretch
            policy.next[:] = np.where(np.isinf(policy.next), policy.next, np.minimum(policy.next, at + wait))


def calendar_of(country: str, first: date = PLANNER_ORIGIN) -> Calendar:
    """Holidays of a country (`ES`) or of a part of it (`ES-MD`). Raises ValueError for one that is not known."""
    name, _, part = country.partition("-")
    return country_calendar(name, first, part or None)


def _spread(key: int) -> float:
    """A number in [0, 1) that is always the same for a page."""
    return (key * 0x9E3779B97F4A7C15 & 0xFFFFFFFF) / 0x100000000

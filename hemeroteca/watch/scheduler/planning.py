"""The planner at work: the pages it plans, what visits teach it, and the file it is kept in.

It is told things in batches, because each call is a pass over all pages it knows.
"""

import time
from collections.abc import Iterable, Sequence

import numpy as np
from django.db.models import Max

from hemeroteca.predict import Planner, country_calendar
from hemeroteca.watch import learning, memory, pacing
from hemeroteca.watch.budgets import Bucket
from hemeroteca.watch.models import Observation, WatchedPage
from hemeroteca.watch.scheduler.new_pages import NewPages
from hemeroteca.watch.scheduler.state import State
from hemeroteca.watch.values import HOUR_MS

SAVE = 1800.0  # s between two copies of what was learned

Newcomer = tuple[int, str, str, int]  # key, site, URL, ms of the last visit


class Planning:
    def __init__(self, state: State) -> None:
        self._state = state
        self.planner = Planner()
        self.new_pages = NewPages(state)
        self._newcomers: list[tuple[int, Newcomer]] = []  # subscription and page
        self._lessons: dict[int, tuple[float, bool]] = {}  # observations it has not been told yet
        self._plan_at = 0.0
        self._cost = 0.0  # s of processor time of the last plan
        self._save_at = state.clock() + SAVE
        self.unsaved = False  # something was seen since the last copy

    def __bool__(self) -> bool:
        """Whether there is a page to plan."""
        return bool(len(self.planner) or self._newcomers)

    def add(self, subscription: int, page: Newcomer) -> None:
        self._newcomers.append((subscription, page))

    def add_all(self, subscription: int, pages: Iterable[Newcomer]) -> None:
        self._newcomers += [(subscription, page) for page in pages]

    def plan_newcomers(self) -> None:
        """With the next look, whenever the next plan would have been."""
        if self._newcomers:
            self._plan_at = 0.0

    def observe(self, key: int, hour: float, important: bool) -> None:
        """Learned with the next look."""
        self._lessons[key] = (hour, important)

    def plan(self, now: float, visits: Bucket) -> None:
        """Choose anew what is worth the next visits, when it is time to."""
        if now < self._plan_at:
            return
        began = time.process_time()
        if self._newcomers:
            self.take_in()
        until_next = visits.per_day / 86_400 * pacing.pause(self._cost)
        self.planner.plan(memory.hour(now * 1000), max(1, int(max(visits.whole, until_next))))
        self._cost = time.process_time() - began
        self._plan_at = now + pacing.pause(self._cost)

    def signal(self, key: int, now: float, kind: str) -> None:
        self.planner.signal(key, memory.hour(now * 1000), kind)
        self._plan_at = min(self._plan_at, now + pacing.pause_signalled(self._cost))

    def turn_back(self, now: float) -> None:
        self.new_pages.turn_back(now)
        self._plan_at = 0.0
        self._save_at = min(self._save_at, now + SAVE)

    def take_in(self) -> None:
        """Give newcomers to the planner, many at once: each call costs a pass over all it knows.

        Pages it knows keep what it has learned, whatever people decided about them meanwhile.
        """
        arrived, self._newcomers = self._newcomers, []
        alike: dict[tuple[float, float, float], dict[int, Newcomer]] = {}
        sites: dict[str, str] = {}
        for number, page in arrived:
            sub = self._state.subs.get(number)
            if sub is not None and page[0] in self._state.pages:
                bounds = (sub.weight, sub.min_ms / HOUR_MS, sub.max_ms / HOUR_MS)
                alike.setdefault(bounds, {})[page[0]] = page
                if sub.country:
                    sites[page[1]] = sub.country
        now = memory.hour(self._state.now * 1000)
        for (weight, min_hours, max_hours), pages in alike.items():
            known = [key for key in pages if key in self.planner]
            self.planner.set(known, weight=weight, min_hours=min_hours, max_hours=max_hours, paused=False)
            for hour, part in learning.by_time(list(pages.values())).items():
                self.planner.add(
                    [page[0] for page in part],
                    [page[1] for page in part],
                    [page[2] for page in part],
                    min(hour, now),
                    weight=weight,
                    min_hours=min_hours,
                    max_hours=max_hours,
                )
        for site, country in sites.items():
            name, _, part_of = country.partition("-")
            self.planner.set_calendar(site, country_calendar(name, memory.ORIGIN, part_of or None))

    def set_bounds(self, number: int, weight: float, min_ms: float, max_ms: float) -> None:
        """What a person changed counts from now on."""
        mine = [key for key, page in self._state.pages.items() if page.sub == number and key in self.planner]
        self.planner.set(mine, weight=weight, min_hours=min_ms / HOUR_MS, max_hours=max_ms / HOUR_MS)
        self.unsaved = True
        self._plan_at = 0.0

    def learn(self) -> None:
        """Tell the planner what was seen since the last look, all at once: it is one pass over its arrays."""
        if self._lessons:
            lessons = {key: lesson for key, lesson in self._lessons.items() if key in self.planner}
            self._lessons = {}
            if lessons:
                keys = np.fromiter(lessons, np.int64, len(lessons))
                hits = np.array([important for _, important in lessons.values()])
                self.planner.observe(keys, max(hour for hour, _ in lessons.values()), hits)

    def chance(self, key: int, hour: float) -> float | None:
        """Of an important change, said before the visit is known."""
        return float(self.planner.chance([key], hour)[0]) if key in self.planner else None

    def take_over(self) -> None:
        """At the start what was kept; later, what the worker learned anew."""
        first = not self._state.subs and not len(self.planner)
        fresh = self._state.data / memory.FRESH
        kept = memory.load(fresh)
        if kept is None and first:
            kept = memory.load(self._state.data / memory.FILE)
        if kept is None:
            return
        self.planner, number = kept
        self._put_to_rest()
        rows = Observation.objects.filter(pk__gt=number, imported=False).order_by("seen_ms", "pk")
        learning.replay(self.planner, rows.values_list("key", "seen_ms", "important"))
        self._lessons.clear()
        fresh.unlink(missing_ok=True)
        for sub in self._state.subs.values():
            if sub.policy is None:
                known = WatchedPage.objects.filter(subscription=sub.id, listing="")
                pages = known.values_list("key", "site", "url", "last_ms")
                self.add_all(sub.id, pages)
        self.unsaved = True
        self._plan_at = 0.0

    def let_go(self, keys: Sequence[int], forget: bool) -> None:
        """Pages that are watched no longer; unless they are forgotten, what was learned waits for their return."""
        self.learn()
        if forget:
            self.planner.remove(keys)
        else:
            self.planner.set([key for key in keys if key in self.planner], paused=True)
        self.unsaved = True

    def _put_to_rest(self) -> None:
        """Subscriptions may have been removed or paused meanwhile: only loading their pages wakes them."""
        keys = self.planner.keys
        watched = np.fromiter(WatchedPage.objects.values_list("key", flat=True).iterator(chunk_size=10_000), np.int64)
        there = np.isin(keys, watched)
        self.planner.remove(keys[~there].tolist())
        self.planner.set(keys[there], paused=True)

    def save(self, now: float, at_once: bool = False) -> None:
        """Only while all that was learned is in the database too."""
        if self._state.records or (now < self._save_at and not at_once):
            return
        self._save_at = now + SAVE
        if not self.unsaved:
            return
        last = Observation.objects.aggregate(last=Max("pk"))["last"] or 0
        memory.save(self._state.data / memory.FILE, self.planner, last)
        self.unsaved = False

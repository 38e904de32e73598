"""`auto`: the planner that learns when pages change, from every visit, over all pages at once.

It keeps about 160 bytes per page, scores every page in one vectorised pass, and can say why a page is visited.
Time is an argument (hours since any fixed midnight, UTC), never read from a clock. How it works is told in
`docs/explanation/prediction.md`. Its parts:

    page_table, paths  what is kept of every page; the sections it is in
    evidence           what speaks for a change, as numbers: habits, sections, companions, the week
    hazard             how much each of them counts, learned
    source_trust       how far each source of signals is believed
    reserves           visits for overdue pages and sensors, and a limit for signals
    explanation        why a page is visited
    planner_state      all of them together, and as bytes
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from . import explanation
from .calendars import Calendar
from .evidence import AT, CHUNK
from .explanation import Reason
from .hazard import MAX_LOG
from .page_table import NEVER, PAGE, SCALES, Bits, Floats, Ints
from .planner_state import PlannerState

SEPARATE = 0.5  # share of a visit's value that lies in coming before the next change
MAX_LESSON = 400.0  # days; a longer gap is a clock that jumped, not a quiet page
RETRY = (1 / 24, 7.0)  # days before a failed page is tried again: first, and at most (doubling)
READY = 1 << 14  # best pages kept at hand between two plans
NEIGHBOURHOOD = 512  # pages re-scored at once when one of them changed


@dataclass(frozen=True, slots=True)
class Plan:
    """Pages to visit now, most valuable first, with the chance that each has changed.

    `value` is the weighted chance, lowered where the page will hardly change again soon and a later visit would see the
    same; above 1 stand those that must not wait (overdue pages, sensors).
    """

    keys: Ints
    chance: Floats
    value: Floats

    def __len__(self) -> int:
        return int(self.keys.size)


class Planner:
    """State of all pages, and the weights learned from them."""

    def __init__(self, *, first_weekday: int = 0, min_gap_hours: float = 1.0) -> None:
        self.state = PlannerState(first_weekday, min_gap_hours)
        self._value = np.zeros(0, np.float32)
        self._heap: list[tuple[float, int]] | None = []

    # ── pages ────────────────────────────────────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return len(self.state.pages)

    def __contains__(self, key: int) -> bool:
        return key in self.state.pages

    def add(
        self,
        keys: Sequence[int],
        sites: Sequence[str],
        urls: Sequence[str],
        now: float,
        *,
        weight: float = 1.0,
        min_hours: float = 0.0,
        max_hours: float = 0.0,
    ) -> None:
        """Start to watch pages whose first version is known at `now`; pages already known are left as they are.

        `weight` multiplies the value of a visit; `min_hours` and `max_hours` bound the distance of visits (0: no own
        bound).
        """
        wanted = np.asarray(keys, np.int64)
        if np.unique(wanted).size != wanted.size:
            raise ValueError("the same page is given twice; give every key once")
        fresh = self.state.pages.unknown(wanted)
        if not fresh:
            return
        slots = self.state.pages.make_room(len(fresh))
        self.state.companions.grow(self.state.pages.rows.size)
        page = np.zeros(len(fresh), PAGE)
        page["key"] = wanted[fresh]
        page["alive"] = True
        page["last"] = now / 24
        page["change_from"] = page["change_to"] = NEVER
        page["weight"], page["min_gap"], page["max_gap"] = weight, min_hours / 24, max_hours / 24
        page["site"] = self.state.index.site_numbers([sites[i] for i in fresh])
        self.state.pages.rows[slots] = page
        self.state.pages.count[slots] = self.state.pages.exposure[slots] = 0
        self.state.pages.inside[slots] = 0
        self.state.index.place(slots, [sites[i] for i in fresh], [urls[i] for i in fresh], self.state.pages.inside)
        self.state.sections.grow(len(self.state.index))
        self.state.profiles.grow(self.state.index.sites)
        self.state.signals.grow(self.state.index.sites)
        self._reindex()

    def remove(self, keys: Sequence[int]) -> None:
        """Stop to watch pages; unknown keys are ignored."""
        slots = self.state.pages.known(keys)
        self.state.index.leave(self.state.pages.inside[slots])
        self.state.companions.forget(slots)
        self.state.pages.inside[slots] = 0
        self.state.pages.rows["alive"][slots] = False
        self._reindex()

    def set(
        self,
        keys: ArrayLike,
        *,
        weight: float | None = None,
        min_hours: float | None = None,
        max_hours: float | None = None,
        paused: bool | None = None,
    ) -> None:
        """Change what people decide about pages, at once; what is not given stays. A paused page keeps its habits."""
        slots = self.state.pages.find(keys)
        for name, value in (("weight", weight), ("min_gap", min_hours), ("max_gap", max_hours), ("paused", paused)):
            if value is not None:
                self.state.pages.rows[name][slots] = value / 24 if name.endswith("_gap") else value
        if paused:
            self._value[slots] = -1
        else:
            self._rescore(slots[self._value[slots] >= 0], self.state.clock)

    def set_calendar(self, site: str, calendar: Calendar) -> None:
        """Teach the holidays of a site's country; the calendar's first day is day 0 of this planner's time."""
        number = int(self.state.index.site_numbers([site])[0])
        self.state.profiles.grow(self.state.index.sites)
        self.state.signals.grow(self.state.index.sites)
        self.state.profiles.calendars[number] = calendar

    # ── what happened ────────────────────────────────────────────────────────────────────────────────────────────

    def observe(self, keys: ArrayLike, now: float, changed: ArrayLike) -> None:
        """Visits made at `now` and whether each page had changed. All of them move their neighbours at once."""
        state = self.state
        slots, hit = state.pages.find(keys), np.atleast_1d(np.asarray(changed, bool))
        if slots.size == 0:
            return
        day = self._turn(now)
        x, gap, slow = state.evidence.of(slots, day)
        page = state.pages.rows[slots]
        told = page["told"] > 0
        offset = state.signals.silence(page["site"], page["told"])
        expected = np.exp(np.clip(state.hazard.log_hazard(x) + np.log(gap) + offset, -14, MAX_LOG))
        lesson = np.minimum(gap, MAX_LESSON)
        # A visit somebody asked for says nothing about how often unannounced ones succeed.
        learn = ~told & (gap < MAX_LESSON)
        state.hazard.learn(x[learn], gap[learn] * np.exp(offset[learn]), hit[learn])
        state.signals.verify(page["site"], page["told"], -np.expm1(-expected), hit)
        exposure = np.where(hit, lesson * (1 / expected - 1 / np.expm1(expected)), lesson)
        exposure = np.clip(exposure, 0.05 * lesson, lesson)  # days until the first change of the gap
        state.sections.record(state.pages.inside[slots], page["last"], hit, -np.expm1(-slow * lesson), exposure, day)
        state.profiles.record(page["site"].astype(np.int64), page["last"], day, hit, expected / gap)
        fade = np.exp(-lesson[:, None] / SCALES)
        state.pages.count[slots] = state.pages.count[slots] * fade + hit[:, None]
        within = (1 - fade) / (lesson[:, None] / SCALES)
        state.pages.exposure[slots] = state.pages.exposure[slots] * fade + exposure[:, None] * within
        state.evidence.changes += float(hit.sum())
        state.evidence.days += float(exposure.sum())
        for slot, start in zip(slots[hit], page["last"][hit], strict=True):
            state.companions.changed(int(slot), int(state.pages.rows["site"][slot]), float(start), day)
        state.pages.rows["change_from"][slots[hit]] = page["last"][hit]
        state.pages.rows["change_to"][slots[hit]] = day
        state.pages.rows["last"][slots] = day
        state.pages.rows["told"][slots] = 0
        state.pages.rows["failures"][slots] = 0
        state.pages.rows["visited"][slots] = True
        state.reserves.visits_today += slots.size
        state.evidence.visited()
        self._move_neighbours(slots, hit, day)

    def fail(self, keys: ArrayLike, now: float) -> None:
        """Visits that gave no answer: nothing is learned about change, and the page rests longer each time."""
        slots = self.state.pages.find(keys)
        day = self._turn(now)
        failures = np.minimum(self.state.pages.rows["failures"][slots], 30)
        wait = np.minimum(RETRY[0] * 2.0**failures, RETRY[1])
        self.state.pages.rows["failures"][slots] = failures + 1
        self.state.pages.rows["retry"][slots] = day + wait
        self._value[slots] = -1

    def signal(self, key: int, now: float, source: str) -> None:
        """Somebody says that this page changed. How far a source is believed is learned from its past."""
        slot = self.state.pages.find([key])
        day = self._turn(now)
        bit = self.state.signals.bit(source)
        self.state.signals.tell(int(self.state.pages.rows["site"][slot[0]]), bit)
        self.state.pages.rows["told"][slot] |= np.uint16(1 << bit)
        self._rescore(slot, day)

    # ── what next ────────────────────────────────────────────────────────────────────────────────────────────────

    def plan(self, now: float, budget: int) -> Plan:
        """Score every page and name the `budget` most valuable visits of this moment."""
        day = self._turn(now)
        value, chance = self._score(np.arange(self.state.pages.rows.size), day)
        self.state.reserves.apply(value, chance, day, budget)
        best = _largest(value, budget)
        self._value, self._heap = value, None
        return Plan(self.state.pages.rows["key"][best], chance[best], value[best])

    def next(self) -> int | None:
        """The best visit since the last `plan`, in O(log n); what was seen meanwhile is already counted.

        None when the pages of that plan are used up: it is time to plan again.
        """
        if self._heap is None:
            ready = _largest(self._value, READY)
            self._heap = list(zip((-self._value[ready]).tolist(), ready.tolist(), strict=True))  # sorted: a heap
        while self._heap:
            value, slot = heapq.heappop(self._heap)
            if self._value[slot] == np.float32(-value) and self._value[slot] >= 0:
                self._value[slot] = -1
                return int(self.state.pages.rows["key"][slot])
        return None

    def chance(self, keys: ArrayLike, now: float) -> Floats:
        """P(changed since the last visit) of each page."""
        slots = self.state.pages.find(keys)
        return self._chance(slots, *self.state.evidence.of(slots, self._turn(now))[:2])

    def explain(self, key: int, now: float) -> Reason:
        """The strongest reason to visit this page now."""
        return explanation.explain(self.state, key, self._turn(now))

    # ── keeping it ───────────────────────────────────────────────────────────────────────────────────────────────

    def dumps(self) -> bytes:
        """Everything learned, as one block of bytes (calendars are settings, not learned: set them again)."""
        return self.state.dumps()

    @classmethod
    def loads(cls, data: bytes) -> Planner:
        """The planner that `dumps` wrote."""
        planner = cls()
        planner.state = PlannerState.loads(data)
        planner._reindex()
        return planner

    @property
    def keys(self) -> Ints:
        """Of all pages, paused ones too, in ascending order."""
        return self.state.pages.keys

    @property
    def bytes_per_page(self) -> float:
        """State kept per page, what sections and sites keep included."""
        return (self.state.size) / max(len(self), 1)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _score(self, slots: Ints, day: float) -> tuple[Floats, Floats]:
        """Value of visiting now (−1: not allowed now) and chance of a change, of each page."""
        value = np.empty(slots.size, np.float32)
        chance = np.empty(slots.size, np.float32)
        for at in range(0, slots.size, CHUNK):
            part = slots[at : at + CHUNK]
            x, gap = self.state.evidence.of_all(part, day)
            chance[at : at + CHUNK] = c = self._chance(part, x, gap)
            page = self.state.pages.rows[part]
            resting = (page["failures"] > 0) & (page["retry"] > day) & (page["retry"] <= day + RETRY[1])
            # A maximum that a person set below the usual rest is meant.
            rest = np.where(page["max_gap"] > 0, np.minimum(self.state.min_gap, page["max_gap"]), self.state.min_gap)
            closed = ~page["alive"] | page["paused"] | resting | (gap < np.maximum(page["min_gap"], rest) - 1e-3)
            worth = c * (1 - SEPARATE + SEPARATE * self._again(x))
            value[at : at + CHUNK] = np.where(closed, -1, worth * page["weight"])
        return value, chance

    def _chance(self, slots: Ints, x: Floats, gap: Floats) -> Floats:
        told, site = self.state.pages.rows["told"][slots], self.state.pages.rows["site"][slots]
        log = self.state.hazard.log_hazard(x) + np.log(gap) + self.state.signals.silence(site, told)
        unchanged = np.exp(-np.exp(np.clip(log, -14, MAX_LOG)))
        return (1 - unchanged * self.state.signals.doubt(site, told)).astype(np.float32)

    def _again(self, x: Floats) -> Floats:
        """P(a page that just changed changes again within a day): the change that a later visit would lose."""
        log = self.state.hazard.log_hazard(x)
        for name, then in (("gap", 0.0), ("never-changed", 0.0), ("aftershock", np.log(np.log(2.0)))):
            log += np.float32(self.state.hazard.weights[AT[name]]) * (np.float32(then) - x[:, AT[name]])
        return (-np.expm1(-np.exp(np.clip(log, -14, MAX_LOG)))).astype(np.float32)

    def _move_neighbours(self, slots: Ints, hit: Bits, day: float) -> None:
        """Re-score, between two plans, the pages that a change just seen speaks about."""
        self._value[slots] = -1
        if not self._heap:
            return
        near: list[Ints] = []
        for slot in slots[hit]:
            friends = self.state.companions.page[slot]
            near.append(friends[friends >= 0].astype(np.int64))
            for section in self.state.pages.inside[slot][::-1]:
                if section and self.state.index.members[section] <= NEIGHBOURHOOD:
                    level = int(np.flatnonzero(self.state.pages.inside[slot] == section)[0])
                    near.append(np.flatnonzero(self.state.pages.inside[:, level] == section))
        if near:
            touched = np.unique(np.concatenate(near))
            self._rescore(touched[self._value[touched] >= 0][: 4 * NEIGHBOURHOOD], day)

    def _rescore(self, slots: Ints, day: float) -> None:
        if slots.size == 0:
            return
        self._value[slots] = value = self._score(slots, day)[0]
        if self._heap is None:
            return  # it will be made of these values
        for v, slot in zip(value.tolist(), slots.tolist(), strict=True):
            if v >= 0:
                heapq.heappush(self._heap, (-v, slot))

    def _turn(self, now: float) -> float:
        """Follow the clock. Set back, it must not leave pages "visited in the future" and unseen until then."""
        day = now / 24
        if not np.isfinite(day):
            raise ValueError(f"the time must be a finite number of hours, not {now}")
        whole = int(np.floor(day - 1e-4))
        if day < self.state.clock - 1 / 24:
            for name in ("last", "change_from", "change_to"):
                self.state.pages.rows[name] = np.minimum(self.state.pages.rows[name], np.float32(day))
            self.state.evidence.forget()
            self.state.reserves.sensed = min(self.state.reserves.sensed, day)
        if whole != self.state.sections.day:
            self.state.reserves.turn(whole - self.state.sections.day)
            self.state.sections.turn_to(whole)
        self.state.clock = day
        return day

    def _reindex(self) -> None:
        self.state.pages.reindex()
        self._value = np.full(self.state.pages.rows.size, -1, np.float32)
        self._heap = []
        self.state.evidence.forget()


def _largest(value: Floats, count: int) -> Ints:
    """Places of the largest values that are not negative, largest first; equal values in the order of their place."""
    count = min(count, value.size)
    if count <= 0:
        return np.zeros(0, np.int64)
    best = np.argpartition(-value, count - 1)[:count] if count < value.size else np.arange(value.size)
    best = best[value[best] >= 0]
    return best[np.lexsort((best, -value[best]))]

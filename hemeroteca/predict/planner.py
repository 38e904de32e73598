"""`auto`: the planner that learns when pages change, from every visit, over all pages at once.

It keeps about 160 bytes per page, scores every page in one vectorised pass, and can say why a page is visited.
Time is an argument (hours since any fixed midnight, UTC), never read from a clock. How it works is told in
`docs/explanation/prediction.md`.
"""

from __future__ import annotations

import heapq
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .calendars import Calendar
from .hazard import LARGEST, Hazard
from .neighbours import Companions, Sections
from .paths import LEVELS, PATHS, SectionIndex
from .profile import Profiles
from .reasons import Reason, Value
from .signals import Signals

SCALES = np.array([2.0, 7.0, 30.0, 150.0, 2000.0], np.float32)  # days; habits on several time scales
SLOW = 3  # the scale a section's activity is compared with
EVER = 4
SHAPE = 0.5  # pseudo-changes of the next slower scale that every scale starts from
SECTION_SHAPE = 2.0  # the same for a section that starts from the section around it
PSEUDO = 0.5  # pseudo-changes when found and promised changes of a section are compared
UNRELATED = 0.02  # chance of changing together that needs no companion
COMPANIONS = 8
NEVER = np.float32(-1e6)
ROUNDS = 10  # longest gap, in rounds over all pages at the present pace …
RESERVE = 0.125  # … kept by this share of the visits when pages are overdue
SENSORS = 0.15  # share of the visits that look into sections nobody has looked into lately
DEMANDED = 0.5  # share of the visits that maximum intervals set by people may claim
SEPARATE = 0.5  # share of a visit's value that lies in coming before the next change
LONGEST_LESSON = 400.0  # days; a longer gap is a clock that jumped, not a quiet page
RETRY = (1 / 24, 7.0)  # days before a failed page is tried again: first, and at most (doubling)
CHUNK = 1 << 15  # pages scored at a time: stays in the processor's cache
READY = 1 << 14  # best pages kept at hand between two plans
NEIGHBOURHOOD = 512  # pages re-scored at once when one of them changed

FIRST_RATE = 1 / 50  # changes per day of a page before anything is known

# What speaks for a change, the weight it starts with, and for how much evidence the start counts.
EVIDENCE: tuple[tuple[str, float, float], ...] = (
    ("level", float(np.log(FIRST_RATE)), 1.0),  # learned at once
    ("section-habit", 0.9, 15.0),
    ("habit-ever", 0.75, 25.0),
    ("habit-150d", 0.6, 6.0),
    ("habit-30d", 0.0, 15.0),
    ("habit-7d", 0.1, 12.0),
    ("habit-2d", 0.85, 6.0),
    ("aftershock", 0.2, 40.0),
    ("never-changed", 0.1, 8.0),
    ("gap", 0.05, 25.0),
    ("week", 0.9, 8.0),
    ("section-0", 0.4, 15.0),
    *((f"section-{level}", 0.55, 15.0) for level in range(1, PATHS)),
    (f"section-{PATHS}", 0.75, 15.0),  # the subject
    ("companions", 0.22, 60.0),
    ("companions-quiet", -0.4, 10.0),
)
FEATURES = tuple(name for name, _, _ in EVIDENCE)
AT = {name: i for i, name in enumerate(FEATURES)}

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Bits = NDArray[np.bool_]


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


@dataclass(slots=True)
class _Reading:
    """Features of all pages at one moment; `fresh` until the next visit."""

    day: float
    x: Floats
    gap: Floats
    slow: Floats
    fresh: bool = False


class Planner:
    """State of all pages as flat arrays, and the weights learned from them."""

    def __init__(self, *, first_weekday: int = 0, min_gap_hours: float = 1.0) -> None:
        self.min_gap = np.float32(min_gap_hours / 24.0)
        self.index = SectionIndex()
        self.sections = Sections()
        self.companions = Companions(0, COMPANIONS)
        self.profiles = Profiles(0, first_weekday)
        self.signals = Signals()
        start = np.array([weight for _, weight, _ in EVIDENCE])
        self.hazard = Hazard(start, np.array([firmness for _, _, firmness in EVIDENCE]))
        self._pages = np.zeros(0, PAGE)
        self._count = np.zeros((0, SCALES.size), np.float32)
        self._exposure = np.zeros((0, SCALES.size), np.float32)
        self._in = np.zeros((0, LEVELS), np.int32)  # section of each level, 0 where there is none
        self._sorted = np.zeros(0, np.int64)  # keys in order, to find a page …
        self._slot = np.zeros(0, np.int32)  # … and where it is
        self._changes, self._days = 1.0, 1 / FIRST_RATE  # of all pages ever
        self._pace = 0.0  # visits per day
        self._sensors = 0.0  # sensor visits owed …
        self._sensed = 0.0  # … up to this day
        self._visits_today = 0
        self._clock = 0.0
        self._value = np.zeros(0, np.float32)
        self._heap: list[tuple[float, int]] | None = []
        self._read: _Reading | None = None

    # ── pages ────────────────────────────────────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return int(self._sorted.size)

    def __contains__(self, key: int) -> bool:
        i = int(np.searchsorted(self._sorted, key))
        return i < self._sorted.size and int(self._sorted[i]) == key

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
        fresh = np.flatnonzero(~np.isin(wanted, self._sorted)).tolist()
        if not fresh:
            return
        free = np.flatnonzero(~self._pages["alive"])[: len(fresh)]
        slots = np.concatenate([free, np.arange(self._pages.size, self._pages.size + len(fresh) - free.size)])
        self._grow(self._pages.size + len(fresh) - free.size)
        page = np.zeros(len(fresh), PAGE)
        page["key"] = wanted[fresh]
        page["alive"] = True
        page["last"] = now / 24
        page["change_from"] = page["change_to"] = NEVER
        page["weight"], page["min_gap"], page["max_gap"] = weight, min_hours / 24, max_hours / 24
        page["site"] = self.index.site_numbers([sites[i] for i in fresh])
        self._pages[slots] = page
        self._count[slots] = self._exposure[slots] = 0
        self._in[slots] = 0
        self.index.place(slots, [sites[i] for i in fresh], [urls[i] for i in fresh], self._in)
        self.sections.grow(len(self.index))
        self.profiles.grow(self.index.sites)
        self.signals.grow(self.index.sites)
        self._reindex()

    def remove(self, keys: Sequence[int]) -> None:
        """Stop to watch pages; unknown keys are ignored."""
        slots = self._find(np.array([k for k in keys if k in self], np.int64))
        self.index.leave(self._in[slots])
        self.companions.forget(slots)
        self._in[slots] = 0
        self._pages["alive"][slots] = False
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
        slots = self._find(keys)
        for name, value in (("weight", weight), ("min_gap", min_hours), ("max_gap", max_hours), ("paused", paused)):
            if value is not None:
                self._pages[name][slots] = value / 24 if name.endswith("_gap") else value
        if paused:
            self._value[slots] = -1
        else:
            self._rescore(slots[self._value[slots] >= 0], self._clock)

    def set_calendar(self, site: str, calendar: Calendar) -> None:
        """Teach the holidays of a site's country; the calendar's first day is day 0 of this planner's time."""
        number = int(self.index.site_numbers([site])[0])
        self.profiles.grow(self.index.sites)
        self.signals.grow(self.index.sites)
        self.profiles.calendars[number] = calendar

    # ── what happened ────────────────────────────────────────────────────────────────────────────────────────────

    def observe(self, keys: ArrayLike, now: float, changed: ArrayLike) -> None:
        """Visits made at `now` and whether each page had changed. All of them move their neighbours at once."""
        slots, hit = self._find(keys), np.atleast_1d(np.asarray(changed, bool))
        if slots.size == 0:
            return
        day = self._turn(now)
        x, gap, slow = self._features(slots, day)
        page = self._pages[slots]
        told = page["told"] > 0
        offset = self.signals.silence(page["site"], page["told"])
        expected = np.exp(np.clip(self.hazard.log_hazard(x) + np.log(gap) + offset, -14, LARGEST))
        lesson = np.minimum(gap, LONGEST_LESSON)
        # A visit somebody asked for says nothing about how often unannounced ones succeed.
        learn = ~told & (gap < LONGEST_LESSON)
        self.hazard.learn(x[learn], gap[learn] * np.exp(offset[learn]), hit[learn])
        self.signals.verify(page["site"], page["told"], -np.expm1(-expected), hit)
        exposure = np.where(hit, lesson * (1 / expected - 1 / np.expm1(expected)), lesson)
        exposure = np.clip(exposure, 0.05 * lesson, lesson)  # days until the first change of the gap
        self.sections.record(self._in[slots], page["last"], hit, -np.expm1(-slow * lesson), exposure, day)
        self.profiles.record(page["site"].astype(np.int64), page["last"], day, hit, expected / gap)
        fade = np.exp(-lesson[:, None] / SCALES)
        self._count[slots] = self._count[slots] * fade + hit[:, None]
        within = (1 - fade) / (lesson[:, None] / SCALES)
        self._exposure[slots] = self._exposure[slots] * fade + exposure[:, None] * within
        self._changes += float(hit.sum())
        self._days += float(exposure.sum())
        for slot, start in zip(slots[hit], page["last"][hit], strict=True):
            self.companions.changed(int(slot), int(self._pages["site"][slot]), float(start), day)
        self._pages["change_from"][slots[hit]] = page["last"][hit]
        self._pages["change_to"][slots[hit]] = day
        self._pages["last"][slots] = day
        self._pages["told"][slots] = 0
        self._pages["failures"][slots] = 0
        self._pages["visited"][slots] = True
        self._visits_today += slots.size
        if self._read is not None:
            self._read.fresh = False
        self._move_neighbours(slots, hit, day)

    def fail(self, keys: ArrayLike, now: float) -> None:
        """Visits that gave no answer: nothing is learned about change, and the page rests longer each time."""
        slots = self._find(keys)
        day = self._turn(now)
        failures = np.minimum(self._pages["failures"][slots], 30)
        wait = np.minimum(RETRY[0] * 2.0**failures, RETRY[1])
        self._pages["failures"][slots] = failures + 1
        self._pages["retry"][slots] = day + wait
        self._value[slots] = -1

    def signal(self, key: int, now: float, source: str) -> None:
        """Somebody says that this page changed. How far a source is believed is learned from its past."""
        slot = self._find([key])
        day = self._turn(now)
        bit = self.signals.bit(source)
        self.signals.tell(int(self._pages["site"][slot[0]]), bit)
        self._pages["told"][slot] |= np.uint16(1 << bit)
        self._rescore(slot, day)

    # ── what next ────────────────────────────────────────────────────────────────────────────────────────────────

    def plan(self, now: float, budget: int) -> Plan:
        """Score every page and name the `budget` most valuable visits of this moment."""
        day = self._turn(now)
        value, chance = self._score(np.arange(self._pages.size), day)
        self._ration(value, chance, day, budget)
        best = _largest(value, budget)
        self._value, self._heap = value, None
        return Plan(self._pages["key"][best], chance[best], value[best])

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
                return int(self._pages["key"][slot])
        return None

    def chance(self, keys: ArrayLike, now: float) -> Floats:
        """P(changed since the last visit) of each page."""
        slots = self._find(keys)
        return self._chance(slots, *self._features(slots, self._turn(now))[:2])

    def explain(self, key: int, now: float) -> Reason:
        """The strongest reason to visit this page now."""
        slot = self._find([key])
        day = self._turn(now)
        x, gap, _ = self._features(slot, day)
        page, push = self._pages[slot[0]], self.hazard.weights * x[0]
        ago = round(float(gap[0]), 1)
        if page["told"]:
            source, precision = self.signals.best(int(page["site"]), int(page["told"]))
            return Reason("signal", {"source": source, "precision": precision})
        if self._overdue(np.array([float(gap[0])]), np.array([float(page["max_gap"])]))[0] > 1:
            return Reason("overdue", {"ago": ago})
        reasons: list[tuple[float, Reason]] = [(0.1, Reason("waiting", {"ago": ago}))]
        around_it = self._explain_sections(slot[0], x[0], push)
        reasons.append(around_it)
        # Several neighbours seen today tell a person more than one companion that is mostly among them.
        fewer = 0.5 if around_it[1].code == "neighbours" else 1.0
        reasons.append((fewer * float(push[AT["companions"]]), self._explain_companion(slot[0], day)))
        reasons.append((float(push[AT["week"]]) if x[0, AT["week"]] > 0 else 0.0, Reason("calendar")))
        recent = float(self._count[slot[0], 1])
        if recent > 1.2:
            burst = float(push[AT["habit-30d"] : AT["habit-2d"] + 1].sum())
            reasons.append((burst, Reason("burst", {"changes": max(2, round(recent)), "days": 14})))
        habit = float(push[AT["habit-ever"] : AT["habit-150d"] + 1].sum())
        rate = float(self._rate(slot)[0])
        around = self.index.effective[self._in[slot[0], :PATHS]]
        narrow = int(around[np.flatnonzero(around)[-1]]) if around.any() else 0
        unseen = round(day - float(self.sections.sensed[narrow]), 1)
        if narrow and unseen >= 1:
            reasons.append((0.12, Reason("sensor", {"section": self.index.name(narrow), "ago": unseen})))
        if not page["visited"]:
            reasons.append((0.2, Reason("new", {"section": self.index.name(narrow), "days": round(1 / rate, 1)})))
        elif page["change_to"] > NEVER:
            reasons.append((max(habit, 0.15), Reason("habit", {"days": round(1 / rate, 1), "ago": ago})))
        return max(reasons, key=lambda r: r[0])[1]

    # ── keeping it ───────────────────────────────────────────────────────────────────────────────────────────────

    def dumps(self) -> bytes:
        """Everything learned, as one block of bytes (calendars are settings, not learned: set them again)."""
        out = io.BytesIO()
        alone = {"pace": self._pace, "clock": self._clock, "changes": self._changes, "days": self._days}
        alone |= {"sensors": self._sensors, "sensed": self._sensed, "today": float(self._visits_today)}
        alone |= {"min_gap": float(self.min_gap), "weekday": self.profiles.first_weekday, "day": self.sections.day}
        facts = {"format": FORMAT, "numbers": alone, "index": self.index.facts(), "sources": self.signals.names}
        arrays = {name: getattr(part, name.split(".")[-1]) for name, part in self._arrays().items()}
        np.savez(out, facts=np.frombuffer(json.dumps(facts).encode(), np.uint8), allow_pickle=False, **arrays)
        return out.getvalue()

    @classmethod
    def loads(cls, data: bytes) -> Planner:
        """The planner that `dumps` wrote."""
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            facts = json.loads(stored["facts"].tobytes())
            if facts.get("format") != FORMAT:
                raise ValueError(
                    f"planner state of format {facts.get('format')}, not {FORMAT}; discard it and replay the history"
                )
            alone = facts["numbers"]
            planner = cls(first_weekday=int(alone["weekday"]), min_gap_hours=float(alone["min_gap"]) * 24)
            planner._pace, planner._clock = float(alone["pace"]), float(alone["clock"])
            planner._sensors, planner._sensed = float(alone["sensors"]), float(alone["sensed"])
            planner._visits_today = int(alone["today"])
            planner._changes, planner._days = float(alone["changes"]), float(alone["days"])
            planner.sections.day = int(alone["day"])
            planner.index.restore(facts["index"])
            planner.signals.names = list(facts["sources"])
            for name, part in planner._arrays().items():
                setattr(part, name.split(".")[-1], stored[name])
        planner.index.refresh()
        planner._reindex()
        return planner

    @property
    def keys(self) -> Ints:
        """Of all pages, paused ones too, in ascending order."""
        return self._sorted.copy()

    @property
    def bytes_per_page(self) -> float:
        """State kept per page, what sections and sites keep included."""
        arrays = [getattr(part, name.split(".")[-1]) for name, part in self._arrays().items()]
        total = sum(array.nbytes for array in arrays) + self._sorted.nbytes + self._slot.nbytes
        return total / max(len(self), 1)

    def _arrays(self) -> dict[str, object]:
        """Which arrays make up the state, and where they live."""
        parts: dict[str, object] = {f"planner.{n}": self for n in ("_pages", "_count", "_exposure", "_in")}
        kept: list[tuple[str, object, tuple[str, ...]]] = [
            ("sections", self.sections, Sections.ARRAYS),
            ("companions", self.companions, Companions.ARRAYS),
            ("profiles", self.profiles, ("found", "promised")),
            ("signals", self.signals, ("right", "owed", "asked", "announced", "happened", "speaks")),
            ("hazard", self.hazard, ("weights", "curvature")),
            ("index", self.index, ("members", "parent")),
        ]
        for where, part, names in kept:
            parts |= {f"{where}.{name}": part for name in names}
        return parts

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _features(self, slots: Ints, day: float) -> tuple[Floats, Floats, Floats]:
        """Feature matrix, gaps in days, and each page's slow rate."""
        read = self._read
        if read is not None and read.fresh and read.day == day:
            return read.x[slots], read.gap[slots], read.slow[slots]
        x, gap, slow = self._habits(slots, day)
        self._neighbours(slots, day, x)
        return x, gap, slow

    def _habits(self, slots: Ints, day: float) -> tuple[Floats, Floats, Floats]:
        """What the page's own past says; leaves the columns about neighbours empty."""
        page = self._pages[slots]
        last = page["last"]
        gap = np.maximum(np.float32(day) - last, np.float32(1e-3))
        x = np.zeros((slots.size, len(FEATURES)), np.float32)
        x[:, 0] = 1
        rate = self._prior(self.index.effective[self._in[slots]])
        x[:, 1] = np.log(rate / np.float32(self._changes / self._days))
        slow = rate
        for k in range(SCALES.size - 1, -1, -1):
            fade = np.exp(-gap / SCALES[k])
            faster = (self._count[slots, k] * fade + SHAPE) / (self._exposure[slots, k] * fade + SHAPE / rate)
            x[:, AT["habit-2d"] - k] = np.log(faster / rate)
            rate = faster
            if k == SLOW:
                slow = rate
        never = page["change_to"] <= NEVER
        # Omori's law: aftershocks fall as 1/age; this is its mean over the gap.
        quiet = np.maximum(last - page["change_to"], 0)
        x[:, AT["aftershock"]] = np.where(never, 0, np.log(np.log1p(gap / (quiet + 1)) / gap))
        x[:, AT["never-changed"]] = never
        x[:, AT["gap"]] = np.log(gap)
        active = self.profiles.active_days(page["site"], last, day)
        x[:, AT["week"]] = np.log(np.maximum(active / gap, 0.02))
        return x, gap, slow

    def _neighbours(self, slots: Ints, day: float, x: Floats) -> None:
        """What sections and companions showed since each page's own last visit."""
        last = self._pages["last"][slots]
        found = self.sections.since(self.index.effective[self._in[slots]], self.sections.column(last))
        found += PSEUDO
        np.log(found, out=found)
        x[:, AT["section-0"] : AT["section-0"] + LEVELS] = found[:, :, 0] - found[:, :, 1]
        self._companion_features(slots, last, day, x)

    def _prior(self, inside: NDArray[np.int32]) -> Floats:
        """Changes per day of pages nobody knows yet: the site's, corrected by each narrower section's own."""
        rate = np.full(len(inside), self._changes / self._days, np.float32)
        for level in range(PATHS):
            s = inside[:, level]
            own = (self.sections.changes[s] + SECTION_SHAPE) / (self.sections.exposure[s] + SECTION_SHAPE / rate)
            rate = np.where(s == 0, rate, own)
        return rate

    def _rate(self, slots: Ints) -> Floats:
        prior = self._prior(self.index.effective[self._in[slots]])
        return (self._count[slots, EVER] + SHAPE) / (self._exposure[slots, EVER] + SHAPE / prior)

    def _companion_features(self, slots: Ints, last: Floats, day: float, x: Floats) -> None:
        x[:, -2:] = 0
        some = np.flatnonzero(self.companions.page[slots, 0] >= 0)
        if some.size == 0:
            return
        mine = slots[some]
        other = self.companions.page[mine]
        bond = self.companions.bond[mine].astype(np.float32)
        bond = np.minimum(bond / (self._count[mine, EVER] + 1)[:, None], 0.95)
        bond[other < 0] = 0
        since = last[some][:, None]
        start, end = self._pages["change_from"][other], self._pages["change_to"][other]
        after = np.clip((end - np.maximum(start, since)) / np.maximum(end - start, 0.5), 0, 1)
        together = 1 - np.prod(1 - bond * after, axis=1)
        x[some, AT["companions"]] = np.log1p(together / UNRELATED)
        quiet = np.clip((self._pages["last"][other] - np.maximum(since, end)) / np.maximum(day - since, 0.5), 0, 1)
        x[some, AT["companions-quiet"]] = (bond * quiet).sum(1)

    def _score(self, slots: Ints, day: float) -> tuple[Floats, Floats]:
        """Value of visiting now (−1: not allowed now) and chance of a change, of each page."""
        value = np.empty(slots.size, np.float32)
        chance = np.empty(slots.size, np.float32)
        for at in range(0, slots.size, CHUNK):
            part = slots[at : at + CHUNK]
            x, gap = self._read_all(part, day)
            chance[at : at + CHUNK] = c = self._chance(part, x, gap)
            page = self._pages[part]
            resting = (page["failures"] > 0) & (page["retry"] > day) & (page["retry"] <= day + RETRY[1])
            # A maximum that a person set below the usual rest is meant.
            rest = np.where(page["max_gap"] > 0, np.minimum(self.min_gap, page["max_gap"]), self.min_gap)
            closed = ~page["alive"] | page["paused"] | resting | (gap < np.maximum(page["min_gap"], rest) - 1e-3)
            worth = c * (1 - SEPARATE + SEPARATE * self._again(x))
            value[at : at + CHUNK] = np.where(closed, -1, worth * page["weight"])
        return value, chance

    def _read_all(self, slots: Ints, day: float) -> tuple[Floats, Floats]:
        """Features and gaps of pages to be scored.

        Habits stand still while the clock does: planning many times at one moment reads those of all pages once, and
        what a visit then teaches about the page itself does not matter before its next one.
        """
        if slots.size != self._pages.size or slots.size > CHUNK:
            return self._features(slots, day)[:2]
        read = self._read
        if read is None or read.day != day:
            read = self._read = _Reading(day, *self._habits(slots, day))
        elif not read.fresh:
            read.gap = np.maximum(np.float32(day) - self._pages["last"], np.float32(1e-3))
        if not read.fresh:
            self._neighbours(slots, day, read.x)
            read.fresh = True
        return read.x, read.gap

    def _chance(self, slots: Ints, x: Floats, gap: Floats) -> Floats:
        told, site = self._pages["told"][slots], self._pages["site"][slots]
        log = self.hazard.log_hazard(x) + np.log(gap) + self.signals.silence(site, told)
        unchanged = np.exp(-np.exp(np.clip(log, -14, LARGEST)))
        return (1 - unchanged * self.signals.doubt(site, told)).astype(np.float32)

    def _again(self, x: Floats) -> Floats:
        """P(a page that just changed changes again within a day): the change that a later visit would lose."""
        log = self.hazard.log_hazard(x)
        for name, then in (("gap", 0.0), ("never-changed", 0.0), ("aftershock", np.log(np.log(2.0)))):
            log += np.float32(self.hazard.weights[AT[name]]) * (np.float32(then) - x[:, AT[name]])
        return (-np.expm1(-np.exp(np.clip(log, -14, LARGEST)))).astype(np.float32)

    def _overdue(self, gap: NDArray[np.floating], max_gap: NDArray[np.floating]) -> NDArray[np.floating]:
        """Gap as a multiple of the longest allowed: a page's own maximum, else some rounds at the present pace."""
        longest = ROUNDS * max(len(self), 1) / self._pace if self._pace > 0 else np.inf
        return gap / np.where(max_gap > 0, max_gap, longest)

    def _ration(self, value: Floats, chance: Floats, day: float, budget: int) -> None:
        """Lift overdue pages above the rest, and hold announced ones down to the share their sources have earned."""
        open_ = value >= 0
        told = np.flatnonzero(open_ & (self._pages["told"] > 0))
        spare = told.size - self.signals.allowance(budget)
        if spare > 0:
            worst = told[np.argpartition(value[told], spare - 1)[:spare]]
            page = self._pages[worst]
            # Without the signal: as if nobody had said anything.
            excess = self.signals.doubt(page["site"], page["told"])
            unannounced = (1 - (1 - chance[worst]) / np.maximum(excess, 1e-6)).clip(0, 1)
            value[worst] *= unannounced / np.maximum(chance[worst], 1e-6)
        self._sense(value, day, budget)
        late = self._overdue(day - self._pages["last"], self._pages["max_gap"])
        for mine, share in ((self._pages["max_gap"] > 0, DEMANDED), (self._pages["max_gap"] <= 0, RESERVE)):
            waiting = np.flatnonzero(open_ & mine & (late >= 1 - 1e-3))
            count = min(waiting.size, int(np.ceil(budget * share)))
            if count:
                first = waiting[np.argpartition(-late[waiting], count - 1)[:count]]
                value[first] = 1000 + np.minimum(late[first], 1000)

    def _sense(self, value: Floats, day: float, budget: int) -> None:
        """Lift one page of each large section that went unseen longest: quiet pages are the sensors of their section.

        Without them a section that never changed is hardly looked at, and the day it wakes up passes unnoticed.
        """
        pace = self._pace or budget
        self._sensors = min(self._sensors + SENSORS * pace * max(day - self._sensed, 0), max(pace, 1.0))
        self._sensed = day
        count = int(self._sensors)
        if count == 0 or len(self.index) < 2:
            return
        unseen = np.maximum(day - self.sections.sensed, 0)
        urgent = np.where((unseen >= 1) & (self.index.effective > 0), self.index.members * unseen, 0)
        chosen = np.argpartition(-urgent, min(count, urgent.size - 1))[:count]
        chosen = chosen[(urgent[chosen] > 0) & (self.index.members[chosen] >= 3)]
        wanted = np.zeros(len(self.index), bool)
        wanted[chosen] = True
        page, level = np.nonzero(wanted[self._in])
        page, level = page[value[page] >= 0], level[value[page] >= 0]
        section = self._in[page, level]
        best = np.lexsort((-value[page], section))
        _, first = np.unique(section[best], return_index=True)
        value[page[best[first]]] = 500
        self._sensors -= first.size

    def _move_neighbours(self, slots: Ints, hit: Bits, day: float) -> None:
        """Re-score, between two plans, the pages that a change just seen speaks about."""
        self._value[slots] = -1
        if not self._heap:
            return
        near: list[Ints] = []
        for slot in slots[hit]:
            friends = self.companions.page[slot]
            near.append(friends[friends >= 0].astype(np.int64))
            for section in self._in[slot][::-1]:
                if section and self.index.members[section] <= NEIGHBOURHOOD:
                    level = int(np.flatnonzero(self._in[slot] == section)[0])
                    near.append(np.flatnonzero(self._in[:, level] == section))
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
        if day < self._clock - 1 / 24:
            for name in ("last", "change_from", "change_to"):
                self._pages[name] = np.minimum(self._pages[name], np.float32(day))
            self._read = None
            self._sensed = min(self._sensed, day)
        if whole != self.sections.day:
            passed = min(max(whole - self.sections.day, 1), 365)
            fresh = self._visits_today / passed
            keep = 0.0 if self._pace == 0 else 0.9**passed
            self._pace = self._pace * keep + fresh * (1 - keep)
            self._visits_today = 0
            self.sections.turn_to(whole)
        self._clock = day
        return day

    def _find(self, keys: ArrayLike) -> Ints:
        wanted = np.atleast_1d(np.asarray(keys, np.int64))
        at = np.minimum(np.searchsorted(self._sorted, wanted), max(self._sorted.size - 1, 0))
        if wanted.size and (self._sorted.size == 0 or np.any(self._sorted[at] != wanted)):
            missing = wanted if self._sorted.size == 0 else wanted[self._sorted[at] != wanted]
            raise KeyError(f"page {int(missing[0])} is not watched; add it first")
        return self._slot[at].astype(np.int64)

    def _grow(self, size: int) -> None:
        more = size - self._pages.size
        if more > 0:
            self._pages = np.concatenate([self._pages, np.zeros(more, PAGE)])
            self._count = np.concatenate([self._count, np.zeros((more, SCALES.size), np.float32)])
            self._exposure = np.concatenate([self._exposure, np.zeros((more, SCALES.size), np.float32)])
            self._in = np.concatenate([self._in, np.zeros((more, LEVELS), np.int32)])
            self.companions.grow(size)

    def _reindex(self) -> None:
        alive = np.flatnonzero(self._pages["alive"])
        keys = self._pages["key"][alive]
        order = np.argsort(keys, kind="stable")
        self._sorted, self._slot = keys[order], alive[order].astype(np.int32)
        self._value = np.full(self._pages.size, -1, np.float32)
        self._heap = []
        self._read = None

    def _explain_sections(self, slot: int, x: Floats, push: NDArray[np.float64]) -> tuple[float, Reason]:
        levels = push[AT["section-0"] : AT["section-0"] + LEVELS]
        level = int(np.flatnonzero(levels >= 0.5 * levels.max())[-1])  # the narrowest that says about as much
        section = int(self._in[slot, level])
        name = self.index.name(section)
        strength = float(np.maximum(levels, 0).sum())
        changed, visited = int(self.sections.today_changes[section]), int(self.sections.today_visits[section])
        if section and changed and visited == 1:
            return strength, Reason("neighbour", {"section": name})
        if section and changed:
            return strength, Reason("neighbours", {"changed": changed, "visited": visited, "section": name})
        times = round(float(np.exp(x[AT["section-0"] + level])), 1)
        return strength if section else 0.0, Reason("section", {"section": name, "times": times})

    def _explain_companion(self, slot: int, day: float) -> Reason:
        others = self.companions.page[slot]
        recent = np.where(others >= 0, self._pages["change_to"][others], NEVER)
        strong = np.where(recent > self._pages["last"][slot], self.companions.bond[slot], -1)
        values: dict[str, Value] = {"page": int(self._pages["key"][others[int(np.argmax(strong))]])}
        return Reason("companion", values)


FORMAT = 3
PAGE = np.dtype(
    [
        ("key", np.int64),
        ("last", np.float32),  # days
        ("change_from", np.float32),  # the last change seen happened after this …
        ("change_to", np.float32),  # … and up to this
        ("weight", np.float32),
        ("min_gap", np.float32),
        ("max_gap", np.float32),
        ("retry", np.float32),
        ("site", np.int32),
        ("told", np.uint16),  # sources that announced a change since the last visit, one bit each
        ("failures", np.uint8),
        ("alive", np.bool_),
        ("paused", np.bool_),  # kept, but not visited
        ("visited", np.bool_),
    ]
)


def _largest(value: Floats, count: int) -> Ints:
    """Places of the largest values that are not negative, largest first; equal values in the order of their place."""
    count = min(count, value.size)
    if count <= 0:
        return np.zeros(0, np.int64)
    best = np.argpartition(-value, count - 1)[:count] if count < value.size else np.arange(value.size)
    best = best[value[best] >= 0]
    return best[np.lexsort((best, -value[best]))]

"""`auto`: the planner that learns when pages change, from every visit, over all pages at once.

It keeps a few numbers per page (see `Planner.bytes_per_page`), scores every page in one vectorised pass, and can say why a
page is visited. Time is an argument (hours since any fixed moment, UTC), never read from a clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .hazard import LARGEST, Hazard
from .neighbours import Companions, Sections
from .paths import LEVELS, section_keys
from .profile import Profiles

SCALES = np.array([2.0, 7.0, 30.0, 150.0, 2000.0], np.float32)  # days; habits on several time scales
SHAPE = 0.5  # pseudo-changes of the next slower scale that every scale starts from
SECTION_SHAPE = 2.0  # the same for a section that starts from the section around it
PSEUDO = 0.5  # pseudo-changes when found and promised changes of a section are compared
COMPANIONS = 8
NEVER = np.float32(-1e6)

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

FEATURES = (
    "level",
    "section-habit",
    "habit-2000d",
    "habit-150d",
    "habit-30d",
    "habit-7d",
    "habit-2d",
    "aftershock",
    "never-changed",
    "gap",
    "week",
    *(f"section-{level}" for level in range(LEVELS)),
    "companions",
    "companions-quiet",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """Pages to visit now, most valuable first."""

    keys: Ints
    chance: Floats
    slots: Ints


class Planner:
    """State of all pages as flat arrays, and the weights learned from them."""

    def __init__(self, *, first_weekday: int = 0, min_gap_hours: float = 1.0) -> None:
        self.first_weekday = first_weekday
        self.min_gap = min_gap_hours / 24.0
        self.size = 0
        self._key = np.zeros(0, np.int64)
        self._alive = np.zeros(0, bool)
        self._sections = np.zeros((0, LEVELS), np.int32)
        self._site = np.zeros(0, np.int32)
        self._count = np.zeros((0, SCALES.size), np.float32)
        self._exposure = np.zeros((0, SCALES.size), np.float32)
        self._last = np.zeros(0, np.float32)
        self._change_from = np.zeros(0, np.float32)
        self._change_to = np.zeros(0, np.float32)
        self.sections = Sections()
        self.companions = Companions(0, COMPANIONS)
        self.profiles = Profiles(0, first_weekday)
        start = np.zeros(len(FEATURES))
        start[1:7] = 1.0
        start[10] = 1.0
        start[0] = np.log(1 / 50)
        self.hazard = Hazard(start)
        self._changes = 1.0
        self._days = 50.0
        self._section_ids: dict[int, int] = {}
        self._redundant = np.zeros(1, bool)

    def add(self, keys: Sequence[int], sites: Sequence[str], urls: Sequence[str], now: float) -> None:
        """Start to watch pages; their first version is known at `now`."""
        from collections import Counter

        n = len(keys)
        old = self.size
        sk = [section_keys(s, u) for s, u in zip(sites, urls, strict=True)]
        rows = np.zeros((n, LEVELS), np.int32)
        cnt = Counter(k for ks in sk for k in ks)
        for i, ks in enumerate(sk):
            for j, k in enumerate(ks):
                if cnt[k] >= 2:
                    if j and cnt[ks[j - 1]] == cnt[k]:
                        continue
                    rows[i, j] = self._section_ids.setdefault(k, len(self._section_ids) + 1)
        self._sections = np.concatenate([self._sections, rows])
        names = {s: i for i, s in enumerate(dict.fromkeys(sites))}
        self._site = np.concatenate([self._site, np.array([names[s] for s in sites], np.int32)])
        self.sections.grow(len(self._section_ids) + 1)
        self.profiles.grow(len(names))
        self._key = np.concatenate([self._key, np.asarray(keys, np.int64)])
        self._alive = np.concatenate([self._alive, np.ones(n, bool)])
        zeros = np.zeros((n, SCALES.size), np.float32)
        self._count = np.concatenate([self._count, zeros])
        self._exposure = np.concatenate([self._exposure, zeros])
        day = np.float32(now / 24)
        self._last = np.concatenate([self._last, np.full(n, day, np.float32)])
        self._change_from = np.concatenate([self._change_from, np.full(n, NEVER)])
        self._change_to = np.concatenate([self._change_to, np.full(n, NEVER)])
        self.companions.grow(old + n)
        self.size = old + n

    def _section_rates(self) -> Floats:
        """Rate per section unknown: computed per page along its levels."""
        raise NotImplementedError

    def _prior(self, slots: Ints) -> Floats:
        base = np.float32(self._changes / self._days)
        rate = np.full(slots.size, base, np.float32)
        for level in range(LEVELS):
            s = self._sections[slots, level]
            own = (self.sections.changes[s] + SECTION_SHAPE) / (self.sections.exposure[s] + SECTION_SHAPE / rate)
            rate = np.where(s == 0, rate, own)
        return rate

    def features(self, slots: Ints, day: float) -> tuple[Floats, Floats, Floats]:
        """Feature matrix, gaps in days, and each page's slow rate."""
        last = self._last[slots]
        gap = np.maximum(np.float32(day) - last, np.float32(1e-3))
        x = np.empty((slots.size, len(FEATURES)), np.float32)
        x[:, 0] = 1
        rate = self._prior(slots)
        x[:, 1] = np.log(rate / np.float32(self._changes / self._days))
        slow = rate
        for k in range(SCALES.size - 1, -1, -1):
            fade = np.exp(-gap / SCALES[k])
            faster = (self._count[slots, k] * fade + SHAPE) / (self._exposure[slots, k] * fade + SHAPE / rate)
            x[:, 6 - k] = np.log(faster / rate)
            rate = faster
            if k == 3:
                slow = rate
        change = self._change_to[slots]
        never = change <= NEVER
        quiet = np.maximum(last - change, 0)
        x[:, 7] = np.where(never, 0, np.log(np.log1p(gap / (quiet + 1)) / gap))
        x[:, 8] = never
        x[:, 9] = np.log(gap)
        active = self.profiles.active_days(self._site[slots], last, day)
        x[:, 10] = np.log(np.maximum(active, 1e-3) / gap)
        columns = self.sections.column(last)
        for level in range(LEVELS):
            found, promised = self.sections.since(self._sections[slots, level], columns)
            x[:, 11 + level] = np.log((found + PSEUDO) / (promised + PSEUDO))
        self._companion_features(slots, last, day, x)
        return x, gap, slow

    def _companion_features(self, slots: Ints, last: Floats, day: float, x: Floats) -> None:
        page = self.companions.page[slots]
        known = page >= 0
        bond = self.companions.bond[slots] / (self._count[slots, 4] + 1)[:, None]
        bond = np.where(known, np.minimum(bond, 0.95), 0)
        l = last[:, None]
        start, end = self._change_from[page], self._change_to[page]
        after = np.clip((end - np.maximum(start, l)) / np.maximum(end - start, 0.5), 0, 1)
        together = 1 - np.prod(1 - bond * after, axis=1)
        x[:, 17] = np.log(together + 0.02) - np.log(0.02)
        seen = self._last[page]
        covered = np.clip((seen - np.maximum(l, end)) / np.maximum(day - l, 0.5), 0, 1)
        x[:, 18] = (bond * covered).sum(1)

    def plan(self, now: float, budget: int, blocked: NDArray[np.bool_] | None = None) -> Plan:
        day = now / 24
        self.sections.turn_to(int(np.floor(day - 1e-4)))
        slots = np.arange(self.size)
        x, gap, _ = self.features(slots, day)
        chance = -np.expm1(-np.exp(np.clip(self.hazard.log_hazard(x) + np.log(gap), -14, LARGEST)))
        value = np.where(gap >= self.min_gap - 1e-3, chance, -1)
        budget = min(budget, self.size)
        best = np.argpartition(-value, budget - 1)[:budget] if budget < self.size else slots
        best = best[np.argsort(-value[best], kind="stable")]
        best = best[value[best] >= 0]
        return Plan(self._key[best], chance[best], best)

    def observe(self, slots: Ints, now: float, changed: NDArray[np.bool_]) -> None:
        day = now / 24
        self.sections.turn_to(int(np.floor(day - 1e-4)))
        x, gap, slow = self.features(slots, day)
        last = self._last[slots]
        expected = np.exp(np.clip(self.hazard.log_hazard(x) + np.log(gap), -14, LARGEST))
        self.hazard.learn(x, gap, changed)
        promised = -np.expm1(-slow * gap)
        exposure = np.where(changed, gap * (1 / expected - 1 / np.expm1(expected)), gap)
        exposure = np.clip(exposure, 0.05 * gap, gap)
        self.sections.record(self._sections[slots].astype(np.int64), last, changed, promised, exposure)
        self.profiles.record(self._site[slots].astype(np.int64), last, day, changed, expected / gap)
        fade = np.exp(-gap[:, None] / SCALES)
        self._count[slots] = self._count[slots] * fade + changed[:, None]
        within = (1 - fade) / (gap[:, None] / SCALES)
        self._exposure[slots] = self._exposure[slots] * fade + exposure[:, None] * within
        self._changes += float(changed.sum())
        self._days += float(exposure.sum())
        for slot in slots[changed]:
            self.companions.changed(int(slot), int(self._site[slot]), float(self._last[slot]), day)
        hit = slots[changed]
        self._change_from[hit] = self._last[hit]
        self._change_to[hit] = day
        self._last[slots] = day

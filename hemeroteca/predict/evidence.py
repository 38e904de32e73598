"""What speaks for a change of a page: its habits, its neighbours, the week; a row of numbers per page.

Neighbours count for the time since the page's own last visit only, so that evidence is used exactly once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .neighbours import Companions, Sections
from .page_table import NEVER, SCALES, Floats, Ints, PageTable
from .paths import LEVELS, PATHS, SectionIndex
from .profile import Profiles

SLOW = 3  # the scale a section's activity is compared with
EVER = 4
SHAPE = 0.5  # pseudo-changes of the next slower scale that every scale starts from
SECTION_SHAPE = 2.0  # the same for a section that starts from the section around it
PSEUDO = 0.5  # pseudo-changes when found and promised changes of a section are compared
UNRELATED = 0.02  # chance of changing together that needs no companion
CHUNK = 1 << 15  # pages read at a time: stays in the processor's cache

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


class Evidence:
    def __init__(
        self, pages: PageTable, index: SectionIndex, sections: Sections, companions: Companions, profiles: Profiles
    ) -> None:
        self._pages = pages
        self._index = index
        self._sections = sections
        self._companions = companions
        self._profiles = profiles
        self.changes, self.days = 1.0, 1 / FIRST_RATE  # of all pages ever
        self._read: _Reading | None = None

    def of(self, slots: Ints, day: float) -> tuple[Floats, Floats, Floats]:
        """Feature matrix, gaps in days, and each page's slow rate."""
        read = self._read
        if read is not None and read.fresh and read.day == day:
            return read.x[slots], read.gap[slots], read.slow[slots]
        x, gap, slow = self._habits(slots, day)
        self._neighbours(slots, day, x)
        return x, gap, slow

    def of_all(self, slots: Ints, day: float) -> tuple[Floats, Floats]:
        """Features and gaps of pages to be scored.

        Habits stand still while the clock does: planning many times at one moment reads those of all pages once, and
        what a visit then teaches about the page itself does not matter before its next one.
        """
        if slots.size != self._pages.rows.size or slots.size > CHUNK:
            return self.of(slots, day)[:2]
        read = self._read
        if read is None or read.day != day:
            read = self._read = _Reading(day, *self._habits(slots, day))
        elif not read.fresh:
            read.gap = np.maximum(np.float32(day) - self._pages.rows["last"], np.float32(1e-3))
        if not read.fresh:
            self._neighbours(slots, day, read.x)
            read.fresh = True
        return read.x, read.gap

    def rate(self, slots: Ints) -> Floats:
        prior = self._prior(self._index.effective[self._pages.inside[slots]])
        return (self._pages.count[slots, EVER] + SHAPE) / (self._pages.exposure[slots, EVER] + SHAPE / prior)

    def visited(self) -> None:
        """Pages were visited: what neighbours say is read again."""
        if self._read is not None:
            self._read.fresh = False

    def forget(self) -> None:
        """Pages came or went, or the clock was set back."""
        self._read = None

    def _habits(self, slots: Ints, day: float) -> tuple[Floats, Floats, Floats]:
        """What the page's own past says; leaves the columns about neighbours empty."""
        page = self._pages.rows[slots]
        last = page["last"]
        gap = np.maximum(np.float32(day) - last, np.float32(1e-3))
        x = np.zeros((slots.size, len(FEATURES)), np.float32)
        x[:, 0] = 1
        rate = self._prior(self._index.effective[self._pages.inside[slots]])
        x[:, 1] = np.log(rate / np.float32(self.changes / self.days))
        slow = rate
        for k in range(SCALES.size - 1, -1, -1):
            fade = np.exp(-gap / SCALES[k])
            faster = (self._pages.count[slots, k] * fade + SHAPE) / (
                self._pages.exposure[slots, k] * fade + SHAPE / rate
            )
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
        active = self._profiles.active_days(page["site"], last, day)
        x[:, AT["week"]] = np.log(np.maximum(active / gap, 0.02))
        return x, gap, slow

    def _neighbours(self, slots: Ints, day: float, x: Floats) -> None:
        """What sections and companions showed since each page's own last visit."""
        last = self._pages.rows["last"][slots]
        found = self._sections.since(self._index.effective[self._pages.inside[slots]], self._sections.column(last))
        found += PSEUDO
        np.log(found, out=found)
        x[:, AT["section-0"] : AT["section-0"] + LEVELS] = found[:, :, 0] - found[:, :, 1]
        self._companion_features(slots, last, day, x)

    def _prior(self, inside: NDArray[np.int32]) -> Floats:
        """Changes per day of pages nobody knows yet: the site's, corrected by each narrower section's own."""
        rate = np.full(len(inside), self.changes / self.days, np.float32)
        for level in range(PATHS):
            s = inside[:, level]
            own = (self._sections.changes[s] + SECTION_SHAPE) / (self._sections.exposure[s] + SECTION_SHAPE / rate)
            rate = np.where(s == 0, rate, own)
        return rate

    def _companion_features(self, slots: Ints, last: Floats, day: float, x: Floats) -> None:
        x[:, -2:] = 0
        some = np.flatnonzero(self._companions.page[slots, 0] >= 0)
        if some.size == 0:
            return
        mine = slots[some]
        other = self._companions.page[mine]
        bond = self._companions.bond[mine].astype(np.float32)
        bond = np.minimum(bond / (self._pages.count[mine, EVER] + 1)[:, None], 0.95)
        bond[other < 0] = 0
        since = last[some][:, None]
        start, end = self._pages.rows["change_from"][other], self._pages.rows["change_to"][other]
        after = np.clip((end - np.maximum(start, since)) / np.maximum(end - start, 0.5), 0, 1)
        together = 1 - np.prod(1 - bond * after, axis=1)
        x[some, AT["companions"]] = np.log1p(together / UNRELATED)
        quiet = np.clip((self._pages.rows["last"][other] - np.maximum(since, end)) / np.maximum(day - since, 0.5), 0, 1)
        x[some, AT["companions-quiet"]] = (bond * quiet).sum(1)


@dataclass(slots=True)
class _Reading:
    """Features of all pages at one moment; `fresh` until the next visit."""

    day: float
    x: Floats
    gap: Floats
    slow: Floats
    fresh: bool = False

"""What neighbours say: activity of sections of a site day by day, and pages that changed together before.

A page that changed tells something about the pages beside it only for the time since *they* were last visited. So
each section keeps, for the last days, how many changes its pages showed and how many their own habits promised, and a
page reads both sums since its own last visit. A change found after a long gap is dated by what the other pages
of the section already told (one step of expectation maximisation) instead of being blamed on today.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DAYS = 64  # how far back a section's activity is told apart by day

Ints = NDArray[np.integer]
Floats = NDArray[np.float32]


class Sections:
    """Running totals per section and day: changes found and changes expected, side by side.

    Row s, column d mod DAYS holds the totals up to the end of day d, so "since day l" is one subtraction.
    Row 0 stays empty: it stands for "no such section".
    """

    ARRAYS = ("totals", "changes", "exposure", "sensed", "today_visits", "today_changes")

    def __init__(self, size: int = 1) -> None:
        self.totals = np.zeros((size, DAYS, 2), np.float32)  # FOUND and PROMISED
        self.changes = np.zeros(size, np.float32)  # ever
        self.exposure = np.zeros(size, np.float32)  # days until the first change of each gap, ever
        self.sensed = np.zeros(size, np.float32)  # day of the last visit of any of its pages
        self.today_visits = np.zeros(size, np.int32)
        self.today_changes = np.zeros(size, np.int32)
        self.day = 0

    def grow(self, size: int) -> None:
        more = size - len(self.changes)
        if more <= 0:
            return
        for name in self.ARRAYS:
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros((more, *old.shape[1:]), old.dtype)]))

    def turn_to(self, day: int) -> None:
        """Open the column of `day`; a clock that jumped far (either way) empties the totals instead of mixing days."""
        if day == self.day:
            return
        if day < self.day or day - self.day >= DAYS:
            self.totals[:] = 0
        else:
            last = self.totals[:, self.day % DAYS].copy()
            for d in range(self.day + 1, day + 1):
                self.totals[:, d % DAYS] = last
            # Totals only matter as differences: keep them small so that float32 stays exact enough.
            self.totals -= self.totals[:, (day + 1) % DAYS, None]
        self.day = day
        self.today_visits[:] = 0
        self.today_changes[:] = 0

    def column(self, last_days: NDArray[np.floating]) -> Ints:
        """Where the total "up to the last visit" of pages last visited at these days is kept."""
        whole = np.floor(last_days + 1e-4).astype(np.int64) - 1
        return np.clip(whole, self.day - DAYS + 1, self.day) % DAYS

    def since(self, sections: Ints, columns: Ints) -> Floats:
        """FOUND and PROMISED (last axis) of each page's sections (one column per level) since these columns."""
        flat = self.totals.reshape(-1, 2)
        row = sections.astype(np.int64) * DAYS
        found = flat.take(row + self.day % DAYS, axis=0) - flat.take(row + columns[:, None], axis=0)
        return np.maximum(found, 0, out=found)

    def record(
        self,
        sections: Ints,  # one column per level
        last_days: NDArray[np.floating],
        changed: NDArray[np.bool_],
        promised: NDArray[np.floating],
        exposure: NDArray[np.floating],
        now: float,
    ) -> None:
        """Book a batch of visits, made at the day `now`, of pages last visited at `last_days`."""
        first = np.floor(last_days + 1e-4).astype(np.int64)
        first = np.minimum(np.maximum(first, self.day - DAYS + 2), self.day)
        length = self.day - first + 1
        age = (self.day - np.arange(DAYS)) % DAYS  # of the day each column stands for
        ramp = np.minimum(np.maximum(1 - age / length[:, None], 0), 1)
        ramp *= promised[:, None]
        shape = sections.shape
        flat = sections.reshape(-1)
        self.sensed[flat] = now
        np.add.at(self.totals[:, :, PROMISED], flat, np.repeat(ramp.astype(np.float32), shape[1], axis=0))
        np.add.at(self.exposure, flat, np.repeat(exposure.astype(np.float32), shape[1]))
        np.add.at(self.today_visits, flat, 1)
        if changed.any():
            here = sections[changed]
            np.add.at(self.changes, here.reshape(-1), 1)
            np.add.at(self.today_changes, here.reshape(-1), 1)
            for rows, start in zip(here, first[changed], strict=True):
                self._date(rows[rows > 0], np.arange(start - 1, self.day + 1) % DAYS)
        self.totals[0] = 0
        self.changes[0] = self.exposure[0] = 0

    def _date(self, rows: Ints, days: Ints) -> None:
        """Spread one change over the days it may have happened on, mostly on days others already pointed at."""
        at = rows[:, None], days[None, :]
        known = self.totals[at]
        seen = np.maximum(known[:, 1:] - known[:, :-1], 0)
        share = UNDATED + seen[:, :, FOUND] / (1 + seen[:, :, PROMISED])
        np.cumsum(share, axis=1, out=share)
        known[:, 1:, FOUND] += share / share[:, -1:]
        self.totals[at] = known


FOUND, PROMISED = 0, 1
UNDATED = 0.1  # weight of a day nobody has pointed at, against one found change


class Companions:
    """For every page the few pages that changed together with it most often, found online (space-saving counters)."""

    ARRAYS = ("page", "bond", "recent_page", "recent_site", "recent_from", "recent_to", "next")

    def __init__(self, size: int, width: int) -> None:
        self.page = np.full((size, width), -1, np.int32)
        self.bond = np.zeros((size, width), np.float16)
        self.recent_page = np.full(RECENT, -1, np.int64)
        self.recent_site = np.full(RECENT, -1, np.int64)
        self.recent_from = np.zeros(RECENT)
        self.recent_to = np.full(RECENT, -np.inf)
        self.next = np.zeros(1, np.int64)

    def grow(self, size: int) -> None:
        more = size - len(self.page)
        if more > 0:
            width = self.page.shape[1]
            self.page = np.concatenate([self.page, np.full((more, width), -1, np.int32)])
            self.bond = np.concatenate([self.bond, np.zeros((more, width), np.float16)])

    def changed(self, page: int, site: int, start: float, end: float) -> None:
        """A change of `page` happened somewhere in (start, end]: tie it to the other changes of that time."""
        shared = np.minimum(self.recent_to, end) - np.maximum(self.recent_from, start)
        whole = np.maximum(self.recent_to, end) - np.minimum(self.recent_from, start)
        likely = np.where((self.recent_site == site) & (self.recent_page != page), shared / whole, 0.0)
        near = np.flatnonzero(likely > 0.05)
        if near.size:
            crowd = near.size
            if crowd > NEAREST:
                near = near[np.argpartition(-likely[near], NEAREST)[:NEAREST]]
            # When half the site changes at once, being there says little about any pair.
            strength = (likely[near] / np.sqrt(1 + crowd / NEAREST)).astype(np.float32)
            others, first = np.unique(self.recent_page[near], return_index=True)
            strength = strength[first]
            self._tie(others, page, strength)
            self._tie_own(page, others, strength)
        i = int(self.next[0]) % RECENT
        self.recent_page[i], self.recent_site[i] = page, site
        self.recent_from[i], self.recent_to[i] = start, end
        self.next += 1

    def _tie(self, pages: Ints, other: int, strength: Floats) -> None:
        """Tie `other` to each of `pages`: raise its counter, or let it wear down and replace the weakest."""
        same = self.page[pages] == other
        known = same.any(1)
        slot = np.where(known, same.argmax(1), self.bond[pages].argmin(1))
        held = self.bond[pages, slot]
        replace = ~known & (held < strength)
        self.page[pages[replace], slot[replace]] = other
        self.bond[pages, slot] = np.where(known, held + strength, np.where(replace, strength, held - WEAR * strength))

    def _tie_own(self, page: int, others: Ints, strength: Floats) -> None:
        """The same for one page and many others at once."""
        row, bond = self.page[page], self.bond[page]
        same = row[None, :] == others[:, None]
        bond += (same * strength[:, None]).sum(0)
        new = np.flatnonzero(~same.any(1))
        new = new[np.argsort(-strength[new], kind="stable")][: row.size]
        weakest = np.argsort(bond, kind="stable")[: new.size]
        held, offered = bond[weakest], strength[new]
        replace = held < offered
        row[weakest[replace]] = others[new[replace]]
        bond[weakest] = np.where(replace, offered, held - WEAR * offered)

    def forget(self, pages: Ints) -> None:
        self.page[pages] = -1
        self.bond[pages] = 0
        gone = np.isin(self.page, pages)
        self.page[gone] = -1
        self.bond[gone] = 0
        self.recent_page[np.isin(self.recent_page, pages)] = -1
        self.recent_site[self.recent_page < 0] = -1


RECENT = 1024  # changes remembered to find companions among
NEAREST = 16  # companions tied per change
WEAR = 0.3  # how much a newcomer that is too weak to enter wears down the weakest

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
    """Running totals per section and day: changes found (`found`) and changes expected (`promised`).

    Row s, column d mod DAYS holds the total up to the end of day d, so "since day l" is one subtraction.
    Row 0 stays empty: it stands for "no such section".
    """

    ARRAYS = ("found", "promised", "changes", "exposure", "sensed", "today_visits", "today_changes")

    def __init__(self, size: int = 1) -> None:
        self.found = np.zeros((size, DAYS), np.float32)
        self.promised = np.zeros((size, DAYS), np.float32)
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
            self.found[:] = 0
            self.promised[:] = 0
        else:
            last_found = self.found[:, self.day % DAYS].copy()
            last_promised = self.promised[:, self.day % DAYS].copy()
            oldest = (day + 1) % DAYS
            for d in range(self.day + 1, day + 1):
                self.found[:, d % DAYS] = last_found
                self.promised[:, d % DAYS] = last_promised
            # Totals only matter as differences: keep them small so that float32 stays exact enough.
            self.found -= self.found[:, oldest, None]
            self.promised -= self.promised[:, oldest, None]
        self.day = day
        self.today_visits[:] = 0
        self.today_changes[:] = 0

    def column(self, last_days: NDArray[np.floating]) -> Ints:
        """Where the total "up to the last visit" of pages last visited at these days is kept."""
        whole = np.floor(last_days + 1e-4).astype(np.int64) - 1
        return np.clip(whole, self.day - DAYS + 1, self.day) % DAYS

    def since(self, sections: Ints, columns: Ints) -> tuple[Floats, Floats]:
        today = self.day % DAYS
        found = self.found[sections, today] - self.found[sections, columns]
        promised = self.promised[sections, today] - self.promised[sections, columns]
        return np.maximum(found, 0), np.maximum(promised, 0)

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
        first = np.clip(np.floor(last_days + 1e-4).astype(np.int64), self.day - DAYS + 2, self.day)
        length = self.day - first + 1
        ages = self.day - np.arange(DAYS)  # the day each column age stands for
        ramp = np.clip((ages[None, :] - first[:, None] + 1) / length[:, None], 0, 1).astype(np.float32)
        columns = ages % DAYS
        ramp_by_column = np.empty_like(ramp)
        ramp_by_column[:, columns] = ramp
        for level in range(sections.shape[1]):
            rows = sections[:, level]
            self.sensed[rows] = now
            np.add.at(self.promised, rows, ramp_by_column * promised[:, None].astype(np.float32))
            np.add.at(self.exposure, rows, exposure.astype(np.float32))
            np.add.at(self.changes, rows, changed.astype(np.float32))
            np.add.at(self.today_visits, rows, 1)
            np.add.at(self.today_changes, rows, changed)
        for i in np.flatnonzero(changed):
            rows = sections[i][sections[i] > 0]
            days = np.arange(first[i] - 1, self.day + 1) % DAYS
            self._date(rows, days)
        self.found[0] = self.promised[0] = 0
        self.changes[0] = self.exposure[0] = 0

    def _date(self, rows: Ints, days: Ints) -> None:
        """Spread one change over the days it may have happened on, mostly on days others already pointed at."""
        at = rows[:, None], days[None, :]
        found, promised = self.found[at], self.promised[at]
        share = UNDATED + np.maximum(found[:, 1:] - found[:, :-1], 0) / (
            1 + np.maximum(promised[:, 1:] - promised[:, :-1], 0)
        )
        np.cumsum(share, axis=1, out=share)
        found[:, 1:] += share / share[:, -1:]
        self.found[at] = found


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

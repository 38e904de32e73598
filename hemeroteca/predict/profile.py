"""When in the week a site changes: hours of working days, hours of free days, and the seven weekdays and holidays.

A site's profile is a relative activity (mean about 1) per hour of the week, kept as 24 + 24 + 8 factors so that it is
learned from few changes. A gap is then measured in *active* hours: a weekend of a newspaper that rests is a short gap.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

WEEK = 168
HOLIDAY = 7  # day kinds 0…6 are Monday…Sunday
PRIOR = 8.0  # changes' worth of belief in an even week
LONGEST = 4.0  # days; a longer gap says too little about the hour
FACTORS = 24 + 24 + 8


class Profiles:
    """One profile per site. `day_kind(site, day)` may name holidays; otherwise day 0 is `first_weekday`."""

    def __init__(self, sites: int = 0, first_weekday: int = 0) -> None:
        self.found = np.zeros((sites, FACTORS), np.float32)
        self.promised = np.zeros((sites, FACTORS), np.float32)
        self.first_weekday = first_weekday
        self.is_holiday: Callable[[int, int], bool] | None = None
        self._table = np.zeros((0, WEEK + 1))
        self._stale = np.zeros(0, bool)

    def grow(self, sites: int) -> None:
        more = sites - len(self.found)
        if more > 0:
            self.found = np.concatenate([self.found, np.zeros((more, FACTORS), np.float32)])
            self.promised = np.concatenate([self.promised, np.zeros((more, FACTORS), np.float32)])

    def factors(self, sites: Ints | slice = slice(None)) -> Doubles:
        """Relative activity of each factor of these sites."""
        return ((self.found[sites] + PRIOR) / (self.promised[sites] + PRIOR)).astype(np.float64)

    def week(self, sites: Ints | slice = slice(None)) -> Doubles:
        """Relative activity per hour of the week (Monday 0 h first), mean 1."""
        f = self.factors(sites)
        days = f[:, 48:55]
        hours = np.stack([f[:, :24]] * 5 + [f[:, 24:48]] * 2, axis=1)  # site, weekday, hour
        hours = hours / hours.mean(axis=2, keepdims=True)
        week = (hours * days[:, :, None]).reshape(len(f), WEEK)
        return week / week.mean(axis=1, keepdims=True)

    def active_days(self, sites: Ints, start: NDArray[np.floating], end: float) -> Floats:
        """Length of (start, end] in days of average activity."""
        table = self._tables()
        hour_end = (end + self.first_weekday) * 24.0
        hour_start = np.minimum((start.astype(np.float64) + self.first_weekday) * 24.0, hour_end)
        weeks_end, rest_end = divmod(hour_end, WEEK)
        weeks_start, rest_start = np.divmod(hour_start, WEEK)
        total = (weeks_end - weeks_start) * WEEK
        total += _lookup(table, sites, np.full(sites.shape, rest_end)) - _lookup(table, sites, rest_start)
        return (total / 24.0).astype(np.float32)

    def record(
        self, sites: Ints, start: NDArray[np.floating], end: float, changed: NDArray[np.bool_], rate: NDArray[np.floating]
    ) -> None:
        """Learn from visits after short gaps; `rate` is what the page promised per day."""
        short = np.flatnonzero((end - start <= LONGEST) & (end > start))
        if short.size == 0:
            return
        week = self.week(np.unique(sites[short]))
        row_of = {int(s): i for i, s in enumerate(np.unique(sites[short]))}
        for i in short:
            site = int(sites[i])
            first = int(np.floor((float(start[i]) + self.first_weekday) * 24.0 + 1e-3))
            last = max(int(np.ceil((end + self.first_weekday) * 24.0 - 1e-3)), first + 1)
            hours = np.arange(first, last)
            of_week = hours % WEEK
            activity = week[row_of[site], of_week]
            kinds = (hours // 24) % 7
            if self.is_holiday is not None:
                for day in np.unique(hours // 24):
                    if self.is_holiday(site, int(day) - self.first_weekday):
                        kinds = np.where(hours // 24 == day, HOLIDAY, kinds)
            bucket = np.where(kinds >= 5, 24, 0) + hours % 24
            # Given what the gap showed, how much change does each of its hours get and how much was promised?
            promise = float(rate[i]) / 24.0 * activity
            total = float(promise.sum())
            if changed[i]:
                np.add.at(self.found[site], bucket, (promise / total).astype(np.float32))
                np.add.at(self.found[site], 48 + kinds, (promise / total).astype(np.float32))
            seen = -np.expm1(-total) / total if total > 0 else 1.0
            flat = (np.full(hours.size, float(rate[i]) / 24.0) * seen).astype(np.float32)
            np.add.at(self.promised[site], bucket, flat)
            np.add.at(self.promised[site], 48 + kinds, flat)
            self._stale = np.zeros(0, bool)

    def _tables(self) -> Doubles:
        if len(self._stale) != len(self.found):
            week = self.week()
            self._table = np.concatenate([np.zeros((len(week), 1)), np.cumsum(week, axis=1)], axis=1)
            self._stale = np.zeros(len(self.found), bool)
        return self._table


def _lookup(table: Doubles, sites: Ints, hour: Doubles) -> Doubles:
    whole = np.minimum(hour.astype(np.int64), WEEK - 1)
    below = table[sites, whole]
    return below + (table[sites, whole + 1] - below) * (hour - whole)

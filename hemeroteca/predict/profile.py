"""When in the week a site changes: hours of working days, hours of free days, the seven weekdays, and holidays.

A site's profile is a relative activity (mean 1 over an ordinary week), kept as 24 + 24 + 8 factors so that it is
learned from few changes. A gap is then measured in *active* days: the weekend of a newspaper that rests is a short gap.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .calendars import Calendar

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

WEEK = 168
FREE_HOURS, DAYS_AT, HOLIDAY = 24, 48, 55  # where the factors of free hours, weekdays and holidays begin
FACTORS = 56
PRIOR = 8.0  # changes' worth of belief in an even week
MAX_GAP = 4.0  # days; a longer gap says too little about the hour
LOOK_BACK = 64  # days in which holidays shorten a gap


class Profiles:
    """One profile per site. Day 0 is a Monday unless `first_weekday` says otherwise (Monday 0 … Sunday 6)."""

    def __init__(self, sites: int = 0, first_weekday: int = 0) -> None:
        self.found = np.zeros((sites, FACTORS), np.float32)
        self.promised = np.zeros((sites, FACTORS), np.float32)
        self.first_weekday = first_weekday
        self.calendars: dict[int, Calendar] = {}
        self._table: Doubles | None = None
        self._holiday = np.zeros(0)

    def grow(self, sites: int) -> None:
        more = sites - len(self.found)
        if more > 0:
            self.found = np.concatenate([self.found, np.zeros((more, FACTORS), np.float32)])
            self.promised = np.concatenate([self.promised, np.zeros((more, FACTORS), np.float32)])
            self._table = None

    def week(self) -> Doubles:
        """Relative activity of every site per hour of the week (Monday 0 h first), mean 1."""
        return self._week()[0]

    def active_days(self, sites: Ints, start: NDArray[np.floating], end: float) -> Floats:
        """Length of (start, end] in days of average activity."""
        table = self._tables()
        hour_end = (end + self.first_weekday) * 24.0
        hour_start = np.minimum((start.astype(np.float64) + self.first_weekday) * 24.0, hour_end)
        weeks_end, rest_end = divmod(hour_end, WEEK)
        weeks_start, rest_start = np.divmod(hour_start, WEEK)
        total = (weeks_end - weeks_start) * WEEK
        total += _lookup(table, sites, np.float64(rest_end)) - _lookup(table, sites, rest_start)
        for site, calendar in self.calendars.items():
            here = np.flatnonzero(sites == site)
            if here.size:
                total[here] += self._holidays(site, calendar, start[here], end)
        return (total / 24.0).astype(np.float32)

    def record(
        self,
        sites: Ints,
        start: NDArray[np.floating],
        end: float,
        changed: NDArray[np.bool_],
        rate: NDArray[np.floating],
    ) -> None:
        """Learn from visits after short gaps; `rate` is what each page promised per day."""
        short = np.flatnonzero((end - start <= MAX_GAP) & (end > start))
        if short.size == 0:
            return
        first = np.floor((start[short].astype(np.float64) + self.first_weekday) * 24.0 + 0.01).astype(np.int64)
        last = max(int(np.ceil((end + self.first_weekday) * 24.0 - 0.01)), int(first.max()) + 1)
        alike, member = np.unique(np.stack([sites[short], first], 1), axis=0, return_inverse=True)
        week = self.week()
        for i, (site, begin) in enumerate(alike):
            mine = short[member.reshape(-1) == i]
            hours = np.arange(begin, last)
            kinds = self._kinds(int(site), hours)
            bucket = np.where(kinds >= 5, FREE_HOURS, 0) + hours % 24
            activity = week[site, hours % WEEK]
            length = float(activity.sum()) / 24.0
            # Changes are dated by the profile so far; a gap promises only until its first change.
            found = (int(changed[mine].sum()) * activity / max(activity.sum(), 1e-9)).astype(np.float32)
            expected = np.maximum(rate[mine].astype(np.float64) * length, 1e-9)
            flat = np.float32((-np.expm1(-expected) / max(length, 1e-9)).sum() / 24.0)
            np.add.at(self.found[site], bucket, found)
            np.add.at(self.found[site], DAYS_AT + kinds, found)
            np.add.at(self.promised[site], bucket, flat)
            np.add.at(self.promised[site], DAYS_AT + kinds, flat)
        self._table = None

    def _kinds(self, site: int, hours: Ints) -> Ints:
        days = hours // 24
        kinds = days % 7
        calendar = self.calendars.get(site)
        if calendar is not None:
            for day in np.unique(days):
                if calendar.is_holiday(calendar.date(int(day) - self.first_weekday)):
                    kinds = np.where(days == day, HOLIDAY - DAYS_AT, kinds)
        return kinds

    def _holidays(self, site: int, calendar: Calendar, start: NDArray[np.floating], end: float) -> Doubles:
        """Active hours that holidays add (or, mostly, take away) in each gap."""
        more = np.zeros(start.shape)
        assert self._table is not None
        today = int(np.floor(end))
        for day in calendar.holidays(today - LOOK_BACK, today + 1):
            weekday = (day + self.first_weekday) % 7
            usual = self._table[site, (weekday + 1) * 24] - self._table[site, weekday * 24]
            share = np.clip(np.minimum(end, day + 1) - np.maximum(start, day), 0, 1)
            more += share * (24 * self._holiday[site] - usual)
        return more

    def _week(self) -> tuple[Doubles, Doubles]:
        f = ((self.found + PRIOR) / (self.promised + PRIOR)).astype(np.float64)
        working, free = f[:, :FREE_HOURS], f[:, FREE_HOURS:DAYS_AT]
        hours = np.stack([working] * 5 + [free] * 2, axis=1)  # site, weekday, hour
        hours = hours / hours.mean(axis=2, keepdims=True)
        week = (hours * f[:, DAYS_AT:HOLIDAY, None]).reshape(len(f), WEEK)
        mean = week.mean(axis=1, keepdims=True)
        return week / mean, f[:, HOLIDAY] / mean[:, 0]

    def _tables(self) -> Doubles:
        if self._table is None:
            week, self._holiday = self._week()
            self._table = np.concatenate([np.zeros((len(week), 1)), np.cumsum(week, axis=1)], axis=1)
        return self._table


def _lookup(table: Doubles, sites: Ints, hour: Doubles | np.float64) -> Doubles:
    whole = np.minimum(np.asarray(hour, np.int64), WEEK - 1)
    below = table[sites, whole]
    return below + (table[sites, whole + 1] - below) * (hour - whole)

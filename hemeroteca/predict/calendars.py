"""Working days, weekends and holidays, per country (from the `holidays` package), without reading any clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

WORKING, WEEKEND, HOLIDAY = 0, 1, 2
KINDS = ("working", "weekend", "holiday")


@dataclass(frozen=True)
class Calendar:
    """Kinds of days counted from a first day."""

    first: date
    weekend: frozenset[int]
    is_holiday: Callable[[date], bool]

    def date(self, day: int) -> date:
        # A clock that jumped must not raise: days outside what dates can say are ordinary days.
        try:
            return self.first + timedelta(days=day)
        except OverflowError:
            return self.first

    def kind(self, day: int) -> int:
        when = self.date(day)
        if self.is_holiday(when):
            return HOLIDAY
        return WEEKEND if when.weekday() in self.weekend else WORKING

    def holidays(self, start: int, end: int) -> list[int]:
        """Holidays among the days start … end − 1."""
        return [day for day in range(start, end) if self.is_holiday(self.date(day))]


def week_calendar(first: date = date(2024, 1, 1), weekend: frozenset[int] = frozenset({5, 6})) -> Calendar:
    """Weeks without holidays; day 0 is a Monday unless told."""
    return Calendar(first, weekend, lambda day: False)


@lru_cache(maxsize=64)
def country_calendar(country: str, first: date, subdivision: str | None = None) -> Calendar:
    """The calendar of a country (ISO 3166 code such as ES, VE, CL) or of one of its parts."""
    import holidays

    try:
        days = holidays.country_holidays(country, subdiv=subdivision)
    except NotImplementedError as error:
        raise ValueError(
            f"no holiday calendar for {country!r} ({error}); use a two-letter country code, or leave it empty"
        ) from error
    weekend = frozenset(int(d) for d in getattr(days, "weekend", {5, 6}))
    return Calendar(first, weekend, lambda day: day in days)

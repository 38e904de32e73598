"""Times of the week at which a subscription may be visited. Pure.

Written `mon-fri 08:00-18:00 Europe/Madrid`: days (all when left out), hours (the whole day when left out; past midnight
when the end comes first), zone (UTC when left out).
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MAX_WINDOWS = 20
_HOURS = re.compile(r"([01]?\d|2[0-4])(?::([0-5]\d))?-([01]?\d|2[0-4])(?::([0-5]\d))?")
_WEEK = 7 * 24 * 60


class WindowError(ValueError):
    """A window that cannot be read; the message says how one is written."""


class Window(msgspec.Struct, frozen=True):
    """Days (0 Monday), minutes of the day from and to, and the zone they are meant in."""

    days: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6)
    start: int = 0
    end: int = 24 * 60
    zone: str = "UTC"

    def __str__(self) -> str:
        days = "" if len(self.days) == 7 else ",".join(DAYS[day] for day in self.days)
        hours = "" if (self.start, self.end) == (0, 1440) else f"{_clock(self.start)}-{_clock(self.end)}"
        zone = "" if self.zone == "UTC" else self.zone
        return " ".join(filter(None, (days, hours, zone))) or "mon-sun"

    def open(self, when: float) -> bool:
        """Whether the moment (seconds since 1970) lies in it."""
        local = datetime.fromtimestamp(when, UTC).astimezone(_zone(self.zone))
        minute = local.weekday() * 1440 + local.hour * 60 + local.minute
        length = (self.end - self.start - 1) % 1440 + 1
        return any((minute - day * 1440 - self.start) % _WEEK < length for day in self.days)


def read(text: str) -> Window:
    days: list[int] = []
    start, end, zone = 0, 1440, "UTC"
    for part in text.split():
        lower = part.lower()
        if found := _HOURS.fullmatch(part):
            start, end = int(found[1]) * 60 + int(found[2] or 0), int(found[3]) * 60 + int(found[4] or 0)
            if start == end or start >= 1440 or end > 1440:
                raise WindowError(f"{part!r} is no stretch of a day; write it like 08:00-18:00 or 22:00-06:00")
        elif lower[:3] in DAYS:
            days += _days(lower)
        else:
            try:
                zone = _zone(part).key
            except (ZoneInfoNotFoundError, ValueError, OSError):
                raise WindowError(
                    f"{part!r} is neither days, hours nor a time zone; write a window like "
                    "`mon-fri 08:00-18:00 Europe/Madrid`"
                )
    if not text.strip():
        raise WindowError("a window is empty; write one like `mon-fri 08:00-18:00 Europe/Madrid`")
    return Window(tuple(sorted(set(days))) or tuple(range(7)), start, end, zone)


def read_all(texts: Iterable[str]) -> list[Window]:
    found = [read(text) for text in texts if text.strip()]
    if len(found) > MAX_WINDOWS:
        raise WindowError(f"{len(found)} windows are too many for one subscription; {MAX_WINDOWS} are allowed")
    return found


def any_open(windows: list[Window], when: float) -> bool:
    """Whether one of them is open; no windows: always."""
    return not windows or any(window.open(when) for window in windows)


def next_open(windows: Iterable[Window], when: float) -> float:
    """The first moment after `when` at which one of them opens."""
    return min(_opens(window, when) for window in windows)


def _opens(window: Window, when: float) -> float:
    zone = _zone(window.zone)
    today = datetime.fromtimestamp(when, zone).date()
    for days in range(9):
        day = today + timedelta(days=days)
        if day.weekday() in window.days:
            start = time(window.start // 60, window.start % 60)
            for fold in (0, 1):  # an hour that comes twice starts twice
                moment = datetime.combine(day, start.replace(fold=fold), zone).timestamp()
                if moment > when:
                    plain = _offset(zone, when) == _offset(zone, moment + 3600) and window.open(moment)
                    return moment if plain else _opens_by_minutes(window, int(when // 60))
    raise AssertionError("a window has at least one day")


@lru_cache(maxsize=256)
def _opens_by_minutes(window: Window, minute: int) -> float:
    """While clocks are set forward or back: hours are left out or come twice, and the start may be among them."""
    while not window.open((minute := minute + 1) * 60.0):
        pass
    return minute * 60.0


def _offset(zone: ZoneInfo, when: float) -> timedelta | None:
    return datetime.fromtimestamp(when, zone).utcoffset()


def _days(text: str) -> list[int]:
    days: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if first not in DAYS or (dash and last not in DAYS):
            raise WindowError(f"{part!r} are no days; write them like mon-fri or sat,sun")
        a = DAYS.index(first)
        b = DAYS.index(last) if dash else a
        days += [(a + step) % 7 for step in range((b - a) % 7 + 1)]
    return days


def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def _clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"

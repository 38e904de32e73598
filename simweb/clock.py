"""The virtual clock: starts at an instant fixed by the seed, runs at a chosen speed, can be advanced, never back."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

DAY = 86_400
HOUR = 3_600
EPOCH = int(datetime(2025, 1, 6, tzinfo=UTC).timestamp())  # a Monday


def start_instant(seed: int) -> int:
    """Where time begins for a seed: some hour of the first half of 2025 (before any real clock that runs this)."""
    return EPOCH + seed * 7919 % (26 * 7 * 24) * HOUR


class Clock:
    """Virtual seconds since 1970. `speed` 0 stands still until advanced; 3600 makes an hour of every second."""

    def __init__(self, start: float, speed: float = 0.0, real: Callable[[], float] = time.monotonic) -> None:
        self._base = start
        self._real = real
        self._since = real()
        self.speed = speed

    def now(self) -> float:
        if not self.speed:
            return self._base
        return self._base + (self._real() - self._since) * self.speed

    def advance(self, seconds: float) -> float:
        if seconds < 0:
            raise ValueError(f"the clock cannot go back {-seconds} seconds; start a new simweb instead")
        self._base = self.now() + seconds
        self._since = self._real()
        return self._base

    def set_speed(self, speed: float) -> None:
        if speed < 0:
            raise ValueError(f"the clock's speed is {speed}; it must be 0 or more")
        self.advance(0)
        self.speed = speed


def http_date(instant: float) -> str:
    """`Mon, 06 Jan 2025 00:00:00 GMT`"""
    day, second = divmod(int(instant), DAY)
    return f"{_http_day(day)} {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02} GMT"


def iso_date(instant: float) -> str:
    """`2025-01-06T00:00:00Z`"""
    day, second = divmod(int(instant), DAY)
    return f"{iso_day(day)}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


@lru_cache(maxsize=8192)
def iso_day(day: int) -> str:
    return datetime.fromtimestamp(day * DAY, UTC).strftime("%Y-%m-%d")


@lru_cache(maxsize=8192)
def _http_day(day: int) -> str:
    date = datetime.fromtimestamp(day * DAY, UTC)
    weekday = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[date.weekday()]
    month = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")[date.month - 1]
    return f"{weekday}, {date.day:02} {month} {date.year}"

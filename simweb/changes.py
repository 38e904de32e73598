"""How pages change: processes that answer, without remembering anything, when a page changed last and when before.

Each process is a pure function of a 64-bit key (seed, host, page) and time. `last(key, t)` is the newest change at or
before `t`; `between(key, a, b)` lists the changes in (a, b]. Random processes cut time into cells and draw each cell's
changes from a hash of the cell's number, so the past never has to be replayed.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from simweb.clock import DAY, HOUR

MASK = (1 << 64) - 1
YEAR = 365 * DAY


class Process(Protocol):
    """A way of changing."""

    @property
    def name(self) -> str: ...

    @property
    def length(self) -> int:
        """Seconds per cell; 0 when nothing ever changes."""

    def cell(self, key: int, number: int) -> list[int]:
        """The changes of one cell of time, in order."""


def mix(a: int, b: int) -> int:
    """64 well-mixed bits of two numbers."""
    x = (a * 0x9E3779B97F4A7C15 + b * 0xBF58476D1CE4E5B9 + 0x632BE59BD9B4E019) & MASK
    x = ((x ^ x >> 31) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 29


def last(process: Process, key: int, instant: float, since: float) -> int:
    """The newest change in (since, instant], or `since` when there is none."""
    length = process.length
    if length:
        number = int(instant // length)
        first = int(since // length)
        while number >= first:
            for moment in reversed(process.cell(key, number)):
                if moment <= since:
                    return int(since)
                if moment <= instant:
                    return moment
            number -= 1
    return int(since)


def between(process: Process, key: int, since: float, until: float) -> Iterator[int]:
    """Every change in (since, until], oldest first."""
    length = process.length
    if length:
        for number in range(int(since // length), int(until // length) + 1):
            for moment in process.cell(key, number):
                if since < moment <= until:
                    yield moment


@dataclass(frozen=True)
class Never:
    name: str = "never"
    length: int = 0

    def cell(self, key: int, number: int) -> list[int]:
        return []


@dataclass(frozen=True)
class Regular:
    """Once per period, always at the same moment of it."""

    name: str
    length: int

    def cell(self, key: int, number: int) -> list[int]:
        return [number * self.length + mix(key, 1) % self.length]


@dataclass(frozen=True)
class Poisson:
    """At random, once per `length` seconds on average."""

    name: str
    length: int

    def cell(self, key: int, number: int) -> list[int]:
        draw = mix(key, number)
        u, count, term = draw / (1 << 64), 0, math.exp(-1)
        while u > term and count < 12:
            u -= term
            count += 1
            term /= count
        start = number * self.length
        return sorted({start + mix(draw, i) % self.length for i in range(count)})


@dataclass(frozen=True)
class Bursts:
    """Quiet for weeks, then several changes within two days."""

    name: str = "bursts"
    length: int = 14 * DAY

    def cell(self, key: int, number: int) -> list[int]:
        draw = mix(key, number)
        if draw % 10 >= 6:
            return []
        start = number * self.length + mix(draw, 1) % (self.length - 2 * DAY)
        return sorted({start + mix(draw, 2 + i) % (2 * DAY) for i in range(3 + draw // 10 % 10)})


@dataclass(frozen=True)
class Seasons:
    """Nearly every day in its season (a quarter of the year), hardly ever outside it."""

    name: str = "seasons"
    length: int = DAY

    def cell(self, key: int, number: int) -> list[int]:
        phase = (number * DAY / YEAR + (key & 3) / 4) % 1
        draw = mix(key, number)
        chance = 90 if phase < 0.25 else 3
        return [number * DAY + (draw >> 8) % DAY] if draw % 100 < chance else []


@dataclass(frozen=True)
class Chance:
    """On `percent` of the days, at the page's own time of the day: what the founding work's groups are made of."""

    name: str
    percent: int
    length: int = DAY

    def cell(self, key: int, number: int) -> list[int]:
        return [number * DAY + mix(key, 1) % DAY] if (mix(key, number) >> 8) % 100 < self.percent else []


@dataclass(frozen=True)
class Surges:
    """Hardly ever, but four times a day in three days of 45, which are the same for every page."""

    name: str = "surges"
    length: int = DAY

    def cell(self, key: int, number: int) -> list[int]:
        draw = mix(key, number)
        count = 4 if number % 45 in (30, 31, 32) else int(draw % 100 < 3)
        return sorted({number * DAY + mix(draw, i) % DAY for i in range(count)})


PROCESSES: dict[str, Process] = {
    process.name: process
    for process in (
        Never(),
        Regular("hourly", HOUR),
        Regular("daily", DAY),
        Regular("weekly", 7 * DAY),
        Poisson("poisson", 3 * DAY),
        Bursts(),
        Seasons(),
        Chance("high", 85),
        Chance("medium", 55),
        Chance("low", 15),
        Surges(),
    )
}
GROUPS = ("high", "medium", "low")

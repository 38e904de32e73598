"""Groups of pages: High, Medium, Low as the founding work defines them, the behaviour found, and bursts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise


class Group(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Behaviour(StrEnum):
    STEADY = "steady"  # changes come at any time, at one rate
    PERIODIC = "periodic"  # changes keep a rhythm
    BURSTY = "bursty"  # changes come in crowds with long silences between
    SILENT = "silent"  # (almost) never, or no longer


QUIET = 30 * 24.0  # hours without a change that make a page silent when its own distances do not tell


def group(chance: float) -> Group:
    """High P > 0.7, Medium 0.4–0.7, Low < 0.4, with P the chance of a change on a day."""
    if not 0 <= chance <= 1:
        raise ValueError(f"{chance} is not a chance")
    if chance > 0.7:
        return Group.HIGH
    return Group.MEDIUM if chance >= 0.4 else Group.LOW


def daily_chance(per_hour: float) -> float:
    """P = 1 − e^(−24 λ): it does not fall because visits are fewer."""
    return -math.expm1(-24 * per_hour)


def site_chance(intervals: Iterable[tuple[int, int, bool, float]]) -> float:
    """P of a site: the expected share of its days on which some page changed.

    `intervals`: (day of the visit before, day of the visit, changed, P of the page). A change found after n days lies
    on each of them with P/(1 − (1 − P)ⁿ); with daily visits this is days with a change / days observed.
    """
    quiet: dict[int, float] = {}
    for before, day, changed, chance in intervals:
        days = min(max(day - before, 1), MAX_SPAN)
        hit = chance / -math.expm1(days * math.log1p(-min(chance, 1 - 1e-12))) if changed and chance > 0 else 0.0
        for one in range(day - days + 1, day + 1):
            quiet[one] = quiet.get(one, 1.0) * (1 - min(hit, 1.0))
    return 1 - math.fsum(quiet.values()) / len(quiet) if quiet else 0.0


MAX_SPAN = 400  # days of an interval


def behaviour(changes: Sequence[float], start: float, end: float) -> Behaviour | None:
    """What the times of change (hours) in a watched span look like; None while nobody can say.

    Distances between changes of a page without memory vary as much as their mean (coefficient of variation 1);
    a rhythm varies clearly less, bursts clearly more. How clearly depends on how many distances there are.
    """
    times = sorted(t for t in changes if start <= t <= end)
    if len(times) < 2:
        return Behaviour.SILENT if end - (times[0] if times else start) >= QUIET else None
    gaps = [b - a for a, b in pairwise(times)]
    mean = math.fsum(gaps) / len(gaps)
    # Quiet now for far longer than its own distances ever suggested: it fell asleep.
    if end - times[-1] > max(10 * mean, 3 * max(gaps)):
        return Behaviour.SILENT
    if len(gaps) < 4 or mean <= 0:
        return Behaviour.STEADY
    variation = math.sqrt(math.fsum((g - mean) ** 2 for g in gaps) / (len(gaps) - 1)) / mean
    doubt = 1 / math.sqrt(len(gaps))  # standard error of the coefficient of variation of a memoryless page
    if variation > 1 + max(1.5 * doubt, 0.25):
        return Behaviour.BURSTY
    if variation < 1 - max(1.5 * doubt, 0.4) or _keeps_clock(times):
        return Behaviour.PERIODIC
    return Behaviour.STEADY


def _keeps_clock(times: Sequence[float]) -> bool:
    """Rayleigh's test: do the changes gather at one hour of the day or of the week?"""
    n = len(times)
    for period in (24.0, 168.0):
        x = math.fsum(math.cos(2 * math.pi * t / period) for t in times)
        y = math.fsum(math.sin(2 * math.pi * t / period) for t in times)
        if math.hypot(x, y) / n > 0.8 and math.exp(-((math.hypot(x, y)) ** 2) / n) < 0.001:
            return True
    return False


@dataclass(frozen=True, slots=True)
class BurstSpan:
    start: float
    end: float
    changes: int

    @property
    def rate(self) -> float:
        """Changes per hour inside the burst."""
        return self.changes / (self.end - self.start) if self.end > self.start else math.inf


def bursts(changes: Sequence[float], *, factor: float = 4.0, reluctance: float = 1.0) -> list[BurstSpan]:
    """Spans in which changes come at least about `factor` times as fast as usual (Kleinberg's two-state automaton).

    `reluctance` is the price of entering a burst, in units of log n: higher finds fewer and clearer bursts.
    """
    if not factor > 1:
        raise ValueError(f"factor must be greater than 1, not {factor}")
    times = sorted(changes)
    if len(times) < 3 or times[-1] <= times[0]:
        return []
    gaps = [b - a for a, b in pairwise(times)]
    slow = len(gaps) / (times[-1] - times[0])
    rates = (slow, slow * factor)
    enter = reluctance * math.log(len(gaps) + 1)
    costs = [0.0, enter]
    back: list[tuple[int, int]] = []
    for gap in gaps:
        arrive = [costs[0], costs[1]] if costs[0] <= costs[1] else [costs[1], costs[1]]
        came_low = 0 if costs[0] <= costs[1] else 1  # leaving a burst is free
        came_high = 1 if costs[1] <= costs[0] + enter else 0
        arrive[1] = min(costs[1], costs[0] + enter)
        costs = [arrive[s] - math.log(rates[s]) + rates[s] * gap for s in (0, 1)]
        back.append((came_low, came_high))
    state = 0 if costs[0] <= costs[1] else 1
    states = [state]
    for came in reversed(back[1:]):
        state = came[state]
        states.append(state)
    states.reverse()
    found: list[BurstSpan] = []
    i = 0
    while i < len(states):
        if states[i]:
            j = i
            while j < len(states) and states[j]:
                j += 1
            found.append(BurstSpan(times[i], times[j], j - i + 1))
            i = j
        else:
            i += 1
    return found

"""Policies by name: when to visit each page next, given what the visits so far have shown.

The rules of the founding works, the usual rule of crawlers, the 2019 optimum, and `auto`. All are vectorised over
pages and take time (hours) as an argument, so the simulator and the live scheduler run the same code.

A rule with an interval of its own is fitted to a budget by stretching its time (`stretch`): every hour in it
becomes `stretch` hours, steps and caps included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .calendars import KINDS, WORKING, Calendar, week_calendar
from .frequencies import lambda_crawl
from .planner import Planner

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]


@dataclass(frozen=True)
class World:
    """What a policy may know before its first visit."""

    sites: Sequence[str]
    pages: Sequence[str]
    step: float = 24.0  # hours; at most one visit of a page per step
    visits_per_step: float | None = None  # the budget, when there is one
    seed: int = 0
    calendar: Calendar | None = None

    def __len__(self) -> int:
        return len(self.pages)


class Policy(Protocol):
    """What the simulator asks of a policy. `choose` may be called several times at the same `now`."""

    def start(self, world: World) -> None: ...

    def choose(self, now: float, allowance: int | None) -> Ints:
        """Pages to visit at `now`, most urgent first; at most `allowance` of them are visited."""
        ...

    def observe(self, pages: Ints, now: float, changed: Bits) -> None: ...

    def notify(self, pages: Ints, now: float) -> None:
        """Somebody said that these pages changed; it may be false."""
        ...


@runtime_checkable
class Saver(Protocol):
    """A policy that may keep visits for a better day. `choose` then gives no pages when nothing is worth its price."""

    def income(self, per_step: float, held: float, most: float) -> None:
        """A step begins: `held` visits may be made now, and `most` of them kept for later."""
        ...


class IntervalPolicy:
    """Base of every rule that keeps an interval per page: subclass it and write `revise`."""

    budgeted = False  # fitted to a budget by stretching time
    first = 24.0
    replayed = 60  # newest observations of a page that say all it needs after a restart

    def __init__(self, stretch: float = 1.0) -> None:
        if not stretch > 0:
            raise ValueError(f"stretch must be greater than zero, not {stretch}")
        self.stretch = stretch

    def start(self, world: World) -> None:
        n = len(world)
        self.world = world
        self.interval = np.full(n, self.first)  # in the rule's own hours
        self.last = np.zeros(n)
        self.next = self.interval * self.stretch
        if world.visits_per_step:
            # A budget cannot pay the first visit of all pages at once: they are spread over one round.
            order = np.random.default_rng(world.seed).permutation(n)
            self.next = ((order + 1) * (world.step / world.visits_per_step)).astype(np.float64)

    def choose(self, now: float, allowance: int | None) -> Ints:
        due = np.flatnonzero(self.next <= now + 1e-6)
        due = due[np.argsort(self.next[due], kind="stable")]
        return due if allowance is None else due[:allowance]

    def observe(self, pages: Ints, now: float, changed: Bits) -> None:
        gap = (now - self.last[pages]) / self.stretch
        self.interval[pages] = self.revise(pages, self.interval[pages], gap, changed, now / self.stretch)
        self.next[pages] = now + self.interval[pages] * self.stretch
        self.last[pages] = now

    def revise(self, pages: Ints, interval: Floats, gap: Floats, changed: Bits, now: float) -> Floats:
        """The new interval in hours of each visited page."""
        raise NotImplementedError(f"{type(self).__name__} must say how an interval changes after a visit")

    def notify(self, pages: Ints, now: float) -> None:
        """Most rules do not listen."""


class Fixed(IntervalPolicy):
    """T constant."""

    def __init__(self, stretch: float = 1.0, hours: float = 24.0) -> None:
        super().__init__(stretch)
        self.first = hours

    def revise(self, pages: Ints, interval: Floats, gap: Floats, changed: Bits, now: float) -> Floats:
        return interval


class Simple(IntervalPolicy):
    """2015: a day more after every visit in vain, up to 30 days; one day after a change."""

    step, cap = 24.0, 720.0

    def revise(self, pages: Ints, interval: Floats, gap: Floats, changed: Bits, now: float) -> Floats:
        return np.where(changed, self.step, np.minimum(interval + self.step, self.cap))


class SimpleNotify(Simple):
    """2015: `simple`, and a notification about a page with T > 360 h brings it back to one day and a visit."""

    def notify(self, pages: Ints, now: float) -> None:
        sleepy = pages[self.interval[pages] > self.cap / 2]
        self.interval[sleepy] = self.step
        self.next[sleepy] = now


class SimpleHistory(IntervalPolicy):
    """2015: T = 24/P, with P the days with a change among the last `window` days and the same dates of earlier years.

    Divided by the days of the window, not by the visits: a page that changes every 6 days has P = 1/6, T = 144. Days
    before the page was watched do not count, and an earlier year only where it was visited on those dates.
    """

    years = 2  # earlier ones that are looked at
    replayed = 366 * (years + 1)

    def __init__(self, stretch: float = 1.0, window: int = 30) -> None:
        super().__init__(stretch)
        if not 1 <= window <= 365:
            raise ValueError(f"the window must have 1 to 365 days, not {window}")
        self.window = window

    def start(self, world: World) -> None:
        super().start(world)
        # For each of the last days, 2·day + whether it had a change: an entry of another day says nothing.
        self._days = np.full((len(world), self.replayed), np.iinfo(np.int32).min, np.int32)
        self._since = np.full(len(world), np.inf)  # hour from which the page is watched

    def revise(self, pages: Ints, interval: Floats, gap: Floats, changed: Bits, now: float) -> Floats:
        today = math.floor(now / 24 - 1e-9)
        columns = self._days.shape[1]
        known = self._days[pages, today % columns]
        self._days[pages, today % columns] = 2 * today + (changed | (known == 2 * today + 1))
        self._since[pages] = np.minimum(self._since[pages], now - np.maximum(gap, 0))
        watched = np.ceil((24 * (today + 1) - self._since[pages]) / 24 - 1e-9)
        hits, days = np.zeros(pages.size), np.zeros(pages.size)
        for year in range(self.years + 1):
            back = round(365.25 * year / self.stretch)
            window = today - back - np.arange(self.window)
            kept = self._days[pages][:, window % columns]
            visited = (kept >> 1 == window).any(axis=1)
            hits += np.where(kept == 2 * window + 1, 1, 0).sum(axis=1)
            days += np.where(visited, np.clip(watched - back, 1, self.window), 0)
        return history_interval(hits, days)


def history_interval(days_with_change: Floats, days: Floats) -> Floats:
    """Hours: 24/P between 24 and 144, with P = days with a change / days; P = 0 gives 144."""
    return np.clip(24 * days / np.maximum(days_with_change, 1e-9), 24.0, 144.0)


class DayType(IntervalPolicy):
    """2015: a P for working days, one for weekends and one for holidays; visit when a whole change is due.

    A change belongs to one of the days since the last visit, nobody knows to which: P makes all intervals likeliest.
    """

    longest = 6  # days
    kept = 128  # newest intervals of a page

    def start(self, world: World) -> None:
        super().start(world)
        self._calendar = world.calendar or week_calendar()
        self._spans = np.zeros((len(world), self.kept, len(KINDS)), np.int16)  # days of each kind between two visits
        self._hits = np.zeros((len(world), self.kept), bool)
        self._known = np.zeros(len(world), np.int64)
        self.chances = np.full((len(world), len(KINDS)), 0.5)

    def revise(self, pages: Ints, interval: Floats, gap: Floats, changed: Bits, now: float) -> Floats:
        today = math.floor(now * self.stretch / 24 - 1e-9)
        before = np.floor((now - np.maximum(gap, 0)) * self.stretch / 24 - 1e-9).astype(np.int64)
        place = self._known[pages] % self.kept
        for first in np.unique(before):
            self._spans[pages[before == first], place[before == first]] = self._count(min(int(first), today - 1), today)
        self._hits[pages, place] = changed
        self._known[pages] += 1
        spans = self._spans[pages]
        self.chances[pages] = p = day_chances(spans, self._hits[pages], self.chances[pages])
        # A kind of day never seen yet borrows the working days' habit.
        p = np.where(spans.sum(axis=1) > 0, p, p[:, [WORKING]])
        days = np.full(pages.size, self.longest)
        due = np.zeros(pages.size)
        for ahead in range(self.longest, 0, -1):
            kinds = [self._calendar.kind(today + k) for k in range(1, ahead + 1)]
            due = p[:, kinds].sum(axis=1)
            days = np.where(due >= 1 - 1e-3 * ahead, ahead, days)
        return days * 24.0

    def _count(self, first: int, last: int) -> Ints:
        """Days of each kind after `first`, up to `last`."""
        kinds = [self._calendar.kind(day) for day in range(max(first + 1, last - 1000), last + 1)]
        return np.bincount(kinds, minlength=len(KINDS))


def day_chances(spans: NDArray[np.int16], hits: Bits, chances: Floats, rounds: int = 4) -> Floats:
    """P of a change on each kind of day that makes the intervals likeliest, from `spans` (pages, intervals, kinds).

    Expectation and maximisation: given a change among n days, each had one with P/(1 − Π(1 − P)ⁿ). A few rounds from
    the last answer are enough, for it is asked after every visit.
    """
    days = spans.sum(axis=1, dtype=np.float64)
    for _ in range(rounds):
        p = np.clip(chances, 1e-3, 1 - 1e-3)
        quiet = np.exp(np.einsum("pik,pk->pi", spans, np.log1p(-p)))
        share = np.where(hits, 1 / np.maximum(1 - quiet, 1e-9), 0.0)
        chances = np.where(days > 0, np.einsum("pik,pi->pk", spans, share) * p / np.maximum(days, 1), 0.5)
    return chances


class Exponential(IntervalPolicy):
    """2018: the mean distance E of the newest revisions; look when the last one is older than E."""

    kept = 80
    longest = 720.0  # hours; the rule itself would never look again at a page that fell asleep

    def start(self, world: World) -> None:
        super().start(world)
        self._times = np.full((len(world), self.kept), np.nan)
        self._known = np.zeros(len(world), np.int64)

    def revise(self, pages: Ints, interval: Floats, gap: Floats, changed: Bits, now: float) -> Floats:
        hit = pages[changed]
        self._times[hit, self._known[hit] % self.kept] = now
        self._known[hit] += 1
        out = np.empty(pages.size)
        for i, page in enumerate(pages):
            n = int(self._known[page])
            if n < 2:
                out[i] = min(max(now, 24.0), self.longest)  # nothing to average: as long again as it was watched
            elif changed[i]:
                size = min(revision_sample(n), self.kept, n)
                oldest = self._times[page, (n - size) % self.kept]
                out[i] = min(max((now - oldest) / size, 1e-3), self.longest)
            else:
                out[i] = interval[i]  # already overdue: look again after one more E
        return out


def revision_sample(revisions: int) -> int:
    """How many of the newest revisions are averaged: a tenth, but at least 20."""
    return max(20, revisions // 10)


class Nutch(IntervalPolicy):
    """The adaptive schedule of Apache Nutch, with its `sync` towards the last modification."""

    shrink, stretch_by, sync = 0.8, 1.2, 0.2
    least, most = 60 / 3600, 365 * 24.0

    def start(self, world: World) -> None:
        super().start(world)
        self._modified = np.zeros(len(world))

    def observe(self, pages: Ints, now: float, changed: Bits) -> None:
        own = now / self.stretch
        self._modified[pages[changed]] = own
        interval, wait = nutch_schedule(self.interval[pages], changed, own - self._modified[pages])
        self.interval[pages] = interval
        self.next[pages] = now + wait * self.stretch
        self.last[pages] = now


def nutch_schedule(interval: Floats, changed: Bits, since_modified: Floats) -> tuple[Floats, Floats]:
    """New interval, and hours until the next visit: T×0.8 or T×1.2, δ > T gives T = δ, next = now − 0.2δ + T."""
    interval = np.clip(interval * np.where(changed, Nutch.shrink, Nutch.stretch_by), Nutch.least, Nutch.most)
    interval = np.clip(np.maximum(interval, since_modified), Nutch.least, Nutch.most)
    return interval, np.maximum(interval - Nutch.sync * since_modified, Nutch.least)


PRIOR_SHAPE = 0.5
PRIOR_EXPOSURE = 0.5 * 60 * 24.0  # hours: one change in 60 days


class RatePolicy:
    """Base of policies that estimate a rate per page by Gamma(a, b) and share a budget."""

    budgeted = True
    keep_per_day = 1.0  # share of the evidence kept after a day

    def start(self, world: World) -> None:
        if not world.visits_per_step:
            raise ValueError(f"{type(self).__name__} shares a budget; give --budget")
        self.world = world
        self.budget = world.visits_per_step / world.step  # visits per hour
        n = len(world)
        self.shape = np.full(n, PRIOR_SHAPE)
        self.exposure = np.full(n, PRIOR_EXPOSURE)
        self.last = np.random.default_rng(world.seed).uniform(-len(world) / self.budget, 0, n)
        self._seen = np.zeros(n)

    def observe(self, pages: Ints, now: float, changed: Bits) -> None:
        gap = np.maximum(now - self._seen[pages], 1e-6)
        keep = self.keep_per_day ** (gap / 24)  # what is forgotten falls back to the prior
        a = PRIOR_SHAPE + (self.shape[pages] - PRIOR_SHAPE) * keep
        b = PRIOR_EXPOSURE + (self.exposure[pages] - PRIOR_EXPOSURE) * keep
        self.shape[pages], self.exposure[pages] = gamma_update(np.maximum(a, 0.05), b, gap, changed)
        self.last[pages] = self._seen[pages] = now

    def notify(self, pages: Ints, now: float) -> None:
        """Rates do not listen."""


class LambdaCrawl(RatePolicy):
    """2019: frequencies of least harmonic staleness for the estimated rates, visited at even distances."""

    every = 7 * 24.0  # hours between two solutions

    def start(self, world: World) -> None:
        super().start(world)
        self._solved = -math.inf

    def choose(self, now: float, allowance: int | None) -> Ints:
        if now - self._solved >= self.every:
            self._frequency = lambda_crawl(self.shape / self.exposure, self.budget)
            self._solved = now
        progress = np.where(self._seen < now, (now - self.last) * self._frequency, -1.0)
        return _top(progress, allowance)


class GammaPoisson(RatePolicy):
    """Highest chance of a change for a Poisson page whose habits fade by 3 % a day."""

    keep_per_day = 0.97

    def choose(self, now: float, allowance: int | None) -> Ints:
        chance = 1 - (self.exposure / (self.exposure + np.maximum(now - self._seen, 0))) ** self.shape
        return _top(np.where(self._seen < now, chance, -1.0), allowance)


def gamma_update(a: Floats, b: Floats, gap: Floats, changed: Bits) -> tuple[Floats, Floats]:
    """`estimators.Gamma.update` for many pages at once."""
    quiet = np.exp(a * (np.log(b) - np.log(b + gap)))
    seen = np.maximum(1 - quiet, 1e-12)
    mean = (a / b - quiet * a / (b + gap)) / seen
    second = (a * (a + 1) / b**2 - quiet * a * (a + 1) / (b + gap) ** 2) / seen
    variance = np.maximum(second - mean**2, 1e-18)
    rare = seen < 1e-9
    shape = np.where(rare, a + 1, mean**2 / variance)
    exposure = np.where(rare, b, mean / variance)
    return np.where(changed, shape, a), np.where(changed, exposure, b + gap)


FIRST_PRICE = 0.25  # chance of a change that pays a visit, before anything is known; too high a price falls by itself
LEARN_PRICE = 0.03  # how fast the price follows what was spent, per step …
HASTE = (0.1, 20.0)  # … and how much faster in the beginning, for about so many steps
STIFF = 2.0  # how strongly the price falls when much is saved and rises when little is


class Auto:
    """Ours: see `planner`. It saves visits while little happens: one chance of a change is worth the same every day."""

    budgeted = True

    def start(self, world: World) -> None:
        if not world.visits_per_step:
            raise ValueError("auto shares a budget; give --budget")
        self.planner = Planner(min_gap_hours=world.step)
        self.planner.add(range(len(world)), world.sites, world.pages, 0.0)
        self._log_price = math.log(FIRST_PRICE)
        self._price = 0.0  # of a visit, this step: the chance of a change it must offer
        self._held = self._due = math.inf  # visits that can be made in this step, and those that cannot be saved
        self._spent = self._steps = 0

    def income(self, per_step: float, held: float, most: float) -> None:
        if self._steps:
            more, until = HASTE
            rate = LEARN_PRICE + more * math.exp(-self._steps / until)
            # Having spent all, it would have bought more: the price was too low.
            wanted = 1.0 if self._spent >= math.floor(self._held + 1e-9) else self._spent / per_step - 1
            self._log_price += rate * min(max(wanted, -1), 3)
            self._log_price = min(max(self._log_price, math.log(0.01)), math.log(0.95))
        self._price = math.exp(self._log_price + STIFF * (0.5 - held / max(most, per_step)))
        self._held, self._due = held, held - most
        self._spent = 0
        self._steps += 1

    def choose(self, now: float, allowance: int | None) -> Ints:
        plan = self.planner.plan(now, allowance or 0)
        worth = int((plan.value >= self._price).sum())  # best first
        count = min(max(worth, math.ceil(min(self._due - self._spent, len(plan)))), len(plan))
        self._spent += count
        return plan.keys[:count]

    def observe(self, pages: Ints, now: float, changed: Bits) -> None:
        self.planner.observe(pages, now, changed)

    def notify(self, pages: Ints, now: float) -> None:
        for page in pages:
            self.planner.signal(int(page), now, "simulated")


def _top(value: Floats, allowance: int | None) -> Ints:
    count = min(allowance or 0, int((value >= 0).sum()))
    if count <= 0:
        return np.zeros(0, np.int64)
    best = np.argpartition(-value, count - 1)[:count]
    return best[np.argsort(-value[best], kind="stable")]


# Rules that take a stretch, and policies that take none.
POLICIES: dict[str, Callable[..., Policy]] = {
    "fixed": Fixed,
    "simple": Simple,
    "simple-notify": SimpleNotify,
    "simple-history": SimpleHistory,
    "day-type": DayType,
    "exponential": Exponential,
    "nutch": Nutch,
    "lambda-crawl": LambdaCrawl,
    "gamma": GammaPoisson,
    "auto": Auto,
}
VOLUME_PREFIX = "least-volume:"
SHORT = {"notify": "simple-notify", "history": "simple-history"}


class Composed(IntervalPolicy):
    """Several rules for the same pages: the soonest visit wins, or (`least_volume`) the latest."""

    def __init__(self, rules: Sequence[IntervalPolicy], *, least_volume: bool = False) -> None:
        super().__init__(rules[0].stretch)
        self.rules = rules
        self.replayed = max(rule.replayed for rule in rules)
        self._first = np.maximum if least_volume else np.minimum

    def start(self, world: World) -> None:
        super().start(world)
        for rule in self.rules:
            rule.start(world)

    def observe(self, pages: Ints, now: float, changed: Bits) -> None:
        for rule in self.rules:
            rule.last[pages] = self.last[pages]
            rule.observe(pages, now, changed)
        self.last[pages] = now
        self._agree(pages)
        self.interval[pages] = (self.next[pages] - now) / self.stretch

    def notify(self, pages: Ints, now: float) -> None:
        for rule in self.rules:
            wanted = rule.next[pages].copy()
            rule.notify(pages, now)
            moved = pages[rule.next[pages] < wanted]
            self._agree(moved)

    def _agree(self, pages: Ints) -> None:
        self.next[pages] = self._first.reduce([rule.next[pages] for rule in self.rules])


def policy_of(name: str) -> Callable[..., Policy]:
    """The policy of a name, to be called with its options; rules can be joined: `simple+notify+history+day-type`.

    Of several the soonest visit wins; with `least-volume:` before them, the latest. Raises ValueError.
    """
    if name in POLICIES:
        return POLICIES[name]
    parts = [SHORT.get(part, part) for part in name.removeprefix(VOLUME_PREFIX).split("+")]
    for part in parts:
        if part not in POLICIES or len(parts) < 2:
            raise ValueError(
                f"no policy is called {part!r}; there are {', '.join(sorted(POLICIES))}, and rules joined by +"
            )
        if getattr(POLICIES[part], "budgeted", False):
            raise ValueError(f"{part} shares a budget and cannot be joined with others; join rules with intervals")
    rules = [cast("Callable[..., IntervalPolicy]", POLICIES[part]) for part in parts]

    def compose(stretch: float = 1.0) -> Policy:
        return Composed([rule(stretch=stretch) for rule in rules], least_volume=name.startswith(VOLUME_PREFIX))

    return compose

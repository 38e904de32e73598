"""The simulator: run policies on change histories and count what each would have seen and cost.

Definitions (the same for every policy):

- Time goes in steps of `resolution` hours. The visits of a step are made at its end, in one or more batches;
  planning may look at the results of earlier batches. A page is visited at most once per step.
- Changes of a page within one step count once. A visit detects everything since the last visit as *one* change.
- lost = changes − detected. An unnecessary visit finds nothing new.
- As the table of 2015 counts: a change is lost when no visit was made on its day (`lost_by_day`), unnecessary =
  visits − changes (`surplus`), percentages are over `page_days`, the pages times the counted days.
- Stored bytes: with deduplication a version per detected change and a small record for every other visit
  (`bytes_stored`); without, a whole copy at every visit (`bytes_copied`).
- The first version of every page is known at time 0. Visits and changes before the end of the warm-up are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from .calendars import Calendar
from .groups import Group, group
from .policies import Policy, Saver, World
from .traces import DAY, Trace

Ints = NDArray[np.int64]
MAX_SAVED = 0.1  # of the counted time: savings in days make no sense in a short history
PAGE_BYTES = 30_000  # a stored version
REVISIT_BYTES = 600  # the record of a visit that found the same bytes


@dataclass(frozen=True)
class Settings:
    """How to simulate."""

    budget: str = "same-as:simple"  # visits per day over all pages, same-as:POLICY, same-as:POLICY/3, or own
    resolution: float = 24.0  # hours
    warmup: float = 60.0  # days
    batches: int = 24  # plans within a step
    seed: int = 0
    signals: tuple[float, float] = (0.0, 0.0)  # share of changes announced, false announcements per page and day
    save: float = 0.0  # days' worth of visits that may be kept for busier days
    calendar: Calendar | None = None  # which day the history begins on, and the holidays of its country


@dataclass(frozen=True)
class GroupOutcome:
    """The same for the pages of one group, by the days with a change that they really had."""

    group: str
    pages: int
    visits: int
    changes: int
    lost: int
    lost_by_day: int
    unnecessary: int


@dataclass(frozen=True)
class PolicyOutcome:
    """What a policy cost and saw after the warm-up."""

    policy: str
    visits: int
    changes: int
    detected: int
    lost: int
    unnecessary: int
    freshness: float  # share of page-time in which the kept copy is the current one
    mean_delay_hours: float  # from a change to the visit that shows it (or to the end)
    harmonic_staleness: float  # time average over pages of H(n) = 1 + 1/2 + … + 1/n, n changes not yet seen
    bytes_stored: int
    busiest: int = 0  # most visits in one step
    lost_by_day: int = 0  # changes on days without a visit
    page_days: int = 0
    bytes_copied: int = 0  # a whole copy at every visit
    groups: tuple[GroupOutcome, ...] = ()
    strip: str = ""  # the last days of one page: see `_Book._strip`

    @property
    def surplus(self) -> int:
        """Unnecessary visits as the table of 2015 has them; negative where there were fewer visits than changes."""
        return self.visits - self.changes

    @property
    def detected_share(self) -> float:
        return self.detected / self.changes if self.changes else 1.0

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def _published(policy: str, visits: int, lost: int, stored: int) -> PolicyOutcome:
    """A row of the founding work's table: a site with 137 changes in 241 days, daily data."""
    nan = float("nan")
    found = 137 - lost
    return PolicyOutcome(
        policy=policy,
        visits=visits,
        changes=137,
        detected=found,
        lost=lost,
        unnecessary=visits - found,
        freshness=nan,
        mean_delay_hours=nan,
        harmonic_staleness=nan,
        bytes_stored=stored,
        lost_by_day=lost,
        page_days=241,
    )


PUBLISHED = (
    _published("simple", 157, 49, 779_000_000),
    _published("fixed 1 day", 240, 1, 2_098_000_000),
    _published("fixed 15 days", 16, 127, 125_100_000),
    _published("fixed 30 days", 8, 130, 67_500_000),
)


def simulate(
    trace: Trace,
    policy: Policy,
    settings: Settings,
    name: str = "",
    visits_per_step: float | None = None,
    allowance: bool = True,
    on_step: Callable[[int, int], None] | None = None,
) -> PolicyOutcome:
    """Run one policy over the trace.

    With `allowance`, no more than `visits_per_step` visits a step are made up to any moment after the warm-up; a policy
    that can wait (`Saver`) keeps up to `save` days' worth of them for busier days, others spend them at once. Without,
    the policy's own rule decides and `visits_per_step` only tells it the budget it is compared at.
    """
    resolution, seed = settings.resolution, settings.seed
    steps = int(np.ceil(trace.hours / resolution - 1e-9))
    policy.start(
        World(
            sites=trace.sites,
            pages=trace.pages,
            step=resolution,
            visits_per_step=visits_per_step,
            seed=seed,
            calendar=settings.calendar,
        )
    )
    book = _Book(trace, resolution, settings.warmup * DAY, steps)
    told = _Signals(trace, resolution, steps, settings.signals, seed) if any(settings.signals) else None
    save_steps = min(settings.save * DAY / resolution, MAX_SAVED * max(steps - book.warm_step, 0))
    visits = _Allowance(policy, visits_per_step or 0.0, settings.batches)
    for step in range(steps):
        now = (step + 1) * resolution
        if told is not None:
            policy.notify(told.at(step), now)
        if step == book.warm_step:
            visits.held = 0.0  # what was saved before counting began is not spent after
        if visits_per_step is not None and allowance:
            # Nothing may be left over in the end: policies are compared at equal visits.
            for pages in visits.spend(now, min(save_steps, steps - step - 1)):
                _visit(policy, book, pages, step, now)
        else:
            _visit(policy, book, policy.choose(now, None), step, now)
        if on_step is not None:
            on_step(step + 1, steps)
    return book.outcome(name)


def fit_stretch(
    run: Callable[[float], PolicyOutcome], visits: float, *, rounds: int = 14
) -> tuple[float, PolicyOutcome]:
    """The stretch of a rule's time at which it spends closest to `visits` (more stretch, fewer visits)."""
    low, high = 1 / 64, 256.0
    best: tuple[float, PolicyOutcome] | None = None
    for _ in range(rounds):
        middle = float(np.sqrt(low * high))
        outcome = run(middle)
        if best is None or abs(outcome.visits - visits) < abs(best[1].visits - visits):
            best = middle, outcome
        if outcome.visits > visits:
            low = middle
        else:
            high = middle
    assert best is not None
    return best


class _Allowance:
    """Visits a policy may make: so many more each step, some of them saved."""

    def __init__(self, policy: Policy, income: float, batches: int) -> None:
        self.policy, self.income, self.batches = policy, income, batches
        self.held = 0.0

    def spend(self, now: float, steps: float) -> Iterator[Ints]:
        """Batches of pages to visit at `now`, each chosen after what the earlier ones showed.

        The income of so many steps may be kept by a policy that saves.
        """
        self.held += self.income
        most = 0.0
        if isinstance(self.policy, Saver):
            most = steps * self.income
            self.policy.income(self.income, self.held, most)
        size, count = max(1, round(self.income / self.batches)), 0
        while self.held >= 1 - 1e-9:
            most_now = min(size, int(self.held + 1e-9))
            pages = self.policy.choose(now, most_now)[:most_now]
            if not pages.size:
                break
            yield pages
            self.held -= pages.size
            count += 1
            size *= 2 if count % self.batches == 0 else 1  # a very busy day is not planned visit by visit
        self.held = min(self.held, max(most, self.held % 1))


def _visit(policy: Policy, book: _Book, pages: Ints, step: int, now: float) -> None:
    if pages.size:
        policy.observe(pages, now, book.visit(pages, step, now))


STRIP_DAYS = 60


class _Book:
    """Which changes each page still hides, and the sums for the outcome."""

    def __init__(self, trace: Trace, resolution: float, warm: float, steps: int) -> None:
        self.resolution, self.warm, self.end = resolution, warm, steps * resolution
        self.warm_step = int(np.ceil(warm / resolution - 1e-9))
        self.pages = len(trace)
        # First moment of change in each step in which a page changed.
        self.times: list[NDArray[np.float64]] = []
        self.steps: list[Ints] = []
        self.changes = 0
        self.sizes: list[Ints] = []  # bytes of the page after each of these steps
        for number, changes in enumerate(trace.changes):
            step, first = np.unique(np.floor(changes / resolution + 1e-12).astype(np.int64), return_index=True)
            keep = step < steps
            last = (np.append(first, changes.size) - 1)[1:]
            known = trace.sizes[number] if trace.sizes else np.full(changes.size, PAGE_BYTES)
            self.sizes.append(known[last][keep].astype(np.int64))
            self.steps.append(step[keep])
            self.times.append(changes[first][keep])
            self.changes += int((step[keep] >= self.warm_step).sum())
        self.never = steps + 1
        self.seen = np.zeros(self.pages, np.int64)  # changes already seen
        self.hidden = np.array([s[0] if s.size else self.never for s in self.steps], np.int64)  # step of the next one
        self.visited = np.full(self.pages, -1, np.int64)
        self.size = np.array([s[0] if s.size else PAGE_BYTES for s in self.sizes], np.int64)  # of the copy held
        self.visits, self.detected, self.vain = (np.zeros(self.pages, np.int64) for _ in range(3))
        self.stored = self.copied = 0
        self.visited_days = np.zeros((self.pages, int(np.ceil(self.end / DAY)) + 1), bool)
        self.by_step = np.zeros(steps, np.int64)  # visits
        self.stale = self.harmonic = self.delay = 0.0
        self.delays = 0

    def visit(self, pages: Ints, step: int, now: float) -> NDArray[np.bool_]:
        if np.any(self.visited[pages] == step) or np.unique(pages).size != pages.size:
            raise ValueError("a policy chose a page twice within one step; visit a page at most once per step")
        self.visited[pages] = step
        changed = self.hidden[pages] <= step
        counts = step >= self.warm_step
        for page in pages[changed]:
            fresh = self._reveal(int(page), step, now)
            if counts:
                self.detected[page] += fresh
        self.visited_days[pages, int(np.ceil(now / DAY - 1e-9)) - 1] = True
        if counts:
            self.by_step[step] += pages.size
            self.visits[pages] += 1
            self.vain[pages] += ~changed
            self.stored += int(np.where(changed, self.size[pages], REVISIT_BYTES).sum())
            self.copied += int(self.size[pages].sum())
        return changed

    def _reveal(self, page: int, step: int, now: float) -> bool:
        """Book the hidden changes up to this step; true if one of them lies after the warm-up."""
        all_steps, start = self.steps[page], int(self.seen[page])
        end = int(np.searchsorted(all_steps, step, side="right"))
        times = self.times[page][start:end]
        moments = np.append(times, now)
        widths = np.diff(np.maximum(moments, self.warm))
        self.stale += max(0.0, now - max(float(times[0]), self.warm))
        self.harmonic += float((widths * np.cumsum(1 / np.arange(1, times.size + 1))).sum())
        counted = all_steps[start:end] >= self.warm_step
        self.delay += float((now - times[counted]).sum())
        self.delays += int(counted.sum())
        self.seen[page] = end
        self.size[page] = self.sizes[page][end - 1]
        self.hidden[page] = all_steps[end] if end < all_steps.size else self.never
        return bool(counted.any())

    def outcome(self, name: str) -> PolicyOutcome:
        for page in np.flatnonzero(self.hidden < self.never):
            self._reveal(int(page), self.never, self.end)
        time = max(self.pages * (self.end - self.warm), 1e-9)
        changes, by_day, chance = self._by_day()
        groups = np.array([group(p) for p in chance])
        return PolicyOutcome(
            policy=name,
            visits=int(self.visits.sum()),
            changes=self.changes,
            detected=int(self.detected.sum()),
            lost=self.changes - int(self.detected.sum()),
            unnecessary=int(self.vain.sum()),
            freshness=1 - self.stale / time,
            mean_delay_hours=self.delay / self.delays if self.delays else 0.0,
            harmonic_staleness=self.harmonic / time,
            bytes_stored=self.stored,
            busiest=int(self.by_step.max(initial=0)),
            lost_by_day=int(by_day.sum()),
            page_days=self.pages * round((self.end - self.warm) / DAY),
            bytes_copied=self.copied,
            groups=tuple(
                GroupOutcome(
                    group=name.value,
                    pages=int(mine.sum()),
                    visits=int(self.visits[mine].sum()),
                    changes=int(changes[mine].sum()),
                    lost=int((changes - self.detected)[mine].sum()),
                    lost_by_day=int(by_day[mine].sum()),
                    unnecessary=int(self.vain[mine].sum()),
                )
                for name in Group
                if (mine := groups == name).any()
            ),
            strip=self._strip(changes),
        )

    def _strip(self, changes: Ints) -> str:
        """The last days of the page that stands in the middle of all by its changes, one letter each: `v` visited,
        `s` changed and visited, `x` changed and not visited that day, `.` nothing."""
        page = int(np.argsort(changes, kind="stable")[self.pages // 2])
        last = round(self.end / DAY)
        first = max(round(self.warm / DAY), last - STRIP_DAYS)
        changed = set(((self.steps[page] * self.resolution + 1e-9) // DAY).astype(int).tolist())
        visited = self.visited_days[page]
        letters = {(True, True): "s", (True, False): "x", (False, True): "v", (False, False): "."}
        return "".join(letters[day in changed, bool(visited[day])] for day in range(first, last))

    def _by_day(self) -> tuple[Ints, Ints, NDArray[np.float64]]:
        """Of each page: changes counted, days with a change but no visit, share of days with a change."""
        changes, lost = np.zeros(self.pages, np.int64), np.zeros(self.pages, np.int64)
        chance = np.zeros(self.pages)
        days = max(round((self.end - self.warm) / DAY), 1)
        for page, steps in enumerate(self.steps):
            counted = steps[steps >= self.warm_step]
            changed = np.unique((counted * self.resolution + 1e-9) // DAY).astype(np.int64)
            changes[page] = counted.size
            lost[page] = (~self.visited_days[page, changed]).sum()
            chance[page] = min(changed.size / days, 1.0)
        return changes, lost, chance


class _Signals:
    """Announcements of changes, some missing, some false."""

    def __init__(self, trace: Trace, resolution: float, steps: int, signals: tuple[float, float], seed: int) -> None:
        recall, false_per_day = signals
        rng = np.random.default_rng([seed, 7])
        announced: list[list[int]] = [[] for _ in range(steps)]
        for page, changes in enumerate(trace.changes):
            for step in np.unique((changes // resolution).astype(int)):
                if step < steps and rng.random() < recall:
                    announced[step].append(page)
        for step in range(steps):
            announced[step].extend(np.flatnonzero(rng.random(len(trace)) < false_per_day * resolution / DAY).tolist())
        self._announced = announced

    def at(self, step: int) -> Ints:
        return np.unique(np.array(self._announced[step], np.int64))

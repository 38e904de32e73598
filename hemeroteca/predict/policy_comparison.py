"""Policies side by side on the same history at the same number of visits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from .policies import POLICIES, Policy, policy_of
from .simulator import PolicyOutcome, Settings, fit_stretch, simulate
from .traces import DAY, Trace

MAX_UNEQUAL = 0.02  # visits by which policies may differ and still be compared
Make = Callable[..., Policy]
Progress = Callable[[str, int, int], None]  # policy, steps done, steps in all


@dataclass(frozen=True)
class PolicyComparison:
    outcomes: tuple[PolicyOutcome, ...]
    visits_per_day: float
    pages: int
    days: float
    stretch: Mapping[str, float] = field(default_factory=dict)  # how much each rule's time was stretched
    own_pace: bool = False  # every rule ran at its own

    @property
    def warnings(self) -> list[str]:
        """Policies that cannot be compared, because their visits differ too much."""
        most = max((o.visits for o in self.outcomes), default=0)
        unequal = [o for o in self.outcomes if o.visits < most * (1 - MAX_UNEQUAL)]
        if self.own_pace or not unequal:
            return []
        listed = ", ".join(f"{o.policy} {o.visits / most - 1:+.0%}" for o in unequal)
        return [f"visits differ by more than {MAX_UNEQUAL:.0%}: {listed}; changes lost cannot be compared with those"]


def compare(
    trace: Trace,
    names: Sequence[str],
    settings: Settings | None = None,
    *,
    more: Mapping[str, Make] | None = None,
    progress: Progress | None = None,
) -> PolicyComparison:
    """Run every named policy. `more` are policies of one's own; `fixed:HOURS` is a fixed rule left as it is."""
    settings = settings or Settings()
    known = {**POLICIES, **(more or {})}
    for name in names:
        if name not in known and not _fixed_hours(name):
            known[name] = policy_of(name)
    if trace.hours / DAY <= settings.warmup:
        raise ValueError(
            f"the warm-up of {settings.warmup:g} days leaves nothing of {trace.hours / DAY:g} days to count; shorten it"
        )
    run = _Runner(trace, settings, known, progress)
    per_step, model = run.budget()
    outcomes, stretch = [], {}
    for name in names:
        outcome, factor = run.at_budget(name, per_step, model)
        outcomes.append(outcome)
        stretch[name] = factor
    days = (run.steps * settings.resolution) / DAY
    own = settings.budget == "own"
    return PolicyComparison(
        outcomes=tuple(outcomes),
        visits_per_day=per_step * DAY / settings.resolution,
        pages=len(trace),
        days=days,
        stretch=stretch,
        own_pace=own,
    )


class _Runner:
    def __init__(self, trace: Trace, settings: Settings, known: dict[str, Make], progress: Progress | None) -> None:
        self.trace, self.settings, self.known, self.progress = trace, settings, known, progress
        self.steps = int(-(-trace.hours // settings.resolution))
        self.counted = self.steps - int(-(-settings.warmup * DAY // settings.resolution))

    def budget(self) -> tuple[float, tuple[str, PolicyOutcome] | None]:
        """Visits per step, and the outcome of the rule that set them when it runs as it is."""
        text = self.settings.budget.strip()
        if text == "own":  # policies that share a budget get that of the 2015 rule
            text = "same-as:simple"
        match = re.fullmatch(r"same-as:([\w:.+-]+?)(?:/(\d+(?:\.\d+)?))?", text)
        if match:
            name, divisor = match[1], float(match[2] or 1)
            if name not in self.known and not _fixed_hours(name):
                try:
                    self.known[name] = policy_of(name)
                except ValueError as error:
                    raise ValueError(f"--budget {text}: {error}") from None
            if getattr(self.known.get(name), "budgeted", False):
                raise ValueError(f"--budget {text}: {name} has no pace of its own; name a rule with intervals")
            if divisor <= 0:
                raise ValueError(f"--budget {text}: the divisor must be greater than zero")
            own = self.run(name, 1.0, None)
            return own.visits / divisor / self.counted, (name, own) if divisor == 1 else None
        try:
            per_day = float(text)
        except ValueError:
            raise ValueError(f"--budget {text!r} is neither visits per day nor same-as:POLICY") from None
        if not per_day > 0:
            raise ValueError(f"--budget must be greater than zero, not {text}")
        return per_day * self.settings.resolution / DAY, None

    def at_budget(
        self, name: str, per_step: float, model: tuple[str, PolicyOutcome] | None
    ) -> tuple[PolicyOutcome, float]:
        if model is not None and model[0] == name:
            return model[1], 1.0
        budgeted = getattr(self.known.get(name), "budgeted", False)
        if _fixed_hours(name) or (self.settings.budget == "own" and not budgeted):
            return self.run(name, 1.0, None), 1.0
        if budgeted:
            return self.run(name, None, per_step), 1.0
        factor, outcome = fit_stretch(lambda s: self.run(name, s, per_step), per_step * self.counted)
        return outcome, factor

    def run(self, name: str, stretch: float | None, per_step: float | None) -> PolicyOutcome:
        hours = _fixed_hours(name)
        if hours:
            policy = POLICIES["fixed"](hours=hours)
        else:
            policy = self.known[name]() if stretch is None else self.known[name](stretch=stretch)
        on_step = partial(self.progress, name) if self.progress else None
        return simulate(self.trace, policy, self.settings, name, per_step, stretch is None, on_step)


def _fixed_hours(name: str) -> float | None:
    match = re.fullmatch(r"fixed:(\d+(?:\.\d+)?)", name)
    return float(match[1]) if match and float(match[1]) > 0 else None

"""How often does a page change: the classical estimators from visits that say only "changed" or "unchanged".

A visit after a gap τ reports one bit. Rates are per unit of whatever time the gaps are given in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Visit = tuple[float, bool]  # gap since the visit before, and whether the page had changed


def naive(changes: int, time: float) -> float:
    """Changes seen per time; blind to every second change inside a gap."""
    _positive(time, "time")
    return changes / time


def bias_reduced(changes: int, visits: int, gap: float) -> float:
    """Equal gaps: −log((n − X + ½)/(n + ½))/Δ; finite even when every visit found a change."""
    _positive(gap, "gap")
    if not 0 <= changes <= visits:
        raise ValueError(f"changes must lie between 0 and visits, not {changes} of {visits}")
    return -math.log((visits - changes + 0.5) / (visits + 0.5)) / gap


def maximum_likelihood(visits: Iterable[Visit]) -> float:
    """Irregular gaps: the λ with Σ_changed τ/(e^{λτ} − 1) = Σ_unchanged τ, by bisection.

    0 when nothing ever changed, infinity when everything always did (the likelihood has no maximum there).
    """
    seen = [(float(gap), bool(changed)) for gap, changed in visits]
    for gap, _ in seen:
        _positive(gap, "gap")
    changed = [gap for gap, bit in seen if bit]
    quiet = math.fsum(gap for gap, bit in seen if not bit)
    if not changed:
        return 0.0
    if quiet == 0:
        return math.inf

    def excess(rate: float) -> float:
        return math.fsum(_first_change(rate, gap) for gap in changed) - quiet

    low = 0.0
    high = len(changed) / quiet  # τ/(e^{λτ} − 1) < 1/λ, so the excess is negative here
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if excess(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@dataclass(frozen=True, slots=True)
class Gamma:
    """Belief about a rate: Gamma(shape, exposure). Its mean is shape/exposure."""

    shape: float
    exposure: float

    def __post_init__(self) -> None:
        _positive(self.shape, "shape")
        _positive(self.exposure, "exposure")

    @property
    def mean(self) -> float:
        return self.shape / self.exposure

    @property
    def variance(self) -> float:
        return self.shape / self.exposure**2

    def chance(self, gap: float) -> float:
        """Predictive probability that the page has changed after `gap`."""
        return -math.expm1(self.shape * (math.log(self.exposure) - math.log(self.exposure + gap)))

    def update(self, gap: float, changed: bool) -> Gamma:
        """The belief after one visit; a change matches the first two moments of the true posterior."""
        _positive(gap, "gap")
        a, b = self.shape, self.exposure
        if not changed:
            return Gamma(a, b + gap)
        chance = self.chance(gap)
        if chance < 1e-9:  # the limit of the formulae below, which cancel to nothing there
            return Gamma(a + 1, b)
        quiet = 1 - chance
        mean = (a / b - quiet * a / (b + gap)) / chance
        second = (a * (a + 1) / b**2 - quiet * a * (a + 1) / (b + gap) ** 2) / chance
        variance = second - mean**2
        return Gamma(mean**2 / variance, mean / variance)

    def forget(self, factor: float) -> Gamma:
        """Keep the mean, keep only `factor` of the evidence (a page's habits drift)."""
        if not 0 < factor <= 1:
            raise ValueError(f"the forgetting factor must be in (0, 1], not {factor}")
        return Gamma(self.shape * factor, self.exposure * factor)


def fit_gamma(visits_per_page: Sequence[Sequence[Visit]]) -> Gamma:
    """Empirical-Bayes prior shared by new pages: moments of the pages' own rates, noise removed.

    Each page counts by changes and by the time it was exposed until its first change in a gap.
    """
    counts: list[float] = []
    times: list[float] = []
    for visits in visits_per_page:
        if not visits:
            continue
        rate = maximum_likelihood(visits)
        changes = sum(bit for _, bit in visits)
        time = math.fsum(gap for gap, _ in visits)
        exposure = changes / rate if 0 < rate < math.inf else (time if changes == 0 else time / 2)
        counts.append(changes)
        times.append(max(exposure, 1e-12))
    if not counts or sum(counts) == 0:
        total = math.fsum(times) if times else 1.0
        return Gamma(0.5, max(total, 1e-9))  # Jeffreys: half a change in all that time
    total_time = math.fsum(times)
    mean = math.fsum(counts) / total_time
    # Var(count) = mean·time + variance·time²: what is left above Poisson noise is true variety.
    spread = math.fsum((x - mean * t) ** 2 - mean * t for x, t in zip(counts, times, strict=True))
    variance = spread / math.fsum(t * t for t in times)
    if variance <= mean**2 / 1e3:  # pages that hardly differ: a firm prior, yet one a page can leave
        return Gamma(1e3, 1e3 / mean)
    shape = min(max(mean**2 / variance, 0.05), 1e3)
    return Gamma(shape, shape / mean)


def unchanged_given_signals(rate: float, gap: float, signals: int, *, recall: float, false_alarms: float) -> float:
    """P(unchanged | τ, n signals) = e^{−(1−r)λτ}(1 − precision)^n for a noisy teller of changes."""
    return math.exp(-(1 - recall) * rate * gap) * (1 - precision(rate, recall=recall, false_alarms=false_alarms)) ** (
        signals
    )


def precision(rate: float, *, recall: float, false_alarms: float) -> float:
    """rλ/(rλ + ν): the share of a source's signals that tell a true change."""
    told = recall * rate
    return told / (told + false_alarms) if told + false_alarms > 0 else 0.0


def _first_change(rate: float, gap: float) -> float:
    x = rate * gap
    if x > 700:
        return 0.0
    return gap / math.expm1(x) if x > 0 else math.inf


def _positive(value: float, name: str) -> None:
    if not value > 0:
        raise ValueError(f"{name} must be greater than zero, not {value}")

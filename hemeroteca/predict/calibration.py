"""Is a predicted 30 % really 30 %? Replays a history of visits through a planner and compares.

Every visit is predicted before its result is shown to the planner, so the table is an honest forecast record; the
planner it leaves behind has learned the instance's own habits (its prior for new pages included).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .estimators import Gamma, Visit, fit_gamma
from .planner import Planner


@dataclass(frozen=True, slots=True)
class Bin:
    """Visits with a predicted chance in [low, high): what was said and what came."""

    low: float
    high: float
    visits: int
    predicted: float
    observed: float
    doubt: float  # half width of the 95 % interval of `observed` (Wilson)


@dataclass(frozen=True, slots=True)
class Calibration:
    bins: tuple[Bin, ...]
    visits: int
    log_loss: float
    constant_log_loss: float  # of always saying the mean; lower than this is skill
    brier: float
    prior: Gamma  # changes per day of a page nobody knows yet

    @property
    def error(self) -> float:
        """Mean distance between said and seen, weighted by visits."""
        return sum(b.visits * abs(b.predicted - b.observed) for b in self.bins) / max(self.visits, 1)


@dataclass(frozen=True, slots=True)
class Observed:
    """One visit of the past. Hours since any fixed moment."""

    page: int
    hour: float
    changed: bool


def calibrate(
    planner: Planner,
    history: Iterable[Observed],
    *,
    on_progress: Callable[[int], None] | None = None,
    bins: int = 10,
) -> Calibration:
    """Predict, then learn, every visit of the history in the order of time. The planner must know the pages already."""
    said: list[float] = []
    came: list[bool] = []
    visits: dict[int, list[Visit]] = {}
    last: dict[int, float] = {}
    for visit in sorted(history, key=lambda v: (v.hour, v.page)):
        page = np.array([visit.page], np.int64)
        if visit.page in last and visit.hour > last[visit.page]:
            said.append(float(planner.chance(page, visit.hour)[0]))
            came.append(visit.changed)
            visits.setdefault(visit.page, []).append(((visit.hour - last[visit.page]) / 24, visit.changed))
        planner.observe(page, visit.hour, np.array([visit.changed]))
        last[visit.page] = visit.hour
        if on_progress is not None:
            on_progress(len(said))
    return report(said, came, prior=fit_gamma(list(visits.values())), bins=bins)


def report(predicted: ArrayLike, changed: ArrayLike, *, prior: Gamma | None = None, bins: int = 10) -> Calibration:
    """The reliability table of predictions and what came."""
    p = np.clip(np.asarray(predicted, np.float64), 1e-9, 1 - 1e-9)
    y = np.asarray(changed, bool)
    if p.shape != y.shape:
        raise ValueError(f"{p.size} predictions for {y.size} visits")
    mean = float(np.clip(y.mean(), 1e-9, 1 - 1e-9)) if y.size else 0.5
    return Calibration(
        bins=reliability(p, y, bins),
        visits=int(y.size),
        log_loss=_log_loss(p, y),
        constant_log_loss=_log_loss(np.full(y.size, mean), y),
        brier=float(((p - y) ** 2).mean()) if y.size else 0.0,
        prior=prior or Gamma(0.5, 25.0),
    )


def reliability(predicted: NDArray[np.float64], changed: NDArray[np.bool_], bins: int = 10) -> tuple[Bin, ...]:
    which = np.minimum((predicted * bins).astype(int), bins - 1)
    table = []
    for i in range(bins):
        here = which == i
        n = int(here.sum())
        if n:
            share = float(changed[here].mean())
            table.append(
                Bin(
                    low=i / bins,
                    high=(i + 1) / bins,
                    visits=n,
                    predicted=float(predicted[here].mean()),
                    observed=share,
                    doubt=_wilson(share, n),
                )
            )
    return tuple(table)


def _wilson(share: float, n: int, z: float = 1.96) -> float:
    return z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)


def _log_loss(p: NDArray[np.float64], y: NDArray[np.bool_]) -> float:
    return float(-np.where(y, np.log(p), np.log1p(-p)).mean()) if y.size else 0.0

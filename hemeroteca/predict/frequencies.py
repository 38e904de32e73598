"""Optimal visit frequencies when the change rates of independent pages are known.

Each function shares a total `budget` (visits per unit of time) between pages with rates λ and weights w.
They differ in what they optimise; `docs/explanation/prediction.md` tells which one suits what.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def lambda_crawl(rates: ArrayLike, budget: float, weights: ArrayLike | None = None) -> Floats:
    """Least harmonic staleness (2019): f = (−λ + √(λ² + 4wλ/μ))/2 with μ such that Σf = B."""
    lam, w = _checked(rates, weights, budget)
    return _solve(lambda mu: (np.sqrt(lam * lam + 4 * w * lam / mu) - lam) / 2, budget, lam)


def randomised(rates: ArrayLike, budget: float, weights: ArrayLike | None = None) -> Floats:
    """Most freshness with visits at random times (Azar 2018): f = max(0, √(wλ/μ) − λ)."""
    lam, w = _checked(rates, weights, budget)
    return _solve(lambda mu: np.maximum(0.0, np.sqrt(w * lam / mu) - lam), budget, lam)


def freshness(rates: ArrayLike, budget: float, weights: ArrayLike | None = None) -> Floats:
    """Most freshness with evenly spaced visits (Cho 2003); pages that change too fast get none.

    Freshness F(f) = (1 − e^{−λ/f})·f/λ; the optimum has w·F′(f) = μ for every visited page.
    """
    lam, w = _checked(rates, weights, budget)
    # F′ = (1 − (1+x)e^{−x})/λ with x = λ/f
    return _saturating(lam, np.divide(w, lam, out=np.zeros_like(w), where=lam > 0), budget)


def age(rates: ArrayLike, budget: float, weights: ArrayLike | None = None) -> Floats:
    """Least mean age of outdated copies, evenly spaced visits.

    Age A(f) = I/2 − 1/λ + (1 − e^{−λI})/(λ²I), I = 1/f; the optimum has −w·A′(f) = μ.
    """
    lam, w = _checked(rates, weights, budget)

    def given(mu: float) -> Floats:
        # −A′(f) = (x²/2 − 1 + (1+x)e^{−x})/λ² with x = λ/f, growing without bound in x.
        goal = mu * lam * lam / w
        x = _bisect(lambda x: x * x / 2 - 1 + (1 + x) * np.exp(-x), goal, 1e9)
        return np.where(lam > 0, lam / np.maximum(x, 1e-300), 0.0)

    return _solve(given, budget, lam)


def fewest_lost(rates: ArrayLike, budget: float, weights: ArrayLike | None = None) -> Floats:
    """Fewest changes that pass unseen: equal λ/f for equal weights, so f is proportional to λ.

    With weights the optimum has w·(1 − (1+x)e^{−x}) = μ with x = λ/f.
    """
    lam, w = _checked(rates, weights, budget)
    return _saturating(lam, np.where(lam > 0, w, 0.0), budget)


def _saturating(lam: Floats, worth: Floats, budget: float) -> Floats:
    """Frequencies with worth·(1 − (1+x)e^{−x}) = μ, x = λ/f, for every page whose worth exceeds μ.

    Solved for s with μ = max(worth)·(1 − e^{−s}), which stays exact where x is large and 1 − … is 1 in floats.
    """
    top = float(worth.max(initial=0.0))
    if top <= 0:
        return np.full(lam.shape, budget / max(lam.size, 1))  # nothing to prefer: spread evenly
    ratio = np.divide(top, worth, out=np.ones_like(worth), where=worth > 0)

    def given(s: float) -> Floats:
        rest = np.where(worth > 0, (1 - ratio) + ratio * np.exp(-s), 0.0)
        visited = rest > 0
        depth = -np.log(np.where(visited, rest, 1.0))
        x = _bisect(lambda x: x - np.log1p(x), depth, 1e6)
        return np.where(visited, lam / np.maximum(x, 1e-300), 0.0)

    # Pages of equal worth drop out together: the last ones in share what is left.
    f = given(_balanced(given, budget, np.log(1e-12), np.log(700.0))[0])
    return f * (budget / float(f.sum()))


def _solve(given: Callable[[float], Floats], budget: float, lam: Floats) -> Floats:
    """The multiplier μ with Σf(μ) = budget, by bisection on its logarithm (Σf falls as μ grows)."""
    if not np.any(lam > 0):
        return np.full(lam.shape, budget / max(lam.size, 1))  # nothing to prefer: spread evenly
    f = given(_balanced(given, budget, -80.0, 80.0)[1])
    total = float(f.sum())
    return f * (budget / total) if total > 0 else f


def _balanced(given: Callable[[float], Floats], budget: float, low: float, high: float) -> tuple[float, float]:
    """Just below and just above the x at which Σf(x), which falls as x grows, is the budget; bounds are logarithms."""
    for _ in range(80):
        middle = (low + high) / 2
        if float(given(float(np.exp(middle))).sum()) > budget:
            low = middle
        else:
            high = middle
    return float(np.exp(low)), float(np.exp(high))


def _bisect(rising: Callable[[Floats], Floats], goal: Floats, ceiling: float) -> Floats:
    low = np.full(goal.shape, -40.0)
    high = np.full(goal.shape, np.log(ceiling))
    for _ in range(60):
        middle = (low + high) / 2
        below = rising(np.exp(middle)) < goal
        low = np.where(below, middle, low)
        high = np.where(below, high, middle)
    return np.exp((low + high) / 2)


def _checked(rates: ArrayLike, weights: ArrayLike | None, budget: float) -> tuple[Floats, Floats]:
    lam = np.asarray(rates, dtype=np.float64)
    w = np.ones_like(lam) if weights is None else np.asarray(weights, dtype=np.float64)
    if lam.shape != w.shape:
        raise ValueError(f"as many weights as rates are needed, not {w.size} for {lam.size}")
    if np.any(lam < 0) or np.any(w <= 0) or not budget > 0:
        raise ValueError("rates must be zero or more, weights and the budget greater than zero")
    return lam, w

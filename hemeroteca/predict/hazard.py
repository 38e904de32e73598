"""Online regression of a hazard: P(changed after τ) = 1 − exp(−τ·exp(w·x)), learned from every visit.

Complementary log-log is the exact likelihood of "did anything happen in this gap" when the hazard is constant in it.
Weights are learned over all pages together by a damped Newton step with the full curvature matrix: with a few dozen
features that costs less than reading them, learns from far fewer visits than a gradient step, and has no learning rate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MEMORY = 50_000.0  # visits after which an old one counts 1/e: sites change their habits
CAUTION = 0.3  # share of the squared gradient kept in the curvature; tames one surprising visit


class Hazard:
    """Weights, curvature, and one step per batch of visits."""

    def __init__(self, start: Floats, firmness: Floats) -> None:
        """`firmness`: visits' worth of trust in each starting weight; the first one is the general level."""
        self.start = start.astype(np.float64)
        self.weights = self.start.copy()
        self.firmness = firmness.astype(np.float64)
        self.curvature = np.diag(self.firmness)
        self.visits = 0

    def log_hazard(self, features: NDArray[np.floating]) -> NDArray[np.floating]:
        return features @ self.weights.astype(features.dtype)

    def learn(self, features: NDArray[np.floating], gaps: NDArray[np.floating], changed: NDArray[np.bool_]) -> None:
        """One Newton step on a batch of visits; `gaps` in days."""
        if changed.size == 0:
            return
        x = features.astype(np.float64)
        expected = np.exp(np.clip(x @ self.weights + np.log(gaps), -14.0, MAX_LOG))
        chance = -np.expm1(-expected)
        odds = expected * (1 - chance) / chance
        gradient = np.where(changed, odds, -expected)
        information = np.maximum(expected * odds, CAUTION * gradient * gradient)
        keep = float(np.exp(-changed.size / MEMORY))
        fade = (1 - keep) * self.firmness
        self.curvature = self.curvature * keep + (x * information[:, None]).T @ x
        self.curvature[np.diag_indices_from(self.curvature)] += fade
        pull = fade * (self.start - self.weights)
        pull[0] = 0.0
        step = np.linalg.solve(self.curvature, x.T @ gradient + pull)
        self.weights += np.clip(step, -1.0, 1.0)
        self.visits += int(changed.size)


MAX_LOG = 2.5  # log of expected changes in a gap: beyond it the chance is 1 anyway

"""Signals from outside: how far each source of "this page changed" is believed, learned per site from its past.

A source is judged by what it adds: announcing pages that would have been found changed anyway earns no belief. What it
never announces counts too: where a source told of nearly every past change, its silence means that nothing changed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SOURCES = 16  # told apart; further ones share the last place
BELIEF = 4.0  # visits' worth of the first belief …
FIRST_PRECISION = 0.5  # … that a new source is right
FADE = 0.99  # kept per verified visit: a source may turn into a liar
UNPROVEN = 8  # announced visits that a plan grants at least

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class SourceTrust:
    """Counts per site and source."""

    def __init__(self) -> None:
        self.names: list[str] = []
        # right: announced and changed; owed: changes expected without the signal; asked: announced and visited
        self.right, self.owed, self.asked = (np.zeros((0, SOURCES), np.float32) for _ in range(3))
        # of the changes seen on sites this source speaks about: how many it had announced
        self.announced, self.happened = (np.zeros((0, SOURCES), np.float32) for _ in range(2))
        self.speaks = np.zeros((0, SOURCES), bool)

    def grow(self, sites: int) -> None:
        more = sites - len(self.right)
        if more > 0:
            for name in ("right", "owed", "asked", "announced", "happened", "speaks"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros((more, SOURCES), old.dtype)]))

    def bit(self, source: str) -> int:
        if source not in self.names:
            if len(self.names) == SOURCES:
                return SOURCES - 1
            self.names.append(source)
        return self.names.index(source)

    def tell(self, site: int, bit: int) -> None:
        self.speaks[site, bit] = True

    def precision(self) -> Floats:
        """Chance that a signal tells of a change nobody would have expected otherwise, per site and source."""
        gained = np.maximum(self.right - self.owed, 0)
        room = np.maximum(self.asked - self.owed, 0)
        return (gained + BELIEF * FIRST_PRECISION) / (room + BELIEF)

    def recall(self) -> Floats:
        """Share of the changes of a site that a source announces; 0 until proven."""
        return np.where(self.speaks, self.announced / (self.happened + 2 * BELIEF), 0).astype(np.float32)

    def doubt(self, site: Ints, told: NDArray[np.uint16]) -> Floats:
        """P(all that was said is false): the factor on P(unchanged)."""
        return self._product(site, told, 1 - self.precision(), said=True)

    def silence(self, site: Ints, told: NDArray[np.uint16]) -> Floats:
        """Log of the factor on the hazard of pages nobody spoke about, though some source usually does."""
        if not self.speaks.any():
            return np.zeros(told.size, np.float32)
        return np.log(self._product(site, told, 1 - np.minimum(self.recall(), 0.95), said=False))

    def verify(self, site: Ints, told: NDArray[np.uint16], chance: Floats, changed: NDArray[np.bool_]) -> None:
        """Settle the accounts of visited pages; `chance` is what was expected without any signal."""
        if not self.speaks.any():
            return
        for bit in range(len(self.names)):
            said = (told >> bit) & 1 == 1
            for i in np.flatnonzero(said | (changed & self.speaks[site, bit])):
                s = site[i]
                if said[i]:
                    for count in (self.right, self.owed, self.asked):
                        count[s, bit] *= FADE
                    self.right[s, bit] += changed[i]
                    self.owed[s, bit] += chance[i]
                    self.asked[s, bit] += 1
                if changed[i]:
                    self.announced[s, bit] = self.announced[s, bit] * FADE + said[i]
                    self.happened[s, bit] = self.happened[s, bit] * FADE + 1

    def allowance(self, budget: int) -> int:
        """How many announced pages a plan may prefer: sources that were right before may fill it, new ones may not."""
        proven = float((self.right.sum() + 1) / (self.asked.sum() + 2 * BELIEF))
        return max(UNPROVEN, int(budget * min(1.0, 0.25 + proven)))

    def best(self, site: int, told: int) -> tuple[str, float]:
        """The most believed source that spoke, and its precision."""
        precision = self.precision()[site]
        bits = [b for b in range(len(self.names)) if told >> b & 1]
        bit = max(bits, key=lambda b: float(precision[b]))
        return self.names[bit], float(precision[bit])

    def _product(self, site: Ints, told: NDArray[np.uint16], factor: Floats, *, said: bool) -> Floats:
        out = np.ones(told.size, np.float32)
        for bit in range(len(self.names)):
            column = factor[:, bit]
            spoke = (told >> bit) & 1 == 1
            # Any signal breaks the silence of all sources.
            here = np.flatnonzero(spoke if said else (told == 0))
            out[here] *= column[site[here]]
        return out

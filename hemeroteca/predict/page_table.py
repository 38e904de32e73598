"""What is kept of every page, as flat arrays, and where each page is in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .paths import LEVELS

SCALES = np.array([2.0, 7.0, 30.0, 150.0, 2000.0], np.float32)  # days; habits on several time scales
NEVER = np.float32(-1e6)

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Bits = NDArray[np.bool_]

PAGE = np.dtype(
    [
        ("key", np.int64),
        ("last", np.float32),  # days
        ("change_from", np.float32),  # the last change seen happened after this …
        ("change_to", np.float32),  # … and up to this
        ("weight", np.float32),
        ("min_gap", np.float32),
        ("max_gap", np.float32),
        ("retry", np.float32),
        ("site", np.int32),
        ("told", np.uint16),  # sources that announced a change since the last visit, one bit each
        ("failures", np.uint8),
        ("alive", np.bool_),
        ("paused", np.bool_),  # kept, but not visited
        ("visited", np.bool_),
    ]
)


class PageTable:
    def __init__(self) -> None:
        self.rows = np.zeros(0, PAGE)
        self.count = np.zeros((0, SCALES.size), np.float32)  # changes …
        self.exposure = np.zeros((0, SCALES.size), np.float32)  # … and days, both faded on each scale
        self.inside = np.zeros((0, LEVELS), np.int32)  # section of each level, 0 where there is none
        self._sorted = np.zeros(0, np.int64)  # keys in order, to find a page …
        self._slot = np.zeros(0, np.int32)  # … and where it is

    def __len__(self) -> int:
        return int(self._sorted.size)

    def __contains__(self, key: int) -> bool:
        i = int(np.searchsorted(self._sorted, key))
        return i < self._sorted.size and int(self._sorted[i]) == key

    @property
    def keys(self) -> Ints:
        """In ascending order."""
        return self._sorted.copy()

    def find(self, keys: ArrayLike) -> Ints:
        wanted = np.atleast_1d(np.asarray(keys, np.int64))
        at = np.minimum(np.searchsorted(self._sorted, wanted), max(self._sorted.size - 1, 0))
        if wanted.size and (self._sorted.size == 0 or np.any(self._sorted[at] != wanted)):
            missing = wanted if self._sorted.size == 0 else wanted[self._sorted[at] != wanted]
            raise KeyError(f"page {int(missing[0])} is not watched; add it first")
        return self._slot[at].astype(np.int64)

    def unknown(self, keys: Ints) -> list[int]:
        """Places in `keys` of pages that are not here."""
        return np.flatnonzero(~np.isin(keys, self._sorted)).tolist()

    def known(self, keys: Sequence[int]) -> Ints:
        """Where those of the pages are that are here."""
        return self.find(np.array([k for k in keys if k in self], np.int64))

    def make_room(self, count: int) -> Ints:
        """Places for so many new pages: those of pages that went first."""
        free = np.flatnonzero(~self.rows["alive"])[:count]
        size = self.rows.size
        self.grow(size + count - free.size)
        return np.concatenate([free, np.arange(size, size + count - free.size)])

    def grow(self, size: int) -> None:
        more = size - self.rows.size
        if more > 0:
            self.rows = np.concatenate([self.rows, np.zeros(more, PAGE)])
            self.count = np.concatenate([self.count, np.zeros((more, SCALES.size), np.float32)])
            self.exposure = np.concatenate([self.exposure, np.zeros((more, SCALES.size), np.float32)])
            self.inside = np.concatenate([self.inside, np.zeros((more, LEVELS), np.int32)])

    def reindex(self) -> None:
        """After pages came or went."""
        alive = np.flatnonzero(self.rows["alive"])
        keys = self.rows["key"][alive]
        order = np.argsort(keys, kind="stable")
        self._sorted, self._slot = keys[order], alive[order].astype(np.int32)

    @property
    def index_bytes(self) -> int:
        """Taken to find a page."""
        return self._sorted.nbytes + self._slot.nbytes

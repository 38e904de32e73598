"""Which URLs a crawl has met, at 8 bytes each.

Sorted 64-bit keys in one array, with the newest in a set until they are merged. Measured against the alternatives in
docs/decisions/0007-seen-set.md.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from hemeroteca import lazy

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy.Module("numpy")

MERGE_AT = 1 << 15


class SeenSet:
    def __init__(self, keys: "Collection[int] | np.ndarray" = ()) -> None:
        """Each key once: sorting is quicker than looking for equal ones. Without any, as a crawl begins, no array is
        made."""
        self._sorted = np.sort(np.asarray(keys, dtype=np.int64)) if len(keys) else None
        self._recent: set[int] = set()

    def __len__(self) -> int:
        return (0 if self._sorted is None else len(self._sorted)) + len(self._recent)

    def __contains__(self, key: int) -> bool:
        return key in self._recent or self._in_sorted(key)

    def add_new(self, keys: list[int]) -> list[bool]:
        """Remember `keys`; for each, whether it was new."""
        recent = self._recent
        known = self._all_in_sorted(keys)
        new = []
        for key, old in zip(keys, known, strict=True):
            fresh = not old and key not in recent
            if fresh:
                recent.add(key)
            new.append(fresh)
        if len(recent) >= MERGE_AT:
            self._merge()
        return new

    def met(self, keys: list[int]) -> list[bool]:
        """For each, whether it is known."""
        return [old or key in self._recent for key, old in zip(keys, self._all_in_sorted(keys), strict=True)]

    def discard(self, keys: Iterable[int]) -> None:
        """Forget keys that were added since the last merge (their rows could not be written)."""
        self._recent.difference_update(keys)

    def _in_sorted(self, key: int) -> bool:
        return self._all_in_sorted([key])[0]

    def _all_in_sorted(self, keys: list[int]) -> list[bool]:
        array = self._sorted
        if array is None:
            return [False] * len(keys)
        wanted = np.array(keys, dtype=np.int64)
        at = array.searchsorted(wanted)
        at[at == len(array)] = 0
        return (array[at] == wanted).tolist()

    def _merge(self) -> None:
        recent = np.fromiter(self._recent, dtype=np.int64, count=len(self._recent))
        recent.sort()
        known = self._sorted
        self._sorted = recent if known is None else np.insert(known, known.searchsorted(recent), recent)
        self._recent.clear()

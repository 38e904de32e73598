"""Near-duplicates: results that are the same text, or versions of one page, shown as one, with their number.

`order` has the places of the candidates, the best first.
"""

import numpy as np


def one_per_text(order: list[int], fingerprints: np.ndarray, bits: int) -> tuple[list[int], dict[int, int]]:
    """Leave the best of each group of near-duplicates; count the others."""
    if len(order) < 2:
        return order, {}
    marks = fingerprints[order]
    alike = np.bitwise_count(marks[:, None] ^ marks[None, :]) <= bits
    alike &= (marks != 0)[:, None]
    if np.count_nonzero(alike) == np.count_nonzero(marks):  # each only like itself
        return order, {}
    alike = np.triu(alike, 1)
    duplicates: dict[int, int] = {}
    gone = np.zeros(len(order), dtype=bool)
    for place in np.flatnonzero(alike.any(axis=1)).tolist():
        if not gone[place]:
            same = alike[place] & ~gone
            duplicates[order[place]] = int(same.sum())
            gone |= same
    return [candidate for place, candidate in enumerate(order) if not gone[place]], duplicates


def one_per_page(order: list[int], pages: np.ndarray) -> tuple[list[int], dict[int, int]]:
    """Of all versions of a page, the one that fits best."""
    best: dict[int, int] = {}
    duplicates: dict[int, int] = {}
    for candidate in order:
        shown = best.setdefault(int(pages[candidate]), candidate)
        if shown != candidate:
            duplicates[shown] = duplicates.get(shown, 0) + 1
    return list(best.values()), duplicates

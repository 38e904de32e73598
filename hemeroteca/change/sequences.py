"""Which parts of two sequences agree: patience diff, then Myers in the gaps, within a fixed amount of work.

Anchors are the items that occur once on each side; between two anchors the shortest edit is searched until the work
allowed is used up. What is then still open counts as replaced: correct, only less fine. So the worst input costs as
much as the budget, where `difflib` can take cubic time.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

WORK = 400_000  # steps, about a tenth of a second


class Op(NamedTuple):
    """`old[a:b]` corresponds to `new[c:d]`; equal when `same`, otherwise replaced (either may be empty)."""

    same: bool
    a: int
    b: int
    c: int
    d: int


def opcodes(old: Sequence[Hashable], new: Sequence[Hashable], work: int = WORK) -> list[Op]:
    """The two sequences cut into parts that agree and parts that do not, alternating."""
    pairs: list[tuple[int, int, int]] = []  # where runs of equal items begin on both sides, and their length
    waiting = [(0, len(old), 0, len(new))]
    while waiting:
        a, b, c, d = waiting.pop()
        head = common_prefix(old[a:b], new[c:d])
        tail = common_suffix(old[a + head : b], new[c + head : d])
        if head:
            pairs.append((a, c, head))
        if tail:
            pairs.append((b - tail, d - tail, tail))
        a, b, c, d = a + head, b - tail, c + head, d - tail
        if a == b or c == d:
            continue
        work -= b - a + d - c
        anchors = _anchors(old, new, a, b, c, d) if work > 0 else []
        if anchors:
            for x, y in anchors:
                if x > a or y > c:
                    waiting.append((a, x, c, y))
                pairs.append((x, y, 1))
                a, c = x + 1, y + 1
            waiting.append((a, b, c, d))
        elif work > 0:
            work = _myers(old, new, a, b, c, d, pairs, work)
    pairs.sort()
    return _filled(pairs, len(old), len(new))


def common_prefix(old: Sequence[Hashable], new: Sequence[Hashable]) -> int:
    """How many items at the beginning agree."""
    size = min(len(old), len(new))
    return _agreeing(size, lambda done, end: old[done:end] == new[done:end])


def common_suffix(old: Sequence[Hashable], new: Sequence[Hashable]) -> int:
    """How many items at the end agree."""
    a, b = len(old), len(new)
    return _agreeing(min(a, b), lambda done, end: old[a - end : a - done] == new[b - end : b - done])


def _agreeing(size: int, same: Callable[[int, int], bool]) -> int:
    """How many of `size` items agree, told whether the stretch between two of them is the `same`.

    Ever longer stretches, then ever shorter ones: no loop over the items in Python.
    """
    done, step, growing = 0, 64, True
    while step and done < size:
        end = min(done + step, size)
        if same(done, end):
            done = end
            step *= 1 + growing
        else:
            growing = False
            step //= 2
    return done


def _anchors(old: Sequence[Hashable], new: Sequence[Hashable], a: int, b: int, c: int, d: int) -> list[tuple[int, int]]:
    """Items found once on either side, as many as lie in the same order."""
    counts, others = Counter(old[a:b]), Counter(new[c:d])
    places = {item: y for y, item in enumerate(new[c:d], c) if others[item] == 1}
    found = [(x, places[item]) for x, item in enumerate(old[a:b], a) if counts[item] == 1 and item in places]
    # longest increasing subsequence of the places in `new`
    piles: list[int] = []
    tops: list[int] = []
    before: list[int] = []
    for number, (_, y) in enumerate(found):
        pile = bisect_left(piles, y)
        before.append(tops[pile - 1] if pile else -1)
        piles[pile : pile + 1] = [y]
        tops[pile : pile + 1] = [number]
    chain: list[tuple[int, int]] = []
    number = tops[-1] if tops else -1
    while number >= 0:
        chain.append(found[number])
        number = before[number]
    return chain[::-1]


def _myers(
    old: Sequence[Hashable],
    new: Sequence[Hashable],
    a: int,
    b: int,
    c: int,
    d: int,
    pairs: list[tuple[int, int, int]],
    work: int,
) -> int:
    """The shortest edit of a gap without anchors, if the work allowed suffices; returns what is left of it."""
    width, height = b - a, d - c
    furthest = {1: 0}
    trace: list[dict[int, int]] = []
    for edits in range(width + height + 1):
        trace.append(dict(furthest))
        work -= edits + 1
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1])
            x = furthest[k + 1] if down else furthest[k - 1] + 1
            y = x - k
            start = x
            while x < width and y < height and old[a + x] == new[c + y]:
                x += 1
                y += 1
            work -= x - start + 1
            furthest[k] = x
            if x >= width and y >= height:
                _walk_back(trace, width, height, a, c, pairs)
                return work
        if work <= 0:
            return 0
    return work


def _walk_back(trace: list[dict[int, int]], x: int, y: int, a: int, c: int, pairs: list[tuple[int, int, int]]) -> None:
    for edits in range(len(trace) - 1, -1, -1):
        furthest = trace[edits]
        k = x - y
        down = k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1])
        left = furthest[k + 1] if down else furthest[k - 1]
        start = left if down else left + 1  # where the diagonal of this step began
        if not edits:
            start = 0
        if x > start:
            pairs.append((a + start, c + start - k, x - start))
        x, y = (left, left - k - 1) if down else (left, left - k + 1)


def _filled(pairs: list[tuple[int, int, int]], width: int, height: int) -> list[Op]:
    """Runs that touch joined, and the gaps between them."""
    parts: list[Op] = []
    start = a = c = 0  # of the run at hand; where it ends on both sides
    for x, y, size in pairs:
        if a < x or c < y:
            if a > start:
                parts.append(Op(True, start, a, c - (a - start), c))
            parts.append(Op(False, a, x, c, y))
            start = x
        a, c = x + size, y + size
    if a > start:
        parts.append(Op(True, start, a, c - (a - start), c))
    if a < width or c < height:
        parts.append(Op(False, a, width, c, height))
    return parts

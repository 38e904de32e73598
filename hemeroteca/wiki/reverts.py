"""Who undid whom: identity reverts by sha1, with a radius. Pure.

A revision whose text is that of an earlier one, at most `radius` revisions back, reverts those in between (Flöck,
Halfaker: https://meta.wikimedia.org/wiki/Research:Identity_revert). Checked against the package mwreverts.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import msgspec

RADIUS = 15


class Edit(msgspec.Struct, frozen=True):
    """A revision as these metrics see it."""

    revid: int
    sha1: str | None
    user: str | None
    timestamp: int = 0  # ms
    size: int | None = None


class Revert(msgspec.Struct, frozen=True):
    reverting: Edit
    reverted: tuple[Edit, ...]  # the newest first
    reverted_to: Edit


class Undoing(msgspec.Struct, frozen=True):
    """One undid another, so often."""

    by: str
    of: str
    count: int


class War(msgspec.Struct, frozen=True):
    """Two who undid each other, alternately, within a time."""

    users: tuple[str, str]
    reverts: int
    start: int  # ms
    end: int


def reverts(edits: Iterable[Edit], radius: int = RADIUS) -> Iterator[Revert]:
    """Reverts of one article's revisions, which come in their order."""
    window: deque[tuple[str, Edit]] = deque(maxlen=radius + 1)
    for edit in edits:
        # A hidden text is a text of its own: it can be reverted, not reverted to.
        key = edit.sha1 or f"hidden {edit.revid}"
        between: list[Edit] = []
        for text, found in reversed(window):
            if text == key:
                if between:
                    yield Revert(edit, tuple(between), found)
                break
            between.append(found)
        window.append((key, edit))


def undoings(found: Iterable[Revert]) -> list[Undoing]:
    """Who reverted whom, most frequent first; nobody undoes themselves."""
    counts: dict[tuple[str, str], int] = {}
    for revert in found:
        for other in {edit.user for edit in revert.reverted}:
            if revert.reverting.user and other and other != revert.reverting.user:
                pair = (revert.reverting.user, other)
                counts[pair] = counts.get(pair, 0) + 1
    return [Undoing(by, of, n) for (by, of), n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def wars(found: Sequence[Revert], within_ms: int = 24 * 3_600_000, least: int = 3) -> list[War]:
    """Edit wars: at least three reverts between the same two, each undoing the other, within a day of each other."""
    chains: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for revert in found:
        by = revert.reverting.user
        for other in {edit.user for edit in revert.reverted}:
            if by and other and other != by:
                pair = (min(by, other), max(by, other))
                chains.setdefault(pair, []).append((revert.reverting.timestamp, by))
    result = []
    for pair, moves in chains.items():
        moves.sort()
        run: list[tuple[int, str]] = []
        for move in [*moves, (1 << 62, "")]:
            if run and move[0] - run[-1][0] > within_ms:
                if len(run) >= least and len({by for _, by in run}) == 2:
                    result.append(War(pair, len(run), run[0][0], run[-1][0]))
                run = []
            run.append(move)
    return sorted(result, key=lambda war: (-war.reverts, war.start))

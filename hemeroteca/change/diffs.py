"""The difference of two versions for people: as text, as runs of words, side by side.

Noise is shown too: here a person looks at what the page said. Only the parts a site's rules leave out are left out.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from hemeroteca.change.sequences import Op, opcodes
from hemeroteca.change.site_rules import ChangeRules
from hemeroteca.change.snapshot import Parts, Snapshot, take_apart

CONTEXT = 3  # lines around a difference
MAX_WORDS = 20_000  # of two passages compared word by word
MAX_LINE = 10_000  # characters shown of a line

_DEFAULTS = ChangeRules()
_WORD = re.compile(r"\s+|\d+(?:[.,:]\d+)+|\w+|[^\w\s]")


class Stretch(msgspec.Struct, frozen=True):
    """A stretch of text that both versions have, or only one."""

    op: str  # equal, insert, delete
    text: str


class Row(msgspec.Struct, frozen=True):
    """A line of each version, side by side. A line only one version has stands alone."""

    kind: str  # equal, insert, delete, replace
    old: list[Stretch] = []
    new: list[Stretch] = []
    old_number: int = 0  # of the line, from 1; 0 when there is none
    new_number: int = 0


def text_diff(
    old: Snapshot, new: Snapshot, given: ChangeRules = _DEFAULTS, names: tuple[str, str] = ("old", "new")
) -> str:
    """A unified diff of the texts; empty when they are equal."""
    return unified(lines_of(old, given), lines_of(new, given), names)


def unified(before: list[str], after: list[str], names: tuple[str, str]) -> str:
    """The same of the lines themselves."""
    parts: list[str] = []
    for hunk in _hunks(opcodes(before, after)):
        first, last = hunk[0], hunk[-1]
        parts.append(f"@@ -{_range(first.a, last.b)} +{_range(first.c, last.d)} @@")
        for same, a, b, c, d in hunk:
            if same:
                parts += [f" {line}" for line in before[a:b]]
            else:
                parts += [f"-{line}" for line in before[a:b]]
                parts += [f"+{line}" for line in after[c:d]]
    if not parts:
        return ""
    old_name, new_name = (" ".join(name.split()) for name in names)
    return "\n".join([f"--- {old_name}", f"+++ {new_name}", *parts, ""])


def changed_runs(old: str, new: str) -> list[Stretch]:
    """Two passages as runs of words, deletions before insertions."""
    if old == new:
        return [Stretch("equal", new)] if new else []
    before, after = _words(old), _words(new)
    if len(before) + len(after) > MAX_WORDS:
        return [run for run in (Stretch("delete", old), Stretch("insert", new)) if run.text]
    runs: list[Stretch] = []
    for same, a, b, c, d in _without_islands(opcodes(before, after), before):
        if same:
            runs.append(Stretch("equal", "".join(after[c:d])))
            continue
        if a < b:
            runs.append(Stretch("delete", "".join(before[a:b])))
        if c < d:
            runs.append(Stretch("insert", "".join(after[c:d])))
    return runs


def side_by_side(
    old: Snapshot, new: Snapshot, given: ChangeRules = _DEFAULTS, context: int | None = CONTEXT
) -> list[Row]:
    """Both texts line by line. `context` lines stay around each difference; None keeps all of them."""
    before, after = lines_of(old, given), lines_of(new, given)
    found = opcodes(before, after)
    groups: Sequence[Sequence[Op]] = [found] if context is None else list(_hunks(found, context))
    return [row for group in groups for op in group for row in _rows(op, before, after)]


def lines_of(snapshot: Snapshot, given: ChangeRules) -> list[str]:
    """The lines that are compared for people."""
    return shown_lines(take_apart(snapshot, given), snapshot)


def shown_lines(page: Parts, snapshot: Snapshot) -> list[str]:
    """The same of a snapshot that was taken apart already."""
    if page.kind == "binary":
        return [f"({len(snapshot.body):,} bytes that are not text)"] if snapshot.body else []
    return [line if len(line) <= MAX_LINE else line[:MAX_LINE] + "…" for line in page.lines]


def pairs(op: Op, before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Which lines of a replaced passage belong together (-1: none), in order."""
    a, b, c, d = op.a, op.b, op.c, op.d
    if (b - a) * (d - c) > 400:
        yield from ((x, -1) for x in range(a, b))
        yield from ((-1, y) for y in range(c, d))
        return
    while a < b and c < d:
        # lines that share no word are no versions of each other
        if _alike(before[a], after[c]):
            yield a, c
            a, c = a + 1, c + 1
        elif any(_alike(before[a], after[y]) for y in range(c + 1, d)):
            yield -1, c
            c += 1
        else:
            yield a, -1
            a += 1
    yield from ((x, -1) for x in range(a, b))
    yield from ((-1, y) for y in range(c, d))


def _alike(old: str, new: str) -> bool:
    before, after = set(old[:1000].split()), set(new[:1000].split())
    return len(before & after) * 4 >= max(len(before), len(after))


def _rows(op: Op, before: list[str], after: list[str]) -> Iterator[Row]:
    if op.same:
        for x, y in zip(range(op.a, op.b), range(op.c, op.d), strict=True):
            yield Row("equal", [Stretch("equal", before[x])], [Stretch("equal", after[y])], x + 1, y + 1)
        return
    for x, y in pairs(op, before, after):
        if y < 0:
            yield Row("delete", [Stretch("delete", before[x])], [], x + 1, 0)
        elif x < 0:
            yield Row("insert", [], [Stretch("insert", after[y])], 0, y + 1)
        else:
            runs = changed_runs(before[x], after[y])
            left, right = [r for r in runs if r.op != "insert"], [r for r in runs if r.op != "delete"]
            yield Row("replace", left, right, x + 1, y + 1)


def _hunks(found: Sequence[Op], context: int = CONTEXT) -> Iterator[list[Op]]:
    """Differences with some lines around them; near ones together."""
    hunk: list[Op] = []
    for number, op in enumerate(found):
        if not op.same:
            hunk.append(op)
            continue
        size, last = op.b - op.a, number == len(found) - 1
        if hunk and not last and size <= 2 * context:
            hunk.append(op)
            continue
        if hunk:
            take = min(context, size)
            if take:
                hunk.append(Op(True, op.a, op.a + take, op.c, op.c + take))
            yield hunk
            hunk = []
        if not last and context:
            take = min(context, size)
            hunk = [Op(True, op.b - take, op.b, op.d - take, op.d)]
    if any(not op.same for op in hunk):
        yield hunk


def _range(start: int, end: int) -> str:
    size = end - start
    return f"{start + 1 if size else start},{size}" if size != 1 else str(start + 1)


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _without_islands(found: list[Op], before: list[str]) -> Iterator[Op]:
    """A single space between two changed words belongs to the change: easier to read."""
    waiting: Op | None = None
    for number, op in enumerate(found):
        small = op.same and op.b - op.a == 1 and before[op.a].isspace() and 0 < number < len(found) - 1
        if op.same and not small:
            if waiting is not None:
                yield waiting
                waiting = None
            yield op
        elif waiting is None:
            waiting = Op(False, op.a, op.b, op.c, op.d)
        else:
            waiting = Op(False, waiting.a, op.b, waiting.c, op.d)
    if waiting is not None:
        yield waiting

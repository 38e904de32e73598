"""Tables of `hemeroteca watch`: the address comes last and is never cut or folded, what needs a sentence stands below.

At 80 columns a table with an address, a reason and six numbers leaves ten characters for each; a terminal wraps a whole
line in a way that can still be copied.
"""

import sys
from collections.abc import Sequence

from hemeroteca.cli.common import printable

MAX_CELL = 24  # characters of a cell that is not the last


def show(columns: Sequence[str], rows: Sequence[tuple[Sequence[str], Sequence[str]]], otherwise: str) -> None:
    """Rows are cells and lines that stand below them; `otherwise` is said when there are none."""
    if not rows:
        sys.stdout.write(otherwise + "\n")
        return
    sys.stdout.write("\n".join(map(printable, lines(columns, rows))) + "\n")


def lines(columns: Sequence[str], rows: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[str]:
    table = [[_cut(cell) for cell in cells[:-1]] + [cells[-1]] for cells, _ in rows]
    inner = range(len(columns) - 1)
    widths = [max(len(columns[i]), *(len(row[i]) for row in table)) for i in inner]
    right = [all(row[i][:1].isdigit() or not row[i] for row in table) for i in inner]

    def line(cells: Sequence[str]) -> str:
        padded = [cells[i].rjust(widths[i]) if right[i] else cells[i].ljust(widths[i]) for i in inner]
        return "  ".join((*padded, cells[-1])).rstrip()

    found = [line(columns)]
    for row, (_, below) in zip(table, rows, strict=True):
        found.append(line(row))
        found += [f"      {text}" for text in below if text]
    return found


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CELL else text[: MAX_CELL - 1] + "…"

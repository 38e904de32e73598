"""Tables as CSV, in which no text of a stranger becomes a formula when a spreadsheet opens them."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any


def cell(value: Any) -> Any:
    """A text that begins like a formula gets an apostrophe, which spreadsheets take for: this is text."""
    return f"'{value}" if isinstance(value, str) and value.startswith(tuple("=+-@\t\r")) else value


def lines(rows: Iterable[Iterable[Any]], end: str = "\r\n") -> Iterator[str]:
    """Each row as a line."""
    for row in rows:
        line = io.StringIO()
        csv.writer(line, lineterminator=end).writerow(map(cell, row))
        yield line.getvalue()


def text(rows: Iterable[Iterable[Any]], end: str = "\r\n") -> str:
    return "".join(lines(rows, end))

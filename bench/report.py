"""The table every measurement adds to, written to bench/results.md."""

import time
from dataclasses import dataclass
from pathlib import Path

from bench import machine


@dataclass
class Row:
    measure: str
    figure: str
    goal: str = ""
    verdict: str = ""


def write(sections: dict[str, list[Row]], path: Path) -> None:
    """Replace the sections measured now; those of other runs stay."""
    kept = _read(path)
    stamp = f"{time.strftime('%Y-%m-%d', time.gmtime())}, {machine.describe()}"
    for name, rows in sections.items():
        lines = ["", f"## {name}", "", stamp, "", "| measure | here | to reach | |", "|---|---|---|---|"]
        lines += [f"| {row.measure} | {row.figure} | {row.goal} | {row.verdict} |" for row in rows]
        kept[name] = "\n".join(lines) + "\n"
    title = (
        "# Measurements\n\nWritten by `make bench` (or `python -m bench NAME`); ratios against peers of the same run "
        "(a row says so where it is otherwise).\n"
    )
    path.write_text(title + "".join(kept[name] for name in sorted(kept)), "utf-8")


def _read(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    parts = path.read_text("utf-8").split("\n## ")[1:]
    return {part.partition("\n")[0]: f"\n## {part.rstrip()}\n" for part in parts}

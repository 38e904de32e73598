"""`python -m bench [NAME…]`: run measurements (all by default) and write them to bench/results.md."""

import importlib
import sys
from pathlib import Path

from bench import report

MEASUREMENTS = (
    "crawl", "frontier", "archive", "change", "search", "predict", "focus", "geo", "wiki", "fleet", "fleet_founding",
    "console", "size", "startup",
)  # fmt: skip


def main() -> None:
    names = sys.argv[1:] or [name for name in MEASUREMENTS if (Path(__file__).parent / f"{name}.py").exists()]
    path = Path(__file__).parent / "results.md"
    for name in names:
        print(f"== {name}", flush=True)
        rows = importlib.import_module(f"bench.{name}").main()
        for row in rows:
            print(f"{row.measure}: {row.figure} {row.goal and f'({row.goal}: {row.verdict})'}", flush=True)
        if rows:
            report.write({name: rows}, path)


if __name__ == "__main__":
    main()

"""Change histories from ChangeLog files: one site per file, one page per source file named in it.

Many packages ship a log of dated entries that name the files each change touched. That is a real history of pages that
change together and in bursts, of another kind than one chosen by us:

    python -m bench.changelogs --days 730 OUT_FOLDER NAME=ChangeLog.gz [NAME=ChangeLog …]

writes OUT_FOLDER/NAME.csv.gz (`site,page,seconds`) with the busiest span of that many days. Entries of a day without an
hour count at noon. `NAME=FOLDER/*/changelog.Debian.gz` instead reads the dates of uploads: one page per package.
"""

import argparse
import csv
import gzip
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

DAY = 86400
DATED = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?: (\d\d):(\d\d))?\b")
OLD_DATED = re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) +([A-Z][a-z]{2}) +(\d+) [\d:]+ (?:[A-Z]+ )?(\d{4})\b")
ENTRY = re.compile(r"\s+\* (.*)")
FILE = re.compile(r"[\w+-][\w.+/-]*(?:/[\w.+-]+|\.\w{1,6})")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

Change = tuple[str, float]  # page, seconds since 1970


def changes(lines: Iterable[str]) -> Iterator[Change]:
    """Every file of every dated entry."""
    when: float | None = None
    names = ""  # of an entry whose list of files goes on in the next line
    for line in lines:
        if not line[:1].isspace():
            when, names = _date(line) or when, ""
            continue
        entry = ENTRY.match(line)
        if entry is None and not names:
            continue
        names = f"{names} {entry[1] if entry else line.strip()}"
        head, colon, _ = re.sub(r"\([^()]*\)", "", names).partition(":")
        if not colon and len(names) < 400:
            continue
        names = ""
        if colon and when is not None:
            for name in re.split(r"[\s,]+", head):
                if FILE.fullmatch(name):
                    yield name, when


def uploads(package: str, lines: Iterable[str]) -> Iterator[Change]:
    """The signature of every entry of a Debian changelog."""
    for line in lines:
        if line.startswith(" -- ") and ">  " in line:
            try:
                yield package, parsedate_to_datetime(line.rpartition(">  ")[2].strip()).timestamp()
            except ValueError:
                continue  # a date nobody can read


def busiest(found: list[Change], days: int) -> tuple[list[Change], float]:
    """The changes of the span with most of them, and when it starts; a span begins at the beginning of a day."""
    times = sorted(t for _, t in found)
    best, start, first = 0, 0.0, 0
    for last, time in enumerate(times):
        while time - times[first] // DAY * DAY >= days * DAY:
            first += 1
        if last - first + 1 > best:
            best, start = last - first + 1, times[first] // DAY * DAY
    return [(page, t) for page, t in found if start <= t < start + days * DAY], start


def _date(line: str) -> float | None:
    try:
        if match := DATED.match(line):
            year, month, day = (int(part) for part in match.group(1, 2, 3))
            return datetime(year, month, day, int(match[4] or 12), int(match[5] or 0), tzinfo=UTC).timestamp()
        if match := OLD_DATED.match(line):
            return datetime(int(match[3]), MONTHS.index(match[1]) + 1, int(match[2]), 12, tzinfo=UTC).timestamp()
    except ValueError:
        return None  # the 31st of February
    return None


def _lines(path: Path) -> Iterator[str]:
    data = path.read_bytes()
    yield from (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace").splitlines()


def _read(pattern: str) -> list[Change]:
    paths = sorted(Path("/").glob(pattern.lstrip("/"))) if pattern.startswith("/") else sorted(Path().glob(pattern))
    if not paths:
        raise SystemExit(f"no file is called {pattern}; give NAME=FILE")
    if paths[0].name.startswith("changelog.Debian"):
        by_source: dict[str, list[Change]] = {}
        for path in paths:
            lines = list(_lines(path))
            source = lines[0].split(" ")[0] if lines else ""  # packages of one source share its log
            by_source.setdefault(source, list(uploads(source, lines)))
        return [change for found in by_source.values() for change in found]
    return [change for path in paths for change in changes(_lines(path))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=730)
    parser.add_argument("folder", type=Path)
    parser.add_argument("site", nargs="+", metavar="NAME=FILE")
    args = parser.parse_args()
    for site in args.site:
        name, _, pattern = site.partition("=")
        found, start = busiest(_read(pattern), args.days)
        target = args.folder / f"{name}.csv.gz"
        with gzip.open(target, "wt", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(("site", "page", "seconds"))
            rows.writerows(sorted((name, page, int(t - start)) for page, t in found))
        pages = len({page for page, _ in found})
        print(f"{target}: {pages} pages, {len(found)} changes from {datetime.fromtimestamp(start, UTC):%Y-%m-%d}")


if __name__ == "__main__":
    main()

"""Queries that people asked and that found something, for completion: each offered only to those who may see it.

What somebody looks for is their own business. A query is offered to whoever asked it; to everybody who signs in only
when `MIN_PEOPLE` different people asked it; to strangers never. After `DAYS` it is forgotten.
"""

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec

MIN_PEOPLE = 3  # people
DAYS = 180
EVERYBODY = 0
_FILE = "queries.log"
_LOG_BYTES = 2_000_000
_DAY = 86_400


class LoggedQuery(msgspec.Struct, frozen=True):
    """A query, how often it was asked, and by whom."""

    text: str
    times: int = 1
    by: int = EVERYBODY


def log_query(index_dir: Path, text: str, by: int) -> None:
    """Remember a query of a person. The log is cut to its newer half when it grows."""
    text = " ".join(text.split())
    if not 2 < len(text) <= 100:
        return
    log = index_dir / "suggest" / _FILE
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    line = f"{int(time.time()) // _DAY}\t{by}\t{text}\n"
    with os.fdopen(
        os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8", errors="replace"
    ) as file:
        file.write(line)
        size = file.tell()
    if size > _LOG_BYTES:
        draft = log.with_suffix(".draft")
        draft.write_bytes(log.read_bytes()[size // 2 :].partition(b"\n")[2])
        draft.chmod(0o600)
        os.replace(draft, log)


def queries_of(index_dir: Path, by: int, limit: int = 200) -> list[str]:
    """What a person asked, the last first, each once."""
    own = [text for text, asker in _lines(index_dir / "suggest" / _FILE) if asker == by]
    return list(dict.fromkeys(reversed(own)))[:limit]


def forget_queries(index_dir: Path, by: int) -> None:
    """Erase what a person asked. Words learned from it go at the next `search learn`."""
    log = index_dir / "suggest" / _FILE
    try:
        lines = log.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return
    mine = str(by).encode()
    draft = log.with_suffix(".draft")
    draft.touch(mode=0o600)
    draft.write_bytes(b"".join(line for line in lines if line.partition(b"\t")[2].partition(b"\t")[0] != mine))
    os.replace(draft, log)


def logged_queries(index_dir: Path) -> list[LoggedQuery]:
    """What was asked lately, once for each person it may be shown to."""
    times: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for text, by in _lines(index_dir / "suggest" / _FILE):
        times[text][by] += 1
    return [
        one
        for text, people in times.items()
        for one in (
            [LoggedQuery(text, sum(people.values()))]
            if len(people) >= MIN_PEOPLE
            else [LoggedQuery(text, count, by) for by, count in people.items()]
        )
    ]


def _lines(log: Path) -> Iterator[tuple[str, int]]:
    try:
        lines = log.read_text("utf-8", "replace").split("\n")
    except FileNotFoundError:
        return
    oldest = int(time.time()) // _DAY - DAYS
    for line in lines:
        day, _, rest = line.partition("\t")
        by, _, text = rest.partition("\t")
        if day.isdecimal() and by.isdecimal() and int(day) >= oldest and 2 < len(text) <= 100:
            yield text, int(by)

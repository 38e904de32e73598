"""Retention: captures that tell nothing new are let go, and the files that held them are written anew without them.

Never let go: a version (a capture that differs from the one before), the last capture that still showed it, the first
and the newest captures of a page, and any record whose payload a kept capture refers to. So whatever the rules say,
every version stays readable, and the capture nearest to any moment shows what it showed before.

The order survives a kill: the new file is complete on disk before the one transaction that moves the rows to it and
empties the old file's row; only then is the old file removed, and `finish` removes those a kill left behind.
"""

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from uuid import UUID

from django.db import connection, transaction

from hemeroteca.archive import queries, services
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.archive.models import IndexedCapture, WarcFile
from hemeroteca.archive.selection import Selection
from hemeroteca.warc import scan, store, stored_record, zstd
from hemeroteca.warc.builder import gzip_pieces
from hemeroteca.warc.writer import WarcWriter

PERIODS = ("day", "week", "month", "year")
MAX_PAGES = 10_000


@dataclass(frozen=True)
class Retention:
    """What may go: captures without news, older than a moment; of the younger ones, all but one per period."""

    older_than_ms: int | None = None
    one_per: str = ""
    keep_newest: int = 1


@dataclass
class Pruned:
    looked_at: int = 0
    captures: int = 0  # let go (or that would be)
    bytes: int = 0  # of their records, without those of the requests beside them
    files: int = 0  # written anew or removed
    pages: dict[str, int] = field(default_factory=dict)  # captures let go by address; of the first addresses only


def prune(
    folder: Path,
    selection: Selection,
    rules: Retention,
    dry_run: bool = True,
    tell: Callable[[CaptureRow], object] | None = None,
    progress: Callable[[int, int | None, str], object] = lambda done, total, message: None,
) -> Pruned:
    """Let go of what the rules allow. Only while no engine runs; with `dry_run` nothing is changed.

    `tell` gets each capture that goes, before it does.
    """
    if rules.one_per and rules.one_per not in PERIODS:
        raise ValueError(f"one capture per {rules.one_per!r} is not possible; choose {', '.join(PERIODS)}")
    if rules.older_than_ms is None and not rules.one_per:
        raise ValueError("say what may go: captures older than a date, or all but one per period")
    done = Pruned()
    files: dict[str, set[int]] = {}
    for row in _superfluous(selection, rules, done):
        done.captures += 1
        done.bytes += row.length
        if row.url in done.pages or len(done.pages) < MAX_PAGES:
            done.pages[row.url] = done.pages.get(row.url, 0) + 1
        if tell:
            tell(row)
        files.setdefault(row.warc_name, set()).add(row.id)
        progress(done.looked_at, None, "looking for captures without news")
    done.files = len(files)
    if not dry_run:
        finish(folder)
        for number, (name, ids) in enumerate(sorted(files.items())):
            progress(number, len(files), name)
            rewrite(folder, name, ids)
    return done


def finish(folder: Path) -> list[str]:
    """Remove files that were written anew before a kill: their rows are closed and empty."""
    left = WarcFile.objects.filter(closed=True, size=0)
    names = [file.name for file in left if not IndexedCapture.objects.filter(warc=file).exists()]
    for name in names:
        _remove(folder, name)
    WarcFile.objects.filter(name__in=names).delete()
    return names


def _superfluous(selection: Selection, rules: Retention, done: Pruned) -> Iterator[CaptureRow]:
    for _, group in groupby(selection.rows(), key=lambda row: row.urlkey):
        pages: dict[str, list[CaptureRow]] = {}
        for row in group:
            pages.setdefault(row.url, []).append(row)
        for rows in pages.values():
            done.looked_at += len(rows)
            yield from _unreferenced(_without_news(rows, rules))


def _without_news(rows: list[CaptureRow], rules: Retention) -> list[CaptureRow]:
    """Of the captures of one page, oldest first, those the rules let go."""
    kept: set[str] = set()
    candidates = []
    for position, row in enumerate(rows):
        period = _period(row.captured_ms, rules.one_per)
        newest = position >= len(rows) - max(1, rules.keep_newest)
        old = rules.older_than_ms is not None and row.captured_ms < rules.older_than_ms
        again = bool(rules.one_per) and period in kept
        last_of_version = not newest and rows[position + 1].version
        if row.version or last_of_version or position == 0 or newest or not (old or again):
            kept.add(period)
        else:
            candidates.append(row)
    return candidates


def _unreferenced(rows: list[CaptureRow]) -> Iterator[CaptureRow]:
    """Those no other capture refers to. Revisits are never referred to."""
    whole = [row.record_id for row in rows if row.kind != "revisit"]
    needed: set[UUID] = set()
    for start in range(0, len(whole), 400):
        part = whole[start : start + 400]
        needed.update(IndexedCapture.objects.filter(refers_to__in=part).values_list("refers_to", flat=True))
    return (row for row in rows if row.record_id not in needed)


def rewrite(folder: Path, name: str, gone: set[int], records: Collection[UUID] = ()) -> None:
    """A file written anew without these captures, and without these records, which lie elsewhere now."""
    old = WarcFile.objects.get(name=name)
    rows = {row.offset: row for row in queries.all_rows("capture.warc_id = %s", [old.pk])}
    without: set[UUID | None] = {row.record_id for row in rows.values() if row.id in gone}
    without.update(records)
    writer = WarcWriter(folder, max_bytes=1 << 62, max_seconds=float("inf"), prefix=name.split("-")[0])
    moved: list[tuple[int, str, int]] = []
    with writer.all_or_nothing(), store.local_copy(folder, name) as path, path.open("rb") as source:
        for found in scan.scan(path, old.size):
            if isinstance(found, scan.Damage):
                raise stored_record.WarcReadError(
                    f"{name} is damaged at {found.offset} ({found.reason}); run `hemeroteca archive verify` first"
                )
            record = found.record
            beside = stored_record.uuid_of(record.headers.get("warc-concurrent-to", ""))
            made_from = record.refers_to if record.kind in ("metadata", "conversion") else None
            own = record.kind == "warcinfo" and record.headers.get("warc-filename") == name
            row = rows.get(found.offset)
            if own or not without.isdisjoint({record.record_id, beside, made_from}):
                gone |= {row.id} if row is not None else set()
                continue
            target, offset = writer.append(_packed(source.fileno(), found))
            if row is not None:
                moved.append((row.id, target, offset))
        writer.sync()
    with transaction.atomic():
        services.delete_captures(list(gone))
        ids = services.acknowledge(writer.sizes())
        with connection.cursor() as cursor:
            cursor.executemany(
                'UPDATE capture SET warc_id = %s, "offset" = %s WHERE id = %s',
                [(ids[target], offset, number) for number, target, offset in moved],
            )
        WarcFile.objects.filter(pk=old.pk).update(size=0, closed=True, digest="")
    services.mark_closed(writer.close())
    _remove(folder, name)
    WarcFile.objects.filter(pk=old.pk).delete()


def _packed(fd: int, found: scan.ScannedRecord) -> Iterator[bytes]:
    """A record of any length as it goes into the new file, which is written with gzip."""
    position, end = found.offset, found.offset + found.length
    if zstd.is_zstd(os.pread(fd, 4, position)):
        yield from gzip_pieces(stored_record.member_at(partial(os.pread, fd), position, end).stream())
        return
    while piece := os.pread(fd, min(1 << 20, end - position), position):
        yield piece
        position += len(piece)


def _remove(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    remote = store.configured()
    if remote is not None:
        remote.delete(name)


def _period(ms: int, one_per: str) -> str:
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    if one_per == "week":
        year, week, _ = moment.isocalendar()
        return f"{year}-{week}"
    return moment.strftime({"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}.get(one_per, "%s"))

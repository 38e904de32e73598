"""What can be done to the archive's tables; the only writer of them.

The hot path (`insert_captures`) is plain SQL in one round trip per batch, inside the caller's transaction.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from hemeroteca import urls
from hemeroteca.archive.capture_rows import NewCapture
from hemeroteca.archive.models import AddressCount, IndexedCapture, StalePage
from hemeroteca.frontier.models import Page
from hemeroteca.warc.builder import safe_url
from hemeroteca.warc.keys import index_key
from hemeroteca.warc.writer import ClosedFile, Recovered


def insert_captures(captures: Sequence[NewCapture], sizes: Mapping[str, int]) -> None:
    """Acknowledge a batch: `sizes` (from `WarcWriter.sizes` after `sync`) and the captures that lie in those files.

    Call it inside the transaction that also commits the frontier's side of the batch.
    """
    ids = acknowledge(sizes)
    missing = {capture.warc_name for capture in captures} - set(ids)
    if missing:
        raise ValueError(f"captures in files without an acknowledged size: {sorted(missing)}; pass WarcWriter.sizes()")
    native = connection.features.has_native_uuid_field
    rows = [_row(capture, ids[capture.warc_name], native) for capture in captures]
    with connection.cursor() as cursor:
        cursor.executemany(_INSERT, rows)
    _count(captures)


def acknowledge(sizes: Mapping[str, int]) -> dict[str, int]:
    """Note how much of each open file is good; gives the row id of each."""
    if not sizes:
        return {}
    now = time.time_ns() // 1_000_000
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO warc_file (name, size, closed, digest, created_ms) VALUES (%s, %s, %s, %s, %s) "
            "ON CONFLICT (name) DO UPDATE SET size = excluded.size",
            [(name, size, False, "", now) for name, size in sizes.items()],
        )
        marks = ", ".join(["%s"] * len(sizes))
        cursor.execute(f"SELECT name, id FROM warc_file WHERE name IN ({marks})", list(sizes))  # noqa: S608
        return dict(cursor.fetchall())


def mark_closed(files: Iterable[ClosedFile | Recovered]) -> None:
    """Note files that got their final name (from `close_rotated`, `close` or `recover`) with their digest."""
    rows = [(file.size, file.digest, True, file.name) for file in files if file.digest]
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany("UPDATE warc_file SET size = %s, digest = %s, closed = %s WHERE name = %s", rows)


def count_alone() -> None:
    """In a transaction: let nobody else count captures until its end. Two that count the same days would otherwise wait
    for each other on PostgreSQL; SQLite has one writer anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE capture_tally IN SHARE ROW EXCLUSIVE MODE")


def correct_capture(capture_id: int, capture: NewCapture) -> None:
    """Make a row say what the record says."""
    fields = ("record_id", "url", "urlkey", "captured_ms", "status", "mime", "digest", "kind", "truncated", "refers_to")
    values = {name: getattr(capture, name) for name in fields}
    values["mime"] = _mime(capture)
    with recounted([capture_id]):
        IndexedCapture.objects.filter(pk=capture_id).update(**values, length=capture.length)
    AddressCount.objects.all().delete()


def delete_captures(ids: Sequence[int]) -> None:
    """Take captures out of the index. Their addresses stay counted: prune never lets the last one of a page go."""
    with recounted(ids):
        for part in _parts(ids):
            IndexedCapture.objects.filter(pk__in=part).delete()


def set_versions(flags: Sequence[tuple[bool, int]]) -> None:
    """Pairs of (is a version, capture)."""
    if flags:
        with recounted([number for _, number in flags]), connection.cursor() as cursor:
            cursor.executemany("UPDATE capture SET version = %s WHERE id = %s", list(flags))


def join_revisit(capture_id: int, original: UUID, digest: str) -> None:
    """A revisit got its original."""
    size = IndexedCapture.objects.filter(record_id=original).values_list("body_size", flat=True).first() or 0
    with recounted([capture_id]):
        row = IndexedCapture.objects.filter(pk=capture_id)
        row.update(refers_to=original, digest=digest)
        row.exclude(status=304).update(body_size=size)


def set_importance(found: Sequence[tuple[float | None, int]]) -> None:
    """Pairs of (how much it differs from the version before, capture)."""
    if found:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany("UPDATE capture SET importance = %s WHERE id = %s", list(found))


def forget_addresses() -> None:
    """Let addresses be counted anew; after rows were removed that may have been the only ones of an address."""
    AddressCount.objects.all().delete()


def mark_stale(keys: Iterable[str], after_id: int) -> None:
    """Pages that must be read again from the archive, as captures with an id above that are new (or changed) there."""
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO stale_page (urlkey, after_id) VALUES (%s, %s)",
            [(key, after_id) for key in sorted(set(keys))],
        )


def mark_stale_since(after_id: int, all_of_them: bool = False) -> None:
    """The same for all pages that have captures with an id above that. `all_of_them`: as if all their captures were."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO stale_page (urlkey, after_id) SELECT DISTINCT urlkey, %s FROM capture WHERE id > %s",
            [0 if all_of_them else after_id, after_id],
        )


def forget_stale(ids: Sequence[int]) -> None:
    """They have been read."""
    StalePage.objects.filter(pk__in=ids).delete()


def link_pages(captures: Sequence[NewCapture]) -> None:
    """Give captures the page they belong to, when it is known; a revisit also the size of the payload it repeats."""
    keys = {capture.url: _page_key(capture.url) for capture in captures}
    pages = dict(Page.objects.filter(key__in=set(keys.values())).values_list("key", "id"))
    wanted = {capture.refers_to for capture in captures if capture.refers_to}
    sizes = dict(IndexedCapture.objects.filter(record_id__in=wanted).values_list("record_id", "body_size"))
    sizes |= {capture.record_id: capture.body_size for capture in captures if capture.kind != "revisit"}
    for capture in captures:
        capture.page_id = pages.get(keys[capture.url])
        if capture.refers_to and capture.status != 304:
            capture.body_size = sizes.get(capture.refers_to, 0)


def _page_key(url: str) -> int:
    try:
        return urls.key(urls.canonical(url))
    except urls.UrlError:
        return urls.key(url)


def db_uuid(value: UUID | None) -> UUID | str | None:
    """A UUID as the database in use stores it."""
    if value is None or connection.features.has_native_uuid_field:
        return value
    return value.hex


_COLUMNS = (
    "record_id, page_id, crawl_id, url, urlkey, captured_ms, status, mime, digest, kind, version, importance, "
    'truncated, refers_to, body_size, warc_id, "offset", length'
)
_INSERT = f"INSERT INTO capture ({_COLUMNS}) VALUES ({', '.join(['%s'] * 18)})"  # noqa: S608
_MIME = 120
_UNPRINTABLE = re.compile(r"[^\x20-\x7e]")


def _mime(capture: NewCapture) -> str:
    """A 304 has no payload, whatever its head says of one."""
    return "" if capture.status == 304 else _UNPRINTABLE.sub("", capture.mime)[:_MIME]


_COUNT = (
    "INSERT INTO capture_tally (day, status, mime, kind, version, captures, body_bytes, record_bytes, first_ms, "
    "last_ms) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (day, status, mime, kind, version) "
    "DO UPDATE SET captures = capture_tally.captures + excluded.captures, "
    "body_bytes = capture_tally.body_bytes + excluded.body_bytes, "
    "record_bytes = capture_tally.record_bytes + excluded.record_bytes, "
    "first_ms = CASE WHEN excluded.first_ms < capture_tally.first_ms THEN excluded.first_ms "
    "ELSE capture_tally.first_ms END, "
    "last_ms = CASE WHEN excluded.last_ms > capture_tally.last_ms THEN excluded.last_ms ELSE capture_tally.last_ms END"
)
_DAY_MS = 86_400_000
_MANY = 400


class _Sums:
    """Of the captures of one day, status, type, kind."""

    __slots__ = ("bodies", "captures", "first", "last", "records")

    def __init__(self, moment: int) -> None:
        self.captures = self.bodies = self.records = 0
        self.first = self.last = moment

    def add(self, capture: NewCapture) -> None:
        self.captures += 1
        self.bodies += capture.body_size
        self.records += capture.length
        self.first = min(self.first, capture.captured_ms)
        self.last = max(self.last, capture.captured_ms)


def _count(captures: Iterable[NewCapture]) -> None:
    """Add new captures to the tally: a handful of rows for a batch."""
    tally: dict[tuple[int, int, str, str, bool], _Sums] = {}
    for one in captures:
        key = one.captured_ms // _DAY_MS, one.status, _mime(one), one.kind, one.version
        sums = tally.get(key)
        if sums is None:
            sums = tally[key] = _Sums(one.captured_ms)
        sums.add(one)
    if tally:
        with connection.cursor() as cursor:
            cursor.executemany(
                _COUNT, [(*key, s.captures, s.bodies, s.records, s.first, s.last) for key, s in tally.items()]
            )


@contextmanager
def recounted(ids: Sequence[int]) -> Iterator[None]:
    """Keep the tally true while something is done to these captures."""
    with transaction.atomic():
        _recount(ids, -1)
        yield
        _recount(ids, 1)


def _recount(ids: Sequence[int], sign: int) -> None:
    with connection.cursor() as cursor:
        for part in _parts(ids):
            cursor.execute(
                "SELECT captured_ms / 86400000, status, mime, kind, version, count(*), sum(body_size), sum(length), "  # noqa: S608
                f"min(captured_ms), max(captured_ms) FROM capture WHERE id IN ({', '.join(['%s'] * len(part))}) "
                "GROUP BY captured_ms / 86400000, status, mime, kind, version",
                list(part),
            )
            found = [(*row[:5], *(sign * int(value) for value in row[5:8]), *row[8:]) for row in cursor.fetchall()]
            cursor.executemany(_COUNT, found)
        if sign < 0:
            cursor.execute("DELETE FROM capture_tally WHERE captures <= 0")


def _parts(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    return (ids[start : start + _MANY] for start in range(0, len(ids), _MANY))


def _row(capture: NewCapture, warc_id: int, native_uuids: bool) -> tuple[Any, ...]:
    refers_to = capture.refers_to
    return (
        capture.record_id if native_uuids else capture.record_id.hex,
        capture.page_id,
        capture.crawl_id,
        safe_url(capture.url),
        capture.urlkey or index_key(capture.url),
        capture.captured_ms,
        capture.status,
        _mime(capture),
        capture.digest,
        capture.kind,
        capture.version,
        capture.importance,
        capture.truncated,
        refers_to if native_uuids or refers_to is None else refers_to.hex,
        capture.body_size,
        warc_id,
        capture.offset,
        capture.length,
    )

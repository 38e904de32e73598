"""What can be done to the archive's tables; the only writer of them.

The hot path (`insert_captures`) is plain SQL in one round trip per batch, inside the caller's transaction.
"""

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from hemeroteca.archive.models import Capture
from hemeroteca.archive.values import NewCapture, index_key
from hemeroteca.archive.warc import safe_url
from hemeroteca.archive.writer import ClosedFile, Recovered
from hemeroteca.frontier.models import Page


def insert_captures(captures: Sequence[NewCapture], sizes: Mapping[str, int]) -> None:
    """Acknowledge a batch: `sizes` (from `WarcWriter.sizes` after `sync`) and the captures that lie in those files.

    Call it inside the transaction that also commits the frontier's side of the batch.
    """
    ids = acknowledge(sizes)
    missing = {capture.warc_name for capture in captures} - set(ids)
    if missing:
        raise ValueError(f"captures in files without an acknowledged size: {sorted(missing)}; pass WarcWriter.sizes()")
    with connection.cursor() as cursor:
        cursor.executemany(_INSERT, [_row(capture, ids[capture.warc_name]) for capture in captures])


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


def correct_capture(capture_id: int, capture: NewCapture) -> None:
    """Make a row say what the record says."""
    fields = ("record_id", "url", "urlkey", "captured_ms", "status", "mime", "digest", "kind", "truncated", "refers_to")
    values = {name: getattr(capture, name) for name in fields}
    values["mime"] = _UNPRINTABLE.sub("", capture.mime)[:_MIME]
    Capture.objects.filter(pk=capture_id).update(**values, length=capture.length)


def delete_captures(ids: Sequence[int]) -> None:
    Capture.objects.filter(pk__in=ids).delete()


def set_versions(flags: Sequence[tuple[bool, int]]) -> None:
    """Pairs of (is a version, capture)."""
    if flags:
        with connection.cursor() as cursor:
            cursor.executemany("UPDATE capture SET version = %s WHERE id = %s", list(flags))


def link_pages(captures: Sequence[NewCapture], keys: Mapping[str, int]) -> None:
    """Give captures the page they belong to, when it is known; `keys` has the page key of each URL.

    A revisit also gets the size of the payload that came again.
    """
    pages = dict(Page.objects.filter(key__in=set(keys.values())).values_list("key", "id"))
    wanted = {capture.refers_to for capture in captures if capture.refers_to}
    sizes = dict(Capture.objects.filter(record_id__in=wanted).values_list("record_id", "body_size"))
    sizes |= {capture.record_id: capture.body_size for capture in captures if capture.kind != "revisit"}
    for capture in captures:
        capture.page_id = pages.get(keys.get(capture.url, 0))
        if capture.refers_to and capture.status != 304:
            capture.body_size = sizes.get(capture.refers_to, 0)


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


def _row(capture: NewCapture, warc_id: int) -> tuple[Any, ...]:
    return (
        db_uuid(capture.record_id),
        capture.page_id,
        capture.crawl_id,
        safe_url(capture.url),
        capture.urlkey or index_key(capture.url),
        capture.captured_ms,
        capture.status,
        _UNPRINTABLE.sub("", capture.mime)[:_MIME],
        capture.digest,
        capture.kind,
        capture.version,
        capture.importance,
        capture.truncated,
        db_uuid(capture.refers_to),
        capture.body_size,
        warc_id,
        capture.offset,
        capture.length,
    )

"""Questions to the capture index: by URL, closest in time, by prefix, by digest, by permanent name."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any
from uuid import UUID

from django.db import connection

from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.archive.models import StalePage
from hemeroteca.archive.services import db_uuid
from hemeroteca.warc import Original, WarcReadError, keys
from hemeroteca.warc.keys import index_key


def open_files() -> dict[str, int]:
    """Name and acknowledged size of every file not known as closed: what `WarcWriter.recover` needs."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, size FROM warc_file WHERE closed = %s", [False])
        return dict(cursor.fetchall())


def originals(digests: Iterable[str]) -> dict[str, Original]:
    """For each payload digest the archive holds whole: the first capture that has it."""
    found: dict[str, Original] = {}
    wanted = list(dict.fromkeys(digests))
    with connection.cursor() as cursor:
        for start in range(0, len(wanted), _MANY):
            part = wanted[start : start + _MANY]
            # the literal conditions are those of the partial index; a parameter would hide it from SQLite
            cursor.execute(
                "SELECT digest, record_id, url, captured_ms FROM capture WHERE digest IN "  # noqa: S608
                f"({', '.join(['%s'] * len(part))}) AND NOT (kind = 'revisit') AND truncated = '' "
                "AND urlkey NOT LIKE %s ORDER BY id DESC",
                [*part, f"%{keys.MARK}%"],  # a reader of the revisit asks for its original with GET
            )
            for digest, record_id, url, captured_ms in cursor.fetchall():
                found[digest] = Original(_uuid(record_id), url, captured_ms, digest)
    return found


def whole(digest: str) -> CaptureRow | None:
    """A capture that holds this payload itself."""
    return _one("capture.digest = %s AND NOT (kind = 'revisit') AND truncated = ''", [digest], "capture.id DESC")


def by_record(record_id: UUID) -> CaptureRow | None:
    """The capture with that permanent name."""
    return _one("capture.record_id = %s", [db_uuid(record_id)])


def holder(row: CaptureRow) -> CaptureRow:
    """The capture whose record has the payload: itself, or the one a revisit refers to. Raises WarcReadError."""
    if row.kind != "revisit":
        return row
    found = by_record(row.refers_to) if row.refers_to else None
    if found is None:
        raise WarcReadError(
            f"the capture that {row.url} repeats is not in the archive; import it, or see `hemeroteca archive verify`"
        )
    return found


def unjoined() -> Iterator[CaptureRow]:
    """Revisits whose original has not come."""
    return all_rows("kind = 'revisit' AND refers_to IS NULL")


def captures_of(
    url: str,
    since_ms: int | None = None,
    until_ms: int | None = None,
    limit: int = 1000,
    after: tuple[int, int] | None = None,
    newest_first: bool = False,
) -> list[CaptureRow]:
    """Captures of a URL, oldest first unless asked otherwise; `after` (moment, id) goes on behind one of them."""
    where, values = _between(after[0] if after else since_ms, until_ms)
    if after:
        where += " AND (captured_ms > %s OR capture.id > %s)"
        values += after
    order = "captured_ms DESC, capture.id DESC" if newest_first else "captured_ms, capture.id"
    return rows(f"urlkey = %s{where}", [index_key(url), *values], order, limit)


def versions_of(url: str, limit: int = 1000) -> list[CaptureRow]:
    """Captures of a URL that differ from the one before, oldest first."""
    return rows("urlkey = %s AND version = %s", [index_key(url), True], "captured_ms, capture.id", limit)


def versions_newest(url: str, limit: int) -> list[CaptureRow]:
    """The same, newest first."""
    return rows("urlkey = %s AND version = %s", [index_key(url), True], "captured_ms DESC, capture.id DESC", limit)


def latest(url: str, urlkey: str = "") -> CaptureRow | None:
    return _one("urlkey = %s", [urlkey or index_key(url)], "captured_ms DESC, capture.id DESC")


def closest(url: str, ms: int) -> CaptureRow | None:
    """The capture of a URL nearest in time: two look-ups in the index, one each way."""
    key = index_key(url)
    before = _one("urlkey = %s AND captured_ms <= %s", [key, ms], "captured_ms DESC, capture.id DESC")
    after = _one("urlkey = %s AND captured_ms > %s", [key, ms], "captured_ms, capture.id")
    if before is None or after is None:
        return before or after
    return before if ms - before.captured_ms <= after.captured_ms - ms else after


def newest_pages(limit: int, looked_at: int = 500) -> list[CaptureRow]:
    """The last new versions of pages, newest first, one of each, among the last captures."""
    found: dict[str, CaptureRow] = {}
    where = "capture.id > %s AND version = %s AND status = 200 AND mime IN (%s, %s, %s) AND urlkey NOT LIKE 'urn:%%'"
    values = [last_id() - looked_at, True, "text/html", "application/xhtml+xml", "application/pdf"]
    for size in (4 * limit, looked_at):  # the first few are enough, unless one page changes all the time
        for row in rows(where, values, "capture.id DESC", size):
            found.setdefault(row.url, row)
        if len(found) >= limit:
            break
    return list(found.values())[:limit]


def ids_of(captures: Sequence[tuple[str, int]]) -> dict[tuple[str, int], UUID]:
    """The ids of captures given by URL and time; those that are not there are left out."""
    if not captures:
        return {}
    found = {(index_key(url), ms): (url, ms) for url, ms in captures}
    either = " OR ".join(["(urlkey = %s AND captured_ms = %s)"] * len(found))
    sql = f"SELECT urlkey, captured_ms, record_id FROM capture WHERE {either} ORDER BY id"  # noqa: S608 - only places
    with connection.cursor() as cursor:
        cursor.execute(sql, [value for key in found for value in key])
        return {found[key, ms]: _uuid(record) for key, ms, record in cursor.fetchall() if (key, ms) in found}


def calendar(url: str, since_ms: int = 0, until_ms: int = 1 << 62) -> dict[int, tuple[int, int]]:
    """Captures and versions of a URL on each day that has any; a day is counted since 1970 in UTC."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT captured_ms / 86400000, count(*), sum(CASE WHEN version THEN 1 ELSE 0 END) FROM capture "
            "WHERE urlkey = %s AND captured_ms BETWEEN %s AND %s GROUP BY captured_ms / 86400000",
            [index_key(url), since_ms, until_ms],
        )
        return {int(day): (int(count), int(versions)) for day, count, versions in sorted(cursor.fetchall())}


def rows(where: str, values: Sequence[Any], order: str, limit: int) -> list[CaptureRow]:
    """Captures by a condition written in this package, never by a stranger."""
    return [row(found) for found in _fetched(f"{SELECT} WHERE {where} ORDER BY {order} LIMIT %s", [*values, limit])]


def captures_under(key: str) -> list[CaptureRow]:
    """All captures filed under a key, oldest first."""
    return rows("urlkey = %s", [key], "captured_ms, capture.id", _ALL)


def pages() -> Iterator[list[CaptureRow]]:
    """The captures of every page, oldest first, page by page."""
    return (list(group) for _, group in groupby(in_order("1 = 1", []), key=lambda found: found.urlkey))


def between(start: str, end: str) -> Iterator[CaptureRow]:
    """Captures whose keys lie there, in the order of the index."""
    return in_order("urlkey >= %s AND urlkey < %s", [start, end])


def spread(number: int) -> list[CaptureRow]:
    """About so many responses from all over the archive."""
    step = max(1, last_id() // number)
    return rows("capture.id %% %s = 0 AND kind = 'response'", [step], "capture.id", number)


def last_id() -> int:
    """The newest capture; 0 when there is none."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT MAX(id) FROM capture")
        return cursor.fetchone()[0] or 0


def stale_pages(limit: int) -> list[StalePage]:
    """Pages to read again from the archive, oldest first."""
    return list(StalePage.objects.order_by("pk")[:limit])


def all_rows(where: str = "1 = 1", values: Sequence[Any] = (), after_id: int = 0) -> Iterator[CaptureRow]:
    """Every capture by a condition, in the order of their ids, a page at a time: memory stays small."""
    while True:
        part = rows(f"capture.id > %s AND {where}", [after_id, *values], "capture.id", _PAGE)
        yield from part
        if len(part) < _PAGE:
            return
        after_id = part[-1].id


def in_order(where: str, values: Sequence[Any]) -> Iterator[CaptureRow]:
    """The same in the order of the index: by address, then by time."""
    after: tuple[str, int, int] = ("", 0, 0)
    while True:
        beyond = "(urlkey, captured_ms, capture.id) > (%s, %s, %s)"
        part = rows(f"{beyond} AND {where}", [*after, *values], "urlkey, captured_ms, capture.id", _PAGE)
        yield from part
        if len(part) < _PAGE:
            return
        after = (part[-1].urlkey, part[-1].captured_ms, part[-1].id)


def _fetched(sql: str, values: Sequence[Any]) -> list[Any]:
    if connection.vendor == "sqlite":  # Django's cursor takes as long again as the question itself
        connection.ensure_connection()
        with connection.wrap_database_errors:
            found = connection.connection.execute(sql.replace("%s", "?").replace("%%", "%"), values)
            return list(found.fetchall())
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())


SELECT = (
    "SELECT capture.id, record_id, url, urlkey, captured_ms, status, mime, capture.digest, kind, version, truncated, "
    'refers_to, body_size, warc_file.name, "offset", length, page_id, importance, crawl_id '
    "FROM capture JOIN warc_file ON warc_file.id = capture.warc_id"
)
_RECORD_ID, _VERSION, _REFERS_TO = map(CaptureRow.__struct_fields__.index, ("record_id", "version", "refers_to"))
_MANY = 400
_PAGE = 1000
_ALL = 1_000_000


def row(found: Sequence[Any]) -> CaptureRow:
    values = list(found)
    values[_RECORD_ID] = _uuid(values[_RECORD_ID])
    values[_VERSION] = bool(values[_VERSION])
    values[_REFERS_TO] = _uuid(values[_REFERS_TO]) if values[_REFERS_TO] is not None else None
    return CaptureRow(*values)


def _one(where: str, values: Sequence[Any], order: str = "capture.id") -> CaptureRow | None:
    found = rows(where, values, order, 1)
    return found[0] if found else None


def _between(since_ms: int | None, until_ms: int | None) -> tuple[str, list[Any]]:
    where = ""
    values: list[Any] = []
    if since_ms is not None:
        where += " AND captured_ms >= %s"
        values.append(since_ms)
    if until_ms is not None:
        where += " AND captured_ms <= %s"
        values.append(until_ms)
    return where, values


def _uuid(value: object) -> UUID:
    return value if isinstance(value, UUID) else UUID(int=int(str(value), 16))

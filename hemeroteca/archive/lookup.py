"""Finding one's way in the archive: which addresses it holds, when they were captured, which version came before."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from hemeroteca.archive import cdx, queries
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.archive.selection import Selection
from hemeroteca.errors import Conflict, Invalid, NotFound, Refused
from hemeroteca.frontier import takedowns
from hemeroteca.urls import UrlError, typed
from hemeroteca.urls import host as host_of
from hemeroteca.warc.keys import index_key
from hemeroteca.warc.timestamps import digits_of, read_moment, start_ms

DAY_MS = 86_400_000
MAX_COUNTED = 10_000  # captures of a site that are counted for a list


class Address(NamedTuple):
    """An address of the archive with what there is of it."""

    urlkey: str
    url: str
    captures: int
    versions: int
    first_ms: int
    last_ms: int


def addresses(wanted: Sequence[cdx.CdxQuery], limit: int = 50, after: str = "") -> list[Address]:
    """The addresses in these ranges of the index, in its order; `after` (a urlkey) goes on behind one of them."""
    found: list[Address] = []
    for query in wanted:
        for low, high in query.ranges:
            if len(found) < limit and (not high or not after or after < high):
                found += _between(low, high, query.since, query.until, after, limit - len(found))
    return found


def versions_of(url: str, since_ms: int, until_ms: int, all_captures: bool, limit: int) -> list[CaptureRow]:
    """Versions of a URL between two moments (with `all_captures` also those that brought nothing new), newest first."""
    where, values = "urlkey = %s AND captured_ms BETWEEN %s AND %s", [index_key(url), since_ms, until_ms]
    if not all_captures:
        where, values = f"{where} AND version = %s", [*values, True]
    return queries.rows(where, values, "captured_ms DESC, capture.id DESC", limit)


class Holding(NamedTuple):
    """A site as the archive holds it."""

    host: str
    captures: int  # counted up to MAX_COUNTED
    last_ms: int

    @property
    def more(self) -> bool:
        return self.captures >= MAX_COUNTED


def holdings(limit: int, after: str = "") -> list[Holding]:
    """Sites with captures, in the order of the index; `after` goes on behind a host. Each costs two short looks."""
    found: list[Holding] = []
    position = f"{_host_key(after)}*" if after else ""
    with connection.cursor() as cursor:
        while len(found) < limit:
            cursor.execute("SELECT urlkey, url FROM capture WHERE urlkey >= %s ORDER BY urlkey LIMIT 1", [position])
            row = cursor.fetchone()
            if row is None:
                break
            key, url = row
            head, bracket, _ = key.partition(")")
            position = f"{head}*" if bracket else key + "\x01"  # `*` is the first letter behind `)`
            if key.startswith("urn:"):  # attachments of browsers
                position = "urn;"
                continue
            host = _host_of(url)
            if not host or not bracket:
                continue
            cursor.execute(
                "SELECT count(*), max(captured_ms) FROM (SELECT captured_ms FROM capture WHERE urlkey >= %s AND "
                "urlkey < %s LIMIT %s) AS found",
                [f"{head})", position, MAX_COUNTED],
            )
            count, last = cursor.fetchone()
            found.append(Holding(host, int(count), int(last or 0)))
    return found


def _host_key(host: str) -> str:
    try:
        return index_key(f"http://{host}/").partition(")")[0]
    except UrlError:
        return ""


def _host_of(url: str) -> str:
    try:
        return host_of(url)
    except UrlError:
        return ""


def ranges(
    url: str, match: str, since: str, until: str, patterns: Sequence[str] | None = None
) -> tuple[cdx.CdxQuery, ...]:
    """The ranges of the index that a look-up is about: an address, or the `patterns` of a collection."""
    since, until = digits_of(since), digits_of(until)
    if patterns is not None:
        return Selection(tuple(patterns), "", since, until).queries() if patterns else ()
    if not url:
        raise cdx.CdxError("an address is missing; write for instance example.org/news")
    return Selection((url,), "" if "*" in url else match, since, until).queries()


def one(url: str, text: str) -> CaptureRow | None:
    """A capture by its permanent name, or the one of the URL nearest to a date."""
    try:
        name = UUID(text)
    except ValueError:
        name = None
    if name is not None:
        if (found := queries.by_record(name)) is None:
            raise NotFound(f"there is no capture {name}; `hemeroteca archive versions {url}` lists those of the page")
        return found
    ms = read_moment(text)
    if ms is None:
        raise Invalid(f"{text[:40]!r} is neither an id nor a date of a capture of {url}")
    return queries.closest(url, ms)


def no_capture(url: str) -> Refused:
    """Why there is nothing of an address, and what to do."""
    try:
        takedowns.refuse([url])
    except Conflict as taken_down:
        return taken_down
    try:
        typed(url)
    except UrlError as error:
        return Invalid(str(error))
    return NotFound(f"there is no capture of {url}; `hemeroteca crawl {url} --scope page` makes one")


def pair(url: str, a: str, b: str) -> tuple[CaptureRow, CaptureRow]:
    """Two captures, older first: `b` or the newest version, `a` or the version before it."""
    newest = queries.versions_newest(url, 1)
    new = one(url, b) if b else (newest[0] if newest else None)
    if new is None:
        raise no_capture(url)
    old = one(url, a) if a else version_before(new)
    if old is None:
        raise NotFound(f"there is only one version of {url}; there will be another when the page changes")
    return (old, new) if (old.captured_ms, old.id) <= (new.captured_ms, new.id) else (new, old)


def year_span(year: int) -> tuple[int, int]:
    """First and last millisecond of a year."""
    return start_ms(f"{year:04d}"), start_ms(f"{min(year + 1, 9999):04d}") - 1


def version_shown(row: CaptureRow) -> CaptureRow | None:
    """The version that a capture shows: itself, or the last one before it."""
    return row if row.version else _version(row, "<=", "DESC")


def version_before(row: CaptureRow) -> CaptureRow | None:
    """The version before the one that a capture shows."""
    shown = version_shown(row)
    return _version(shown, "<", "DESC") if shown is not None else None


def version_after(row: CaptureRow) -> CaptureRow | None:
    return _version(row, ">", "")


def _version(row: CaptureRow, sign: str, order: str) -> CaptureRow | None:
    found = queries.rows(
        f"urlkey = %s AND version = %s AND (captured_ms, capture.id) {sign} (%s, %s)",
        [row.urlkey, True, row.captured_ms, row.id],
        f"captured_ms {order}, capture.id {order}",
        1,
    )
    return found[0] if found else None


def _between(low: str, high: str, since: int | None, until: int | None, after: str, limit: int) -> list[Address]:
    # one bound for each end of the index range; the groups come in its order, so the limit ends the walk
    where, values = ("urlkey > %s", [after]) if after >= low and after else ("urlkey >= %s", [low])
    bounds: list[tuple[str, Any]] = [("urlkey < %s", high or None), ("captured_ms >= %s", since)]
    for text, value in [*bounds, ("captured_ms <= %s", until)]:
        if value is not None:
            where, values = f"{where} AND {text}", [*values, value]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT urlkey, min(url), count(*), sum(CASE WHEN version THEN 1 ELSE 0 END), min(captured_ms), "  # noqa: S608
            f"max(captured_ms) FROM capture WHERE {where} GROUP BY urlkey ORDER BY urlkey LIMIT %s",
            [*values, limit],
        )
        return [Address(key, url, *map(int, counts)) for key, url, *counts in cursor.fetchall()]

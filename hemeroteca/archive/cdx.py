"""Questions to the capture index as CDX servers take them (pywb's and the Wayback Machine's parameters).

`CdxQuery.read` turns parameters into a query or says what is wrong with them; `CdxAnswer` is its stream. Rows are
fetched in pages along the index (`urlkey`, `captured_ms`, `id`), never with a growing offset, so memory stays small and
the first line comes at once, however large the archive. Filters and collapsing work on that stream.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from urllib.parse import quote, unquote
from uuid import UUID

import re2
from django.db import connection

from hemeroteca.archive import queries
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.archive.services import db_uuid
from hemeroteca.errors import Invalid
from hemeroteca.urls import UrlError
from hemeroteca.warc.keys import index_key
from hemeroteca.warc.keys import ranges as key_ranges
from hemeroteca.warc.timestamps import end_ms, start_ms, timestamp

FIELDS = ("urlkey", "timestamp", "url", "mime", "status", "digest", "length", "offset", "filename")
WAYBACK_FIELDS = ("urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length")
ALIASES = {"original": "url", "mimetype": "mime", "statuscode": "status", "groupkey": "urlkey"}
EXTRA = ("dupecount", "skipcount", "endtimestamp", "orig.length", "orig.offset", "orig.filename", "id", "truncated")
MATCH_TYPES = ("exact", "prefix", "host", "domain", "range")
MAX_LIMIT = 100_000
BLOCK = 3000  # captures in one block; `pageSize` counts blocks, as pywb's does


PARAMETERS = frozenset(
    [
        "url", "matchType", "limit", "sort", "closest", "end", "endUrl", "from", "from_ts", "to", "filter", "collapse",
        "collapseTime", "offset", "reverse", "resumeKey", "showDupeCount", "showSkipCount", "lastSkipTimestamp",
        "resolveRevisits", "page", "pageSize", "fastLatest", "fl", "fields", "output", "showNumPages", "showResumeKey",
        "gzip",
    ]
)  # fmt: skip
"""`gzip` asks for an answer that is not packed, which ours never are."""

_REFUSED = {
    "showPagedIndex": "there is no second index here; ask `showNumPages` and then each `page`",
    "allowFuzzy": "addresses are looked up as they are written; ask with matchType=prefix for those that begin alike",
    "resolveRevisitsDupes": "ask with resolveRevisits=true and showDupeCount=true",
    "showGroupCount": "ask with collapse=… and showSkipCount=true",
    "showUniqCount": "ask with collapse=digest and showSkipCount=true",
    "source": "there is one archive here",
}


class CdxError(Invalid, ValueError):
    """Parameters that cannot be answered; the message says which and what to write instead."""


Line = dict[str, str]  # one capture as field names (pywb's) and texts


@dataclass(frozen=True)
class CdxQuery:
    ranges: tuple[tuple[str, str], ...]  # half-open, of urlkeys, in order
    exact: bool
    since: int | None = None
    until: int | None = None
    filters: tuple["Filter", ...] = ()
    collapse: tuple[tuple[str, int | None], ...] = ()
    limit: int = MAX_LIMIT
    offset: int = 0
    reverse: bool = False
    last: bool = False  # negative limit: the last captures, but still oldest first
    closest: int | None = None
    resume: tuple[str, int, int] | None = None
    dupes: bool = False
    skips: bool = False  # how many captures each line stands for besides its own
    last_skip: bool = False  # and when the last of them was made
    resolve: bool = False
    page: int | None = None
    page_size: int = 1
    count_pages: bool = False  # what is asked for is how many pages there are
    show_resume: bool = False  # end with the key to go on with

    @classmethod
    def read(cls, params: Mapping[str, Sequence[str]], wayback: bool = False) -> "CdxQuery":
        """From request parameters, each with all its values, in the dialect of pywb or of the Wayback Machine."""

        given = {name: values[-1] for name, values in params.items() if values}
        for name in given:
            if name not in PARAMETERS:
                reason = _REFUSED.get(name, f"it can be {', '.join(sorted(PARAMETERS))}")
                raise CdxError(f"the parameter `{name[:100]}` is not answered here; {reason}")

        def one(name: str, other: str = "") -> str:
            return given.get(name) or given.get(other, "")

        def true(name: str) -> bool:
            return _true(name, one(name))

        url = one("url")
        if not url:
            raise CdxError("the parameter `url` is missing; write for instance ?url=example.org/*&limit=10")
        match = one("matchType")
        if not match:
            match = "domain" if url.startswith("*.") else "prefix" if url.endswith("*") else "exact"
        if match != "exact" and url.startswith("*."):
            url = url[2:]
        elif match != "exact" and url.endswith("*"):
            url = url[:-1]
        if match not in MATCH_TYPES:
            raise CdxError(f"`matchType` is {match!r}; it can be {', '.join(MATCH_TYPES)}")
        limit = _integer("limit", one("limit"), MAX_LIMIT)
        latest = true("fastLatest")
        if latest and match != "exact":
            raise CdxError("`fastLatest` works for one URL only; leave out `matchType` and the * of `url`")
        sort = one("sort")
        if sort not in ("", "closest", "reverse", "regular", "default"):
            raise CdxError(f"`sort` is {sort!r}; it can be reverse or closest")
        closest = _moment("closest", one("closest"), start_ms)
        if closest is not None and match != "exact":
            raise CdxError("`closest` works for one URL only; leave out `matchType` and the * of `url`")
        return cls(
            ranges=_ranges(url, match, one("end", "endUrl")),
            exact=match == "exact",
            since=_moment("from", one("from", "from_ts"), start_ms),
            until=_moment("to", one("to"), end_ms),
            filters=tuple(Filter.read(text, wayback) for text in params.get("filter", ())),
            collapse=tuple(_collapse(text) for value in params.get("collapse", ()) for text in value.split(","))
            or _collapse_time(one("collapseTime")),
            limit=1 if latest and not one("limit") else min(abs(limit), MAX_LIMIT),
            offset=0 if one("resumeKey") else _integer("offset", one("offset"), 0, least=0),
            reverse=sort == "reverse" or (sort == "closest" and closest is None) or true("reverse"),
            last=limit < 0 or latest,
            closest=closest,
            resume=_resume(one("resumeKey")),
            dupes=true("showDupeCount"),
            skips=true("showSkipCount"),
            last_skip=true("lastSkipTimestamp"),
            resolve=true("resolveRevisits"),
            page=_integer("page", one("page"), 0, least=0) if one("page") else None,
            page_size=min(_integer("pageSize", one("pageSize"), 1, least=1), 100),
            count_pages=true("showNumPages"),
            show_resume=true("showResumeKey"),
        )


@dataclass(frozen=True)
class Filter:
    """`[!][=|~]field:text`. `=` means the whole field in both dialects; pywb takes a bare text for a part of the field
    and `~` for a regular expression from its start, the Wayback Machine a bare one for an expression that is the
    whole field and `~` for a part of it."""

    field: str
    text: str
    kind: str
    negate: bool
    pattern: Any = None

    @classmethod
    def read(cls, expression: str, wayback: bool = False) -> "Filter":
        text = expression.lstrip("!=~")
        marks = expression[: len(expression) - len(text)]
        field, colon, value = text.partition(":")
        if not colon or marks.strip("!") not in ("", "=", "~") or marks.count("!") > 1:
            raise CdxError(f"`filter` is {expression!r}; write [!][=|~]field:text, for instance !statuscode:404")
        field = ALIASES.get(field, field)
        if field not in FIELDS:
            raise CdxError(f"`filter` names the field {field!r}; it can be {', '.join(FIELDS)}")
        kind = _KINDS[wayback][marks.replace("!", "")]
        negate = "!" in marks
        if kind in (_IS, _HAS):
            return cls(field, value, kind, negate)
        try:
            return cls(field, value, kind, negate, re2.compile(value, _RE2))
        except re2.error as error:
            reason = error.args[0].decode("utf-8", "replace") if error.args else ""
            raise CdxError(
                f"`filter` has the expression {value[:200]!r}, which is not valid ({reason}); it has the syntax of RE2"
            )

    def passes(self, line: Line) -> bool:
        value = line[self.field]
        if self.kind == _IS:
            found = value == self.text
        elif self.kind == _HAS:
            found = self.text in value
        elif self.kind == _BEGINS_LIKE:
            found = self.pattern.match(value) is not None
        else:
            found = self.pattern.fullmatch(value) is not None
        return found != self.negate


@dataclass
class CdxAnswer:
    """A stream of lines; `resume_key` is set when it ended before its end: at the limit, or after a minute's work."""

    query: CdxQuery
    resume_key: str = ""
    only: Callable[[CaptureRow], bool] | None = None  # others are passed over

    def __iter__(self) -> Iterator[Line]:
        query = self.query
        if query.last and not query.reverse:
            yield from reversed(list(self._lines(reverse=True)))
        else:
            yield from self._lines(query.reverse)

    def _lines(self, reverse: bool) -> Iterator[Line]:
        query = self.query
        given = skipped = 0
        last: CaptureRow | None = None
        held: Line | None = None  # until it is known for how many it stands
        state = _State(query)
        if query.resume is not None and (query.dupes or query.collapse):
            for _, line in _resolved(_until_resumed(query, reverse), query):
                state.takes(line)
        until = time.monotonic() + _SECONDS
        before: CaptureRow | None = None
        for row, line in _resolved(_rows(query, reverse), query):
            if before is not None and time.monotonic() > until:
                self._stop_after(before)
                break
            before = row
            if self.only is not None and not self.only(row):
                continue
            if not state.takes(line):
                if held is not None:
                    held["skipcount"] = str(int(held["skipcount"]) + 1)
                    held["endtimestamp"] = line["timestamp"]
                continue
            if skipped < query.offset:
                skipped += 1
                continue
            if given == query.limit:
                if last is not None:
                    self._stop_after(last)
                break
            given += 1
            last = row
            if not (query.skips or query.last_skip):
                yield line
                continue
            if held is not None:
                yield held
            held = line | {"skipcount": "0", "endtimestamp": line["timestamp"]}
        if held is not None:
            yield held

    def _stop_after(self, row: CaptureRow) -> None:
        if self.query.closest is None and self.query.page is None:  # these have an order, or an end, of their own
            self.resume_key = quote(f"{row.urlkey} {row.captured_ms} {row.id}", safe="")


class _State:
    """What decides whether a line is given, besides the line itself."""

    def __init__(self, query: CdxQuery) -> None:
        self._query = query
        self._seen: dict[str, int] = {}
        self._key = ""
        self._collapsed: list[str] | None = None

    def takes(self, line: Line) -> bool:
        """Whether it passes the filters and is not collapsed into the one before; counts its duplicates."""
        query = self._query
        if query.filters and not all(test.passes(line) for test in query.filters):
            return False
        if query.dupes:
            if line["urlkey"] != self._key:
                self._key, self._seen = line["urlkey"], {}
            line["dupecount"] = str(self._seen.get(line["digest"], 0))
            self._seen[line["digest"]] = self._seen.get(line["digest"], 0) + 1
        if query.collapse:
            now = [line[field] if size is None else line[field][:size] for field, size in query.collapse]
            if now == self._collapsed:
                return False
            self._collapsed = now
        return True


def captures(query: CdxQuery) -> Iterator[CaptureRow]:
    """The rows themselves, without filters, collapsing or limit."""
    return _rows(query, query.reverse)


def count_pages(query: CdxQuery) -> tuple[int, int]:
    """Pages of `page_size` blocks, and blocks."""
    total = 0
    with connection.cursor() as cursor:
        for low, high in query.ranges:
            where, values = _where(query, low, high)
            cursor.execute(f"SELECT count(*) FROM capture WHERE {where}", values)  # noqa: S608
            total += cursor.fetchone()[0]
    blocks = -(-total // BLOCK)
    return -(-blocks // query.page_size), blocks


def to_line(row: CaptureRow) -> Line:
    return {
        "urlkey": row.urlkey,
        "timestamp": timestamp(row.captured_ms),
        "url": row.url,
        "mime": "warc/revisit" if row.kind == "revisit" else row.mime or "-",
        "status": str(row.status) if row.status else "-",
        "digest": row.digest or "-",
        "length": str(row.length),
        "offset": str(row.offset),
        "filename": row.warc_name,
        "id": str(row.record_id),
        "truncated": row.truncated,
    }


_IS, _HAS, _BEGINS_LIKE, _IS_LIKE = "is", "has", "begins like", "is like"
_KINDS = ({"": _HAS, "=": _IS, "~": _BEGINS_LIKE}, {"": _IS_LIKE, "=": _IS, "~": _HAS})  # pywb, Wayback Machine
_RE2 = re2.Options()
_RE2.log_errors = False
_RE2.max_mem = 1 << 20
_SECONDS = 60.0
_PAGE = 1000


def _rows(query: CdxQuery, reverse: bool) -> Iterator[CaptureRow]:
    if query.closest is not None:
        yield from _nearest(query, query.closest)
        return
    ranges = query.ranges if not reverse else tuple(reversed(query.ranges))
    if query.page is not None:
        start, size = query.page * query.page_size * BLOCK, query.page_size * BLOCK
        yield from islice(_from_offset(query, ranges, reverse, start), size)
        return
    for low, high in ranges:
        resume = query.resume
        if resume is not None and (resume[0] < low or (high and resume[0] >= high)):
            if (resume[0] >= low) != reverse:
                continue  # this range was answered before
            resume = None
        yield from _along(query, low, high, reverse, resume)


def _until_resumed(query: CdxQuery, reverse: bool) -> Iterator[CaptureRow]:
    """The captures of the address at which an answer stopped, as far as they were gone through."""
    assert query.resume is not None
    key, moment, number = query.resume
    part = replace(query, ranges=((key, ""),), exact=True, resume=None)
    for row in _along(part, key, "", reverse):
        if ((row.captured_ms, row.id) > (moment, number)) != reverse and (row.captured_ms, row.id) != (moment, number):
            return
        yield row


def _along(
    query: CdxQuery, low: str, high: str, reverse: bool, after: tuple[str, int, int] | None = None
) -> Iterator[CaptureRow]:
    """The captures of a range in index order; each page begins after the last row of the one before."""
    order = "urlkey DESC, captured_ms DESC, capture.id DESC" if reverse else "urlkey, captured_ms, capture.id"
    size = _PAGE if query.filters or query.collapse else min(_PAGE, query.limit + query.offset + 1)
    while True:
        where, values = _where(query, low, high, after, reverse)
        part = queries.rows(where, values, order, size)
        yield from part
        if len(part) < size:
            return
        after = (part[-1].urlkey, part[-1].captured_ms, part[-1].id)


def _from_offset(query: CdxQuery, ranges: Sequence[tuple[str, str]], reverse: bool, start: int) -> Iterator[CaptureRow]:
    """From the `start`-th capture on. Only the narrow index is walked to find the place."""
    order = "urlkey DESC, captured_ms DESC, id DESC" if reverse else "urlkey, captured_ms, id"
    for low, high in ranges:
        where, values = _where(query, low, high)
        after = None
        if start:
            with connection.cursor() as cursor:
                cursor.execute(
                    f"SELECT urlkey, captured_ms, id FROM capture WHERE {where} ORDER BY {order} LIMIT 1 OFFSET %s",  # noqa: S608
                    [*values, start - 1],
                )
                after = cursor.fetchone()
                if after is None:
                    cursor.execute(f"SELECT count(*) FROM capture WHERE {where}", values)  # noqa: S608
                    start -= cursor.fetchone()[0]
                    continue
                start = 0
        yield from _along(query, low, high, reverse, after)


def _nearest(query: CdxQuery, moment: int) -> Iterator[CaptureRow]:
    """Captures of one URL by distance in time: two walks along the index, away from the moment, merged."""
    ((low, high),) = query.ranges
    before = _side(query, low, high, moment, True)
    after = _side(query, low, high, moment, False)
    earlier, later = next(before, None), next(after, None)
    while earlier is not None or later is not None:
        if later is None or (earlier is not None and moment - earlier.captured_ms <= later.captured_ms - moment):
            assert earlier is not None
            yield earlier
            earlier = next(before, None)
        else:
            yield later
            later = next(after, None)


def _side(query: CdxQuery, low: str, high: str, moment: int, before: bool) -> Iterator[CaptureRow]:
    since, until = query.since, query.until
    if before:
        until = moment if until is None else min(until, moment)
    else:
        since = moment + 1 if since is None else max(since, moment + 1)
    part = CdxQuery(ranges=query.ranges, exact=True, since=since, until=until, filters=query.filters)
    yield from _along(part, low, high, reverse=before)


def _where(
    query: CdxQuery, low: str, high: str, after: tuple[str, int, int] | None = None, reverse: bool = False
) -> tuple[str, list[Any]]:
    """Bounds both databases can walk the index between: one for each end, never two for the same."""
    sign = "<" if reverse else ">"
    tests: list[tuple[str, list[Any]]] = []
    if query.exact:
        tests.append(("urlkey = %s", [low]))
        if after is not None and after[0] == low:
            tests.append((f"(captured_ms, capture.id) {sign} (%s, %s)", [*after[1:]]))
    else:
        if after is None or reverse:
            tests.append(("urlkey >= %s", [low]))
        if high and (after is None or not reverse):
            tests.append(("urlkey < %s", [high]))
        if after is not None:
            tests.append((f"(urlkey, captured_ms, capture.id) {sign} (%s, %s, %s)", [*after]))
    if query.since is not None:
        tests.append(("captured_ms >= %s", [query.since]))
    if query.until is not None:
        tests.append(("captured_ms <= %s", [query.until]))
    return " AND ".join(text for text, _ in tests), [value for _, values in tests for value in values]


def _resolved(rows: Iterator[CaptureRow], query: CdxQuery) -> Iterator[tuple[CaptureRow, Line]]:
    """Lines of rows. What a server called not modified is shown with the place of the capture it did not modify:
    a replayer would otherwise answer the reader with an empty 304."""
    while batch := list(islice(rows, 100 if query.filters else min(100, query.limit + query.offset + 1))):
        wanted = {
            row.refers_to
            for row in batch
            if row.refers_to and row.kind == "revisit" and (query.resolve or row.status == 304)
        }
        found = _by_ids(wanted) if wanted else {}
        if not wanted and not query.resolve:
            yield from zip(batch, map(to_line, batch), strict=True)
            continue
        for row in batch:
            line = to_line(row)
            original = found.get(row.refers_to) if row.refers_to else None
            if original is not None and row.status == 304:
                line |= {name: to_line(original)[name] for name in ("mime", "status", "length", "offset", "filename")}
            if query.resolve:
                line["orig.length"] = str(original.length) if original else "-"
                line["orig.offset"] = str(original.offset) if original else "-"
                line["orig.filename"] = original.warc_name if original else "-"
            yield row, line


def _by_ids(wanted: set[UUID]) -> dict[UUID, CaptureRow]:
    marks = ", ".join(["%s"] * len(wanted))
    rows = queries.rows(f"record_id IN ({marks})", [db_uuid(value) for value in wanted], "capture.id", len(wanted))
    return {row.record_id: row for row in rows}


def _ranges(url: str, match: str, end: str) -> tuple[tuple[str, str], ...]:
    try:
        if match == "range":
            return ((index_key(url), index_key(end) if end else ""),)
        return key_ranges(url, match)
    except UrlError as error:
        raise CdxError(f"`url` cannot be read: {error}")


def _collapse(text: str) -> tuple[str, int | None]:
    field, colon, size = text.partition(":")
    field = ALIASES.get(field, field)
    if field not in FIELDS:
        raise CdxError(f"`collapse` names the field {field!r}; it can be {', '.join(FIELDS)}")
    return field, _integer("collapse", size, 0) if colon else None


def _collapse_time(text: str) -> tuple[tuple[str, int | None], ...]:
    """As in pywb: captures of the same time and with the same status."""
    return (("timestamp", _integer("collapseTime", text, 0)), ("status", None)) if text else ()


def _resume(text: str) -> tuple[str, int, int] | None:
    if not text:
        return None
    # a client may send the key as it was printed (quoted) or already decoded by its library
    parts = (unquote(text) if " " not in text else text).rsplit(" ", 2)
    try:
        return parts[0], int(parts[1]), int(parts[2])
    except (IndexError, ValueError):
        raise CdxError("`resumeKey` is not one of ours; take it from the end of an answer with showResumeKey=true")


def _moment(name: str, text: str, read: Any) -> int | None:
    if not text:
        return None
    try:
        return int(read(re.sub(r"[-:TZ ]", "", text)))
    except ValueError as error:
        raise CdxError(f"`{name}`: {error}")


def _integer(name: str, text: str, default: int, least: int | None = None) -> int:
    if not text:
        return default
    if not re.fullmatch(r"-?\d{1,12}", text):
        raise CdxError(f"`{name}` is {text[:50]!r}; it must be a whole number")
    if least is not None and int(text) < least:
        raise CdxError(f"`{name}` is {text}; it must be {least} or more")
    return int(text)


def _true(name: str, text: str) -> bool:
    if text.lower() not in ("", *_YES, *_NO):
        raise CdxError(f"`{name}` is {text[:50]!r}; it can be true or false")
    return text.lower() in _YES


_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")

"""Which captures an export or a pruning is about."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from hemeroteca.archive import cdx, queries
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.warc.keys import DOM, SCREENSHOT, after_prefix


@dataclass(frozen=True)
class Selection:
    """Addresses (as the CDX server takes them: `example.org/*`, `*.example.org`; none: all) and a span of time.

    With `crawls`, also what these crawls captured elsewhere: pictures, styles and scripts from other hosts.
    """

    urls: tuple[str, ...] = ()
    match: str = ""
    since: str = ""
    until: str = ""
    versions_only: bool = False
    crawls: tuple[int, ...] = ()

    def check(self) -> None:
        """Raises `CdxError` when an address or a time cannot be read."""
        _queries(self)

    def rows(self) -> Iterator[CaptureRow]:
        """The captures, in the order of the index: by address, then by time; then what browsers made of them."""
        found: Iterator[CaptureRow] = chain.from_iterable(cdx.captures(query) for query in _with_rendered(self))
        if self.crawls and self.urls:
            found = chain(found, self._elsewhere())
        return (row for row in found if row.version) if self.versions_only else found

    def queries(self) -> tuple[cdx.CdxQuery, ...]:
        """The same as ranges of the index, in order and without overlaps."""
        return _queries(self)

    def holds(self, row: CaptureRow) -> bool:
        if self.versions_only and not row.version:
            return False
        return self._is_named(row) or (self._in_time(row) and self._was_met(row))

    def newest(self, limit: int) -> list[CaptureRow]:
        """Its pages captured last: the newest version of each, the last first. Looks at a bounded part of the index."""
        found: dict[str, CaptureRow] = {}
        for query in _queries(self):
            ((low, high),) = query.ranges
            where, values = "urlkey >= %s AND version = %s AND status = 200", [low, True]
            if high:
                where, values = f"{where} AND urlkey < %s", [*values, high]
            for row in queries.rows(f"{where} AND mime LIKE 'text/html%%'", values, "capture.id DESC", 10 * limit):
                found.setdefault(row.urlkey, row)
        return sorted(found.values(), key=lambda row: -row.captured_ms)[:limit]

    def _is_named(self, row: CaptureRow) -> bool:
        parts = _with_rendered(self)
        position = bisect_right(parts, row.urlkey, key=lambda part: part.ranges[0][0]) - 1
        if position < 0:
            return False
        ((_, high),) = parts[position].ranges
        return (not high or row.urlkey < high) and self._in_time(row)

    def _elsewhere(self) -> Iterator[CaptureRow]:
        for row in queries.in_order(self._met, self.crawls):
            if self._in_time(row) and not self._is_named(row):
                yield row

    def _was_met(self, row: CaptureRow) -> bool:
        """Whether one of the crawls captured it."""
        return bool(self.crawls) and bool(
            queries.rows(f"capture.id = %s AND {self._met}", [row.id, *self.crawls], "1", 1)
        )

    @property
    def _met(self) -> str:
        return f"crawl_id IN ({', '.join(['%s'] * len(self.crawls))})"

    def _in_time(self, row: CaptureRow) -> bool:
        query = _with_rendered(self)[0]
        return (query.since is None or row.captured_ms >= query.since) and (
            query.until is None or row.captured_ms <= query.until
        )


@lru_cache(8)
def _with_rendered(selection: Selection) -> tuple[cdx.CdxQuery, ...]:
    own = _queries(selection)
    if not selection.urls:
        return own  # everything
    beside = [
        replace(query, ranges=((prefix + low, prefix + high if high else after_prefix(prefix)),))
        for prefix in (DOM, SCREENSHOT)
        for query in own
        for low, high in query.ranges
    ]
    return tuple(sorted((*own, *beside), key=lambda query: query.ranges))


@lru_cache(8)
def _queries(selection: Selection) -> tuple[cdx.CdxQuery, ...]:
    """Index ranges in order, without overlaps, so that no capture comes twice."""
    more = {"from": [selection.since], "to": [selection.until], "matchType": [selection.match]}
    if not selection.urls:
        base = cdx.CdxQuery.read({"url": ["-"], **more, "matchType": ["exact"]})
        return (cdx.CdxQuery(ranges=(("", ""),), exact=False, since=base.since, until=base.until),)
    read = [cdx.CdxQuery.read({"url": [url], **more}) for url in selection.urls]
    ranges = sorted((low, (low + "\x01") if query.exact else high) for query in read for low, high in query.ranges)
    merged: list[tuple[str, str]] = []
    for low, high in ranges:
        if merged and (not merged[-1][1] or low <= merged[-1][1]):
            last = merged.pop()
            merged.append((last[0], "" if not last[1] or not high else max(last[1], high)))
        else:
            merged.append((low, high))
    return tuple(cdx.CdxQuery(ranges=(span,), exact=False, since=read[0].since, until=read[0].until) for span in merged)

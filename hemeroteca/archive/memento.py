"""Memento (RFC 7089): which capture answers for a moment, and the list of all captures of an address.

Addresses are given by two callables, so that this module knows no routes: `uri_m(row)` is where a capture can be seen.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from hemeroteca.archive import cdx, queries
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.warc.builder import safe_url
from hemeroteca.warc.keys import index_key
from hemeroteca.warc.timestamps import http_date


@dataclass(frozen=True)
class Places:
    """Addresses of the services for one original URL."""

    original: str
    timegate: str
    timemap: str
    timemap_json: str


def negotiate(url: str, ms: int | None) -> CaptureRow | None:
    """The capture a TimeGate answers with: the one closest to the moment asked for, else the latest."""
    return queries.latest(url) if ms is None else queries.closest(url, ms)


def link_header(places: Places, row: CaptureRow | None, uri_m: Callable[[CaptureRow], str]) -> str:
    """`Link` of a TimeGate's or a memento's answer, with the neighbours in time of the capture."""
    links = [
        _link(places.original, "original"),
        _link(places.timegate, "timegate"),
        _link(places.timemap, "timemap", type="application/link-format"),
        _link(places.timemap_json, "timemap", type="application/json"),
    ]
    if row is not None:
        links += [_memento(found, rel, uri_m) for found, rel in _neighbours(row)]
    return ", ".join(links)


def link_lines(places: Places, uri_m: Callable[[CaptureRow], str]) -> Iterator[str]:
    """A TimeMap in link format, line by line; nothing when there is no capture."""
    ends = _ends(places.original)
    if ends is None:
        return
    first, last = ends
    yield _link(places.original, "original") + ",\n"
    yield _link(places.timegate, "timegate") + ",\n"
    yield _link(
        places.timemap,
        "self",
        type="application/link-format",
        **{"from": http_date(first.captured_ms), "until": http_date(last.captured_ms)},
    )
    for row in _all(places.original):
        rel = " ".join(["first"] * (row.id == first.id) + ["last"] * (row.id == last.id) + ["memento"])
        yield ",\n" + _memento(row, rel, uri_m)
    yield "\n"


def json_lines(places: Places, uri_m: Callable[[CaptureRow], str]) -> Iterator[str]:
    """A TimeMap in the JSON form that Memento aggregators use; nothing when there is no capture."""
    ends = _ends(places.original)
    if ends is None:
        return
    yield "{" + ", ".join(
        f"{json.dumps(name)}: {json.dumps(value)}"
        for name, value in {
            "original_uri": places.original,
            "self": places.timemap_json,
            "timegate_uri": places.timegate,
            "timemap_uri": {"link_format": places.timemap, "json_format": places.timemap_json},
        }.items()
    )
    first, last = (_as_json(row, uri_m) for row in ends)
    yield f', "mementos": {{"first": {json.dumps(first)}, "last": {json.dumps(last)}, "list": [\n'
    comma = ""
    for row in _all(places.original):
        yield comma + json.dumps(_as_json(row, uri_m))
        comma = ",\n"
    yield "\n]}}\n"


def _neighbours(row: CaptureRow) -> list[tuple[CaptureRow, str]]:
    ends = _ends(row.url)
    if ends is None:
        return [(row, "memento")]
    same = "urlkey = %s AND (captured_ms, capture.id) {} (%s, %s)"
    values = [row.urlkey, row.captured_ms, row.id]
    before = queries.rows(same.format("<"), values, "captured_ms DESC, capture.id DESC", 1)
    after = queries.rows(same.format(">"), values, "captured_ms, capture.id", 1)
    rels: dict[int, tuple[CaptureRow, list[str]]] = {}
    around = [*((r, "prev") for r in before), (row, ""), *((r, "next") for r in after)]
    for found, rel in [(ends[0], "first"), *around, (ends[1], "last")]:
        rels.setdefault(found.id, (found, []))[1].append(rel)
    return [(found, " ".join([*filter(None, names), "memento"])) for found, names in rels.values()]


def _ends(url: str) -> tuple[CaptureRow, CaptureRow] | None:
    key = index_key(url)
    first = queries.rows("urlkey = %s", [key], "captured_ms, capture.id", 1)
    last = queries.rows("urlkey = %s", [key], "captured_ms DESC, capture.id DESC", 1)
    return (first[0], last[0]) if first and last else None


def _all(url: str) -> Iterator[CaptureRow]:
    return cdx.captures(cdx.CdxQuery(ranges=((index_key(url), ""),), exact=True))


def _as_json(row: CaptureRow, uri_m: Callable[[CaptureRow], str]) -> dict[str, str]:
    return {"datetime": f"{http_date(row.captured_ms)}", "uri": uri_m(row)}


def _memento(row: CaptureRow, rel: str, uri_m: Callable[[CaptureRow], str]) -> str:
    return _link(uri_m(row), rel, datetime=http_date(row.captured_ms))


def _link(uri: str, rel: str, **attributes: str) -> str:
    more = [f'{name}="{text}"' for name, text in attributes.items()]
    return "; ".join([f"<{link_safe(uri)}>", f'rel="{rel}"', *more])


_ASCII = "".join(map(chr, range(0x21, 0x7F)))


def link_safe(uri: str) -> str:
    """A URI that cannot leave its angle brackets in a `Link` header."""
    uri = safe_url(uri).replace("<", "%3C").replace(">", "%3E").replace('"', "%22")
    return uri if uri.isascii() else quote(uri, safe=_ASCII)

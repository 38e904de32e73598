"""CDX server: `/cdx` answers in pywb's dialect, `/cdx/search/cdx` in the Wayback Machine's, from the same index.

Also `/warc/NAME`, the files themselves with byte ranges, for replayers on another machine.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header

from hemeroteca import warc
from hemeroteca.api import access, memento
from hemeroteca.archive import cdx
from hemeroteca.archive.memento import link_safe
from hemeroteca.warc import stored_record
from hemeroteca.warc.store import Source, WarcReadError, open_source
from hemeroteca.warc.timestamps import http_date, start_ms
from hemeroteca.watch import publications

_MOST_REPACKED = 256 << 20


def pywb(request: HttpRequest) -> HttpResponseBase:
    """Lines of CDXJ unless `output` says json (one object a line), text or link."""
    return _answer(request, wayback=False)


def wayback(request: HttpRequest) -> HttpResponseBase:
    """Lines of seven fields unless `output=json`, which is a list of lists, names first."""
    return _answer(request, wayback=True)


def warc_file(request: HttpRequest, name: str) -> HttpResponseBase:
    """A WARC file or the one byte range asked for. Needs a token or a session: it holds everything as it was sent."""
    try:
        source = open_source(settings.INSTANCE.warc_dir, name)
    except WarcReadError:
        return access.plain(404, f"there is no WARC file {name[:200]!r}")
    found = re.fullmatch(r"bytes=(\d{0,15})-(\d{0,15})", request.headers.get("Range", ""))
    first, last = 0, source.size - 1
    if found and (found[1] or found[2]):
        first = int(found[1]) if found[1] else max(0, source.size - int(found[2]))
        last = min(int(found[2]), last) if found[1] and found[2] else last
        if request.GET.get("as") == "gzip" and name.endswith(warc.ZST):
            return _repacked(source, first)
        if first > last:
            refusal = access.plain(416, "that range is outside the file")
            refusal.headers["Content-Range"] = f"bytes */{source.size}"
            source.close()
            return refusal
    response = StreamingHttpResponse(_piece(source, first, last + 1), status=206 if found else 200)
    if found:
        response.headers["Content-Range"] = f"bytes {first}-{last}/{source.size}"
    response.headers["Content-Length"] = str(last - first + 1)
    response.headers["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    response.headers["Content-Type"] = "application/warc"
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _answer(request: HttpRequest, wayback: bool) -> HttpResponseBase:
    try:
        params = {name: request.GET.getlist(name) for name in request.GET if name != "publication"}
        query = cdx.CdxQuery.read(params, wayback)
        fields = _fields(request, wayback, query)
        output = request.GET.get("output") or ("text" if wayback else "cdxj")
        if query.count_pages:
            pages, blocks = cdx.count_pages(query)
            facts = {"pages": pages, "pageSize": query.page_size, "blocks": blocks}
            return (
                access.plain(200, str(pages))
                if wayback
                else HttpResponse(json.dumps(facts), content_type="application/json")
            )
        show_resume = query.show_resume
        answer = cdx.CdxAnswer(query)
        if name := request.GET.get("publication"):  # of replay's readers who may see only that collection
            answer.only = publications.find(name).holds
        if output == "json" and wayback:
            return _stream(_lists(answer, fields, show_resume), "application/json")
        if output == "json":
            return _stream(_objects(answer, fields, show_resume), "text/x-ndjson")
        if output == "cdxj":
            return _stream(_cdxj(answer, fields, show_resume), "text/x-cdxj")
        if output == "text":
            return _stream(_text(answer, fields, show_resume), "text/plain")
        if output == "link":
            return _stream(_links(request, answer), "application/link-format")
    except cdx.CdxError as error:
        return access.plain(400, str(error))
    return access.plain(400, f"`output` is {output[:50]!r}; it can be json, cdxj, text or link")


def _fields(request: HttpRequest, wayback: bool, query: cdx.CdxQuery) -> tuple[str, ...]:
    wanted = request.GET.get("fl") or request.GET.get("fields") or ""
    if not wanted:
        more: tuple[str, ...] = ("dupecount",) if query.dupes else ()
        if query.skips:
            more += ("skipcount",)
        if query.last_skip:
            more += ("endtimestamp",)
        if query.resolve:
            more += ("orig.length", "orig.offset", "orig.filename")
        return (cdx.WAYBACK_FIELDS if wayback else cdx.FIELDS) + more
    fields = tuple(wanted.split(","))
    for field in fields:
        if cdx.ALIASES.get(field, field) not in (*cdx.FIELDS, *cdx.EXTRA):
            raise cdx.CdxError(f"`fl` names the field {field!r}; it can be {', '.join((*cdx.FIELDS, *cdx.EXTRA))}")
    return fields


def _values(line: cdx.Line, fields: tuple[str, ...]) -> list[str]:
    return [line.get(cdx.ALIASES.get(field, field), "") or "-" for field in fields]


def _text(answer: cdx.CdxAnswer, fields: tuple[str, ...], resume: bool) -> Iterator[str]:
    for line in answer:
        yield " ".join(re.sub(r"\s", "%20", value) for value in _values(line, fields)) + "\n"
    if resume and answer.resume_key:
        yield f"\n{answer.resume_key}\n"


def _cdxj(answer: cdx.CdxAnswer, fields: tuple[str, ...], resume: bool) -> Iterator[str]:
    rest = tuple(field for field in fields if field not in ("urlkey", "timestamp"))
    for line in answer:
        yield f"{line['urlkey']} {line['timestamp']} {json.dumps(dict(zip(rest, _values(line, rest), strict=True)))}\n"
    if resume and answer.resume_key:
        yield f"\n{answer.resume_key}\n"


def _objects(answer: cdx.CdxAnswer, fields: tuple[str, ...], resume: bool) -> Iterator[str]:
    for line in answer:
        yield json.dumps(dict(zip(fields, _values(line, fields), strict=True))) + "\n"
    if resume and answer.resume_key:
        yield json.dumps({"resumeKey": answer.resume_key}) + "\n"


def _lists(answer: cdx.CdxAnswer, fields: tuple[str, ...], resume: bool) -> Iterator[str]:
    comma = f"[{json.dumps(fields)}"
    empty = True
    for line in answer:
        yield f"{comma},\n{json.dumps(_values(line, fields))}"
        comma, empty = "", False
    if resume and answer.resume_key:
        yield f",\n[],\n{json.dumps([answer.resume_key])}"
    yield "[]\n" if empty else "]\n"


def _links(request: HttpRequest, answer: cdx.CdxAnswer) -> Iterator[str]:
    places = memento.places(request, request.GET["url"].rstrip("*"))
    yield f'<{link_safe(places.original)}>; rel="original",\n'
    yield f'<{link_safe(places.timegate)}>; rel="timegate",\n'
    yield f'<{link_safe(places.timemap)}>; rel="timemap"; type="application/link-format"'
    for line in answer:
        uri = link_safe(memento.capture_uri(request, line["timestamp"], line["url"]))
        yield f',\n<{uri}>; rel="memento"; datetime="{http_date(start_ms(line["timestamp"]))}"'
    yield "\n"


def _stream(lines: Iterator[str], media_type: str) -> HttpResponseBase:
    """The first line is made before the headers go out, so that an error still becomes an answer."""
    first = next(lines, "")
    response = StreamingHttpResponse(_batches(chain([first], lines)), content_type=f"{media_type}; charset=utf-8")
    response.headers["X-Content-Type-Options"] = "nosniff"
    return access.shared(response)


def _batches(lines: Iterable[str]) -> Iterator[bytes]:
    batch: list[str] = []
    for line in lines:
        batch.append(line)
        if len(batch) == 200:
            yield "".join(batch).encode()
            batch.clear()
    yield "".join(batch).encode()


def _repacked(source: Source, offset: int) -> HttpResponseBase:
    """The record at a place of a file in Zstandard, for readers that know only gzip."""
    try:
        record = stored_record.member_at(source.read_at, offset, source.size).stream().read(_MOST_REPACKED)
    except (*stored_record.UNREADABLE, OSError):
        return access.plain(404, "there is no record at that place")
    finally:
        source.close()
    response = HttpResponse(warc.as_gzip(record), status=206, content_type="application/warc")
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _piece(source: Source, position: int, end: int) -> Iterator[bytes]:
    try:
        while position < end and (data := source.read_at(min(end - position, 1 << 16), position)):
            position += len(data)
            yield data
    finally:
        source.close()

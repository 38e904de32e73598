"""/captures and /history: what was fetched and when, the bytes themselves, and how two captures differ."""

import datetime as dt
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import FileResponse, HttpRequest
from ninja import Path, Query, Schema
from pydantic import Field

from hemeroteca import urls
from hemeroteca.api import access
from hemeroteca.api.shapes import Cursor, Limit, Listing, RequestBody, filled, read_cursor
from hemeroteca.api.shapes import listing as part_of
from hemeroteca.archive import content as archived
from hemeroteca.archive import erasure, lookup, queries
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.archive.citation import cite
from hemeroteca.errors import Invalid, NotFound
from hemeroteca.frontier import services as crawl_services
from hemeroteca.frontier import takedowns
from hemeroteca.jobs import services as job_services
from hemeroteca.warc.store import WarcReadError
from hemeroteca.warc.timestamps import iso
from hemeroteca.watch.queries import patterns_of

Id = Annotated[UUID, Path(description="Permanent name of the capture (its WARC-Record-ID).")]
Url = Annotated[str, Query(min_length=1, max_length=8192, description="Address of the page.")]
Moment = Annotated[str, Query(max_length=40, description="Date, or digits from the year on: 2026, 20260131.")]


class CaptureOut(Schema):
    id: UUID = Field(description="Permanent name: the WARC-Record-ID.")
    url: str = Field(description="Address as requested.")
    captured_at: dt.datetime | None = Field(description="When the request was sent.")
    status: int = Field(description="HTTP status.")
    mime: str = Field(description="Media type, from the header.")
    digest: str = Field(description="Digest of the payload.")
    kind: str = Field(description="response, revisit (same payload as an earlier one) or resource.")
    version: bool = Field(description="Differs from the capture before it.")
    importance: float | None = Field(description="How much it differs, 0 to 1; null when not compared.")
    truncated: str = Field(description="Why it is not whole (length, time, disconnect); empty when it is.")
    size: int = Field(description="Bytes of the body as received.")
    warc: str = Field(description="WARC file that holds it.")
    offset: int = Field(description="Where the record begins in that file.")
    length: int = Field(description="Compressed length of the record.")


def listing(request: HttpRequest, url: Url, limit: Limit = 50, cursor: Cursor = "") -> Listing[CaptureOut]:
    position = read_cursor(cursor, 2)
    after = (position[0], position[1]) if position else None
    found = queries.captures_of(urls.canonical(url), limit=limit + 1, after=after)
    return part_of(found, limit, _out, lambda row: (row.captured_ms, row.id))


def one(request: HttpRequest, id: Id) -> CaptureOut:  # noqa: A002 - the name in the path
    return _out(_capture(id))


def content(request: HttpRequest, id: Id) -> FileResponse:  # noqa: A002
    """The body as received, still in its content coding, as a download."""
    found = archived.download(_capture(id))
    kind = "application/octet-stream"
    return FileResponse(found.file, as_attachment=True, filename=found.name, content_type=kind, headers=found.headers)


class Save(RequestBody):
    url: str = Field(min_length=1, max_length=8192, description="Address of the page to capture.")


class SaveOut(Schema):
    url: str = Field(description="Canonical address; GET /api/v1/captures lists its captures.")
    crawl: int = Field(description="Number of the crawl that makes it; GET /api/v1/crawls/{number} follows it.")
    state: str = Field(description="State of that crawl.")


def save(request: HttpRequest, order: Save) -> SaveOut:
    """The page and what it needs to be shown are visited as soon as politeness allows; robots.txt is obeyed."""
    crawl = crawl_services.save_page(access.caller(request), order.url)
    return SaveOut(url=crawl.seeds[0], crawl=crawl.pk, state=crawl.state)


class EraseIn(RequestBody):
    url: str = Field("", max_length=8192, description="Address; `example.org/*` means all that begin so.")
    match: Literal["exact", "prefix", "host", "domain"] = Field("exact", description="What belongs to the address.")
    since: str = Field("", max_length=20, description="Captures from this time on: 2026, 20260131.")
    until: str = Field("", max_length=20, description="Captures up to this time.")
    capture: UUID | None = Field(None, description="One capture instead, with those that repeat it at its address.")
    reason: str = Field(min_length=3, max_length=2000, description="Who asked for it, and why; stays in the audit.")
    keep_out: bool | None = Field(
        None, description="Also take it down, so that nothing captures it again; by default for whole addresses."
    )


class ErasureOut(Schema):
    id: int = Field(description="Number of the erasure.")
    asked_at: dt.datetime | None = Field(description="When it was ordered.")
    done_at: dt.datetime | None = Field(description="When it was done; null not yet.")
    actor: str = Field(description="Who ordered it.")
    reason: str = Field(description="Who asked for it, and why.")
    urls: list[str] = Field(description="Addresses as ordered.")
    capture: UUID | None = Field(description="The capture, when no address was ordered.")
    captures: int = Field(description="Captures that went.")
    addresses: int = Field(description="Addresses they were of.")
    bytes: int = Field(description="Bytes of their records.")
    records: list[UUID] = Field(description="Names of the captures that went, the first 10,000.")
    job: int | None = Field(None, description="Number of the job that does it, in the answer to the order.")


def erase(request: HttpRequest, order: EraseIn) -> ErasureOut:
    """Done as a job: out of search, index, WARC files and the object store. Backups and exports are not reached."""
    actor = access.caller(request)
    wanted = erasure.ErasureScope(
        (order.url,) if order.url else (), order.match, order.since, order.until, order.capture
    )
    row = erasure.ask(actor, wanted, order.reason, order.keep_out)
    job = job_services.submit(actor, "archive.erase", {"erasure": row.pk})
    return _erasure_out(row, job.pk)


def erasures(request: HttpRequest) -> list[ErasureOut]:
    """The audit, newest first."""
    return [_erasure_out(row) for row in erasure.recent(access.caller(request), 1000)]


def _erasure_out(row: Any, job: int | None = None) -> ErasureOut:
    return filled(ErasureOut, row, id=row.pk, job=job)


class TakedownIn(RequestBody):
    url: str = Field(min_length=1, max_length=8192, description="Address; `example.org/*`: all that begin so.")
    match: Literal["exact", "prefix", "host", "domain"] = Field("exact", description="What belongs to the address.")
    reason: str = Field(min_length=3, max_length=2000, description="Who asked for it, and why.")


class TakedownOut(Schema):
    id: int = Field(description="Number of the takedown.")
    url: str = Field(description="Address that is not captured any more.")
    match: str = Field(description="What belongs to it: exact, prefix, host or domain.")
    reason: str = Field(description="Who asked for it, and why.")
    actor: str = Field(description="Who ordered it.")
    made_at: dt.datetime | None = Field(description="Since when it holds.")
    erasure: int | None = Field(description="Erasure it came with; null: none.")
    lifted_at: dt.datetime | None = Field(description="When it was lifted; null: it holds.")
    lifted_by: str = Field(description="Who lifted it; empty: it holds.")


def take_down(request: HttpRequest, order: TakedownIn) -> TakedownOut:
    """Crawls, browsers, devices and imports leave it out from now on. What is archived stays: see /erasures."""
    return _takedown_out(takedowns.take_down(access.caller(request), order.url, order.match, order.reason))


def taken_down(
    request: HttpRequest,
    lifted: Annotated[bool, Query(description="Also those that were lifted.")] = False,
) -> list[TakedownOut]:
    return [_takedown_out(row) for row in takedowns.listed(access.caller(request), lifted)]


def lift(
    request: HttpRequest, number: Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the takedown.")]
) -> TakedownOut:
    """It may be captured again; who lifted it stays noted."""
    return _takedown_out(takedowns.lift(access.caller(request), number))


def _takedown_out(row: Any) -> TakedownOut:
    return filled(TakedownOut, row, id=row.pk, erasure=row.erasure or None)


class CitationOut(Schema):
    text: str = Field(description="In words.")
    bibtex: str = Field(description="As an entry of BibTeX.")


def citation(
    request: HttpRequest,
    id: Id,  # noqa: A002
    language: Annotated[Literal["es", "en"], Query(description="Language of the words.")] = "en",
) -> CitationOut:
    row = _capture(id)
    try:
        title = archived.text(row).title
    except (WarcReadError, Invalid):
        title = ""
    cited = cite(row, title, f"{access.base_of(request)}/v/{row.record_id}", language)
    return CitationOut(text=cited.text, bibtex=cited.bibtex)


class AddressOut(Schema):
    url: str = Field(description="Address as captured.")
    captures: int = Field(description="How often it was captured in that time.")
    versions: int = Field(description="How many of those differed from the capture before.")
    first_at: dt.datetime | None = Field(description="First of those captures.")
    last_at: dt.datetime | None = Field(description="Last of those captures.")


class AddressList(Schema):
    items: list[AddressOut] = Field(description="Addresses of this part of the list.")
    next_after: str | None = Field(description="Give it as `after` to get what follows; null at the end.")


class DayOut(Schema):
    day: dt.date = Field(description="Day in UTC.")
    captures: int = Field(description="Captures of that day.")
    versions: int = Field(description="How many of those differed from the capture before.")


def addresses(
    request: HttpRequest,
    url: Annotated[str, Query(max_length=8192, description="Address or beginning of addresses.")] = "",
    match: Annotated[Literal["exact", "prefix", "host", "domain"], Query(description="What belongs to it.")] = "prefix",
    collection: Annotated[str, Query(max_length=100, description="Name of a collection, instead of `url`.")] = "",
    since: Moment = "",
    until: Moment = "",
    after: Annotated[str, Query(max_length=2000, description="`next_after` of the answer before.")] = "",
    limit: Annotated[int, Query(ge=1, le=1000, description="Most addresses in one answer.")] = 50,
) -> AddressList:
    patterns = patterns_of(collection) if collection else None
    found = lookup.addresses(lookup.ranges(url, match, since, until, patterns), limit + 1, after)
    items = [filled(AddressOut, address) for address in found[:limit]]
    return AddressList(items=items, next_after=found[limit - 1].urlkey if len(found) > limit else None)


def calendar(
    request: HttpRequest,
    url: Url,
    year: Annotated[int | None, Query(ge=1970, le=9999, description="Only this year.")] = None,
) -> list[DayOut]:
    since, until = lookup.year_span(year) if year else (0, 1 << 62)
    days = queries.calendar(url, since, until)
    return [
        DayOut(day=dt.date(1970, 1, 1) + dt.timedelta(day), captures=count, versions=versions)
        for day, (count, versions) in days.items()
    ]


def compare(
    request: HttpRequest,
    url: Url,
    a: Annotated[str, Query(max_length=40, description="Id or date of a capture; else the version before `b`.")] = "",
    b: Annotated[str, Query(max_length=40, description="Id or date of another; else the newest version.")] = "",
) -> dict[str, Any]:
    """`view`, `form` and `content` with their components, `total`, `important`, and `text_diff`.

    By the rules of the site (`/sites`) and without its learned noise; pages a browser opened as it showed them.
    """
    old_row, new_row = lookup.pair(url, a, b)
    found = archived.comparison(old_row, new_row, "facts")
    ids = {"url": old_row.url, "a": str(old_row.record_id), "b": str(new_row.record_id)}
    moments = {"a_at": iso(old_row.captured_ms), "b_at": iso(new_row.captured_ms)}
    return ids | moments | found.facts


def _capture(name: UUID) -> CaptureRow:
    row = queries.by_record(name)
    if row is None:
        raise NotFound(f"there is no capture {name}; GET /api/v1/captures?url=… lists those of a page")
    return row


def _out(row: CaptureRow) -> CaptureOut:
    return filled(CaptureOut, row, id=row.record_id, size=row.body_size, warc=row.warc_name)

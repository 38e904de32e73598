"""/history: which addresses the archive holds, on which days they were captured, and how two captures differ."""

import datetime as dt
import re
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from hemeroteca import change
from hemeroteca.api import access, copies
from hemeroteca.api.moments import moment
from hemeroteca.archive import cdx, lookup, queries
from hemeroteca.archive.selection import Selection
from hemeroteca.archive.values import CaptureRow
from hemeroteca.warc.reader import WarcReadError
from hemeroteca.warc.timestamps import from_iso, iso, start_ms
from hemeroteca.watch.queries import patterns_of

router = Router()

Url = Annotated[str, Query(min_length=1, max_length=8192, description="Address of the page.")]
Moment = Annotated[str, Query(max_length=40, description="Date, or digits from the year on: 2026, 20260131.")]
MATCHES = ("exact", "prefix", "host", "domain")


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


@router.get("/addresses", response=AddressList, auth=access.open_reader, summary="Addresses in the archive")
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
    try:
        found = lookup.addresses(wanted(url, match, collection, since, until), limit + 1, after)
    except (cdx.CdxError, LookupError) as error:
        raise HttpError(422, str(error))
    items = [
        AddressOut(
            url=a.url, captures=a.captures, versions=a.versions, first_at=moment(a.first_ms), last_at=moment(a.last_ms)
        )
        for a in found[:limit]
    ]
    return AddressList(items=items, next_after=found[limit - 1].urlkey if len(found) > limit else None)


@router.get("/calendar", response=list[DayOut], auth=access.open_reader, summary="Days on which a page was captured")
def calendar(
    request: HttpRequest,
    url: Url,
    year: Annotated[int | None, Query(ge=1970, le=9999, description="Only this year.")] = None,
) -> list[DayOut]:
    since, until = year_span(year) if year else (0, 1 << 62)
    days = queries.calendar(url, since, until)
    return [
        DayOut(day=dt.date(1970, 1, 1) + dt.timedelta(day), captures=count, versions=versions)
        for day, (count, versions) in days.items()
    ]


@router.get("/compare", response=dict[str, Any], auth=access.open_reader, summary="How two captures differ")
def compare(
    request: HttpRequest,
    url: Url,
    a: Annotated[str, Query(max_length=40, description="Id or date of a capture; else the version before `b`.")] = "",
    b: Annotated[str, Query(max_length=40, description="Id or date of another; else the newest version.")] = "",
) -> dict[str, Any]:
    """`view`, `form` and `content` with their components, `total`, `important`, and `text_diff`.

    By the rules of the site (`/sites`) and without its learned noise; pages a browser opened as it showed them.
    """
    try:
        old_row, new_row = pair(url, a, b)
        found = copies.compare(old_row, new_row)
    except LookupError as error:
        raise Http404(error.args[0])
    except WarcReadError as error:
        raise Http404(f"The archive cannot give these bytes: {error}")
    ids = {"url": old_row.url, "a": str(old_row.record_id), "b": str(new_row.record_id)}
    moments = {"a_at": iso(old_row.captured_ms), "b_at": iso(new_row.captured_ms)}
    return ids | moments | change.as_json(found.old, found.new, found.rules, found.change)


def wanted(url: str, match: str, collection: str, since: str, until: str) -> tuple[cdx.Query, ...]:
    """The ranges of the index that a look-up is about. Raises CdxError or LookupError with what is wrong."""
    if collection:
        patterns = patterns_of(collection)
        return Selection(patterns, "", _digits(since), _digits(until)).queries() if patterns else ()
    if not url:
        raise cdx.CdxError("an address is missing; write for instance example.org/news")
    return Selection((url,), "" if "*" in url else match, _digits(since), _digits(until)).queries()


def pair(url: str, a: str, b: str) -> tuple[CaptureRow, CaptureRow]:
    """Two captures, older first. Raises LookupError with what is missing."""
    newest = queries.versions_newest(url, 1)
    new = one(url, b) if b else (newest[0] if newest else None)
    if new is None:
        raise LookupError("There is no capture of this address.")
    old = one(url, a) if a else lookup.version_before(new)
    if old is None:
        raise LookupError("There is only one version of this address; there will be another when the page changes.")
    return (old, new) if (old.captured_ms, old.id) <= (new.captured_ms, new.id) else (new, old)


def one(url: str, text: str) -> CaptureRow | None:
    """A capture by its permanent name, or the one of the URL nearest to a date."""
    try:
        return queries.by_record(UUID(text))
    except ValueError:
        pass
    ms = read_moment(text)
    if ms is None:
        raise LookupError(f"{text[:40]!r} is neither the name nor the date of a capture.")
    return queries.closest(url, ms)


def read_moment(text: str) -> int | None:
    digits = _digits(text)
    try:
        return start_ms(digits) if digits.isdigit() and len(digits) <= 14 else from_iso(text)
    except ValueError:
        return None


def year_span(year: int) -> tuple[int, int]:
    return start_ms(f"{year:04d}"), start_ms(f"{min(year + 1, 9999):04d}") - 1


def _digits(text: str) -> str:
    return re.sub(r"[-: T]", "", text.strip())

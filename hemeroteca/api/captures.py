"""/captures: what was fetched, when, and the bytes themselves."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest
from ninja import Path, Query, Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from hemeroteca import urls
from hemeroteca.api import access, copies, paging
from hemeroteca.api.answers import filled
from hemeroteca.api.citations import cite
from hemeroteca.api.moments import moment
from hemeroteca.archive import queries
from hemeroteca.archive.values import CaptureRow
from hemeroteca.warc.reader import WarcReadError

router = Router()

Id = Annotated[UUID, Path(description="Permanent name of the capture (its WARC-Record-ID).")]


class CaptureOut(Schema):
    id: UUID = Field(description="Permanent name: the WARC-Record-ID.")
    url: str = Field(description="Address as requested.")
    captured_at: datetime | None = Field(description="When the request was sent.")
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


@router.get("", response=paging.Listing[CaptureOut], auth=access.open_reader, summary="Captures of a URL, oldest first")
def listing(
    request: HttpRequest,
    url: Annotated[str, Query(min_length=1, max_length=8192, description="Address of the page.")],
    limit: paging.Limit = 50,
    cursor: paging.Cursor = "",
) -> paging.Listing[CaptureOut]:
    position = paging.read(cursor, 2)
    try:
        address = urls.canonical(url)
    except urls.UrlError as error:
        raise HttpError(422, f"url: {error}")
    found = queries.captures_of(address, limit=limit + 1, after=(position[0], position[1]) if position else None)
    more = len(found) > limit
    part = found[:limit]
    return paging.Listing[CaptureOut](
        items=[_out(row) for row in part],
        next_cursor=paging.write(part[-1].captured_ms, part[-1].id) if more else None,
    )


@router.get("/{id}", response=CaptureOut, auth=access.open_reader, summary="One capture")
def one(request: HttpRequest, id: Id) -> CaptureOut:  # noqa: A002 - the name in the path
    return _out(_capture(id))


@router.get("/{id}/content", response={200: None}, auth=access.open_reader, summary="The captured bytes")
def content(request: HttpRequest, id: Id) -> FileResponse:  # noqa: A002
    """The body as received, still in its content coding, as a download."""
    return download(_capture(id))


class CitationOut(Schema):
    text: str = Field(description="In words.")
    bibtex: str = Field(description="As an entry of BibTeX.")


@router.get("/{id}/citation", response=CitationOut, auth=access.open_reader, summary="How to cite a capture")
def citation(
    request: HttpRequest,
    id: Id,  # noqa: A002
    language: Annotated[Literal["es", "en"], Query(description="Language of the words.")] = "en",
) -> CitationOut:
    row = _capture(id)
    try:
        title = copies.text(row).title
    except WarcReadError:
        title = ""
    cited = cite(row, title, permanent_address(request, row), language)
    return CitationOut(text=cited.text, bibtex=cited.bibtex)


def permanent_address(request: HttpRequest, row: CaptureRow) -> str:
    base = settings.CONFIG.public_url.rstrip("/") or f"{request.scheme}://{request.get_host()}"
    return f"{base}/v/{row.record_id}"


def download(row: CaptureRow) -> FileResponse:
    try:
        record = copies.original(row)
    except WarcReadError as error:
        raise Http404(f"The archive cannot give these bytes: {error}")
    record.body.seek(0)
    response = FileResponse(record.body, as_attachment=True, filename=f"{row.record_id}.{_ending(row.mime)}")
    response.headers["Content-Type"] = "application/octet-stream"
    response.headers["Content-Length"] = str(record.size)
    response.headers["Content-Security-Policy"] = copies.SANDBOX
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["X-Hemeroteca-Media-Type"] = record.header("content-type")[:200].encode("ascii", "ignore").decode()
    coding = record.header("content-encoding")[:100].encode("ascii", "ignore").decode()
    if coding:
        # Not Content-Encoding: a client would unpack it, and these are the bytes as they were received.
        response.headers["X-Hemeroteca-Content-Encoding"] = coding
    return response


def _ending(mime: str) -> str:
    known = {"text/html": "html", "application/pdf": "pdf", "text/plain": "txt", "text/css": "css", "image/png": "png"}
    return known.get(mime.partition(";")[0].strip().lower(), "bin")


def _capture(name: UUID) -> CaptureRow:
    row = queries.by_record(name)
    if row is None:
        raise Http404(f"There is no capture {name}; GET /api/v1/captures?url=… lists those of a page.")
    return row


def _out(row: CaptureRow) -> CaptureOut:
    return filled(
        CaptureOut,
        row,
        id=row.record_id,
        captured_at=moment(row.captured_ms),
        size=row.body_size,
        warc=row.warc_name,
    )

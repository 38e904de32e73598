"""/uploads: files of captures sent in parts and imported as a job."""

from datetime import datetime
from typing import Annotated, Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from ninja import Path, Query, Schema
from pydantic import Field

from hemeroteca.api import access
from hemeroteca.api.shapes import RequestBody, filled
from hemeroteca.archive import uploads
from hemeroteca.errors import Invalid

Number = Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the upload.")]


class UploadIn(RequestBody):
    name: str = Field(min_length=1, max_length=200, description="File name: .warc, .warc.gz, .arc.gz, .wacz, …")
    size: int = Field(ge=1, lt=1 << 53, description="Bytes it has.")
    digest: str = Field("", max_length=64, description="SHA-256 of it in hexadecimal; empty: not checked.")


class UploadOut(Schema):
    id: int = Field(description="Number of the upload.")
    name: str = Field(description="File name.")
    size: int = Field(description="Bytes it will have.")
    received: int = Field(description="Bytes that have come; the next part begins there.")
    part_bytes: int = Field(description="Most bytes of one part.")
    actor: str = Field(description="Who sends it.")
    begun_at: datetime | None = Field(description="When it was begun.")
    touched_at: datetime | None = Field(description="When the last part came.")
    job: int | None = Field(description="Job that imports it; null: it is not whole yet.")


def begin(request: HttpRequest, order: UploadIn) -> UploadOut:
    """The same file again (name and size) goes on where it stopped: see `received`."""
    return _out(uploads.begin(access.caller(request), order.name, order.size, order.digest))


def listing(request: HttpRequest) -> list[UploadOut]:
    """Newest first; administrators see those of others."""
    return [_out(row) for row in uploads.listed(access.caller(request))]


def one(request: HttpRequest, number: Number) -> UploadOut:
    return _out(uploads.find(access.caller(request), number))


def part(
    request: HttpRequest,
    number: Number,
    offset: Annotated[int, Query(ge=0, lt=1 << 53, description="Where the part begins: `received` so far.")],
) -> UploadOut:
    """The body is the part itself, as application/octet-stream. The last part orders the import (`job`)."""
    try:
        body = request.body
    except RequestDataTooBig:
        raise Invalid(f"a part has at most {uploads.PART_BYTES:,} bytes (`part_bytes`)")
    return _out(uploads.add(access.caller(request), number, offset, body))


def cancel(request: HttpRequest, number: Number) -> None:
    uploads.cancel(access.caller(request), number)


def _out(row: Any) -> UploadOut:
    return filled(UploadOut, row, id=row.pk, part_bytes=uploads.PART_BYTES, job=row.job or None)

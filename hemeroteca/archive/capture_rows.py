"""Values of the archive, without Django: what the engine hands in and what questions to the index give back."""

from pathlib import Path
from uuid import UUID

import msgspec

from hemeroteca.warc import Location


class NewCapture(msgspec.Struct, gc=False):
    """A capture whose records were appended to `warc_name` at `offset`."""

    record_id: UUID
    url: str
    captured_ms: int
    status: int
    mime: str
    digest: str
    kind: str
    version: bool
    warc_name: str
    offset: int
    length: int
    body_size: int = 0
    truncated: str = ""
    refers_to: UUID | None = None
    page_id: int | None = None
    crawl_id: int | None = None
    importance: float | None = None
    urlkey: str = ""


class CaptureRow(msgspec.Struct, frozen=True, gc=False):
    """A capture as the index knows it."""

    id: int
    record_id: UUID
    url: str
    urlkey: str
    captured_ms: int
    status: int
    mime: str
    digest: str
    kind: str
    version: bool
    truncated: str
    refers_to: UUID | None
    body_size: int
    warc_name: str
    offset: int
    length: int
    page_id: int | None
    importance: float | None
    crawl_id: int | None = None

    def location(self, folder: Path) -> Location:
        return Location(str(folder), self.warc_name, self.offset, self.length)

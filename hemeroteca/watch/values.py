"""Values of the room that other processes need too. No Django here."""

from uuid import UUID

import msgspec

from hemeroteca.ingest.difference import Difference, Listing

HOUR_MS = 3_600_000
DAY_MS = 86_400_000
LONGEST_HOURS = 720.0  # between two visits when nobody set a maximum: the cap of the 2015 rule


def plain(text: str) -> str:
    """Text of strangers as every database and message takes it: no zero characters, no halves of pairs."""
    if "\x00" in text:
        text = text.replace("\x00", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class Seen(msgspec.Struct, gc=False):
    """An answered visit of a watched page, as the engine tells it."""

    crawl: int
    key: int
    page: int
    host: int
    url: str
    role: int
    at_ms: int
    status: int
    first: bool  # no version was known before
    changed: bool  # the bytes differ
    not_modified: bool  # 304
    bytes: int
    stored: int
    cost_ms: int
    record_id: UUID | None = None
    difference: Difference | None = None
    listing: Listing | None = None
    title: str = ""

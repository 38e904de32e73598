"""Values of the room that other processes need too. No Django here."""

from uuid import UUID

import msgspec

HOUR_MS = 3_600_000
DAY_MS = 86_400_000
LONGEST_HOURS = 720.0  # between two visits when nobody set a maximum: the cap of the 2015 rule


def plain(text: str) -> str:
    """Text of strangers as every database and message takes it: no zero characters, no halves of pairs."""
    if "\x00" in text:
        text = text.replace("\x00", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class Difference(msgspec.Struct, array_like=True, frozen=True):
    """How a new version differs from the last one, as ingest measured it (`hemeroteca.change`)."""

    view: float
    form: float
    content: float
    total: float
    important: bool  # by the threshold of the subscription that visits the page
    words_added: int = 0
    words_removed: int = 0
    diff: str = ""  # the beginning of a unified diff of the text


class Listing(msgspec.Struct, array_like=True, frozen=True):
    """What a feed or sitemap says: pages with the time of their last change, and its hub."""

    kind: str  # feed, sitemap
    entries: list[tuple[int, int, str]] = []  # page key, ms of the change (0 unknown), URL
    hub: str = ""
    topic: str = ""  # the address the hub knows the feed by


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

"""Values of the archive, without Django: what the engine hands in and what questions to the index give back."""

import hashlib
import re
from functools import lru_cache
from uuid import UUID

import msgspec

from hemeroteca import urls

MAX_KEY = 900
"""Longest key kept whole, in characters: PostgreSQL cannot index longer ones."""

SCREENSHOT, DOM = "urn:screenshot:", "urn:dom:"
"""Before a page's address: what a browser made of it."""

_PLAIN_ORIGIN = re.compile(r"https?://[a-z0-9-]+(?:\.[a-z0-9-]+)*+(?::[0-9]{1,5})?+").fullmatch
_PLAIN_PATH = re.compile(r"(?:/[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*+)*+/?+").fullmatch
"""Paths that a SURT only writes in small letters and without the last slash; most are of this kind."""


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


def index_key(url: str) -> str:
    """The key a URL is filed under: its SURT, shortened with a hash when it is too long for an index."""
    start = url.find("/", 8)
    if start > 0 and len(url) < MAX_KEY and _PLAIN_PATH(url, start) and (place := _place(url[:start])):
        return place + (url[start:].lower().rstrip("/") or "/")
    if url.startswith((DOM, SCREENSHOT)):  # filed like the pages they belong to
        prefix = DOM if url.startswith(DOM) else SCREENSHOT
        return prefix + index_key(url[len(prefix) :])
    try:
        key = urls.surt(url)
        if len(key) <= MAX_KEY:
            return key
    except urls.UrlError:  # longer than any web address: a data: URI in somebody's archive
        key = url
    return key[:MAX_KEY] + "#" + hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=8).hexdigest()


@lru_cache(maxsize=10_000)
def _place(origin: str) -> str:
    """What the keys of an origin begin with: `org,example)`; empty when it is not plainly one."""
    return urls.surt(origin + "/")[:-1] if _PLAIN_ORIGIN(origin) else ""

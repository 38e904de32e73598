"""Which reader reads a body. A kind of document is added by registering a reader for it, and nothing else is edited.

Readers of this room register themselves when the room is imported; those of other rooms when their module
`hemeroteca.<room>.reader` is, which happens by itself before the first body is read. Such a module must be pure: it is
imported in processes without a database. What it found travels by name in `Document.finds`.
"""

import importlib
import re
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from pathlib import Path
from typing import NamedTuple, Protocol

from hemeroteca.extract.decode import decode_body
from hemeroteca.extract.document import Document, Limits, Link, Place

START = 1024  # bytes that readers look at to tell whether a body is theirs
UNNAMED = frozenset(("", "application/octet-stream", "unknown/unknown", "application/unknown", "application/x-gzip"))
_DEFAULTS = Limits()
_GZIP = b"\x1f\x8b"
_ROOT = re.compile(
    rb"^\s*(?:<\?xml[^>]{0,300}>\s*)?(?:<\?[^>]{0,300}>\s*|<!--.{0,600}?-->\s*|<!DOCTYPE[^\[>]{0,300}(?:\[|>)\s*)*"
    rb"<(?:[\w-]{1,20}:)?([\w-]{1,40})",
    re.S | re.I,
)
_ENTITY_ROOT = re.compile(rb"<(?:[\w-]{1,20}:)?(rss|feed|urlset|sitemapindex)[\s>]", re.I)
_STYLED = b"<?xml-stylesheet"
_STYLESHEET = re.compile(rb"<\?xml-stylesheet\s[^>]{0,500}?\bhref\s*=\s*(?:\"([^\"<>]{1,500})\"|'([^'<>]{1,500})')")
_HTML_START = re.compile(
    rb"^(?:\s|<!--.{0,600}?-->|<\?xml[^>]{0,300}>)*"
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|p|div|table|h1|a|br)[\s>]",
    re.S | re.I,
)


@dataclass(slots=True)
class Content:
    """A body whose Content-Encoding has been undone, and what is known about it."""

    body: bytes
    content_type: str = ""  # the header as sent: it may be wrong or empty
    url: str = ""
    limits: Limits = _DEFAULTS
    language: str = ""  # the header Content-Language
    want_context: bool = False
    place: Place | None = None
    media_type: str = field(init=False)
    start: bytes = field(init=False)  # without byte order mark
    _root: str | None = None

    def __post_init__(self) -> None:
        self.media_type = media_type(self.content_type)
        start = self.body[:START]
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            start = start.replace(b"\0", b"")[2:]
        self.start = start.removeprefix(b"\xef\xbb\xbf")

    @property
    def root(self) -> str:
        """Name of the root element in small letters, where this may be XML; otherwise empty."""
        if self._root is None:
            self._root = self._find_root()
        return self._root

    @property
    def begins_as_html(self) -> bool:
        return _HTML_START.match(self.start) is not None

    @property
    def declared_xml(self) -> bool:
        return self.start.lstrip().startswith(b"<?xml")

    def _find_root(self) -> str:
        media = self.media_type
        if media == "text/html":  # XML is often sent as HTML
            start = self.start.lstrip()[:9].lower()
            if start == b"<!doctype" or start.startswith((b"<html", b"<!--")):
                return ""
        elif media in UNNAMED:
            if self.begins_as_html or not self.start.lstrip().startswith(b"<"):
                return ""
        elif media not in ("text/xml", "application/xml") and not media.endswith("+xml"):
            return ""
        match = _ROOT.match(self.start)
        if match is None and (media != "text/html" or self.declared_xml):
            match = _ENTITY_ROOT.search(self.start)
        return match[1].lower().decode() if match else ""


class Reader(Protocol):
    """Reads documents of some kinds."""

    def sniff(self, content: Content) -> str:
        """The kind of document, if it is one of this reader's; otherwise empty. Asked of every body: be quick."""

    def read(self, content: Content, document: Document) -> None:
        """Fill `document`, which has its kind and media type. Never raises, whatever the body holds."""


class _Registered(NamedTuple):
    priority: int
    reader: Reader


_registered: list[_Registered] = []


def register(reader: Reader, priority: int = 100) -> None:
    """From now on `reader` is asked for every body; of those that want one, the first in order of priority gets it."""
    _registered.append(_Registered(priority, reader))
    _registered.sort(key=lambda one: -one.priority)


@cache
def load_all() -> None:
    """Import our readers and those of other rooms, which register themselves."""
    for name in ("css", "feeds", "html", "modules", "office", "pdf", "sitemaps", "svg", "text"):
        importlib.import_module(f"hemeroteca.extract.{name}")
    for path in sorted(Path(__file__).parents[1].glob("*/reader.py")):
        importlib.import_module(f"hemeroteca.{path.parent.name}.reader")


def unregister(reader: Reader) -> None:
    _registered[:] = [one for one in _registered if one.reader is not reader]


def read(
    body: bytes,
    content_type: str,
    url: str,
    *,
    limits: Limits = _DEFAULTS,
    want_context: bool = False,
    content_language: str = "",
    place: Place | None = None,
) -> Document:
    """Everything worth knowing about a body whose Content-Encoding has been undone (`decode_body`).

    `content_type` is the header as sent (it may be wrong or empty), `content_language` likewise. With `want_context`
    each link carries the text around its anchor. With `place` the document may say where its links lead.
    """
    content = Content(
        body=body,
        content_type=content_type,
        url=url,
        limits=limits,
        language=content_language,
        want_context=want_context,
        place=place,
    )
    document = Document(media_type=content.media_type, notes=[])
    if body.startswith(_GZIP):  # sitemap.xml.gz and the like: compressed by the author, not by the server
        body, note = decode_body(body, "gzip", limits.xml_bytes)
        if note:
            document.note(note)
        if body.startswith((_GZIP, b"%PDF-", b"PK\x03\x04")):
            return document
        content = Content(
            body=body,
            content_type="",
            url=url,
            limits=limits,
            language=content_language,
            want_context=want_context,
            place=place,
        )
    reader, kind = _choose(content)
    if reader is not None:
        document.kind = kind
        reader.read(content, document)
    if _STYLED in content.start:
        _add_stylesheets(content, document)
    return document


def kind_of(body: bytes, content_type: str, url: str) -> str:
    """What `Document.kind` would be; gzip: to be unpacked first."""
    return "gzip" if body.startswith(_GZIP) else _choose(Content(body, content_type, url))[1]


def media_type(content_type: str) -> str:
    """`text/html` of `Text/HTML; charset=utf-8`."""
    return content_type.partition(";")[0].strip().lower()[:100]


def _add_stylesheets(content: Content, document: Document) -> None:
    """What shows an XML document of any kind: SVG, XHTML, a feed."""
    found = [double or single for double, single in _STYLESHEET.findall(content.start)]
    hrefs = [unescape(href.decode("utf-8", "replace")).partition("#")[0] for href in found]
    if any(hrefs):
        document.links = [*document.links, *(Link(href, "requisite") for href in hrefs if href)]
        document.leads = None


def _choose(content: Content) -> tuple[Reader | None, str]:
    load_all()
    for _, reader in _registered:
        kind = reader.sniff(content)
        if kind:
            return reader, kind
    return None, "other"

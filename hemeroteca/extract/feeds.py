"""Feeds (RSS 0.9 to 2.0, Atom, JSON Feed): their entries as links with titles and dates."""

import re
from dataclasses import dataclass, field
from html import unescape
from typing import Any

import msgspec

from hemeroteca.extract import dates, language, xml
from hemeroteca.extract.document import Document, Limits, Link, names
from hemeroteca.extract.readers import Content, register

TYPES = frozenset(("application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"))

JSON_BYTES = 8 << 20
JSON_NODES = 200_000
SUMMARY_CHARS = 2000

_TAG = re.compile(r"<[^<>]*+>")
_DATES = names("pubdate date updated published modified issued")
_SUMMARIES = names("description summary content encoded subtitle tagline")


class FeedReader:
    """A link per entry (title, date), the feed's title, and the summaries as text."""

    def sniff(self, content: Content) -> str:
        media = content.media_type
        if media == "text/html" and content.start.startswith(b"<!"):
            return ""  # nearly every page
        if media in TYPES or content.root in ("rss", "feed", "rdf"):
            return "feed"
        json = media == "application/json" or media.endswith("+json")
        return "feed" if json and b"jsonfeed.org/version" in content.start else ""

    def read(self, content: Content, document: Document) -> None:
        if content.start.lstrip().startswith(b"{"):
            _read_json(content.body, document, content.limits)
        else:
            handler = _Handler(document, content.limits)
            xml.parse(content.body, content.content_type, document, content.limits, handler)
            handler.finish()
        document.language = language.detect(document.main, document.language or content.language)


@dataclass(slots=True)
class _Entry:
    title: str = ""
    address: str = ""
    summary: str = ""
    guid: str = ""
    date: int = 0
    enclosures: list[str] = field(default_factory=list)


class _Collector:
    """Entries to links and text, within the limits."""

    def __init__(self, document: Document, limits: Limits) -> None:
        self.document = document
        self.limits = limits
        self.texts: list[str] = []
        self.titles: list[str] = []
        self.room = limits.text_chars

    def link(self, address: str, kind: str, text: str = "", date: int = 0) -> bool:
        address = address.partition("#")[0].strip()
        if not address:
            return True
        if len(self.document.links) >= self.limits.links:
            self.document.note("links-cut")
            return False
        if len(address) > self.limits.href_chars:
            self.document.note("href-too-long")
        else:
            self.document.links.append(Link(address, kind, text[: self.limits.anchor_chars], modified=date))
        return True

    def entry(self, entry: _Entry) -> bool:
        title, summary = _plain(entry.title), _plain(entry.summary)
        guid = entry.guid if entry.guid.startswith(("http://", "https://")) else ""
        for piece in (title, summary):
            if piece and self.room > 0:
                self.texts.append(piece[: self.room])
                self.room -= len(piece) + 1
                if self.room <= 0:
                    self.document.note("text-cut")
        if title and len(self.titles) < 200:
            self.titles.append(title[: self.limits.anchor_chars])
        going_on = self.link(entry.address or guid, "page", title, entry.date)
        for enclosure in entry.enclosures[:20]:
            going_on = going_on and self.link(enclosure, "requisite")
        return going_on

    def finish(self) -> None:
        document = self.document
        document.text = document.main = "\n".join(self.texts)[: self.limits.text_chars]
        document.headings = "\n".join(self.titles)[: self.limits.headings_chars]
        document.title = document.title[: self.limits.line_chars]
        document.published = document.published or max((link.modified for link in document.links), default=0)


class _Handler(_Collector, xml.Handler):
    def __init__(self, document: Document, limits: Limits) -> None:
        super().__init__(document, limits)
        self.current: _Entry | None = None
        self.path: list[str] = []

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        self.path.append(name)
        if name in ("item", "entry"):
            self.current = _Entry()
        elif name == "link" and attributes.get("href"):
            self.atom_link(attributes)
        elif name in ("enclosure", "content", "thumbnail") and self.current is not None:
            address = attributes.get("url") or attributes.get("src")
            if address:
                self.current.enclosures.append(address)
        elif name == "guid" and self.current is not None and attributes.get("isPermaLink", "").lower() == "false":
            self.current.guid = "-"  # not an address, whatever it looks like
        language = attributes.get("{http://www.w3.org/XML/1998/namespace}lang")
        if language and not self.document.language:
            self.document.language = language[:20]

    def atom_link(self, attributes: dict[str, str]) -> None:
        rel = attributes.get("rel", "alternate")
        address = attributes["href"]
        if self.current is None:
            if rel in ("next", "prev-archive", "self"):
                self.link(address, "feed")
            elif rel == "alternate":
                self.link(address, "page", self.document.title)
        elif rel == "alternate":
            self.current.address = self.current.address or address
        elif rel == "enclosure":
            self.current.enclosures.append(address)

    def end(self, name: str, text: str) -> None:
        self.path.pop()
        parent = self.path[-1] if self.path else ""
        entry = self.current
        if name in ("item", "entry"):
            self.current = None
            if entry is not None and not self.entry(entry):
                raise xml.EnoughError
        elif not text:
            return
        elif entry is None:
            self.about_the_feed(name, parent, text)
        elif parent in ("item", "entry"):
            if name == "title":
                entry.title = text
            elif name == "link":
                entry.address = entry.address or text
            elif name in ("guid", "id") and not entry.guid:
                entry.guid = text
            elif name in _DATES:
                entry.date = max(entry.date, dates.to_ms(text))
            elif name in _SUMMARIES and len(text) > len(entry.summary):
                entry.summary = text

    def about_the_feed(self, name: str, parent: str, text: str) -> None:
        document = self.document
        if parent in ("channel", "feed"):
            if name == "title":
                document.title = document.title or _plain(text)
            elif name == "link":
                self.link(text, "page", document.title)
            elif name in ("description", "subtitle", "tagline"):
                document.description = document.description or _plain(text)[: self.limits.description_chars]
            elif name == "language":
                document.language = document.language or text[:20]
            elif name in ("lastbuilddate", "pubdate", "updated", "date"):
                document.published = document.published or dates.to_ms(text)
        elif name == "name" and parent == "author":
            document.author = document.author or _plain(text)[: self.limits.line_chars]


def _read_json(body: bytes, document: Document, limits: Limits) -> None:
    document.charset = "utf-8"
    if len(body) > JSON_BYTES or body.count(b"{") + body.count(b"[") > JSON_NODES:
        document.note("json-too-long")
        return
    try:
        feed: Any = msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, RecursionError):
        document.note("bad-json")
        return
    if not isinstance(feed, dict):
        document.note("bad-json")
        return
    collector = _Collector(document, limits)
    document.title = _plain(_text(feed, "title"))
    document.description = _plain(_text(feed, "description"))[: limits.description_chars]
    document.language = _text(feed, "language")[:20]
    collector.link(_text(feed, "home_page_url"), "page", document.title)
    collector.link(_text(feed, "next_url"), "feed")
    items = feed.get("items")
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict):
            continue
        entry = _Entry(_text(item, "title"), _text(item, "url") or _text(item, "external_url"))
        entry.summary = _text(item, "content_text") or _text(item, "content_html") or _text(item, "summary")
        entry.date = max(0, dates.to_ms(_text(item, "date_modified") or _text(item, "date_published")))
        if not collector.entry(entry):
            break
    collector.finish()


def _text(table: dict[Any, Any], name: str) -> str:
    value = table.get(name)
    return value if isinstance(value, str) else ""


def _plain(text: str) -> str:
    """The words of a title or summary that may be HTML, escaped HTML or text."""
    text = text[: 4 * SUMMARY_CHARS]
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "&" in text:
        text = unescape(text)
    return " ".join(text.split())[:SUMMARY_CHARS]


register(FeedReader(), priority=45)

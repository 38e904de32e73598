"""What a body is: its Content-Type where that can be believed, otherwise its first bytes."""

import re

from hemeroteca.extract.words import words

SNIFF = 1024

_FEED_TYPES = words("application/rss+xml application/atom+xml application/feed+json application/rdf+xml")
_XML_ROOT = re.compile(
    rb"^\s*(?:<\?xml[^>]{0,300}>\s*)?(?:<\?[^>]{0,300}>\s*|<!--.{0,600}?-->\s*|<!DOCTYPE[^\[>]{0,300}(?:\[|>)\s*)*"
    rb"<(?:[\w-]{1,20}:)?([\w-]{1,40})",
    re.S | re.I,
)
_ROOT_KINDS = {
    b"rss": "feed",
    b"feed": "feed",
    b"rdf": "feed",
    b"urlset": "sitemap",
    b"sitemapindex": "sitemap",
    b"html": "xhtml",
}
_HTML_START = re.compile(
    rb"^(?:\s|<!--.{0,600}?-->|<\?xml[^>]{0,300}>)*"
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|p|div|table|h1|a|br)[\s>]",
    re.S | re.I,
)
_ENTITY_ROOT = re.compile(rb"<(?:[\w-]{1,20}:)?(rss|feed|urlset|sitemapindex)[\s>]", re.I)


def media_type(content_type: str) -> str:
    """`text/html` of `Text/HTML; charset=utf-8`."""
    return content_type.partition(";")[0].strip().lower()[:100]


def kind_of(body: bytes, media: str, url: str) -> str:
    """html, xhtml, pdf, feed, sitemap, text, css, an office kind, gzip (to be unpacked first) or other."""
    start = body[:SNIFF]
    if start.startswith(b"%PDF-") or (media == "application/pdf" and b"%PDF-" in start):
        return "pdf"
    if start.startswith(b"PK\x03\x04"):
        return _office_kind(body)
    if start.startswith(b"\x1f\x8b"):
        return "gzip"
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        start = start.replace(b"\0", b"")[2:]
    elif start.startswith(b"\xef\xbb\xbf"):
        start = start[3:]
    if media == "text/html":
        # Feeds and sitemaps are often sent as HTML; nothing else begins like them.
        return _xml_kind(start) if start.lstrip()[:5] in (b"<?xml", b"<rss ", b"<feed", b"<urls", b"<site") else "html"
    if media == "application/xhtml+xml":
        return "xhtml"
    if media == "text/css":
        return "css"
    if media in _FEED_TYPES:
        return "feed"
    if media == "application/json" or media.endswith("+json"):
        return "feed" if b"jsonfeed.org/version" in start else "other"
    if media in ("text/xml", "application/xml") or media.endswith("+xml"):
        kind = _xml_kind(start)
        return "other" if kind == "html" else kind
    if media == "text/plain":
        return "sitemap" if _is_text_sitemap(start, url) else "text"
    if media in ("", "application/octet-stream", "unknown/unknown", "application/unknown", "application/x-gzip"):
        return _unnamed_kind(start, url)
    return "other"


def _office_kind(body: bytes) -> str:
    """By what the ZIP file holds: servers send these as anything. Never by name: a .docx may be a page that says no."""
    if body[30:38] == b"mimetype":  # OpenDocument and epub begin with their type, as it is
        declared = body[38 : 38 + 60]
        return next((kind for name, kind in _DECLARED if declared.startswith(name)), "other")
    names = body[:4096] + body[-_DIRECTORY:]
    return next((kind for part, kind in _MAIN_PARTS if part in names), "other")


_DIRECTORY = 256 << 10  # the names stand once more at the end
_DECLARED = (
    (b"application/epub+zip", "epub"),
    (b"application/vnd.oasis.opendocument.text", "odt"),
    (b"application/vnd.oasis.opendocument.spreadsheet", "ods"),
    (b"application/vnd.oasis.opendocument.presentation", "odp"),
)
_MAIN_PARTS = (
    (b"word/document.xml", "docx"),
    (b"ppt/presentation.xml", "pptx"),
    (b"xl/workbook.xml", "xlsx"),
    (b"META-INF/container.xml", "epub"),
)


def _xml_kind(start: bytes) -> str:
    match = _XML_ROOT.match(start) or _ENTITY_ROOT.search(start)
    if not match:
        return "html"
    return _ROOT_KINDS.get(match[1].lower(), "other" if b"<?xml" in start[:100] else "html")


def _unnamed_kind(start: bytes, url: str) -> str:
    if _HTML_START.match(start):
        return "html"
    if start.lstrip().startswith(b"<"):
        kind = _xml_kind(start)
        return "other" if kind == "html" else kind
    if b"\0" in start:
        return "other"
    if _is_text_sitemap(start, url):
        return "sitemap"
    return "text" if start and not re.search(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", start) else "other"


def _is_text_sitemap(start: bytes, url: str) -> bool:
    """A list of addresses, and an address that says so: any list of links would do otherwise."""
    if "sitemap" not in url.lower():
        return False
    lines = [line for line in start.split(b"\n")[:5] if line.strip()]
    return bool(lines) and all(line.strip().lower().startswith((b"http://", b"https://")) for line in lines)

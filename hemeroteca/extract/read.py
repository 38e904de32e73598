"""`read`: one body to one `Document`."""

from hemeroteca.extract import charset, css, feeds, kinds, language, office, pdf, plain, sitemaps
from hemeroteca.extract.decode import decode_body
from hemeroteca.extract.document import Document, Limits, Place
from hemeroteca.extract.html import read_html

_DEFAULTS = Limits()


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
    each link carries the text around its anchor, at some cost. With `place` the document may say where its links lead.
    """
    media = kinds.media_type(content_type)
    kind = kinds.kind_of(body, media, url)
    document = Document(media_type=media, links=[], notes=[])
    if kind == "gzip":  # sitemap.xml.gz and the like: compressed by the author, not by the server
        body, note = decode_body(body, "gzip", limits.xml_bytes)
        if note:
            document.note(note)
        kind = kinds.kind_of(body, "", url)
        if kind in ("gzip", "pdf", *office.KINDS):
            kind = "other"
    document.kind = kind

    if kind in ("html", "xhtml"):
        if len(body) > limits.html_bytes:
            body = body[: limits.html_bytes]
            document.note("html-cut")
        text, document.charset, note = charset.to_text(body, content_type)
        if note:
            document.note(note)
        if document.charset != "utf-8" or note or body[:1] == b"\xef":
            body = text.encode("utf-8", "replace")
        del text
        read_html(body, document, limits, content_language, want_context, place)
    elif kind == "pdf":
        pdf.read_pdf(body, document, limits)
    elif kind in office.KINDS:
        office.read_office(body, document, limits)
    elif kind == "feed":
        feeds.read_feed(body, content_type, document, limits)
    elif kind == "sitemap":
        sitemaps.read_sitemap(body, content_type, document, limits)
    elif kind == "css":
        if len(body) > limits.css_bytes:
            body = body[: limits.css_bytes]
            document.note("css-cut")
        text, document.charset, _ = charset.to_text(body, content_type)
        plain.add_links(document, css.addresses(text), "requisite", limits)
    elif kind == "text":
        plain.read_text(body, content_type, document, limits)
    if kind in ("text", "pdf", "feed", *office.KINDS):
        document.language = language.detect(document.main, document.language or content_language)
    return document

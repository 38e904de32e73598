"""Sitemaps: XML, indexes of sitemaps, and plain lists of addresses (sitemaps.org)."""

from hemeroteca.extract import dates, xml
from hemeroteca.extract import text as plain_text
from hemeroteca.extract.document import Document, Limits, Link
from hemeroteca.extract.readers import UNNAMED, Content, register


class SitemapReader:
    """Pages (or further sitemaps) with their dates and priorities, alternates in other languages, pictures, videos."""

    def sniff(self, content: Content) -> str:
        if content.media_type == "text/html" and content.start.startswith(b"<!"):
            return ""
        listed = content.media_type == "text/plain" or content.media_type in UNNAMED
        return "sitemap" if content.root in ("urlset", "sitemapindex") or (listed and _is_list(content)) else ""

    def read(self, content: Content, document: Document) -> None:
        limits = content.limits
        if b"<" in content.start:
            handler = _Handler(document, limits)
            xml.parse(content.body, content.content_type, document, limits, handler)
            handler.flush()
            return
        plain_text.read_text(content.body, content.content_type, document, limits)
        document.text = document.main = document.title = ""


def _is_list(content: Content) -> bool:
    """A list of addresses, and an address that says so: any list of links would do otherwise."""
    if "sitemap" not in content.url.lower():
        return False
    lines = [line for line in content.start.split(b"\n")[:5] if line.strip()]
    return bool(lines) and all(line.strip().lower().startswith((b"http://", b"https://")) for line in lines)


class _Handler(xml.Handler):
    def __init__(self, document: Document, limits: Limits) -> None:
        self.document = document
        self.limits = limits
        self.entry: Link | None = None
        self.more: list[Link] = []  # of the same entry
        self.path: list[str] = []

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        self.path.append(name)
        if name in ("url", "sitemap"):
            self.flush()
            self.entry = Link("", "page" if name == "url" else "sitemap")
        elif name == "link" and self.entry is not None and len(self.more) < 1000:
            href = attributes.get("href", "").strip()
            if href and attributes.get("rel", "alternate") == "alternate":
                self.more.append(Link(href, "alternate", attributes.get("hreflang", "")[:20]))

    def end(self, name: str, text: str) -> None:
        self.path.pop()
        entry = self.entry
        if entry is None:
            return
        if name == "loc":
            if self.path and self.path[-1] in ("url", "sitemap"):
                entry.href = text
            else:
                self.requisite(text)  # image:loc
        elif name in ("content_loc", "thumbnail_loc"):
            self.requisite(text)
        elif name == "lastmod":
            entry.modified = max(0, dates.to_ms(text))
        elif name == "priority":
            try:
                entry.priority = min(1.0, max(0.0, float(text[:20])))
            except ValueError:
                pass
        elif name in ("url", "sitemap"):
            self.flush()

    def requisite(self, address: str) -> None:
        if address and len(self.more) < 1000:
            self.more.append(Link(address, "requisite"))

    def flush(self) -> None:
        """Add the entry that was being read; one that is cut off counts too."""
        entry, self.entry = self.entry, None
        more, self.more = self.more, []
        if entry is None or not entry.href:
            return
        for link in (entry, *more):
            if len(self.document.links) >= self.limits.links:
                self.document.note("links-cut")
                raise xml.EnoughError
            link.href = link.href.partition("#")[0]
            if len(link.href) > self.limits.href_chars:
                self.document.note("href-too-long")
            elif link.href != entry.href or link is entry:
                self.document.links.append(link)


register(SitemapReader(), priority=40)

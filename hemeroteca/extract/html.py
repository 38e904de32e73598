"""HTML to a `Document`: the hot path of the room.

One look at the bytes (`markup.prepare`), one parse, one search for all elements of interest in document order, and one
call for the text of the whole tree (`passages`).
"""

import re
from dataclasses import dataclass, field
from html import unescape
from typing import TYPE_CHECKING

from resiliparse.parse.html import ELEMENT, DOMCollection, DOMNode, HTMLTree

from hemeroteca.extract import css, dates, decode, language, link_elements, modules, native, passages
from hemeroteca.extract.document import Document, Limits, Link, Place, cut, names
from hemeroteca.extract.readers import UNNAMED, Content, register

if TYPE_CHECKING:
    from hemeroteca.extract.markup import Prepared

AGENT = "hemeroteca"  # the name by which a page can address us: <meta name="hemeroteca" content="noindex">

MAX_LANDMARKS = 64  # more is not a page but an attack on the search inside each
MAX_COPIED = 8 << 20  # characters copied for anchors and headings, which may lie inside one another

_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.I)
_REFRESH = re.compile(r"\s*[\d.]*+\s*+[;,]?+\s*+(?:url\s*+=\s*+)?+[\"']?+\s*+([^\"'\s][^\"']*)", re.I)
_UNSEEN = names("script style iframe noscript button select option label textarea")  # no text of the page
_ROOTS = names("html head body")  # which scripts show when they have done their work
_CONTENT = "main,article,h1"  # what holds it is not for sighted readers only: a dialog before it is open
MAX_ASKED = 200  # elements searched for it
_EMPTY = names("img image use source track embed input area base link meta frame")  # without text of their own
_BACKED = names("body table thead tbody tfoot tr td th")  # with a picture behind them, in old pages
_HEADINGS = ("h1", "h2", "h3")
_LANDMARKS = names("nav header footer aside main article")
_ROLES = {"navigation": "nav", "banner": "header", "contentinfo": "footer", "complementary": "aside", "main": "main"}
_NO_ENDORSEMENT = names("nofollow ugc sponsored")
_SOURCES = {  # attributes with one address that the page needs to be shown
    "img": ("src", "data-src"),
    "image": ("href",),
    "use": ("href",),
    "script": ("src",),
    "source": ("src",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "track": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "input": ("src",),
}
_PUBLISHED_NAMES = names(
    "article:published_time og:published_time datepublished date dc.date dc.date.issued dcterms.created dcterms.date "
    "citation_date citation_publication_date pubdate publishdate parsely-pub-date sailthru.date"
)
_AUTHOR_NAMES = names("author article:author dc.creator dcterms.creator citation_author parsely-author")
_PUBLISHED_JSON = re.compile(r'"datePublished"\s{0,9}:\s{0,9}"([^"]{4,40})"')
_AUTHOR_JSON = re.compile(
    r'"author"\s{0,9}:\s{0,9}\[?\s{0,9}(?:"([^"]{1,200})"|\{[^{}]{0,500}?"name"\s{0,9}:\s{0,9}"([^"]{1,200})")'
)


class HtmlReader:
    def sniff(self, content: Content) -> str:
        media = content.media_type
        if media == "application/xhtml+xml":
            return "xhtml"
        if media == "text/html":
            if not content.declared_xml:
                return "html"
            return {"html": "xhtml", "": "html"}.get(content.root, "")
        if media in UNNAMED and content.begins_as_html:
            return "html"
        return "xhtml" if content.root == "html" else ""

    def read(self, content: Content, document: Document) -> None:
        body, limits = content.body, content.limits
        if len(body) > limits.html_bytes:
            body = body[: limits.html_bytes]
            document.note("html-cut")
        body, document.charset, note = decode.to_utf8(body, content.content_type)
        if note:
            document.note(note)
        read_html(body, document, limits, content.language, content.want_context, content.place)


def read_html(
    data: bytes,
    document: Document,
    limits: Limits,
    declared_language: str,
    want_context: bool,
    place: Place | None = None,
) -> None:
    """Fill `document` from UTF-8 `data`."""
    data = css.hide(cut(data, limits, document.note))
    found = native.read(data, limits, context=want_context, place=place)
    if found is not None and _fill(document, found, data, limits, declared_language):
        return
    from hemeroteca.extract import markup

    prepared = markup.prepare(data, limits, document.note)
    if not _read_tree(prepared, document, limits, declared_language, want_context):
        # nothing is shown: scripts will show it when they have done their work
        _read_tree(prepared, document, limits, declared_language, want_context, believe_hidden=False)


def _read_tree(
    prepared: "Prepared",
    document: Document,
    limits: Limits,
    declared_language: str,
    want_context: bool,
    believe_hidden: bool = True,
) -> bool:
    """Fill `document`; False: all its text is hidden."""
    try:
        tree = HTMLTree.parse_from_bytes(prepared.data, "utf-8")
    except ValueError:
        document.note("parse-failed")
        return True
    page = _Page(document, limits)
    title = tree.title or ""
    hidden = page.walk(tree.document, prepared.selector(), believe_hidden)

    document.links = page.links
    document.title = one_line(title, limits.line_chars) or document.title
    document.headings = "\n".join(page.headings)[: limits.headings_chars]
    passages.read(tree, page.marks, document, limits, want_context)
    root = tree.document.first_element_child
    declared = (root.getattr("lang") or root.getattr("xml:lang") or "") if root is not None else ""
    document.language = language.detect(document.main, declared or declared_language)
    return bool(document.text) or not hidden


def _fill(document: Document, found: native.Read, data: bytes, limits: Limits, declared_language: str) -> bool:
    """Take what the fast path read; False: a measure against bombs or a limit must be seen to first."""
    if found.doubtful:
        from hemeroteca.extract import markup

        if markup.suspicious(data, limits):
            return False
    if found.pending or found.facts:
        page = _Page(Document(notes=[], published=document.published, author=document.author), limits)
        page.take_facts(found.facts)
        if found.pending:
            page.replay(list(found.links))
        if page.document.notes:
            return False
        document.published, document.author = page.document.published, page.document.author
        document.refresh = document.refresh or page.document.refresh
    if found.pending:
        document.links = page.links
    else:
        document.packed, document.leads = found.links, found.leads
    document.title = found.title or document.title or found.social_title
    document.description = document.description or found.description
    document.headings = found.headings
    document.text = found.text
    if found.cut:
        document.note("text-cut")
    document.main = found.text if found.main is None else found.main
    document.canonical = document.canonical or found.canonical
    document.base = document.base or found.base
    document.noindex |= found.noindex
    document.nofollow |= found.nofollow
    document.noarchive |= found.noarchive
    document.language = language.detect(document.main, found.language or declared_language)
    return True


def one_line(text: str, limit: int) -> str:
    """White space collapsed, cut at `limit`; long text is cut before any work is done on it."""
    return " ".join(text[: limit * 8].split())[:limit]


@dataclass(slots=True)
class _Page:
    """What the walk over the elements gathers."""

    document: Document
    limits: Limits
    links: list[Link] = field(default_factory=list)
    by_address: dict[str, Link] = field(default_factory=dict)  # of kind `page`
    by_href: dict[str, Link] = field(default_factory=dict)  # the same, as written
    others: set[tuple[str, str]] = field(default_factory=set)  # address and kind of all the rest
    headings: list[str] = field(default_factory=list)
    marks: passages.Marks = field(default_factory=passages.Marks)
    region: str = "main"
    copied: int = 0

    def walk(self, root: DOMNode, selector: str, believe_hidden: bool) -> bool:
        """Every element of interest, in document order, then every heading and anchor that is shown.

        Gives whether some are not.
        """
        elements: DOMCollection = root.query_selector_all(selector)
        headings: list[DOMNode] = []
        invisible: list[DOMNode] = []
        regions: list[tuple[str, DOMNode]] = []
        landmarks = asked = 0
        last = None
        for node in elements:
            if node is last:
                continue  # found by two parts of the selector
            last = node
            tag = node.tag
            handle = _HANDLERS.get(tag)
            if handle is not None:
                handle(self, node, tag)
            if tag in _EMPTY:
                continue
            if tag in _HEADINGS:
                headings.append(node)
            if tag in _BACKED:
                self.add(node.getattr("background"), "requisite")
            style = node.getattr("style")
            if believe_hidden and tag not in _ROOTS:
                silent = (node.getattr("aria-hidden") or "").lower() == "true"
                if silent and asked < MAX_ASKED:
                    asked += 1
                    silent = node.query_selector(_CONTENT) is None
                if silent or node.hasattr("hidden") or (style and css.hides(style)):
                    if style:
                        self.style(style)
                    invisible.append(node)
                    continue
            if tag in _UNSEEN:
                self.marks.hidden.append(node)
                continue
            role = node.getattr("role")
            landmark = _ROLES.get(role.lower(), tag) if role else tag
            if landmark not in _LANDMARKS:
                if style:
                    self.style(style)
                continue
            landmarks += 1
            if landmarks > MAX_LANDMARKS:
                continue
            if landmark in ("main", "article"):
                if not _in_main(node):
                    self.marks.kept.append(node)
                continue
            if landmark in ("header", "footer") and _in_main(node):
                continue  # of an article, not of the page
            self.marks.dropped.append(node)
            regions.append((landmark, node))
        if invisible:
            for node in invisible:
                node.parent.remove_child(node)
            headings = list(root.query_selector_all(",".join(_HEADINGS))) if headings else []
        for node in headings:
            self.heading(node)
        self.anchors(list(root.get_elements_by_tag_name("a")), regions)
        return bool(invisible)

    def anchors(self, anchors: list[DOMNode], landmarks: list[tuple[str, DOMNode]]) -> None:
        regions = [self.region] * len(anchors)
        reached = 0
        for landmark, node in landmarks:
            inside = node.get_elements_by_tag_name("a")
            if len(inside):
                try:
                    reached = anchors.index(inside[0], reached)
                except ValueError:
                    continue  # it is in what is not shown
                regions[reached : reached + len(inside)] = [landmark] * len(inside)
        by_href = self.by_href
        for node, region in zip(anchors, regions, strict=True):
            href = node.getattr("href")
            if href and href[0] != "#":
                link = by_href.get(href)
                if link is None or link.nofollow or not link.text:
                    self.region = region
                    self.anchor(node, href)
        self.region = "main"

    def replay(self, links: list[Link]) -> None:
        """The links as the fast path gives them, with the addresses in style sheets and the like in their places."""
        for link in links:
            if link.kind == native.CSS:
                self.style(link.href)
            elif link.kind == native.SRCSET:
                self.pictures(link.href)
            elif link.kind == native.MODULE:
                self.module(link.href)
            elif link.kind == native.REFRESH:
                self.refresh(link.href)
            elif link.kind == "page" or (link.href, link.kind) not in self.others:
                self.others.add((link.href, link.kind))
                self.links.append(link)
        if len(self.links) > self.limits.links:
            self.document.note("links-cut")

    def take_facts(self, facts: list[tuple[int, str]]) -> None:
        """Dates and authors, in the order of the page."""
        for kind, text in facts:
            if kind == native.DATE:
                self.document.published = self.document.published or dates.to_ms(text)
            elif kind == native.AUTHOR:
                self.author(text)
            else:
                self.linked_data(text)

    def anchor(self, node: DOMNode, href: str) -> None:
        link = self.by_href.get(href)
        if link is None:
            address = self.address(href)
            if not address:
                return
            link = self.by_address.get(address)
            if link is None:
                if len(self.links) >= self.limits.links:
                    self.document.note("links-cut")
                    return
                rel = node.getattr("rel")
                link = Link(address, "page", self.anchor_text(node), bool(rel) and _unendorsed(rel), self.region)
                self.by_href[href] = self.by_address[address] = link
                self.links.append(link)
                self.marks.anchors.append((node, link))
                return
            self.by_href[href] = link
        if link.nofollow:
            link.nofollow = _unendorsed(node.getattr("rel") or "")
        if not link.text:
            link.text = self.anchor_text(node)
            if link.text:
                self.marks.anchors.append((node, link))

    def anchor_text(self, node: DOMNode) -> str:
        text = one_line(self.text_of(node), self.limits.anchor_chars)
        if text:
            return text
        image = node.query_selector("[alt]")
        label = (image.getattr("alt") if image is not None else None) or node.getattr("title")
        return one_line(label or "", self.limits.anchor_chars)

    def text_of(self, node: DOMNode) -> str:
        if self.copied > MAX_COPIED:
            self.document.note("anchor-texts-cut")
            return ""
        text: str = node.text
        self.copied += len(text)
        return text

    def address(self, value: str | None) -> str:
        """An address that may lead somewhere, without its fragment; otherwise empty."""
        if not value:
            return ""
        if "#" in value:
            value = value[: value.index("#")]
        value = value.strip(" \t\n\r\f")
        if ":" in value and _OTHER_SCHEME.match(value):
            return ""
        if len(value) > self.limits.href_chars:
            self.document.note("href-too-long")
            return ""
        return value

    def add(self, value: str | None, kind: str, text: str = "") -> str:
        address = self.address(value)
        if address and (address, kind) not in self.others:
            if len(self.links) >= self.limits.links:
                self.document.note("links-cut")
            else:
                self.others.add((address, kind))
                self.links.append(Link(address, kind, text, region=self.region))
        return address

    def style(self, sheet: str) -> None:
        if len(sheet) > self.limits.css_bytes:
            sheet = sheet[: self.limits.css_bytes]
            self.document.note("css-cut")
        for address in css.addresses(sheet):
            self.add(address, "requisite")

    def pictures(self, srcset: str | None) -> None:
        for address in link_elements.srcset(srcset) if srcset else ():
            self.add(address, "requisite")

    def module(self, script: str) -> None:
        for address in modules.imported(script, self.document.note):
            self.add(address, "requisite")

    def on_area(self, node: DOMNode, tag: str) -> None:
        self.anchor(node, node.getattr("href") or "")

    def on_frame(self, node: DOMNode, tag: str) -> None:
        self.add(node.getattr("src"), "frame")

    def on_source(self, node: DOMNode, tag: str) -> None:
        for attribute in _SOURCES[tag]:
            self.add(node.getattr(attribute), "requisite")
        if tag in ("img", "source"):
            for attribute in ("srcset", "data-srcset"):
                self.pictures(node.getattr(attribute))
        elif tag == "script":
            kind = (node.getattr("type") or "").lower()
            if kind == "application/ld+json":
                self.linked_data(node.text)
            elif kind == "module":
                self.module(node.text)

    def on_style(self, node: DOMNode, tag: str) -> None:
        self.style(node.text)

    def on_base(self, node: DOMNode, tag: str) -> None:
        if self.document.base is None:
            self.document.base = self.address(node.getattr("href")) or None

    def heading(self, node: DOMNode) -> None:
        text = one_line(self.text_of(node), self.limits.line_chars)
        if text:
            self.headings.append(text)

    def on_time(self, node: DOMNode, tag: str) -> None:
        if not self.document.published and (node.hasattr("pubdate") or node.getattr("itemprop") == "datePublished"):
            self.document.published = dates.to_ms(node.getattr("datetime") or "")

    def on_link(self, node: DOMNode, tag: str) -> None:
        rels = (node.getattr("rel") or "").lower().split()
        if not rels:
            return
        href = node.getattr("href")
        kind = link_elements.kind_of(rels, node.getattr("type") or "")
        if kind == "canonical":
            self.document.canonical = self.document.canonical or self.add(href, kind) or None
        elif kind == "feed":
            self.add(href, kind, one_line(node.getattr("title") or "", self.limits.anchor_chars))
        elif kind == "alternate" and "alternate" in rels:
            self.add(href, kind, one_line(node.getattr("hreflang") or "", 20))
        elif kind == "page":
            address = self.address(href)
            if address and address not in self.by_address and len(self.links) < self.limits.links:
                self.by_address[address] = link = Link(address, kind, region="nav")
                self.links.append(link)
        elif kind:
            self.add(href, kind)
        if kind == "requisite":
            self.pictures(node.getattr("imagesrcset"))

    def on_meta(self, node: DOMNode, tag: str) -> None:
        name = (node.getattr("name") or node.getattr("property") or node.getattr("itemprop") or "").lower()
        content = node.getattr("content") or ""
        document = self.document
        if not name:
            if (node.getattr("http-equiv") or "").lower() == "refresh":
                self.refresh(content)
        elif name in ("robots", AGENT):
            words = set(content.lower().replace(",", " ").split())
            none = "none" in words
            document.noindex |= none or "noindex" in words
            document.nofollow |= none or "nofollow" in words
            document.noarchive |= "noarchive" in words
        elif name in ("description", "og:description"):
            document.description = document.description or one_line(content, self.limits.description_chars)
        elif name == "og:title":
            document.title = document.title or one_line(content, self.limits.line_chars)
        elif name in _PUBLISHED_NAMES:
            document.published = document.published or dates.to_ms(content)
        elif name in _AUTHOR_NAMES:
            self.author(content)

    def author(self, content: str) -> None:
        author = one_line(content, self.limits.line_chars)
        if not author.startswith(("http:", "https:")):
            self.document.author = self.document.author or author

    def refresh(self, content: str) -> None:
        match = _REFRESH.match(content[: self.limits.href_chars])
        if match and self.document.refresh is None:
            self.document.refresh = self.add(match[1], "redirect") or None

    def linked_data(self, text: str) -> None:
        """Date and author from JSON-LD, by pattern: half of it in the wild is not valid JSON."""
        text = text[: 64 << 10]
        if not self.document.published and (match := _PUBLISHED_JSON.search(text)):
            self.document.published = dates.to_ms(match[1])
        if not self.document.author and (match := _AUTHOR_JSON.search(text)):
            self.document.author = one_line(unescape(match[1] or match[2]), self.limits.line_chars)


def _unendorsed(rel: str) -> bool:
    return not _NO_ENDORSEMENT.isdisjoint(rel.lower().split())


def _in_main(node: DOMNode) -> bool:
    parent = node.parent
    while parent is not None and parent.type == ELEMENT:
        if parent.tag in ("main", "article") or parent.getattr("role") == "main":
            return True
        parent = parent.parent
    return False


_HANDLERS = {
    **dict.fromkeys(_SOURCES, _Page.on_source),
    "area": _Page.on_area,
    "iframe": _Page.on_frame,
    "frame": _Page.on_frame,
    "style": _Page.on_style,
    "base": _Page.on_base,
    "time": _Page.on_time,
    "link": _Page.on_link,
    "meta": _Page.on_meta,
}


register(HtmlReader(), priority=30)

"""A version of a page, and the parts it is taken into: what `compare` and the diffs look at.

HTML is parsed once; its parts are kept as they stand in the page. Noise is removed later and only from what differs,
which gives the same answer for a fraction of the work.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import compress, islice, repeat
from operator import attrgetter
from typing import cast

import msgspec
from lxml import etree, html
from resiliparse.parse.html import ELEMENT, TEXT, DOMNode, HTMLTree

from hemeroteca import extract
from hemeroteca.change import noise
from hemeroteca.change.site_rules import ChangeRules, Selectors, selectors
from hemeroteca.extract import css, decode, native
from hemeroteca.extract.document import BREAK

LIMITS = extract.Limits(html_bytes=2 << 20, html_tags=50_000, text_chars=500_000, plain_bytes=2 << 20)
MAX_LINES = 50_000
MAX_XPATH_TAGS = 20_000  # XPath may take time quadratic in the elements of a page
MAX_JSON_BYTES = 2 << 20
MAX_DEPTH = 60  # of a path, and of JSON
MAX_BANNER, MAX_MASTHEAD = 5000, 300  # characters of a question for consent; of a clock or the weather
MAX_NOTICE = 400  # characters of a banner that does not call itself one
MAX_PARTS = 50

_UNSEEN = frozenset(["script", "style", "noscript", "template", "iframe"])
_IMAGES = {"image": ("href",), "input": ("src",)}
_MEDIA = {
    "video": ("src", "poster"),
    "audio": ("src",),
    "source": ("src", "srcset"),
    "track": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "iframe": ("src",),
    "frame": ("src",),
}
_LATE = ("data-lazy-src", "data-original", "data-lazy", "data-echo")
_LATE_LOOKS = ("data-bg", "data-background-image", "data-background")
_MAY_BE_LATE = native.Signs((b"data-lazy", b"data-original", b"data-echo", b"data-srcset", b"data-b"))
_NOSCRIPT = frozenset(["noscript"])
_BOXES = frozenset(["div", "section", "aside", "dialog", "form", "p", "span"])
_BUTTONS = 'button, a[role="button"], a:not([href]), a[href^="#"], a[href^="javascript:"]'
_SAID = frozenset(["main", "article", "table", "dl"])
_MAY_HIDE = re.compile(r"none|hidden|collapse|font-size|-\d", re.I).search
_FIELDS = frozenset(["form", "input", "select", "textarea", "button"])
_LOOKS = ("bgcolor", "color", "background")
_READ = frozenset([*_IMAGES, *_MEDIA, *_FIELDS, *_UNSEEN, "img", "script", "style", "link", "meta"])
_ANCHORS = frozenset(["a", "area"])
_TAG = attrgetter("tag")
_GETATTR = DOMNode.getattr
_HIDDEN = native.Signs((b"hidden", b"HIDDEN"))
_PLAIN_KINDS = ("text", "css", "sitemap", "svg", "script")
_PLAIN_HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,100}(?:<!doctype\s{1,20}html|<html[\s>])", re.I)
_TEXTUAL = re.compile(r"^text/|[/+](?:json|xml|javascript|ecmascript|x-javascript|x-sh|yaml|x-yaml|csv|sql)$")


class Snapshot(msgspec.Struct, frozen=True):
    """A capture as it is compared: its body with Content-Encoding undone, and what the server said of it."""

    body: bytes
    content_type: str = ""
    url: str = ""
    status: int = 200
    screenshot: bytes = b""  # PNG, where a browser took one
    at_ms: int = 0  # when it was captured, where that is known


@dataclass(slots=True)
class Parts:
    """What a snapshot is made of, in the order of the document."""

    kind: str  # html, json, feed, pdf, text, binary
    passages: list[str] = field(default_factory=list)  # title, description, each block's text, with its white space
    tags: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    inline: list[str] = field(default_factory=list)  # style attributes, and what was before them
    embedded: list[str] = field(default_factory=list)  # <style>
    sheets: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)  # address, or the program itself
    fields: list[str] = field(default_factory=list)
    links: dict[str, DOMNode | None] = field(default_factory=dict)
    images: dict[str, DOMNode | None] = field(default_factory=dict)
    media: dict[str, DOMNode | None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    outside: int = 0  # passages before those of the body
    tree: HTMLTree | None = None  # without what is not shown

    def note(self, reason: str) -> None:
        if reason not in self.notes:
            self.notes.append(reason)

    @property
    def lines(self) -> list[str]:
        """The passages for reading: a line each."""
        return tidy(self.passages)


def tidy(passages: list[str]) -> list[str]:
    """Passages with single spaces; those that are nothing else are gone."""
    return list(filter(None, map(" ".join, map(str.split, passages))))


def take_apart(snapshot: Snapshot, given: ChangeRules, view: bool = True) -> Parts:
    """The parts of a snapshot that the rules leave; classes and styles only with `view`."""
    body = snapshot.body
    media = extract.media_type(snapshot.content_type)
    plainly = media == "text/html" and _PLAIN_HTML.match(body)  # as nearly always; readers of other rooms look longer
    kind = "html" if plainly else extract.kind_of(body, snapshot.content_type, snapshot.url)
    if kind in ("html", "xhtml"):
        page = Parts("html")
        _read_html(body, snapshot.content_type, given, page, view)
        return page
    if kind in ("pdf", "feed"):
        page = Parts(kind)
        document = extract.read(body, snapshot.content_type, snapshot.url, limits=LIMITS)
        page.notes = document.notes
        page.passages = _cut(f"{document.title}\n{document.text}", page).split("\n", MAX_LINES)
        if kind == "feed":
            page.passages += [f"{link.text} {link.href}".strip() for link in document.links if link.kind != "page"]
        page.links = {link.href: None for link in document.links}
        return page
    if kind != "gzip" and (media.endswith("json") or (not _TEXTUAL.search(media) and body[:1] in (b"{", b"["))):
        page = Parts("json")
        if _read_json(body, page):
            return page
    if kind in _PLAIN_KINDS or (kind == "other" and _TEXTUAL.search(media) and b"\0" not in body[:1024]):
        page = Parts("text")
        if len(body) > LIMITS.plain_bytes:
            body = body[: LIMITS.plain_bytes]
            page.note("text-cut")
        text, _, note = decode.to_text(body, snapshot.content_type)
        if note:
            page.note(note)
        page.passages = _cut(text, page).replace("\r\n", "\n").replace("\r", "\n").split("\n", MAX_LINES)
        return page
    return Parts("binary")


def blocks(page: Parts) -> Iterator[tuple[str, DOMNode]]:
    """Each line of an HTML page with the element that holds its first letters. Slower than `Parts.passages`."""
    root = page.tree.body if page.tree is not None else None
    if root is None:
        return
    parts: list[str] = []
    holder: DOMNode | None = None
    for node, _ in events(root):
        if node.type != TEXT:
            continue
        pieces = (node.value or "").split(BREAK)
        for number, piece in enumerate(pieces):
            if number and parts:
                line = " ".join("".join(parts).split())
                if line and holder is not None:
                    yield line, holder
                parts, holder = [], None
            if piece:
                parts.append(piece)
                if holder is None and not piece.isspace():
                    holder = node.parent
    line = " ".join("".join(parts).split())
    if line and holder is not None:
        yield line, holder


def events(root: DOMNode) -> Iterator[tuple[DOMNode, bool]]:
    """Elements and texts inside `root` in document order; elements again when they end, then with True."""
    node = root.first_child
    while node is not None:
        if node.type in (ELEMENT, TEXT):
            yield node, False
        following = node.first_child
        while following is None:
            if node.type == ELEMENT:
                yield node, True
            following = node.next
            if following is None:
                node = node.parent
                if node is None or node == root:
                    return
        node = following


def path(node: DOMNode | None) -> str:
    """Where an element stands, in names that survive changes around it: body/aside.quotes/p."""
    names: list[str] = []
    while node is not None and node.type == ELEMENT and len(names) < MAX_DEPTH:
        name = node.tag
        if name == "html":
            break
        label = noise.clean_field(node.getattr("id") or "")
        first = (node.getattr("class") or "").split(maxsplit=1)[:1]
        if label:
            name = f"{name}#{label[:40]}"
        elif first:
            name = f"{name}.{noise.clean_class(first[0])[:40]}"
        names.append(name)
        node = node.parent
    return "/".join(reversed(names))


def _read_html(body: bytes, content_type: str, given: ChangeRules, page: Parts, view: bool) -> None:
    if len(body) > LIMITS.html_bytes:
        body = body[: LIMITS.html_bytes]
        page.note("html-cut")
    body, _, note = decode.to_utf8(body, content_type)
    if note:
        page.note(note)
    from hemeroteca.extract import markup

    data = markup.prepare(css.hide(body), LIMITS, page.note).data
    ignored, kept = selectors(given.ignore), selectors(given.keep)
    if ignored.xpath or kept.xpath:
        data = _by_xpath(data, ignored.xpath, kept, page)
    try:
        tree = HTMLTree.parse_from_bytes(data, "utf-8")
        if kept and not kept.xpath:
            tree = HTMLTree.parse(_outermost(tree, kept.css))
    except ValueError:
        page.note("parse-failed")
        return
    page.tree = tree
    document = tree.document
    if ignored.css:
        _remove(document, ignored.css)
    if given.noise and (selector := noise.advertisements(data)):
        _remove(document, selector)
    if given.noise:
        _remove_visit_parts(document, *noise.visit_parts(data))
    late = _MAY_BE_LATE.are_in(data)
    unseen = _read_elements(document, page, late)
    if view:
        _read_looks(document, page, late)
    for node in unseen:
        node.parent.remove_child(node)
    if _HIDDEN.are_in(data):
        _remove(document, "[hidden]")
    _remove_unseen(document)
    title = " ".join((tree.title or "").split())[:500]
    root = tree.body
    raw: str = root.text if root is not None else ""
    if title and not kept:
        page.passages.insert(0, title)
    page.outside = len(page.passages)
    page.passages += _cut(raw, page).split(BREAK, MAX_LINES)


def _read_elements(document: DOMNode, page: Parts, late: bool) -> list[DOMNode]:
    """Fill the page; returns the elements whose text nobody sees."""
    nodes = list(document.get_elements_by_tag_name("*"))
    tags = list(map(_TAG, nodes))
    page.tags = tags if "noscript" not in tags else _shown_tags(document, nodes)
    page.links = _with_address(list(compress(nodes, map(_ANCHORS.__contains__, tags))), "href")
    images = page.images
    unseen: list[DOMNode] = []
    for node, tag in compress(zip(nodes, tags, strict=True), map(_READ.__contains__, tags)):
        if tag == "img":  # the many
            # a picture that is loaded late has a stand-in as its `src`
            address = node.getattr("data-src") or (_late(node) if late else "") or node.getattr("src")
            if not address or address.startswith("data:"):  # else `srcset` names other sizes of the same picture
                address = next(iter((node.getattr("srcset") or "").split(maxsplit=1)), address)
            if address:
                images[address] = node
            continue
        if tag in _UNSEEN:
            unseen.append(node)
        if tag in _IMAGES:
            for name in _IMAGES[tag]:
                if address := node.getattr(name):
                    images[address] = node
        if tag in _MEDIA:
            for name in _MEDIA[tag]:
                if address := node.getattr(name):
                    page.media[address] = node
        elif tag == "script":
            page.scripts.append(node.getattr("src") or node.text)
        elif tag == "style":
            page.embedded.append(node.text)
        elif tag == "link":
            if "stylesheet" in (node.getattr("rel") or "").lower():
                page.sheets.append(node.getattr("href") or "")
        elif tag == "meta" and (node.getattr("name") or "").lower() == "description":
            page.passages.append((node.getattr("content") or "")[:1000])
        elif tag in _FIELDS:
            kind = (node.getattr("type") or node.getattr("method") or "").lower()
            page.fields.append(f"{tag} {kind} {node.getattr('name') or ''}")
    return unseen


def _late(node: DOMNode) -> str | None:
    found = next(filter(None, map(node.getattr, _LATE)), None)
    return found or next(iter((node.getattr("data-srcset") or "").split(maxsplit=1)), None)


def _shown_tags(document: DOMNode, nodes: list[DOMNode]) -> list[str]:
    """Without what is for browsers without scripts: copies of pictures that are loaded late."""
    left_out = Counter[str]()
    for node in document.query_selector_all("noscript, noscript *"):
        left_out[node.tag] += 1
    tags: list[str] = []
    for node in nodes:
        tag = node.tag
        if left_out[tag] and (tag == "noscript" or _within(node, _NOSCRIPT)):
            left_out[tag] -= 1
        else:
            tags.append(tag)
    return tags


def _within(node: DOMNode, names: frozenset[str]) -> bool:
    """Whether one of the elements around it has one of these names."""
    above: DOMNode | None = node.parent
    for _ in range(MAX_DEPTH):
        if above is None or above.type != ELEMENT:
            return False
        if above.tag in names:
            return True
        above = above.parent
    return False


def is_said(node: DOMNode) -> bool:
    """Whether what stands there is what the page is about, not its masthead."""
    return _within(node, _SAID) or node.tag in _SAID


def _remove_visit_parts(document: DOMNode, consent: str, masthead: str) -> None:
    """What belongs to the visit, not to the page: see noise.visit_parts. Never what the page is about."""
    for selector, most in ((consent, MAX_BANNER), (masthead, MAX_MASTHEAD)):
        for node in islice(document.query_selector_all(selector), MAX_PARTS) if selector else ():
            if node.parent is None or node.tag in ("html", "body") or is_said(node):
                continue
            text = node.text
            if len(text) <= most and (selector is masthead or noise.asks_consent(text)):
                node.parent.remove_child(node)
    for button in islice(document.query_selector_all(_BUTTONS), MAX_PARTS) if consent else ():
        if button.tag == "a" and not noise.accepts(button.text):
            continue
        node = button.parent
        while node is not None and node.tag in _BOXES and len(text := node.text) <= MAX_NOTICE and not is_said(node):
            if noise.tells_of_cookies(text):
                node.parent.remove_child(node)
                break
            node = node.parent


def _remove_unseen(document: DOMNode) -> None:
    """What an attribute `style` hides."""
    for node in document.query_selector_all("[style]"):
        style = node.getattr("style") or ""
        if _MAY_HIDE(style) and css.hides(style) and node.parent is not None and node.tag not in ("html", "body"):
            node.parent.remove_child(node)


def _with_address(nodes: list[DOMNode], name: str) -> dict[str, DOMNode | None]:
    """By the value of an attribute, where it has one; of equal ones the last."""
    found: dict[str | None, DOMNode | None] = dict(zip(map(_GETATTR, nodes, repeat(name)), nodes, strict=True))
    found.pop(None, None)
    found.pop("", None)
    return cast(dict[str, DOMNode | None], found)


def _read_looks(document: DOMNode, page: Parts, late: bool) -> None:
    page.classes = [node.class_name for node in document.query_selector_all("[class]")]
    page.inline = _values(document, "style")
    for name in _LATE_LOOKS if late else ():
        page.inline += [f"background-image:url({value})" for value in _values(document, name)]
    if "font" in page.tags or "table" in page.tags:  # pages from before style sheets
        page.inline += [f"{name}:{value}" for name in _LOOKS for value in _values(document, name)]


def _values(document: DOMNode, name: str) -> list[str]:
    return [node.getattr(name) or "" for node in document.query_selector_all(f"[{name}]")]


def _remove(document: DOMNode, selector: str) -> None:
    for node in document.query_selector_all(selector):
        parent = node.parent
        if parent is not None:
            parent.remove_child(node)  # stays alive in the document: others in the list may lie inside it


def _outermost(tree: HTMLTree, selector: str) -> str:
    """The elements a selector finds, without those inside another of them."""
    parts: list[str] = []
    skip = 0
    for node in tree.document.query_selector_all(selector):
        if skip:
            skip -= 1
            continue
        skip = len(node.query_selector_all(selector))
        parts.append(node.html)
    return f"<body>{BREAK.join(parts)}</body>"


def _by_xpath(data: bytes, ignored: tuple[etree.XPath, ...], kept: Selectors, page: Parts) -> bytes:
    if data.count(b"<") > MAX_XPATH_TAGS:
        page.note("xpath-not-used")
        return data
    try:
        root = html.document_fromstring(data, parser=html.HTMLParser(encoding="utf-8", recover=True))
        for found in _elements(root, ignored):
            if found.getparent() is not None:
                found.drop_tree()
        if kept:
            chosen = _elements(root, kept.xpath)
            if kept.css:
                tree = HTMLTree.parse_from_bytes(etree.tostring(root, method="html", encoding="utf-8"), "utf-8")
                extra = _outermost(tree, kept.css)
            else:
                extra = ""
            inside = set(chosen)
            outer = [node for node in chosen if not any(above in inside for above in node.iterancestors())]
            parts = [etree.tostring(node, method="html", encoding="utf-8", with_tail=False) for node in outer]
            return b"<body>" + BREAK.encode().join([*parts, extra.encode()]) + b"</body>"
        return etree.tostring(root, method="html", encoding="utf-8")
    except (etree.LxmlError, ValueError, TypeError, AssertionError):
        page.note("xpath-not-used")
        return data


def _elements(root: html.HtmlElement, paths: tuple[etree.XPath, ...]) -> list[html.HtmlElement]:
    found: list[html.HtmlElement] = []
    for one in paths:
        result = one(root)
        if isinstance(result, list):
            found += [node for node in result if isinstance(node, html.HtmlElement)]
    return found


def _cut(text: str, page: Parts) -> str:
    if len(text) > LIMITS.text_chars:
        page.note("text-cut")
    return text[: LIMITS.text_chars]


def _read_json(body: bytes, page: Parts) -> bool:
    """A line per value with its place; the places are the form."""
    if len(body) > MAX_JSON_BYTES:
        return False
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    size = 0
    waiting: list[tuple[str, object, int]] = [("$", value, 0)]
    while waiting:
        place, value, depth = waiting.pop()
        if isinstance(value, dict) and value and depth < MAX_DEPTH:
            few = list(islice(value.items(), MAX_LINES))
            waiting += [(f"{place}.{str(key)[:100]}", inner, depth + 1) for key, inner in reversed(few)]
        elif isinstance(value, list) and value and depth < MAX_DEPTH:
            inside = f"{place}[]"
            waiting += [(inside, inner, depth + 1) for inner in reversed(value[:MAX_LINES])]
        else:
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            line = f"{place}: {' '.join(text[:10_000].split())}"
            line = line.encode("utf-8", "replace").decode()
            size += len(line)
            if size > LIMITS.text_chars or len(page.passages) >= MAX_LINES:
                page.note("text-cut")
                break
            page.tags.append(place)
            page.passages.append(line)
    return True

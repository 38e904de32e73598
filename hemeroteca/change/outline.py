"""The parts of a page that people may watch alone or ignore: what an element picker offers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree, html

MAX_BYTES = 512 << 10  # of a page that are looked at
MAX_ELEMENTS = 120  # offered
MAX_DEPTH = 24
MAX_TEXT = 90
_PARTS = frozenset(
    [
        *("header", "nav", "main", "article", "section", "aside", "footer", "div", "form", "table", "ul", "ol", "dl"),
        *("h1", "h2", "h3", "p", "figure", "pre", "blockquote", "span", "time", "strong", "output", "td"),
    ]
)
_MARKED = frozenset(["span", "time", "strong", "output", "td", "p", "div"])  # offered only with a name of their own
_NAME = re.compile(r"[A-Za-z_][\w-]*\Z")


@dataclass(frozen=True)
class Element:
    selector: str
    text: str  # how it begins
    depth: int


def outline(body: bytes) -> list[Element]:
    """Elements of an HTML page that can be named, in the order of the page, with how their text begins."""
    parser = html.HTMLParser(encoding="utf-8", recover=True, huge_tree=False)
    try:
        root = html.document_fromstring(body[:MAX_BYTES], parser=parser)
    except (etree.LxmlError, ValueError, AssertionError):
        return []
    found: dict[str, Element] = {}
    for element, depth in _walk(root):
        selector = _selector(element)
        text = " ".join(" ".join(element.itertext())[:2000].split())[:MAX_TEXT]
        if selector and text and selector not in found:
            found[selector] = Element(selector, text, depth)
            if len(found) >= MAX_ELEMENTS:
                break
    return list(found.values())


def _walk(root: html.HtmlElement) -> Iterator[tuple[html.HtmlElement, int]]:
    waiting = [(root, 0)]
    while waiting:
        element, depth = waiting.pop()
        if not isinstance(element.tag, str) or element.tag in ("script", "style", "head", "template", "noscript"):
            continue
        shown = element.tag in _PARTS
        if shown:
            yield element, depth
        if depth < MAX_DEPTH:
            waiting += [(child, depth + shown) for child in reversed(element)]


def _selector(element: html.HtmlElement) -> str:
    """What names it in the page: its id, its tag and classes, or its tag alone; empty when that would name too much."""
    tag = str(element.tag)
    if _NAME.match(name := element.get("id", "")):
        return f"#{name}"
    classes = [name for name in element.get("class", "").split()[:2] if _NAME.match(name)]
    if classes:
        return ".".join((tag, *classes))
    return "" if tag in _MARKED else tag

"""Rules for the elements of a site's pages: which hold its text, and which do not.

A rule names a tag, an attribute and a value, each of which may be `*`: `aside`, `div[class=teaser]`, `*[id=cookie*]`,
`*[*=advert*]`. A page is read without rules first (its links are followed wherever they stand); where its site has
rules, the text is taken again from what they leave. Sites without rules cost nothing.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec
from resiliparse.parse.html import DOMNode, HTMLTree

from hemeroteca.errors import Invalid
from hemeroteca.extract import decode
from hemeroteca.extract.document import Document, Limits
from hemeroteca.extract.html import read_html

MAX_RULES = 100
MAX_RULE = 200
_LIMITS = Limits()
_RULE = re.compile(
    r"(?P<tag>\*|[a-z][a-z0-9-]*)\s*"
    r"(?:\[\s*(?P<attribute>\*|[a-z_:][\w:.-]*)\s*(?:=\s*(?P<value>[^\]]*?)\s*)?\])?",
    re.I,
)
_MAX_TESTS = 300_000  # of elements against rules in one page: about a second


class RuleError(Invalid, ValueError):
    """A rule that cannot be read; the message says how one is written."""


class Rule(msgspec.Struct, frozen=True):
    tag: str  # small letters; * any
    attribute: str = ""  # empty: no matter which it has; * any
    value: str = "*"  # of the attribute, or one of its words; * any letters

    @property
    def selector(self) -> str:
        """CSS for the elements worth a closer look."""
        return f"{self.tag}[{self.attribute}]" if self.attribute not in ("", "*") else self.tag

    def fits(self, node: DOMNode) -> bool:
        if self.tag not in ("*", node.tag):
            return False
        if not self.attribute:
            return True
        names = node.attrs if self.attribute == "*" else (self.attribute,)
        return any(node.hasattr(name) and self._has(node.getattr(name) or "") for name in names)

    def _has(self, text: str) -> bool:
        pattern = _pattern(self.value)
        text = text[:2000].strip()
        return pattern.fullmatch(text) is not None or any(pattern.fullmatch(word) for word in text.split())


def parse(rules: Iterable[str]) -> tuple[Rule, ...]:
    """Read rules as people write them; raises RuleError."""
    given = [text.strip() for text in rules if text.strip()]
    if len(given) > MAX_RULES:
        raise RuleError(f"{len(given)} rules are too many; {MAX_RULES} are allowed")
    return tuple(_rule(text) for text in given)


def narrow(
    document: Document,
    body: bytes,
    content_type: str,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    content_language: str = "",
) -> None:
    """Take the text of an HTML `document` again by the rules of its site.

    When no element fits `include` the page is read as if there were none: a site that was redesigned must not vanish
    from the index.
    """
    if document.kind not in ("html", "xhtml"):
        return
    from hemeroteca.extract import markup

    utf8, _, _ = decode.to_utf8(body[: _LIMITS.html_bytes], content_type)
    notes: list[str] = []
    data = markup.prepare(utf8, _LIMITS, notes.append).data
    try:
        tree = HTMLTree.parse_from_bytes(data, "utf-8")
    except ValueError:
        return
    if tree.body is None:
        return
    for node in _fitting(tree.body, parse(exclude)):
        if node.parent is not None:
            node.parent.remove_child(node)
    chosen = _fitting(tree.body, parse(include))
    if include and not chosen:
        document.note("include-fits-nothing")
    if chosen:
        inside = "".join(f"<div>{_inner(node)}</div>" for node in chosen)
        page = f"<html><body><main>{inside}</main></body></html>"
    else:
        page = f"<html><body>{_inner(tree.body)}</body></html>"
    root = tree.document.first_element_child
    declared = (root.getattr("lang") or root.getattr("xml:lang") or "") if root is not None else ""
    again = Document(kind=document.kind, notes=[])
    read_html(page.encode("utf-8", "replace"), again, _LIMITS, declared or content_language, False)
    document.text, document.main = again.text, again.main
    document.headings, document.language = again.headings, again.language


def _rule(text: str) -> Rule:
    match = _RULE.fullmatch(text) if len(text) <= MAX_RULE else None
    if match is None:
        raise RuleError(f"`{text[:60]}` is not a rule; write it like nav, div[class=teaser] or *[id=cookie*]")
    value = match["value"]
    return Rule(match["tag"].lower(), (match["attribute"] or "").lower(), "*" if value is None else value.strip("\"'"))


@lru_cache(maxsize=1000)
def _pattern(value: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, re.split(r"\*+", value))), re.I | re.S)


def _fitting(body: DOMNode, rules: tuple[Rule, ...]) -> list[DOMNode]:
    """The outermost elements that fit a rule, in document order."""
    if not rules:
        return []
    selector = ",".join(dict.fromkeys(rule.selector for rule in rules))
    found: list[DOMNode] = []
    inside_until = 0
    for number, node in enumerate(_selected(body, selector)):
        if number * len(rules) > _MAX_TESTS:
            break
        if number >= inside_until and any(rule.fits(node) for rule in rules):
            found.append(node)
            inside_until = number + 1 + len(_selected(node, selector))
    return found


def _selected(node: DOMNode, selector: str) -> list[DOMNode]:
    """Each element once; the parser gives one again for every part of the selector it fits."""
    found: list[DOMNode] = []
    for element in node.query_selector_all(selector):
        if not found or element is not found[-1]:
            found.append(element)
    return found


def _inner(node: DOMNode) -> str:
    return "".join([child.html for child in node.child_nodes])

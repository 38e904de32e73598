"""The text of a page: all of it, its main content, and what stands around each anchor.

Landmarks and anchors are marked in the tree with control characters, then the text of the whole tree is taken in one
call. Both texts and all contexts are cut out of that one string, which is why a context always belongs to *its* anchor.
"""

import re
from dataclasses import dataclass, field

from resiliparse.parse.html import DOMNode, HTMLTree

from hemeroteca.extract.document import BREAK, Document, Limits, Link

# A page may contain these characters itself; it would only spoil its own main text.
_DROP, _DROP_END, _KEEP, _KEEP_END, _ANCHOR, _NUMBER_END, _ANCHOR_END = "\x01\x02\x03\x04\x05\x06\x07"
_ANCHOR_MARK = re.compile(f"{_ANCHOR}(\\d{{1,7}}){_NUMBER_END}|[{_ANCHOR}-{_ANCHOR_END}]")
_CONTEXT_MARK = re.compile(f"{_ANCHOR}(\\d{{1,7}}){_NUMBER_END}|[{_DROP}-{_ANCHOR_END}]")
_UNMARKED = dict.fromkeys(map(ord, (_KEEP, _KEEP_END)))  # an article inside navigation is navigation
_LINE_END = "\x08"  # no white space, other than a tab
MAX_MARKS = 1000

# Main content shorter than this, and than a tenth of all the text, is taken for a mistake of the page.
TOO_SHORT = 40

_BOILERPLATE = re.compile(
    r"(?:^|[\s_-])(?:nav\w*|(?:top|main|sub)?menu|side-?bar|bread-?crumbs?|footer|foot|masthead|site-header|cookies?"
    r"|consent|gdpr|share|sharing|social|related|recommend\w*|advert\w*|ads?|promo\w*|sponsor\w*|pagination|pager"
    r"|widgets?|skip-?links?|popup|modal|newsletter|subscribe|comments?)(?:$|[\s_-])",
    re.I,
)
_NAMED = "div[class],div[id],section[class],section[id],ul[class],ul[id],table[class],table[id],td[class],td[id]"
MAX_NAMED = 3000
MAX_COPIED = 8 << 20  # characters looked at to measure such elements


@dataclass(slots=True)
class Marks:
    """Elements that matter for the text, in document order."""

    dropped: list[DOMNode] = field(default_factory=list)  # navigation and the like
    kept: list[DOMNode] = field(default_factory=list)  # main, article
    hidden: list[DOMNode] = field(default_factory=list)  # scripts, styles, what is not shown
    anchors: list[tuple[DOMNode, Link]] = field(default_factory=list)


def read(tree: HTMLTree, marks: Marks, document: Document, limits: Limits, want_context: bool) -> None:
    """Fill `text` and `main` of the document, and the contexts of its links. Changes the tree."""
    body = tree.body
    if body is None:
        return
    for node in marks.hidden:
        node.parent.remove_child(node)
    for node in marks.dropped:
        _enclose(tree, node, _DROP, _DROP_END)
    for node in marks.kept:
        _enclose(tree, node, _KEEP, _KEEP_END)
    if not marks.kept:
        for node in _named_boilerplate(body):
            _enclose(tree, node, _DROP, _DROP_END)
    if want_context:
        for number, (node, _) in enumerate(marks.anchors):
            if node.tag == "a":
                _enclose(tree, node, f"{_ANCHOR}{number}{_NUMBER_END}", _ANCHOR_END)

    raw: str = body.text
    if want_context:
        _give_contexts(raw, [link for _, link in marks.anchors], limits)
        raw = _ANCHOR_MARK.sub("", raw)
    if len(raw) > 2 * limits.text_chars:
        raw = raw[: 2 * limits.text_chars]
        document.note("text-cut")
    text, main = _texts(raw)
    if len(text) > limits.text_chars:
        text, main = text[: limits.text_chars], main[: limits.text_chars]
        document.note("text-cut")
    document.text, document.main = text, main


def _texts(raw: str) -> tuple[str, str]:
    """All text and the main text, a line per block."""
    if raw.count(_DROP) + raw.count(_KEEP) > MAX_MARKS:
        for mark in (_DROP, _DROP_END, _KEEP, _KEEP_END):
            raw = raw.replace(mark, " ")
    every: list[str] = []
    kept: list[str] = []
    plain: list[str] = []
    keeping = False
    dropping = -1  # navigation inside navigation: how often
    for part in raw.split(_DROP):
        dropping += 1
        at = 0
        while dropping:
            end = part.find(_DROP_END, at)
            every.append(_lines(part[at : None if end < 0 else end].translate(_UNMARKED)))
            at = end + 1
            if end < 0:
                break
            dropping -= 1
        while at >= 0 and not dropping:
            end = part.find(_KEEP_END if keeping else _KEEP, at)
            lines = _lines(part[at : None if end < 0 else end])
            if lines:
                every.append(lines)
                (kept if keeping else plain).append(lines)
            if end >= 0:
                keeping = not keeping
            at = end + 1 or -1
    text = "\n".join(filter(None, every))
    for parts in (kept, plain):
        main = "\n".join(parts)
        if len(main) >= TOO_SHORT or len(main) * 10 >= len(text):
            return text, main
    return text, text


def _lines(raw: str) -> str:
    """White space collapsed in one go, then a line per block."""
    words = raw.replace(BREAK, _LINE_END).split()
    return "\n".join(filter(None, map(str.strip, " ".join(words).split(_LINE_END))))


def _enclose(tree: HTMLTree, node: DOMNode, before: str, after: str) -> None:
    first = node.first_child
    if first is not None:
        node.insert_before(tree.create_text_node(before), first)
    else:
        node.append_child(tree.create_text_node(before))
    node.append_child(tree.create_text_node(after))


def _named_boilerplate(body: DOMNode) -> list[DOMNode]:
    """Elements whose class or id says navigation; asked where a page has no <main> or <article> to go by."""
    found: list[DOMNode] = []
    total = copied = skip_until = 0
    for number, node in enumerate(body.query_selector_all(_NAMED)):
        if number >= MAX_NAMED or len(found) >= 100 or copied > MAX_COPIED:
            break
        if number < skip_until:
            continue
        names = f"{node.getattr('class') or ''} {node.getattr('id') or ''}"
        if not _BOILERPLATE.search(names[:300]):
            continue
        # `page-with-sidebar` names the whole page, not the sidebar
        total = total or len(body.text)
        length = len(node.text)
        copied += length + 1000
        if length * 2 < total:
            found.append(node)
            skip_until = number + 1 + len(node.query_selector_all(_NAMED))
    return found


def _give_contexts(raw: str, links: list[Link], limits: Limits) -> None:
    """Give each link the text on both sides of its own anchor, with white space collapsed."""
    flat: list[str] = []
    length = last = 0
    spaced = False
    places: list[tuple[Link, int, int]] = []  # where the text of an anchor begins and ends
    open_now: list[tuple[Link | None, int, int]] = []  # and how many pieces of text there were before

    for match in (*_CONTEXT_MARK.finditer(raw), None):
        piece = raw[last : match.start() if match else None]
        words = " ".join(piece.split())
        if words:
            if flat and (spaced or piece[0].isspace()):
                words = f" {words}"
            flat.append(words)
            length += len(words)
            spaced = False
        spaced = spaced or piece[-1:].isspace()
        if match is None:
            break
        last = match.end()
        if match[1]:
            number = int(match[1])
            open_now.append((links[number] if number < len(links) else None, length, len(flat)))
        elif match[0] == _ANCHOR_END and open_now:
            link, start, pieces = open_now.pop()
            if link is not None:
                start += flat[pieces][0] == " " if len(flat) > pieces else 0
                places.append((link, start, length))
    whole = "".join(flat)
    width = limits.context_chars
    for link, start, end in places:
        inside = whole[start : min(end, start + limits.anchor_chars)]
        link.context = f"{whole[max(0, start - width) : start]}{inside}{whole[end : end + width]}"

"""XML as geographic servers really send it, made into a tree: false byte order marks, UTF-16, text before the root,
DOCTYPE, undeclared prefixes, bare `&`.

The DOCTYPE is cut out before the parser sees it: no entity is ever declared, so none is expanded and none is fetched.
"""

import codecs
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from hemeroteca import lazy
from hemeroteca.extract import decode
from hemeroteca.extract.xml import mended_entity

etree = lazy.Module("lxml.etree")
Element: TypeAlias = Any  # lxml's; it has no types

MAX_BYTES = 64 << 20
MAX_JUNK = 4 << 10  # before the root
MAX_PROLOG = 64 << 10
MAX_LOCALS = 5_000
_LOCALS: dict[Any, str] = {}  # tag → its local name
_CONTROL = bytes(set(range(32)) - {9, 10, 13})
_NAME = re.compile(rb"<(?:([\w.-]{1,60}):)?([A-Za-z_][\w.-]{0,80})(?=[\s/>])")
_DECLARATION = re.compile(rb"<\?xml\s")
_PAGE = re.compile(rb"<(?:!doctype\s+html|html|body|head)[\s>]", re.I)
_QUOTED = re.compile(rb"\"[^\"]*\"|'[^']*'|<!--.*?-->|[\[\]>]", re.S)
_FAULT = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)(?:([a-zA-Z]{2,8});)?")
_FAULT_OR_DATA = re.compile(rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|" + _FAULT.pattern, re.S)
_DATA = b"<![CDATA["
_OPEN_QUOTE = re.compile(  # a tag whose last attribute has no second quote, or another one
    rb"(<[A-Za-z_][\w:.-]*+(?:\s++[\w:.-]++\s*+=\s*+(?:\"[^\"<]*+\"|'[^'<]*+'))*+)"
    rb"\s++[\w:.-]++\s*+=\s*+[\"'][^\"'<>]*?[\"']?(?=/?>)"
)
_COMMENT = re.compile(rb"<!--(.{0,2000}?)-->", re.S)


class Prolog(NamedTuple):
    """What stands before the root element."""

    begin: int  # of the root
    prefix: str
    name: str  # of the root, without its prefix
    comments: str
    notes: tuple[str, ...]


class Tree(NamedTuple):
    root: Element
    prolog: Prolog


def to_utf8(body: bytes, content_type: str = "") -> bytes:
    """The document in UTF-8, whatever it was in. A mark that promises UTF-16 before text that is not is a lie."""
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        if b"\0" not in body[2:42]:
            body = body[2:]
    elif b"\0" in body[:4]:  # UTF-16 without a mark, or a stray zero
        for start, name in ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"), (b"{\0", "utf-16-le"), (b"\0{", "utf-16-be")):
            if body.startswith(start) and body[2 + start.index(b"\0") :][:1] == b"\0":  # the next letter is one too
                return body.decode(name, "replace").encode("utf-8", "replace")
    return decode.to_utf8(body, content_type)[0]


def prolog(data: bytes, known: frozenset[str] = frozenset()) -> Prolog | None:
    """Where the root begins, by its name; None when this is no XML. Text that is no markup before a root is passed
    over; HTML before it only when one of the `known` roots follows and no page has begun."""
    notes: list[str] = []
    comments: list[str] = []
    at, junk = 0, 0
    end = min(len(data), MAX_PROLOG)
    while at < end:
        if data[at : at + 1].isspace() or data.startswith(b"\xef\xbb\xbf", at):
            at += 1 if data[at] != 0xEF else 3
        elif data.startswith(b"<?", at):
            close = data.find(b"?>", at)
            tag = data.find(b">", at)
            if close < 0 or close > at + 4096:
                close = tag - 1  # `<?xml …>` without its question mark
            if close < at:
                return None
            at = close + 2
        elif data.startswith(b"<!--", at):
            close = data.find(b"-->", at)
            if close < 0:
                return None
            comments.append(data[at + 4 : min(close, at + 2000)].decode("utf-8", "replace"))
            at = close + 3
            end = min(len(data), at + MAX_PROLOG)
        elif data[at : at + 9].upper() == b"<!DOCTYPE":
            close = _end_of_doctype(data, at)
            if close < 0:
                return None
            if b"<!ENTITY" in data[at:close]:
                notes.append("entities-refused: the DOCTYPE declares entities, which are not used")
            at = close
            end = min(len(data), at + MAX_PROLOG)
        elif (match := _NAME.match(data, at)) is not None:
            name = match[2].decode("ascii", "replace")
            if name not in known and known and (found := _later(data, at, known)) is not None:
                at = found
                notes.append("leading-junk")
                continue
            if name.lower() in ("html", "head", "body"):
                return Prolog(at, "", name.lower(), "", ())
            if junk:
                notes.append("leading-junk")
            return Prolog(at, (match[1] or b"").decode(), name, "\n".join(comments), tuple(notes))
        else:
            junk = junk or 1
            found_at = data.find(b"<", at + 1)
            if found_at < 0 or found_at > MAX_JUNK + 1:
                return None
            at = found_at
    return None


def parse(data: bytes, start: Prolog) -> Tree | None:
    """The tree of what begins there, as far as it makes sense; None when nothing does."""
    body = data[start.begin : start.begin + MAX_BYTES]
    body, notes = _closed(body.translate(None, _CONTROL))
    if b"&" in body:
        body = (_FAULT_OR_DATA if b"<![CDATA[" in body else _FAULT).sub(mended_entity, body)
    root, errors = _root(body)
    first = next((error for error in errors if error.level_name == "FATAL"), None)
    if first is not None:
        notes.append(f"malformed: {first.message.strip()[:120]}")
    if any(error.type_name == "ERR_LT_IN_ATTRIBUTE" for error in errors):  # all after it would be lost
        root, errors = _root(_OPEN_QUOTE.sub(rb"\1", body))
    if root is None:
        return None
    if any(error.type_name == "NS_ERR_UNDEFINED_NAMESPACE" for error in errors):
        for element in root.iter():
            tag = element.tag
            if isinstance(tag, str) and ":" in tag and tag[0] != "{":
                element.tag = tag.rpartition(":")[2]
    comments = f"{start.comments}\n{_comments(body)}"
    return Tree(root, start._replace(comments=comments, notes=(*start.notes, *notes)))


def _root(body: bytes) -> tuple[Element | None, Any]:
    """The root element as far as the rest makes sense, and what does not."""
    parser = etree.XMLParser(
        recover=True,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        encoding="utf-8",
    )
    try:
        return etree.fromstring(body, parser), parser.error_log
    except (etree.XMLSyntaxError, ValueError, AssertionError):
        return None, parser.error_log


def _closed(body: bytes) -> tuple[bytes, list[str]]:
    """Without the beginnings of CDATA sections and comments that nothing ends: they would swallow the rest."""
    notes = []
    if body.count(_DATA) > body.count(b"]]>"):
        first, *parts = body.split(_DATA)
        body = first + b"".join([_DATA + part if b"]]>" in part else part for part in parts])
        notes.append("malformed: a CDATA section without an end")
    comment = body.rfind(b"<!--")
    if comment >= 0 and body.find(b"-->", comment) < 0:
        body = body[:comment] + body[comment + 4 :]
        notes.append("malformed: a comment without an end")
    return body, notes


def local(element: Element) -> str:
    """Name without namespace."""
    tag = element.tag
    name = _LOCALS.get(tag)
    if name is None:
        name = tag.rpartition("}")[2] if isinstance(tag, str) else ""
        if len(_LOCALS) < MAX_LOCALS:
            _LOCALS[tag] = name
    return name


def namespace(element: Element) -> str:
    tag = element.tag
    return tag[1:].partition("}")[0].strip() if isinstance(tag, str) and tag[:1] == "{" else ""


def child(element: Element | None, *path: str) -> Element | None:
    """The first child of that name, and so on down the path."""
    for name in path:
        if element is None:
            return None
        element = next(element.iterchildren("{*}" + name), None)
    return element


def children(element: Element | None, name: str) -> Iterator[Element]:
    return iter(()) if element is None else element.iterchildren("{*}" + name)


def text(element: Element | None, *path: str) -> str:
    """The text of an element, or of what the path leads to; with that of elements inside it."""
    if path:
        element = child(element, *path)
    if element is None:
        return ""
    value = "".join(element.itertext()) if len(element) else element.text
    if not value:
        return ""
    if value.isprintable() and "  " not in value:  # the only space that is printable is the plain one
        return value.strip()
    return " ".join(value.split())


def texts(element: Element, names: Mapping[str, int]) -> list[str]:
    """The texts of children with these names, each at its place: one pass where `text` would take one for each."""
    found = [""] * len(names)
    for part in element:
        place = names.get(_LOCALS.get(part.tag) or local(part))
        if place is not None and not found[place]:
            found[place] = text(part) if len(part) else (part.text or "").strip()
    return found


def named(element: Element) -> Iterator[tuple[str, Element]]:
    """The children with their local names."""
    parts = element[:]
    known = _LOCALS
    return zip([known.get(part.tag) or local(part) for part in parts], parts, strict=True)


def attribute(element: Element | None, name: str) -> str:
    """By local name, whatever its namespace; capitals and small letters alike where the exact name is missing."""
    if element is None:
        return ""
    value = element.get("{http://www.w3.org/1999/xlink}href") if name == "href" else None
    if value is None:
        value = element.get(name)
    if value is None:
        for key, other in element.items():
            if key.rpartition("}")[2].rpartition(":")[2].lower() == name.lower():
                value = other
                break
    return (value or "").strip()


def _later(data: bytes, at: int, known: frozenset[str]) -> int | None:
    """A known root behind the output of a script that complained first."""
    window = data[at : at + MAX_JUNK]
    if not _is_inline(window):
        return None
    for match in re.finditer(rb"<\?xml\s|<(?:[\w.-]{1,60}:)?([A-Za-z_][\w.-]{0,80})(?=[\s/>])", window):
        if match.start() and (match[1] is None or match[1].decode("ascii", "replace") in known):
            if _PAGE.search(window, 0, match.start()):
                return None
            return at + match.start()
    return None


def _is_inline(window: bytes) -> bool:
    """It begins with a tag that no document has as its root."""
    match = _NAME.match(window)
    return match is not None and match[2].lower() in (b"br", b"b", b"p", b"font", b"i", b"pre", b"div", b"hr", b"table")


def _end_of_doctype(data: bytes, at: int) -> int:
    depth = 0
    for match in _QUOTED.finditer(data, at + 9, at + 9 + MAX_PROLOG):
        token = match[0]
        if token == b"[":
            depth += 1
        elif token == b"]":
            depth -= 1
        elif token == b">" and depth <= 0:
            return match.end()
    return -1


def _comments(body: bytes) -> str:
    """Those near the beginning: many servers name themselves there."""
    return "\n".join(match[1].decode("utf-8", "replace") for match in _COMMENT.finditer(body, 0, 4096))

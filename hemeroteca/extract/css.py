"""Style sheets: the addresses in them, `url(…)`, `@import "…"` and `"…" 2x` of an `image-set`, and what they hide."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

import re2

from hemeroteca.extract import decode, native, text
from hemeroteca.extract.document import Document
from hemeroteca.extract.readers import Content, register

# Quoted or bare; no part can run past the next quote or bracket, so the work stays linear.
_ADDRESS = re.compile(
    r"url\(\s*+(?:\"([^\"\n]{1,4096})\"|'([^'\n]{1,4096})'|([^\"'()\s][^\"'()\s]{0,4095}))\s*+\)"
    r"|@import\s++(?:\"([^\"\n]{1,4096})\"|'([^'\n]{1,4096})')"
    r"|\"([^\"\n]{1,4096})\"\s++[0-9.]++(?:x|dppx|dpi|dpcm)\b|'([^'\n]{1,4096})'\s++[0-9.]++(?:x|dppx|dpi|dpcm)\b",
    re.I,
)
_SIZE = re.compile(r"(-?)(\d*)(?:\.(\d*))?([a-z%]*)", re.A)
_FAR = {"px": 500, "em": 30, "rem": 30, "%": 100, "vw": 100, "vh": 100}  # so far beyond an edge nobody sees it
_FAR_ASIDE = {"px": 2000, "em": 100, "rem": 100}  # less is a column that is moved into its place
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))")

MAX_NAMES = 200  # of hidden classes and ids that are looked for
MAX_UNSEEN = 5000  # places where the name of something hidden occurs
MAX_TAG_HEAD = 4096  # bytes between the beginning of a tag and such a name

_STYLED = native.Signs((b"<style", b"<STYLE"))
_SHEET = re.compile(rb"<style\b([^>]{0,500})>(.*?)</style", re.I | re.S)
_MAY_HIDE = re.compile(rb"none|hidden|collapse|font-size|clip\s*:|clip-path|-\d{2}", re.I)
_VALUE = re.compile(rb"""\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)'|([^\s"'<>]+))""")
# the beginning of a tag up to a name in its class or id …
_HEAD = re.compile(rb"""(<[a-zA-Z][a-zA-Z0-9-]*)\s[^<>]*?\b(class|id)\s*=\s*(?:"[^"<>]*|'[^'<>]*|)""", re.I)

# … or up to an attribute
_HEAD_OF_ATTRIBUTE = re.compile(
    rb"""(<[a-zA-Z][a-zA-Z0-9-]*+)(?:\s++[^\s=<>"'/]++(?:\s*+=\s*+(?:"[^"<>]*+"|'[^'<>]*+'|[^\s"'<>]++))?+)*+\s++"""
)


class CssReader:
    def sniff(self, content: Content) -> str:
        return "css" if content.media_type == "text/css" else ""

    def read(self, content: Content, document: Document) -> None:
        body = content.body
        if len(body) > content.limits.css_bytes:
            body = body[: content.limits.css_bytes]
            document.note("css-cut")
        sheet, document.charset, _ = decode.to_text(body, content.content_type)
        text.add_links(document, addresses(sheet), "requisite", content.limits)


def addresses(css: str) -> Iterator[str]:
    """Every address the style sheet loads, as written, `data:` left out."""
    for match in _ADDRESS.finditer(css):
        address = match[match.lastindex or 0].strip()
        if "\\" in address:
            address = _ESCAPE.sub(_unescape, address)
        if address and address[:5].lower() != "data:" and not address.startswith("#"):
            yield address


def hides(style: str) -> bool:
    """Whether an element with this `style` is not seen: not displayed, of size 0, off the screen, or of one colour.

    Text in a box of a pixel is for people who listen, clipped or not, and what is transparent may only wait to appear:
    they count.
    """
    hidden: dict[str, bool] = {}
    empty: dict[str, bool] = {}
    colours = {"color": "", "background": ""}
    cut = clipped = placed = pixel = padded = aside = False
    for declaration in style.lower().split(";"):
        name, _, value = declaration.partition(":")
        name, value = name.strip(_WHITE), value.partition("!")[0].strip(_WHITE)
        if name == "display":
            hidden[name] = value == "none"
        elif name == "visibility":
            hidden[name] = value in ("hidden", "collapse")
        elif name == "font-size":
            hidden[name] = _is_nothing(value)
        elif name == "font":
            hidden["font-size"] = any(_is_nothing(part.partition("/")[0]) for part in _BETWEEN.split(value))
        elif name in ("left", "top", "right", "bottom", "text-indent"):
            hidden[name] = _is_far(value, _FAR)
        elif name in ("width", "height", "max-width", "max-height"):
            empty[name] = _is_nothing(value)
            pixel = pixel or value == "1px"
        elif name == "clip":
            clipped = _is_empty_rectangle(value)
        elif name == "clip-path":
            hidden[name] = _is_all_inset(value)
        elif name == "position":
            placed = value in ("absolute", "fixed")
        elif name == "margin-left":
            aside = _is_far(value, _FAR_ASIDE)
        elif name in ("padding", "padding-left"):  # together they make a background as wide as the screen
            padded = not _is_nothing(value)
        elif name == "overflow":
            cut = value in ("hidden", "clip")
        elif name in ("color", "background", "background-color"):
            colours[name.removesuffix("-color")] = _colour(value)
    alike = bool(colours["color"]) and colours["color"] == colours["background"]
    if pixel:
        hidden.pop("clip-path", None)
    else:
        hidden["clip"] = clipped and placed
    hidden["margin-left"] = aside and not padded
    return alike or any(hidden.values()) or (cut and any(empty.values()))


def _is_nothing(value: str) -> bool:
    size = _SIZE.fullmatch(value)
    return size is not None and bool(size[2]) and not (size[2] + (size[3] or "")).strip("0")


def _is_empty_rectangle(value: str) -> bool:
    """`rect(0 0 0 0)`, `rect(1px, 1px, 1px, 1px)`: without height or width."""
    edges = _arguments(value, "rect")
    if len(edges) != 4:
        return False
    top, right, bottom, left = edges
    return (top == bottom != "auto") or (right == left != "auto")


def _is_all_inset(value: str) -> bool:
    """`inset(50%)`, `inset(100%)`: nothing is left."""
    sizes = [_SIZE.fullmatch(edge) for edge in _arguments(value, "inset")]
    return bool(sizes) and all(
        size is not None and not size[1] and size[4] == "%" and int(size[2][:9] or 0) >= 50 for size in sizes
    )


def _arguments(value: str, function: str) -> list[str]:
    """Of `function(…)`; empty when it is another."""
    if not (value.startswith(function + "(") and value.endswith(")")):
        return []
    inside = value[len(function) + 1 : -1].replace(",", " ")
    return [part for part in _BETWEEN.split(inside) if part]


def _is_far(value: str, limits: dict[str, int]) -> bool:
    """So far beyond an edge nobody sees it."""
    size = _SIZE.fullmatch(value)
    far = limits.get(size[4]) if size is not None and size[1] else None
    return far is not None and size is not None and int(size[2][:9] or 0) >= far


def _colour(value: str) -> str:
    """A colour written in one way; empty for what may be any (`inherit`) or is more than a colour."""
    value = {"white": "#ffffff", "black": "#000000"}.get(value, value)
    if not value.startswith("#"):
        return ""
    return value if len(value) != len("#fff") else "#" + "".join(digit * 2 for digit in value[1:])


class Unseen(NamedTuple):
    """Classes, ids and attributes whose elements a style sheet does not show."""

    classes: frozenset[str]
    ids: frozenset[str]
    attributes: frozenset[tuple[str, str | None]]  # with a value, or whatever it is


def unseen(sheet: str) -> Unseen:
    """What a page's own style sheet hides by rules that cannot be misread: `.spam { display: none }`, `#a, div.b {…}`,
    `body .c {…}`, `[data-d] {…}`.

    A name that another rule shows again (`.tab.active { display: block }`) is not in it, nor is anything of `@media`,
    nor what hangs on where it stands (`.menu .c`).
    """
    found: dict[str, set[str]] = {".": set(), "#": set()}
    attributes: set[tuple[str, str | None]] = set()
    shown: dict[str, set[str]] = {".": set(), "#": set(), "[": set()}
    for chosen, declarations in _rules(_COMMENT.sub(" ", sheet[:MAX_SHEET])):
        if not _ABOUT_SHOWING.search(declarations):
            continue
        hidden = hides(declarations)
        for selector in chosen.split(","):
            simple = _SIMPLE.fullmatch(selector.strip(_WHITE)) if hidden else None
            if simple is not None and simple[1]:
                found[simple[1]].add(simple[2])
            elif simple is not None:
                attributes.add((simple[3].lower(), next((text for text in simple.groups()[3:] if text), None)))
            elif not hidden:
                for kind, name in _NAMED.findall(selector):
                    shown[kind].add(name if kind != "[" else name.lower())
    return Unseen(
        frozenset(found["."] - shown["."]),
        frozenset(found["#"] - shown["#"]),
        frozenset(one for one in attributes if one[0] not in shown["["] and not _WAITING.search(one[0])),
    )


def hide(data: bytes) -> bytes:
    """UTF-8 `data` with the attribute `hidden` on what the page's own style sheet does not show."""
    if not _STYLED.are_in(data):
        return data
    sheets = b"\n".join(found[2] for found in _SHEET.finditer(data) if b"print" not in found[1])
    names = unseen(sheets.decode("utf-8", "replace")) if _MAY_HIDE.search(sheets) else None
    if names is None:
        return data
    if names.classes or names.ids:
        data = _marked(data, names.classes | names.ids, _HEAD, partial(_is_named, names))
    if names.attributes:
        data = _marked(data, {name for name, _ in names.attributes}, _HEAD_OF_ATTRIBUTE, partial(_has_one, names))
    return data


def _marked(
    data: bytes,
    names: Iterable[str],
    head_of: re.Pattern[bytes],
    fits: Callable[[bytes, re.Match[bytes], str, int], bool],
) -> bytes:
    """With the attribute `hidden` in each tag that has one of the names and fits."""
    parts: list[bytes] = []
    last = 0
    named = "|".join(sorted(names)[:MAX_NAMES])  # letters, digits, `-` and `_` only
    for match in islice(re2.finditer(rf"""[\s"'=]({named})[\s"'=>/]""".encode(), data), MAX_UNSEEN):
        start = data.rfind(b"<", max(last, match.start() - MAX_TAG_HEAD), match.start())
        head = head_of.fullmatch(data, start, match.start(1)) if start >= 0 else None
        if head is not None and fits(data, head, match[1].decode(), match.end(1)):
            parts += [data[last : head.end(1)], b" hidden "]
            last = head.end(1)
    return b"".join([*parts, data[last:]]) if parts else data


def _is_named(names: Unseen, data: bytes, head: re.Match[bytes], name: str, end: int) -> bool:
    """A class or id."""
    return data[end : end + 1] != b"=" and name in (names.classes if head[2].lower() == b"class" else names.ids)


def _has_one(names: Unseen, data: bytes, head: re.Match[bytes], name: str, end: int) -> bool:
    """An attribute, with that value if one is asked for."""
    value = _VALUE.match(data, end)
    given = next((text for text in value.groups() if text is not None), b"") if value is not None else b""
    return (name, None) in names.attributes or (name, given.decode("utf-8", "replace")) in names.attributes


def _rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Selectors and declarations of the rules that always hold."""
    depth = start = 0
    chosen = ""
    for match in _BRACE.finditer(sheet):
        if match[0] == "{":
            if depth == 0:
                chosen = sheet[start : match.start()].rpartition(";")[2]
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0 and "@" not in chosen:
                yield chosen, sheet[start : match.start()]
        start = match.end()


_WHITE = " \t\n\r\f"
_BETWEEN = re.compile(f"[{_WHITE}]+")
MAX_SHEET = 300_000  # characters
_COMMENT = re.compile(r"/\*(?>(?:[^*]|\*(?!/))*)\*/")  # atomic: see `nesting`
_BRACE = re.compile(r"[{}]")
_NAME = r"-?[A-Za-z_][\w-]{0,99}"
_SIMPLE = re.compile(
    r"(?:(?:(?:html|:root)(?:\s*>\s*|\s+))?body\s+|(?:(?:html|:root)\s+)?\*\s+|(?:html|:root)\s+)?"  # around all
    rf"(?:(?:[a-zA-Z0-9]*|\*)([.#])({_NAME})"
    r"|\*?\[\s*([a-zA-Z]+-[\w-]{1,99})\s*(?:=\s*(?:\"([^\"\]]{1,200})\"|'([^'\]]{1,200})'|([\w-]{1,200}))\s*)?\])",
    re.A,
)
_NAMED = re.compile(rf"([.#[])\s*({_NAME})", re.A)
_WAITING = re.compile(r"^aria-|cloak")  # said already, or hidden until scripts have run
_ABOUT_SHOWING = re.compile(  # not `margin-top`: it shows nothing again
    r"(?<![\w-])(?:(?:display|visibility|font-size|left|top|text-indent|clip|clip-path)\s*:|(?:right|bottom)\s*:\s*-"
    r"|margin-left\s*:\s*[-0])",
    re.I,
)


def _unescape(match: re.Match[str]) -> str:
    if match[2]:
        return match[2]
    code = int(match[1], 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


register(CssReader(), priority=31)  # before HTML, whichever is loaded first

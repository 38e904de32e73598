"""Style sheets: the addresses in them, `url(…)`, `@import "…"` and `"…" 2x` of an `image-set`, and what they hide."""

import re
from collections.abc import Iterator
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
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))")

MAX_NAMES = 200  # of hidden classes and ids that are looked for
MAX_UNSEEN = 5000  # places where the name of something hidden occurs
MAX_TAG_HEAD = 4096  # bytes between the beginning of a tag and such a name

_STYLED = native.Signs((b"<style", b"<STYLE"))
_SHEET = re.compile(rb"<style\b([^>]{0,500})>(.*?)</style", re.I | re.S)
_MAY_HIDE = re.compile(rb"none|hidden|collapse|font-size|-\d{2}", re.I)
# the beginning of a tag up to a name in its class or id
_HEAD = re.compile(rb"""(<[a-zA-Z][a-zA-Z0-9-]*)\s[^<>]*?\b(class|id)\s*=\s*(?:"[^"<>]*|'[^'<>]*|)""", re.I)


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

    Text in a box of a pixel is for people who listen, and what is transparent may only wait to appear: they count.
    """
    hidden: dict[str, bool] = {}
    empty: dict[str, bool] = {}
    colours = {"color": "", "background": ""}
    cut = False
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
            hidden[name] = _is_far(value)
        elif name in ("width", "height", "max-width", "max-height"):
            empty[name] = _is_nothing(value)
        elif name == "overflow":
            cut = value in ("hidden", "clip")
        elif name in ("color", "background", "background-color"):
            colours[name.removesuffix("-color")] = _colour(value)
    alike = bool(colours["color"]) and colours["color"] == colours["background"]
    return alike or any(hidden.values()) or (cut and any(empty.values()))


def _is_nothing(value: str) -> bool:
    size = _SIZE.fullmatch(value)
    return size is not None and bool(size[2]) and not (size[2] + (size[3] or "")).strip("0")


def _is_far(value: str) -> bool:
    """So far beyond an edge nobody sees it."""
    size = _SIZE.fullmatch(value)
    far = _FAR.get(size[4]) if size is not None and size[1] else None
    return far is not None and size is not None and int(size[2][:9] or 0) >= far


def _colour(value: str) -> str:
    """A colour written in one way; empty for what may be any (`inherit`) or is more than a colour."""
    value = {"white": "#ffffff", "black": "#000000"}.get(value, value)
    if not value.startswith("#"):
        return ""
    return value if len(value) != len("#fff") else "#" + "".join(digit * 2 for digit in value[1:])


class Unseen(NamedTuple):
    """Classes and ids whose elements a style sheet does not show."""

    classes: frozenset[str]
    ids: frozenset[str]


def unseen(sheet: str) -> Unseen:
    """What a page's own style sheet hides by rules that cannot be misread: `.spam { display: none }`, `#a, div.b {…}`.

    A name that another rule shows again (`.tab.active { display: block }`) is not in it, nor is anything of `@media`.
    """
    found: dict[str, set[str]] = {".": set(), "#": set()}
    shown: dict[str, set[str]] = {".": set(), "#": set()}
    for chosen, declarations in _rules(_COMMENT.sub(" ", sheet[:MAX_SHEET])):
        if not _ABOUT_SHOWING.search(declarations):
            continue
        hidden = hides(declarations)
        for selector in chosen.split(","):
            simple = _SIMPLE.fullmatch(selector.strip(_WHITE))
            if hidden and simple is not None:
                found[simple[1]].add(simple[2])
            elif not hidden:
                for kind, name in _NAMED.findall(selector):
                    shown[kind].add(name)
    return Unseen(frozenset(found["."] - shown["."]), frozenset(found["#"] - shown["#"]))


def hide(data: bytes) -> bytes:
    """UTF-8 `data` with the attribute `hidden` on what the page's own style sheet does not show."""
    if not _STYLED.are_in(data):
        return data
    sheets = b"\n".join(found[2] for found in _SHEET.finditer(data) if b"print" not in found[1])
    names = unseen(sheets.decode("utf-8", "replace")) if _MAY_HIDE.search(sheets) else None
    if names is None or not (names.classes or names.ids):
        return data
    parts: list[bytes] = []
    last = 0
    named = "|".join(sorted(names.classes | names.ids)[:MAX_NAMES])  # letters, digits, `-` and `_` only
    for match in islice(re2.finditer(rf"""[\s"'=]({named})[\s"'>/]""".encode(), data), MAX_UNSEEN):
        start = data.rfind(b"<", max(last, match.start() - MAX_TAG_HEAD), match.start())
        head = _HEAD.fullmatch(data, start, match.start(1)) if start >= 0 else None
        if head is not None and match[1].decode() in (names.classes if head[2].lower() == b"class" else names.ids):
            parts += [data[last : head.end(1)], b" hidden "]
            last = head.end(1)
    return b"".join([*parts, data[last:]]) if parts else data


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
_SIMPLE = re.compile(r"[a-zA-Z0-9]*([.#])(-?[A-Za-z_][\w-]{0,99})", re.A)
_NAMED = re.compile(r"([.#])(-?[A-Za-z_][\w-]{0,99})", re.A)
_ABOUT_SHOWING = re.compile(  # not `margin-top`: it shows nothing again
    r"(?<![\w-])(?:(?:display|visibility|font-size|left|top|text-indent)\s*:|(?:right|bottom)\s*:\s*-)", re.I
)


def _unescape(match: re.Match[str]) -> str:
    if match[2]:
        return match[2]
    code = int(match[1], 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


register(CssReader(), priority=31)  # before HTML, whichever is loaded first

"""Style sheets: the addresses in them, `url(…)` and `@import "…"`."""

import re
from collections.abc import Iterator

from hemeroteca.extract import decode, text
from hemeroteca.extract.document import Document
from hemeroteca.extract.readers import Content, register

# Quoted or bare; no part can run past the next quote or bracket, so the work stays linear.
_ADDRESS = re.compile(
    r"url\(\s*+(?:\"([^\"\n]{1,4096})\"|'([^'\n]{1,4096})'|([^\"'()\s][^\"'()\s]{0,4095}))\s*+\)"
    r"|@import\s++(?:\"([^\"\n]{1,4096})\"|'([^'\n]{1,4096})')",
    re.I,
)
_SIZE = re.compile(r"(-?)(\d*)(?:\.(\d*))?([a-z%]*)", re.A)
_FAR = {"px": 500, "em": 30, "rem": 30, "%": 100, "vw": 100, "vh": 100}  # so far to the left or above nobody sees it
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))")


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
    """Whether an element with this `style` is not seen: not displayed, of size 0, or off the screen."""
    hidden: dict[str, bool] = {}
    for declaration in style.lower().split(";"):
        name, _, value = declaration.partition(":")
        name, value = name.strip(_WHITE), value.partition("!")[0].strip(_WHITE)
        if name == "display":
            hidden[name] = value == "none"
        elif name == "visibility":
            hidden[name] = value in ("hidden", "collapse")
        elif name in ("font-size", "left", "top", "text-indent"):
            size = _SIZE.fullmatch(value)
            if name == "font-size":
                hidden[name] = size is not None and bool(size[2]) and not (size[2] + (size[3] or "")).strip("0")
            else:
                far = _FAR.get(size[4]) if size is not None and size[1] else None
                hidden[name] = far is not None and size is not None and int(size[2][:9] or 0) >= far
    return any(hidden.values())


_WHITE = " \t\n\r\f"


def _unescape(match: re.Match[str]) -> str:
    if match[2]:
        return match[2]
    code = int(match[1], 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


register(CssReader(), priority=31)  # before HTML, whichever is loaded first

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


def _unescape(match: re.Match[str]) -> str:
    if match[2]:
        return match[2]
    code = int(match[1], 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


register(CssReader(), priority=30)

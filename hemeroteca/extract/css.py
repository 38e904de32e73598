"""Addresses in style sheets: `url(…)` and `@import "…"`."""

import re
from collections.abc import Iterator

# Quoted or bare; no part can run past the next quote or bracket, so the work stays linear.
_ADDRESS = re.compile(
    r"url\(\s*+(?:\"([^\"\n]{1,4096})\"|'([^'\n]{1,4096})'|([^\"'()\s][^\"'()\s]{0,4095}))\s*+\)"
    r"|@import\s++(?:\"([^\"\n]{1,4096})\"|'([^'\n]{1,4096})')",
    re.I,
)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))")


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

"""Single headers of a raw response head."""

import re


def header(head: bytes, name: bytes) -> str:
    """The first value of a header in a raw head."""
    found = _pattern(name).search(head)
    return found[1].decode("latin-1").strip() if found else ""


def header_all(head: bytes, name: bytes) -> list[str]:
    return [value.decode("latin-1").strip() for value in _pattern(name).findall(head)]


_patterns: dict[bytes, re.Pattern[bytes]] = {}


def _pattern(name: bytes) -> re.Pattern[bytes]:
    pattern = _patterns.get(name)
    if pattern is None:
        pattern = _patterns[name] = re.compile(rb"\n" + re.escape(name) + rb"[ \t]*:([^\r\n]*)", re.IGNORECASE)
    return pattern

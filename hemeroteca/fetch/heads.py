"""HTTP heads: the headers we ask libcurl to send, the lines it received, and the fields of a raw head."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

_INTERIM = re.compile(rb"HTTP/[0-9.]+ 1").match
_PROXY_LOGIN = re.compile(rb"(?im)^proxy-authorization:[^\n]*\n")
# Chosen by us on every connection; anybody else's value would make the request mean something else than what is kept.
_OURS = frozenset(["host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "expect"])
_FIELD_VALUE = rb"([^\r\n]*(?:\r?\n[ \t]+[^\r\n]+)*)"  # a folded line goes on
_FIELD = re.compile(rb"\n([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*:" + _FIELD_VALUE)
_BEYOND_ASCII = re.compile(r"[\x80-\xff]").sub
_FOLD = re.compile(rb"[ \t]*\r?\n[ \t]+")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*").fullmatch  # no line ends: nothing can be smuggled in


def header(head: bytes, name: str) -> str:
    """The first value of a header in a raw head; empty when it has none."""
    found = _pattern(name).search(head)
    return _text(found[1]) if found else ""


def header_all(head: bytes, name: str) -> list[str]:
    """The values of all headers of that name."""
    return [_text(value) for value in _pattern(name).findall(head)]


def address(head: bytes, name: str) -> str:
    """As `header`, for what holds an address (Location, Refresh, Link): bytes beyond ASCII percent-encoded, which is
    how browsers, curl and wget follow them."""
    found = _pattern(name).search(head)
    return _percent_encoded(found[1]) if found else ""


def addresses(head: bytes, name: str) -> list[str]:
    """The same, of all headers of that name."""
    return [_percent_encoded(value) for value in _pattern(name).findall(head)]


def opaque(head: bytes, name: str) -> str:
    """As `header`, each byte as one character: for what is sent back as it came (ETag)."""
    found = _pattern(name).search(head)
    return _bytes_as_text(found[1]) if found else ""


def fields(head: bytes) -> list[tuple[str, str]]:
    """Names, as written, and values of a raw head, each byte as one character: Latin-1 gives the same bytes again."""
    return [(name.decode("latin-1"), _bytes_as_text(value)) for name, value in _FIELD.findall(head)]


@lru_cache(64)
def _pattern(name: str) -> re.Pattern[bytes]:
    return re.compile(rb"\n(?i:%s)[ \t]*:%s" % (re.escape(name.encode("latin-1", "replace")), _FIELD_VALUE))


def _text(raw: bytes) -> str:
    """UTF-8, as most servers write beyond ASCII today; else Latin-1, as they once did."""
    text = _bytes_as_text(raw)
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode()
    except UnicodeDecodeError:
        return text


def _percent_encoded(raw: bytes) -> str:
    return _BEYOND_ASCII(lambda byte: f"%{ord(byte[0]):02X}", _bytes_as_text(raw))


def _bytes_as_text(raw: bytes) -> str:
    if b"\n" in raw:
        raw = _FOLD.sub(b" ", raw)
    return raw.decode("latin-1").strip()


class ResponseHeads(NamedTuple):
    """What came before and after a body; interim (1xx) heads are left out."""

    final: bytes  # status line, headers, empty line
    trailers: bytes
    complete: bool


class HeaderBook:
    """Makes request headers; the usual set is made once."""

    def __init__(self, user_agent: str) -> None:
        self._base = {
            "user-agent": ("User-Agent", user_agent),
            "accept": ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
            "accept-encoding": ("Accept-Encoding", "gzip, br, deflate"),
        }
        self.usual = _build(self._base.values())

    def build(self, etag: str, last_modified: str, extra: Iterable[tuple[str, str]]) -> list[bytes]:
        """The headers of one request; ValueError, with a reason, when an extra header cannot be sent."""
        headers = dict(self._base)
        # Validators come from a server: one that cannot be sent back is left out, the page is then fetched anew.
        if etag and _VALUE(etag):
            headers["if-none-match"] = ("If-None-Match", etag)
        if last_modified and _VALUE(last_modified):
            headers["if-modified-since"] = ("If-Modified-Since", last_modified)
        for name, value in extra:
            if not _NAME(name) or not _VALUE(value):
                raise ValueError(f"the header {name!r} has characters that cannot be sent; correct it")
            if name.lower() in _OURS:
                raise ValueError(f"the header {name} cannot be set; leave it out")
            headers[name.lower()] = (name, value.strip())
        return _build(headers.values())


def without_proxy_login(head: bytes) -> bytes:
    """A request head without the line that was for the proxy alone and holds its password."""
    return _PROXY_LOGIN.sub(b"", head) if b"roxy-" in head else head


def sort_response(lines: list[bytes], begin: int = 0) -> ResponseHeads:
    """The final response's head and trailers from the header lines of a transfer, which begin at `begin`."""
    if not begin and lines and lines[-1] == b"\r\n" and lines.count(b"\r\n") == 1 and not _INTERIM(lines[0]):
        return ResponseHeads(b"".join(lines), b"", True)  # nearly always
    start = begin
    for index in range(begin, len(lines)):
        if lines[index] in (b"\r\n", b"\n"):
            if not _INTERIM(lines[start]):
                return ResponseHeads(b"".join(lines[start : index + 1]), b"".join(lines[index + 1 :]), True)
            start = index + 1
    return ResponseHeads(b"".join(lines[start:]), b"", False)


def protocol_of(head: bytes) -> str:
    """'http/1.1', 'http/1.0' or 'h2', from the status line."""
    version = head[5:8]
    if version == b"1.1":
        return "http/1.1"
    return "h2" if version[:1] == b"2" else "http/1.0"


def _build(headers: Iterable[tuple[str, str]]) -> list[bytes]:
    # "Name;" is how libcurl is told to send a header without value ("Name:" would remove it).
    return [(f"{name}: {value}" if value else f"{name};").encode("latin-1") for name, value in headers]

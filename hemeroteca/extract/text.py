"""Plain text: the text itself and the addresses written in it."""

import re
from collections.abc import Iterable, Iterator

from hemeroteca.extract import decode, language
from hemeroteca.extract.document import Document, Limits, Link
from hemeroteca.extract.readers import UNNAMED, Content, register

_ADDRESS = re.compile(r"https?://[^\s<>\"'`{}|\\^\[\]]{1,4096}", re.I)
_TRAILING = ".,;:!?*_~"
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class TextReader:
    def sniff(self, content: Content) -> str:
        if content.media_type == "text/plain":
            return "text"
        if content.media_type not in UNNAMED:
            return ""
        start = content.start
        return "text" if start and not start.lstrip().startswith(b"<") and not _NOT_TEXT.search(start) else ""

    def read(self, content: Content, document: Document) -> None:
        read_text(content.body, content.content_type, document, content.limits)
        document.language = language.detect(document.main, content.language)


def read_text(body: bytes, content_type: str, document: Document, limits: Limits) -> None:
    """Fill `document` from a text/plain body."""
    if len(body) > limits.plain_bytes:
        body = body[: limits.plain_bytes]
        document.note("text-cut")
    text, document.charset, note = decode.to_text(body, content_type)
    if note:
        document.note(note)
    add_links(document, addresses(text), "page", limits)
    if len(text) > limits.text_chars:
        text = text[: limits.text_chars]
        document.note("text-cut")
    document.text = document.main = text.replace("\0", "").strip()
    document.title = next((line.strip() for line in document.text[:2000].splitlines() if line.strip()), "")[:200]


def addresses(text: str) -> Iterator[str]:
    """The web addresses written in a text."""
    return map(_trimmed, (match[0] for match in _ADDRESS.finditer(text)))


def add_links(document: Document, found: Iterable[str], kind: str, limits: Limits) -> None:
    """Each address once, as many as allowed."""
    seen: set[str] = set()
    for address in found:
        address = address.partition("#")[0]
        if not address or address in seen:
            continue
        if len(seen) >= limits.links:
            document.note("links-cut")
            return
        seen.add(address)
        document.links.append(Link(address, kind))


def _trimmed(address: str) -> str:
    """Without the punctuation of the sentence around it; a closing bracket stays if it was opened inside."""
    address = address.rstrip(_TRAILING)
    if address.endswith(")") and address.count("(") < address.count(")"):
        address = address[:-1].rstrip(_TRAILING)
    return address


register(TextReader(), priority=10)

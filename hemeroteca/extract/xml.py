"""XML of feeds, sitemaps and office files as a stream of events: no tree is built, nothing is resolved or fetched.

Declarations of entities are refused (they serve only attacks here), and broken XML is read as far as it makes sense.
"""

import re
from collections.abc import Callable
from html.entities import name2codepoint

from hemeroteca import lazy
from hemeroteca.extract import decode
from hemeroteca.extract.document import Document, Limits

etree = lazy.Module("lxml.etree")  # most pages are HTML
CHUNK = 64 << 10
MENDED_BYTES = 8 << 20  # up to here wrong charsets and HTML's named entities are put right
MAX_ELEMENTS = 700_000
MAX_DEPTH = 200
MAX_STRETCH = 1 << 20  # bytes without `>`: one text or one tag, never an honest one
MAX_FAULTS = 100_000

# The two commonest faults: HTML's names for characters, and a bare `&`. CDATA is right as it is.
_FAULT = re.compile(
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)(?:([a-zA-Z]{2,8});)?", re.S
)


class Handler:
    """Receives the elements of a document; `EnoughError` raised in it stops the reading without complaint."""

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins; `name` has no namespace."""

    def data(self, text: str) -> None:
        """Text as it comes, in pieces, with its spaces."""

    def end(self, name: str, text: str) -> None:
        """An element ends; `text` is its own text, not that of elements inside."""


class EnoughError(Exception):
    """The handler has what it may take."""


def parse(body: bytes, content_type: str, document: Document, limits: Limits, handler: Handler) -> None:
    """Send `body` through `handler`; what was cut is noted in the document."""
    if len(body) > limits.xml_bytes:
        body = body[: limits.xml_bytes]
        document.note("xml-cut")
    data = _without_entities(_mended(body, content_type, document), document.note)
    target = _Target(handler)
    parser = etree.XMLParser(
        target=target,
        recover=True,
        resolve_entities="internal",  # &amp; and the like; with False lxml cuts attributes at them
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        encoding="utf-8",
    )
    try:
        stretch = 0
        for at in range(0, len(data), CHUNK):
            chunk = data[at : at + CHUNK]
            end = chunk.rfind(b">")
            stretch = stretch + len(chunk) if end < 0 else len(chunk) - end
            if stretch > MAX_STRETCH:
                document.note("xml-cut")
                break
            parser.feed(chunk)
        parser.close()
    except EnoughError:
        pass
    except _TooManyError:
        document.note("elements-cut")
    except (etree.ParseError, ValueError, AssertionError):
        document.note("bad-xml")


class _TooManyError(Exception):
    pass


class _Target:
    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.texts: list[list[str]] = []
        self.count = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAX_ELEMENTS or len(self.texts) > MAX_DEPTH:
            raise _TooManyError
        self.texts.append([])
        self.handler.begin(tag.rpartition("}")[2].lower(), attributes)

    def data(self, text: str) -> None:
        if self.texts:
            self.texts[-1].append(text)
            self.handler.data(text)

    def end(self, tag: str) -> None:
        if self.texts:
            self.handler.end(tag.rpartition("}")[2].lower(), "".join(self.texts.pop()).strip())

    def close(self) -> None:
        pass


def _mended(body: bytes, content_type: str, document: Document) -> bytes:
    if len(body) > MENDED_BYTES:
        document.charset = "utf-8"
        return body
    text, document.charset, note = decode.to_text(body, content_type)
    if note:
        document.note(note)
    data = text.lstrip().encode("utf-8", "replace")
    return _FAULT.sub(mended_entity, data) if data.count(b"&") + data.count(b"<![CDATA[") < MAX_FAULTS else data


def mended_entity(match: re.Match[bytes]) -> bytes:
    """A named entity of HTML as a number, a bare `&` as `&amp;`; the beginning of a CDATA section as it is."""
    if match[0][:1] == b"<":
        return match[0]
    code = name2codepoint.get(match[1].decode()) if match[1] else None
    return b"&#%d;" % code if code else b"&amp;" + match[0][1:]


def _without_entities(data: bytes, note: Callable[[str], None]) -> bytes:
    begin = data.find(b"<!DOCTYPE")
    entity = data.find(b"<!ENTITY")
    if not 0 <= begin < entity:
        return data
    note("entities-refused")
    end = data.find(b"]>", entity)
    if end < 0:
        end = data.find(b">", data.find(b"]", entity))  # `] >`
    return data[:begin] + data[end + 2 :] if end > 0 else b""

"""From bytes as they were sent to text: Content-Encoding undone within a limit, and the charset a body is really in.

Order of charsets: byte order mark, then what the bytes prove (UTF-8 with several multi-byte characters is UTF-8,
whatever was declared), then the Content-Type header, then the document's own declaration, then statistics (uchardet).
"""

import codecs
import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from io import BytesIO
from typing import Any, NamedTuple

import brotli
from isal import isal_zlib
from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

CHUNK = 64 << 10
SMALL = 1 << 20  # up to here one call does it
LARGE = 32 << 20  # and up to here where the end of a gzip body says that it is no longer
MAX_LAYERS = 4  # nobody encodes more often by honest means

_IsalError: type[Exception] = isal_zlib.IsalError  # type: ignore[assignment]  # its stub says: an instance

GZIP, ZLIB, RAW = 31, 15, -15  # zlib's names for them (wbits)


def decode_body(body: bytes, content_encoding: str, limit: int) -> tuple[bytes, str]:
    """(decoded body, note). The note is empty, or says why the body is not whole or still encoded.

    Layers are undone as a chain of streams, so a bomb inside a bomb is cut at `limit` bytes too. Memory beyond the
    result: about 200 KiB a layer (brotli: its window, at most 16 MiB).
    """
    names = [name for part in content_encoding.lower().split(",") if (name := part.strip()) not in ("", "identity")]
    if not names:
        return (body, "") if len(body) <= limit else (body[:limit], "body-limit")
    if len(names) > MAX_LAYERS:
        return body[:limit], "too-many-encodings"
    for name in names:
        if name not in _STREAMS:
            return body[:limit], f"unknown-encoding:{name[:20]}"
    if not body:
        return b"", ""
    # Servers that announce gzip and send it plain are common; the magic bytes decide.
    if names[-1] in ("gzip", "x-gzip") and not body.startswith(b"\x1f\x8b"):
        return body[:limit], "not-gzip"

    if len(names) == 1 and names[0] != "br":
        whole = _at_once(body, _wbits(names[0], body), limit)
        if whole is not None:
            return whole, ""

    chain: Iterator[bytes] = (body[at : at + CHUNK] for at in range(0, len(body), CHUNK))
    for name in reversed(names):
        chain = _STREAMS[name](chain)
    out = BytesIO()  # its value is handed over without a copy
    try:
        for piece in chain:
            if out.tell() + len(piece) > limit:
                out.write(piece[: limit - out.tell()])
                return out.getvalue(), "decompression-limit"
            out.write(piece)
    except _DamagedError as damage:
        return out.getvalue(), str(damage)
    return out.getvalue(), ""


class _DamagedError(Exception):
    pass


def _at_once(body: bytes, wbits: int, limit: int) -> bytes | None:
    """The common case, one small sound member; None sends everything else through the streams."""
    size = int.from_bytes(body[-4:], "little") if wbits == GZIP else 0  # what it says; a lie ends in the streams
    room = size if SMALL < size <= LARGE else SMALL
    stream = isal_zlib.decompressobj(wbits=wbits)
    try:
        data: bytes = stream.decompress(body, min(limit, room) + 1)
    except _IsalError:
        return None
    if not stream.eof or stream.unused_data or len(data) > limit:
        return None
    return data


def _wbits(name: str, start: bytes) -> int:
    if name != "deflate":
        return GZIP
    # "deflate" should carry a zlib header; some servers send it bare.
    zlib_header = len(start) > 1 and start[0] & 15 == 8 and (start[0] << 8 | start[1]) % 31 == 0
    return ZLIB if zlib_header else RAW


def _inflate(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    stream = None
    for chunk in chunks:
        data = chunk
        while data:
            if stream is None:
                stream = isal_zlib.decompressobj(wbits=_wbits(name, data))
            try:
                piece = stream.decompress(data, CHUNK)
            except _IsalError:
                raise _DamagedError(f"bad-{name}")
            if piece:
                yield piece
            if stream.eof:
                data = stream.unused_data
                if name == "deflate" or not data.startswith(b"\x1f"):
                    return  # bytes after the last member: padding, by custom ignored
                stream = None  # a further gzip member
            else:
                data = stream.unconsumed_tail
                if not data and len(piece) == CHUNK:
                    yield from _rest(stream, name)
    if stream is not None and not stream.eof:
        raise _DamagedError(f"cut-{name}")


def _rest(stream: Any, name: str) -> Iterator[bytes]:
    """What the decompressor still holds once the input is used up."""
    while not stream.eof:
        try:
            piece = stream.decompress(b"", CHUNK)
        except _IsalError:
            raise _DamagedError(f"bad-{name}")
        if not piece:
            return
        yield piece


def _brotli(chunks: Iterator[bytes]) -> Iterator[bytes]:
    stream = brotli.Decompressor()
    for chunk in chunks:
        data = chunk
        while True:
            try:
                piece = stream.process(data, output_buffer_limit=CHUNK)
            except brotli.error:
                raise _DamagedError("bad-br")
            if piece:
                yield piece
            if stream.is_finished():
                return
            if not piece:
                break  # it wants more input; an empty answer is the only sure sign that nothing is held back
            data = b""
    if not stream.is_finished():
        raise _DamagedError("cut-br")


_STREAMS: dict[str, Callable[[Iterator[bytes]], Iterator[bytes]]] = {
    "gzip": partial(_inflate, name="gzip"),
    "x-gzip": partial(_inflate, name="gzip"),
    "deflate": partial(_inflate, name="deflate"),
    "br": _brotli,
}


# Charsets.

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: it begins with the same bytes
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:+-]{1,40})", re.I)
_IN_DOCUMENT = re.compile(
    rb"<\?xml[^>]{0,200}?\sencoding\s*=\s*[\"']([\w.:+-]{1,40})"
    rb"|<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([\w.:+-]{1,40})"
    rb"|^\s*@charset\s+\"([\w.:+-]{1,40})\"",
    re.I,
)
PRESCAN = 2048  # the standard looks at 1024; comments and long headers push the tag further down
PROOF = 3  # multi-byte characters that settle that valid UTF-8 is meant


class DecodedText(NamedTuple):
    text: str
    charset: str
    note: str  # of a false declaration, or empty


def to_text(body: bytes, content_type: str) -> DecodedText:
    """The text of a body. Bytes that make no sense become U+FFFD."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return DecodedText(body[len(mark) :].decode(name, "replace"), name, "")

    match = _HEADER.search(content_type)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        return _not_utf8(body, known(match[1] if match else _declared_inside(body)), error)
    if match is None and len(body) - len(text) >= PROOF:
        return DecodedText(text, "utf-8", "")
    declared = known(match[1] if match else _declared_inside(body))
    if declared in ("", "utf-8"):
        return DecodedText(text, "utf-8", "")
    if declared.startswith(("utf-16", "utf-32")):
        if b"\0" in body[:PRESCAN]:
            return DecodedText(body.decode(declared, "replace"), declared, "")
        return DecodedText(text, "utf-8", f"charset-lie:{declared}")
    if body.isascii():
        if b"\x1b" in body and declared.startswith("iso-2022"):
            return DecodedText(body.decode(declared, "replace"), declared, "")
        return DecodedText(text, declared, "")  # the same text either way
    if len(body) - len(text) >= PROOF:
        return DecodedText(text, "utf-8", f"charset-lie:{declared}")
    return DecodedText(body.decode(declared, "replace"), declared, "")


def to_utf8(body: bytes, content_type: str) -> tuple[bytes, str, str]:
    """(the text as UTF-8, charset, note). A body in UTF-8 is returned as it is."""
    text, charset, note = to_text(body, content_type)
    if charset == "utf-8" and not note and body[:1] != b"\xef":
        return body, charset, note
    return text.encode("utf-8", "replace"), charset, note


@lru_cache(1000)
def known(label: str) -> str:
    """The encoding a label means on the web (WHATWG: `latin1` is windows-1252), or empty."""
    if not label:
        return ""
    label = label.lower()
    if label.startswith(("utf-16", "utf-32")):
        try:
            return codecs.lookup(label).name
        except LookupError:
            return ""
    name = map_encoding_to_html5(label, fallback_utf8=False)
    try:
        return codecs.lookup(name).name if name else ""
    except LookupError:
        return ""


def _declared_inside(body: bytes) -> str:
    match = _IN_DOCUMENT.search(body[:PRESCAN])
    if not match:
        return ""
    label = (match[1] or match[2] or match[3]).decode("ascii", "ignore")
    # The declaration was readable as ASCII, so it cannot be true that the body is UTF-16.
    return "utf-8" if label.lower().startswith("utf-16") else label


def _not_utf8(body: bytes, declared: str, error: UnicodeDecodeError) -> DecodedText:
    if declared and declared != "utf-8":
        if not declared.startswith(("utf-16", "utf-32")) or b"\0" in body[:PRESCAN]:
            try:
                return DecodedText(body.decode(declared), declared, "")
            except UnicodeDecodeError:
                pass
    else:
        # UTF-8 with a few broken characters, or cut in the middle of one: not worth a doubt.
        text = body.decode("utf-8", "replace")
        bad = text.count("\ufffd")
        whole = len(body) - len(text)  # about one for each further byte of a sound character
        if bad * 4 <= whole or error.start >= len(body) - 4:
            return DecodedText(text, "utf-8", "" if error.start >= len(body) - 4 else "charset-errors")
    try:
        guess = codecs.lookup(detect_encoding(body, max_len=32768) or "windows-1252").name
    except LookupError:
        guess = "cp1252"
    if guess in ("utf-8", "ascii"):
        guess = declared if declared and declared != "utf-8" else "cp1252"
    note = f"charset-lie:{declared}" if declared and declared != guess else ""
    return DecodedText(body.decode(guess, "replace"), guess, note)

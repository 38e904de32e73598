"""Undoing Content-Encoding without ever holding more than was allowed."""

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import brotli
from isal import isal_zlib

CHUNK = 64 << 10
SMALL = 1 << 20  # up to here one call does it
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
    stream = isal_zlib.decompressobj(wbits=wbits)
    try:
        data: bytes = stream.decompress(body, min(limit, SMALL) + 1)
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


def _gzip(chunks: Iterator[bytes]) -> Iterator[bytes]:
    return _inflate(chunks, "gzip")


def _deflate(chunks: Iterator[bytes]) -> Iterator[bytes]:
    return _inflate(chunks, "deflate")


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
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
}

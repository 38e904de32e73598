"""Zstandard for WARC files (`.warc.zst`), with a dictionary: one record, one frame.

As the specification of IIPC says, the dictionary lies in a skippable frame at the beginning of each file, so that a
file can be read by itself. Needs the extra `[zstd]`; without it nothing here is used, and such files are named as what
they are. Why it is off by default: docs/decisions/0025-warc-files.md.
"""

import io
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import IO, Any

MAGIC = b"\x28\xb5\x2f\xfd"
DICTIONARY_FRAME = 0x184D2A5D
DICTIONARY_BYTES = 112 << 10
MAX_DICTIONARY = 16 << 20
LEVEL = 3
MAX_WINDOW = 1 << 27  # of a frame that somebody else made
_READ = 1 << 16
_IN_MEMORY = 4 << 20

ReadAt = Callable[[int, int], bytes]


class ZstdError(ValueError):
    """Data that cannot be unpacked, or no library to do it with."""


def library() -> Any:
    try:
        import zstandard
    except ImportError:
        raise ZstdError("the file is compressed with Zstandard: pip install 'hemeroteca[zstd]'")
    return zstandard


def is_skippable(start: bytes) -> bool:
    return len(start) >= 4 and start[0] & 0xF0 == 0x50 and start[1:4] == b"\x2a\x4d\x18"


def is_zstd(start: bytes) -> bool:
    return start[:4] == MAGIC or is_skippable(start)


class Packer:
    """Records into frames."""

    def __init__(self, dictionary: bytes) -> None:
        zstandard = library()
        given = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        if given is not None:
            given.precompute_compress(level=LEVEL)
        options = {"level": LEVEL, "write_checksum": True, "write_content_size": True}
        self._compressor = zstandard.ZstdCompressor(dict_data=given, **options)
        self.beginning = preamble(dictionary)

    def pack(self, data: bytes) -> bytes:
        return bytes(self._compressor.compress(data))

    def stream(self) -> Any:
        """Packs in pieces: `compress` many times, then `flush`."""
        return self._compressor.compressobj()


def preamble(dictionary: bytes) -> bytes:
    """What a file begins with."""
    return struct.pack("<II", DICTIONARY_FRAME, len(dictionary)) + dictionary if dictionary else b""


def train(samples: list[bytes]) -> bytes:
    """A dictionary of what records have in common; empty when they are too few or have nothing."""
    zstandard = library()
    size = min(DICTIONARY_BYTES, sum(map(len, samples)) // 8)
    try:
        return bytes(zstandard.train_dictionary(size, samples, level=LEVEL).as_bytes()) if samples else b""
    except zstandard.ZstdError:
        return b""


def dictionary_of(read_at: ReadAt) -> bytes:
    """The dictionary a file carries; empty when it has none."""
    head = read_at(8, 0)
    if len(head) < 8 or struct.unpack("<I", head[:4])[0] != DICTIONARY_FRAME:
        return b""
    (size,) = struct.unpack("<I", head[4:])
    if size > MAX_DICTIONARY:
        raise ZstdError(f"the dictionary of the file has {size} bytes, more than the {MAX_DICTIONARY} allowed")
    data = bytearray()
    while len(data) < size and (part := read_at(min(size - len(data), 1 << 20), 8 + len(data))):
        data += part
    if data[:4] == MAGIC:  # it may be compressed itself
        zstandard = library()
        try:
            return bytes(zstandard.ZstdDecompressor().decompress(bytes(data), max_output_size=MAX_DICTIONARY))
        except zstandard.ZstdError as error:
            raise ZstdError(f"the dictionary of the file is damaged ({error})")
    return bytes(data)


class PackedRecord(ABC):
    """One compressed record of a file, unpacked as it is read."""

    def __init__(self, read_at: ReadAt, offset: int, limit: int) -> None:
        self._read_at = read_at
        self._position = offset
        self._limit = limit
        self.eof = False  # all of it was unpacked
        self.cut = False  # the file ended before it
        self.end = 0  # where it ends; known with `eof`

    @abstractmethod
    def read(self, size: int) -> bytes:
        """Up to `size` unpacked bytes; fewer only at the end. Raises EOFError when the file ends too early."""

    def stream(self) -> IO[bytes]:
        """All of it, in memory when it is short."""
        start = self.read(_IN_MEMORY)
        if self.eof and len(start) < _IN_MEMORY:
            return io.BytesIO(start)
        return io.BufferedReader(_Rest(start, self), 1 << 16)

    def _packed(self) -> bytes:
        """The next bytes of the file that may be its."""
        return self._read_at(min(_READ, max(0, self._limit - self._position)), self._position)


class _Rest(io.RawIOBase):
    """What was unpacked already, then the rest; a file that ends too early reads as the end."""

    def __init__(self, start: bytes, source: PackedRecord) -> None:
        self._start = start
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        if self._start:
            data, self._start = self._start[: len(buffer)], self._start[len(buffer) :]
        else:
            try:
                data = self._source.read(len(buffer))
            except EOFError:
                data = b""
        buffer[: len(data)] = data
        return len(data)


class ZstdFrame(PackedRecord):
    def __init__(self, read_at: ReadAt, offset: int, limit: int, dictionary: bytes) -> None:
        super().__init__(read_at, offset, limit)
        self._stream = _decompressor(dictionary).decompressobj(write_size=_READ)
        self._given = bool(dictionary)
        self._waiting = b""
        self._unpacked = bytearray()

    def read(self, size: int) -> bytes:
        while len(self._unpacked) < size and not self.eof:
            self._waiting = self._waiting or self._packed()
            packed, self._waiting = self._waiting[:_SMALL], self._waiting[_SMALL:]
            if not packed:
                self.cut = True
                if self._unpacked:
                    break
                raise EOFError("the file ends inside a compressed record")
            self._position += len(packed)
            try:
                self._unpacked += self._stream.decompress(packed)
            except library().ZstdError as error:
                if not self._given and "dictionary" in str(error).lower():
                    raise ZstdError("it is packed with a dictionary that the file does not bring")
                raise ZstdError(str(error))
            if self._stream.eof:
                self.eof = True
                self.end = self._position - len(self._stream.unused_data)
        data = bytes(self._unpacked[:size])
        del self._unpacked[:size]
        return data


_SMALL = 1 << 11  # packed bytes at once: of a bomb these unpack to some tens of megabytes, no more


@lru_cache(4)
def _decompressor(dictionary: bytes) -> Any:
    zstandard = library()
    given = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
    return zstandard.ZstdDecompressor(dict_data=given, max_window_size=MAX_WINDOW)

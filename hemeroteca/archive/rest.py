"""A compressed record that is too long for memory, read as a file."""

import io
from typing import Protocol


class Source(Protocol):
    def read(self, size: int) -> bytes:
        """Up to `size` unpacked bytes; raises EOFError when the file ends too early."""


class Rest(io.RawIOBase):
    """What was unpacked already, then the rest; a file that ends too early reads as the end."""

    def __init__(self, start: bytes, source: Source) -> None:
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

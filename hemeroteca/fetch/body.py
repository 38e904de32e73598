"""Bodies of responses: small ones in memory, long ones in a private file of the spool folder."""

import builtins
import os
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import msgspec

_CHUNK = 1 << 16


class Body(msgspec.Struct):
    """The body as it came, transfer encoding removed, content encoding kept. Whoever gets it calls `discard()`."""

    data: bytes = b""
    path: str | None = None
    size: int = 0

    def __len__(self) -> int:
        return self.size

    def bytes(self, limit: int | None = None) -> builtins.bytes:
        """The body, or its first `limit` bytes."""
        if self.path is None:
            return self.data if limit is None or limit >= self.size else self.data[:limit]
        with open(self.path, "rb") as file:
            return file.read(-1 if limit is None else limit)

    def chunks(self) -> Iterator[builtins.bytes]:
        """The body in pieces, never more than 64 KiB of a spooled body in memory."""
        if self.path is None:
            if self.data:
                yield self.data
            return
        with open(self.path, "rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk

    def discard(self) -> None:
        """Frees the memory and removes the file; the body is empty afterwards. Safe to call twice."""
        if self.path is not None:
            Path(self.path).unlink(missing_ok=True)
        self.data, self.path, self.size = b"", None, 0


class Spool:
    """Where bodies under way are kept, and how much memory all of them together may take."""

    __slots__ = ("body_bytes", "folder", "held", "memory_bytes")

    def __init__(self, folder: Path, body_bytes: int, memory_bytes: int) -> None:
        self.folder = folder
        self.body_bytes = body_bytes
        self.memory_bytes = memory_bytes
        self.held = 0  # bytes in memory of all bodies under way

    def file(self) -> tuple[int, str]:
        """A new file that only this user can read, open for writing."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return tempfile.mkstemp(prefix="body-", dir=self.folder)


class BodyWriter:
    """Collects one body at a time, within the limits; reused from transfer to transfer."""

    __slots__ = ("_fd", "_limit", "_memory", "_path", "_room", "_spool", "full", "size")

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._memory = BytesIO()  # its value is handed over without a copy
        self._fd = -1
        self._path: str | None = None
        self.begin(0)

    def begin(self, limit: int) -> None:
        """Ready for a body of which at most `limit` bytes are kept."""
        self._limit = limit
        self._room = min(limit, self._spool.body_bytes)
        self.size = 0
        self.full = False

    def write(self, chunk: bytes) -> bool:
        """Keeps the chunk; False when it did not fit any more (the part that fits is kept)."""
        size = self.size + len(chunk)
        spool = self._spool
        if size <= self._room and spool.held < spool.memory_bytes:
            spool.held += self._memory.write(chunk)
            self.size = size
            return True
        return self._write_long(chunk)

    def end(self) -> Body:
        """The collected body; the writer is empty again."""
        size = self.size
        if self._fd < 0:
            return Body(self._release(), None, size)
        path = self._path
        os.close(self._fd)
        self._fd, self._path = -1, None
        return Body(b"", path, size)

    def drop(self) -> None:
        """Forgets what was collected."""
        self.end().discard()

    def _write_long(self, chunk: bytes) -> bool:
        left = self._limit - self.size
        if len(chunk) > left:
            self.full = True
            chunk = chunk[:left]
        if chunk and self._fd < 0:
            if self.size + len(chunk) <= self._spool.body_bytes and self._spool.held < self._spool.memory_bytes:
                self._spool.held += self._memory.write(chunk)
            else:
                self._fd, self._path = self._spool.file()
                self._room = -1  # from now on everything comes this way
                _write_all(self._fd, self._release())
        if self._fd >= 0:
            _write_all(self._fd, chunk)
        self.size += len(chunk)
        return not self.full

    def _release(self) -> bytes:
        """What is in memory, which is then no longer counted."""
        data = self._memory.getvalue()
        if data:
            self._spool.held -= len(data)
            self._memory = BytesIO()
        return data


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]

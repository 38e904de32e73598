"""A body too long for memory, as a reader gets it."""

import hashlib
from collections.abc import Iterator
from pathlib import Path


class SpooledBody:
    """A body on disk, read in pieces."""

    def __init__(self, file: Path) -> None:
        self.path: Path | None = file
        self._file = file
        self._size = file.stat().st_size

    def __len__(self) -> int:
        return self._size

    def chunks(self) -> Iterator[bytes]:
        with self._file.open("rb") as file:
            while chunk := file.read(1 << 18):
                yield chunk

    def beginning(self, limit: int) -> bytes:
        with self._file.open("rb") as file:
            return file.read(limit)

    def digest(self) -> str:
        hasher = hashlib.sha256()
        for chunk in self.chunks():
            hasher.update(chunk)
        return f"sha256:{hasher.hexdigest()}"

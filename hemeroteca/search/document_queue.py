"""Documents that wait for whoever writes the index: it has one writer, and while an engine runs that is the engine.

A file per call in `imports` of the index folder; it appears whole and goes when its documents are findable, so
that whoever left it can wait for that. After a crash it is read again from the beginning: documents replace themselves.
"""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from hemeroteca.ingest.search_document import SearchDocument

FOLDER = "imports"
DOCUMENTS = ".documents"


def push(index_dir: Path, documents: Iterable[SearchDocument]) -> Path:
    """Write documents for the engine to take; the file is gone when they can be found."""
    folder = index_dir / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = f"{time.time_ns()}-{os.getpid()}"
    draft = folder / f"{name}.draft"
    encode = msgspec.msgpack.Encoder().encode
    try:
        with draft.open("wb") as file:
            for document in documents:
                row = encode(document)
                file.write(len(row).to_bytes(4, "little") + row)
            file.flush()
            os.fsync(file.fileno())
        ready = folder / f"{name}{DOCUMENTS}"
        os.replace(draft, ready)
    finally:
        draft.unlink(missing_ok=True)
    return ready


def pending(index_dir: Path) -> list[Path]:
    """Files that were left, oldest first."""
    return sorted((index_dir / FOLDER).glob(f"*{DOCUMENTS}"))


def read(file: Path) -> Iterator[SearchDocument]:
    """The documents of such a file. Raises ValueError where it is damaged."""
    decode = msgspec.msgpack.Decoder(SearchDocument).decode
    with file.open("rb") as source:
        while head := source.read(4):
            row = source.read(int.from_bytes(head, "little"))
            try:
                yield decode(row)
            except msgspec.MsgspecError as error:
                raise ValueError(f"{file.name} is damaged ({error})")

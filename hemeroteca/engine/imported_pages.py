"""What the index must learn of pages that an import brought captures of, when a running engine writes the index.

The import reads the pages and leaves what it finds as rows of a file (`search.document_queue`); the engine puts them
into the index bit by bit (`engine.handed_over`). Before a batch is committed to the database its addresses are noted in
a file, which goes when the rows of the batch are left: if the import dies in between, the engine reads them by these
notes.
"""

import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import msgspec

from hemeroteca import urls
from hemeroteca.archive import queries
from hemeroteca.archive.values import CaptureRow
from hemeroteca.engine.messages import Edges
from hemeroteca.engine.reindex import GONE, Source, newest
from hemeroteca.search import document_queue
from hemeroteca.search.document import SearchDocument

ROWS = ".captures"
_NOTES = ".keys"


class ImportedPage(msgspec.Struct, array_like=True):
    """What a capture says about its page."""

    page: int
    url_key: str
    captured_ms: int
    document: SearchDocument | None
    """None: the page is gone, or is not to be found."""
    edges: Edges | None = None
    past: bool = False
    """For the index of all versions; else it is the newest the archive knows."""


def of_keys(source: Source, keys: Iterable[str], versions: bool, after: int = 0) -> Iterator[ImportedPage]:
    """What is to be told of the pages filed under these keys; with `versions` each that has an id above `after`."""
    for key in keys:
        row = newest(key)
        if row is not None and not source.is_for_the_record(row):
            yield _given(source, row)
        if versions:
            for row in queries.rows(
                "urlkey = %s AND version = %s AND capture.id > %s", [key, True, after], "captured_ms", 1_000_000
            ):
                if row.status in (200, *GONE) and not source.is_for_the_record(row):
                    yield msgspec.structs.replace(_given(source, row), edges=None, past=True)


def _given(source: Source, row: CaptureRow) -> ImportedPage:
    document, edges = source.read(row) if row.status == 200 else (None, None)
    return ImportedPage(urls.key(row.url), row.urlkey, row.captured_ms, document, edges)


def note(index_dir: Path, keys: Iterable[str]) -> IO[bytes]:
    """Keep the addresses of a batch that is about to be committed; nobody reads them while the file is open."""
    folder = index_dir / document_queue.FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = folder / f"{time.time_ns()}-{os.getpid()}.draft"
    file = draft.open("xb")
    fcntl.flock(file, fcntl.LOCK_EX)
    file.write(msgspec.msgpack.encode(list(keys)))
    file.flush()
    os.fsync(file.fileno())
    os.replace(draft, draft.with_suffix(_NOTES))
    return file


def forget(file: IO[bytes]) -> None:
    """What was noted has been told."""
    Path(file.name).with_suffix(_NOTES).unlink(missing_ok=True)
    file.close()


def forsaken(index_dir: Path) -> list[Path]:
    """Notes of imports that died, oldest first."""
    return [path for path in document_queue.pending(index_dir, _NOTES) if _is_free(path)]


def noted(file: Path) -> list[str]:
    """Raises ValueError where the file is damaged."""
    try:
        return msgspec.msgpack.decode(file.read_bytes(), type=list[str])
    except msgspec.MsgspecError as error:
        raise ValueError(f"{file.name} is damaged ({error})")


def _is_free(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True

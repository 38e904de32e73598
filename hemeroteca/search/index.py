"""The seam of search: what an index can do, whatever engine stands behind it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from hemeroteca.config import Config
    from hemeroteca.search.document import SearchDocument


class SearchError(Exception):
    """Search cannot do this; the message names the thing, the reason and the next step."""


class IndexUnusableError(SearchError):
    """The index is damaged or of another version: it must be rebuilt from the archive."""


class IndexBusyError(SearchError):
    """Another process is writing the index."""


class Hit(msgspec.Struct, kw_only=True):
    url: str
    title: str
    snippet: str  # HTML: escaped text with <b> around the words found
    score: float
    key: int
    host: str = ""
    language: str = ""
    type: str = ""
    captured_ms: int = 0
    published_ms: int = 0
    id: str = ""


class Results(msgspec.Struct, kw_only=True):
    total: int
    hits: list[Hit]
    notes: list[str] = []  # what of the query was not understood, for the reader


class Writer(Protocol):
    """One at a time per index. Nothing is visible or durable before `commit`."""

    def put(self, document: SearchDocument, replaces: bool = True) -> None:
        """Add a document; with `replaces`, one of the same key goes. Say False for a page known to be new: cheaper."""

    def delete(self, key: int) -> None: ...

    def commit(self) -> None: ...

    def close(self) -> None:
        """Wait for background merges and let go of the lock. What was not committed is dropped."""


class Index(Protocol):
    def writer(self, heap_bytes: int = 48 << 20) -> Writer: ...

    def search(self, query: str, limit: int = 10, offset: int = 0, **options: Any) -> Results: ...

    def count(self) -> int:
        """How many documents can be found now."""


def open_index(config: Config | None, path: Path) -> Index:
    """The index of an instance, made when it does not exist yet."""
    from hemeroteca.search.tantivy_index import TantivyIndex

    return TantivyIndex(path)

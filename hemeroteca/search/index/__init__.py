"""The seam of search: what an index can do, whatever engine stands behind it.

An engine keeps documents (`SearchDocument`) with the fields of `fields` and answers queries that are values of ours
(`expressions`). What people type, how results are ordered and shown is above the seam (`searcher`): the same for all.

Also here: `version_index` (an index of all versions of pages), `rebuild` (an index made anew).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from hemeroteca.errors import Unavailable
from hemeroteca.search.index.expressions import KeysQuery, Query, RangeQuery, TermQuery, all_of

if TYPE_CHECKING:
    import numpy as np

    from hemeroteca.config import Config
    from hemeroteca.ingest.search_document import SearchDocument

HEAP_BYTES = 48 << 20  # of a writer
KEYS_AT_ONCE = 100_000
VERSIONS = "versions"  # name of the folder of an index of all versions
REBUILD = "rebuild it from the archive with `hemeroteca search rebuild`"  # the next step where an index is unusable


class SearchError(Unavailable):
    """Search cannot do this; the message names the thing, the reason and the next step."""


class IndexUnusableError(SearchError):
    """The index is damaged or of another version: it must be rebuilt from the archive."""


class IndexBusyError(SearchError):
    """Another process is writing the index."""


class IndexWriteError(SearchError):
    """The index could not be written, most likely for want of room. The last commit stands."""


class Match(NamedTuple):
    """A document that matches a query."""

    score: float
    place: Any  # where it lies in the engine; good for the reader that gave it


class Matches(NamedTuple):
    best: list[Match]
    total: int  # how many match in all; 0: not counted


class IndexWriter(Protocol):
    """One at a time per index. Nothing is visible or durable before `commit`."""

    def put(self, document: SearchDocument, replaces: bool = True) -> None:
        """Add a document; with `replaces`, one of the same key goes. Say False for a page known to be new: cheaper."""

    def delete(self, key: int) -> None: ...

    def commit(self) -> None: ...

    def close(self) -> None:
        """Wait for background merges and let go of the lock. What was not committed is dropped."""

    def __enter__(self) -> IndexWriter: ...

    def __exit__(self, *_: object) -> None: ...


class IndexReader(Protocol):
    """The documents of one commit. Every method raises IndexUnusableError where the engine fails."""

    @property
    def generation(self) -> Hashable:
        """Equal while the documents are the same: what was found out about them may be remembered that long."""

    @property
    def documents(self) -> int:
        """How many there are."""

    def search(self, query: Query, limit: int, *, count: bool = True, by: str = "", descending: bool = True) -> Matches:
        """The best matches by score, or by the column `by`."""

    def scores(self, queries: Iterable[Query], keys: Sequence[int]) -> dict[int, float]:
        """What the queries give each of these documents in sum. However common the words, only these are looked at."""

    def score_table(self, queries: Sequence[Query], keys: Sequence[int]) -> np.ndarray:
        """The same one by one: a row for each query, a column for each document; 0 where it does not match."""

    def columns(self, names: Iterable[str], places: Sequence[Any]) -> dict[str, np.ndarray]:
        """Numbers of documents as arrays of 64-bit integers; 0 where a document has none."""

    def read(self, place: Any) -> SearchDocument:
        """A document as it was put, with the text that is kept for display."""

    def facets(self, query: Query, fields: Iterable[str], most: int) -> dict[str, list[tuple[str, int]]]:
        """The most frequent values of fields among all matches, with how often each comes."""

    def frequency(self, field: str, term: str) -> int:
        """In how many documents a word stands (those deleted since the last merge may be counted)."""

    def terms(self, field: str, prefix: str = "", most: int | None = None) -> list[tuple[str, int]]:
        """Words of a text or keyword that begin so, with their frequencies, the most frequent first."""

    def average(self, column: str) -> float:
        """Over all documents that have the number; 0 for none."""

    def explain(self, query: Query, place: Any) -> dict[str, Any]:
        """How the engine came to a score: `value`, `description`, `details` of the same kind."""


class Index(Protocol):
    """Documents that can be found. Any number of processes read while one writes."""

    def writer(self, heap_bytes: int = HEAP_BYTES, threads: int = 1) -> IndexWriter:
        """One thread beside the caller suits a crawl; a bulk import may take more, within the same memory."""

    def reader(self) -> IndexReader:
        """A view of the last commit, of whichever process. Ask for it anew for each query: it costs microseconds."""

    def count(self) -> int:
        """How many documents can be found now."""
        return self.reader().documents

    def get(self, key: int) -> SearchDocument | None:
        return next(self.some((key,)), None)

    def some(self, keys: Collection[int]) -> Iterator[SearchDocument]:
        """Of the documents with these keys those that are there, in any order."""
        reader = self.reader()
        for match in reader.search(KeysQuery(tuple(keys)), len(keys), count=False).best:
            yield reader.read(match.place)

    def versions(self, page: int, most: int = 1000) -> list[SearchDocument]:
        """Every document of a page, oldest first (an index of all versions)."""
        reader = self.reader()
        found = reader.search(TermQuery("page", page), most, count=False).best
        return sorted((reader.read(match.place) for match in found), key=lambda document: document.captured_ms)

    def keys(self, query: Query) -> Iterator[int]:
        """Keys of all documents that match, in their order; documents may come and go meanwhile."""
        first = -(1 << 63)
        while True:
            reader = self.reader()
            part = all_of((query, RangeQuery("key", first, None)))
            found = reader.search(part, KEYS_AT_ONCE, count=False, by="key", descending=False).best
            keys = reader.columns(("key",), [match.place for match in found])["key"].tolist()
            yield from keys
            if len(keys) < KEYS_AT_ONCE:
                return
            first = keys[-1] + 1

    def sample(self, most: int) -> Iterator[SearchDocument]:
        """About `most` documents, spread evenly over the index."""


def open_index(config: Config | None, path: Path, any_layout: bool = False) -> Index:
    """The index in a folder, made when it does not exist yet. `any_layout`: to rescue what is in an older one."""
    from hemeroteca.search.tantivy.tantivy_index import TantivyIndex

    if config is None:
        return TantivyIndex(path, any_layout=any_layout)
    return TantivyIndex(path, config.search_mapped_bytes, any_layout)


def count_documents(path: Path) -> int:
    """How many documents the index in a folder holds, without opening it."""
    from hemeroteca.search.tantivy.segment_list import count

    return count(folder_of(path))


def deleted_documents(path: Path) -> int:
    """How many documents of the index in a folder were deleted and still lie in its files."""
    from hemeroteca.search.tantivy.segment_list import deleted

    return deleted(folder_of(path))


def replacement(path: Path, heap_bytes: int = HEAP_BYTES) -> AbstractContextManager[IndexWriter]:
    """Writes a new index that takes the place of the one in `path` when the block ends; searches go on meanwhile.

    When the block fails the old one stays. It need not be readable.
    """
    from hemeroteca.search.tantivy.tantivy_index import replacement

    return replacement(path, heap_bytes)


def index_exists(path: Path) -> bool:
    return folder_of(path).exists()


def folder_of(path: Path) -> Path:
    """Where the engine's files of the index in `path` are: what lies there goes with the index when it is replaced."""
    return path / "main"

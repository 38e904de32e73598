"""Every version of every page: what did it say in March?

The last versions lie in the index itself, those before them in the same kind of index in a folder of its own. Each is a
document that knows from when until when it was the page's last one, so that `at:2024-03`, asked of both together
(`open_past`), finds exactly what stood there then. Optional: it grows with every change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hemeroteca.ingest.search_document import SearchDocument, document_key
from hemeroteca.search.index import (
    HEAP_BYTES,
    VERSIONS,
    Index,
    IndexWriter,
    SearchError,
    index_exists,
    open_index,
    replacement,
)
from hemeroteca.search.index.expressions import ConstantQuery, RangeQuery

if TYPE_CHECKING:
    from hemeroteca.config import Config

_PENDING = 2000  # pages remembered until they are committed


def open_versions(index_dir: Path) -> Index:
    """The index of versions that have ended, beside the index of an instance."""
    return open_index(None, index_dir / VERSIONS)


def open_past(config: Config | None, index_dir: Path) -> Index:
    """Both together, for readers: all versions. Documents that were imported have none."""
    from hemeroteca.search.tantivy.joined_index import JoinedIndex

    for path in (index_dir, index_dir / VERSIONS):
        open_index(config, path)
    return JoinedIndex(index_dir, index_dir / VERSIONS, only=ConstantQuery(RangeQuery("captured", 1, None)))


def has_versions(index_dir: Path) -> bool:
    return index_exists(index_dir / VERSIONS)


def choose(index_dir: Path, query: str, versions: bool | None = None) -> Path:
    """The index a query is for: that of all versions when that is asked for, or when there is one for its `at:`."""
    from hemeroteca.search.query.parser import asks_for_the_past  # a crawl, which only writes, starts sooner without

    kept = has_versions(index_dir)
    if versions and not kept:
        raise SearchError(
            "all versions are not indexed here; set `index_versions` to true and run `hemeroteca search rebuild`"
        )
    if versions or (versions is None and kept and asks_for_the_past(query)):
        return index_dir / VERSIONS
    return index_dir


def rebuild_versions(
    index_dir: Path,
    versions: Iterable[SearchDocument],
    heap_bytes: int,
    progress: Callable[[int], None] = lambda count: None,
) -> int:
    """Build the index anew from documents that know their `until_ms`; searches use the old one meanwhile. `progress` is
    told each document and may end it by raising: the old one stays."""
    count = 0
    with replacement(index_dir / VERSIONS, heap_bytes) as writer:
        for document in versions:
            writer.put(_version(document, document.key, document.until_ms), replaces=False)
            count += 1
            progress(count)
    return count


class VersionWriter:
    """Puts versions in any order and keeps their times consistent. One at a time, like any writer.

    `last`: what the index of last versions has, or is about to have, of a page.
    """

    def __init__(
        self,
        index: Index,
        heap_bytes: int = HEAP_BYTES,
        last: Callable[[int], SearchDocument | None] = lambda page: None,
    ) -> None:
        self._index = index
        self._heap_bytes = heap_bytes
        self._opened: IndexWriter | None = None
        self._last = last
        self._pending: dict[int, dict[int, SearchDocument]] = {}  # page → capture time → version, since the last commit

    def put(self, document: SearchDocument, newest: bool = False) -> None:
        """A version of the page `document.key`, captured at `document.captured_ms`. `newest`: the caller puts it into
        the index of last versions; what was there before has ended."""
        page = document.page or document.key
        known = self._known(page)
        earlier = max((ms for ms in known if ms < document.captured_ms), default=None)
        later = min((ms for ms in known if ms > document.captured_ms), default=0)
        if earlier is not None and not 0 < known[earlier].until_ms <= document.captured_ms:
            self._end(known[earlier], document.captured_ms)
        version = _version(document, page, later)
        if newest:
            self._writer.delete(version.key)
        else:
            self._writer.put(version)
        known[document.captured_ms] = version
        if len(self._pending) > _PENDING:
            self.commit()

    def end(self, page: int, at_ms: int) -> None:
        """The page was gone at that time: what it said last stood there until then."""
        known = self._known(page)
        last = max((ms for ms in known if ms <= at_ms), default=None)
        if last is not None and not 0 < known[last].until_ms <= at_ms:
            self._end(known[last], at_ms)

    def _end(self, version: SearchDocument, at_ms: int) -> None:
        version.until_ms = at_ms
        self._writer.put(version)

    def _known(self, page: int) -> dict[int, SearchDocument]:
        known = self._pending.get(page)
        if known is None:
            last = self._last(page)
            known = {last.captured_ms: _version(last, page, last.until_ms)} if last is not None else {}
            known |= {version.captured_ms: version for version in self._index.versions(page)}
            self._pending[page] = known
        return known

    @property
    def _writer(self) -> IndexWriter:
        """Opened with the first version that ends: most crawls meet none, and its threads and memory cost a start."""
        if self._opened is None:
            self._opened = self._index.writer(self._heap_bytes)
        return self._opened

    def commit(self) -> None:
        if self._opened is not None:
            self._opened.commit()
        self._pending.clear()

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


def _version(document: SearchDocument, page: int, until_ms: int) -> SearchDocument:
    key = document_key(f"{page}@{document.captured_ms}")
    return msgspec.structs.replace(document, key=key, page=page, until_ms=until_ms)

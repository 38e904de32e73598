"""Two indexes read as one, so that no document need lie in both.

Tantivy's segments never change and know nothing of the index they belong to: a list that names the segments of both is
an index, too. It is made in a folder of links that is gone as soon as it is open.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import tantivy

from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.search.index import HEAP_BYTES, REBUILD, Index, IndexUnusableError, SearchError, folder_of
from hemeroteca.search.index.expressions import Query
from hemeroteca.search.tantivy.index_writer import TantivyWriter
from hemeroteca.search.tantivy.mapped_files import DEFAULT_BYTES, MappedFiles
from hemeroteca.search.tantivy.tantivy_index import TantivyReader, prepared, stamp

TRIES = 5  # a merge may take away segments that were just named
META = "meta.json"


class JoinedIndex(Index):
    """Implements `search.index.Index`, for readers. `only`: what it shows of the documents."""

    def __init__(self, *paths: Path, mapped_bytes: int = DEFAULT_BYTES, only: Query | None = None) -> None:
        self._paths = paths
        self._only = only
        self._mapped = MappedFiles(mapped_bytes)
        self._seen: tuple[tuple[int, int], ...] = ()
        self._index: tantivy.Index | None = None

    def reader(self) -> TantivyReader:
        folders = [folder_of(path) for path in self._paths]
        exceeded = self._mapped.exceeded()
        now = tuple(stamp(str(folder / META)) for folder in folders)
        if self._index is None or exceeded or now != self._seen:
            self._index = _open(folders)
            self._seen = now
            if exceeded:
                self._mapped.released()
        return TantivyReader(self._index.searcher(), self._index.schema, folders[-1], now, self._only)

    def writer(self, heap_bytes: int = HEAP_BYTES, threads: int = 1) -> TantivyWriter:
        raise SearchError("each of the joined indexes is written by itself")

    def sample(self, most: int) -> Iterator[SearchDocument]:
        raise SearchError("each of the joined indexes is sampled by itself")


def _open(folders: list[Path]) -> tantivy.Index:
    for left in reversed(range(TRIES)):
        try:
            with TemporaryDirectory(prefix="hemeroteca-index-") as place:
                _link(folders, Path(place))
                return prepared(tantivy.Index.open(place))
        except (ValueError, OSError, msgspec.DecodeError) as error:
            if not left:
                raise IndexUnusableError(f"the search index in {folders[-1]} cannot be read ({error}); {REBUILD}")
    raise AssertionError("unreachable")


def _link(folders: list[Path], place: Path) -> None:
    joined: dict[str, list[object]] = {}
    for folder in folders:
        meta = msgspec.json.decode((folder / META).read_bytes())
        names = {segment["segment_id"].replace("-", "") for segment in meta["segments"]}
        for file in folder.iterdir():
            if file.name.partition(".")[0] in names:
                (place / file.name).symlink_to(file.absolute())
        joined = {**meta, "segments": [*joined.get("segments", []), *meta["segments"]]}
    (place / META).write_bytes(msgspec.json.encode(joined))

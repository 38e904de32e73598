"""The index on one machine: Tantivy, in a folder, one writer and any number of readers in other processes.

Tantivy's segments never change and a commit is one atomic rename, so a process killed at any moment leaves the last
commit whole, and readers are never blocked.
"""

import errno
import fcntl
import math
import os
import shutil
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
import tantivy
from tantivy import Occur, Order, Query

from hemeroteca import lazy
from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.search.analysis import BIGRAMS
from hemeroteca.search.index import (
    HEAP_BYTES,
    REBUILD,
    Index,
    IndexUnusableError,
    IndexWriteError,
    Match,
    Matches,
    SearchError,
    expressions,
    folder_of,
)
from hemeroteca.search.index.document_fields import BODIES
from hemeroteca.search.tantivy import analyzers
from hemeroteca.search.tantivy.index_writer import SCHEMA_VERSION, TantivyWriter, schema, stored
from hemeroteca.search.tantivy.mapped_files import DEFAULT_BYTES, MappedFiles
from hemeroteca.search.tantivy.translation import translated

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy.Module("numpy")

_VERSION_FILE = "hemeroteca.json"
# What the engine raises; a defect in it surfaces as PanicException, which is no Exception and would end the process.
_ENGINE_ERRORS: tuple[type[BaseException], ...] = (
    ValueError,
    msgspec.DecodeError,
    *(kind for kind in BaseException.__subclasses__() if kind.__name__ == "PanicException"),
)


Method = TypeVar("Method", bound=Callable[..., Any])


def _search_errors(method: Method) -> Method:
    """What the engine raises in a method of a reader, told as an error of search."""

    @wraps(method)
    def asked(self: "TantivyReader", *given: Any, **named: Any) -> Any:
        try:
            return method(self, *given, **named)
        except _ENGINE_ERRORS as error:
            raise IndexUnusableError(f"the search index in {self.folder} does not answer ({error}); {REBUILD}")

    return cast(Method, asked)


class TantivyReader:
    """Implements `search.index.IndexReader`."""

    def __init__(
        self,
        searcher: tantivy.Searcher,
        schema: tantivy.Schema,
        folder: Path,
        generation: Hashable,
        only: expressions.Query | None = None,
    ) -> None:
        """`only`: what is shown of the documents."""
        self.folder = folder
        self.generation = generation
        self.documents = searcher.num_docs
        self._searcher = searcher
        self._schema = schema
        self._only = only

    @_search_errors
    def search(
        self, query: expressions.Query, limit: int, *, count: bool = True, by: str = "", descending: bool = True
    ) -> Matches:
        order = Order.Desc if descending else Order.Asc
        asked = self._translated(query)
        found = self._searcher.search(asked, limit=limit, count=count, order_by_field=by or None, order=order)
        best = [Match(0.0, place) for _, place in found.hits] if by else [Match(*hit) for hit in found.hits]
        return Matches(best, found.count if count else 0)  # type: ignore[attr-defined]  # the engine's stub lacks it

    def scores(self, queries: Iterable[expressions.Query], keys: Sequence[int]) -> dict[int, float]:
        scores: dict[int, float] = {}
        for _, key, score in self._scored(queries, keys):
            scores[key] = scores.get(key, 0.0) + score
        return scores

    def score_table(self, queries: Sequence[expressions.Query], keys: Sequence[int]) -> "np.ndarray":
        table = np.zeros((len(queries), len(keys)))
        columns = {key: column for column, key in enumerate(keys)}
        for row, key, score in self._scored(queries, keys):
            table[row, columns[key]] = score
        return table

    @_search_errors
    def _scored(self, queries: Iterable[expressions.Query], keys: Sequence[int]) -> list[tuple[int, int, float]]:
        """Number of a query, key of a document that it matches, score."""
        if not keys:
            return []
        these = translated(expressions.KeysQuery(tuple(keys)), self._schema)
        found: list[tuple[int, float, Any]] = []
        for number, query in enumerate(queries):
            asked = translated(query, self._schema)
            if self._having(query) > len(keys):  # else finding all of them is sooner done than looking for the keys
                # both required: what is optional would be looked for between these documents too
                asked = Query.boolean_query([(Occur.Must, these), (Occur.Must, asked)])
            hits = self._searcher.search(asked, limit=len(keys), count=False).hits
            found += [(number, score, place) for score, place in hits]
        of = self._column("key", [place for _, _, place in found]).tolist()
        wanted = frozenset(keys)
        return [(number, key, score) for (number, score, _), key in zip(found, of, strict=True) if key in wanted]

    def _having(self, query: expressions.Query) -> float:
        """How many documents match, where the engine knows without looking for them."""
        if isinstance(query, expressions.TermQuery):
            return self._searcher.doc_freq(query.field, query.term)
        return math.inf

    @_search_errors
    def columns(self, names: Iterable[str], places: Sequence[Any]) -> "dict[str, np.ndarray]":
        return {name: self._column(name, places) for name in names}

    def _column(self, name: str, places: Sequence[Any]) -> "np.ndarray":
        values = self._searcher.fast_field_values(name, list(places)) if places else []
        try:
            return np.array(values, dtype=np.int64)
        except TypeError:  # a document without the value
            return np.array([value or 0 for value in values], dtype=np.int64)

    @_search_errors
    def read(self, place: Any) -> SearchDocument:
        return stored(self._searcher, place)

    @_search_errors
    def facets(self, query: expressions.Query, fields: Iterable[str], most: int) -> dict[str, list[tuple[str, int]]]:
        wanted = {name: {"terms": {"field": name, "size": most}} for name in fields}
        found = self._searcher.aggregate(self._translated(query), wanted)
        return {
            name: [(_facet_name(bucket["key"]), int(bucket["doc_count"])) for bucket in found[name]["buckets"]]
            for name in wanted
        }

    def _translated(self, query: expressions.Query) -> Query:
        return translated(query if self._only is None else expressions.all_of((query, self._only)), self._schema)

    @_search_errors
    def frequency(self, field: str, term: str) -> int:
        return self._searcher.doc_freq(field, term)

    @_search_errors
    def terms(self, field: str, prefix: str = "", most: int | None = None) -> list[tuple[str, int]]:
        if most is None:
            return self._searcher.terms_with_prefix(field, prefix)
        return self._searcher.terms_with_prefix(field, prefix, limit=most)

    @_search_errors
    def average(self, column: str) -> float:
        found = self._searcher.aggregate(Query.all_query(), {"average": {"avg": {"field": column}}})
        return float(found["average"]["value"] or 0)

    @_search_errors
    def explain(self, query: expressions.Query, place: Any) -> dict[str, Any]:
        return msgspec.json.decode(translated(query, self._schema).explain(self._searcher, place).to_json())


def _facet_name(key: object) -> str:
    return str(int(key)) if isinstance(key, float) else str(key)


class TantivyIndex(Index):
    """Implements `search.index.Index`."""

    def __init__(self, path: Path, mapped_bytes: int = DEFAULT_BYTES, any_layout: bool = False) -> None:
        """`mapped_bytes`: memory of mapped files the process may keep, about. `any_layout`: to rescue what is in it."""
        self.path = path
        self._any_layout = any_layout
        self._mapped = MappedFiles(mapped_bytes)
        self._folder = folder_of(path)
        self._meta = str(self._folder / "meta.json")
        self._seen: tuple[int, int] = (0, 0)
        self._open()

    def writer(self, heap_bytes: int = HEAP_BYTES, threads: int = 1) -> TantivyWriter:
        return TantivyWriter(self._index, self._folder, heap_bytes, threads)

    def reader(self) -> TantivyReader:
        if self._mapped.exceeded():
            self._release()
        now = stamp(self._meta)
        if now != self._seen:
            try:
                self._index.reload()
            except ValueError:
                self._open()  # the folder was replaced by a rebuild
            self._seen = now
        index = self._index
        return TantivyReader(index.searcher(), index.schema, self._folder, now)

    def sample(self, most: int) -> Iterator[SearchDocument]:
        searcher = self.reader()._searcher
        step = max(1, searcher.num_docs // max(1, most))
        for segment in range(searcher.num_segments):
            place = 0
            while True:
                address = tantivy.DocAddress(segment, place)
                try:
                    document = stored(searcher, address)
                except ValueError:  # past the end of the segment
                    break
                if self._is_there(searcher, address, document.key):
                    yield document
                place += step
                if self._mapped.exceeded():
                    self._release()
                    renewed = self._index.searcher()
                    if renewed.num_segments <= segment:  # merged meanwhile
                        return
                    searcher = renewed

    def _is_there(self, searcher: tantivy.Searcher, address: tantivy.DocAddress, key: int) -> bool:
        """Whether a document was not replaced or deleted; it stays in its segment until that is merged."""
        found = searcher.search(Query.term_query(self._index.schema, "key", key), limit=2, count=False).hits
        return any((hit.segment_ord, hit.doc) == (address.segment_ord, address.doc) for _, hit in found)

    def _open(self) -> None:
        try:
            with _lock(self.path):
                _finish_swap(self.path)
                self._open_folder()
        except OSError as error:
            if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):  # the engine needs a lock to read, too
                raise SearchError(
                    f"the search index in {self.path} cannot be used by who may not write there ({error}); change the "
                    "rights, or copy the data folder to where you may"
                )
            raise IndexUnusableError(f"the search index in {self._folder} cannot be opened ({error}); {REBUILD}")

    def _release(self) -> None:
        """Open the files anew, which lets go of all that was read of them; searches under way keep what they have."""
        try:
            self._index = prepared(tantivy.Index.open(str(self._folder)))
        except (ValueError, OSError):  # being replaced by a rebuild: `reader` opens the new one
            return
        self._mapped.released()

    def _open_folder(self) -> None:
        version_file = self._folder / _VERSION_FILE
        if not self._folder.exists() or not any(self._folder.iterdir()):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                index = tantivy.Index(schema(), str(self._folder))
            except ValueError as error:
                raise IndexWriteError(f"no search index can be made in {self._folder} ({error}); make room there")
            version_file.write_bytes(msgspec.json.encode({"schema": SCHEMA_VERSION}))
        else:
            if not self._any_layout:
                self._check_layout(version_file)
            try:
                index = tantivy.Index.open(str(self._folder))
            except (ValueError, OSError) as error:
                raise IndexUnusableError(f"the search index in {self._folder} cannot be read ({error}); {REBUILD}")
        self._index = prepared(index)
        self._seen = (0, 0)

    def _check_layout(self, version_file: Path) -> None:
        try:
            version = msgspec.json.decode(version_file.read_bytes())["schema"]
        except FileNotFoundError:
            version = SCHEMA_VERSION if self._just_created() else 0
            version_file.write_bytes(msgspec.json.encode({"schema": version}))
        except (msgspec.DecodeError, KeyError, TypeError):
            raise IndexUnusableError(f"the search index in {self._folder} has an unreadable version file; {REBUILD}")
        if version != SCHEMA_VERSION:
            raise IndexUnusableError(
                f"the search index in {self._folder} has layout {version}, this version needs {SCHEMA_VERSION}; "
                f"{REBUILD}"
            )

    def _just_created(self) -> bool:
        """Killed between making the index and naming its version: nothing can be in it yet."""
        try:
            meta = msgspec.json.decode((self._folder / "meta.json").read_bytes())
        except (OSError, msgspec.DecodeError):
            return False
        return isinstance(meta, dict) and meta.get("segments") == []


@contextmanager
def replacement(path: Path, heap_bytes: int) -> Iterator[TantivyWriter]:
    """Implements `search.index.replacement`: the new index is built beside the old one."""
    fresh = path / "fresh"
    _remove(fresh)
    try:
        with TantivyIndex(fresh).writer(heap_bytes, os.cpu_count() or 1) as writer:
            yield writer
            writer.commit()
    except BaseException:  # also when a person has enough of it: half an index would take room for nothing
        _remove(fresh)
        raise
    with _lock(path):
        (fresh / "ready").touch()
        _finish_swap(path)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """One process at a time makes or replaces an index; opening one waits for it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (path / "lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _finish_swap(path: Path) -> None:
    """Put a complete new index in place, also when the rebuild was killed between its renames. Under the lock."""
    main, fresh, old = path / "main", path / "fresh", path / "old"
    if not main.exists():
        if (fresh / "ready").exists():
            (fresh / "main").rename(main)
        elif old.exists():
            old.rename(main)
    elif (fresh / "ready").exists() and not old.exists():
        main.rename(old)
        (fresh / "main").rename(main)
    if main.exists():
        _remove(old)
        if (fresh / "ready").exists():
            _remove(fresh)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    elif path.exists():
        path.unlink(missing_ok=True)


def prepared(index: tantivy.Index) -> tantivy.Index:
    """An index just opened, with what cuts its words; a reader of it shows one commit."""
    for kind, name in BODIES.items():
        index.register_tokenizer(name, analyzers.pieces() if kind == BIGRAMS else analyzers.words())
    index.register_tokenizer("words", analyzers.words(long_ones=True))
    index.config_reader("manual")
    return index


def stamp(file: str) -> tuple[int, int]:
    try:
        status = os.stat(file)
    except FileNotFoundError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_ino)

"""The index on one machine: Tantivy, in a folder, one writer and any number of readers in other processes.

Tantivy's segments never change and a commit is one atomic rename, so a process killed at any moment leaves the last
commit whole, and readers are never blocked.
"""

import errno
import fcntl
import logging
import os
import shutil
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import tantivy
from tantivy import Query

from hemeroteca.ingest.document import SearchDocument
from hemeroteca.search import analysis, memory, ranking
from hemeroteca.search.answer import Answer
from hemeroteca.search.graph import LinkRanks
from hemeroteca.search.index import (
    READER,
    REBUILD,
    Hit,
    IndexUnusableError,
    IndexWriteError,
    Options,
    Reasons,
    Results,
    SearchError,
)
from hemeroteca.search.notes import Note
from hemeroteca.search.planner import RARE
from hemeroteca.search.query import LONGEST_QUERY
from hemeroteca.search.semantic import Encoder
from hemeroteca.search.suggest import Suggester
from hemeroteca.search.tantivy_document import SCHEMA_VERSION, clean, restored, schema, stored
from hemeroteca.search.tantivy_writer import TantivyWriter
from hemeroteca.search.turns import TURNS
from hemeroteca.search.vocabulary import Form

VERSIONS = "versions"  # name of the folder of an index of all versions
_VERSION_FILE = "hemeroteca.json"
# What the engine raises; a defect in it surfaces as PanicException, which is no Exception and would end the process.
ENGINE_ERRORS: tuple[type[BaseException], ...] = (
    ValueError,
    msgspec.DecodeError,
    *(kind for kind in BaseException.__subclasses__() if kind.__name__ == "PanicException"),
)
log = logging.getLogger("hemeroteca.search")


class TantivyIndex:
    def __init__(self, path: Path, mapped_bytes: int = memory.DEFAULT, any_layout: bool = False) -> None:
        """`mapped_bytes`: memory of mapped files the process may keep, about. `any_layout`: to rescue what is in it."""
        self.path = path
        self._any_layout = any_layout
        self._mapped = memory.MappedFiles(mapped_bytes)
        self._folder = folder_of(path)
        self._meta, self._rank = str(self._folder / "meta.json"), str(path / "rank")
        self._seen: tuple[int, int] = (0, 0)
        self.has_versions = path.name == VERSIONS
        self.remembered: dict[int, Hit] = {}  # of the last commit, for runs that ask for many results without text
        self.forms: dict[tuple[str, str], list[Form]] = {}  # of words asked for since the last commit
        self._length: float | None = None
        self.encoder: Encoder | None = None  # for semantic ranking; None: the one of the extra `semantic`
        self._links: LinkRanks | None = None
        self._links_seen: tuple[int, int] = (-1, -1)
        self._learned = str((path.parent if self.has_versions else path) / "suggest")
        self._suggester: Suggester | None = None
        self._learned_seen: tuple[int, int] = (-1, -1)
        self.weights = _weights(path / "ranking.json")
        self._open()

    def writer(self, heap_bytes: int = 48 << 20, threads: int = 1) -> TantivyWriter:
        return TantivyWriter(self._index, self._folder, heap_bytes, threads)

    def count(self) -> int:
        return self.searcher().num_docs

    def searcher(self) -> tantivy.Searcher:
        """A view of the last commit, ours or another process's. Costs a few microseconds when nothing changed."""
        if self._mapped.exceeded():
            self._release()
        now = _stamp(self._meta)
        if now != self._seen:
            try:
                self._index.reload()
            except ValueError:
                self._open()  # the folder was replaced by a rebuild
            self._seen = now
            self.remembered = {}
            self.forms = {}
            self._length = None
        return self._index.searcher()

    def search(
        self, query: str, limit: int = 10, offset: int = 0, cursor: str = "", options: Options = READER
    ) -> Results:
        query = unicodedata.normalize("NFC", clean(query[: LONGEST_QUERY + 1]))
        with TURNS.for_query(query):
            return self._search(query, limit, offset, cursor, options)

    def _search(self, query: str, limit: int, offset: int, cursor: str, options: Options) -> Results:
        try:
            return Answer(self, options).search(query, limit, offset, cursor)
        except ENGINE_ERRORS as error:
            log.warning("the query %r was refused by the engine (%s); answered as plain words", query[:200], error)
        try:
            plain = msgspec.structs.replace(options, syntax=False)
            found = Answer(self, plain).search(query, limit, offset, cursor)
        except ENGINE_ERRORS as error:
            raise self._unusable(error)
        found.notes.append(Note("the operators of this query could not be used; it was read as plain words"))
        return found

    def explain(self, query: str, key: int, options: Options = READER) -> Reasons | None:
        try:
            return Answer(self, options).explain(query, key)
        except ENGINE_ERRORS as error:
            raise self._unusable(error)

    def get(self, key: int) -> SearchDocument | None:
        """The document as it was put, with the text that is kept for display."""
        searcher = self.searcher()
        try:
            found = searcher.search(Query.term_query(self.schema, "key", key), limit=1, count=False).hits
            if not found:
                return None
            document = restored(key, stored(searcher, found[0][1]))
            document.simhash = int(searcher.fast_field_values("simhash", [found[0][1]])[0] or 0)
        except ENGINE_ERRORS as error:
            raise self._unusable(error)
        return document

    def sample(self, most: int) -> Iterator[SearchDocument]:
        """About `most` documents, spread evenly over the index."""
        searcher = self.searcher()
        step = max(1, searcher.num_docs // max(1, most))
        for segment in range(searcher.num_segments):
            place = 0
            while True:
                try:
                    address = tantivy.DocAddress(segment, place)
                    kept = stored(searcher, address)
                except ValueError:  # past the end of the segment
                    break
                if self._is_there(searcher, address):
                    yield restored(0, kept)
                place += step
                if self._mapped.exceeded():
                    self._release()
                    renewed = self._index.searcher()
                    if renewed.num_segments <= segment:  # merged meanwhile
                        return
                    searcher = renewed

    def _is_there(self, searcher: tantivy.Searcher, address: tantivy.DocAddress) -> bool:
        """Whether a document was not replaced or deleted; it stays in its segment until that is merged."""
        key = int(searcher.fast_field_values("key", [address])[0] or 0)
        found = searcher.search(Query.term_query(self.schema, "key", key), limit=2, count=False).hits
        return any((hit.segment_ord, hit.doc) == (address.segment_ord, address.doc) for _, hit in found)

    def versions(self, page: int, limit: int = 1000) -> list[SearchDocument]:
        """Every document of a page, oldest first (an index of all versions)."""
        searcher = self.searcher()
        found = searcher.search(Query.term_query(self.schema, "page", page), limit=limit, count=False).hits
        keys = searcher.fast_field_values("key", [address for _, address in found])
        documents = [restored(int(k or 0), stored(searcher, a)) for (_, a), k in zip(found, keys, strict=True)]
        return sorted(documents, key=lambda document: document.captured_ms)

    def is_known(self, word: str) -> bool:
        searcher = self.searcher()
        return any(
            searcher.doc_freq(f"body_{field}", term) > RARE
            for field in analysis.FIELDS
            for term in analysis.terms(word, field)[:1]
        )

    @property
    def link_ranks(self) -> LinkRanks | None:
        """The last ranking of the link graph, if there is one."""
        now = _stamp(self._rank)
        if now != self._links_seen:
            self._links, self._links_seen = LinkRanks.load(self.path / "rank"), now
        return self._links

    @property
    def schema(self) -> tantivy.Schema:
        return self._index.schema

    @property
    def suggester(self) -> Suggester | None:
        """What was last learned of the words of the index, if anything was."""
        now = _stamp(self._learned)
        if now != self._learned_seen:
            self._suggester, self._learned_seen = Suggester.load(Path(self._learned)), now
        return self._suggester

    def languages(self, searcher: tantivy.Searcher) -> list[tuple[str, int]]:
        """Languages of the documents ("": not known), with the number of documents of each."""
        return searcher.terms_with_prefix("language", "")

    def length(self, searcher: tantivy.Searcher) -> float:
        """Characters of a text, on average."""
        length = self._length
        if length is None:
            found = searcher.aggregate(tantivy.Query.all_query(), {"length": {"avg": {"field": "length"}}})
            length = self._length = float(found["length"]["value"] or 0)
        return length

    def _unusable(self, error: BaseException) -> IndexUnusableError:
        return IndexUnusableError(f"the search index in {self._folder} does not answer ({error}); {REBUILD}")

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
            self._prepare(tantivy.Index.open(str(self._folder)))
        except (ValueError, OSError):  # being replaced by a rebuild: `searcher` opens the new one
            return
        self._mapped.released()

    def _prepare(self, index: tantivy.Index) -> None:
        for field in analysis.FIELDS:
            index.register_tokenizer(f"body_{field}", analysis.analyzer(field))
        index.register_tokenizer("words", analysis.word_analyzer())
        index.config_reader("manual")
        self._index = index

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
        self._prepare(index)
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


def folder_of(path: Path) -> Path:
    """Where the engine's files of the index in `path` are."""
    return path / "main"


def replace_index(path: Path, fill: Callable[[TantivyWriter], None], heap_bytes: int) -> None:
    """Build a new index beside the old one with `fill` and put it in its place; searches go on meanwhile."""
    fresh = path / "fresh"
    _remove(fresh)
    try:
        with TantivyIndex(fresh).writer(heap_bytes, os.cpu_count() or 1) as writer:
            fill(writer)
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


def _weights(file: Path) -> ranking.Weights:
    try:
        return msgspec.json.decode(file.read_bytes(), type=ranking.Weights)
    except FileNotFoundError:
        return ranking.DEFAULT
    except msgspec.MsgspecError as error:
        raise SearchError(f"the weights in {file} cannot be used ({error}); correct them or remove the file")


def _stamp(file: str) -> tuple[int, int]:
    try:
        status = os.stat(file)
    except FileNotFoundError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_ino)

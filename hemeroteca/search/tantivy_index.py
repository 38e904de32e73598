"""The index on one machine: Tantivy, in a folder, one writer and any number of readers in other processes.

Tantivy's segments never change and a commit is one atomic rename, so a process killed at any moment leaves the last
commit whole, and readers are never blocked. What is stored for display travels as one compressed blob per document.
"""

import fcntl
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
import tantivy
from tantivy import Document, Query

from hemeroteca.search import analysis, memory, ranking
from hemeroteca.search.answer import Answer
from hemeroteca.search.document import SearchDocument, document_key, simhash
from hemeroteca.search.graph import LinkRanks
from hemeroteca.search.index import READER, Hit, IndexBusyError, IndexUnusableError, Options, Results, SearchError
from hemeroteca.search.notes import Note
from hemeroteca.search.plan import LAST_MS, Form
from hemeroteca.search.semantic import Encoder
from hemeroteca.search.suggest import Suggester

SCHEMA_VERSION = 3
VERSIONS = "versions"  # name of the folder of an index of all versions
LONGEST_TEXT = 1_000_000  # characters of a page that are indexed and kept
TITLE_TIMES = 2  # a word of the title counts as so many words of the text; part of the index
HELD, HELD_CHARACTERS = 32, 1 << 20  # documents that wait to be given to the engine, at most
_VERSION_FILE = "hemeroteca.json"
_REBUILD = "rebuild it from the archive with `hemeroteca search rebuild`"
# One thread of the writer needs 15 MB to work at all; a heap below is raised to that.
_LEAST_HEAP = 15_000_000
_MASK = (1 << 64) - 1
# What the engine raises; a defect in it surfaces as PanicException, which is no Exception and would end the process.
_ENGINE_ERRORS: tuple[type[BaseException], ...] = (
    ValueError,
    *(kind for kind in BaseException.__subclasses__() if kind.__name__ == "PanicException"),
)
log = logging.getLogger("hemeroteca.search")


class Stored(msgspec.Struct, array_like=True, gc=False):
    """What a result shows: kept in the index next to the document. New fields go at the end, with a default."""

    url: str
    title: str
    description: str
    text: str
    language: str
    field: str
    host: str
    type: str
    author: str
    digest: str
    id: str
    captured_ms: int
    published_ms: int
    versions: int
    headings: str
    anchors: str
    collections: tuple[str, ...]
    page: int
    until_ms: int


class TantivyIndex:
    def __init__(self, path: Path, mapped_bytes: int = memory.DEFAULT) -> None:
        """`mapped_bytes`: memory of mapped files the process may keep, about."""
        self.path = path
        self._mapped = memory.MappedFiles(mapped_bytes)
        self._folder = path / "main"
        self._meta, self._rank = str(self._folder / "meta.json"), str(path / "rank")
        self._seen: tuple[int, int] = (0, 0)
        self.has_versions = path.name == VERSIONS
        self.remembered: dict[int, Hit] = {}  # of the last commit, for runs that ask for many results without text
        self.forms: dict[tuple[str, str], list[Form]] = {}  # of words asked for since the last commit
        self.encoder: Encoder | None = None  # for semantic ranking; None: the one of the extra `semantic`
        self._links: LinkRanks | None = None
        self._links_seen: tuple[int, int] = (-1, -1)
        self._learned = str((path.parent if self.has_versions else path) / "suggest")
        self._suggester: Suggester | None = None
        self._learned_seen: tuple[int, int] = (-1, -1)
        self.weights = _weights(path / "ranking.json")
        self._open()

    def writer(self, heap_bytes: int = 48 << 20, threads: int = 1) -> "TantivyWriter":
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
        return self._index.searcher()

    def search(
        self, query: str, limit: int = 10, offset: int = 0, cursor: str = "", options: Options = READER
    ) -> Results:
        query = _clean(query)
        try:
            return Answer(self, options).search(query, limit, offset, cursor)
        except _ENGINE_ERRORS as error:
            log.warning("the query %r was refused by the engine (%s); answered as plain words", query[:200], error)
        try:
            plain = msgspec.structs.replace(options, syntax=False)
            found = Answer(self, plain).search(query, limit, offset, cursor)
        except _ENGINE_ERRORS as error:
            raise IndexUnusableError(f"the search index in {self._folder} does not answer ({error}); {_REBUILD}")
        found.notes.append(Note("the operators of this query could not be used; it was read as plain words"))
        return found

    def explain(self, query: str, key: int, options: Options = READER) -> dict[str, Any] | None:
        return Answer(self, options).explain(query, key)

    def get(self, key: int) -> SearchDocument | None:
        """The document as it was put, with the text that is kept for display."""
        searcher = self.searcher()
        found = searcher.search(Query.term_query(self.schema, "key", key), limit=1, count=False).hits
        if not found:
            return None
        document = _restored(key, stored(searcher, found[0][1]))
        document.simhash = int(searcher.fast_field_values("simhash", [found[0][1]])[0] or 0)
        return document

    def sample(self, most: int) -> Iterator[SearchDocument]:
        """About `most` documents, spread evenly over the index (replaced ones may be among them)."""
        searcher = self.searcher()
        step = max(1, searcher.num_docs // max(1, most))
        for segment in range(searcher.num_segments):
            place = 0
            while True:
                try:
                    kept = stored(searcher, tantivy.DocAddress(segment, place))
                except ValueError:  # past the end of the segment
                    break
                yield _restored(0, kept)
                place += step
                if self._mapped.exceeded():
                    self._release()
                    renewed = self._index.searcher()
                    if renewed.num_segments <= segment:  # merged meanwhile
                        return
                    searcher = renewed

    def versions(self, page: int, limit: int = 1000) -> list[SearchDocument]:
        """Every document of a page, oldest first (an index of all versions)."""
        searcher = self.searcher()
        found = searcher.search(Query.term_query(self.schema, "page", page), limit=limit, count=False).hits
        keys = searcher.fast_field_values("key", [address for _, address in found])
        documents = [_restored(int(k or 0), stored(searcher, a)) for (_, a), k in zip(found, keys, strict=True)]
        return sorted(documents, key=lambda document: document.captured_ms)

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

    def _open(self) -> None:
        with _lock(self.path):
            _finish_swap(self.path)
            self._open_folder()

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
            index = tantivy.Index(_schema(), str(self._folder))
            version_file.write_bytes(msgspec.json.encode({"schema": SCHEMA_VERSION}))
        else:
            try:
                version = msgspec.json.decode(version_file.read_bytes())["schema"]
            except FileNotFoundError:
                version = SCHEMA_VERSION if self._just_created() else 0
                version_file.write_bytes(msgspec.json.encode({"schema": version}))
            except (msgspec.DecodeError, KeyError, TypeError):
                raise IndexUnusableError(
                    f"the search index in {self._folder} has an unreadable version file; {_REBUILD}"
                )
            if version != SCHEMA_VERSION:
                raise IndexUnusableError(
                    f"the search index in {self._folder} has layout {version}, this version needs {SCHEMA_VERSION}; "
                    f"{_REBUILD}"
                )
            try:
                index = tantivy.Index.open(str(self._folder))
            except (ValueError, OSError) as error:
                raise IndexUnusableError(f"the search index in {self._folder} cannot be read ({error}); {_REBUILD}")
        self._prepare(index)
        self._seen = (0, 0)

    def _just_created(self) -> bool:
        """Killed between making the index and naming its version: nothing can be in it yet."""
        try:
            meta = msgspec.json.decode((self._folder / "meta.json").read_bytes())
        except (OSError, msgspec.DecodeError):
            return False
        return isinstance(meta, dict) and meta.get("segments") == []


class TantivyWriter:
    def __init__(self, index: tantivy.Index, folder: Path, heap_bytes: int, threads: int) -> None:
        self._schema = index.schema
        self._pending = 0
        self._held: list[Document] = []  # given to the engine together: its thread wakes once for all
        self._held_characters = 0
        self._encode = msgspec.msgpack.Encoder().encode
        try:
            heap_bytes = max(heap_bytes, _LEAST_HEAP)
            threads = max(1, min(threads, heap_bytes // _LEAST_HEAP))
            self._writer: tantivy.IndexWriter | None = index.writer(heap_bytes, threads)
        except ValueError as error:
            if "Lock" in str(error):
                raise IndexBusyError(f"the search index in {folder} is being written by another process; stop it first")
            raise IndexUnusableError(f"the search index in {folder} cannot be written ({error}); {_REBUILD}")

    def put(self, document: SearchDocument, replaces: bool = True) -> None:
        assert self._writer is not None, "the writer is closed"
        if replaces:
            self._hand_over()  # what is deleted is what came before
            self._writer.delete_documents_by_term("key", document.key)
        try:
            made = self._document(document)
        except UnicodeEncodeError:  # half a character from a broken page
            made = self._document(_whole(document))
        self._held.append(made)
        self._held_characters += len(document.text)
        self._pending += 1
        if len(self._held) >= HELD or self._held_characters >= HELD_CHARACTERS:
            self._hand_over()

    def delete(self, key: int) -> None:
        assert self._writer is not None, "the writer is closed"
        self._hand_over()
        self._writer.delete_documents_by_term("key", key)
        self._pending += 1

    def commit(self) -> None:
        assert self._writer is not None, "the writer is closed"
        if self._pending:
            self._hand_over()
            self._writer.commit()
            self._pending = 0

    def _hand_over(self) -> None:
        assert self._writer is not None
        for document in self._held:
            self._writer.add_document(document)
        self._held.clear()
        self._held_characters = 0

    def close(self) -> None:
        if self._writer is not None:
            self._writer.wait_merging_threads()
            self._writer = None

    def __enter__(self) -> "TantivyWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _document(self, page: SearchDocument) -> Document:
        field = analysis.field_of(page.language)
        body = f"body_{field}"
        title = page.title[:1000]
        captured = page.captured_ms
        text = page.text[:LONGEST_TEXT]
        document = Document()
        document.add_integer("key", page.key)
        document.add_integer("page", page.page or page.key)
        document.add_text("title", title)
        document.add_text("url", unquote(page.url[:2000]) if "%" in page.url else page.url[:2000])
        document.add_text("host", page.host)
        for site in _sites(page.host):
            document.add_text("site", site)
        document.add_text("language", page.language)
        document.add_text("type", page.type)
        for collection in page.collections:
            document.add_text("collection", collection)
        document.add_integer("captured", captured)
        document.add_integer("until", page.until_ms or LAST_MS)
        document.add_integer("published", page.published_ms or captured)
        if page.published_ms or captured:
            document.add_unsigned("year", _year(page.published_ms or captured))
        document.add_unsigned("simhash", (page.simhash or simhash(text)) & _MASK)
        document.add_integer("host_key", _host_key(page.host))
        document.add_unsigned("depth", _depth(page) | language_number(page.language) << 8)
        document.add_unsigned("length", len(page.text))
        # BM25F: a word of the title counts as several words of the text. The terms go into the same field, so that
        # their weight is saturated together and one list of postings per word is read.
        for _ in range(TITLE_TIMES):
            document.add_text(body, analysis.prepared(title, field))
        if page.anchors:
            document.add_text("anchor", page.anchors)
        for part in (page.headings, page.description, page.anchors, text):
            if part:
                document.add_text(body, analysis.prepared(part, field))
        document.add_bytes(
            "stored",
            self._encode(
                Stored(
                    page.url,
                    title,
                    page.description,
                    text,
                    page.language,
                    field,
                    page.host,
                    page.type,
                    page.author,
                    page.digest,
                    page.id,
                    captured,
                    page.published_ms,
                    page.versions,
                    page.headings,
                    page.anchors,
                    page.collections,
                    page.page,
                    page.until_ms,
                )
            ),
        )
        return document


def replace_index(path: Path, fill: Callable[[TantivyWriter], None], heap_bytes: int) -> None:
    """Build a new index beside the old one with `fill` and put it in its place; searches go on meanwhile."""
    fresh = path / "fresh"
    shutil.rmtree(fresh, ignore_errors=True)
    index = TantivyIndex(fresh)
    with index.writer(heap_bytes, os.cpu_count() or 1) as writer:
        fill(writer)
        writer.commit()
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
        shutil.rmtree(old, ignore_errors=True)
        if (fresh / "ready").exists():
            shutil.rmtree(fresh, ignore_errors=True)


def _weights(file: Path) -> ranking.Weights:
    try:
        return msgspec.json.decode(file.read_bytes(), type=ranking.Weights)
    except FileNotFoundError:
        return ranking.DEFAULT
    except msgspec.MsgspecError as error:
        raise SearchError(f"the weights in {file} cannot be used ({error}); correct them or remove the file")


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("key", indexed=True, fast=True)
    builder.add_integer_field("page", indexed=True, fast=True)
    builder.add_bytes_field("stored", stored=True)
    for field in analysis.FIELDS:
        options = "freq" if field == analysis.BIGRAMS else "position"
        builder.add_text_field(f"body_{field}", tokenizer_name=f"body_{field}", index_option=options)
    for name in ("title", "anchor", "url"):
        builder.add_text_field(name, tokenizer_name="words", index_option="position")
    for name in ("host", "language", "type", "collection"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=True)
    builder.add_text_field("site", tokenizer_name="raw", index_option="basic")
    for name in ("captured", "published", "until", "host_key"):
        builder.add_integer_field(name, fast=True)
    # `depth` has the language above its eight bits (`language_number`)
    for name in ("simhash", "depth", "length", "year"):
        builder.add_unsigned_field(name, fast=True)
    return builder.build()


_host_key = lru_cache(maxsize=4096)(document_key)


@lru_cache(maxsize=4096)
def _sites(host: str) -> tuple[str, ...]:
    """The host and every domain above it: `site:example.org` finds `docs.example.org`."""
    labels = host.split(".")
    return tuple(".".join(labels[i:]) for i in range(min(len(labels), 8)))


def stored(searcher: tantivy.Searcher, address: tantivy.DocAddress) -> Stored:
    return _decode(searcher.doc(address)["stored"][0])


_decode = msgspec.msgpack.Decoder(Stored).decode


def _restored(key: int, kept: Stored) -> SearchDocument:
    return SearchDocument(
        key=key,
        page=kept.page,
        url=kept.url,
        title=kept.title,
        headings=kept.headings,
        description=kept.description,
        text=kept.text,
        host=kept.host,
        language=kept.language,
        type=kept.type,
        captured_ms=kept.captured_ms,
        published_ms=kept.published_ms,
        until_ms=kept.until_ms,
        author=kept.author,
        anchors=kept.anchors,
        collections=kept.collections,
        digest=kept.digest,
        versions=kept.versions,
        id=kept.id,
    )


def _whole(page: SearchDocument) -> SearchDocument:
    """The document without half characters (lone surrogates), which cannot be written."""
    cleaned: dict[str, Any] = {
        name: _clean(value) if isinstance(value, str) else value for name, value in msgspec.structs.asdict(page).items()
    }
    return SearchDocument(**cleaned)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _year(milliseconds: int) -> int:
    # good to a day at the turn of the year, and 20 times faster than a datetime
    return max(0, 1970 + int(milliseconds // 86_400_000 // 365.2425))


def _depth(page: SearchDocument) -> int:
    """Levels of the path below the host; 255 for what was not crawled."""
    if page.id or not page.host:
        return 255
    path = page.url.partition("?")[0].partition("://")[2]
    last = path.rpartition("/")[2]
    return min(254, max(0, path.count("/") - (not last or last.startswith("index."))))


def language_number(code: str) -> int:
    """ISO 639-1 as a number below 1024; 0: unknown."""
    if len(code) == 2 and code.isascii() and code.islower():
        return (ord(code[0]) - 96) << 5 | (ord(code[1]) - 96)
    return 0


def _stamp(file: str) -> tuple[int, int]:
    try:
        status = os.stat(file)
    except FileNotFoundError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_ino)

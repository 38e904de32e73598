"""The one writer of an index: pages put and deleted, handed to the engine in bundles, committed together.

A page is, for the engine, the fields it is found by and the document itself as one blob for display.
"""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import tantivy
from tantivy import Document

from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.search import analysis
from hemeroteca.search.index import REBUILD, IndexBusyError, IndexUnusableError, IndexWriteError
from hemeroteca.search.index import document_fields as fields

SCHEMA_VERSION = 4
MAX_HELD, MAX_HELD_CHARACTERS = 32, 1 << 20  # documents that wait to be given to the engine, at most
# One thread of the writer needs 15 MB to work at all; a heap below is raised to that.
_MIN_HEAP = 15_000_000
_FULL = 4 << 20  # free bytes of a disk below which a failure to write is told as a full disk


class TantivyWriter:
    def __init__(self, index: tantivy.Index, folder: Path, heap_bytes: int, threads: int) -> None:
        self._engine = index
        self._folder = folder
        self._pending = 0
        self._held: list[Document] = []  # given to the engine together: its thread wakes once for all
        self._held_characters = 0
        try:
            heap_bytes = max(heap_bytes, _MIN_HEAP)
            threads = max(1, min(threads, heap_bytes // _MIN_HEAP))
            self._writer: tantivy.IndexWriter | None = index.writer(heap_bytes, threads)
        except ValueError as error:
            if "Lock" in str(error):
                raise IndexBusyError(f"the search index in {folder} is being written by another process; stop it first")
            raise IndexUnusableError(f"the search index in {folder} cannot be written ({error}); {REBUILD}")

    def put(self, document: SearchDocument, replaces: bool = True) -> None:
        assert self._writer is not None, "the writer is closed"
        if replaces:
            self._delete(document.key)
        try:
            made = engine_document(document)
        except UnicodeEncodeError:  # half a character from a broken page
            made = engine_document(whole(document))
        self._held.append(made)
        self._held_characters += len(document.text)
        self._pending += 1
        if len(self._held) >= MAX_HELD or self._held_characters >= MAX_HELD_CHARACTERS:
            self._hand_over()

    def delete(self, key: int) -> None:
        assert self._writer is not None, "the writer is closed"
        self._delete(key)
        self._pending += 1

    def commit(self) -> None:
        assert self._writer is not None, "the writer is closed"
        if self._pending:
            self._hand_over()
            try:
                self._writer.commit()
            except ValueError as error:
                self._fail(error)
            self._pending = 0

    def _hand_over(self) -> None:
        assert self._writer is not None
        try:
            for document in self._held:
                self._writer.add_document(document)
        except ValueError as error:
            self._fail(error)
        self._held.clear()
        self._held_characters = 0

    def _delete(self, key: int) -> None:
        assert self._writer is not None
        self._hand_over()  # what is deleted is what came before
        try:
            self._writer.delete_documents_by_term("key", key)
        except ValueError as error:
            self._fail(error)

    def close(self) -> None:
        if self._writer is not None:
            try:
                self._writer.wait_merging_threads()
            except ValueError as error:
                self._fail(error)
            self._writer = None

    def _fail(self, error: ValueError) -> NoReturn:
        """The engine's threads are dead. What they had written since the last commit is of no use: make room of it."""
        full = shutil.disk_usage(self._folder).free < _FULL
        reason = "the disk is full" if full else str(error)
        self._writer = None
        self._held.clear()
        with suppress(ValueError):
            self._engine.writer(_MIN_HEAP, 1).garbage_collect_files()
        raise IndexWriteError(
            f"the search index in {self._folder} could not be written ({reason}); what was in it before can still be "
            "found. Make room and start again: what is archived is indexed then"
        )

    def __enter__(self) -> "TantivyWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_bytes_field("stored", stored=True)
    for kind, name in fields.BODIES.items():
        builder.add_text_field(
            name, tokenizer_name=name, index_option="freq" if kind == analysis.BIGRAMS else "position"
        )
    for name in fields.TEXTS:
        builder.add_text_field(name, tokenizer_name="words", index_option="position")
    for name in fields.KEYWORDS:
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=name in fields.FACETS)
    for name in fields.NUMBERS:
        builder.add_integer_field(name, indexed=name in ("key", "page"), fast=True)
    return builder.build()


def engine_document(page: SearchDocument) -> Document:
    """The page for the engine. Half a character (from a broken page) raises UnicodeEncodeError: see `whole`."""
    page = fields.prepared(page)
    document = Document()
    for name, number in fields.numbers(page).items():
        document.add_integer(name, number)
    for name, text in fields.keywords(page):
        document.add_text(name, text)
    for name, text in fields.texts(page):
        document.add_text(name, text)
    document.add_bytes("stored", _encode(page))
    return document


def stored(searcher: tantivy.Searcher, address: tantivy.DocAddress) -> SearchDocument:
    return _decode(searcher.doc(address)["stored"][0])


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(SearchDocument).decode


def whole(page: SearchDocument) -> SearchDocument:
    """The document without half characters (lone surrogates), which cannot be written."""
    cleaned: dict[str, Any] = {
        name: clean(value) if isinstance(value, str) else value for name, value in msgspec.structs.asdict(page).items()
    }
    return SearchDocument(**cleaned)


def clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")

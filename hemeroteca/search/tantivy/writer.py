"""The one writer of an index: pages put and deleted, handed to the engine in bundles, committed together."""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import tantivy
from tantivy import Document

from hemeroteca.search.document import SearchDocument
from hemeroteca.search.index import REBUILD, IndexBusyError, IndexUnusableError, IndexWriteError
from hemeroteca.search.tantivy import schema

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
            made = schema.document(document)
        except UnicodeEncodeError:  # half a character from a broken page
            made = schema.document(schema.whole(document))
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

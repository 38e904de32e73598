"""The one writer of an index: pages put and deleted, handed to the engine in bundles, committed together."""

from pathlib import Path

import tantivy
from tantivy import Document

from hemeroteca.search import engine_document
from hemeroteca.search.document import SearchDocument
from hemeroteca.search.index import REBUILD, IndexBusyError, IndexUnusableError

HELD, HELD_CHARACTERS = 32, 1 << 20  # documents that wait to be given to the engine, at most
# One thread of the writer needs 15 MB to work at all; a heap below is raised to that.
_LEAST_HEAP = 15_000_000


class TantivyWriter:
    def __init__(self, index: tantivy.Index, folder: Path, heap_bytes: int, threads: int) -> None:
        self._schema = index.schema
        self._pending = 0
        self._held: list[Document] = []  # given to the engine together: its thread wakes once for all
        self._held_characters = 0
        try:
            heap_bytes = max(heap_bytes, _LEAST_HEAP)
            threads = max(1, min(threads, heap_bytes // _LEAST_HEAP))
            self._writer: tantivy.IndexWriter | None = index.writer(heap_bytes, threads)
        except ValueError as error:
            if "Lock" in str(error):
                raise IndexBusyError(f"the search index in {folder} is being written by another process; stop it first")
            raise IndexUnusableError(f"the search index in {folder} cannot be written ({error}); {REBUILD}")

    def put(self, document: SearchDocument, replaces: bool = True) -> None:
        assert self._writer is not None, "the writer is closed"
        if replaces:
            self._hand_over()  # what is deleted is what came before
            self._writer.delete_documents_by_term("key", document.key)
        try:
            made = engine_document.document(document)
        except UnicodeEncodeError:  # half a character from a broken page
            made = engine_document.document(engine_document.whole(document))
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

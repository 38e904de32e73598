"""Search kept fresh beside a crawl: link ranks, link texts, words for suggestions; collections; documents of commands.

Ranks and words are the work of a process of its own (`search.refresh`) at the lowest priority: it may take seconds, and
the engine's loop must not wait. The index has one writer, the engine, so everything is put into documents here, bit by
bit. All of it can be lost and is made again at the next turn.
"""

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from hemeroteca import urls
from hemeroteca.engine.sinks.search_sink import SearchSink
from hemeroteca.frontier import queries
from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.instance import Instance
from hemeroteca.search import document_queue
from hemeroteca.search.index import SearchError, open_index
from hemeroteca.search.maintenance import TEXTS, TurnError, turn
from hemeroteca.watch import queries as watch
from hemeroteca.watch.membership import Member, Membership

log = logging.getLogger("hemeroteca.engine")

IDLE_SECONDS = 180.0  # between two turns while nothing is fetched …
BUSY_SECONDS = 900.0  # … and in the middle of a crawl
LEARNED = 10_000  # documents from which words are learned: about 8 s of processor time …
LEARNED_AT_ONCE = 500  # … and when a person waits for the end of a command
SLICE = 25  # documents that get their link texts in one look of the engine: about 10 ms
APPLIED = "collections.json"  # what the documents of the index were given
COLLECTIONS_SECONDS = 2.0
COLLECTIONS_SLICE = 0.01  # s of one look
DOCUMENTS_SECONDS = 1.0
DOCUMENTS_SLICE = 0.05  # s: about a thousand documents


class SearchUpkeep:
    """All of it; asked a few times a second.

    `soon`: the first turn may be at once. A crawl by command does without: it makes one when it has ended.
    """

    def __init__(self, instance: Instance, search: SearchSink, soon: bool = True) -> None:
        self._instance = instance
        self._search = search
        self._collections = Collections(instance, search)
        self._documents = LeftDocuments(instance, search)
        self._process: subprocess.Popen[bytes] | None = None
        self._texts: list[tuple[int, str]] = []
        self._seen = search.indexed  # documents the last turn knew
        self._last = time.monotonic() - (IDLE_SECONDS if soon else 0)

    def look(self, idle: bool) -> None:
        self._documents.look()
        if self._collections.look():
            return
        if self._process is not None:
            if self._process.poll() is None:
                return
            if self._process.returncode:
                log.warning("refreshing link ranks and suggestions failed (%d)", self._process.returncode)
            self._process = None
            self._last = time.monotonic()
            self._texts = _take_texts(self._instance.index_dir)
        if self._texts:
            for key, texts in self._texts[-SLICE:]:
                self._search.enrich(key, texts)
            del self._texts[-SLICE:]
            return
        wait = IDLE_SECONDS if idle else BUSY_SECONDS
        if self._search.indexed != self._seen and time.monotonic() >= self._last + wait:
            self._seen = self._search.indexed
            self._process = _start(self._instance, LEARNED)

    def close(self) -> None:
        """A turn under way is given up."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class Collections:
    """Looks now and then whether people changed what belongs where, and puts the documents right.

    What has been done is noted beside the index, so that a change made while no engine ran, or one cut short, is done
    at the next start.
    """

    def __init__(self, instance: Instance, search: SearchSink) -> None:
        self._folder = instance.index_dir
        self._search = search
        self._revision = -1
        self._due = 0.0
        self._keys: Iterator[int] | None = None
        self._put = False  # a document was changed
        self._done_at: int | None = None  # commits there had been when the last one was

    def look(self) -> bool:
        """True when documents were changed."""
        moment = time.monotonic()
        if moment >= self._due:
            self._due = moment + COLLECTIONS_SECONDS
            self._read()
        if self._done_at is not None and self._search.commits > self._done_at:
            self._done_at = None
            write_applied(self._folder, self._search.membership)
        if self._keys is None:
            return False
        until = time.monotonic() + COLLECTIONS_SLICE
        for key in self._keys:
            self._put |= self._search.recollect(key)
            if time.monotonic() >= until:
                return True
        self._keys = None
        self._done_at = self._search.commits if self._put else -1
        return self._put

    def _read(self) -> None:
        revision = watch.revision()
        if revision == self._revision:
            return
        self._revision = revision
        now = Membership.load()
        if now.members != self._search.membership.members:
            self._search.membership = now
        changed = now.members ^ _applied(self._folder)
        self._done_at, self._put = None, False
        self._keys = self._pages(changed) if changed else None

    def _pages(self, members: frozenset[Member]) -> Iterator[int]:
        """Keys of all documents that one of these scopes may hold."""
        for scope, _ in members:
            if scope.kind == "page":
                yield from map(urls.key, scope.seeds)
                continue
            for domain in {urls.registrable_domain(urls.host(seed)) for seed in scope.seeds}:
                yield from self._search.pages_of(domain)


class LeftDocuments:
    """Documents that a command left for the engine (`search.document_queue`), put into the index bit by bit."""

    def __init__(self, instance: Instance, search: SearchSink) -> None:
        self._folder = instance.index_dir
        self._search = search
        self._due = 0.0
        self._file: Path | None = None
        self._rows: Iterator[SearchDocument] = iter(())
        self._put: list[tuple[Path, int]] = []  # and how many commits of the index there must be until they can go

    def look(self) -> None:
        for file, commits in self._put:
            if self._search.commits >= commits:
                file.unlink(missing_ok=True)
        self._put = [(file, commits) for file, commits in self._put if self._search.commits < commits]
        if self._file is None and not self._next():
            return
        assert self._file is not None
        until = time.monotonic() + DOCUMENTS_SLICE
        try:
            for document in self._rows:
                self._search.put(document)
                if time.monotonic() >= until:
                    return
        except (OSError, ValueError) as error:
            log.warning("documents to import were left out: %s", error)
        # nothing was in it, or all of it is committed: it can go at once
        self._put.append((self._file, self._search.commits + self._search.waiting))
        self._file = None
        self._due = 0.0  # there may be more

    def _next(self) -> bool:
        moment = time.monotonic()
        if moment < self._due:
            return False
        self._due = moment + DOCUMENTS_SECONDS
        known = {file for file, _ in self._put}
        self._file = next((file for file in document_queue.pending(self._folder) if file not in known), None)
        if self._file is not None:
            self._rows = document_queue.read(self._file)
        return self._file is not None


def write_applied(folder: Path, membership: Membership) -> None:
    """Note which collections the documents of an index were given."""
    draft = folder / f"{APPLIED}.draft"
    draft.write_bytes(msgspec.json.encode(sorted(membership.members, key=repr)))
    os.replace(draft, folder / APPLIED)


def _applied(folder: Path) -> frozenset[Member]:
    try:
        return frozenset(msgspec.json.decode((folder / APPLIED).read_bytes(), type=list[Member]))
    except (OSError, msgspec.MsgspecError):
        return frozenset()


def refresh(instance: Instance, heap_bytes: int) -> None:
    """A whole turn in this process, for whoever holds the engine's lock and has closed its writer."""
    try:
        turn(instance.index_dir, queries.seed_keys(), LEARNED_AT_ONCE)
    except TurnError as error:
        log.warning("%s", error)
    if texts := _take_texts(instance.index_dir):
        try:
            _put_texts(instance, heap_bytes, texts)
        except SearchError as error:
            log.warning("the texts of links wait for the next turn: %s", error)


def _put_texts(instance: Instance, heap_bytes: int, texts: list[tuple[int, str]]) -> None:
    index = open_index(None, instance.index_dir)
    writer = index.writer(heap_bytes)
    try:
        for key, text in texts:
            document = index.get(key)
            if document is not None:
                document.anchors = text
                writer.put(document, True)
        writer.commit()
    finally:
        writer.close()


def _start(instance: Instance, learned: int) -> subprocess.Popen[bytes]:
    (instance.index_dir / TEXTS).unlink(missing_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "hemeroteca.search.maintenance", str(instance.index_dir), str(learned)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},
    )
    assert process.stdin is not None
    try:
        process.stdin.write(msgspec.msgpack.encode(queries.seed_keys()))
        process.stdin.close()
    except BrokenPipeError:
        pass  # it ended at once; its exit code says so
    return process


def _take_texts(folder: Path) -> list[tuple[int, str]]:
    file = folder / TEXTS
    try:
        found = msgspec.msgpack.decode(file.read_bytes(), type=list[tuple[int, str]])
    except (OSError, msgspec.MsgspecError):
        return []
    file.unlink(missing_ok=True)
    return found

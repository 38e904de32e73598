"""Search kept fresh beside a crawl: link ranks, link texts, words for suggestions.

The work is done by a process of its own (`search.refresh`) at the lowest priority: it may take seconds, and the
engine's loop must not wait. The index has one writer, the engine, so the process leaves what it found out about link
texts in a file, and the engine puts it into the documents bit by bit. Everything here can be lost and is made again at
the next turn.
"""

import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from hemeroteca.engine.collection_membership import Collector
from hemeroteca.engine.handed_over import HandedOver
from hemeroteca.engine.ledger import Ledger
from hemeroteca.frontier import queries
from hemeroteca.instance import Instance
from hemeroteca.search.index import SearchError, open_index
from hemeroteca.search.refresh import TEXTS, TurnError, turn

log = logging.getLogger("hemeroteca.engine")

IDLE_SECONDS = 180.0  # between two turns while nothing is fetched …
BUSY_SECONDS = 900.0  # … and in the middle of a crawl
LEARNED = 10_000  # documents from which words are learned: about 8 s of processor time …
LEARNED_AT_ONCE = 500  # … and when a person waits for the end of a command
SLICE = 25  # documents that get their link texts in one look of the engine: about 10 ms


class Refresher:
    """Starts a turn when something is new and it is time; then hands its link texts to the ledger.

    `soon`: the first may be at once. A crawl by command does without: it makes one when it has ended.
    """

    def __init__(self, instance: Instance, ledger: Ledger, soon: bool = True) -> None:
        self._instance = instance
        self._ledger = ledger
        self._collector = Collector(instance, ledger)
        self._handed = HandedOver(instance, ledger)
        self._process: subprocess.Popen[bytes] | None = None
        self._texts: list[tuple[int, str]] = []
        self._seen = ledger.indexed  # documents the last turn knew
        self._last = time.monotonic() - (IDLE_SECONDS if soon else 0)

    def look(self, idle: bool) -> bool:
        """A few times a second. True when documents wait for a commit."""
        put = self._handed.look()
        if self._collector.look() or self._ledger.overdue or put:
            return True
        if self._process is not None:
            if self._process.poll() is None:
                return False
            if self._process.returncode:
                log.warning("refreshing link ranks and suggestions failed (%d)", self._process.returncode)
            self._process = None
            self._last = time.monotonic()
            self._texts = _take_texts(self._instance.index_dir)
        if self._texts:
            for key, texts in self._texts[-SLICE:]:
                self._ledger.enrich(key, texts)
            del self._texts[-SLICE:]
            return True
        wait = IDLE_SECONDS if idle else BUSY_SECONDS
        if self._ledger.indexed != self._seen and time.monotonic() >= self._last + wait:
            self._seen = self._ledger.indexed
            self._process = _start(self._instance, LEARNED)
        return False

    def close(self) -> None:
        """A turn under way is given up."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def run(instance: Instance, heap_bytes: int) -> None:
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
        [sys.executable, "-m", "hemeroteca.search.refresh", str(instance.index_dir), str(learned)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"},
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

"""Documents that `hemeroteca search import` left for the engine, put into the index bit by bit (search.handover)."""

import logging
import time
from collections.abc import Iterator
from pathlib import Path

from hemeroteca.engine.ledger import Ledger
from hemeroteca.instance import Instance
from hemeroteca.search import handover
from hemeroteca.search.document import SearchDocument

log = logging.getLogger("hemeroteca.engine")

LOOK_SECONDS = 1.0
SLICE_SECONDS = 0.05  # of the engine's loop at a time, four times a second: about a thousand documents


class HandedOver:
    def __init__(self, instance: Instance, ledger: Ledger) -> None:
        self._folder = instance.index_dir
        self._ledger = ledger
        self._due = 0.0
        self._file: Path | None = None
        self._documents: Iterator[SearchDocument] = iter(())
        self._done_at: int | None = None  # commits of the index there had been when the last document was put

    def look(self) -> bool:
        """True when documents were put, which then wait for a commit."""
        if self._file is None and not self._next():
            return False
        assert self._file is not None
        if self._done_at is not None:
            if self._ledger.index_commits > self._done_at:
                self._file.unlink(missing_ok=True)
                self._file = self._done_at = None
            return False
        until = time.monotonic() + SLICE_SECONDS
        put = False
        try:
            for document in self._documents:
                self._ledger.take(document)
                put = True
                if time.monotonic() >= until:
                    return True
        except (OSError, ValueError) as error:
            log.warning("documents to import were left out: %s", error)
        self._done_at = self._ledger.index_commits
        if not self._ledger.waiting:  # nothing was in it, or all of it is committed
            self._done_at -= 1
        return put

    def _next(self) -> bool:
        moment = time.monotonic()
        if moment < self._due:
            return False
        self._due = moment + LOOK_SECONDS
        for file in handover.waiting(self._folder)[:1]:
            self._file, self._documents = file, handover.read(file)
        return self._file is not None

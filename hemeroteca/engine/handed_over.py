"""Documents and captures that commands left for the engine, put into the index bit by bit (search.document_queue)."""

import logging
import time
from collections.abc import Iterator
from pathlib import Path

from hemeroteca.engine import imported_pages
from hemeroteca.engine.ledger import Ledger
from hemeroteca.engine.reindex import Source, newest
from hemeroteca.instance import Instance
from hemeroteca.search import document_queue
from hemeroteca.search.document import SearchDocument

log = logging.getLogger("hemeroteca.engine")

LOOK_SECONDS = 1.0
SLICE_SECONDS = 0.05  # of the engine's loop at a time, four times a second: about a thousand documents


class HandedOver:
    def __init__(self, instance: Instance, ledger: Ledger) -> None:
        self._instance = instance
        self._ledger = ledger
        self._due = 0.0
        self._file: Path | None = None
        self._rows: Iterator[SearchDocument | imported_pages.ImportedPage] = iter(())
        self._put: list[tuple[Path, int]] = []  # and how many commits of the index there must be until they can go

    def look(self) -> bool:
        """True when documents were put, which then wait for a commit."""
        self._let_go()
        if self._file is None and not self._next():
            return False
        assert self._file is not None
        until = time.monotonic() + SLICE_SECONDS
        put = False
        try:
            for row in self._rows:
                if isinstance(row, imported_pages.ImportedPage):
                    self._take(row)
                else:
                    self._ledger.take(row)
                put = True
                if time.monotonic() >= until:
                    return True
        except (OSError, ValueError) as error:
            log.warning("documents to import were left out: %s", error)
        # nothing was in it, or all of it is committed: it can go at once
        self._put.append((self._file, self._ledger.index_commits + self._ledger.waiting))
        self._file = None
        self._due = 0.0  # there may be more
        return put

    def _take(self, row: imported_pages.ImportedPage) -> None:
        """Unless something newer is known of the page: the engine crawls on while an import goes on."""
        ledger, document = self._ledger, row.document
        if row.past:
            ledger.take_past(row.page, row.captured_ms, document)
            return
        last = newest(row.url_key)
        if ledger.awaits_newer(row.url_key, row.captured_ms) or (last and last.captured_ms > row.captured_ms):
            return
        if row.edges is not None:
            ledger.link(row.page, row.edges)
        elif document is None:
            ledger.unlink(row.page)
        if document is None:
            ledger.drop(row.page)
        else:
            document.collections = ledger.membership.of(document.url, document.host)
            ledger.take(document)

    def _let_go(self) -> None:
        for file, commits in self._put:
            if self._ledger.index_commits >= commits:
                file.unlink(missing_ok=True)
        self._put = [(file, commits) for file, commits in self._put if self._ledger.index_commits < commits]

    def _next(self) -> bool:
        moment = time.monotonic()
        if moment < self._due:
            return False
        self._due = moment + LOOK_SECONDS
        folder = self._instance.index_dir
        known = {file for file, _ in self._put}
        for file in document_queue.pending(folder):
            if file not in known:
                self._file, self._rows = file, document_queue.read(file)
                return True
        for file in document_queue.pending(folder, imported_pages.ROWS):
            if file not in known:
                self._file, self._rows = file, document_queue.rows(file, imported_pages.ImportedPage)
                return True
        for file in imported_pages.forsaken(folder):
            if file not in known:
                self._file, self._rows = file, self._read_again(file)
                return True
        return False

    def _read_again(self, file: Path) -> Iterator[imported_pages.ImportedPage]:
        yield from imported_pages.of_keys(
            Source(self._instance), imported_pages.noted(file), self._ledger.keeps_versions
        )

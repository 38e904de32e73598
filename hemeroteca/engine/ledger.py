"""What must reach the disk together: WARC records, capture rows, page rows; then, less often, the search index.

The order makes a crash harmless: records are durable before the rows that point at them are committed, and the index
is committed after the rows, with a note of the last capture it holds, so that a restart can add what it lacks.
"""

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from django.db import connection, transaction

from hemeroteca import __version__
from hemeroteca.archive import queries, services
from hemeroteca.archive.values import NewCapture
from hemeroteca.archive.warc import Original
from hemeroteca.archive.writer import WarcWriter
from hemeroteca.config import Config
from hemeroteca.engine.ingest import Edges
from hemeroteca.frontier.queue import Frontier
from hemeroteca.instance import Instance
from hemeroteca.search.document import SearchDocument
from hemeroteca.search.graph import LinkGraph
from hemeroteca.search.index import open_index

EDGES_AT_ONCE = 250_000  # links kept in memory, at most; a crash loses them, which costs only quality of ranking
EDGES_SECONDS = 60.0
LINK_TEXTS = 50_000  # pages whose link texts are remembered until they are fetched: about 10 MB


class DiskFullError(OSError):
    """Too little room is left; stopping now loses nothing."""


class Ledger:
    def __init__(self, config: Config, instance: Instance, frontier: Frontier) -> None:
        facts = {
            "software": f"Hemeroteca/{__version__}",
            "http-header-user-agent": config.agent,
            "robots": "obey",
        }
        self.warcs = WarcWriter(instance.warc_dir, max_bytes=config.warc_bytes, facts=facts)
        self._config = config
        self._instance = instance
        self._frontier = frontier
        self._captures: list[NewCapture] = []
        self._originals: dict[str, Original] = {}  # of captures not committed yet, by digest
        self._reader = open_index(config, instance.index_dir)
        self._index = self._reader.writer(config.index_heap_bytes)
        self._links = LinkGraph(instance.index_dir / "links").writer()
        self._links_due = time.monotonic() + EDGES_SECONDS
        self._texts: dict[int, str] = {}  # page → texts of links to it, seen lately
        self._unindexed = 0
        self._uncommitted: set[int] = set()  # keys whose documents only the writer knows
        self.indexed = 0  # documents and deletions so far
        self._index_due = time.monotonic() + config.index_commit_seconds

    def originals(self, digests: list[str]) -> dict[str, Original]:
        """Captures, committed or about to be, that hold these payloads."""
        found = queries.originals(digest for digest in digests if digest not in self._originals)
        for digest in digests:
            if digest in self._originals:
                found[digest] = self._originals[digest]
        return found

    def keep(self, capture: NewCapture, records: bytes | Path) -> None:
        """Append a capture's records; its row waits for the next commit."""
        capture.warc_name, offset = self.warcs.append(records)
        capture.offset += offset
        self._captures.append(capture)
        if capture.kind == "response" and not capture.truncated:
            self._originals[capture.digest] = Original(
                capture.record_id, capture.url, capture.captured_ms, capture.digest
            )

    def index(self, document: SearchDocument, replaces: bool) -> None:
        """Put a page into the index, with the texts of the links that led to it: a refresh rarely has more to say."""
        document.anchors = self._texts.get(document.key, "")
        self._index.put(document, replaces)
        self._note(document.key)

    def unindex(self, key: int) -> None:
        self._index.delete(key)
        self._note(key)

    def link(self, page: int, edges: Edges) -> None:
        """The links of a page, for the ranking of pages and hosts."""
        self._links.add_packed(page, edges.host, edges.targets, edges.hosts, edges.texts)
        known = self._texts
        if len(known) > LINK_TEXTS:
            known.clear()
        for target, text in edges.texts:
            before = known.setdefault(target, text)
            if len(before) < 200 and text not in before:
                known[target] = f"{before}\n{text}"

    def enrich(self, key: int, texts: str) -> None:
        """Put the texts of links to a page into its document, unless a newer one waits for its commit."""
        document = None if key in self._uncommitted else self._reader.get(key)
        if document is not None:
            document.anchors = texts
            self._index.put(document, True)
            self._uncommitted.add(key)
            self._unindexed += 1

    def _note(self, key: int) -> None:
        self._uncommitted.add(key)
        self._unindexed += 1
        self.indexed += 1

    def commit(self, also: Callable[[], None]) -> None:
        """Everything so far becomes durable; `also` writes what else belongs to the same transaction."""
        if shutil.disk_usage(self._instance.data).free < self._config.min_free_bytes:
            raise DiskFullError(
                f"less than {self._config.min_free_bytes >> 20} MiB are free on the disk of {self._instance.data}; "
                "make room (or lower min_free_bytes) and start again: the crawl goes on where it stopped"
            )
        self.warcs.sync()
        captures, self._captures = self._captures, []
        with transaction.atomic():
            services.insert_captures(captures, self.warcs.sizes())
            self._frontier.write(time.time_ns() // 1_000_000)
            also()
        self._originals.clear()
        services.mark_closed(self.warcs.close_rotated())

    def commit_index(self, now: bool = False) -> None:
        """Make new documents findable, when it is time. Call right after `commit`."""
        moment = time.monotonic()
        if self._unindexed and (now or moment >= self._index_due):
            self._index.commit()
            self._unindexed = 0
            self._uncommitted.clear()
            write_watermark(self._instance, last_capture())
            moment = time.monotonic()
        if now or moment >= self._links_due or len(self._links) >= EDGES_AT_ONCE:
            self._links.commit()
            self._links_due = moment + EDGES_SECONDS
        if moment >= self._index_due:
            self._index_due = moment + self._config.index_commit_seconds

    def close(self) -> None:
        """After a last `commit`."""
        self.commit_index(now=True)
        self._index.close()
        services.mark_closed(self.warcs.close())

    def abandon(self) -> None:
        """After a failure: let go of everything that is not committed."""
        self._index.close()
        self.warcs.abandon()


def last_capture() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT MAX(id) FROM capture")
        return cursor.fetchone()[0] or 0


def read_watermark(instance: Instance) -> int:
    """The last capture the search index is known to hold; 0 when unknown."""
    try:
        return int(json.loads((instance.data / "index.json").read_text())["capture"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def write_watermark(instance: Instance, capture: int) -> None:
    path = instance.data / "index.json"
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps({"capture": capture}))
    os.replace(draft, path)

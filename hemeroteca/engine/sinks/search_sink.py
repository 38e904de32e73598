"""Documents on their way into the search index, which this process alone writes.

The index is committed after the rows of the captures, every few seconds, with a note of the last capture it holds
(`write_watermark`): a start adds what a crash left out.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hemeroteca.archive import queries
from hemeroteca.config import Config
from hemeroteca.engine.sinks import Arrival
from hemeroteca.engine.sinks.links_sink import LinksSink
from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.instance import Instance
from hemeroteca.search.index import VERSIONS, SearchError, folder_of, open_index
from hemeroteca.search.index.expressions import TermQuery
from hemeroteca.search.index.version_index import VersionWriter, open_versions
from hemeroteca.watch.membership import Membership


class SearchSink:
    def __init__(self, config: Config, instance: Instance, links: LinksSink) -> None:
        self._config = config
        self._instance = instance
        self._links = links
        self._reader = open_index(config, instance.index_dir)
        self._index = self._reader.writer(config.index_heap_bytes)
        self._versions = None
        if config.index_versions:
            self._versions = VersionWriter(
                open_versions(instance.index_dir), config.index_heap_bytes, last=self._last_version
            )
        self.membership = Membership.load()
        self.indexed = 0  # documents and deletions so far
        self.commits = 0
        self._waiting = 0  # documents that wait for a commit
        self._unnoted = False  # captures came since it was noted which was the last
        self._uncommitted: set[int] = set()  # keys whose documents only the writer knows
        self._replaced: dict[int, SearchDocument | None] = {}  # those of them that replaced another; None: deleted
        self._held_back: list[Arrival] = []  # pages that were new a moment ago: first they must be findable
        self._due = time.monotonic() + config.index_commit_seconds

    # what it takes

    def take(self, arrival: Arrival) -> None:
        self._unnoted = True
        if not arrival.is_page:
            return
        began = time.perf_counter()
        self._index_it(arrival)
        arrival.index_ms = (time.perf_counter() - began) * 1000

    def _index_it(self, arrival: Arrival) -> None:
        key, document = arrival.rules.key, None if arrival.unchanged else arrival.done.document
        known = bool(arrival.versions) or arrival.trip is None
        if document is None and not (arrival.gone and known):
            return
        versions = self._versions if known else None  # of a new page there is nothing but what it says now
        if versions is not None and key in self._uncommitted and key not in self._replaced:
            self._held_back.append(arrival)
            return
        if document is not None:
            document.versions = arrival.versions + 1
            document.anchors = self._links.texts_of(key)
            document.collections = self.membership.of(document.url, document.host)
            if versions is not None:
                versions.put(document, arrival.newest)
            if arrival.newest:
                self._index.put(document, known)
        else:
            if versions is not None:
                versions.end(key, arrival.capture.captured_ms)
            if arrival.newest:
                self._index.delete(key)
        if arrival.newest:
            self._uncommitted.add(key)
            if versions is not None:
                self._replaced[key] = document
        self._waiting += 1
        self.indexed += 1

    def _last_version(self, key: int) -> SearchDocument | None:
        return self._replaced[key] if key in self._replaced else self._reader.get(key)

    @property
    def keeps_versions(self) -> bool:
        """All of them can be found, not only the last."""
        return self._versions is not None

    def put(self, document: SearchDocument) -> None:
        """A document that is no page of the archive."""
        self._put_again(document)
        self.indexed += 1

    def enrich(self, key: int, texts: str) -> None:
        """Put the texts of links to a page into its document, unless a newer one waits for its commit."""
        document = None if key in self._uncommitted else self._reader.get(key)
        if document is not None:
            document.anchors = texts
            self._put_again(document)

    def pages_of(self, site: str) -> Iterator[int]:
        """Keys of the documents of a domain."""
        return self._reader.keys(TermQuery("site", site))

    def recollect(self, key: int) -> bool:
        """Give a document the collections it belongs to now, unless a newer one, which has them, waits."""
        document = None if key in self._uncommitted else self._reader.get(key)
        if document is None or document.id:  # an imported one has the collection it was given
            return False
        collections = self.membership.of(document.url, document.host)
        if collections == document.collections:
            return False
        document.collections = collections
        self._put_again(document)
        return True

    # its commits

    @property
    def pending(self) -> bool:
        """Documents should be findable by now, or what is findable noted."""
        return (bool(self._waiting) or self._unnoted) and time.monotonic() >= self._due

    @property
    def waiting(self) -> bool:
        """Documents wait for a commit."""
        return bool(self._waiting)

    def write(self) -> None:
        """Nothing that belongs to the transaction."""

    def commit(self, now: bool = False) -> None:
        """Make new documents findable, when it is time. After a commit of the captures they were made of."""
        moment = time.monotonic()
        if not now and moment < self._due:
            return
        if self._waiting:
            self._commit()
            held, self._held_back = self._held_back, []
            for arrival in held:
                self._index_it(arrival)
            if held:
                self._commit()
            self._unnoted = True
        if self._unnoted or now:
            write_watermark(self._instance, queries.last_id(), versions_too=self._versions is not None)
            self._unnoted = False
        if moment >= self._due:
            self._due = moment + self._config.index_commit_seconds

    def _commit(self) -> None:
        if self._versions is not None:
            self._versions.commit()  # first: for a moment a version lies in both indexes, never in none
        self._index.commit()
        self.commits += 1
        self._waiting = 0
        self._uncommitted.clear()
        self._replaced.clear()

    def close(self) -> None:
        self._index.close()
        if self._versions is not None:
            self._versions.close()

    def abandon(self) -> None:
        with suppress(SearchError):  # its threads may have died of the same failure, which is what is to be told
            self.close()

    def _put_again(self, document: SearchDocument) -> None:
        self._index.put(document, True)
        self._uncommitted.add(document.key)
        self._waiting += 1


def read_watermark(instance: Instance, versions: bool = False) -> int:
    """The last capture the search index (or the index of all versions) is known to hold; 0 when unknown."""
    try:
        return int(json.loads(_watermark(instance, versions).read_text())["capture"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def write_watermark(instance: Instance, capture: int, versions_too: bool = False) -> None:
    """While versions are not indexed their mark stays, so that a start with them knows what it lacks."""
    for versions in (False, True) if versions_too else (False,):
        path = _watermark(instance, versions)
        if path.parent.is_dir():
            draft = path.with_suffix(".new")
            draft.write_text(json.dumps({"capture": capture}))
            os.replace(draft, path)


def _watermark(instance: Instance, versions: bool) -> Path:
    """Inside the index it speaks of: it goes, comes back and is copied with it."""
    return folder_of(instance.index_dir / VERSIONS if versions else instance.index_dir) / "archive.json"

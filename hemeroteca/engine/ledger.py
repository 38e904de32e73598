"""What must reach the disk together: WARC records, capture rows, page rows; then, less often, the search index.

The order makes a crash harmless: records are durable before the rows that point at them are committed, and the index
is committed after the rows, with a note of the last capture it holds, so that a restart can add what it lacks.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from django.db import connection, transaction

from hemeroteca import __version__, urls, warc
from hemeroteca.archive import queries, services
from hemeroteca.archive.values import NewCapture
from hemeroteca.config import Config
from hemeroteca.engine import packing
from hemeroteca.engine.collection_membership import Membership
from hemeroteca.engine.messages import Edges
from hemeroteca.engine.uploads import Uploads
from hemeroteca.frontier.queue import Frontier
from hemeroteca.instance import Instance
from hemeroteca.search.document import SearchDocument
from hemeroteca.search.graph import LinkGraph
from hemeroteca.search.index import VERSIONS, SearchError, folder_of, open_index
from hemeroteca.search.index.expressions import TermQuery
from hemeroteca.search.index.versions import VersionWriter, open_versions
from hemeroteca.warc import keys
from hemeroteca.warc.builder import Original
from hemeroteca.warc.keys import DOM
from hemeroteca.warc.writer import ClosedFile, WarcWriter

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
        packing.choose(config, instance)
        self.warcs = WarcWriter(instance.warc_dir, max_bytes=config.warc_bytes, facts=facts)
        self.uploads = Uploads(config, instance.warc_dir)
        self._config = config
        self._instance = instance
        self._frontier = frontier
        self._captures: list[NewCapture] = []
        self._originals: dict[str, Original] = {}  # of captures not committed yet, by digest
        self._reader = open_index(config, instance.index_dir)
        self._index = self._reader.writer(config.index_heap_bytes)
        self._versions = None
        if config.index_versions:
            self._versions = VersionWriter(open_versions(instance.index_dir), config.index_heap_bytes)
        self.membership = Membership.load()
        self._links = LinkGraph(instance.index_dir / "links").writer()
        self._links_due = time.monotonic() + EDGES_SECONDS
        self._texts: dict[int, str] = {}  # page → texts of links to it, seen lately
        self._unindexed = 0
        self._uncommitted: set[int] = set()  # keys whose documents only the writer knows
        self.indexed = 0  # documents and deletions so far
        self.index_commits = 0
        self._index_due = time.monotonic() + config.index_commit_seconds

    @property
    def pending(self) -> bool:
        """Whether captures wait for a commit."""
        return bool(self._captures)

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
        if capture.kind == "response" and not capture.truncated and keys.MARK not in capture.urlkey:
            self._originals[capture.digest] = Original(
                capture.record_id, capture.url, capture.captured_ms, capture.digest
            )

    def is_news(self, capture: NewCapture) -> bool:
        """Whether the last capture of the same address, committed or about to be, had another payload."""
        for pending in reversed(self._captures):
            if pending.urlkey == capture.urlkey and pending.url == capture.url:
                return pending.digest != capture.digest
        last = queries.latest(capture.url, capture.urlkey)
        return last is None or last.digest != capture.digest

    def repeat(self, capture: NewCapture, shown: Original, size: int) -> int:
        """Note that a browser made the same of a capture as before, of that size; bytes written."""
        url = DOM + capture.url
        records = warc.repeat_record(url, capture.captured_ms, shown)
        row = NewCapture(
            record_id=records.main.record_id,
            url=url,
            captured_ms=capture.captured_ms,
            status=0,
            mime="text/html",
            digest=shown.digest,
            kind="revisit",
            version=False,
            warc_name="",
            offset=0,
            length=records.size,
            body_size=size,
            refers_to=shown.record_id,
            page_id=capture.page_id,
            crawl_id=capture.crawl_id,
        )
        self.keep(row, records.data)
        return records.size

    def index(self, document: SearchDocument, versions: int) -> None:
        """A new version of a page that has had so many before, with the texts of the links that led to it: a refresh
        rarely has more to say."""
        document.anchors = self._texts.get(document.key, "")
        document.versions = versions + 1
        document.collections = self.membership.of(document.url, document.host)
        self._index.put(document, versions > 0)
        if self._versions is not None:
            self._versions.put(document, first=not versions)
        self._note(document.key)

    def take(self, document: SearchDocument) -> None:
        """A document that was not crawled."""
        self._index.put(document, True)
        self._note(document.key)

    def take_past(self, page: int, captured_ms: int, document: SearchDocument | None) -> None:
        """What a page said at a time in the past; None when it was gone."""
        if self._versions is None:
            return
        if document is None:
            self._versions.end(page, captured_ms)
        else:
            document.collections = self.membership.of(document.url, document.host)
            self._versions.put(document)
        self._note(page)

    def drop(self, key: int) -> None:
        """A page that is not to be found, by a capture of another tool."""
        self._index.delete(key)
        self._note(key)

    def awaits_newer(self, url_key: str, captured_ms: int) -> bool:
        """Whether a capture of that address from after that moment is about to be committed."""
        return any(one.urlkey == url_key and one.captured_ms > captured_ms for one in self._captures)

    @property
    def keeps_versions(self) -> bool:
        """All of them can be found, not only the last."""
        return self._versions is not None

    def unindex(self, key: int) -> None:
        self._index.delete(key)
        if self._versions is not None:
            self._versions.end(key, time.time_ns() // 1_000_000)
        self._note(key)

    def unlink(self, page: int) -> None:
        """The page is gone: it recommends nothing any more."""
        self._links.forget(page)

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

    def lead(self, url: str, target: str) -> None:
        """An address that is another one now: what recommends it, or begins with it, means the other."""
        self._links.add(urls.key(url), urls.host(url), [urls.key(target)], [urls.host(target)])

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

    def _put_again(self, document: SearchDocument) -> None:
        self._index.put(document, True)
        self._uncommitted.add(document.key)
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
        self._close_files(self.warcs.close_rotated())

    def _close_files(self, files: list[ClosedFile]) -> None:
        if files:
            services.mark_closed(files)
            self.uploads.add(file.name for file in files)

    @property
    def waiting(self) -> bool:
        """Documents wait for a commit of the index."""
        return bool(self._unindexed)

    @property
    def overdue(self) -> bool:
        """Documents should be findable by now, and nothing else may happen for hours."""
        return bool(self._unindexed) and time.monotonic() >= self._index_due

    def commit_index(self, now: bool = False) -> None:
        """Make new documents findable, when it is time. Call right after `commit`."""
        moment = time.monotonic()
        if self._unindexed and (now or moment >= self._index_due):
            self._index.commit()
            self.index_commits += 1
            if self._versions is not None:
                self._versions.commit()
            self._unindexed = 0
            self._uncommitted.clear()
            write_watermark(self._instance, last_capture(), versions_too=self._versions is not None)
            moment = time.monotonic()
        if now or moment >= self._links_due or len(self._links) >= EDGES_AT_ONCE:
            self._links.commit()
            self._links_due = moment + EDGES_SECONDS
        if moment >= self._index_due:
            self._index_due = moment + self._config.index_commit_seconds

    def close(self) -> None:
        """After a last `commit`."""
        self.commit_index(now=True)
        self._close_index()
        self._close_files(self.warcs.close())
        self.uploads.close()

    def abandon(self) -> None:
        """After a failure: let go of everything that is not committed."""
        with suppress(SearchError):  # its threads may have died of the same failure, which is what is to be told
            self._close_index()
        self.warcs.abandon()

    def _close_index(self) -> None:
        self._index.close()
        if self._versions is not None:
            self._versions.close()


def last_capture() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT MAX(id) FROM capture")
        return cursor.fetchone()[0] or 0


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

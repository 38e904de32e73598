"""Captures of the archive read again, by the same ingest that read them first: after an import, after a crash, or to
build the search index anew.

Who changes captures beside an engine marks their pages in the table of stale pages, in the same transaction. Whoever
writes the index reads them again: the engine while it runs (`Rereads`), else the command itself (`catch_up`). A row
goes when what was read is in the index, so a kill costs nothing.
"""

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from django.db import transaction

from hemeroteca import urls
from hemeroteca.archive import queries, rendered, services
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.archive.versions import renumber_versions
from hemeroteca.config import Config
from hemeroteca.engine.sinks import Arrival
from hemeroteca.engine.sinks.links_sink import LinksSink
from hemeroteca.engine.sinks.noise_sink import NoiseSink
from hemeroteca.engine.sinks.search_sink import SearchSink, read_watermark, write_watermark
from hemeroteca.frontier import queries as frontier
from hemeroteca.ingest.ingested import Ingested
from hemeroteca.ingest.ingestion import Ingest
from hemeroteca.ingest.rules import Rules
from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.instance import Instance, spool
from hemeroteca.instance.status import set_aside
from hemeroteca.search.index.version_index import has_versions
from hemeroteca.warc import MAX_CONTENT, Capture
from hemeroteca.warc.builder import FINAL_URL
from hemeroteca.warc.keys import DOM, MARK, SCREENSHOT
from hemeroteca.warc.writer import WarcWriter
from hemeroteca.watch.membership import Membership

if TYPE_CHECKING:
    from hemeroteca.engine.intake import Intake
    from hemeroteca.engine.ledger import Ledger

log = logging.getLogger("hemeroteca.engine")

GONE = (404, 410)
LEADING = (301, 302, 303, 307, 308)
BATCH = 200  # pages read again together
PICTURE_BYTES = 64 << 20
LOOK_SECONDS = 1.0


class Rereading:
    """The captures of pages, with the rules they are read by."""

    def __init__(self, instance: Instance, noise: NoiseSink, all_versions: bool) -> None:
        self._instance = instance
        self._folder = instance.warc_dir
        self._noise = noise
        self._all_versions = all_versions
        self._without_robots = frontier.crawls_that_ignore_robots()

    def of_pages(self, pages: Iterable[tuple[str, int]]) -> Iterator[tuple[CaptureRow, Arrival]]:
        """What must be read again of pages, in the order of their captures: keys, and the capture after which something
        is new there. Captures that brought nothing new teach what is noise on the way."""
        found = [reading for key, after in pages for reading in self._of_page(key, after)]
        for row, before, versions, newest in sorted(found, key=lambda reading: (reading[0].captured_ms, reading[0].id)):
            if not row.version:
                with setting_aside(self._instance, row):
                    self._noise.take(self._unchanged(row, before))
                continue
            arrival = self.arrival(row, before, versions, newest)
            if arrival is not None:
                yield row, arrival

    def _of_page(self, key: str, after: int) -> Iterator[tuple[CaptureRow, CaptureRow | None, int, bool]]:
        """Captures of a page, each with the version before it, how many there were, and whether it tells what the page
        is now."""
        rows = queries.captures_under(key)
        last = newest_of(rows)
        leads = newest_of(rows, (200, *GONE, *LEADING))
        versions = 0
        before: dict[str, CaptureRow] = {}
        for row in rows:
            if not is_read(row):
                continue
            previous = before.get(row.url)
            is_new = row.id > after
            newest = row is last or (row is leads and row.status in LEADING)
            compared = previous is not None and (is_new or previous.id > after)
            if (row.version and (newest or compared or (is_new and self._all_versions))) or (
                not row.version and is_new and previous is not None
            ):
                yield row, previous, versions, newest
            if row.version:
                before[row.url] = row
                versions += 1

    def arrival(
        self, row: CaptureRow, before: CaptureRow | None = None, versions: int = 0, newest: bool = True
    ) -> Arrival | None:
        """A capture and the rules it is read by; None when the archive cannot give it."""
        with setting_aside(self._instance, row):
            capture = self._capture(row)
            rules = self._rules(row)
            if before is not None:
                shown = rendered.dom_of(before)
                rules.previous = (shown or before).digest
                if (earlier := queries.whole(rules.previous)) is not None:
                    rules.earlier = earlier.location(self._folder)
                    picture = rendered.screenshot_of(before)
                    rules.earlier_picture = picture.location(self._folder) if picture is not None else None
            self._noise.prepare(rules)
            return Arrival(capture, rules, Ingested(), versions=versions, newest=newest)
        return None

    def _rules(self, row: CaptureRow) -> Rules:
        host = urls.host(row.url)
        site = self._noise.settings_of(host)
        return Rules(
            key=urls.key(row.url),
            host=host,
            digest=row.digest,
            include=site.include,
            exclude=site.exclude,
            obey_robots=row.crawl_id not in self._without_robots,
            keep=False,
        )

    def _unchanged(self, row: CaptureRow, before: CaptureRow | None) -> Arrival:
        holder = queries.by_record(row.refers_to) if row.refers_to else row
        rules = self._rules(row)
        rules.previous = before.digest if before is not None else ""
        done = Ingested(digest=row.digest, mime=holder.mime if holder is not None else row.mime)
        capture = Capture(url=row.url, captured_ms=row.captured_ms, status=row.status)
        return Arrival(capture, rules, done, unchanged=True)

    def _capture(self, row: CaptureRow) -> Capture:
        record = row.location(self._folder).read()
        holder = queries.holder(row).location(self._folder).read() if row.kind == "revisit" else record
        own_head = record.head if row.status != 304 and record.head else holder.head
        capture = Capture(
            url=row.url,
            captured_ms=row.captured_ms,
            status=row.status,
            response_head=own_head,
            content_type="" if own_head else row.mime,
            body=holder.payload(MAX_CONTENT),  # that is all that is read of it
            truncated=row.truncated,
        )
        if (dom := rendered.dom_of(row)) is not None:
            self._attach(capture, DOM, dom)
            if (picture := rendered.screenshot_of(row)) is not None:
                self._attach(capture, SCREENSHOT, picture)
        return capture

    def _attach(self, capture: Capture, prefix: str, row: CaptureRow) -> None:
        record = row.location(self._folder).read(PICTURE_BYTES)
        beside = Capture(
            url=prefix + capture.url,
            captured_ms=capture.captured_ms,
            content_type=row.mime,
            body=record.payload(),
            final_url=record.headers.get(FINAL_URL.lower(), ""),
        )
        capture.attached = [*capture.attached, beside]


@contextmanager
def setting_aside(instance: Instance, row: CaptureRow) -> Iterator[None]:
    """A capture that cannot be read is left out; what is wrong with it must not stop the rest, or a start."""
    try:
        yield
    except Exception as error:
        set_aside(instance, f"capture {row.record_id} of {row.url}", error)


def is_read(row: CaptureRow) -> bool:
    """Whether it is of a page; robots.txt, answers to POST and what pages loaded in a browser are only kept."""
    if not row.url.lower().startswith("http") or row.urlkey.endswith(")/robots.txt") or MARK in row.urlkey:
        return False
    return row.page_id is not None or row.crawl_id is None


def newest_of(rows: Sequence[CaptureRow], statuses: tuple[int, ...] = (200, *GONE)) -> CaptureRow | None:
    """Of the captures of a page, the version that decides whether and how it is found: what it said last, or that it is
    gone. Errors and redirects say neither (docs/decisions/0186)."""
    return next((row for row in reversed(rows) if row.version and row.status in statuses), None)


class Rereads:
    """The engine reads stale pages again, by its ingest processes; a sink, as what came of them is written."""

    def __init__(self, instance: Instance, ledger: "Ledger", intake: "Intake") -> None:
        self._instance = instance
        self._ledger = ledger
        self._intake = intake
        self._due = 0.0
        self._batch: dict[int, str] = {}  # stale pages under way
        self._waiting: Iterator[tuple[CaptureRow, Arrival]] = iter(())
        self._rows: dict[int, int] = {}  # identity of an arrival → its capture
        self._finished: tuple[list[int], int] | None = None  # stale pages, and the commit of the index that has them
        self._importance: list[tuple[float | None, int]] = []

    def look(self) -> None:
        moment = time.monotonic()
        if not self._batch:
            if moment < self._due:
                return
            self._due = moment + LOOK_SECONDS
            if not self._begin():
                return
        while self._intake.has_room:
            row, arrival = next(self._waiting, (None, None))
            if row is None or arrival is None:
                break
            self._rows[id(arrival)] = row.id
            self._intake.read(arrival)
        else:
            return
        if not self._rows and self._finished is None:
            search = self._ledger.search
            self._finished = list(self._batch), search.commits + search.waiting

    def _begin(self) -> bool:
        stale = queries.stale_pages(BATCH)
        if not stale:
            return False
        self._ledger.commit()  # captures of the same pages that wait in memory
        self._batch = {page.pk: page.urlkey for page in stale}
        with transaction.atomic():
            services.count_alone()
            renumber_versions(self._batch.values())
        source = Rereading(self._instance, self._ledger.noise, self._ledger.search.keeps_versions)
        self._waiting = source.of_pages((page.urlkey, page.after_id) for page in stale)
        return True

    # as a sink

    @property
    def pending(self) -> bool:
        return bool(self._importance) or self._is_findable

    @property
    def _is_findable(self) -> bool:
        return self._finished is not None and self._ledger.search.commits >= self._finished[1]

    def take(self, arrival: Arrival) -> None:
        number = self._rows.pop(id(arrival), None)
        if number is not None and arrival.done.difference is not None:
            self._importance.append((arrival.done.difference.total, number))

    def write(self) -> None:
        found, self._importance = self._importance, []
        services.set_importance(found)
        if self._finished is not None and self._is_findable:
            services.forget_stale(self._finished[0])
            self._finished, self._batch = None, {}
            self._due = 0.0


def catch_up(config: Config, instance: Instance) -> int:
    """Read all stale pages again, here; for whoever holds the engine's lock, after `recover`. Captures read."""
    stale = queries.stale_pages(BATCH)
    if not stale:
        return 0
    done = 0
    ingest = Ingest()
    noise = NoiseSink()
    links = LinksSink(instance)
    with closing(SearchSink(config, instance, links)) as search:
        source = Rereading(instance, noise, search.keeps_versions)
        while stale:
            found: list[tuple[float | None, int]] = []
            read: list[Arrival] = []
            rows: list[CaptureRow] = []
            for row, arrival in source.of_pages((page.urlkey, page.after_id) for page in stale):
                with setting_aside(instance, row):
                    arrival.done = ingest(arrival.capture, arrival.rules)
                    arrival.capture.body = b""
                    noise.take(arrival)
                    links.take(arrival)
                    read.append(arrival)
                    rows.append(row)
                    if arrival.done.difference is not None:
                        found.append((arrival.done.difference.total, row.id))
            for row, arrival in zip(rows, read, strict=True):  # now that the texts of links to them are known
                with setting_aside(instance, row):
                    search.take(arrival)
            done += len(read)
            search.commit(now=True)
            links.commit(now=True)
            with transaction.atomic():
                services.set_importance(found)
                noise.write(now=True)
                services.forget_stale([page.pk for page in stale])
            stale = queries.stale_pages(BATCH)
    return done


def wait_until_read(config: Config, instance: Instance) -> None:
    """Until the engine at work has read all stale pages again; if it ends before, the rest is done here."""
    lock = instance.wait_for_engine(lambda: not queries.stale_pages(1))
    if lock is not None:
        with lock:
            recover(config, instance)
            catch_up(config, instance)


def wait_until_findable(config: Config, instance: Instance) -> None:
    """Until the search index holds all captures there are now: the engine at work commits it every few seconds; without
    one it is done here. An engine that is busy with more than that is not waited for."""
    last = queries.last_id()
    until = time.monotonic() + 3 * config.index_commit_seconds + LOOK_SECONDS
    lock = instance.lock_engine() or instance.wait_for_engine(
        lambda: watermark(config, instance) >= last or time.monotonic() > until
    )
    if lock is not None:
        with lock:
            recover(config, instance)
            catch_up(config, instance)


def watermark(config: Config, instance: Instance) -> int:
    """The last capture that all search indexes hold which should."""
    known = read_watermark(instance)
    if config.index_versions:
        known = min(known, read_watermark(instance, versions=True) if has_versions(instance.index_dir) else 0)
    return known


def repair(config: Config, instance: Instance) -> None:
    """What a start does after a crash, without being asked: nothing acknowledged is lost, nothing half-written is seen.

    Cuts unacknowledged tails of WARC files, empties the spool, indexes captures the search index lacks.
    """
    spool.clear(instance)
    recover(config, instance)
    if read := catch_up(config, instance):
        log.info("indexed %d captures that the search index lacked", read)


def recover(config: Config, instance: Instance) -> None:
    """Take over what a killed process left: close its WARC files, without what was not acknowledged, and mark the pages
    whose captures the search index lacks, before anybody notes that it holds later ones. Only while no other engine
    runs."""
    _close_left(instance)
    indexed, known, last = read_watermark(instance), watermark(config, instance), queries.last_id()
    if known < last:
        services.mark_stale_since(known, all_of_them=known < indexed)  # versions may be in no index: they were off
        write_watermark(instance, last, versions_too=config.index_versions)  # the table knows what is to be done


def _close_left(instance: Instance) -> None:
    recovered = WarcWriter(instance.warc_dir).recover(queries.open_files)
    services.mark_closed(recovered)
    for file in recovered:
        if file.salvaged:
            log.warning("%s had %d bytes nobody knew of; they are in %s", file.name, file.cut, file.salvaged)
        if file.missing:
            lost = "%s lacks %d acknowledged bytes; `hemeroteca archive verify` tells which captures"
            log.error(lost, file.name, file.missing)


def documents(instance: Instance) -> Iterator[SearchDocument]:
    """A document for each page that can be found; their links go to the link graph on the way."""
    links = LinksSink(instance)
    for arrival in _all(instance, {200, *LEADING}):
        if arrival.newest:
            links.take(arrival)
            if arrival.done.document is not None:
                yield arrival.done.document
    links.commit_all()


def versions(instance: Instance) -> Iterator[SearchDocument]:
    """Every version that is not its page's last, with the time at which it was replaced or the page found gone."""
    for arrival in _all(instance, {200}, only_newest=False):
        document = arrival.done.document
        if document is not None and document.until_ms:
            yield document


def link_texts(instance: Instance, rows: Iterable[CaptureRow]) -> frozenset[tuple[int, str]]:
    """What these captures call other pages: keys of those, and the texts of the links."""
    ingest = Ingest()
    source = Rereading(instance, NoiseSink(), all_versions=True)
    found: set[tuple[int, str]] = set()
    for row in rows:
        arrival = source.arrival(row) if row.version and is_read(row) else None
        if arrival is not None:
            with setting_aside(instance, row):
                edges = ingest(arrival.capture, arrival.rules).edges
                found.update(edges.texts if edges is not None else ())
    return frozenset(found)


def _all(instance: Instance, statuses: set[int], only_newest: bool = True) -> Iterator[Arrival]:
    """Versions of all pages, read by ingest; not compared, as the archive knows how they differ."""
    ingest = Ingest()
    source = Rereading(instance, NoiseSink(), all_versions=not only_newest)
    membership = Membership.load()
    for rows in queries.pages():
        telling = [row for row in rows if row.version and is_read(row)]
        last = newest_of(telling)
        leads = newest_of(telling, (200, *GONE, *LEADING))
        for number, row in enumerate(telling):
            newest = row is last or (row is leads and row.status in LEADING)
            if row.status not in statuses or (only_newest and not newest):
                continue
            arrival = source.arrival(row, versions=number, newest=newest)
            if arrival is None:
                continue
            with setting_aside(instance, row):
                arrival.done = ingest(arrival.capture, arrival.rules)
                document = arrival.done.document
                if document is not None:
                    document.versions = number + 1
                    document.collections = membership.of(document.url, document.host)
                    later = (one.captured_ms for one in telling[number + 1 :] if one.status in (200, *GONE))
                    document.until_ms = next(later, 0)
            yield arrival

"""Search documents made again from the archive, exactly as ingest made them."""

import logging
from collections.abc import Iterator
from functools import lru_cache

import msgspec
from django.db import connection

from hemeroteca import urls
from hemeroteca.archive import queries, rendered
from hemeroteca.archive.models import Capture
from hemeroteca.archive.values import CaptureRow
from hemeroteca.engine.collection_membership import Membership
from hemeroteca.engine.documents import READ_BYTES, read_document
from hemeroteca.engine.headers import header
from hemeroteca.engine.ledger import EDGES_AT_ONCE
from hemeroteca.engine.messages import Edges
from hemeroteca.frontier import queries as frontier
from hemeroteca.frontier.models import Crawl, Host
from hemeroteca.frontier.values import SiteSettings
from hemeroteca.instance import Instance
from hemeroteca.search.document import SearchDocument
from hemeroteca.search.graph import LinkGraph
from hemeroteca.search.index.versions import VersionWriter
from hemeroteca.warc import keys, reader

log = logging.getLogger("hemeroteca.engine")

# a crawl's captures without a page are robots.txt, wherever it was found; those without a crawl were imported
_PAGES = "version = %s AND (page_id IS NOT NULL OR crawl_id IS NULL)"
GONE = (404, 410)
_TELLING = f"status IN ({', '.join(map(str, (200, *GONE)))})"
_LEADING = "status IN (301, 302, 303, 307, 308)"


def documents(instance: Instance) -> Iterator[SearchDocument]:
    """A document for each page that can be found."""
    return (document for _, _, document in changes(instance, after=0) if document is not None)


def changes(instance: Instance, after: int) -> Iterator[tuple[int, int, SearchDocument | None]]:
    """Captures with an id above `after` that say something new: their ids, in order, the keys of their pages, and the
    documents; None for a page that is gone or no longer wants to be found.

    The links of these pages go to the link graph on the way.
    """
    graph = LinkGraph(instance.index_dir / "links")
    links = graph.writer()
    source = Source(instance)
    for row in queries.all_rows(f"{_PAGES} AND {_TELLING}", [True], after_id=after):
        if source.is_for_the_record(row):
            continue
        last = newest(row.urlkey)
        if last is not None and last.id != row.id:
            continue
        document, edges = source.read(row) if row.status == 200 else (None, None)
        if edges is not None:
            links.add_packed(urls.key(row.url), edges.host, edges.targets, edges.hosts, edges.texts)
            if len(links) >= EDGES_AT_ONCE:
                links.commit()
        elif document is None and after:
            links.forget(urls.key(row.url))
        yield row.id, urls.key(row.url), document
    for page, target in _redirects(instance, after):
        links.add(urls.key(page), urls.host(page), [urls.key(target)], [urls.host(target)])
    links.commit()
    if not after:
        graph.forget_before(links.first)


def _redirects(instance: Instance, after: int) -> Iterator[tuple[str, str]]:
    """Addresses that lead elsewhere now, and where."""
    for row in queries.all_rows(f"{_PAGES} AND {_LEADING}", [True], after_id=after):
        last = queries.rows(
            f"urlkey = %s AND version = %s AND ({_TELLING} OR {_LEADING})",
            [row.urlkey, True],
            "captured_ms DESC, capture.id DESC",
            1,
        )
        if last and last[0].id == row.id:
            try:
                head = reader.read(instance.warc_dir, row.warc_name, row.offset, row.length).head
            except reader.WarcReadError as error:
                log.error("cannot tell where %s leads: %s", row.url, error)
                continue
            location = header(head, b"location")
            target = urls.resolve_links(row.url, [location])[0] if location else None
            if target is not None:
                yield row.url, target


def newest(key: str) -> CaptureRow | None:
    """The version that decides whether and how a page is found: what it said last, or that it is gone. Errors and
    redirects say neither (docs/decisions/0056-out-of-search.md)."""
    found = queries.rows(
        f"urlkey = %s AND version = %s AND {_TELLING}", [key, True], "captured_ms DESC, capture.id DESC", 1
    )
    return found[0] if found else None


def versions(instance: Instance) -> Iterator[SearchDocument]:
    """Every version of every page, each with the time at which it was replaced or the page found gone."""
    source = Source(instance)
    for row in queries.all_rows(f"{_PAGES} AND status = 200", [True]):
        document = None if source.is_for_the_record(row) else source.read(row)[0]
        if document is not None:
            document.until_ms = _until(row)
            yield document


def add_versions(instance: Instance, writer: VersionWriter, after: int) -> int:
    """Bring an index of all versions up to date with the captures with an id above `after`."""
    source = Source(instance)
    count = 0
    for row in queries.all_rows(_PAGES, [True], after_id=after):
        if row.status in GONE:
            writer.end(urls.key(row.url), row.captured_ms)
        elif row.status == 200 and not source.is_for_the_record(row):
            document, _ = source.read(row)
            if document is None:
                writer.end(urls.key(row.url), row.captured_ms)
            else:
                writer.put(document)
                count += 1
    return count


class Source:
    """Reads captures with what is known about their sites, crawls and collections."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._membership = Membership.load()
        self._free = set(Crawl.objects.filter(options__ignore_robots=True).values_list("pk", flat=True))
        self._site = lru_cache(maxsize=10_000)(_site)

    def read(self, row: CaptureRow) -> tuple[SearchDocument | None, Edges | None]:
        holder = queries.by_record(row.refers_to) if row.refers_to else row
        if holder is None:
            log.error("cannot index %s: the capture it refers to is not in the archive", row.url)
            return None, None
        try:
            record = reader.read(self._instance.warc_dir, holder.warc_name, holder.offset, holder.length)
            dom = rendered.dom(self._instance.warc_dir, row)
        except reader.WarcReadError as error:
            log.error("cannot index %s: %s", row.url, error)
            return None, None
        host = urls.host(row.url)
        site = self._site(host)
        document, edges = read_document(
            urls.key(row.url),
            row.url,
            row.status,
            record.head,
            record.payload(READ_BYTES),
            row.captured_ms,
            row.digest,
            dom,
            obey=self._obeys(row),
            include=site.include,
            exclude=site.exclude,
        )
        if document is not None:
            document.versions = _versions_until(row)
            document.collections = self._membership.of(row.url, host)
        return document, edges

    def is_for_the_record(self, row: CaptureRow) -> bool:
        """Kept, but not for readers."""
        if row.urlkey.endswith(")/robots.txt") or keys.MARK in row.urlkey:  # an answer to POST has no address
            return True
        return row.page_id is not None and frontier.is_sitemap(row.page_id)

    def _obeys(self, row: CaptureRow) -> bool:
        if not self._free:
            return True
        return Capture.objects.filter(pk=row.id).values_list("crawl_id", flat=True).first() not in self._free


def _site(host: str) -> SiteSettings:
    settings = Host.objects.filter(name=host).values_list("settings", flat=True).first()
    return msgspec.convert(settings or {}, SiteSettings)


def _versions_until(row: CaptureRow) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COUNT(*) FROM capture WHERE urlkey = %s AND captured_ms <= %s AND version = %s",
            [row.urlkey, row.captured_ms, True],
        )
        return int(cursor.fetchone()[0])


def _until(row: CaptureRow) -> int:
    """When the next version of the page was captured, or the page found gone; 0 not yet."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT MIN(captured_ms) FROM capture WHERE urlkey = %s AND captured_ms > %s AND version = %s "
            "AND status IN (200, 404, 410)",
            [row.urlkey, row.captured_ms, True],
        )
        return int(cursor.fetchone()[0] or 0)

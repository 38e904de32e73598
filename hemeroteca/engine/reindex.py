"""Search documents made again from the archive, exactly as ingest made them."""

import logging
from collections.abc import Callable, Iterator

from hemeroteca import urls
from hemeroteca.archive import queries, reader, rendered
from hemeroteca.archive.values import CaptureRow
from hemeroteca.engine.ingest import READ_BYTES, Edges, read_document
from hemeroteca.engine.ledger import EDGES_AT_ONCE
from hemeroteca.frontier.models import Page
from hemeroteca.frontier.values import Role
from hemeroteca.instance import Instance
from hemeroteca.search.document import SearchDocument
from hemeroteca.search.graph import LinkGraph

log = logging.getLogger("hemeroteca.engine")


def documents(
    instance: Instance, after: int = 0, progress: Callable[[int], None] | None = None
) -> Iterator[SearchDocument]:
    """A document for each page's newest version among the captures with an id above `after`.

    The links of these pages go to the link graph on the way.
    """
    links = LinkGraph(instance.index_dir / "links").writer()
    # a crawl's captures without a page are robots.txt, wherever it was found; those without a crawl were imported
    pages = "version = %s AND status = 200 AND (page_id IS NOT NULL OR crawl_id IS NULL)"
    for row in queries.all_rows(pages, [True], after_id=after):
        if progress:
            progress(row.id)
        if row.urlkey.endswith(")/robots.txt") or _is_sitemap(row):
            continue  # kept for the record, not for readers
        newest = queries.rows(
            "urlkey = %s AND version = %s", [row.urlkey, True], "captured_ms DESC, capture.id DESC", 1
        )
        if newest and newest[0].id != row.id:
            continue
        document, edges = _read(instance, row)
        if edges is not None:
            links.add_packed(urls.key(row.url), edges.host, edges.targets, edges.hosts, edges.texts)
            if len(links) >= EDGES_AT_ONCE:
                links.commit()
        if document is not None:
            yield document
    links.commit()


def _is_sitemap(row: CaptureRow) -> bool:
    return row.page_id is not None and Page.objects.filter(pk=row.page_id, role=Role.SITEMAP).exists()


def _read(instance: Instance, row: CaptureRow) -> tuple[SearchDocument | None, Edges | None]:
    holder = queries.by_record(row.refers_to) if row.refers_to else row
    if holder is None:
        log.error("cannot index %s: the capture it refers to is not in the archive", row.url)
        return None, None
    try:
        record = reader.read(instance.warc_dir, holder.warc_name, holder.offset, holder.length)
        dom = rendered.dom(instance.warc_dir, row)
    except reader.WarcReadError as error:
        log.error("cannot index %s: %s", row.url, error)
        return None, None
    body = record.payload(READ_BYTES)
    return read_document(urls.key(row.url), row.url, row.status, record.head, body, row.captured_ms, row.digest, dom)

"""What ingest does for a capture besides keeping it, done for captures that other tools made: each version is weighed
against the one before it, and the newest of each page can be found, with its links and its collections."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hemeroteca import urls
from hemeroteca.archive import comparing
from hemeroteca.config import Config
from hemeroteca.engine.ledger import EDGES_AT_ONCE, last_capture, read_watermark, write_watermark
from hemeroteca.engine.reindex import Source, newest
from hemeroteca.engine.repair import add_versions
from hemeroteca.instance import Instance
from hemeroteca.search.graph import LinkGraph
from hemeroteca.search.index import open_index


@contextmanager
def finishing(config: Config, instance: Instance) -> Iterator[Callable[[set[str]], None]]:
    """Call what this gives with the keys of the addresses of every batch once its captures are in the index."""
    before = last_capture()
    up_to_date = read_watermark(instance) >= before  # else the next start indexes what a crash left out
    writer = open_index(config, instance.index_dir).writer(config.index_heap_bytes)
    links = LinkGraph(instance.index_dir / "links").writer()
    source = Source(instance)

    def finish(keys: set[str]) -> None:
        nonlocal before
        comparing.weigh(instance.warc_dir, keys, before)
        before = last_capture()
        for key in keys:
            row = newest(key)
            if row is None or source.is_for_the_record(row):
                continue
            document = None
            if row.status == 200:
                document, edges = source.read(row)
                if edges is not None:
                    links.add_packed(urls.key(row.url), edges.host, edges.targets, edges.hosts, edges.texts)
            if document is not None:
                writer.put(document, True)
            else:
                writer.delete(urls.key(row.url))
        if len(links) >= EDGES_AT_ONCE:
            links.commit()

    try:
        yield finish
        writer.commit()
        links.commit()
    finally:
        writer.close()
    if up_to_date:
        write_watermark(instance, before)
        if config.index_versions:
            add_versions(config, instance, before)

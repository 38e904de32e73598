"""What ingest does for a capture besides keeping it, done for captures that other tools made: each version is weighed
against the one before it, and the newest of each page can be found, with its links and its collections.

Whoever imports either is the only writer (`finishing`, with the engine's lock) or works beside a running engine, which
writes the index (`beside_an_engine`). Both give what `Intake` puts around each of its commits.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path

from django.db import transaction

from hemeroteca.archive import comparing, queries, services, verify
from hemeroteca.config import Config
from hemeroteca.engine import imported_pages
from hemeroteca.engine.ledger import EDGES_AT_ONCE, last_capture, read_watermark, write_watermark
from hemeroteca.engine.reindex import Source
from hemeroteca.engine.repair import add_versions
from hemeroteca.instance import Instance
from hemeroteca.search import document_queue
from hemeroteca.search.graph import LinkGraph
from hemeroteca.search.index import open_index

Around = Callable[[set[str]], AbstractContextManager[None]]
"""Given the keys of the addresses of a batch: what surrounds its commit."""

_LOOK_SECONDS = 0.25
_LOOKS = 8  # between two looks whether the engine is gone


@contextmanager
def finishing(config: Config, instance: Instance) -> Iterator[Around]:
    """For whoever holds the engine's lock."""
    before = last_capture()
    up_to_date = read_watermark(instance) >= before  # else the next start indexes what a crash left out
    source = Source(instance)
    with _index(config, instance) as put:

        @contextmanager
        def around(keys: set[str]) -> Iterator[None]:
            nonlocal before
            yield
            comparing.weigh(instance.warc_dir, keys, before)
            before = last_capture()
            for row in imported_pages.of_keys(source, keys, versions=False):
                put(row)

        yield around
    if up_to_date:
        write_watermark(instance, before)
        if config.index_versions:
            add_versions(config, instance, before)


@contextmanager
def beside_an_engine(config: Config, instance: Instance, waiting: Callable[[], None]) -> Iterator[Around]:
    """For whoever holds the lock of imports while an engine runs; it ends when everything can be found.

    `waiting` is called when all that is left to do is the engine's. If it ends before, the rest is done here.
    """
    begun = last_capture()
    source = Source(instance)
    left: list[Path] = []

    @contextmanager
    def around(keys: set[str]) -> Iterator[None]:
        before = last_capture()
        note = imported_pages.note(instance.index_dir, keys)
        yield
        comparing.weigh(instance.warc_dir, keys, before)
        rows = imported_pages.of_keys(source, keys, config.index_versions, before)
        left.append(document_queue.push(instance.index_dir, rows, imported_pages.ROWS))
        imported_pages.forget(note)

    yield around
    if left:
        waiting()
        _wait(config, instance, left)
        _judge_again(instance, begun)


def _wait(config: Config, instance: Instance, left: list[Path]) -> None:
    for look in count(1):
        time.sleep(_LOOK_SECONDS)
        if not any(file.exists() for file in left):
            return
        lock = instance.lock_engine() if look % _LOOKS == 0 else None
        if lock is not None:
            with lock:
                _put_here(config, instance, [file for file in left if file.exists()])
            return


def _put_here(config: Config, instance: Instance, left: list[Path]) -> None:
    with _index(config, instance) as put:
        for file in left:
            for row in document_queue.rows(file, imported_pages.ImportedPage):
                if not row.past:
                    put(row)
    if config.index_versions:
        add_versions(config, instance, last_capture())
    for file in left:
        file.unlink(missing_ok=True)


def _judge_again(instance: Instance, begun: int) -> None:
    """Whether a capture is a version: the engine's, of the same moments and addresses, did not know of those that came
    in, nor those of them. All that it had when the last batch was committed is in the database by now."""
    keys = set(queries.also_imported(begun))
    if keys:
        with transaction.atomic():
            services.count_alone()
            verify.renumber_versions(keys)
        comparing.weigh(instance.warc_dir, keys, begun)


@contextmanager
def _index(config: Config, instance: Instance) -> Iterator[Callable[[imported_pages.ImportedPage], None]]:
    """Takes rows into the index; committed when all went well."""
    writer = open_index(config, instance.index_dir).writer(config.index_heap_bytes)
    links = LinkGraph(instance.index_dir / "links").writer()

    def put(row: imported_pages.ImportedPage) -> None:
        if row.edges is not None:
            edges = row.edges
            links.add_packed(row.page, edges.host, edges.targets, edges.hosts, edges.texts)
            if len(links) >= EDGES_AT_ONCE:
                links.commit()
        elif row.document is None:
            links.forget(row.page)
        if row.document is not None:
            writer.put(row.document, True)
        else:
            writer.delete(row.page)

    try:
        yield put
        writer.commit()
        links.commit()
    finally:
        writer.close()

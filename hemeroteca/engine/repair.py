"""What a start does after a crash, without being asked: nothing acknowledged is lost, nothing half-written is seen."""

import logging

from hemeroteca.archive import queries, services
from hemeroteca.config import Config
from hemeroteca.engine import reindex
from hemeroteca.engine.ledger import last_capture, read_watermark, write_watermark
from hemeroteca.instance import Instance, spool
from hemeroteca.search.index import open_index
from hemeroteca.search.index.versions import VersionWriter, has_versions, open_versions
from hemeroteca.warc.writer import WarcWriter

log = logging.getLogger("hemeroteca.engine")
COMMIT_EVERY = 10_000


def repair(config: Config, instance: Instance) -> None:
    """Cut unacknowledged tails of WARC files, empty the spool, index captures the search index lacks."""
    spool.clear(instance)
    recovered = WarcWriter(instance.warc_dir).recover(queries.open_files)
    services.mark_closed(recovered)
    for file in recovered:
        if file.salvaged:
            log.warning("%s had %d bytes nobody knew of; they are in %s", file.name, file.cut, file.salvaged)
        if file.missing:
            log.error(
                "%s lacks %d acknowledged bytes; `hemeroteca archive verify` tells which captures",
                file.name,
                file.missing,
            )
    known, last = read_watermark(instance), last_capture()
    if known < last:
        index = open_index(config, instance.index_dir)
        writer = index.writer(config.index_heap_bytes)
        count = 0
        for capture, key, document in reindex.changes(instance, after=known):
            if document is not None:
                writer.put(document, True)
            else:
                writer.delete(key)
            count += 1
            if count % COMMIT_EVERY == 0:  # a start that is killed again goes on from here
                writer.commit()
                write_watermark(instance, capture)
        writer.commit()
        writer.close()
        write_watermark(instance, last)
        if count:
            log.info("indexed %d captures that the search index lacked", count)
    if config.index_versions:
        add_versions(config, instance, last)


def add_versions(config: Config, instance: Instance, last: int) -> None:
    """What the index of all versions lacks: after a crash a little, after the setting was turned on everything."""
    known = read_watermark(instance, versions=True) if has_versions(instance.index_dir) else 0
    if known >= last:
        return
    log.info("adding captures to the index of all versions; crawls begin when that is done")
    with VersionWriter(open_versions(instance.index_dir), config.index_heap_bytes) as writer:
        count = reindex.add_versions(instance, writer, known)
        writer.commit()
    write_watermark(instance, last, versions_too=True)
    log.info("added %d versions", count)

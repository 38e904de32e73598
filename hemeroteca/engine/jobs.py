"""Long work of several rooms together: import, verify, backup, and what rebuilds or teaches the search index."""

from pathlib import Path

import msgspec
from django.conf import settings

from hemeroteca.archive import intake, verify
from hemeroteca.archive.jobs import cannot_write
from hemeroteca.errors import Conflict, Refused
from hemeroteca.instance import backup, spool
from hemeroteca.jobs import ActiveJob, Interrupted, kind


class Import(msgspec.Struct):
    files: list[str]


class Verify(msgspec.Struct):
    digests: bool = True  # compute every one again


class Backup(msgspec.Struct):
    target: str


class Rebuild(msgspec.Struct):
    pass


class Rebuilt(msgspec.Struct):
    documents: int
    versions: int


class Learn(msgspec.Struct):
    documents: int = 10_000  # at most, spread over the index


class Learned(msgspec.Struct):
    documents: int


class Rank(msgspec.Struct):
    pass


class Ranked(msgspec.Struct):
    pages: int


@kind("archive.import")
def import_archives(job: ActiveJob, order: Import) -> intake.Imported:
    """Beside an engine or instead of one. What was taken before an interruption is known and skipped."""
    from hemeroteca import __version__
    from hemeroteca.engine.imports import beside_an_engine, finishing
    from hemeroteca.warc.writer import WarcWriter

    config, instance = settings.CONFIG, settings.INSTANCE
    facts = {"software": f"Hemeroteca/{__version__}", "description": "imported"}
    writer = WarcWriter(instance.warc_dir, max_bytes=config.warc_bytes, facts=facts)
    imports = instance.lock_import()
    if imports is None:
        raise Conflict("another `hemeroteca archive import` is at work on this folder; wait until it has ended")
    reading: intake.Intake

    def progress(file: str, captures: int) -> None:
        try:
            job.progress(captures, None, file)
        except Interrupted:
            reading.stop()

    def waiting() -> None:
        job.log("the captures are kept; the engine at work on this folder makes them findable")

    try:
        with imports, spool.own(instance) as folder:
            lock = instance.lock_engine()
            around = beside_an_engine(config, instance, waiting) if lock is None else finishing(config, instance)
            try:
                with around as commit:
                    reading = intake.Intake(writer, commit, progress)
                    done = reading.read([Path(file) for file in order.files], folder)
            finally:
                if lock is not None:
                    lock.close()
    except OSError as error:
        raise cannot_write(instance.data, error)
    if done.stopped:
        raise Interrupted
    return done


@kind("archive.verify", remote=True)
def check(job: ActiveJob, order: Verify) -> verify.Report:
    return _verify(job, order, repair=False)


@kind("archive.repair", action="archive.verify", exclusive=True, remote=True)
def repair(job: ActiveJob, order: Verify) -> verify.Report:
    from hemeroteca.engine.ledger import last_capture, write_watermark

    lost = not last_capture()
    report = _verify(job, order, repair=True)
    if lost and report.added:  # rows have new numbers: what the search index holds is unknown
        write_watermark(settings.INSTANCE, 0, versions_too=True)
    return report


@kind("instance.backup")
def copy_instance(job: ActiveJob, order: Backup) -> backup.BackupReport:
    """After an interruption the half copy is made anew."""
    target = Path(order.target)

    def progress(done: int, total: int, name: str) -> None:
        if done == 0:
            job.keep(True)  # what the target holds from now on is ours
        job.progress(done, total, name)

    try:
        return backup.copy(settings.INSTANCE, target, progress, again=bool(job.checkpoint))
    except backup.BackupError as error:
        raise Refused(str(error))


@kind("search.rebuild", exclusive=True, remote=True)
def rebuild_index(job: ActiveJob, order: Rebuild) -> Rebuilt:
    """Searches go on with the old index until the new one is whole."""
    from hemeroteca.engine import collection_membership, refresh, reindex
    from hemeroteca.engine.ledger import last_capture, write_watermark
    from hemeroteca.search import SearchError, filling
    from hemeroteca.search.versions import rebuild_versions

    config, instance = settings.CONFIG, settings.INSTANCE
    last = last_capture()
    folder, heap = instance.index_dir, config.index_heap_bytes
    try:
        count = filling.rebuild(
            folder, reindex.documents(instance), heap, lambda done: job.progress(done, message="indexing")
        )
        versions = 0
        if config.index_versions:
            versions = rebuild_versions(folder, reindex.versions(instance), heap)
    except SearchError as error:
        raise Refused(str(error))
    collection_membership.write_applied(instance.index_dir, collection_membership.Membership.load())
    write_watermark(instance, last, versions_too=config.index_versions)
    job.progress(count, count, "learning words and ranks")
    refresh.run(instance, heap)
    return Rebuilt(count, versions)


@kind("search.learn", remote=True)
def learn_words(job: ActiveJob, order: Learn) -> Learned:
    from hemeroteca.search import SearchError, open_index, services

    folder = settings.INSTANCE.index_dir
    try:
        count = services.learn(folder, open_index(settings.CONFIG, folder), order.documents, job.progress)
    except (SearchError, OSError) as error:
        raise Refused(str(error))
    return Learned(count)


@kind("search.rank", remote=True)
def rank_links(job: ActiveJob, order: Rank) -> Ranked:
    from hemeroteca.frontier import queries
    from hemeroteca.search import SearchError, services

    try:
        ranks = services.refresh_ranks(settings.INSTANCE.index_dir, queries.seed_keys())
    except (SearchError, OSError) as error:
        raise Refused(str(error))
    return Ranked(len(ranks))


def _verify(job: ActiveJob, order: Verify, repair: bool) -> verify.Report:
    return verify.verify(
        settings.INSTANCE.warc_dir,
        repair=repair,
        digests=order.digests,
        progress=lambda file, records: job.progress(records, None, file),
    )

"""Long work of several rooms together: import, verify, backup, and what rebuilds or teaches the search index."""

import itertools
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec
from django.conf import settings
from django.db import connection

from hemeroteca import urls
from hemeroteca.archive import erasure, importing, queries, services, uploads, verify
from hemeroteca.archive import job_kinds as archive_jobs
from hemeroteca.errors import CannotWrite, Conflict, Refused
from hemeroteca.instance import Instance, backup, spool
from hemeroteca.jobs import ActiveJob, Interrupted, kind
from hemeroteca.jobs import services as job_services
from hemeroteca.jobs.models import Job
from hemeroteca.warc import WarcReadError
from hemeroteca.warc.writer import WarcWriteError


class Import(msgspec.Struct):
    files: list[str]


class Verify(msgspec.Struct):
    digests: bool = True  # compute every one again


class Backup(msgspec.Struct):
    target: str
    with_key: bool = False


class Rebuild(msgspec.Struct):
    pass


class Rebuilt(msgspec.Struct):
    documents: int
    versions: int


class LearnWords(msgspec.Struct):
    documents: int = 10_000  # at most, spread over the index


class LearnedWords(msgspec.Struct):
    documents: int


class Rank(msgspec.Struct):
    pass


class Ranked(msgspec.Struct):
    pages: int


@kind("archive.import")
def import_archives(job: ActiveJob, order: Import) -> importing.Imported:
    """Beside an engine or instead of one. What was taken before an interruption is known and skipped."""
    from hemeroteca import __version__
    from hemeroteca.engine import rebuild, search_upkeep
    from hemeroteca.warc.writer import WarcWriter

    config, instance = settings.CONFIG, settings.INSTANCE
    facts = {"software": f"Hemeroteca/{__version__}", "description": "imported"}
    writer = WarcWriter(instance.warc_dir, max_bytes=config.warc_bytes, facts=facts)
    imports = instance.lock_import()
    if imports is None:
        raise Conflict("another `hemeroteca archive import` is at work on this folder; wait until it has ended")

    def progress(file: str, captures: int) -> None:
        try:
            job.progress(captures, None, file)
        except Interrupted:
            importer.stop()

    importer = importing.Importer(writer, progress, config.min_free_bytes)
    try:
        with imports, ExitStack() as stack:
            lock = instance.lock_engine()
            if lock is not None:
                stack.enter_context(lock)
                rebuild.recover(config, instance)
            with spool.own(instance) as folder:
                done = importer.read([Path(file) for file in order.files], folder)
            if lock is not None:
                if rebuild.catch_up(config, instance):
                    search_upkeep.refresh(instance, config.index_heap_bytes)
            elif queries.stale_pages(1):
                job.log("the captures are kept; the engine at work on this folder makes them findable")
                instance.wake("engine")
                rebuild.wait_until_read(config, instance)
    except WarcWriteError as error:
        raise Refused(f"{error}: what was taken stays")
    except OSError as error:
        raise CannotWrite(instance.data, error)
    if done.stopped:
        raise Interrupted(done)
    for file in order.files:
        uploads.taken(Path(file))
    return done


class Erase(msgspec.Struct):
    erasure: int  # number of the order, as `archive.erasure.ask` noted it


@kind("archive.erase", exclusive=True, remote=True)
def erase_captures(job: ActiveJob, order: Erase) -> erasure.Erased:
    """Out of search first, then out of what watching told, then out of files and index; what is left is read again.
    Then what people and other rooms kept of pages that are wholly gone: notes, tags, titles of favourites, services
    they described, words of their links. In the end no file of the search index holds their words, and exports made
    here that held them are gone."""
    from hemeroteca.accounts import services as accounts
    from hemeroteca.archive import notes
    from hemeroteca.engine import rebuild, search_upkeep
    from hemeroteca.frontier import focused_links
    from hemeroteca.geo import services as geo
    from hemeroteca.search import maintenance
    from hemeroteca.watch import services as watch

    config, instance = settings.CONFIG, settings.INSTANCE
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:  # what is deleted from now on is overwritten, not only marked free
            cursor.execute("PRAGMA secure_delete = ON")
    row = erasure.find(order.erasure)
    found = list({one.id: one for one in erasure.selected(erasure.wanted_of(row))}.values())
    pages = {one.urlkey: one.url for one in found if not one.url.startswith("urn:")}
    job.progress(0, len(found), "search")
    rebuild.recover(config, instance)
    texts = rebuild.link_texts(instance, found)
    maintenance.forget(instance.index_dir, _on_the_web(pages.values()), config.index_heap_bytes)
    maintenance.forget_texts(instance.index_dir, texts, config.index_heap_bytes)
    focused_links.forget_texts(_on_the_web(pages.values()))
    watch.forget_captures([one.record_id for one in found])
    try:
        done = erasure.erase(instance.warc_dir, row, found, job.progress)
    except WarcReadError as error:
        raise Refused(str(error))
    left = erasure.still_there(set(pages))
    gone = _on_the_web(url for key, url in pages.items() if key not in left)
    notes.forget(pages.keys() - left)
    accounts.forget_titles(gone)
    geo.forget(gone)
    if left:
        job.log("pages of which something is left keep their notes and tags; look whether these tell what was erased")
    services.mark_stale(sorted(left), 0)
    rebuild.catch_up(config, instance)
    job.progress(len(found), len(found), "words")
    maintenance.expunge(instance.index_dir, config.index_heap_bytes)
    search_upkeep.refresh(instance, config.index_heap_bytes)  # suggestions and ranks forget them too
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:  # else the file and its log hold them until somebody else does this
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for name in archive_jobs.remove_exports(found):
        job.log(f"the export {name} held some of it and is removed")
    for target in backup_targets():
        job.log(f"the backup in {target} was made before and may still have it; make a new one and remove that")
    job.log("copies elsewhere (downloads, backups made otherwise, other archives) are not reached by an erasure")
    return done


def _on_the_web(addresses: Iterable[str]) -> list[str]:
    """Those that can be addresses of pages, as crawls write them; a row may be damaged."""
    found = []
    for address in addresses:
        with suppress(urls.UrlError):
            found.append(urls.canonical(address))
    return found


def backup_targets() -> list[str]:
    """Folders of the backups that jobs made, as far as they are still there."""
    made = Job.objects.filter(kind="instance.backup", state=Job.State.DONE).values_list("arguments", flat=True)
    return sorted({order["target"] for order in made if Path(order.get("target", "")).is_dir()})


@kind("archive.verify", remote=True)
def check(job: ActiveJob, order: Verify) -> verify.Verification:
    return _verify(job, order, repair=False)


@kind("archive.repair", action="archive.verify", exclusive=True, remote=True)
def repair(job: ActiveJob, order: Verify) -> verify.Verification:
    from hemeroteca.engine.sinks.search_sink import write_watermark

    lost = not queries.last_id()
    report = _verify(job, order, repair=True)
    if lost and report.added:  # rows have new numbers: what the search index holds is unknown
        write_watermark(settings.INSTANCE, 0, versions_too=True)
    return report


@kind("instance.backup")
def copy_instance(job: ActiveJob, order: Backup) -> backup.BackupReport:
    """After an interruption the half copy is made anew. In the copy itself it is done: an instance restored from it
    would else go on with it, and begin by removing the copy it was restored from."""
    from hemeroteca.engine import rebuild

    config, instance, target = settings.CONFIG, settings.INSTANCE, Path(order.target)

    def progress(done: int, total: int, name: str) -> None:
        job.progress(done, total, name)
        if done == 0:
            job.keep(True)  # what the target holds from now on is ours
            if instance.index_dir.exists():  # else the copy makes its own, as this one will
                rebuild.wait_until_findable(config, instance)

    report = backup.copy(instance, target, progress, again=bool(job.checkpoint), with_key=order.with_key)
    job_services.end_in_copy(Instance(target).database_path, "instance.backup")
    return report


@kind("search.rebuild", exclusive=True, remote=True)
def rebuild_index(job: ActiveJob, order: Rebuild) -> Rebuilt:
    """Searches go on with the old index until the new one is whole."""
    from hemeroteca.engine import rebuild as archive
    from hemeroteca.engine import search_upkeep
    from hemeroteca.engine.sinks.search_sink import write_watermark
    from hemeroteca.search import maintenance
    from hemeroteca.search.index.version_index import rebuild_versions
    from hemeroteca.watch.membership import Membership

    config, instance = settings.CONFIG, settings.INSTANCE
    last = queries.last_id()
    folder, heap = instance.index_dir, config.index_heap_bytes
    documents = archive.documents(instance)
    count = maintenance.rebuild(folder, documents, heap, lambda done: job.progress(done, message="indexing"))
    versions = 0
    if config.index_versions:
        earlier = archive.versions(instance)
        versions = rebuild_versions(
            folder, earlier, heap, lambda done: job.progress(count + done, message="indexing versions")
        )
    search_upkeep.write_applied(folder, Membership.load())
    write_watermark(instance, last, versions_too=config.index_versions)
    job.progress(count + versions, count + versions, "learning words and ranks")
    search_upkeep.refresh(instance, heap)
    return Rebuilt(count, versions)


@kind("search.learn", remote=True)
def learn_words(job: ActiveJob, order: LearnWords) -> LearnedWords:
    from hemeroteca.search import maintenance
    from hemeroteca.search.index import open_index

    folder = settings.INSTANCE.index_dir
    try:
        count = maintenance.learn(folder, open_index(settings.CONFIG, folder), order.documents, job.progress)
    except OSError as error:
        raise Refused(str(error))
    return LearnedWords(count)


@kind("search.rank", remote=True)
def rank_links(job: ActiveJob, order: Rank) -> Ranked:
    from hemeroteca.frontier.queries import seed_keys
    from hemeroteca.search import maintenance

    try:
        rounds = itertools.count(1)
        ranks = maintenance.refresh_ranks(
            settings.INSTANCE.index_dir, seed_keys(), lambda: job.progress(next(rounds), None, "rounds of ranking")
        )
    except OSError as error:
        raise Refused(str(error))
    return Ranked(len(ranks))


def _verify(job: ActiveJob, order: Verify, repair: bool) -> verify.Verification:
    return verify.verify(
        settings.INSTANCE.warc_dir,
        repair=repair,
        digests=order.digests,
        progress=lambda file, records: job.progress(records, None, file),
    )

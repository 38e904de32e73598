"""Long work of the wiki room: extract, refresh, verify, import, export, compact."""

import time
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from django.conf import settings
from django.db.models import QuerySet

from hemeroteca.accounts import SYSTEM
from hemeroteca.clock import now_ms
from hemeroteca.errors import Conflict, NotFound, Refused
from hemeroteca.jobs import ActiveJob, Interrupted, kind
from hemeroteca.jobs import queries as job_queries
from hemeroteca.jobs import services as job_services
from hemeroteca.jobs.models import Job
from hemeroteca.jobs.runner import LOOK_SECONDS, Runner
from hemeroteca.wiki import all_revisions, commits, dumps, history_export, queries, services, streams
from hemeroteca.wiki.commits import Overtaken
from hemeroteca.wiki.dumps import ImportedDump
from hemeroteca.wiki.extraction import TITLES_AT_ONCE, Extracted, Extraction, ExtractionOptions
from hemeroteca.wiki.history_export import ExportedHistory
from hemeroteca.wiki.models import Article, Wiki
from hemeroteca.wiki.titles import chosen


class Extract(msgspec.Struct):
    wiki: str  # a language, the address of an article, or of an api.php
    titles: list[str] = []
    category: str = ""
    depth: int = 0  # categories below it that are followed
    search: str = ""
    user: str = ""  # articles this account edited
    whole: bool = False  # every article of the wiki
    text: bool = False
    max_revisions: int = 0  # of each article; 0: all
    policy: str = ""
    workers: int = 1  # parts that the articles are cut into, each a job that any worker may take


class ExtractionProgress(msgspec.Struct):
    """How far an extraction is."""

    titles: int = 0  # finished
    walk: all_revisions.Position = msgspec.field(default_factory=all_revisions.Position)  # over all revisions of a wiki
    result: Extracted | None = None
    parts: list[int] = []  # jobs that the order was cut into


class Refresh(msgspec.Struct):
    every: bool = False  # also what is not due
    wiki: str = ""  # only of this one, by its name


class Refreshed(msgspec.Struct):
    articles: int = 0
    unchanged: int = 0  # a look at 50 at once showed nothing new
    revisions: int = 0
    changed: int = 0
    requests: int = 0
    deleted: list[str] = []


class VerifyArticles(msgspec.Struct):
    titles: list[str] = []  # empty: all articles that are kept
    wiki: str = ""


class Follow(msgspec.Struct):
    wiki: str
    seconds: float = 0.0  # 0: one look at the recent changes
    stream: str = ""  # address of a stream of events instead of recent changes


class ImportDump(msgspec.Struct):
    file: str
    wiki: str = ""  # its name; empty: as the dump says
    locale: str = ""
    text: bool = True


class ExportHistory(msgspec.Struct):
    target: str
    format: str  # xml, parquet, csv
    filters: dict[str, Any] = {}
    text: bool = True
    pseudonyms: bool = False


class Compact(msgspec.Struct):
    everything: bool = False  # also parts of few files


class Compacted(msgspec.Struct):
    files: int  # fewer than before


@kind("wiki.extract", remote=True)
def extract(job: ActiveJob, order: Extract) -> Extracted:
    """Goes on after an interruption with the first title that was not finished; what was kept of it counts."""
    place = msgspec.convert(job.checkpoint, ExtractionProgress) if job.checkpoint else ExtractionProgress()
    if order.workers > 1:
        return _in_parts(job, order, place)
    options = ExtractionOptions(text=order.text, max_revisions=order.max_revisions, policy=order.policy)
    with services.opened(order.wiki) as (wiki, client, _):
        work = Extraction(
            wiki, client, options, lambda revisions, title: job.progress(revisions, None, title), place.result
        )
        place.result = work.result
        work.result.source = "api" if wiki.api_url else "export"
        requests = work.result.requests

        def keep() -> None:
            work.result.requests = requests + client.requests
            job.keep(msgspec.to_builtins(place))

        if order.whole and wiki.api_url and not order.max_revisions and place.titles == 0:
            try:
                work.gathers = True
                all_revisions.read(work, place.walk, lambda _: keep())
                order = msgspec.structs.replace(order, whole=False)
            except all_revisions.NotOffered:
                pass  # an old wiki: article by article
            work.gathers = False
        titles = islice(chosen(client, wiki, order), place.titles, None)
        before = place.titles
        while batch := list(islice(titles, TITLES_AT_ONCE)):
            if place.titles > before:  # not after the last ones: the job then ends, which says it too
                keep()
            try:
                work.read_titles(batch)
            except Interrupted:  # what was read is not asked for again
                with suppress(Overtaken):
                    work.write()
                raise
            place.titles += len(batch)
        work.result.requests = requests + client.requests
        settings.INSTANCE.wake("wiki")  # from now on they are kept up to date
        return work.result


def _in_parts(job: ActiveJob, order: Extract, place: ExtractionProgress) -> Extracted:
    """One job for each part of the articles. Whoever works on the queue takes one; so do we, until all have ended.

    Cancelled, it cancels its parts; resumed, it resumes them.
    """
    if not place.parts:
        with services.opened(order.wiki) as (wiki, client, _):
            titles = list(islice(chosen(client, wiki, order), services.MAX_TITLES))
        size = max(1, -(-len(titles) // order.workers))
        for start in range(0, len(titles), size):
            part = Extract(
                wiki=order.wiki,
                titles=titles[start : start + size],
                text=order.text,
                max_revisions=order.max_revisions,
                policy=order.policy,
            )
            place.parts.append(job_services.submit(SYSTEM, "wiki.extract", part, by_itself=True).pk)
        job.keep(msgspec.to_builtins(place))
    for ended in Job.objects.filter(pk__in=place.parts, state__in=(Job.State.CANCELLED, Job.State.FAILED)):
        with suppress(Conflict):  # another process took it just now
            job_services.resume(SYSTEM, ended.pk)  # the order was taken up again
    try:
        return _work_off(job, place)
    except Interrupted:
        if job.cancelled:
            for number in place.parts:
                with suppress(Conflict):  # it has ended
                    job_services.cancel(SYSTEM, number)
        raise


def _work_off(job: ActiveJob, place: ExtractionProgress) -> Extracted:
    runner = Runner()

    def told(done: int, total: int | None, message: str) -> None:
        try:
            job.progress(done, None, message)
        except Interrupted:
            runner.stop()  # the part goes back to the queue
            raise

    while True:
        parts = list(Job.objects.filter(pk__in=place.parts))
        done = sum(part.done for part in parts)
        ended = [part for part in parts if part.state in job_queries.ENDED]
        job.progress(done, None, f"{len(ended)} of {len(place.parts)} parts")
        if len(ended) == len(parts):
            return _sum(ended)
        mine = next((found for part in parts if (found := job_services.claim(number=part.pk)) is not None), None)
        if mine is not None:
            runner.run(mine, told)
        else:
            time.sleep(LOOK_SECONDS)


def _sum(parts: list[Job]) -> Extracted:
    """What the parts of an order brought together. One that failed is told by its number, so that it can be resumed."""
    total = Extracted()
    for part in parts:
        if part.state != Job.State.DONE:
            raise Refused(f"part {part.pk} is {part.state}: {part.message}; `hemeroteca job resume {part.pk}` goes on")
        found = msgspec.convert(part.result, Extracted)
        for name in ("articles", "revisions", "changed", "texts", "events", "requests"):
            setattr(total, name, getattr(total, name) + getattr(found, name))
        for name in ("missing", "redirects", "deleted", "limited"):
            setattr(total, name, getattr(total, name) + getattr(found, name))
        total.wiki, total.max_revisions, total.source = found.wiki, found.max_revisions, found.source
    return total


@kind("wiki.refresh", action="wiki.extract", remote=True)
def refresh(job: ActiveJob, order: Refresh) -> Refreshed:
    """Whatever is due: first 50 titles in one request, then only those that have something new."""
    total = Refreshed()
    due = Article.objects.filter(deleted=False, limited=False).select_related("wiki").order_by("wiki", "pk")
    if order.wiki:
        due = _of_wiki(due, order.wiki)
    if not order.every:
        due = due.filter(due_ms__gt=0, due_ms__lte=now_ms())
    by_wiki: dict[int, list[Article]] = {}
    for article in due:
        by_wiki.setdefault(article.wiki_id, []).append(article)
    count = sum(len(articles) for articles in by_wiki.values())
    for number, articles in by_wiki.items():
        wiki = Wiki.objects.get(pk=number)
        if not wiki.api_url:
            continue
        with services.opened(wiki.api_url) as (wiki, client, _):
            streams.refresh(wiki, client, articles, total, lambda done, title: job.progress(done, count, title))
            total.requests += client.requests
    return total


@kind("wiki.follow", action="wiki.extract", remote=True)
def follow(job: ActiveJob, order: Follow) -> streams.Followed:
    """Hear what a wiki announces; articles that are kept become due."""
    with services.opened(order.wiki) as (wiki, client, _):
        if order.stream:
            return streams.follow_events([wiki], client, order.stream, order.seconds, lambda n: job.progress(n))
        return streams.follow_changes(wiki, client, lambda n: job.progress(n))


@kind("wiki.verify", action="wiki.extract", remote=True)
def verify(job: ActiveJob, order: VerifyArticles) -> Extracted:
    """Walk all numbers of articles that are kept."""
    kept = Article.objects.filter(deleted=False).exclude(wiki__api_url="").select_related("wiki").order_by("wiki", "pk")
    if order.wiki:
        kept = _of_wiki(kept, order.wiki)
    if order.titles:
        named = [queries.find_article(SYSTEM, title, wiki=order.wiki).pk for title in order.titles]
        kept = kept.filter(pk__in=named)
    done, found = job.checkpoint or (0, None)
    result = msgspec.convert(found, Extracted) if found else Extracted()
    articles = list(kept)
    for place, article in enumerate(articles[done:], done):
        with services.opened(article.wiki.api_url) as (wiki, client, _):
            work = Extraction(
                wiki,
                client,
                ExtractionOptions(verify=True, text=article.text_complete),
                lambda revisions, title: job.progress(place, len(articles), title),  # noqa: B023 - called before the next
                result,
            )
            work.read_titles([article.title])
            result.requests += client.requests
        job.keep([place + 1, msgspec.to_builtins(result)])
    return result


def _of_wiki(articles: QuerySet[Article], name: str) -> QuerySet[Article]:
    if not Wiki.objects.filter(name=name).exists():
        known = ", ".join(Wiki.objects.order_by("name").values_list("name", flat=True)[:20]) or "none"
        raise NotFound(f"nothing is kept of a wiki named {name!r}; kept are {known}")
    return articles.filter(wiki__name=name)


@kind("wiki.import")
def import_dump(job: ActiveJob, order: ImportDump) -> ImportedDump:
    """Begins anew after an interruption; what is kept already is known and skipped."""
    try:
        return dumps.read(Path(order.file), order.wiki, order.locale, order.text, lambda n, t: job.progress(n, None, t))
    except OSError as error:
        raise Refused(f"{order.file} cannot be read: {error.strerror or error}")


@kind("wiki.export")
def export_revisions(job: ActiveJob, order: ExportHistory) -> ExportedHistory:
    """The file appears when it is whole."""
    return history_export.write(
        Path(order.target), order.format, order.filters, order.text, order.pseudonyms, lambda n: job.progress(n)
    )


@kind("wiki.compact", action="wiki.upkeep", remote=True)
def compact(job: ActiveJob, order: Compact) -> Compacted:
    return Compacted(
        commits.compact(commits.lake_files(), job.progress, 2 if order.everything else commits.FILES_IN_PART)
    )

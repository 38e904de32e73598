"""Long work of the wiki room: extract, refresh, verify, import, export, compact."""

from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from hemeroteca.errors import Refused
from hemeroteca.jobs import ActiveJob, kind
from hemeroteca.wiki import commits, dumps, export, extraction, services, streams
from hemeroteca.wiki.budget import now_ms
from hemeroteca.wiki.dumps import Imported
from hemeroteca.wiki.export import Exported
from hemeroteca.wiki.extraction import TITLES_AT_ONCE, Extracted, Extraction, Options
from hemeroteca.wiki.models import Article, Wiki


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


class Verify(msgspec.Struct):
    titles: list[str] = []  # empty: all articles that are kept
    wiki: str = ""


class Follow(msgspec.Struct):
    wiki: str
    seconds: float = 0.0  # 0: one look at the recent changes
    stream: str = ""  # address of a stream of events instead of recent changes


class Import(msgspec.Struct):
    file: str
    wiki: str = ""  # its name; empty: as the dump says
    locale: str = ""
    text: bool = True


class Export(msgspec.Struct):
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
    done, result = job.checkpoint or (0, None)
    options = Options(text=order.text, max_revisions=order.max_revisions, policy=order.policy)
    with services.opened(order.wiki) as (wiki, client, _):
        earlier = msgspec.convert(result, Extracted) if result else None
        work = Extraction(wiki, client, options, lambda revisions, title: job.progress(revisions, None, title), earlier)
        work.result.source = "api" if wiki.api_url else "export"
        requests = work.result.requests
        titles = islice(extraction.chosen(client, wiki, order), done, None)
        while batch := list(islice(titles, TITLES_AT_ONCE)):
            work.read_titles(batch)
            done += len(batch)
            work.result.requests = requests + client.requests
            job.keep([done, msgspec.to_builtins(work.result)])
        work.result.requests = requests + client.requests
        return work.result


@kind("wiki.refresh", action="wiki.extract", remote=True)
def refresh(job: ActiveJob, order: Refresh) -> Refreshed:
    """Whatever is due: first 50 titles in one request, then only those that have something new."""
    total = Refreshed()
    due = Article.objects.filter(deleted=False).select_related("wiki").order_by("wiki", "pk")
    if not order.every:
        due = due.filter(due_ms__gt=0, due_ms__lte=now_ms())
    if order.wiki:
        due = due.filter(wiki__name=order.wiki)
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
            return streams.follow_events(wiki, client, order.stream, order.seconds, lambda n: job.progress(n))
        return streams.follow_changes(wiki, client, lambda n: job.progress(n))


@kind("wiki.verify", action="wiki.extract", remote=True)
def verify(job: ActiveJob, order: Verify) -> Extracted:
    """Walk all numbers of articles that are kept."""
    kept = Article.objects.filter(deleted=False).exclude(wiki__api_url="").select_related("wiki").order_by("wiki", "pk")
    if order.titles:
        kept = kept.filter(title__in=order.titles)
    if order.wiki:
        kept = kept.filter(wiki__name=order.wiki)
    done, found = job.checkpoint or (0, None)
    result = msgspec.convert(found, Extracted) if found else Extracted()
    articles = list(kept)
    for place, article in enumerate(articles[done:], done):
        with services.opened(article.wiki.api_url) as (wiki, client, _):
            work = Extraction(
                wiki,
                client,
                Options(verify=True, text=article.text_complete),
                lambda revisions, title: job.progress(place, len(articles), title),  # noqa: B023 - called before the next
                result,
            )
            work.read_titles([article.title])
            result.requests += client.requests
        job.keep([place + 1, msgspec.to_builtins(result)])
    return result


@kind("wiki.import")
def import_dump(job: ActiveJob, order: Import) -> Imported:
    """Begins anew after an interruption; what is kept already is known and skipped."""
    try:
        return dumps.read(Path(order.file), order.wiki, order.locale, order.text, lambda n, t: job.progress(n, None, t))
    except OSError as error:
        raise Refused(f"{order.file} cannot be read: {error.strerror or error}")


@kind("wiki.export")
def export_revisions(job: ActiveJob, order: Export) -> Exported:
    """The file appears when it is whole."""
    return export.write(
        Path(order.target), order.format, order.filters, order.text, order.pseudonyms, lambda n: job.progress(n)
    )


@kind("wiki.compact", action="wiki.upkeep", remote=True)
def compact(job: ActiveJob, order: Compact) -> Compacted:
    return Compacted(
        commits.compact(commits.lake_files(), job.progress, 2 if order.everything else commits.FILES_IN_PART)
    )

"""GET /search and /suggest: what the archive has about something, and how a query may go on."""

from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.utils.translation.trans_real import parse_accept_lang_header
from ninja import Query, Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from hemeroteca.api import access
from hemeroteca.api.moments import moment
from hemeroteca.search import Hit, Options, Searcher, SearchError, open_searcher
from hemeroteca.search.analysis import code_of
from hemeroteca.search.explanation import explained
from hemeroteca.search.index.versions import choose
from hemeroteca.search.preferences import load_preferences
from hemeroteca.search.suggest.suggester import Suggester

router = Router()
COMPLETIONS = 8
Order = Literal["relevance", "newest", "oldest", "captured"]


class Result(Schema):
    url: str = Field(description="Address of the page.")
    title: str = Field(description="Its title; may be empty.")
    snippet: str = Field(description="Part of its text as HTML: escaped, with <b> around the words found.")
    score: float = Field(description="How well it fits; comparable within one search only.")
    captured_at: datetime | None = Field(description="When the version found was captured.")
    published_at: datetime | None = Field(description="When the page says it was published.")
    until: datetime | None = Field(description="Of an older version: when the next one was captured.")
    host: str = Field(description="Host the page lives on.")
    language: str = Field(description="Language of the text (ISO 639-1), empty when unknown.")
    type: str = Field(description="Kind of document: html, pdf, text, …")
    author: str = Field(description="Who the page says wrote it; may be empty.")
    collections: list[str] = Field(description="Collections the page belongs to.")
    versions: int = Field(description="Versions of the page in the archive, up to this one.")
    id: str = Field(description="Identifier of an imported document; empty for pages.")
    breadcrumbs: list[str] = Field(description="Host and path as readable steps.")
    duplicates: int = Field(
        description="Further results with about the same text, not shown; `group=false` shows them."
    )
    more_from_host: bool = Field(description="More of this host matches; `host:` in the query shows it.")


class Facet(Schema):
    value: str = Field(description="A host, language, type, year or collection.")
    count: int = Field(description="How many results have it.")


class Found(Schema):
    total: int = Field(description="How many pages match.")
    exact: bool = Field(description="False: `total` is an estimate.")
    items: list[Result] = Field(description="This part of the results, best first.")
    next_cursor: str | None = Field(description="Give it as `cursor` to get the following results; null at the end.")
    suggestion: str = Field(description="Did you mean this query; empty when the words are fine.")
    notes: list[str] = Field(description="What of the query was not understood, for a person.")
    facets: dict[str, list[Facet]] = Field(description="By host, language, type, year, collection; when asked for.")


class Why(Schema):
    place: int | None = Field(
        description="Place among the results; null: not among the first 100, or hidden as a copy."
    )
    title: str = Field(description="Title of the page.")
    score: float = Field(description="Score of the text times every factor.")
    text_score: float = Field(description="How well the text fits: the sum of `parts`.")
    parts: dict[str, float] = Field(description="Words, phrases, title, address.")
    words: dict[str, float] = Field(description="What each word would score alone, as the index has it.")
    factors: dict[str, float] = Field(description="What is known about the page: link rank, freshness, your boost, …")


class Suggested(Schema):
    completions: list[str] = Field(description="How the query may go on, best first.")
    did_you_mean: str = Field(description="The query with its misspelt words put right; empty when it looks right.")


@router.get("/search", response=Found, auth=access.open_reader, summary="Search the archive")
def search(
    request: HttpRequest,
    q: Annotated[str, Query(min_length=1, description="What to look for.")],
    limit: Annotated[int, Query(ge=1, le=100, description="Most results in one answer.")] = 10,
    cursor: Annotated[str, Query(max_length=10_000, description="`next_cursor` of the answer before.")] = "",
    sort: Annotated[
        Order, Query(description="Which results come first; newest and oldest by date published.")
    ] = "relevance",
    facets: Annotated[bool, Query(description="Count the results by host, language, type, year, collection.")] = False,
    versions: Annotated[
        bool | None, Query(description="Search all versions of pages, not only the last; null: when `q` has `at:`.")
    ] = None,
    semantic: Annotated[bool, Query(description="Order by meaning too; needs the extra `semantic`.")] = False,
    group: Annotated[bool, Query(description="One of several pages with about the same text stands for all.")] = True,
) -> Found:
    try:
        found = index_for(q, versions).search(
            q,
            limit=limit,
            cursor=cursor,
            options=options(sort, facets, semantic=semantic, group=group, languages=readers_languages(request)),
        )
    except SearchError as error:
        raise HttpError(503, str(error))
    return Found(
        total=found.total,
        exact=found.exact,
        items=[_result(hit) for hit in found.hits],
        next_cursor=found.cursor or None,
        suggestion=found.suggestion,
        notes=found.notes,
        facets={
            name: [Facet(value=value, count=count) for value, count in counts] for name, counts in found.facets.items()
        },
    )


@router.get("/search/explain", response=Why, auth=access.open_reader, summary="Why a result stands where it does")
def explain(
    request: HttpRequest,
    q: Annotated[str, Query(min_length=1, max_length=2000, description="The query.")],
    url: Annotated[str, Query(min_length=1, max_length=4096, description="Address of the page, or id of a document.")],
) -> Why:
    try:
        why = explained(index(), q, url, options(languages=readers_languages(request)))
    except SearchError as error:
        raise HttpError(404, str(error))
    return Why(
        place=why.place,
        title=why.title,
        score=why.score,
        text_score=why.text_score,
        parts={name: part.score for name, part in why.parts.items()},
        words=why.words,
        factors=why.factors,
    )


@router.get("/suggest", response=Suggested, auth=access.open_reader, summary="Complete or correct a query")
def suggest(
    request: HttpRequest,
    q: Annotated[str, Query(description="What was typed so far.")],
    limit: Annotated[int, Query(ge=1, le=50, description="Most completions.")] = COMPLETIONS,
) -> Suggested:
    suggester = _suggester()
    caller = access.caller(request)
    try:
        meant = suggester.correct(q, typing=True, is_known=index().is_known) if suggester else ""
    except SearchError as error:
        raise HttpError(503, str(error))
    return Suggested(completions=completions(q, caller.user, limit), did_you_mean=meant)


def completions(typed: str, person: AbstractBaseUser | AnonymousUser | None, limit: int = COMPLETIONS) -> list[str]:
    """How a query of a person may go on; nothing before words were learned."""
    suggester = _suggester()
    asker = person.pk if person is not None else None  # strangers have none
    return [found.text for found in suggester.complete(typed, limit, asker)] if suggester else []


def options(
    sort: str = "relevance",
    facets: bool = False,
    every: bool = False,
    semantic: bool = False,
    group: bool = True,
    languages: tuple[str, ...] = (),
) -> Options:
    """A reader's options, with the owner's judgement of hosts."""
    judged = load_preferences(settings.INSTANCE.index_dir)
    return Options(
        sort=sort, facets=facets, every=every, semantic=semantic, group=group, preferences=judged, languages=languages
    )


def readers_languages(request: HttpRequest, chosen: str | None = None) -> tuple[str, ...]:
    """The language chosen, then those the browser asks for."""
    asked = [code for code, _ in parse_accept_lang_header(request.headers.get("Accept-Language", "").lower()[:500])]
    found = (code_of(code.partition("-")[0]) for code in (chosen or "", *asked))
    return tuple(dict.fromkeys(code for code in found if code))[:5]


@cache
def index() -> Searcher:
    """The index of this instance, opened once a process; it sees later commits by itself."""
    settings.INSTANCE.create()
    return open_searcher(settings.CONFIG, settings.INSTANCE.index_dir)


@cache
def _index_at(path: Path) -> Searcher:
    return open_searcher(settings.CONFIG, path)


def index_for(query: str, versions: bool | None = None) -> Searcher:
    """The index that answers a query: of last versions, or of all of them. Raises SearchError."""
    folder = settings.INSTANCE.index_dir
    path = choose(folder, query, versions)
    return index() if path == folder else _index_at(path)


def _suggester() -> Suggester | None:
    return Suggester.load(settings.INSTANCE.index_dir / "suggest")


def _result(hit: Hit) -> Result:
    return Result(
        url=hit.url,
        title=hit.title,
        snippet=hit.snippet,
        score=hit.score,
        captured_at=moment(hit.captured_ms),
        published_at=moment(hit.published_ms) if hit.published_ms else None,
        until=moment(hit.until_ms) if hit.until_ms else None,
        host=hit.host,
        language=hit.language,
        type=hit.type,
        author=hit.author,
        collections=list(hit.collections),
        versions=hit.versions,
        id=hit.id,
        breadcrumbs=hit.breadcrumbs,
        duplicates=hit.duplicates,
        more_from_host=hit.more_from_host,
    )

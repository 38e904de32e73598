"""/search, /suggest, /searches and /preferences: what the archive has about something, and who is told of news."""

import uuid
from datetime import datetime
from typing import Annotated, Literal

from django.http import HttpRequest
from ninja import Path, Query, Schema
from pydantic import Field

from hemeroteca.api import access
from hemeroteca.api.shapes import RequestBody, filled
from hemeroteca.archive import queries
from hemeroteca.search import portal
from hemeroteca.search.preferences import MAX_FACTOR, MIN_FACTOR
from hemeroteca.search.ranking import Preferences
from hemeroteca.search.results import Hit
from hemeroteca.warc.timestamps import moment
from hemeroteca.watch import saved_searches
from hemeroteca.watch.models import SavedSearch

Sort = Literal["relevance", "newest", "oldest", "captured"]
Number = Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the saved search.")]
HostName = Annotated[str, Path(max_length=255, description="Host name, like example.org.")]


class ResultOut(Schema):
    url: str = Field(description="Address of the page.")
    title: str = Field(description="Its title; may be empty.")
    snippet: str = Field(description="Part of its text as HTML: escaped, with <b> around the words found.")
    score: float = Field(description="How well it fits; comparable within one search only.")
    captured_at: datetime | None = Field(description="When the version found was captured.")
    capture: uuid.UUID | None = Field(
        description="Id of the version found: GET /captures/{id}; null for an imported document."
    )
    published_at: datetime | None = Field(description="When the page says it was published.")
    until: datetime | None = Field(description="Of an older version: when the next one was captured.")
    host: str = Field(description="Host the page lives on.")
    language: str = Field(description="Language of the text (ISO 639-1), empty when unknown.")
    type: str = Field(description="Kind of document: html, pdf, text, …")
    author: str = Field(description="Who the page says wrote it; may be empty.")
    collections: list[str] = Field(description="Collections the page belongs to.")
    tags: list[str] = Field(description="Tags people gave the page; empty for whoever may not read them.")
    versions: int = Field(description="Versions of the page in the archive, up to this one.")
    id: str = Field(description="Identifier of an imported document; empty for pages.")
    breadcrumbs: list[str] = Field(description="Host and path as readable steps.")
    duplicates: int = Field(
        description="Further results with about the same text, not shown; `group=false` shows them."
    )
    more_from_host: bool = Field(description="More of this host matches; `host:` in the query shows it.")


class FacetOut(Schema):
    value: str = Field(description="A host, language, type, year or collection.")
    count: int = Field(description="How many results have it.")


class ResultsOut(Schema):
    total: int = Field(description="How many pages match.")
    exact: bool = Field(description="False: `total` is an estimate.")
    items: list[ResultOut] = Field(description="This part of the results, best first.")
    next_cursor: str | None = Field(description="Give it as `cursor` to get the following results; null at the end.")
    suggestion: str = Field(description="Did you mean this query; empty when the words are fine.")
    notes: list[str] = Field(description="What of the query was not understood, for a person.")
    facets: dict[str, list[FacetOut]] = Field(description="By host, language, type, year, collection; when asked for.")


class WhyOut(Schema):
    place: int | None = Field(
        description="Place among the results; null: not among the first 100, or hidden as a copy."
    )
    title: str = Field(description="Title of the page.")
    score: float = Field(description="Score of the text times every factor.")
    text_score: float = Field(description="How well the text fits: the sum of `parts`.")
    parts: dict[str, float] = Field(description="Words, phrases, title, address.")
    words: dict[str, float] = Field(description="What each word would score alone, as the index has it.")
    factors: dict[str, float] = Field(description="What is known about the page: link rank, freshness, your boost, …")


class SuggestedOut(Schema):
    completions: list[str] = Field(description="How the query may go on, best first.")
    did_you_mean: str = Field(description="The query with its misspelt words put right; empty when it looks right.")


def search(
    request: HttpRequest,
    q: Annotated[str, Query(min_length=1, description="What to look for.")],
    limit: Annotated[int, Query(ge=1, le=100, description="Most results in one answer.")] = 10,
    cursor: Annotated[str, Query(max_length=10_000, description="`next_cursor` of the answer before.")] = "",
    sort: Annotated[
        Sort, Query(description="Which results come first; newest and oldest by date published.")
    ] = "relevance",
    facets: Annotated[bool, Query(description="Count the results by host, language, type, year, collection.")] = False,
    versions: Annotated[
        bool | None, Query(description="Search all versions of pages, not only the last; null: when `q` has `at:`.")
    ] = None,
    semantic: Annotated[bool, Query(description="Order by meaning too; needs the extra `semantic`.")] = False,
    group: Annotated[bool, Query(description="One of several pages with about the same text stands for all.")] = True,
) -> ResultsOut:
    actor = access.caller(request)
    options = portal.reader_options(
        actor, sort=sort, facets=facets, semantic=semantic, group=group, languages=_languages(request)
    )
    found = portal.searcher_for(q, versions).search(q, limit=limit, cursor=cursor, options=options)
    facets_out = {
        name: [FacetOut(value=value, count=count) for value, count in counts] for name, counts in found.facets.items()
    }
    captures = queries.ids_of([(hit.url, hit.captured_ms) for hit in found.hits if hit.url and hit.captured_ms])
    tags = portal.tags(actor, found.hits)
    items = [_result(hit, captures.get((hit.url, hit.captured_ms)), tags.get(hit.url, [])) for hit in found.hits]
    return filled(ResultsOut, found, items=items, next_cursor=found.cursor or None, facets=facets_out)


def explain(
    request: HttpRequest,
    q: Annotated[str, Query(min_length=1, max_length=2000, description="The query.")],
    url: Annotated[str, Query(min_length=1, max_length=4096, description="Address of the page, or id of a document.")],
) -> WhyOut:
    why = portal.explain(access.caller(request), q, url, _languages(request))
    return filled(WhyOut, why, parts={name: part.score for name, part in why.parts.items()})


def suggest(
    request: HttpRequest,
    q: Annotated[str, Query(description="What was typed so far.")],
    limit: Annotated[int, Query(ge=1, le=50, description="Most completions.")] = portal.COMPLETIONS,
) -> SuggestedOut:
    return SuggestedOut(
        completions=portal.completions(access.caller(request), q, limit), did_you_mean=portal.correction(q)
    )


class SearchIn(RequestBody):
    query: str = Field(
        min_length=1, max_length=saved_searches.MAX_QUERY_CHARS, description="Every word of it is required."
    )
    name: str = Field("", max_length=200, description="What to call it; the query when empty.")
    channel: int | None = Field(
        None, ge=1, lt=1 << 63, description="Channel that is told; null: all that tell of everything."
    )


class SearchOut(Schema):
    id: int = Field(description="Number of the saved search.")
    name: str = Field(description="What it is called.")
    query: str = Field(description="What is looked for.")
    channel: int | None = Field(description="Channel that is told; null: all that tell of everything.")
    owner: str | None = Field(description="Who saved it.")
    created_at: datetime | None = Field(description="When it was saved; what matched then is not told.")
    found: int = Field(description="Pages that have matched since then.")
    found_at: datetime | None = Field(description="When something new matched last; null never.")
    feed: str = Field(description="Path of the same search as RSS.")


def saved(request: HttpRequest) -> list[SearchOut]:
    return [_saved_out(row) for row in saved_searches.saved()]


def save(request: HttpRequest, given: SearchIn) -> SearchOut:
    """Pages that match already are not told; each later one is told once."""
    return _saved_out(saved_searches.save(access.caller(request), given.query, given.name, given.channel))


def unsave(request: HttpRequest, number: Number) -> None:
    saved_searches.remove(access.caller(request), number)


class JudgedOut(Schema):
    boosts: dict[str, float] = Field(description="Factors of hosts: above 1 raised, below 1 lowered.")
    blocks: list[str] = Field(description="Hosts never shown, with their subdomains.")


class JudgementIn(RequestBody):
    factor: float = Field(
        ge=0, le=MAX_FACTOR, description=f"Above 1 raises, below 1 lowers (least {MIN_FACTOR:g}), 0 blocks."
    )


def preferences(request: HttpRequest) -> JudgedOut:
    return _judged(portal.preferences(access.caller(request)))


def prefer(request: HttpRequest, host: HostName, given: JudgementIn) -> JudgedOut:
    return _judged(portal.prefer(access.caller(request), host, given.factor))


def forget(request: HttpRequest, host: HostName) -> JudgedOut:
    return _judged(portal.prefer(access.caller(request), host, None))


def _judged(now: Preferences) -> JudgedOut:
    return JudgedOut(boosts=dict(now.boosts), blocks=list(now.blocks))


def _languages(request: HttpRequest) -> tuple[str, ...]:
    return portal.reader_languages(request.headers.get("Accept-Language", ""))


def _result(hit: Hit, capture: uuid.UUID | None, tags: list[str]) -> ResultOut:
    until, collections = moment(hit.until_ms), list(hit.collections)
    return filled(ResultOut, hit, capture=capture, until=until, collections=collections, tags=tags)


def _saved_out(row: SavedSearch) -> SearchOut:
    return filled(
        SearchOut,
        row,
        channel=row.channel_id,
        owner=row.owner.name if row.owner else None,
        feed=saved_searches.feed_path(row.query),
    )

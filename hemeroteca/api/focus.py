"""/focus: what crawls with a focus found and why, and the thesauri they use."""

from datetime import datetime
from typing import Annotated

from django.http import HttpRequest
from ninja import Path, Query, Schema
from pydantic import Field

from hemeroteca.api import access
from hemeroteca.api.crawls import Url
from hemeroteca.api.shapes import Cursor, Limit, Listing, before, filled, listing
from hemeroteca.errors import NotFound
from hemeroteca.frontier import queries, thesauri
from hemeroteca.frontier.models import FocusLink
from hemeroteca.warc.timestamps import moment

CrawlNumber = Annotated[int | None, Query(ge=1, lt=1 << 63, description="Only of this crawl.")]
Name = Annotated[str, Path(max_length=63, description="Name of the thesaurus.")]


class FindOut(Schema):
    url: str = Field(description="Address the link leads to.")
    crawl: int = Field(description="Number of the crawl.")
    number: int = Field(description="As the how manieth page it was visited; 0: not yet.")
    target: str = Field(description="What it is of what the crawl looks for; empty: nothing.")
    relevance: float = Field(description="Relevance of the page, 0 to 1.")
    status: int = Field(description="HTTP status; 0: not visited.")
    response_ms: int = Field(description="Milliseconds the answer took.")
    digest: str = Field(description="Digest of the payload.")
    parent_url: str = Field(description="Page the link stands on; empty: a seed.")
    anchor: str = Field(description="Text of the link.")
    context: str = Field(description="Text around the link.")
    score: float = Field(description="What the link promised; higher went first.")
    inherited: float = Field(description="Part of the score that came from the page it stands on.")
    neighbourhood: float = Field(description="Part that came from anchor and context.")
    learned: float = Field(description="What following it was worth, by what had been learned then.")
    host_factor: float = Field(description="What was left after fruitless visits of its host.")
    page_relevance: float = Field(description="Relevance of the page it stands on.")
    anchor_relevance: float = Field(description="Relevance of its text.")
    context_relevance: float = Field(description="Relevance of the text around it.")
    address_relevance: float = Field(description="Relevance of its address.")
    away: float = Field(description="How surely it leads elsewhere, by words of its text and address, 0 to 1.")
    bound: int = Field(description="Links that could still follow without a relevant page.")
    found_at: datetime | None = Field(description="When the link was met.")
    visited_at: datetime | None = Field(description="When its page was visited; null: not yet.")


class FocusExplanation(Schema):
    way: list[FindOut] = Field(description="The link to the page, then the link to the page it stands on, to the seed.")


class LabelOut(Schema):
    text: str = Field(description="The label.")
    language: str = Field(description="Its language; empty: none was given.")


class ThesaurusOut(Schema):
    name: str = Field(description="The name a focus uses.")
    concepts: int = Field(description="Concepts with a label.")
    groups: int = Field(description="Themes, groups and collections.")
    languages: dict[str, int] = Field(description="Labels by language.")
    files: list[str] = Field(description="Names of the files it was read from.")
    notes: list[str] = Field(description="What was left out.")


class ThesaurusDetail(ThesaurusOut):
    themes: list[list[LabelOut]] = Field(description="Labels of its themes and groups, which a focus may name.")


def finds(
    request: HttpRequest,
    crawl: CrawlNumber = None,
    targets: Annotated[bool, Query(description="Only pages that are what the crawl looks for.")] = True,
    limit: Limit = 50,
    cursor: Cursor = "",
) -> Listing[FindOut]:
    found = queries.focus_links(limit + 1, before=before(cursor), crawl=crawl, targets=targets)
    return listing(found, limit, lambda row: _find_out(*row), lambda row: (row[0].pk,))


def explain(request: HttpRequest, url: Url, crawl: CrawlNumber = None) -> FocusExplanation:
    way = queries.way_to(url, crawl)
    if not way:
        raise NotFound("no crawl with a focus has met this page; POST /api/v1/crawls with a focus begins one")
    return FocusExplanation(way=[_find_out(link, address) for link, address in way])


def every(request: HttpRequest) -> list[ThesaurusOut]:
    return [ThesaurusOut(**one.summary()) for one in thesauri.thesauri(access.caller(request))]


def one(request: HttpRequest, name: Name) -> ThesaurusDetail:
    found = thesauri.one_thesaurus(access.caller(request), name)
    themes = [[LabelOut(text=label.text, language=label.language) for label in group.labels] for group in found.groups]
    return ThesaurusDetail(**found.summary(), themes=themes)


def _find_out(link: FocusLink, url: str) -> FindOut:
    return filled(
        FindOut,
        link,
        url=url,
        crawl=link.crawl_id,  # type: ignore[attr-defined]
        found_at=moment(link.found_ms),
        visited_at=moment(link.visited_ms),
    )

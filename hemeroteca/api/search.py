"""GET /search: what the archive has about something."""

from datetime import datetime
from functools import cache
from typing import Annotated

from django.conf import settings
from django.http import HttpRequest
from ninja import Query, Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from hemeroteca.api import access
from hemeroteca.api.moments import moment
from hemeroteca.search import Hit, Index, SearchError, open_index

router = Router()


class Result(Schema):
    url: str = Field(description="Address of the page.")
    title: str = Field(description="Its title; may be empty.")
    snippet: str = Field(description="Part of its text as HTML: escaped, with <b> around the words found.")
    score: float = Field(description="How well it fits; comparable within one search only.")
    captured_at: datetime | None = Field(description="When the version found was captured.")
    host: str = Field(description="Host the page lives on.")
    language: str = Field(description="Language of the text (ISO 639-1), empty when unknown.")
    type: str = Field(description="Kind of document: html, pdf, text, …")
    versions: int = Field(description="Versions of the page in the archive.")


class Found(Schema):
    total: int = Field(description="How many pages match.")
    exact: bool = Field(description="False: `total` is an estimate.")
    items: list[Result] = Field(description="This part of the results, best first.")
    next_cursor: str | None = Field(description="Give it as `cursor` to get the following results; null at the end.")
    suggestion: str = Field(description="Did you mean this query; empty when the words are fine.")
    notes: list[str] = Field(description="What of the query was not understood, for a person.")


@router.get("/search", response=Found, auth=access.open_reader, summary="Search the archive")
def search(
    request: HttpRequest,
    q: Annotated[str, Query(min_length=1, max_length=2000, description="What to look for.")],
    limit: Annotated[int, Query(ge=1, le=100, description="Most results in one answer.")] = 10,
    cursor: Annotated[str, Query(max_length=10_000, description="`next_cursor` of the answer before.")] = "",
) -> Found:
    try:
        found = index().search(q, limit=limit, cursor=cursor)
    except SearchError as error:
        raise HttpError(503, str(error))
    return Found(
        total=found.total,
        exact=found.exact,
        items=[_result(hit) for hit in found.hits],
        next_cursor=found.cursor or None,
        suggestion=found.suggestion,
        notes=found.notes,
    )


@cache
def index() -> Index:
    """The index of this instance, opened once a process; it sees later commits by itself."""
    settings.INSTANCE.create()
    return open_index(settings.CONFIG, settings.INSTANCE.index_dir)


def _result(hit: Hit) -> Result:
    return Result(
        url=hit.url,
        title=hit.title,
        snippet=hit.snippet,
        score=hit.score,
        captured_at=moment(hit.captured_ms),
        host=hit.host,
        language=hit.language,
        type=hit.type,
        versions=hit.versions,
    )

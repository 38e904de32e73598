"""/searches: saved searches, whose new results are told through the channels of watching."""

from datetime import datetime
from typing import Annotated

from django.http import HttpRequest
from ninja import Path, Router, Schema, Status
from ninja.errors import HttpError
from pydantic import Field

from hemeroteca.api import access
from hemeroteca.api.answers import filled
from hemeroteca.api.moments import moment
from hemeroteca.search import SearchError
from hemeroteca.watch import saved_searches
from hemeroteca.watch.models import SavedSearch

router = Router()
Number = Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the saved search.")]


class SearchIn(Schema):
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


@router.get("", response=list[SearchOut], auth=access.reader, summary="Saved searches")
def saved(request: HttpRequest) -> list[SearchOut]:
    return [search_out(row) for row in saved_searches.saved()]


@router.post("", response={201: SearchOut}, auth=access.editor, summary="Tell somebody when something new matches")
def save(request: HttpRequest, given: SearchIn) -> Status[SearchOut]:
    """Pages that match already are not told; each later one is told once."""
    try:
        made = saved_searches.save(access.caller(request), given.query, given.name, given.channel)
        return Status(201, search_out(made))
    except SearchError as error:
        raise HttpError(503, str(error))


@router.delete("/{number}", response={204: None}, auth=access.editor, summary="Forget a saved search")
def remove(request: HttpRequest, number: Number) -> Status[None]:
    saved_searches.remove(access.caller(request), number)
    return Status(204, None)


def search_out(row: SavedSearch) -> SearchOut:
    return filled(
        SearchOut,
        row,
        id=row.pk,
        channel=row.channel_id,
        owner=row.owner.name if row.owner else None,
        created_at=moment(row.created_ms),
        found_at=moment(row.found_ms),
        feed=saved_searches.feed_path(row.query),
    )

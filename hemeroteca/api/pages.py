"""/pages: URLs we know, and what became of them."""

from datetime import datetime
from typing import Annotated, Literal

from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from hemeroteca import urls
from hemeroteca.api import access, paging
from hemeroteca.api.answers import filled
from hemeroteca.api.moments import moment
from hemeroteca.frontier import queries
from hemeroteca.frontier.models import Visit
from hemeroteca.frontier.visit import State as VisitState
from hemeroteca.urls.candidate import REQUISITE_DEPTH

router = Router()

State = Literal["queued", "done", "failed", "excluded"]
STATES: dict[int, State] = {
    VisitState.QUEUED: "queued",
    VisitState.DONE: "done",
    VisitState.FAILED: "failed",
    VisitState.EXCLUDED: "excluded",
}
Url = Annotated[str, Query(min_length=1, max_length=8192, description="Address of the page.")]


class PageOut(Schema):
    url: str = Field(description="Canonical address.")
    host: str = Field(description="Host it lives on.")
    state: State = Field(description="What became of the last order to visit it.")
    reason: str = Field(description="Why it failed or was excluded, for a person.")
    status: int = Field(description="Last HTTP status; 0 when there was no answer.")
    depth: int = Field(description="Links from the nearest seed.")
    versions: int = Field(description="Captures that differed from the one before.")
    crawl: int = Field(description="Number of the crawl that last asked for it.")
    found_at: datetime | None = Field(description="When we first met it.")
    visited_at: datetime | None = Field(description="Last visit that was answered; null never.")
    changed_at: datetime | None = Field(description="Last visit that brought a new version; null never.")


@router.get("", response=paging.Listing[PageOut], auth=access.open_reader, summary="Pages, newest first")
def listing(
    request: HttpRequest,
    state: Annotated[State | None, Query(description="Only pages in this state.")] = None,
    host: Annotated[str, Query(max_length=255, description="Only pages of this host.")] = "",
    crawl: Annotated[int | None, Query(ge=1, lt=1 << 63, description="Only pages of this crawl.")] = None,
    limit: paging.Limit = 50,
    cursor: paging.Cursor = "",
) -> paging.Listing[PageOut]:
    position = paging.read(cursor, 1)
    found = queries.visits(
        limit + 1,
        before=position[0] if position else None,
        state=VisitState[state.upper()] if state else None,
        host=host,
        crawl=crawl,
    )
    more = len(found) > limit
    return paging.Listing[PageOut](
        items=[_out(visit) for visit in found[:limit]],
        next_cursor=paging.write(found[limit - 1].pk) if more else None,
    )


@router.get("/by-url", response=PageOut, auth=access.open_reader, summary="One page by its address")
def one(request: HttpRequest, url: Url) -> PageOut:
    try:
        page = queries.page(url)
    except urls.UrlError as error:
        raise HttpError(422, f"url: {error}")
    visit = queries.last_visit(page) if page is not None else None
    if visit is None:
        raise Http404("No crawl has met this page; POST /api/v1/crawls with its address visits it.")
    return _out(visit)


def _out(visit: Visit) -> PageOut:
    page = visit.page
    return filled(
        PageOut,
        page,
        host=page.host.name,
        state=STATES[visit.state],
        reason=visit.reason,
        depth=visit.depth % REQUISITE_DEPTH,
        crawl=visit.crawl_id,  # type: ignore[attr-defined]  # not visit.crawl.pk: that would ask the database
        found_at=moment(page.found_ms),
        visited_at=moment(page.visited_ms),
        changed_at=moment(page.changed_ms),
    )

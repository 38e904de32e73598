"""/crawls and /pages: orders to visit everything in a scope, the URLs we know, and what became of them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Path, Query, Schema, Status
from pydantic import Field

from hemeroteca import urls
from hemeroteca.api import access
from hemeroteca.api.shapes import Cursor, Limit, Listing, RequestBody, before, filled, listing
from hemeroteca.api.status import HeldOut
from hemeroteca.errors import NotFound
from hemeroteca.focus import definition
from hemeroteca.frontier import crawl_orders, queries, services
from hemeroteca.frontier.models import Crawl, QueuedVisit
from hemeroteca.frontier.visit import State as VisitState
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.urls.candidate import REQUISITE_DEPTH
from hemeroteca.warc.timestamps import moment

Number = Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the crawl.")]
Address = Annotated[str, Field(min_length=1, max_length=4096)]
Pattern = Annotated[str, Field(min_length=1, max_length=1000)]
State = Literal["queued", "done", "failed", "excluded", "held"]
_STATES: dict[int, State] = {
    VisitState.QUEUED: "queued",
    VisitState.DONE: "done",
    VisitState.FAILED: "failed",
    VisitState.EXCLUDED: "excluded",
    VisitState.HELD: "held",
}
Url = Annotated[str, Query(min_length=1, max_length=8192, description="Address of the page.")]


class CrawlIn(RequestBody):
    seeds: list[Address] = Field(min_length=1, max_length=10_000, description="Addresses to start from.")
    scope: Literal["page", "prefix", "host", "domain", "web"] | None = Field(
        None,
        description="What belongs to it: the pages alone, what begins like them, their hosts (the default), their "
        "domains, the web (the default with a focus).",
    )
    include: list[Pattern] = Field([], max_length=100, description="Regular expressions; a URL must match one of them.")
    exclude: list[Pattern] = Field([], max_length=100, description="Regular expressions; a URL may match none of them.")
    depth: int | None = Field(None, ge=0, le=10_000, description="Most links away from a seed.")
    limit: int | None = Field(None, ge=1, le=1 << 53, description="Most pages to visit.")
    max_bytes: int | None = Field(None, ge=1, le=1 << 53, description="Most bytes to receive.")
    max_seconds: float | None = Field(
        None, gt=0, le=1e9, allow_inf_nan=False, description="Longest time to work on it."
    )
    delay: float | None = Field(
        None,
        ge=0,
        le=3600,
        description="Seconds between two requests to a host; null: adaptive. Below the instance's: administrators.",
    )
    concurrency: int | None = Field(None, ge=1, le=1000, description="Most requests under way at once.")
    ignore_robots: bool = Field(False, description="Do not ask robots.txt; administrators only, for sites you own.")
    sitemaps: bool = Field(True, description="Read sitemaps.")
    requisites: bool | None = Field(
        None, description="Also fetch images, styles and scripts that pages need; by default yes, with a focus no."
    )
    focus: Literal["geo"] | dict[str, Any] | None = Field(
        None,
        description="What to look for: `geo`, or a focus as in docs/reference/focus.md; links that promise it first.",
    )
    order: str | None = Field(
        None, max_length=40, description="Which pages go first: breadth-first; with a focus also focused, learned, …"
    )
    insecure: bool = Field(False, description="Accept broken TLS certificates; administrators only.")
    probe: bool = Field(False, description="Ask what may be a geographic service what it is.")


def _options(order: CrawlIn) -> CrawlOptions:
    given = order.focus
    focus = definition.load(given) if isinstance(given, str) else definition.convert(given) if given else None
    kind = order.scope or ("web" if focus is not None else "host")
    scope = urls.Scope(kind=kind, include=tuple(order.include), exclude=tuple(order.exclude), depth=order.depth)
    apart = {"seeds", "scope", "include", "exclude", "depth", "focus", "order", "requisites", "every_hours", "first_at"}
    as_given = order.dict(exclude=apart)
    return CrawlOptions(
        scope,
        **as_given,
        requisites=order.requisites if order.requisites is not None else focus is None,
        order=order.order or (definition.DEFAULT_STRATEGY if focus is not None else "breadth-first"),
        focus=focus,
    )


class CrawlOut(Schema):
    id: int = Field(description="Number of the crawl.")
    state: Literal["running", "stopped", "finished"] = Field(description="Stopped ones can be resumed.")
    stop_reason: str = Field(description="Why it stopped, for a person.")
    stop_requested: bool = Field(description="Somebody asked for its end and the engine has not yet obeyed.")
    seeds: list[str] = Field(description="Addresses it started from.")
    options: dict[str, Any] = Field(description="Scope, limits and politeness, as ordered.")
    counts: dict[str, Any] = Field(description="Totals of the present or last run.")
    created_at: datetime | None = Field(description="When it was ordered.")
    started_at: datetime | None = Field(description="When the present run began.")
    ended_at: datetime | None = Field(description="When the last run ended; null while it runs.")


class Take(RequestBody):
    host: str = Field("", max_length=255, description="Only addresses of this host; empty: of all.")
    reason: str = Field("", max_length=500, description="Only what is held back for this reason; empty: for any.")


class Exclude(RequestBody):
    expression: str = Field(max_length=1000, description="Regular expression (RE2) for addresses to leave out.")


class Excluded(Schema):
    excluded: int = Field(description="Addresses that waited and are no longer in its queue.")


class Taken(Schema):
    taken: int = Field(description="Addresses that are queued now.")


def submit(request: HttpRequest, order: CrawlIn) -> Status[CrawlOut]:
    """The same order again resumes the crawl it made before (200), or visits the pages of a finished one again (201).
    An order that differs only in limits or pace changes those of a stopped crawl, and its log says which; while that
    crawl is at work, or about to be, it is refused (409)."""
    options = _options(order)
    crawl, continued = services.submit_crawl(access.caller(request), order.seeds, options)
    return Status(200 if continued else 201, _crawl_out(crawl))


def crawls(request: HttpRequest, limit: Limit = 50, cursor: Cursor = "") -> Listing[CrawlOut]:
    return listing(queries.crawls(limit + 1, before(cursor)), limit, _crawl_out)


def crawl(request: HttpRequest, number: Number) -> CrawlOut:
    found = queries.crawl(number)
    if found is None:
        raise NotFound(f"there is no crawl {number}; GET /api/v1/crawls lists them")
    return _crawl_out(found)


def stop(request: HttpRequest, number: Number) -> CrawlOut:
    """The engine obeys within a second or two and keeps what it has; `resume` goes on from there."""
    return _crawl_out(services.stop_crawl(access.caller(request), number))


def resume(request: HttpRequest, number: Number) -> CrawlOut:
    return _crawl_out(services.resume_crawl(access.caller(request), number))


def held(request: HttpRequest, number: Number) -> list[HeldOut]:
    """Addresses that look like a series without end and wait for a person, by host and reason, the most first."""
    crawl(request, number)
    return [filled(HeldOut, kind) for kind in queries.held(number)]


def take(request: HttpRequest, number: Number, which: Take) -> Taken:
    """They are visited after all, and nothing there is held back for the same reason again."""
    return Taken(taken=services.take_held(access.caller(request), number, which.host, which.reason))


def exclude(request: HttpRequest, number: Number, which: Exclude) -> Excluded:
    """From now on, also while it runs: addresses found already leave its queue, others never come into it."""
    return Excluded(excluded=services.exclude(access.caller(request), number, which.expression))


def again(request: HttpRequest, number: Number) -> CrawlOut:
    """The order of this crawl once more: a stopped one goes on, a finished one visits its pages again."""
    return _crawl_out(services.run_again(access.caller(request), number))


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


def pages(
    request: HttpRequest,
    state: Annotated[State | None, Query(description="Only pages in this state.")] = None,
    host: Annotated[str, Query(max_length=255, description="Only pages of this host.")] = "",
    crawl: Annotated[int | None, Query(ge=1, lt=1 << 63, description="Only pages of this crawl.")] = None,
    limit: Limit = 50,
    cursor: Cursor = "",
) -> Listing[PageOut]:
    wanted = VisitState[state.upper()] if state else None
    found = queries.visits(limit + 1, before=before(cursor), state=wanted, host=host, crawl=crawl)
    return listing(found, limit, _page_out)


def page(request: HttpRequest, url: Url) -> PageOut:
    found = queries.page(url)
    visit = queries.last_visit(found) if found is not None else None
    if visit is None:
        raise NotFound("no crawl has met this page; POST /api/v1/crawls with its address visits it")
    return _page_out(visit)


def _crawl_out(crawl: Crawl) -> CrawlOut:
    return filled(CrawlOut, crawl)


def _page_out(visit: QueuedVisit) -> PageOut:
    page = visit.page
    return filled(
        PageOut,
        page,
        host=page.host.name,
        state=_STATES[visit.state],
        reason=visit.reason,
        depth=visit.depth % REQUISITE_DEPTH,
        crawl=visit.crawl_id,  # type: ignore[attr-defined]  # not visit.crawl.pk: that would ask the database
    )


class EventOut(Schema):
    at: datetime | None = Field(description="When it happened.")
    what: str = Field(description="ordered, began, resumed, excluded, taken, stopping, stopped or finished.")
    detail: str = Field(description="How, in words.")
    actor: str = Field(description="Who did it; empty: the engine.")


def log(request: HttpRequest, number: Number) -> list[EventOut]:
    """The last first, at most 500 lines."""
    if queries.crawl(number) is None:
        raise NotFound(f"there is no crawl {number}")
    return [
        EventOut(at=moment(row.at_ms), what=row.what, detail=row.detail, actor=row.actor)
        for row in queries.events(number, services.MAX_EVENTS)
    ]


class OrderIn(CrawlIn):
    every_hours: float = Field(
        0.0, ge=0, le=crawl_orders.MAX_HOURS, allow_inf_nan=False, description="From one run to the next; 0: by hand."
    )
    first_at: datetime | None = Field(None, description="First run by the clock; null: now.")


class OrderOut(Schema):
    name: str = Field(description="What people call it.")
    seeds: list[str] = Field(description="Addresses it starts from.")
    options: dict[str, Any] = Field(description="Scope, limits and politeness, as ordered.")
    every_hours: float = Field(description="Hours from one run to the next; 0: by hand only.")
    next_at: datetime | None = Field(description="When it is given the next time; null: by hand only.")
    active: bool = Field(description="False: the clock does not count.")
    last_crawl: int | None = Field(description="Crawl of its last run.")
    last_state: str = Field(description="State of that crawl; empty: it never ran.")
    note: str = Field(description="Why its last run could not begin; empty: it could.")
    actor: str = Field(description="Who keeps it.")
    created_at: datetime | None = Field(description="When it was made.")


OrderName = Annotated[str, Path(max_length=100, description="Name of the order.")]


def orders(request: HttpRequest) -> list[OrderOut]:
    return [_order_out(row) for row in crawl_orders.listed()]


def save_order(request: HttpRequest, name: OrderName, given: OrderIn) -> OrderOut:
    """With `every_hours` the engine gives it by the clock."""
    first = int(given.first_at.timestamp() * 1000) if given.first_at is not None else 0
    row = crawl_orders.save(access.caller(request), name, given.seeds, _options(given), given.every_hours, first)
    return _order_out(row)


def run_order(request: HttpRequest, name: OrderName) -> CrawlOut:
    return _crawl_out(crawl_orders.run(access.caller(request), name))


def pause_order(request: HttpRequest, name: OrderName) -> OrderOut:
    return _order_out(crawl_orders.pause(access.caller(request), name, False))


def resume_order(request: HttpRequest, name: OrderName) -> OrderOut:
    return _order_out(crawl_orders.pause(access.caller(request), name, True))


def remove_order(request: HttpRequest, name: OrderName) -> None:
    """Its crawls and what they captured stay."""
    crawl_orders.remove(access.caller(request), name)


def _order_out(row: Any) -> OrderOut:
    state = row.last_crawl.state if row.last_crawl is not None else ""
    following = moment(row.next_ms) if row.next_ms else None
    return filled(OrderOut, row, last_crawl=row.last_crawl_id, last_state=state, next_at=following)

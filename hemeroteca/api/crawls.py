"""/crawls: orders to visit everything in a scope."""

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import Http404, HttpRequest
from ninja import Path, Router, Schema, Status
from pydantic import Field

from hemeroteca import urls
from hemeroteca.accounts import Actor
from hemeroteca.api import access, paging
from hemeroteca.api.answers import filled
from hemeroteca.api.moments import moment
from hemeroteca.frontier import queries, services
from hemeroteca.frontier.models import Crawl
from hemeroteca.frontier.values import CrawlOptions

router = Router()

Number = Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the crawl.")]
Address = Annotated[str, Field(min_length=1, max_length=4096)]
Pattern = Annotated[str, Field(min_length=1, max_length=1000)]


class Order(Schema):
    seeds: list[Address] = Field(min_length=1, max_length=10_000, description="Addresses to start from.")
    scope: Literal["page", "prefix", "host", "domain"] = Field(
        "host", description="What belongs to it: the pages alone, what begins like them, their hosts, their domains."
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
    requisites: bool = Field(True, description="Also fetch images, styles and scripts that pages need.")
    insecure: bool = Field(False, description="Accept broken TLS certificates; administrators only.")


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


@router.post("", response={201: CrawlOut}, auth=access.editor, summary="Order a crawl")
def submit(request: HttpRequest, order: Order) -> Status[CrawlOut]:
    """The same order again resumes the crawl it made before."""
    return Status(201, crawl_out(submit_order(order, access.caller(request))))


@router.get("", response=paging.Listing[CrawlOut], auth=access.open_reader, summary="Crawls, newest first")
def listing(request: HttpRequest, limit: paging.Limit = 50, cursor: paging.Cursor = "") -> paging.Listing[CrawlOut]:
    position = paging.read(cursor, 1)
    found = queries.crawls(limit + 1, position[0] if position else None)
    more = len(found) > limit
    return paging.Listing[CrawlOut](
        items=[crawl_out(crawl) for crawl in found[:limit]],
        next_cursor=paging.write(found[limit - 1].pk) if more else None,
    )


@router.get("/{number}", response=CrawlOut, auth=access.open_reader, summary="One crawl")
def one(request: HttpRequest, number: Number) -> CrawlOut:
    return crawl_out(_crawl(number))


@router.post("/{number}/stop", response=CrawlOut, auth=access.editor, summary="Stop a crawl")
def stop(request: HttpRequest, number: Number) -> CrawlOut:
    """The engine obeys within a second or two and keeps what it has; `resume` goes on from there."""
    return crawl_out(services.stop_crawl(access.caller(request), number))


@router.post("/{number}/resume", response=CrawlOut, auth=access.editor, summary="Go on with a stopped crawl")
def resume(request: HttpRequest, number: Number) -> CrawlOut:
    return crawl_out(services.resume_crawl(access.caller(request), number))


def submit_order(order: Order, caller: Actor) -> Crawl:
    options = CrawlOptions(
        scope=urls.Scope(
            kind=order.scope, include=tuple(order.include), exclude=tuple(order.exclude), depth=order.depth
        ),
        limit=order.limit,
        max_bytes=order.max_bytes,
        max_seconds=order.max_seconds,
        delay=order.delay,
        concurrency=order.concurrency,
        ignore_robots=order.ignore_robots,
        sitemaps=order.sitemaps,
        requisites=order.requisites,
        insecure=order.insecure,
    )
    return services.submit_crawl(caller, order.seeds, options)[0]


def crawl_out(crawl: Crawl) -> CrawlOut:
    return filled(
        CrawlOut,
        crawl,
        id=crawl.pk,
        created_at=moment(crawl.created_ms),
        started_at=moment(crawl.started_ms),
        ended_at=moment(crawl.ended_ms),
    )


def _crawl(number: int) -> Crawl:
    crawl = queries.crawl(number)
    if crawl is None:
        raise Http404(f"There is no crawl {number}; GET /api/v1/crawls lists them.")
    return crawl

"""/watch: collections, subscriptions, watched pages, changes, channels, metrics, and feeds of changes."""

import hashlib
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import http_date
from django.utils.translation import get_language
from ninja import File, Path, Query, Router, Schema, Status
from ninja.errors import HttpError
from ninja.files import UploadedFile
from pydantic import Field

from hemeroteca import urls
from hemeroteca.api import access, paging
from hemeroteca.api.moments import moment
from hemeroteca.watch import feeds, imports, metrics, notices, queries, reasons, services
from hemeroteca.watch.models import Change, Channel, Subscription, WatchedPage

router = Router()
Result = TypeVar("Result")

Number = Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the subscription.")]
ChannelNumber = Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the channel.")]
CollectionName = Annotated[str, Path(max_length=100, description="Name of the collection.")]
Pattern = Annotated[str, Field(min_length=1, max_length=1000)]
Patterns = Annotated[list[Pattern], Field(max_length=100)]
By = Literal["site", "group", "behaviour", "collection", "subscription", "all"]
FEED_ENTRIES = 50


class CollectionIn(Schema):
    category: str | None = Field(None, max_length=100, description="Topic it belongs to.")
    description: str | None = Field(None, max_length=5000, description="What it is for.")
    visits_per_day: int | None = Field(None, ge=0, le=1_000_000_000, description="Most visits a day; 0: no limit.")
    bytes_per_day: int | None = Field(None, ge=0, le=1 << 50, description="Most bytes received a day; 0: no limit.")


class CollectionOut(Schema):
    feed: str = Field(description="Address of the Atom feed of its changes; it needs no sign-in.")
    id: int = Field(description="Number of the collection.")
    name: str = Field(description="Its name.")
    category: str = Field(description="Topic it belongs to.")
    description: str = Field(description="What it is for.")
    visits_per_day: int = Field(description="Most visits a day; 0: no limit.")
    bytes_per_day: int = Field(description="Most bytes received a day; 0: no limit.")
    subscriptions: int = Field(description="How many subscriptions it has.")


class SubscriptionEdit(Schema):
    name: str = Field("", max_length=200, description="What to call it; its address when empty.")
    scope: Literal["", "page", "prefix", "host", "domain"] = Field(
        "", description="What belongs to it; empty: the host for a front page, else the page alone."
    )
    include: Patterns = Field([], description="Regular expressions; a URL must match one of them.")
    exclude: Patterns = Field([], description="Regular expressions; a URL may match none of them.")
    depth: int | None = Field(None, ge=0, le=10_000, description="Most links away from the address.")
    collection: str = Field("", max_length=100, description="Name of its collection; made when it is new.")
    purpose: str = Field("", max_length=5000, description="Why it is watched.")
    threshold: float = Field(0.05, gt=0, lt=1, description="F(μ): a change is important above it.")
    ignore: Patterns = Field([], description="CSS selectors or XPath of parts that do not count.")
    keep: Patterns = Field([], description="CSS selectors or XPath; when given, only these parts count.")
    ignore_text: Patterns = Field([], description="Expressions (RE2) for text that does not count.")
    mode: str = Field("auto", max_length=40, description="`auto`, `fixed HOURS`, or the name of another policy.")
    min_hours: float = Field(0, ge=0, le=87_600, description="A page is never visited more often; 0: no own limit.")
    max_hours: float = Field(0, ge=0, le=87_600, description="A page is never left alone longer; 0: 720.")
    weight: float = Field(1, ge=0.001, le=1000, description="What its changes are worth against those of others.")
    visits_per_day: int = Field(0, ge=0, le=1_000_000_000, description="Most visits a day; 0: no limit of its own.")
    bytes_per_day: int = Field(0, ge=0, le=1 << 50, description="Most bytes received a day; 0: no limit of its own.")
    windows: list[str] = Field(
        [],
        max_length=20,
        description="When it may be visited, like `mon-fri 08:00-18:00 Europe/Madrid`; empty: always.",
    )
    country: str = Field("", max_length=10, description="Country whose holidays count, such as ES; or empty.")
    requisites: bool = Field(True, description="Fetch images, styles and scripts of its pages too.")
    active: bool = Field(True, description="False: paused.")


class SubscriptionIn(SubscriptionEdit):
    url: str = Field(min_length=1, max_length=4096, description="Page to watch, or page a site is entered by.")


class SubscriptionOut(SubscriptionIn):
    id: int = Field(description="Number of the subscription.")
    owner: str | None = Field(description="Who wants it.")
    crawl: int = Field(description="Number of the standing crawl that visits its pages.")
    pages: int = Field(description="Pages under watch.")
    visits: int = Field(description="Answered visits of them.")
    changes: int = Field(description="Important changes seen.")
    failures: int = Field(description="Visits without a useful answer in a row.")
    failing_since: datetime | None = Field(description="First of those visits; null when the last one was good.")
    last_error: str = Field(description="Why the last of them failed.")
    fault: str = Field(description="Why the engine cannot work with it at all; empty: it can.")
    created_at: datetime | None = Field(description="When it was made.")
    feed: str = Field(description="Address of the Atom feed of its changes; it needs no sign-in.")


class WatchedPageOut(Schema):
    url: str = Field(description="Canonical URL.")
    site: str = Field(description="Its host.")
    subscription: int = Field(description="Subscription that has it visited.")
    listing: str = Field(description="`feed` or `sitemap` when it lists other pages.")
    group: Literal["high", "medium", "low"] = Field(description="By days with change / days observed.")
    behaviour: str = Field(description="steady, periodic, bursty or silent; empty while unknown.")
    visits: int = Field(description="Answered visits.")
    changes: int = Field(description="Important changes seen.")
    change_days: int = Field(description="Days on which one was seen.")
    observed_days: float = Field(description="Days that the visits cover.")
    chance: float = Field(description="Chance of a change at the last visit, as predicted before it.")
    last_visit: datetime | None = Field(description="Last answered visit.")
    last_change: datetime | None = Field(description="Last important change seen.")
    next_visit: datetime | None = Field(description="About when the next visit is expected.")
    failures: int = Field(description="Visits without a useful answer in a row.")
    why: str = Field(description="Why it was or is being visited, in the language asked for (Accept-Language es, en).")
    then: str = Field(description="Why the next visit is expected then, in the same language; empty: it is due now.")
    reason: dict[str, Any] = Field(description="The same as a code and values.")


class GroupsOut(Schema):
    group: dict[str, int] = Field(description="Pages that are high, medium, low.")
    behaviour: dict[str, int] = Field(description="Pages that are steady, periodic, bursty, silent, unknown.")


class ChangeOut(Schema):
    id: int = Field(description="Number of the change.")
    url: str = Field(description="Page that changed.")
    title: str = Field(description="Title of the new version.")
    subscription: int | None = Field(description="Subscription that had it visited.")
    seen_at: datetime | None = Field(description="When the new version was captured.")
    since: datetime | None = Field(description="The visit before; it changed after it.")
    capture: UUID | None = Field(description="The new version, as in /captures.")
    view: float = Field(description="How much it looks different, 0 to 1.")
    form: float = Field(description="How much it is built differently, 0 to 1.")
    content: float = Field(description="How much other text and resources it has, 0 to 1.")
    total: float = Field(description="Sum of the three.")
    words_added: int = Field(description="Words only the new version has.")
    words_removed: int = Field(description="Words only the old version has.")
    diff: str = Field(description="Beginning of a unified diff of the text.")


class ChannelIn(Schema):
    target: str = Field(
        min_length=1, max_length=4000, description="An https address that gets JSON, or an Apprise URL."
    )
    name: str = Field("", max_length=100, description="What to call it.")
    kind: Literal["", "webhook", "apprise"] = Field("", description="Empty: webhook for http(s), else apprise.")
    subscription: int | None = Field(None, ge=1, description="Tell only of this subscription.")
    collection: str = Field("", max_length=100, description="Tell only of this collection.")
    digest_hours: float = Field(0, ge=0, le=744, description="Gather changes for so many hours; 0: at once.")
    changes: bool = Field(True, description="Tell of important changes.")
    errors: bool = Field(True, description="Tell when a subscription fails repeatedly, and recovers.")
    language: Literal["es", "en"] = Field("en", description="Of the messages.")


class ChannelOut(Schema):
    id: int = Field(description="Number of the channel.")
    name: str = Field(description="What it is called.")
    kind: str = Field(description="webhook or apprise.")
    subscription: int | None = Field(description="Only this subscription is told of.")
    collection: str = Field(description="Only this collection is told of.")
    digest_hours: float = Field(description="Hours changes are gathered for; 0: at once.")
    changes: bool = Field(description="Tells of important changes.")
    errors: bool = Field(description="Tells of failures and recoveries.")
    language: str = Field(description="Of the messages.")
    active: bool = Field(description="False: paused, or given up after many failures.")
    failures: int = Field(description="Deliveries that failed in a row.")
    last_error: str = Field(description="Why the last of them failed.")
    last_delivery: datetime | None = Field(description="When something was delivered last.")


class NewChannelOut(ChannelOut):
    secret: str = Field(description="Key the webhook's messages are signed with; shown only now.")


class MetricsOut(Schema):
    name: str = Field(description="Site, group, behaviour, collection or subscription.")
    pages: int = Field(description="Pages with visits in the period.")
    days: float = Field(description="Days the visits cover, over all pages.")
    visits: int = Field(description="Answered visits.")
    changes: int = Field(description="Important changes seen.")
    versions: int = Field(description="Visits that brought other bytes.")
    lost: float = Field(description="Estimate of the changes that came and went between two visits.")
    unnecessary: int = Field(description="Visits that found no important change.")
    conditional: int = Field(description="Visits answered by `not modified`.")
    generated: int = Field(description="Bytes received.")
    stored: int = Field(description="Bytes written to the archive.")
    cost_seconds: float = Field(description="Time the answers took.")
    fixed_visits: float = Field(description="Visits a fixed frequency would have made.")
    fixed_changes: float = Field(description="Changes it would have seen, estimated.")
    fixed_bytes: float = Field(description="Bytes it would have stored, a whole copy at each visit.")
    freshness: float | None = Field(description="Share of the time in which the last copy was up to date, estimated.")
    delay_hours: float | None = Field(description="Mean hours from a change to its detection, estimated.")


class WatchedDayOut(Schema):
    day: datetime | None = Field(description="Beginning of the day, UTC.")
    visits: int = Field(description="Answered visits.")
    changes: int = Field(description="Important changes seen.")
    generated: int = Field(description="Bytes received.")
    stored: int = Field(description="Bytes written to the archive.")


class ImportLine(Schema):
    number: int = Field(description="Line of the file, or entry of the OPML.")
    url: str = Field(description="Address it names.")
    outcome: Literal["new", "known", "refused"] = Field(description="What became of it.")
    detail: str = Field(description="Number of the new subscription, or why it was refused.")


class ImportOut(Schema):
    new: int = Field(description="Subscriptions made.")
    known: int = Field(description="Lines whose address was watched already.")
    refused: int = Field(description="Lines that could not be used.")
    lines: list[ImportLine] = Field(description="New and refused lines.")


# collections


@router.get("/collections", response=list[CollectionOut], auth=access.open_reader, summary="Collections")
def collections(request: HttpRequest) -> list[CollectionOut]:
    return [_collection_out(row) for row in queries.collections()]


@router.put("/collections/{name}", response=CollectionOut, auth=access.editor, summary="Make or change a collection")
def set_collection(request: HttpRequest, name: CollectionName, given: CollectionIn) -> CollectionOut:
    made = _obey(lambda: services.set_collection(name, **given.dict()))
    return _collection_out(next(row for row in queries.collections() if row.pk == made.pk))


@router.delete("/collections/{name}", response={204: None}, auth=access.editor, summary="Remove an empty collection")
def remove_collection(request: HttpRequest, name: CollectionName) -> Status[None]:
    _obey(lambda: services.remove_collection(name))
    return Status(204, None)


# subscriptions


@router.post("/subscriptions", response={200: SubscriptionOut, 201: SubscriptionOut}, auth=access.editor,
             summary="Watch a page or site")  # fmt: skip
def subscribe(request: HttpRequest, given: SubscriptionIn) -> Status[SubscriptionOut]:
    """201 when it is new; 200 with the one that exists when this address is watched already."""
    user = request.auth.user  # type: ignore[attr-defined]
    made, new = _obey(lambda: services.subscribe(services.Order(**given.dict()), user))
    return Status(201 if new else 200, subscription_out(made))


@router.get("/subscriptions", response=paging.Listing[SubscriptionOut], auth=access.reader, summary="Subscriptions")
def subscriptions(
    request: HttpRequest,
    limit: paging.Limit = 50,
    cursor: paging.Cursor = "",
    collection: Annotated[str, Query(max_length=100, description="Only of this collection.")] = "",
    active: Annotated[bool | None, Query(description="Only active or only paused ones.")] = None,
) -> paging.Listing[SubscriptionOut]:
    position = paging.read(cursor, 1)
    before = position[0] if position else None
    found = queries.subscriptions(limit + 1, before=before, collection=collection, active=active)
    figures = queries.figures([row.pk for row in found[:limit]])
    return paging.Listing[SubscriptionOut](
        items=[subscription_out(row, figures.get(row.pk, {})) for row in found[:limit]],
        next_cursor=paging.write(found[limit - 1].pk) if len(found) > limit else None,
    )


@router.post("/subscriptions/import", response=ImportOut, auth=access.editor, summary="Subscribe to a CSV or OPML list")
def import_subscriptions(
    request: HttpRequest,
    file: Annotated[UploadedFile, File(description="CSV with columns named like the fields, or OPML.")],
    collection: Annotated[str, Query(max_length=100, description="Collection of lines that name none.")] = "",
) -> ImportOut:
    user = request.auth.user  # type: ignore[attr-defined]
    report = _obey(lambda: imports.read_file(file.read(), file.name or "", user, {"collection": collection}))
    return ImportOut(
        new=report.new,
        known=report.known,
        refused=report.refused,
        lines=[
            ImportLine(number=line.number, url=line.url, outcome=line.outcome, detail=line.detail)  # type: ignore[arg-type]
            for line in report.lines
        ],
    )


@router.get("/subscriptions/export", response={200: None}, auth=access.reader, summary="Subscriptions as CSV or OPML")
def export_subscriptions(
    request: HttpRequest,
    collection: Annotated[str, Query(max_length=100, description="Only of this collection.")] = "",
    format: Annotated[Literal["csv", "opml"], Query(description="CSV (all of it) or OPML (names).")] = "csv",  # noqa: A002
) -> HttpResponse:
    """What `import` takes back."""
    found = queries.subscriptions(imports.MOST_ROWS, collection=collection)
    text = imports.as_csv(found) if format == "csv" else imports.as_opml(found)
    kind = "text/csv" if format == "csv" else "text/x-opml"
    response = HttpResponse(text, content_type=f"{kind}; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="subscriptions.{format}"'
    return response


@router.get("/subscriptions/{number}", response=SubscriptionOut, auth=access.reader, summary="One subscription")
def subscription(request: HttpRequest, number: Number) -> SubscriptionOut:
    return subscription_out(_found(lambda: services.find(number)))


@router.patch("/subscriptions/{number}", response=SubscriptionOut, auth=access.editor, summary="Change a subscription")
def edit(request: HttpRequest, number: Number, given: SubscriptionEdit) -> SubscriptionOut:
    """Only the fields that are sent change."""
    _found(lambda: services.find(number))
    return subscription_out(_obey(lambda: services.edit(number, given.dict(exclude_unset=True))))


@router.post("/subscriptions/{number}/pause", response=SubscriptionOut, auth=access.editor, summary="Pause")
def pause(request: HttpRequest, number: Number) -> SubscriptionOut:
    _found(lambda: services.find(number))
    return subscription_out(_obey(lambda: services.pause(number)))


@router.post("/subscriptions/{number}/resume", response=SubscriptionOut, auth=access.editor, summary="Go on")
def resume(request: HttpRequest, number: Number) -> SubscriptionOut:
    _found(lambda: services.find(number))
    return subscription_out(_obey(lambda: services.resume(number)))


@router.delete("/subscriptions/{number}", response={204: None}, auth=access.editor, summary="End a subscription")
def remove(request: HttpRequest, number: Number) -> Status[None]:
    """Captures, observations and changes stay."""
    _found(lambda: services.remove(number))
    return Status(204, None)


# pages, changes, metrics


@router.get(
    "/pages", response=paging.Listing[WatchedPageOut], auth=access.open_reader, summary="Watched pages, by group"
)
def pages(
    request: HttpRequest,
    limit: paging.Limit = 100,
    cursor: paging.Cursor = "",
    subscription: Annotated[int | None, Query(ge=1, description="Only of this subscription.")] = None,
    site: Annotated[str, Query(max_length=255, description="Only of this host.")] = "",
    group: Annotated[Literal["", "high", "medium", "low"], Query(description="Only of this group.")] = "",
    behaviour: Annotated[
        Literal["", "steady", "periodic", "bursty", "silent"], Query(description="Only with this behaviour.")
    ] = "",
    collection: Annotated[str, Query(max_length=100, description="Only of this collection.")] = "",
) -> paging.Listing[WatchedPageOut]:
    position = paging.read(cursor, 1)
    offset = min(max(position[0], 0), 10_000_000) if position else 0
    found = queries.pages(
        limit + 1,
        offset=offset,
        subscription=subscription,
        site=site,
        group=group,
        behaviour=behaviour,
        collection=collection,
    )
    return paging.Listing[WatchedPageOut](
        items=[page_out(row) for row in found[:limit]],
        next_cursor=paging.write(offset + limit) if len(found) > limit else None,
    )


@router.get(
    "/page", response=WatchedPageOut, auth=access.open_reader, summary="One watched page, and why it is visited when"
)
def page(
    request: HttpRequest, url: Annotated[str, Query(max_length=4096, description="Its address, in any spelling.")]
) -> WatchedPageOut:
    found = _read(lambda: queries.page(url))
    if found is None:
        raise Http404("This page is not under watch; GET /api/v1/watch/pages lists those that are.")
    return page_out(found)


@router.get("/groups", response=GroupsOut, auth=access.open_reader, summary="How many pages are in each group")
def groups(
    request: HttpRequest,
    site: Annotated[str, Query(max_length=255, description="Only of this host.")] = "",
    collection: Annotated[str, Query(max_length=100, description="Only of this collection.")] = "",
) -> dict[str, dict[str, int]]:
    return queries.groups(site=site, collection=collection)


@router.get("/changes", response=paging.Listing[ChangeOut], auth=access.open_reader, summary="Important changes")
def changes(
    request: HttpRequest,
    limit: paging.Limit = 50,
    cursor: paging.Cursor = "",
    url: Annotated[str, Query(max_length=4096, description="Only of this page.")] = "",
    site: Annotated[str, Query(max_length=255, description="Only of this host.")] = "",
    subscription: Annotated[int | None, Query(ge=1, description="Only of this subscription.")] = None,
) -> paging.Listing[ChangeOut]:
    """Newest first."""
    position = paging.read(cursor, 1)
    before = position[0] if position else None
    found = _read(lambda: queries.changes(limit + 1, before=before, url=url, site=site, subscription=subscription))
    return paging.Listing[ChangeOut](
        items=[_change_out(row) for row in found[:limit]],
        next_cursor=paging.write(found[limit - 1].pk) if len(found) > limit else None,
    )


@router.get("/metrics", response=list[MetricsOut], auth=access.open_reader, summary="What watching brought and cost")
def metrics_of(
    request: HttpRequest,
    by: Annotated[By, Query(description="What a row is.")] = "site",
    since: Annotated[datetime | None, Query(description="Beginning of the period.")] = None,
    until: Annotated[datetime | None, Query(description="End of the period.")] = None,
    site: Annotated[str, Query(max_length=255, description="Only of this host.")] = "",
    fixed_hours: Annotated[float, Query(gt=0, le=87_600, description="Fixed frequency to compare with.")] = 24.0,
    format: Annotated[Literal["json", "csv"], Query(description="JSON or CSV.")] = "json",  # noqa: A002
) -> Any:
    rows = metrics.measure(by, since_ms=_ms(since), until_ms=_ms(until), site=site, fixed_hours=fixed_hours)
    if format == "csv":
        response = HttpResponse(metrics.as_csv(rows), content_type="text/csv; charset=utf-8")
        response.headers["Content-Disposition"] = f'attachment; filename="metrics-{by}.csv"'
        return response
    return [MetricsOut(**{name: getattr(row, name) for name in metrics.COLUMNS}) for row in rows]


@router.get("/series", response=list[WatchedDayOut], auth=access.open_reader, summary="Visits and changes of each day")
def series(
    request: HttpRequest,
    days: Annotated[int, Query(ge=1, le=3660, description="How many days back.")] = 90,
    site: Annotated[str, Query(max_length=255, description="Only of this host.")] = "",
    subscription: Annotated[int | None, Query(ge=1, description="Only of this subscription.")] = None,
    collection: Annotated[str, Query(max_length=100, description="Only of this collection.")] = "",
) -> list[WatchedDayOut]:
    now = services.now_ms()
    rows = metrics.series(
        since_ms=now - days * 86_400_000, until_ms=now + 1, site=site, subscription=subscription, collection=collection
    )
    return [WatchedDayOut(day=moment(row.pop("day_ms")), **row) for row in rows]


@router.api_operation(["GET", "HEAD"], "/feed", response={200: None}, auth=None, summary="Important changes as a feed")
def feed(
    request: HttpRequest,
    url: Annotated[str, Query(max_length=4096, description="Of this page.")] = "",
    site: Annotated[str, Query(max_length=255, description="Of this host.")] = "",
    subscription: Annotated[int | None, Query(ge=1, description="Of this subscription.")] = None,
    collection: Annotated[int | None, Query(ge=1, description="Of this collection, by number.")] = None,
    format: Annotated[Literal["atom", "rss"], Query(description="Atom or RSS 2.0.")] = "atom",  # noqa: A002
    key: Annotated[str, Query(max_length=64, description="Opens this feed to a reader that cannot sign in.")] = "",
) -> HttpResponse:
    """Readable by everybody while `open_search` is set; else with the key that the subscription's `feed` carries."""
    scope = feeds.scope_of(url, site, subscription, collection)
    if not (key and feeds.opens(scope, key)) and access.open_reader(request) is None:
        raise HttpError(401, "This feed needs its key, or a token.")
    rows = _read(
        lambda: queries.changes(FEED_ENTRIES, url=url, site=site, subscription=subscription, collection=collection)
    )
    title = _feed_title(url, site, subscription, collection)
    write = feeds.atom if format == "atom" else feeds.rss
    base = settings.CONFIG.public_url.rstrip("/") or request.build_absolute_uri("/").rstrip("/")
    body = write(title, f"{base}{request.get_full_path()}", rows, base)
    response = HttpResponse(body, content_type=f"application/{format}+xml; charset=utf-8")
    response.headers["ETag"] = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    if rows:
        response.headers["Last-Modified"] = http_date(rows[0].seen_ms / 1000)
    found = get_conditional_response(
        request, response.headers["ETag"], rows[0].seen_ms // 1000 if rows else None, response
    )
    return response if found is None else found


# channels


@router.get("/channels", response=list[ChannelOut], auth=access.editor, summary="Where people are told about changes")
def channels(request: HttpRequest) -> list[ChannelOut]:
    """Targets are not shown: they hold passwords."""
    return [ChannelOut(**_channel_facts(row)) for row in queries.channels()]


@router.post("/channels", response={201: NewChannelOut}, auth=access.editor, summary="Tell somebody about changes")
def add_channel(request: HttpRequest, given: ChannelIn) -> Status[NewChannelOut]:
    """Each message of a webhook is signed: `X-Hemeroteca-Signature: sha256=HMAC(secret, timestamp + "." + body)`."""
    user = request.auth.user  # type: ignore[attr-defined]
    order = services.ChannelOrder(**given.dict(), check=notices.check_apprise)
    made, secret = _obey(lambda: services.add_channel(order, user))
    return Status(201, NewChannelOut(**_channel_facts(services.find_channel(made.pk)), secret=secret))


@router.post(
    "/channels/{number}/{action}", response=ChannelOut, auth=access.editor, summary="Pause or resume a channel"
)
def set_channel(
    request: HttpRequest,
    number: ChannelNumber,
    action: Annotated[Literal["pause", "resume"], Path(description="What to do.")],
) -> ChannelOut:
    _found(lambda: services.set_channel_active(number, action == "resume"))
    return ChannelOut(**_channel_facts(services.find_channel(number)))


@router.delete("/channels/{number}", response={204: None}, auth=access.editor, summary="End a channel")
def remove_channel(request: HttpRequest, number: ChannelNumber) -> Status[None]:
    _found(lambda: services.remove_channel(number))
    return Status(204, None)


# helpers


def subscription_out(row: Subscription, figures: dict[str, int] | None = None) -> SubscriptionOut:
    counts = queries.figures([row.pk]).get(row.pk, {}) if figures is None else figures
    order = services.order_of(row)
    values = {name: getattr(order, name) for name in services.EDITABLE}
    lists = {name: list(value) for name, value in values.items() if isinstance(value, tuple | list)}
    return SubscriptionOut(
        **{**values, **lists},
        id=row.pk,
        owner=row.owner.name if row.owner else None,
        crawl=row.crawl_id,
        pages=counts.get("pages") or 0,
        visits=counts.get("visits") or 0,
        changes=counts.get("changes") or 0,
        failures=row.failures,
        failing_since=moment(row.failing_since_ms),
        last_error=row.last_error,
        fault=row.fault,
        created_at=moment(row.created_ms),
        feed=feeds.address(subscription=row.pk),
    )


def page_out(row: WatchedPage) -> WatchedPageOut:
    return WatchedPageOut(
        url=row.url,
        site=row.site,
        subscription=row.subscription_id,
        listing=row.listing,
        group=row.group,
        behaviour=row.behaviour,
        visits=row.visits,
        changes=row.changes,
        change_days=row.change_days,
        observed_days=round(row.observed_days, 3),
        chance=round(row.chance, 4),
        last_visit=moment(row.last_ms),
        last_change=moment(row.changed_ms),
        next_visit=moment(row.next_ms),
        failures=row.failures,
        why=reasons.sentence(row.reason, (get_language() or "en")[:2]),
        then=reasons.sentence(row.next_reason, (get_language() or "en")[:2]),
        reason=row.reason,
    )


def _change_out(row: Change) -> ChangeOut:
    return ChangeOut(
        id=row.pk,
        url=row.url,
        title=row.title,
        subscription=row.subscription_id,
        seen_at=moment(row.seen_ms),
        since=moment(row.since_ms),
        capture=row.record_id,
        view=row.view,
        form=row.form,
        content=row.content,
        total=row.total,
        words_added=row.words_added,
        words_removed=row.words_removed,
        diff=row.diff,
    )


def _channel_facts(row: Channel) -> dict[str, Any]:
    return {
        "id": row.pk,
        "name": row.name,
        "kind": row.kind,
        "subscription": row.subscription_id,
        "collection": row.collection.name if row.collection else "",
        "digest_hours": row.digest_hours,
        "changes": row.changes,
        "errors": row.errors,
        "language": row.language,
        "active": row.active,
        "failures": row.failures,
        "last_error": row.last_error,
        "last_delivery": moment(row.sent_ms),
    }


def _collection_out(row: Any) -> CollectionOut:
    names = ("name", "category", "description", "visits_per_day", "bytes_per_day", "subscriptions")
    return CollectionOut(
        id=row.pk, feed=feeds.address(collection=row.pk), **{name: getattr(row, name) for name in names}
    )


def _feed_title(url: str, site: str, subscription: int | None, collection: int | None) -> str:
    if subscription is not None:
        return _found(lambda: services.find(subscription)).name
    if collection is not None:
        return _found(lambda: services.find_collection(str(collection))).name
    return url or site or "Hemeroteca"


def _obey(service: Callable[[], Result]) -> Result:
    try:
        return service()
    except services.WatchError as error:
        raise HttpError(422, str(error))


def _found(service: Callable[[], Result]) -> Result:
    try:
        return service()
    except services.WatchError as error:
        raise Http404(str(error))


def _read(query: Callable[[], Result]) -> Result:
    try:
        return query()
    except urls.UrlError as error:
        raise HttpError(422, f"url: {error}")


def _ms(when: datetime | None) -> int:
    return int(when.timestamp() * 1000) if when is not None else 0

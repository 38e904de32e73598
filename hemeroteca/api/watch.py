"""/watch: collections, subscriptions, watched pages, changes, channels, metrics, and feeds of changes."""

import hashlib
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.cache import get_conditional_response
from django.utils.http import http_date
from ninja import File, Path, Query, Status
from ninja.files import UploadedFile

from hemeroteca.accounts import require
from hemeroteca.api import access
from hemeroteca.api import watch_shapes as shapes
from hemeroteca.api.shapes import Cursor, Limit, Listing, before, filled, listing
from hemeroteca.errors import NotFound
from hemeroteca.outgoing import download
from hemeroteca.warc.timestamps import moment
from hemeroteca.watch import change_feeds, queries, services, site_metrics, site_reports, subscription_files
from hemeroteca.watch.fields import ChannelOrder, Order

Number = Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the subscription.")]
ChannelNumber = Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the channel.")]
CollectionName = Annotated[str, Path(max_length=100, description="Name of the collection.")]
Code = Annotated[int, Path(ge=1, le=services.MAX_CODE, description="Code of the category.")]
By = Literal["site", "group", "behaviour", "collection", "category", "subscription", "all"]
Site = Annotated[str, Query(max_length=255, description="Only of this host.")]
PageUrl = Annotated[str, Query(max_length=4096, description="Only of this page.")]
Of = Annotated[int | None, Query(ge=1, lt=1 << 63, description="Only of this subscription.")]
In = Annotated[str, Query(max_length=100, description="Only of this collection.")]
Group = Annotated[Literal["", "high", "medium", "low"], Query(description="Only of this group.")]
Behaviour = Annotated[
    Literal["", "steady", "periodic", "bursty", "silent"], Query(description="Only with this behaviour.")
]
FEED_ENTRIES = 50


# categories


def categories(request: HttpRequest) -> list[shapes.CategoryOut]:
    return [filled(shapes.CategoryOut, row) for row in queries.categories()]


def set_category(request: HttpRequest, code: Code, given: shapes.CategoryIn) -> shapes.CategoryOut:
    services.set_category(access.caller(request), code, given.name, given.description)
    return next(filled(shapes.CategoryOut, row) for row in queries.categories() if row.code == code)


def remove_category(request: HttpRequest, code: Code) -> None:
    services.remove_category(access.caller(request), code)


# collections


def collections(request: HttpRequest) -> list[shapes.CollectionOut]:
    return [shapes.collection_out(row) for row in queries.collections()]


def set_collection(request: HttpRequest, name: CollectionName, given: shapes.CollectionIn) -> shapes.CollectionOut:
    made = services.set_collection(access.caller(request), name, given.dict(exclude_unset=True))
    return shapes.collection_out(next(row for row in queries.collections() if row.pk == made.pk))


def remove_collection(request: HttpRequest, name: CollectionName) -> None:
    services.remove_collection(access.caller(request), name)


# subscriptions


def subscribe(request: HttpRequest, given: shapes.SubscriptionIn) -> Status[shapes.SubscriptionOut]:
    """201 when it is new; 200 with the one that exists when this address is watched already."""
    made, new = services.subscribe(access.caller(request), Order(**given.dict()))
    return Status(201 if new else 200, shapes.subscription_out(made))


def subscriptions(
    request: HttpRequest,
    limit: Limit = 50,
    cursor: Cursor = "",
    collection: In = "",
    category: Annotated[str, Query(max_length=100, description="Only of this category, by name or code.")] = "",
    group: Group = "",
    behaviour: Behaviour = "",
    address: Annotated[str, Query(max_length=4096, description="Only those that watch this address.")] = "",
    active: Annotated[bool | None, Query(description="Only active or only paused ones.")] = None,
    proposed: Annotated[bool | None, Query(description="Only those that wait for approval, or only others.")] = None,
) -> Listing[shapes.SubscriptionOut]:
    found = queries.subscriptions(
        limit + 1, before=before(cursor), collection=collection, category=category, group=group, behaviour=behaviour,
        address=address, active=active, proposed=proposed,
    )  # fmt: skip
    figures = queries.figures([row.pk for row in found[:limit]])
    return listing(found, limit, lambda row: shapes.subscription_out(row, figures.get(row.pk, {})))


def import_subscriptions(
    request: HttpRequest,
    file: Annotated[UploadedFile, File(description="CSV with columns named like the fields, or OPML.")],
    collection: Annotated[str, Query(max_length=100, description="Collection of lines that name none.")] = "",
) -> shapes.ImportOut:
    actor = access.caller(request)
    report = subscription_files.read_file(actor, file.read(), file.name or "", None, {"collection": collection})
    return filled(shapes.ImportOut, report, lines=[filled(shapes.ImportLine, line) for line in report.lines])


def export_subscriptions(
    request: HttpRequest,
    collection: In = "",
    format: Annotated[Literal["csv", "opml"], Query(description="CSV (all of it) or OPML (names).")] = "csv",  # noqa: A002
) -> HttpResponse:
    """What `import` takes back."""
    found = queries.subscriptions(subscription_files.MAX_ROWS, collection=collection)
    text = subscription_files.as_csv(found) if format == "csv" else subscription_files.as_opml(found)
    kind = "text/csv" if format == "csv" else "text/x-opml"
    return download(text, f"subscriptions.{format}", f"{kind}; charset=utf-8")


def subscription(request: HttpRequest, number: Number) -> shapes.SubscriptionOut:
    return shapes.subscription_out(services.find(number))


def edit(request: HttpRequest, number: Number, given: shapes.SubscriptionEdit) -> shapes.SubscriptionOut:
    """Only the fields that are sent change."""
    return shapes.subscription_out(services.edit(access.caller(request), number, given.dict(exclude_unset=True)))


def pause(request: HttpRequest, number: Number) -> shapes.SubscriptionOut:
    return shapes.subscription_out(services.pause(access.caller(request), number))


def resume(request: HttpRequest, number: Number) -> shapes.SubscriptionOut:
    return shapes.subscription_out(services.resume(access.caller(request), number))


def check(request: HttpRequest, number: Number) -> shapes.SubscriptionOut:
    """All of them, or the hundred that waited longest; whatever was planned."""
    return shapes.subscription_out(services.check_now(access.caller(request), number))


def approve(request: HttpRequest, number: Number, given: shapes.ApprovalIn) -> shapes.SubscriptionOut:
    """It is watched from now on; 409 when it was changed after you read it."""
    return shapes.subscription_out(services.approve(access.caller(request), number, given.version))


def refuse(request: HttpRequest, number: Number, given: shapes.RefusalIn) -> shapes.SubscriptionOut:
    """It stays in its owner's list, with the reason."""
    return shapes.subscription_out(services.refuse(access.caller(request), number, given.reason))


def remove(request: HttpRequest, number: Number) -> None:
    """Captures, observations and changes stay."""
    services.remove(access.caller(request), number)


# pages, changes, metrics


def pages(
    request: HttpRequest,
    limit: Limit = 100,
    cursor: Cursor = "",
    subscription: Of = None,
    site: Site = "",
    group: Group = "",
    behaviour: Behaviour = "",
    collection: In = "",
) -> Listing[shapes.WatchedPageOut]:
    offset = min(max(before(cursor) or 0, 0), 10_000_000)
    found = queries.pages(
        limit + 1, offset=offset, subscription=subscription, site=site, group=group, behaviour=behaviour,
        collection=collection,
    )  # fmt: skip
    return listing(found, limit, shapes.page_out, lambda row: (offset + limit,))


def page(
    request: HttpRequest, url: Annotated[str, Query(max_length=4096, description="Its address, in any spelling.")]
) -> shapes.WatchedPageOut:
    found = queries.page(url)
    if found is None:
        raise NotFound("this page is not under watch; GET /api/v1/watch/pages lists those that are")
    return shapes.page_out(found)


def groups(
    request: HttpRequest,
    site: Site = "",
    collection: In = "",
) -> shapes.GroupsOut:
    return shapes.GroupsOut(**queries.groups(site=site, collection=collection))


def changes(
    request: HttpRequest,
    limit: Limit = 50,
    cursor: Cursor = "",
    url: PageUrl = "",
    site: Site = "",
    subscription: Of = None,
) -> Listing[shapes.ChangeOut]:
    """Newest first."""
    found = queries.changes(limit + 1, before=before(cursor), url=url, site=site, subscription=subscription)
    return listing(found, limit, shapes.change_out)


def metrics_of(
    request: HttpRequest,
    by: Annotated[By, Query(description="What a row is.")] = "site",
    since: Annotated[datetime | None, Query(description="Beginning of the period.")] = None,
    until: Annotated[datetime | None, Query(description="End of the period.")] = None,
    site: Site = "",
    fixed_hours: Annotated[float, Query(gt=0, le=87_600, description="Fixed frequency to compare with.")] = 24.0,
    format: Annotated[Literal["json", "csv"], Query(description="JSON or CSV.")] = "json",  # noqa: A002
) -> Any:
    rows = site_metrics.measure(by, since_ms=_ms(since), until_ms=_ms(until), site=site, fixed_hours=fixed_hours)
    if format == "csv":
        return download(site_metrics.as_csv(rows), f"metrics-{by}.csv")
    return [filled(shapes.MetricsOut, row) for row in rows]


def report(
    request: HttpRequest,
    name: Annotated[Literal[tuple(site_reports.REPORTS)], Path(description="Which report.")],  # type: ignore[valid-type]
    subscription: Annotated[int | None, Query(ge=1, description="Only of this subscription.")] = None,
    format: Annotated[Literal["json", "csv", "chart"], Query(description="JSON, CSV or Vega-Lite.")] = "json",  # noqa: A002
) -> Any:
    found = site_reports.report(name, subscription)
    if format == "csv":
        return download(found.as_csv(), f"{name}.csv")
    if format == "chart":
        return JsonResponse(found.as_chart())
    return shapes.ReportOut(**msgspec.to_builtins(found))


def series(
    request: HttpRequest,
    days: Annotated[int, Query(ge=1, le=3660, description="How many days back.")] = 90,
    url: PageUrl = "",
    site: Site = "",
    subscription: Of = None,
    collection: In = "",
) -> list[shapes.WatchedDayOut]:
    now = services.now_ms()
    rows = site_metrics.series(
        since_ms=now - days * 86_400_000, until_ms=now + 1, url=url, site=site, subscription=subscription,
        collection=collection,
    )  # fmt: skip
    return [shapes.WatchedDayOut(day=moment(row.pop("day_ms")), **row) for row in rows]


def feed(
    request: HttpRequest,
    url: Annotated[str, Query(max_length=4096, description="Of this page.")] = "",
    site: Annotated[str, Query(max_length=255, description="Of this host.")] = "",
    subscription: Annotated[int | None, Query(ge=1, lt=1 << 63, description="Of this subscription.")] = None,
    collection: Annotated[int | None, Query(ge=1, lt=1 << 63, description="Of this collection, by number.")] = None,
    format: Annotated[Literal["atom", "rss"], Query(description="Atom or RSS 2.0.")] = "atom",  # noqa: A002
    key: Annotated[str, Query(max_length=64, description="Opens this feed to a reader that cannot sign in.")] = "",
) -> HttpResponse:
    """Readable by everybody while `open_search` is set; else with the key that the subscription's `feed` carries."""
    scope = change_feeds.scope_of(url, site, subscription, collection)
    if not (key and change_feeds.opens(scope, key)):
        require(access.actor_of(request), "watch.read")
    rows = queries.changes(FEED_ENTRIES, url=url, site=site, subscription=subscription, collection=collection)
    title = _feed_title(url, site, subscription, collection)
    write = change_feeds.atom if format == "atom" else change_feeds.rss
    base = access.base_of(request)
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


def channels(request: HttpRequest) -> list[shapes.ChannelOut]:
    """Targets are not shown: they hold passwords."""
    return [shapes.channel_out(row) for row in queries.channels()]


def add_channel(request: HttpRequest, given: shapes.ChannelIn) -> shapes.NewChannelOut:
    """Each message of a webhook is signed: `X-Hemeroteca-Signature: sha256=HMAC(secret, timestamp + "." + body)`."""
    made, secret = services.add_channel(access.caller(request), ChannelOrder(**given.dict()))
    return filled(shapes.NewChannelOut, shapes.channel_out(services.find_channel(made.pk)), secret=secret)


def set_channel(
    request: HttpRequest,
    number: ChannelNumber,
    action: Annotated[Literal["pause", "resume"], Path(description="What to do.")],
) -> shapes.ChannelOut:
    services.set_channel_active(access.caller(request), number, action == "resume")
    return shapes.channel_out(services.find_channel(number))


def remove_channel(request: HttpRequest, number: ChannelNumber) -> None:
    services.remove_channel(access.caller(request), number)


# helpers


def _feed_title(url: str, site: str, subscription: int | None, collection: int | None) -> str:
    if subscription is not None:
        return services.find(subscription).name
    if collection is not None:
        return services.find_collection(str(collection)).name
    return url or site or "Hemeroteca"


def _ms(when: datetime | None) -> int:
    return int(when.timestamp() * 1000) if when is not None else 0

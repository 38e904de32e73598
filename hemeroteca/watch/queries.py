"""Questions about watching: subscriptions, pages by group, changes, sources, channels."""

import time
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from django.db.models import Avg, Count, Max, Min, Model, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from hemeroteca import urls
from hemeroteca.accounts.models import User
from hemeroteca.errors import NotFound
from hemeroteca.watch.answered_visit import MAX_CHECKED
from hemeroteca.watch.models import (
    CATEGORIES,
    Category,
    Change,
    Channel,
    Collection,
    Observation,
    ReadMark,
    SignalSource,
    Subscription,
    WatchedPage,
    WatchRevision,
)

MAX_LISTED = 200  # proposals on one page
Row = TypeVar("Row", bound=Model)


def revision() -> int:
    """Grows whenever a person changes what is watched."""
    return WatchRevision.objects.filter(pk=1).values_list("number", flat=True).first() or 0


def categories() -> list[Category]:
    """By code, each with how many `subscriptions` are of it. Until somebody edits the list, as it begins."""
    found = list(Category.objects.order_by("code"))
    if not found:
        found = [Category(code=code, name=name) for code, name in CATEGORIES.items()]
    own = Coalesce("category", "collection__category")
    counts = dict(Subscription.objects.values_list(own).annotate(Count("pk")))
    for row in found:
        setattr(row, "subscriptions", counts.get(row.code, 0))  # noqa: B010
    return found


def collections() -> list[Collection]:
    """By name, each with how many `subscriptions` it has."""
    return list(
        Collection.objects.select_related("category").annotate(subscriptions=Count("subscription")).order_by("name")
    )


def patterns_of(collection: str) -> tuple[str, ...]:
    """What the subscriptions of a collection are about, as the CDX server takes it."""
    if not Collection.objects.filter(name=collection).exists():
        raise NotFound(f"there is no collection {collection!r}; `hemeroteca watch collection list` shows them")
    found = Subscription.objects.filter(collection__name=collection).values_list("url", "scope")
    return tuple(sorted(pattern_of(url, scope) for url, scope in found))


def pattern_of(url: str, scope: dict[str, Any]) -> str:
    """What one subscription is about, in the same way."""
    kinds = {"host": f"{urls.origin(url)}/*", "domain": f"*.{urls.host(url)}", "prefix": f"{url}*"}
    return kinds.get(scope.get("kind", ""), url)


def crawls_of(collection: str) -> tuple[int, ...]:
    """The standing crawls of a collection: they also fetched what its pages need from elsewhere."""
    found = Subscription.objects.filter(collection__name=collection).order_by("crawl_id")
    return tuple(found.values_list("crawl_id", flat=True))


def subscription_of(crawl: int) -> int | None:
    """The number of the subscription whose standing crawl it is."""
    return Subscription.objects.filter(crawl_id=crawl).values_list("pk", flat=True).first()


def subscriptions(
    limit: int = 1000,
    *,
    before: int | None = None,
    collection: str = "",
    category: str = "",
    group: str = "",
    behaviour: str = "",
    address: str = "",
    active: bool | None = None,
    proposed: bool | None = None,
) -> list[Subscription]:
    """Newest first. `category`: by name or code; `address`: those whose pages it may be one of, or part of one;
    `proposed`: only those that wait for approval, or only others."""
    found = Subscription.objects.select_related("collection__category", "category", "owner", "crawl").order_by("-pk")
    found = _among(found, pk__lt=before, collection__name=collection, active=active, group=group, behaviour=behaviour)
    if proposed is not None:
        found = found.filter(proposed_ms__gt=0) if proposed else found.filter(proposed_ms=0)
    if category:
        own = "pk" if category.isdecimal() else "name__iexact"
        mine = Q(**{f"category__{own}": category})
        found = found.filter(mine | Q(category=None, **{f"collection__category__{own}": category}))
    if address:
        found = found.filter(_at(address))
    return list(found[:limit])


class Checked(msgspec.Struct, frozen=True):
    """What became of a visit at once."""

    pages: int  # to be visited
    visited: int
    failed: int  # did not answer, and are tried again later
    changed: list[str]  # addresses that were found changed


def checked(row: Subscription) -> Checked:
    """Of the visit that was asked for last."""
    now_ms = time.time_ns() // 1_000_000
    mine = WatchedPage.objects.filter(_pages_of(row.pk))
    pages = min(mine.count(), MAX_CHECKED)
    failed = mine.filter(last_ms__lt=row.check_ms, failures__gt=0, next_ms__gt=now_ms).count()
    changes = Change.objects.filter(subscription=row, seen_ms__gte=row.check_ms).order_by("url")
    return Checked(
        pages=pages,
        visited=min(mine.filter(last_ms__gte=row.check_ms).count(), pages),
        failed=failed,
        changed=list(changes.values_list("url", flat=True).distinct()[:MAX_LISTED]),
    )


def proposals(owner: User | None = None) -> list[Subscription]:
    """Sites that wait for approval, the oldest first; of one person, or of all."""
    found = Subscription.objects.filter(proposed_ms__gt=0).select_related("owner", "collection")
    return list((found.filter(owner=owner) if owner else found).order_by("proposed_ms")[:MAX_LISTED])


def refused(owner: User | None) -> list[Subscription]:
    """What directors refused of one person's proposals, with their reasons."""
    return list(Subscription.objects.filter(owner=owner).exclude(refusal="").order_by("-pk")[:MAX_LISTED])


def _at(address: str) -> Q:
    """Subscriptions named so, with it in their address, or with a watched page there."""
    by_name = Q(name__icontains=address) | Q(url__icontains=address)
    try:
        key = urls.key(urls.typed(address))
    except urls.UrlError:
        return by_name
    return by_name | Q(pk__in=WatchedPage.objects.filter(key=key).values("subscription"))


def figures(numbers: list[int]) -> dict[int, dict[str, int]]:
    """Pages, visits and changes of subscriptions."""
    counts: dict[str, Any] = {"pages": Count("key"), "visits": Sum("visits"), "changes": Sum("changes")}
    rows = WatchedPage.objects.filter(subscription__in=numbers).values("subscription").annotate(**counts)
    found = {row["subscription"]: {name: row[name] for name in counts} for row in rows}
    for number, page in _visited_for_others(numbers):
        own = found.setdefault(number, dict.fromkeys(counts, 0))
        own["pages"] += 1
        own["visits"] += page.visits
        own["changes"] += page.changes
    return found


def _visited_for_others(numbers: Sequence[int]) -> list[tuple[int, WatchedPage]]:
    """Subscriptions whose own address is visited for another one that covers it, with that page."""
    seeds = {
        number: urls.key(url) for number, url in Subscription.objects.filter(pk__in=numbers).values_list("pk", "url")
    }
    pages = WatchedPage.objects.in_bulk(list(seeds.values()))
    return [
        (number, pages[key]) for number, key in seeds.items() if key in pages and pages[key].subscription_id != number
    ]


def _pages_of(number: int) -> Q:
    """Pages that are visited for a subscription, and its own address, which may be visited for another."""
    own = Subscription.objects.filter(pk=number).values_list("url", flat=True)
    return Q(subscription=number) | Q(key__in=[urls.key(url) for url in own])


def site_summary(number: int) -> dict[str, Any]:
    """What the pages of a subscription come to, in figures that differ after every visit and every new plan."""
    return WatchedPage.objects.filter(_pages_of(number)).aggregate(
        pages=Count("key"),
        visits=Sum("visits"),
        changes=Sum("changes"),
        last_ms=Max("last_ms"),
        plan=Avg("next_ms"),  # not the sum, which may be too large a number
    )


def site_groups() -> dict[str, int]:
    """How many subscriptions are in each group."""
    counts = dict(Subscription.objects.values_list("group").annotate(Count("pk")))
    return {name: counts.get("" if name == "unknown" else name, 0) for name in ("high", "medium", "low", "unknown")}


def unread(user: User | None, numbers: Sequence[int]) -> dict[int, int]:
    """Changes of subscriptions that a person has not read yet."""
    if user is None:
        return {}
    marks = dict(ReadMark.objects.filter(user=user, subscription__in=numbers).values_list("subscription", "change"))
    read = Q(pk__in=[])
    for number, last in marks.items():
        read |= Q(subscription=number, pk__lte=last)
    rows = Change.objects.filter(subscription__in=numbers).exclude(read)
    return dict(rows.values_list("subscription").annotate(Count("pk")))


def read_until(user: User | None, number: int) -> int | None:
    """The newest change of a subscription that a person has read; None for a stranger, who reads nothing."""
    if user is None:
        return None
    return ReadMark.objects.filter(user=user, subscription=number).values_list("change", flat=True).first() or 0


def count_changes(number: int, after: int) -> int:
    """Important changes of a subscription since the change `after`."""
    return Change.objects.filter(subscription=number, pk__gt=after).count()


def next_visits(numbers: Sequence[int]) -> dict[int, WatchedPage]:
    """The page of each subscription that is visited next."""
    waiting = WatchedPage.objects.filter(subscription=OuterRef("pk"), next_ms__gt=0).order_by("next_ms")
    soonest = Subscription.objects.filter(pk__in=numbers).values_list(Subquery(waiting.values("key")[:1]), flat=True)
    found = WatchedPage.objects.filter(key__in=[key for key in soonest if key is not None])
    others = {number: page for number, page in _visited_for_others(numbers) if page.next_ms}
    return {**others, **{page.subscription_id: page for page in found}}


def pages(
    limit: int = 100,
    *,
    offset: int = 0,
    subscription: int | None = None,
    site: str = "",
    group: str = "",
    behaviour: str = "",
    collection: str = "",
    listings: bool = False,
) -> list[WatchedPage]:
    """Watched pages, those that change most often first."""
    found = watched(subscription=subscription, site=site, collection=collection, listings=listings)
    found = _among(found.select_related("subscription").order_by("-changes", "key"), group=group, behaviour=behaviour)
    return list(found[offset : offset + limit])


def watched(
    *, subscription: int | None = None, site: str = "", collection: str = "", listings: bool = False
) -> QuerySet[WatchedPage]:
    """Pages of a subscription, a host or a collection; feeds and sitemaps only with `listings`."""
    found = WatchedPage.objects.all() if listings else WatchedPage.objects.filter(listing="")
    if subscription is not None:
        found = found.filter(_pages_of(subscription))
    return _among(found, site=site.lower(), subscription__collection__name=collection)


def page(url: str) -> WatchedPage | None:
    """The watched page at an address. Raises urls.UrlError for what is not an address."""
    return WatchedPage.objects.select_related("subscription").filter(key=urls.key(urls.canonical(url))).first()


def groups(*, site: str = "", collection: str = "") -> dict[str, dict[str, int]]:
    """How many pages are in each group and show each behaviour."""
    found = watched(site=site, collection=collection)
    result: dict[str, dict[str, int]] = {}
    for name in ("group", "behaviour"):
        counts = dict(found.values_list(name).annotate(Count("key")))
        result[name] = {str(key or "unknown"): count for key, count in sorted(counts.items())}
    return result


def decisions(
    limit: int, subscription: int, *, url: str = "", before: int | None = None
) -> list[tuple[Observation, str]]:
    """Visits of a subscription with their reasons, newest first, and the address of each."""
    found = Observation.objects.filter(subscription=subscription)
    if url:
        try:
            found = found.filter(key=urls.key(urls.canonical(url)))
        except urls.UrlError:
            return []
    found = found.filter(pk__lt=before) if before is not None else found
    visits = list(found.order_by("-pk")[:limit])
    addresses = dict(WatchedPage.objects.filter(key__in={one.key for one in visits}).values_list("key", "url"))
    return [(one, addresses.get(one.key, "")) for one in visits]


def changes(
    limit: int = 50,
    *,
    before: int | None = None,
    url: str = "",
    site: str = "",
    subscription: int | None = None,
    collection: int | None = None,
) -> list[Change]:
    """Important changes, newest first; once each, but for a subscription as its own rules judge them.

    Raises urls.UrlError for a `url` that is not an address.
    """
    found: QuerySet[Change] = Change.objects.order_by("-seen_ms", "-pk")
    if before is not None:
        found = Change.objects.filter(pk__lt=before).order_by("-pk")
    found = _among(found, key=urls.key(urls.canonical(url)) if url else None, site=site.lower())
    if subscription is not None:
        found = found.filter(subscription=subscription)
    elif collection is not None:
        once = Change.objects.filter(subscription__collection=collection).values("key", "seen_ms").annotate(Min("pk"))
        found = found.filter(pk__in=once.values("pk__min"))
    else:
        found = found.filter(first=True)
    return list(found[:limit])


def sources(subscription: int | None = None) -> list[SignalSource]:
    found = SignalSource.objects.order_by("pk")
    if subscription is not None:
        return list(found.filter(subscription=subscription))
    return list(found.select_related("subscription")[:1000])


def channels() -> list[Channel]:
    return list(Channel.objects.select_related("subscription", "collection").order_by("pk"))


def _among(found: QuerySet[Row], **wanted: object) -> QuerySet[Row]:
    """Those that are as wanted; what is empty or None is not asked for."""
    return found.filter(**{name: value for name, value in wanted.items() if value not in (None, "")})

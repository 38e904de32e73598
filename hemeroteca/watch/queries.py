"""Questions about watching: subscriptions, pages by group, changes, sources, channels."""

from django.db.models import Count, Min, QuerySet, Sum

from hemeroteca import urls
from hemeroteca.errors import Invalid
from hemeroteca.watch.models import (
    Change,
    Channel,
    Collection,
    Notice,
    Revision,
    SignalSource,
    Subscription,
    WatchedPage,
)


def revision() -> int:
    """Grows whenever a person changes what is watched."""
    return Revision.objects.filter(pk=1).values_list("number", flat=True).first() or 0


def collections() -> list[Collection]:
    """By name, each with how many `subscriptions` it has."""
    return list(Collection.objects.annotate(subscriptions=Count("subscription")).order_by("name"))


def patterns_of(collection: str) -> tuple[str, ...]:
    """What the subscriptions of a collection are about, as the CDX server takes it."""
    if not Collection.objects.filter(name=collection).exists():
        raise Invalid(f"there is no collection {collection!r}; `hemeroteca watch collection list` shows them")
    patterns = []
    for url, scope in Subscription.objects.filter(collection__name=collection).values_list("url", "scope"):
        host = urls.host(url)
        kinds = {"host": f"{urls.origin(url)}/*", "domain": f"*.{host}", "prefix": f"{url}*"}
        patterns.append(kinds.get(scope.get("kind", ""), url))
    return tuple(sorted(patterns))


def crawls_of(collection: str) -> tuple[int, ...]:
    """The standing crawls of a collection: they also fetched what its pages need from elsewhere."""
    found = Subscription.objects.filter(collection__name=collection).order_by("crawl_id")
    return tuple(found.values_list("crawl_id", flat=True))


def subscriptions(
    limit: int = 1000,
    *,
    before: int | None = None,
    collection: str = "",
    active: bool | None = None,
    owner: str = "",
) -> list[Subscription]:
    """Newest first."""
    found = Subscription.objects.select_related("collection", "owner", "crawl").order_by("-pk")
    if before is not None:
        found = found.filter(pk__lt=before)
    if collection:
        found = found.filter(collection__name=collection)
    if active is not None:
        found = found.filter(active=active)
    if owner:
        found = found.filter(owner__name=owner)
    return list(found[:limit])


def figures(numbers: list[int]) -> dict[int, dict[str, int]]:
    """Pages, visits and changes of subscriptions."""
    rows = (
        WatchedPage.objects.filter(subscription__in=numbers)
        .values("subscription")
        .annotate(pages=Count("key"), visits=Sum("visits"), changes=Sum("changes"))
    )
    return {
        row["subscription"]: {"pages": row["pages"], "visits": row["visits"], "changes": row["changes"]} for row in rows
    }


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
    found = WatchedPage.objects.select_related("subscription").order_by("-changes", "key")
    if not listings:
        found = found.filter(listing="")
    if subscription is not None:
        found = found.filter(subscription=subscription)
    if site:
        found = found.filter(site=site.lower())
    if group:
        found = found.filter(group=group)
    if behaviour:
        found = found.filter(behaviour=behaviour)
    if collection:
        found = found.filter(subscription__collection__name=collection)
    return list(found[offset : offset + limit])


def page(url: str) -> WatchedPage | None:
    """The watched page at an address. Raises urls.UrlError for what is not an address."""
    return WatchedPage.objects.select_related("subscription").filter(key=urls.key(urls.canonical(url))).first()


def groups(*, site: str = "", collection: str = "") -> dict[str, dict[str, int]]:
    """How many pages are in each group and show each behaviour."""
    found = WatchedPage.objects.filter(listing="")
    if site:
        found = found.filter(site=site.lower())
    if collection:
        found = found.filter(subscription__collection__name=collection)
    result: dict[str, dict[str, int]] = {}
    for name in ("group", "behaviour"):
        counts = dict(found.values_list(name).annotate(Count("key")))
        result[name] = {str(key or "unknown"): count for key, count in sorted(counts.items())}
    return result


def changes(
    limit: int = 50,
    *,
    before: int | None = None,
    url: str = "",
    site: str = "",
    subscription: int | None = None,
    collection: int | None = None,
    since_ms: int = 0,
) -> list[Change]:
    """Important changes, newest first; once each, but for a subscription as its own rules judge them.

    Raises urls.UrlError for a `url` that is not an address.
    """
    found: QuerySet[Change] = Change.objects.order_by("-seen_ms", "-pk")
    if before is not None:
        found = Change.objects.filter(pk__lt=before).order_by("-pk")
    if url:
        found = found.filter(key=urls.key(urls.canonical(url)))
    if site:
        found = found.filter(site=site.lower())
    if subscription is not None:
        found = found.filter(subscription=subscription)
    elif collection is not None:
        once = Change.objects.filter(subscription__collection=collection).values("key", "seen_ms").annotate(Min("pk"))
        found = found.filter(pk__in=once.values("pk__min"))
    else:
        found = found.filter(first=True)
    if since_ms:
        found = found.filter(seen_ms__gte=since_ms)
    return list(found[:limit])


def sources(subscription: int | None = None) -> list[SignalSource]:
    found = SignalSource.objects.select_related("subscription").order_by("pk")
    return list(found.filter(subscription=subscription) if subscription is not None else found[:1000])


def channels() -> list[Channel]:
    return list(Channel.objects.select_related("subscription", "collection").order_by("pk"))


def notices(channel: int | None = None, limit: int = 100) -> list[Notice]:
    found = Notice.objects.select_related("channel").order_by("-pk")
    return list((found.filter(channel=channel) if channel is not None else found)[:limit])

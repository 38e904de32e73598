"""What people can order: collections, subscriptions, signal sources; channels are in `channels`. The only writers of
these tables besides the scheduler (which writes what visits teach) and the worker (which writes what it delivered)."""

import hashlib
import math
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db import connection, transaction
from django.db.models import QuerySet

from hemeroteca import change, urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.accounts.models import User
from hemeroteca.frontier import services as frontier
from hemeroteca.frontier.models import Crawl
from hemeroteca.frontier.values import Comparison, CrawlOptions
from hemeroteca.predict import POLICIES, country_calendar
from hemeroteca.watch import windows as times
from hemeroteca.watch.models import Collection, Observation, SignalSource, Subscription, WatchedPage
from hemeroteca.watch.values import plain

SHORTEST_HOURS = 1 / 60
LONGEST_HOURS = 24.0 * 3650
MOST_WEIGHT = 1000.0
MODES = tuple(POLICIES)
MOST_PATTERNS = 100


class WatchError(ValueError):
    """An order that cannot be carried out; the message says why and what to write instead."""


@dataclass
class Order:
    """A subscription as somebody wants it. Hours, visits and bytes of 0 mean: no limit of its own."""

    url: str
    name: str = ""
    scope: str = ""  # page, prefix, host, domain; empty: page, or host when the URL is a site's front page
    include: Iterable[str] = ()
    exclude: Iterable[str] = ()
    depth: int | None = None
    collection: str = ""
    purpose: str = ""
    threshold: float = 0.05
    ignore: Iterable[str] = ()
    keep: Iterable[str] = ()
    ignore_text: Iterable[str] = ()
    mode: str = "auto"  # auto, fixed, `fixed 12` (hours), or another policy
    min_hours: float = 0.0
    max_hours: float = 0.0
    weight: float = 1.0
    visits_per_day: int = 0
    bytes_per_day: int = 0
    windows: Iterable[str] = ()
    country: str = ""
    requisites: bool = True
    active: bool = True


EDITABLE = tuple(Order.__dataclass_fields__)


# collections


def set_collection(
    name: str,
    *,
    category: str | None = None,
    description: str | None = None,
    visits_per_day: int | None = None,
    bytes_per_day: int | None = None,
) -> Collection:
    """Make a collection or change one; what is None stays as it is."""
    name = checked_line(name, 100, "a collection's name")
    collection, _ = Collection.objects.get_or_create(name=name, defaults={"created_ms": now_ms()})
    if category is not None:
        collection.category = checked_line(category, 100, "a category", empty=True)
    if description is not None:
        collection.description = plain(description.strip()[:5000])
    if visits_per_day is not None:
        collection.visits_per_day = int(checked_number(visits_per_day, "visits_per_day", 0, 1e9))
    if bytes_per_day is not None:
        collection.bytes_per_day = int(checked_number(bytes_per_day, "bytes_per_day", 0, 1e15))
    collection.save()
    changed()
    return collection


def remove_collection(name: str) -> None:
    collection = find_collection(name)
    count = Subscription.objects.filter(collection=collection).count()
    if count:
        raise WatchError(
            f"the collection {name!r} still has {count} subscriptions; remove them or move them to another one first"
        )
    collection.delete()
    changed()


def find_collection(name: str) -> Collection:
    found = Collection.objects.filter(name=name.strip()).first()
    if found is None and name.strip().isdigit():
        found = Collection.objects.filter(pk=int(name)).first()
    if found is None:
        raise WatchError(f"there is no collection {name!r}; `hemeroteca watch collection list` shows them")
    return found


# subscriptions


def subscribe(order: Order, owner: User | None = None) -> tuple[Subscription, bool]:
    """Watch a page or site. The same address with the same scope again changes nothing: (subscription, is new)."""
    values, options, seeds = _read(order)
    known = Subscription.objects.filter(url=values["url"])
    for other in known:
        if msgspec.convert(other.scope, urls.Scope).kind == options.scope.kind:
            return other, False
    with transaction.atomic():
        collection = _collection(order.collection)
        crawl = frontier.keep_crawl(None, seeds, options, running=order.active)
        subscription = Subscription.objects.create(
            **values, owner=owner, collection=collection, crawl=crawl, created_ms=now_ms()
        )
        changed()
    return subscription, True


def edit(number: int, changes: Mapping[str, Any]) -> Subscription:
    """Change what `Order` has; everything else stays. The address stays too: another one is another subscription."""
    subscription = find(number)
    for name in changes:
        if name not in EDITABLE or name == "url":
            raise WatchError(
                f"`{name}` cannot be changed; these can: {', '.join(sorted(set(EDITABLE) - {'url'}))}"
                + ("; subscribe to the other address instead" if name == "url" else "")
            )
    order = order_of(subscription)
    for name, value in changes.items():
        setattr(order, name, value)
    values, options, seeds = _read(order)
    with transaction.atomic():
        subscription.collection = _collection(order.collection)
        for name, value in values.items():
            setattr(subscription, name, value)
        if options.scope != urls_scope(subscription) or "scope" in changes:
            subscription.learned_ms = 0
        subscription.save()
        frontier.keep_crawl(subscription.crawl_id, seeds, options, running=order.active)
        changed()
    return subscription


def pause(number: int) -> Subscription:
    """No more visits, until `resume`; nothing that is known is lost."""
    subscription = find(number)
    with transaction.atomic():
        subscription.active = False
        subscription.save(update_fields=["active"])
        _stop(subscription)
        changed()
    return subscription


def resume(number: int) -> Subscription:
    return edit(number, {"active": True})


def remove(number: int) -> None:
    """Stop watching. Captures, observations and changes stay."""
    subscription = find(number)
    with transaction.atomic():
        _stop(subscription)
        _end_at_hubs(SignalSource.objects.filter(subscription=subscription))
        Observation.objects.filter(subscription=subscription).update(subscription=None)
        subscription.delete()
        changed()


def find(number: int) -> Subscription:
    found = Subscription.objects.select_related("collection", "owner", "crawl").filter(pk=number).first()
    if found is None:
        raise WatchError(f"there is no subscription {number}; `hemeroteca watch list` shows them")
    return found


def order_of(subscription: Subscription) -> Order:
    """The order that would make this subscription."""
    scope = urls_scope(subscription)
    comparison = msgspec.convert(subscription.comparison, Comparison)
    windows = msgspec.convert(subscription.windows, list[times.Window])
    mode = f"fixed {subscription.fixed_hours:g}" if subscription.mode == "fixed" else subscription.mode
    return Order(
        url=subscription.url,
        name=subscription.name,
        scope=scope.kind,
        include=scope.include,
        exclude=scope.exclude,
        depth=scope.depth,
        collection=subscription.collection.name if subscription.collection else "",
        purpose=subscription.purpose,
        threshold=comparison.threshold,
        ignore=comparison.ignore,
        keep=comparison.keep,
        ignore_text=comparison.ignore_text,
        mode=mode,
        min_hours=subscription.min_hours,
        max_hours=subscription.max_hours,
        weight=subscription.weight,
        visits_per_day=subscription.visits_per_day,
        bytes_per_day=subscription.bytes_per_day,
        windows=[str(window) for window in windows],
        country=subscription.country,
        requisites=subscription.requisites,
        active=subscription.active,
    )


def urls_scope(subscription: Subscription) -> urls.Scope:
    return msgspec.convert(subscription.scope, urls.Scope)


# sources of signals


def add_webhook(number: int) -> tuple[SignalSource, str]:
    """An address (by its secret, shown once) where a site can tell that pages of a subscription changed."""
    subscription = find(number)
    token = secrets.token_urlsafe(24)
    source, _ = SignalSource.objects.update_or_create(
        kind=SignalSource.Kind.WEBHOOK,
        subscription=subscription,
        defaults={
            "site": urls.host(subscription.url),
            "token": digest(token),
            "state": SignalSource.State.ACTIVE,
            "created_ms": now_ms(),
        },
    )
    return source, token


def remove_source(number: int) -> None:
    """Listen no longer; a hub is told so by the worker."""
    sources = SignalSource.objects.filter(pk=number)
    if not sources.exists():
        raise WatchError(f"there is no source {number}; `hemeroteca watch sources` shows them")
    _end_at_hubs(sources)
    sources.exclude(state=SignalSource.State.ENDING).delete()
    changed()


# shared


def changed() -> None:
    """Tell the engine to read the subscriptions again."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO watch_revision (id, number) VALUES (1, 1) "
            "ON CONFLICT (id) DO UPDATE SET number = watch_revision.number + 1"
        )


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def pages_of(number: int) -> int:
    return WatchedPage.objects.filter(subscription=number).count()


# checks that channels share


def checked_line(text: str, longest: int, what: str, empty: bool = False) -> str:
    """A text of one line, without what no line has."""
    line = " ".join(plain(text).split())
    if (not line and not empty) or len(line) > longest:
        raise WatchError(f"{what} must have 1 to {longest} characters, not {len(line)}")
    return line


def checked_number(value: float, name: str, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise WatchError(f"{name} must be a number, not {value!r}")
    if not least <= value <= most:
        raise WatchError(f"{name} is {value:g}; it must lie between {least:g} and {most:g}")
    return value


# helpers


def _read(order: Order) -> tuple[dict[str, Any], CrawlOptions, list[str]]:
    """Columns of the subscription, options and seeds of its crawl; raises WatchError for what cannot be done."""
    url = _address(order.url.strip())
    scope = _scope(order, url)
    comparison = Comparison(
        threshold=checked_number(order.threshold, "threshold", 0, 1),
        ignore=_patterns(order.ignore, "ignore"),
        keep=_patterns(order.keep, "keep"),
        ignore_text=_patterns(order.ignore_text, "ignore_text"),
    )
    mode, fixed_hours = _mode(order.mode)
    if mode != "auto" and getattr(POLICIES[mode], "budgeted", False) and not order.visits_per_day:
        raise WatchError(f"the policy {mode} shares out a budget; give visits_per_day too")
    min_hours = checked_number(order.min_hours, "min_hours", 0, LONGEST_HOURS)
    max_hours = checked_number(order.max_hours, "max_hours", 0, LONGEST_HOURS)
    if max_hours and max_hours < min_hours:
        raise WatchError(f"max_hours ({max_hours:g}) is less than min_hours ({min_hours:g}); exchange them")
    try:
        urls.ScopeMatcher(scope)
        change.check(change.ChangeRules(**msgspec.structs.asdict(comparison)))
        windows = times.read_all(order.windows)
        if order.country:
            _calendar(order.country)
    except (urls.UrlError, change.RulesError, times.WindowError, ValueError) as error:
        raise WatchError(str(error))
    values = {
        "url": url,
        "name": checked_line(order.name, 200, "a name", empty=True) or url[:200],
        "scope": msgspec.to_builtins(scope),
        "purpose": plain(order.purpose.strip()[:5000]),
        "comparison": msgspec.to_builtins(comparison),
        "mode": mode,
        "fixed_hours": fixed_hours,
        "min_hours": min_hours,
        "max_hours": max_hours,
        "weight": checked_number(order.weight, "weight", 0.001, MOST_WEIGHT),
        "visits_per_day": int(checked_number(order.visits_per_day, "visits_per_day", 0, 1e9)),
        "bytes_per_day": int(checked_number(order.bytes_per_day, "bytes_per_day", 0, 1e15)),
        "windows": msgspec.to_builtins(windows),
        "country": order.country.strip().upper(),
        "requisites": bool(order.requisites),
        "active": bool(order.active),
    }
    options = CrawlOptions(scope=scope, requisites=bool(order.requisites), watch=comparison)
    return values, options, [url]


def _address(text: str) -> str:
    url = text
    if "://" not in text:
        if "." not in text.partition("/")[0]:
            raise WatchError(f"{text!r} is not an address that can be watched; write one like https://example.org/")
        url = "https://" + text
    try:
        return urls.canonical(url)
    except urls.UrlError as error:
        raise WatchError(f"{text!r} is not an address that can be watched ({error})")


def _scope(order: Order, url: str) -> urls.Scope:
    kind = order.scope or ("host" if urls.origin(url) + "/" == url else "page")
    if kind not in ("page", "prefix", "host", "domain"):
        raise WatchError(f"the scope {kind!r} does not exist; choose page, prefix, host or domain")
    return urls.Scope(
        kind=kind,  # type: ignore[arg-type]  # looked at above
        seeds=(url,),
        include=_patterns(order.include, "include"),
        exclude=_patterns(order.exclude, "exclude"),
        depth=order.depth,
    )


def _end_at_hubs(sources: QuerySet[SignalSource]) -> None:
    """Those that a hub may be sending to outlive their subscription until the hub was told."""
    asked = sources.filter(kind=SignalSource.Kind.WEBSUB).exclude(token="")
    asked.update(subscription=None, state=SignalSource.State.ENDING, due_ms=0, attempts=0, note="")


def _stop(subscription: Subscription) -> None:
    """Its standing crawl rests. Nothing is checked: what cannot be worked with any more can still be ended."""
    if subscription.crawl.state == Crawl.State.RUNNING:
        frontier.stop_crawl(SYSTEM, subscription.crawl_id)


def _mode(text: str) -> tuple[str, float]:
    name, _, hours = text.strip().lower().partition(" ")
    if name not in MODES:
        raise WatchError(f"there is no policy {name!r}; choose one of {', '.join(sorted(MODES))}")
    if not hours:
        return name, 24.0
    if name != "fixed":
        raise WatchError(f"only `fixed` takes hours, as in `fixed 12`; {name} finds its intervals by itself")
    try:
        return name, checked_number(
            float(hours.strip().removesuffix("h")), "fixed hours", SHORTEST_HOURS, LONGEST_HOURS
        )
    except ValueError as error:
        raise (
            error if isinstance(error, WatchError) else WatchError(f"{hours!r} are no hours; write it like `fixed 12`")
        )


def _calendar(country: str) -> None:
    from datetime import date

    name, _, part = country.strip().upper().partition("-")
    country_calendar(name, date(1970, 1, 1), part or None)


def _collection(name: str) -> Collection | None:
    """The collection of that name, made when it is new."""
    name = name.strip()
    if not name:
        return None
    return Collection.objects.get_or_create(
        name=checked_line(name, 100, "a collection's name"), defaults={"created_ms": now_ms()}
    )[0]


def _patterns(given: Iterable[str], name: str) -> tuple[str, ...]:
    found = tuple(text for text in given if text.strip())
    if len(found) > MOST_PATTERNS:
        raise WatchError(f"{len(found)} expressions in {name} are too many; {MOST_PATTERNS} are allowed")
    return found

"""What people can order: collections, subscriptions, channels, sources of signals. The only writer of these tables
besides the scheduler (which writes what visits teach) and the chores (which write what they delivered)."""

import hashlib
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

import msgspec
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Max, Q, QuerySet

from hemeroteca import change, urls
from hemeroteca.accounts import SYSTEM, Actor, audit, can, require
from hemeroteca.accounts.models import User
from hemeroteca.clock import now_ms as now_ms  # asked for here by other rooms, too
from hemeroteca.errors import Conflict, Denied, Invalid, NotFound
from hemeroteca.frontier import services as frontier
from hemeroteca.ingest.heavy_reads import check_rules
from hemeroteca.ingest.rules import ComparisonRules, CrawlOptions
from hemeroteca.instance.sealed_secrets import digest
from hemeroteca.plain import whole_number
from hemeroteca.predict import POLICIES, policy_of
from hemeroteca.watch import notice_conditions, time_windows
from hemeroteca.watch.fields import (
    CHANNEL,
    COLLECTION,
    MAX_HOURS,
    SUBSCRIPTION,
    ChannelOrder,
    Order,
    plain,
)
from hemeroteca.watch.models import (
    CATEGORIES,
    Category,
    Change,
    Channel,
    Collection,
    Notice,
    Observation,
    ReadMark,
    SignalSource,
    Subscription,
    WatchedPage,
)
from hemeroteca.watch.policy_pages import calendar_of

MIN_FIXED_HOURS = 1 / 60
MODES = tuple(POLICIES)
MAX_CODE = 9999  # of a category
MAX_PROPOSALS = 50  # of one person that are not approved
# What a site may cost and how it is visited: decided by directors, also for the sites of others.
DIRECTED = frozenset(
    {
        "scope", "include", "exclude", "depth", "requisites", "collection", "mode", "min_hours", "max_hours", "weight",
        "visits_per_day", "bytes_per_day",
    }
)  # fmt: skip
# Fields of an order that are not columns of their own: each has its place in `_read` and `order_of`.
PLACED = {
    "url", "scope", "include", "exclude", "depth", "collection", "category", "notify", "threshold", "ignore", "keep",
    "ignore_text", "weights", "mode", "windows",
}  # fmt: skip
OWN_COLUMNS = tuple(name for name in SUBSCRIPTION if name not in PLACED)


# categories


def set_category(actor: Actor, code: int, name: str, description: str = "") -> Category:
    """Make a topic of the coded list, or rename one."""
    require(actor, "watch.collect")
    _begin_categories()
    name = COLLECTION["category"].check(name)
    if not name or name.isdigit():
        raise Invalid("a category needs a name that is not a number")
    if not 0 < code <= MAX_CODE:
        raise Invalid(f"the code of a category must lie between 1 and {MAX_CODE}, not {code}")
    other = Category.objects.filter(name__iexact=name).exclude(pk=code).first()
    if other is not None:
        raise Conflict(f"the category {name!r} has the code {other.code} already")
    description = COLLECTION["description"].check(description)
    return Category.objects.update_or_create(code=code, defaults={"name": name, "description": description})[0]


def remove_category(actor: Actor, code: int) -> None:
    require(actor, "watch.collect")
    _begin_categories()
    category = find_category(str(code))
    used = Collection.objects.filter(category=category).count() + Subscription.objects.filter(category=category).count()
    if used:
        raise Conflict(
            f"{used} collections and subscriptions belong to the category {category.name!r}; move them first"
        )
    category.delete()


def find_category(text: str) -> Category:
    """By its code or name."""
    _begin_categories()
    text = text.strip()
    known = Category.objects.filter(pk=int(text)) if text.isdecimal() else Category.objects.filter(name__iexact=text)
    found = known.first()
    if found is None:
        raise Invalid(
            f"there is no category {text!r}; `hemeroteca watch category list` shows them, "
            "`hemeroteca watch category set CODE NAME` makes one",
            NotFound.code,
        )
    return found


def _begin_categories() -> None:
    """The list begins with `CATEGORIES`; from the first use on it is what people make of it."""
    if not Category.objects.exists():
        Category.objects.bulk_create(
            [Category(code=code, name=name) for code, name in CATEGORIES.items()], ignore_conflicts=True
        )


# collections


def set_collection(actor: Actor, name: str, changes: Mapping[str, Any]) -> Collection:
    """Make a collection or change one; what is not named stays as it is."""
    require(actor, "watch.collect")
    collection = _collection(name)
    if collection is None:
        raise Invalid("a collection's name must have 1 to 100 characters, not 0")
    for field, value in changes.items():
        checked = COLLECTION[field].check(value)
        if field == "category":
            checked = find_category(checked) if checked else None
        setattr(collection, field, checked)
    collection.save()
    changed()
    return collection


def remove_collection(actor: Actor, name: str) -> None:
    require(actor, "watch.collect")
    collection = find_collection(name)
    count = Subscription.objects.filter(collection=collection).count()
    if count:
        raise Conflict(
            f"the collection {name!r} still has {count} subscriptions; remove them or move them to another one first"
        )
    collection.delete()
    changed()


def find_collection(name: str) -> Collection:
    found = Collection.objects.filter(name=name.strip()).first()
    if found is None and (number := whole_number(name.strip())) is not None:
        found = Collection.objects.filter(pk=number).first()
    if found is None:
        raise NotFound(f"there is no collection {name!r}; `hemeroteca watch collection list` shows them")
    return found


# subscriptions


def subscribe(actor: Actor, order: Order, owner: User | None = None) -> tuple[Subscription, bool]:
    """Watch a page or site. The same address with the same scope again changes nothing: (subscription, is new).

    From who may only propose, it waits until a director approves it.
    """
    require(actor, "watch.propose")
    proposed = not can(actor, "watch.subscribe")
    if proposed:
        order = replace(order, active=False)
        _check_proposal(actor, order)
    values, options, seeds = _read(order)
    for other in Subscription.objects.filter(url=values["url"]):
        if scope_of(other).kind == options.scope.kind:
            return other, False
    with transaction.atomic():
        crawl = frontier.keep_crawl(None, seeds, options, running=order.active)
        subscription = Subscription.objects.create(
            **values,
            owner=owner or actor.user,
            collection=_collection(order.collection),
            category=find_category(order.category) if order.category else None,
            crawl=crawl,
            created_ms=now_ms(),
            proposed_ms=now_ms() if proposed else 0,
        )
        changed()
    audit.note(actor, "proposed" if proposed else "subscribed", subscription.url, str(subscription.pk))
    return subscription, True


def approve(actor: Actor, number: int, version: str) -> Subscription:
    """A proposed site is watched from now on; one that was refused, after all. `version`: what was looked at, as
    `version_of` names it; whoever proposed the site may have changed it meanwhile."""
    with transaction.atomic():
        Subscription.objects.select_for_update().filter(pk=number).first()  # nobody changes it until it is decided
        subscription = _undecided(actor, number)
        if version != version_of(subscription):
            raise Conflict(f"{subscription.name!r} was changed after you looked at it; look again, then decide")
        Subscription.objects.filter(pk=number).update(proposed_ms=0, refusal="")
        approved = edit(SYSTEM, subscription.pk, {"active": True})
    audit.note(actor, "approved", subscription.url, str(number))
    return approved


def version_of(subscription: Subscription) -> str:
    """A short name of all that was ordered: it is another one as soon as anything of it changes."""
    written = msgspec.json.encode(asdict(order_of(subscription)), order="deterministic")
    return hashlib.blake2b(written, digest_size=8).hexdigest()


def refuse(actor: Actor, number: int, reason: str) -> Subscription:
    """A proposed site is not watched; its owner reads why, and may change it or take it back."""
    subscription = _undecided(actor, number)
    reason = plain(reason).strip()[:1000]
    if not reason:
        raise Invalid("say why it is refused; whoever proposed it will read it")
    subscription.proposed_ms, subscription.refusal = 0, reason
    subscription.save(update_fields=["proposed_ms", "refusal"])
    audit.note(actor, "refused", subscription.url, reason)
    return subscription


def edit(actor: Actor, number: int, changes: Mapping[str, Any]) -> Subscription:
    """Change what `Order` has; everything else stays. The address stays too: another one is another subscription."""
    subscription = find(number, actor, "watch.change")
    editable = sorted(name for name, field in SUBSCRIPTION.items() if not field.fixed)
    for name in changes:
        if name not in editable:
            raise Invalid(
                f"`{name}` cannot be changed; these can: {', '.join(editable)}"
                + ("; subscribe to the other address instead" if name == "url" else "")
            )
    order = order_of(subscription)
    waits = bool(subscription.proposed_ms or subscription.refusal)
    if not waits and not can(actor, "watch.subscribe"):
        _check_directed(order, changes)
    for name, value in changes.items():
        setattr(order, name, value)
    if waits:  # what was refused is proposed anew
        order.active = False
        subscription.proposed_ms, subscription.refusal = now_ms(), ""
        if order.collection:
            find_collection(order.collection)
    values, options, seeds = _read(order)
    with transaction.atomic():
        if options.scope != scope_of(subscription) or "scope" in changes:
            subscription.learned_ms = 0
        subscription.collection = _collection(order.collection)
        subscription.category = find_category(order.category) if order.category else None
        for name, value in values.items():
            setattr(subscription, name, value)
        subscription.save()
        frontier.keep_crawl(subscription.crawl_id, seeds, options, running=order.active)
        if not order.active:
            _leave_pages(subscription)
        changed()
    if actor is not SYSTEM:
        audit.note(actor, "subscription changed", subscription.url, ", ".join(sorted(changes)))
    return subscription


def pause(actor: Actor, number: int) -> Subscription:
    """No more visits, until `resume`; nothing that is known is lost."""
    subscription = find(number, actor, "watch.change")
    with transaction.atomic():
        subscription.active = False
        subscription.save(update_fields=["active"])
        _leave_pages(subscription)
        _stop(subscription)
        changed()
    return subscription


def resume(actor: Actor, number: int) -> Subscription:
    if find(number, actor, "watch.change").proposed_ms:
        raise Conflict(f"subscription {number} waits for a director's approval; it begins when it has it")
    return edit(actor, number, {"active": True})


def remove(actor: Actor, number: int) -> None:
    """Stop watching. Captures, observations and changes stay."""
    subscription = find(number, actor, "watch.end")
    with transaction.atomic():
        _stop(subscription)
        _end_at_hubs(SignalSource.objects.filter(subscription=subscription))
        Observation.objects.filter(subscription=subscription).update(subscription=None)
        _leave_pages(subscription)
        subscription.delete()
        changed()
    audit.note(actor, "subscription ended", subscription.url)


def check_now(actor: Actor, number: int) -> Subscription:
    """Have its pages visited at once, whatever was planned: all of them, or the ones that waited longest."""
    subscription = find(number, actor, "watch.change")
    if not subscription.active:
        waits = "waits for approval" if subscription.proposed_ms else "is paused; resume it first"
        raise Conflict(f"{subscription.name!r} {waits}")
    subscription.check_ms = now_ms()
    subscription.save(update_fields=["check_ms"])
    changed()
    return subscription


def find_watched(text: str, actor: Actor = SYSTEM, action: str = "watch.subscriptions") -> Subscription:
    """A subscription by its number or address; of an address that is a page of several, the one that has it visited."""
    number = whole_number(text.strip())
    if number is not None:
        return find(number, actor, action)
    url = urls.typed(text)
    found = Subscription.objects.filter(url=url).order_by("-active", "pk").values_list("pk", flat=True).first()
    if found is None:
        pages = WatchedPage.objects.filter(key=urls.key(url))
        found = pages.values_list("subscription", flat=True).first()
    if found is None:
        raise NotFound(
            f"{url} is not watched; `hemeroteca watch add {url}` begins, `hemeroteca watch list` shows what is"
        )
    return find(found, actor, action)


def mark_read(actor: Actor, number: int) -> None:
    """Whoever asks has read all changes of a subscription seen so far."""
    subscription = find(number, actor)
    last = Change.objects.filter(subscription=subscription).aggregate(last=Max("pk"))["last"]
    if actor.user is not None and last:
        ReadMark.objects.update_or_create(user=actor.user, subscription=subscription, defaults={"change": last})


def find(number: int, actor: Actor = SYSTEM, action: str = "watch.subscriptions") -> Subscription:
    """A subscription with which somebody may do something."""
    rows = Subscription.objects.select_related("collection__category", "category", "owner", "crawl")
    found = rows.filter(pk=number).first()
    if found is None:
        raise NotFound(f"there is no subscription {number}; `hemeroteca watch list` shows them")
    require(actor, action, found)
    return found


def order_of(subscription: Subscription) -> Order:
    """The order that would make this subscription."""
    scope = scope_of(subscription)
    comparison = msgspec.convert(subscription.comparison, ComparisonRules)
    windows = msgspec.convert(subscription.windows, list[time_windows.Window])
    return Order(
        url=subscription.url,
        scope=scope.kind,
        include=scope.include,
        exclude=scope.exclude,
        depth=scope.depth,
        collection=subscription.collection.name if subscription.collection else "",
        category=subscription.category.name if subscription.category else "",
        notify=tuple(subscription.notify),
        mode=f"fixed {subscription.fixed_hours:g}" if subscription.mode == "fixed" else subscription.mode,
        windows=[str(window) for window in windows],
        **msgspec.structs.asdict(comparison),
        **{name: getattr(subscription, name) for name in OWN_COLUMNS},
    )


def scope_of(subscription: Subscription) -> urls.Scope:
    return msgspec.convert(subscription.scope, urls.Scope)


# channels: what is told through them, and when, is the affair of `notices`


def add_channel(actor: Actor, order: ChannelOrder) -> tuple[Channel, str]:
    """A channel, and the key its webhook messages are signed with (shown once)."""
    require(actor, "watch.channel")
    from hemeroteca.watch.notices import check_apprise

    values = {name: field.check(getattr(order, name)) for name, field in CHANNEL.items()}
    target = values["target"]
    kind = values["kind"] = values["kind"] or ("webhook" if re.match(r"https?://", target, re.I) else "apprise")
    if not target:
        raise Invalid("the target is empty; give an Apprise URL or an https address")
    if kind == "webhook":
        try:
            urls.canonical(target)
        except urls.UrlError as error:
            raise Invalid(f"{target!r} is not an address a webhook can have ({error})")
    elif problem := check_apprise(target):
        raise Invalid(problem)
    values["name"] = values["name"] or f"{kind} of {_place(target)}"
    try:
        values["subscription"] = find(order.subscription) if order.subscription is not None else None
        values["collection"] = find_collection(order.collection) if order.collection else None
    except NotFound as error:
        raise Invalid(str(error))
    secret = secrets.token_urlsafe(32) if kind == "webhook" else ""
    return Channel.objects.create(**values, owner=actor.user, secret=secret, created_ms=now_ms()), secret


def set_channel_active(actor: Actor, number: int, active: bool) -> Channel:
    channel = find_channel(number, actor)
    channel.active = active
    channel.failures = 0
    channel.save(update_fields=["active", "failures"])
    return channel


def remove_channel(actor: Actor, number: int) -> None:
    find_channel(number, actor).delete()


def find_channel(number: int, actor: Actor = SYSTEM) -> Channel:
    """A channel that somebody may change."""
    found = Channel.objects.select_related("subscription", "collection", "owner").filter(pk=number).first()
    if found is None:
        raise NotFound(f"there is no channel {number}; `hemeroteca watch channel list` shows them")
    require(actor, "watch.channel", found)
    return found


# sources of signals


def add_webhook(actor: Actor, number: int) -> tuple[SignalSource, str]:
    """An address (by its secret, shown once) where a site can tell that pages of a subscription changed."""
    subscription = find(number, actor, "watch.source")
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


def remove_source(actor: Actor, number: int) -> None:
    """Listen no longer; a hub is told so by the chores."""
    source = SignalSource.objects.select_related("subscription__owner").filter(pk=number).first()
    if source is None:
        raise NotFound(f"there is no source {number}; `hemeroteca watch sources` shows them")
    require(actor, "watch.source", source.subscription)
    sources = SignalSource.objects.filter(pk=number)
    _end_at_hubs(sources)
    sources.exclude(state=SignalSource.State.ENDING).delete()
    changed()


# shared


def forget_captures(records: Iterable[UUID]) -> None:
    """What was told of captures that are erased says nothing of them any more: no title, no words."""
    names = list(records)
    for start in range(0, len(names), 400):
        part = names[start : start + 400]
        Change.objects.filter(record_id__in=part).update(title="", diff="")
        Notice.objects.filter(event__in=[f"change:{name}" for name in part]).delete()


def changed() -> None:
    """Tell the engine to read the subscriptions again."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO watch_revision (id, number) VALUES (1, 1) "
            "ON CONFLICT (id) DO UPDATE SET number = watch_revision.number + 1"
        )
    transaction.on_commit(wake)


def wake() -> None:
    """Tell those who do the work: the engine, and the chores, which may have ended because nothing was watched."""
    settings.INSTANCE.wake("engine")
    settings.INSTANCE.wake("watch")


# helpers


def _check_proposal(actor: Actor, order: Order) -> None:
    """Proposals are bounded, and make no collections."""
    if order.collection:
        find_collection(order.collection)
    mine = Subscription.objects.filter(Q(proposed_ms__gt=0) | ~Q(refusal=""), owner=actor.user).count()
    if mine >= MAX_PROPOSALS:
        raise Conflict(f"{mine} sites you proposed are not approved; wait for a decision, or take some back")


def _check_directed(order: Order, changes: Mapping[str, Any]) -> None:
    def plain_list(value: Any) -> Any:
        return list(value) if isinstance(value, list | tuple) else value

    wanted = sorted(
        name for name in DIRECTED & changes.keys() if plain_list(changes[name]) != plain_list(getattr(order, name))
    )
    if wanted:
        raise Denied(f"only a director changes {', '.join(wanted)} of a site that is watched; ask one", "role-needed")


def _undecided(actor: Actor, number: int) -> Subscription:
    require(actor, "watch.approve")
    subscription = find(number)
    if not (subscription.proposed_ms or subscription.refusal):
        raise Conflict(f"subscription {number} is no proposal; pause or end it instead")
    return subscription


def _read(order: Order) -> tuple[dict[str, Any], CrawlOptions, list[str]]:
    """Columns of the subscription, options and seeds of its crawl; raises Invalid for what cannot be done."""
    given = {name: field.check(getattr(order, name)) for name, field in SUBSCRIPTION.items()}
    url = urls.typed(given["url"])
    scope = urls.Scope(
        kind=given["scope"] or ("host" if urls.origin(url) + "/" == url else "page"),
        seeds=(url,),
        include=given["include"],
        exclude=given["exclude"],
        depth=given["depth"],
    )
    comparison = ComparisonRules(**{name: given[name] for name in ComparisonRules.__struct_fields__})
    mode, fixed_hours = _mode(given["mode"])
    if mode != "auto" and getattr(policy_of(mode), "budgeted", False) and not given["visits_per_day"]:
        raise Invalid(f"the policy {mode} shares out a budget; give visits_per_day too")
    if 0 < given["max_hours"] < given["min_hours"]:
        raise Invalid(
            f"max_hours ({given['max_hours']:g}) is less than min_hours ({given['min_hours']:g}); exchange them"
        )
    given["country"] = given["country"].upper()
    try:
        urls.ScopeMatcher(scope)
        check_rules(change.ChangeRules(**msgspec.structs.asdict(comparison)))
        windows = time_windows.read_all(given["windows"])
        if given["country"]:
            calendar_of(given["country"])
    except (urls.UrlError, change.RulesError, time_windows.WindowError, ValueError) as error:
        raise Invalid(str(error))
    values = {name: given[name] for name in OWN_COLUMNS} | {
        "url": url,
        "name": given["name"] or url[:200],
        "scope": msgspec.to_builtins(scope),
        "comparison": msgspec.to_builtins(comparison),
        "mode": mode,
        "fixed_hours": fixed_hours,
        "windows": msgspec.to_builtins(windows),
        "notify": [str(notice_conditions.read(text)) for text in given["notify"]],
    }
    return values, CrawlOptions(scope=scope, requisites=given["requisites"], watch=comparison), [url]


def _mode(text: str) -> tuple[str, float]:
    name, _, hours = text.lower().partition(" ")
    try:
        policy_of(name)
    except ValueError:
        raise Invalid(
            f"there is no policy {name!r}; choose one of {', '.join(sorted(MODES))}, or join rules, as simple+notify"
        )
    if not hours:
        return name, 24.0
    if name != "fixed":
        raise Invalid(f"only `fixed` takes hours, as in `fixed 12`; {name} finds its intervals by itself")
    try:
        value = float(hours.removesuffix("h"))
    except ValueError:
        raise Invalid(f"{hours!r} are no hours; write it like `fixed 12`")
    if not MIN_FIXED_HOURS <= value <= MAX_HOURS:
        raise Invalid(f"fixed hours must be a number between {MIN_FIXED_HOURS:g} and {MAX_HOURS:g}, not {value:g}")
    return name, value


def _collection(name: str) -> Collection | None:
    """The collection of that name, made when it is new."""
    name = SUBSCRIPTION["collection"].check(name)
    return Collection.objects.get_or_create(name=name, defaults={"created_ms": now_ms()})[0] if name else None


def _stop(subscription: Subscription) -> None:
    """Its standing crawl rests. Nothing is checked: what cannot be worked with any more can still be ended."""
    frontier.ask_to_stop([subscription.crawl_id])


def _leave_pages(subscription: Subscription) -> None:
    """Pages that others want too are theirs from now on; a page is visited for one subscription only."""
    domain = _domain(subscription.url)
    others = Subscription.objects.filter(active=True).exclude(pk=subscription.pk).select_related("crawl").order_by("pk")
    heirs = [
        (other.pk, urls.ScopeMatcher(msgspec.convert(other.crawl.options["scope"], urls.Scope)))
        for other in others
        if _domain(other.url) == domain
    ]
    if not heirs:
        return
    left: dict[int, list[int]] = {}
    for key, url in WatchedPage.objects.filter(subscription=subscription).values_list("key", "url"):
        heir = next((number for number, matcher in heirs if matcher.refusal(url, 0) is None), None)
        if heir is not None:
            left.setdefault(heir, []).append(key)
    for heir, keys in left.items():
        for start in range(0, len(keys), 500):
            WatchedPage.objects.filter(key__in=keys[start : start + 500]).update(subscription=heir)


def _domain(url: str) -> str:
    return urls.registrable_domain(urls.host(url)) or urls.host(url)


def _end_at_hubs(sources: QuerySet[SignalSource]) -> None:
    """Those that a hub may be sending to outlive their subscription until the hub was told."""
    asked = sources.filter(kind=SignalSource.Kind.WEBSUB).exclude(token="")
    asked.update(subscription=None, state=SignalSource.State.ENDING, due_ms=0, attempts=0, note="")


def _place(target: str) -> str:
    """Where a target leads, without the passwords in it."""
    scheme, _, rest = target.partition("://")
    return rest.partition("/")[0].rpartition("@")[2][:60] if scheme in ("http", "https") else f"{scheme}://…"

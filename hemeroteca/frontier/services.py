"""Orders from people: submit, stop and resume crawls, settings of a site. The only writer of these tables besides
`store`, which is the engine's."""

import hashlib
import time
from collections.abc import Collection, Iterable
from typing import Any

import msgspec
from django.conf import settings
from django.db import transaction

from hemeroteca import urls
from hemeroteca.accounts import Actor, require
from hemeroteca.errors import Conflict, Invalid, NotFound
from hemeroteca.extract import elements
from hemeroteca.frontier import prioritisers, thesauri
from hemeroteca.frontier.models import Crawl, FocusLink, Host, Visit
from hemeroteca.frontier.values import Counts, SiteSettings
from hemeroteca.frontier.visit import State
from hemeroteca.ingest.rules import CrawlOptions

RENDER = ("auto", "always", "never")
ELEMENTS = ("include", "exclude")  # settings that are lists of rules
# settings that could make us impolite, or call where nobody should
GUARDED = frozenset(("delay", "ignore_robots", "allow_private", "insecure", "proxy", "username", "password"))
RANGES = {  # a number beyond them is a slip of the hand, and the largest cannot be kept at all
    "depth": (0, 10_000),
    "limit": (1, 1 << 53),
    "max_bytes": (1, 1 << 53),
    "max_seconds": (0.001, 1e9),
    "delay": (0, 3600),
    "concurrency": (1, 1000),
    "visits_per_day": (0, 1_000_000_000),
    "bytes_per_day": (0, 1 << 50),
}


def submit_crawl(actor: Actor, seeds: Iterable[str], options: CrawlOptions) -> tuple[Crawl, bool]:
    """Order a crawl; the same order as one that has not finished goes on where that one stopped, and the same order as
    one that has finished visits its pages again.

    Returns the crawl and whether it is a continuation. `options.scope.seeds` is filled in from `seeds`.
    """
    require(actor, "crawl.submit")
    hurried = options.delay is not None and options.delay < settings.CONFIG.delay
    if options.ignore_robots or options.insecure or hurried:
        require(actor, "crawl.insist")
    canonical = _seeds(seeds)
    options = msgspec.structs.replace(options, scope=msgspec.structs.replace(options.scope, seeds=tuple(canonical)))
    _check(options)
    fingerprint = _fingerprint(options)
    unfinished = (
        Crawl.objects.filter(fingerprint=fingerprint).exclude(state=Crawl.State.FINISHED).order_by("-pk").first()
    )
    if unfinished is not None:
        known = options_of(unfinished)
        seeds_now = tuple(dict.fromkeys((*options.scope.seeds, *known.scope.seeds)))  # with where its seeds led
        options = msgspec.structs.replace(
            options, scope=msgspec.structs.replace(options.scope, seeds=seeds_now), again=known.again
        )
        unfinished.options = msgspec.to_builtins(options)
        unfinished.state = Crawl.State.RUNNING
        unfinished.stop_requested = False
        unfinished.stop_reason = ""
        unfinished.save()
        return unfinished, True
    finished = Crawl.objects.filter(fingerprint=fingerprint).order_by("-pk").first()
    if finished is not None:
        scope = options_of(finished).scope  # with where its seeds led
        options = msgspec.structs.replace(options, scope=scope, again=True)
    with transaction.atomic():
        crawl = Crawl.objects.create(
            fingerprint=fingerprint, seeds=canonical, options=msgspec.to_builtins(options), created_ms=_now_ms()
        )
        if finished is not None:
            Visit.objects.filter(crawl=finished).update(
                crawl=crawl, state=State.QUEUED, due_ms=0, attempts=0, reason=""
            )
            FocusLink.objects.filter(crawl=finished).update(crawl=crawl, number=0)
    return crawl, False


def keep_crawl(crawl_id: int | None, seeds: Iterable[str], options: CrawlOptions, running: bool) -> Crawl:
    """Make or change the standing crawl of a subscription; the engine takes part in it while it is running."""
    canonical = _seeds(seeds)
    options = msgspec.structs.replace(options, scope=msgspec.structs.replace(options.scope, seeds=tuple(canonical)))
    _check(options)
    options = msgspec.structs.replace(options, order="freshness")
    values = {"seeds": canonical, "options": msgspec.to_builtins(options)}
    crawl = Crawl.objects.filter(pk=crawl_id).first() if crawl_id is not None else None
    if crawl is None:
        state = Crawl.State.RUNNING if running else Crawl.State.STOPPED
        return Crawl.objects.create(fingerprint="standing", state=state, created_ms=_now_ms(), **values)
    if running:
        values |= {"state": Crawl.State.RUNNING, "stop_requested": False, "stop_reason": ""}
    elif crawl.state == Crawl.State.RUNNING:
        values["stop_requested"] = True
    Crawl.objects.filter(pk=crawl.pk).update(**values)
    crawl.refresh_from_db()
    return crawl


def stop_crawl(actor: Actor, crawl_id: int) -> Crawl:
    """Ask the engine to stop a crawl; it can be resumed."""
    require(actor, "crawl.stop")
    crawl = _get(crawl_id)
    if crawl.state != Crawl.State.RUNNING:
        raise Conflict(f"crawl {crawl_id} is {crawl.state}; only a running crawl can be stopped")
    Crawl.objects.filter(pk=crawl_id).update(stop_requested=True)
    crawl.refresh_from_db()
    return crawl


def resume_crawl(actor: Actor, crawl_id: int) -> Crawl:
    """Let a stopped crawl go on where it stopped."""
    require(actor, "crawl.resume")
    crawl = _get(crawl_id)
    if crawl.state == Crawl.State.FINISHED:
        raise Conflict(f"crawl {crawl_id} has finished; submit it again to visit its pages once more")
    Crawl.objects.filter(pk=crawl_id).update(state=Crawl.State.RUNNING, stop_requested=False, stop_reason="")
    crawl.refresh_from_db()
    return crawl


def set_site(actor: Actor, host: str, changes: dict[str, Any]) -> SiteSettings:
    """Change settings of one host; a value of None returns to the default."""
    from hemeroteca import change  # only here: the engine never needs its parsers

    require(actor, "site.change")
    if GUARDED.intersection(changes):
        require(actor, "site.insist")

    name = host.strip().lower().rstrip(".")
    known = {field.name for field in msgspec.structs.fields(SiteSettings)}
    for key in changes:
        if key not in known:
            raise Invalid(f"`{key}` is not a setting of a site; these are: {', '.join(sorted(known))}")
    if changes.get("render") not in (None, *RENDER):
        raise Invalid(f"render={changes['render']} is not known; write one of: {', '.join(RENDER)}")
    try:
        name = urls.host(urls.canonical(f"http://{name}/"))
        changes = {**changes, **{key: _rules(changes[key]) for key in ELEMENTS if changes.get(key) is not None}}
    except urls.UrlError as error:
        raise Invalid(f"{host!r} is not a host name ({error}); write it like example.org")
    except elements.RuleError as error:
        raise Invalid(str(error))
    row, _ = Host.objects.get_or_create(name=name)
    merged = {**row.settings, **changes}
    merged = {key: value for key, value in merged.items() if value is not None}
    try:
        kept = msgspec.convert(merged, SiteSettings, strict=False)
    except msgspec.ValidationError as error:
        raise Invalid(f"settings of {name}: {error}")
    _in_range(kept)
    try:
        change.check(change.ChangeRules(**msgspec.structs.asdict(kept.comparison())))
    except change.RulesError as error:
        raise Invalid(f"settings of {name}: {error}")
    row.settings = msgspec.to_builtins(kept)
    with transaction.atomic():
        row.revision = settings_revision() + 1
        row.save(update_fields=["settings", "revision"])
    return kept


def settings_revision() -> int:
    """Grows whenever a person sets a site."""
    found = Host.objects.filter(revision__gt=0).order_by("-revision").values_list("revision", flat=True).first()
    return found or 0


def sites_set_since(revision: int) -> list[tuple[int, str, SiteSettings, int]]:
    """Hosts set after a revision, in order: number, name, settings, revision. Reads one small index."""
    rows = Host.objects.filter(revision__gt=revision).order_by("revision")
    return [
        (number, name, msgspec.convert(kept, SiteSettings), set_in)
        for number, name, kept, set_in in rows.values_list("pk", "name", "settings", "revision")
    ]


def settings_of(host: str) -> SiteSettings:
    """The settings of one host as they are now; the usual ones for a host nobody knows."""
    kept = Host.objects.filter(name=host).values_list("settings", flat=True).first()
    return msgspec.convert(kept or {}, SiteSettings)


def site(actor: Actor, host: str) -> SiteSettings:
    """The settings of one host."""
    require(actor, "site.read")
    row = Host.objects.filter(name=host.strip().lower().rstrip(".")).first()
    if row is None:
        raise NotFound(f"the host {host!r} is not known; it becomes known by a crawl or by `hemeroteca site set`")
    return msgspec.convert(row.settings, SiteSettings)


def counts_of(crawl: Crawl) -> Counts:
    return msgspec.convert(crawl.counts, Counts)


# for the engine


def running_crawls(only: int | None, known: Collection[int] = ()) -> list[Crawl]:
    """Those not known yet; thousands of known ones (subscriptions) cost a look at an index."""
    crawls = Crawl.objects.filter(state=Crawl.State.RUNNING).order_by("pk")
    if only is not None:
        return list(crawls.filter(pk=only))
    new = [pk for pk in crawls.values_list("pk", flat=True) if pk not in known]
    return list(crawls.filter(pk__in=new)) if new else []


def crawls_to_stop(ids: Iterable[int]) -> set[int]:
    wanted = list(ids)
    if not wanted:
        return set()
    return set(Crawl.objects.filter(stop_requested=True).values_list("pk", flat=True)).intersection(wanted)


def options_of(crawl: Crawl) -> CrawlOptions:
    return msgspec.convert(crawl.options, CrawlOptions)


def current_options(crawl_id: int) -> CrawlOptions:
    return options_of(_get(crawl_id))


def save_options(crawl_id: int, options: CrawlOptions) -> None:
    Crawl.objects.filter(pk=crawl_id).update(options=msgspec.to_builtins(options))


def save_counts(crawl_id: int, counts: Counts) -> None:
    Crawl.objects.filter(pk=crawl_id).update(counts=msgspec.to_builtins(counts))


def mark_started(crawl_id: int) -> None:
    Crawl.objects.filter(pk=crawl_id).update(started_ms=_now_ms(), ended_ms=0)


def mark_ended(crawl_id: int, state: Crawl.State, reason: str, counts: Counts) -> None:
    Crawl.objects.filter(pk=crawl_id).update(
        state=state,
        stop_reason=reason,
        ended_ms=_now_ms(),
        stop_requested=False,
        counts=msgspec.to_builtins(counts),
    )


def mark_interrupted(crawl_id: int) -> None:
    Crawl.objects.filter(pk=crawl_id).update(state=Crawl.State.STOPPED, stop_reason="interrupted", ended_ms=_now_ms())


# helpers


def _get(crawl_id: int) -> Crawl:
    crawl = Crawl.objects.filter(pk=crawl_id).first()
    if crawl is None:
        raise NotFound(f"there is no crawl {crawl_id}; `hemeroteca status` lists them")
    return crawl


def _rules(given: str | Iterable[str]) -> list[str]:
    """Rules for elements, as a list or as one text with `;` between them."""
    rules = [rule.strip() for rule in (given.split(";") if isinstance(given, str) else given) if rule.strip()]
    elements.parse(rules)
    return rules


def _check(options: CrawlOptions) -> None:
    urls.ScopeMatcher(options.scope)  # refuses expressions that cannot be used
    prioritisers.prioritiser(options.order, options.focus)  # refuses names that nobody knows
    if options.focus is not None:
        thesauri.check(options.focus)
    _in_range(options.scope)
    _in_range(options)


def _in_range(given: msgspec.Struct) -> None:
    for name, value in msgspec.structs.asdict(given).items():
        if name not in RANGES or value is None:
            continue
        least, most = RANGES[name]
        if not least <= value <= most:  # false for what is not a number too
            raise Invalid(f"{name} {value} is out of range; write a number from {least:,} to {most:,.0f}")


def _seeds(seeds: Iterable[str]) -> list[str]:
    canonical: dict[str, None] = {}
    for seed in seeds:
        text = seed.strip()
        if not text:
            continue
        if "://" not in text and not text.lower().startswith(("http:", "https:")):
            text = "https://" + text
        try:
            canonical[urls.canonical(text)] = None
        except urls.UrlError as error:
            raise Invalid(f"{seed.strip()!r} is not an address that can be crawled ({error})")
    if not canonical:
        raise Invalid("no address was given; name at least one, like https://example.org/")
    return list(canonical)


def _fingerprint(options: CrawlOptions) -> str:
    """Same seeds, same scope, same rules: the same crawl, however long it may run or how fast."""
    scope = msgspec.structs.replace(options.scope, seeds=tuple(sorted(options.scope.seeds)))
    order = (scope, options.ignore_robots, options.sitemaps, options.requisites, options.focus)
    return hashlib.sha256(msgspec.json.encode(order)).hexdigest()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

"""Orders: crawls submitted, stopped and resumed, settings of a site. The only writer of these tables besides the queue
and what it writes through (`statements`, `robots`, `focused_links`), which are the engine's."""

import hashlib
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import msgspec
from django.conf import settings
from django.db import connection, transaction

from hemeroteca import urls
from hemeroteca.accounts import Actor, audit, require
from hemeroteca.clock import now_ms
from hemeroteca.errors import Conflict, Invalid, NotFound, in_words
from hemeroteca.frontier import prioritisers, takedowns, thesauri
from hemeroteca.frontier.crawl_counts import Counts
from hemeroteca.frontier.models import FETCH, STANDING, Crawl, CrawlEvent, FocusLink, Host, QueuedVisit
from hemeroteca.frontier.site_settings import SECRETS, SiteSettings
from hemeroteca.frontier.visit import State
from hemeroteca.ingest.heavy_reads import check_rules
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.instance.sealed_secrets import seal
from hemeroteca.instance.status import read_engine_status
from hemeroteca.urls import UrlRole

RENDER = ("auto", "always", "never")
MAX_EXPRESSION = 1000
MAX_EVENTS = 500  # of a crawl's log
ELEMENTS = ("include", "exclude")  # settings that are lists of rules
# settings that could make us impolite, or call where nobody should
GUARDED = frozenset(("delay", "ignore_robots", "allow_private", "insecure", "proxy", "username", "password", "origins"))
# options that may differ from one run of a crawl to the next; others make it another crawl (`_fingerprint`)
CHANGEABLE = ("limit", "max_bytes", "max_seconds", "delay", "concurrency", "insecure", "probe", "order")
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
    canonical, options = checked_order(actor, seeds, options)
    with transaction.atomic():
        fingerprint = _fingerprint(options)
        _take_turn(fingerprint)
        unfinished = (
            Crawl.objects.filter(fingerprint=fingerprint).exclude(state=Crawl.State.FINISHED).order_by("-pk").first()
        )
        if unfinished is not None:
            _go_on(actor, unfinished, options)
            return unfinished, True
        return _begin(actor, canonical, options, fingerprint), False


def checked_order(actor: Actor, seeds: Iterable[str], options: CrawlOptions) -> tuple[list[str], CrawlOptions]:
    """The seeds in canonical form and the options with them, of an order that this actor may give."""
    require(actor, "crawl.submit")
    hurried = options.delay is not None and options.delay < settings.CONFIG.delay
    if options.ignore_robots or options.insecure or hurried:
        require(actor, "crawl.insist")
    canonical = _seeds(seeds)
    options = msgspec.structs.replace(options, scope=msgspec.structs.replace(options.scope, seeds=tuple(canonical)))
    _check(options)
    return canonical, options


def save_page(actor: Actor, url: str) -> Crawl:
    """Have one page captured now, with what it needs to be shown; known or not, old or not."""
    require(actor, "crawl.submit")
    takedowns.refuse(_seeds([url]))
    return submit_crawl(actor, [url], CrawlOptions(scope=urls.Scope(kind="page")))[0]


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
        return Crawl.objects.create(fingerprint=STANDING, state=state, created_ms=now_ms(), **values)
    if running:
        values |= {"state": Crawl.State.RUNNING, "stop_requested": False, "stop_reason": ""}
    elif crawl.state == Crawl.State.RUNNING:
        values["stop_requested"] = True
    if _follows(options_of(crawl)) != _follows(options):  # links that were passed over may belong to it now
        QueuedVisit.objects.filter(crawl=crawl).update(followed=False)
        values["revised"] = True
    Crawl.objects.filter(pk=crawl.pk).update(**values)
    crawl.refresh_from_db()
    return crawl


def make_crawl(fingerprint: str, seeds: list[str], options: CrawlOptions) -> Crawl:
    """A crawl whose order has been checked, by this room or by the one whose it is."""
    return Crawl.objects.create(
        fingerprint=fingerprint, seeds=seeds, options=msgspec.to_builtins(options), created_ms=now_ms()
    )


def ask_to_stop(crawls: Iterable[int]) -> None:
    """Have the engine stop those of them that run; whose they are has been checked."""
    Crawl.objects.filter(pk__in=crawls, state=Crawl.State.RUNNING).update(stop_requested=True)


def stop_crawl(actor: Actor, crawl_id: int) -> Crawl:
    """Ask the engine to stop a crawl; it can be resumed."""
    require(actor, "crawl.stop")
    crawl = _ordered(crawl_id)
    if crawl.state != Crawl.State.RUNNING:
        raise Conflict(f"crawl {crawl_id} is {crawl.state}; only a running crawl can be stopped")
    Crawl.objects.filter(pk=crawl_id).update(stop_requested=True)
    note_event(crawl_id, "stopping", actor)
    crawl.refresh_from_db()
    return crawl


def resume_crawl(actor: Actor, crawl_id: int) -> Crawl:
    """Let a stopped crawl go on where it stopped."""
    require(actor, "crawl.resume")
    crawl = _ordered(crawl_id)
    if crawl.state == Crawl.State.FINISHED:
        raise Conflict(f"crawl {crawl_id} has finished; submit it again to visit its pages once more")
    Crawl.objects.filter(pk=crawl_id).update(state=Crawl.State.RUNNING, stop_requested=False, stop_reason="")
    note_event(crawl_id, "resumed", actor)
    crawl.refresh_from_db()
    return crawl


def run_again(actor: Actor, crawl_id: int) -> Crawl:
    """The order of a crawl once more: a stopped one goes on, a finished one visits its pages again."""
    crawl = _ordered(crawl_id)
    options = msgspec.structs.replace(options_of(crawl), again=False, trusted=())
    return submit_crawl(actor, crawl.seeds, options)[0]


def exclude(actor: Actor, crawl_id: int, expression: str) -> int:
    """Leave addresses out of a crawl from now on, also while it runs: those that match a regular expression, found or
    still to be found. How many of those that waited are no longer in its queue."""
    require(actor, "crawl.exclude")
    expression = expression.strip()
    if not expression or len(expression) > MAX_EXPRESSION:
        raise Invalid(f"an expression has 1 to {MAX_EXPRESSION} characters; write it like /calendar/ or \\?print=")
    only_this = urls.ScopeMatcher(urls.Scope(kind="web", exclude=(expression,)))  # refuses what is no expression
    with transaction.atomic():
        _ordered(crawl_id)
        crawl = Crawl.objects.select_for_update().get(pk=crawl_id)
        options = options_of(crawl)
        if expression in options.scope.exclude:
            raise Conflict(f"crawl {crawl_id} leaves out {expression!r} already")
        left_out = tuple(dict.fromkeys((*options.scope.exclude, expression)))
        options = msgspec.structs.replace(options, scope=msgspec.structs.replace(options.scope, exclude=left_out))
        ordered = msgspec.structs.replace(options.scope, seeds=tuple(crawl.seeds))
        crawl.options = msgspec.to_builtins(options)
        crawl.fingerprint = _fingerprint(msgspec.structs.replace(options, scope=ordered))
        crawl.revised = True
        crawl.save(update_fields=["options", "fingerprint", "revised"])
        queued = QueuedVisit.objects.filter(crawl=crawl, state=State.QUEUED).exclude(depth=0)
        waiting = queued.values_list("pk", "page__url").iterator(chunk_size=2000)
        fitting = [number for number, url in waiting if only_this.refusal(url, 0) is not None]
        for start in range(0, len(fitting), 500):
            some = QueuedVisit.objects.filter(pk__in=fitting[start : start + 500])
            some.update(state=State.EXCLUDED, reason=f"excluded by {expression!r}")
        note_event(crawl_id, "excluded", actor, f"{expression} ({len(fitting)} addresses left the queue)")
    settings.INSTANCE.wake("engine")
    return len(fitting)


def take_held(actor: Actor, crawl_id: int, host: str = "", reason: str = "", limit: int | None = None) -> int:
    """Visit after all what a crawl held back (of one host, for one reason), and hold nothing back there for that
    reason again; how many addresses that are."""
    require(actor, "crawl.take")
    with transaction.atomic():
        crawl = Crawl.objects.select_for_update().filter(pk=crawl_id).first() or _get(crawl_id)
        held = QueuedVisit.objects.filter(crawl=crawl, state=State.HELD)
        if host:
            held = held.filter(host__name=host.lower())
        if reason:
            held = held.filter(reason=reason)
        kinds = sorted(set(held.values_list("host__name", "reason")))
        if not kinds:
            raise Conflict(f"crawl {crawl_id} holds nothing like that back; `hemeroteca held list` shows what it does")
        options = options_of(crawl)
        trusted = dict.fromkeys((*options.trusted, *(" ".join(kind) for kind in kinds)))
        again = {"state": State.QUEUED, "score": -1.0, "due_ms": 0, "attempts": 0, "reason": ""}
        taken = held.filter(role=UrlRole.REQUISITE).update(**again)
        taken += held.update(**again, depth=1)  # as if it stood on a first page: the way there was long enough
        crawl.options = msgspec.to_builtins(msgspec.structs.replace(options, trusted=tuple(trusted), limit=limit))
        crawl.revised = True
        if options.watch is None:
            crawl.state, crawl.stop_requested, crawl.stop_reason = Crawl.State.RUNNING, False, ""
        crawl.save()
        of = f": {host} {reason}".rstrip() if host or reason else ""
        note_event(crawl_id, "taken", actor, f"{taken} addresses that were held back{of}")
    return taken


def set_site(actor: Actor, host: str, changes: dict[str, Any]) -> SiteSettings:
    """Change settings of one host; a value of None returns to the default."""
    from hemeroteca import change  # only here: the engine never needs its parsers
    from hemeroteca.extract import elements

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
    changes = {
        **changes,
        **{key: _origins(name, value) for key, value in changes.items() if key == "origins" and value},
    }
    merged = {**msgspec.to_builtins(SiteSettings.read(row.settings)), **changes}
    merged = {key: value for key, value in merged.items() if value is not None}
    try:
        kept = msgspec.convert(merged, SiteSettings, strict=False)
    except msgspec.ValidationError as error:
        raise Invalid(f"settings of {name}: {_unreadable(changes) or in_words(error)}")
    _in_range(kept)
    try:
        check_rules(change.ChangeRules(**msgspec.structs.asdict(kept.comparison())))
    except change.RulesError as error:
        raise Invalid(f"settings of {name}: {error}")
    row.settings = msgspec.to_builtins(kept) | {key: seal(value) for key in SECRETS if (value := getattr(kept, key))}
    with transaction.atomic():
        row.revision = settings_revision() + 1
        row.save(update_fields=["settings", "revision"])
    audit.note(actor, "site changed", name, ", ".join(sorted(changes)))
    return kept


def _unreadable(changes: dict[str, Any]) -> str:
    """Which of the values given for a site cannot be one, and what can."""
    forms = {bool: "true or false", int: "a whole number, like 5000000", float | None: "a number, like 12.5"}
    for field in msgspec.structs.fields(SiteSettings):
        value = changes.get(field.name)
        try:
            msgspec.convert(value, field.type, strict=False)
        except msgspec.ValidationError:
            if value is not None and field.type in forms:
                return f"{field.name} is {str(value)[:40]!r}; write {forms[field.type]}"
    return ""


def _origins(host: str, given: str | list[str]) -> list[str]:
    """`https://example.org:8443, http://example.org` as a list."""
    found = given.split(",") if isinstance(given, str) else given
    try:
        origins = [urls.origin(urls.canonical(text.strip())) for text in found if text.strip()]
        if any(urls.host(origin) != host for origin in origins):
            raise Invalid(
                f"origins of {host} begin with https://{host} or http://{host}; set others for their own hosts"
            )
    except urls.UrlError as error:
        raise Invalid(f"origins={given}: {error}; write them like https://{host}:8443")
    return origins


def settings_revision() -> int:
    """Grows whenever a person sets a site."""
    found = Host.objects.filter(revision__gt=0).order_by("-revision").values_list("revision", flat=True).first()
    return found or 0


def sites_set_since(revision: int) -> list[tuple[int, str, SiteSettings, int]]:
    """Hosts set after a revision, in order: number, name, settings, revision. Reads one small index."""
    rows = Host.objects.filter(revision__gt=revision).order_by("revision")
    return [
        (number, name, SiteSettings.read(kept), set_in)
        for number, name, kept, set_in in rows.values_list("pk", "name", "settings", "revision")
    ]


def settings_of(host: str) -> SiteSettings:
    """The settings of one host as they are now; the usual ones for a host nobody knows."""
    kept = Host.objects.filter(name=host).values_list("settings", flat=True).first()
    return SiteSettings.read(kept)


def site(actor: Actor, host: str) -> SiteSettings:
    """The settings of one host."""
    require(actor, "site.read")
    row = Host.objects.filter(name=host.strip().lower().rstrip(".")).first()
    if row is None:
        raise NotFound(f"the host {host!r} is not known; it becomes known by a crawl or by `hemeroteca site set`")
    return SiteSettings.read(row.settings)


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


class AskedOfCrawls(NamedTuple):
    """Crawls of which people asked something since the last look."""

    stop: set[int]
    revised: set[int]  # options or queue were changed: who asks reads them anew


def asked_of_crawls(ids: Collection[int]) -> AskedOfCrawls:
    """What people asked of these crawls; one question, for it is put four times a second."""
    if not ids:
        return AskedOfCrawls(set(), set())
    with connection.cursor() as cursor:  # an ORM query would cost ten times as much
        cursor.execute("SELECT id, stop_requested, revised FROM crawl WHERE stop_requested OR revised")
        found = [row for row in cursor.fetchall() if row[0] in ids]
    revised = {pk for pk, _, was in found if was}
    if revised:
        Crawl.objects.filter(pk__in=revised).update(revised=False)
    return AskedOfCrawls({pk for pk, stop, _ in found if stop}, revised)


def options_of(crawl: Crawl) -> CrawlOptions:
    return msgspec.convert(crawl.options, CrawlOptions)


def current_options(crawl_id: int) -> CrawlOptions:
    return options_of(_get(crawl_id))


def save_options(crawl_id: int, options: CrawlOptions) -> None:
    Crawl.objects.filter(pk=crawl_id).update(options=msgspec.to_builtins(options))


def save_counts(crawl_id: int, counts: Counts) -> None:
    Crawl.objects.filter(pk=crawl_id).update(counts=msgspec.to_builtins(counts))


def mark_started(crawl_id: int) -> None:
    Crawl.objects.filter(pk=crawl_id).update(started_ms=now_ms(), ended_ms=0, revised=False)
    note_event(crawl_id, "began")


def mark_ended(crawl_id: int, state: Crawl.State, reason: str, counts: Counts) -> None:
    Crawl.objects.filter(pk=crawl_id).update(
        state=state,
        stop_reason=reason,
        ended_ms=now_ms(),
        stop_requested=False,
        counts=msgspec.to_builtins(counts),
    )
    note_event(
        crawl_id, state.value, detail=f"{counts.pages} pages, {counts.failed} failed" + (f"; {reason}" * bool(reason))
    )


def mark_stopped(crawl_id: int, reason: str = "interrupted") -> None:
    """Its run ended without an engine that could say so; what the run came to stays as it was written last."""
    Crawl.objects.filter(pk=crawl_id).update(state=Crawl.State.STOPPED, stop_reason=reason[:500], ended_ms=now_ms())
    note_event(crawl_id, "stopped", detail=reason)


def note_event(crawl_id: int, what: str, actor: Actor | None = None, detail: str = "") -> None:
    """Write a line of a crawl's log; the oldest go when it gets long."""
    line = CrawlEvent.objects.create(
        crawl_id=crawl_id, at_ms=now_ms(), what=what, detail=detail[:2000], actor=actor.name if actor else ""
    )
    if line.pk % 50 == 0:
        kept = CrawlEvent.objects.filter(crawl_id=crawl_id).order_by("-pk").values_list("pk", flat=True)
        if oldest := list(kept[MAX_EVENTS : MAX_EVENTS + 1]):
            CrawlEvent.objects.filter(crawl_id=crawl_id, pk__lte=oldest[0]).delete()


# helpers


def _take_turn(fingerprint: str) -> None:
    """The same order given twice at once makes one crawl. SQLite lets one write at a time anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [fingerprint])


def _go_on(actor: Actor, crawl: Crawl, options: CrawlOptions) -> None:
    """Let a crawl that has not finished go on, with the options of a new order."""
    known = options_of(crawl)
    seeds_now = tuple(dict.fromkeys((*options.scope.seeds, *known.scope.seeds)))  # with where its seeds led
    options = msgspec.structs.replace(
        options,
        scope=msgspec.structs.replace(options.scope, seeds=seeds_now),
        again=known.again,
        trusted=known.trusted,
    )
    if options != known and _is_at_work(crawl):
        raise Conflict(f"crawl {crawl.pk} is this order and runs with other options; stop it before you order it anew")
    changes = _changes(known, options)
    if changes or crawl.state != Crawl.State.RUNNING or crawl.stop_requested:
        note_event(crawl.pk, "resumed", actor, changes)
    crawl.options = msgspec.to_builtins(options)
    crawl.state = Crawl.State.RUNNING
    crawl.stop_requested = False
    crawl.stop_reason = ""
    crawl.save()


def _begin(actor: Actor, seeds: list[str], options: CrawlOptions, fingerprint: str) -> Crawl:
    """A new crawl; of an order that has finished, one that visits its pages again."""
    finished = Crawl.objects.filter(fingerprint=fingerprint).order_by("-pk").first()
    if finished is not None:
        known = options_of(finished)
        options = msgspec.structs.replace(options, scope=known.scope, again=True, trusted=known.trusted)
    crawl = make_crawl(fingerprint, seeds, options)
    if finished is not None:
        QueuedVisit.objects.filter(crawl=finished, state=State.HELD).update(crawl=crawl)
        QueuedVisit.objects.filter(crawl=finished).update(
            crawl=crawl, state=State.QUEUED, due_ms=0, attempts=0, reason=""
        )
        FocusLink.objects.filter(crawl=finished).update(crawl=crawl, number=0)
    note_event(crawl.pk, "ordered", actor, f"again, after crawl {finished.pk}" if finished is not None else "")
    audit.note(actor, "crawl ordered", seeds[0], f"{crawl.pk}; seeds: {len(seeds)}")
    return crawl


def _get(crawl_id: int) -> Crawl:
    crawl = Crawl.objects.filter(pk=crawl_id).first()
    if crawl is None:
        raise NotFound(f"there is no crawl {crawl_id}; `hemeroteca status` lists them")
    return crawl


def _is_at_work(crawl: Crawl) -> bool:
    """Whether an engine has taken it up, or will at any moment."""
    live = read_engine_status(settings.INSTANCE)
    if crawl.state != Crawl.State.RUNNING or live is None:
        return False
    return crawl.pk in live.crawls or not crawl.stop_requested


def _changes(before: CrawlOptions, after: CrawlOptions) -> str:
    """Which options an order that goes on has changed: `delay 2 → 0, limit none → 9`."""
    values = [(name, getattr(before, name), getattr(after, name)) for name in CHANGEABLE]
    return ", ".join(f"{name} {_shown(old)} → {_shown(new)}" for name, old, new in values if old != new)


def _shown(value: object) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _ordered(crawl_id: int) -> Crawl:
    """A crawl that people may stop and resume."""
    crawl = _get(crawl_id)
    if crawl.fingerprint == STANDING:
        raise Conflict(
            f"crawl {crawl_id} belongs to a subscription, which would no longer be watched; `hemeroteca watch pause` "
            "and `hemeroteca watch resume` are for that"
        )
    if crawl.fingerprint.startswith(FETCH):
        raise Conflict(f"crawl {crawl_id} fetches for a client of the fleet, who alone can cancel it")
    return crawl


def _rules(given: str | Iterable[str]) -> list[str]:
    """Rules for elements, as a list or as one text with `;` between them."""
    from hemeroteca.extract import elements

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
        if seed.strip():
            canonical[urls.typed(seed)] = None
    if not canonical:
        raise Invalid("no address was given; name at least one, like https://example.org/")
    return list(canonical)


def _fingerprint(options: CrawlOptions) -> str:
    """Same seeds, same scope, same rules: the same crawl, however long it may run or how fast."""
    scope = msgspec.structs.replace(options.scope, seeds=tuple(sorted(options.scope.seeds)))
    order = (scope, options.ignore_robots, options.sitemaps, options.requisites, options.focus)
    return hashlib.sha256(msgspec.json.encode(order)).hexdigest()


def _follows(options: CrawlOptions) -> tuple[object, ...]:
    """What decides which links of its pages a crawl follows."""
    scope = msgspec.structs.replace(options.scope, seeds=())
    return scope, options.ignore_robots, options.sitemaps, options.requisites

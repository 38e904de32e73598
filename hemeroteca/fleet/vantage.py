"""Vantage checks: the same URLs seen from devices in different countries and networks, and where they differ.

A run is a crawl of exactly its URLs, so that robots.txt, politeness and kills are what they are for every crawl; the
engine looks first, then the devices one after the other (`engine.vantage_visits`). What one place saw is compared with
what most saw: status, redirect, content, certificate, time.
"""

import uuid
from collections.abc import Sequence
from statistics import median
from typing import Any, Literal

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import Q

from hemeroteca import urls as addresses
from hemeroteca.accounts import Actor, require
from hemeroteca.clock import now_ms
from hemeroteca.errors import Conflict, Invalid
from hemeroteca.fleet import agreement, protocol, refusals, services
from hemeroteca.fleet.agreement import Fingerprint
from hemeroteca.fleet.models import VantageCheck, VantageObservation, VantageRun
from hemeroteca.fleet.services import audit
from hemeroteca.frontier import services as frontier
from hemeroteca.frontier.models import FETCH, Crawl
from hemeroteca.ingest.rules import CrawlOptions

MAX_URLS = 100
MAX_ACTIVE = 20  # checks of one person that run, or will
MIN_HOURS = 1
MAX_HOURS = 24 * 31
SLOW_FACTOR = 5.0  # times the usual time …
SLOW_SECONDS = 3.0  # … and so much longer, at least: slower than others, not by chance


class VantageOrder(msgspec.Struct, kw_only=True):
    urls: list[str]
    title: str = ""
    category: str = "general"
    countries: list[str] = []
    every_hours: int = 0


class VantageDifference(msgspec.Struct, frozen=True):
    """What a place saw otherwise than most."""

    what: Literal["no answer", "status", "redirect", "content", "certificate", "slow"]
    detail: str
    country: str
    network: str
    device: str  # pseudonym; empty: the server itself
    capture: str  # the evidence in the archive; empty: there is none


class VantagePlace(msgspec.Struct, frozen=True):
    """A country, or a network, and how many of its places saw what most saw."""

    name: str
    places: int
    same: int


class VantageUrl(msgspec.Struct, frozen=True):
    url: str
    verdict: Literal["same", "differs", "restless", "unseen"]  # restless: no two places saw the same
    places: int
    status: int  # what most saw
    seconds: float  # the usual time
    differences: list[VantageDifference]
    countries: list[VantagePlace]
    networks: list[VantagePlace]


class VantageReport(msgspec.Struct, frozen=True):
    run: int
    started_ms: int
    state: Literal["running", "finished"]
    urls: list[VantageUrl]


# orders


def order(actor: Actor, wanted: VantageOrder) -> VantageCheck:
    """Have URLs compared, once or every so many hours. The first run begins at once."""
    require(actor, "fleet.vantage")
    owner = services.client_of(actor).owner
    found = _addresses(owner.name, wanted)
    if wanted.category not in protocol.CATEGORIES:
        raise Invalid(f"{wanted.category!r} is no category; write one of: {', '.join(protocol.CATEGORIES)}")
    countries = sorted({one.strip().upper() for one in wanted.countries if one.strip()})
    if any(len(one) != 2 or not one.isalpha() for one in countries):
        raise Invalid(f"countries are two letters each, like CL or DE; these are not: {', '.join(countries)[:200]}")
    if wanted.every_hours and not MIN_HOURS <= wanted.every_hours <= MAX_HOURS:
        raise Invalid(f"a check runs once (0) or every {MIN_HOURS} to {MAX_HOURS} hours, not {wanted.every_hours}")
    mine = VantageCheck.objects.filter(owner=owner, state=VantageCheck.State.ACTIVE)
    active = mine.filter(Q(next_ms__gt=0) | Q(runs__crawl__state=Crawl.State.RUNNING))
    if active.distinct().count() >= MAX_ACTIVE:
        raise Conflict(f"{MAX_ACTIVE} checks of yours run or wait for their time; end one first, or wait")
    row = VantageCheck.objects.create(
        public_id=uuid.uuid4(),
        owner=owner,
        title=wanted.title.strip()[:120] or found[0][:120],
        urls=found,
        category=wanted.category,
        countries=countries,
        every_hours=wanted.every_hours,
        next_ms=now_ms(),
        created_ms=now_ms(),
    )
    audit(
        actor.name,
        "vantage check",
        f"{wanted.category}: {found[0][:200]}" + (f" (+{len(found) - 1})" if len(found) > 1 else ""),
    )
    settings.INSTANCE.wake("engine")
    return row


def find(actor: Actor, public_id: uuid.UUID) -> VantageCheck:
    return services.find_owned(actor, VantageCheck.objects.all(), "fleet.vantages", public_id, "vantage check")


def checks(actor: Actor) -> list[VantageCheck]:
    return services.owned(actor, VantageCheck.objects.all(), "fleet.vantages")


def end(actor: Actor, check: VantageCheck) -> None:
    """No further run begins; one under way stops."""
    require(actor, "fleet.vantages", check)
    VantageCheck.objects.filter(pk=check.pk).update(state=VantageCheck.State.ENDED, next_ms=0)
    frontier.ask_to_stop(VantageRun.objects.filter(vantage=check).values_list("crawl", flat=True))
    check.state, check.next_ms = VantageCheck.State.ENDED, 0
    settings.INSTANCE.wake("engine")


# for the engine


def start_due() -> None:
    """Begin the runs whose time has come."""
    now = now_ms()
    due = VantageCheck.objects.filter(next_ms__gt=0, next_ms__lte=now, state=VantageCheck.State.ACTIVE)
    for check in list(due[:20]):
        later = now + check.every_hours * 3_600_000 if check.every_hours else 0
        with transaction.atomic():
            mine = VantageCheck.objects.filter(pk=check.pk, next_ms=check.next_ms).update(next_ms=later)
            under_way = VantageRun.objects.filter(vantage=check, crawl__state=Crawl.State.RUNNING)
            if not mine or under_way.exists():  # the one before takes longer than the pause between them
                continue
            run = VantageRun.objects.create(vantage=check, started_ms=now)
            options = CrawlOptions(
                scope=addresses.Scope(kind="page", seeds=tuple(check.urls)),
                sitemaps=False,
                requisites=False,
                vantage=run.pk,
                category=check.category,
            )
            run.crawl = frontier.make_crawl(f"{FETCH}vantage {run.pk}", check.urls, options)
            run.save(update_fields=["crawl"])


def countries(run: int) -> list[str]:
    """From which a run is to be seen; empty: from all."""
    return VantageRun.objects.filter(pk=run).values_list("vantage__countries", flat=True).first() or []


def keep(observations: Sequence[VantageObservation]) -> None:
    VantageObservation.objects.bulk_create(observations, ignore_conflicts=True)


# reports


def runs(check: VantageCheck) -> list[VantageRun]:
    return list(VantageRun.objects.filter(vantage=check).select_related("crawl").order_by("-pk")[:100])


def report(run: VantageRun) -> VantageReport:
    """Each URL: what most places saw, and who saw something else, by country and network."""
    rows: dict[int, list[VantageObservation]] = {}
    for row in VantageObservation.objects.filter(run=run).order_by("pk"):
        rows.setdefault(row.key, []).append(row)
    found = [compare(url, rows.get(addresses.key(url), [])) for url in run.vantage.urls]
    running = run.crawl is None or run.crawl.state == Crawl.State.RUNNING
    return VantageReport(run.pk, run.started_ms, "running" if running else "finished", found)


def compare(url: str, seen: Sequence[VantageObservation]) -> VantageUrl:
    """What most places saw is right; of equal groups, that of the server."""
    groups: list[list[VantageObservation]] = []
    for one in sorted(seen, key=lambda one: bool(one.pseudonym)):  # the server first
        home = next((group for group in groups if _same(group[0], one)), None)
        groups.append([one]) if home is None else home.append(one)
    if not groups:
        return VantageUrl(
            url=url, verdict="unseen", places=0, status=0, seconds=0.0, differences=[], countries=[], networks=[]
        )
    most = max(groups, key=len)
    restless = len(most) == 1 and len(seen) > 2
    usual = median([one.seconds for one in most])
    shown = [one.certificate for one in most if one.certificate]
    certificate = max(set(shown), key=shown.count) if shown else ""
    differences = [] if restless else [d for one in seen if (d := _difference(one, most[0], usual, certificate))]
    other = {one.device for one in differences if one.what != "slow"}
    return VantageUrl(
        url=url,
        verdict="restless" if restless else "differs" if other else "same",
        places=len(seen),
        status=most[0].status,
        seconds=round(usual, 3),
        differences=differences,
        countries=_places(seen, other, "country"),
        networks=_places(seen, other, "network"),
    )


def _difference(
    one: VantageObservation, most: VantageObservation, usual: float, certificate: str
) -> VantageDifference | None:
    what, detail = "", ""
    if not one.status and most.status:
        what, detail = "no answer", one.failure
    elif one.status != most.status:
        what, detail = "status", f"{one.status or one.failure} instead of {most.status or most.failure}"
    elif one.location != most.location:
        what, detail = "redirect", f"to {one.location[:200]} instead of {most.location[:200]}"
    elif not _same(most, one):
        what, detail = "content", agreement.difference(_fingerprint(most), _fingerprint(one))
    elif certificate and one.certificate and one.certificate != certificate:
        what, detail = "certificate", f"{one.certificate[:16]}… instead of {certificate[:16]}…"
    elif one.seconds > usual * SLOW_FACTOR and one.seconds > usual + SLOW_SECONDS:
        what, detail = "slow", f"{one.seconds:.1f} s instead of {usual:.1f} s"
    if not what:
        return None
    capture = str(one.capture) if one.capture else ""
    return VantageDifference(
        what=what,  # type: ignore[arg-type]
        detail=detail,
        country=one.country,
        network=one.network,
        device=one.pseudonym,
        capture=capture,
    )


def _same(one: VantageObservation, other: VantageObservation) -> bool:
    if not one.status or not other.status:
        return one.status == other.status
    same = one.status == other.status and one.location == other.location
    return same and agreement.agree(_fingerprint(one), _fingerprint(other))


def _fingerprint(one: VantageObservation) -> Fingerprint:
    return msgspec.convert(one.fingerprint, Fingerprint) if one.fingerprint else Fingerprint(one.status)


def _places(seen: Sequence[VantageObservation], other: set[str], name: str) -> list[VantagePlace]:
    found: dict[str, list[bool]] = {}
    for one in seen:
        where = getattr(one, name) or ("unknown" if one.pseudonym else "the server")
        found.setdefault(where, []).append(one.pseudonym not in other)
    return [VantagePlace(where, len(same), sum(same)) for where, same in sorted(found.items())]


def _addresses(who: str, wanted: VantageOrder) -> list[str]:
    if not 1 <= len(wanted.urls) <= MAX_URLS:
        raise Invalid(f"a check has 1 to {MAX_URLS} URLs, this one {len(wanted.urls)}")
    found: dict[str, Any] = {}
    for text in wanted.urls:
        try:
            url = addresses.canonical(text)
        except addresses.UrlError as error:
            raise Invalid(str(error))
        if what := refusals.attack(text, url):
            audit(who, "refused", f"vantage check of {text[:200]}: it looks like {what}")
            raise Invalid(f"{text[:200]!r} is refused: it looks like {what}")
        if closed := services.closed_reason(addresses.host(url)):
            raise Invalid(f"{text[:200]!r} is {closed}")
        found[url] = None
    return list(found)

"""Geographic services: found on a map, each with its layers and its health; catalogues harvested, focused crawls,
thesauri."""

from itertools import zip_longest
from typing import Any

import msgspec
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from hemeroteca.accounts import Actor, can
from hemeroteca.archive import queries as archive
from hemeroteca.console import charts, jobs
from hemeroteca.console.search import number_in
from hemeroteca.console.section import ConsolePage, Section
from hemeroteca.errors import Conflict, Invalid, NotFound, Refused
from hemeroteca.focus import definition
from hemeroteca.focus.strategies import STRATEGIES
from hemeroteca.focus.thesaurus import Concept, ConceptGroup, Thesaurus
from hemeroteca.frontier import queries as frontier
from hemeroteca.frontier import services as crawls
from hemeroteca.frontier import thesauri
from hemeroteca.geo import concepts, endpoints, harvest, health, queries, records, services, visit_orders
from hemeroteca.geo.description import TYPES
from hemeroteca.geo.models import Harvest
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.jobs import queries as job_queries
from hemeroteca.jobs import services as job_services
from hemeroteca.plain import whole_number
from hemeroteca.urls import Scope

FOUND = 25
BOXES = 2_000
LAYERS = 200
CHECKS = 30
DAYS = 90
CONCEPTS = 120
CURVE = 150  # points of a chart of a crawl
RATE_STEPS = 10  # points over which the harvest rate is taken
CHANGES = 12
STATES = {
    "alive": gettext_lazy("works"),
    "failing": gettext_lazy("fails"),
    "gone": gettext_lazy("gone"),
    "restricted": gettext_lazy("restricted"),
    "closed": gettext_lazy("closed by robots.txt"),
    "withdrawn": gettext_lazy("withdrawn"),
}
LOOKS = {
    "capabilities": gettext_lazy("capabilities"),
    "map": gettext_lazy("a map"),
    "feature": gettext_lazy("a feature"),
    "link": gettext_lazy("its metadata"),
}
FORMS = {"qlr": "", "geojson": "GeoJSON", "iso19139": "ISO 19139", "geodcat": "GeoDCAT-AP", "schema-org": "schema.org"}
ORDERS = {
    "focused": gettext_lazy("what promises most, by all that is known (focused)"),
    "learned": gettext_lazy("what was learned from the pages so far (learned)"),
    "shark-search": gettext_lazy("Shark-Search: relevance is inherited and fades"),
    "fish-search": gettext_lazy("Fish-Search: what a relevant page links to"),
    "best-first": gettext_lazy("the most relevant page's links (best-first)"),
    "keywords": gettext_lazy("words of the thesaurus in the link (keywords)"),
    "breadth-first": gettext_lazy("in the order they were found (breadth-first)"),
}
TUNING = {
    "delta": gettext_lazy("δ: how much of a page's relevance its links inherit"),
    "beta": gettext_lazy("β: share of the anchor beside its context"),
    "gamma": gettext_lazy("γ: share of what is inherited in a score"),
    "context": gettext_lazy("Characters on each side of an anchor"),
    "depth": gettext_lazy("Links in a row without a relevant page"),
    "spread": gettext_lazy("How fast a host without targets loses its place"),
    "learn": gettext_lazy("The most that what was learned may count"),
}


# the catalogue


def catalogue(request: HttpRequest) -> HttpResponse:
    actor = Actor.of(request.user)
    given = {name: request.GET.get(name, "").strip()[:400] for name in ("q", "bbox", "type", "state")}
    offset = number_in(request.GET.get("from", ""), 0)
    failure = ""
    wish = queries.ServiceQuery(words=given["q"])
    try:
        wish = queries.ServiceQuery(
            words=given["q"],
            bbox=queries.parse_bbox(given["bbox"]) if given["bbox"] else None,
            types=queries.parse_types([given["type"]]),
            states=(given["state"],) if given["state"] in STATES else queries.SHOWN,
        )
    except Invalid as error:
        failure = str(error)
    found, total = queries.search(actor, wish, FOUND, offset)
    context = {
        "form": given,
        "failure": failure,
        "services": [_card(service) for service in found],
        "total": total,
        "boxes": [_box(*row) for row in queries.boxes(actor, wish, BOXES)],
        "asked": given["bbox"] if wish.bbox else "",
        "types": TYPES,
        "states": STATES.items(),
        "before": max(0, offset - FOUND) if offset else None,
        "after": offset + FOUND if offset + FOUND < total else None,
        "none_at_all": not total and not any(given.values()),
    }
    return render(request, "console/geo.html", context, status=422 if failure else 200)


def _card(service: Any) -> dict[str, Any]:
    return {
        "service": service,
        "title": service.title or service.public_endpoint,
        "label": STATES[service.state],
        "kind": records.protocol(service.type),
    }


def _box(number: int, title: str, kind: str, *sides: float) -> dict[str, Any]:
    return {"title": title, "type": kind, "bbox": list(sides), "url": reverse("geo-service", args=[number])}


def service(request: HttpRequest, number: int) -> HttpResponse:
    actor = Actor.of(request.user)
    found = services.find(number)
    if request.method == "POST":
        _act(request, actor, found.pk)
        return redirect("geo-service", found.pk)
    days = queries.availability(found, DAYS)
    facts = queries.health(found)
    rows = [{_("day"): day, _("working %"): round(share, 1)} for day, share, _ms in days]
    times = [{_("day"): day, _("milliseconds"): ms} for day, _share, ms in days]
    layers = queries.layers(found)
    archived = found.url if found.url and not endpoints.has_secrets(found.url) else ""
    described = archive.versions_newest(archived, CHANGES) if archived and can(actor, "archive.read") else []
    looks = job_queries.recent(actor, 20, kind="geo.check") if actor.user is not None else []
    running = [job for job in looks if found.pk in job.arguments["services"]]
    context = {
        **_card(found),
        "concepts": concepts.of_keywords(found.keywords)[:40],
        "layers": layers[:LAYERS],
        "more_layers": max(0, len(layers) - LAYERS),
        "boxes": [{"title": found.title, "type": "", "bbox": list(found.bbox), "url": ""}] if found.bbox else [],
        "health": facts,
        "inspire": msgspec.to_builtins(health.inspire_report(found)) if found.inspire else None,
        "checks": [(look, LOOKS.get(look.request, look.request)) for look in queries.checks(found, CHECKS)],
        "availability": charts.spec(rows, _("day"), _("working %"), titles=("", _("working %")), unit="yearmonthdate")
        if rows
        else None,
        "answers": charts.spec(times, _("day"), _("milliseconds"), "line", titles=("", "ms"), unit="yearmonthdate")
        if times
        else None,
        "forms": [pair for pair in FORMS.items() if pair[0] != "qlr" or found.type in records.IN_QGIS],
        "archived": archived,
        "changes": list(zip_longest(described, described[1:])),
        "job": next((shown for job in running[:1] if not (shown := jobs.shown(actor, job))["ended"]), None),
        "mirrors": [other.public_endpoint for other in queries.mirrors(found)[:20]],
        "mine": found.owner is not None and found.owner == actor.user,
    }
    return render(request, "console/geo_service.html", context)


def _act(request: HttpRequest, actor: Actor, number: int) -> None:
    try:
        match request.POST.get("do"):
            case "check":
                job_services.submit(actor, "geo.check", {"services": [number], "deep": True})
            case "claim":
                services.claim(actor, number)
                messages.success(request, _("The service is yours: you may withdraw it."))
            case "withdraw":
                services.withdraw(actor, number, request.POST.get("reason", "")[:500])
                messages.success(request, _("The service is no longer in the catalogue."))
            case "restore":
                services.restore(actor, number)
    except Conflict as error:
        messages.error(request, str(error))


# adding


def add(request: HttpRequest) -> HttpResponse:
    url, failure = "", ""
    if request.method == "POST":
        url = request.POST.get("url", "").strip()[:4096]
        try:
            crawl = visit_orders.add(Actor.of(request.user), url)
        except Invalid as error:
            failure = str(error)
        else:
            settings.INSTANCE.wake("engine")
            messages.success(request, _("It is being visited; what it is appears on the map when it has answered."))
            return redirect("crawl", crawl.pk)
    return render(request, "console/geo_add.html", {"url": url, "failure": failure}, status=422 if failure else 200)


def harvests(request: HttpRequest) -> HttpResponse:
    actor = Actor.of(request.user)
    form, failure = {"url": "", "kind": ""}, ""
    if request.method == "POST":
        form = {name: request.POST.get(name, "").strip()[:4096] for name in form}
        try:
            if not form["url"].startswith(("http://", "https://")):
                raise Invalid(_("The address of a catalogue begins with http:// or https://."))
            if form["kind"] and form["kind"] not in harvest.KINDS:
                raise Invalid(_("“%(text)s” is not a kind of catalogue.") % {"text": form["kind"][:40]})
            job_services.submit(actor, "geo.harvest", form)
            return redirect("geo-harvests")
        except Invalid as error:
            failure = str(error)
    recent = job_queries.recent(actor, 10, kind="geo.harvest") if actor.user is not None else []
    context = {
        "form": form,
        "failure": failure,
        "kinds": harvest.KINDS,
        "harvests": [
            {"url": endpoints.without_secrets(one.url), "kind": one.kind, "last_ms": one.last_ms, **_report(one.report)}
            for one in Harvest.objects.order_by("-last_ms", "pk")[:100]
        ],
        "jobs": [shown for job in recent if not (shown := jobs.shown(actor, job))["ended"]],
        "failed": [jobs.shown(actor, job) for job in recent if job.state == "failed"][:3],
    }
    return render(request, "console/geo_harvests.html", context, status=422 if failure else 200)


def _report(report: dict[str, Any]) -> dict[str, int]:
    return {name: int(report.get(name, 0)) for name in ("records", "added", "changed", "vanished", "failed")}


# focused crawls


def focus(request: HttpRequest) -> HttpResponse:
    actor = Actor.of(request.user)
    usual = msgspec.to_builtins(definition.load("geo").tuning)
    standard = {**msgspec.structs.asdict(definition.Tuning()), **usual}
    form = {"seeds": "", "order": definition.DEFAULT_STRATEGY, "limit": "1000", "toml": ""}
    form |= {name: f"{standard[name]:g}" for name in TUNING}
    failure = ""
    if request.method == "POST":
        form |= {name: request.POST.get(name, "").strip()[:20_000] for name in form}
        try:
            return redirect("geo-crawl", _begin(actor, form))
        except Refused as error:
            failure = str(error)
    found = [crawl for crawl in frontier.crawls(200) if crawl.options.get("focus")]
    context = {
        "form": form,
        "failure": failure,
        "strategies": [(name, ORDERS.get(name, name)) for name in sorted(STRATEGIES, key=list(ORDERS).index)],
        "tuning": [(name, label, form[name]) for name, label in TUNING.items()],
        "crawls": found[:50],
        "thesauri": thesauri.thesauri(actor),
    }
    return render(request, "console/geo_focus.html", context, status=422 if failure else 200)


def _begin(actor: Actor, form: dict[str, str]) -> int:
    looks_for = definition.parse(form["toml"]) if form["toml"] else definition.load("geo")
    try:
        changed = {name: float(form[name].replace(",", ".")) for name in TUNING if form[name]}
    except ValueError:
        raise Invalid(_("The settings of a focus are numbers."))
    tuning = {**msgspec.to_builtins(looks_for.tuning), **changed}
    looks_for = definition.convert({**msgspec.to_builtins(looks_for), "tuning": tuning})
    thesauri.check(looks_for)
    if form["order"] not in STRATEGIES:
        raise Invalid(_("“%(text)s” is not a strategy.") % {"text": form["order"][:40]})
    limit = whole_number(form["limit"])
    if limit is None:
        raise Invalid(_("“%(text)s” is not a whole number.") % {"text": form["limit"][:40]})
    options = CrawlOptions(
        Scope(kind="web"), limit=limit or None, requisites=False, sitemaps=False, probe=True,
        order=form["order"], focus=looks_for,
    )  # fmt: skip
    return crawls.submit_crawl(actor, form["seeds"].splitlines(), options)[0].pk


def focused_crawl(request: HttpRequest, number: int) -> HttpResponse:
    crawl = frontier.crawl(number) if number < 1 << 63 else None
    if crawl is None or not crawl.options.get("focus"):
        raise NotFound(_("There is no focused crawl %(number)d.") % {"number": number})
    visited, curve = frontier.harvest_curve(crawl.pk, CURVE)
    found = curve[-1][1] if curve else 0
    rows = [{_("pages visited"): at, _("targets found"): count} for at, count in curve]
    context = {
        "crawl": crawl,
        "visited": visited,
        "targets": found,
        "rate": 100 * found / visited if visited else 0,
        "running": crawl.state == "running",
        "curve": charts.spec(
            rows, _("pages visited"), _("targets found"), "line", "quantitative",
            (_("pages visited"), _("targets found")),
        )
        if rows
        else None,
        "rates": charts.spec(
            _rates(curve), _("pages visited"), _("harvest rate %"), "line", "quantitative",
            (_("pages visited"), _("harvest rate %")),
        )
        if len(curve) > 2
        else None,
        "finds": frontier.focus_links(30, crawl=crawl.pk, targets=True),
    }  # fmt: skip
    part = request.headers.get("HX-Request") == "true"
    return render(request, "console/geo_crawl_live.html" if part else "console/geo_crawl.html", context)


def _rates(curve: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """Targets in a hundred pages, over the last of them at each point."""
    rows = []
    for place in range(1, len(curve)):
        at, count = curve[place]
        before, known = curve[max(0, place - RATE_STEPS)]
        if at > before:
            rows.append({_("pages visited"): at, _("harvest rate %"): round(100 * (count - known) / (at - before), 2)})
    return rows


# thesauri


def thesaurus(request: HttpRequest) -> HttpResponse:
    actor = Actor.of(request.user)
    names = thesauri.thesauri(actor)
    chosen = thesauri.one_thesaurus(actor, request.GET.get("name", "") or names[0].name)
    words = request.GET.get("q", "").strip()[:100]
    place = number_in(request.GET.get("concept", ""), -1)
    language = (get_language() or "en")[:2]
    concept = chosen.concepts[place] if 0 <= place < len(chosen.concepts) else None
    context: dict[str, Any] = {"thesauri": names, "thesaurus": chosen, "q": words, "spoken": chosen.languages()}
    if concept is not None:
        below = [number for number, one in enumerate(chosen.concepts) if place in one.broader]
        context |= {
            "concept": concept,
            "title": _label(concept, language),
            "broader": _named(chosen, concept.broader, language),
            "narrower": _named(chosen, below, language),
            "groups": [_label(chosen.groups[number], language) for number in concept.groups],
        }
    else:
        plain = services.fold(words)
        found = [
            number
            for number, one in enumerate(chosen.concepts)
            if (any(plain in services.fold(label.text) for label in one.labels) if plain else not one.broader)
        ]
        context |= {"found": _named(chosen, found, language)[:CONCEPTS], "total": len(found)}
    return render(request, "console/geo_thesaurus.html", context)


def _named(chosen: Thesaurus, numbers: list[int], language: str) -> list[tuple[int, str]]:
    named = [(number, _label(chosen.concepts[number], language)) for number in numbers]
    return sorted(named, key=lambda one: services.fold(one[1]))


def _label(thing: Concept | ConceptGroup, language: str) -> str:
    """In the language of the reader, in English, or in any."""
    for wanted in (language, "en", ""):
        for label in thing.labels:
            if label.preferred and label.language.startswith(wanted):
                return label.text
    return thing.labels[0].text if thing.labels else thing.uri


SECTION = Section(
    "geo",
    gettext_lazy("Geo"),
    (
        ConsolePage("geo", "geo", catalogue, "geo.read"),
        ConsolePage("geo/services/<int:number>", "geo-service", service, "geo.read", "geo.claim"),
        ConsolePage("geo/add", "geo-add", add, "geo.add", "geo.add"),
        ConsolePage("geo/harvests", "geo-harvests", harvests, "geo.harvest", "geo.harvest"),
        ConsolePage("geo/focus", "geo-focus", focus, "focus.read", "crawl.submit"),
        ConsolePage("geo/focus/<int:number>", "geo-crawl", focused_crawl, "focus.read"),
        ConsolePage("geo/thesaurus", "geo-thesaurus", thesaurus, "focus.read"),
    ),
    (
        ("geo", gettext_lazy("Map")),
        ("geo-add", gettext_lazy("Add a service")),
        ("geo-harvests", gettext_lazy("Harvests")),
        ("geo-focus", gettext_lazy("Focused crawls")),
        ("geo-thesaurus", gettext_lazy("Thesaurus")),
    ),
)

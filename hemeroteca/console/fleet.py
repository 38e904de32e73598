"""The fleet: devices that are lent, credits, what clients ordered, vantage checks, load tests, and operating it."""

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache

from hemeroteca.accounts import Actor, can
from hemeroteca.accounts.models import User
from hemeroteca.console import charts
from hemeroteca.console.section import ConsolePage, Section
from hemeroteca.errors import Invalid, NotFound, Refused
from hemeroteca.fleet import assignment, fetches, protocol, queries, services, vantage
from hemeroteca.fleet import load_tests as load_testing
from hemeroteca.fleet.credit_ledger import Kind
from hemeroteca.fleet.models import Device
from hemeroteca.outgoing import download
from hemeroteca.plain import whole_number

COAST = Path(__file__).parent / "static" / "console" / "coast.json"
STATES = {
    "online": gettext_lazy("working"),
    "offline": gettext_lazy("away"),
    "paused": gettext_lazy("paused"),
    "slowed": gettext_lazy("slowed down"),
    "suspended": gettext_lazy("suspended"),
    "expelled": gettext_lazy("expelled"),
}
DOTS = {"online": "running", "offline": "", "paused": "paused", "slowed": "stopped"}  # else: failed
CATEGORIES = {
    "general": gettext_lazy("general"),
    "news": gettext_lazy("news"),
    "politics": gettext_lazy("politics"),
    "religion": gettext_lazy("religion"),
    "health": gettext_lazy("health"),
    "social": gettext_lazy("social networks"),
    "circumvention": gettext_lazy("ways around censorship"),
    "gambling": gettext_lazy("gambling"),
    "drugs": gettext_lazy("drugs"),
    "adult": gettext_lazy("adults only"),
}
DIFFERENCES = {
    "no answer": gettext_lazy("no answer"),
    "status": gettext_lazy("another status"),
    "redirect": gettext_lazy("leads elsewhere"),
    "content": gettext_lazy("another content"),
    "certificate": gettext_lazy("another certificate"),
    "slow": gettext_lazy("much slower"),
}
VERDICTS = {
    "same": gettext_lazy("the same everywhere"),
    "differs": gettext_lazy("differs"),
    "restless": gettext_lazy("differs by itself"),
    "unseen": gettext_lazy("not seen"),
}
LOADS = {
    "proposed": gettext_lazy("waits for its proof"),
    "proven": gettext_lazy("proven"),
    "running": gettext_lazy("running"),
    "finished": gettext_lazy("finished"),
    "stopped": gettext_lazy("stopped"),
}
ACTIVITIES = {
    "crawls": gettext_lazy("crawls of this archive"),
    "clients": gettext_lazy("requests of clients"),
    "vantage": gettext_lazy("vantage checks"),
    "load": gettext_lazy("load tests"),
}
CLIENTS = {
    "asked": gettext_lazy("waits for you"),
    "approved": gettext_lazy("approved"),
    "refused": gettext_lazy("was refused"),
}
BLOCKS = {
    "waiting": gettext_lazy("waiting for their device"),
    "leased": gettext_lazy("with a device"),
    "returned": gettext_lazy("returned"),
    "done": gettext_lazy("over"),
    "expired": gettext_lazy("too late"),
    "withdrawn": gettext_lazy("taken back"),
}
SETTINGS = {  # those that are numbers
    "cache_seconds": gettext_lazy("An answer serves again for (s)"),
    "max_block": gettext_lazy("Addresses in a block, at most"),
    "task_seconds": gettext_lazy("A request may take (s)"),
    "max_devices": gettext_lazy("Devices at once, at most"),
    "device_percent": gettext_lazy("Of what clients pay, for devices (%)"),
    "probe_percent": gettext_lazy("Known answers asked to try devices (%)"),
}
ACCOUNTS = {
    "device": gettext_lazy("device"),
    "client": gettext_lazy("client"),
    "job": gettext_lazy("reserved for a job"),
    "operator": gettext_lazy("operator"),
    "issued": gettext_lazy("credits that were made"),
}
TRANSFERS = {  # the first word of why credits moved
    "fetch": gettext_lazy("an answer for a client"),
    "refund": gettext_lazy("refund of an answer that was wrong"),
    "reserve": gettext_lazy("reserved for a job"),
    "settle": gettext_lazy("given back at the end of a job"),
    "own": gettext_lazy("made for the operator's own job"),
    "give": gettext_lazy("given by the operator"),
}
COMPLAINTS = {
    "open": gettext_lazy("complaint not decided yet"),
    "upheld": gettext_lazy("complaint was right: refunded"),
    "denied": gettext_lazy("complaint denied"),
}
JOBS = {
    "running": gettext_lazy("running"),
    "finished": gettext_lazy("finished"),
    "cancelled": gettext_lazy("cancelled"),
}


def overview(request: HttpRequest) -> HttpResponse:
    places = queries.countries()
    known = [one for one in places if one["latitude"] is not None]
    context = {
        "status": queries.status(),
        "map": _map(known) if known else None,
        "unknown": sum(one["devices"] for one in places if one["latitude"] is None),
        "leaders": queries.leaderboard(),
    }
    return render(request, "console/fleet.html", context)


def devices(request: HttpRequest) -> HttpResponse:
    """Those of whoever looks; the operator may see all."""
    actor, user = Actor.of(request.user), _user(request)
    failure, name = "", request.POST.get("name", "").strip()
    if request.method == "POST":
        try:
            new = services.add_device(actor, name, user)
            return redirect("fleet-device-start", new.device.pk)
        except Refused as error:
            failure = str(error)
    everybody = can(actor, "fleet.operate") and request.GET.get("of") == "all"
    found = [_shown(one) for one in queries.devices(actor, None if everybody else user)]
    context = {"devices": found, "failure": failure, "name": name, "everybody": everybody}
    return render(request, "console/fleet_devices.html", context, status=422 if failure else 200)


def device(request: HttpRequest, number: int) -> HttpResponse:
    actor = Actor.of(request.user)
    row = _device(actor, number)
    if request.method == "POST":
        match request.POST.get("do"):
            case "pause":
                services.set_state(actor, row, Device.State.PAUSED, _("by its owner"))
            case "go-on":
                services.set_state(actor, row, Device.State.ACTIVE, request.POST.get("reason", "").strip()[:500])
            case "list":
                services.list_device(actor, row, not row.listed)
            case "revoke":
                services.revoke_token(actor, row)
                messages.success(request, _("No token of this device is valid any more."))
            case "suspend" | "expel" as what:
                state = Device.State.SUSPENDED if what == "suspend" else Device.State.EXPELLED
                services.set_state(actor, row, state, request.POST.get("reason", "").strip()[:500])
            case "trust":
                services.set_trusted(actor, row, not row.trusted)
        back = request.POST.get("back")
        return redirect("fleet-devices") if back == "devices" else redirect("fleet-device", number)
    (facts,) = [one for one in queries.devices(actor, row.owner) if one.id == row.pk]
    days = queries.days(actor, row)
    drawn = [{"day": one.day, "answers": count, "kind": kind} for one in days for kind, count in _kinds(one)]
    context = {
        "device": _shown(facts),
        "activities": [ACTIVITIES[one] for one in facts.activities],
        "categories": [CATEGORIES[one] for one in facts.categories if {"clients", "vantage"} & set(facts.activities)],
        "row": row,
        "chart": charts.spec(
            drawn,
            "day",
            "answers",
            titles=("", _("answers")),
            by="kind",
            by_title=_("judged"),
            unit="yearmonthdate",
        ),
        "worked": any(one.requests for one in days),
        "did": [(_("today"), _counted(facts.today)), (_("ever"), _counted(facts.counts))],
        "today": days[-1],
        "lines": [(one, _moved(one.reason)) for one in queries.statement(actor, Kind.DEVICE, row.pk, row.owner, 20)],
    }
    return render(request, "console/fleet_device.html", context)


@never_cache
def start(request: HttpRequest, number: int) -> HttpResponse:
    """How a device begins: one command with a code that works once, within a quarter of an hour."""
    actor = Actor.of(request.user)
    row = _device(actor, number)
    server = (settings.CONFIG.public_url or request.build_absolute_uri("/")).rstrip("/")
    code = services.make_code(actor, row)
    command = f"curl -fsSO {server}/fleet/worker.pyz && python3 worker.pyz --server {server} --code {code}"
    context = {"row": row, "command": command, "code": code, "server": server, "picture": _qr_code(command)}
    return render(request, "console/fleet_start.html", context)


def credit(request: HttpRequest) -> HttpResponse:
    actor = Actor.of(request.user)
    found = queries.balances(actor)
    if request.GET.get("as") == "csv":
        return download(queries.as_csv(found), "credits.csv")
    lines = queries.own_lines(actor)
    if request.GET.get("as") == "statement":
        names = ("at_ms", "account", "reason", "amount")
        told = queries.as_csv([{name: getattr(line, name) for name in names} for line in lines], names)
        return download(told, "statement.csv")
    context = {
        "accounts": [(one, ACCOUNTS[one["account"]]) for one in found],
        "lines": [(one, ACCOUNTS.get(one.account, one.account), _moved(one.reason)) for one in lines[:200]],
    }
    return render(request, "console/fleet_credits.html", context)


def jobs(request: HttpRequest) -> HttpResponse:
    """What a client of the fleet ordered; how to become one."""
    actor, user = Actor.of(request.user), _user(request)

    def order(form: dict[str, str]) -> HttpResponse:
        if request.POST.get("do") == "ask":
            services.ask(actor, user, form["purpose"])
            messages.success(request, _("The operator will decide about it."))
            return redirect("fleet-jobs")
        wanted = fetches.FetchJobOrder(urls=form["urls"].split(), category=form["category"])
        return redirect("fleet-job", fetches.order(actor, wanted).public_id)

    def shown() -> dict[str, Any]:
        client = queries.client(user)
        return {
            "client": client,
            "used": queries.used_today(user),
            "credits": queries.balance_of(client) if client is not None else 0.0,
            "jobs": [(job, JOBS[(now := fetches.progress(job)).state], now) for job in queries.jobs_of(actor)],
            "categories": CATEGORIES.items(),
        }

    form = {"purpose": "", "urls": "", "category": "general"}
    return _order_page(request, "console/fleet_jobs.html", form, order, shown)


def job(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    actor = Actor.of(request.user)
    found = fetches.find(actor, public_id)
    if request.method == "POST":
        with _told(request):
            if request.POST.get("do") == "cancel":
                fetches.cancel(actor, public_id)
            elif request.POST.get("do") == "complain":
                number = _whole(request.POST.get("number", ""))
                fetches.complain(actor, found, number, request.POST.get("words", ""))
                messages.success(request, _("The operator will look at it."))
        return redirect("fleet-job", public_id)
    now = fetches.progress(found)
    results = fetches.results(found, (0, 0), 500)
    shown = [(one, COMPLAINTS.get(one.complaint_state, "")) for one in results]
    context = {"job": found, "now": now, "label": JOBS[now.state], "results": shown}
    return render(request, "console/fleet_job.html", context)


def vantages(request: HttpRequest) -> HttpResponse:
    actor = Actor.of(request.user)

    def order(form: dict[str, str]) -> HttpResponse:
        wanted = vantage.VantageOrder(
            urls=form["urls"].split(),
            title=form["title"],
            category=form["category"],
            countries=form["countries"].replace(",", " ").split(),
            every_hours=_whole(form["every_hours"]),
        )
        return redirect("fleet-vantage", vantage.order(actor, wanted).public_id)

    def shown() -> dict[str, Any]:
        checks = [(one, CATEGORIES[one.category]) for one in vantage.checks(actor)]
        return {"checks": checks, "categories": CATEGORIES.items()}

    form = {"urls": "", "title": "", "category": "general", "countries": "", "every_hours": "0"}
    return _order_page(request, "console/fleet_vantages.html", form, order, shown)


def vantage_check(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    actor = Actor.of(request.user)
    check = vantage.find(actor, public_id)
    if request.method == "POST":
        with _told(request):
            vantage.end(actor, check)
        return redirect("fleet-vantage", public_id)
    runs = vantage.runs(check)
    wanted = request.GET.get("run", "")
    run = next((one for one in runs if not wanted.isdecimal() or one.pk == whole_number(wanted)), None)
    report = vantage.report(run) if run is not None else None
    shown = []
    for one in report.urls if report is not None else ():
        told = [(DIFFERENCES[other.what], other) for other in one.differences]
        shown.append((one, VERDICTS[one.verdict], told))
    context = {
        "check": check,
        "category": CATEGORIES[check.category],
        "runs": runs,
        "run": run,
        "report": report,
        "urls": shown,
    }
    return render(request, "console/fleet_vantage.html", context)


def load_tests(request: HttpRequest) -> HttpResponse:
    actor = Actor.of(request.user)

    def order(form: dict[str, str]) -> HttpResponse:
        numbers = {name: _whole(form[name]) for name in ("rate", "ramp_seconds", "hold_seconds")}
        test = load_testing.propose(actor, load_testing.LoadTestOrder(url=form["url"], **numbers))
        return redirect("fleet-load", test.public_id)

    def shown() -> dict[str, Any]:
        return {"tests": [(one, LOADS[one.state]) for one in load_testing.tests(actor)]}

    form = {"url": "", "rate": "10", "ramp_seconds": "30", "hold_seconds": "60"}
    return _order_page(request, "console/fleet_loads.html", form, order, shown)


def load_test(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    actor = Actor.of(request.user)
    test = load_testing.find(actor, public_id)
    if request.method == "POST":
        with _told(request):
            if request.POST.get("do") == "start":
                load_testing.start(actor, test, settings.CONFIG)
            else:
                load_testing.stop(actor, test)
        return redirect("fleet-load", public_id)
    report = load_testing.report(test)

    def curves(value: str, of: str, fields: dict[str, str], unit: str, by_title: str = "") -> Any:
        """A line over the seconds for each of these fields."""
        drawn = [
            {"second": one.second, value: getattr(one, field), of: name}
            for one in report.seconds
            for name, field in fields.items()
        ]
        return charts.spec(drawn, "second", value, "line", "quantitative", (_("second"), unit), of, by_title)

    shares = {"50 %": "p50", "95 %": "p95", "99 %": "p99"}
    kinds = {_("asked"): "asked", _("errors"): "errors"}
    context = {
        "test": test,
        "label": LOADS[test.state],
        "report": report,
        "proof": load_testing.proof(test),
        "path": load_testing.PATH,
        "times": curves("milliseconds", "share", shares, _("milliseconds"), _("of the answers")),
        "counts": curves("requests", "kind", kinds, _("requests")),
    }
    return render(request, "console/fleet_load.html", context)


def operate(request: HttpRequest) -> HttpResponse:
    """The operator's view: settings, leases, trust, clients, complaints, closed hosts, the log."""
    actor = Actor.of(request.user)
    if request.method == "POST":
        with _told(request):
            _operate(actor, request)
            messages.success(request, _("Done."))
        return redirect("fleet-operate")
    status = queries.status()
    context = {
        "status": status,
        "settings": [(name, words, getattr(status.settings, name)) for name, words in SETTINGS.items()],
        "strategies": assignment.STRATEGIES,
        "blocks": [(words, status.blocks[state]) for state, words in BLOCKS.items() if state in status.blocks],
        "leases": [(one, ACTIVITIES.get(one.activity, one.activity)) for one in queries.leases(actor)],
        "devices": [_shown(one) for one in queries.devices(actor)],
        "clients": [(one, CLIENTS[one.state]) for one in queries.clients(actor)],
        "complaints": queries.complaints(actor),
        "closed": queries.closed(),
        "log": queries.log(actor, 50),
    }
    return render(request, "console/fleet_operate.html", context)


@contextmanager
def _told(request: HttpRequest) -> Iterator[None]:
    """What a button does; why it cannot be is told on the page that comes next."""
    try:
        yield
    except Refused as error:
        messages.error(request, str(error))


def _order_page(
    request: HttpRequest,
    template: str,
    form: dict[str, str],
    order: Callable[[dict[str, str]], HttpResponse],
    shown: Callable[[], dict[str, Any]],
) -> HttpResponse:
    """A page to order something: what was typed is ordered, or shown again with the reason why it cannot be."""
    failure = ""
    if request.method == "POST":
        form = {name: request.POST.get(name, default).strip() for name, default in form.items()}
        try:
            return order(form)
        except Refused as error:
            failure = str(error)
    context = {**shown(), "form": form, "failure": failure}
    return render(request, template, context, status=422 if failure else 200)


def _operate(actor: Actor, request: HttpRequest) -> None:
    given = request.POST
    match given.get("do"):
        case "set":
            known = {field.name for field in msgspec.structs.fields(protocol.FleetSettings)}
            changes: dict[str, Any] = {name: given[name].strip() for name in known if name in given}
            changes["local"] = given.get("local") == "on"
            services.change_settings(actor, changes)
        case "approve":
            services.approve(actor, services.find_client(given.get("user", "")))
        case "refuse":
            services.refuse(actor, services.find_client(given.get("user", "")), given.get("reason", "").strip())
        case "uphold" | "deny" as what:
            fetches.decide(actor, _whole(given.get("number", "")), what == "uphold")
        case "close":
            services.close_host(actor, given.get("host", ""), given.get("reason", "").strip() or "by the operator")
        case "open":
            services.open_host(actor, given.get("host", ""))
        case _:
            raise Invalid(_("This button is not known here; load the page again."))


def _shown(facts: queries.DeviceFacts) -> dict[str, Any]:
    """A device with the words for its state."""
    shown = msgspec.structs.asdict(facts)
    return shown | {"label": STATES[facts.state], "dot": DOTS.get(facts.state, "failed")}


def _moved(reason: str) -> str:
    """Why credits moved, for people."""
    return str(TRANSFERS.get(reason.partition(" ")[0], reason))


def _qr_code(text: str) -> str:
    import segno

    drawn = segno.make(text, micro=False).svg_inline(
        light="#fff", svgclass=None, lineclass=None, omitsize=True, title=_("The command as a QR code")
    )
    return mark_safe(drawn)  # noqa: S308 - only the code itself, drawn, and a title of ours


def _counted(counts: dict[str, int]) -> dict[str, Any]:
    names = [name for name in queries.COUNTS if name != "bytes"]
    return {"numbers": [counts.get(name, 0) for name in names], "bytes": counts.get("bytes", 0)}


def _kinds(day: queries.DeviceDayFacts) -> list[tuple[str, int]]:
    unchecked = day.requests - day.valid - day.invalid
    # in the order of the charts' colours: red, blue, green
    return [(_("wrong"), day.invalid), (_("believed"), unchecked), (_("confirmed"), day.valid)]


def _map(places: list[dict[str, Any]]) -> dict[str, Any]:
    """The coasts of the world, with a circle for each country."""
    at = {
        "longitude": {"field": "longitude", "type": "quantitative"},
        "latitude": {"field": "latitude", "type": "quantitative"},
    }
    circles = {
        "data": {"values": places},
        "mark": {"type": "circle", "tooltip": True, "opacity": 0.8},
        "encoding": at
        | {
            "size": {
                "field": "devices",
                "type": "quantitative",
                "title": _("devices"),
                "scale": {"range": [80, 900]},
                "legend": None,
            }
        },
    }
    names = {
        "data": {"values": places},
        "mark": {"type": "text", "dy": -20},
        "encoding": at | {"text": {"field": "country"}},
    }
    grid = {
        "data": {"graticule": {"step": [20, 20]}},
        "mark": {"type": "geoshape", "filled": False, "strokeOpacity": 0.25, "aria": False},
    }
    coast = {
        "data": {"values": {"type": "MultiLineString", "coordinates": _coast()}},
        "mark": {"type": "geoshape", "filled": False, "strokeOpacity": 0.6, "strokeWidth": 0.7, "aria": False},
    }
    return {
        "$schema": charts.SCHEMA,
        "data": {"values": places},
        "height": 320,
        "projection": {"type": "equalEarth"},
        "layer": [grid, coast, circles, names],
    }


@lru_cache(maxsize=1)
def _coast() -> list[list[tuple[int, int]]]:
    """Lines of whole degrees, longitude and latitude: enough for a map of the world."""
    found = []
    for line in json.loads(COAST.read_text("utf-8")):  # tenths of a degree
        points = [(round(lon / 10), round(lat / 10)) for lon, lat in zip(line[::2], line[1::2], strict=True)]
        kept = [point for point, _ in groupby(points)]
        if len(kept) > 3:  # smaller islands are points at this scale
            found.append([*kept[:-1:2], kept[-1]])
    return found


def _device(actor: Actor, number: int) -> Device:
    from hemeroteca.accounts import require

    row = Device.objects.select_related("owner").filter(pk=number).first() if number < 1 << 63 else None
    if row is None:
        raise NotFound(_("There is no device %(number)d.") % {"number": number})
    require(actor, "fleet.device", row)
    return row


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _whole(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise Invalid(_("“%(text)s” is not a whole number.") % {"text": text[:40]})
    return int(text)


SECTION = Section(
    "fleet",
    gettext_lazy("Fleet"),
    (
        ConsolePage("fleet", "fleet", overview, "fleet.status"),
        ConsolePage("fleet/devices", "fleet-devices", devices, "fleet.devices", "fleet.device"),
        ConsolePage("fleet/devices/<int:number>", "fleet-device", device, "fleet.device", "fleet.device"),
        ConsolePage("fleet/devices/<int:number>/start", "fleet-device-start", start, "fleet.device", "fleet.device"),
        ConsolePage("fleet/credits", "fleet-credits", credit, "fleet.credits"),
        ConsolePage("fleet/jobs", "fleet-jobs", jobs, "fleet.fetch", "fleet.fetch"),
        ConsolePage("fleet/jobs/<uuid:public_id>", "fleet-job", job, "fleet.fetches", "fleet.fetches"),
        ConsolePage("fleet/vantage", "fleet-vantages", vantages, "fleet.vantage", "fleet.vantage"),
        ConsolePage(
            "fleet/vantage/<uuid:public_id>", "fleet-vantage", vantage_check, "fleet.vantages", "fleet.vantages"
        ),
        ConsolePage("fleet/load-tests", "fleet-loads", load_tests, "fleet.load", "fleet.load"),
        ConsolePage("fleet/load-tests/<uuid:public_id>", "fleet-load", load_test, "fleet.loads", "fleet.loads"),
        ConsolePage("fleet/operate", "fleet-operate", operate, "fleet.operate", "fleet.operate"),
    ),
    (
        ("fleet", gettext_lazy("Overview")),
        ("fleet-devices", gettext_lazy("My devices")),
        ("fleet-credits", gettext_lazy("Credits")),
        ("fleet-jobs", gettext_lazy("Fetched for me")),
        ("fleet-vantages", gettext_lazy("Vantage checks")),
        ("fleet-loads", gettext_lazy("Load tests")),
        ("fleet-operate", gettext_lazy("Operate")),
    ),
)

"""Operations: the status; crawls ordered, watched, stopped, kept and given again; processes, logs, storage, backups and
settings."""

import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache

from hemeroteca import config, urls
from hemeroteca.accounts import Actor, audit, require
from hemeroteca.archive import queries as archive
from hemeroteca.archive import stats
from hemeroteca.console import charts, jobs
from hemeroteca.console.search import number_in
from hemeroteca.console.section import ConsolePage, Section
from hemeroteca.console.templatetags.console import count as _count
from hemeroteca.console.templatetags.console import size as _size
from hemeroteca.engine import overview
from hemeroteca.errors import Conflict, Invalid, NotFound, Refused
from hemeroteca.frontier import crawl_orders, queries, services
from hemeroteca.frontier.models import STANDING, Crawl, CrawlOrder
from hemeroteca.frontier.visit import State
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.instance import processes
from hemeroteca.jobs import queries as job_queries
from hemeroteca.jobs import services as job_services
from hemeroteca.plain import whole_number
from hemeroteca.warc.timestamps import iso
from hemeroteca.watch import queries as watch

CRAWLS = 50
VISITS = 100
BACKUPS = 20
STATES = {
    "done": (State.DONE, gettext_lazy("captured")),
    "queued": (State.QUEUED, gettext_lazy("waiting")),
    "failed": (State.FAILED, gettext_lazy("failed")),
    "excluded": (State.EXCLUDED, gettext_lazy("excluded")),
    "held": (State.HELD, gettext_lazy("held back")),
}
RHYTHMS = {  # hours from one run to the next
    "": gettext_lazy("only by hand"),
    "1": gettext_lazy("every hour"),
    "6": gettext_lazy("every 6 hours"),
    "24": gettext_lazy("every day"),
    "168": gettext_lazy("every week"),
    "720": gettext_lazy("every 30 days"),
}
EVENTS = {
    "ordered": gettext_lazy("ordered"),
    "began": gettext_lazy("begun"),
    "resumed": gettext_lazy("resumed"),
    "excluded": gettext_lazy("addresses left out"),
    "taken": gettext_lazy("held back addresses taken"),
    "stopping": gettext_lazy("asked to stop"),
    "stopped": gettext_lazy("stopped"),
    "finished": gettext_lazy("finished"),
}
PROCESSES = {
    "web": gettext_lazy("These pages and the API"),
    "engine": gettext_lazy("Visits, captures, the archive and the index"),
    "jobs": gettext_lazy("Long work: imports, exports, extractions"),
    "watch": gettext_lazy("Notices, hubs and learning"),
    "wiki": gettext_lazy("Keeps articles of wikis up to date"),
    "replay": gettext_lazy("Shows archived pages as they were"),
}
PROCESS_STATES = {
    "running": gettext_lazy("running"),
    "asleep": gettext_lazy("asleep until there is work"),
    "stopped": gettext_lazy("stopped"),
    "waiting": gettext_lazy("died; it is started again"),
}
LOG_LINES = 300
MANY_QUEUED = 200_000  # visits in a queue that are not counted by host every two seconds
SCOPES = {
    "host": gettext_lazy("The whole host"),
    "prefix": gettext_lazy("What begins like the address"),
    "domain": gettext_lazy("The domain with its subdomains"),
    "page": gettext_lazy("Only these pages"),
}


def status(request: HttpRequest) -> HttpResponse:
    return render(request, "console/status.html", _overview())


@never_cache
def status_live(request: HttpRequest) -> HttpResponse:
    """The part of the status page that is asked for every two seconds."""
    return render(request, "console/status_live.html", _overview())


def crawls(request: HttpRequest) -> HttpResponse:
    form = {"seeds": "", "scope": "host", "limit": "", "depth": "", "name": "", "every": "", "exclude": ""}
    failure = ""
    if request.method == "POST":
        actor = Actor.of(request.user)
        form |= {name: request.POST.get(name, "").strip() for name in form}
        try:
            match request.POST.get("do"):
                case "keep":
                    row = _keep(actor, form)
                    messages.success(request, _("The order “%(name)s” is kept.") % {"name": row.name})
                    return redirect(f"{reverse('crawls')}#orders")
                case "run":
                    return redirect("crawl", crawl_orders.run(actor, request.POST.get("order", "")).pk)
                case "pause" | "go-on" as verb:
                    crawl_orders.pause(actor, request.POST.get("order", ""), verb == "go-on")
                    return redirect(f"{reverse('crawls')}#orders")
                case "forget":
                    crawl_orders.remove(actor, request.POST.get("order", ""))
                    return redirect(f"{reverse('crawls')}#orders")
            return redirect("crawl", _submit(actor, form).pk)
        except (Invalid, Conflict, NotFound) as error:
            failure = str(error)
    before = number_in(request.GET.get("before", ""), 0)
    found = queries.crawls(CRAWLS + 1, before or None)
    context = {
        "crawls": found[:CRAWLS],
        "older": found[CRAWLS - 1].pk if len(found) > CRAWLS else 0,
        "scopes": SCOPES.items(),
        "form": form,
        "failure": failure,
        "orders": crawl_orders.listed(),
        "rhythms": RHYTHMS.items(),
    }
    return render(request, "console/crawls.html", context, status=422 if failure else 200)


def crawl(request: HttpRequest, number: int) -> HttpResponse:
    found = _found(number)
    if request.method == "POST":
        return redirect("crawl", _act(request, found.pk))
    counts = found.counts
    scope, events = found.options.get("scope", {}), queries.events(found.pk)
    context = {
        **_live(found),
        "seeds": found.seeds[:20],
        "more_seeds": max(0, len(found.seeds) - 20),
        "scope": SCOPES.get(scope.get("kind", ""), scope.get("kind", "")),
        "excluded": scope.get("exclude", ()),
        "standing": found.fingerprint == STANDING,
        "subscription": watch.subscription_of(found.pk) if found.fingerprint == STANDING else None,
        "held": queries.held(found.pk),
        "reasons": _most(counts.get("reasons", {})),
        "notes": _most(counts.get("notes", {})),
        "states": _states(),
        "events": [(event, EVENTS.get(event.what, event.what)) for event in events],
        "resumed": _has_earlier_runs([event.what for event in events]),
    }
    return render(request, "console/crawl.html", context)


@never_cache
def crawl_live(request: HttpRequest, number: int) -> HttpResponse:
    """The part of a crawl's page that is asked for every two seconds while it runs; at its end the content of the
    page is."""
    found = _found(number)
    ended = found.state != Crawl.State.RUNNING
    return render(request, "console/crawl_live.html", {**_live(found), "was_live": ended})


def crawl_pages(request: HttpRequest, number: int) -> HttpResponse:
    """The pages of a crawl one by one, with what became of each and why."""
    found = _found(number)
    name, host = request.GET.get("state", ""), request.GET.get("host", "").strip()
    state = STATES[name][0] if name in STATES else None
    before = number_in(request.GET.get("before", ""), 0)
    visits = queries.visits(VISITS + 1, before=before or None, state=state, host=host, crawl=found.pk)
    context = {
        "crawl": found,
        "visits": [(visit, *_state_of(visit.state)) for visit in visits[:VISITS]],
        "older": visits[VISITS - 1].pk if len(visits) > VISITS else 0,
        "states": _states(),
        "state": name if state is not None else "",
        "host": host,
    }
    return render(request, "console/crawl_pages.html", context)


@never_cache
def workers(request: HttpRequest) -> HttpResponse:
    """The processes of `hemeroteca serve`: what runs where, stopped and started; jobs at work, and how many may be."""
    actor = Actor.of(request.user)
    if request.method == "POST":
        require(actor, "instance.operate")
        verb, name = request.POST.get("do", ""), request.POST.get("process", "")
        known = {one.facts.name for one in processes.processes(settings.INSTANCE)}
        if verb in processes.VERBS and name in known and settings.INSTANCE.order(verb, name):
            audit.note(actor, "process ordered", name, verb)
            messages.success(request, _("Ordered for %(process)s; it takes some seconds.") % {"process": name})
        else:
            messages.error(request, _("There is no such process; it may have ended just now."))
        return redirect("workers")
    found = processes.processes(settings.INSTANCE)
    shown = [
        (one, PROCESSES.get(one.facts.name.partition("-")[0], ""), PROCESS_STATES.get(one.facts.state, ""))
        for one in found
    ]
    counts = job_queries.counted(actor)
    context = {
        "processes": shown,
        "running": [jobs.shown(actor, job) for job in job_queries.recent(actor, 20, state="running")],
        "queued": counts["queued"],
        "limits": sorted(job_queries.limits().items()),
        "at_once": settings.CONFIG.job_processes,
    }
    part = "workers_live" if request.headers.get("HX-Request") else "workers"
    return render(request, f"console/{part}.html", context)


def logs(request: HttpRequest) -> HttpResponse:
    """What the processes said, the newest first."""
    process, words = (request.GET.get(name, "").strip()[:200] for name in ("process", "q"))
    lines = processes.log_lines(settings.INSTANCE, LOG_LINES, process, words)
    context = {"lines": lines, "process": process, "q": words, "names": PROCESSES, "folder": settings.INSTANCE.log_dir}
    return render(request, "console/logs.html", context)


def storage(request: HttpRequest) -> HttpResponse:
    counts = overview.now().status
    found, days = stats.stats(), stats.daily()
    rows = [{"day": iso(ms)[:10], "bytes": size / 1e6, "captures": captures} for ms, captures, size in days]
    year = next((growth.bytes for growth in found.growth if growth.days == 365), 0)
    left = int(counts.free_bytes / (year / 365)) if year else None
    context = {
        "status": counts,
        "stats": found,
        "chart": charts.spec(rows, "day", "bytes", titles=(_("Day"), _("Megabytes")), unit="yearmonthdate")
        if rows
        else None,
        "growth": found.growth,
        "days_left": left if left is not None and left < 36_500 else None,
        "saved": found.repeated_bytes,
    }
    return render(request, "console/storage.html", context)


def backups(request: HttpRequest) -> HttpResponse:
    actor = Actor.of(request.user)
    target, failure = "", ""
    if request.method == "POST":
        target = request.POST.get("target", "").strip()
        try:
            if not target.startswith("/"):
                raise Invalid(_("Write the whole path of a folder on the server, beginning with “/”."))
            return redirect("job", job_services.submit(actor, "instance.backup", {"target": target}).pk)
        except Refused as error:
            failure = str(error)
    found = job_queries.recent(actor, BACKUPS, kind="instance.backup")
    made = [(jobs.shown(actor, job), job.arguments.get("target", ""), job.result or {}) for job in found]
    context = {"backups": made, "target": target, "failure": failure, "data": settings.INSTANCE.data}
    return render(request, "console/backups.html", context, status=422 if failure else 200)


def instance_settings(request: HttpRequest) -> HttpResponse:
    """Every setting with its value; they are changed in a file, so that a break-in here changes none."""
    rows = []
    for name, default, purpose in config.describe():
        value = config.shown(name, getattr(settings.CONFIG, name))
        text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        size = filesizeformat(value) if name.endswith("_bytes") and isinstance(value, int) and value >= 1024 else ""
        rows.append((name, text, default.removeprefix("()"), size, _(purpose), str(value) != default))
    changed = sum(row[-1] for row in rows)
    file = config.file_in_force()
    context = {"settings": rows, "changed": changed, "file": file and file.absolute(), "place": Path.cwd()}
    return render(request, "console/settings.html", context)


def _found(number: int) -> Crawl:
    found = queries.crawl(number) if number < 1 << 63 else None
    if found is None:
        raise NotFound(_("There is no crawl %(number)d.") % {"number": number})
    return found


def _live(found: Crawl) -> dict[str, Any]:
    """What changes while a crawl runs."""
    counts = found.counts
    return {
        "crawl": found,
        "figures": [
            (_("pages"), _count(counts.get("pages"))),
            (_("versions kept"), _count(counts.get("versions"))),
            (_("unchanged"), _count(counts.get("unchanged"))),
            (_("failed"), _count(counts.get("failed"))),
            (_("in the queue"), _count(counts.get("queued"))),
            (_("received"), _size(counts.get("bytes"))),
            (_("pages per second"), number_format(counts.get("pages_per_second", 0.0), decimal_pos=1)),
        ],
        "latest": [(visit, *_state_of(visit.state)) for visit in _latest(found)],
        "captured": _captured(found),
        "hosts": _hosts(found),
        "now_ms": int(time.time() * 1000),
    }


def _has_earlier_runs(log: list[str]) -> bool:
    """Whether it was stopped before it last began; one that was killed goes on with the same run. The last is first."""
    return "began" in log and "stopped" in log[log.index("began") :]


def _captured(found: Crawl) -> list[Any]:
    """What it captured last, of the last captures of all."""
    if found.state != Crawl.State.RUNNING:
        return []
    return archive.rows(
        "capture.id > %s AND crawl_id = %s AND urlkey NOT LIKE 'urn:%%'",
        [archive.last_id() - 5000, found.pk],
        "capture.id DESC",
        12,
    )


def _hosts(found: Crawl) -> list[Any]:
    """Where its queue is longest."""
    few = found.counts.get("queued", 0) < MANY_QUEUED
    if found.state != Crawl.State.RUNNING or not few:
        return []
    return [(host, number, host.delay_ms / 1000) for host, number in queries.queued_hosts(found.pk)]


def _latest(found: Crawl) -> list[Any]:
    """The last addresses that ended without their page: what a person wants to know of first."""
    failed = queries.visits(5, state=State.FAILED, crawl=found.pk)
    return failed + queries.visits(3, state=State.EXCLUDED, crawl=found.pk)


def _states() -> list[tuple[str, Any]]:
    return [(name, label) for name, (_, label) in STATES.items()]


def _state_of(state: int) -> tuple[str, Any]:
    return next((name, label) for name, (value, label) in STATES.items() if value == state)


def _act(request: HttpRequest, number: int) -> int:
    """Do what a button of a crawl's page says; the crawl to show then."""
    actor, given = Actor.of(request.user), request.POST
    try:
        match given.get("do"):
            case "stop":
                services.stop_crawl(actor, number)
            case "resume":
                services.resume_crawl(actor, number)
            case "again":
                return services.run_again(actor, number).pk
            case "exclude":
                left_out = services.exclude(actor, number, given.get("expression", ""))
                text = ngettext(
                    "Left out from now on; %(number)s address left the queue.",
                    "Left out from now on; %(number)s addresses left the queue.",
                    left_out,
                )
                messages.success(request, text % {"number": _count(left_out)})
            case "take":
                taken = services.take_held(actor, number, given.get("host", ""), given.get("reason", ""))
                settings.INSTANCE.wake("engine")
                shown = {"number": _count(taken)}
                messages.success(request, _("%(number)s addresses that were held back are in the queue.") % shown)
    except (Conflict, Invalid) as error:
        messages.error(request, str(error))
    return number


def _most(counts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: -item[1])[:50]


def _submit(actor: Actor, form: dict[str, str]) -> Crawl:
    return services.submit_crawl(actor, form["seeds"].splitlines(), _options(form))[0]


def _keep(actor: Actor, form: dict[str, str]) -> CrawlOrder:
    if form["every"] not in RHYTHMS:
        raise Invalid(_("“%(text)s” is not a whole number.") % {"text": form["every"][:40]})
    hours = float(form["every"] or 0)
    return crawl_orders.save(actor, form["name"], form["seeds"].splitlines(), _options(form), hours)


def _options(form: dict[str, str]) -> CrawlOptions:
    numbers = {name: whole_number(form[name]) for name in ("limit", "depth")}
    for name, number in numbers.items():
        if form[name] and number is None:
            raise Invalid(_("“%(text)s” is not a whole number.") % {"text": form[name][:40]})
    if form["scope"] not in SCOPES:
        raise Invalid(f"scope {form['scope']!r} is none of {', '.join(SCOPES)}")
    depth, limit = numbers["depth"], numbers["limit"]
    left_out = tuple(line.strip() for line in form["exclude"].splitlines() if line.strip())
    scope = urls.Scope(
        kind=form["scope"],  # type: ignore[arg-type]  # looked up in SCOPES just above
        depth=depth,
        exclude=left_out,
    )
    return CrawlOptions(scope=scope, limit=limit)


def _overview() -> dict[str, Any]:
    counts, engine, pace = overview.now()
    return {
        "status": counts,
        "engine": engine,
        "pace": pace,
        "queued": counts.pages["queued"],
        "running": [crawl for crawl in counts.crawls if crawl.state == "running"],
        "troubles": engine.troubles[-1:-9:-1] if engine else [],
    }


SECTION = Section(
    "operations",
    gettext_lazy("Operations"),
    (
        ConsolePage("status", "status", status, "instance.status"),
        ConsolePage("status/live", "status-live", status_live, "instance.status"),
        ConsolePage("crawls", "crawls", crawls, "crawl.read", "crawl.submit"),
        ConsolePage("crawls/<int:number>", "crawl", crawl, "crawl.read", "crawl.stop"),
        ConsolePage("crawls/<int:number>/live", "crawl-live", crawl_live, "crawl.read"),
        ConsolePage("crawls/<int:number>/pages", "crawl-pages", crawl_pages, "crawl.read"),
        ConsolePage("jobs", "jobs", jobs.jobs, "job.submit"),
        ConsolePage("jobs/<int:number>", "job", jobs.job, "job.submit", "job.submit"),
        ConsolePage("jobs/<int:number>/progress", "job-progress", jobs.progress, "job.submit"),
        ConsolePage("workers", "workers", workers, "instance.operate", "instance.operate"),
        ConsolePage("logs", "logs", logs, "instance.operate"),
        ConsolePage("storage", "storage", storage, "instance.status"),
        ConsolePage("backups", "backups", backups, "instance.backup", "instance.backup"),
        ConsolePage("settings", "settings", instance_settings, "instance.operate"),
    ),
    (
        ("status", gettext_lazy("Status")),
        ("crawls", gettext_lazy("Crawls")),
        ("jobs", gettext_lazy("Jobs")),
        ("workers", gettext_lazy("Processes")),
        ("logs", gettext_lazy("Logs")),
        ("storage", gettext_lazy("Storage")),
        ("backups", gettext_lazy("Backups")),
        ("settings", gettext_lazy("Settings")),
    ),
)

"""Operations: the status, and crawls: ordered, watched, stopped and resumed."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from hemeroteca import urls
from hemeroteca.accounts import Actor
from hemeroteca.console import jobs
from hemeroteca.console.search import number_in
from hemeroteca.console.section import Page, Section
from hemeroteca.console.templatetags.console import count as _count
from hemeroteca.engine import overview
from hemeroteca.errors import Conflict, Invalid, NotFound
from hemeroteca.frontier import queries, services
from hemeroteca.frontier.models import STANDING, Crawl
from hemeroteca.ingest.rules import CrawlOptions

CRAWLS = 50
SCOPES = {
    "host": gettext_lazy("The whole host"),
    "prefix": gettext_lazy("What begins like the address"),
    "domain": gettext_lazy("The domain with its subdomains"),
    "page": gettext_lazy("Only these pages"),
}


@require_safe
def status(request: HttpRequest) -> HttpResponse:
    return render(request, "console/status.html", _overview())


@require_safe
@never_cache
def status_live(request: HttpRequest) -> HttpResponse:
    """The part of the status page that is asked for every two seconds."""
    return render(request, "console/status_live.html", _overview())


@require_http_methods(["GET", "HEAD", "POST"])
def crawls(request: HttpRequest) -> HttpResponse:
    form = {"seeds": "", "scope": "host", "limit": "", "depth": ""}
    failure = ""
    if request.method == "POST":
        form |= {name: request.POST.get(name, "").strip() for name in form}
        try:
            return redirect("crawl", _submit(Actor.of(request.user), form).pk)
        except Invalid as error:
            failure = str(error)
    before = number_in(request.GET.get("before", ""), 0)
    found = queries.crawls(CRAWLS + 1, before or None)
    context = {
        "crawls": found[:CRAWLS],
        "older": found[CRAWLS - 1].pk if len(found) > CRAWLS else 0,
        "scopes": SCOPES.items(),
        "form": form,
        "failure": failure,
    }
    return render(request, "console/crawls.html", context, status=422 if failure else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def crawl(request: HttpRequest, number: int) -> HttpResponse:
    found = queries.crawl(number) if number < 1 << 63 else None
    if found is None:
        raise NotFound(_("There is no crawl %(number)d.") % {"number": number})
    if request.method == "POST":
        _act(request, found.pk)
        return redirect("crawl", number)
    counts = found.counts
    scope = found.options.get("scope", {})
    context = {
        "crawl": found,
        "figures": [
            (_("pages"), _count(counts.get("pages"))),
            (_("versions kept"), _count(counts.get("versions"))),
            (_("unchanged"), _count(counts.get("unchanged"))),
            (_("failed"), _count(counts.get("failed"))),
            (_("in the queue"), _count(counts.get("queued"))),
            (_("received"), filesizeformat(counts.get("bytes", 0))),
        ],
        "seeds": found.seeds[:20],
        "more_seeds": max(0, len(found.seeds) - 20),
        "scope": SCOPES.get(scope.get("kind", ""), scope.get("kind", "")),
        "standing": found.fingerprint == STANDING,
        "held": queries.held(found.pk),
        "reasons": _most(counts.get("reasons", {})),
        "notes": _most(counts.get("notes", {})),
    }
    return render(request, "console/crawl.html", context)


def _act(request: HttpRequest, number: int) -> None:
    actor, given = Actor.of(request.user), request.POST
    try:
        match given.get("do"):
            case "stop":
                services.stop_crawl(actor, number)
            case "resume":
                services.resume_crawl(actor, number)
            case "take":
                taken = services.take_held(actor, number, given.get("host", ""), given.get("reason", ""))
                settings.INSTANCE.wake("engine")
                shown = {"number": _count(taken)}
                messages.success(request, _("%(number)s addresses that were held back are in the queue.") % shown)
    except Conflict as error:
        messages.error(request, str(error))


def _most(counts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: -item[1])[:50]


def _submit(actor: Actor, form: dict[str, str]) -> Crawl:
    for name in ("limit", "depth"):
        if form[name] and not form[name].isdecimal():
            raise Invalid(_("“%(text)s” is not a whole number.") % {"text": form[name][:40]})
    if form["scope"] not in SCOPES:
        raise Invalid(f"scope {form['scope']!r} is none of {', '.join(SCOPES)}")
    depth, limit = (int(form[name]) if form[name] else None for name in ("depth", "limit"))
    scope = urls.Scope(kind=form["scope"], depth=depth)  # type: ignore[arg-type]  # looked up in SCOPES just above
    return services.submit_crawl(actor, form["seeds"].splitlines(), CrawlOptions(scope=scope, limit=limit))[0]


def _overview() -> dict[str, Any]:
    counts, engine, pace = overview.now()
    return {
        "status": counts,
        "engine": engine,
        "pace": pace,
        "queued": engine.queued if engine else counts.pages["queued"],
        "running": [crawl for crawl in counts.crawls if crawl.state == "running"],
        "troubles": engine.troubles[-1:-9:-1] if engine else [],
    }


SECTION = Section(
    "operations",
    gettext_lazy("Operations"),
    (
        Page("status", "status", status, "instance.status"),
        Page("status/live", "status-live", status_live, "instance.status"),
        Page("crawls", "crawls", crawls, "crawl.read", "crawl.submit"),
        Page("crawls/<int:number>", "crawl", crawl, "crawl.read", "crawl.stop"),
        Page("jobs", "jobs", jobs.jobs, "job.submit"),
        Page("jobs/<int:number>", "job", jobs.job, "job.submit", "job.submit"),
        Page("jobs/<int:number>/progress", "job-progress", jobs.progress, "job.submit"),
    ),
    (
        ("status", gettext_lazy("Status")),
        ("crawls", gettext_lazy("Crawls")),
        ("jobs", gettext_lazy("Jobs")),
    ),
)

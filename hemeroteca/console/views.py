"""One function per page. They ask the rooms below and fill a template; nothing is decided here."""

import re
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from pydantic import ValidationError

from hemeroteca.accounts import Actor, can
from hemeroteca.accounts import services as accounts
from hemeroteca.api import standing
from hemeroteca.api.crawls import Order, submit_order
from hemeroteca.console.access import for_readers
from hemeroteca.console.templatetags.console import count as _count
from hemeroteca.errors import Refused
from hemeroteca.frontier import queries as frontier
from hemeroteca.frontier import services as frontier_services

CRAWLS = 50
SCOPES = {
    "host": gettext_lazy("The whole host"),
    "prefix": gettext_lazy("What begins like the address"),
    "domain": gettext_lazy("The domain with its subdomains"),
    "page": gettext_lazy("Only these pages"),
}


@require_safe
@for_readers
def status(request: HttpRequest) -> HttpResponse:
    return render(request, "console/status.html", _standing())


@require_safe
@never_cache
@for_readers
def status_live(request: HttpRequest) -> HttpResponse:
    """The part of the status page that is asked for every two seconds."""
    return render(request, "console/status_live.html", _standing())


@require_http_methods(["GET", "HEAD", "POST"])
@for_readers
def crawls(request: HttpRequest) -> HttpResponse:
    form = {"seeds": "", "scope": "host", "limit": "", "depth": ""}
    failure = ""
    if request.method == "POST":
        caller = editor(request)
        form |= {name: request.POST.get(name, "").strip() for name in form}
        try:
            order = Order.model_validate(
                {**form, "seeds": form["seeds"].split(), "limit": form["limit"] or None, "depth": form["depth"] or None}
            )
            return redirect("crawl", submit_order(order, caller).pk)
        except Refused as error:
            failure = str(error)
        except ValidationError as error:
            failure = "; ".join(f"{item['loc'][0]}: {item['msg']}" for item in error.errors()[:3])
    before = number_in(request.GET.get("before", ""), 0)
    found = frontier.crawls(CRAWLS + 1, before or None)
    context = {
        "crawls": found[:CRAWLS],
        "older": found[CRAWLS - 1].pk if len(found) > CRAWLS else 0,
        "scopes": SCOPES.items(),
        "form": form,
        "failure": failure,
    }
    return render(request, "console/crawls.html", context, status=422 if failure else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@for_readers
def crawl(request: HttpRequest, number: int) -> HttpResponse:
    found = frontier.crawl(number) if number < 1 << 63 else None
    if found is None:
        raise Http404(_("There is no crawl %(number)d.") % {"number": number})
    if request.method == "POST":
        actor = editor(request)
        act = {"stop": frontier_services.stop_crawl, "resume": frontier_services.resume_crawl}
        if request.POST.get("do") in act:
            try:
                act[request.POST["do"]](actor, found.pk)
            except Refused as error:
                messages.error(request, str(error))
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
        "reasons": sorted(counts.get("reasons", {}).items(), key=lambda item: -item[1])[:50],
    }
    return render(request, "console/crawl.html", context)


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    target = (request.POST if request.method == "POST" else request.GET).get("next", "")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        target = settings.LOGIN_REDIRECT_URL
    context: dict[str, Any] = {"next": target}
    if request.method == "POST":
        name = request.POST.get("name", "")
        try:
            user = accounts.sign_in(request, name, request.POST.get("password", ""), request.META["REMOTE_ADDR"])
        except accounts.SignInRefused as error:
            return render(request, "console/sign_in.html", context | {"failure": str(error), "name": name}, status=403)
        login(request, user)
        return redirect(target)
    return render(request, "console/sign_in.html", context)


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    """Crawlers are welcome at the first page: results and copies have no end, and are others' pages once more."""
    return HttpResponse("User-agent: *\nAllow: /$\nAllow: /static/\nDisallow: /\n", content_type="text/plain")


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("search")


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _error(request, 400, _("That request was not understood"), "")


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _error(request, 403, _("That is not allowed"), str(exception or ""))


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    told = isinstance(exception, Http404) and exception.args and isinstance(exception.args[0], str)
    return _error(request, 404, _("There is nothing here"), str(exception) if told else "")


def failed(request: HttpRequest) -> HttpResponse:
    return HttpResponse("The server failed at this; its log says why.\n", status=500, content_type="text/plain")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _error(
        request, 403, _("That is not allowed"), _("The form was too old. Go back, reload the page and send it again.")
    )


def _error(request: HttpRequest, status: int, heading: str, detail: str) -> HttpResponse:
    return render(request, "console/error.html", {"heading": heading, "detail": detail}, status=status)


def _standing() -> dict[str, Any]:
    counts, engine, pace = standing.now()
    return {
        "status": counts,
        "engine": engine,
        "pace": pace,
        "queued": engine.queued if engine else counts.pages["queued"],
        "running": [crawl for crawl in counts.crawls if crawl.state == "running"],
        "troubles": engine.troubles[-1:-9:-1] if engine else [],
    }


def editor(request: HttpRequest) -> Actor:
    """Whoever asks, when they may change things."""
    actor = Actor.of(request.user)
    if can(actor, "crawl.submit"):
        return actor
    raise PermissionDenied(_("This needs the role of an editor."))


def number_in(text: str, default: int) -> int:
    """A whole number from 1 on as a form or address gives it."""
    return int(text) if re.fullmatch(r"[1-9][0-9]{0,15}", text) else default

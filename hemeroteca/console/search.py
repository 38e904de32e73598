"""Search: the first page, its results, the searches people saved, the hosts they judged."""

import re
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from hemeroteca.accounts import Actor, can
from hemeroteca.accounts import services as accounts
from hemeroteca.archive import queries as archive
from hemeroteca.console.middleware import display_of
from hemeroteca.console.results import SORTS, Asked, ResultsPart, explanation, found_for, translated
from hemeroteca.console.section import ConsolePage, Section
from hemeroteca.errors import Invalid, NotFound, Unavailable
from hemeroteca.search import portal
from hemeroteca.search.index.version_index import has_versions
from hemeroteca.search.query.clauses import Note
from hemeroteca.watch import queries as watch
from hemeroteca.watch import saved_searches

NEWS = 6  # of each kind on the first page
MAX_QUERY = 2000  # characters of a query: it stands in every link of the page
_CUT = Note("only the first {number} characters of the query were read", number=MAX_QUERY)


def search(request: HttpRequest) -> HttpResponse:
    sort = request.GET.get("sort", "")
    asked = Asked(
        query=request.GET.get("q", "").strip()[:MAX_QUERY],
        sort=sort if sort in SORTS else "relevance",
        past=request.GET.get("versions") == "1",
        each=request.GET.get("each") == "1",
    )
    if {"from", "to"} & request.GET.keys():  # the fields for dates: days stand in the query from now on, or no more
        days = [_day(request.GET.get(name, "")) for name in ("from", "to")]
        words = re.sub(r"(?<!\S)(?:date|fecha):\S+", "", asked.query).split()
        words += [f"date:{days[0]}..{days[1]}"] if any(days) else []
        return HttpResponseRedirect(replace(asked, query=" ".join(words)[:MAX_QUERY]).link())
    display = display_of(request)
    number = number_in(request.GET.get("p", ""), 1)
    cursor = request.GET.get("cursor", "")[:10_000]
    context: dict[str, Any] = {
        "query": asked.query,
        "asked": asked,
        "has_past": has_versions(settings.INSTANCE.index_dir),
        "live_first": display.opens_live(settings.CONFIG.title_opens_live),
        "demo": settings.CONFIG.demo,
    }
    try:
        if not asked.query:
            context["documents"] = portal.searcher().index.count()
            context |= _news(Actor.of(request.user))
        else:
            context |= found_for(
                Actor.of(request.user), asked, ResultsPart(number, cursor, display.page_size), _languages(request)
            )
            context |= _menu(request)
            if len(request.GET["q"].strip()) > MAX_QUERY:
                context["notes"] += translated([_CUT])
            if context["found"].total and number == 1:
                portal.note(Actor.of(request.user), asked.query)
    except Unavailable as error:
        context["failure"] = str(error)
    return render(request, "console/search.html", context)


@never_cache
def completions(request: HttpRequest) -> HttpResponse:
    """What the search box offers while somebody types: the options of its list."""
    found = portal.completions(Actor.of(request.user), request.GET.get("q", "")[:200])
    return HttpResponse(format_html_join("", '<option value="{}">', ((text,) for text in found)))


def explain(request: HttpRequest) -> HttpResponse:
    """Why a result stands where it does."""
    query, url = request.GET.get("q", "").strip()[:2000], request.GET.get("url", "").strip()[:4096]
    context: dict[str, Any] = {"query": query, "url": url}
    try:
        context |= explanation(portal.explain(Actor.of(request.user), query, url, _languages(request)))
    except (NotFound, Unavailable) as error:
        context["failure"] = str(error)
    return render(request, "console/explain.html", context, status=404 if "failure" in context else 200)


def saved(request: HttpRequest) -> HttpResponse:
    """The searches whose new results are told."""
    form = {"query": request.GET.get("q", "")[:2000], "name": "", "channel": ""}
    failure = ""
    if request.method == "POST":
        actor = Actor.of(request.user)
        form = {name: request.POST.get(name, "").strip() for name in form}
        try:
            if forget := number_in(request.POST.get("forget", ""), 0):
                saved_searches.remove(actor, forget)
            else:
                made = saved_searches.save(actor, form["query"], form["name"], number_in(form["channel"], 0) or None)
                messages.success(request, _("You will be told when something new matches “%s”.") % made.name)
                for note in translated(saved_searches.ignored(made.query)):
                    messages.warning(request, note)
            return redirect("saved")
        except (Invalid, NotFound, Unavailable) as error:
            failure = str(error)
    rows = [{"saved": row, "feed": saved_searches.feed_path(row.query)} for row in saved_searches.saved()]
    channels = watch.channels()
    context = {"searches": rows, "channels": channels, "form": form, "failure": failure}
    return render(request, "console/saved.html", context, status=422 if failure else 200)


def history(request: HttpRequest) -> HttpResponse:
    """What whoever looks asked lately; it can be erased."""
    actor = Actor.of(request.user)
    if request.method == "POST":
        portal.forget_history(actor)
        messages.success(request, _("Your searches were erased."))
        return redirect("history")
    return render(request, "console/history.html", {"queries": portal.history(actor)})


def preferences(request: HttpRequest) -> HttpResponse:
    """The hosts somebody judged; a result's menu sends its judgement here."""
    actor = Actor.of(request.user)
    failure = ""
    if request.method == "POST":
        host, given = request.POST.get("host", "")[:300], request.POST.get("factor", "")
        try:
            portal.prefer(actor, host, float(given) if given else None)
            messages.success(request, _judged(host, given))
            back = request.POST.get("next", "")
            local = url_has_allowed_host_and_scheme(back, {request.get_host()}, request.is_secure())
            return HttpResponseRedirect(back if local else reverse("preferences"))
        except (Invalid, ValueError) as error:
            failure = str(error)
    try:
        judged = portal.preferences(actor)
        context = {"boosts": sorted(judged.boosts.items()), "blocks": sorted(judged.blocks), "failure": failure}
    except Unavailable as error:
        context = {"failure": str(error)}
    return render(request, "console/preferences.html", context, status=422 if failure else 200)


def _menu(request: HttpRequest) -> dict[str, Any]:
    """What the menus of results share: where their forms lead, as far as whoever looks may send them, and back."""
    actor = Actor.of(request.user)
    hidden = (("csrfmiddlewaretoken", get_token(request)), ("next", request.get_full_path()))
    return {
        "may_keep": reverse("favourites") if actor.user else "",
        "may_prefer": reverse("preferences") if can(actor, "search.prefer") else "",
        "back": format_html_join("", '<input type="hidden" name="{}" value="{}">', hidden),
    }


def _news(actor: Actor) -> dict[str, Any]:
    """What came lately, as far as whoever looks may see it."""
    news: dict[str, Any] = {}
    if can(actor, "archive.read"):
        news["captures"] = archive.newest_pages(NEWS)
    if can(actor, "watch.read"):
        news["changes"] = watch.changes(NEWS)
    if actor.user and can(actor, "account.favourites"):
        news["favourites"] = accounts.favourites(actor)[:NEWS]
    if can(actor, "search.saved"):
        told = [row for row in saved_searches.saved() if row.found]
        news["told"] = sorted(told, key=lambda row: -row.found_ms)[:NEWS]
    return news


def _day(text: str) -> str:
    """A day as a field for dates sends it; empty for anything else."""
    return text if re.fullmatch(r"[12]\d{3}-[01]\d-[0-3]\d", text) else ""


def _languages(request: HttpRequest) -> tuple[str, ...]:
    return portal.reader_languages(request.headers.get("Accept-Language", ""), get_language())


def number_in(text: str, default: int) -> int:
    """A whole number from 1 on as a form or address gives it."""
    return int(text) if re.fullmatch(r"[1-9][0-9]{0,15}", text) else default


def _judged(host: str, given: str) -> str:
    if not given:
        return _("%s is judged like any other host again.") % host
    if float(given) == 0:
        return _("Results of %s are not shown any more.") % host
    if float(given) > 1:
        return _("Results of %s come earlier from now on.") % host
    return _("Results of %s come later from now on.") % host


SECTION = Section(
    "search",
    gettext_lazy("Search"),
    (
        ConsolePage("", "search", search, "search.read"),
        ConsolePage("suggest/options", "completions", completions, "search.read"),
        ConsolePage("explain", "explain", explain, "search.read"),
        ConsolePage("searches", "saved", saved, "search.saved", "search.save"),
        ConsolePage("history", "history", history, "search.history", "search.history"),
        ConsolePage("preferences", "preferences", preferences, "search.preferences", "search.prefer"),
    ),
    (
        ("search", gettext_lazy("Search")),
        ("saved", gettext_lazy("Saved searches")),
        ("history", gettext_lazy("Your searches")),
        ("preferences", gettext_lazy("Preferred hosts")),
    ),
)

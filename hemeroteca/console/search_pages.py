"""Search: the first page, its results, and the searches people saved."""

import re
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.html import format_html_join
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from hemeroteca.api import search as search_api
from hemeroteca.api.search import index, index_for, options, readers_languages
from hemeroteca.archive import queries as archive
from hemeroteca.console.access import for_readers
from hemeroteca.console.views import editor, number_in
from hemeroteca.frontier import queries as frontier
from hemeroteca.frontier.models import Page
from hemeroteca.search import Hit, SearchError
from hemeroteca.search.asked import note_query
from hemeroteca.search.notes import Note
from hemeroteca.search.versions import has_versions
from hemeroteca.watch import queries as watch
from hemeroteca.watch import searches
from hemeroteca.watch.services import WatchError

RESULTS = 10
FACET_VALUES = 6
FACETS = {
    "host": (gettext_lazy("Host"), "host:{}"),
    "language": (gettext_lazy("Language"), "lang:{}"),
    "type": (gettext_lazy("Type"), "filetype:{}"),
    "year": (gettext_lazy("Year"), "date:{}"),
    "collection": (gettext_lazy("Collection"), 'collection:"{}"'),
}
SORTS = {
    "relevance": gettext_lazy("Best first"),
    "newest": gettext_lazy("Newest first"),
    "oldest": gettext_lazy("Oldest first"),
}


@require_GET
@for_readers
def search(request: HttpRequest) -> HttpResponse:
    query = request.GET.get("q", "").strip()[:2000]
    number = number_in(request.GET.get("p", ""), 1)
    sort = request.GET.get("sort", "")
    past = request.GET.get("versions") == "1"
    cursor = request.GET.get("cursor", "")[:10_000]
    context: dict[str, Any] = {
        "query": query,
        "first": (number - 1) * RESULTS + 1,
        "sorts": SORTS.items(),
        "sort": sort if sort in SORTS else "relevance",
        "past": past,
        "has_past": has_versions(settings.INSTANCE.index_dir),
    }
    try:
        if not query:
            context["documents"] = index().count()
        else:
            context |= _found(query, number, context["sort"], past, readers_languages(request, get_language()), cursor)
            if context["found"].total and number == 1 and request.user.is_authenticated:  # strangers teach nothing
                note_query(settings.INSTANCE.index_dir, query, request.user.pk)
    except SearchError as error:
        context["failure"] = str(error)
    return render(request, "console/search.html", context)


@require_GET
@never_cache
@for_readers
def completions(request: HttpRequest) -> HttpResponse:
    """What the search box offers while somebody types: the options of its list."""
    found = search_api.completions(request.GET.get("q", "")[:200], request.user)
    return HttpResponse(format_html_join("", '<option value="{}">', ((text,) for text in found)))


@require_http_methods(["GET", "HEAD", "POST"])
@for_readers
def saved(request: HttpRequest) -> HttpResponse:
    """The searches whose new results are told."""
    form = {"query": request.GET.get("q", "")[:2000], "name": "", "channel": ""}
    failure = ""
    if request.method == "POST":
        user = editor(request).user
        form = {name: request.POST.get(name, "").strip() for name in form}
        try:
            if forget := number_in(request.POST.get("forget", ""), 0):
                searches.remove(forget)
            else:
                made = searches.save(form["query"], form["name"], number_in(form["channel"], 0) or None, user)
                messages.success(request, _("You will be told when something new matches “%s”.") % made.name)
            return redirect("saved")
        except (WatchError, SearchError) as error:
            failure = str(error)
    rows = searches.saved()
    channels = watch.channels()
    context = {"searches": rows, "channels": channels, "form": form, "failure": failure}
    return render(request, "console/saved.html", context, status=422 if failure else 200)


def _found(query: str, number: int, sort: str, past: bool, languages: tuple[str, ...], cursor: str) -> dict[str, Any]:
    wanted = options(sort=sort, facets=number == 1, languages=languages)
    asked = index_for(query, past or None)
    # the cursor of the page before knows what was shown, so that nothing comes twice while pages come in
    found = asked.search(query, limit=RESULTS, offset=(number - 1) * RESULTS, cursor=cursor, options=wanted)
    known = frontier.pages_by_key(hit.page or hit.key for hit in found.hits)
    return {
        "found": found,
        "notes": [note.said(_(note.template)) if isinstance(note, Note) else note for note in found.notes],
        "previous": number - 1,
        "next": number + 1 if found.cursor else 0,
        "results": [_result(query, hit, known.get(hit.page or hit.key)) for hit in found.hits],
        "facets": _facets(query, found.facets),
        "of_all_versions": asked is not index(),
    }


def _facets(query: str, found: dict[str, list[tuple[str, int]]]) -> list[dict[str, Any]]:
    """What the results can be narrowed by, where there is a choice, each with the query that does it."""
    return [
        {
            "label": label,
            "values": [
                {"value": value, "count": number, "query": _narrowed(query, term.format(value.replace('"', "")))}
                for value, number in found.get(name, ())[:FACET_VALUES]
                if value
            ],
        }
        for name, (label, term) in FACETS.items()
        if sum(1 for value, _ in found.get(name, ()) if value) > 1
    ]


def _narrowed(query: str, term: str) -> str:
    return f"({query}) {term}" if re.search(r"\bOR\b|\|", query) else f"{query} {term}"


def _result(query: str, hit: Hit, page: Page | None) -> dict[str, Any]:
    """An older version leads to its own copy, anything else to the latest."""
    kept = archive.closest(hit.url, hit.captured_ms) if hit.until_ms else archive.latest(hit.url)
    return {
        "hit": hit,
        "capture": kept.record_id if kept else None,
        "page": page,
        "versions": page.versions if page else 0,
        "more": _narrowed(query, f"host:{hit.host}"),
    }

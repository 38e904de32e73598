"""Published collections as everybody reads them: at /c/NAME, with a look of their own.

These pages are for strangers. Each asks `Published.holds` of every capture it shows, and leads only to its own pages.
"""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from hemeroteca.accounts import STRANGER, can
from hemeroteca.archive import content, lookup
from hemeroteca.archive import queries as archive
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.archive.citation import cite
from hemeroteca.archive.selection import Selection
from hemeroteca.console import archive as archive_pages
from hemeroteca.console.section import ConsolePage, Section
from hemeroteca.errors import Invalid, NotFound, Refused
from hemeroteca.replay import addresses as replay_addresses
from hemeroteca.search import portal
from hemeroteca.search.query.query_filters import narrowed
from hemeroteca.warc.stored_record import WarcReadError
from hemeroteca.warc.timestamps import read_moment, timestamp
from hemeroteca.watch import publications
from hemeroteca.watch.publications import Published

SHOWN = 50
RECENT = 12
RESULTS = 20
LOOKED_AT = 100  # hits of a search that are asked whether they belong here


def front(request: HttpRequest, slug: str) -> HttpResponse:
    """What it is, its sites, what was captured last; results of a search in it."""
    found = publications.find(slug)
    query = request.GET.get("q", "").strip()[:500]
    context = _context(request, found) | {"q": query}
    if query:
        context["results"] = _search(found, query)
    else:
        context["sites"] = found.sites()
        newest = found.selection.newest(RECENT) if found.selection is not None else []
        context["recent"] = [(row, content.has_screenshot(row)) for row in newest]
    return render(request, "console/published.html", context)


def site(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The addresses of one of its sites, in the order of the index."""
    found = publications.find(slug)
    chosen = next((site for site in found.sites() if site.number == number), None)
    if chosen is None:
        raise NotFound(_("This page does not belong to the collection."))
    ranges = Selection((chosen.pattern,)).queries()
    rows = lookup.addresses(ranges, SHOWN + 1, request.GET.get("after", "")[:2000])
    context = _context(request, found) | {"site": chosen, "addresses": rows[:SHOWN]}
    if len(rows) > SHOWN:
        context["more"] = urlencode({"after": rows[SHOWN - 1].urlkey})
    return render(request, "console/published_site.html", context)


def versions(request: HttpRequest, slug: str) -> HttpResponse:
    """The versions of one of its pages."""
    found = publications.find(slug)
    url = request.GET.get("url", "").strip()[:8192]
    if not found.covers(url):
        raise NotFound(_("This page does not belong to the collection."))
    rows = [row for row in archive.versions_newest(url, SHOWN) if found.holds(row)]
    return render(request, "console/published_page.html", _context(request, found) | {"url": url, "captures": rows})


def capture(request: HttpRequest, slug: str, record_id: UUID) -> HttpResponse:
    """One of its captures: framed without scripts, with its text, dates and how to cite it."""
    found, row = _held(slug, record_id)
    context = _context(request, found) | {"capture": row, "is_html": row.mime in content.HTML}
    context["previous"] = _only(found, lookup.version_before(row))
    context["next"] = _only(found, lookup.version_after(row))
    title = ""
    try:
        document = content.text(row)
        title = document.title
        context["paragraphs"] = archive_pages.paragraphs(document)
    except (WarcReadError, Invalid) as error:
        context["failure"] = str(error)
    base = settings.CONFIG.public_url.rstrip("/") or f"{request.scheme}://{request.get_host()}"
    address = f"{base}{reverse('published-capture', args=[slug, row.record_id])}"
    context |= {"heading": title or row.url, "citation": cite(row, title, address, request.LANGUAGE_CODE[:2]).text}
    return render(request, "console/published_capture.html", context)


def copy(request: HttpRequest, slug: str, record_id: UUID) -> HttpResponse:
    return archive_pages.capture_copy(request, _held(slug, record_id)[1].record_id)


def picture(request: HttpRequest, slug: str, record_id: UUID) -> HttpResponse:
    return archive_pages.capture_picture(request, _held(slug, record_id)[1].record_id)


@never_cache
def replay(request: HttpRequest, slug: str, record_id: UUID) -> HttpResponseBase:
    """The page with its scripts, on replay's own origin; the door it opens is for this collection only."""
    found, row = _held(slug, record_id)
    origin = archive_pages.replay_origin(request, row)
    if not origin:
        return redirect("published-capture", slug, row.record_id)
    if can(STRANGER, "archive.read"):
        return redirect(replay_addresses.capture_address(origin, timestamp(row.captured_ms), row.url))
    key = replay_addresses.key_of(settings.SECRET_KEY)
    stamp = timestamp(row.captured_ms)
    return redirect(replay_addresses.entrance(origin, key, stamp, row.url, found.row.slug))


@never_cache
def at(request: HttpRequest, slug: str) -> HttpResponseBase:
    """`url` at a moment: where links of the replay bar lead."""
    found = publications.find(slug)
    url, asked = request.GET.get("url", "").strip()[:8192], request.GET.get("at", "")[:40]
    moment = read_moment(asked) if asked else None
    row = archive.closest(url, moment) if moment is not None else archive.latest(url)
    if row is None or not found.holds(row):
        raise NotFound(_("This page does not belong to the collection."))
    return redirect("published-capture", slug, row.record_id)


def look(request: HttpRequest, slug: str) -> HttpResponse:
    """Its colours, as a style sheet: pages carry no styles of their own."""
    colour = publications.find(slug).row.colour
    ink = "#fff" if _is_dark(colour) else "#111"
    text = f".published .cover {{ background: {colour}; color: {ink}; }}\n" if colour else ""
    return HttpResponse(text, content_type="text/css; charset=utf-8", headers={"Cache-Control": "no-cache"})


def cover(request: HttpRequest, slug: str) -> HttpResponse:
    found = publications.find(slug).row.picture
    if not found:
        raise NotFound(_("This collection has no picture."))
    return HttpResponse(bytes(found), content_type="image/png", headers={"Cache-Control": "no-cache"})


def _context(request: HttpRequest, found: Published) -> dict[str, Any]:
    return {"row": found.row, "slug": found.row.slug, "has_replay": bool(settings.CONFIG.replay_url)}


def _search(found: Published, query: str) -> list[dict[str, Any]]:
    """Hits of the collection. The condition narrows the query; what passes it by some trick is left out here."""
    name = found.collection.replace('"', " ")
    options = portal.reader_options(STRANGER, suggest=False)
    try:
        hits = portal.searcher().search(narrowed(query, f'collection:"{name}"'), LOOKED_AT, options=options).hits
    except Refused:
        return []
    shown = []
    for hit in hits:
        row = archive.latest(hit.url) if hit.url and found.covers(hit.url) else None
        if row is not None and found.holds(row):
            shown.append({"hit": hit, "capture": row})
    return shown[:RESULTS]


def _held(slug: str, record_id: UUID) -> tuple[Published, CaptureRow]:
    found, row = publications.find(slug), archive.by_record(record_id)
    if row is None or not found.holds(row):
        raise NotFound(_("This capture does not belong to the collection."))
    return found, row


def _only(found: Published, row: CaptureRow | None) -> CaptureRow | None:
    return row if found.holds(row) else None


def _is_dark(colour: str) -> bool:
    """Whether white letters are easier to read on it than black ones (WCAG contrast)."""
    if not colour:
        return False
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 1.05 / (light + 0.05) > (light + 0.05) / (0.0056 + 0.05)


SECTION = Section(
    "publications",
    "",
    (
        ConsolePage("c/<slug:slug>", "published", front, "watch.published"),
        ConsolePage("c/<slug:slug>/site/<int:number>", "published-site", site, "watch.published"),
        ConsolePage("c/<slug:slug>/page", "published-page", versions, "watch.published"),
        ConsolePage("c/<slug:slug>/at", "published-at", at, "watch.published"),
        ConsolePage("c/<slug:slug>/look.css", "published-look", look, "watch.published"),
        ConsolePage("c/<slug:slug>/cover.png", "published-cover", cover, "watch.published"),
        ConsolePage("c/<slug:slug>/v/<uuid:record_id>", "published-capture", capture, "watch.published"),
        ConsolePage("c/<slug:slug>/v/<uuid:record_id>/copy", "published-copy", copy, "watch.published"),
        ConsolePage("c/<slug:slug>/v/<uuid:record_id>/picture", "published-picture", picture, "watch.published"),
        ConsolePage("c/<slug:slug>/v/<uuid:record_id>/replay", "published-replay", replay, "watch.published"),
    ),
)

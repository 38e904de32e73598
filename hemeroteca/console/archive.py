"""The archive for people: look up, calendar and versions of an address, a capture, two captures compared.

What strangers wrote appears here as text, or in a frame without scripts and without an origin. With scripts it is
shown only by replay, on an origin of its own, to which these pages lead.
"""

import calendar
import datetime as dt
import re
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.dates import MONTHS, WEEKDAYS, WEEKDAYS_ABBR
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from hemeroteca import change, extract, urls
from hemeroteca.accounts import STRANGER, can
from hemeroteca.archive import content, lookup
from hemeroteca.archive import queries as archive
from hemeroteca.archive.citation import cite
from hemeroteca.archive.values import CaptureRow
from hemeroteca.change.highlight import POLICY
from hemeroteca.console.section import Page, Section
from hemeroteca.errors import Invalid, NotFound
from hemeroteca.frontier import queries as frontier
from hemeroteca.frontier.visit import State
from hemeroteca.replay import addresses as replay_addresses
from hemeroteca.warc.reader import WarcReadError
from hemeroteca.warc.timestamps import read_moment, timestamp
from hemeroteca.watch.models import Collection
from hemeroteca.watch.queries import patterns_of

ADDRESSES = 50
CAPTURES = 200
MAX_TEXT = 200_000  # characters of a capture's text shown on a page
MAX_ROWS = 2_000  # lines of a comparison shown on a page
HTML = ("text/html", "application/xhtml+xml")
STATES = {
    State.QUEUED: gettext_lazy("waiting to be visited"),
    State.DONE: gettext_lazy("captured"),
    State.FAILED: gettext_lazy("could not be captured"),
    State.EXCLUDED: gettext_lazy("closed by its site"),
}
MATCHES = {
    "exact": gettext_lazy("Only this page"),
    "prefix": gettext_lazy("What begins like the address"),
    "host": gettext_lazy("The whole host"),
    "domain": gettext_lazy("The domain with its subdomains"),
}


@require_safe
def look_up(request: HttpRequest) -> HttpResponseBase:
    """By address, beginning, host, domain or collection, and by date."""
    names = ("url", "match", "collection", "since", "until")
    form = {name: request.GET.get(name, "").strip()[:8192] for name in names}
    form["match"] = form["match"] if form["match"] in MATCHES else "prefix"
    context: dict[str, Any] = {"form": form, "matches": MATCHES.items()}
    context["collections"] = list(Collection.objects.order_by("name").values_list("name", flat=True)[:500])
    if form["url"] and form["match"] == "exact" and "*" not in form["url"]:
        year = form["since"][:4] if re.match(r"\d{4}", form["since"]) else ""
        return redirect(f"{reverse('page')}?{urlencode({'url': _whole(form['url']), 'year': year})}")
    if form["url"] or form["collection"]:
        try:
            patterns = patterns_of(form["collection"]) if form["collection"] else None
            ranges = lookup.ranges(form["url"], form["match"], form["since"], form["until"], patterns)
            found = lookup.addresses(ranges, ADDRESSES + 1, request.GET.get("after", "")[:2000])
        except Invalid as error:
            return render(request, "console/look_up.html", context | {"failure": str(error)}, status=422)
        context |= {"found": found[:ADDRESSES], "asked": True}
        if len(found) > ADDRESSES:
            context["more"] = urlencode({**form, "after": found[ADDRESSES - 1].urlkey})
    return render(request, "console/look_up.html", context)


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """One address: what became of it, a calendar of its captures, its versions."""
    url = request.GET.get("url", "").strip()[:8192]
    context: dict[str, Any] = {"url": url}
    try:
        context["page"] = known = frontier.page(url)
        canonical = urls.canonical(url)
    except urls.UrlError as error:
        return render(request, "console/page.html", context | {"failure": str(error)}, status=404)
    if known is not None:
        context["visit"] = visit = frontier.last_visit(known)
        context["state"] = STATES[State(visit.state)] if visit is not None else ""
    days = archive.calendar(canonical)
    if days:
        context |= _history(request, canonical, days)
    return render(request, "console/page.html", context, status=200 if known or days else 404)


@require_safe
def capture(request: HttpRequest, record_id: UUID) -> HttpResponse:
    """A capture as text, facts, citation, or framed without scripts. The page itself never touches this origin."""
    row = _capture(record_id)
    view = request.GET.get("view", "text")
    context: dict[str, Any] = {"capture": row, "view": view if view in ("copy", "facts", "cite") else "text"}
    context |= {"is_html": row.mime in HTML, "replay": bool(_replay_origin(request, row))}
    context["no_replay"] = settings.CONFIG.replay and not context["replay"]
    context["previous"], context["next"] = lookup.version_before(row), lookup.version_after(row)
    title = ""
    try:
        document = content.text(row)
        title = document.title
        context |= {"document": document, "paragraphs": _paragraphs(document), "cut": len(document.text) > MAX_TEXT}
        if view == "facts":
            head = content.original(row).head.decode("utf-8", "replace").strip()
            context["headers"] = re.sub(r"(?im)^(set-cookie2?[ \t]*:).*(?:\r?\n[ \t].*)*", r"\1 (not shown)", head)
    except (WarcReadError, Invalid) as error:
        context["failure"] = str(error)
    if view == "cite":
        base = settings.CONFIG.public_url.rstrip("/") or f"{request.scheme}://{request.get_host()}"
        address = f"{base}/v/{row.record_id}"
        context["permanent"] = address
        context["citations"] = [
            (code, name, cite(row, title, address, code)) for code, name in settings.LANGUAGES if code in ("es", "en")
        ]
    return render(request, "console/capture.html", context)


@require_safe
def capture_copy(request: HttpRequest, record_id: UUID) -> HttpResponse:
    """The archived page for the sandboxed frame: no scripts, no origin, nothing loaded, whoever opens it."""
    row = _capture(record_id)
    try:
        copy = content.decoded(row)
    except WarcReadError as error:
        raise NotFound(str(error))
    if copy.media_type not in HTML:
        raise NotFound(_("This capture is not a page; download its original."))
    charset = content.text(row).charset or "utf-8"
    return _sandboxed(HttpResponse(copy.body, content_type=f"text/html; charset={charset}"), content.SANDBOX)


@require_safe
def capture_original(request: HttpRequest, record_id: UUID) -> HttpResponseBase:
    try:
        found = content.download(_capture(record_id))
    except WarcReadError as error:
        raise NotFound(str(error))
    kind = "application/octet-stream"
    return FileResponse(found.file, as_attachment=True, filename=found.name, content_type=kind, headers=found.headers)


@require_safe
@never_cache
def capture_replay(request: HttpRequest, record_id: UUID) -> HttpResponseBase:
    """To the page with its scripts, where that cannot harm; to the one without them when there is no such place."""
    return redirect(_replay_address(request, _capture(record_id)))


@require_safe
@never_cache
def at(request: HttpRequest) -> HttpResponseBase:
    """`url` at the moment `at`: the capture, the version before or after it (`go`), or what is known about it."""
    url, go = request.GET.get("url", "").strip()[:8192], request.GET.get("go", "")
    asked = request.GET.get("at", "")[:40]
    moment = read_moment(asked) if asked else None
    row = archive.closest(url, moment) if moment is not None else archive.latest(url)
    if row is not None and go in ("previous", "next"):
        row = lookup.version_before(row) if go == "previous" else lookup.version_after(row)
    if row is None:
        return redirect(f"{reverse('page')}?{urlencode({'url': url})}")
    return redirect("capture", row.record_id) if go == "about" else redirect(_replay_address(request, row))


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """Two captures of an address: how much they differ, and where: as text, side by side, or marked in the page."""
    old_row, new_row = _pair(request)
    view = request.GET.get("view", "")
    context: dict[str, Any] = {"url": new_row.url, "old": old_row, "new": new_row, "measures": []}
    context["view"] = view = view if view in ("sides", "page") else "text"
    context["ask"] = urlencode({"url": new_row.url, "a": str(old_row.record_id), "b": str(new_row.record_id)})
    try:
        done = content.comparison(old_row, new_row, "rows")
    except (WarcReadError, Invalid) as error:
        return render(request, "console/compare.html", context | {"failure": str(error)})
    found = done.change
    names = (_("Look"), _("Form"), _("Content"))
    context |= {"change": found, "measures": list(zip(names, found.sums, strict=True))}
    if view != "page":
        context |= {"rows": _with_gaps(done.rows[:MAX_ROWS]), "cut": len(done.rows) > MAX_ROWS}
    return render(request, "console/compare.html", context)


@require_safe
def compare_page(request: HttpRequest) -> HttpResponse:
    """The newer page with its changes marked, for the sandboxed frame."""
    old_row, new_row = _pair(request)
    try:
        marked = content.comparison(old_row, new_row, "page").marked
    except WarcReadError as error:
        raise NotFound(str(error))
    response = HttpResponse(marked, content_type="text/html; charset=utf-8")
    return _sandboxed(response, f"sandbox; {POLICY}; frame-ancestors 'self'")


class Day(NamedTuple):
    """A day of the calendar; number 0 is a place without one."""

    number: int
    iso: str = ""
    captures: int = 0
    level: int = 0  # 0 nothing, 1 captured but unchanged, 2 and 3 with one or more versions
    label: str = ""


def _history(request: HttpRequest, url: str, days: dict[int, tuple[int, int]]) -> dict[str, Any]:
    dated = {dt.date(1970, 1, 1) + dt.timedelta(day): counts for day, counts in days.items() if 0 <= day < 2_900_000}
    years: dict[int, int] = {}
    for date, (count, _versions) in dated.items():
        years[date.year] = years.get(date.year, 0) + count
    asked = request.GET.get("year", "")
    year = int(asked) if re.fullmatch(r"\d{4}", asked) and int(asked) >= 1970 else max(years)
    since, until = lookup.year_span(year)
    day = _day(request.GET.get("day", ""))
    if day is not None:
        year = day.year
        since = (day - dt.date(1970, 1, 1)).days * lookup.DAY_MS
        until = since + lookup.DAY_MS - 1
    everything = day is not None or request.GET.get("all") == "1"
    found = lookup.versions_of(url, since, until, everything, CAPTURES + 1)
    copy = found[0] if found else archive.closest(url, until)  # of a year without captures: the nearest there is
    return {
        "years": sorted(years.items()),
        "year": year,
        "months": _months(year, dated),
        "weekdays": [(WEEKDAYS_ABBR[number], WEEKDAYS[number]) for number in range(7)],
        "captures": found[:CAPTURES],
        "more": len(found) > CAPTURES,
        "day": day,
        "everything": everything,
        "copy": copy,
        "replay": bool(copy and _replay_origin(request, copy)),
        "comparable": len(found) > 1,
    }


class Month(NamedTuple):
    name: Any
    weeks: list[list[Day]]
    empty: bool


def _months(year: int, dated: dict[dt.date, tuple[int, int]]) -> list[Month]:
    found = []
    for number in range(1, 13):
        weeks = [
            [_cell(year, number, day, dated) for day in week]
            for week in calendar.Calendar().monthdayscalendar(year, number)
        ]
        found.append(Month(MONTHS[number], weeks, not any(day.captures for week in weeks for day in week)))
    return found


def _cell(year: int, month: int, number: int, dated: dict[dt.date, tuple[int, int]]) -> Day:
    if not number:
        return Day(0)
    date = dt.date(year, month, number)
    captures, versions = dated.get(date, (0, 0))
    if not captures:
        return Day(number)
    label = ngettext("%(number)d capture", "%(number)d captures", captures) % {"number": captures}
    if versions:
        label += ", " + ngettext("%(number)d new version", "%(number)d new versions", versions) % {"number": versions}
    return Day(number, date.isoformat(), captures, 1 + min(versions, 2), label)


def _day(text: str) -> dt.date | None:
    try:
        day = dt.date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else None
    except ValueError:
        return None
    return day if day is not None and day.year >= 1970 else None


def _with_gaps(rows: list[change.Row]) -> list[tuple[bool, change.Row]]:
    """Each line with whether lines between it and the one before are left out."""
    marked: list[tuple[bool, change.Row]] = []
    old = new = 0
    for row in rows:
        gap = (row.old_number > old + 1) or (row.new_number > new + 1)
        marked.append((gap, row))
        old, new = row.old_number or old, row.new_number or new
    return marked


def _pair(request: HttpRequest) -> tuple[CaptureRow, CaptureRow]:
    url = request.GET.get("url", "").strip()[:8192]
    return lookup.pair(url, request.GET.get("a", "")[:40], request.GET.get("b", "")[:40])


def _replay_origin(request: HttpRequest, row: CaptureRow) -> str:
    if not row.url.startswith(("http://", "https://")):
        return ""
    return replay_addresses.origin_for(request.get_host(), settings.CONFIG.replay_url)


def _replay_address(request: HttpRequest, row: CaptureRow) -> str:
    origin, stamp = _replay_origin(request, row), timestamp(row.captured_ms)
    if not origin:
        return f"{reverse('capture', args=[row.record_id])}?view={'copy' if row.mime in HTML else 'text'}"
    if can(STRANGER, "archive.read"):
        return replay_addresses.capture_address(origin, stamp, row.url)
    return replay_addresses.entrance(origin, replay_addresses.key_of(settings.SECRET_KEY), stamp, row.url)


def _sandboxed(response: HttpResponse, policy: str) -> HttpResponse:
    response.headers["Content-Security-Policy"] = policy
    response.headers["X-Frame-Options"] = "SAMEORIGIN"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _capture(record_id: UUID) -> CaptureRow:
    row = archive.by_record(record_id)
    if row is None:
        raise NotFound(_("There is no capture of that name."))
    return row


def _paragraphs(document: extract.Document) -> list[str]:
    text = (document.main or document.text)[:MAX_TEXT]
    parts = [part for part in (line.strip() for line in re.split(r"\n\s*", text)) if part]
    return parts[1:] if parts and parts[0] == document.title.strip() else parts  # the heading already says it


def _whole(url: str) -> str:
    return url if re.match(r"https?://", url, re.I) else f"http://{url}"


SECTION = Section(
    "archive",
    gettext_lazy("Archive"),
    (
        Page("archive", "look-up", look_up, "archive.read"),
        Page("page", "page", page, "archive.read"),
        Page("at", "at", at, "archive.read"),
        Page("compare", "compare", compare, "archive.read"),
        Page("compare/page", "compare-page", compare_page, "archive.read"),
        Page("v/<uuid:record_id>", "capture", capture, "archive.read"),
        Page("v/<uuid:record_id>/copy", "capture-copy", capture_copy, "archive.read"),
        Page("v/<uuid:record_id>/original", "capture-original", capture_original, "archive.read"),
        Page("v/<uuid:record_id>/replay", "capture-replay", capture_replay, "archive.read"),
    ),
)

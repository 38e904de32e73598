"""The archive for people: what is there, look up, calendar and versions of an address, a capture, two compared; a page
saved now, a selection taken away as a file.

What strangers wrote appears here as text, or in a frame without scripts and without an origin. With scripts it is
shown only by replay, on an origin of its own, to which these pages lead.
"""

import calendar
import datetime as dt
import re
from typing import Any, NamedTuple
from urllib.parse import quote
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.dates import MONTHS, WEEKDAYS, WEEKDAYS_ABBR
from django.utils.formats import number_format
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache

from hemeroteca import change, extract, urls
from hemeroteca.accounts import STRANGER, Actor, can, require
from hemeroteca.accounts import services as accounts
from hemeroteca.archive import content, erasure, lookup, notes, rendered, stats
from hemeroteca.archive import queries as archive
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.archive.citation import cite
from hemeroteca.archive.job_kinds import Export, exported_file, exports_folder
from hemeroteca.archive.selection import Selection
from hemeroteca.change.highlight import POLICY
from hemeroteca.console import publishing, uploads
from hemeroteca.console.section import ConsolePage, Section
from hemeroteca.errors import Conflict, Invalid, NotFound, Refused
from hemeroteca.frontier import queries as frontier
from hemeroteca.frontier import services as crawl_services
from hemeroteca.frontier import takedowns
from hemeroteca.frontier.visit import State
from hemeroteca.jobs import queries as jobs
from hemeroteca.jobs import services as job_services
from hemeroteca.replay import addresses as replay_addresses
from hemeroteca.warc.stored_record import WarcReadError
from hemeroteca.warc.timestamps import digits_of, read_moment, timestamp
from hemeroteca.watch.models import Collection
from hemeroteca.watch.queries import patterns_of

ADDRESSES = 50
SITES = 48
RECENT = 12
FORMATS = {
    "wacz": (gettext_lazy("WACZ, opens in ReplayWeb.page"), "wacz"),
    "warc": (gettext_lazy("WARC, for other archives"), "warc.gz"),
    "csv": (gettext_lazy("A list as CSV"), "csv"),
    "json": (gettext_lazy("A list as JSON lines"), "jsonl"),
}
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


def look_up(request: HttpRequest) -> HttpResponseBase:
    """By address, beginning, host, domain or collection, and by date."""
    names = ("url", "match", "collection", "since", "until")
    form = {name: request.GET.get(name, "").strip()[:8192] for name in names}
    form["match"] = form["match"] if form["match"] in MATCHES else "prefix"
    context: dict[str, Any] = {"form": form, "matches": MATCHES.items(), "encoded_url": quote(form["url"], safe="")}
    context["collections"] = list(Collection.objects.order_by("name").values_list("name", flat=True)[:500])
    if form["url"] and form["match"] == "exact" and "*" not in form["url"]:
        year = form["since"][:4] if re.match(r"\d{4}", form["since"]) else ""
        return redirect(f"{reverse('page')}?{urlencode({'url': _whole(form['url']), 'year': year})}")
    if not form["url"] and not form["collection"]:
        context |= _what_is_there(request)
    else:
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


def _what_is_there(request: HttpRequest) -> dict[str, Any]:
    """For who has not asked for anything yet: sites, recent captures, figures."""
    held = lookup.holdings(SITES + 1, request.GET.get("sites_after", "")[:255])
    recent = archive.newest_pages(RECENT)
    pictured = [(row, rendered.screenshot_of(row) is not None) for row in recent]
    return {
        "sites": held[:SITES],
        "sites_after": held[SITES - 1].host if len(held) > SITES else "",
        "recent": pictured,
        "figures": stats.stats() if held else None,
        "replay": bool(recent and replay_origin(request, recent[0])),
        "tags": notes.tags(30) if can(Actor.of(request.user), "archive.notes") else [],
    }


def save(request: HttpRequest) -> HttpResponseBase:
    """Have a page captured now. A link or a bookmark only fills in the address: the button orders it."""
    given = request.POST if request.method == "POST" else request.GET
    url = given.get("url", "").strip()[:8192]
    context: dict[str, Any] = {"url": url, "bookmarklet": _bookmarklet(request)}
    if request.method == "POST":
        try:
            crawl = crawl_services.save_page(Actor.of(request.user), url)
        except (Invalid, Conflict) as error:
            return render(request, "console/save.html", context | {"failure": str(error)}, status=422)
        settings.INSTANCE.wake("engine")
        return redirect("saving", crawl.pk)
    return render(request, "console/save.html", context)


@never_cache
def saving(request: HttpRequest, number: int) -> HttpResponse:
    """What becomes of a page that is being saved; asked for every two seconds until it is captured or failed."""
    crawl = frontier.crawl(number) if number < 1 << 63 else None
    if crawl is None or not crawl.seeds:
        raise NotFound(_("There is no crawl %(number)d.") % {"number": number})
    url = crawl.seeds[0]
    newest = archive.latest(url)
    known = frontier.page(url)
    visit = frontier.last_visit(known) if known is not None else None
    saved = newest if newest is not None and newest.captured_ms >= crawl.created_ms else None
    context = {
        "url": url,
        "crawl": crawl,
        "capture": saved,
        "reason": visit.reason if saved is None and visit is not None and crawl.state != "running" else "",
        "over": saved is not None or crawl.state != "running",
        "replay": bool(saved and replay_origin(request, saved)),
    }
    part = "saving_state" if request.headers.get("HX-Request") else "saving"
    return render(request, f"console/{part}.html", context)


def _bookmarklet(request: HttpRequest) -> str:
    """For the bar of a browser: opens `save` for the page that is shown."""
    base = settings.CONFIG.public_url.rstrip("/") or f"{request.scheme}://{request.get_host()}"
    return f"javascript:void(open('{base}{reverse('save')}?url='+encodeURIComponent(location.href)))"


def take_away(request: HttpRequest) -> HttpResponseBase:
    """A selection as a file: ordered as a job, then taken from its page."""
    names = ("url", "match", "collection", "since", "until", "format")
    given = request.POST if request.method == "POST" else request.GET
    form = {name: given.get(name, "").strip()[:8192] for name in names}
    form["match"] = form["match"] if form["match"] in MATCHES else "prefix"
    form["format"] = form["format"] if form["format"] in FORMATS else "wacz"
    context: dict[str, Any] = {"form": form, "matches": MATCHES.items(), "formats": FORMATS.items()}
    context["collections"] = list(Collection.objects.order_by("name").values_list("name", flat=True)[:500])
    if request.method == "POST":
        try:
            return redirect("job", _order_export(Actor.of(request.user), form).pk)
        except Invalid as error:
            return render(request, "console/take_away.html", context | {"failure": str(error)}, status=422)
    return render(request, "console/take_away.html", context)


def exported(request: HttpRequest, number: int) -> HttpResponseBase:
    """The file that an export made."""
    job = jobs.find(Actor.of(request.user), min(number, (1 << 63) - 1))
    place = exported_file(job)
    if place is None:
        raise NotFound(_("That export has no file here; order it again."))
    return FileResponse(
        place.open("rb"), as_attachment=True, filename=place.name, content_type="application/octet-stream"
    )


def _order_export(actor: Actor, form: dict[str, str]) -> Any:
    require(actor, "archive.export")
    if form["collection"]:
        patterns, match = tuple(patterns_of(form["collection"])), ""
    elif form["url"]:
        patterns, match = (form["url"],), "" if "*" in form["url"] else form["match"]
    else:
        raise Invalid(_("Say what to take: an address or a collection."))
    selection = Selection(patterns, match, digits_of(form["since"]), digits_of(form["until"]))
    selection.check()
    exports_folder().mkdir(exist_ok=True)
    title = re.sub(r"[^\w.-]+", "-", form["collection"] or form["url"]).strip("-.")[:80] or "archive"
    moment = dt.datetime.now(dt.UTC).strftime("%Y%m%d%H%M%S")
    target = exports_folder() / f"{title}-{moment}.{FORMATS[form['format']][1]}"
    order = Export(selection, str(target), form["format"], form["collection"] or form["url"])
    return job_services.submit(actor, "archive.export", order)


def erase(request: HttpRequest) -> HttpResponseBase:
    """Captures erased for good: first what would go, then, with a reason, the order. Below it what is kept out, and the
    audit."""
    actor = Actor.of(request.user)
    names = ("url", "match", "since", "until", "capture", "reason", "keep_out")
    given = request.POST if request.method == "POST" else request.GET
    form = {name: given.get(name, "").strip()[:8192] for name in names}
    form["match"] = form["match"] if form["match"] in MATCHES else "exact"
    if request.method != "POST":
        form["keep_out"] = "" if form["capture"] else "1"
    kept_out = [(row, MATCHES[row.match]) for row in takedowns.listed(actor)]
    context: dict[str, Any] = {"form": form, "matches": MATCHES.items(), "takedowns": kept_out}
    context["erasures"] = erasure.recent(actor)
    try:
        match request.POST.get("do"):
            case "lift":
                number = request.POST.get("takedown", "")
                takedowns.lift(actor, int(number) if number.isdecimal() and len(number) < 19 else 0)
                messages.success(request, _("It may be captured again from now on."))
                return redirect(f"{reverse('erase')}#takedowns")
            case "take-down":
                takedowns.take_down(actor, form["url"], form["match"], form["reason"])
                messages.success(request, _("It is not captured again from now on."))
                return redirect(f"{reverse('erase')}#takedowns")
        wanted = _wanted(form)
        if wanted is not None:
            rows = [row for row, _ in zip(erasure.selected(wanted), range(MAX_ROWS + 1), strict=False)]
            context |= {"found": rows[:20], "count": min(len(rows), MAX_ROWS), "many": len(rows) > MAX_ROWS}
        if request.POST.get("do") == "erase":
            row = erasure.ask(actor, wanted or erasure.ErasureScope(), form["reason"], bool(form["keep_out"]))
            return redirect("job", job_services.submit(actor, "archive.erase", {"erasure": row.pk}).pk)
    except (Invalid, NotFound, Conflict) as error:
        return render(request, "console/erase.html", context | {"failure": str(error)}, status=422)
    return render(request, "console/erase.html", context)


def _wanted(form: dict[str, str]) -> erasure.ErasureScope | None:
    since, until = digits_of(form["since"]), digits_of(form["until"])
    if form["capture"]:
        try:
            return erasure.ErasureScope(capture=UUID(form["capture"]))
        except ValueError:
            raise NotFound(_("There is no capture of that name."))
    return erasure.ErasureScope((form["url"],), form["match"], since, until) if form["url"] else None


def page(request: HttpRequest) -> HttpResponseBase:
    """One address: what became of it, its tags and notes, a calendar of its captures, its versions."""
    url = request.GET.get("url", "").strip()[:8192]
    if request.method == "POST":
        return _annotate(request, url)
    context: dict[str, Any] = {"url": url, "encoded_url": quote(url, safe="")}
    try:
        context["page"] = known = frontier.page(url)
        canonical = urls.canonical(url)
    except urls.UrlError as error:
        return render(request, "console/page.html", context | {"failure": str(error)}, status=404)
    actor = Actor.of(request.user)
    if can(actor, "account.favourites"):
        context["kept"] = accounts.is_favourite(actor, url)
    if can(actor, "archive.notes"):
        notes_there = [(note, can(actor, "archive.unnote", note)) for note in notes.notes_of(url)]
        context |= {"tags": notes.tags_of(url), "notes": notes_there, "annotated": True}
        context["known_tags"] = [tag for tag, _count in notes.tags(100)]
    if known is not None:
        context["visit"] = visit = frontier.last_visit(known)
        context["state"] = STATES[State(visit.state)] if visit is not None else ""
    try:
        takedowns.refuse([canonical])
    except Conflict as error:
        context["taken_down"] = str(error)
    days = archive.calendar(canonical)
    context["versions"] = sum(versions for _captures, versions in days.values())
    if days:
        context |= _history(request, canonical, days)
    return render(request, "console/page.html", context, status=200 if known or days else 404)


def _annotate(request: HttpRequest, url: str) -> HttpResponseBase:
    actor, given = Actor.of(request.user), request.POST
    try:
        match given.get("do"):
            case "tags":
                notes.set_tags(actor, url, given.get("tags", "").split(","))
            case "note":
                notes.add_note(actor, url, given.get("text", ""))
            case "unnote":
                number = given.get("note", "")
                notes.remove_note(actor, int(number) if number.isdecimal() and len(number) < 19 else 0)
    except (Invalid, Conflict) as error:
        messages.error(request, str(error))
    return redirect(f"{reverse('page')}?{urlencode({'url': url})}#notes")


def noted(request: HttpRequest) -> HttpResponse:
    """Pages by their tags and the words of their notes."""
    words, tag = (request.GET.get(name, "").strip()[:500] for name in ("q", "tag"))
    start = request.GET.get("start", "")
    offset = min(int(start), 100_000) if start.isdecimal() and len(start) < 9 else 0
    found = notes.find(words, tag, ADDRESSES + 1, offset)
    more = urlencode({"q": words, "tag": tag, "start": str(offset + ADDRESSES)}) if len(found) > ADDRESSES else ""
    context = {"found": found[:ADDRESSES], "more": more, "tags": notes.tags(), "q": words, "tag": tag}
    return render(request, "console/noted.html", context)


def capture(request: HttpRequest, record_id: UUID) -> HttpResponse:
    """A capture as text, facts, citation, or framed without scripts. The page itself never touches this origin."""
    row = _capture(record_id)
    view = request.GET.get("view", "text")
    context: dict[str, Any] = {"capture": row, "view": view if view in ("copy", "facts", "cite") else "text"}
    context |= {"is_html": row.mime in HTML, "replay": bool(replay_origin(request, row))}
    context["no_replay"] = settings.CONFIG.replay and not context["replay"]
    context["previous"], context["next"] = lookup.version_before(row), lookup.version_after(row)
    title = ""
    try:
        document = content.text(row)
        title = document.title
        context |= {"document": document, "paragraphs": paragraphs(document), "cut": len(document.text) > MAX_TEXT}
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


def capture_copy(request: HttpRequest, record_id: UUID) -> HttpResponse:
    """The archived page for the sandboxed frame: no scripts, no origin, nothing loaded, whoever opens it."""
    row = _capture(record_id)
    try:
        if dom := content.rendered_html(row):  # what the server sent is an empty shell that scripts filled
            return _sandboxed(HttpResponse(dom, content_type="text/html; charset=utf-8"), content.SANDBOX)
        copy = content.decoded(row)
    except WarcReadError as error:
        raise NotFound(str(error))
    if copy.media_type not in HTML:
        raise NotFound(_("This capture is not a page; download its original."))
    charset = content.text(row).charset or "utf-8"
    return _sandboxed(HttpResponse(copy.body, content_type=f"text/html; charset={charset}"), content.SANDBOX)


def capture_picture(request: HttpRequest, record_id: UUID) -> HttpResponse:
    """The screenshot that a browser took of a capture; with `width` a small one. A capture does not change."""
    try:
        picture = content.screenshot(_capture(record_id), request.GET.get("width") == "320")
    except WarcReadError as error:
        raise NotFound(str(error))
    if not picture:
        raise NotFound(_("No browser took a picture of this capture."))
    return HttpResponse(
        picture, content_type="image/png", headers={"Cache-Control": "private, max-age=604800, immutable"}
    )


def capture_original(request: HttpRequest, record_id: UUID) -> HttpResponseBase:
    try:
        found = content.download(_capture(record_id))
    except WarcReadError as error:
        raise NotFound(str(error))
    kind = "application/octet-stream"
    return FileResponse(found.file, as_attachment=True, filename=found.name, content_type=kind, headers=found.headers)


@never_cache
def capture_replay(request: HttpRequest, record_id: UUID) -> HttpResponseBase:
    """To the page with its scripts, where that cannot harm; to the one without them when there is no such place."""
    return redirect(_replay_address(request, _capture(record_id)))


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


def compare(request: HttpRequest) -> HttpResponse:
    """Two captures of an address: how much they differ, and where: as text, side by side, or marked in the page."""
    old_row, new_row = _pair(request)
    view = request.GET.get("view", "")
    context: dict[str, Any] = {"url": new_row.url, "old": old_row, "new": new_row, "measures": []}
    context["view"] = view = view if view in ("sides", "page", "pictures") else "text"
    context["pictured"] = content.has_screenshot(old_row) and content.has_screenshot(new_row)
    context["ask"] = urlencode({"url": new_row.url, "a": str(old_row.record_id), "b": str(new_row.record_id)})
    try:
        done = content.comparison(old_row, new_row, "rows")
    except (WarcReadError, Invalid) as error:
        return render(request, "console/compare.html", context | {"failure": str(error)})
    found = done.change
    names = (_("Look"), _("Form"), _("Content"))
    context |= {"change": found, "measures": list(zip(names, found.sums, strict=True))}
    if view == "pictures" and context["pictured"]:
        try:
            context["picture"] = found_picture = content.marked_picture(old_row, new_row)
            context["share"] = number_format(100 * found_picture.share, decimal_pos=1)
        except Refused as error:
            context["no_picture"] = str(error)
    elif view != "page":
        context |= {"rows": _with_gaps(done.rows[:MAX_ROWS]), "cut": len(done.rows) > MAX_ROWS}
    return render(request, "console/compare.html", context)


def compare_picture(request: HttpRequest) -> HttpResponse:
    """The newer screenshot with what differs marked."""
    try:
        found = content.marked_picture(*_pair(request))
    except WarcReadError as error:
        raise NotFound(str(error))
    return HttpResponse(found.png, content_type="image/png", headers={"Cache-Control": "private, max-age=604800"})


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
        "replay": bool(copy and replay_origin(request, copy)),
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


def replay_origin(request: HttpRequest, row: CaptureRow) -> str:
    if not row.url.startswith(("http://", "https://")):
        return ""
    return replay_addresses.origin_for(request.get_host(), settings.CONFIG.replay_url)


def _replay_address(request: HttpRequest, row: CaptureRow) -> str:
    origin, stamp = replay_origin(request, row), timestamp(row.captured_ms)
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


def paragraphs(document: extract.Document) -> list[str]:
    text = (document.main or document.text)[:MAX_TEXT]
    parts = [part for part in (line.strip() for line in re.split(r"\n\s*", text)) if part]
    return parts[1:] if parts and parts[0] == document.title.strip() else parts  # the heading already says it


def _whole(url: str) -> str:
    return url if re.match(r"https?://", url, re.I) else f"http://{url}"


SECTION = Section(
    "archive",
    gettext_lazy("Archive"),
    (
        ConsolePage("archive", "look-up", look_up, "archive.read"),
        ConsolePage("page", "page", page, "archive.read", "archive.note"),
        ConsolePage("archive/notes", "noted", noted, "archive.notes"),
        ConsolePage("save", "save", save, "crawl.submit", "crawl.submit"),
        ConsolePage("save/<int:number>", "saving", saving, "crawl.read"),
        ConsolePage("archive/export", "take-away", take_away, "archive.export", "archive.export"),
        ConsolePage("archive/upload", "uploads", uploads.upload_list, "archive.import", "archive.import"),
        ConsolePage(
            "archive/upload/<int:number>", "upload-part", uploads.upload_part, "archive.import", "archive.import"
        ),
        ConsolePage("archive/publish", "publish", publishing.publish, "watch.publish", "watch.publish"),
        ConsolePage("archive/erase", "erase", erase, "archive.erase", "archive.erase"),
        ConsolePage("archive/export/<int:number>", "exported", exported, "archive.export"),
        ConsolePage("at", "at", at, "archive.read"),
        ConsolePage("compare", "compare", compare, "archive.read"),
        ConsolePage("compare/picture", "compare-picture", compare_picture, "archive.read"),
        ConsolePage("compare/page", "compare-page", compare_page, "archive.read"),
        ConsolePage("v/<uuid:record_id>", "capture", capture, "archive.read"),
        ConsolePage("v/<uuid:record_id>/copy", "capture-copy", capture_copy, "archive.read"),
        ConsolePage("v/<uuid:record_id>/picture", "capture-picture", capture_picture, "archive.read"),
        ConsolePage("v/<uuid:record_id>/original", "capture-original", capture_original, "archive.read"),
        ConsolePage("v/<uuid:record_id>/replay", "capture-replay", capture_replay, "archive.read"),
    ),
    menu=(
        ("look-up", gettext_lazy("What is there")),
        ("noted", gettext_lazy("Tags and notes")),
        ("save", gettext_lazy("Save a page")),
        ("uploads", gettext_lazy("Bring in")),
        ("take-away", gettext_lazy("Take away")),
        ("publish", gettext_lazy("Publish")),
        ("erase", gettext_lazy("Erase")),
    ),
)

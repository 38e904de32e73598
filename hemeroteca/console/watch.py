"""Watch: sites by group and collection, what each is like and when it is visited next; people who are told."""

import csv
import io
import secrets
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from lxml import html

from hemeroteca import change, urls
from hemeroteca.accounts import Actor, can
from hemeroteca.archive import content, rendered, single_file
from hemeroteca.archive import queries as archive
from hemeroteca.change.outline import Element, outline
from hemeroteca.console import site_figures
from hemeroteca.console.reasons import said
from hemeroteca.console.refusals import told
from hemeroteca.console.search import number_in
from hemeroteca.console.section import ConsolePage, Section
from hemeroteca.errors import Busy, Conflict, Denied, Invalid, NotFound, Refused
from hemeroteca.fetch.client import GuardedClient
from hemeroteca.frontier import queries as frontier
from hemeroteca.frontier.reasons import explained_at
from hemeroteca.outgoing import download
from hemeroteca.warc.store import WarcReadError
from hemeroteca.watch import change_feeds, notices, queries, services, site_metrics
from hemeroteca.watch import subscription_files as files
from hemeroteca.watch.fields import CHANNEL, SUBSCRIPTION, ChannelOrder, Field, Order
from hemeroteca.watch.models import Change, Subscription, WatchedPage

SITES = 200  # of the list
CHANGES = 20
PICKED = 50  # to try the parts of a page on
DECISIONS = 100
TRIED = 6  # past versions that rules are tried on
GROUPS = {"high": gettext_lazy("high"), "medium": gettext_lazy("medium"), "low": gettext_lazy("low")}
BEHAVIOURS = {
    "steady": gettext_lazy("steady"),
    "periodic": gettext_lazy("periodic"),
    "bursty": gettext_lazy("in bursts"),
    "silent": gettext_lazy("silent"),
}
SCOPES = {
    "page": gettext_lazy("This page alone"),
    "prefix": gettext_lazy("What begins like this address"),
    "host": gettext_lazy("The whole host"),
    "domain": gettext_lazy("The domain with its subdomains"),
}
SCOPE_HINTS = {
    "page": gettext_lazy("Only this address, with its pictures and styles."),
    "prefix": gettext_lazy("The folder this address lies in."),
    "host": gettext_lazy("Everything that is linked on the host."),
    "domain": gettext_lazy("Also its other hosts, such as blog or shop."),
}
CONDITIONS = {
    "appears": gettext_lazy("these words appear"),
    "vanishes": gettext_lazy("these words vanish"),
    "above": gettext_lazy("a new number is above"),
    "below": gettext_lazy("a new number is below"),
    "importance": gettext_lazy("the importance is above"),
}
BLANK = 2  # rows for further conditions
FIGURES = {
    "group": gettext_lazy("Group"),
    "category": gettext_lazy("Category"),
    "collection": gettext_lazy("Collection"),
    "behaviour": gettext_lazy("Behaviour"),
    "site": gettext_lazy("Host"),
}
# Fields of the form for a subscription, in groups; the rest is for commands and the API.
FORM: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (gettext_lazy("What it is"), ("name", "collection", "category", "purpose")),
    (gettext_lazy("What belongs to it"), ("scope", "include", "exclude", "depth", "requisites")),
    (gettext_lazy("When it is visited"), ("mode", "min_hours", "max_hours", "windows", "country", "weight")),
    (gettext_lazy("What counts as a change"), ("threshold", "keep", "ignore", "ignore_text", "weights")),
    (gettext_lazy("When people are told"), ("notify",)),
    (gettext_lazy("What it may cost"), ("visits_per_day", "bytes_per_day")),
)
LABELS = {
    "name": gettext_lazy("Name"),
    "collection": gettext_lazy("Collection"),
    "category": gettext_lazy("Category"),
    "purpose": gettext_lazy("Why it is watched"),
    "scope": gettext_lazy("Scope"),
    "include": gettext_lazy("Only addresses like these (regular expressions, one a line)"),
    "exclude": gettext_lazy("No addresses like these (one a line)"),
    "depth": gettext_lazy("Most links from the address"),
    "requisites": gettext_lazy("Fetch images, styles and scripts too"),
    "mode": gettext_lazy("Frequency: auto, fixed HOURS, simple …"),
    "min_hours": gettext_lazy("Never more often than every … hours"),
    "max_hours": gettext_lazy("Never less often than every … hours"),
    "windows": gettext_lazy("Only at these times, like mon-fri 08:00-18:00 Europe/Madrid (one a line)"),
    "country": gettext_lazy("Country whose holidays count, such as ES"),
    "weight": gettext_lazy("Worth of its changes against those of others"),
    "threshold": gettext_lazy("A change is important above"),
    "keep": gettext_lazy("Only these elements count (CSS or XPath, one a line)"),
    "ignore": gettext_lazy("These elements do not count (one a line)"),
    "ignore_text": gettext_lazy("Text that does not count (regular expressions, one a line)"),
    "weights": gettext_lazy("Weights of what differs, such as colours=0.5 (one a line)"),
    "notify": gettext_lazy("Tell only when one of these holds; none: of every important change"),
    "visits_per_day": gettext_lazy("Most visits a day; 0: no limit"),
    "bytes_per_day": gettext_lazy("Most bytes a day; 0: no limit"),
}


# the list


def sites(request: HttpRequest) -> HttpResponse:
    asked: dict[str, Any] = {
        name: request.GET.get(name, "")[:300] for name in ("address", "group", "behaviour", "collection", "category")
    }
    before = number_in(request.GET.get("before", ""), 0)
    found = queries.subscriptions(SITES + 1, before=before or None, **asked)
    numbers = [row.pk for row in found[:SITES]]
    figures, soonest = queries.figures(numbers), queries.next_visits(numbers)
    actor = Actor.of(request.user)
    news = queries.unread(actor.user, numbers)
    rows = [_listed(row, figures.get(row.pk, {}), soonest.get(row.pk), news.get(row.pk, 0)) for row in found[:SITES]]
    if request.GET.get("format") == "csv":
        return download(files.as_csv(found), "sites.csv")
    context = {
        "sites": rows,
        "asked": asked,
        "filtered": any(asked.values()),
        "older": found[SITES - 1].pk if len(found) > SITES else 0,
        "groups": GROUPS.items(),
        "behaviours": BEHAVIOURS.items(),
        "collections": queries.collections(),
        "categories": [row for row in queries.categories() if getattr(row, "subscriptions", 0)],
        "counts": queries.site_groups(),
    }
    return render(request, "console/watch/sites.html", context)


def _listed(row: Subscription, figures: Mapping[str, int], soonest: WatchedPage | None, news: int) -> dict[str, Any]:
    topic = row.category or (row.collection.category if row.collection else None)
    return {
        "row": row,
        "frequency": _frequency(row),
        "group": GROUPS.get(row.group, _("unknown")),
        "behaviour": BEHAVIOURS.get(row.behaviour, ""),
        "category": topic.name if topic else "",
        "pages": figures.get("pages") or 0,
        "changes": figures.get("changes") or 0,
        "next_ms": soonest.next_ms if soonest and row.active else 0,
        "why": site_figures.said_of(soonest.next_reason or soonest.reason) if soonest and row.active else "",
        "news": news,
        **_state(row),
    }


def _state(row: Subscription) -> dict[str, Any]:
    if row.fault:
        return {"state": "failed", "said": _("cannot be worked with"), "trouble": row.fault}
    if row.proposed_ms:
        return {"state": "paused", "said": _("waits for approval"), "trouble": ""}
    if row.refusal:
        return {"state": "failed", "said": _("refused"), "trouble": row.refusal}
    if not row.active:
        return {"state": "paused", "said": _("paused"), "trouble": ""}
    if row.failures:
        return {"state": "failed", "said": _("the last visit failed"), "trouble": explained_at(row.last_error)}
    return {"state": "running", "said": _("in a burst") if row.in_burst else _("watched"), "trouble": ""}


def _frequency(row: Subscription) -> str:
    if row.mode == "auto":
        return _("when a change is likely")
    if row.mode == "fixed":
        return _("every %(hours)s hours") % {"hours": f"{row.fixed_hours:g}"}
    return row.mode


# adding


def add(request: HttpRequest) -> HttpResponse:
    """An address, what it is, what belongs to it: one step."""
    sent = request.POST if request.method == "POST" else request.GET
    form: dict[str, Any] = {
        name: sent.get(name, "").strip()[:4096] for name in ("url", "scope", "collection", "category", "mode", "name")
    }
    context: dict[str, Any] = {"form": form, "failure": "", "preview": None, "known": None}
    if request.method == "POST":
        try:
            order = Order(**{**form, "mode": form["mode"] or "auto"})
            made, new = services.subscribe(Actor.of(request.user), order)
            messages.success(request, _became(made, new))
            return redirect("watched-site", made.pk)
        except (Invalid, urls.UrlError) as error:
            context["failure"] = str(error)
    if form["url"]:
        try:
            context |= _preview(form["url"])
        except urls.UrlError as error:
            context["failure"] = context["failure"] or str(error)
    context["scopes"] = [(name, label, SCOPE_HINTS[name]) for name, label in SCOPES.items()]
    context |= {"collections": queries.collections(), "categories": queries.categories()}
    return render(request, "console/watch/add.html", context, status=422 if context["failure"] else 200)


def _became(made: Subscription, new: bool) -> str:
    if made.proposed_ms:
        return _("A director will look at your proposal.")
    if made.refusal:
        return _("This site was proposed before and refused; here is why. Change it to propose it again.")
    return _("This site is watched now.") if new else _("This site was watched already.")


def _preview(text: str) -> dict[str, Any]:
    """What is known of an address before it is watched; nothing is fetched, the first visit is the engine's."""
    url = urls.typed(text)
    last = archive.latest(url)
    counted = len(archive.captures_of(url, limit=1000))
    watching = queries.subscriptions(20, address=url)
    suggested = "host" if urls.origin(url) + "/" == url else "page"
    preview = {"url": url, "host": urls.host(url), "captures": counted, "last": last, "watching": watching}
    return {"preview": preview, "suggested": suggested}


def bring_in(request: HttpRequest) -> HttpResponse:
    """Many at once: a CSV or OPML file, or addresses one a line."""
    context: dict[str, Any] = {"failure": "", "report": None, "columns": ", ".join(SUBSCRIPTION)}
    if request.method == "POST":
        sent = request.FILES.get("file")
        try:
            if sent is not None and (sent.size or 0) > files.MAX_FILE_BYTES:
                raise Invalid(f"the file has more than {files.MAX_FILE_BYTES} bytes; cut it into parts")
            data = sent.read() if sent is not None else _as_rows(request.POST.get("addresses", ""))
            name = sent.name or "" if sent is not None else "list.csv"
            given = {"collection": request.POST.get("collection", "").strip()[:100]}
            context["report"] = files.read_file(Actor.of(request.user), data, name, None, given)
        except Invalid as error:
            context["failure"] = str(error)
    return render(request, "console/watch/import.html", context, status=422 if context["failure"] else 200)


def _as_rows(text: str) -> bytes:
    out = io.StringIO()
    csv.writer(out).writerows([line.strip()] for line in text[: 1 << 20].splitlines() if line.strip())
    return out.getvalue().encode()


# a site


def site(request: HttpRequest, number: int) -> HttpResponse:
    actor = Actor.of(request.user)
    row = services.find(min(number, (1 << 63) - 1), actor)
    if request.method == "POST":
        return _act(request, actor, row)
    days = number_in(request.GET.get("days", ""), site_figures.DAYS[1])
    days = days if days in site_figures.DAYS else site_figures.DAYS[1]
    everything = request.GET.get("pages") == "all"
    summary = queries.site_summary(row.pk)
    read_until = queries.read_until(actor.user, row.pk)
    context = {
        **_listed(row, summary, None, queries.count_changes(row.pk, read_until) if read_until is not None else 0),
        **site_figures.figures_of(row, days, everything, summary),
        "visits": summary["visits"] or 0,
        "seen": summary["changes"] or 0,
        "chance": row.daily_chance,
        "held": frontier.held_count(row.crawl_id),
        "scope": SCOPES.get(row.scope.get("kind", ""), ""),
        "changes_drawn": _drawn_changes(queries.changes(CHANGES, subscription=row.pk), read_until),
        "sources": queries.sources(row.pk),
        "channels": [one for one in queries.channels() if notices.concerns(one, row)]
        if can(actor, "watch.channels")
        else [],
        "feed": change_feeds.path(subscription=row.pk),
        "may_change": can(actor, "watch.change", row),
        "may_end": can(actor, "watch.end", row),
    }
    return render(request, "console/watch/site.html", context)


def _drawn_changes(changes: Sequence[Change], read_until: int | None) -> str:
    """Changes with their versions and pictures, for everybody who has read as far."""

    def drawn() -> str:
        context = {"changes": [_change(change) for change in changes], "read_until": read_until}
        return render_to_string("console/watch/site_changes.html", context)

    return site_figures.kept((read_until, *((change.pk, change.record_id) for change in changes)), drawn)


def _act(request: HttpRequest, actor: Actor, row: Subscription) -> HttpResponse:
    try:
        match request.POST.get("do"):
            case "check":
                services.check_now(actor, row.pk)
                messages.success(request, _("Its pages are visited now; what is found appears here."))
            case "pause":
                services.pause(actor, row.pk)
                messages.success(request, _("Its pages are not visited until somebody resumes it."))
            case "resume":
                services.resume(actor, row.pk)
                messages.success(request, _("Its pages are visited again."))
            case "read":
                services.mark_read(actor, row.pk)
            case "remove":
                services.remove(actor, row.pk)
                messages.success(request, _("It is watched no longer. What was captured stays in the archive."))
                return redirect("watch")
    except (Conflict, Invalid) as error:
        messages.error(request, str(error))
    return redirect("watched-site", row.pk)


@never_cache
def compared(request: HttpRequest, number: int) -> HttpResponse:
    """The schedule as it was beside a fixed frequency; the slider asks for it."""
    row = services.find(min(number, (1 << 63) - 1), Actor.of(request.user))
    hours = min(max(number_in(request.GET.get("hours", ""), 24), site_figures.MIN_SLIDER), site_figures.MAX_SLIDER)
    found = site_metrics.measure("subscription", fixed_hours=float(hours), subscription=row.pk)
    return render(request, "console/watch/compared.html", {"row": row, **site_figures.compared_to(found, float(hours))})


def _change(row: Change) -> dict[str, Any]:
    """A change with its versions before and after, for the comparison and the pictures."""
    after = archive.by_record(row.record_id) if row.record_id else None
    # The last one kept until then: `archive prune` lets go of those without news, and the nearest may be the change.
    kept = archive.captures_of(row.url, until_ms=row.since_ms, limit=1, newest_first=True) if after else []
    before = kept[0] if kept else None
    pictured = [one for one in (before, after) if one is not None and rendered.screenshot_of(one) is not None]
    return {
        "row": row,
        "before": before,
        "after": after,
        "lines": row.diff.splitlines()[:12],
        "pictures": pictured if len(pictured) == 2 else [],
    }


def decisions(request: HttpRequest, number: int) -> HttpResponse:
    """Every visit of a site, newest first: when, why then, what was expected and what was found."""
    row = services.find(min(number, (1 << 63) - 1), Actor.of(request.user))
    url = request.GET.get("url", "")[:4096]
    before = number_in(request.GET.get("before", ""), 0)
    found = queries.decisions(DECISIONS + 1, row.pk, url=url, before=before or None)
    shown = found[:DECISIONS]
    context = {
        "row": row,
        "url": url,
        "decisions": [
            {"visit": one, "url": address, "why": site_figures.said_of(one.reason), "after": one.interval_ms // 1000}
            for one, address in shown
        ],
        "older": shown[-1][0].pk if len(found) > DECISIONS else 0,
    }
    return render(request, "console/watch/decisions.html", context)


# editing


def edit(request: HttpRequest, number: int) -> HttpResponse:
    actor = Actor.of(request.user)
    row = services.find(min(number, (1 << 63) - 1), actor, "watch.change")
    order = services.order_of(row)
    values = {name: _written(SUBSCRIPTION[name], getattr(order, name)) for _label, names in FORM for name in names}
    failure = ""
    if request.method == "POST":
        try:
            values = {name: request.POST.get(name, "")[:20_000] for name in values}
            values["notify"] = _conditions_sent(request)
            given = {name: _read(SUBSCRIPTION[name], text) for name, text in values.items()}
            services.edit(actor, row.pk, given)
            messages.success(request, _("The changes are in force."))
            return redirect("watched-site", row.pk)
        except (Invalid, Conflict) as error:
            failure = str(error)
    groups = [(label, [_field(SUBSCRIPTION[name], values[name]) for name in names]) for label, names in FORM]
    context = {
        "row": row,
        "groups": groups,
        "failure": failure,
        "collections": queries.collections(),
        "categories": queries.categories(),
        "kinds": CONDITIONS.items(),
        "conditions": [*(line.partition(" ")[::2] for line in values["notify"].splitlines()), *[("", "")] * BLANK],
    }
    return render(request, "console/watch/edit.html", context, status=422 if failure else 200)


def _conditions_sent(request: HttpRequest) -> str:
    """Conditions of notices as their rows were filled in, one a line; rows without a value are left out."""
    kinds, values = request.POST.getlist("condition"), request.POST.getlist("condition_value")
    filled = [(kind, value) for kind, value in zip(kinds[:100], values[:100], strict=False) if value.strip()]
    return "\n".join(f"{kind} {' '.join(value.split())[:500]}" for kind, value in filled)


def _field(field: Field, value: str) -> dict[str, Any]:
    kind = "lines" if field.kind is tuple or field.lines else "check" if field.kind is bool else "text"
    choices = [(name, SCOPES[name]) for name in SCOPES] if field.name == "scope" else []
    known = {"collection": "collections", "category": "categories"}.get(field.name, "")
    return {
        "name": field.name, "label": LABELS[field.name], "kind": "choice" if choices else kind, "value": value,
        "choices": choices, "list": known, "on": value in ("yes", "on"),
    }  # fmt: skip


def _written(field: Field, value: Any) -> str:
    return "\n".join(value) if field.kind is tuple else field.write(value)


def _read(field: Field, text: str) -> Any:
    if field.kind is tuple:
        return tuple(line.strip() for line in text.splitlines() if line.strip())
    if field.kind is bool:
        return text in ("yes", "on")
    return field.read(text.strip())


def picker(request: HttpRequest, number: int) -> HttpResponse:
    """Parts of the last version, to watch alone or to ignore; what would have been told of past versions by that."""
    actor = Actor.of(request.user)
    row = services.find(min(number, (1 << 63) - 1), actor, "watch.change")
    order = services.order_of(row)
    sent = request.POST if request.method == "POST" else request.GET
    given = {"chosen", "keep", "ignore"} & sent.keys()  # else the page shows the rules in force
    chosen = {
        name: tuple(dict.fromkeys(filter(None, sent.getlist(name)[:200]))) if given else tuple(getattr(order, name))
        for name in ("keep", "ignore")
    }
    failure = ""
    if request.method == "POST":
        try:
            services.edit(actor, row.pk, chosen)
            messages.success(request, _("The changes are in force."))
            return redirect("watched-site", row.pk)
        except Invalid as error:
            failure = str(error)
    url = sent.get("url", "")[:4096] or row.url
    context = {"row": row, "chosen": chosen, "failure": failure, "url": url, **_tried(url, chosen, order.threshold)}
    context["pages"] = [page.url for page in queries.pages(PICKED, subscription=row.pk) if not page.listing]
    template = "console/watch/tried.html" if request.headers.get("HX-Request") else "console/watch/picker.html"
    return render(request, template, context, status=422 if failure else 200)


@never_cache
def still(request: HttpRequest, number: int, record_id: UUID) -> HttpResponse:
    """A version as it looked, for the frame of the picker: its own scripts are gone, ours tells what is clicked.

    The frame has no origin: nothing in it can read the console or its cookies. Nor may it load anything of ours, so our
    script stands in it.
    """
    services.find(min(number, (1 << 63) - 1), Actor.of(request.user), "watch.change")
    capture = archive.by_record(record_id)
    try:
        root = single_file.still(capture) if capture is not None else None
    except (WarcReadError, Busy) as error:
        raise NotFound(str(error))
    if root is None:
        raise NotFound(_("This capture is not a page that can be shown."))
    nonce = secrets.token_urlsafe(16)
    tag = html.Element("script")
    tag.set("nonce", nonce)
    tag.text = (Path(__file__).parent / "static/console/picker_frame.js").read_text("utf-8")
    root.append(tag)
    response = HttpResponse(b"<!DOCTYPE html>" + html.tostring(root, encoding="utf-8"))
    response["Content-Type"] = "text/html; charset=utf-8"
    response["Content-Security-Policy"] = (
        f"sandbox allow-scripts; default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; "
        f"script-src 'nonce-{nonce}'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
    )
    response["X-Frame-Options"] = "SAMEORIGIN"
    response["Referrer-Policy"] = "no-referrer"
    return response


def _tried(url: str, chosen: Mapping[str, tuple[str, ...]], threshold: float) -> dict[str, Any]:
    """The parts of the last version, and how much each past version would have differed by these rules."""
    versions = archive.versions_newest(url, TRIED + 1)
    parts: list[Element] = []
    tried: list[dict[str, Any]] = []
    trouble = ""
    try:
        rules = change.ChangeRules(threshold=threshold, keep=chosen["keep"], ignore=chosen["ignore"])
        if versions:
            parts = outline(content.decoded(versions[0]).body)
        change.check(rules)
        for new, old in pairwise(versions):
            found = content.comparison(old, new, "facts", rules).change
            tried.append({"old": old, "new": new, "total": found.total, "important": found.important})
    except (change.RulesError, Busy, Invalid, WarcReadError) as error:
        trouble = str(error)
    shown = versions[0].record_id if versions else None
    return {"parts": parts, "tried": tried, "trouble": trouble, "versions": len(versions), "shown": shown}


# figures


def figures(request: HttpRequest) -> HttpResponse:
    """What watching brought and cost by group, category, collection …, beside a fixed frequency."""
    by = request.GET.get("by", "group")
    by = by if by in FIGURES else "group"
    hours = min(max(number_in(request.GET.get("hours", ""), 24), site_figures.MIN_SLIDER), site_figures.MAX_SLIDER)
    names = {**GROUPS, **BEHAVIOURS, "unknown": _("unknown"), "none": _("none")}
    rows = [
        {
            "name": names.get(row.name, row.name)
            if by in ("group", "behaviour") or row.name == "none"
            else _(row.name)
            if by == "category"
            else row.name,
            "key": row.name if row.name not in ("unknown", "none") else "",
            "row": row,
            "lost": f"{row.lost / (row.lost + row.changes):.0%}" if row.lost + row.changes else "",
            "fixed_lost": max(row.changes + row.lost - row.fixed_changes, 0.0),
        }
        for row in site_metrics.measure(by, fixed_hours=float(hours))[:SITES]
    ]
    if by == "group":
        rows.sort(key=lambda one: [*GROUPS, ""].index(str(one["key"])))
    context = {
        "rows": rows,
        "by": by,
        "all_by": FIGURES.items(),
        "hours": hours,
        "least": site_figures.MIN_SLIDER,
        "most": site_figures.MAX_SLIDER,
        "filters": by in ("group", "category", "collection", "behaviour"),
    }
    return render(request, "console/watch/figures.html", context)


# channels


def channels(request: HttpRequest) -> HttpResponse:
    actor = Actor.of(request.user)
    names = ("target", "name", "subscription", "collection", "digest_hours", "language")
    form = dict.fromkeys(names, "") | {"subscription": request.GET.get("subscription", "")[:20]}
    form["language"] = (get_language() or "en")[:2]
    failure = secret = ""
    if request.method == "POST":
        try:
            if "target" in request.POST:
                form = {name: request.POST.get(name, "").strip()[:4000] for name in names}
                given = {name: CHANNEL[name].read(text) for name, text in form.items()}
                made, secret = services.add_channel(actor, ChannelOrder(**given))
                messages.success(request, _("The channel “%(name)s” is there.") % {"name": made.name})
                form = dict.fromkeys(names, "") | {"language": given["language"]}
            else:
                _act_on_channel(request, actor, number_in(request.POST.get("channel", ""), 0))
                after = request.POST.get("next", "")
                return redirect(after if _inside(after) else "channels")
        except (Invalid, Conflict, NotFound) as error:
            failure = str(error)
    context = {
        "channels": queries.channels(),
        "form": form,
        "failure": failure,
        "secret": secret,
        "sites": queries.subscriptions(SITES),
        "collections": queries.collections(),
    }
    return render(request, "console/watch/channels.html", context, status=422 if failure else 200)


def _act_on_channel(request: HttpRequest, actor: Actor, number: int) -> None:
    match request.POST.get("do"):
        case "test":
            channel = services.find_channel(number, actor)
            try:
                notices.test_channel(channel, settings.CONFIG, GuardedClient(settings.CONFIG))
                messages.success(request, _("A message went to “%(name)s”.") % {"name": channel.name})
            except notices.DeliveryError as error:
                messages.error(
                    request, _("The message was not delivered: %(reason)s") % {"reason": told(said(str(error)))}
                )
        case "pause" | "resume" as what:
            services.set_channel_active(actor, number, what == "resume")
        case "remove":
            services.remove_channel(actor, number)


def _inside(address: str) -> bool:
    return address.startswith("/watch/") and "//" not in address and "\\" not in address


# categories


def categories(request: HttpRequest) -> HttpResponse:
    failure = ""
    if request.method == "POST":
        actor, code = Actor.of(request.user), number_in(request.POST.get("code", ""), 0)
        try:
            if request.POST.get("do") == "remove":
                services.remove_category(actor, code)
            else:
                services.set_category(actor, code, request.POST.get("name", ""), request.POST.get("description", ""))
            return redirect("categories")
        except Denied:
            raise
        except Refused as error:
            failure = str(error)
    measured = {row.name: row for row in site_metrics.measure("category")}
    rows = [(row, measured.get(row.name)) for row in queries.categories()]
    free = max((row.code for row, _m in rows), default=299) + 1
    context = {"categories": rows, "failure": failure, "free": free}
    return render(request, "console/watch/categories.html", context, status=422 if failure else 200)


def proposals(request: HttpRequest) -> HttpResponse:
    """Sites that wait for a director; whoever proposed some sees their own, and what was refused."""
    actor = Actor.of(request.user)
    failure = ""
    if request.method == "POST":
        number = number_in(request.POST.get("number", ""), 0)
        try:
            if request.POST.get("do") == "approve":
                approved = services.approve(actor, number, request.POST.get("version", ""))
                messages.success(request, _("%s is watched now.") % approved.name)
            elif request.POST.get("do") == "refuse":
                refused = services.refuse(actor, number, request.POST.get("reason", ""))
                messages.success(request, _("%s is refused; whoever proposed it reads why.") % refused.name)
            else:
                services.remove(actor, number)
                messages.success(request, _("The proposal is taken back."))
            return redirect("watch-proposals")
        except (Conflict, Invalid, NotFound) as error:
            failure = str(error)
    context = {
        "waiting": [
            (row, services.order_of(row), services.version_of(row))
            for row in queries.proposals(None if can(actor, "watch.approve") else actor.user)
        ],
        "refused": queries.refused(actor.user),
        "scopes": SCOPES,
        "failure": failure,
    }
    return render(request, "console/watch/proposals.html", context, status=422 if failure else 200)


SECTION = Section(
    "watch",
    gettext_lazy("Watch"),
    (
        ConsolePage("watch", "watch", sites, "watch.subscriptions"),
        ConsolePage("watch/add", "watch-add", add, "watch.propose", "watch.propose"),
        ConsolePage("watch/proposals", "watch-proposals", proposals, "watch.propose", "watch.propose"),
        ConsolePage("watch/import", "watch-import", bring_in, "watch.subscribe", "watch.subscribe"),
        ConsolePage("watch/channels", "channels", channels, "watch.channels", "watch.channel"),
        ConsolePage("watch/categories", "categories", categories, "watch.subscriptions", "watch.collect"),
        ConsolePage("watch/figures", "watch-figures", figures, "watch.subscriptions"),
        ConsolePage("watch/<int:number>", "watched-site", site, "watch.subscriptions", "watch.subscriptions"),
        ConsolePage("watch/<int:number>/compared", "watch-compared", compared, "watch.subscriptions"),
        ConsolePage("watch/<int:number>/edit", "watch-edit", edit, "watch.change", "watch.change"),
        ConsolePage("watch/<int:number>/elements", "watch-elements", picker, "watch.change", "watch.change"),
        ConsolePage("watch/<int:number>/elements/<uuid:record_id>", "watch-still", still, "watch.change"),
        ConsolePage("watch/<int:number>/decisions", "watch-decisions", decisions, "watch.subscriptions"),
    ),
    (
        ("watch", gettext_lazy("Sites")),
        ("watch-add", gettext_lazy("Add a site")),
        ("watch-proposals", gettext_lazy("Proposals")),
        ("watch-import", gettext_lazy("Import")),
        ("watch-figures", gettext_lazy("Figures")),
        ("channels", gettext_lazy("Channels")),
        ("categories", gettext_lazy("Categories")),
    ),
)

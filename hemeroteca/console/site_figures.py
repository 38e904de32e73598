"""The figures of a watched site: charts, runs, storage, whether it was worth it, and the same beside a fixed frequency.

They are the same for everybody, so they are made once for each language and kept until the site was visited or planned.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any

from django.core.cache import caches
from django.template.loader import render_to_string
from django.utils.formats import number_format
from django.utils.timezone import get_current_timezone_name
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from hemeroteca.console import charts
from hemeroteca.console.templatetags.console import size
from hemeroteca.warc.timestamps import moment
from hemeroteca.watch import next_visit, queries, services, site_metrics, site_reports
from hemeroteca.watch.models import Subscription

PAGES, ALL_PAGES = 15, 500  # of a site, listed at first and when somebody asks for all
RUNS = 12
DAYS = (30, 90, 365)
DAY_MS = 86_400_000
MIN_SLIDER, MAX_SLIDER = 1, 720  # hours


def figures_of(row: Subscription, days: int, everything: bool, summary: Mapping[str, Any]) -> dict[str, Any]:
    """What is the same of a site for everybody: made anew when a page was visited or planned, else every minute."""
    asked = (row.pk, row.created_ms, row.active, days, everything)
    state = (*asked, *summary.values(), site_reports.last_run(row.pk))
    return kept(state, lambda: _made_figures(row, days, everything, summary))


def kept(state: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """What was made for this state, in this language and time zone."""
    key = blake2b(repr((get_language(), get_current_timezone_name(), *state)).encode()).hexdigest()
    kept = caches["figures"].get(key)
    if kept is None:
        kept = make()
        caches["figures"].set(key, kept)
    return kept


def _made_figures(row: Subscription, days: int, everything: bool, summary: Mapping[str, Any]) -> dict[str, Any]:
    now = services.now_ms()
    series = site_metrics.series(since_ms=now - days * DAY_MS, until_ms=now + 1, subscription=row.pk)
    past = site_metrics.series(since_ms=now - days * DAY_MS, until_ms=now + 1, learned_by=row.pk)
    runs = site_reports.runs(row.pk)
    pages = queries.pages(ALL_PAGES if everything else PAGES, subscription=row.pk)
    measured = site_metrics.measure("subscription", subscription=row.pk)
    context = {
        "row": row,
        "days": days,
        "all_days": DAYS,
        "charts": _charts(series, past),
        "runs": [[_ms(row[0]), _ms(row[1]), *row[2:]] for row in runs.rows[-1 : -RUNS - 1 : -1]],
        "run_figures": runs.summary,
        "run_chart": _run_chart(runs) if len(runs.rows) > 1 else None,
        "admission": _admission(row.pk, measured),
        "storage": _storage(row.pk),
        "pages_listed": [
            {"page": page, "why": said_of(page.reason), "then": said_of(page.next_reason)} for page in pages
        ],
        "more_pages": not everything and len(pages) == PAGES,
        **compared_to(measured, 24.0),
    }
    soonest = queries.next_visits([row.pk]).get(row.pk)
    return {
        "next_ms": soonest.next_ms if soonest and row.active else 0,
        "why": said_of(soonest.next_reason or soonest.reason) if soonest and row.active else "",
        "storage": context["storage"],
        "bursts": [(_ms(burst["start"]), burst["changes"]) for burst in site_reports.bursts(row.pk).named_rows()[:10]],
        "with_charts": bool(context["charts"] or context["run_chart"]),
        "drawn": render_to_string("console/watch/site_figures.html", context),
    }


def compared_to(found: list[site_metrics.Metrics], hours: float) -> dict[str, Any]:
    own = next(iter(found), None)
    if own is None or not own.says_of_days:
        return {"compared": None, "hours": hours}
    every = own.changes + own.lost
    lines = [
        (_("visits"), own.visits, own.fixed_visits, False),
        (_("changes seen"), own.changes, own.fixed_changes, False),
        (_("changes lost (estimated)"), own.lost, max(every - own.fixed_changes, 0.0), False),
        (_("visits in vain"), own.unnecessary, max(own.fixed_visits - own.fixed_changes, 0.0), False),
        (_("space"), own.stored, own.fixed_bytes, True),
    ]
    shown = [
        (name, size(a) if is_size else round(a), size(b) if is_size else round(b)) for name, a, b, is_size in lines
    ]
    return {"compared": shown, "hours": hours, "least": MIN_SLIDER, "most": MAX_SLIDER}


def _charts(series: list[dict[str, Any]], past: list[dict[str, Any]]) -> list[tuple[dict[str, Any], str]]:
    """`past`: with what was learned from archives, which are changes of the site but no visits of ours."""
    if not past:
        return []
    rows = [{**day, "day": _date(day)} for day in series]
    both = [
        {"day": row["day"], "count": row[name], "what": str(label)}
        for row in rows
        for name, label in (("visits", _("visits")), ("changes", _("changes that were found")))
    ]
    space = [
        {"day": row["day"], "kilobytes": round(row[name] / 1000, 1), "what": str(label)}
        for row in rows
        for name, label in (("generated", _("received")), ("stored", _("stored")))
    ]
    changed = [{"day": _date(day), "changes": day["changes"]} for day in past]
    unit = "yearmonthdate"
    changes = charts.spec(changed, "day", "changes", titles=(_("Day"), _("Changes")), unit=unit), _("Changes a day")
    if not series:
        return [changes]
    return [
        changes,
        (
            charts.spec(both, "day", "count", "line", titles=(_("Day"), _("Count")), by="what", unit=unit),
            _("Visits the predictor chose, and changes they found"),
        ),
        (
            charts.spec(space, "day", "kilobytes", "line", titles=(_("Day"), "kB"), by="what", unit=unit),
            _("Space: received and stored"),
        ),
    ]


def _date(day: dict[str, Any]) -> str:
    return str(moment(day["day_ms"]))[:10]


def _run_chart(runs: site_reports.SiteReport) -> dict[str, Any]:
    rows = [{"start": str(row["start"]), "versions": row["versions"]} for row in runs.named_rows()]
    return charts.spec(rows, "start", "versions", titles=(_("Run"), _("New versions")))


def _admission(number: int, measured: list[site_metrics.Metrics]) -> dict[str, Any] | None:
    rows = site_reports.admission(number, measured).rows
    if not rows:
        return None
    _number, _name, admitted, lost, volume, machine = rows[0]
    conditions = [
        (_("changes lost, of all"), f"{lost:.0%}", f"≤ {site_reports.MAX_LOST:.0%}", lost <= site_reports.MAX_LOST),
        (_("space, of a whole copy a day"), f"{volume:.0%}", "≤ 100%", volume <= 1),
        (
            _("time of the machine"),
            f"{number_format(100 * machine, decimal_pos=2)}%",
            f"< {site_reports.MAX_MACHINE:.0%}",
            machine < site_reports.MAX_MACHINE,
        ),
    ]
    return {"admitted": admitted, "conditions": conditions}


def _storage(number: int) -> dict[str, Any] | None:
    rows = site_reports.storage(number).rows
    if not rows:
        return None
    return dict(zip(("number", "name", "documents", "versions", "bytes", "per_day", "in_a_year"), rows[0], strict=True))


def _ms(when: datetime | None) -> int:
    return int(when.timestamp() * 1000) if when is not None else 0


def said_of(reason: Mapping[str, Any]) -> str:
    return next_visit.sentence(reason, (get_language() or "en")[:2]) if reason else ""

"""Reports of watching that a researcher asks for: as rows, CSV and a chart.

rounds       each round of visits of a subscription; those with new versions are the versions of the site
admission    whether a subscription is worth its cost: three conditions, each with its figure
storage      what subscriptions hold, how it grows, and when the disk is full
weekdays     P on each day of the week and on holidays
intervals    how many changes are found after how long an interval
bursts       exceptional days
frequencies  lost, vain visits and mean P beside fixed frequencies
"""

import shutil
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean, mode, pstdev
from typing import Any

import msgspec
import numpy as np
from django.conf import settings
from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from hemeroteca import spreadsheet
from hemeroteca.errors import NotFound
from hemeroteca.predict.policies import day_chances
from hemeroteca.warc.timestamps import moment
from hemeroteca.watch import observations, services, site_metrics
from hemeroteca.watch.answered_visit import DAY_MS, HOUR_MS, PLANNER_ORIGIN, planner_hour
from hemeroteca.watch.models import Burst, Observation, SiteRun, Subscription, WatchedPage
from hemeroteca.watch.policy_pages import calendar_of

MAX_RUNS = 10_000  # of a report, the newest
MAX_ROWS = 200_000  # observations read, the newest
MAX_SPAN = 60  # days of an interval that says something about single days
MAX_LOST, MAX_MACHINE = 0.5, 0.05  # conditions of admission
FREQUENCIES = (24.0, 72.0, 168.0, 360.0, 720.0)  # hours
INTERVALS = (1, 2, 4, 8, 16, 32)  # days
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun", "holiday")


class SiteReport(msgspec.Struct):
    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    x: str  # column for the chart, and …
    y: str  # … what it shows
    summary: dict[str, Any] = {}
    definitions: dict[str, str] = {}

    def as_csv(self) -> str:
        return spreadsheet.text([self.columns, *self.rows])

    def named_rows(self) -> list[dict[str, Any]]:
        """Each row with the names of its columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def as_chart(self) -> dict[str, Any]:
        """A Vega-Lite specification with its data."""
        values = msgspec.to_builtins(self.named_rows())
        kind = "temporal" if self.x == "start" else "nominal"
        return {
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "title": self.name,
            "data": {"values": values},
            "mark": "bar",
            "encoding": {
                "x": {"field": self.x, "type": kind, "sort": None},
                "y": {"field": self.y, "type": "quantitative"},
            },
        }


def report(name: str, subscription: int | None = None) -> SiteReport:
    """A report of a subscription, or of everything that is watched."""
    if name not in REPORTS:
        raise NotFound(f"there is no report {name!r}; there are {', '.join(REPORTS)}")
    if subscription is not None:
        services.find(subscription)
    return REPORTS[name](subscription)


def rounds(subscription: int | None) -> SiteReport:
    return runs(subscription, files=True)


def runs(subscription: int | None, files: bool = False) -> SiteReport:
    """Rounds of visits; `files`: with the WARC files each of them wrote, which takes a look at the whole index."""
    rows = SiteRun.objects.order_by("-start_ms")
    rows = rows if subscription is None else rows.filter(subscription=subscription)
    found = sorted(rows[:MAX_RUNS], key=lambda row: (row.start_ms, row.end_ms))
    named = _files(subscription if files else None, found)
    summary = {
        name: {"mean": fmean(values), "deviation": pstdev(values), "mode": mode(values)}
        for name, values in _figures(found).items()
        if values
    }
    return SiteReport(
        name="rounds",
        columns=("start", "end", "subscription", "pages", "versions", "changes", "received", "stored",
                 "pages_per_minute", "server_seconds", "index_seconds", "machine", "warc_files"),
        rows=[[*_round(row), names] for row, names in zip(found, named, strict=True)],
        x="start",
        y="versions",
        summary=summary,
        definitions={
            "round": "visits of a subscription with less than an hour between two of them",
            "index_seconds": "time spent to index what its visits brought; server_seconds: until they were answered",
            "machine": "name of the machine that made it",
        },
    )  # fmt: skip


def last_run(subscription: int) -> tuple[Any, ...] | None:
    """The newest round as it is now: whether something was added since one has looked."""
    return SiteRun.objects.filter(subscription=subscription).order_by("-start_ms").values_list().first()


def _round(row: SiteRun) -> list[Any]:
    rate = round(row.pages / max((row.end_ms - row.start_ms) / 60_000, 1.0), 2)
    sums = [row.pages, row.versions, row.changes, row.received, row.stored]
    times = [round(row.cost_ms / 1000, 3), round(row.index_ms / 1000, 3)]
    return [moment(row.start_ms), moment(row.end_ms), row.subscription_id, *sums, rate, *times, row.machine]


def _figures(found: Sequence[SiteRun]) -> dict[str, list[float]]:
    starts: dict[int, list[int]] = {}
    for row in found:
        starts.setdefault(row.subscription_id, []).append(row.start_ms)
    hours = [float(round((b - a) / HOUR_MS)) for one in starts.values() for a, b in pairwise(one)]
    return {
        "hours": hours,
        "pages": [float(row.pages) for row in found],
        "versions": [float(row.versions) for row in found],
    }


def _files(subscription: int | None, found: Sequence[SiteRun]) -> list[list[str]]:
    """WARC files that were written in each round; of one subscription only."""
    names: list[set[str]] = [set() for _ in found]
    if subscription is not None and found:
        starts = np.array([run.start_ms for run in found])
        row = services.find(subscription)
        for capture in observations.captures_in_scope(row):
            place = int(np.searchsorted(starts, capture.captured_ms + HOUR_MS // 12, side="right")) - 1
            if capture.crawl_id == row.crawl_id and place >= 0:
                names[place].add(capture.warc_name)
    return [sorted(each) for each in names]


def admission(subscription: int | None, found: Sequence[site_metrics.Metrics] | None = None) -> SiteReport:
    """`found`: what `site_metrics.measure` has told of each subscription already."""
    rows = []
    wanted = Subscription.objects.order_by("pk")
    if found is None:
        found = site_metrics.measure("subscription", subscription=subscription)
    measured = {row.name: row for row in found}
    for sub in wanted.filter(pk=subscription) if subscription is not None else wanted:
        own = measured.get(str(sub.pk))
        if own is None or not own.says_of_days:
            continue
        span = _observed(sub.pk).aggregate(first=Min("seen_ms"), last=Max("seen_ms"))
        seconds = max(((span["last"] or 0) - (span["first"] or 0)) / 1000, 1.0)
        lost = own.lost / (own.lost + own.changes) if own.changes else 0.0
        volume = own.stored / own.fixed_bytes if own.fixed_bytes else 0.0
        machine = own.cost_seconds / seconds
        admitted = lost <= MAX_LOST and volume <= 1 and machine < MAX_MACHINE
        rows.append([sub.pk, sub.name, admitted, round(lost, 4), round(volume, 4), round(machine, 6)])
    return SiteReport(
        name="admission",
        columns=("subscription", "name", "admitted", "lost", "volume", "machine"),
        rows=rows,
        x="name",
        y="lost",
        definitions={
            "lost": f"changes that no visit saw, of all (estimated); at most {MAX_LOST:.0%}",
            "volume": "bytes stored, of those of a whole copy every 24 hours; at most 1",
            "machine": f"time spent on its visits, of all time; less than {MAX_MACHINE:.0%}",
        },
    )


def storage(subscription: int | None) -> SiteReport:
    now_ms = services.now_ms()
    wanted = Subscription.objects.all() if subscription is None else Subscription.objects.filter(pk=subscription)
    names = dict(wanted.values_list("pk", Coalesce("collection__name", "name")))
    watched = WatchedPage.objects.all()
    watched = watched if subscription is None else watched.filter(subscription=subscription)
    pages = dict(watched.values_list("subscription").annotate(Count("key")))
    recent = Q(seen_ms__gte=now_ms - 30 * DAY_MS, imported=False)
    sums = _observed(subscription).values_list("subscription").order_by("subscription")
    sums = sums.annotate(
        first=Min("seen_ms"),
        held=Sum("stored"),
        grown=Sum("stored", filter=recent, default=0),
        versions=Count("pk", filter=Q(changed=True)),
    )
    rows, per_day = [], 0
    for number, first, stored, grown, versions in sums:
        if number not in names:
            continue
        days = min(max((now_ms - first) / DAY_MS, 1.0), 30.0)
        growth = round(grown / days)
        per_day += growth
        in_a_year = round(stored + 365 * grown / days)
        rows.append([number, names[number], pages.get(number, 0), versions, stored, growth, in_a_year])
    free = shutil.disk_usage(settings.INSTANCE.data).free
    return SiteReport(
        name="storage",
        columns=("subscription", "collection", "documents", "versions", "bytes", "bytes_per_day", "bytes_in_a_year"),
        rows=rows,
        x="collection",
        y="bytes",
        summary={"free": free, "bytes_per_day": per_day, "days_until_full": round(free / per_day) if per_day else None},
        definitions={"bytes_per_day": "growth of the last 30 days", "collection": "or the subscription's own name"},
    )


def weekdays(subscription: int | None) -> SiteReport:
    spans, hits = [], []
    countries = dict(Subscription.objects.values_list("pk", "country"))
    seen = _observed(subscription).filter(interval_ms__gt=0, interval_ms__lte=MAX_SPAN * DAY_MS).order_by("-seen_ms")
    for number, at, gap, hit in seen.values_list("subscription", "seen_ms", "interval_ms", "important")[:MAX_ROWS]:
        country = countries.get(number, "")
        calendar = calendar_of(country) if country else None
        last = int(planner_hour(at) // 24)
        first = min(int(planner_hour(at - gap) // 24), last - 1)
        spans.append(np.bincount([_weekday(day, calendar) for day in range(first + 1, last + 1)], minlength=8))
        hits.append(hit)
    days = np.array(spans, np.int16).reshape(1, -1, 8)
    chances = day_chances(days, np.array(hits, bool).reshape(1, -1), np.full((1, 8), 0.5), rounds=200)[0]
    counts = days.sum(axis=(0, 1))
    return SiteReport(
        name="weekdays",
        columns=("day", "page_days", "chance"),
        rows=[[day, int(counts[i]), round(float(chances[i]), 4)] for i, day in enumerate(DAYS) if counts[i]],
        x="day",
        y="chance",
        definitions={"chance": "P of a page on such a day; a change found later is shared out over the days before"},
    )


def _weekday(day: int, calendar: Any) -> int:
    if calendar is not None and calendar.is_holiday(calendar.date(day)):
        return 7
    return (PLANNER_ORIGIN.weekday() + day) % 7


def intervals(subscription: int | None) -> SiteReport:
    seen = _observed(subscription).filter(interval_ms__gt=0).order_by("-seen_ms")
    rows = list(seen.values_list("interval_ms", "important", "chance")[:MAX_ROWS])
    place = np.searchsorted(INTERVALS, [gap / DAY_MS for gap, _, _ in rows]) if rows else np.zeros(0)
    table = []
    for number in range(len(INTERVALS) + 1):
        mine = [row for row, at in zip(rows, place, strict=True) if at == number]
        if mine:
            said = [chance for _, _, chance in mine if chance is not None]
            label = f"up to {INTERVALS[number]} d" if number < len(INTERVALS) else f"over {INTERVALS[-1]} d"
            found = sum(bool(hit) for _, hit, _ in mine)
            predicted = round(fmean(said), 4) if said else None
            table.append([label, len(mine), found, round(found / len(mine), 4), predicted])
    return SiteReport(
        name="intervals",
        columns=("interval", "visits", "found", "share", "predicted"),
        rows=table,
        x="interval",
        y="share",
    )


def bursts(subscription: int | None) -> SiteReport:
    found = Burst.objects.select_related("subscription").order_by("-start_ms")
    if subscription is not None:
        found = found.filter(subscription=subscription)
    rows = [
        [moment(row.start_ms), moment(row.end_ms), row.subscription_id, row.subscription.name, row.changes, row.usual]
        for row in found[:1000]
    ]
    return SiteReport(
        name="bursts",
        columns=("start", "end", "subscription", "name", "changes", "usual"),
        rows=rows,
        x="start",
        y="changes",
        definitions={"usual": "changes in as many ordinary days"},
    )


def frequencies(subscription: int | None) -> SiteReport:
    by = "all" if subscription is None else "subscription"
    pages = WatchedPage.objects.filter(listing="")
    pages = pages if subscription is None else pages.filter(subscription=subscription)
    chances = list(pages.filter(daily_chance__isnull=False).values_list("daily_chance", flat=True))
    table: list[Sequence[Any]] = []
    for hours in FREQUENCIES:
        for row in site_metrics.measure(by, fixed_hours=hours, subscription=subscription):
            if not table:
                table.append(["as it is", row.visits, row.changes, row.lost, row.unnecessary, row.stored])
            vain = row.fixed_visits - row.fixed_changes
            lost = max(row.changes + row.lost - row.fixed_changes, 0.0)
            one = [f"every {hours:g} h", round(row.fixed_visits), row.fixed_changes, round(lost, 2), round(vain, 2)]
            table.append([*one, row.fixed_bytes])
    return SiteReport(
        name="frequencies",
        columns=("frequency", "visits", "changes", "lost", "unnecessary", "bytes"),
        rows=table,
        x="frequency",
        y="lost",
        summary={"mean_daily_chance": round(fmean(chances), 4) if chances else None},
        definitions={"lost": "estimated from each page's rate", "unnecessary": "visits that find no important change"},
    )


REPORTS: dict[str, Callable[[int | None], SiteReport]] = {
    "rounds": rounds,
    "admission": admission,
    "storage": storage,
    "weekdays": weekdays,
    "intervals": intervals,
    "bursts": bursts,
    "frequencies": frequencies,
}


def _observed(subscription: int | None) -> QuerySet[Observation]:
    rows = Observation.objects.all()
    return rows if subscription is None else rows.filter(subscription=subscription)

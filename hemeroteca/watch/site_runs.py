"""Runs of a site: visits of a subscription with less than an hour between two of them, as one record."""

import platform
from dataclasses import dataclass, field

from hemeroteca.watch.answered_visit import HOUR_MS, AnsweredVisit
from hemeroteca.watch.models import SiteRun

SILENCE_MS = HOUR_MS  # without a visit after which a new run begins
MAX_COUNTED = 100_000  # pages of a run that are told apart


@dataclass
class OpenRun:
    """The run a subscription's next visit may belong to."""

    row: SiteRun
    pages: set[int] = field(default_factory=set)  # seen since this process began


class SiteRuns:
    def __init__(self) -> None:
        self._open: dict[int, OpenRun] = {}
        self._touched: set[int] = set()
        self._machine = platform.node()[:100]

    def load(self, subscription: int) -> None:
        """Go on with the run under way before a restart."""
        last = SiteRun.objects.filter(subscription=subscription).order_by("-start_ms").first()
        if last is not None:
            self._open[subscription] = OpenRun(last)

    def forget(self, subscription: int) -> None:
        self._open.pop(subscription, None)
        self._touched.discard(subscription)

    def add(self, subscription: int, visit: AnsweredVisit, again: bool, important: bool) -> None:
        """Count an answered visit; `again`: the page was seen before."""
        run = self._open.get(subscription)
        if run is None or not -SILENCE_MS < visit.at_ms - run.row.end_ms <= SILENCE_MS:
            row = SiteRun(subscription_id=subscription, start_ms=visit.at_ms, end_ms=visit.at_ms, machine=self._machine)
            run = self._open[subscription] = OpenRun(row)
        row = run.row
        row.end_ms = max(row.end_ms, visit.at_ms)
        if visit.key not in run.pages:
            row.pages += 1
            if len(run.pages) < MAX_COUNTED:
                run.pages.add(visit.key)
        row.versions += visit.changed and again
        row.changes += important
        row.received += visit.bytes
        row.stored += visit.stored
        row.cost_ms += visit.cost_ms
        row.index_ms += visit.index_ms
        self._touched.add(subscription)

    def __bool__(self) -> bool:
        return bool(self._touched)

    @property
    def touched(self) -> frozenset[int]:
        """Subscriptions with a run to be written."""
        return frozenset(self._touched)

    def write(self) -> None:
        """Inside the engine's transaction."""
        fields = [f.name for f in SiteRun._meta.concrete_fields if f.name not in ("id", "subscription", "start_ms")]
        rows = [
            SiteRun(**{name: getattr(run.row, name) for name in ("subscription_id", "start_ms", *fields)})
            for number, run in self._open.items()
            if number in self._touched
        ]
        SiteRun.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["subscription", "start_ms"], update_fields=fields
        )
        self._touched.clear()

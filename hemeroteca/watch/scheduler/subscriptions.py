"""Subscriptions that come, change and go, with their pages. One that cannot be worked with is set aside alone."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from django.db import DatabaseError

from hemeroteca import urls
from hemeroteca.frontier.models import Visit
from hemeroteca.frontier.visit import State as VisitState
from hemeroteca.predict import country_calendar
from hemeroteca.watch import learning, memory, queries, services
from hemeroteca.watch.models import Subscription, WatchedPage
from hemeroteca.watch.rules import REPLAYED, PolicyPages
from hemeroteca.watch.scheduler.announcements import POLLS, Announcements
from hemeroteca.watch.scheduler.budgets import Budgets
from hemeroteca.watch.scheduler.failures import Failures
from hemeroteca.watch.scheduler.planning import Planning
from hemeroteca.watch.scheduler.state import State, Sub, Watched
from hemeroteca.watch.values import HOUR_MS, LONGEST_HOURS, plain
from hemeroteca.watch.windows import Window

RETRY_FAULTS = 600.0  # s until a subscription that could not be worked with is tried again

log = logging.getLogger("hemeroteca.watch")


class Subscriptions:
    def __init__(
        self, state: State, budgets: Budgets, planning: Planning, failures: Failures, announcements: Announcements
    ) -> None:
        self._state = state
        self._budgets = budgets
        self._planning = planning
        self._failures = failures
        self._announcements = announcements
        self.faults: dict[int, str] = {}  # subscriptions that cannot be worked with, and why
        self._faults_again = 0.0
        self._revision = -1

    def changed(self) -> bool:
        """Whether people changed something since the last `refresh`."""
        if self.faults and self._state.clock() >= self._faults_again:
            return True
        return queries.revision() != self._revision

    def refresh(self) -> None:
        """Read the subscriptions; load the pages of new ones, let go of those of ended ones.

        One that cannot be worked with is left out, with its reason; the others go on.
        """
        self._revision = queries.revision()
        self._planning.take_over()
        rows = {row.pk: row for row in Subscription.objects.select_related("collection", "crawl").filter(active=True)}
        kept = set(Subscription.objects.values_list("pk", flat=True))
        for number in [n for n, sub in self._state.subs.items() if n not in rows or _key(rows[n]) != sub.key]:
            self._let_go(number, forget=number not in kept)
        for number in self.faults.keys() - rows.keys():
            del self.faults[number]
        for number, row in rows.items():
            with self.alone(number):
                self._take(row)
                if self.faults.pop(number, "") or row.fault:
                    self._state.records.fault(number, "")
        self._faults_again = self._state.clock() + RETRY_FAULTS
        self._planning.plan_newcomers()

    @contextmanager
    def alone(self, number: int) -> Iterator[None]:
        """What fails here is the trouble of this subscription alone: it is set aside until it can be worked with."""
        try:
            yield
        except DatabaseError:
            raise  # says nothing about the subscription
        except Exception as error:
            said = str(error) if isinstance(error, services.WatchError) else f"{type(error).__name__}: {error}"
            reason = plain(said[:300])
            if self.faults.get(number) != reason:
                log.error("subscription %d cannot be watched (%s)", number, reason, exc_info=error)
                self._state.records.fault(number, reason)
            self.faults[number] = reason
            self._faults_again = self._state.clock() + RETRY_FAULTS
            if number in self._state.subs:
                self._let_go(number, forget=False)

    def _take(self, row: Subscription) -> None:
        """A subscription as it is now."""
        sub = self._state.subs.get(row.pk)
        new = sub is None
        if sub is None:
            sub = self._make(row)
        windows = msgspec.convert(row.windows, list[Window])
        bounds = row.weight, row.min_hours * HOUR_MS, (row.max_hours or LONGEST_HOURS) * HOUR_MS
        if not new and sub.policy is None and bounds != (sub.weight, sub.min_ms, sub.max_ms):
            self._planning.set_bounds(row.pk, *bounds)
        sub.weight, sub.min_ms, sub.max_ms = bounds
        sub.windows = windows
        self._state.shut(sub, self._state.now)  # a zone that is gone shows here
        sub.matcher = urls.ScopeMatcher(msgspec.convert(row.crawl.options["scope"], urls.Scope))
        sub.collection = row.collection_id
        sub.purse.resize(row.visits_per_day, row.bytes_per_day)
        if row.collection is not None:
            self._budgets.set_collection(row.collection)
        if new:
            self._state.subs[row.pk] = self._state.by_crawl[sub.crawl] = sub
            self._load_pages(sub)

    def _make(self, row: Subscription) -> Sub:
        scope = msgspec.convert(row.crawl.options["scope"], urls.Scope)
        sub = Sub(
            id=row.pk,
            crawl=row.crawl_id,
            mode=row.mode,
            fixed_hours=row.fixed_hours,
            min_ms=0,
            max_ms=0,
            weight=row.weight,
            windows=[],
            country=row.country,
            collection=row.collection_id,
            seeds=[urls.key(seed) for seed in row.crawl.seeds],
            matcher=urls.ScopeMatcher(scope),
            purse=self._budgets.subscription(row.pk),
            key=_key(row),
            failures=row.failures,
            failing_since_ms=row.failing_since_ms,
        )
        if row.mode not in services.MODES:
            raise services.WatchError(f"this version has no policy {row.mode!r}; `watch edit {row.pk} --mode auto`")
        if row.country:
            name, _, part = row.country.partition("-")
            country_calendar(name, memory.ORIGIN, part or None)  # a country that is not known any more shows here
        if row.mode != "auto":
            sub.policy = PolicyPages(
                row.mode,
                fixed_hours=row.fixed_hours,
                per_day=row.visits_per_day,
                country=row.country,
                history=learning.recent(REPLAYED, self._state.clock),
            )
        return sub

    def _load_pages(self, sub: Sub) -> None:
        now_ms = int(self._state.now * 1000)
        rows = list(
            WatchedPage.objects.filter(subscription=sub.id).values_list(
                "key", "site", "url", "last_ms", "listing", "failures", "visits"
            )
        )
        if any(row[3] > now_ms for row in rows):  # a wrong clock was ahead when they were visited
            self._state.records.turn_back(now_ms)
            rows = [(*row[:3], min(row[3], now_ms), *row[4:]) for row in rows]
        for key, site, _, last_ms, listing, failures, visits in rows:
            poll = POLLS[listing][1] if listing else 0.0
            page = self._state.pages[key] = Watched(sub.id, site, last_ms, poll, 0.0, failures, visits)
            if poll:
                self._state.polled.add(key)
            elif sub.policy is None:
                self._planning.new_pages.watch(key, page)
        ordinary = [row for row in rows if not row[4]]
        if sub.policy is not None:
            sub.policy.add([(row[0], memory.hour(row[3])) for row in ordinary])
        else:
            self._planning.add_all(sub.id, [(row[0], row[1], row[2], row[3]) for row in ordinary])
        queued = Visit.objects.filter(crawl=sub.crawl, state=VisitState.QUEUED)
        for key, due_ms in queued.values_list("page__key", "due_ms"):
            if key in self._state.pages:
                self._state.underway.start(key, self._state.pages[key].site, self._state.now)
            else:  # pages met after a restart come after those met before
                sub.discovered_until = max(sub.discovered_until, due_ms / 1000)

    def _let_go(self, number: int, forget: bool) -> None:
        """Stop watching a subscription's pages; unless it was removed, what was learned waits for its return."""
        sub = self._state.subs.pop(number)
        self._state.by_crawl.pop(sub.crawl, None)
        self._state.closed.pop(sub.crawl, None)
        gone = [key for key, page in self._state.pages.items() if page.sub == number]
        self._planning.let_go(gone, forget)
        if forget:
            self._budgets.forget_subscription(number)
        for key in sub.seeds:
            self._failures.forget_entrance(key)
        for key in gone:
            self._state.underway.end(key, self._state.pages[key].site)
            self._announcements.forget(key)
            self._state.polled.discard(key)
            del self._state.pages[key]


def _key(row: Subscription) -> tuple[object, ...]:
    """What must not change without loading the pages again."""
    return row.crawl_id, row.mode, row.fixed_hours, row.country, row.visits_per_day if row.mode != "auto" else 0

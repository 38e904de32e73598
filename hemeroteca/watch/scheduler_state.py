"""What the scheduler holds: subscriptions at work, pages under watch, visits under way, and what is to be written.

Its parts (`budgets`, `plan`, `announcements`, `outages`, `next_visit`) get this one object and find each other in it.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from django.db import connection
from django.db.models import F

from hemeroteca import urls
from hemeroteca.archive.services import db_uuid
from hemeroteca.config import Config
from hemeroteca.ingest.difference import Difference
from hemeroteca.ingest.rules import ComparisonRules
from hemeroteca.predict import Reason
from hemeroteca.watch.answered_visit import DAY_MS, LESSON_MS, AnsweredVisit
from hemeroteca.watch.fields import plain
from hemeroteca.watch.models import Signal, SignalSource, Subscription, WatchedPage
from hemeroteca.watch.policy_pages import PolicyPages
from hemeroteca.watch.time_windows import Window, any_open, next_open

if TYPE_CHECKING:
    from hemeroteca.watch.announcements import Announcements
    from hemeroteca.watch.budgets import Budget, Budgets
    from hemeroteca.watch.next_visit import NextVisit
    from hemeroteca.watch.outages import Outages
    from hemeroteca.watch.plan import WatchPlan
    from hemeroteca.watch.requisite_checks import Requisites
    from hemeroteca.watch.scheduler import ActiveSubscriptions
    from hemeroteca.watch.site_runs import SiteRuns

HOST_QUEUE = 50  # watched pages of a host that wait at a time
MAX_DIFF_CHARS = 6000


@dataclass
class ActiveSubscription:
    """A subscription at work."""

    id: int
    crawl: int
    mode: str
    fixed_hours: float
    min_ms: float
    max_ms: float
    weight: float
    windows: list[Window]
    country: str
    collection: int | None
    seeds: list[int]
    matcher: urls.ScopeMatcher
    comparison: ComparisonRules
    domain: str  # registrable domain of its address: all its pages are below it
    budget: "Budget"
    key: tuple[object, ...]  # what must not change without loading its pages again
    policy: PolicyPages | None = None  # None: the planner
    failures: int = 0
    failing_since_ms: int = 0
    is_open: bool = True
    discovered_until: float = 0.0  # newcomers have been given times up to here
    newcomers: int = 0
    newcomers_at: float = 0.0
    check_ms: int = 0  # when somebody last asked for a visit at once
    in_burst: bool = False  # its pages change far more than usual these days
    places: tuple[str, ...] = ()  # where `SchedulerState` looks for it: its domain, or the addresses of its pages


class ActivePage(msgspec.Struct, gc=False):
    """A page under watch."""

    sub: int
    site: str
    last_ms: int
    poll: float = 0.0  # hours between readings of a feed or sitemap; 0: an ordinary page
    retry_at: float = 0.0  # not before, after visits without an answer
    failures: int = 0
    visits: int = 1
    watched_ms: float = 0.0  # from the first visit to the last
    wait: float = 0.0  # ms until a visit was last thought to be worth it; 0: not known yet

    @property
    def lessons(self) -> int:
        """Visits that say something about its habits: of many within a day, as of somebody who tries things out, few
        do."""
        return min(self.visits, 1 + int(self.watched_ms // LESSON_MS))


class VisitUnderWay(msgspec.Struct, gc=False):
    """A visit the scheduler asked for that has not ended yet."""

    crawl: int  # that makes it; another crawl may visit the same page meanwhile
    site: str
    planned: bool = True  # of a watched page; paid for when it was chosen
    source: int = 0  # who named the page, which nobody knew
    why: Reason | None = None  # the reason it was chosen for


class UnderWay:
    """Visits that have not ended yet: every one begins and ends here and nowhere else.

    It begins when the scheduler asks for it (or finds it queued, at a start), and ends when the engine tells of an
    answer (`observed`) or the frontier of an ending without one (`ended`).
    """

    def __init__(self) -> None:
        self._visits: dict[int, VisitUnderWay] = {}
        self._waiting: Counter[str] = Counter()  # planned ones by host

    def __contains__(self, key: int) -> bool:
        return key in self._visits

    def start(self, key: int, visit: VisitUnderWay) -> None:
        self.end(key)
        self._visits[key] = visit
        self._waiting[visit.site] += visit.planned

    def end(self, key: int, crawl: int | None = None) -> VisitUnderWay | None:
        """`crawl`: only a visit of this one."""
        visit = self._visits.get(key)
        if visit is None or (crawl is not None and visit.crawl != crawl):
            return None
        del self._visits[key]
        if visit.planned:
            self._waiting[visit.site] -= 1
            if self._waiting[visit.site] <= 0:
                del self._waiting[visit.site]
        return visit

    def at(self, site: str) -> int:
        """How many planned ones of a host."""
        return self._waiting[site]


class SchedulerState:
    budgets: "Budgets"
    plan: "WatchPlan"
    announcements: "Announcements"
    outages: "Outages"
    next_visit: "NextVisit"
    requisites: "Requisites"
    runs: "SiteRuns"
    subscriptions: "ActiveSubscriptions"

    def __init__(self, config: Config, data: Path, clock: Callable[[], float]) -> None:
        self.config = config
        self.data = data
        self.clock = clock
        self.now = clock()  # as of the last look
        self.subs: dict[int, ActiveSubscription] = {}
        self.by_crawl: dict[int, ActiveSubscription] = {}
        # by domain; those of single pages by their addresses, for there may be thousands of one domain
        self._by_place: dict[str, dict[int, ActiveSubscription]] = {}
        self.pages: dict[int, ActivePage] = {}
        self.polled: set[int] = set()  # feeds and sitemaps among the pages
        self.under_way = UnderWay()
        self.writes = PendingWrites()
        self.asked: dict[int, int] = {}  # pages somebody wants visited at once, and since when (ms)
        self.closed: dict[int, float] = {}  # crawls outside their windows → when they open

    @property
    def now_ms(self) -> int:
        return int(self.clock() * 1000)

    def add_subscription(self, sub: ActiveSubscription) -> None:
        self.subs[sub.id] = self.by_crawl[sub.crawl] = sub
        self.place(sub)

    def place(self, sub: ActiveSubscription) -> None:
        """Note what a subscription may cover; again when its scope was changed."""
        self._displace(sub)
        scope = sub.matcher.scope
        sub.places = scope.seeds if scope.kind == "page" else (sub.domain,)
        for place in sub.places:
            self._by_place.setdefault(place, {})[sub.id] = sub

    def _displace(self, sub: ActiveSubscription) -> None:
        for place in sub.places:
            there = self._by_place.get(place, {})
            there.pop(sub.id, None)
            if not there:
                self._by_place.pop(place, None)

    def remove_subscription(self, number: int) -> None:
        sub = self.subs.pop(number)
        self.by_crawl.pop(sub.crawl, None)
        self.closed.pop(sub.crawl, None)
        self._displace(sub)

    def covering(self, sub: ActiveSubscription, url: str) -> list[ActiveSubscription]:
        """All subscriptions a page belongs to; the one that has it visited first."""
        near = *self._by_place.get(domain_of(url), {}).values(), *self._by_place.get(url, {}).values()
        return [sub, *(s for s in near if s is not sub and s.matcher.refusal(url, 0) is None)]

    def is_shut(self, sub: ActiveSubscription, now: float) -> bool:
        """Whether a subscription is outside its windows; the engine is told until when."""
        shut = bool(sub.windows) and not any_open(sub.windows, now)
        if shut:
            self.closed[sub.crawl] = next_open(sub.windows, now)
        else:
            self.closed.pop(sub.crawl, None)
        return shut


def domain_of(url: str) -> str:
    host = urls.host(url)
    return urls.registrable_domain(host) or host


Rows = list[tuple[Any, ...]]


@dataclass
class PendingWrites:
    """Gathered by the scheduler, written in batches inside the engine's transaction; the same SQL on both databases."""

    signals: list[int] = field(default_factory=list)  # taken, to be deleted
    _new: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    _observations: Rows = field(default_factory=list)
    _seen: Rows = field(default_factory=list)
    _chosen: dict[int, tuple[int, Reason]] = field(default_factory=dict)
    _failed: dict[int, tuple[int, str, int]] = field(default_factory=dict)
    _changes: Rows = field(default_factory=list)
    _verdicts: Counter[tuple[int, str]] = field(default_factory=Counter)
    _heard: dict[int, tuple[int, int]] = field(default_factory=dict)
    _subscriptions: dict[int, dict[str, Any]] = field(default_factory=dict)
    _waits: list[tuple[dict[str, Any], int, str]] = field(default_factory=list)
    _turned_ms: int = 0

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def new_page(
        self,
        visit: AnsweredVisit,
        sub: int,
        site: str,
        *,
        at_ms: int,
        next_ms: int,
        why: Reason,
        then: Reason | None = None,
    ) -> None:
        """`at_ms`: since when it is known; not this visit, where somebody else captured it before."""
        kind = visit.listing.kind if visit.listing else ""
        times, reasons = (at_ms, at_ms, next_ms), (_json(why), _json(then))
        counted = int(at_ms == visit.at_ms)  # what was captured before is counted where it is known
        self._new[visit.key] = (visit.key, sub, site, visit.url, kind, *times, *reasons, counted)

    def observation(
        self,
        visit: AnsweredVisit,
        sub: int,
        *,
        interval_ms: int,
        important: bool,
        chance: float | None,
        why: Reason | None,
    ) -> None:
        d = visit.difference
        sums = (d.view, d.form, d.content) if d else (None, None, None)
        flags = visit.status, visit.not_modified, visit.changed, important
        cost = visit.bytes, visit.stored, visit.cost_ms
        last = chance, False, _json(why)
        self._observations.append((visit.key, sub, visit.at_ms, interval_ms, *flags, *sums, *cost, *last))

    def page_seen(
        self, key: int, *, at_ms: int, interval_ms: int, next_ms: int, then: Reason, important: bool, chance: float
    ) -> None:
        hit, day = int(important), at_ms // DAY_MS
        self._seen.append((at_ms, next_ms, _json(then), hit, interval_ms / DAY_MS, hit, day, hit, at_ms, chance, key))

    def page_chosen(self, key: int, next_ms: int, why: Reason) -> None:
        self._chosen[key] = (next_ms, why)

    def chosen_for(self, key: int) -> Reason | None:
        """Why a page was chosen just now."""
        return self._chosen[key][1] if key in self._chosen else None

    def page_failed(self, key: int, next_ms: int, hours: float) -> None:
        self._failed[key] = (next_ms, _json(Reason("then-retry", {"hours": round(hours, 2)})), key)

    def change(
        self,
        visit: AnsweredVisit,
        sub: int,
        d: Difference | None,
        site: str,
        since_ms: int,
        first: bool,
        page: int | None = None,
    ) -> None:
        """`d`: how the page differs by the rules of this subscription; None: it could not be compared. `page`: the one
        that shows it, where a requisite was visited."""
        sums = (d.view, d.form, d.content, d.total) if d else (0.0, 0.0, 1.0, 1.0)
        words = (d.words_added, d.words_removed, plain(d.diff[:MAX_DIFF_CHARS])) if d else (0, 0, "")
        where = visit.key if page is None else page, sub, site, visit.url, plain(visit.title[:500])
        self._changes.append((*where, visit.at_ms, since_ms, db_uuid(visit.record_id), *sums, *words, False, first))

    def verdict(self, source: int, what: str) -> None:
        """`right`, `wrong` or `missed`."""
        self._verdicts[source, what] += 1

    def heard(self, source: int, at_ms: int, count: int = 1) -> None:
        self._heard[source] = (at_ms, self._heard.get(source, (0, 0))[1] + count)

    def taken(self, signals: Iterable[int]) -> None:
        self.signals += signals

    def trouble(self, sub: int, failures: int, since_ms: int, error: str) -> None:
        self._subscriptions.setdefault(sub, {}).update(
            failures=failures, failing_since_ms=since_ms, last_error=plain(error[:500])
        )

    def fault(self, sub: int, reason: str) -> None:
        """Why the scheduler cannot work with a subscription; empty: it can."""
        self._subscriptions.setdefault(sub, {})["fault"] = reason

    def wait(self, whose: dict[str, Any], until_ms: int, code: str) -> None:
        """Pages (a filter of theirs) that would be visited earlier have to wait until then."""
        self._waits.append((whose, until_ms, code))

    def turn_back(self, now_ms: int) -> None:
        """The clock was set back: no page was visited later than now, or waits for a time that comes again."""
        self._turned_ms = now_ms

    @property
    def named(self) -> set[int]:
        """Subscriptions that what is to be written belongs to."""
        return {row[1] for rows in (self._new.values(), self._observations, self._changes) for row in rows} - {None}

    def leave(self, ended: set[int]) -> None:
        """Subscriptions that are no more: what was seen stays, as when they are removed, their pages go."""
        self._new = {key: row for key, row in self._new.items() if row[1] not in ended}
        for rows in (self._observations, self._changes):
            rows[:] = [(row[0], None, *row[2:]) if row[1] in ended else row for row in rows]

    def write(self) -> None:
        with connection.cursor() as cursor:
            if self._turned_ms:
                cursor.execute(_TURNED_BACK, (self._turned_ms, self._turned_ms, self._turned_ms))
            for statement, rows in (
                (_CHOSEN, [(at_ms, _json(why), key) for key, (at_ms, why) in self._chosen.items()]),
                (_NEW, list(self._new.values())),
                (_OBSERVED, self._observations),
                (_SEEN, self._seen),
                (_FAILED, list(self._failed.values())),
                (_CHANGED, self._changes),
            ):
                if rows:
                    cursor.executemany(statement, rows)
        for whose, until_ms, code in self._waits:
            # Pages without a reason are on their way; those without a time wait for nothing in particular.
            early = WatchedPage.objects.filter(**whose, next_ms__gt=0, next_ms__lt=until_ms).exclude(next_reason={})
            early.update(next_ms=until_ms, next_reason=Reason(code).kept())
        for (source, what), count in self._verdicts.items():
            SignalSource.objects.filter(pk=source).update(**{what: F(what) + count})
        for source, (at_ms, count) in self._heard.items():
            SignalSource.objects.filter(pk=source).update(heard_ms=at_ms, received=F("received") + count)
        if self.signals:
            Signal.objects.filter(pk__in=self.signals).delete()
        for subscription, values in self._subscriptions.items():
            Subscription.objects.filter(pk=subscription).update(**values)
        self.__init__()  # type: ignore[misc]  # all of it is written


def _json(reason: Reason | None) -> str:
    return json.dumps(reason.kept() if reason is not None else {})


_NEW = """
INSERT INTO watched_page (key, subscription_id, site, url, listing, first_ms, last_ms, next_ms, reason, next_reason,
    visits, changes, changed_ms, observed_days, change_days, chance, failures, "group", daily_chance, behaviour)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 1, 0, 0, 0.0, 0, 0.0, 0, '', NULL, '')
ON CONFLICT (key) DO UPDATE SET subscription_id = excluded.subscription_id, listing = excluded.listing,
    last_ms = excluded.last_ms, next_ms = excluded.next_ms, visits = watched_page.visits + %s, failures = 0,
    next_reason = excluded.next_reason
"""
_OBSERVED = """
INSERT INTO observation (key, subscription_id, seen_ms, interval_ms, status, conditional, changed, important,
    "view", form, content, bytes, stored, cost_ms, chance, imported, reason)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_SEEN = """
UPDATE watched_page SET last_ms = %s, next_ms = %s, next_reason = %s, visits = visits + 1, changes = changes + %s,
    observed_days = observed_days + %s, failures = 0,
    change_days = change_days + CASE WHEN %s = 1 AND changed_ms / 86400000 <> %s THEN 1 ELSE 0 END,
    changed_ms = CASE WHEN %s = 1 THEN %s ELSE changed_ms END, chance = %s
WHERE key = %s
"""
_TURNED_BACK = """
UPDATE watched_page SET next_ms = CASE WHEN next_ms > last_ms THEN next_ms - last_ms + %s ELSE next_ms END, last_ms = %s
WHERE last_ms > %s
"""
_CHOSEN = "UPDATE watched_page SET next_ms = %s, next_reason = '{}', reason = %s WHERE key = %s"
_FAILED = "UPDATE watched_page SET next_ms = %s, next_reason = %s, failures = failures + 1 WHERE key = %s"
_CHANGED = """
INSERT INTO change (key, subscription_id, site, url, title, seen_ms, since_ms, record_id, "view", form, content, total,
    words_added, words_removed, diff, told, first)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT DO NOTHING
"""

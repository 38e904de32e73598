"""The scheduler of watching, inside the engine: which pages are visited now, and what their visits taught.

`due` about once a second, `observed` for every answered visit of a standing crawl, `ended` and `write` with every
commit of the engine. Predictions come from `predict`; here they meet budgets, time windows, hosts that are down and
signals. A page is visited when its chance of an important change is worth it, or, in a subscription with a budget of
its own, when it is the best use of the next visit; and never later than its maximum.

What keeps it calm: budgets are saved up for minutes only, a host has few pages waiting at a time, one that is down gets
a single probe, and nothing here depends on how long ago the clock or the instance stood still.

The engine holds a `SafeScheduler`: watching that fails cannot end the crawl.
"""

import heapq
import logging
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
from django.db import DatabaseError, transaction

from hemeroteca import urls
from hemeroteca.config import Config
from hemeroteca.errors import Invalid, Refused
from hemeroteca.frontier.models import QueuedVisit
from hemeroteca.frontier.visit import Ending, How, State
from hemeroteca.ingest.difference import Difference
from hemeroteca.ingest.rules import ComparisonRules, Judge
from hemeroteca.predict import Reason, policy_of
from hemeroteca.urls.candidate import Candidate, UrlRole
from hemeroteca.watch import observations, queries
from hemeroteca.watch.announcements import POLL_HOURS, Announcements
from hemeroteca.watch.answered_visit import (
    DAY_MS,
    GONE,
    HOUR_MS,
    MAX_CHECKED,
    MAX_INTERVAL_HOURS,
    AnsweredVisit,
    planner_hour,
    tells_of_page,
)
from hemeroteca.watch.budgets import Budgets
from hemeroteca.watch.fields import plain
from hemeroteca.watch.models import Subscription, WatchedPage
from hemeroteca.watch.next_visit import NextVisit
from hemeroteca.watch.outages import Outages
from hemeroteca.watch.plan import PageChoice, WatchPlan
from hemeroteca.watch.policy_pages import PolicyPages, calendar_of
from hemeroteca.watch.requisite_checks import Requisites
from hemeroteca.watch.scheduler_state import ActivePage, ActiveSubscription, SchedulerState, VisitUnderWay, domain_of
from hemeroteca.watch.site_runs import SiteRuns
from hemeroteca.watch.time_windows import Window

LOOK_SECONDS = 1.0  # between two looks
SWEEP_SECONDS = 60.0  # between looks at what changes slowly
RETRY_FAULTS = 600.0  # s until a subscription that could not be worked with is tried again
RESTART_SECONDS = (5.0, 600.0)  # until a new scheduler is tried: first, and at most
CALM_SECONDS = 120.0  # of work without failure after which it counts as well again
FIRST = Reason("first")

log = logging.getLogger("hemeroteca.watch")
T = TypeVar("T")


class Scheduler:
    def __init__(self, config: Config, data: Path, clock: Callable[[], float] = time.time) -> None:
        self.state = state = SchedulerState(config, data, clock)
        state.budgets = Budgets(state)
        state.plan = WatchPlan(state)
        state.outages = Outages(state)
        state.announcements = Announcements(state)
        state.next_visit = NextVisit(state)
        state.requisites = Requisites(state)
        state.runs = SiteRuns()
        state.subscriptions = ActiveSubscriptions(state)
        self._selection = PageChoice(state)
        self._look_at = self._sweep_at = 0.0

    @property
    def now_ms(self) -> int:
        return self.state.now_ms

    @property
    def unwritten(self) -> bool:
        return bool(self.state.writes) or bool(self.state.runs) or self.state.budgets.unwritten

    def __len__(self) -> int:
        return len(self.state.pages)

    @property
    def closed(self) -> dict[int, float]:
        """Crawls outside the windows of their subscription, and when they open."""
        return self.state.closed

    @property
    def faults(self) -> dict[int, str]:
        """Subscriptions that cannot be worked with, and why."""
        return self.state.subscriptions.faults

    def changed(self) -> bool:
        """Whether people changed something since the last `refresh`."""
        return self.state.subscriptions.changed()

    def refresh(self) -> None:
        """Read the subscriptions, the budgets of sites and who tells of changes."""
        self.state.budgets.load()
        self.state.subscriptions.refresh()
        self.state.budgets.read_sites()
        self.state.announcements.read_sources()

    def refresh_sites(self) -> None:
        """Read the budgets people set for sites."""
        self.state.budgets.read_sites()

    def due(self, now: float, crawls: Collection[int]) -> tuple[list[Candidate], list[Candidate]]:
        """Pages to visit now, of the crawls that are running: (met by a signal and new, to be visited again)."""
        if 0 <= now - self._look_at < LOOK_SECONDS:
            return [], []
        self._follow_clock(now)
        self._look_at = now
        self.state.plan.learn()
        if not self.state.subs:
            return [], []
        new = self.state.announcements.take(now)
        self.state.budgets.fill(now, crawls)
        entrances = self._sweep(now)
        chosen = self._selection.choose(now)
        self.state.plan.save(now)
        again = self.state.announcements.gone_before(new, now)
        return [f for f in new if f not in again], again + entrances + chosen + list(self.state.requisites.due())

    def pace(self, found: list[Candidate], now: float) -> list[Candidate]:
        """Pages met for the first time: where a budget is set, they are visited in its rhythm."""
        return self.state.budgets.pace(found, now)

    def observed(self, visit: AnsweredVisit) -> None:
        """An answered visit of a standing crawl."""
        sub = self.state.by_crawl.get(visit.crawl)
        if sub is not None:
            with self.state.subscriptions.alone(sub.id):
                self._observed(sub, visit)

    def _observed(self, sub: ActiveSubscription, visit: AnsweredVisit) -> None:
        site = urls.host(visit.url)
        ended = self.state.under_way.end(visit.key, visit.crawl)
        planned = ended is not None and ended.planned
        self.state.budgets.spend(sub, site, visit.bytes, int(visit.role != UrlRole.REQUISITE), planned)
        self.state.outages.host_answered(site)
        if not tells_of_page(visit.status):
            self.state.outages.no_answer(sub, visit.key, visit.url, f"http-{visit.status}", visit.at_ms)
            return
        if visit.never_there and visit.key in sub.seeds and visit.key not in self.state.pages:
            self.state.outages.no_answer(sub, visit.key, visit.url, f"http-{visit.status}", visit.at_ms)
            return
        self.state.outages.well_again(sub, visit.key)
        if visit.role == UrlRole.REQUISITE:
            self.state.requisites.seen(sub, site, visit)
            return
        if ended is not None and ended.source:
            self.state.announcements.settle_named(visit.key, ended.source, there=visit.status not in GONE)
            if visit.status in GONE and visit.key not in self.state.pages:
                return  # somebody named a page that is not there
        page = self.state.pages.get(visit.key)
        if visit.listing is not None or (page is not None and page.poll):
            self.state.announcements.read_listing(sub, site, visit, page)
            return
        if visit.role == UrlRole.SITEMAP and page is None:
            return  # where a sitemap is looked for, there is none
        self.state.requisites.needed(sub, visit)
        if page is not None:
            self._seen_again(sub, site, page, visit, ended.why if ended is not None else None)
        elif visit.before_ms:
            self._seen_again(sub, site, self._take_up(sub, site, visit), visit, FIRST)
        else:
            self._welcome(sub, site, visit)

    def watches(self, key: int) -> bool:
        """Whether a page is under watch already: what it was at its last visit is known."""
        return key in self.state.pages

    def last_seen(self, key: int) -> int:
        """When a page was last visited for its subscription, in ms; 0: it is not under watch."""
        page = self.state.pages.get(key)
        return page.last_ms if page is not None else 0

    def made(self, crawl: int | None) -> bool:
        """Whether a capture is of a subscription, not of an ordinary crawl."""
        return crawl in self.state.by_crawl

    def judges(self, crawl: int, url: str) -> list[Judge]:
        """How a page is compared for each subscription that covers it; that of the crawl first."""
        sub = self.state.by_crawl.get(crawl)
        alike: dict[ComparisonRules, list[int]] = {}
        for other in self.state.covering(sub, url) if sub is not None else ():
            alike.setdefault(other.comparison, []).append(other.id)
        return [Judge(comparison, tuple(numbers)) for comparison, numbers in alike.items()]

    def _judged(self, sub: ActiveSubscription, visit: AnsweredVisit) -> dict[int, Difference | None]:
        """Subscriptions to which a change is important, by the rules of each, and what differs by them."""
        seen = visit.difference
        verdicts = {} if seen is None else {number: d for d in (seen, *seen.others) for number in d.subscriptions}
        found: dict[int, Difference | None] = {}
        for other in self.state.covering(sub, visit.url):
            if seen is None:
                found[other.id] = None
            elif other.id in verdicts:
                if verdicts[other.id].important:
                    found[other.id] = verdicts[other.id]
            elif seen.important if other is sub else seen.total > other.comparison.threshold:
                found[other.id] = seen  # it came while the page was under way
        return found

    def _welcome(self, sub: ActiveSubscription, site: str, visit: AnsweredVisit) -> None:
        """A page seen for the first time."""
        page = self._begin_page(sub, site, visit, visit.at_ms)
        next_ms, then = self.state.next_visit.then(sub, page, visit)
        self.state.writes.new_page(visit, sub.id, site, at_ms=visit.at_ms, next_ms=next_ms, why=FIRST, then=then)
        self.state.writes.observation(visit, sub.id, interval_ms=0, important=False, chance=None, why=FIRST)
        self.state.runs.add(sub.id, visit, again=False, important=False)

    def _take_up(self, sub: ActiveSubscription, site: str, visit: AnsweredVisit) -> ActivePage:
        """A page somebody else captured before (a crawl, an import, a subscription that ended): watching begins with
        what it was then, so that this visit shows whether it changed since."""
        before_ms = min(visit.before_ms, visit.at_ms)
        self.state.writes.new_page(visit, sub.id, site, at_ms=before_ms, next_ms=0, why=FIRST)
        return self._begin_page(sub, site, visit, before_ms)

    def _begin_page(self, sub: ActiveSubscription, site: str, visit: AnsweredVisit, last_ms: int) -> ActivePage:
        self.state.outages.forget_entrances(key=visit.key)
        page = self.state.pages[visit.key] = ActivePage(sub.id, site, last_ms)
        if sub.policy is not None:
            sub.policy.add([(visit.key, planner_hour(last_ms))])
        else:
            self.state.plan.visit_early(visit.key, page)
            self.state.plan.add(sub.id, [(visit.key, site, visit.url, last_ms)])
        return page

    def _seen_again(
        self, sub: ActiveSubscription, site: str, page: ActivePage, visit: AnsweredVisit, why: Reason | None
    ) -> None:
        """A page that was seen before: did it change, was that foreseen, and when is it visited next?"""
        interval = max(visit.at_ms - page.last_ms, 0)
        if page.sub != sub.id and not visit.changed and interval < HOUR_MS:
            return  # another subscription has just seen it, and everybody was told
        judged = self._judged(sub, visit) if visit.changed and not visit.first else {}
        important = bool(judged)  # to somebody: that is what the planner foresees
        hour = planner_hour(visit.at_ms)
        chance = self.state.plan.chance(visit.key, hour)
        told = self.state.announcements.verify(visit.key, page, important)
        self.state.writes.observation(visit, sub.id, interval_ms=interval, important=important, chance=chance, why=why)
        self.state.runs.add(sub.id, visit, again=interval > 0, important=important)
        for place, (number, difference) in enumerate(judged.items()):
            self.state.writes.change(visit, number, difference, site, page.last_ms, first=not place)
        page.last_ms, page.retry_at, page.failures, page.visits = visit.at_ms, 0.0, 0, page.visits + 1
        page.watched_ms += interval
        owner = self.state.subs.get(page.sub, sub)
        if owner.policy is not None:
            owner.policy.observe(visit.key, hour, important)
        else:
            self.state.plan.observe(visit.key, hour, important)
            self.state.plan.visit_early(visit.key, page)
        self.state.plan.unsaved = True
        if chance is not None and not told and interval >= HOUR_MS:  # a signal, or a moment, says nothing about habits
            page.wait = self.state.next_visit.until_likely(owner, chance, interval)
        next_ms, then = self.state.next_visit.then(owner, page, visit)
        self.state.writes.page_seen(
            visit.key,
            at_ms=visit.at_ms,
            interval_ms=interval,
            next_ms=next_ms,
            then=then,
            important=important,
            chance=chance or 0.0,
        )

    def ended(self, endings: list[Ending]) -> None:
        """Visits of standing crawls that have ended: those that brought no answer, or were not allowed, are learned
        from here (`observed` tells of the others)."""
        for ending in endings:
            sub = self.state.by_crawl.get(ending.crawl)
            if sub is not None and ending.how in (How.FAILED, How.EXCLUDED):
                with self.state.subscriptions.alone(sub.id):
                    self._failed(sub, ending)

    def _failed(self, sub: ActiveSubscription, ending: Ending) -> None:
        site = urls.host(ending.url)
        visit = self.state.under_way.end(ending.key, ending.crawl)
        asked = ending.asked or ending.how is How.EXCLUDED
        if asked and ending.how is How.FAILED:
            self.state.budgets.spend(sub, site, 0, 1, planned=visit is not None and visit.planned)
            self.state.outages.host_failed(site)
        if visit is not None and visit.source:
            self.state.announcements.forget(ending.key)
        if ending.how is How.EXCLUDED and ending.key not in self.state.pages and ending.key not in sub.seeds:
            return  # a link that robots.txt closes is no trouble of the site
        self.state.outages.no_answer(sub, ending.key, ending.url, ending.reason, self.state.now_ms, asked=asked)

    def write(self) -> None:
        """Put everything on disk. Called inside the engine's transaction."""
        self._leave_ended()
        if self.state.writes:
            self.state.writes.write()
        if self.state.runs:
            self.state.runs.write()
        if self.state.budgets.unwritten:
            self.state.budgets.write()

    def _leave_ended(self) -> None:
        """A person may have removed a subscription whose visits were under way: a row of theirs would name nothing, and
        the engine's transaction fail with it."""
        if named := self.state.writes.named | self.state.runs.touched:
            ended = named.difference(Subscription.objects.filter(pk__in=named).values_list("pk", flat=True))
            self.state.writes.leave(ended)
            for number in ended:
                self.state.runs.forget(number)

    def close(self) -> None:
        """After the engine's last commit."""
        self.state.plan.learn()
        self.state.plan.take_in()
        self.state.plan.save(self.state.clock(), at_once=True)

    def _follow_clock(self, now: float) -> None:
        if now < self.state.now - 60:  # set back: nothing may wait for a time that comes once more
            for sub in self.state.subs.values():
                if sub.policy is not None:
                    sub.policy.turn_back(planner_hour(now * 1000))
                sub.discovered_until = min(sub.discovered_until, now)
            for page in self.state.pages.values():
                page.last_ms = min(page.last_ms, int(now * 1000))
                page.retry_at = min(page.retry_at, now + 3600)
            self.state.writes.turn_back(int(now * 1000))
            self.state.outages.turn_back(now)
            self.state.plan.turn_back(now)
            self._sweep_at = 0.0
        self.state.now = now

    def _sweep(self, now: float) -> list[Candidate]:
        """What is looked for now and then. Gives addresses to try again."""
        if 0 <= now - self._sweep_at < SWEEP_SECONDS and not self.state.outages.asked:
            return []
        self._sweep_at = now
        self._selection.find_late(now)
        self.state.next_visit.tell_waits(now)
        return self.state.outages.try_entrances(now)


class ActiveSubscriptions:
    """Subscriptions that come, change and go, with their pages. One that cannot be worked with is set aside alone."""

    def __init__(self, state: SchedulerState) -> None:
        self._state = state
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
        learned = self._state.plan.take_over()
        rows = {row.pk: row for row in Subscription.objects.select_related("collection", "crawl").filter(active=True)}
        kept = set(Subscription.objects.values_list("pk", flat=True))
        heirs: set[int] = set()
        for number in [n for n, sub in self._state.subs.items() if n not in rows or _key(rows[n]) != sub.key]:
            heirs |= self._let_go(number, forget=number not in kept)
        for sub in list(self._state.subs.values()):
            if learned or sub.id in heirs:  # pages learned of the archive, or left to it
                with self.alone(sub.id):
                    self._load_pages(sub)
        for number in self.faults.keys() - rows.keys():
            del self.faults[number]
        for number, row in rows.items():
            with self.alone(number):
                self._take(row)
                if self.faults.pop(number, "") or row.fault:
                    self._state.writes.fault(number, "")
        self._faults_again = self._state.clock() + RETRY_FAULTS
        self._state.plan.plan_newcomers()

    @contextmanager
    def alone(self, number: int) -> Iterator[None]:
        """What fails here is the trouble of this subscription alone: it is set aside until it can be worked with."""
        try:
            yield
        except DatabaseError:
            raise  # says nothing about the subscription
        except Exception as error:
            said = str(error) if isinstance(error, Refused) else f"{type(error).__name__}: {error}"
            reason = plain(said[:300])
            if self.faults.get(number) != reason:
                log.error("subscription %d cannot be watched (%s)", number, reason, exc_info=error)
                self._state.writes.fault(number, reason)
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
        bounds = row.weight, row.min_hours * HOUR_MS, (row.max_hours or MAX_INTERVAL_HOURS) * HOUR_MS
        if not new and sub.policy is None and bounds != (sub.weight, sub.min_ms, sub.max_ms):
            self._state.plan.set_bounds(row.pk, *bounds)
        sub.weight, sub.min_ms, sub.max_ms = bounds
        sub.windows = windows
        sub.in_burst = row.in_burst
        self._state.is_shut(sub, self._state.now)  # a zone that is gone shows here
        sub.matcher = urls.ScopeMatcher(msgspec.convert(row.crawl.options["scope"], urls.Scope))
        sub.comparison = msgspec.convert(row.comparison, ComparisonRules)
        sub.collection = row.collection_id
        sub.budget.resize(row.visits_per_day, row.bytes_per_day)
        if row.collection is not None:
            self._state.budgets.set_collection(row.collection)
        if new:
            self._state.add_subscription(sub)
            self._load_pages(sub)
            self._load_visits(sub)
        else:
            self._state.place(sub)
        if row.check_ms > sub.check_ms:
            sub.check_ms = row.check_ms
            mine = [
                (page.last_ms, key)
                for key, page in self._state.pages.items()
                if page.sub == row.pk or key in sub.seeds  # its own address may be visited for another subscription
            ]
            waited = [key for last_ms, key in heapq.nsmallest(MAX_CHECKED, mine) if last_ms < row.check_ms]
            self._state.asked |= dict.fromkeys(waited, row.check_ms)
            self._state.requisites.check(row.pk)
            self._state.outages.check(row.pk)

    def _make(self, row: Subscription) -> ActiveSubscription:
        scope = msgspec.convert(row.crawl.options["scope"], urls.Scope)
        sub = ActiveSubscription(
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
            comparison=ComparisonRules(),
            domain=domain_of(row.url),
            budget=self._state.budgets.subscription(row.pk),
            key=_key(row),
            failures=row.failures,
            failing_since_ms=row.failing_since_ms,
        )
        try:
            policy_of(row.mode)
        except ValueError:
            raise Invalid(f"this version has no policy {row.mode!r}; `watch edit {row.pk} --mode auto`")
        if row.country:
            calendar_of(row.country)  # one that is not known any more shows here
        if row.mode != "auto":
            sub.policy = PolicyPages(
                row.mode,
                fixed_hours=row.fixed_hours,
                per_day=row.visits_per_day,
                country=row.country,
                history=observations.recent(self._state.clock),
            )
        return sub

    def _load_pages(self, sub: ActiveSubscription) -> None:
        now_ms = int(self._state.now * 1000)
        columns = ("key", "site", "url", "last_ms", "listing", "failures", "visits", "observed_days")
        known = WatchedPage.objects.filter(subscription=sub.id).only(*columns)
        rows = [row for row in known if row.key not in self._state.pages]
        if any(row.last_ms > now_ms for row in rows):  # a wrong clock was ahead when they were visited
            self._state.writes.turn_back(now_ms)
        for row in rows:
            row.last_ms = min(row.last_ms, now_ms)
            poll = POLL_HOURS[row.listing][1] if row.listing else 0.0
            page = self._state.pages[row.key] = ActivePage(
                sub.id,
                row.site,
                row.last_ms,
                poll,
                failures=row.failures,
                visits=row.visits,
                watched_ms=row.observed_days * DAY_MS,
            )
            if poll:
                self._state.polled.add(row.key)
            elif sub.policy is None:
                self._state.plan.visit_early(row.key, page)
        ordinary = [row for row in rows if not row.listing]
        if sub.policy is not None:
            sub.policy.add([(row.key, planner_hour(row.last_ms)) for row in ordinary])
        else:
            self._state.plan.add(sub.id, [(row.key, row.site, row.url, row.last_ms) for row in ordinary])

    def _load_visits(self, sub: ActiveSubscription) -> None:
        queued = QueuedVisit.objects.filter(crawl=sub.crawl, state=State.QUEUED)
        for key, due_ms in queued.values_list("page__key", "due_ms"):
            if key in self._state.pages:
                self._state.under_way.start(key, VisitUnderWay(sub.crawl, self._state.pages[key].site))
            else:  # pages met after a restart come after those met before
                sub.discovered_until = max(sub.discovered_until, due_ms / 1000)
        self._state.outages.load_entrances(sub)
        self._state.requisites.load(sub)
        self._state.runs.load(sub.id)

    def _let_go(self, number: int, forget: bool) -> set[int]:
        """Stop watching a subscription's pages; unless it was removed, what was learned waits for its return. Gives the
        subscriptions that its pages were left to."""
        self._state.remove_subscription(number)
        gone = [key for key, page in self._state.pages.items() if page.sub == number]
        left: dict[int, int] = {}
        for start in range(0, len(gone), 500):
            kept = WatchedPage.objects.filter(key__in=gone[start : start + 500])
            left |= dict(kept.values_list("key", "subscription"))
        self._state.plan.let_go([key for key in gone if key not in left], forget)
        self._state.plan.let_go([key for key in gone if key in left], forget=False)
        if forget:
            self._state.budgets.forget_subscription(number)
        self._state.outages.forget_entrances(sub=number)
        self._state.requisites.forget(number)
        self._state.runs.forget(number)
        for key in gone:
            self._state.under_way.end(key)
            self._state.announcements.forget(key)
            self._state.polled.discard(key)
            del self._state.pages[key]
        return set(left.values()) - {number}


class SafeScheduler:
    """What the engine asks of a `Scheduler`; never raises because of it. Asleep, it answers that nothing is due.

    A scheduler that fails is logged, thrown away and begun anew a while later, ever later while it goes on failing. All
    it knows is in the database and in the planner's file: only what it had not written yet is lost.
    """

    def __init__(self, config: Config, data: Path, clock: Callable[[], float] = time.time) -> None:
        self._config, self._data, self._clock = config, data, clock
        self._scheduler: Scheduler | None = None
        self._failures = 0
        self._begun_at = self._again_at = 0.0  # monotonic
        self._logged = ""
        self.trouble = ""  # why nothing is watched just now; empty: all is well
        self.trouble_ms = 0

    @property
    def now_ms(self) -> int:
        return int(self._clock() * 1000)

    @property
    def faults(self) -> dict[int, str]:
        """Subscriptions that are set aside because they cannot be worked with, and why."""
        return {} if self._scheduler is None else self._scheduler.faults

    @property
    def closed(self) -> dict[int, float]:
        """Crawls outside the windows of their subscription, and when they open."""
        return {} if self._scheduler is None else self._scheduler.closed

    @property
    def unwritten(self) -> bool:
        return self._scheduler is not None and self._scheduler.unwritten

    def changed(self) -> bool:
        self._begin()
        return self._try("look for changes", lambda s: s.changed(), False)

    def refresh(self) -> None:
        self._try("read the subscriptions", lambda s: s.refresh(), None)

    def refresh_sites(self) -> None:
        self._try("read the budgets of sites", lambda s: s.refresh_sites(), None)

    def due(self, now: float, crawls: Collection[int]) -> tuple[list[Candidate], list[Candidate]]:
        found = self._try("choose what is due", lambda s: s.due(now, crawls), None)
        if found is None:
            return [], []
        if self.trouble and time.monotonic() - self._begun_at > CALM_SECONDS:
            log.info("watching goes on")
            self.trouble = self._logged = ""
            self._failures = 0
        return found

    def pace(self, found: list[Candidate], now: float) -> list[Candidate]:
        return self._try("pace new pages", lambda s: s.pace(found, now), found)

    def observed(self, visit: AnsweredVisit) -> None:
        self._try(f"learn from {visit.url}", lambda s: s.observed(visit), None)

    def ended(self, endings: list[Ending]) -> None:
        self._try("learn from visits without an answer", lambda s: s.ended(endings), None)

    def watches(self, key: int) -> bool:
        return self._try("know its pages", lambda s: s.watches(key), True)

    def last_seen(self, key: int) -> int:
        return self._try("know its pages", lambda s: s.last_seen(key), 0)

    def made(self, crawl: int | None) -> bool:
        return self._try("know its captures", lambda s: s.made(crawl), True)

    def judges(self, crawl: int, url: str) -> list[Judge]:
        return self._try(f"compare {url}", lambda s: s.judges(crawl, url), [])

    def write(self) -> None:
        """Inside the engine's transaction, which goes on without what cannot be written."""

        def write(scheduler: Scheduler) -> None:
            if scheduler.unwritten:
                with transaction.atomic():
                    scheduler.write()

        self._try("write what it learned", write, None)

    def close(self) -> None:
        self._try("keep what it learned", lambda s: s.close(), None)

    def _begin(self) -> None:
        if self._scheduler is None and time.monotonic() >= self._again_at:
            try:
                self._scheduler = Scheduler(self._config, self._data, self._clock)
                self._begun_at = time.monotonic()
            except Exception as error:
                self._give_up("begin", error)

    def _try(self, what: str, call: Callable[[Scheduler], T], otherwise: T) -> T:
        if self._scheduler is None:
            return otherwise
        try:
            return call(self._scheduler)
        except Exception as error:
            self._give_up(what, error)
            return otherwise

    def _give_up(self, what: str, error: Exception) -> None:
        first, most = RESTART_SECONDS
        wait = min(first * 2.0**self._failures, most)
        self._scheduler = None
        self._failures = min(self._failures + 1, 30)
        self._again_at = time.monotonic() + wait
        reason = f"{type(error).__name__}: {error}"[:300]
        self.trouble = f"watching could not {what} ({reason}); crawling goes on, next try in {wait:.0f} s"
        self.trouble_ms = self.now_ms
        if reason != self._logged:  # once per reason, however often it is tried
            log.error("%s", self.trouble, exc_info=error)
            self._logged = reason


def _key(row: Subscription) -> tuple[object, ...]:
    """What must not change without loading the pages again."""
    return row.crawl_id, row.mode, row.fixed_hours, row.country, row.visits_per_day if row.mode != "auto" else 0

"""Which pages are visited now: listings, policies, new pages, signals and the planner have their turns.

`Plan` is the planner at work: its pages, what visits teach it, the file it is kept in. It is told things in batches,
because each call is a pass over all pages it knows. `PageChoice` gives every reason to visit its turn, under what is
allowed at all.
"""

import heapq
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import zip_longest

import numpy as np
from django.db.models import Max

from hemeroteca.frontier.models import Page, QueuedVisit
from hemeroteca.predict import Planner, Reason
from hemeroteca.urls.candidate import Candidate
from hemeroteca.watch import observations
from hemeroteca.watch.answered_visit import HOUR_MS, LESSON_MS, WORTH, YOUNG_HOURS, planner_hour
from hemeroteca.watch.budgets import Bucket
from hemeroteca.watch.models import Observation, WatchedPage
from hemeroteca.watch.policy_pages import calendar_of
from hemeroteca.watch.scheduler_state import HOST_QUEUE, ActivePage, SchedulerState, VisitUnderWay

SAVE_SECONDS = 1800.0  # between two copies of what was learned
SIGNAL_REST = 60.0  # s after a visit from which a signal may bring another
MAX_SIGNALLED = 8  # pages visited at a time because of signals alone: sources that lie are found out by these
MAX_PASSED = 500  # pages passed over in one look because their budget is used up: others wait behind them
MAX_UNWORTHY = 20  # pages passed over because a change is unlikely
HASTE = 0.5  # of the usual interval, or of the chance that is worth a visit, while a site has a burst
PLAN_SHARE = 0.004  # of one core, for planning
MIN_PLAN_PAUSE = 20.0  # s between two plans
SIGNALLED_SHARE = 0.02  # of one core, while signals keep coming
MIN_SIGNALLED_PAUSE = 2.0  # s: the same, when a signal waits

Newcomer = tuple[int, str, str, int]  # key, site, URL, ms of the last visit


def plan_pause(cost: float) -> float:
    """Seconds until the next plan, after one that took `cost` seconds of processor time."""
    return max(MIN_PLAN_PAUSE, cost / PLAN_SHARE)


class WatchPlan:
    def __init__(self, state: SchedulerState) -> None:
        self._state = state
        self.planner = Planner()
        self.unsaved = False  # something was seen since the last copy
        self._young: list[tuple[float, int]] = []  # a heap: when, page whose habits are still unknown
        self._newcomers: list[tuple[int, Newcomer]] = []  # subscription and page
        self._lessons: dict[int, tuple[float, bool]] = {}  # observations it has not been told yet
        self._plan_at = 0.0
        self._cost = 0.0  # s of processor time of the last plan
        self._save_at = state.clock() + SAVE_SECONDS

    def __bool__(self) -> bool:
        """Whether there is a page to plan."""
        return bool(len(self.planner) or self._newcomers)

    def add(self, subscription: int, pages: Iterable[Newcomer]) -> None:
        self._newcomers += [(subscription, page) for page in pages]

    def plan_newcomers(self) -> None:
        """With the next look, whenever the next plan would have been."""
        if self._newcomers:
            self._plan_at = 0.0

    def observe(self, key: int, hour: float, important: bool) -> None:
        """Learned with the next look."""
        self._lessons[key] = (hour, important)

    def plan(self, now: float, visits: Bucket) -> None:
        """Choose anew what is worth the next visits, when it is time to."""
        if now < self._plan_at:
            return
        began = time.process_time()
        if self._newcomers:
            self.take_in()
            self.learn()
        until_next = visits.per_day / 86_400 * plan_pause(self._cost)
        self.planner.plan(planner_hour(now * 1000), max(1, int(max(visits.whole, until_next))))
        self._cost = time.process_time() - began
        self._plan_at = now + plan_pause(self._cost)

    def signal(self, key: int, now: float, kind: str) -> None:
        self.planner.signal(key, planner_hour(now * 1000), kind)
        self._plan_at = min(self._plan_at, now + max(MIN_SIGNALLED_PAUSE, self._cost / SIGNALLED_SHARE))

    def turn_back(self, now: float) -> None:
        self._young = [(min(at, now + YOUNG_HOURS[0] * 3600), key) for at, key in self._young]
        heapq.heapify(self._young)
        self._plan_at = 0.0
        self._save_at = min(self._save_at, now + SAVE_SECONDS)

    def take_in(self) -> None:
        """Give newcomers to the planner, many at once: each call costs a pass over all it knows.

        Pages it knows keep what it has learned, whatever people decided about them meanwhile.
        """
        arrived, self._newcomers = self._newcomers, []
        alike: dict[tuple[float, float, float], dict[int, Newcomer]] = {}
        sites: dict[str, str] = {}
        for number, page in arrived:
            sub = self._state.subs.get(number)
            if sub is not None and page[0] in self._state.pages:
                bounds = (sub.weight, sub.min_ms / HOUR_MS, sub.max_ms / HOUR_MS)
                alike.setdefault(bounds, {})[page[0]] = page
                if sub.country:
                    sites[page[1]] = sub.country
        now = planner_hour(self._state.now * 1000)
        for (weight, min_hours, max_hours), pages in alike.items():
            known = [key for key in pages if key in self.planner]
            limits = {"weight": weight, "min_hours": min_hours, "max_hours": max_hours}
            self.planner.set(known, **limits, paused=False)
            observations.add_pages(self.planner, list(pages.values()), now, **limits)
        for site, country in sites.items():
            self.planner.set_calendar(site, calendar_of(country))

    def set_bounds(self, number: int, weight: float, min_ms: float, max_ms: float) -> None:
        """What a person changed counts from now on."""
        mine = [key for key, page in self._state.pages.items() if page.sub == number and key in self.planner]
        self.planner.set(mine, weight=weight, min_hours=min_ms / HOUR_MS, max_hours=max_ms / HOUR_MS)
        self.unsaved = True
        self._plan_at = 0.0

    def learn(self) -> None:
        """Tell the planner what was seen since the last look, all at once: it is one pass over its arrays."""
        lessons = {key: lesson for key, lesson in self._lessons.items() if key in self.planner}
        if len(lessons) < len(self._lessons):  # newcomers that were known before have something to tell at once
            waiting = {page[0] for _, page in self._newcomers} - lessons.keys()
            self._lessons = {key: lesson for key, lesson in self._lessons.items() if key in waiting}
        else:
            self._lessons = {}
        if lessons:
            keys = np.fromiter(lessons, np.int64, len(lessons))
            hits = np.array([important for _, important in lessons.values()])
            self.planner.observe(keys, max(hour for hour, _ in lessons.values()), hits)

    def chance(self, key: int, hour: float) -> float | None:
        """Of an important change, said before the visit is known."""
        return float(self.planner.chance([key], hour)[0]) if key in self.planner else None

    def take_over(self) -> bool:
        """At the start what was kept; later, what the chores learned anew. Whether there was any."""
        first = not self._state.subs and not len(self.planner)
        fresh = self._state.data / observations.FRESH_FILE
        kept = observations.load_planner(fresh)
        if kept is None and first:
            kept = observations.load_planner(self._state.data / observations.PLANNER_FILE)
        if kept is None:
            return False
        self.planner, number = kept
        self._put_to_rest()
        rows = Observation.objects.filter(pk__gt=number, imported=False).order_by("seen_ms", "pk")
        observations.replay(self.planner, rows.values_list("key", "seen_ms", "important"))
        self._lessons.clear()
        with suppress(
            FileNotFoundError
        ):  # from now on it is what is kept: were there nothing, it would be learned again
            fresh.replace(self._state.data / observations.PLANNER_FILE)
        for sub in self._state.subs.values():
            if sub.policy is None:
                known = WatchedPage.objects.filter(subscription=sub.id, listing="")
                self.add(sub.id, known.values_list("key", "site", "url", "last_ms"))
        self.unsaved = True
        self._plan_at = 0.0
        return True

    def let_go(self, keys: Sequence[int], forget: bool) -> None:
        """Pages that are watched no longer; unless they are forgotten, what was learned waits for their return."""
        self.learn()
        if forget:
            self.planner.remove(keys)
        else:
            self.planner.set([key for key in keys if key in self.planner], paused=True)
        self.unsaved = True

    def save(self, now: float, at_once: bool = False) -> None:
        """Only while all that was learned is in the database too."""
        if self._state.writes or (now < self._save_at and not at_once):
            return
        self._save_at = now + SAVE_SECONDS
        if not self.unsaved:
            return
        last = Observation.objects.aggregate(last=Max("pk"))["last"] or 0
        observations.save_planner(self._state.data / observations.PLANNER_FILE, self.planner, last)
        self.unsaved = False

    def visit_early(self, key: int, page: ActivePage, at: float | None = None) -> None:
        """A page nobody knows yet gets a few early visits, for a prior alone would leave a lively page alone for weeks.

        `at`: a first visit that brought no answer is made again then.
        """
        if page.lessons <= len(YOUNG_HOURS) and not self._state.subs[page.sub].budget.visits.per_day:
            usual = page.last_ms / 1000 + YOUNG_HOURS[page.lessons - 1] * 3600
            heapq.heappush(self._young, (usual if at is None else at, key))

    def young_due(self, now: float) -> Iterator[int]:
        """Pages whose early visit is due; those the caller sends back by `postpone` come later."""
        for _ in range(len(self._young)):
            if not self._young or self._young[0][0] > now:
                return
            _, key = heapq.heappop(self._young)
            page = self._state.pages.get(key)
            if page is None or page.lessons > len(YOUNG_HOURS):
                continue  # gone, or known by now
            if now * 1000 - page.last_ms >= LESSON_MS:  # else just visited for another reason
                yield key

    def postpone(self, keys: list[int], until: float) -> None:
        for key in keys:
            heapq.heappush(self._young, (until, key))

    def _put_to_rest(self) -> None:
        """Subscriptions may have been removed or paused meanwhile: only loading their pages wakes them."""
        keys = self.planner.keys
        watched = np.fromiter(WatchedPage.objects.values_list("key", flat=True).iterator(chunk_size=10_000), np.int64)
        there = np.isin(keys, watched)
        self.planner.remove(keys[~there].tolist())
        self.planner.set(keys[there], paused=True)


class PageChoice:
    """Chooses the pages that are visited now."""

    def __init__(self, state: SchedulerState) -> None:
        self._state = state
        self._late: dict[int, list[int]] = {}  # by subscription, see `find_late`

    def choose(self, now: float) -> list[Candidate]:
        """Visits to queue; they are under way and paid for from here on."""
        state = self._state
        chosen: list[int] = []
        reasons = (self._asked, self._listings, self._by_policy, self._young, self._by_signal, self._by_planner)
        for round_ in zip_longest(*(reason(now) for reason in reasons)):  # in turns, so that none starves the others
            for key in round_:
                page = state.pages.get(key) if key is not None else None
                if page is None:
                    continue  # its subscription was set aside meanwhile
                chosen.append(key)
                sub = state.subs[page.sub]
                state.under_way.start(key, VisitUnderWay(sub.crawl, page.site, why=state.writes.chosen_for(key)))
                state.budgets.start(sub, page.site, announced=key in state.announcements.waiting)
            if not state.budgets.instance.open:
                break
        return self._candidates([key for key in chosen if key in state.pages])

    def find_late(self, now: float) -> None:
        """Policies that only rank pages know no longest interval: their pages that have waited it out."""
        self._late = {sub.id: [] for sub in self._state.subs.values() if sub.policy is not None}
        if not self._late:
            return
        for key, page in self._state.pages.items():
            late = self._late.get(page.sub)
            if late is None or page.poll or len(late) >= HOST_QUEUE:
                continue
            if now * 1000 - page.last_ms >= self._state.subs[page.sub].max_ms:
                late.append(key)

    def _candidates(self, keys: list[int]) -> list[Candidate]:
        """What has just been answered is still queued in the database until the next commit; the frontier, which is
        asked after that, leaves alone what its crawl really has in its queue."""
        found: list[Candidate] = []
        for start in range(0, len(keys), 500):
            crawls = {key: self._state.subs[self._state.pages[key].sub].crawl for key in keys[start : start + 500]}
            visits = QueuedVisit.objects.filter(page__key__in=crawls, crawl__in=set(crawls.values()))
            known = {
                (key, crawl): (depth, role)
                for key, crawl, depth, role in visits.values_list("page__key", "crawl", "depth", "role")
            }
            for key, url, host in Page.objects.filter(key__in=crawls).values_list("key", "url", "host__name"):
                depth, role = known.get((key, crawls[key]), (0, 0))
                found.append(Candidate(key, url, host, crawls[key], depth, role=role))
        return found

    def _allowed(self, key: int, now: float, announced: bool = False) -> bool:
        state = self._state
        page = state.pages.get(key)
        if page is None or key in state.under_way or page.retry_at > now:
            return False
        sub = state.subs.get(page.sub)
        if sub is None or not sub.is_open or now * 1000 - page.last_ms < sub.min_ms:
            return False
        room = state.outages.room(page.site, now)
        return state.under_way.at(page.site) < room and state.budgets.open(sub, page.site, announced)

    def _asked(self, now: float) -> Iterator[int]:
        """Pages somebody wants visited at once; what they cost is paid, but nothing is waited for."""
        state = self._state
        for key, since_ms in list(state.asked.items()):
            page = state.pages.get(key)
            if page is None or page.last_ms >= since_ms or page.retry_at > now:
                del state.asked[key]
            elif key not in state.under_way and state.under_way.at(page.site) < state.outages.room(page.site, now):
                del state.asked[key]
                state.writes.page_chosen(key, int(now * 1000), Reason("asked"))
                yield key

    def _listings(self, now: float) -> Iterator[int]:
        """Feeds and sitemaps, each in the rhythm it was found to have."""
        for key in list(self._state.polled):
            page = self._state.pages.get(key)
            if page and now * 1000 - page.last_ms >= page.poll * HOUR_MS and self._allowed(key, now):
                self._state.writes.page_chosen(key, int(now * 1000), Reason("listing", {"hours": page.poll}))
                yield key

    def _by_policy(self, now: float) -> Iterator[int]:
        """Pages of subscriptions with a policy of their own, when it or the longest interval asks for them."""
        hour = planner_hour(now * 1000)
        for sub in list(self._state.subs.values()):
            if sub.policy is None or not sub.is_open:
                continue
            due: list[int] = []
            with self._state.subscriptions.alone(sub.id):
                soon = HASTE if sub.in_burst and sub.mode != "fixed" else 1.0
                due = [*self._late.get(sub.id, ()), *sub.policy.due(hour, HOST_QUEUE, soon)]
            for key in due:
                if key in self._state.pages and self._allowed(key, now):
                    self._state.next_visit.explain_policy(sub, key, now)
                    yield key

    def _young(self, now: float) -> Iterator[int]:
        """Pages nobody knows yet."""
        postponed: list[int] = []
        try:
            for key in self._state.plan.young_due(now):
                if self._allowed(key, now):
                    self._state.writes.page_chosen(key, int(now * 1000), Reason("young"))
                    yield key
                else:
                    postponed.append(key)
                    if len(postponed) >= HOST_QUEUE:
                        return
        finally:
            self._state.plan.postpone(postponed, now + 900)

    def _by_signal(self, now: float) -> Iterator[int]:
        """Announced pages, at once: the planner lets a page rest for an hour, and an instance spreads its visits out.

        Few at a time: those of a source that lies are no longer worth a visit once these have been looked at.
        """
        state, waiting = self._state, self._state.announcements.waiting
        under_way = sum(key in state.under_way for key in waiting)
        looked = 0
        for key in list(waiting):
            page = state.pages.get(key)
            if page is None or key not in state.announcements.announced_by or key not in state.plan.planner:
                del waiting[key]  # visited meanwhile
                continue
            if under_way >= MAX_SIGNALLED or looked >= HOST_QUEUE:
                return
            looked += 1
            if now - page.last_ms / 1000 < SIGNAL_REST or not self._allowed(key, now, announced=True):
                continue
            chance = float(state.plan.planner.chance([key], planner_hour(now * 1000))[0])
            if chance * min(state.subs[page.sub].weight, 2.0) < WORTH:
                del waiting[key]  # not believed: the planner's affair
                continue
            under_way += 1
            state.next_visit.explain(key, now, chance)
            yield key

    def _by_planner(self, now: float) -> Iterator[int]:
        """The planner's pages, best first, as long as they are worth a visit."""
        state, plan = self._state, self._state.plan
        if not plan:
            return
        plan.plan(now, state.budgets.instance.visits)
        passed = unworthy = 0
        while passed < MAX_PASSED and unworthy < MAX_UNWORTHY and (key := plan.planner.next()) is not None:
            if not self._allowed(key, now):
                passed += 1
                continue
            page = state.pages[key]
            sub = state.subs[page.sub]
            chance = float(plan.planner.chance([key], planner_hour(now * 1000))[0])
            overdue = now * 1000 - page.last_ms >= sub.max_ms
            worth = WORTH * HASTE if sub.in_burst else WORTH
            if not (state.budgets.decides(sub) or overdue or chance * min(sub.weight, 2.0) >= worth):
                unworthy += 1
                continue
            state.next_visit.explain(key, now, chance)
            yield key

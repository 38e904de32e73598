"""The scheduler as the engine sees it: what is due, and what became of it."""

import time
from collections.abc import Callable, Collection
from pathlib import Path

from hemeroteca import urls
from hemeroteca.config import Config
from hemeroteca.frontier.visit import Ending, How
from hemeroteca.urls.candidate import Candidate, Role
from hemeroteca.watch import memory
from hemeroteca.watch.scheduler.announcements import GONE, Announcements
from hemeroteca.watch.scheduler.budgets import Budgets
from hemeroteca.watch.scheduler.choosing import Choosing
from hemeroteca.watch.scheduler.explaining import Explaining
from hemeroteca.watch.scheduler.failures import Failures
from hemeroteca.watch.scheduler.planning import Planning
from hemeroteca.watch.scheduler.state import State, Sub, Watched
from hemeroteca.watch.scheduler.subscriptions import Subscriptions
from hemeroteca.watch.scheduler.waits import Waits
from hemeroteca.watch.scheduler.ways import ByPlanner, ByPolicy, BySignal, Listings
from hemeroteca.watch.values import HOUR_MS, Seen

PACE = 1.0  # s between two looks
SWEEP = 60.0  # s between looks for visits that ended without a word
REFUSED = {401, 403, 407, 408, 425, 429}  # answers that say nothing about the page; so do those from 500 on


class Scheduler:
    def __init__(self, config: Config, data: Path, clock: Callable[[], float] = time.time) -> None:
        self._state = state = State(config, data, clock)
        self._budgets = budgets = Budgets(state)
        self._planning = planning = Planning(state)
        self._failures = failures = Failures(state, budgets, planning)
        self._waits = Waits(state, budgets, failures)
        self._announcements = announcements = Announcements(state, budgets, planning)
        self._explaining = explaining = Explaining(state, planning, announcements)
        self._subscriptions = Subscriptions(state, budgets, planning, failures, announcements)
        self._by_policy = ByPolicy(state, self._subscriptions, explaining)
        ways = (
            Listings(state),
            self._by_policy,
            planning.new_pages,
            BySignal(state, planning, announcements, explaining),
            ByPlanner(state, planning, budgets, explaining),
        )
        self._choosing = Choosing(state, budgets, failures, announcements, ways)
        self._look_at = self._sweep_at = 0.0

    @property
    def now_ms(self) -> int:
        return self._state.now_ms

    @property
    def unwritten(self) -> bool:
        return bool(self._state.records) or self._budgets.unwritten

    def __len__(self) -> int:
        return len(self._state.pages)

    @property
    def closed(self) -> dict[int, float]:
        """Crawls outside the windows of their subscription, and when they open."""
        return self._state.closed

    @property
    def faults(self) -> dict[int, str]:
        """Subscriptions that cannot be worked with, and why."""
        return self._subscriptions.faults

    def changed(self) -> bool:
        """Whether people changed something since the last `refresh`."""
        return self._subscriptions.changed()

    def refresh(self) -> None:
        """Read the subscriptions, the budgets of sites and who tells of changes."""
        self._budgets.load()
        self._subscriptions.refresh()
        self._budgets.read_sites()
        self._announcements.read_sources()

    def refresh_sites(self) -> None:
        """Read the budgets people set for sites."""
        self._budgets.read_sites()

    def due(self, now: float, crawls: Collection[int]) -> tuple[list[Candidate], list[Candidate]]:
        """Pages to visit now, of the crawls that are running: (met by a signal and new, to be visited again)."""
        if 0 <= now - self._look_at < PACE:
            return [], []
        self._follow_clock(now)
        self._look_at = now
        self._planning.learn()
        if not self._state.subs:
            return [], []
        new = self._announcements.take(now)
        self._budgets.fill(now, crawls)
        entrances = self._sweep(now)
        chosen = self._choosing.choose(now)
        self._planning.save(now)
        again = self._announcements.gone_before(new, now)
        return [f for f in new if f not in again], again + entrances + self._choosing.found(chosen)

    def pace(self, found: list[Candidate], now: float) -> list[Candidate]:
        """Pages met for the first time: where a budget is set, they are visited in its rhythm."""
        return self._budgets.pace(found, now)

    def observed(self, seen: Seen) -> None:
        """An answered visit of a standing crawl."""
        sub = self._state.by_crawl.get(seen.crawl)
        if sub is not None:
            with self._subscriptions.alone(sub.id):
                self._observed(sub, seen)

    def _observed(self, sub: Sub, seen: Seen) -> None:
        site = urls.host(seen.url)
        planned = self._state.underway.end(seen.key, site)
        self._budgets.spend(sub, site, seen.bytes, int(seen.role != Role.REQUISITE), planned)
        self._failures.host_answered(site)
        if seen.status in REFUSED or seen.status >= 500:
            self._failures.no_answer(sub, seen.key, site, f"http-{seen.status}", seen.at_ms)
            return
        self._failures.well_again(sub)
        if seen.role == Role.REQUISITE:
            return
        if seen.key in self._announcements.named_pages:
            self._announcements.named_pages.settle(seen.key, there=seen.status not in GONE)
            if seen.status in GONE and seen.key not in self._state.pages:
                return  # somebody named a page that is not there
        page = self._state.pages.get(seen.key)
        if seen.listing is not None or (page is not None and page.poll):
            self._announcements.read_listing(sub, site, seen, page)
            return
        if seen.role == Role.SITEMAP:
            return
        if page is None:
            self._welcome(sub, site, seen)
        else:
            self._seen_again(sub, site, page, seen)

    def _welcome(self, sub: Sub, site: str, seen: Seen) -> None:
        """A page seen for the first time."""
        self._failures.forget_entrance(seen.key)
        page = self._state.pages[seen.key] = Watched(sub.id, site, seen.at_ms)
        hour = memory.hour(seen.at_ms)
        if sub.policy is not None:
            sub.policy.add([(seen.key, hour)])
        else:
            self._planning.new_pages.watch(seen.key, page)
            self._planning.add(sub.id, (seen.key, site, seen.url, seen.at_ms))
        next_ms, why = self._explaining.then(sub, page, seen)
        self._state.records.new_page(seen, sub.id, site, next_ms, {"code": "first"}, why)
        self._state.records.observation(seen, sub.id, 0, False, None)

    def _seen_again(self, sub: Sub, site: str, page: Watched, seen: Seen) -> None:
        """A page that was seen before: did it change, was that foreseen, and when is it visited next?"""
        interval = max(seen.at_ms - page.last_ms, 0)
        important = seen.changed and not seen.first and (seen.difference is None or seen.difference.important)
        hour = memory.hour(seen.at_ms)
        chance = self._planning.chance(seen.key, hour)
        told = self._announcements.verify(seen.key, page, important)
        self._state.records.observation(seen, sub.id, interval, important, chance)
        if important:
            self._state.records.change(seen, sub.id, site, page.last_ms)
        page.last_ms, page.retry_at, page.failures, page.visits = seen.at_ms, 0.0, 0, page.visits + 1
        owner = self._state.subs.get(page.sub, sub)
        if owner.policy is not None:
            owner.policy.observe(seen.key, hour, important)
        elif seen.key in self._planning.planner:
            self._planning.observe(seen.key, hour, important)
            self._planning.new_pages.watch(seen.key, page)
        self._planning.unsaved = True
        if chance is not None and not told and interval >= HOUR_MS:  # a signal, or a moment, says nothing about habits
            page.wait = self._explaining.until_likely(owner, chance, interval)
        next_ms, why = self._explaining.then(owner, page, seen)
        self._state.records.page_seen(seen.key, seen.at_ms, interval, next_ms, why, important, chance or 0.0)

    def ended(self, endings: list[Ending]) -> None:
        """Visits of standing crawls that have ended: those that brought no answer, or were not allowed, are learned
        from here."""
        for ending in endings:
            sub = self._state.by_crawl.get(ending.crawl)
            if sub is not None and ending.how in (How.FAILED, How.EXCLUDED):
                with self._subscriptions.alone(sub.id):
                    self._failed(sub, ending)

    def _failed(self, sub: Sub, ending: Ending) -> None:
        site = urls.host(ending.url)
        planned = self._state.underway.end(ending.key, site)
        asked = ending.asked or ending.how is How.EXCLUDED
        if asked and ending.how is How.FAILED:
            self._budgets.spend(sub, site, 0, 1, planned)
            self._failures.host_failed(site)
        self._failures.no_answer(sub, ending.key, site, ending.reason, self._state.now_ms, asked=asked)

    def write(self) -> None:
        """Put everything on disk. Called inside the engine's transaction."""
        if self._state.records:
            self._state.records.write()
        if self._budgets.unwritten:
            self._budgets.write()

    def close(self) -> None:
        """After the engine's last commit."""
        self._planning.learn()
        self._planning.take_in()
        self._planning.save(self._state.clock(), at_once=True)

    def _follow_clock(self, now: float) -> None:
        if now < self._state.now - 60:  # set back: nothing may wait for a time that comes once more
            for sub in self._state.subs.values():
                if sub.policy is not None:
                    sub.policy.turn_back(memory.hour(now * 1000))
                sub.discovered_until = min(sub.discovered_until, now)
            for page in self._state.pages.values():
                page.last_ms = min(page.last_ms, int(now * 1000))
                page.retry_at = min(page.retry_at, now + 3600)
            self._state.records.turn_back(int(now * 1000))
            self._failures.turn_back(now)
            self._state.underway.turn_back(now)
            self._planning.turn_back(now)
            self._sweep_at = 0.0
        self._state.now = now

    def _sweep(self, now: float) -> list[Candidate]:
        """What is looked for now and then. Gives addresses to try again."""
        if 0 <= now - self._sweep_at < SWEEP:
            return []
        self._sweep_at = now
        self._by_policy.find_late(now)
        self._waits.tell(now)
        self._failures.find_lost(now)
        return self._failures.try_entrances(now)

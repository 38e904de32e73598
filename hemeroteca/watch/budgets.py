"""Budgets of the instance, of collections, sites and subscriptions: what pays for a visit.

A bucket fills evenly over the day and holds minutes' worth of it (`watch_saved_minutes`), so that what was saved up (a
paused instance, a clock that jumped, a site that was down) can never be spent at once. What is left of a budget, or
owed, is written with the visits it was spent on: a restart, a pause or an edit alters nothing.
"""

import logging
from collections.abc import Collection, Iterator

import msgspec

from hemeroteca.frontier.models import Host
from hemeroteca.frontier.site_settings import SiteSettings
from hemeroteca.urls.candidate import Candidate, UrlRole
from hemeroteca.watch.answered_visit import DAY_MS, HOUR_MS
from hemeroteca.watch.models import Allowance
from hemeroteca.watch.models import Collection as CollectionRow
from hemeroteca.watch.scheduler_state import ActiveSubscription, SchedulerState

DAY = 86_400.0
MIN_HELD = 1.0  # visits that can be saved up, however small a budget is
INSTANCE = "instance"
PAID_BACK_MS = 2 * DAY_MS  # after which nothing can be owed any more: a budget is closed for a day at most
UNLIMITED = 24.0  # visits a day and page that an instance without limits may make at most; they come spread out

log = logging.getLogger("hemeroteca.watch")


class Bucket(msgspec.Struct):
    """`per_day` 0: no limit. What is spent may exceed what is held; the bucket is then closed until it is paid back."""

    per_day: float = 0.0
    held: float = 0.0
    at: float = 0.0
    saved: float = 600.0  # s worth of it that can be saved up

    def fill(self, now: float) -> None:
        """Follow the clock; a step backwards gives nothing and takes nothing."""
        if self.at and self.per_day:
            grown = max(0.0, now - self.at) * self.per_day / DAY
            self.held = min(self.held + grown, self._capacity())
        self.at = now

    def resize(self, per_day: float) -> None:
        """What is owed under a larger budget is at most a day of the smaller one."""
        self.per_day = per_day
        self.held = max(min(self.held, self._capacity()), -per_day)

    @property
    def open(self) -> bool:
        return not self.per_day or self.held > 0

    @property
    def whole(self) -> float:
        """Visits that may be made now."""
        return self.held if self.per_day else float("inf")

    def opens(self, needed: float) -> float:
        """Seconds until it holds so much."""
        return max(needed - self.held, 0.0) * DAY / self.per_day if self.per_day else 0.0

    def spend(self, amount: float) -> None:
        if self.per_day:
            self.held = max(self.held - amount, -self.per_day)  # at most a day of closure

    def _capacity(self) -> float:
        return max(self.per_day * self.saved / DAY, MIN_HELD)


class Budget(msgspec.Struct):
    """Visits and bytes of one site, subscription, collection or the instance."""

    visits: Bucket = msgspec.field(default_factory=Bucket)
    bytes: Bucket = msgspec.field(default_factory=Bucket)

    def resize(self, visits_per_day: float, bytes_per_day: float) -> None:
        self.visits.resize(visits_per_day)
        self.bytes.resize(bytes_per_day)

    def fill(self, now: float) -> None:
        self.visits.fill(now)
        self.bytes.fill(now)

    @property
    def open(self) -> bool:
        """Whether a whole visit may be made."""
        return (not self.visits.per_day or self.visits.held >= MIN_HELD) and self.bytes.open

    @property
    def opens(self) -> float:
        """Seconds until a whole visit may be made."""
        return max(self.visits.opens(MIN_HELD), self.bytes.opens(0.0))

    @property
    def limited(self) -> bool:
        return bool(self.visits.per_day or self.bytes.per_day)


class Budgets:
    """The budgets in force."""

    def __init__(self, state: SchedulerState) -> None:
        self._state = state
        self.instance = Budget()
        self.collections: dict[int, Budget] = {}
        self.sites: dict[str, Budget] = {}
        self._subscriptions: dict[int, Budget] = {}
        self._kept: dict[str, Allowance] = {}  # from before a restart, until their owner is met
        self._touched: dict[str, Budget] = {}  # to be written
        self._loaded = False

    def load(self) -> None:
        """Once, at the start: what was left or owed before."""
        if not self._loaded:
            self._loaded = True
            Allowance.objects.filter(at_ms__lt=self._state.now_ms - PAID_BACK_MS).delete()
            self._kept = {row.owner: row for row in Allowance.objects.all()}
            self._take_up(INSTANCE, self.instance)

    def subscription(self, number: int) -> Budget:
        if number not in self._subscriptions:
            self._subscriptions[number] = self._take_up(f"subscription {number}", Budget())
        return self._subscriptions[number]

    def forget_subscription(self, number: int) -> None:
        self._subscriptions.pop(number, None)
        self._touched.pop(f"subscription {number}", None)

    def set_collection(self, row: CollectionRow) -> None:
        if row.pk not in self.collections:
            self.collections[row.pk] = self._take_up(f"collection {row.pk}", Budget())
        self.collections[row.pk].resize(row.visits_per_day, row.bytes_per_day)

    def read_sites(self) -> None:
        """Read the budgets people set for sites."""
        self.sites = {name: budget for name, budget in self.sites.items() if budget.limited}
        limited: set[str] = set()
        for name, kept in Host.objects.exclude(settings={}).values_list("name", "settings"):
            try:
                limits = msgspec.convert(kept, SiteSettings)
            except msgspec.ValidationError as error:
                log.error("the settings of %s cannot be read (%s); its budget does not count", name, error)
                continue
            if limits.visits_per_day or limits.bytes_per_day:
                limited.add(name)
                if name not in self.sites:
                    self.sites[name] = self._take_up(f"site {name}", Budget())
                self.sites[name].resize(limits.visits_per_day, limits.bytes_per_day)
        for name in self.sites.keys() - limited:
            del self.sites[name]

    def fill(self, now: float, crawls: Collection[int]) -> None:
        limits = self._state.config.watch_visits_per_day, self._state.config.watch_bytes_per_day
        self.instance.resize(limits[0] or self._unlimited(), limits[1])
        self._fill(INSTANCE, self.instance, now)
        for number, budget in self.collections.items():
            self._fill(f"collection {number}", budget, now)
        for site, budget in self.sites.items():
            self._fill(f"site {site}", budget, now)
        for sub in self._state.subs.values():
            if sub.budget.limited:
                self._fill(f"subscription {sub.id}", sub.budget, now)
            sub.is_open = not self._state.is_shut(sub, now) and sub.crawl in crawls

    def open(self, sub: ActiveSubscription, site: str, announced: bool = False) -> bool:
        """Whether a whole visit can be paid for."""
        return all(budget.open for _, budget in self._of(sub, site, announced))

    def decides(self, sub: ActiveSubscription) -> bool:
        """Whether a person gave it, or its collection, visits a day: those are made, on the pages worth most."""
        shared = self.collections.get(sub.collection) if sub.collection is not None else None
        return bool(sub.budget.visits.per_day or (shared is not None and shared.visits.per_day))

    def start(self, sub: ActiveSubscription, site: str, announced: bool) -> None:
        """Pay for a visit that is chosen now."""
        for name, budget in self._of(sub, site, announced):
            budget.visits.spend(1)
            self._touch(name, budget)

    def spend(self, sub: ActiveSubscription, site: str, received: int, visits: int, planned: bool) -> None:
        """Pay for a visit: bytes when it is over; the visit itself when it was not one of ours (a page just met)."""
        for name, budget in self._of(sub, site):
            self._touch(name, budget)
            budget.bytes.spend(received)
            if not planned and (budget is not self.instance or self._state.config.watch_visits_per_day):
                budget.visits.spend(visits)  # an instance nobody limited has no budget that a first crawl could use up

    @property
    def unwritten(self) -> bool:
        return bool(self._touched)

    def write(self) -> None:
        """Inside the engine's transaction."""
        rows = [
            Allowance(name, budget.visits.held, budget.bytes.held, int((budget.visits.at or self._state.now) * 1000))
            for name, budget in self._touched.items()
        ]
        self._touched = {}
        Allowance.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["owner"], update_fields=["visits", "bytes", "at_ms"]
        )

    def pace(self, found: list[Candidate], now: float) -> list[Candidate]:
        """Pages met for the first time: where a budget is set, they are visited in its rhythm, using half of it."""
        for f in found:
            sub = self._state.by_crawl.get(f.crawl) if f.role == UrlRole.PAGE else None
            rate = self._discovery_rate(sub) if sub is not None else 0.0
            if sub is not None and rate:
                sub.discovered_until = max(sub.discovered_until, now) + 86_400 / rate
                f.due_ms = int(sub.discovered_until * 1000)
        return found

    def _of(self, sub: ActiveSubscription, site: str, announced: bool = False) -> Iterator[tuple[str, Budget]]:
        """What pays for a visit. One that somebody asked for is not spread over the day unless a person set a limit."""
        if not announced or self._limited:
            yield INSTANCE, self.instance
        yield f"subscription {sub.id}", sub.budget
        if sub.collection is not None and sub.collection in self.collections:
            yield f"collection {sub.collection}", self.collections[sub.collection]
        if site in self.sites:
            yield f"site {site}", self.sites[site]

    def _fill(self, owner: str, budget: Budget, now: float) -> None:
        if not budget.visits.at:
            self._touch(owner, budget)  # that it began counts, too: who restarts often must reach a first visit
        budget.fill(now)

    def _take_up(self, owner: str, budget: Budget) -> Budget:
        kept = self._kept.pop(owner, None)
        for bucket in (budget.visits, budget.bytes):
            bucket.saved = self._state.config.watch_saved_minutes * 60
        if kept is not None:
            for bucket, held in ((budget.visits, kept.visits), (budget.bytes, kept.bytes)):
                bucket.held, bucket.at = held, kept.at_ms / 1000
        return budget

    def _touch(self, owner: str, budget: Budget) -> None:
        if budget.limited and (budget is not self.instance or self._limited):
            self._touched[owner] = budget

    @property
    def _limited(self) -> bool:
        """Whether a person set a limit to the instance."""
        return bool(self._state.config.watch_visits_per_day or self._state.config.watch_bytes_per_day)

    def _discovery_rate(self, sub: ActiveSubscription) -> float:
        """Visits a day for pages met for the first time; 0: as many as politeness allows."""
        limits = [float(self._state.config.watch_visits_per_day), sub.budget.visits.per_day]
        if sub.collection in self.collections:
            limits.append(self.collections[sub.collection].visits.per_day)
        return min((limit / 2 for limit in limits if limit), default=0.0)

    def _unlimited(self) -> float:
        """Visits a day of an instance nobody limited: what people ordered to be visited more often has its room too."""
        fixed = [sub for sub in self._state.subs.values() if sub.policy is not None and sub.mode == "fixed"]
        asked = sum(len(sub.policy) * 24.0 / sub.fixed_hours for sub in fixed if sub.policy)
        hurried = {sub.id: 24.0 * HOUR_MS / sub.max_ms for sub in self._state.subs.values() if sub.max_ms < HOUR_MS}
        if hurried:
            asked += sum(hurried.get(page.sub, 0.0) for page in self._state.pages.values())
        return UNLIMITED * max(len(self._state.pages), 60) + asked

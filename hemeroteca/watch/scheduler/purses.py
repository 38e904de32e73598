"""The budgets in force: of the instance, of collections, sites and subscriptions; what pays for a visit."""

import logging
from collections.abc import Collection

import msgspec

from hemeroteca.frontier.models import Host
from hemeroteca.frontier.values import Found, Role, SiteSettings
from hemeroteca.watch.budgets import Purse
from hemeroteca.watch.models import Collection as CollectionRow
from hemeroteca.watch.scheduler.state import State, Sub
from hemeroteca.watch.values import HOUR_MS

UNLIMITED = 24.0  # visits a day and page that an instance without limits may make at most; they come spread out

log = logging.getLogger("hemeroteca.watch")


class Purses:
    def __init__(self, state: State) -> None:
        self._state = state
        self.instance = Purse()
        self.collections: dict[int, Purse] = {}
        self.sites: dict[str, Purse] = {}

    def set_collection(self, row: CollectionRow) -> None:
        self.collections.setdefault(row.pk, Purse()).resize(row.visits_per_day, row.bytes_per_day)

    def read_sites(self) -> None:
        """Read the budgets people set for sites."""
        self.sites = {name: purse for name, purse in self.sites.items() if purse.limited}
        limited: set[str] = set()
        for name, kept in Host.objects.exclude(settings={}).values_list("name", "settings"):
            try:
                limits = msgspec.convert(kept, SiteSettings)
            except msgspec.ValidationError as error:
                log.error("the settings of %s cannot be read (%s); its budget does not count", name, error)
                continue
            if limits.visits_per_day or limits.bytes_per_day:
                limited.add(name)
                self.sites.setdefault(name, Purse()).resize(limits.visits_per_day, limits.bytes_per_day)
        for name in self.sites.keys() - limited:
            del self.sites[name]

    def fill(self, now: float, crawls: Collection[int]) -> None:
        limits = self._state.config.watch_visits_per_day, self._state.config.watch_bytes_per_day
        self.instance.resize(limits[0] or self._unlimited(), limits[1])
        for purse in (self.instance, *self.collections.values(), *self.sites.values()):
            purse.fill(now)
        for sub in self._state.subs.values():
            if sub.purse.limited:
                sub.purse.fill(now)
            sub.is_open = not self._state.shut(sub, now) and sub.crawl in crawls

    def of(self, sub: Sub, site: str, told: bool = False) -> list[Purse]:
        """What pays for a visit. One that somebody asked for is not spread over the day unless a person set a limit."""
        limited = self._state.config.watch_visits_per_day or self._state.config.watch_bytes_per_day
        purses = [sub.purse] if told and not limited else [self.instance, sub.purse]
        if sub.collection is not None and sub.collection in self.collections:
            purses.append(self.collections[sub.collection])
        if site in self.sites:
            purses.append(self.sites[site])
        return purses

    def open(self, sub: Sub, site: str, told: bool = False) -> bool:
        """Whether a whole visit can be paid for."""
        return all(purse.open for purse in self.of(sub, site, told))

    def spend(self, sub: Sub, site: str, received: int, visits: int, planned: bool) -> None:
        """Pay for a visit: bytes when it is over; the visit itself when it was not one of ours (a page just met)."""
        for purse in self.of(sub, site):
            purse.bytes.spend(received)
            if not planned and (purse is not self.instance or self._state.config.watch_visits_per_day):
                purse.visits.spend(visits)  # an instance nobody limited has no budget that a first crawl could use up

    def pace(self, found: list[Found], now: float) -> list[Found]:
        """Pages met for the first time: where a budget is set, they are visited in its rhythm, using half of it."""
        for f in found:
            sub = self._state.by_crawl.get(f.crawl) if f.role == Role.PAGE else None
            rate = self._discovery_rate(sub) if sub is not None else 0.0
            if sub is not None and rate:
                sub.discovered_until = max(sub.discovered_until, now) + 86_400 / rate
                f.due_ms = int(sub.discovered_until * 1000)
        return found

    def _discovery_rate(self, sub: Sub) -> float:
        """Visits a day for pages met for the first time; 0: as many as politeness allows."""
        limits = [float(self._state.config.watch_visits_per_day), sub.purse.visits.per_day]
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

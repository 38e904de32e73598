"""Which pages are visited now, and what their visits taught.

Lives in the engine's process and thread: `due` about once a second, `observed` and `failed` for every visit of a
standing crawl, `write` inside the engine's transaction. Predictions come from `predict`; here they meet budgets, time
windows, hosts that are down and signals. A page is visited when its chance of an important change is worth it, or, in a
subscription with a budget of its own, when it is the best use of the next visit; and never later than its maximum.

What keeps it calm: budgets are saved up for minutes only, a host has few pages waiting at a time, one that is down gets
a single probe, and nothing here depends on how long ago the clock or the instance stood still.
"""

import heapq
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import msgspec
import numpy as np
from django.db import DatabaseError
from django.db.models import Max

from hemeroteca import urls
from hemeroteca.config import Config
from hemeroteca.frontier.models import Crawl, Host, Page
from hemeroteca.frontier.values import Found, Role, SiteSettings
from hemeroteca.predict import Planner, country_calendar
from hemeroteca.watch import learning, memory, pacing, queries, reasons, services
from hemeroteca.watch.budgets import Purse
from hemeroteca.watch.models import Observation, Signal, SignalSource, Subscription, WatchedPage
from hemeroteca.watch.records import Records
from hemeroteca.watch.rules import REPLAYED, PolicyPages
from hemeroteca.watch.values import HOUR_MS, LONGEST_HOURS, Seen, plain
from hemeroteca.watch.windows import Window, any_open, next_open

WORTH = 0.4  # chance of a change from which a visit pays when no budget decides
PACE = 1.0  # s between two looks
UNLIMITED = 24.0  # visits a day and page that an instance without limits may make at most; they come spread out
HOST_QUEUE = 50  # watched pages of a host that wait at a time
DOWN_AFTER = 3  # visits in a row without an answer after which a host gets single probes
PROBES = (0.25, 24.0)  # hours between probes of a host that is down: first, and at most (doubling)
REFUSED = {401, 403, 407, 408, 425, 429}  # answers that say nothing about the page; so do those from 500 on
GONE = {404, 410}
POLLS = {"feed": (0.5, 1.0, 24.0), "sitemap": (2.0, 6.0, 48.0)}  # hours: least, first, most
SWEEP = 60.0  # s between looks for visits that ended without a word
OVERDUE = 120.0  # s a visit may wait before it is looked for
TELL_WAIT = 600.0  # s from which on a budget that is used up or a window that is shut is told, and told again
NAMED = 10_000  # pages on their way that only a signal has named
SIGNALS = 500  # taken at a time
NEWCOMERS = 500  # unknown pages that signals may bring to a subscription in an hour
ANNOUNCED = 1000  # pages one reading of a feed or sitemap may announce
SAVE = 1800.0  # s between two copies of what was learned
YOUNG = (24.0, 48.0, 96.0)  # hours until the first visits of a page nobody knows yet, where no budget decides
AT_ONCE = 60.0  # s after a visit from which a signal may bring another
HASTY = 8  # pages visited at a time because of signals alone: sources that lie are found out by these
RETRY_FAULTS = 600.0  # s until a subscription that could not be worked with is tried again

log = logging.getLogger("hemeroteca.watch")

Newcomer = tuple[int, str, str, int]  # key, site, URL, ms of the last visit


@dataclass
class Sub:
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
    key: tuple[object, ...]  # what must not change without loading its pages again
    purse: Purse = field(default_factory=Purse)
    policy: PolicyPages | None = None  # None: the planner
    failures: int = 0
    failing_since_ms: int = 0
    is_open: bool = True
    discovered_until: float = 0.0  # newcomers have been given times up to here
    newcomers: int = 0
    newcomers_at: float = 0.0


class Watched(msgspec.Struct, gc=False):
    """A page under watch."""

    sub: int
    site: str
    last_ms: int
    poll: float = 0.0  # hours between readings of a feed or sitemap; 0: an ordinary page
    retry_at: float = 0.0  # not before, after visits without an answer
    failures: int = 0
    visits: int = 1
    wait: float = 0.0  # ms until a visit was last thought to be worth it; 0: not known yet


class Entrance(msgspec.Struct):
    """The address of a subscription while it has never answered."""

    failures: int
    retry_at: float
    asked: bool = False  # since the last failure


class Down(msgspec.Struct):
    """A host that does not answer."""

    failures: int = 0
    until: float = 0.0


class Scheduler:
    def __init__(self, config: Config, data: Path, clock: Callable[[], float] = time.time) -> None:
        self._config = config
        self._data = data
        self._clock = clock
        self._subs: dict[int, Sub] = {}
        self._by_crawl: dict[int, Sub] = {}
        self._pages: dict[int, Watched] = {}
        self._planner = Planner()
        self._records = Records()
        self._lessons: dict[int, tuple[float, bool]] = {}  # observations the planner has not been told yet
        self._pending: dict[int, float] = {}  # pages queued by us, since
        self._waiting: Counter[str] = Counter()  # the same by host
        self._told: dict[int, set[int]] = {}  # page → sources that announced it since its last visit
        self._sources: dict[int, tuple[str, int | None, str]] = {}  # number → kind, subscription, site
        self._speakers: dict[int | str, list[int]] = {}  # sources by the subscription or site they speak about
        self._down: dict[str, Down] = {}
        self._sites: dict[str, Purse] = {}
        self._collections: dict[int, Purse] = {}
        self._instance = Purse()
        self._revision = -1
        self._look_at = self._plan_at = self._sweep_at = 0.0
        self._plan_cost = 0.0
        self._save_at = clock() + SAVE
        self._now = clock()
        self._newcomers: list[tuple[int, Newcomer]] = []  # subscription and page, for the planner
        self._polled: set[int] = set()  # feeds and sitemaps among the pages
        self._late: dict[int, list[int]] = {}  # by subscription, see `_find_late`
        self._young: list[tuple[float, int]] = []  # pages whose habits are still unknown, by the time of their visit
        self._learned_since_save = False
        self._entrances: dict[int, Entrance] = {}
        self._hasty: dict[int, None] = {}  # announced pages, the longest waiting first
        self._named: dict[int, None] = {}  # pages nobody knows but a signal
        self._waits: dict[
            tuple[str, str, int | str], float
        ] = {}  # budgets and windows, as `_tell_waits` told them last
        self._waits_told = 0.0
        self.closed: dict[int, float] = {}  # crawls outside their windows → when they open
        self.faults: dict[int, str] = {}  # subscriptions that cannot be worked with, and why
        self._faults_again = 0.0

    @property
    def now_ms(self) -> int:
        return int(self._clock() * 1000)

    @property
    def unwritten(self) -> bool:
        return bool(self._records)

    def __len__(self) -> int:
        return len(self._pages)

    # subscriptions

    def changed(self) -> bool:
        """Whether people changed something since the last `refresh`."""
        if self.faults and self._clock() >= self._faults_again:
            return True
        return queries.revision() != self._revision

    def refresh(self) -> None:
        """Read the subscriptions; load the pages of new ones, let go of those of ended ones.

        One that cannot be worked with is left out, with its reason; the others go on.
        """
        self._revision = queries.revision()
        self._take_over_planner()
        rows = {row.pk: row for row in Subscription.objects.select_related("collection", "crawl").filter(active=True)}
        kept = set(Subscription.objects.values_list("pk", flat=True))
        for number in [n for n, sub in self._subs.items() if n not in rows or _key(rows[n]) != sub.key]:
            self._let_go(number, forget=number not in kept)
        for number in self.faults.keys() - rows.keys():
            del self.faults[number]
        for number, row in rows.items():
            with self._alone(number):
                self._take(row)
                if self.faults.pop(number, "") or row.fault:
                    self._records.fault(number, "")
        self._faults_again = self._clock() + RETRY_FAULTS
        if self._newcomers:
            self._plan_at = 0.0
        self.refresh_sites()
        self._read_sources()

    def refresh_sites(self) -> None:
        """Read the budgets people set for sites."""
        self._sites = {name: purse for name, purse in self._sites.items() if purse.limited}
        limited: set[str] = set()
        for name, kept in Host.objects.exclude(settings={}).values_list("name", "settings"):
            try:
                limits = msgspec.convert(kept, SiteSettings)
            except msgspec.ValidationError as error:
                log.error("the settings of %s cannot be read (%s); its budget does not count", name, error)
                continue
            if limits.visits_per_day or limits.bytes_per_day:
                limited.add(name)
                self._sites.setdefault(name, Purse()).resize(limits.visits_per_day, limits.bytes_per_day)
        for name in self._sites.keys() - limited:
            del self._sites[name]

    # what next

    def due(self, now: float, crawls: Collection[int]) -> tuple[list[Found], list[Found]]:
        """Pages to visit now, of the crawls that are running: (met by a signal and new, to be visited again)."""
        if 0 <= now - self._look_at < PACE:
            return [], []
        self._follow_clock(now)
        self._look_at = now
        self._learn(now)
        if not self._subs:
            return [], []
        new = self._take_signals(now)
        self._fill(now, crawls)
        entrances = self._sweep(now)
        chosen = self._choose(now)
        if not self._records and now >= self._save_at:
            self._save(now)
        again = self._gone_before(new, now)
        return [f for f in new if f not in again], again + entrances + self._found(chosen, now)

    def pace(self, found: list[Found], now: float) -> list[Found]:
        """Pages met for the first time: where a budget is set, they are visited in its rhythm, using half of it."""
        for f in found:
            sub = self._by_crawl.get(f.crawl) if f.role == Role.PAGE else None
            rate = self._discovery_rate(sub) if sub is not None else 0.0
            if sub is not None and rate:
                sub.discovered_until = max(sub.discovered_until, now) + 86_400 / rate
                f.due_ms = int(sub.discovered_until * 1000)
        return found

    # what happened

    def observed(self, seen: Seen) -> None:
        """An answered visit of a standing crawl."""
        sub = self._by_crawl.get(seen.crawl)
        if sub is not None:
            with self._alone(sub.id):
                self._observed(sub, seen)

    def _observed(self, sub: Sub, seen: Seen) -> None:
        site = urls.host(seen.url)
        self._spend(sub, site, seen.key, seen.bytes, visits=int(seen.role != Role.REQUISITE))
        self._down.pop(site, None)
        if seen.status in REFUSED or seen.status >= 500:
            self._no_answer(sub, seen.key, site, f"http-{seen.status}", seen.at_ms)
            return
        self._well_again(sub)
        if seen.role == Role.REQUISITE:
            return
        if seen.key in self._named:
            del self._named[seen.key]
            if seen.status in GONE and seen.key not in self._pages:
                return  # somebody named a page that is not there
        page = self._pages.get(seen.key)
        if seen.listing is not None or (page is not None and page.poll):
            self._read_listing(sub, site, seen, page)
            return
        if seen.role == Role.SITEMAP:
            return
        if page is None:
            self._welcome(sub, site, seen)
            return
        interval = max(seen.at_ms - page.last_ms, 0)
        important = seen.changed and not seen.first and (seen.difference is None or seen.difference.important)
        hour = memory.hour(seen.at_ms)
        chance = self._chance(seen.key, hour)
        told = self._verify(seen.key, page, important)
        self._records.observation(seen, sub.id, interval, important, chance)
        if important:
            self._records.change(seen, sub.id, site, page.last_ms)
        page.last_ms, page.retry_at, page.failures, page.visits = seen.at_ms, 0.0, 0, page.visits + 1
        owner = self._subs.get(page.sub, sub)
        if owner.policy is not None:
            owner.policy.observe(seen.key, hour, important)
        elif seen.key in self._planner:
            self._lessons[seen.key] = (hour, important)
            self._watch_youth(seen.key, page)
        self._learned_since_save = True
        if chance is not None and not told:  # a signal says nothing about the habits of a page
            page.wait = self._until_likely(owner, chance, interval)
        next_ms, why = self._next(owner, page, seen)
        self._records.page_seen(seen.key, seen.at_ms, interval, next_ms, why, important, chance or 0.0)

    def failed(self, crawl: int, key: int, url: str, reason: str, unanswered: bool) -> None:
        """A visit of a standing crawl that brought no answer, or was not allowed."""
        sub = self._by_crawl.get(crawl)
        if sub is not None:
            with self._alone(sub.id):
                self._failed(sub, key, url, reason, unanswered)

    def _failed(self, sub: Sub, key: int, url: str, reason: str, unanswered: bool) -> None:
        site = urls.host(url)
        if unanswered:
            self._spend(sub, site, key, 0, visits=1)
            down = self._down.setdefault(site, Down())
            down.failures += 1
            first, most = PROBES
            down.until = self._clock() + 3600 * min(first * 2.0 ** max(0, down.failures - DOWN_AFTER), most)
        else:
            self._forget_pending(key, site)
        self._no_answer(sub, key, site, reason, self.now_ms)

    def write(self) -> None:
        """Put everything on disk. Called inside the engine's transaction."""
        if self._records:
            self._records.write()

    def close(self) -> None:
        """After the engine's last commit."""
        self._learn(self._clock())
        self._plan_pages()
        if self._learned_since_save and not self._records:
            self._save(self._clock())

    # subscriptions, inside

    @contextmanager
    def _alone(self, number: int) -> Iterator[None]:
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
                self._records.fault(number, reason)
            self.faults[number] = reason
            self._faults_again = self._clock() + RETRY_FAULTS
            if number in self._subs:
                self._let_go(number, forget=False)

    def _take(self, row: Subscription) -> None:
        """A subscription as it is now."""
        sub = self._subs.get(row.pk)
        new = sub is None
        if sub is None:
            sub = self._make(row)
        windows = msgspec.convert(row.windows, list[Window])
        bounds = row.weight, row.min_hours * HOUR_MS, (row.max_hours or LONGEST_HOURS) * HOUR_MS
        if not new and sub.policy is None and bounds != (sub.weight, sub.min_ms, sub.max_ms):
            self._tell_planner(row.pk, *bounds)
        sub.weight, sub.min_ms, sub.max_ms = bounds
        sub.windows = windows
        self._shut(sub, self._now)  # a zone that is gone shows here
        sub.matcher = urls.ScopeMatcher(msgspec.convert(row.crawl.options["scope"], urls.Scope))
        sub.collection = row.collection_id
        sub.purse.resize(row.visits_per_day, row.bytes_per_day)
        if row.collection is not None and row.collection_id is not None:
            purse = self._collections.setdefault(row.collection_id, Purse())
            purse.resize(row.collection.visits_per_day, row.collection.bytes_per_day)
        if new:
            self._subs[row.pk] = self._by_crawl[sub.crawl] = sub
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
                history=learning.recent(REPLAYED),
            )
        return sub

    def _load_pages(self, sub: Sub) -> None:
        rows = list(
            WatchedPage.objects.filter(subscription=sub.id).values_list(
                "key", "site", "url", "last_ms", "listing", "failures", "visits"
            )
        )
        for key, site, _, last_ms, listing, failures, visits in rows:
            poll = POLLS[listing][1] if listing else 0.0
            page = self._pages[key] = Watched(sub.id, site, last_ms, poll, 0.0, failures, visits)
            if poll:
                self._polled.add(key)
            elif sub.policy is None:
                self._watch_youth(key, page)
        ordinary = [row for row in rows if not row[4]]
        if sub.policy is not None:
            sub.policy.add([(row[0], memory.hour(row[3])) for row in ordinary])
        else:
            self._newcomers += [(sub.id, (row[0], row[1], row[2], row[3])) for row in ordinary]
        queued = Page.objects.filter(crawl=sub.crawl, state=Page.State.QUEUED).values_list("key", flat=True)
        for key in queued:
            if key in self._pages:
                self._set_pending(key, self._now)

    def _plan_pages(self) -> None:
        """Give newcomers to the planner, many at once: each call costs a pass over all it knows.

        Pages it knows keep what it has learned, whatever people decided about them meanwhile.
        """
        arrived, self._newcomers = self._newcomers, []
        alike: dict[tuple[float, float, float], dict[int, Newcomer]] = {}
        sites: dict[str, str] = {}
        for number, page in arrived:
            sub = self._subs.get(number)
            if sub is not None and page[0] in self._pages:
                bounds = (sub.weight, sub.min_ms / HOUR_MS, sub.max_ms / HOUR_MS)
                alike.setdefault(bounds, {})[page[0]] = page
                if sub.country:
                    sites[page[1]] = sub.country
        now = memory.hour(self._now * 1000)
        for (weight, min_hours, max_hours), pages in alike.items():
            known = [key for key in pages if key in self._planner]
            self._planner.set(known, weight=weight, min_hours=min_hours, max_hours=max_hours, paused=False)
            for hour, part in learning.by_time(list(pages.values())).items():
                self._planner.add(
                    [page[0] for page in part],
                    [page[1] for page in part],
                    [page[2] for page in part],
                    min(hour, now),
                    weight=weight,
                    min_hours=min_hours,
                    max_hours=max_hours,
                )
        for site, country in sites.items():
            name, _, part_of = country.partition("-")
            self._planner.set_calendar(site, country_calendar(name, memory.ORIGIN, part_of or None))

    def _tell_planner(self, number: int, weight: float, min_ms: float, max_ms: float) -> None:
        """What a person changed counts from now on."""
        mine = [key for key, page in self._pages.items() if page.sub == number and key in self._planner]
        self._planner.set(mine, weight=weight, min_hours=min_ms / HOUR_MS, max_hours=max_ms / HOUR_MS)
        self._learned_since_save = True
        self._plan_at = 0.0

    def _let_go(self, number: int, forget: bool) -> None:
        """Stop watching a subscription's pages; unless it was removed, what was learned waits for its return."""
        sub = self._subs.pop(number)
        self._by_crawl.pop(sub.crawl, None)
        self.closed.pop(sub.crawl, None)
        gone = [key for key, page in self._pages.items() if page.sub == number]
        self._learn(self._now)
        if forget:
            self._planner.remove(gone)
        else:
            self._planner.set([key for key in gone if key in self._planner], paused=True)
        self._learned_since_save = True
        for key in sub.seeds:
            self._entrances.pop(key, None)
        for key in gone:
            self._forget_pending(key, self._pages[key].site)
            self._told.pop(key, None)
            self._polled.discard(key)
            self._hasty.pop(key, None)
            del self._pages[key]

    def _take_over_planner(self) -> None:
        """At the start what was kept; later, what the worker learned anew."""
        first = not self._subs and not len(self._planner)
        fresh = self._data / memory.FRESH
        kept = memory.load(fresh)
        if kept is None and first:
            kept = memory.load(self._data / memory.FILE)
        if kept is None:
            return
        self._planner, number = kept
        self._put_to_rest()
        rows = Observation.objects.filter(pk__gt=number, imported=False).order_by("seen_ms", "pk")
        learning.replay(self._planner, rows.values_list("key", "seen_ms", "important"))
        self._lessons.clear()
        fresh.unlink(missing_ok=True)
        for sub in self._subs.values():
            if sub.policy is None:
                known = WatchedPage.objects.filter(subscription=sub.id, listing="")
                pages = known.values_list("key", "site", "url", "last_ms")
                self._newcomers += [(sub.id, page) for page in pages]
        self._learned_since_save = True
        self._plan_at = 0.0

    def _put_to_rest(self) -> None:
        """Subscriptions may have been removed or paused meanwhile: only loading their pages wakes them."""
        keys = self._planner.keys
        watched = np.fromiter(WatchedPage.objects.values_list("key", flat=True).iterator(chunk_size=10_000), np.int64)
        there = np.isin(keys, watched)
        self._planner.remove(keys[~there].tolist())
        self._planner.set(keys[there], paused=True)

    def _read_sources(self) -> None:
        self._sources = {
            s.pk: (s.kind, s.subscription_id, s.site)
            for s in SignalSource.objects.filter(state=SignalSource.State.ACTIVE)
        }
        self._speakers = {}
        for number, (_, subscription, site) in self._sources.items():
            self._speakers.setdefault(site if subscription is None else subscription, []).append(number)

    # choosing, inside

    def _follow_clock(self, now: float) -> None:
        if now < self._now - 60:  # set back: nothing may wait for a time that comes once more
            for sub in self._subs.values():
                if sub.policy is not None:
                    sub.policy.turn_back(memory.hour(now * 1000))
                sub.discovered_until = min(sub.discovered_until, now)
            for page in self._pages.values():
                page.last_ms = min(page.last_ms, int(now * 1000))
                page.retry_at = min(page.retry_at, now + 3600)
            for entrance in self._entrances.values():
                entrance.retry_at = min(entrance.retry_at, now + 3600)
            for down in self._down.values():
                down.until = min(down.until, now + 3600)
            self._pending = {key: min(since, now) for key, since in self._pending.items()}
            self._young = [(min(at, now + YOUNG[0] * 3600), key) for at, key in self._young]
            heapq.heapify(self._young)
            self._plan_at = self._sweep_at = 0.0
            self._save_at = min(self._save_at, now + SAVE)
        self._now = now

    def _fill(self, now: float, crawls: Collection[int]) -> None:
        limits = self._config.watch_visits_per_day, self._config.watch_bytes_per_day
        self._instance.resize(limits[0] or self._unlimited(), limits[1])
        for purse in (self._instance, *self._collections.values(), *self._sites.values()):
            purse.fill(now)
        for sub in self._subs.values():
            if sub.purse.limited:
                sub.purse.fill(now)
            sub.is_open = not self._shut(sub, now) and sub.crawl in crawls

    def _shut(self, sub: Sub, now: float) -> bool:
        """Whether a subscription is outside its windows; the engine is told until when."""
        shut = bool(sub.windows) and not any_open(sub.windows, now)
        if shut:
            self.closed[sub.crawl] = next_open(sub.windows, now)
        else:
            self.closed.pop(sub.crawl, None)
        return shut

    def _unlimited(self) -> float:
        """Visits a day of an instance nobody limited: what people ordered to be visited more often has its room too."""
        fixed = [sub for sub in self._subs.values() if sub.policy is not None and sub.mode == "fixed"]
        asked = sum(len(sub.policy) * 24.0 / sub.fixed_hours for sub in fixed if sub.policy)
        hurried = {sub.id: 24.0 * HOUR_MS / sub.max_ms for sub in self._subs.values() if sub.max_ms < HOUR_MS}
        if hurried:
            asked += sum(hurried.get(page.sub, 0.0) for page in self._pages.values())
        return UNLIMITED * max(len(self._pages), 60) + asked

    def _choose(self, now: float) -> list[int]:
        chosen: list[int] = []
        ways = (
            *(self._listings(now), self._by_policy(now), self._by_youth(now)),
            *(self._by_signal(now), self._by_planner(now)),
        )
        for round_ in zip_longest(*ways):  # each way gets its turn, so that none starves the others
            for key in round_:
                if key is None:
                    continue
                page = self._pages.get(key)
                if page is None:
                    continue  # its subscription was set aside meanwhile
                sub = self._subs[page.sub]
                chosen.append(key)
                self._set_pending(key, now)
                for purse in self._purses(sub, page.site, key in self._hasty):
                    purse.visits.spend(1)
            if not self._instance.open:
                break
        return [key for key in chosen if key in self._pages]

    def _allowed(self, key: int, now: float, told: bool = False) -> bool:
        page = self._pages.get(key)
        if page is None or key in self._pending or page.retry_at > now:
            return False
        sub = self._subs.get(page.sub)
        if sub is None or not sub.is_open or now * 1000 - page.last_ms < sub.min_ms:
            return False
        down = self._down.get(page.site)
        most = HOST_QUEUE
        if down is not None and down.failures >= DOWN_AFTER:
            if down.until > now:
                return False
            most = 1
        return self._waiting[page.site] < most and all(purse.open for purse in self._purses(sub, page.site, told))

    def _by_planner(self, now: float) -> Iterator[int]:
        """The planner's pages, best first, as long as they are worth a visit."""
        if not len(self._planner) and not self._newcomers:
            return
        hour = memory.hour(now * 1000)
        if now >= self._plan_at:
            began = time.process_time()
            if self._newcomers:
                self._plan_pages()
            pause = pacing.pause(self._plan_cost)
            until_next = self._instance.visits.per_day / 86_400 * pause
            self._planner.plan(hour, max(1, int(max(self._instance.visits.whole, until_next))))
            self._plan_cost = time.process_time() - began
            self._plan_at = now + pacing.pause(self._plan_cost)
        in_vain = 0
        while in_vain < 20 and (key := self._planner.next()) is not None:
            if not self._allowed(key, now):
                in_vain += self._pages.get(key) is not None and key not in self._pending
                continue
            page = self._pages[key]
            sub = self._subs[page.sub]
            chance = float(self._planner.chance([key], hour)[0])
            overdue = now * 1000 - page.last_ms >= sub.max_ms
            if not (sub.purse.visits.per_day or overdue or chance * min(sub.weight, 2.0) >= WORTH):
                in_vain += 5
                continue
            self._explain(key, now, chance)
            yield key

    def _by_youth(self, now: float) -> Iterator[int]:
        """Pages nobody knows yet: a few early visits, for a prior alone would leave a lively page alone for weeks."""
        postponed: list[int] = []
        while self._young and self._young[0][0] <= now and len(postponed) < HOST_QUEUE:
            _, key = heapq.heappop(self._young)
            page = self._pages.get(key)
            if page is None or page.visits > len(YOUNG) or now * 1000 - page.last_ms < YOUNG[0] * HOUR_MS / 2:
                continue  # gone, known by now, or just visited for another reason
            if not self._allowed(key, now):
                postponed.append(key)
                continue
            self._records.page_chosen(key, int(now * 1000), {"code": "young", "visits": page.visits})
            yield key
        for key in postponed:
            heapq.heappush(self._young, (now + 900, key))

    def _watch_youth(self, key: int, page: Watched) -> None:
        if page.visits <= len(YOUNG) and not self._subs[page.sub].purse.visits.per_day:
            heapq.heappush(self._young, (page.last_ms / 1000 + YOUNG[page.visits - 1] * 3600, key))

    def _by_policy(self, now: float) -> Iterator[int]:
        hour = memory.hour(now * 1000)
        for sub in list(self._subs.values()):
            if sub.policy is None or not sub.is_open:
                continue
            due: list[int] = []
            with self._alone(sub.id):
                due = [*self._late.get(sub.id, ()), *sub.policy.due(hour, HOST_QUEUE)]
            for key in due:
                if key in self._pages and self._allowed(key, now):
                    self._explain_policy(sub, key, now)
                    yield key

    def _by_signal(self, now: float) -> Iterator[int]:
        """Announced pages, at once: the planner lets a page rest for an hour, and an instance spreads its visits out.

        Few at a time: those of a source that lies are no longer worth a visit once these have been looked at.
        """
        hour = memory.hour(now * 1000)
        under_way = sum(key in self._pending for key in self._hasty)
        looked = 0
        for key in list(self._hasty):
            page = self._pages.get(key)
            if page is None or key not in self._told or key not in self._planner:
                del self._hasty[key]  # visited meanwhile
                continue
            if under_way >= HASTY or looked >= HOST_QUEUE:
                return
            looked += 1
            if now - page.last_ms / 1000 < AT_ONCE or not self._allowed(key, now, told=True):
                continue
            chance = float(self._planner.chance([key], hour)[0])
            if chance * min(self._subs[page.sub].weight, 2.0) < WORTH:
                del self._hasty[key]  # not believed: the planner's affair
                continue
            under_way += 1
            self._explain(key, now, chance)
            yield key

    def _find_late(self, now: float) -> None:
        """Policies that only rank pages know no longest interval: their pages that have waited it out."""
        self._late = {sub.id: [] for sub in self._subs.values() if sub.policy is not None}
        if not self._late:
            return
        for key, page in self._pages.items():
            late = self._late.get(page.sub)
            if late is None or page.poll or len(late) >= HOST_QUEUE:
                continue
            if now * 1000 - page.last_ms >= self._subs[page.sub].max_ms:
                late.append(key)

    def _listings(self, now: float) -> Iterator[int]:
        for key in list(self._polled):
            page = self._pages.get(key)
            if page is None:
                continue
            if now * 1000 - page.last_ms >= page.poll * HOUR_MS and self._allowed(key, now):
                self._records.page_chosen(key, int(now * 1000), {"code": "listing", "hours": page.poll})
                yield key

    def _found(self, keys: list[int], now: float) -> list[Found]:
        found: list[Found] = []
        for start in range(0, len(keys), 500):
            rows = Page.objects.filter(key__in=keys[start : start + 500]).values_list(
                "key", "url", "host__name", "depth", "role", "state"
            )
            for key, url, host, depth, role, state in rows:
                if state == Page.State.QUEUED:
                    continue  # some crawl has it in its queue already; `_sweep` sees what becomes of it
                crawl = self._subs[self._pages[key].sub].crawl
                found.append(Found(key, url, host, crawl, depth, 0, role, VISIT_PRIORITY))
        return found

    def _purses(self, sub: Sub, site: str, told: bool = False) -> list[Purse]:
        """What pays for a visit. One that somebody asked for is not spread over the day unless a person set a limit."""
        limited = self._config.watch_visits_per_day or self._config.watch_bytes_per_day
        purses = [sub.purse] if told and not limited else [self._instance, sub.purse]
        if sub.collection is not None and sub.collection in self._collections:
            purses.append(self._collections[sub.collection])
        if site in self._sites:
            purses.append(self._sites[site])
        return purses

    def _discovery_rate(self, sub: Sub) -> float:
        """Visits a day for pages met for the first time; 0: as many as politeness allows."""
        limits = [float(self._config.watch_visits_per_day), sub.purse.visits.per_day]
        if sub.collection in self._collections:
            limits.append(self._collections[sub.collection].visits.per_day)
        return min((limit / 2 for limit in limits if limit), default=0.0)

    # visits under way

    def _set_pending(self, key: int, now: float) -> None:
        if key not in self._pending:
            self._waiting[self._pages[key].site] += 1
        self._pending[key] = now

    def _forget_pending(self, key: int, site: str) -> bool:
        if self._pending.pop(key, None) is None:
            return False
        self._waiting[site] -= 1
        if self._waiting[site] <= 0:
            del self._waiting[site]
        return True

    def _spend(self, sub: Sub, site: str, key: int, received: int, visits: int) -> None:
        """Pay for a visit: bytes when it is over; the visit itself when it was not one of ours (a page just met)."""
        planned = self._forget_pending(key, site)
        for purse in self._purses(sub, site):
            purse.bytes.spend(received)
            if not planned and (purse is not self._instance or self._config.watch_visits_per_day):
                purse.visits.spend(visits)  # an instance nobody limited has no budget that a first crawl could use up

    def _sweep(self, now: float) -> list[Found]:
        """Visits that ended without a word: their host was given up, or their crawl ended. Gives addresses to try."""
        if 0 <= now - self._sweep_at < SWEEP:
            return []
        self._sweep_at = now
        self._find_late(now)
        self._tell_waits(now)
        old = [key for key, since in self._pending.items() if now - since > OVERDUE]
        for start in range(0, len(old), 500):
            rows = Page.objects.filter(key__in=old[start : start + 500]).exclude(state=Page.State.QUEUED)
            for key, reason, state in rows.values_list("key", "reason", "state"):
                page = self._pages[key]
                self._forget_pending(key, page.site)
                sub = self._subs.get(page.sub)
                if sub is not None and state != Page.State.DONE:  # done: by another crawl that had it queued
                    self._no_answer(sub, key, page.site, reason or "the visit ended without an answer", int(now * 1000))
        return self._try_entrances(now)

    def _tell_waits(self, now: float) -> None:
        """Pages that would be visited while a budget is used up, or a window shut: people are told until when."""
        waits: list[tuple[str, str, int | str, float]] = [
            ("instance", "", 0, self._instance.opens),
            *(("collection", "subscription__collection", n, p.opens) for n, p in self._collections.items()),
            *(("subscription", "subscription", sub.id, sub.purse.opens) for sub in self._subs.values()),
            *(("site", "site", site, p.opens) for site, p in self._sites.items()),
        ]
        until = {(f"then-budget-{whose}", name, value): now + opens for whose, name, value, opens in waits}
        for sub in self._subs.values():
            if sub.crawl in self.closed:
                until["then-window", "subscription", sub.id] = self.closed[sub.crawl]
        told, self._waits = self._waits, {}
        for wait, opens in sorted(until.items(), key=lambda item: item[1]):  # the longest has the last word
            if opens - now < TELL_WAIT:
                continue
            self._waits[wait] = told.get(wait, 0.0)
            if abs(opens - self._waits[wait]) >= TELL_WAIT or now - self._waits_told >= TELL_WAIT:
                code, name, value = wait
                self._records.wait({name: value} if name else {}, int(opens * 1000), code)
                self._waits[wait] = opens
        if now - self._waits_told >= TELL_WAIT or now < self._waits_told:
            self._waits_told = now

    def _try_entrances(self, now: float) -> list[Found]:
        """Addresses that have never answered: a subscription made while its site was down must not wait for ever."""
        missing = {key: sub for sub in self._subs.values() for key in sub.seeds if key not in self._pages}
        keys, found = list(missing), []
        for start in range(0, len(keys), 500):
            failed = Page.objects.filter(
                key__in=keys[start : start + 500], state__in=[Page.State.FAILED, Page.State.EXCLUDED]
            )
            for key, url, host, reason in failed.values_list("key", "url", "host__name", "reason"):
                sub, entrance = missing[key], self._entrances.get(key)
                if entrance is None and sub.failures:  # it was counted before a restart
                    entrance = self._entrances[key] = Entrance(sub.failures, now)
                if entrance is None or entrance.asked:
                    self._no_answer(sub, key, host, reason or "no answer", int(now * 1000))
                elif now >= entrance.retry_at and sub.is_open and all(p.open for p in self._purses(sub, host)):
                    entrance.asked = True
                    found.append(Found(key, url, host, sub.crawl, 0, 0, Role.PAGE, VISIT_PRIORITY))
        return found

    # learning, inside

    def _welcome(self, sub: Sub, site: str, seen: Seen) -> None:
        """A page seen for the first time."""
        self._entrances.pop(seen.key, None)
        page = self._pages[seen.key] = Watched(sub.id, site, seen.at_ms)
        hour = memory.hour(seen.at_ms)
        if sub.policy is not None:
            sub.policy.add([(seen.key, hour)])
        else:
            self._watch_youth(seen.key, page)
            self._newcomers.append((sub.id, (seen.key, site, seen.url, seen.at_ms)))
        next_ms, why = self._next(sub, page, seen)
        self._records.new_page(seen, sub.id, site, next_ms, {"code": "first"}, why)
        self._records.observation(seen, sub.id, 0, False, None)

    def _learn(self, now: float) -> None:
        """Tell the planner what was seen since the last look, all at once: it is one pass over its arrays."""
        if self._lessons:
            lessons = {key: lesson for key, lesson in self._lessons.items() if key in self._planner}
            self._lessons = {}
            if lessons:
                keys = np.fromiter(lessons, np.int64, len(lessons))
                hits = np.array([important for _, important in lessons.values()])
                self._planner.observe(keys, max(hour for hour, _ in lessons.values()), hits)

    def _no_answer(self, sub: Sub, key: int, site: str, reason: str, at_ms: int) -> None:
        page = self._pages.get(key)
        first = min(3600.0, sub.fixed_hours * 3600) if sub.mode == "fixed" else 3600.0
        if page is None and key in sub.seeds:
            failures = min(self._entrances[key].failures + 1, 30) if key in self._entrances else 1
            self._entrances[key] = Entrance(failures, at_ms / 1000 + min(first * 2.0 ** (failures - 1), 86_400.0))
        if page is not None:
            page.failures = min(page.failures + 1, 30)
            wait = min(first * 2.0 ** (page.failures - 1), 7 * 86_400.0)
            page.retry_at = at_ms / 1000 + wait
            if sub.policy is None and key in self._planner:
                self._planner.fail([key], memory.hour(at_ms))
            elif sub.policy is not None:
                sub.policy.postpone(key, memory.hour(page.retry_at * 1000))
            self._records.page_failed(key, int(page.retry_at * 1000), wait / 3600)
        sub.failures += 1
        sub.failing_since_ms = sub.failing_since_ms or at_ms
        self._records.trouble(sub.id, sub.failures, sub.failing_since_ms, f"{site}: {reason}")

    def _well_again(self, sub: Sub) -> None:
        if sub.failures:
            sub.failures = sub.failing_since_ms = 0
            self._records.trouble(sub.id, 0, 0, "")

    def _chance(self, key: int, hour: float) -> float | None:
        """Of an important change, said before the visit is known."""
        return float(self._planner.chance([key], hour)[0]) if key in self._planner else None

    def _next(self, sub: Sub, page: Watched, seen: Seen) -> tuple[int, dict[str, object]]:
        """About when the next visit will be and why, for people: as if the page went on as it did before this one."""
        if sub.policy is not None:
            hour = sub.policy.next_at(seen.key)
            if hour is None or not np.isfinite(hour):
                return 0, {"code": "then-share"}
            hours = hour - memory.hour(seen.at_ms)
            why: dict[str, object] = {"code": "then-policy", "policy": sub.mode, "hours": round(hours, 2)}
            return int(seen.at_ms + hours * HOUR_MS), why
        if sub.purse.visits.per_day:
            return seen.at_ms + int(page.wait) if page.wait else 0, {"code": "then-share"}
        code, wait = "then-chance", page.wait or sub.max_ms
        if wait >= sub.max_ms:
            code, wait = "then-latest", sub.max_ms
        if page.visits <= len(YOUNG) and (young := YOUNG[page.visits - 1] * HOUR_MS) < wait:
            code, wait = "then-young", max(young, sub.min_ms)
        return seen.at_ms + int(wait), {"code": code, "hours": round(wait / HOUR_MS, 2)}

    def _until_likely(self, sub: Sub, chance: float, interval_ms: int) -> float:
        """Milliseconds until a visit is worth it."""
        rate = -np.log1p(-min(max(chance, 1e-6), 0.999)) / max(interval_ms, 1)
        return float(max(min(-np.log1p(-WORTH) / rate, sub.max_ms), sub.min_ms, HOUR_MS))

    def _explain(self, key: int, now: float, chance: float) -> None:
        page = self._pages[key]
        if page.failures:
            kept: dict[str, object] = {"code": "retry", "failures": page.failures}
        else:
            kept = dict(reasons.facts(self._planner.explain(key, memory.hour(now * 1000))))
            if kept.get("code") == "companion":
                other = WatchedPage.objects.filter(key=kept["page"]).values_list("url", flat=True).first()
                kept["page"] = other or "another page"
            elif kept.get("code") == "signal":
                kept = self._explain_signal(key, kept)
        self._records.page_chosen(key, int(now * 1000), {**kept, "chance": round(chance, 3)})

    def _explain_signal(self, key: int, kept: dict[str, object]) -> dict[str, object]:
        """Who announced it, and how often he was right so far: not what is believed of somebody never heard before."""
        rows = SignalSource.objects.filter(pk__in=self._told.get(key, ())).order_by("-right", "pk")
        row = rows.values_list("kind", "right", "wrong").first()
        if row is None:
            return kept
        kind, right, wrong = row
        if not right + wrong:
            return {"code": "news", "source": kind}
        return {"code": "signal", "source": kind, "precision": round(right / (right + wrong), 3)}

    def _explain_policy(self, sub: Sub, key: int, now: float) -> None:
        page = self._pages[key]
        hours = (now * 1000 - page.last_ms) / HOUR_MS
        assert sub.policy is not None
        code = "share" if sub.policy.shares_budget else "interval"
        if page.failures:
            kept: dict[str, object] = {"code": "retry", "failures": page.failures}
        elif key in self._told and sub.mode == "simple-notify":
            source = self._sources.get(next(iter(self._told[key])), ("somebody", None, ""))[0]
            kept = {"code": "told", "source": source, "policy": sub.mode}
        else:
            kept = {"code": code, "policy": sub.mode, "hours": round(hours, 2)}
        self._records.page_chosen(key, int(now * 1000), kept)

    # signals, inside

    def _take_signals(self, now: float) -> list[Found]:
        """Signals the web process wrote down: known pages are told to the planner, new ones of a scope are visited."""
        new: list[Found] = []
        if self._records.signals:
            return []  # the last ones are still to be taken out
        active = SignalSource.State.ACTIVE
        rows = list(Signal.objects.filter(source__state=active).order_by("pk")[:SIGNALS])
        if any(row.source_id not in self._sources for row in rows):
            self._read_sources()
        for row in rows:
            try:
                new += self._hear(row, now)
            except DatabaseError:
                raise
            except Exception:  # nobody outside may stop watching by what he says
                log.exception("signal of source %d about %r", row.source_id, row.url)
        self._records.taken(row.pk for row in rows)
        return new

    def _hear(self, row: Signal, now: float) -> list[Found]:
        source = self._sources.get(row.source_id)
        if source is None:
            return []
        subs = self._spoken_about(source)
        if not row.url:
            for key in (k for sub in subs if sub.id == source[1] for k in sub.seeds):
                self._announce(key, row.source_id, now)
            return []
        try:
            url = urls.canonical(row.url)
        except urls.UrlError:
            return []
        if source[1] is None and urls.host(url) != source[2]:
            return []
        if urls.key(url) not in self._pages:
            return self._newcomer(url, subs, now)
        if any(sub.matcher.refusal(url, 0) is None for sub in subs):
            self._announce(urls.key(url), row.source_id, now, row.said_ms)
        return []

    def _spoken_about(self, source: tuple[str, int | None, str]) -> list[Sub]:
        """Subscriptions a source may speak about: its own, or, of one that speaks for a site, all. Paused ones rest."""
        if source[1] is None:
            return list(self._subs.values())
        return [self._subs[source[1]]] if source[1] in self._subs else []

    def _newcomer(self, url: str, subs: list[Sub], now: float) -> list[Found]:
        for sub in subs:
            if sub.is_open and sub.matcher.refusal(url, 1) is None and not urls.trap(url):
                if not 0 <= now - sub.newcomers_at < 3600:
                    sub.newcomers, sub.newcomers_at = 0, now
                sub.newcomers += 1
                if sub.newcomers > NEWCOMERS:
                    return []
                self._named[urls.key(url)] = None
                if len(self._named) > NAMED:
                    del self._named[next(iter(self._named))]
                return self.pace([Found(urls.key(url), url, urls.host(url), sub.crawl, 1, 0, 0, VISIT_PRIORITY)], now)
        return []

    def _gone_before(self, found: list[Found], now: float) -> list[Found]:
        """Pages named now that were not there when they were looked for: they may have come since."""
        if not found:
            return []
        gone = Page.objects.filter(key__in=[f.key for f in found], state=Page.State.DONE, status__in=GONE)
        keys = set(gone.filter(visited_ms__lt=int(now * 1000) - HOUR_MS).values_list("key", flat=True))
        return [f for f in found if f.key in keys]

    def _announce(self, key: int, source: int, now: float, said_ms: int = 0) -> None:
        page = self._pages.get(key)
        if page is None or (said_ms and said_ms <= page.last_ms):
            return  # what was said is about a version we have
        sub = self._subs.get(page.sub)
        if sub is None or source in self._told.get(key, ()):
            return
        self._told.setdefault(key, set()).add(source)
        kind = self._sources[source][0]
        hour = memory.hour(now * 1000)
        if sub.policy is not None:
            sub.policy.notify(key, hour)
        elif key in self._planner:
            self._planner.signal(key, hour, kind)
            self._plan_at = min(self._plan_at, now + pacing.pause_signalled(self._plan_cost))
            if len(self._hasty) < ANNOUNCED:
                self._hasty[key] = None

    def _verify(self, key: int, page: Watched, important: bool) -> bool:
        """Were the sources right? And which said nothing of a change? Gives whether somebody had announced it."""
        told = self._told.pop(key, set())
        for source in told:
            self._records.verdict(source, "right" if important else "wrong")
        if important:
            for source in self._speakers.get(page.sub, []) + self._speakers.get(page.site, []):
                if source not in told:
                    self._records.verdict(source, "missed")
        return bool(told)

    def _read_listing(self, sub: Sub, site: str, seen: Seen, page: Watched | None) -> None:
        """A feed or sitemap: a page that tells about others. One that says the same as before is not read again."""
        listing = seen.listing
        least, first, most = POLLS[listing.kind if listing else "sitemap" if seen.role == Role.SITEMAP else "feed"]
        if page is None or not page.poll:
            if page is not None:
                self._planner.remove([seen.key])
                if sub.policy is not None:
                    sub.policy.discard(seen.key)
            page = self._pages[seen.key] = Watched(sub.id, site, 0, first)
            self._polled.add(seen.key)
        elif seen.changed:
            page.poll = max(page.poll / 2, least)
        else:
            page.poll = min(page.poll * 1.5, most)
        since, page.last_ms, page.retry_at, page.failures = page.last_ms, seen.at_ms, 0.0, 0
        next_ms = seen.at_ms + int(page.poll * HOUR_MS)
        if listing is None:
            self._records.page_seen(seen.key, seen.at_ms, seen.at_ms - since, next_ms, {}, False, 0.0)
            return
        self._records.new_page(seen, sub.id, site, next_ms, {"code": "listing", "hours": page.poll})
        source = learning.listing_source(sub.id, site, seen.url, listing, seen.at_ms)
        if source not in self._sources:
            self._sources[source] = (listing.kind, sub.id, "")
            self._speakers.setdefault(sub.id, []).append(source)
        dated = sorted(((ms, key) for key, ms, _ in listing.entries if ms), reverse=True)
        announced = 0
        for ms, key in dated:
            if ms > seen.at_ms + 86_400_000 or announced >= ANNOUNCED:
                continue  # a date in the future says nothing
            known = self._pages.get(key)
            if known is None or (known.sub != sub.id and known.site != site):
                continue  # a feed speaks for its own site and subscription, not for pages of others
            if key != seen.key and ms > known.last_ms:
                self._announce(key, source, seen.at_ms / 1000, ms)
                announced += 1
        if announced:
            self._records.heard(source, seen.at_ms, announced)

    # keeping

    def _save(self, now: float) -> None:
        self._save_at = now + SAVE
        if not self._learned_since_save:
            return
        last = Observation.objects.aggregate(last=Max("pk"))["last"] or 0
        memory.save(self._data / memory.FILE, self._planner, last)
        self._learned_since_save = False


VISIT_PRIORITY = 50  # of a visit that is due, against pages just met (0 and less) and sitemaps (100)


def _key(row: Subscription) -> tuple[object, ...]:
    """What must not change without loading the pages again."""
    return row.crawl_id, row.mode, row.fixed_hours, row.country, row.visits_per_day if row.mode != "auto" else 0


def standing_options(crawls: Collection[int]) -> dict[int, dict[str, object]]:
    """The options of standing crawls as they are now, for the engine after `changed`."""
    return dict(Crawl.objects.filter(pk__in=list(crawls)).values_list("pk", "options"))

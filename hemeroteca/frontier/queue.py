"""Hosts in the order of their next allowed time, and the leases handed out.

In memory: the hosts that have work (bounded), a few pages of each, and the pages leased but not yet written. On disk:
everything else. `write` is called by the engine inside its transaction; nothing else here writes, unless the clock was
set back.
"""

import heapq
import time
from collections import Counter, deque
from collections.abc import Callable

import msgspec
from django.db import connection

from hemeroteca.frontier import store
from hemeroteca.frontier.models import Host
from hemeroteca.frontier.seen import SeenSet
from hemeroteca.frontier.values import Outcome, SiteSettings, Visit
from hemeroteca.urls.candidate import Candidate

READ_AHEAD = (16, 512)  # pages of a host read at once: few for a slow host, more for one that is visited fast
MOST_HOSTS = 20_000  # hosts with work kept in memory; the others wait on disk
MOST_NAMES = 100_000  # host names whose id is remembered
SET_BACK = 60.0  # s from which on a clock that goes back was set back


class HostQueue:
    """A host with work: when it may be asked again, and its next pages."""

    __slots__ = (
        "asleep",
        "at",
        "busy",
        "crawls",
        "delay",
        "failures",
        "given_up",
        "id",
        "name",
        "note",
        "out",
        "ready",
        "scheduled",
        "settings",
    )

    def __init__(self, row: Host, now: float) -> None:
        self.id = row.pk
        self.name = row.name
        self.delay = row.delay_ms / 1000
        self.at = min(row.next_ms / 1000, now + self.delay)  # later: the clock was ahead when it was written
        self.failures = row.failures
        self.note = row.note
        self.settings = msgspec.convert(row.settings, SiteSettings)
        self.ready: deque[Visit] = deque()
        self.crawls: set[int] = set()  # those that may have pages queued here
        self.busy = False  # a request is under way
        self.scheduled = False  # it stands in the heap
        self.asleep = False  # … at the time its next page is due
        self.out = 0  # pages leased whose outcome is not on disk yet
        self.given_up = ""  # why all its pages will be failed at the next `write`


class Frontier:
    def __init__(self, host_page_cap: int, clock: Callable[[], float] = time.time) -> None:
        self.refused: Counter[tuple[int, str]] = Counter()  # URLs not taken, by crawl and reason
        self.queued: dict[int, int] = {}  # pages still to visit, by crawl
        self._host_page_cap = host_page_cap
        self._clock = clock
        self._now = 0.0  # of the last lease
        self._hosts: dict[int, HostQueue] = {}
        self._heap: list[tuple[float, int, int]] = []
        self._pushes = 0
        self._names: dict[str, list[int]] = {}  # name → [id, pages known]
        self._seen: dict[int, SeenSet] = {}
        self._new: list[Candidate] = []
        self._again: list[Candidate] = []  # pages known already, for another visit
        self._outcomes: list[tuple[HostQueue, Outcome, int]] = []
        self._touched: set[HostQueue] = set()
        self._leased: set[int] = set()
        self._cursor: dict[int, int] = {}  # crawls with hosts left on disk → last host id looked at
        self._passed_over: set[int] = set()  # crawls that gained work on a host below their cursor
        self.gave_up: Counter[tuple[int, str]] = Counter()  # pages failed with their host, by crawl and reason

    # crawls

    def open_crawl(self, crawl: int) -> None:
        """Take up a crawl: what it has met and what it still has to visit."""
        self._seen[crawl] = SeenSet(store.seen_keys(crawl))
        self.queued[crawl] = store.count_queued(crawl)
        self._cursor[crawl] = 0
        self._load_hosts()

    def close_crawl(self, crawl: int) -> None:
        """Let go of a crawl; its queue stays on disk."""
        self._seen.pop(crawl, None)
        self.queued.pop(crawl, None)
        self._cursor.pop(crawl, None)
        for host in self._hosts.values():
            host.crawls.discard(crawl)
            if host.ready:
                host.ready = deque(visit for visit in host.ready if visit.crawl != crawl)
            if host.crawls or host.ready:
                self._schedule(host)  # it may have stood still for the crawl that ended

    @property
    def crawls(self) -> list[int]:
        return list(self._seen)

    # what comes in

    def add(self, found: list[Candidate]) -> int:
        """Queue URLs their crawl had not met; returns how many were new. They can be leased after `write`."""
        before = len(self._new)
        for crawl in {f.crawl for f in found}:
            seen = self._seen.get(crawl)
            if seen is None:
                continue
            mine = [f for f in found if f.crawl == crawl]
            fresh = seen.add_new([f.key for f in mine])
            self._new.extend(f for f, new in zip(mine, fresh, strict=True) if new)
        return len(self._new) - before

    def requeue(self, found: list[Candidate]) -> None:
        """Queue pages for another visit, whether or not their crawl has met them. They can be leased after `write`."""
        for f in found:
            if f.crawl in self._seen:
                self._seen[f.crawl].add_new([f.key])
                self._again.append(f)

    def meet(self, crawl: int, keys: list[int]) -> None:
        """These addresses were fetched by other means: the crawl need not visit them."""
        if crawl in self._seen:
            self._seen[crawl].add_new(keys)

    # what goes out

    def lease(self, now: float) -> Visit | None:
        """The next visit that politeness allows, its host marked busy; None when all must wait."""
        if now < self._now - SET_BACK:
            self._turn_back(now)
        self._now = now
        while self._heap and self._heap[0][0] <= now:
            _, _, host_id = heapq.heappop(self._heap)
            host = self._hosts.get(host_id)
            if host is None:
                continue
            host.scheduled = False
            if host.busy:
                continue
            if host.at > now:
                self._schedule(host)
                continue
            if host.settings.paused or host.given_up or (not host.ready and not self._refill(host, now)):
                continue
            visit = host.ready.popleft()
            if visit.page and visit.page not in self._leased:
                host.out += 1
                self._leased.add(visit.page)
            host.busy = True
            return visit
        return None

    def next_time(self) -> float | None:
        """When the next lease may be possible; None when nothing waits."""
        return self._heap[0][0] if self._heap else None

    def host(self, host_id: int) -> HostQueue:
        return self._hosts[host_id]

    def set_host(self, host_id: int, settings: SiteSettings) -> None:
        """A person changed the settings of a host; one that was paused may be asked again."""
        host = self._hosts.get(host_id)
        if host is not None:
            host.settings = settings
            self._schedule(host)

    @property
    def unwritten(self) -> int:
        """New pages that cannot be leased before the next `write`."""
        return len(self._new) + len(self._again)

    def put_back(self, visit: Visit) -> None:
        """Return a leased visit unfetched, to be the host's next one."""
        host = self._hosts[visit.host]
        host.ready.appendleft(visit)
        if visit.page:
            host.out -= 1
            self._leased.discard(visit.page)

    def ask_again(self, visit: Visit) -> None:
        """Make a visit whose host was released the host's next one once more; the page stays leased all the while."""
        host = self._hosts[visit.host]
        host.ready.appendleft(visit)
        self._wake(host, visit.crawl)

    def rest(self, host_id: int, at: float) -> None:
        """A lease ended without a request; the host is not asked before `at`."""
        host = self._hosts[host_id]
        host.busy = False
        host.at = max(host.at, at)
        self._schedule(host)

    def insert(self, host_name: str, visit: Visit) -> None:
        """Make an errand of the engine (robots.txt) the next visit of a host."""
        (host_id,) = store.host_ids([host_name]).values()
        visit.host = host_id
        host = self._hosts.get(host_id) or self._load(host_id)
        host.ready.appendleft(visit)
        self._schedule(host)

    def release(self, host_id: int, at: float, *, delay: float, failed: bool, note: str = "") -> None:
        """The request to a host has ended; it may be asked again at `at`."""
        host = self._hosts[host_id]
        host.busy = False
        host.at = at
        host.delay = delay
        host.failures = host.failures + 1 if failed else 0
        host.note = note
        self._touched.add(host)
        self._schedule(host)

    def release_unasked(self, host_id: int) -> None:
        """A lease ended without a request: nothing to wait for."""
        host = self._hosts[host_id]
        host.busy = False
        self._schedule(host)

    def settle(self, visit: Visit, outcome: Outcome) -> None:
        """What became of a leased page; written at the next `write`."""
        self._outcomes.append((self._hosts[visit.host], outcome, visit.crawl))

    def give_up(self, host_id: int, reason: str) -> None:
        """Fail everything that waits for a host, at the next `write`; `gave_up` then tells how much it was."""
        host = self._hosts[host_id]
        host.given_up = reason
        host.ready.clear()

    def write(self, now_ms: int) -> None:
        """Put everything on disk. Called inside the engine's transaction."""
        self._write_outcomes()
        self._write_given_up()
        self._write_new(now_ms)
        self._write_hosts()
        self._load_hosts()

    # inside

    def _write_outcomes(self) -> None:
        settled, self._outcomes = self._outcomes, []
        store.settle([outcome for _, outcome, _ in settled])
        for host, outcome, crawl in settled:
            host.out -= 1
            self._leased.discard(outcome.page)
            if outcome.state != store.QUEUED and crawl in self.queued:
                self.queued[crawl] -= 1
            self._schedule(host)

    def _write_given_up(self) -> None:
        for host in [host for host in self._hosts.values() if host.given_up]:
            for crawl in host.crawls:
                count = store.give_up_host(crawl, host.id, host.given_up, self._leased)
                self.queued[crawl] -= count
                self.gave_up[crawl, host.given_up] += count
            host.given_up = ""
            self._touched.add(host)

    def _write_new(self, now_ms: int) -> None:
        found, self._new = self._new, []
        again, self._again = self._again, []
        if not found and not again:
            return
        self._learn_names({f.host for f in (*found, *again)})
        taken: list[Candidate] = list(again)
        grown: Counter[int] = Counter()
        for f in found:
            entry = self._names[f.host]
            if entry[1] >= self._host_page_cap:
                self.refused[f.crawl, "host-page-cap"] += 1
                continue
            entry[1] += 1
            grown[entry[0]] += 1
            taken.append(f)
        hosts = {name: entry[0] for name, entry in self._names.items()}
        for crawl in {f.crawl for f in taken}:
            count = store.add_pages([f for f in taken if f.crawl == crawl], hosts, now_ms)
            if crawl in self.queued:
                self.queued[crawl] += count
        with connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE host SET pages = pages + %s WHERE id = %s", [(n, host_id) for host_id, n in grown.items()]
            )
        for host_id, crawl in {(hosts[f.host], f.crawl) for f in taken}:
            if host_id in self._hosts or len(self._hosts) < MOST_HOSTS:
                self._wake(self._hosts.get(host_id) or self._load(host_id), crawl)
            else:
                self._passed_over.add(crawl)

    def _write_hosts(self) -> None:
        if not self._touched:
            return
        rows = [(int(h.delay * 1000), int(h.at * 1000), h.failures, h.note, h.id) for h in self._touched]
        for host in self._touched:
            self._schedule(host)  # one that is drained is forgotten when its turn comes
        self._touched.clear()
        with connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE host SET delay_ms = %s, next_ms = %s, failures = %s, note = %s WHERE id = %s", rows
            )

    def _learn_names(self, names: set[str]) -> None:
        if len(self._names) > MOST_NAMES:
            self._names.clear()
        unknown = names - self._names.keys()
        if not unknown:
            return
        ids = store.host_ids(unknown)
        pages = dict(Host.objects.filter(pk__in=list(ids.values())).values_list("pk", "pages")) if ids else {}
        for name, host_id in ids.items():
            self._names[name] = [host_id, pages[host_id]]

    def _load_hosts(self) -> None:
        """Bring hosts with queued pages into memory while there is room."""
        if len(self._hosts) < MOST_HOSTS:
            for crawl in self._passed_over:
                self._cursor[crawl] = 0
            self._passed_over.clear()
        for crawl, after in list(self._cursor.items()):
            while True:
                host_id = store.next_host(crawl, after)
                if host_id is None:
                    del self._cursor[crawl]
                    break
                if host_id not in self._hosts and len(self._hosts) >= MOST_HOSTS:
                    break
                after = self._cursor[crawl] = host_id
                self._wake(self._hosts.get(host_id) or self._load(host_id), crawl)

    def _load(self, host_id: int) -> HostQueue:
        host = self._hosts[host_id] = HostQueue(Host.objects.get(pk=host_id), self._clock())
        return host

    def _turn_back(self, now: float) -> None:
        """The clock was set back: nothing waits for a time that comes once more."""
        store.turn_back(int((self._now - now) * 1000), int(now * 1000))
        self._heap = []
        for host in self._hosts.values():
            host.at = min(host.at, now + host.delay)
            host.scheduled = False
            self._schedule(host)

    def _schedule(self, host: HostQueue, not_before: float = 0.0) -> None:
        if not host.scheduled and not host.busy:
            host.scheduled = True
            host.asleep = not_before > host.at
            self._pushes += 1
            heapq.heappush(self._heap, (max(host.at, not_before), self._pushes, host.id))

    def _wake(self, host: HostQueue, crawl: int) -> None:
        """A crawl has work for a host that may be asleep until a page of another time is due."""
        host.crawls.add(crawl)
        if host.asleep:
            host.scheduled = False  # a second entry in the heap does no harm: the later one finds the host as it is
        self._schedule(host)

    def _refill(self, host: HostQueue, now: float) -> bool:
        """Read the host's next pages; False when it has none now (it is then asleep, waiting or forgotten)."""
        now_ms = int(now * 1000)
        least, most = READ_AHEAD
        wanted = max(least, min(host.out, most))  # leased pages are read over: as many new ones make that cheap
        for crawl in sorted(host.crawls):
            for visit in store.queued(crawl, host.id, now_ms, wanted + host.out):
                if visit.page not in self._leased:
                    host.ready.append(visit)
        if host.ready:
            return True
        if host.out:
            return False  # `_write_outcomes` schedules it again
        due = {crawl: store.next_due(crawl, host.id) for crawl in host.crawls}
        host.crawls = {crawl for crawl, at in due.items() if at is not None}
        if host.crawls:
            self._schedule(host, min(at for at in due.values() if at is not None) / 1000)
        elif host not in self._touched:
            del self._hosts[host.id]
        return False

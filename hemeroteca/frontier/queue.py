"""The frontier: what is visited next, and by whom.

In memory: the hosts that have work (bounded), a few visits of each, and what is leased or not yet written. On disk:
everything else. `write` is called by the engine inside its transaction; nothing else here writes, unless the clock was
set back.
"""

import time
from collections import Counter, deque
from collections.abc import Callable

from django.db import connection

from hemeroteca.focus.definition import PageFocus
from hemeroteca.frontier import statements
from hemeroteca.frontier.focused_links import FocusedCrawl, open_focused
from hemeroteca.frontier.hosts import HostOrder, HostQueue
from hemeroteca.frontier.lease import Books, Lease
from hemeroteca.frontier.models import Host
from hemeroteca.frontier.prioritisers import BreadthFirst, Prioritiser
from hemeroteca.frontier.seen_urls import SeenSet
from hemeroteca.frontier.site_settings import SiteSettings
from hemeroteca.frontier.visit import Ending, State, Visit
from hemeroteca.urls.candidate import Candidate

READ_AHEAD = (16, 512)  # visits of a host read at once: few for a slow host, more for one that is visited fast
MAX_HOSTS = 20_000  # hosts with work kept in memory; the others wait on disk
MAX_NAMES = 100_000  # host names whose id is remembered
MAX_PASSED = 64  # hosts passed over for one lease, because their next visit is for another lessee
MAX_LOOKS = 8  # hosts read from disk for one lease, to find the one with the best visit
SET_BACK = 60.0  # s from which on a clock that goes back was set back
LEASE_SECONDS = 3600.0  # of a lease of the engine itself, whose fetcher and readers have limits of their own


class Frontier:
    """`max_tries`: of a page that does not answer."""

    def __init__(self, host_page_cap: int, max_tries: int = 3, clock: Callable[[], float] = time.time) -> None:
        self.refused: Counter[tuple[int, str]] = Counter()  # candidates not taken, by crawl and reason
        self.gave_up: Counter[tuple[int, str]] = Counter()  # visits failed with their host, by crawl and reason
        self.queued: dict[int, int] = {}  # visits still to make, by crawl
        self._host_page_cap = host_page_cap
        self._clock = clock
        self._now = 0.0  # of the last lease
        self._hosts: dict[int, HostQueue] = {}
        self._order = HostOrder()
        self._books = Books(max_tries, self._order, self._hosts.__getitem__, self.give_up)
        self._names: dict[str, list[int]] = {}  # name → [id, pages known]
        self._seen: dict[int, SeenSet] = {}
        self._prioritisers: dict[int, Prioritiser] = {}
        self._focused: dict[int, FocusedCrawl] = {}  # crawls with a focus
        self._new: list[Candidate] = []
        self._again: list[Candidate] = []  # pages known already, for another visit
        self._cursor: dict[int, int] = {}  # crawls with hosts left on disk → last host id looked at
        self._passed_over: set[int] = set()  # crawls that gained work on a host below their cursor
        self._expire_at = 0.0
        self._resting: dict[int, float] = {}  # hosts that another lessee held when we began → until when
        self._begun = self._least_delay = 0.0  # after a kill: every host rests from then on

    # crawls

    def open_crawl(self, crawl: int, prioritiser: Prioritiser | None = None, *, tell: bool = False) -> None:
        """Take up a crawl: what it has met and what it still has to visit. `tell`: `take_endings` tells of it."""
        self._prioritisers[crawl] = prioritiser or BreadthFirst()
        if (focused := open_focused(crawl, self._prioritisers[crawl])) is not None:
            self._focused[crawl] = focused
        self._seen[crawl] = SeenSet(statements.seen_keys(crawl))
        self.queued[crawl] = statements.count_queued(crawl)
        if tell:
            self._books.reported.add(crawl)
        self._cursor[crawl] = 0
        self._load_hosts()

    def hold_crawl(self, crawl: int) -> None:
        """Hand out no more visits of a crawl; those under way may end."""
        self._books.held.add(crawl)
        self._let_go(crawl)

    def close_crawl(self, crawl: int) -> None:
        """Let go of a crawl; its queue stays on disk."""
        for table in (self._seen, self._prioritisers, self._focused, self.queued, self._cursor):
            table.pop(crawl, None)
        self._let_go(crawl)
        self._books.close_crawl(crawl)

    def reload_crawl(self, crawl: int) -> None:
        """Its queue was changed on disk, by a person, or it goes on after `hold_crawl`. Right after `write`."""
        self._books.held.discard(crawl)
        self._let_go(crawl)
        self.queued[crawl] = statements.count_queued(crawl)
        self._cursor[crawl] = 0
        self._load_hosts()

    def under_way(self, crawl: int) -> int:
        """Visits of a crawl that are leased and have not ended."""
        return self._books.under_way[crawl]

    def taken(self, crawl: int) -> int:
        """Visits of a crawl made or under way since it was opened; not those that will be tried again."""
        return self._books.taken[crawl]

    # what comes in

    def add(self, candidates: list[Candidate]) -> int:
        """Queue what its crawl had not met; returns how many were new. They can be leased after `write`."""
        before = len(self._new)
        for crawl in {c.crawl for c in candidates}:
            seen = self._seen.get(crawl)
            if seen is None:
                continue
            mine = [c for c in candidates if c.crawl == crawl]
            fresh = seen.add_new([c.key for c in mine])
            self._new.extend(c for c, new in zip(mine, fresh, strict=True) if new)
            if crawl in self._focused:
                self._focused[crawl].meet_again([c for c, new in zip(mine, fresh, strict=True) if not new])
        return len(self._new) - before

    def judge(self, visit: Visit, found: PageFocus, digest: str, response_ms: int, status: int) -> None:
        """Tell the strategy of a crawl with a focus what a visited page was worth. Before `add` of its links."""
        if visit.crawl in self._focused:
            self._focused[visit.crawl].visited(visit, found, digest, response_ms, status)

    def unmet(self, candidates: list[Candidate]) -> list[Candidate]:
        """Those of one crawl's candidates that it has not met."""
        seen = self._seen.get(candidates[0].crawl) if candidates else None
        return (
            []
            if seen is None
            else [c for c, met in zip(candidates, seen.met([c.key for c in candidates]), strict=True) if not met]
        )

    def requeue(self, candidates: list[Candidate]) -> None:
        """Queue pages for another visit, whether or not their crawl has met them. They can be leased after `write`."""
        for c in candidates:
            if c.crawl in self._seen:
                self._seen[c.crawl].add_new([c.key])
                self._again.append(c)

    def meet(self, crawl: int, keys: list[int]) -> None:
        """These addresses were fetched by other means: the crawl need not visit them."""
        if crawl in self._seen:
            self._seen[crawl].add_new(keys)

    def send(self, host_name: str, errand: Visit) -> None:
        """Make an errand of the engine (robots.txt), which has no row, the next visit of a host."""
        (errand.host,) = statements.host_ids([host_name]).values()
        host = self._hosts.get(errand.host) or self._load(Host.objects.get(pk=errand.host))
        errand.score = float("inf")
        host.ready.appendleft(errand)
        self._order.wake(host, errand.score)

    # what goes out

    def lease(
        self,
        now: float,
        lessee: str = "engine",
        seconds: float = LEASE_SECONDS,
        *,
        max_visits: int = 1,
        per_host: Callable[[HostQueue], int] | int = 1,
        choose: Callable[[HostQueue, Visit], bool] | None = None,
    ) -> Lease | None:
        """The best visits that politeness allows now, their hosts held for the lessee; None when all must wait.

        A lease of several visits of a host hands its delay (`host(…).delay`) over to the lessee. `choose`: only these
        visits; hosts whose next one is not among them are passed over, up to `MAX_PASSED`.
        """
        if now < self._now - SET_BACK:
            self._turn_back(now)
        self._now = now
        if now >= self._expire_at:
            self.expire(now)
        passed: list[HostQueue] = []
        try:
            return self._lease(now, lessee, seconds, max_visits, per_host, choose, passed)
        finally:
            for host in passed:
                self._order.reopen(host)

    def _lease(
        self,
        now: float,
        lessee: str,
        seconds: float,
        max_visits: int,
        per_host: Callable[[HostQueue], int] | int,
        choose: Callable[[HostQueue, Visit], bool] | None,
        passed: list[HostQueue],
    ) -> Lease | None:
        lease: Lease | None = None
        taken = 0
        while taken < max_visits and len(passed) < MAX_PASSED and (host := self._next_host(now)) is not None:
            if choose is not None and not choose(host, host.ready[0]):
                passed.append(host)
                continue
            visit = host.ready[0]
            if visit.lease is not None:  # it asked for its host again: it comes alone
                if lease is not None:
                    self._order.add(host)
                    return lease
                return self._books.take(visit.lease, host, host.ready.popleft())
            most = min(per_host if isinstance(per_host, int) else per_host(host), max_visits - taken)
            lease = self._books.take(lease or Lease(self._books, lessee, now + seconds), host, host.ready.popleft())
            host.best = host.ready[0].score if host.ready else visit.score
            taken += 1 + self._take(lease, host, most - 1, now, choose)
        return lease

    def extend(
        self,
        lease: Lease,
        now: float,
        per_host: Callable[[HostQueue], int],
        choose: Callable[[HostQueue, Visit], bool] | None = None,
    ) -> None:
        """More visits of the hosts of a new lease, up to so many each: there were fewer hosts than it had room for."""
        for host_id, count in Counter(visit.host for visit in lease.visits).items():
            host = self._hosts[host_id]
            self._take(lease, host, per_host(host) - count, now, choose)

    def _take(
        self,
        lease: Lease,
        host: HostQueue,
        most: int,
        now: float,
        choose: Callable[[HostQueue, Visit], bool] | None,
    ) -> int:
        """Hand out the next visits of a host, not bounded by how many of them were in memory; gives how many."""
        taken = 0
        while taken < most and (self._has_visit(host) or self._refill(host, now)):
            visit = host.ready[0]
            if visit.lease is not None or (choose is not None and not choose(host, visit)):
                break
            self._books.take(lease, host, host.ready.popleft())
            taken += 1
            host.best = host.ready[0].score if host.ready else visit.score
        return taken

    def rest(self, host_name: str, until: float) -> None:
        """Leave a host alone until then, whatever the frontier knows of it: somebody else may be asking it."""
        for number in statements.host_ids([host_name]).values():
            self._resting[number] = max(until, self._resting.get(number, 0.0))
            if number in self._hosts:
                self._hosts[number].at = max(self._hosts[number].at, until)

    def rest_all(self, least_delay: float) -> None:
        """Leave every host alone for its delay, or for this one where nobody knows it: whoever asked before us was
        killed, and the last moment it asked each of them died with it. Before any crawl is opened."""
        self._begun, self._least_delay = self._clock(), least_delay

    def expire(self, now: float) -> int:
        """End the visits whose lease has passed its deadline; how many."""
        self._expire_at = now + 1.0
        return self._books.expire(now)

    def next_time(self) -> float | None:
        """When the next lease may be possible; None when nothing waits."""
        return self._order.next_time()

    def take_endings(self) -> list[Ending]:
        """What has ended since the last call, of crawls opened with `tell`."""
        return self._books.take_endings()

    def host(self, host_id: int) -> HostQueue:
        return self._hosts[host_id]

    def set_host(self, host_id: int, settings: SiteSettings) -> None:
        """A person changed the settings of a host; one that was paused may be asked again."""
        host = self._hosts.get(host_id)
        if host is not None:
            host.settings = settings
            self._order.add(host)

    def give_up(self, host_id: int, reason: str, origin: str = "") -> None:
        """Fail everything that waits for a host, or for an origin of it, at the next `write`; `gave_up` then tells how
        much it was. One port that does not answer says nothing about the others."""
        host = self._hosts[host_id]
        if host.given_up and not host.given_up_origin:
            return  # all of it already
        host.given_up, host.given_up_origin = reason, origin
        self._books.fail_waiting(host, reason, origin)

    # what is written

    @property
    def unwritten(self) -> int:
        """New visits that cannot be leased before the next `write`."""
        return len(self._new) + len(self._again)

    @property
    def pending(self) -> bool:
        """Whether `write` has something to write."""
        books = self._books
        focused = any(focused.pending for focused in self._focused.values())
        return bool(self._new or self._again or books.unwritten or books.touched or books.endings or focused)

    def write(self, now_ms: int) -> None:
        """Put everything on disk. Called inside the engine's transaction."""
        self._write_endings()
        self._write_given_up()
        self._write_new(now_ms)
        for crawl, focused in self._focused.items():
            self._write_focused(crawl, focused, now_ms)
        self._write_hosts()
        self._load_hosts()

    # inside

    def _write_endings(self) -> None:
        books = self._books
        ended, books.unwritten = books.unwritten, []
        statements.write_endings(ended)
        stale: dict[HostQueue, set[int]] = {}
        for one in ended:
            host, visit = one.host, one.visit
            host.out -= 1
            books.pages.discard(visit.page)
            if one.state is not State.QUEUED and visit.crawl in self.queued:
                self.queued[visit.crawl] -= 1
            if len(host.crawls) > 1:
                stale.setdefault(host, set()).add(visit.page)
            self._order.add(host)
        for host, pages in stale.items():  # another crawl may hold them with what they were before
            host.ready = deque(v for v in host.ready if v.page not in pages or v.lease is not None)

    def _write_given_up(self) -> None:
        books = self._books
        for host in [host for host in self._hosts.values() if host.given_up]:
            for crawl in host.crawls:
                count, told = statements.give_up_host(
                    crawl, host.id, host.given_up, books.pages, crawl in books.reported, host.given_up_origin
                )
                self.queued[crawl] -= count
                self.gave_up[crawl, host.given_up] += count
                books.tell_failed(crawl, told, host.given_up)
            host.given_up = host.given_up_origin = ""
            books.touched.add(host)

    def _write_new(self, now_ms: int) -> None:
        found, self._new = self._new, []
        again, self._again = self._again, []
        if not found and not again:
            return
        self._learn_names({c.host for c in (*found, *again)})
        wishes = [self._wish(c) for c in again if c.crawl in self._prioritisers]
        taken: Counter[int] = Counter()
        beyond: list[Candidate] = []
        for c in found:
            if c.crawl not in self._prioritisers:
                continue
            number, known = self._names[c.host]
            if known + taken[number] >= self._host_page_cap:
                beyond.append(c)
                continue
            taken[number] += 1
            wishes.append(self._wish(c))
        old = statements.known_keys([c.key for c in beyond])
        for c in beyond:
            if c.key in old:
                wishes.append(self._wish(c))
            else:
                self.refused[c.crawl, "host-page-cap"] += 1
        queued, new = statements.add(wishes, now_ms)
        for crawl, count in queued.items():
            if crawl in self.queued:
                self.queued[crawl] += count
        for name in {wish.candidate.host for wish in wishes}:
            entry = self._names[name]
            entry[1] += new[entry[0]]
        with connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE host SET pages = pages + %s WHERE id = %s", [(n, host) for host, n in new.items()]
            )
        best: dict[tuple[int, int], float] = {}
        for wish in wishes:
            if wish.candidate.held:
                continue
            whose = wish.host, wish.candidate.crawl
            best[whose] = max(wish.score, best.get(whose, wish.score))
        missing = [host_id for host_id in dict.fromkeys(host_id for host_id, _ in best) if host_id not in self._hosts]
        rows = Host.objects.in_bulk(missing[: max(0, MAX_HOSTS - len(self._hosts))])  # not one by one
        for (host_id, crawl), score in best.items():
            if host_id in self._hosts or len(self._hosts) < MAX_HOSTS:
                self._wake(self._hosts.get(host_id) or self._load(rows[host_id]), crawl, score)
            else:
                self._passed_over.add(crawl)

    def _write_focused(self, crawl: int, focused: FocusedCrawl, now_ms: int) -> None:
        """Links of a crawl with a focus, and the scores of visits that promise more, or other, than before."""
        for host_id, score in focused.write(now_ms).items():
            if host_id in self._hosts:
                self._wake(self._hosts[host_id], crawl, score)
        for host_id, score in focused.rescore().items():
            host = self._hosts.get(host_id)
            if host is not None and crawl in host.crawls:
                host.ready = deque(v for v in host.ready if v.lease is not None or not v.page)
                self._order.rerank(host, score if len(host.crawls) == 1 else float("inf"))

    def _wish(self, candidate: Candidate) -> statements.Wish:
        if (focused := self._focused.get(candidate.crawl)) is not None:
            score = focused.meet(candidate)
        else:
            score = self._prioritisers[candidate.crawl].score(candidate)
        return statements.Wish(candidate, self._names[candidate.host][0], score)

    def _write_hosts(self) -> None:
        touched = self._books.touched
        if not touched:
            return
        rows = [(int(h.delay * 1000), int(h.at * 1000), h.failures, h.note, h.id) for h in touched]
        for host in touched:
            self._order.add(host)  # one that is drained is forgotten when its turn comes
        touched.clear()
        with connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE host SET delay_ms = %s, next_ms = %s, failures = %s, note = %s WHERE id = %s", rows
            )

    def _learn_names(self, names: set[str]) -> None:
        if len(self._names) > MAX_NAMES:
            self._names.clear()
        unknown = names - self._names.keys()
        if not unknown:
            return
        ids = statements.host_ids(unknown)
        pages = dict(Host.objects.filter(pk__in=list(ids.values())).values_list("pk", "pages")) if ids else {}
        for name, host_id in ids.items():
            self._names[name] = [host_id, pages[host_id]]

    def _load_hosts(self) -> None:
        """Bring hosts with queued visits into memory while there is room."""
        if len(self._hosts) < MAX_HOSTS:
            for crawl in self._passed_over:
                self._cursor[crawl] = 0
            self._passed_over.clear()
        for crawl, after in list(self._cursor.items()):
            while True:
                row = statements.next_host(crawl, after)
                if row is None:
                    del self._cursor[crawl]
                    break
                host_id, score = row
                if host_id not in self._hosts and len(self._hosts) >= MAX_HOSTS:
                    break
                after = self._cursor[crawl] = host_id
                self._wake(self._hosts.get(host_id) or self._load(Host.objects.get(pk=host_id)), crawl, score)

    def _load(self, row: Host) -> HostQueue:
        host = self._hosts[row.pk] = HostQueue(row, self._clock())
        if self._begun:
            fixed = host.settings.delay if host.settings.delay is not None else self._least_delay
            host.at = max(host.at, self._begun + max(host.delay, fixed))
        if row.pk in self._resting:
            host.at = max(host.at, self._resting[row.pk])
        return host

    def _let_go(self, crawl: int) -> None:
        """Forget what a crawl has ready at its hosts; what is leased stays, and so do errands: leases wait for them."""
        for host in self._hosts.values():
            if crawl not in host.crawls:
                continue
            host.crawls.discard(crawl)
            if host.ready:
                host.ready = deque(v for v in host.ready if v.crawl != crawl or v.lease is not None or not v.page)
            self._order.add(host)  # it is forgotten, or it has work of another crawl

    def _turn_back(self, now: float) -> None:
        """The clock was set back: nothing waits for a time that comes once more."""
        lost = self._now - now
        statements.turn_back(int(lost * 1000), int(now * 1000))
        self._books.turn_back(lost)
        self._expire_at = now
        self._order.clear()
        for host in self._hosts.values():
            host.at = min(host.at, now + host.delay)
            host.ticket, host.asleep = 0, False
            self._order.add(host)

    def _wake(self, host: HostQueue, crawl: int, score: float) -> None:
        """A crawl has work for a host, the best of it with this score."""
        if crawl in self._books.held:
            return
        host.crawls.add(crawl)
        if host.ready and score > host.ready[-1].score:  # it belongs among those that were read before
            host.ready = deque(visit for visit in host.ready if visit.lease is not None or not visit.page)
        self._order.wake(host, score)

    def _next_host(self, now: float) -> HostQueue | None:
        """The host whose turn it is, with a visit ready."""
        looks = 0
        while (host := self._order.pop(now)) is not None:
            if self._hosts.get(host.id) is not host or host.holder is not None:
                continue
            if host.at > now:
                self._order.add(host)
                continue
            if host.settings.paused or host.given_up:
                continue
            if not self._has_visit(host):
                if not self._refill(host, now):
                    continue
                looks += 1
            host.best = host.ready[0].score
            if host.best < self._order.best and looks < MAX_LOOKS:
                self._order.reopen(host)
                continue
            return host
        return None

    def _has_visit(self, host: HostQueue) -> bool:
        """Whether a visit is ready; one whose page is under way for another crawl waits for that on disk."""
        ready, out = host.ready, self._books.pages
        while ready and ready[0].lease is None and ready[0].page in out:
            ready.popleft()
        return bool(ready)

    def _refill(self, host: HostQueue, now: float) -> bool:
        """Read the host's next visits; False when it has none now (it is then asleep, waiting or forgotten)."""
        now_ms = int(now * 1000)
        least, most = READ_AHEAD
        wanted = max(least, min(host.out, most))  # leased visits are read over: as many new ones make that cheap
        out = self._books.pages
        pages: set[int] = set()
        found: list[Visit] = []
        for crawl in sorted(host.crawls):
            for visit in statements.queued(crawl, host.id, now_ms, wanted + host.out):
                if visit.page not in out and visit.page not in pages:
                    pages.add(visit.page)
                    found.append(visit)
        if len(host.crawls) > 1:
            found.sort(key=_best_first)
        host.ready.extend(found)
        if host.ready:
            return True
        if host.out:
            return False  # `_write_endings` adds it to the order again
        due = {crawl: statements.next_due(crawl, host.id) for crawl in host.crawls}
        host.crawls = {crawl for crawl, at in due.items() if at is not None}
        if host.crawls:
            host.best = float("inf")  # until it is looked at again
            self._order.add(host, min(at for at in due.values() if at is not None) / 1000)
        elif host not in self._books.touched:
            del self._hosts[host.id]
        return False


def _best_first(visit: Visit) -> tuple[float, int]:
    return -visit.score, visit.id

"""Leases: visits handed to somebody until a deadline, and the books of what is under way.

A *lessee* (the engine, later another engine's fetcher or a volunteer's device) gets visits and the sole right to ask
their hosts. Each visit ends exactly once: `done`, `retry`, `fail`, `exclude`, `give_back`, or the deadline does it. All
counting happens here: what is under way, per host and per crawl, tries of a page, failures of a host.
Leases live in memory: on disk a visit stays queued until its ending is written, so a crash needs no repair.
"""

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from hemeroteca.frontier.hosts import HostOrder, HostQueue
from hemeroteca.frontier.politeness import UNREACHABLE_AFTER
from hemeroteca.frontier.visit import Ending, How, Outcome, State, Visit

MAX_REFUSALS = 6  # tries of a page whose host says it is busy


class Written(msgspec.Struct, gc=False):
    """An ending on its way to the disk."""

    host: HostQueue
    visit: Visit
    state: State
    due_ms: int = 0
    attempts: int = 0
    reason: str = ""
    outcome: Outcome | None = None


class Lease:
    """Visits of one lessee. Ending a visit that has ended, or whose deadline has passed, does nothing and gives False.
    The host of a visit is free again with its ending, or before, when `answered` tells that the request is over."""

    __slots__ = ("_books", "deadline", "lessee", "visit", "visits")

    def __init__(self, books: "Books", lessee: str, deadline: float) -> None:
        self._books = books
        self.lessee = lessee
        self.deadline = deadline
        self.visits: list[Visit] = []  # those that have not ended
        self.visit: Visit  # the one handed out last: that of a lease for one visit

    def answered(
        self, visit: Visit, at: float, delay: float = 0.0, *, refused: bool = False, failure: str = "", note: str = ""
    ) -> None:
        """The request has ended; its host may be asked again at `at`, after `delay`.

        `refused`: the host said it is busy. `failure`: it gave no answer, and why; after some of those in a row the
        host is given up.
        """
        if visit.lease is self:
            self._books.answered(visit, at, delay, refused, failure, note)

    def unasked(self, visit: Visit) -> None:
        """The visit goes on without a request: its host is free at once."""
        if visit.lease is self:
            self._books.free(visit)

    def done(self, visit: Visit, outcome: Outcome | None = None) -> bool:
        """It was answered, and what was brought is kept; an errand brings nothing."""
        state, reason = (outcome.state, outcome.reason) if outcome is not None else (State.DONE, "")
        return self._books.end(self, visit, How.DONE, state, reason, outcome=outcome)

    def retry(self, visit: Visit, at: float, reason: str, *, busy: bool = False) -> bool:
        """It is tried again at `at`; when it has had all its tries, it has failed. `busy`: its host asked for time."""
        if self.is_last_try(visit, busy=busy):
            return self.fail(visit, reason)
        tried = visit.attempts + 1
        return self._books.end(self, visit, How.RETRIED, State.QUEUED, reason, due=at, attempts=tried)

    def is_last_try(self, visit: Visit, *, busy: bool = False) -> bool:
        """Whether `retry` would fail it."""
        return visit.attempts + 1 >= (MAX_REFUSALS if busy else self._books.max_tries)

    def fail(self, visit: Visit, reason: str) -> bool:
        """No other try would help."""
        return self._books.end(self, visit, How.FAILED, State.FAILED, reason, attempts=visit.attempts + 1)

    def exclude(self, visit: Visit, reason: str) -> bool:
        """It must not, or need not, be made."""
        return self._books.end(self, visit, How.EXCLUDED, State.EXCLUDED, reason, attempts=visit.attempts)

    def hold(self, visit: Visit, reason: str) -> bool:
        """It looks like a trap: a person decides whether it is made."""
        return self._books.end(self, visit, How.EXCLUDED, State.HELD, reason, attempts=visit.attempts)

    def give_back(self, visit: Visit, *, due: float = 0.0, rest: float = 0.0, reason: str = "") -> bool:
        """It was not made; no try is counted. It is its host's next one again (which is left alone until `rest`), or,
        with `due`, waits on disk until then."""
        return self._books.give_back(self, visit, due, rest, reason)

    def again(self, visit: Visit, at: float = 0.0) -> None:
        """After `answered`: it needs its host once more (a browser must open the page), not before `at`. The visit goes
        on; `Frontier.lease` hands it out again when its host may be asked."""
        if visit.lease is self:
            self._books.again(visit, at)


class Books:
    """What is leased, and what has ended since the last write.

    `host`: a host by its number. `give_up`: fail all that waits for a host.
    """

    def __init__(
        self, max_tries: int, order: HostOrder, host: Callable[[int], HostQueue], give_up: Callable[[int, str], None]
    ) -> None:
        self.max_tries = max_tries
        self.pages: set[int] = set()  # leased, or ended and not on disk yet
        self.under_way: Counter[int] = Counter()  # visits that have not ended, by crawl
        self.taken: Counter[int] = Counter()  # visits made or under way in this run, by crawl: what a limit counts
        self.reported: set[int] = set()  # crawls whose endings are reported (`Books.endings`)
        self.held: set[int] = set()  # crawls whose visits are not handed out
        self.endings: list[Ending] = []
        self.unwritten: list[Written] = []
        self.touched: set[HostQueue] = set()  # whose row is to be written
        self._order = order
        self._host = host
        self._give_up = give_up
        self._leases: dict[Lease, None] = {}

    def take(self, lease: Lease, host: HostQueue, visit: Visit) -> Lease:
        """Hand out a visit; one that asked for its host again stays with the lease it has."""
        if visit.lease is not None:
            lease = visit.lease
        else:
            visit.lease = lease
            lease.visits.append(visit)
            self._leases[lease] = None
            if visit.page:
                host.out += 1
                self.pages.add(visit.page)
                self.under_way[visit.crawl] += 1
                self.taken[visit.crawl] += 1
        lease.visit = visit
        visit.holds_host = True
        host.holder = lease
        host.held += 1
        return lease

    def answered(self, visit: Visit, at: float, delay: float, refused: bool, failure: str, note: str) -> None:
        host = self._host(visit.host)
        visit.asked = True
        host.at = at
        host.delay = delay
        host.failures = host.failures + 1 if refused or failure else 0
        host.note = failure or note
        self.touched.add(host)
        self._free(visit, host)
        if failure and host.failures >= UNREACHABLE_AFTER:
            self._give_up(host.id, f"host-unreachable: {host.failures} failures in a row, last {failure}")

    def free(self, visit: Visit) -> None:
        self._free(visit, self._host(visit.host))

    def end(
        self,
        lease: Lease,
        visit: Visit,
        how: How,
        state: State,
        reason: str,
        *,
        due: float = 0.0,
        attempts: int = 0,
        outcome: Outcome | None = None,
    ) -> bool:
        if visit.lease is not lease:
            return False
        host = self._leave(lease, visit)
        if not visit.page:
            return True
        made = visit.asked or how is How.DONE  # done unasked: another crawl's capture serves
        if state is State.QUEUED or not made:
            self.taken[visit.crawl] -= 1
        self.unwritten.append(
            Written(
                host=host,
                visit=visit,
                state=state,
                due_ms=int(due * 1000),
                attempts=attempts,
                reason=reason,
                outcome=outcome,
            )
        )
        self._tell(visit, how, reason)
        return True

    def give_back(self, lease: Lease, visit: Visit, due: float, rest: float, reason: str) -> bool:
        if due and visit.page:
            return self.end(lease, visit, How.GIVEN_BACK, State.QUEUED, reason, due=due, attempts=visit.attempts)
        if visit.lease is not lease:
            return False
        host = self._leave(lease, visit)
        visit.asked = False
        host.at = max(host.at, rest)
        if visit.crawl not in self.held:
            host.ready.appendleft(visit)
            host.best = max(host.best, visit.score)
        if visit.page:
            host.out -= 1
            self.pages.discard(visit.page)
            self.taken[visit.crawl] -= 1
            self._tell(visit, How.GIVEN_BACK, reason)
        self._order.add(host)
        return True

    def again(self, visit: Visit, at: float) -> None:
        host = self._host(visit.host)
        host.at = max(host.at, at)
        host.ready.appendleft(visit)
        self._free(visit, host)
        self._order.wake(host, visit.score)

    def expire(self, now: float) -> int:
        """End what its lessee did not end in time; gives how many visits."""
        late = [lease for lease in self._leases if lease.deadline <= now]
        expired = 0
        for lease in late:
            for visit in list(lease.visits):
                expired += 1
                host = self._host(visit.host)
                if visit.holds_host:
                    host.at = max(host.at, now + host.delay)
                if visit in host.ready:
                    host.ready.remove(visit)  # it asked for its host again
                reason = f"lease-expired: {lease.lessee} did not answer in time"
                failed = lease.is_last_try(visit)
                self.end(
                    lease,
                    visit,
                    How.FAILED if failed else How.EXPIRED,
                    State.FAILED if failed else State.QUEUED,
                    reason,
                    attempts=visit.attempts + 1,
                )
        return expired

    def fail_waiting(self, host: HostQueue, reason: str, origin: str = "") -> None:
        """Fail the leased visits that wait for a host which is given up, or for an origin of it; errands stay."""
        waiting = [v for v in host.ready if v.page and v.url.startswith(f"{origin}/" if origin else "")]
        gone = {id(visit) for visit in waiting}
        host.ready = type(host.ready)(v for v in host.ready if id(v) not in gone)
        for visit in waiting:
            if visit.lease is not None:
                visit.lease.fail(visit, reason)

    def turn_back(self, lost: float) -> None:
        """The clock was set back by so many seconds."""
        for lease in self._leases:
            lease.deadline -= lost

    def take_endings(self) -> list[Ending]:
        endings, self.endings = self.endings, []
        return endings

    def tell_failed(self, crawl: int, pages: Iterable[tuple[int, str, int]], reason: str) -> None:
        """Visits that failed on disk, unasked: their host was given up."""
        self.endings.extend(
            Ending(crawl=crawl, key=key, url=url, role=role, how=How.FAILED, reason=reason, asked=False)
            for key, url, role in pages
        )

    def close_crawl(self, crawl: int) -> None:
        """What is still leased goes on without the crawl: its endings count no more."""
        for visit in [visit for lease in self._leases for visit in lease.visits if visit.crawl == crawl]:
            if visit.lease is not None:
                self.held.add(crawl)
                self.give_back(visit.lease, visit, 0.0, 0.0, "")
        self.held.discard(crawl)
        for counter in (self.under_way, self.taken):
            counter.pop(crawl, None)
        self.reported.discard(crawl)

    def _leave(self, lease: Lease, visit: Visit) -> HostQueue:
        """The visit is nobody's; its host is free unless it was before."""
        host = self._host(visit.host)
        lease.visits.remove(visit)
        if not lease.visits:
            self._leases.pop(lease, None)
        visit.lease = None
        if visit.page:
            self.under_way[visit.crawl] -= 1
        self._free(visit, host)
        return host

    def _free(self, visit: Visit, host: HostQueue) -> None:
        if visit.holds_host:
            visit.holds_host = False
            host.held -= 1
            if not host.held:
                host.holder = None
                self._order.add(host)

    def _tell(self, visit: Visit, how: How, reason: str) -> None:
        if visit.crawl in self.reported:
            self.endings.append(
                Ending(
                    crawl=visit.crawl,
                    key=visit.key,
                    url=visit.url,
                    role=visit.role,
                    how=how,
                    reason=reason,
                    asked=visit.asked,
                )
            )

"""Which visits go to devices: so many wait for each that it never waits for us, of several hosts, leased together."""

import random
from functools import partial
from typing import TYPE_CHECKING

from hemeroteca.fleet import dispatch
from hemeroteca.fleet.dispatch import Lender
from hemeroteca.frontier.hosts import HostQueue
from hemeroteca.frontier.lease import Lease
from hemeroteca.frontier.visit import Visit

if TYPE_CHECKING:
    from hemeroteca.engine.fleet_visits import FleetVisits
    from hemeroteca.engine.loop import Engine

AHEAD_SECONDS = 2.0  # of a device's work that waits for it: more would keep hosts from others
MAX_AHEAD_BLOCKS = 8  # … whatever speed it claims
FIRST_BLOCK = 16  # URLs, for a device nobody has measured
HOST_SECONDS = 10.0  # of one host's visits in a block: more would hold the host too long, fewer cost too much
USUAL_HOSTS = 8  # of a block, where so many have work
LEASE_SECONDS = 7200.0  # of the frontier's lease: the block's own deadline is far before


class BlockOffers:
    def __init__(self, engine: "Engine", fleet: "FleetVisits") -> None:
        self._engine = engine
        self._fleet = fleet

    def make(self, now: float) -> None:
        if self._engine.frontier.next_time() is None or not self._engine.runs:
            return
        waiting = dispatch.waiting()
        for one in self._fleet.lenders:
            one.waiting = waiting.get(one.id, 0)
        hungry = [one for one in self._fleet.lenders if not one.slowed or not one.pending]
        for lender in sorted(hungry, key=lambda one: one.waiting):
            size = self._block_size(lender)
            for _ in range(4):
                if lender.waiting >= min(max(size, lender.speed * AHEAD_SECONDS), MAX_AHEAD_BLOCKS * size):
                    break
                if not self._offer(lender, size, now):
                    break

    def _offer(self, lender: Lender, size: int, now: float) -> bool:
        frontier = self._engine.frontier
        for activity in ("clients", "crawls"):
            if activity not in lender.activities:
                continue
            choice = _Choice(self._engine, self._fleet, lender, activity)
            run = _run_length(size, random.random())  # noqa: S311 - hides nothing
            whole = size // run * run
            per_host = partial(self._per_host, run)
            lease = frontier.lease(now, "fleet", LEASE_SECONDS, max_visits=whole, per_host=per_host, choose=choice)
            if lease is None:
                continue
            if lease.lessee != "fleet" or lease.visit.asked:  # a visit that asked for its host again
                self._engine.visits.begin(lease.visit, now)
                return True
            hosts = len({visit.host for visit in lease.visits})
            if hosts < USUAL_HOSTS:  # each handing over costs a host a moment: the few there are get longer runs
                frontier.extend(lease, now, partial(self._per_host, size // hosts), choice)
            visits = self._admitted(lease, now)
            if visits:
                self._fleet.blocks.send(visits, activity, now)
                return True
        return False

    def _block_size(self, lender: Lender) -> int:
        """Visits for a device: by its speed, and so few that there is room for the errands of the block too."""
        most = max(1, min(self._fleet.lenders.settings.max_block, lender.room // 3))
        return min(most, max(4, int(lender.speed * AHEAD_SECONDS)) if lender.speed else FIRST_BLOCK)

    def _per_host(self, run: int, host: HostQueue) -> int:
        return max(1, min(run, int(HOST_SECONDS / max(host.delay, self._engine.config.delay, 0.1))))

    def _admitted(self, lease: Lease, now: float) -> list[Visit]:
        """The visits of a lease that may go to a device; the others are ended, served or given back."""
        admitted: list[Visit] = []
        waiting: set[int] = set()  # hosts whose robots.txt is on its way
        for visit in list(lease.visits):
            run = self._engine.runs.get(visit.crawl)
            if visit.host in waiting or run is None or run.stopping:
                lease.give_back(visit)
            elif run.is_at_limit(self._engine.frontier.taken(visit.crawl) - 1):
                self._engine.frontier.hold_crawl(visit.crawl)
                lease.give_back(visit)
            elif not self._engine.visits.admit(visit, run, now, fleet=True):
                if visit.lease is not None:  # the rules are being fetched in its stead
                    waiting.add(visit.host)
            elif served := self._engine.visits.served(visit, run, now):
                lease.unasked(visit)
                self._engine.intake.submit(visit, served, run)
            else:
                admitted.append(visit)
        for visit in [visit for visit in admitted if visit.host in waiting]:
            admitted.remove(visit)
            lease.give_back(visit)
        return admitted


class _Choice:
    """Which visits a block for one device takes: of one activity, and all of the category of the first."""

    def __init__(self, engine: "Engine", fleet: "FleetVisits", lender: Lender, activity: str) -> None:
        self._engine = engine
        self._fleet = fleet
        self._lender = lender
        self._activity = activity
        self._category: str | None = None

    def __call__(self, host: HostQueue, visit: Visit) -> bool:
        if visit.lease is not None or visit in self._fleet.confirmations:
            return True
        run = self._engine.runs.get(visit.crawl)
        if run is None or run.activity != self._activity or not self._fleet.may_make(host, visit, run):
            return False
        category = run.options.category
        if not self._lender.takes(self._activity, category) or self._category not in (None, category):
            return False
        self._category = category
        return True


def _run_length(size: int, draw: float) -> int:
    """Visits of each host in a block of so many: a small block has several hosts too, so that a device that has just
    come need not wait for the delay of a single one. Blocks differ, so that hosts of a device do not all end at once;
    within a block they do not, so that none waits for the others to be returned."""
    usual = size // USUAL_HOSTS
    return max(1, usual - usual // 4 + int(draw * (2 * (usual // 4) + 1)))

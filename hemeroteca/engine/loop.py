"""The engine: the one object that holds its parts, and the loop.

One thread: it leases visits, lets libcurl fetch them, hands captures to the ingest processes, and commits what they
return at least once a second. Crawls can be stopped at any moment; what is committed is never fetched again.
"""

import os
import selectors
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hemeroteca import usage
from hemeroteca.config import Config
from hemeroteca.engine import reason_codes
from hemeroteca.engine.browser_visits import BrowserVisits
from hemeroteca.engine.fleet_visits import FleetVisits
from hemeroteca.engine.intake import BATCH, Intake
from hemeroteca.engine.ledger import Ledger
from hemeroteca.engine.orders import Orders
from hemeroteca.engine.rebuild import Rereads
from hemeroteca.engine.rendering import Rendering
from hemeroteca.engine.robots_visits import RobotsFiles
from hemeroteca.engine.runs import Run
from hemeroteca.engine.search_upkeep import SearchUpkeep
from hemeroteca.engine.sinks import Arrival
from hemeroteca.engine.sinks.frontier_sink import FrontierSink
from hemeroteca.engine.sinks.watch_sink import WatchSink
from hemeroteca.engine.visits import Visits
from hemeroteca.fetch import Fetcher, FetchSettings
from hemeroteca.frontier import queries, services
from hemeroteca.frontier.models import Crawl
from hemeroteca.frontier.queue import Frontier
from hemeroteca.frontier.robots import RobotsCache
from hemeroteca.frontier.takedowns import Takedowns
from hemeroteca.frontier.traps import Traps
from hemeroteca.ingest.pool import ReaderProcess
from hemeroteca.instance import Instance
from hemeroteca.instance.status import EngineStatus, ended_badly, write_engine_status

if TYPE_CHECKING:
    from hemeroteca.watch.scheduler import SafeScheduler

MAX_PAUSE = 0.5  # s between looks at orders from outside
IDLE_PAUSE = 2.0  # the same while there is nothing to do; whoever orders something wakes us (`Instance.wake`)
FLEET_PAUSE = 0.05  # s between looks at what devices brought, and at what they could be given
SERVICES_SECONDS = 300.0  # between looks whether geographic services are due to be checked
DRAIN_SECONDS = 10.0  # for requests under way when the engine is asked to stop


class Engine:
    """`only`: run this crawl and return when it ends; None: take every running crawl until `stop`.

    `readers`: those that were begun before (`pool.fork_readers`). Each part gets the engine and takes what it needs.
    """

    def __init__(
        self,
        config: Config,
        instance: Instance,
        only: int | None = None,
        tick: Callable[["Engine"], None] | None = None,
        watch_clock: Callable[[], float] = time.time,
        readers: Sequence[ReaderProcess] = (),
    ) -> None:
        usage.return_memory(arenas=2)  # one for the threads of the search index
        self.config = config
        self.instance = instance
        self.runs: dict[int, Run] = {}
        self.ended: dict[int, Run] = {}
        self.jobs: set[int] = set()  # crawls that are jobs of the fleet's clients
        self.selector = selectors.DefaultSelector()
        self.frontier = Frontier(config.host_page_cap, config.retries + 1)
        if ended_badly(instance):
            self.frontier.rest_all(queries.longest_delay(config.delay))
        self.robots = RobotsCache()
        self.traps = Traps(config.same_text_cap)
        self.takedowns = Takedowns()
        self.ledger = Ledger(config, instance)
        self.scheduler = _scheduler(config, instance, watch_clock) if only is None else None
        fetch_settings = FetchSettings.from_config(config, instance.spool_dir)
        self.fetcher = Fetcher(fetch_settings, self.selector)
        self.rendering = Rendering(fetch_settings, self.selector)
        self.intake = Intake(self, readers)
        self.visits = Visits(self)
        self.fleet = FleetVisits(self)
        self.robots_files = RobotsFiles(self)
        self.browser_visits = BrowserVisits(self)
        self.ledger.add(FrontierSink(self), before=self.ledger.search)
        self._upkeep = SearchUpkeep(instance, self.ledger.search, soon=only is None)
        self._rereads = Rereads(instance, self.ledger, self.intake)
        self.ledger.add(self._rereads)
        self.ledger.add(self)
        if self.scheduler is not None:
            self.ledger.add(WatchSink(self.scheduler))
        self._orders = Orders(self, only)
        self._only = only
        self._tick = tick
        self._stop = ""
        self._commit_due = 0.0  # monotonic; 0: nothing waits
        self._look_due = 0.0
        self._services_due = 0.0
        self._ear = instance.ear("engine") if only is None else None
        if self._ear is not None:
            self.selector.register(self._ear, selectors.EVENT_READ, self._called)
        self._pace: list[tuple[float, int]] = []
        self._started = time.time()

    def stop(self, reason: str) -> None:
        """Ask the loop to end; safe in a signal handler."""
        self._stop = reason

    def run(self) -> None:
        usage.begin_work()
        try:
            self._look()
            while not self._finished():
                self._step()
            self._drain()
        except BaseException:
            self._close(self.ledger.abandon)  # as after a crash: the next start repairs
            raise
        self._close(self.ledger.close)
        write_engine_status(self.instance, None)

    def queued(self, crawl: int) -> int:
        return self.frontier.queued.get(crawl, 0)

    @property
    def active(self) -> int:
        """Requests under way."""
        return self.fetcher.active + self.rendering.active

    @property
    def at_work(self) -> bool:
        """Something is on its way: a request, a capture, a commit."""
        return bool(self.active or self.intake.under_way or self.ledger.pending)

    def measure(self, *runs: Run) -> None:
        """Bring the counts of runs up to date; the system is asked once for all of them."""
        if runs:
            cpu_seconds, peak_bytes = self.intake.cpu_seconds(), self.intake.peak_bytes()
        for run in runs:
            run.measure(cpu_seconds, peak_bytes, self.queued(run.id))

    # the loop

    def _step(self) -> None:
        now = time.time()
        self.fleet.look(time.monotonic(), now)
        self.visits.lease(now)
        waits = [max(0.0, self._look_due - time.monotonic())]
        if self.visits.has_room:
            if (host_at := self.frontier.next_time()) is not None:
                waits.append(max(host_at - now, FLEET_PAUSE if self.fleet.active else 0.0))
            if self.frontier.unwritten and not self.fetcher.active and not self.intake.under_way:
                waits.append(0.0)
        for wait in (self.fetcher.timeout(), self.rendering.timeout()):
            if wait is not None:
                waits.append(wait)
        if self._commit_due:
            waits.append(self._commit_due - time.monotonic())
        for key, mask in self.selector.select(max(0.0, min(waits))):
            key.data(key.fd, mask)
        self.fetcher.tick()
        self.rendering.tick()
        moment = time.monotonic()
        if not self._commit_due and (self.intake.answers or self.ledger.pending):
            self._commit_due = moment + self.config.commit_seconds
        due = bool(self._commit_due) and moment >= self._commit_due
        idle = self.intake.idle
        answers = self.intake.answers
        if answers >= BATCH or (answers and (idle or due)):
            self._take_answers()
        if due or (self.frontier.unwritten and not self.fetcher.active and idle):
            self.commit()
        if moment >= self._look_due:
            self._look()

    def _take_answers(self) -> None:
        """Everything ingest has answered so far goes to the sinks."""
        arrivals = []
        for arrival in self.intake.take():
            if arrival.done.needs_browser and arrival.trip is not None:
                visit = arrival.trip.visit
                if visit.lease is not None:
                    visit.lease.again(visit)
                arrival.trip.result.body.discard()
            else:
                arrivals.append(arrival)
        again = self.ledger.take(arrivals)
        if leads := [candidate for arrival in arrivals for candidate in arrival.leads]:
            self.frontier.add(leads)
        for arrival in again:
            self.intake.read(arrival)
        for arrival in arrivals:
            if arrival.trip is not None and arrival not in again:
                arrival.trip.result.body.discard()

    def commit(self) -> None:
        """Everything so far becomes durable, together."""
        self.measure(*self._counted())
        self.ledger.commit()
        self._count_reasons(self.frontier.gave_up, failed=True)
        self._count_reasons(self.frontier.refused, failed=False)
        self._commit_due = 0.0
        if self.scheduler is not None and not self.at_work:
            self._look_due = 0.0  # what was learned may make other pages due

    # as a sink: what else belongs to the transaction

    @property
    def pending(self) -> bool:
        return self.robots.pending or self.fleet.pending

    def take(self, arrival: Arrival) -> None:
        """Runs are counted by the others; clients of the fleet are told of theirs."""
        self.fleet.take(arrival)

    def write(self) -> None:
        """Robots files, the counts of runs, and what the scheduler is told of visits that ended."""
        self.robots.write()
        for run in self._counted():
            services.save_counts(run.id, run.counts)
            run.touched = False
        endings = self.frontier.take_endings()
        self.fleet.write(endings)
        if self.scheduler is not None:
            self.scheduler.ended([ending for ending in endings if ending.crawl not in self.jobs])

    def _count_reasons(self, tally: Counter[tuple[int, str]], failed: bool) -> None:
        """What the frontier decided by itself, added to the crawls' counts."""
        for (crawl, reason), count in tally.items():
            if crawl in self.runs and count:
                run = self.runs[crawl]
                run.counts.failed += count if failed else 0
                run.count_reason(reason_codes.code(reason), count)
        tally.clear()

    def _counted(self) -> list[Run]:
        """Runs whose counts are worth writing: there may be thousands of standing ones, asleep."""
        return [run for run in self.runs.values() if run.touched or not run.standing]

    def _finished(self) -> bool:
        if self._stop:
            return True
        return self._only is not None and not self.runs

    # orders from outside

    def _called(self, ear: int, mask: int) -> None:
        os.read(ear, 4096)
        self._look_due = 0.0

    def _is_idle(self) -> bool:
        return self._only is None and not self.at_work and all(run.standing for run in self.runs.values())

    def _look(self) -> None:
        """About twice a second (every other second when idle): orders from outside; tell the world."""
        moment = time.monotonic()
        self._look_due = moment + (IDLE_PAUSE if self._is_idle() else MAX_PAUSE)
        self._orders.look(moment)
        self.intake.check(moment)
        queued = any(count > 0 for count in self.frontier.queued.values())
        busy = self.fetcher.active or self.intake.under_way or queued
        self._upkeep.look(idle=not busy)
        self._rereads.look()
        if self._only is None and moment >= self._services_due:
            self._services_due = moment + SERVICES_SECONDS
            from hemeroteca.geo.health import order_checks  # only here: a crawl alone does not need it
            from hemeroteca.geo.visit_orders import order_harvests

            order_checks(self.config)
            order_harvests(self.config)
        self._tell()
        if self._tick:
            self._tick(self)

    def _tell(self) -> None:
        now = time.time()
        pages = sum(run.counts.pages for run in (*self.runs.values(), *self.ended.values()))
        self._pace = [*(entry for entry in self._pace if now - entry[0] <= 5.0), (now, pages)]
        span = now - self._pace[0][0]
        write_engine_status(
            self.instance,
            EngineStatus(
                pid=os.getpid(),
                started_ms=int(self._started * 1000),
                updated_ms=int(now * 1000),
                pages_per_second=round((pages - self._pace[0][1]) / span, 1) if span > 0.5 else 0.0,
                active=self.active,
                reading=self.intake.under_way,
                queued=sum(self.frontier.queued.values()),
                crawls=list(self.runs),
                rss_bytes=self.intake.peak_bytes(),
                cpu_seconds=round(self.intake.cpu_seconds(), 1),
                troubles=self.visits.troubles[-50:] + self._orders.troubles(),
            ),
        )

    # the end

    def _drain(self) -> None:
        """Stop leasing; give requests under way a few seconds; keep everything that came back."""
        until = time.monotonic() + DRAIN_SECONDS
        for run in self.runs.values():
            run.stopping = run.stopping or self._stop
        while (self.fetcher.active or self.intake.under_way) and time.monotonic() < until:
            for key, mask in self.selector.select(0.1):
                key.data(key.fd, mask)
            self.fetcher.tick()
            if self.intake.answers:
                self._take_answers()
        for run in list(self.runs.values()):
            if self._only is None:
                self.commit()  # stays running: the next engine goes on with it
            else:
                self._orders.end(run, Crawl.State.STOPPED, run.stopping)

    def _close(self, close_ledger: Callable[[], None]) -> None:
        self.fleet.close()
        self.rendering.close()
        self.fetcher.close()
        self.intake.close()
        self._upkeep.close()
        close_ledger()
        if self.scheduler is not None:
            self.scheduler.close()
        self.selector.close()
        if self._ear is not None:
            os.close(self._ear)


def _scheduler(config: Config, instance: Instance, clock: Callable[[], float]) -> "SafeScheduler":
    from hemeroteca.watch.scheduler import SafeScheduler  # only here: a crawl alone needs no planner

    return SafeScheduler(config, instance.data, clock)

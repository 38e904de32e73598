"""The engine: the one object that holds its parts, and the loop.

One thread: it leases visits, lets libcurl fetch them, hands captures to the ingest processes, and commits what they
return at least once a second. Crawls can be stopped at any moment; what is committed is never fetched again.
"""

import gc
import os
import selectors
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hemeroteca import usage
from hemeroteca.config import Config
from hemeroteca.engine import reasons
from hemeroteca.engine.browser_visits import BrowserVisits
from hemeroteca.engine.discovery import Discovery
from hemeroteca.engine.ledger import Ledger
from hemeroteca.engine.noise import Sites
from hemeroteca.engine.orders import Orders
from hemeroteca.engine.pool import Reader
from hemeroteca.engine.read_results import ReadResults
from hemeroteca.engine.reading import BATCH, Reading
from hemeroteca.engine.refresh import Refresher
from hemeroteca.engine.rendering import Rendering
from hemeroteca.engine.robots import RobotsFiles
from hemeroteca.engine.runs import Run
from hemeroteca.engine.visits import Visits
from hemeroteca.fetch import Fetcher, FetchSettings
from hemeroteca.frontier import services
from hemeroteca.frontier.models import Crawl
from hemeroteca.frontier.queue import Frontier
from hemeroteca.frontier.robots import RobotsCache
from hemeroteca.frontier.traps import SameText
from hemeroteca.instance import Instance
from hemeroteca.instance.status import EngineStatus, write_engine_status

if TYPE_CHECKING:
    from hemeroteca.watch.scheduler import SafeScheduler

MAX_PAUSE = 0.25  # s between looks at orders from outside
IDLE_PAUSE = 1.0  # the same while there is nothing to do; whoever orders something wakes us (`Instance.wake`)
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
        readers: Sequence[Reader] = (),
    ) -> None:
        usage.return_memory(arenas=2)  # one for the threads of the search index
        self.config = config
        self.instance = instance
        self.runs: dict[int, Run] = {}
        self.ended: dict[int, Run] = {}
        self.selector = selectors.DefaultSelector()
        self.frontier = Frontier(config.host_page_cap, config.retries + 1)
        self.robots = RobotsCache()
        self.traps = SameText(config.same_text_cap)
        self.ledger = Ledger(config, instance, self.frontier)
        self.sites = Sites()
        self.scheduler = _scheduler(config, instance, watch_clock) if only is None else None
        fetch_settings = FetchSettings.from_config(config, instance.spool_dir)
        self.fetcher = Fetcher(fetch_settings, self.selector)
        self.rendering = Rendering(fetch_settings, self.selector)
        self.reading = Reading(self, readers)
        self.visits = Visits(self)
        self.robots_files = RobotsFiles(self)
        self.browser_visits = BrowserVisits(self)
        self.discovery = Discovery(self)
        self._read_results = ReadResults(self)
        self._refresher = Refresher(instance, self.ledger, soon=only is None)
        self._orders = Orders(self, only)
        self._only = only
        self._tick = tick
        self._stop = ""
        self._commit_due = 0.0  # monotonic; 0: nothing waits
        self._refreshed = False  # documents wait for a commit
        self._look_due = 0.0
        self._ear = instance.ear("engine") if only is None else None
        if self._ear is not None:
            self.selector.register(self._ear, selectors.EVENT_READ, self._called)
        self._pace: list[tuple[float, int]] = []
        self._started = time.time()

    def stop(self, reason: str) -> None:
        """Ask the loop to end; safe in a signal handler."""
        self._stop = reason

    def run(self) -> None:
        gc.freeze()  # modules stay: collections need not look at them
        gc.set_threshold(20_000)
        try:
            self._look()
            while not self._finished():
                self._step()
            self._drain()
            self.sites.write(now=True)
        except BaseException:
            self._close(self.ledger.abandon)  # as after a crash: the next start repairs
            raise
        self._close(self.ledger.close)

    def queued(self, crawl: int) -> int:
        return self.frontier.queued.get(crawl, 0)

    @property
    def active(self) -> int:
        """Requests under way."""
        return self.fetcher.active + self.rendering.active

    @property
    def at_work(self) -> bool:
        """Something is on its way: a request, a capture, a commit."""
        return bool(self.active or self.reading.under_way or self.pending)

    @property
    def pending(self) -> bool:
        """Whether a part has something to write."""
        return bool(
            self.frontier.pending
            or self.reading.answers
            or self.ledger.pending
            or self.robots.pending
            or self._refreshed
            or (self.scheduler is not None and self.scheduler.unwritten)
        )

    def measure(self, run: Run) -> None:
        """Bring the counts of a run up to date."""
        run.measure(self.reading.cpu_seconds(), self.reading.peak_bytes(), self.queued(run.id))

    # the loop

    def _step(self) -> None:
        now = time.time()
        self.visits.lease(now)
        waits = [max(0.0, self._look_due - time.monotonic())]
        if self.visits.has_room:
            if (host_at := self.frontier.next_time()) is not None:
                waits.append(host_at - now)
            if self.frontier.unwritten and not self.fetcher.active and not self.reading.under_way:
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
        if not self._commit_due and self.pending:
            self._commit_due = moment + self.config.commit_seconds
        due = bool(self._commit_due) and moment >= self._commit_due
        idle = self.reading.idle
        answers = self.reading.answers
        if answers >= BATCH or (answers and (idle or due)):
            self._read_results.take_answers()
        if due or (self.frontier.unwritten and not self.fetcher.active and idle):
            self.commit()
        if moment >= self._look_due:
            self._look()

    def commit(self) -> None:
        """Everything so far becomes durable, together."""
        for run in self._counted():
            self.measure(run)
        self.ledger.commit(self._write_rest)
        self._count_reasons(self.frontier.gave_up, failed=True)
        self._count_reasons(self.frontier.refused, failed=False)
        self._commit_due, self._refreshed = 0.0, False
        self.ledger.commit_index()

    def _write_rest(self) -> None:
        """What belongs to the same transaction as captures and visits."""
        self.robots.write()
        self.sites.write()
        for run in self._counted():
            services.save_counts(run.id, run.counts)
            run.touched = False
        endings = self.frontier.take_endings()
        if self.scheduler is not None:
            self.scheduler.ended(endings)
            self.scheduler.write()

    def _count_reasons(self, tally: Counter[tuple[int, str]], failed: bool) -> None:
        """What the frontier decided by itself, added to the crawls' counts."""
        for (crawl, reason), count in tally.items():
            if crawl in self.runs and count:
                run = self.runs[crawl]
                run.counts.failed += count if failed else 0
                run.count_reason(reasons.code(reason), count)
        tally.clear()

    def _counted(self) -> list[Run]:
        """Runs whose counts are worth writing: there may be thousands of standing ones, asleep."""
        return [run for run in self.runs.values() if run.touched or not run.standing]

    def _finished(self) -> bool:
        if self._stop:
            return True
        return self._only is not None and not self.runs

    # orders from outside

    def _is_idle(self) -> bool:
        return self._only is None and not self.at_work and all(run.standing for run in self.runs.values())

    def _called(self, ear: int, mask: int) -> None:
        os.read(ear, 4096)
        self._look_due = 0.0

    def _look(self) -> None:
        """About four times a second: orders from outside; tell the world."""
        moment = time.monotonic()
        self._look_due = moment + (IDLE_PAUSE if self._is_idle() else MAX_PAUSE)
        self._orders.look(moment)
        self.reading.check(moment)
        queued = any(count > 0 for count in self.frontier.queued.values())
        busy = self.fetcher.active or self.reading.under_way or queued
        if self._refresher.look(idle=not busy):
            self._refreshed = True
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
                reading=self.reading.under_way,
                queued=sum(self.frontier.queued.values()),
                crawls=list(self.runs),
                rss_bytes=self.reading.peak_bytes(),
                cpu_seconds=round(self.reading.cpu_seconds(), 1),
                troubles=self.visits.troubles[-50:] + self._orders.troubles(),
            ),
        )

    # the end

    def _drain(self) -> None:
        """Stop leasing; give requests under way a few seconds; keep everything that came back."""
        until = time.monotonic() + DRAIN_SECONDS
        for run in self.runs.values():
            run.stopping = run.stopping or self._stop
        while (self.fetcher.active or self.reading.under_way) and time.monotonic() < until:
            for key, mask in self.selector.select(0.1):
                key.data(key.fd, mask)
            self.fetcher.tick()
            if self.reading.answers:
                self._read_results.take_answers()
        for run in list(self.runs.values()):
            if self._only is None:
                self.commit()  # stays running: the next engine goes on with it
            else:
                self._orders.end(run, Crawl.State.STOPPED, run.stopping)

    def _close(self, close_ledger: Callable[[], None]) -> None:
        self.rendering.close()
        self.fetcher.close()
        self.reading.close()
        self._refresher.close()
        close_ledger()
        if self.scheduler is not None:
            self.scheduler.close()
        self.selector.close()
        if self._ear is not None:
            os.close(self._ear)
        write_engine_status(self.instance, None)


def _scheduler(config: Config, instance: Instance, clock: Callable[[], float]) -> "SafeScheduler":
    from hemeroteca.watch.scheduler import SafeScheduler  # only here: a crawl alone needs no planner

    return SafeScheduler(config, instance.data, clock)

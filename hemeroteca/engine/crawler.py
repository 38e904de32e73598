"""The engine: its loop, and the orders it follows.

One thread: it leases visits, lets libcurl fetch them, hands captures to the ingest processes, and commits what they
return at least once a second. Crawls can be stopped at any moment; what is committed is never fetched again.
"""

import gc
import os
import selectors
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hemeroteca import urls, usage
from hemeroteca.config import Config
from hemeroteca.engine.commits import Commits
from hemeroteca.engine.following import Following
from hemeroteca.engine.ledger import Ledger
from hemeroteca.engine.noise import Sites
from hemeroteca.engine.page_outcomes import PageOutcomes
from hemeroteca.engine.pool import Reader
from hemeroteca.engine.read_results import ReadResults
from hemeroteca.engine.reading import BATCH, Reading
from hemeroteca.engine.refresh import Refresher
from hemeroteca.engine.rendering import Rendering
from hemeroteca.engine.robots_rules import RobotsRules
from hemeroteca.engine.runs import Run
from hemeroteca.engine.subscriptions import Subscriptions
from hemeroteca.engine.visits import Visits
from hemeroteca.fetch import Fetcher, FetchSettings
from hemeroteca.frontier import services
from hemeroteca.frontier.models import Crawl
from hemeroteca.frontier.queue import Frontier
from hemeroteca.frontier.traps import SameText
from hemeroteca.frontier.values import Counts
from hemeroteca.instance import Instance
from hemeroteca.instance.status import EngineStatus, write_engine_status
from hemeroteca.urls.candidate import Candidate

if TYPE_CHECKING:
    from hemeroteca.watch.scheduler import SafeScheduler

LONGEST_PAUSE = 0.25  # s between looks at orders from outside
IDLE_PAUSE = 1.0  # the same while there is nothing to do; whoever orders something wakes us (`Instance.wake`)
SITES_SECONDS = 1.0  # s until what a person set for a site counts
DRAIN_SECONDS = 10.0  # for requests under way when the engine is asked to stop


class Engine:
    """`only`: run this crawl and return when it ends; None: take every running crawl until `stop`.

    `readers`: those that were begun before (`pool.fork_readers`).
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
        self.runs: dict[int, Run] = {}
        self.ended: dict[int, Run] = {}
        self._instance = instance
        self._only = only
        self._tick = tick
        self._stop = ""
        self._selector = selectors.DefaultSelector()
        self._frontier = Frontier(config.host_page_cap)
        self._ledger = Ledger(config, instance, self._frontier)
        self._refresher = Refresher(instance, self._ledger, soon=only is None)
        scheduler = _scheduler(config, instance, watch_clock) if only is None else None
        robots_rules = RobotsRules()
        self._sites = Sites()
        self._sites_revision = services.settings_revision()
        self._sites_due = 0.0
        self._commits = Commits(
            config.commit_seconds,
            self.runs,
            self._frontier,
            self._ledger,
            robots_rules,
            self._sites,
            scheduler,
            self._measure,
        )
        changed = self._commits.mark
        fetch_settings = FetchSettings.from_config(config, instance.spool_dir)
        self._rendering = Rendering(fetch_settings, self._selector)
        self._reading = Reading(
            config, instance, self._selector, readers, self._frontier, self._sites, self._rendering, changed
        )
        self._fetcher = Fetcher(fetch_settings, self._selector)
        self._page_outcomes = PageOutcomes(self.runs, self._frontier, scheduler, changed)
        same_text = SameText(config.same_text_cap)
        self._visits = Visits(
            config,
            self.runs,
            self._frontier,
            self._fetcher,
            self._rendering,
            self._reading,
            self._page_outcomes,
            robots_rules,
            same_text,
            changed,
        )
        self._read_results = ReadResults(
            self.runs,
            self._frontier,
            self._ledger,
            self._reading,
            self._rendering,
            Following(config, self._frontier, same_text, scheduler, self._reading.teach, changed),
            self._page_outcomes,
            self._sites,
            scheduler,
            changed,
        )
        self._subscriptions = None
        if scheduler is not None:
            self._subscriptions = Subscriptions(scheduler, self.runs, self._frontier, self._reading.teach, changed)
        self._look_due = 0.0
        self._ear = instance.ear("engine") if only is None else None
        if self._ear is not None:
            self._selector.register(self._ear, selectors.EVENT_READ, self._called)
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
            self._sites.write(now=True)
        except BaseException:
            self._close(self._ledger.abandon)  # as after a crash: the next start repairs
            raise
        self._close(self._ledger.close)

    def queued(self, crawl: int) -> int:
        return self._frontier.queued.get(crawl, 0)

    @property
    def active(self) -> int:
        """Requests under way."""
        return self._fetcher.active + self._rendering.active

    @property
    def at_work(self) -> bool:
        """Something is on its way: a request, a capture, a commit."""
        return bool(self.active or self._reading.under_way or self._commits.dirty)

    # the loop

    def _step(self) -> None:
        now = time.time()
        self._visits.lease(now)
        waits = [max(0.0, self._look_due - time.monotonic())]
        if self._visits.has_room:
            if (host_at := self._frontier.next_time()) is not None:
                waits.append(host_at - now)
            if self._frontier.unwritten and not self._fetcher.active and not self._reading.under_way:
                waits.append(0.0)
        for wait in (self._fetcher.timeout(), self._rendering.timeout()):
            if wait is not None:
                waits.append(wait)
        if self._commits.dirty:
            waits.append(self._commits.due - time.monotonic())
        for key, mask in self._selector.select(max(0.0, min(waits))):
            key.data(key.fd, mask)
        self._fetcher.tick()
        self._rendering.tick()
        moment = time.monotonic()
        idle = self._reading.idle
        answers = self._reading.answers
        if answers >= BATCH or (answers and (idle or moment >= self._commits.due)):
            self._read_results.take_answers()
        starving = self._frontier.unwritten and not self._fetcher.active and idle
        if self._commits.dirty and (moment >= self._commits.due or starving):
            self._commits.commit()
        if moment >= self._look_due:
            self._look()

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
        """About four times a second: new crawls, crawls to stop, crawls that are done; tell the world."""
        moment = time.monotonic()
        self._look_due = moment + (IDLE_PAUSE if self._is_idle() else LONGEST_PAUSE)
        if self._only is None or not (self.runs or self.ended):
            for crawl in services.running_crawls(self._only, self.runs):
                if crawl.pk not in self.runs:
                    self._open(crawl)
        asked_to_stop = services.crawls_to_stop(self.runs)
        for run in list(self.runs.values()):
            limit = run.options.max_seconds
            if run.id in asked_to_stop:
                run.stopping = run.stopping or "stopped by a person"
            elif limit is not None and moment - run.since >= limit:
                run.stopping = run.stopping or f"limit of {limit:g} seconds reached"
            if not run.outstanding and not self._frontier.unwritten:
                if run.stopping:
                    self._end(run, Crawl.State.STOPPED, run.stopping)
                elif self._is_complete(run):
                    self._end(run, Crawl.State.FINISHED, "")
        if moment >= self._sites_due:
            self._sites_due = moment + SITES_SECONDS
            self._follow_sites()
        if self._subscriptions is not None:
            self._subscriptions.look()
        self._reading.check(moment)
        queued = any(count > 0 for count in self._frontier.queued.values())
        busy = self._fetcher.active or self._reading.under_way or queued
        if self._refresher.look(idle=not busy):
            self._commits.mark()
        self._tell()
        if self._tick:
            self._tick(self)

    def _follow_sites(self) -> None:
        """What people set for a site counts from now on."""
        changed = services.sites_set_since(self._sites_revision)
        for number, name, settings, revision in changed:
            self._frontier.set_host(number, settings)
            self._sites.set_host(name, settings)
            self._sites_revision = revision
        if changed and self._subscriptions is not None:
            self._subscriptions.refresh_sites()

    def _is_complete(self, run: Run) -> bool:
        return not run.standing and self._frontier.queued.get(run.id, 0) <= 0

    def _open(self, crawl: Crawl) -> None:
        options = services.options_of(crawl)
        run = Run(crawl.pk, options, Counts(), cpu_before=self._reading.cpu_seconds())
        if not self.runs and not self.ended and self._only is not None:
            run.cpu_before = 0.0  # the process exists for this crawl: its start-up counts
        self.runs[run.id] = run
        if run.options.concurrency:
            self._visits.share()
        services.mark_started(crawl.pk)
        self._reading.teach(run)
        self._frontier.open_crawl(run.id)
        seeds = [Candidate(urls.key(seed), seed, urls.host(seed), run.id) for seed in crawl.seeds]
        self._frontier.add(seeds)
        self._commits.mark()
        self._commits.commit()

    def _end(self, run: Run, state: Crawl.State, reason: str) -> None:
        self._commits.commit()
        self._ledger.commit_index(now=True)
        self._measure(run)
        services.mark_ended(run.id, state, reason, run.counts)
        self._frontier.close_crawl(run.id)
        self._reading.forget(run.id)
        self._rendering.forget(run.id)
        self._fetcher.forget_cookies(f"crawl-{run.id}")
        del self.runs[run.id]
        if run.options.concurrency:
            self._visits.share()
        self.ended[run.id] = run
        if len(self.ended) > 100:
            self.ended.pop(next(iter(self.ended)))

    def _measure(self, run: Run) -> None:
        run.measure(self._reading.cpu_seconds(), self._reading.peak_bytes(), self.queued(run.id))

    def _tell(self) -> None:
        now = time.time()
        pages = sum(run.counts.pages for run in (*self.runs.values(), *self.ended.values()))
        self._pace = [*(entry for entry in self._pace if now - entry[0] <= 5.0), (now, pages)]
        span = now - self._pace[0][0]
        troubles = self._page_outcomes.troubles[-50:]
        if self._subscriptions is not None:
            troubles += self._subscriptions.troubles()
        write_engine_status(
            self._instance,
            EngineStatus(
                pid=os.getpid(),
                started_ms=int(self._started * 1000),
                updated_ms=int(now * 1000),
                pages_per_second=round((pages - self._pace[0][1]) / span, 1) if span > 0.5 else 0.0,
                active=self.active,
                reading=self._reading.under_way,
                queued=sum(self._frontier.queued.values()),
                crawls=list(self.runs),
                rss_bytes=self._reading.peak_bytes(),
                cpu_seconds=round(self._reading.cpu_seconds(), 1),
                troubles=troubles,
            ),
        )

    # the end

    def _drain(self) -> None:
        """Stop leasing; give requests under way a few seconds; keep everything that came back."""
        until = time.monotonic() + DRAIN_SECONDS
        for run in self.runs.values():
            run.stopping = run.stopping or self._stop
        while (self._fetcher.active or self._reading.under_way) and time.monotonic() < until:
            for key, mask in self._selector.select(0.1):
                key.data(key.fd, mask)
            self._fetcher.tick()
            if self._reading.answers:
                self._read_results.take_answers()
        for run in list(self.runs.values()):
            if self._only is None:
                self._commits.commit()  # stays running: the next engine goes on with it
            else:
                self._end(run, Crawl.State.STOPPED, run.stopping)

    def _close(self, close_ledger: Callable[[], None]) -> None:
        self._rendering.close()
        self._fetcher.close()
        self._reading.close()
        self._refresher.close()
        close_ledger()
        if self._subscriptions is not None:
            self._subscriptions.close()
        self._selector.close()
        if self._ear is not None:
            os.close(self._ear)
        write_engine_status(self._instance, None)


def _scheduler(config: Config, instance: Instance, clock: Callable[[], float]) -> "SafeScheduler":
    from hemeroteca.watch.scheduler import SafeScheduler  # only here: a crawl alone needs no planner

    return SafeScheduler(config, instance.data, clock)

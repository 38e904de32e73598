"""What people and subscriptions ask of the engine: crawls to begin, stop and end, settings of sites, pages due."""

import time
from typing import TYPE_CHECKING

import msgspec

from hemeroteca import urls
from hemeroteca.engine.runs import Run
from hemeroteca.errors import Refused
from hemeroteca.fleet import fetches
from hemeroteca.frontier import crawl_orders, prioritisers, queries, services, thesauri
from hemeroteca.frontier.crawl_counts import Counts
from hemeroteca.frontier.models import Crawl
from hemeroteca.instance.status import Trouble, set_aside
from hemeroteca.urls.candidate import Candidate
from hemeroteca.warc.timestamps import iso

if TYPE_CHECKING:
    from hemeroteca.engine.loop import Engine

MAX_WAIT = 3600.0  # s a crawl that runs alone waits for its hosts; it can be taken up later
SITES_SECONDS = 1.0  # s until what a person set for a site counts
MAX_FAULTS = 10  # told of at once


class Orders:
    """`only`: the one crawl the engine runs; None: every running crawl, and the subscriptions."""

    def __init__(self, engine: "Engine", only: int | None) -> None:
        self._engine = engine
        self._only = only
        self._sites_revision = services.settings_revision()
        self._sites_due = 0.0

    def look(self, moment: float) -> None:
        """About twice a second; `moment` is monotonic."""
        engine = self._engine
        if self._only is None or not (engine.runs or engine.ended):
            for crawl in services.running_crawls(self._only, engine.runs):
                if crawl.pk not in engine.runs:
                    try:
                        self._open(crawl)
                    except (ValueError, TypeError, AttributeError, msgspec.MsgspecError) as error:
                        set_aside(engine.instance, f"crawl {crawl.pk}", error)
                        why = f"its order cannot be read ({error}); give it anew"
                        services.mark_ended(crawl.pk, Crawl.State.STOPPED, why, Counts())
        self._stop_and_end(moment)
        if moment >= self._sites_due:
            self._sites_due = moment + SITES_SECONDS
            self._follow_sites()
            engine.takedowns.refresh()
            if self._only is None:
                crawl_orders.give_due(time.time_ns() // 1_000_000)
        if engine.scheduler is not None:
            self._ask_scheduler()

    def end(self, run: Run, state: Crawl.State, reason: str) -> None:
        """Let go of a crawl."""
        engine = self._engine
        engine.commit()
        if not run.options.for_fleet:
            engine.ledger.commit_index(now=True)
        engine.measure(run)
        run.counts.held = queries.held_count(run.id)
        if run.counts.held and state == Crawl.State.FINISHED:
            reason = f"{run.counts.held} addresses are held back as a possible trap"
        services.mark_ended(run.id, state, reason, run.counts)
        engine.frontier.close_crawl(run.id)
        engine.intake.forget(run.id)
        engine.fetcher.forget_cookies(f"crawl-{run.id}")
        del engine.runs[run.id]
        if run.options.for_fleet:
            engine.jobs.discard(run.id)
            fetches.ended(run.id)
        if run.options.concurrency:
            engine.visits.share()
        engine.ended[run.id] = run
        if len(engine.ended) > 100:
            engine.ended.pop(next(iter(engine.ended)))

    def troubles(self) -> list[Trouble]:
        """Of subscriptions, for people."""
        scheduler = self._engine.scheduler
        if scheduler is None:
            return []
        found = [
            Trouble(
                scheduler.now_ms,
                "",
                f"subscription {number} is not watched ({reason}); `hemeroteca watch show {number}`",
            )
            for number, reason in list(scheduler.faults.items())[:MAX_FAULTS]
        ]
        if scheduler.trouble:
            found.append(Trouble(scheduler.trouble_ms, "", scheduler.trouble))
        return found

    def _open(self, crawl: Crawl) -> None:
        engine = self._engine
        options = services.options_of(crawl)
        seeds = [Candidate(urls.key(seed), seed, urls.host(seed), crawl.pk) for seed in crawl.seeds]
        run = Run(crawl.pk, options, Counts(), crawl.created_ms, cpu_before=engine.intake.cpu_seconds())
        if not engine.runs and not engine.ended and self._only is not None:
            run.cpu_before = 0.0  # the process exists for this crawl: its start-up counts
        if crawl.started_ms and not crawl.ended_ms:
            run.go_on(services.counts_of(crawl))  # it was killed
        if options.focus is not None:
            try:
                run.focus = thesauri.compiled(options.focus)
            except Refused as error:  # a thesaurus that was there when it was ordered
                services.mark_ended(crawl.pk, Crawl.State.STOPPED, str(error), run.counts)
                return
        engine.runs[run.id] = run
        engine.fleet.look_soon()
        if options.concurrency:
            engine.visits.share()
        services.mark_started(crawl.pk)
        engine.intake.teach(run)
        if options.for_fleet:
            engine.jobs.add(run.id)
        tell = run.standing or options.for_fleet
        engine.frontier.open_crawl(run.id, prioritisers.prioritiser(options.order, options.focus), tell=tell)
        engine.frontier.add(seeds)
        engine.commit()

    def _stop_and_end(self, moment: float) -> None:
        engine = self._engine
        asked = services.asked_of_crawls(engine.runs)
        for number in asked.revised:
            engine.runs[number].options = services.current_options(number)
            engine.intake.teach(engine.runs[number])
            engine.commit()
            engine.frontier.reload_crawl(number)
        wait_until = self._all_wait_until()
        for run in list(engine.runs.values()):
            limit = run.options.max_seconds
            if run.id in asked.stop:
                if not run.stopping:
                    engine.fleet.stop(run.id)
                run.stop("stopped by a person", moment)
            elif limit is not None and moment - run.since >= limit:
                run.stop(f"limit of {limit:g} seconds reached", moment)
            elif wait_until is not None:
                until = iso(int(wait_until * 1000))[:16].replace("T", " ")
                run.stopping = run.stopping or f"all hosts left ask to be left alone until {until} UTC"
            if not run.stopping and (run.standing or engine.queued(run.id) > 0):
                continue  # as nearly always, of thousands of subscriptions
            if run.stopping:
                engine.robots_files.let_go(run.id)
            if run.cut_at and moment >= run.cut_at:
                engine.visits.cut(run)
            if engine.frontier.under_way(run.id) or engine.intake.reads(run.id) or engine.frontier.unwritten:
                continue
            if run.has_room_again(engine.frontier.taken(run.id)) and run.id not in asked.stop:
                run.stopping = ""
                engine.commit()
                engine.frontier.reload_crawl(run.id)
            elif run.stopping:
                self.end(run, Crawl.State.STOPPED, run.stopping)
            else:
                self.end(run, Crawl.State.FINISHED, "")

    def _all_wait_until(self) -> float | None:
        """Of a crawl that runs alone: when the first host may be asked, if that is too long to wait."""
        at = self._engine.frontier.next_time() if self._only is not None and not self._engine.at_work else None
        return at if at is not None and at > time.time() + MAX_WAIT else None

    def _follow_sites(self) -> None:
        """What people set for a site counts from now on."""
        engine = self._engine
        changed = services.sites_set_since(self._sites_revision)
        for number, name, settings, revision in changed:
            engine.frontier.set_host(number, settings)
            engine.ledger.noise.set_host(name, settings)
            self._sites_revision = revision
        if changed and engine.scheduler is not None:
            engine.scheduler.refresh_sites()

    def _ask_scheduler(self) -> None:
        """Queue the pages of subscriptions that are due."""
        engine, scheduler = self._engine, self._engine.scheduler
        assert scheduler is not None
        if scheduler.changed():
            scheduler.refresh()
            for run in [run for run in engine.runs.values() if run.standing]:
                options = services.current_options(run.id)
                if options != run.options:
                    run.options = options
                    engine.intake.teach(run)
        new, again = scheduler.due(scheduler.now_ms / 1000, engine.runs.keys())
        for run in engine.runs.values():
            run.closed_until = scheduler.closed.get(run.id, 0.0)
        engine.frontier.add(new)
        engine.frontier.requeue(again)

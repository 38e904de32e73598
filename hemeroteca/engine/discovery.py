"""What a capture means for the frontier: new candidates, redirects without loops, seeds that moved, and the ending of
the visit that brought it."""

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

import msgspec

from hemeroteca import urls
from hemeroteca.engine import reasons
from hemeroteca.engine.messages import Ingested, Job
from hemeroteca.engine.runs import Run
from hemeroteca.fetch import Result
from hemeroteca.frontier import services
from hemeroteca.frontier.visit import Outcome, State, Visit
from hemeroteca.urls.candidate import Role

if TYPE_CHECKING:
    from hemeroteca.engine.loop import Engine

REDIRECTS_REMEMBERED = 10_000


class Discovery:
    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._max_redirects = engine.config.max_redirects
        self._redirects: OrderedDict[int, int] = OrderedDict()  # page → where it led, to see loops

    def take(self, job: Job, done: Ingested, visit: Visit, result: Result, run: Run, unchanged: bool) -> None:
        """Queue what a capture leads to, and end its visit; may add notes to `done`, all of which are counted."""
        self._follow(done, visit, run)
        self._end(job, done, visit, result, run, unchanged)

    def _follow(self, done: Ingested, visit: Visit, run: Run) -> None:
        engine, found = self._engine, done.found
        trap = engine.traps.met(visit.host, visit.url, done.fingerprint)
        if trap and found:
            done.notes.append(trap)
            found = []
        if done.redirect is not None:
            self._redirect(done, visit, run)
        if done.outside:
            done.notes.append(f"out-of-scope: redirects to {done.outside}")
        for note in done.notes:
            run.count_reason(reasons.code(note))
        if found and run.standing and engine.scheduler is not None:
            found = engine.scheduler.pace(found, time.time())
        if found:
            engine.frontier.add(found)

    def _end(self, job: Job, done: Ingested, visit: Visit, result: Result, run: Run, unchanged: bool) -> None:
        """A page that answered and was read."""
        run.counts.pages += 1
        run.touched = True
        reason = "; ".join(done.notes)
        state = State.DONE
        if done.noarchive:
            state, reason = State.EXCLUDED, "noarchive: the page asks not to be archived"
        elif job.status in reasons.PASSING:
            state, reason = State.FAILED, f"http-{job.status} after {visit.attempts + 1} tries"
        elif job.status >= 400:
            run.count_reason(f"http-{job.status}")
            reason = f"http-{job.status}; {reason}" if reason else f"http-{job.status}"
        elif result.failure:
            reason = f"{reasons.failure_text(result)}; {reason}"
        good = job.status in (200, 203) and not job.truncated and not job.dom  # a shell says nothing of what fills it
        outcome = Outcome(
            visited_ms=job.started_ms,
            status=job.status,
            changed=not unchanged,
            etag=(visit.etag if unchanged else done.etag) if good or unchanged else "",
            last_modified=(visit.last_modified if unchanged else done.last_modified) if good or unchanged else "",
            digest=visit.digest if unchanged else done.dom_digest or done.digest,
            versions=visit.versions if unchanged else visit.versions + 1,
            state=state,
            reason=reason,
        )
        if visit.lease is not None and visit.lease.done(visit, outcome) and state is not State.DONE:
            self._engine.visits.note(visit, state, reason)

    def _redirect(self, done: Ingested, visit: Visit, run: Run) -> None:
        target = done.redirect
        assert target is not None
        self._redirects[visit.key] = target.key
        if len(self._redirects) > REDIRECTS_REMEMBERED:
            self._redirects.popitem(last=False)
        step: int | None = target.key
        for _ in range(self._max_redirects + 1):
            if step == visit.key:
                done.notes.append(f"redirect-loop: leads back to itself by {target.url[:200]}")
                return
            step = self._redirects.get(step) if step is not None else None
        if target.redirects > self._max_redirects:
            done.notes.append(f"too-many-redirects: more than {self._max_redirects} in a row")
            return
        if visit.depth == 0 and visit.role == Role.PAGE:
            self._widen(run, target.url)
        self._engine.frontier.add([target])

    def _widen(self, run: Run, url: str) -> None:
        """Where a seed leads belongs to the crawl as if it had been named."""
        scope = run.options.scope
        if url in scope.seeds or urls.ScopeMatcher(scope).refusal(url, 0) is None:
            return
        run.options = msgspec.structs.replace(
            run.options, scope=msgspec.structs.replace(scope, seeds=(*scope.seeds, url))
        )
        services.save_options(run.id, run.options)
        self._engine.reading.teach(run)

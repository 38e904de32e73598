"""What a capture means for the frontier: new candidates, redirects without loops, seeds that moved, and the ending of
the visit that brought it."""

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

import msgspec

from hemeroteca import urls
from hemeroteca.engine import reason_codes
from hemeroteca.engine.runs import Run
from hemeroteca.engine.sinks import Arrival, Trip
from hemeroteca.focus.definition import PageFocus
from hemeroteca.frontier import services
from hemeroteca.frontier.visit import Outcome, State, Visit
from hemeroteca.ingest.ingested import Ingested
from hemeroteca.urls.candidate import UrlRole

if TYPE_CHECKING:
    from hemeroteca.engine.loop import Engine

REDIRECTS_REMEMBERED = 10_000


class FrontierSink:
    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._max_redirects = engine.config.max_redirects
        self._redirects: OrderedDict[int, int] = OrderedDict()  # page → where it led, to see loops

    @property
    def pending(self) -> bool:
        return self._engine.frontier.pending

    def take(self, arrival: Arrival) -> None:
        """Queue what a capture leads to, and end its visit; may add notes, all of which are counted."""
        trip = arrival.trip
        if trip is None or not trip.visit.page:
            return
        counts = trip.run.counts
        known = arrival.unchanged or (arrival.row is not None and not arrival.row.version)  # an import brought it
        counts.unchanged += known
        counts.versions += bool(arrival.stored) and not known
        if trip.run.focus is not None:
            self._judge(arrival, trip)
        self._follow(arrival, trip.visit, trip.run)
        self._end(arrival, trip)

    def write(self) -> None:
        self._engine.frontier.write(time.time_ns() // 1_000_000)

    def _follow(self, arrival: Arrival, visit: Visit, run: Run) -> None:
        engine, done = self._engine, arrival.done
        if run.options.for_fleet:  # a client wanted this address, and is told where it leads
            return
        found = done.candidates
        if done.said:
            self._hold_back(arrival, visit, run)
        if done.redirect is not None:
            self._redirect(done, visit, run)
        if done.outside:
            done.notes.append(f"out-of-scope: redirects to {done.outside}")
        for note in done.notes:
            run.count_note(note)
        if found and run.standing and engine.scheduler is not None:
            found = engine.scheduler.pace(found, time.time())
        if found:
            engine.frontier.add(found)
            for candidate in found:
                if candidate.held:
                    run.count_ending(State.HELD, candidate.held)

    def _hold_back(self, arrival: Arrival, visit: Visit, run: Run) -> None:
        """Mark the links that only lead deeper into a trap."""
        done, host = arrival.done, arrival.rules.host
        pages = [c for c in done.candidates if c.role == UrlRole.PAGE and c.host == host and not c.held]

        def leads() -> list[str]:
            return [candidate.url for candidate in self._engine.frontier.unmet(pages)]

        held = self._engine.traps.met(visit.host, visit.url, done.said, done.worded, leads)
        for candidate in pages if held else ():
            reason = held.get(candidate.url, "")
            if reason and not run.trusts(host, reason):
                candidate.held = reason

    def _judge(self, arrival: Arrival, trip: Trip) -> None:
        """What a page was worth to the focus of its crawl; before its links are scored."""
        found = arrival.done.find("focus", PageFocus) or PageFocus(0.0)
        trip.run.counts.targets += bool(found.target)
        digest = trip.visit.digest if arrival.unchanged else arrival.done.shown_digest
        elapsed = int(trip.result.elapsed * 1000)
        self._engine.frontier.judge(trip.visit, found, digest, elapsed, arrival.capture.status)

    def _end(self, arrival: Arrival, trip: Trip) -> None:
        """A page that answered and was read."""
        capture, done, visit, run = arrival.capture, arrival.done, trip.visit, trip.run
        status, unchanged = capture.status, arrival.unchanged
        visit.followed |= status != 304
        run.counts.pages += 1
        run.counts.errors += status >= 400
        run.touched = True
        reason = "; ".join(done.notes)
        state = State.DONE
        if done.noarchive:
            state, reason = State.EXCLUDED, "noarchive: the page asks not to be archived"
        elif status in reason_codes.PASSING:
            state, reason = State.FAILED, f"http-{status} after {visit.attempts + 1} tries"
        elif status >= 400:
            if visit.role != UrlRole.SITEMAP:  # which is looked for everywhere
                run.counts.failed += 1
                run.count_note(f"http-{status}")  # the error page is captured
            reason = f"http-{status}; {reason}" if reason else f"http-{status}"
        elif trip.result.failure:
            reason = f"{reason_codes.failure_text(trip.result)}; {reason}"
        # a shell says nothing of what fills it
        good = status in (200, 203) and not capture.truncated and not capture.attached
        outcome = Outcome(
            visited_ms=capture.captured_ms,
            status=status,
            changed=not unchanged,
            etag=(visit.etag if unchanged else done.etag) if good or unchanged else "",
            last_modified=(visit.last_modified if unchanged else done.last_modified) if good or unchanged else "",
            digest=visit.digest if unchanged else done.shown_digest,
            versions=visit.versions if unchanged or done.noarchive else visit.versions + 1,
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
        if visit.depth == 0 and visit.role == UrlRole.PAGE:
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
        self._engine.intake.teach(run)

"""What becomes of a page after a visit: its new row, the counts of its crawl, the troubles people are told of."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from hemeroteca.engine import reasons
from hemeroteca.engine.messages import Ingested, Job
from hemeroteca.engine.runs import Run
from hemeroteca.fetch import Result
from hemeroteca.frontier.models import Page
from hemeroteca.frontier.queue import Frontier
from hemeroteca.frontier.values import Outcome, Visit
from hemeroteca.instance.status import Trouble

if TYPE_CHECKING:
    from hemeroteca.watch.scheduler import SafeScheduler

DONE, QUEUED, FAILED, EXCLUDED = Page.State.DONE, Page.State.QUEUED, Page.State.FAILED, Page.State.EXCLUDED
TROUBLES_REMEMBERED = 200


class PageOutcomes:
    """`changed`: something must be written soon."""

    def __init__(
        self, runs: dict[int, Run], frontier: Frontier, scheduler: "SafeScheduler | None", changed: Callable[[], None]
    ) -> None:
        self.troubles: list[Trouble] = []
        self._runs = runs
        self._frontier = frontier
        self._scheduler = scheduler
        self._changed = changed

    def answered(self, job: Job, done: Ingested, visit: Visit, result: Result, run: Run, unchanged: bool) -> None:
        """A page that answered and was read."""
        now_ms = job.started_ms
        run.counts.pages += 1
        reason = "; ".join(done.notes)
        failed = ""
        state = DONE
        if done.noarchive:
            state, failed, reason = EXCLUDED, "noarchive", "noarchive: the page asks not to be archived"
        elif job.status in reasons.PASSING:
            state, failed = FAILED, f"http-{job.status}"
            reason = f"http-{job.status} after {visit.attempts + 1} tries"
        elif job.status >= 400:
            code = f"http-{job.status}"
            run.count_reason(code)
            reason = f"{code}; {reason}" if reason else code
        elif result.failure:
            reason = f"{reasons.failure_text(result)}; {reason}"
        good = job.status in (200, 203) and not job.truncated and not job.dom  # a shell says nothing of what fills it
        outcome = Outcome(
            visit.page,
            state,
            0,
            0,
            now_ms,
            0 if unchanged else now_ms,
            job.status,
            reason,
            (visit.etag if unchanged else done.etag) if good or unchanged else "",
            (visit.last_modified if unchanged else done.last_modified) if good or unchanged else "",
            visit.digest if unchanged else done.dom_digest or done.digest,
            visit.versions if unchanged else visit.versions + 1,
        )
        self._write(visit, outcome, failed)

    def without_capture(
        self, visit: Visit, state: int, code: str, reason: str, due_ms: int = 0, attempts: int | None = None
    ) -> None:
        """A page that is excluded, failed, or to be tried later."""
        attempts = visit.attempts if attempts is None else attempts
        outcome = Outcome(
            visit.page,
            state,
            due_ms,
            attempts,
            0,
            0,
            0,
            reason,
            visit.etag,
            visit.last_modified,
            visit.digest,
            visit.versions,
        )
        self._write(visit, outcome, code)
        if state != QUEUED and self._scheduler is not None and self._runs[visit.crawl].standing:
            self._scheduler.failed(visit.crawl, visit.key, visit.url, reason, unanswered=state == FAILED)

    def _write(self, visit: Visit, outcome: Outcome, code: str) -> None:
        run = self._runs[visit.crawl]
        run.outstanding -= 1
        run.touched = True
        if outcome.state == QUEUED:
            run.leased -= 1
        if outcome.state == FAILED:
            run.counts.failed += 1
        elif outcome.state == EXCLUDED:
            run.counts.excluded += 1
        if code:
            run.count_reason(code)
        if outcome.reason and outcome.state != DONE:
            self.troubles.append(Trouble(int(time.time() * 1000), visit.url, outcome.reason[:300]))
            del self.troubles[:-TROUBLES_REMEMBERED]
        self._frontier.settle(visit, outcome)
        self._changed()

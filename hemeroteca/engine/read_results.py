"""What the engine does with what readers return: keep the capture, follow where it leads, settle its page, index it."""

from typing import TYPE_CHECKING

from hemeroteca.engine.archiving import Kept, PayloadGoneError, keep
from hemeroteca.engine.messages import Ingested, Job
from hemeroteca.engine.runs import Run
from hemeroteca.fetch import Result
from hemeroteca.frontier.visit import Visit
from hemeroteca.urls.candidate import Role
from hemeroteca.watch.visits import AnsweredVisit

if TYPE_CHECKING:
    from hemeroteca.engine.loop import Engine


class ReadResults:
    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._runs = engine.runs
        self._ledger = engine.ledger
        self._reading = engine.reading
        self._scheduler = engine.scheduler

    def take_answers(self) -> None:
        """Everything readers have answered so far, with one look-up of its digests."""
        answers = self._reading.take()
        wanted = [done.digest for _, done, _, _ in answers if done.digest and done.body_size]
        wanted += [job.previous for job, _, _, _ in answers if (job.status == 304 or job.dom) and job.previous]
        originals = self._ledger.originals(wanted) if wanted else {}
        for job, done, visit, result in answers:
            if done.render:
                if visit.lease is not None:
                    visit.lease.again(visit)
            else:
                try:
                    kept = keep(self._ledger, job, done, visit, originals)
                except PayloadGoneError:
                    job.previous = ""  # build whole records after all
                    self._reading.again(job, visit, result)
                    continue
                self._take(job, done, visit, result, self._runs[visit.crawl], kept)
            result.body.discard()

    def _take(self, job: Job, done: Ingested, visit: Visit, result: Result, run: Run, kept: Kept) -> None:
        """Count a capture, settle its page, follow where it leads."""
        counts = run.counts
        counts.stored_bytes += kept.stored
        counts.bytes += done.body_size if not visit.served else 0
        if kept.stored:
            counts.captures += 1
        if not visit.page:
            return

        if kept.unchanged:
            counts.unchanged += 1
        elif kept.stored:
            counts.versions += 1
        if done.difference is not None:
            kept.capture.importance = min(1.0, done.difference.total)
        if visit.digest and visit.role == Role.PAGE:
            self._engine.sites.learn(job, done, kept.unchanged)
        self._engine.discovery.take(job, done, visit, result, run, kept.unchanged)
        if run.standing and self._scheduler is not None:
            self._scheduler.observed(_seen(job, done, visit, result, kept, self._scheduler.now_ms))
        if done.edges is not None:
            self._ledger.link(visit.key, done.edges)
        elif done.redirect is not None:
            self._ledger.lead(visit.url, done.redirect.url)
        if done.document is not None and not kept.unchanged:
            self._ledger.index(done.document, visit.versions)
        elif visit.versions and (job.status in (404, 410) or done.noindex):
            self._ledger.unindex(visit.key)
            if not done.noindex:
                self._ledger.unlink(visit.key)


def _seen(job: Job, done: Ingested, visit: Visit, result: Result, kept: Kept, now_ms: int) -> AnsweredVisit:
    """What the scheduler of subscriptions is told of a visit."""
    return AnsweredVisit(
        crawl=visit.crawl,
        key=visit.key,
        page=visit.page,
        host=visit.host,
        url=visit.url,
        role=visit.role,
        at_ms=now_ms,
        status=job.status,
        first=not visit.digest,
        changed=not kept.unchanged,
        not_modified=job.status == 304,
        bytes=done.body_size if job.status != 304 else 0,
        stored=kept.stored,
        cost_ms=int(result.elapsed * 1000),
        record_id=kept.capture.record_id if kept.stored else None,
        difference=done.difference,
        listing=done.listing,
        title=done.document.title if done.document is not None else "",
    )

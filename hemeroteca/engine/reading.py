"""Captures on their way through the readers: what a reader is told about each, and what it answered."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hemeroteca import usage
from hemeroteca.archive import queries
from hemeroteca.engine.messages import AGENT, Ingested, Job, Rules
from hemeroteca.engine.pool import Pool, Reader
from hemeroteca.engine.rendering import answers_post, led_away, picture_place
from hemeroteca.engine.runs import Run
from hemeroteca.fetch import Result
from hemeroteca.fetch.browser import Rendered
from hemeroteca.frontier.visit import Visit
from hemeroteca.urls.candidate import Role

if TYPE_CHECKING:
    from hemeroteca.engine.loop import Engine

BATCH = 32  # captures taken together: one look-up of their digests
MOST_NOTES = 10  # of a rendering

Answer = tuple[Job, Ingested, Visit, Result]


class Reading:
    """`begun`: readers that run already."""

    def __init__(self, engine: "Engine", begun: Sequence[Reader]) -> None:
        config = engine.config
        self._engine = engine
        self._most_depth = config.most_depth
        self._warc_dir = engine.instance.warc_dir
        self._frontier = engine.frontier
        self._sites = engine.sites
        self._rendering = engine.rendering
        self._most = BATCH + 8 * config.readers
        self._jobs: dict[int, tuple[Visit, Result]] = {}  # until their answers are taken
        self._crawls: Counter[int] = Counter()  # the same, by crawl
        self._answers: list[tuple[Job, Ingested]] = []
        self._last_job = 0
        self._pool = Pool(config.readers, engine.selector, self._answered, begun)

    # captures

    @property
    def under_way(self) -> int:
        """Captures with a reader, or whose answers nobody took."""
        return len(self._jobs)

    def reads(self, crawl: int) -> int:
        """Captures of a crawl among them."""
        return self._crawls[crawl]

    @property
    def has_room(self) -> bool:
        return len(self._jobs) < self._most

    @property
    def idle(self) -> bool:
        """Every capture has its answer."""
        return not self._pool.backlog

    @property
    def answers(self) -> int:
        """Answers that wait to be taken."""
        return len(self._answers)

    def submit(self, visit: Visit, result: Result, run: Run | None, rendered: Rendered | None = None) -> None:
        """Have a capture read, or, without a page, only made ready for the archive."""
        if run is None:
            result.body.discard()
            return
        job = self._job(visit, result)
        if result.request.method == "POST":
            answers_post(job, result.request)
        if job.earlier is not None:
            scheduler = self._engine.scheduler
            judges = scheduler.judges(run.id, visit.url) if run.standing and scheduler is not None else []
            self._sites.prepare(job, judges)
        if rendered is not None:
            self._add_rendered(job, visit, rendered)
        elif visit.page and visit.role == Role.PAGE and self._frontier.host(visit.host).settings.render == "auto":
            if given_up := self._rendering.gave_up.pop(visit.page, ""):
                job.notes = [given_up]
            else:
                job.render = "note" if self._rendering.missing() else "ask"
        self.again(job, visit, result)

    def again(self, job: Job, visit: Visit, result: Result) -> None:
        """Have a capture read once more."""
        self._jobs[job.id] = (visit, result)
        self._crawls[job.crawl] += 1
        self._pool.submit(job)

    def take(self) -> list[Answer]:
        """The answers so far; they are the caller's now."""
        answers, self._answers = self._answers, []
        for job, _ in answers:
            self._crawls[job.crawl] -= 1
        return [(job, done, *self._jobs.pop(job.id)) for job, done in answers]

    # readers

    def teach(self, run: Run) -> None:
        """Tell the readers what a run looks for."""
        self._pool.learn(Rules(run.id, run.options, AGENT, self._most_depth))

    def forget(self, crawl: int) -> None:
        self._pool.forget(crawl)
        self._crawls.pop(crawl, None)

    def check(self, now: float) -> None:
        self._pool.check(now)

    def cpu_seconds(self) -> float:
        """Of this process and its readers."""
        return usage.own_cpu_seconds() + self._pool.cpu_seconds()

    def peak_bytes(self) -> int:
        """Of this process and its readers, the most each had."""
        return usage.own_peak_bytes() + self._pool.peak_bytes()

    def close(self) -> None:
        self._pool.close()

    # inside

    def _job(self, visit: Visit, result: Result) -> Job:
        self._last_job += 1
        host = self._frontier.host(visit.host)
        return Job(
            self._last_job,
            visit.crawl,
            visit.url,
            visit.key,
            host.name,
            visit.depth,
            visit.redirects,
            visit.role,
            visit.digest,
            result.started_ms,
            result.ip,
            result.protocol,
            result.status,
            result.truncated,
            result.request_head,
            result.response_head,
            b"" if result.body.path else result.body.bytes(),
            str(result.body.path or ""),
            unread=not visit.page,
            earlier=self._earlier(visit, result),
            include=host.settings.include,
            exclude=host.settings.exclude,
        )

    def _add_rendered(self, job: Job, visit: Visit, rendered: Rendered) -> None:
        job.notes = [note for note in rendered.notes if not note.startswith("not-rendered")][:MOST_NOTES]
        if rendered.failure:
            job.notes.insert(0, f"{rendered.failure}: {rendered.detail}")
        job.leads = led_away(rendered, visit.key)
        if not job.leads:
            job.dom = rendered.dom.bytes()
            job.dom_url = rendered.final_url
            job.screenshot = rendered.screenshot.bytes()
            job.earlier_picture = picture_place(self._warc_dir, visit)

    def _earlier(self, visit: Visit, result: Result) -> tuple[str, str, int, int] | None:
        """Where the version lies that this answer is compared with."""
        if not visit.digest or not visit.page or visit.served or visit.role == Role.REQUISITE or result.status == 304:
            return None
        row = queries.whole(visit.digest)
        return None if row is None else (str(self._warc_dir), row.warc_name, row.offset, row.length)

    def _answered(self, answers: list[tuple[Job, Ingested]]) -> None:
        self._answers += answers

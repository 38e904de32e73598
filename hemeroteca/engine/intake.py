"""Captures on their way through the ingest processes: the rules each is read by, and what came back."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hemeroteca import usage
from hemeroteca.archive import queries
from hemeroteca.archive.rendered import dom_of
from hemeroteca.engine.rendering import led_away, picture_place
from hemeroteca.engine.runs import Run
from hemeroteca.engine.sinks import Arrival, Trip
from hemeroteca.fetch import Result
from hemeroteca.fetch.browser import Rendered
from hemeroteca.frontier.visit import Visit
from hemeroteca.ingest.ingested import Ingested
from hemeroteca.ingest.pool import Pool, ReaderProcess
from hemeroteca.ingest.rules import CrawlRules, Rules
from hemeroteca.ingest.worker import Task
from hemeroteca.urls.candidate import UrlRole
from hemeroteca.warc import Capture
from hemeroteca.watch.answered_visit import tells_of_page

if TYPE_CHECKING:
    from hemeroteca.engine.loop import Engine

BATCH = 32  # captures taken together: one look-up of their digests
MAX_NOTES = 10  # of a rendering
MAX_RECALLED = 50  # captures of a page looked through for one that shows it


class Intake:
    """`begun`: ingest processes that run already."""

    def __init__(self, engine: "Engine", begun: Sequence[ReaderProcess]) -> None:
        config = engine.config
        self._engine = engine
        self._max_depth = config.max_depth
        self._warc_dir = engine.instance.warc_dir
        self._frontier = engine.frontier
        self._noise = engine.ledger.noise
        self._rendering = engine.rendering
        self._max_under_way = BATCH + 8 * config.readers
        self._arrivals: dict[int, Arrival] = {}  # by the identity of their tasks, until they are taken
        self._crawls: Counter[int] = Counter()  # the same, by crawl
        self._answers: list[tuple[Task, Ingested]] = []
        self._pool = Pool(config.readers, engine.selector, self._answered, begun)

    # captures

    @property
    def under_way(self) -> int:
        """Captures with an ingest process, or whose answers nobody took."""
        return len(self._arrivals)

    def reads(self, crawl: int) -> int:
        """Captures of a crawl among them."""
        return self._crawls[crawl]

    @property
    def has_room(self) -> bool:
        return len(self._arrivals) < self._max_under_way

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
        capture = Capture.fetched(visit.url, result)
        rules = self._rules(visit, result, run)
        capture.device = self._engine.fleet.answers.vouchers(visit)
        if rendered is not None:
            self._add_rendered(capture, rules, visit, rendered)
        elif visit.page and visit.role == UrlRole.PAGE and self._frontier.host(visit.host).settings.render == "auto":
            if given_up := self._rendering.gave_up.pop(visit.page, ""):
                rules.notes = [given_up]
            else:
                rules.browser = "note" if self._rendering.missing() else "ask"
        self.read(Arrival(capture, rules, Ingested(), Trip(visit, result, run), versions=visit.versions))

    def read(self, arrival: Arrival) -> None:
        """Have a capture read; also one from the archive, or once more."""
        task = Task(arrival.capture, arrival.rules)
        self._arrivals[id(task)] = arrival
        self._crawls[arrival.rules.crawl] += 1
        self._pool.submit(task)

    def take(self) -> list[Arrival]:
        """What has come back so far; it is the caller's now."""
        answers, self._answers = self._answers, []
        arrivals = []
        for task, done in answers:
            arrival = self._arrivals.pop(id(task))
            arrival.done = done
            self._crawls[arrival.rules.crawl] -= 1
            arrivals.append(arrival)
        return arrivals

    # ingest processes

    def teach(self, run: Run) -> None:
        """Tell them what a run looks for."""
        token = self._engine.config.robots_token
        self._pool.learn(
            CrawlRules(crawl=run.id, options=run.options, max_depth=self._max_depth, agent=token, focus=run.focus)
        )

    def forget(self, crawl: int) -> None:
        self._pool.forget(crawl)
        self._crawls.pop(crawl, None)

    def check(self, now: float) -> None:
        self._pool.check(now)

    def cpu_seconds(self) -> float:
        """Of this process and those of ingest."""
        return usage.own_cpu_seconds() + self._pool.cpu_seconds()

    def peak_bytes(self) -> int:
        """Of this process and those of ingest, the most each had."""
        return usage.own_peak_bytes() + self._pool.peak_bytes()

    def close(self) -> None:
        self._pool.close()

    def overtaken(self, visit: Visit) -> str:
        """The digest of what a watched page was when it was last visited for its subscription, if an ordinary crawl has
        kept another version since: the change is still to be told. Else empty."""
        run, scheduler = self._engine.runs.get(visit.crawl), self._engine.scheduler
        if run is None or not run.standing or scheduler is None or visit.role != UrlRole.PAGE:
            return ""
        if not 0 < scheduler.last_seen(visit.key) < visit.visited_ms:
            return ""
        newest = queries.captures_of(visit.url, limit=MAX_RECALLED, newest_first=True)
        shown = [row for row in newest if row.url == visit.url and tells_of_page(row.status)]
        watched = next((row for row in shown if scheduler.made(row.crawl_id)), None)
        if watched is None or watched is shown[0]:
            return ""
        digest = (dom_of(watched) or watched).digest
        return digest if digest != visit.digest else ""

    # inside

    def _rules(self, visit: Visit, result: Result, run: Run) -> Rules:
        if run.standing and visit.page:
            self._recall(visit)
        host = self._frontier.host(visit.host)
        rules = Rules(
            crawl=visit.crawl,
            key=visit.key,
            host=host.name,
            depth=visit.depth,
            redirects=visit.redirects,
            role=visit.role,
            previous=visit.digest,
            followed=visit.followed,
            include=host.settings.include,
            exclude=host.settings.exclude,
            obey_robots=not run.options.ignore_robots,
            keep=not visit.served,
            read=bool(visit.page),
        )
        if visit.served:
            return rules
        told_of = self.overtaken(visit) or visit.digest
        if visit.digest and visit.page and result.status != 304 and (row := queries.whole(told_of)) is not None:
            rules.earlier, rules.compare = row.location(self._warc_dir), told_of != visit.digest
            scheduler = self._engine.scheduler if run.standing else None
            self._noise.prepare(rules, scheduler.judges(run.id, visit.url) if scheduler is not None else ())
        return rules

    def _recall(self, visit: Visit) -> None:
        """What a page to be watched was before, when its last visit does not tell: an import or another crawl may have
        captured it, and an answer that refused it says nothing of it."""
        scheduler, told = self._engine.scheduler, not visit.status or tells_of_page(visit.status)
        if scheduler is None or (
            told and visit.visited_ms and (visit.role != UrlRole.PAGE or scheduler.watches(visit.key))
        ):
            return
        newest = queries.captures_of(visit.url, limit=MAX_RECALLED, newest_first=True)
        row = next((row for row in newest if row.url == visit.url and tells_of_page(row.status)), None)
        if row is None and not told:
            visit.digest, visit.visited_ms = "", 0
        elif row is not None and (row.captured_ms > visit.visited_ms or not told):
            visit.digest = (dom_of(row) or row).digest
            visit.visited_ms, visit.status = row.captured_ms, row.status

    def _add_rendered(self, capture: Capture, rules: Rules, visit: Visit, rendered: Rendered) -> None:
        rules.notes = [note for note in rendered.notes if not note.startswith("not-rendered")][:MAX_NOTES]
        if rendered.failure:
            rules.notes.insert(0, f"{rendered.failure}: {rendered.detail}")
        rules.leads = led_away(rendered, visit.key)
        if not rules.leads:
            capture.attach(rendered.dom.bytes(), rendered.screenshot.bytes(), rendered.final_url)
            rules.earlier_picture = picture_place(self._warc_dir, visit)

    def _answered(self, answers: list[tuple[Task, Ingested]]) -> None:
        self._answers += answers

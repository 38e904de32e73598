"""The loop, and what becomes of each visit.

One thread: it leases visits, lets libcurl fetch them, hands captures to the ingest processes, and commits what they
return at least once a second. Crawls can be stopped at any moment; what is committed is never fetched again.
"""

import gc
import os
import selectors
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hemeroteca import urls
from hemeroteca.archive import queries, warc
from hemeroteca.archive.values import NewCapture
from hemeroteca.config import Config
from hemeroteca.engine import usage
from hemeroteca.engine.gate import MOST_BYTES, MOST_REDIRECTS, Gate, unreachable
from hemeroteca.engine.ingest import AGENT, Attached, Ingested, Job, Rules
from hemeroteca.engine.ledger import Ledger
from hemeroteca.engine.noise import Sites
from hemeroteca.engine.pool import Pool, Reader
from hemeroteca.engine.refresh import Refresher
from hemeroteca.engine.rendering import (
    BROWSER_TROUBLES,
    PageRules,
    Rendering,
    answers_post,
    is_met,
    led_away,
    picture_place,
    requisites,
)
from hemeroteca.engine.status import EngineStatus, Trouble, write_engine_status
from hemeroteca.fetch import Fetcher, FetchSettings, Request, Result
from hemeroteca.fetch.browser import Rendered
from hemeroteca.frontier import politeness, services
from hemeroteca.frontier.models import Crawl, Page
from hemeroteca.frontier.queue import Frontier, HostQueue
from hemeroteca.frontier.traps import SameText
from hemeroteca.frontier.values import Counts, CrawlOptions, Found, Outcome, Role, Visit
from hemeroteca.instance import Instance
from hemeroteca.watch.values import Seen

if TYPE_CHECKING:
    from hemeroteca.watch.guard import Guarded

DONE, QUEUED, FAILED, EXCLUDED = Page.State.DONE, Page.State.QUEUED, Page.State.FAILED, Page.State.EXCLUDED
PASSING = {429, 500, 502, 503, 504}  # statuses worth another try
BUSY = {429, 503}  # statuses that ask us to go away for a while
MOST_REFUSALS = 6  # tries of a page whose host says it is busy
LONGEST_PAUSE = 0.25  # s between looks at orders from outside
CLOSED_SECONDS = 3600.0  # s after which pages outside their window are looked at again: a person may change it
SITES_SECONDS = 1.0  # s until what a person set for a site counts
TROUBLES_REMEMBERED = 200
LEASES_AT_ONCE = 256
MOST_NOTES = 10  # of a rendering
BROWSER_PAUSE = 1.0  # s a host waits when the browser has enough to do
BATCH = 32  # captures taken together: one look-up of their digests


@dataclass
class Run:
    """A crawl under way."""

    id: int
    options: CrawlOptions
    counts: Counts
    since: float = field(default_factory=time.monotonic)
    cpu_before: float = 0.0
    outstanding: int = 0  # leased, not settled
    leased: int = 0
    received: int = 0  # bytes of bodies, also of those not read yet
    stopping: str = ""  # why no more visits are leased
    asked_sitemaps: set[str] = field(default_factory=set)
    touched: bool = True  # its counts are not on disk
    closed_until: float = 0.0  # outside the windows of its subscription: until then

    @property
    def standing(self) -> bool:
        """A subscription's: it waits for the scheduler when its queue is empty."""
        return self.options.watch is not None


@dataclass
class Errand:
    """A robots.txt on its way."""

    origin: str
    waiting: int  # host kept busy until the rules are known
    crawl: int
    redirects: int = 0
    attempts: int = 0
    asked: float = 0.0  # when the waiting host last answered …
    took: float = 0.0  # … and how long that took


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
        self._most_requests = config.concurrency
        self.ended: dict[int, Run] = {}
        self._config = config
        self._instance = instance
        self._only = only
        self._tick = tick
        self._stop = ""
        self._selector = selectors.DefaultSelector()
        self._frontier = Frontier(config.host_page_cap)
        self._ledger = Ledger(config, instance, self._frontier)
        self._refresher = Refresher(instance, self._ledger)
        self._scheduler = _scheduler(config, instance, watch_clock) if only is None else None
        self._gate = Gate()
        self._sites = Sites()
        self._sites_revision = services.settings_revision()
        self._sites_due = 0.0
        self._same_text = SameText(config.same_text_cap)
        self._readers = config.readers
        self._pool = Pool(self._readers, self._selector, self._ingested, readers)
        fetch_settings = FetchSettings.from_config(config, instance.spool_dir)
        self._fetcher = Fetcher(fetch_settings, self._selector)
        self._rendering = Rendering(fetch_settings, self._selector)
        self._agent = AGENT
        self._page_rules = PageRules(self._gate, self._fetcher.submit, self._agent, self._keep_rules)
        self._polite = politeness.Limits(config.delay, config.delay_factor, config.max_delay, config.max_crawl_delay)
        self._jobs: dict[int, tuple[Visit, Result]] = {}
        self._answers: list[tuple[Job, Ingested]] = []
        self._errands: dict[str, Errand] = {}
        self._redirects: OrderedDict[int, int] = OrderedDict()  # page → where it led, to see loops
        self._next_job = 0
        self._dirty = False
        self._commit_due = 0.0
        self._look_due = 0.0
        self._pace: list[tuple[float, int]] = []
        self._troubles: list[Trouble] = []
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

    # the loop

    def _step(self) -> None:
        now = time.time()
        self._lease(now)
        waits = [LONGEST_PAUSE]
        if self._has_room():
            if (host_at := self._frontier.next_time()) is not None:
                waits.append(host_at - now)
            if self._frontier.unwritten and not self._fetcher.active and not self._jobs:
                waits.append(0.0)
        for wait in (self._fetcher.timeout(), self._rendering.timeout()):
            if wait is not None:
                waits.append(wait)
        if self._dirty:
            waits.append(self._commit_due - time.monotonic())
        for key, mask in self._selector.select(max(0.0, min(waits))):
            key.data(key.fd, mask)
        self._fetcher.tick()
        self._rendering.tick()
        moment = time.monotonic()
        idle = not self._pool.backlog
        if len(self._answers) >= BATCH or (self._answers and (idle or moment >= self._commit_due)):
            self._take_answers()
        starving = self._frontier.unwritten and not self._fetcher.active and idle
        if self._dirty and (moment >= self._commit_due or starving):
            self._commit()
        if moment >= self._look_due:
            self._look()

    def _finished(self) -> bool:
        if self._stop:
            return True
        return self._only is not None and not self.runs

    def _has_room(self) -> bool:
        return self._fetcher.active < self._most_requests and len(self._jobs) < BATCH + 8 * self._readers

    def _share_requests(self) -> None:
        """How many requests may be under way at once; asked when a crawl with a wish of its own begins or ends."""
        asked = [run.options.concurrency for run in self.runs.values() if run.options.concurrency]
        self._most_requests = max(asked) if asked else self._config.concurrency

    def _lease(self, now: float) -> None:
        for _ in range(LEASES_AT_ONCE):  # pages that are excluded unasked must not hold up those under way
            if not self._has_room():
                return
            visit = self._frontier.lease(now)
            if visit is None:
                return
            if visit.robots_for:
                self._fetch(visit, MOST_BYTES)
                continue
            run = self.runs.get(visit.crawl)
            wanted = visit.page in self._rendering.wanted
            if self._needs_browser(visit) and not self._rendering.room:
                (self._frontier.ask_again if wanted else self._frontier.put_back)(visit)
                self._frontier.rest(visit.host, now + BROWSER_PAUSE)
                continue
            if wanted and run is not None:
                self._render_wanted(visit, run)
                continue
            if run is None or run.stopping or self._limit_reached(run):
                self._frontier.put_back(visit)
                self._frontier.host(visit.host).busy = False  # not scheduled again: its crawl is ending
                continue
            run.outstanding += 1
            if self._admit(visit, run, now):
                run.leased += 1
                if self._needs_browser(visit):
                    self._render(visit, run)
                else:
                    self._fetch(visit)

    def _limit_reached(self, run: Run) -> bool:
        options = run.options
        if options.limit is not None and run.leased >= options.limit:
            run.stopping = f"limit of {options.limit} pages reached"
        elif options.max_bytes is not None and run.received >= options.max_bytes:
            run.stopping = f"limit of {options.max_bytes} bytes reached"
        return bool(run.stopping)

    def _admit(self, visit: Visit, run: Run, now: float) -> bool:
        """Whether it is worth a visit and robots.txt lets us; when its rules are unknown, they are fetched first."""
        host = self._frontier.host(visit.host)
        if run.closed_until > now:
            run.leased += 1  # and back again
            later = min(run.closed_until, now + CLOSED_SECONDS)
            self._settle(visit, QUEUED, "", "", due_ms=int(later * 1000))
            self._frontier.release_unasked(visit.host)
            return False
        if trap := self._same_text.closed(visit.host, visit.url):
            self._settle(visit, EXCLUDED, "trap", trap)
            self._frontier.release_unasked(visit.host)
            return False
        if run.options.ignore_robots or host.settings.ignore_robots:
            self._ask_sitemaps(visit, run, ())
            return True
        origin = _origin(visit.url)
        rules = self._gate.rules(origin, now)
        if rules is None:
            run.outstanding -= 1
            self._frontier.put_back(visit)
            self._errands[origin] = Errand(origin, visit.host, visit.crawl)
            self._fetch(_robots_visit(origin, origin + "/robots.txt", visit.host, visit.crawl), MOST_BYTES)
            return False
        self._ask_sitemaps(visit, run, rules.sitemaps)
        if rules.allows(visit.url, self._agent):
            return True
        if rules.unreachable:
            reason = f"robots-unreachable: {origin}/robots.txt gave {rules.unreachable} a moment ago"
            self._settle(visit, FAILED, _code(reason), reason)
        else:
            reason = f"robots.txt of {host.name} forbids {_path(visit.url)} ({rules.rule(visit.url, self._agent)})"
            self._settle(visit, EXCLUDED, "robots", reason)
        self._frontier.release_unasked(visit.host)
        return False

    def _ask_sitemaps(self, visit: Visit, run: Run, listed: tuple[str, ...] | list[str]) -> None:
        if not run.options.sitemaps or visit.role != Role.PAGE or run.options.scope.kind == "page":
            return
        origin = _origin(visit.url)
        if origin in run.asked_sitemaps:
            return
        run.asked_sitemaps.add(origin)
        found = []
        for address in listed or [origin + "/sitemap.xml"]:
            try:
                url = urls.canonical(urls.join(origin + "/", address) or "")
            except urls.UrlError:
                continue
            found.append(Found(urls.key(url), url, urls.host(url), run.id, 0, 0, Role.SITEMAP, 100))
        if self._frontier.add(found):
            self._mark_dirty()

    # fetching

    def _fetch(self, visit: Visit, max_body_bytes: int = 0) -> None:
        run = self.runs.get(visit.crawl)
        request = self._request(visit, run)
        if run is not None and run.options.knows_its_pages:  # else its links are needed even if unchanged
            request.etag, request.last_modified = visit.etag, visit.last_modified
        request.cookie_jar = f"crawl-{visit.crawl}"
        request.max_body_bytes = max_body_bytes
        self._fetcher.submit(request, self._fetched)

    def _request(self, visit: Visit, run: Run | None) -> Request:
        site = self._frontier.host(visit.host).settings
        return Request(
            url=visit.url,
            tag=visit,
            insecure=site.insecure or (run is not None and run.options.insecure),
            allow_private=site.allow_private,
            proxy=site.proxy,
            username=site.username,
            password=site.password,
        )

    def _fetched(self, result: Result) -> None:
        visit: Visit = result.request.tag
        if visit.robots_for:
            self._robots_fetched(visit, result)
        else:
            self._answered(visit, result, self.runs[visit.crawl])

    def _answered(self, visit: Visit, result: Result, run: Run, rendered: Rendered | None = None) -> None:
        """The host is free again; the page is kept, tried later or given up."""
        run.received += result.body.size
        host = self._frontier.host(visit.host)
        now = time.time()
        unanswered = bool(result.failure) and not result.status
        busy = result.status in BUSY
        wait = self._wait_after(visit, result, run, host, now)
        note = (f"http-{result.status}" if busy else result.failure) if unanswered or busy else ""
        self._frontier.release(visit.host, now + wait, delay=wait, failed=unanswered or busy, note=note)

        tries = MOST_REFUSALS if busy else self._config.retries + 1
        cut_short = bool(result.failure) and bool(result.status)
        passing = (
            (unanswered and result.transient) or result.status in PASSING or self._only_set_a_cookie(visit, result)
        )
        if cut_short and result.transient and result.truncated != "time":
            passing = True
        if passing and visit.attempts + 1 < tries:
            later = now + max(wait, self._config.retry_seconds * 2.0**visit.attempts)
            self._settle(
                visit, QUEUED, "", _failure_text(result), due_ms=int(later * 1000), attempts=visit.attempts + 1
            )
            result.body.discard()
        elif unanswered:
            self._settle(visit, FAILED, result.failure, _failure_text(result), attempts=visit.attempts + 1)
            result.body.discard()
        else:
            self._ingest(visit, result, run, rendered)
        if unanswered and host.failures >= politeness.UNREACHABLE_AFTER:
            self._give_up(host.id, f"host-unreachable: {host.failures} failures in a row, last {result.failure}")
            self._mark_dirty()

    def _give_up(self, host: int, reason: str) -> None:
        self._frontier.give_up(host, reason)
        for visit in [visit for visit in self._rendering.wanted.values() if visit.host == host]:
            del self._rendering.wanted[visit.page]
            self._settle(visit, FAILED, _code(reason), reason)

    def _only_set_a_cookie(self, visit: Visit, result: Result) -> bool:
        """A redirect to the page itself that gives a cookie: the page is there for whoever brings it."""
        if not 300 <= result.status < 400 or visit.attempts or not result.header("set-cookie"):
            return False
        location = result.header("location")
        return bool(location) and urls.resolve_links(visit.url, [location])[0] == visit.url

    def _wait_after(self, visit: Visit, result: Result, run: Run, host: HostQueue, now: float) -> float:
        crawl_delay = None
        if not (run.options.ignore_robots or host.settings.ignore_robots):
            rules = self._gate.rules(_origin(visit.url), now)
            crawl_delay = rules.crawl_delay(self._agent) if rules else None
        wait = self._plain_wait(visit.host, visit.crawl, result.elapsed, crawl_delay)
        if result.status in BUSY:
            asked = politeness.retry_after(result.header("retry-after"), now)
            return max(wait, politeness.backoff(host.failures + 1) if asked is None else asked)
        if result.failure and result.transient and not result.status:
            return max(wait, self._config.retry_seconds)
        return wait

    # robots.txt

    def _robots_fetched(self, visit: Visit, result: Result) -> None:
        errand = self._errands[visit.robots_for]
        now = time.time()
        own = visit.host == errand.waiting
        if own:
            errand.asked, errand.took = now, result.elapsed
        body = result.body.bytes(MOST_BYTES) if result.status else b""
        if result.status:
            self._ingest(visit, result, self.runs.get(visit.crawl))
        else:
            result.body.discard()
        wait = self._plain_wait(visit.host, visit.crawl, result.elapsed)

        follow = self._next_errand(errand, visit, result)
        if follow is not None:
            if follow.url == visit.url:
                wait = max(wait, self._config.retry_seconds * 2.0 ** (errand.attempts - 1))
            # the host that waits for its rules stays busy while another host is asked for them
            if not own or urls.host(follow.url) == self._frontier.host(visit.host).name:
                self._frontier.release(visit.host, now + wait, delay=wait, failed=not result.status)
            self._frontier.insert(urls.host(follow.url), follow)
            return

        del self._errands[visit.robots_for]
        status = 404 if 300 <= result.status < 400 else result.status  # redirects without end: there are no rules
        rules = self._gate.learn(errand.origin, status, body, now)
        self._mark_dirty()
        if not own:
            self._frontier.release(visit.host, now + wait, delay=wait, failed=not result.status)
        wait = self._plain_wait(errand.waiting, errand.crawl, errand.took, rules.crawl_delay(self._agent))
        self._frontier.release(
            errand.waiting, errand.asked + wait, delay=wait, failed=not result.status, note=result.failure
        )
        if unreachable(status):
            why = f"http-{result.status}" if result.status else _failure_text(result)
            self._give_up(errand.waiting, f"robots-unreachable: {errand.origin}/robots.txt gives {why}")

    # the browser

    def _needs_browser(self, visit: Visit) -> bool:
        if visit.page in self._rendering.wanted:
            return True
        always = self._frontier.host(visit.host).settings.render == "always"
        return always and visit.role == Role.PAGE and not visit.robots_for

    def _render_wanted(self, visit: Visit, run: Run) -> None:
        """A page that was read and needs the browser; it was counted when it was leased for that."""
        del self._rendering.wanted[visit.page]
        if run.stopping and not run.stopping.startswith("limit"):
            self._frontier.release_unasked(visit.host)
            self._settle(visit, QUEUED, "", "")
        else:
            self._render(visit, run)

    def _render(self, visit: Visit, run: Run) -> None:
        """Open a page in the browser; its host stays busy meanwhile."""
        if reason := self._rendering.missing():
            self._frontier.release_unasked(visit.host)
            self._settle(visit, FAILED, "browser-missing", f"browser-missing: {reason}")
            return
        request = self._request(visit, run)

        def allowed(url: str, answer: Callable[[bool], None]) -> None:
            self._page_rules.ask(url, request, answer)

        free = run.options.ignore_robots or self._frontier.host(visit.host).settings.ignore_robots
        self._rendering.submit(request, self._rendered, None if free else allowed)

    def _keep_rules(self, url: str, page: Visit, result: Result) -> None:
        """Archive a robots.txt that a page waited for."""
        self._ingest(_robots_visit("", url, page.host, page.crawl), result, self.runs.get(page.crawl))
        self._mark_dirty()

    def _rendered(self, rendered: Rendered) -> None:
        visit: Visit = rendered.request.tag
        run = self.runs.get(visit.crawl)
        if run is None:
            rendered.discard()
            return
        for part, exchange in self._requisites(rendered, visit):
            self._ingest(part, exchange, run)
        again = rendered.transient and visit.attempts < self._config.retries
        if rendered.failure in BROWSER_TROUBLES and (again or not rendered.main.status):
            self._not_rendered(visit, rendered, run)
            rendered.main.body.discard()
        else:
            self._answered(visit, rendered.main, run, rendered)
        rendered.screenshot.discard()
        rendered.dom.discard()

    def _requisites(self, rendered: Rendered, visit: Visit) -> list[tuple[Visit, Result]]:
        kept, notes = requisites(rendered, visit)
        rendered.notes += notes
        self._frontier.meet(visit.crawl, [part.key for part, exchange in kept if is_met(exchange)])
        return kept

    def _not_rendered(self, visit: Visit, rendered: Rendered, run: Run) -> None:
        """The browser failed; the page is tried again, without the browser in the end."""
        now = time.time()
        host = self._frontier.host(visit.host)
        wait = self._wait_after(visit, rendered.main, run, host, now)
        self._frontier.release(visit.host, now + wait, delay=wait, failed=False)
        reason = f"{rendered.failure}: {rendered.detail}" if rendered.detail else rendered.failure
        if rendered.transient and visit.attempts < self._config.retries:
            later = now + max(wait, self._config.retry_seconds * 2.0**visit.attempts)
            self._settle(visit, QUEUED, "", reason, due_ms=int(later * 1000), attempts=visit.attempts + 1)
        elif host.settings.render == "always":
            self._settle(visit, FAILED, rendered.failure, reason, attempts=visit.attempts + 1)
        else:  # what came without a browser is better than nothing
            self._rendering.gave_up[visit.page] = reason
            later = int((now + wait) * 1000)
            self._settle(visit, QUEUED, "", reason, due_ms=later, attempts=visit.attempts)

    def _next_errand(self, errand: Errand, visit: Visit, result: Result) -> Visit | None:
        """Where to ask for the rules next: where a redirect leads, or the same place again; None when all is said."""
        if 300 <= result.status < 400 and errand.redirects < MOST_REDIRECTS:
            target = urls.resolve_links(visit.url, [result.header("location")])[0]
            if target is not None:
                errand.redirects += 1
                return _robots_visit(errand.origin, target, 0, visit.crawl)
        passing = (not result.status and result.transient) or result.status in PASSING
        if passing and errand.attempts < self._config.retries:
            errand.attempts += 1
            return _robots_visit(errand.origin, visit.url, 0, visit.crawl)
        return None

    def _plain_wait(self, host_id: int, crawl: int, elapsed: float, crawl_delay: float | None = None) -> float:
        """Seconds to leave a host alone after an answer that says nothing about waiting."""
        run = self.runs.get(crawl)
        site = self._frontier.host(host_id).settings
        fixed = site.delay if site.delay is not None else run.options.delay if run else None
        return politeness.delay_after(elapsed, self._polite, fixed=fixed, crawl_delay=crawl_delay)

    # ingest

    def _ingest(self, visit: Visit, result: Result, run: Run | None, rendered: Rendered | None = None) -> None:
        if run is None:
            result.body.discard()
            return
        if not visit.page:
            run.outstanding += 1  # the crawl waits for what is only kept, too
        self._next_job += 1
        job = Job(
            self._next_job,
            visit.crawl,
            visit.url,
            visit.key,
            self._frontier.host(visit.host).name,
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
            include=self._frontier.host(visit.host).settings.include,
            exclude=self._frontier.host(visit.host).settings.exclude,
        )
        if result.request.method == "POST":
            answers_post(job, result.request)
        if job.earlier is not None:
            self._sites.prepare(job, run.options.watch)
        if rendered is not None:
            job.notes = [note for note in rendered.notes if not note.startswith("not-rendered")][:MOST_NOTES]
            if rendered.failure:
                job.notes.insert(0, f"{rendered.failure}: {rendered.detail}")
            job.leads = led_away(rendered, visit.key)
            if not job.leads:
                job.dom = rendered.dom.bytes()
                job.dom_url = rendered.final_url
                job.screenshot = rendered.screenshot.bytes()
                job.earlier_picture = picture_place(self._instance.warc_dir, visit)
        elif visit.page and visit.role == Role.PAGE and self._frontier.host(visit.host).settings.render == "auto":
            if given_up := self._rendering.gave_up.pop(visit.page, ""):
                job.notes = [given_up]
            else:
                job.render = "note" if self._rendering.missing() else "ask"
        self._jobs[job.id] = (visit, result)
        self._pool.submit(job)

    def _earlier(self, visit: Visit, result: Result) -> tuple[str, str, int, int] | None:
        """Where the version lies that this answer is compared with."""
        if not visit.digest or not visit.page or visit.role == Role.REQUISITE or result.status == 304:
            return None
        row = queries.whole(visit.digest)
        return None if row is None else (str(self._instance.warc_dir), row.warc_name, row.offset, row.length)

    def _ingested(self, answers: list[tuple[Job, Ingested]]) -> None:
        self._answers += answers
        self._mark_dirty()

    def _take_answers(self) -> None:
        answers, self._answers = self._answers, []
        wanted = [done.digest for _, done in answers if done.digest and done.body_size]
        wanted += [job.previous for job, _ in answers if (job.status == 304 or job.dom) and job.previous]
        originals = self._ledger.originals(wanted) if wanted else {}
        for job, done in answers:
            visit, result = self._jobs.pop(job.id)
            run = self.runs[visit.crawl]
            try:
                self._take(job, done, visit, result, run, originals)
            except _AgainError:
                continue
            result.body.discard()

    def _take(
        self, job: Job, done: Ingested, visit: Visit, result: Result, run: Run, originals: dict[str, warc.Original]
    ) -> None:
        """Keep a capture, settle its page, follow where it leads."""
        if done.render:
            self._rendering.wanted[visit.page] = visit
            self._frontier.ask_again(visit)
            return
        counts = run.counts
        not_modified = job.status == 304 and bool(job.previous)
        unchanged = not_modified or done.same
        original = originals.get(job.previous if not_modified else done.digest)
        if done.same and original is None and not job.dom:
            job.previous = ""  # the archive no longer has that payload: build whole records after all
            self._jobs[job.id] = (visit, result)
            self._pool.submit(job)
            raise _AgainError
        capture = NewCapture(
            record_id=done.record_id or warc.new_id(job.started_ms),
            url=job.url,
            captured_ms=job.started_ms,
            status=job.status,
            mime=done.mime,
            digest=job.previous if not_modified else done.digest,
            kind="response",
            version=not unchanged,
            warc_name="",
            offset=0,
            length=done.record_length,
            body_size=done.body_size,
            truncated=job.truncated,
            page_id=visit.page or None,
            crawl_id=visit.crawl,
            urlkey=done.urlkey,
        )
        first_seen = original is not None and not visit.digest and visit.role == Role.REQUISITE
        if not visit.page or first_seen:  # nobody knows its last version; a browser may have brought it
            capture.version = self._ledger.is_news(capture)
        kept = not done.noarchive and done.digest != ""
        stored = 0
        repeats = unchanged or (done.body_size and not job.truncated and not job.filed)
        if kept and original is not None and repeats:
            records = warc.revisit_records(
                job.url,
                job.started_ms,
                job.ip,
                job.protocol,
                job.request_head,
                job.response_head,
                original,
                done.body_size,
                not_modified,
            )
            capture.kind = "revisit"
            capture.record_id = records.main.record_id
            capture.length = records.main.length
            capture.refers_to = original.record_id
            self._ledger.keep(capture, records.data)
            stored = records.size
            if original.url != job.url and not unchanged and visit.page and not job.dom:
                done.notes.append(f"duplicate: the same bytes as {original.url[:200]}")
        elif kept and (done.data or done.path):
            self._ledger.keep(capture, done.data or Path(done.path))
            stored = done.size
        stored += sum(self._attach(attached, capture) for attached in done.attached)
        if kept and job.dom and done.same and (shown := originals.get(job.previous)) is not None:
            stored += self._ledger.repeat(capture, shown, len(job.dom))
        if done.path:
            Path(done.path).unlink(missing_ok=True)
        self._mark_dirty()
        counts.stored_bytes += stored
        counts.bytes += done.body_size
        if stored:
            counts.captures += 1
        if not visit.page:
            run.outstanding -= 1
            return

        if unchanged:
            counts.unchanged += 1
        elif stored:
            counts.versions += 1
        if done.difference is not None:
            capture.importance = min(1.0, done.difference.total)
        if visit.digest and visit.role == Role.PAGE:
            self._sites.learn(job, done, unchanged)
        self._follow(job, done, visit, run)
        self._settle_answered(job, done, visit, result, run, unchanged)
        if run.standing and self._scheduler is not None:
            self._tell_scheduler(job, done, visit, result, capture, stored, unchanged)
        if done.edges is not None:
            self._ledger.link(visit.key, done.edges)
        if done.document is not None and not unchanged:
            self._ledger.index(done.document, visit.versions)
        elif visit.versions and (job.status in (404, 410) or done.noindex):
            self._ledger.unindex(visit.key)

    def _attach(self, attached: Attached, capture: NewCapture) -> int:
        """Keep what a browser made of a capture: a row of its own with the same time."""
        row = NewCapture(
            record_id=attached.record_id,
            url=attached.url,
            captured_ms=capture.captured_ms,
            status=0,
            mime=attached.mime,
            digest=attached.digest,
            kind="resource",
            version=True,
            warc_name="",
            offset=0,
            length=len(attached.data),
            body_size=attached.body_size,
            page_id=capture.page_id,
            crawl_id=capture.crawl_id,
        )
        self._ledger.keep(row, attached.data)
        return len(attached.data)

    def _tell_scheduler(
        self, job: Job, done: Ingested, visit: Visit, result: Result, capture: NewCapture, stored: int, unchanged: bool
    ) -> None:
        assert self._scheduler is not None
        self._scheduler.observed(
            Seen(
                crawl=visit.crawl,
                key=visit.key,
                page=visit.page,
                host=visit.host,
                url=visit.url,
                role=visit.role,
                at_ms=self._scheduler.now_ms,
                status=job.status,
                first=not visit.digest,
                changed=not unchanged,
                not_modified=job.status == 304,
                bytes=done.body_size if job.status != 304 else 0,
                stored=stored,
                cost_ms=int(result.elapsed * 1000),
                record_id=capture.record_id if stored else None,
                difference=done.difference,
                listing=done.listing,
                title=done.document.title if done.document is not None else "",
            )
        )

    def _follow(self, job: Job, done: Ingested, visit: Visit, run: Run) -> None:
        found = done.found
        trap = self._same_text.met(visit.host, visit.url, done.fingerprint)
        if trap and found:
            done.notes.append(trap)
            found = []
        if done.redirect is not None:
            self._follow_redirect(done, visit, run)
        if done.outside:
            done.notes.append(f"out-of-scope: redirects to {done.outside}")
        for note in done.notes:
            code = _code(note)
            run.counts.reasons[code] = run.counts.reasons.get(code, 0) + 1
        if found and run.standing and self._scheduler is not None:
            found = self._scheduler.pace(found, time.time())
        if found and self._frontier.add(found):
            self._mark_dirty()

    def _follow_redirect(self, done: Ingested, visit: Visit, run: Run) -> None:
        target = done.redirect
        assert target is not None
        self._redirects[visit.key] = target.key
        if len(self._redirects) > 10_000:
            self._redirects.popitem(last=False)
        step: int | None = target.key
        for _ in range(self._config.max_redirects + 1):
            if step == visit.key:
                done.notes.append(f"redirect-loop: leads back to itself by {target.url[:200]}")
                return
            step = self._redirects.get(step) if step is not None else None
        if target.redirects > self._config.max_redirects:
            done.notes.append(f"too-many-redirects: more than {self._config.max_redirects} in a row")
            return
        if visit.depth == 0 and visit.role == Role.PAGE:
            self._widen(run, target.url)
        self._frontier.add([target])

    def _widen(self, run: Run, url: str) -> None:
        """Where a seed leads belongs to the crawl as if it had been named."""
        scope = run.options.scope
        if url in scope.seeds or urls.ScopeMatcher(scope).refusal(url, 0) is None:
            return
        run.options = msgspec.structs.replace(
            run.options, scope=msgspec.structs.replace(scope, seeds=(*scope.seeds, url))
        )
        services.save_options(run.id, run.options)
        self._pool.learn(Rules(run.id, run.options, self._agent, self._config.most_depth))

    # what becomes of a page

    def _settle_answered(
        self, job: Job, done: Ingested, visit: Visit, result: Result, run: Run, unchanged: bool
    ) -> None:
        now_ms = job.started_ms
        run.counts.pages += 1
        reason = "; ".join(done.notes)
        failed = ""
        state = DONE
        if done.noarchive:
            state, failed, reason = EXCLUDED, "noarchive", "noarchive: the page asks not to be archived"
        elif job.status in PASSING:
            state, failed = FAILED, f"http-{job.status}"
            reason = f"http-{job.status} after {visit.attempts + 1} tries"
        elif job.status >= 400:
            code = f"http-{job.status}"
            run.counts.reasons[code] = run.counts.reasons.get(code, 0) + 1
            reason = f"{code}; {reason}" if reason else code
        elif result.failure:
            reason = f"{_failure_text(result)}; {reason}"
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
        self._write_outcome(visit, outcome, failed)

    def _settle(
        self, visit: Visit, state: int, code: str, reason: str, due_ms: int = 0, attempts: int | None = None
    ) -> None:
        """A page that gave no capture: excluded, failed, or to be tried later."""
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
        self._write_outcome(visit, outcome, code)
        if state != QUEUED and self._scheduler is not None and self.runs[visit.crawl].standing:
            self._scheduler.failed(visit.crawl, visit.key, visit.url, reason, unanswered=state == FAILED)

    def _write_outcome(self, visit: Visit, outcome: Outcome, code: str) -> None:
        run = self.runs[visit.crawl]
        run.outstanding -= 1
        run.touched = True
        if outcome.state == QUEUED:
            run.leased -= 1
        if outcome.state == FAILED:
            run.counts.failed += 1
        elif outcome.state == EXCLUDED:
            run.counts.excluded += 1
        if code:
            run.counts.reasons[code] = run.counts.reasons.get(code, 0) + 1
        if outcome.reason and outcome.state != DONE:
            self._troubles.append(Trouble(int(time.time() * 1000), visit.url, outcome.reason[:300]))
            del self._troubles[:-TROUBLES_REMEMBERED]
        self._frontier.settle(visit, outcome)
        self._mark_dirty()

    # commits

    def _mark_dirty(self) -> None:
        if not self._dirty:
            self._dirty = True
            self._commit_due = time.monotonic() + self._config.commit_seconds

    def _commit(self) -> None:
        for run in self._counted():
            self._measure(run)
        self._ledger.commit(self._write_rest)
        self._count_reasons(self._frontier.gave_up, failed=True)
        self._count_reasons(self._frontier.refused, failed=False)
        self._dirty = False
        self._ledger.commit_index()

    def _count_reasons(self, tally: Counter[tuple[int, str]], failed: bool) -> None:
        """What the frontier decided by itself, added to the crawls' counts."""
        for (crawl, reason), count in tally.items():
            if crawl in self.runs and count:
                counts = self.runs[crawl].counts
                counts.failed += count if failed else 0
                counts.reasons[_code(reason)] = counts.reasons.get(_code(reason), 0) + count
        tally.clear()

    def _write_rest(self) -> None:
        self._gate.write()
        self._sites.write()
        for run in self._counted():
            services.save_counts(run.id, run.counts)
            run.touched = False
        if self._scheduler is not None:
            self._scheduler.write()

    def _counted(self) -> list[Run]:
        """Runs whose counts are worth writing: there may be thousands of standing ones, asleep."""
        return [run for run in self.runs.values() if run.touched or not run.standing]

    def _measure(self, run: Run) -> None:
        counts = run.counts
        counts.seconds = round(time.monotonic() - run.since, 3)
        counts.cpu_seconds = round(self.cpu_seconds() - run.cpu_before, 3)
        counts.pages_per_second = round(counts.pages / counts.seconds, 2) if counts.seconds else 0.0
        counts.max_rss_bytes = self.peak_bytes()
        counts.queued = self._frontier.queued.get(run.id, 0)

    def cpu_seconds(self) -> float:
        return usage.own_cpu_seconds() + self._pool.cpu_seconds()

    def peak_bytes(self) -> int:
        return usage.own_peak_bytes() + self._pool.peak_bytes()

    # orders from outside

    def _look(self) -> None:
        """About four times a second: new crawls, crawls to stop, crawls that are done; tell the world."""
        moment = time.monotonic()
        self._look_due = moment + LONGEST_PAUSE
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
        if self._scheduler is not None:
            self._watch(self._scheduler)
        self._pool.check(moment)
        busy = self._fetcher.active or self._jobs or any(count > 0 for count in self._frontier.queued.values())
        if self._refresher.look(idle=not busy):
            self._mark_dirty()
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
        if changed and self._scheduler is not None:
            self._scheduler.refresh_sites()

    def _is_complete(self, run: Run) -> bool:
        return not run.standing and self._frontier.queued.get(run.id, 0) <= 0

    def _watch(self, scheduler: "Guarded") -> None:
        """Queue the pages of subscriptions that are due."""
        if scheduler.changed():
            scheduler.refresh()
            for run in [run for run in self.runs.values() if run.standing]:
                options = services.current_options(run.id)
                if options != run.options:
                    run.options = options
                    self._pool.learn(Rules(run.id, options, self._agent, self._config.most_depth))
        new, again = scheduler.due(scheduler.now_ms / 1000, self.runs.keys())
        for run in self.runs.values():
            run.closed_until = scheduler.closed.get(run.id, 0.0)
        self._frontier.add(new)
        self._frontier.requeue(again)
        if new or again or scheduler.unwritten:
            self._mark_dirty()

    def _watch_troubles(self) -> list[Trouble]:
        if self._scheduler is None:
            return []
        now = self._scheduler.now_ms
        found = [
            Trouble(now, "", f"subscription {number} is not watched ({reason}); `hemeroteca watch show {number}`")
            for number, reason in list(self._scheduler.faults.items())[:10]
        ]
        if self._scheduler.trouble:
            found.append(Trouble(self._scheduler.trouble_ms, "", self._scheduler.trouble))
        return found

    def _open(self, crawl: Crawl) -> None:
        options = services.options_of(crawl)
        run = Run(crawl.pk, options, Counts(), cpu_before=self.cpu_seconds())
        if not self.runs and not self.ended and self._only is not None:
            run.cpu_before = 0.0  # the process exists for this crawl: its start-up counts
        self.runs[run.id] = run
        if run.options.concurrency:
            self._share_requests()
        services.mark_started(crawl.pk)
        self._pool.learn(Rules(run.id, options, self._agent, self._config.most_depth))
        self._frontier.open_crawl(run.id)
        seeds = [Found(urls.key(seed), seed, urls.host(seed), run.id) for seed in crawl.seeds]
        self._frontier.add(seeds)
        self._dirty = True
        self._commit()

    def _end(self, run: Run, state: Crawl.State, reason: str) -> None:
        self._commit()
        self._ledger.commit_index(now=True)
        self._measure(run)
        services.mark_ended(run.id, state, reason, run.counts)
        self._frontier.close_crawl(run.id)
        self._pool.forget(run.id)
        self._rendering.forget(run.id)
        self._fetcher.forget_cookies(f"crawl-{run.id}")
        del self.runs[run.id]
        if run.options.concurrency:
            self._share_requests()
        self.ended[run.id] = run
        if len(self.ended) > 100:
            self.ended.pop(next(iter(self.ended)))

    def _tell(self) -> None:
        now = time.time()
        pages = sum(run.counts.pages for run in (*self.runs.values(), *self.ended.values()))
        self._pace = [*(entry for entry in self._pace if now - entry[0] <= 5.0), (now, pages)]
        span = now - self._pace[0][0]
        write_engine_status(
            self._instance,
            EngineStatus(
                pid=os.getpid(),
                started_ms=int(self._started * 1000),
                updated_ms=int(now * 1000),
                pages_per_second=round((pages - self._pace[0][1]) / span, 1) if span > 0.5 else 0.0,
                active=self.active,
                reading=len(self._jobs),
                queued=sum(self._frontier.queued.values()),
                crawls=list(self.runs),
                rss_bytes=self.peak_bytes(),
                cpu_seconds=round(self.cpu_seconds(), 1),
                troubles=self._troubles[-50:] + self._watch_troubles(),
            ),
        )

    # the end

    def _drain(self) -> None:
        """Stop leasing; give requests under way a few seconds; keep everything that came back."""
        until = time.monotonic() + 10.0
        for run in self.runs.values():
            run.stopping = run.stopping or self._stop
        while (self._fetcher.active or self._jobs) and time.monotonic() < until:
            for key, mask in self._selector.select(0.1):
                key.data(key.fd, mask)
            self._fetcher.tick()
            if self._answers:
                self._take_answers()
        for run in list(self.runs.values()):
            if self._only is None:
                self._commit()  # stays running: the next engine goes on with it
            else:
                self._end(run, Crawl.State.STOPPED, run.stopping)

    def _close(self, close_ledger: Callable[[], None]) -> None:
        self._rendering.close()
        self._fetcher.close()
        self._pool.close()
        self._refresher.close()
        close_ledger()
        if self._scheduler is not None:
            self._scheduler.close()
        self._selector.close()
        write_engine_status(self._instance, None)


class _AgainError(Exception):
    """The job was sent to a reader once more."""


def _scheduler(config: Config, instance: Instance, clock: Callable[[], float]) -> "Guarded":
    from hemeroteca.watch.guard import Guarded  # only here: one crawl alone needs neither planner nor comparisons

    return Guarded(config, instance.data, clock)


def _robots_visit(origin: str, url: str, host: int, crawl: int) -> Visit:
    return Visit(0, urls.key(url), url, host, crawl, 0, 0, Role.PAGE, 0, "", "", "", 0, robots_for=origin)


def _failure_text(result: Result) -> str:
    if result.failure:
        return f"{result.failure}: {result.detail}" if result.detail else result.failure
    return f"http-{result.status}"


def _code(note: str) -> str:
    return note.partition(":")[0].partition(";")[0].strip()[:60]


def _origin(url: str) -> str:
    """Of a canonical URL, without parsing it."""
    return url[: url.index("/", 8)]


def _path(url: str) -> str:
    return "/" + url.split("/", 3)[3] if url.count("/") >= 3 else "/"

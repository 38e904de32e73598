"""Visits: leased from the frontier, fetched by libcurl or a browser, then kept, tried later or given up."""

import time
from collections.abc import Callable

from hemeroteca import urls
from hemeroteca.config import Config
from hemeroteca.engine import reasons
from hemeroteca.engine.admission import Admission
from hemeroteca.engine.browsing import Browsing
from hemeroteca.engine.host_waits import HostWaits
from hemeroteca.engine.intake import Intake
from hemeroteca.engine.page_outcomes import FAILED, QUEUED, PageOutcomes
from hemeroteca.engine.rendering import PageRules, Rendering
from hemeroteca.engine.robots_fetching import RobotsFetching, robots_visit
from hemeroteca.engine.robots_rules import MOST_BYTES, RobotsRules
from hemeroteca.engine.runs import Run
from hemeroteca.fetch import Fetcher, Request, Result
from hemeroteca.fetch.browser import Rendered
from hemeroteca.frontier import politeness
from hemeroteca.frontier.queue import Frontier
from hemeroteca.frontier.traps import SameText
from hemeroteca.frontier.values import Visit
from hemeroteca.ingest.rules import AGENT

MOST_REFUSALS = 6  # tries of a page whose host says it is busy
LEASES_AT_ONCE = 256
BROWSER_PAUSE = 1.0  # s a host waits when the browser has enough to do


class Visits:
    """`changed`: something must be written soon."""

    def __init__(
        self,
        config: Config,
        runs: dict[int, Run],
        frontier: Frontier,
        fetcher: Fetcher,
        rendering: Rendering,
        reading: Intake,
        page_outcomes: PageOutcomes,
        robots_rules: RobotsRules,
        same_text: SameText,
        changed: Callable[[], None],
    ) -> None:
        self._config = config
        self._most = config.concurrency
        self._runs = runs
        self._frontier = frontier
        self._fetcher = fetcher
        self._rendering = rendering
        self._reading = reading
        self._page_outcomes = page_outcomes
        self._changed = changed
        self._host_waits = HostWaits(config, runs, frontier, robots_rules)
        self._robots_fetching = RobotsFetching(
            config, runs, frontier, robots_rules, self._host_waits, reading, self._give_up, changed
        )
        self._admission = Admission(frontier, robots_rules, same_text, page_outcomes, self._ask_rules, changed)
        page_rules = PageRules(robots_rules, fetcher.submit, AGENT, self._keep_rules)
        self._browsing = Browsing(
            config, runs, frontier, rendering, reading, page_outcomes, self._host_waits, page_rules, self._answered
        )

    @property
    def has_room(self) -> bool:
        return self._fetcher.active < self._most and self._reading.has_room

    def share(self) -> None:
        """How many requests may be under way at once; asked when a crawl with a wish of its own begins or ends."""
        asked = [run.options.concurrency for run in self._runs.values() if run.options.concurrency]
        self._most = max(asked) if asked else self._config.concurrency

    def lease(self, now: float) -> None:
        """Begin as many visits as there is room for and politeness allows."""
        for _ in range(LEASES_AT_ONCE):  # pages that are excluded unasked must not hold up those under way
            if not self.has_room:
                return
            visit = self._frontier.lease(now)
            if visit is None:
                return
            if visit.robots_for:
                self._fetch(visit, MOST_BYTES)
                continue
            run = self._runs.get(visit.crawl)
            wanted = visit.page in self._rendering.wanted
            needs_browser = self._browsing.needs(visit)
            if needs_browser and not self._rendering.room:
                (self._frontier.ask_again if wanted else self._frontier.put_back)(visit)
                self._frontier.rest(visit.host, now + BROWSER_PAUSE)
                continue
            if wanted and run is not None:
                self._browsing.render_wanted(visit, self._request(visit, run), run)
                continue
            if run is None or run.stopping or run.at_its_limit():
                self._frontier.put_back(visit)
                self._frontier.host(visit.host).busy = False  # not scheduled again: its crawl is ending
                continue
            run.outstanding += 1
            if self._admission.admit(visit, run, now):
                run.leased += 1
                if needs_browser:
                    self._browsing.render(visit, self._request(visit, run), run)
                else:
                    self._fetch(visit)

    def _ask_rules(self, origin: str, visit: Visit) -> None:
        self._fetch(self._robots_fetching.begin(origin, visit), MOST_BYTES)

    def _fetch(self, visit: Visit, max_body_bytes: int = 0) -> None:
        run = self._runs.get(visit.crawl)
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
            self._robots_fetching.fetched(visit, result)
        else:
            self._answered(visit, result, self._runs[visit.crawl])

    def _answered(self, visit: Visit, result: Result, run: Run, rendered: Rendered | None = None) -> None:
        """The host is free again; the page is kept, tried later or given up."""
        run.received += result.body.size
        host = self._frontier.host(visit.host)
        now = time.time()
        unanswered = bool(result.failure) and not result.status
        busy = result.status in reasons.BUSY
        wait = self._host_waits.after(visit, result, run, host, now)
        note = (f"http-{result.status}" if busy else result.failure) if unanswered or busy else ""
        self._frontier.release(visit.host, now + wait, delay=wait, failed=unanswered or busy, note=note)

        tries = MOST_REFUSALS if busy else self._config.retries + 1
        cut_short = bool(result.failure) and bool(result.status)
        passing = (
            (unanswered and result.transient) or result.status in reasons.PASSING or _only_set_a_cookie(visit, result)
        )
        if cut_short and result.transient and result.truncated != "time":
            passing = True
        if passing and visit.attempts + 1 < tries:
            later = now + max(wait, self._config.retry_seconds * 2.0**visit.attempts)
            why = reasons.failure_text(result)
            self._page_outcomes.without_capture(
                visit, QUEUED, "", why, due_ms=int(later * 1000), attempts=visit.attempts + 1
            )
            result.body.discard()
        elif unanswered:
            why = reasons.failure_text(result)
            self._page_outcomes.without_capture(visit, FAILED, result.failure, why, attempts=visit.attempts + 1)
            result.body.discard()
        else:
            self._reading.submit(visit, result, run, rendered)
        if unanswered and host.failures >= politeness.UNREACHABLE_AFTER:
            self._give_up(host.id, f"host-unreachable: {host.failures} failures in a row, last {result.failure}")
            self._changed()

    def _keep_rules(self, url: str, page: Visit, result: Result) -> None:
        """Archive a robots.txt that a page waited for."""
        self._reading.submit(robots_visit("", url, page.host, page.crawl), result, self._runs.get(page.crawl))
        self._changed()

    def _give_up(self, host: int, reason: str) -> None:
        self._frontier.give_up(host, reason)
        self._browsing.give_up(host, reasons.code(reason), reason)


def _only_set_a_cookie(visit: Visit, result: Result) -> bool:
    """A redirect to the page itself that gives a cookie: the page is there for whoever brings it."""
    if not 300 <= result.status < 400 or visit.attempts or not result.header("set-cookie"):
        return False
    location = result.header("location")
    return bool(location) and urls.resolve_links(visit.url, [location])[0] == visit.url

"""Visits by browser: which pages go to it, and what is made of what it brings back or of its failure."""

import time
from collections.abc import Callable

from hemeroteca.config import Config
from hemeroteca.engine.host_waits import HostWaits
from hemeroteca.engine.page_outcomes import FAILED, QUEUED, PageOutcomes
from hemeroteca.engine.reading import Reading
from hemeroteca.engine.rendering import BROWSER_TROUBLES, PageRules, Rendering, is_met, requisites
from hemeroteca.engine.runs import Run
from hemeroteca.fetch import Request, Result
from hemeroteca.fetch.browser import Rendered
from hemeroteca.frontier.queue import Frontier
from hemeroteca.frontier.values import Visit
from hemeroteca.urls.candidate import Role

Answered = Callable[[Visit, Result, Run, Rendered], None]


class Browsing:
    """`page_rules`: what robots.txt lets a page load. `answered`: take a page the browser brought."""

    def __init__(
        self,
        config: Config,
        runs: dict[int, Run],
        frontier: Frontier,
        rendering: Rendering,
        reading: Reading,
        page_outcomes: PageOutcomes,
        waits: HostWaits,
        page_rules: PageRules,
        answered: Answered,
    ) -> None:
        self._retries = config.retries
        self._retry_seconds = config.retry_seconds
        self._runs = runs
        self._frontier = frontier
        self._rendering = rendering
        self._reading = reading
        self._page_outcomes = page_outcomes
        self._host_waits = waits
        self._page_rules = page_rules
        self._answered = answered

    def needs(self, visit: Visit) -> bool:
        """Whether a visit is one for the browser."""
        if visit.page in self._rendering.wanted:
            return True
        always = self._frontier.host(visit.host).settings.render == "always"
        return always and visit.role == Role.PAGE and not visit.robots_for

    def render_wanted(self, visit: Visit, request: Request, run: Run) -> None:
        """A page that was read and needs the browser; it was counted when it was leased for that."""
        del self._rendering.wanted[visit.page]
        if run.stopping and not run.stopping.startswith("limit"):
            self._frontier.release_unasked(visit.host)
            self._page_outcomes.without_capture(visit, QUEUED, "", "")
        else:
            self.render(visit, request, run)

    def render(self, visit: Visit, request: Request, run: Run) -> None:
        """Open a page in the browser; its host stays busy meanwhile."""
        if reason := self._rendering.missing():
            self._frontier.release_unasked(visit.host)
            self._page_outcomes.without_capture(visit, FAILED, "browser-missing", f"browser-missing: {reason}")
            return

        def allowed(url: str, answer: Callable[[bool], None]) -> None:
            self._page_rules.ask(url, request, answer)

        free = run.options.ignore_robots or self._frontier.host(visit.host).settings.ignore_robots
        self._rendering.submit(request, self._rendered, None if free else allowed)

    def give_up(self, host: int, code: str, reason: str) -> None:
        """Fail what waits for the browser of a host that does not answer."""
        for visit in [visit for visit in self._rendering.wanted.values() if visit.host == host]:
            del self._rendering.wanted[visit.page]
            self._page_outcomes.without_capture(visit, FAILED, code, reason)

    def _rendered(self, rendered: Rendered) -> None:
        visit: Visit = rendered.request.tag
        run = self._runs.get(visit.crawl)
        if run is None:
            rendered.discard()
            return
        for part, exchange in self._requisites(rendered, visit):
            self._reading.submit(part, exchange, run)
        again = rendered.transient and visit.attempts < self._retries
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
        wait = self._host_waits.after(visit, rendered.main, run, host, now)
        self._frontier.release(visit.host, now + wait, delay=wait, failed=False)
        reason = f"{rendered.failure}: {rendered.detail}" if rendered.detail else rendered.failure
        if rendered.transient and visit.attempts < self._retries:
            later = now + max(wait, self._retry_seconds * 2.0**visit.attempts)
            self._page_outcomes.without_capture(
                visit, QUEUED, "", reason, due_ms=int(later * 1000), attempts=visit.attempts + 1
            )
        elif host.settings.render == "always":
            self._page_outcomes.without_capture(visit, FAILED, rendered.failure, reason, attempts=visit.attempts + 1)
        else:  # what came without a browser is better than nothing
            self._rendering.gave_up[visit.page] = reason
            later = int((now + wait) * 1000)
            self._page_outcomes.without_capture(visit, QUEUED, "", reason, due_ms=later, attempts=visit.attempts)

"""Visits by browser: which pages go to it, and what is made of what it brings back or of its failure."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from hemeroteca.engine.rendering import BROWSER_TROUBLES, PageRules, is_met, requisites
from hemeroteca.engine.robots_visits import robots_visit
from hemeroteca.engine.runs import Run
from hemeroteca.fetch import Result
from hemeroteca.fetch.browser import Rendered
from hemeroteca.frontier.visit import State, Visit
from hemeroteca.urls.candidate import UrlRole

if TYPE_CHECKING:
    from hemeroteca.engine.loop import Engine


class BrowserVisits:
    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._retry_seconds = engine.config.retry_seconds
        self._page_rules = PageRules(engine.robots, engine.fetcher.submit, engine.config.robots_token, self._keep_rules)

    def is_for_browser(self, visit: Visit) -> bool:
        """Whether its site wants all its pages opened in a browser."""
        return visit.role == UrlRole.PAGE and self._engine.frontier.host(visit.host).settings.render == "always"

    def render_read(self, visit: Visit, run: Run) -> None:
        """A page that was read and needs the browser."""
        if run.is_over:
            if visit.lease is not None:
                visit.lease.give_back(visit)
        else:
            self.render(visit, run)

    def render(self, visit: Visit, run: Run) -> None:
        """Open a page in the browser; its host stays held meanwhile."""
        engine = self._engine
        if reason := engine.rendering.missing():
            engine.visits.fail(visit, f"browser-missing: {reason}")
            return
        request = engine.visits.request(visit, run)

        free = run.options.ignore_robots or engine.frontier.host(visit.host).settings.ignore_robots

        def allowed(url: str, answer: Callable[[bool], None]) -> None:
            if engine.takedowns.refusal(url):
                answer(False)
            elif free:
                answer(True)
            else:
                self._page_rules.ask(url, request, answer)

        unasked = free and not engine.takedowns
        engine.rendering.submit(request, self._rendered, None if unasked else allowed)

    def _rendered(self, rendered: Rendered) -> None:
        visit: Visit = rendered.request.tag
        run = self._engine.runs.get(visit.crawl)
        if run is None or visit.lease is None:
            rendered.discard()
            return
        for part, exchange in self._requisites(rendered, visit):
            self._engine.intake.submit(part, exchange, run)
        again = rendered.transient and not visit.lease.is_last_try(visit)
        if rendered.failure in BROWSER_TROUBLES and (again or not rendered.main.status):
            self._not_rendered(visit, rendered, run)
            rendered.main.body.discard()
        else:
            self._engine.visits.answered(visit, rendered.main, rendered)
        rendered.screenshot.discard()
        rendered.dom.discard()

    def _requisites(self, rendered: Rendered, visit: Visit) -> list[tuple[Visit, Result]]:
        kept, notes = requisites(rendered, visit)
        rendered.notes += notes
        self._engine.frontier.meet(visit.crawl, [part.key for part, exchange in kept if is_met(exchange)])
        return kept

    def _not_rendered(self, visit: Visit, rendered: Rendered, run: Run) -> None:
        """The browser failed; the page is tried again, without the browser in the end."""
        engine, lease = self._engine, visit.lease
        assert lease is not None
        now = time.time()
        wait = engine.visits.wait_after(visit, rendered.main, run, now)
        lease.answered(visit, now + wait, wait)
        reason = f"{rendered.failure}: {rendered.detail}" if rendered.detail else rendered.failure
        if rendered.transient and not lease.is_last_try(visit):
            lease.retry(visit, now + max(wait, self._retry_seconds * 2.0**visit.attempts), reason)
            engine.visits.note(visit, State.QUEUED, reason)
        elif engine.frontier.host(visit.host).settings.render == "always":
            engine.visits.fail(visit, reason)
        else:  # what came without a browser is better than nothing
            engine.rendering.gave_up[visit.page] = reason
            lease.give_back(visit, due=now + wait, reason=reason)
            engine.visits.note(visit, State.QUEUED, reason)

    def _keep_rules(self, url: str, page: Visit, result: Result) -> None:
        """Archive a robots.txt that a page waited for."""
        rules = robots_visit("", url, page.crawl)
        rules.host = page.host
        self._engine.intake.submit(rules, result, self._engine.runs.get(page.crawl))

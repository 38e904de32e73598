"""robots.txt on its way: asked for before the first page of an origin, followed where it leads, kept by
`frontier.robots`.

The visit that waits for the rules keeps its lease, and with it its host, until they are known.
"""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hemeroteca import urls
from hemeroteca.engine.reason_codes import BUSY, PASSING
from hemeroteca.fetch import Result
from hemeroteca.frontier import politeness
from hemeroteca.frontier.robots import MAX_BYTES, MAX_REDIRECTS
from hemeroteca.frontier.visit import Visit
from hemeroteca.urls.candidate import UrlRole
from hemeroteca.urls.robots_txt import Robots

if TYPE_CHECKING:
    from hemeroteca.engine.loop import Engine

MAX_HELD = 60.0  # s that a visit is kept for rules whose host asks for time


@dataclass
class Fetch:
    """A robots.txt on its way."""

    origin: str
    visit: Visit  # that waits for it
    redirects: int = 0
    attempts: int = 0
    asked: float = 0.0  # when the waiting host last answered …
    took: float = 0.0  # … and how long that took
    rest: float = 0.0  # it asked to be left alone so long


class RobotsFiles:
    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._retries = engine.config.retries
        self._retry_seconds = engine.config.retry_seconds
        self._under_way: dict[str, Fetch] = {}

    def ask(self, origin: str, visit: Visit) -> None:
        """Fetch the rules a leased visit needs, in its stead."""
        self._under_way[origin] = Fetch(origin, visit)
        errand = robots_visit(origin, origin + "/robots.txt", visit.crawl)
        errand.host = visit.host
        self._engine.visits.fetch(errand, MAX_BYTES)

    def fetched(self, errand: Visit, result: Result) -> None:
        engine, fetch = self._engine, self._under_way[errand.robots_for]
        now = time.time()
        own = errand.host == fetch.visit.host
        if own:
            fetch.asked, fetch.took = now, result.elapsed
        wait = engine.visits.plain_wait(errand.host, errand.crawl, result.elapsed)
        if result.status in BUSY:
            fetch.rest = politeness.retry_after(result.header("retry-after"), now) or 0.0
            wait = max(wait, fetch.rest)
            if fetch.rest > MAX_HELD:
                self._put_off(fetch, errand, now, wait)
                engine.intake.submit(errand, result, engine.runs.get(errand.crawl))
                return
        follow = self._next(fetch, errand, result)
        if follow is not None and follow.url == errand.url:
            wait = max(wait, self._retry_seconds * 2.0 ** (fetch.attempts - 1))
        if errand.lease is not None:
            if not own or follow is not None:
                errand.lease.answered(errand, now + wait, wait, refused=not result.status, note=result.failure)
            errand.lease.done(errand)
        if follow is not None:
            host = urls.host(follow.url)
            waiting = fetch.visit.lease
            if waiting is not None and own and host == engine.frontier.host(errand.host).name:
                waiting.answered(fetch.visit, now + wait, wait, refused=not result.status, note=result.failure)
            engine.frontier.send(host, follow)
        else:
            self._learned(fetch, result, now)
        if result.status:
            engine.intake.submit(errand, result, engine.runs.get(errand.crawl))
        else:
            result.body.discard()

    def let_go(self, crawl: int) -> None:
        """A crawl is stopping: its visits that wait for a next try of the rules do not hold it up."""
        for fetch in list(self._under_way.values()):
            visit = fetch.visit
            if visit.crawl == crawl and visit.lease is not None and not visit.holds_host:
                visit.lease.give_back(visit)

    def forget(self, errand: Visit) -> Visit:
        """Its request was cut; gives the visit that waits for the rules."""
        return self._under_way.pop(errand.robots_for).visit

    def _put_off(self, fetch: Fetch, errand: Visit, now: float, wait: float) -> None:
        """The host asks for a long rest: nobody waits for it, the rules are asked for when the visit is due again."""
        del self._under_way[fetch.origin]
        for visit in (errand, fetch.visit):
            if visit.lease is not None:
                visit.lease.answered(visit, now + wait, wait, refused=True, note="http-503")
        if errand.lease is not None:
            errand.lease.done(errand)
        if fetch.visit.lease is not None:
            fetch.visit.lease.give_back(fetch.visit, due=now + wait)

    def _learned(self, fetch: Fetch, result: Result, now: float) -> None:
        """All is said: the visit that waited has its turn, or its origin is given up."""
        engine, visit = self._engine, fetch.visit
        del self._under_way[fetch.origin]
        rules = engine.robots.learn_from(fetch.origin, result, now)
        lease = visit.lease
        if lease is None:
            return
        wait = engine.visits.plain_wait(
            visit.host, visit.crawl, fetch.took, rules.crawl_delay(engine.config.robots_token)
        )
        wait = max(wait, fetch.rest)
        lease.answered(visit, fetch.asked + wait, wait, refused=not result.status, note=result.failure)
        if not rules.unreachable:
            lease.give_back(visit)
            return
        reason = why_unreachable(fetch.origin, rules)
        engine.visits.fail(visit, reason)
        engine.frontier.give_up(visit.host, reason, fetch.origin)

    def _next(self, fetch: Fetch, errand: Visit, result: Result) -> Visit | None:
        """Where to ask for the rules next: where a redirect leads, or the same place again; None when all is said."""
        if 300 <= result.status < 400 and fetch.redirects < MAX_REDIRECTS:
            target = urls.resolve_links(errand.url, [result.address("location")])[0]
            if target is not None:
                fetch.redirects += 1
                return robots_visit(fetch.origin, target, errand.crawl)
        passing = (not result.status and result.transient) or result.status in PASSING
        if passing and fetch.attempts < self._retries:
            fetch.attempts += 1
            return robots_visit(fetch.origin, errand.url, errand.crawl)
        return None


def why_unreachable(origin: str, rules: Robots) -> str:
    """For people: what is wrong with the host, or only with its robots.txt."""
    why = rules.unreachable
    return why if ":" in why else f"robots-unreachable: {origin}/robots.txt gives {why}"


def robots_visit(origin: str, url: str, crawl: int) -> Visit:
    """A visit of rules; `origin` is empty when they are only to be kept."""
    return Visit(key=urls.key(url), url=url, crawl=crawl, role=UrlRole.PAGE, robots_for=origin)

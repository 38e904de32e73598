"""robots.txt on its way: asked for before the first page of an origin, followed where it leads, kept by robots_rules.

The host that waits for its rules is kept busy until they are known.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from hemeroteca import urls
from hemeroteca.config import Config
from hemeroteca.engine.host_waits import HostWaits
from hemeroteca.engine.messages import AGENT
from hemeroteca.engine.reading import Reading
from hemeroteca.engine.reasons import PASSING, failure_text
from hemeroteca.engine.robots_rules import MOST_BYTES, MOST_REDIRECTS, RobotsRules, unreachable
from hemeroteca.engine.runs import Run
from hemeroteca.fetch import Result
from hemeroteca.frontier.queue import Frontier
from hemeroteca.frontier.values import Visit
from hemeroteca.urls.candidate import Role


@dataclass
class RobotsFetch:
    """A robots.txt on its way."""

    origin: str
    waiting: int  # host kept busy until the rules are known
    crawl: int
    redirects: int = 0
    attempts: int = 0
    asked: float = 0.0  # when the waiting host last answered …
    took: float = 0.0  # … and how long that took


class RobotsFetching:
    """`give_up`: fail all pages of a host, with the reason. `changed`: something must be written soon."""

    def __init__(
        self,
        config: Config,
        runs: dict[int, Run],
        frontier: Frontier,
        robots_rules: RobotsRules,
        waits: HostWaits,
        reading: Reading,
        give_up: Callable[[int, str], None],
        changed: Callable[[], None],
    ) -> None:
        self._retries = config.retries
        self._retry_seconds = config.retry_seconds
        self._runs = runs
        self._frontier = frontier
        self._robots_rules = robots_rules
        self._host_waits = waits
        self._reading = reading
        self._give_up = give_up
        self._changed = changed
        self._under_way: dict[str, RobotsFetch] = {}

    def begin(self, origin: str, visit: Visit) -> Visit:
        """The rules a visit needs are unknown: the visit to fetch instead."""
        self._under_way[origin] = RobotsFetch(origin, visit.host, visit.crawl)
        return robots_visit(origin, origin + "/robots.txt", visit.host, visit.crawl)

    def fetched(self, visit: Visit, result: Result) -> None:
        fetch = self._under_way[visit.robots_for]
        now = time.time()
        own = visit.host == fetch.waiting
        if own:
            fetch.asked, fetch.took = now, result.elapsed
        body = result.body.bytes(MOST_BYTES) if result.status else b""
        if result.status:
            self._reading.submit(visit, result, self._runs.get(visit.crawl))
        else:
            result.body.discard()
        wait = self._host_waits.plain(visit.host, visit.crawl, result.elapsed)

        follow = self._next(fetch, visit, result)
        if follow is not None:
            if follow.url == visit.url:
                wait = max(wait, self._retry_seconds * 2.0 ** (fetch.attempts - 1))
            # the host that waits for its rules stays busy while another host is asked for them
            if not own or urls.host(follow.url) == self._frontier.host(visit.host).name:
                self._frontier.release(visit.host, now + wait, delay=wait, failed=not result.status)
            self._frontier.insert(urls.host(follow.url), follow)
            return

        del self._under_way[visit.robots_for]
        status = 404 if 300 <= result.status < 400 else result.status  # redirects without end: there are no rules
        rules = self._robots_rules.learn(fetch.origin, status, body, now)
        self._changed()
        if not own:
            self._frontier.release(visit.host, now + wait, delay=wait, failed=not result.status)
        wait = self._host_waits.plain(fetch.waiting, fetch.crawl, fetch.took, rules.crawl_delay(AGENT))
        self._frontier.release(
            fetch.waiting, fetch.asked + wait, delay=wait, failed=not result.status, note=result.failure
        )
        if unreachable(status):
            why = f"http-{result.status}" if result.status else failure_text(result)
            self._give_up(fetch.waiting, f"robots-unreachable: {fetch.origin}/robots.txt gives {why}")

    def _next(self, fetch: RobotsFetch, visit: Visit, result: Result) -> Visit | None:
        """Where to ask for the rules next: where a redirect leads, or the same place again; None when all is said."""
        if 300 <= result.status < 400 and fetch.redirects < MOST_REDIRECTS:
            target = urls.resolve_links(visit.url, [result.header("location")])[0]
            if target is not None:
                fetch.redirects += 1
                return robots_visit(fetch.origin, target, 0, visit.crawl)
        passing = (not result.status and result.transient) or result.status in PASSING
        if passing and fetch.attempts < self._retries:
            fetch.attempts += 1
            return robots_visit(fetch.origin, visit.url, 0, visit.crawl)
        return None


def robots_visit(origin: str, url: str, host: int, crawl: int) -> Visit:
    """A visit of rules; `origin` is empty when they are only to be kept."""
    return Visit(0, urls.key(url), url, host, crawl, 0, 0, Role.PAGE, 0, "", "", "", 0, robots_for=origin)

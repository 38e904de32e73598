"""How long a host is left alone after an answer: what its site, its crawl, its robots.txt and the answer itself say."""

from hemeroteca.config import Config
from hemeroteca.engine.reasons import BUSY
from hemeroteca.engine.robots_rules import RobotsRules, origin_of
from hemeroteca.engine.runs import Run
from hemeroteca.fetch import Result
from hemeroteca.frontier import politeness
from hemeroteca.frontier.queue import Frontier, HostQueue
from hemeroteca.frontier.values import Visit
from hemeroteca.ingest.rules import AGENT


class HostWaits:
    def __init__(self, config: Config, runs: dict[int, Run], frontier: Frontier, robots_rules: RobotsRules) -> None:
        self._polite = politeness.Limits(config.delay, config.delay_factor, config.max_delay, config.max_crawl_delay)
        self._retry_seconds = config.retry_seconds
        self._runs = runs
        self._frontier = frontier
        self._robots_rules = robots_rules

    def after(self, visit: Visit, result: Result, run: Run, host: HostQueue, now: float) -> float:
        """Seconds after an answer to a visit, which may ask for more itself."""
        crawl_delay = None
        if not (run.options.ignore_robots or host.settings.ignore_robots):
            rules = self._robots_rules.rules(origin_of(visit.url), now)
            crawl_delay = rules.crawl_delay(AGENT) if rules else None
        wait = self.plain(visit.host, visit.crawl, result.elapsed, crawl_delay)
        if result.status in BUSY:
            asked = politeness.retry_after(result.header("retry-after"), now)
            return max(wait, politeness.backoff(host.failures + 1) if asked is None else asked)
        if result.failure and result.transient and not result.status:
            return max(wait, self._retry_seconds)
        return wait

    def plain(self, host_id: int, crawl: int, elapsed: float, crawl_delay: float | None = None) -> float:
        """Seconds after an answer that says nothing about waiting."""
        run = self._runs.get(crawl)
        site = self._frontier.host(host_id).settings
        fixed = site.delay if site.delay is not None else run.options.delay if run else None
        return politeness.delay_after(elapsed, self._polite, fixed=fixed, crawl_delay=crawl_delay)

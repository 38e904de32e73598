"""What the server saw of its visitors: a bounded log, per host, that tests read to judge a crawler's manners.

Gaps are measured here, at the server: a response ends here before it ends at the client, and a request starts here
after it started there, so a gap seen here is never shorter than the one the client kept.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MAX_HOSTS = 20_000
SAMPLES = 20


@dataclass(slots=True)
class HostLog:
    """One host's visitors. Gaps are seconds; None until there were two requests."""

    requests: int = 0
    active: int = 0
    max_active: int = 0  # requests under way at once
    connections: int = 0
    max_connections: int = 0
    min_gap: float | None = None  # from the end of a response to the start of the next request; 0 when they overlap
    min_start_gap: float | None = None  # from start to start
    robots_requests: int = 0
    before_robots: int = 0  # requests for anything else before robots.txt was asked for
    forbidden: int = 0  # requests for paths that robots.txt forbids
    forbidden_samples: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    last_start: float | None = None
    last_end: float | None = None


class PolitenessLog:
    """Counts by host and by URL; both are bounded, and what no longer fits is counted as dropped."""

    def __init__(self, clock: Callable[[], float], max_urls: int) -> None:
        self._clock = clock
        self._max_urls = max_urls
        self.hosts: dict[str, HostLog] = {}
        self.fetches: dict[str, int] = {}
        self.dropped_urls = 0
        self.dropped_hosts = 0
        self._overflow = HostLog()

    def host(self, name: str) -> HostLog:
        log = self.hosts.get(name)
        if log is None:
            if len(self.hosts) >= MAX_HOSTS:
                self.dropped_hosts += 1
                return self._overflow
            log = self.hosts[name] = HostLog()
        return log

    def start(self, name: str, target: str, forbidden: bool) -> HostLog:
        """A request has arrived. Returns the log to hand to `end`."""
        now = self._clock()
        log = self.host(name)
        log.requests += 1
        log.active += 1
        if log.active > log.max_active:
            log.max_active = log.active
        if log.last_start is not None:
            gap = 0.0 if log.active > 1 or log.last_end is None else now - log.last_end
            if log.min_gap is None or gap < log.min_gap:
                log.min_gap = gap
            start_gap = now - log.last_start
            if log.min_start_gap is None or start_gap < log.min_start_gap:
                log.min_start_gap = start_gap
        log.last_start = now
        if target == "/robots.txt":
            log.robots_requests += 1
        elif not log.robots_requests:
            log.before_robots += 1
        if forbidden:
            log.forbidden += 1
            if len(log.forbidden_samples) < SAMPLES:
                log.forbidden_samples.append(target[:200])
        url = f"http://{name}{target}"
        count = self.fetches.get(url)
        if count is not None:
            self.fetches[url] = count + 1
        elif len(self.fetches) < self._max_urls and len(url) <= 2000:
            self.fetches[url] = 1
        else:
            self.dropped_urls += 1
        return log

    def end(self, log: HostLog, status: int, at: float | None = None) -> None:
        """The last byte of a response was handed over (or its connection was lost).

        `at` is the moment just before it was: the client may have the byte, and be counting its pause, before the
        server gets to look at the clock again.
        """
        log.active -= 1
        log.last_end = self._clock() if at is None else at
        log.statuses[status] += 1

    def connected(self, log: HostLog) -> None:
        log.connections += 1
        log.max_connections = max(log.max_connections, log.connections)

    def reset(self) -> None:
        """Forget the past. Requests still under way end in the old logs; open connections are counted anew."""
        self.fetches.clear()
        self.hosts.clear()
        self.dropped_urls = self.dropped_hosts = 0

    def summary(self) -> dict[str, Any]:
        """All of it as JSON."""
        return {
            "hosts": {name: _host_json(log) for name, log in self.hosts.items()},
            "max_fetches": max((n for url, n in self.fetches.items() if not url.endswith("/robots.txt")), default=0),
            "urls": len(self.fetches),
            "dropped_urls": self.dropped_urls,
            "dropped_hosts": self.dropped_hosts,
        }


def _host_json(log: HostLog) -> dict[str, Any]:
    names = (
        "requests active max_active connections max_connections min_gap min_start_gap robots_requests before_robots"
        " forbidden forbidden_samples"
    )
    record = {name: getattr(log, name) for name in names.split()}
    record["statuses"] = {str(status): count for status, count in sorted(log.statuses.items())}
    return record

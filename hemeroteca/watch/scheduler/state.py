"""What the scheduler holds in memory: subscriptions at work, pages under watch, the clock they are judged by."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from hemeroteca import urls
from hemeroteca.config import Config
from hemeroteca.watch.budgets import Purse
from hemeroteca.watch.records import Records
from hemeroteca.watch.rules import PolicyPages
from hemeroteca.watch.scheduler.underway import UnderWay
from hemeroteca.watch.windows import Window, any_open, next_open

HOST_QUEUE = 50  # watched pages of a host that wait at a time
WORTH = 0.4  # chance of a change from which a visit pays when no budget decides


@dataclass
class Sub:
    """A subscription at work."""

    id: int
    crawl: int
    mode: str
    fixed_hours: float
    min_ms: float
    max_ms: float
    weight: float
    windows: list[Window]
    country: str
    collection: int | None
    seeds: list[int]
    matcher: urls.ScopeMatcher
    purse: Purse
    key: tuple[object, ...]  # what must not change without loading its pages again
    policy: PolicyPages | None = None  # None: the planner
    failures: int = 0
    failing_since_ms: int = 0
    is_open: bool = True
    discovered_until: float = 0.0  # newcomers have been given times up to here
    newcomers: int = 0
    newcomers_at: float = 0.0


class Watched(msgspec.Struct, gc=False):
    """A page under watch."""

    sub: int
    site: str
    last_ms: int
    poll: float = 0.0  # hours between readings of a feed or sitemap; 0: an ordinary page
    retry_at: float = 0.0  # not before, after visits without an answer
    failures: int = 0
    visits: int = 1
    wait: float = 0.0  # ms until a visit was last thought to be worth it; 0: not known yet


class Allowed(Protocol):
    """Whether a page may be visited now at all."""

    def __call__(self, key: int, now: float, told: bool = False) -> bool: ...


class State:
    """Shared by the parts of the scheduler; each of them says what else it keeps."""

    def __init__(self, config: Config, data: Path, clock: Callable[[], float]) -> None:
        self.config = config
        self.data = data
        self.clock = clock
        self.now = clock()  # as of the last look
        self.subs: dict[int, Sub] = {}
        self.by_crawl: dict[int, Sub] = {}
        self.pages: dict[int, Watched] = {}
        self.polled: set[int] = set()  # feeds and sitemaps among the pages
        self.underway = UnderWay()
        self.records = Records()
        self.closed: dict[int, float] = {}  # crawls outside their windows → when they open

    @property
    def now_ms(self) -> int:
        return int(self.clock() * 1000)

    def shut(self, sub: Sub, now: float) -> bool:
        """Whether a subscription is outside its windows; the engine is told until when."""
        shut = bool(sub.windows) and not any_open(sub.windows, now)
        if shut:
            self.closed[sub.crawl] = next_open(sub.windows, now)
        else:
            self.closed.pop(sub.crawl, None)
        return shut

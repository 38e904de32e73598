"""Watching that cannot end the crawl: a scheduler that fails is logged, thrown away and begun anew a while later.

All it knows is in the database and in its last copy, so beginning anew is safe; only what it had not written yet is
lost. Each failure in a row doubles the wait.
"""

import logging
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

from django.db import transaction

from hemeroteca.config import Config
from hemeroteca.frontier.visit import Ending
from hemeroteca.urls.candidate import Candidate
from hemeroteca.watch.scheduler import Scheduler
from hemeroteca.watch.values import Seen

WAITS = (5.0, 600.0)  # s until a new scheduler is tried: first, and at most
CALM = 120.0  # s of work without failure after which it counts as well again

log = logging.getLogger("hemeroteca.watch")
T = TypeVar("T")


class Guarded:
    """What the engine asks of a `Scheduler`; never raises because of it. Asleep, it answers that nothing is due."""

    def __init__(self, config: Config, data: Path, clock: Callable[[], float] = time.time) -> None:
        self._config, self._data, self._clock = config, data, clock
        self._scheduler: Scheduler | None = None
        self._failures = 0
        self._begun_at = self._again_at = 0.0  # monotonic
        self._logged = ""
        self.trouble = ""  # why nothing is watched just now; empty: all is well
        self.trouble_ms = 0

    @property
    def now_ms(self) -> int:
        return int(self._clock() * 1000)

    @property
    def faults(self) -> dict[int, str]:
        """Subscriptions that are set aside because they cannot be worked with, and why."""
        return {} if self._scheduler is None else self._scheduler.faults

    @property
    def closed(self) -> dict[int, float]:
        """Crawls outside the windows of their subscription, and when they open."""
        return {} if self._scheduler is None else self._scheduler.closed

    @property
    def unwritten(self) -> bool:
        return self._scheduler is not None and self._scheduler.unwritten

    def changed(self) -> bool:
        self._begin()
        return self._try("look for changes", lambda s: s.changed(), False)

    def refresh(self) -> None:
        self._try("read the subscriptions", lambda s: s.refresh(), None)

    def refresh_sites(self) -> None:
        self._try("read the budgets of sites", lambda s: s.refresh_sites(), None)

    def due(self, now: float, crawls: Collection[int]) -> tuple[list[Candidate], list[Candidate]]:
        found = self._try("choose what is due", lambda s: s.due(now, crawls), None)
        if found is None:
            return [], []
        if self.trouble and time.monotonic() - self._begun_at > CALM:
            log.info("watching goes on")
            self.trouble = self._logged = ""
            self._failures = 0
        return found

    def pace(self, found: list[Candidate], now: float) -> list[Candidate]:
        return self._try("pace new pages", lambda s: s.pace(found, now), found)

    def observed(self, seen: Seen) -> None:
        self._try(f"learn from {seen.url}", lambda s: s.observed(seen), None)

    def ended(self, endings: list[Ending]) -> None:
        self._try("learn from visits without an answer", lambda s: s.ended(endings), None)

    def write(self) -> None:
        """Inside the engine's transaction, which goes on without what cannot be written."""

        def write(scheduler: Scheduler) -> None:
            if scheduler.unwritten:
                with transaction.atomic():
                    scheduler.write()

        self._try("write what it learned", write, None)

    def close(self) -> None:
        def close(scheduler: Scheduler) -> None:
            scheduler.close()

        self._try("keep what it learned", close, None)

    def _begin(self) -> None:
        if self._scheduler is None and time.monotonic() >= self._again_at:
            try:
                self._scheduler = Scheduler(self._config, self._data, self._clock)
                self._begun_at = time.monotonic()
            except Exception as error:
                self._give_up("begin", error)

    def _try(self, what: str, call: Callable[[Scheduler], T], otherwise: T) -> T:
        if self._scheduler is None:
            return otherwise
        try:
            return call(self._scheduler)
        except Exception as error:
            self._give_up(what, error)
            return otherwise

    def _give_up(self, what: str, error: Exception) -> None:
        first, most = WAITS
        wait = min(first * 2.0**self._failures, most)
        self._scheduler = None
        self._failures = min(self._failures + 1, 30)
        self._again_at = time.monotonic() + wait
        reason = f"{type(error).__name__}: {error}"[:300]
        self.trouble = f"watching could not {what} ({reason}); crawling goes on, next try in {wait:.0f} s"
        self.trouble_ms = self.now_ms
        if reason != self._logged:  # once per reason, however often it is tried
            log.error("%s", self.trouble, exc_info=error)
            self._logged = reason

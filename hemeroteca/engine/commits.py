"""When what has happened becomes durable: soon after the first thing that is not, everything together."""

import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from hemeroteca.engine import reasons
from hemeroteca.engine.ledger import Ledger
from hemeroteca.engine.noise import Sites
from hemeroteca.engine.robots_rules import RobotsRules
from hemeroteca.engine.runs import Run
from hemeroteca.frontier import services
from hemeroteca.frontier.queue import Frontier

if TYPE_CHECKING:
    from hemeroteca.watch.scheduler import SafeScheduler


class Commits:
    """`measure` brings the counts of a run up to date."""

    def __init__(
        self,
        seconds: float,
        runs: dict[int, Run],
        frontier: Frontier,
        ledger: Ledger,
        robots_rules: RobotsRules,
        sites: Sites,
        scheduler: "SafeScheduler | None",
        measure: Callable[[Run], None],
    ) -> None:
        self.dirty = False  # something waits
        self.due = 0.0  # when it must be written, once there is something
        self._seconds = seconds
        self._runs = runs
        self._frontier = frontier
        self._ledger = ledger
        self._robots_rules = robots_rules
        self._sites = sites
        self._scheduler = scheduler
        self._measure = measure

    def mark(self) -> None:
        """Something has happened that must be written."""
        if not self.dirty:
            self.dirty = True
            self.due = time.monotonic() + self._seconds

    def commit(self) -> None:
        for run in self._counted():
            self._measure(run)
        self._ledger.commit(self._write_rest)
        self._count_reasons(self._frontier.gave_up, failed=True)
        self._count_reasons(self._frontier.refused, failed=False)
        self.dirty = False
        self._ledger.commit_index()

    def _count_reasons(self, tally: Counter[tuple[int, str]], failed: bool) -> None:
        """What the frontier decided by itself, added to the crawls' counts."""
        for (crawl, reason), count in tally.items():
            if crawl in self._runs and count:
                run = self._runs[crawl]
                run.counts.failed += count if failed else 0
                run.count_reason(reasons.code(reason), count)
        tally.clear()

    def _write_rest(self) -> None:
        self._robots_rules.write()
        self._sites.write()
        for run in self._counted():
            services.save_counts(run.id, run.counts)
            run.touched = False
        if self._scheduler is not None:
            self._scheduler.write()

    def _counted(self) -> list[Run]:
        """Runs whose counts are worth writing: there may be thousands of standing ones, asleep."""
        return [run for run in self._runs.values() if run.touched or not run.standing]

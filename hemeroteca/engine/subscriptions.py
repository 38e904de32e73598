"""Subscriptions beside the crawls: pages that are due, orders that changed, troubles people are told of."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from hemeroteca.engine.runs import Run
from hemeroteca.frontier import services
from hemeroteca.frontier.queue import Frontier
from hemeroteca.instance.status import Trouble

if TYPE_CHECKING:
    from hemeroteca.watch.scheduler import SafeScheduler

MOST_FAULTS = 10  # told of at once


class Subscriptions:
    """`teach`: tell the readers what a run looks for now. `changed`: something must be written soon."""

    def __init__(
        self,
        scheduler: "SafeScheduler",
        runs: dict[int, Run],
        frontier: Frontier,
        teach: Callable[[Run], None],
        changed: Callable[[], None],
    ) -> None:
        self._scheduler = scheduler
        self._runs = runs
        self._frontier = frontier
        self._teach = teach
        self._changed = changed

    def look(self) -> None:
        """Queue the pages of subscriptions that are due."""
        scheduler = self._scheduler
        if scheduler.changed():
            scheduler.refresh()
            for run in [run for run in self._runs.values() if run.standing]:
                options = services.current_options(run.id)
                if options != run.options:
                    run.options = options
                    self._teach(run)
        new, again = scheduler.due(scheduler.now_ms / 1000, self._runs.keys())
        for run in self._runs.values():
            run.closed_until = scheduler.closed.get(run.id, 0.0)
        self._frontier.add(new)
        self._frontier.requeue(again)
        if new or again or scheduler.unwritten:
            self._changed()

    def refresh_sites(self) -> None:
        """A person changed what is set for a site."""
        self._scheduler.refresh_sites()

    def troubles(self) -> list[Trouble]:
        now = self._scheduler.now_ms
        found = [
            Trouble(now, "", f"subscription {number} is not watched ({reason}); `hemeroteca watch show {number}`")
            for number, reason in list(self._scheduler.faults.items())[:MOST_FAULTS]
        ]
        if self._scheduler.trouble:
            found.append(Trouble(self._scheduler.trouble_ms, "", self._scheduler.trouble))
        return found

    def close(self) -> None:
        self._scheduler.close()

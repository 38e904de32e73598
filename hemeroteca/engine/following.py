"""The engine follows captures: new pages for the frontier, redirects without loops, seeds that moved."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from hemeroteca import urls
from hemeroteca.config import Config
from hemeroteca.engine import reasons
from hemeroteca.engine.messages import Ingested
from hemeroteca.engine.runs import Run
from hemeroteca.frontier import services
from hemeroteca.frontier.queue import Frontier
from hemeroteca.frontier.traps import SameText
from hemeroteca.frontier.values import Visit
from hemeroteca.urls.candidate import Role

if TYPE_CHECKING:
    from hemeroteca.watch.scheduler import SafeScheduler

REDIRECTS_REMEMBERED = 10_000


class Following:
    """`teach`: tell the readers what a run looks for now. `changed`: something must be written soon."""

    def __init__(
        self,
        config: Config,
        frontier: Frontier,
        same_text: SameText,
        scheduler: "SafeScheduler | None",
        teach: Callable[[Run], None],
        changed: Callable[[], None],
    ) -> None:
        self._max_redirects = config.max_redirects
        self._frontier = frontier
        self._same_text = same_text
        self._scheduler = scheduler
        self._teach = teach
        self._changed = changed
        self._redirects: OrderedDict[int, int] = OrderedDict()  # page → where it led, to see loops

    def follow(self, done: Ingested, visit: Visit, run: Run) -> None:
        """Queue what a capture leads to; may add notes to `done`, all of which are counted."""
        found = done.found
        trap = self._same_text.met(visit.host, visit.url, done.fingerprint)
        if trap and found:
            done.notes.append(trap)
            found = []
        if done.redirect is not None:
            self._redirect(done, visit, run)
        if done.outside:
            done.notes.append(f"out-of-scope: redirects to {done.outside}")
        for note in done.notes:
            run.count_reason(reasons.code(note))
        if found and run.standing and self._scheduler is not None:
            found = self._scheduler.pace(found, time.time())
        if found and self._frontier.add(found):
            self._changed()

    def _redirect(self, done: Ingested, visit: Visit, run: Run) -> None:
        target = done.redirect
        assert target is not None
        self._redirects[visit.key] = target.key
        if len(self._redirects) > REDIRECTS_REMEMBERED:
            self._redirects.popitem(last=False)
        step: int | None = target.key
        for _ in range(self._max_redirects + 1):
            if step == visit.key:
                done.notes.append(f"redirect-loop: leads back to itself by {target.url[:200]}")
                return
            step = self._redirects.get(step) if step is not None else None
        if target.redirects > self._max_redirects:
            done.notes.append(f"too-many-redirects: more than {self._max_redirects} in a row")
            return
        if visit.depth == 0 and visit.role == Role.PAGE:
            self._widen(run, target.url)
        self._frontier.add([target])

    def _widen(self, run: Run, url: str) -> None:
        """Where a seed leads belongs to the crawl as if it had been named."""
        scope = run.options.scope
        if url in scope.seeds or urls.ScopeMatcher(scope).refusal(url, 0) is None:
            return
        run.options = msgspec.structs.replace(
            run.options, scope=msgspec.structs.replace(scope, seeds=(*scope.seeds, url))
        )
        services.save_options(run.id, run.options)
        self._teach(run)

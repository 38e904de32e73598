"""Budgets that are used up, windows that are shut, hosts that are down: the pages that wait for them say until when."""

from hemeroteca.watch.scheduler.budgets import Budgets
from hemeroteca.watch.scheduler.failures import Failures
from hemeroteca.watch.scheduler.state import State

TELL_WAIT = 600.0  # s from which on a budget that is used up or a window that is shut is told, and told again


class Waits:
    def __init__(self, state: State, budgets: Budgets, failures: Failures) -> None:
        self._state = state
        self._budgets = budgets
        self._failures = failures
        self._waits: dict[tuple[str, str, int | str], float] = {}  # as they were told last
        self._told_at = 0.0

    def tell(self, now: float) -> None:
        """Pages that would be visited while one of these lasts: people are told until when."""
        waits: list[tuple[str, str, int | str, float]] = [
            ("instance", "", 0, self._budgets.instance.opens),
            *(("collection", "subscription__collection", n, p.opens) for n, p in self._budgets.collections.items()),
            *(("subscription", "subscription", sub.id, sub.purse.opens) for sub in self._state.subs.values()),
            *(("site", "site", site, p.opens) for site, p in self._budgets.sites.items()),
        ]
        until = {(f"then-budget-{whose}", name, value): now + opens for whose, name, value, opens in waits}
        for sub in self._state.subs.values():
            if sub.crawl in self._state.closed:
                until["then-window", "subscription", sub.id] = self._state.closed[sub.crawl]
        for site, again in self._failures.down().items():
            until["then-down", "site", site] = again
        told, self._waits = self._waits, {}
        for wait, opens in sorted(until.items(), key=lambda item: item[1]):  # the longest has the last word
            if opens - now < TELL_WAIT:
                continue
            self._waits[wait] = told.get(wait, 0.0)
            if abs(opens - self._waits[wait]) >= TELL_WAIT or now - self._told_at >= TELL_WAIT:
                code, name, value = wait
                self._state.records.wait({name: value} if name else {}, int(opens * 1000), code)
                self._waits[wait] = opens
        if now - self._told_at >= TELL_WAIT or now < self._told_at:
            self._told_at = now

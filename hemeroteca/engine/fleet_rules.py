"""What the fleet must not ask for, though the engine may: hosts that closed themselves to it, and what robots.txt
forbids the fleet, as the engine or as devices of two owners were shown it.
"""

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from hemeroteca.engine.runs import Run
from hemeroteca.fetch import Result
from hemeroteca.fleet import dispatch, protocol, services
from hemeroteca.fleet.dispatch import Lender
from hemeroteca.frontier.visit import Visit
from hemeroteca.urls.robots_txt import Robots
from hemeroteca.warc.capture import decoded

if TYPE_CHECKING:
    from hemeroteca.engine.loop import Engine

MAX_ORIGINS = 50_000  # whose rules, as devices were shown them, are remembered
MAX_ROBOTS_BYTES = 1 << 19


class FleetRules:
    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._token = engine.config.robots_token
        self._closed: frozenset[str] = frozenset()
        self._own_hosts: set[int] = set()  # their robots.txt lets the engine in, not the fleet
        self._shown: OrderedDict[str, dict[int, Robots]] = OrderedDict()  # origin → owner → other rules than ours

    def refresh(self) -> None:
        self._closed = dispatch.closed_hosts()

    def leaves_to_engine(self, host: int) -> bool:
        """Whether a host was found to let the engine in, not the fleet."""
        return host in self._own_hosts

    def refused(self, visit: Visit, run: Run, origin: str) -> str:
        """Why the fleet must not make a visit that robots.txt allows the engine; jobs are told, crawls go on without.
        Empty: it may."""
        host = self._engine.frontier.host(visit.host)
        labels = host.name.split(".")
        closed = any(".".join(labels[place:]) in self._closed for place in range(len(labels)))
        rules = self._engine.robots.rules(origin, time.time())
        token = self._named(rules) if rules is not None else self._token
        forbids = rules if rules is not None and not rules.allows(visit.url, token) else None
        shown = list(self._shown.get(origin, {}).values())
        if len(shown) > 1 and all(not one.allows(visit.url, self._named(one)) for one in shown):
            forbids = shown[0]  # two owners' devices were shown other rules than the engine: the stricter ones count
        if not closed and forbids is None:
            return ""
        if not run.options.for_fleet:
            self._own_hosts.add(visit.host)
        if closed or forbids is None:
            return f"{host.name} is closed to the fleet"
        rule = forbids.rule(visit.url, self._named(forbids))
        return f"robots.txt of {host.name} forbids the fleet this page ({rule})"

    # robots.txt as devices are shown it

    def wants(self, origin: str, owners: int) -> bool:
        """Whether a block should bring robots.txt too: no device has seen it, or a single one saw other rules and
        there are devices of other owners to look."""
        if origin not in self._shown:
            self._shown[origin] = {}
            if len(self._shown) > MAX_ORIGINS:
                self._shown.popitem(last=False)
            return True
        return len(self._shown[origin]) == 1 and owners > 1

    def forget(self, origin: str) -> None:
        """It was not brought: the next block asks."""
        self._shown.pop(origin, None)

    def take(self, origin: str, lender: Lender, result: Result | None, pages: list[str]) -> None:
        """A device was asked for robots.txt beside its `pages`."""
        if result is None or not 200 <= result.status < 500 or 300 <= result.status < 400:
            self.forget(origin)
            if result is not None:
                result.body.discard()
            return
        body, _ = decoded(result.body.bytes(MAX_ROBOTS_BYTES), result.response_head, MAX_ROBOTS_BYTES)
        shown = Robots.read(result.status, body if result.status < 300 else b"")
        own = self._engine.robots.rules(origin, time.time())
        if own is not None and not self._allow_the_same(own, shown, pages):
            self._shown.setdefault(origin, {})[lender.owner] = shown
            services.audit("system", "robots differ", f"{origin}/robots.txt, as device {lender.pseudonym} saw it")
        result.body.discard()

    def _allow_the_same(self, own: Robots, shown: Robots, pages: list[str]) -> bool:
        mine, theirs = self._named(own), self._named(shown)
        return all(own.allows(url, mine) == shown.allows(url, theirs) for url in pages)

    def _named(self, rules: Robots) -> str:
        """By what name the rules speak of us: the fleet's, else the engine's."""
        return rules.token_for(protocol.AGENT, self._token)

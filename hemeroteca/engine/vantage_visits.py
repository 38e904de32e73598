"""Visits of vantage checks: the engine looks at a page first, then one device after the other, each when the host may
be asked again. What they saw is written side by side (`fleet.vantage` compares); evidence goes to the archive under a
name of its own, so that it is never taken for a version of the page.
"""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from hemeroteca.engine import reason_codes
from hemeroteca.engine.runs import Run
from hemeroteca.fetch import Result
from hemeroteca.fleet import agreement, vantage
from hemeroteca.fleet.dispatch import Lender
from hemeroteca.fleet.models import VantageObservation
from hemeroteca.frontier.robots import origin_of
from hemeroteca.frontier.visit import Visit
from hemeroteca.urls.candidate import UrlRole
from hemeroteca.warc import Capture
from hemeroteca.warc.keys import VANTAGE

if TYPE_CHECKING:
    from hemeroteca.engine.fleet_visits import FleetVisits
    from hemeroteca.engine.loop import Engine
    from hemeroteca.engine.sinks import Arrival

MAX_PER_COUNTRY = 3
MAX_DEVICES = 40  # of one URL


@dataclass(eq=False)
class Look:
    """A page on its way from place to place."""

    run: Run
    own: Result  # what the engine saw
    left: list[Lender] = field(default_factory=list)  # who has not looked
    asked: Lender | None = None  # who looks now


class VantageVisits:
    def __init__(self, engine: "Engine", fleet: "FleetVisits") -> None:
        self._engine = engine
        self._fleet = fleet
        self._looks: dict[Visit, Look] = {}
        self._evidence: dict[Visit, VantageObservation] = {}  # an errand that brings evidence to the archive
        self._ready: list[VantageObservation] = []

    def holds(self, visit: Visit) -> bool:
        return visit in self._looks

    def witness(self, errand: Visit) -> str:
        """Pseudonym of the device whose evidence an errand brings."""
        found = self._evidence.get(errand)
        return found.pseudonym if found is not None else ""

    def goes_on(self, visit: Visit, result: Result, run: Run) -> bool:
        """The engine has seen a page of a check. True: devices are asked now, and the visit is not over."""
        look = Look(run, result, self._chosen(run))
        self._observe(visit, look, None, result)
        if not look.left:
            return False
        self._looks[visit] = look
        self._again(visit, look, result)
        return True

    def begin(self, visit: Visit) -> None:
        """Its host may be asked: by the next device that is still there."""
        look = self._looks[visit]
        if self._fleet.rules.refused(visit, look.run, origin_of(visit.url)):
            look.left.clear()  # its owner closed it meanwhile
        while look.left and not look.run.stopping:
            look.asked = self._fleet.lenders.get(look.left.pop(0).id)
            if look.asked is not None:
                self._fleet.blocks.send([visit], "vantage", time.time(), look.asked)
                return
        self._end(visit, look)

    def seen(self, visit: Visit, lender: Lender | None, result: Result | None) -> None:
        """A device is done with it; without a result it did not look at all."""
        look = self._looks[visit]
        if visit.lease is None:  # its crawl was stopped
            del self._looks[visit]
            for one in (look.own, result):
                if one is not None:
                    one.body.discard()
            return
        if lender is not None and result is not None:
            self._observe(visit, look, lender, result)
        if look.left and not look.run.stopping:
            self._again(visit, look, result or look.own)
        else:
            self._end(visit, look)

    def take(self, arrival: "Arrival") -> None:
        """Evidence has passed ingest."""
        observation = self._evidence.pop(arrival.trip.visit, None) if arrival.trip is not None else None
        if observation is not None:
            observation.capture = arrival.row.record_id if arrival.row is not None else None
            self._ready.append(observation)

    @property
    def pending(self) -> bool:
        return bool(self._ready)

    def write(self) -> None:
        """Inside the commit."""
        ready, self._ready = self._ready, []
        if ready:
            vantage.keep(ready)

    def _chosen(self, run: Run) -> list[Lender]:
        """Devices that look: of owners who agreed to such pages, a few of each country, other networks and
        owners first."""
        wanted = set(vantage.countries(run.options.vantage))
        able = [
            one
            for one in self._fleet.lenders.willing("vantage", run.options.category)
            if not wanted or one.country in wanted
        ]
        of_network: Counter[str] = Counter()
        of_owner: Counter[int] = Counter()
        ranked = []
        for one in sorted(able, key=lambda one: one.id):
            ranked.append((of_network[one.network] + of_owner[one.owner], one.id, one))
            of_network[one.network] += 1
            of_owner[one.owner] += 1
        of_country: Counter[str] = Counter()
        found = []
        for *_, one in sorted(ranked, key=lambda item: item[:2]):
            of_country[one.country] += 1
            if of_country[one.country] <= MAX_PER_COUNTRY:
                found.append(one)
        return found[:MAX_DEVICES]

    def _observe(self, visit: Visit, look: Look, lender: Lender | None, result: Result) -> None:
        capture = Capture.fetched(visit.url, result)
        observation = VantageObservation(
            run_id=look.run.options.vantage,
            key=visit.key,
            url=visit.url,
            device_id=lender.id if lender is not None else None,
            pseudonym=lender.pseudonym if lender is not None else "",
            country=lender.country if lender is not None else "",
            network=lender.network if lender is not None else "",
            at_ms=result.started_ms or int(time.time() * 1000),
            status=result.status,
            failure=reason_codes.failure_text(result)[:300] if not result.status else "",
            location=result.header("location")[:2000],
            certificate=result.certificate,
            seconds=result.elapsed,
            fingerprint=msgspec.to_builtins(agreement.fingerprint(capture)) if result.status else {},
        )
        if not result.status:
            self._ready.append(observation)
            if lender is not None:
                result.body.discard()
        elif lender is None:
            self._evidence[visit] = observation  # the page's own capture
        else:
            address = VANTAGE + visit.url
            errand = Visit(key=visit.key, url=address, host=visit.host, crawl=visit.crawl, role=UrlRole.PAGE)
            self._evidence[errand] = observation
            self._engine.intake.submit(errand, result, look.run)

    def _again(self, visit: Visit, look: Look, result: Result) -> None:
        """The visit keeps its lease and asks for its host once more, when that may be asked."""
        lease = visit.lease
        assert lease is not None
        now = time.time()
        wait = self._engine.visits.wait_after(visit, result, look.run, now)
        lease.answered(visit, now + wait, wait)
        lease.again(visit, now + wait)

    def _end(self, visit: Visit, look: Look) -> None:
        """All have looked: what the engine saw is the page's version, where it saw one."""
        del self._looks[visit]
        lease = visit.lease
        assert lease is not None
        wait = self._engine.visits.plain_wait(visit.host, visit.crawl, 0.0)
        lease.answered(visit, time.time() + wait, wait)
        if look.own.status:
            self._engine.intake.submit(visit, look.own, look.run)
        else:
            self._engine.visits.fail(visit, reason_codes.failure_text(look.own))
            look.own.body.discard()

"""Answers of devices that count, on their way through ingest: who vouches for each, and what clients of the fleet are
told of theirs once it is kept.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hemeroteca.fetch import Result
from hemeroteca.fleet.dispatch import Lender, Resolved
from hemeroteca.frontier.visit import Ending, Visit

if TYPE_CHECKING:
    from hemeroteca.engine.fleet_visits import FleetVisits
    from hemeroteca.engine.loop import Engine
    from hemeroteca.engine.sinks import Arrival

MAX_VOUCHED = 50_000  # answers on their way that are remembered


@dataclass(eq=False)
class Vouched:
    devices: list[Lender]
    checked: bool


class FleetAnswers:
    def __init__(self, engine: "Engine", fleet: "FleetVisits") -> None:
        self._engine = engine
        self._fleet = fleet
        self._vouched: dict[tuple[int, int], Vouched] = {}  # (crawl, key of the page)
        self._arrived: dict[tuple[int, int], Resolved] = {}  # clients' URLs: read, and on their way to the commit

    def accept(self, visit: Visit, result: Result, devices: list[Lender], checked: bool) -> None:
        """An answer that counts goes the way of any other."""
        if len(self._vouched) > MAX_VOUCHED:
            self._vouched.pop(next(iter(self._vouched)))
        self._vouched[visit.crawl, visit.key] = Vouched(devices, checked)
        self._engine.visits.answered(visit, result)

    def vouchers(self, visit: Visit) -> str:
        """Pseudonyms of the devices behind an answer, for its capture."""
        if witness := self._fleet.vantage.witness(visit):
            return witness
        vouched = self._vouched.get((visit.crawl, visit.key))
        return ",".join(device.pseudonym for device in vouched.devices) if vouched is not None else ""

    def take_head(self, visit: Visit, result: Result) -> None:
        """The answer to HEAD, which is kept nowhere."""
        run = self._engine.runs[visit.crawl]
        self._arrived[visit.crawl, visit.key] = Resolved(
            job=run.options.job, key=visit.key, status=result.status, location=result.header("location")
        )
        if visit.lease is not None:
            visit.lease.done(visit)

    def take(self, arrival: "Arrival") -> None:
        """A capture passed ingest."""
        trip = arrival.trip
        if trip is None or not trip.run.options.job or not trip.visit.page:
            return
        self._arrived[trip.visit.crawl, trip.visit.key] = Resolved(
            job=trip.run.options.job,
            key=trip.visit.key,
            status=arrival.capture.status,
            location=arrival.capture.header("location"),
            capture=arrival.row.record_id if arrival.row is not None else trip.visit.served,
            cached=trip.visit.served is not None,
        )

    @property
    def pending(self) -> bool:
        return bool(self._arrived)

    def resolved(self, endings: Iterable[Ending]) -> list[Resolved]:
        """What clients are told of the visits that ended for good."""
        found = []
        for ending in endings:
            run = self._engine.runs.get(ending.crawl)
            if run is None or not run.options.job:
                continue
            place = ending.crawl, ending.key
            one = self._arrived.pop(place, None) or Resolved(job=run.options.job, key=ending.key)
            one.reason = one.reason or ending.reason
            vouched = self._vouched.pop(place, None)
            if vouched is not None:
                one.devices, one.checked = vouched.devices, vouched.checked
            found.append(one)
        return found

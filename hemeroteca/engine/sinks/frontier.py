"""What a capture means for the frontier: new candidates, and what became of the visit."""

import time

from hemeroteca.engine.following import Following
from hemeroteca.engine.page_outcomes import PageOutcomes
from hemeroteca.engine.sinks import Arrival
from hemeroteca.frontier.queue import Frontier


class FrontierSink:
    def __init__(self, frontier: Frontier, following: Following, page_outcomes: PageOutcomes) -> None:
        self._frontier = frontier
        self._following = following
        self._page_outcomes = page_outcomes
        self.pending = False

    def take(self, arrival: Arrival) -> None:
        trip = arrival.trip
        if trip is None:
            return
        self.pending = True
        if not trip.visit.page:
            trip.run.outstanding -= 1
            return
        counts = trip.run.counts
        counts.unchanged += arrival.unchanged
        counts.versions += bool(arrival.stored) and not arrival.unchanged
        self._following.follow(arrival.done, trip.visit, trip.run)
        self._page_outcomes.answered(arrival, trip)

    def write(self) -> None:
        self._frontier.write(time.time_ns() // 1_000_000)
        self.pending = False

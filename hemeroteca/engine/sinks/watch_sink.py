"""What the scheduler of subscriptions learns from a visit."""

from typing import TYPE_CHECKING

from hemeroteca.engine.sinks import Arrival
from hemeroteca.ingest.difference import FeedListing
from hemeroteca.watch.answered_visit import AnsweredVisit

if TYPE_CHECKING:
    from hemeroteca.watch.scheduler import SafeScheduler


class WatchSink:
    def __init__(self, scheduler: "SafeScheduler") -> None:
        self._scheduler = scheduler

    @property
    def pending(self) -> bool:
        return self._scheduler.unwritten

    def take(self, arrival: Arrival) -> None:
        trip = arrival.trip
        if trip is None or not trip.visit.page or not trip.run.standing:
            return
        visit, done, status = trip.visit, arrival.done, arrival.capture.status
        self._scheduler.observed(
            AnsweredVisit(
                crawl=visit.crawl,
                key=visit.key,
                page=visit.page,
                host=visit.host,
                url=visit.url,
                role=visit.role,
                at_ms=self._scheduler.now_ms,
                status=status,
                first=not visit.digest,
                before_ms=visit.visited_ms if visit.digest else 0,
                before_status=visit.status,
                changed=not arrival.unchanged
                or done.difference is not None,  # an ordinary crawl may have kept it first
                not_modified=status == 304,
                bytes=done.size if status != 304 else 0,
                stored=arrival.stored,
                cost_ms=int(trip.result.elapsed * 1000),
                record_id=arrival.row.record_id if arrival.row is not None else None,
                difference=done.difference,
                listing=done.find("listing", FeedListing),
                mime=done.mime,
                index_ms=arrival.index_ms,
                requisites=tuple(done.requisites),
                title=done.document.title if done.document is not None else "",
            )
        )

    def write(self) -> None:
        self._scheduler.write()

"""Sinks: what takes the finds of ingest, and writes them together in the engine's commit. In their order:

archive_sink   WARC records and the index of captures
noise_sink     what differs at every visit of a site
frontier_sink  new candidates, and what became of the visit
search_sink    documents;  links_sink: the link graph
watch_sink     what the scheduler of subscriptions learns

A room adds its own by naming it in its `apps.py`: `sinks = ("hemeroteca.geo.sink.Services",)`.
"""

from dataclasses import dataclass, field
from typing import Protocol

from django.apps import apps
from django.utils.module_loading import import_string

from hemeroteca.archive.capture_rows import NewCapture
from hemeroteca.engine.runs import Run
from hemeroteca.fetch import Result
from hemeroteca.frontier.visit import Visit
from hemeroteca.ingest.ingested import Ingested
from hemeroteca.ingest.rules import Rules
from hemeroteca.urls import Candidate
from hemeroteca.warc import Capture


@dataclass(slots=True)
class Trip:
    """The visit that brought a capture; it has no page when the capture is only kept (robots.txt, requisites)."""

    visit: Visit
    result: Result
    run: Run


@dataclass(slots=True, eq=False)
class Arrival:
    """A capture that passed ingest, on its way through the sinks."""

    capture: Capture
    rules: Rules
    done: Ingested
    trip: Trip | None = None  # None: it was read again from the archive
    versions: int = 0  # of the page before this one
    newest: bool = True  # nothing newer of the page is known
    unchanged: bool = False  # the server said so, or the payload is the last version's
    row: NewCapture | None = None  # of the archive, when it was kept now …
    stored: int = 0  # … and the bytes written
    index_ms: float = 0.0  # time it took to index it
    leads: list[Candidate] = field(default_factory=list)  # what sinks of rooms want visited because of it

    @property
    def is_page(self) -> bool:
        """It is of a page; else it is only kept."""
        return self.trip is None or bool(self.trip.visit.page)

    @property
    def gone(self) -> bool:
        """The page is no longer there, or no longer wants to be found."""
        return self.capture.status in (404, 410) or self.done.noindex


class Sink(Protocol):
    @property
    def pending(self) -> bool:
        """It has something to write."""

    def take(self, arrival: Arrival) -> None:
        """Look at a capture; keep what is to be written."""

    def write(self) -> None:
        """Write it, inside the transaction of the commit."""


def of_rooms() -> list[Sink]:
    """The sinks that rooms named in their `apps.py`."""
    return [import_string(name)() for app in apps.get_app_configs() for name in getattr(app, "sinks", ())]

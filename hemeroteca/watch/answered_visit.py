"""An answered visit as the engine tells it, and the units of time of the room. No Django here."""

from datetime import UTC, date, datetime
from uuid import UUID

import msgspec

from hemeroteca.ingest.difference import Difference, FeedListing

HOUR_MS = 3_600_000
DAY_MS = 86_400_000
MAX_INTERVAL_HOURS = 720.0  # between two visits when nobody set a maximum: the cap of the 2015 rule
GONE = frozenset({404, 410})
# Answers that say nothing about a page; nor do those from 500 on.
REFUSED = frozenset({401, 403, 407, 408, 425, 429})
MAX_CHECKED = 100  # pages visited when somebody asks for a visit at once, those that waited longest
WORTH = 0.4  # chance of a change from which a visit pays when no budget decides
LESSON_MS = 12 * HOUR_MS  # since the visit before, that one must come to say something about a page's habits
YOUNG_HOURS = (24.0, 48.0, 96.0)  # until the first visits of a page nobody knows yet, where no budget decides

# Planner time: hours since a Monday's midnight not long ago, for its times of a page have 24 bits.
PLANNER_ORIGIN = date(2024, 1, 1)
_ORIGIN_MS = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp() * 1000)


def tells_of_page(status: int) -> bool:
    """Whether an answer shows the page as it is: one that is gone does, one that is refused does not."""
    return status not in REFUSED and status < 500


def planner_hour(ms: float) -> float:
    """A time of the spine as planner time."""
    return (ms - _ORIGIN_MS) / HOUR_MS


def planner_ms(hour: float) -> float:
    """The time of the spine of a planner time."""
    return hour * HOUR_MS + _ORIGIN_MS


class AnsweredVisit(msgspec.Struct, gc=False):
    """An answered visit of a watched page, as the engine tells it."""

    crawl: int
    key: int
    page: int
    host: int
    url: str
    role: int
    at_ms: int
    status: int
    first: bool  # no version was known before
    changed: bool  # the bytes differ
    not_modified: bool  # 304
    bytes: int
    stored: int
    cost_ms: int
    before_ms: int = 0  # when the version before was last seen, by whomever; 0: never
    before_status: int = 0  # what was answered then
    record_id: UUID | None = None
    difference: Difference | None = None
    listing: FeedListing | None = None
    title: str = ""
    mime: str = ""
    index_ms: float = 0.0  # to index what it brought
    requisites: tuple[int, ...] = ()  # keys of what the page needs to be shown

    @property
    def never_there(self) -> bool:
        """Whether there is no such page, nor was one seen before."""
        before = self.before_status
        return self.status in GONE and (self.first or before in GONE or not tells_of_page(before))

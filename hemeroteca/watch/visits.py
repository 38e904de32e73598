"""An answered visit as the engine tells it, and the units of time of the room. No Django here."""

from datetime import UTC, date, datetime
from uuid import UUID

import msgspec

from hemeroteca.frontier.values import Comparison

HOUR_MS = 3_600_000
DAY_MS = 86_400_000
MAX_INTERVAL_HOURS = 720.0  # between two visits when nobody set a maximum: the cap of the 2015 rule
WORTH = 0.4  # chance of a change from which a visit pays when no budget decides
YOUNG_HOURS = (24.0, 48.0, 96.0)  # until the first visits of a page nobody knows yet, where no budget decides

# Planner time: hours since a Monday's midnight not long ago, for its times of a page have 24 bits.
PLANNER_ORIGIN = date(2024, 1, 1)
_ORIGIN_MS = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp() * 1000)


def planner_hour(ms: float) -> float:
    """A time of the spine as planner time."""
    return (ms - _ORIGIN_MS) / HOUR_MS


class Judge(msgspec.Struct, array_like=True, frozen=True):
    """Subscriptions that cover a page and compare its versions in the same way."""

    comparison: Comparison
    subscriptions: tuple[int, ...]


class Difference(msgspec.Struct, array_like=True, frozen=True):
    """How a new version differs from the last one, as ingest measured it (`hemeroteca.change`)."""

    view: float
    form: float
    content: float
    total: float
    important: bool  # by the threshold of the subscription that visits the page
    words_added: int = 0
    words_removed: int = 0
    diff: str = ""  # the beginning of a unified diff of the text
    subscriptions: tuple[int, ...] = ()  # who judges it so
    others: list["Difference"] = []  # as other subscriptions judge it, by their rules


class Listing(msgspec.Struct, array_like=True, frozen=True):
    """What a feed or sitemap says: pages with the time of their last change, and its hub."""

    kind: str  # feed, sitemap
    entries: list[tuple[int, int, str]] = []  # page key, ms of the change (0 unknown), URL
    hub: str = ""
    topic: str = ""  # the address the hub knows the feed by


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
    record_id: UUID | None = None
    difference: Difference | None = None
    listing: Listing | None = None
    title: str = ""

"""A visit on its way: what the frontier hands out, what it brought, and how it ended. No Django here."""

from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING
from uuid import UUID

import msgspec

if TYPE_CHECKING:
    from hemeroteca.frontier.lease import Lease


class State(IntEnum):
    """Where a crawl's wish to see a page stands."""

    QUEUED = 0
    DONE = 1
    FAILED = 2
    EXCLUDED = 3
    HELD = 4  # it looks like a trap: a person decides


class How(StrEnum):
    """How a lease of a visit ended."""

    DONE = "done"
    RETRIED = "retried"  # it waits for another try
    FAILED = "failed"  # no try is left, or its host was given up
    EXCLUDED = "excluded"
    GIVEN_BACK = "given back"  # unasked
    EXPIRED = "expired"  # the deadline passed; it waits for another try


class Visit(msgspec.Struct, eq=False):
    """A crawl's wish to see a page, with what the page's last visit brought."""

    id: int = 0  # its row; 0: an errand of the engine, which has none
    page: int = 0  # the row of its page; 0: fetched only to be kept
    key: int = 0
    url: str = ""
    host: int = 0
    crawl: int = 0
    score: float = 0.0
    depth: int = 0
    redirects: int = 0
    role: int = 0
    attempts: int = 0
    visited_ms: int = 0
    status: int = 0
    etag: str = ""
    last_modified: str = ""
    digest: str = ""
    versions: int = 0
    followed: bool = False  # its crawl has followed its links before
    robots_for: str = ""  # of a visit of robots.txt: the origin whose rules are wanted
    lease: "Lease | None" = None  # that holds it now
    holds_host: bool = False  # no answer yet: nobody else may ask its host
    asked: bool = False  # a request was made
    served: UUID | None = None  # by this capture, that another crawl has just made: no request is needed


class Outcome(msgspec.Struct, gc=False, kw_only=True):
    """What an answered visit brought."""

    visited_ms: int
    status: int
    changed: bool = True  # a new version
    etag: str = ""
    last_modified: str = ""
    digest: str = ""
    versions: int = 0
    state: State = State.DONE  # FAILED, EXCLUDED: it answered, but not with the page
    reason: str = ""


class Ending(msgspec.Struct, gc=False, kw_only=True):
    """A visit that ended, as a watch's scheduler is told."""

    crawl: int
    key: int
    url: str
    role: int
    how: How
    reason: str = ""
    asked: bool = True  # a request was made for it

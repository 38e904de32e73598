"""What the engine and its readers tell each other: the rules of a crawl, a capture to read, what was read from it."""

from uuid import UUID

import msgspec

from hemeroteca.frontier.values import CrawlOptions
from hemeroteca.search.document import SearchDocument
from hemeroteca.urls.candidate import Candidate
from hemeroteca.watch.visits import Difference, Judge, Listing

AGENT = "Hemeroteca"  # our name in robots directives


class Rules(msgspec.Struct, array_like=True):
    """What a worker must know about a crawl; sent to it once."""

    crawl: int
    options: CrawlOptions
    agent: str  # our token in robots directives
    most_depth: int


class Job(msgspec.Struct, array_like=True):
    """A capture on its way to a worker."""

    id: int
    crawl: int
    url: str
    key: int
    host: str
    depth: int
    redirects: int
    role: int
    previous: str  # digest of the last version, "" when there is none
    started_ms: int
    ip: str
    protocol: str
    status: int
    truncated: str
    request_head: bytes
    response_head: bytes
    body: bytes
    path: str = ""  # where the body lies when it is too long for memory
    unread: bool = False  # keep it without reading it: a reader died of it before …
    note: str = ""  # … and how
    earlier: tuple[str, str, int, int] | None = None  # folder, file, offset, length of the version to compare with
    notes: list[str] = []
    render: str = ""  # what to do when scripts have yet to write the page: `ask` for a browser, `note` it, or nothing
    dom: bytes = b""  # HTML the browser made of the body: it is what is read
    dom_url: str = ""  # the address that HTML is relative to
    leads: str = ""  # the page scripts went on to
    screenshot: bytes = b""  # PNG
    include: tuple[str, ...] = ()  # rules of its site for the elements that hold text …
    exclude: tuple[str, ...] = ()  # … and for those that do not
    judges: list[Judge] = []  # how the site's versions are compared, and for which subscriptions …
    noise: list[str] = []  # … and the blocks of its pages that are noise
    earlier_picture: tuple[str, str, int, int] | None = None  # screenshot of the version to compare with
    filed: str = ""  # the address it is filed under, when it answers a POST …
    sent: bytes = b""  # … of this


class Attached(msgspec.Struct, array_like=True):
    """A record that accompanies a capture: the page as a browser shows it."""

    url: str
    mime: str
    digest: str
    body_size: int
    record_id: UUID
    data: bytes


class Edges(msgspec.Struct, array_like=True):
    """The links of a page as the link graph takes them: keys of the targets and of their hosts, packed."""

    host: int  # key of the page's own host
    targets: bytes
    hosts: bytes
    texts: list[tuple[int, str]]  # target, text of a link to it; only what was not sent before


class Ingested(msgspec.Struct, array_like=True):
    """What a worker returns."""

    id: int
    digest: str
    body_size: int
    same: bool = False  # the body is the last version's; no records were built
    data: bytes = b""  # records to append …
    path: str = ""  # … or the file that holds them
    size: int = 0
    record_id: UUID | None = None
    record_length: int = 0
    urlkey: str = ""
    mime: str = ""
    etag: str = ""
    last_modified: str = ""
    notes: list[str] = []
    found: list[Candidate] = []
    redirect: Candidate | None = None
    outside: str = ""  # where a redirect leads when that is not part of the crawl
    document: SearchDocument | None = None
    edges: Edges | None = None
    fingerprint: int = 0  # of the text without its digits; equal for the pages of a trap
    noarchive: bool = False
    noindex: bool = False
    difference: Difference | None = None  # from the version before
    listing: Listing | None = None  # what a feed or sitemap says, in a standing crawl
    render: bool = False  # scripts have yet to write the page; nothing else was done
    dom_digest: str = ""  # of what the browser made of the body: it tells whether the page has changed
    attached: list[Attached] = []
    sightings: list[tuple[str, bool, bool, int]] | None = None  # blocks that differ, as `change.Sighting`

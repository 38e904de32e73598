"""What ingest must know besides the capture: the rules of its crawl, of its site, and the version before."""

import msgspec

from hemeroteca.focus.definition import CompiledFocus, Definition
from hemeroteca.urls import Scope
from hemeroteca.warc import Location

AGENT = "Hemeroteca"  # our name in robots directives
THRESHOLD = 0.05  # F(μ) where nobody set another, as in `change`


class ComparisonRules(msgspec.Struct, frozen=True, omit_defaults=True):
    """How new versions are compared; the part of `change.ChangeRules` a person sets, without loading that room."""

    threshold: float = THRESHOLD  # F(μ)
    ignore: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    ignore_text: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()  # of components of the vectors, as NAME=0.5; 0 silences one


class Judge(msgspec.Struct, array_like=True, frozen=True):
    """Subscriptions that cover a page and compare its versions in the same way."""

    comparison: ComparisonRules = ComparisonRules()
    subscriptions: tuple[int, ...] = ()  # none: of a crawl nobody subscribed to


class CrawlOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a crawl goes: what belongs to it, when it ends, how it behaves."""

    scope: Scope
    limit: int | None = None
    max_bytes: int | None = None
    max_seconds: float | None = None
    delay: float | None = None  # None: adaptive
    concurrency: int | None = None
    ignore_robots: bool = False
    sitemaps: bool = True
    requisites: bool = True
    insecure: bool = False
    probe: bool = False  # addresses that may be geographic services are asked for their capabilities
    order: str = "breadth-first"  # which pages go first: a name of `frontier.prioritisers`
    focus: Definition | None = None  # what it looks for
    watch: ComparisonRules | None = None  # a standing crawl: it never ends, and new versions are compared in this way
    trusted: tuple[str, ...] = ()  # `host reason` each: what a person took after it was held back for that reason
    job: int = 0  # of a client of the fleet: its pages are fetched and kept, nothing is followed
    method: str = "GET"  # … or HEAD: nothing is kept
    headers: tuple[tuple[str, str], ...] = ()  # … sent besides ours
    max_age: int = 0  # … s: an answer of the archive this old does too
    vantage: int = 0  # a run of a vantage check: its pages are seen from many devices, nothing is followed
    category: str = ""  # kind of its pages, of a job or a check: owners of devices may leave it out
    own: bool = False  # made by the engine alone, never by devices
    again: bool = False  # all pages of the same order, which has finished, are visited once more

    @property
    def for_fleet(self) -> bool:
        """It exists for the fleet: exactly its addresses are asked, and it says why one is not."""
        return bool(self.job or self.vantage)


class CrawlRules(msgspec.Struct, array_like=True, kw_only=True):
    """The rules of a crawl; an ingest process is told them once."""

    crawl: int
    options: CrawlOptions
    max_depth: int
    agent: str = AGENT  # our name in robots directives
    focus: CompiledFocus | None = None  # of its options, with the thesauri it names


class Rules(msgspec.Struct, array_like=True, kw_only=True):
    """How one capture is read. The defaults are those of an import: no crawl, no version before, all is kept."""

    crawl: int = 0  # whose `CrawlRules` hold; 0: none, nothing is followed
    key: int  # of the page
    host: str
    depth: int = 0
    redirects: int = 0  # in a row, that led here
    role: int = 0  # `urls.UrlRole`
    digest: str = ""  # of the body, where it is known
    previous: str = ""  # digest of the last version; empty when there is none
    followed: bool = False  # the crawl has followed its links before: an unchanged answer need not be read
    earlier: Location | None = None  # the version to compare with …
    earlier_picture: Location | None = None  # … and its screenshot
    compare: bool = False  # … even if the last version is the same: it is not the one that was told of
    judges: tuple[Judge, ...] = (Judge(),)  # how versions of the page are compared, and for whom …
    noise: list[str] = []  # … and the blocks of its pages that are noise
    include: tuple[str, ...] = ()  # rules of the site for the elements that hold text …
    exclude: tuple[str, ...] = ()  # … and for those that do not
    obey_robots: bool = True  # what the page says to robots counts
    keep: bool = True  # make records; not of what is read from the archive
    read: bool = True  # else it is only kept
    leads: str = ""  # the page scripts went on to
    browser: str = ""  # when scripts have yet to write the page: `ask` for a browser, `note` it, or nothing
    notes: list[str] = []  # of those who fetched it

"""The seam of search: what an index can do, whatever engine stands behind it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote, urlsplit

import msgspec

from hemeroteca.errors import Unavailable
from hemeroteca.search.ranking import Preferences, Weights

if TYPE_CHECKING:
    from hemeroteca.config import Config
    from hemeroteca.ingest.document import SearchDocument

REBUILD = "rebuild it from the archive with `hemeroteca search rebuild`"  # the next step where an index is unusable


class SearchError(Unavailable):
    """Search cannot do this; the message names the thing, the reason and the next step."""


class IndexUnusableError(SearchError):
    """The index is damaged or of another version: it must be rebuilt from the archive."""


class IndexBusyError(SearchError):
    """Another process is writing the index."""


class IndexWriteError(SearchError):
    """The index could not be written, most likely for want of room. The last commit stands."""


class Hit(msgspec.Struct, kw_only=True):
    url: str
    title: str
    snippet: str  # HTML: escaped text with <b> around the words found
    score: float
    key: int
    page: int = 0  # key of the page; differs from `key` in an index of all versions
    title_html: str = ""  # the title as HTML, words found in bold
    host: str = ""
    language: str = ""
    type: str = ""
    author: str = ""
    digest: str = ""
    captured_ms: int = 0
    published_ms: int = 0  # 0 when the page does not say
    versions: int = 1
    collections: tuple[str, ...] = ()
    until_ms: int = 0  # in an index of all versions: when the next one was captured; 0: it is the last
    id: str = ""  # identifier of an imported document
    duplicates: int = 0  # further results with about the same text, not shown
    more_from_host: bool = False  # results of this host were moved to later pages

    @property
    def breadcrumbs(self) -> list[str]:
        """Host and path as readable steps: example.org › docs › setup."""
        return breadcrumbs(self.url)


class Results(msgspec.Struct, kw_only=True):
    total: int
    hits: list[Hit]
    notes: list[str] = []  # what of the query was not understood, for the reader
    exact: bool = True  # False: `total` is an estimate
    cursor: str = ""  # give it back to get the next page; empty on the last one
    facets: dict[str, list[tuple[str, int]]] = {}  # host, language, type, year, collection
    suggestion: str = ""  # did you mean


class Options(msgspec.Struct, kw_only=True, frozen=True):
    """How a search is answered. The defaults are for a person reading a page of results."""

    facets: bool = False
    group: bool = True  # one of several near-duplicates stands for them all
    diverse: bool = True  # not all results from one host
    snippets: bool = True
    suggest: bool = True  # say what was probably meant when a word is in hardly any page
    syntax: bool = True  # False: the query is plain words, operators have no meaning
    semantic: bool = False  # order the best by meaning too (needs the extra `semantic`)
    every: bool = False  # all words of the query are required, not only wanted
    loose: bool = False  # pages that have nothing but little words of the query (the, of) are results too
    sort: str = "relevance"  # or "newest", "oldest" (by date published), "captured" (last captured first)
    preferences: Preferences = Preferences()
    languages: tuple[str, ...] = ()  # the reader reads (ISO 639-1); their pages are preferred a little
    weights: Weights | None = None  # None: those of the index
    now_ms: int = 0  # 0: the clock


READER = Options()


class Contribution(msgspec.Struct, omit_defaults=True):
    """What a part of a query adds to the score of a page's text."""

    score: float
    each: dict[str, float] | None = None  # of the words: what each would score alone, the best first
    how: dict[str, Any] | None = None  # … and how the engine came to it


class Reasons(msgspec.Struct):
    """Why a page has its score."""

    score: float
    text_score: float
    factors: dict[str, float]  # each multiplies the score of the text
    parts: dict[str, Contribution]  # whose scores add up to that of the text: words, phrase, title, …
    terms: dict[str, list[str]]  # words that were looked for, by field


class Writer(Protocol):
    """One at a time per index. Nothing is visible or durable before `commit`."""

    def put(self, document: SearchDocument, replaces: bool = True) -> None:
        """Add a document; with `replaces`, one of the same key goes. Say False for a page known to be new: cheaper."""

    def delete(self, key: int) -> None: ...

    def commit(self) -> None: ...

    def close(self) -> None:
        """Wait for background merges and let go of the lock. What was not committed is dropped."""


class Index(Protocol):
    def writer(self, heap_bytes: int = 48 << 20, threads: int = 1) -> Writer:
        """One thread beside the caller suits a crawl; a bulk import may take more, within the same memory."""

    def search(
        self, query: str, limit: int = 10, offset: int = 0, cursor: str = "", options: Options = READER
    ) -> Results:
        """Never fails because of the query. At most 1,000 results can be reached."""

    def explain(self, query: str, key: int, options: Options = READER) -> Reasons | None:
        """Why a document has its score for a query; None when it does not match."""

    def get(self, key: int) -> SearchDocument | None: ...

    def count(self) -> int:
        """How many documents can be found now."""

    def sample(self, most: int) -> Iterator[SearchDocument]:
        """About `most` documents, spread over the index."""

    def is_known(self, word: str) -> bool:
        """Whether a word stands in so many pages that it can hardly be misspelt."""


def open_index(config: Config | None, path: Path) -> Index:
    """The index of an instance, made when it does not exist yet."""
    from hemeroteca.search.tantivy_index import TantivyIndex

    return TantivyIndex(path, config.search_mapped_bytes) if config else TantivyIndex(path)


def breadcrumbs(url: str) -> list[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return [url]
    if not parts.netloc:  # an imported document may say anything, or nothing
        return [url] if url else []
    steps = [unquote(step) for step in parts.path.split("/") if step]
    if steps and parts.path.endswith(_PAGE_SUFFIXES):
        steps[-1] = steps[-1].rsplit(".", 1)[0]
    steps = [step[:40] for step in steps if step not in ("index", "")]
    return [parts.netloc, *(steps if len(steps) <= 4 else [*steps[:2], "…", steps[-1]])]


_PAGE_SUFFIXES = (".html", ".htm", ".xhtml", ".php", ".asp", ".aspx", ".jsp")

"""A search as people ask for it and get it: options, results, and the cursors from one page of results to the next."""

import base64
from urllib.parse import unquote, urlsplit

import msgspec
import numpy as np

from hemeroteca.search.query.clauses import Note, Tagged
from hemeroteca.search.ranking import Preferences, Weights

MAX_RESULTS = 1000  # that can be reached by paging
_PAGE_SUFFIXES = (".html", ".htm", ".xhtml", ".php", ".asp", ".aspx", ".jsp")
HALF = 0xFFFFFFFF  # of a key: enough to tell results apart


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
        try:
            parts = urlsplit(self.url)
        except ValueError:
            return [self.url]
        if not parts.netloc:  # an imported document may say anything, or nothing
            return [self.url] if self.url else []
        steps = [unquote(step) for step in parts.path.split("/") if step]
        if steps and parts.path.endswith(_PAGE_SUFFIXES):
            steps[-1] = steps[-1].rsplit(".", 1)[0]
        steps = [step[:40] for step in steps if step not in ("index", "")]
        return [parts.netloc, *(steps if len(steps) <= 4 else [*steps[:2], "…", steps[-1]])]


class Results(msgspec.Struct, kw_only=True):
    total: int
    hits: list[Hit]
    notes: list[str] = []  # what of the query was not understood, for the reader
    exact: bool = True  # False: `total` is an estimate
    cursor: str = ""  # give it back to get the next page; empty on the last one
    facets: dict[str, list[tuple[str, int]]] = {}  # host, language, type, year, collection
    suggestion: str = ""  # did you mean


class SearchOptions(msgspec.Struct, kw_only=True, frozen=True):
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
    tagged: Tagged | None = None  # where `tag:` looks; None: whoever asks may not see tags
    now_ms: int = 0  # 0: the clock


READER = SearchOptions()


class Wanted(msgspec.Struct, frozen=True):
    """Which results: `limit` of them after the first `offset`."""

    limit: int
    offset: int
    start: int  # place of the first of them among those that were not shown
    shown: frozenset[int]  # lower halves of keys of results on the pages before

    @property
    def end(self) -> int:
        return self.offset + self.limit


def write_cursor(offset: int, shown: list[int]) -> str:
    """What was shown travels with the cursor, so that nothing is shown twice while the index changes."""
    packed = msgspec.msgpack.encode((1, offset, np.array(shown[-MAX_RESULTS:], dtype="<u4").tobytes()))
    return base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")


def read_cursor(cursor: str, notes: list[str]) -> tuple[int, frozenset[int]]:
    try:
        packed = base64.urlsafe_b64decode(cursor[:10_000] + "=" * (-len(cursor) % 4))
        version, offset, shown = msgspec.msgpack.decode(packed, type=tuple[int, int, bytes])
        if version != 1 or not 0 <= offset <= MAX_RESULTS or len(shown) % 4:
            raise ValueError(cursor)
    except (ValueError, msgspec.MsgspecError):
        notes.append(Note("the page asked for is not known; this is the first one"))
        return 0, frozenset()
    return offset, frozenset(np.frombuffer(shown, dtype="<u4").tolist())

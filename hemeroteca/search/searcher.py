"""Queries answered: read, planned, asked of the index, ranked, and shown as a page of results.

Three steps bound the time whatever is asked: the engine gives a bounded number of candidates, a few numbers of each
order them (`candidates`), and only what is shown is read in full.
"""

from __future__ import annotations

import logging
import math
import os
import time
import unicodedata
from collections.abc import Callable, Collection, Hashable, Sequence
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec
import numpy as np

from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.search import analysis, ranking, word_vectors
from hemeroteca.search.facets import facets
from hemeroteca.search.graph import LinkRanks
from hemeroteca.search.heavy_queries import HEAVY_QUERIES
from hemeroteca.search.index import VERSIONS, Index, IndexReader, IndexUnusableError, SearchError, open_index
from hemeroteca.search.index.document_fields import BODIES
from hemeroteca.search.index.expressions import KeysQuery
from hemeroteca.search.index.version_index import open_past
from hemeroteca.search.query.clauses import Note, required
from hemeroteca.search.query.conditions import stands
from hemeroteca.search.query.parser import MAX_QUERY, parse, parse_words
from hemeroteca.search.query.query_plan import RARE, Lexicon, QueryPlan, QueryPlanner
from hemeroteca.search.query.vocabulary import Form
from hemeroteca.search.results import (
    HALF,
    MAX_RESULTS,
    READER,
    Hit,
    Results,
    SearchOptions,
    Wanted,
    read_cursor,
    write_cursor,
)
from hemeroteca.search.retrieval import FOR_HOSTS, MIN_CANDIDATES, RankedMatches, Retrieval
from hemeroteca.search.score_explanation import Reasons, reasons
from hemeroteca.search.snippet import Highlighter
from hemeroteca.search.suggest.suggester import Suggester

if TYPE_CHECKING:
    from hemeroteca.config import Config
    from hemeroteca.search.semantic import Encoder

log = logging.getLogger("hemeroteca.search")
Kept = TypeVar("Kept")
MAX_MATCHING = 50_000  # matches of one query that are told apart: the newest
_COUNT_BELOW = 20_000  # postings up to which matches are counted, not estimated
_MAX_REMEMBERED = 200_000  # results kept in memory during a batch of queries


def open_searcher(config: Config | None, path: Path) -> Searcher:
    """Answers queries from the index in a folder, made when it does not exist yet."""
    index = open_past(config, path.parent) if path.name == VERSIONS else open_index(config, path)
    return Searcher(index, path)


class Searcher:
    """An index with what orders and completes its answers: link ranks, learned words, weights, kept beside it."""

    def __init__(self, index: Index, path: Path) -> None:
        self.index = index
        self.of_versions = path.name == VERSIONS
        self.encoder: Encoder | None = None  # for semantic ranking; None: the one of the extra `semantic`
        self.weights = _weights(path / "ranking.json")
        self._links = _Latest(path / "rank", LinkRanks.load)
        self._learned = _Latest((path.parent if self.of_versions else path) / "suggest", Suggester.load)
        self._known = _Known()

    @property
    def suggester(self) -> Suggester | None:
        """What was last learned of the words of the index, if anything was."""
        return self._learned.get()

    def search(
        self, query: str, limit: int = 10, offset: int = 0, cursor: str = "", options: SearchOptions = READER
    ) -> Results:
        """Never fails because of the query. At most `MAX_RESULTS` results can be reached."""
        whole = query[: MAX_QUERY + 1].encode("utf-8", "replace").decode("utf-8")  # no halves of characters
        query = unicodedata.normalize("NFC", whole)
        with HEAVY_QUERIES.turn_for(query):
            try:
                return _Search(self, options).results(query, limit, offset, cursor)
            except IndexUnusableError as error:
                log.warning("the query %r was refused by the engine (%s); answered as plain words", query[:200], error)
            plain = msgspec.structs.replace(options, syntax=False)
            found = _Search(self, plain).results(query, limit, offset, cursor)
        found.notes.append(Note("the operators of this query could not be used; it was read as plain words"))
        return found

    def explain(self, query: str, key: int, options: SearchOptions = READER) -> Reasons | None:
        """Why a document has its score for a query; None when it does not match."""
        search = _Search(self, options)
        return reasons(search.retrieval, search.plan(query), key)

    def matching(
        self, query: str, options: SearchOptions, known: Collection[int] = (), most: int = MAX_MATCHING
    ) -> list[int]:
        """Keys of all documents that match and are not `known`, those captured last first."""
        search = _Search(self, options)
        plan = search.plan(query)
        if plan.every is None:
            return []
        places = [match.place for match in search.reader.search(plan.every(), most, count=False, by="captured").best]
        keys = search.reader.columns(("key",), places)["key"].tolist()
        return [
            key
            for key, place in zip(keys, places, strict=True)
            if key not in known and (not plan.in_body or stands(plan.asked, search.reader.read(place)))
        ]

    def described(self, query: str, options: SearchOptions, keys: list[int]) -> list[Hit]:
        """What a message says of these documents: the snippet is plain text."""
        plan = _Search(self, options).plan(query)
        hits = []
        for key in keys:
            document = self.index.get(key)
            if document is not None:
                marks = _marks(plan, analysis.field_of(document.language))
                hit = _hit(document, 0.0)
                hit.snippet = unescape(
                    marks.snippet(document.text or document.description).replace("<b>", "").replace("</b>", "")
                )
                hits.append(hit)
        return hits

    def is_known(self, word: str) -> bool:
        """Whether a word stands in so many pages that it can hardly be misspelt."""
        reader = self.index.reader()
        return any(
            reader.frequency(body, term) > RARE
            for name, body in BODIES.items()
            for term in analysis.terms(word, name)[:1]
        )

    def known(self, reader: IndexReader) -> _Known:
        """What was found out about the documents of a reader, for the next query."""
        if self._known.generation != reader.generation:
            self._known = _Known(reader.generation)
        return self._known

    @property
    def link_ranks(self) -> LinkRanks | None:
        """The last ranking of the link graph, if there is one."""
        return self._links.get()


class _Known:
    """What is remembered of one commit of an index."""

    def __init__(self, generation: Hashable = None) -> None:
        self.generation = generation
        self.hits: dict[int, Hit] = {}  # for runs that ask for many results without text
        self.forms: dict[tuple[str, str, str], list[Form]] = {}  # of words asked for
        self.length: float | None = None  # characters of a text, on average
        self.vectors: dict[int, np.ndarray] = {}  # of documents
        self.languages: Sequence[tuple[str, int]] | None = None
        self.hosts: int | None = None  # counted up to `Weights.many_hosts`


class _Latest(Generic[Kept]):
    """What another process writes into a folder, loaded anew when the folder has changed."""

    def __init__(self, folder: Path, load: Callable[[Path], Kept | None]) -> None:
        self._folder, self._load = folder, load
        self._seen: tuple[int, int] = (-1, -1)
        self._kept: Kept | None = None

    def get(self) -> Kept | None:
        try:
            status = os.stat(self._folder)
            now = (status.st_mtime_ns, status.st_ino)
        except FileNotFoundError:
            now = (0, 0)
        if now != self._seen:
            self._kept, self._seen = self._load(self._folder), now
        return self._kept


class _Search:
    """One query being answered."""

    def __init__(self, searcher: Searcher, options: SearchOptions) -> None:
        self.searcher = searcher
        self.options = options
        self.reader = searcher.index.reader()
        self.known = searcher.known(self.reader)
        weights = options.weights or searcher.weights
        if self.known.hosts is None:
            self.known.hosts = len(self.reader.terms("host", "", weights.many_hosts + 1))
        self.retrieval = Retrieval(
            reader=self.reader,
            options=options,
            weights=weights,
            now_ms=options.now_ms or int(time.time() * 1000),
            links=searcher.link_ranks,
            of_versions=searcher.of_versions,
            hosts=self.known.hosts,
            vectors=word_vectors.load() if weights.meaning else None,
            known=self.known.vectors,
        )
        self._marks: dict[str, Highlighter] = {}  # by body field
        self._standing: dict[int, bool] = {}  # documents whose text was read for `inbody:`

    def results(self, query: str, limit: int, offset: int, cursor: str) -> Results:
        plan = self.plan(query)
        if plan.every is None:
            return Results(total=0, hits=[], notes=plan.notes, suggestion=self._suggestion(query, plan))
        limit = max(0, min(limit, MAX_RESULTS))
        if cursor:
            offset, shown = read_cursor(cursor, plan.notes)
            page = self._page(query, plan, Wanted(limit, offset, 0, shown))
        else:
            page = self._page(query, plan, Wanted(limit, offset, offset, frozenset()))
        total = page.matches if plan.counted or page.matches else self._estimate(plan)
        if plan.at is not None and not self.searcher.of_versions:
            plan.notes.append(
                Note("only the last version of each page is indexed: `at:` found those unchanged since then")
            )
        return Results(
            total=max(total, len(page.hits)),
            exact=plan.counted and not plan.in_body,
            hits=page.hits,
            notes=plan.notes,
            cursor=page.next_cursor,
            facets=facets(self.reader, plan.every()) if self.options.facets else {},
            suggestion=self._suggestion(query, plan) if not cursor and not offset else "",
        )

    def plan(self, query: str) -> QueryPlan:
        languages = self._languages()
        parsed = parse(query) if self.options.syntax else parse_words(query)
        if self.options.every:
            parsed = required(
                parsed, lambda word: any(analysis.is_stop_word(word, language) for language, _ in languages)
            )
        learned = self.searcher.suggester
        if self.known.length is None:
            self.known.length = self.reader.average("length")
        lexicon = Lexicon(self.reader, languages, self.known.forms, learned.spoken if learned else None)
        weights = ranking.for_texts(self.retrieval.weights, self.known.length)
        blocks = self.options.preferences.blocks
        plan = QueryPlanner(lexicon, weights, blocks, self.options.loose, self.options.tagged).plan(parsed)
        plan.counted = not plan.plain or sum(documents for _, _, documents in plan.scored) <= _COUNT_BELOW
        return plan

    def _languages(self) -> Sequence[tuple[str, int]]:
        """With how many pages each, those counted that were deleted since the last merge."""
        if self.known.languages is None:
            self.known.languages = self.reader.terms("language")
        return self.known.languages

    def _estimate(self, plan: QueryPlan) -> int:
        """How many documents have any of the words, if words were independent: good enough for «about 120,000»."""
        total = max(1, sum(pages for _, pages in self._languages()))
        without = math.prod(1 - min(1.0, having / total) for _, _, having in plan.scored)
        return round(self.reader.documents * (1 - without))

    def _page(self, query: str, plan: QueryPlan, wanted: Wanted) -> _Page:
        """Results from as many candidates as they need."""
        reach = min(MAX_RESULTS, max(MIN_CANDIDATES, 2 * wanted.end))
        while True:
            found = self.retrieval.find(plan, reach)
            pages = 1 + wanted.offset // max(1, wanted.limit)
            ranked = self.retrieval.rank(found.best, plan, wanted.limit, pages)
            cut = len(found.best) >= reach  # there are more matches
            if cut and reach < FOR_HOSTS and self.retrieval.are_of_few_hosts(ranked, plan, wanted.end):
                reach = FOR_HOSTS
                continue
            if self.options.semantic and self.retrieval.by_relevance:
                self._order_by_meaning(ranked, query)
            fresh = [r for r in ranked.order if (ranked.keys[r] & HALF) not in wanted.shown]
            hits, used = self._hits(ranked, fresh[wanted.start :], wanted.limit, plan)
            seen = wanted.start + used
            # copies of one text are one result: where they are many, more candidates must be asked for
            if len(fresh) > seen or not cut or reach >= MAX_RESULTS:
                more = len(fresh) > seen and wanted.offset + used < MAX_RESULTS
                keys = [ranked.keys[r] & HALF for r in fresh[:seen]]
                cursor = write_cursor(wanted.offset + used, [*wanted.shown, *keys]) if more else ""
                return _Page(hits, found.total, cursor)
            reach = min(MAX_RESULTS, 4 * reach)

    def _order_by_meaning(self, ranked: RankedMatches, query: str) -> None:
        """Fuse the order of the best candidates with the order of their meaning; scores become those of the fusion."""
        from hemeroteca.search import semantic

        encoder = self.searcher.encoder or semantic.load_encoder()
        best, rest = ranked.order[: semantic.CANDIDATES], ranked.order[semantic.CANDIDATES :]
        pages = [self.reader.read(ranked.places[i]) for i in best]
        texts = [f"{page.title}. {page.description or page.text}" for page in pages]
        places = semantic.fused(query, texts, encoder)
        for place, score in places:
            ranked.scores[best[place]] = score
        for place, i in enumerate(rest, len(best)):
            ranked.scores[i] = 1 / (semantic.RANK_CONSTANT + 1 + place)
        ranked.order = [best[place] for place, _ in places] + rest

    def _hits(self, ranked: RankedMatches, order: list[int], limit: int, plan: QueryPlan) -> tuple[list[Hit], int]:
        """The first results of an order, and how many candidates it took to have them."""
        hits: list[Hit] = []
        used = 0
        for i in order:
            if len(hits) >= limit:
                break
            used += 1
            key = ranked.keys[i]
            if not self.options.snippets and not plan.in_body and (before := self.known.hits.get(key)):
                hits.append(msgspec.structs.replace(before, score=float(ranked.scores[i])))
                continue
            page = self.retrieval.read(key, ranked.places[i])
            if plan.in_body and not self._stands(key, plan, page):
                continue
            page = self._proper(page)
            hit = _hit(page, float(ranked.scores[i]))
            hit.duplicates = ranked.duplicates.get(i, 0)
            hit.more_from_host = int(ranked.hosts[i]) in ranked.delayed
            if self.options.snippets:
                self._mark(hit, page, plan)
            elif len(self.known.hits) < _MAX_REMEMBERED:
                self.known.hits[key] = hit
            hits.append(hit)
        return hits, used

    def _proper(self, page: SearchDocument) -> SearchDocument:
        """The page under the address it names as its own, if that has the same text: `a.html` of `a.html?x=1`."""
        if not page.canonical or not self.options.group or self.searcher.of_versions:
            return page
        found = self.reader.search(KeysQuery((page.canonical,)), 1, count=False).best
        proper = self.reader.read(found[0].place) if found else page
        differing = (page.simhash ^ proper.simhash).bit_count()
        return proper if differing <= self.retrieval.weights.duplicate_bits else page

    def _stands(self, key: int, plan: QueryPlan, page: SearchDocument) -> bool:
        """Whether `inbody:` holds; remembered, for candidates come again when more are asked for."""
        standing = self._standing.get(key)
        if standing is None:
            standing = self._standing[key] = stands(plan.asked, page)
        return standing

    def _mark(self, hit: Hit, page: SearchDocument, plan: QueryPlan) -> None:
        """Snippet and title with the words of the query in bold."""
        field = analysis.field_of(page.language)
        marks = self._marks.get(field)
        if marks is None:
            marks = self._marks[field] = _marks(plan, field)
        hit.snippet = marks.snippet(page.text or page.description)
        if page.text and page.description and "<b>" not in hit.snippet:
            described = marks.snippet(page.description)
            hit.snippet = described if "<b>" in described else hit.snippet
        hit.title_html = marks.highlight(page.title)

    def _suggestion(self, query: str, plan: QueryPlan) -> str:
        if not self.options.suggest or not (plan.doubtful or (plan.every is None and plan.plain)):
            return ""
        suggester = self.searcher.suggester
        return suggester.correct(query, is_known=self.searcher.is_known) if suggester else ""


class _Page(msgspec.Struct):
    hits: list[Hit]
    matches: int  # 0: not counted
    next_cursor: str  # empty: there are no more


_SHARED = tuple(name for name in Hit.__struct_fields__ if name in SearchDocument.__struct_fields__)


def _hit(page: SearchDocument, score: float) -> Hit:
    hit = Hit(snippet="", score=score, **{name: getattr(page, name) for name in _SHARED})
    hit.page = page.page or page.key
    return hit


def _marks(plan: QueryPlan, field: str) -> Highlighter:
    return Highlighter(plan.wanted.get(field, set()), field)


def _weights(file: Path) -> ranking.Weights:
    try:
        return msgspec.json.decode(file.read_bytes(), type=ranking.Weights)
    except FileNotFoundError:
        return ranking.DEFAULT
    except msgspec.MsgspecError as error:
        raise SearchError(f"the weights in {file} cannot be used ({error}); correct them or remove the file")

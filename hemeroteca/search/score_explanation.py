"""Why a result stands where it does: its place and what its score is made of."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from hemeroteca.ingest.search_document import document_key
from hemeroteca.search import ranking
from hemeroteca.search.index import Match, SearchError
from hemeroteca.search.index.document_fields import BODIES
from hemeroteca.search.index.expressions import KeysQuery, Query, TermQuery, all_of
from hemeroteca.search.results import SearchOptions

if TYPE_CHECKING:
    from hemeroteca.search.query.query_plan import QueryPlan
    from hemeroteca.search.retrieval import Retrieval
    from hemeroteca.search.searcher import Searcher

RESULTS, PAGES = 10, 10  # on a page, and pages in which the place of a result is looked for


class Contribution(msgspec.Struct, omit_defaults=True):
    """What a part of a query adds to the score of a page's text."""

    score: float
    each: dict[str, float] | None = None  # of the words: what each would score alone, the best first
    how: dict[str, Any] | None = None  # … and how the engine found the page, before the forms of a word were joined


class Reasons(msgspec.Struct):
    """Why a page has its score."""

    score: float
    text_score: float
    factors: dict[str, float]  # each multiplies the score of the text
    parts: dict[str, Contribution]  # whose scores add up to that of the text: words, phrase, title, …
    terms: dict[str, list[str]]  # words that were looked for, by field


class Explanation(Reasons):
    """The same with where it stands."""

    title: str
    place: int | None  # on the pages of results, counted from 1; None: on none of the first, or hidden as a copy

    @property
    def words(self) -> dict[str, float]:
        """What each word of the query would score alone, the best first."""
        words = self.parts.get("words")
        return dict(words.each or {}) if words else {}


def explained(searcher: Searcher, query: str, address: str, options: SearchOptions) -> Explanation:
    """Of a page by its address, or of an imported document by its identifier. Raises SearchError."""
    from hemeroteca import urls  # a search needs none of it, and starts sooner without

    keys = [document_key(f"import:{address}")]
    try:
        keys.insert(0, urls.key(urls.canonical(address)))
    except urls.UrlError:
        pass
    for key in keys:
        document = searcher.index.get(key)
        if document is not None:
            break
    else:
        raise SearchError(f"{address} is not in the index; `hemeroteca search url:…` finds addresses")
    why = searcher.explain(query, key, options)
    if why is None:
        for host in options.preferences.blocks:
            if f".{document.host}".endswith(f".{host}"):
                raise SearchError(f"{host} is blocked; `hemeroteca search prefer {host} --forget` shows it again")
        raise SearchError(f"{address} does not match the query {query!r}")
    why.parts = {name: part for name, part in why.parts.items() if part.score}
    place = _place(searcher, query, key, options)
    return Explanation(**msgspec.structs.asdict(why), title=document.title, place=place)


def _place(searcher: Searcher, query: str, key: int, options: SearchOptions) -> int | None:
    cursor, before = "", 0
    for _ in range(PAGES):
        found = searcher.search(query, limit=RESULTS, cursor=cursor, options=options)
        for at, hit in enumerate(found.hits, before + 1):
            if hit.key == key:
                return at
        cursor, before = found.cursor, before + len(found.hits)
        if not cursor:
            break
    return None


def reasons(retrieval: Retrieval, plan: QueryPlan, key: int) -> Reasons | None:
    """Why a document has its score; None when it does not match."""
    if plan.every is None or (match := _match(retrieval, plan.every(), key)) is None:
        return None
    parts = _contributions(retrieval, plan, key, match)
    score = sum(part.score for part in parts.values())
    ranked = retrieval.rank([Match(score, match.place)], plan, 1)
    priors = ranking.prior(ranked.facts, retrieval.weights, retrieval.now_ms)
    factors = {name: float(factor[0]) for name, factor in priors.items() if factor[0] != 1.0}
    return Reasons(
        score=score * math.prod(factors.values()),
        text_score=score,
        factors=factors,
        parts=parts,
        terms={name: sorted(terms) for name, terms in plan.wanted.items() if terms},
    )


def _contributions(retrieval: Retrieval, plan: QueryPlan, key: int, place: Match) -> dict[str, Contribution]:
    """What the words and each kind of bonus give a page."""
    parts: dict[str, Contribution] = {}
    for part in plan.parts:
        for asked in (part.first or part.query, part.query):
            match = _match(retrieval, asked, key)
            if match is not None:
                how = retrieval.reader.explain(asked, place.place)
                score = retrieval.word_scores(part, [key])[key] if part.words else match.score * part.factor
                parts["words"] = Contribution(score, _each(retrieval, plan, key, part.factor), how)
                break
    for bonus in plan.bonuses:
        for more in retrieval.bonus_scores([bonus], [key]).values():
            parts.setdefault(bonus.name, Contribution(0.0)).score += more
    return parts


def _match(retrieval: Retrieval, query: Query, key: int) -> Match | None:
    """The page of that key, if the query finds it."""
    return next(iter(retrieval.reader.search(all_of((query, KeysQuery((key,)))), 1).best), None)


def _each(retrieval: Retrieval, plan: QueryPlan, key: int, factor: float) -> dict[str, float]:
    """What each word of the page would score alone, in the form it stands there, the best first."""
    scores: dict[str, float] = {}
    for name, term in plan.factors:
        if match := _match(retrieval, TermQuery(BODIES[name], term), key):
            scores[term] = match.score * plan.factors[name, term] * factor
    return dict(sorted(scores.items(), key=lambda item: -item[1]))

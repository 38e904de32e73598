"""Candidates of a query: the best pages by their text, then ordered by everything known about them.

The engine gives at most `MAX_RESULTS` candidates by their text; a few numbers per candidate (columns of the index, link
ranks) order them; of the best, the beginning of the text is compared with the query.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np

from hemeroteca.ingest.search_document import SearchDocument, document_key
from hemeroteca.search import dedup, ranking
from hemeroteca.search.graph import LinkRanks
from hemeroteca.search.index import IndexReader, Match, Matches
from hemeroteca.search.index.document_fields import BODIES, language_number
from hemeroteca.search.index.expressions import BooleanQuery, Query, TermQuery, boosted
from hemeroteca.search.query.query_plan import Bonus, Part, QueryPlan
from hemeroteca.search.results import SearchOptions
from hemeroteca.search.word_vectors import WordVectors

MIN_CANDIDATES = 40  # that are ordered anew
FOR_HOSTS = 400  # candidates when a few hosts would fill the page
_CLOSELY = 30  # candidates looked at for phrases …
_MAX_CLOSELY = 200  # … and when many results are wanted
AS_TYPED = 0.3  # part of a word's score that is BM25 of its typed form, the rest is that of all its forms …
SENTENCE = 10  # … in a query of so many words; in shorter ones less
_BM25_MOST = 2.2  # what BM25 gives a word that fills a text, as a multiple of its rarity: k1 + 1
_SATURATED = 0.999
_BY_MEANING, _MAX_BY_MEANING = 20, 40  # candidates whose texts are compared with the query: two pages of results
_MAX_KNOWN = 4000  # vectors kept: 1 kB each
_COLUMNS = ("key", "host_key", "captured", "depth", "length", "simhash", "language_number")


class _Candidate(NamedTuple):
    key: int
    score: float
    place: Any
    language: str  # body field it was found by; empty: any


class RankedMatches(msgspec.Struct):
    """Candidates in their order."""

    places: list[Any]  # of the documents, for the reader
    keys: list[int]
    hosts: np.ndarray  # keys of their hosts
    scores: np.ndarray
    facts: ranking.Facts
    order: list[int]  # positions of the candidates, best first
    duplicates: dict[int, int]  # position → how many others it stands for
    delayed: set[int]  # keys of hosts with results moved back


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Finds and ranks the candidates of one query."""

    reader: IndexReader
    options: SearchOptions
    weights: ranking.Weights
    now_ms: int
    links: LinkRanks | None
    of_versions: bool  # the index has all versions of pages: one of each is a result
    hosts: int  # of the index; above `weights.many_hosts` they are not counted
    vectors: WordVectors | None = None  # None: words mean only themselves
    known: dict[int, np.ndarray] = dataclasses.field(
        default_factory=dict
    )  # vectors of documents met in the same commit
    _pages: dict[int, SearchDocument] = dataclasses.field(default_factory=dict)  # read for this query, by key

    @property
    def by_relevance(self) -> bool:
        return self.options.sort == "relevance"

    def find(self, plan: QueryPlan, reach: int) -> Matches:
        """Pages from which results are chosen."""
        if self.by_relevance:
            return self._best(plan, reach)
        assert plan.every is not None
        by = "captured" if self.options.sort == "captured" else "published"
        return self.reader.search(plan.every(), reach, by=by, descending=self.options.sort != "oldest")

    def _best(self, plan: QueryPlan, reach: int) -> Matches:
        """The best candidates by their text."""
        best: list[tuple[float, Any, str]] = []
        total = 0
        for part in plan.parts:
            found = None
            if part.first is not None and not plan.counted:
                found = self.reader.search(part.first, reach, count=False)
            if found is None or len(found.best) < reach:
                found = self.reader.search(part.query, reach, count=plan.counted)
            best += [(score * part.factor, place, part.language) for score, place in found.best]
            total += found.total
        best.sort(key=lambda candidate: -candidate[0])
        del best[reach:]
        closely = _CLOSELY if reach in (MIN_CANDIDATES, FOR_HOSTS) else min(_MAX_CLOSELY, reach)
        keys = self.reader.columns(("key",), [place for _, place, _ in best[:closely]])["key"].tolist()
        first = [_Candidate(key, *found) for key, found in zip(keys, best, strict=False)]
        first, behind = self._by_words(plan, first, best[closely:])
        more = self._bonuses(plan, first, {language for _, _, language in best})
        scored = [Match(one.score + more.get(one.key, 0.0), one.place) for one in first]
        return Matches(scored + behind, total)

    def _by_words(
        self, plan: QueryPlan, first: list[_Candidate], rest: list[tuple[float, Any, str]]
    ) -> tuple[list[_Candidate], list[Match]]:
        """The first candidates scored anew by their words; those after them stay behind."""
        words = {part.language: part for part in plan.parts if part.words}
        if not words or not first:
            return first, [Match(score, place) for score, place, _ in rest]
        anew: dict[int, float] = {}
        for field, part in words.items():
            if of_field := [one.key for one in first if one.language == field]:
                anew |= self.word_scores(part, of_field)
        first = [one._replace(score=anew.get(one.key, one.score)) for one in first]
        first.sort(key=lambda one: -one.score)
        behind = min(1.0, first[-1].score / rest[0][0]) if rest and rest[0][0] else 1.0
        return first, [Match(score * behind, place) for score, place, _ in rest]

    def word_scores(self, part: Part, keys: Sequence[int]) -> dict[int, float]:
        """BM25 of documents, a word counted as often as it is there in any of its forms.

        The engine saturates each form by itself. From what it gives a form, how often it stands in a text of that
        length is found again: of `tf / (tf + norm)` it is `tf / norm`, which is added up over the forms.
        """
        body = BODIES[part.language]
        typed = AS_TYPED * min(1.0, len(part.words) / SENTENCE)
        several = [word for word in part.words if len(word.forms) > 1]
        terms = {term: row for row, term in enumerate(dict.fromkeys(term for word in several for term in word.forms))}
        simple = [part.rest] if part.rest is not None else []  # scored by the engine as they are
        for word in part.words:
            if len(word.forms) == 1:
                term, rarity = word.forms[0]
                simple.append(
                    boosted(TermQuery(body, term), ((1 - typed) * word.weight + typed * word.as_typed) / rarity)
                )
        queries: list[Query] = [TermQuery(body, term) for term, _ in terms]
        if simple:
            queries.append(BooleanQuery(should=tuple(simple)))
        table = self.reader.score_table(queries, keys)
        rarities = np.array([rarity for _, rarity in terms]).reshape(-1, 1)
        parts = np.minimum(table[: len(terms)] / (_BM25_MOST * rarities), _SATURATED)
        scores = table[len(terms) :].sum(axis=0)
        for word in several:
            of_form = parts[[terms[form] for form in word.forms]]
            often = (of_form / (1 - of_form)).sum(axis=0)
            given = (1 - typed) * word.weight * often / (1 + often) + typed * word.as_typed * of_form[0]
            scores = scores + _BM25_MOST * given
        return dict(zip(keys, (scores * part.factor).tolist(), strict=True))

    def _bonuses(self, plan: QueryPlan, first: list[_Candidate], languages: set[str]) -> dict[int, float]:
        """What bonuses give each of the first candidates, by key."""
        bonuses = [bonus for bonus in plan.bonuses if not bonus.language or languages & {bonus.language, ""}]
        return self.bonus_scores(bonuses, [one.key for one in first]) if bonuses else {}

    def bonus_scores(self, bonuses: Sequence[Bonus], keys: Sequence[int]) -> dict[int, float]:
        """By how much documents are better matches than their words alone say."""
        phrases = [boosted(bonus.query, bonus.weight) for bonus in bonuses if bonus.name == "phrase"]
        others = tuple(boosted(bonus.query, bonus.weight) for bonus in bonuses if bonus.name != "phrase")
        return self.reader.scores([*phrases, BooleanQuery(should=others)] if others else phrases, keys)

    def are_of_few_hosts(self, ranked: RankedMatches, plan: QueryPlan, wanted: int) -> bool:
        """Whether a few hosts fill the candidates, so that results of others must be looked for further down."""
        if not self.options.diverse or not self.by_relevance or plan.one_host:
            return False
        hosts = Counter(ranked.hosts.tolist())
        if sum(min(count, self.weights.per_host) for count in hosts.values()) >= wanted:
            return False
        return self.hosts > 1

    def rank(self, candidates: list[Match], plan: QueryPlan, page: int, pages: int = 1) -> RankedMatches:
        """Candidates in the order of results, arranged for so many `pages` of `page` results."""
        places = [place for _, place in candidates]
        columns = self.reader.columns(_COLUMNS, places)
        scores = np.array([score for score, _ in candidates], dtype=np.float64)
        facts = self._facts(columns, plan)
        if self.by_relevance:
            for factor in ranking.prior(facts, self.weights, self.now_ms).values():
                scores *= factor
            compared = min(max(2 * page, _BY_MEANING), _MAX_BY_MEANING)
            facts.meaning = self._meaning(plan, scores, columns["key"], places, compared)
            if facts.meaning is not None:
                scores *= 1 + self.weights.meaning * facts.meaning
            order = np.lexsort((columns["key"], -scores)).tolist()  # equal scores: always the same order
        else:
            order = list(range(len(candidates)))
        order, duplicates = self._without_copies(order, columns["simhash"], places)
        order, delayed = self._spread(order, columns["host_key"], scores, page, pages)
        return RankedMatches(
            places=places,
            keys=columns["key"].tolist(),
            hosts=columns["host_key"],
            scores=scores,
            facts=facts,
            order=order,
            duplicates=duplicates,
            delayed=delayed,
        )

    def _meaning(
        self, plan: QueryPlan, scores: np.ndarray, keys: np.ndarray, places: list[Any], compared: int
    ) -> np.ndarray | None:
        """How near the texts of the best candidates are to the query, 0 … 1; None where it does not matter.

        The others count as the farthest of these, so that they stay behind.
        """
        if self.vectors is None or not self.weights.meaning or not plan.meant or not places:
            return None
        asked = self.vectors.of_query(plan.meant)
        if asked is None:
            return None
        best = np.lexsort((keys, -scores))[:compared].tolist()
        near = np.maximum(0.0, np.stack([self._vector(int(keys[at]), places[at]) for at in best]) @ asked[0])
        meaning = np.full(len(scores), near.min())
        meaning[best] = near
        return meaning * asked[1]

    def _vector(self, key: int, place: Any) -> np.ndarray:
        """Of the beginning of a text; all zeros where it says nothing."""
        assert self.vectors is not None
        vector = self.known.get(key)
        if vector is None:
            if len(self.known) >= _MAX_KNOWN:
                self.known.clear()
            page = self._pages[key] = self.reader.read(place)
            vector = self.vectors.of(f"{page.title} {page.text or page.description}", page.language)
            self.known[key] = vector = self.vectors.nothing if vector is None else vector
        return vector

    def read(self, key: int, place: Any) -> SearchDocument:
        """A document; one whose text was compared is not read again."""
        return self._pages.get(key) or self.reader.read(place)

    def _facts(self, columns: dict[str, np.ndarray], plan: QueryPlan) -> ranking.Facts:
        """What is known about the candidates beside their text."""
        hosts = columns["host_key"]
        boosts = self._boosts()
        return ranking.Facts(
            captured_ms=columns["captured"],
            depth=columns["depth"],
            length=columns["length"],
            link_rank=self.links.pages(columns["key"]) if self.links else None,
            host_rank=self.links.hosts(hosts) if self.links else None,
            language=self._fitting(columns["language_number"], plan.language),
            boost=np.array([boosts.get(host, 1.0) for host in hosts.tolist()]) if boosts else None,
        )

    def _without_copies(
        self, order: list[int], fingerprints: np.ndarray, places: list[Any]
    ) -> tuple[list[int], dict[int, int]]:
        """The best of what is one page or one text, with how many others each stands for."""
        if not self.options.group:
            return order, {}
        if self.of_versions:
            return dedup.one_per_page(order, self.reader.columns(("page",), places)["page"])
        return dedup.one_per_text(order, fingerprints.view(np.uint64), self.weights.duplicate_bits)

    def _spread(
        self, order: list[int], host_keys: np.ndarray, scores: np.ndarray, page: int, pages: int
    ) -> tuple[list[int], set[int]]:
        """Results of one host moved apart over the pages, with the hosts some of whose results were moved back."""
        if not self.options.diverse or not page or not self.by_relevance:
            return order, set()
        hosts = host_keys[order].tolist()
        times = Counter(hosts)
        if len(times) < 2 or max(times.values()) <= self.weights.per_host:
            return order, set()
        comparable = ranking.comparable(self.weights, self.hosts)
        places = ranking.spread(hosts, scores[order].tolist(), self.weights.per_host, comparable, page, pages)
        delayed = {hosts[place] for at, place in enumerate(places) if place < at}
        return [order[place] for place in places], delayed

    def _boosts(self) -> dict[int, float]:
        """host key → factor for the hosts a person has judged, and their subdomains' first label `www`."""
        boosts: dict[int, float] = {}
        for host, factor in self.options.preferences.boosts.items():
            bare = host.removeprefix("www.")
            for name in (bare, f"www.{bare}", host):
                boosts[document_key(name)] = max(0.01, min(100.0, factor))
        return boosts

    def _fitting(self, languages: np.ndarray, asked: str) -> np.ndarray | None:
        """How well languages of pages fit a query and its reader; None when neither has one."""
        wanted = {language_number(code): 0.5 for code in self.options.languages[:5]}
        if asked:
            wanted[language_number(asked)] = 1.0
        wanted.pop(0, None)
        if not wanted:
            return None
        fits = np.zeros(len(languages))
        fits[languages == 0] = 0.5 * max(wanted.values())
        for number, share in wanted.items():
            fits[languages == number] = share
        return fits

"""A query answered: candidates from the index, ordered by everything known about them, shown as a page of results.

Three steps bound the time whatever is asked: the engine gives at most `MOST_RESULTS` candidates by their text, a few
numbers per candidate (columns of the index, link ranks) order them, and only what is shown is read in full.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import tantivy
from tantivy import Occur, Order, Query

from hemeroteca.ingest.document import document_key
from hemeroteca.search import analysis, copies, ranking
from hemeroteca.search.clauses import required
from hemeroteca.search.in_body import stands
from hemeroteca.search.index import Contribution, Hit, Options, Reasons, Results
from hemeroteca.search.notes import Note
from hemeroteca.search.paging import HALF, MOST_RESULTS, Wanted, read_cursor, write_cursor
from hemeroteca.search.plan import Bonus, Plan
from hemeroteca.search.planner import Lexicon, Planner
from hemeroteca.search.query import parse, parse_words
from hemeroteca.search.snippet import Marks
from hemeroteca.search.tantivy_document import Stored, language_number, stored
from hemeroteca.search.tantivy_query import Found, found

if TYPE_CHECKING:
    from hemeroteca.search.tantivy_index import TantivyIndex

_LEAST = 40  # candidates ordered anew, at least
_CLOSELY = 30  # candidates looked at for phrases …
_MOST_CLOSELY = 200  # … and when many results are wanted
_FOR_HOSTS = 400  # candidates when a few hosts would fill the page
_COUNT_BELOW = 20_000  # postings up to which matches are counted, not estimated
_MOST_REMEMBERED = 200_000  # results kept in memory during a batch of queries
_FACETS = ("host", "language", "type", "year", "collection")


class Answer:
    def __init__(self, index: TantivyIndex, options: Options) -> None:
        self.index = index
        self.options = options
        self.searcher = index.searcher()
        self.weights = options.weights or index.weights
        self.now_ms = options.now_ms or int(time.time() * 1000)
        self._marks: dict[str, Marks] = {}  # by body field
        self._read: dict[int, bool] = {}  # documents whose text was read for `inbody:`

    def search(self, query: str, limit: int, offset: int, cursor: str) -> Results:
        plan = self.plan(query)
        if plan.every is None:
            return Results(total=0, hits=[], notes=plan.notes, suggestion=self._suggestion(query, plan))
        limit = max(0, min(limit, MOST_RESULTS))
        if cursor:
            offset, shown = read_cursor(cursor, plan.notes)
            page = self._page(query, plan, Wanted(limit, offset, 0, shown))
        else:
            page = self._page(query, plan, Wanted(limit, offset, offset, frozenset()))
        total = page.matches if plan.counted or page.matches else _estimate(plan, self.searcher.num_docs)
        if plan.at is not None and not self.index.has_versions:
            plan.notes.append(
                Note("only the last version of each page is indexed: `at:` found those unchanged since then")
            )
        return Results(
            total=max(total, len(page.hits)),
            exact=plan.counted and not plan.in_body,
            hits=page.hits,
            notes=plan.notes,
            cursor=page.next_cursor,
            facets=self._facets(plan) if self.options.facets else {},
            suggestion=self._suggestion(query, plan) if not cursor and not offset else "",
        )

    def _page(self, query: str, plan: Plan, wanted: Wanted) -> _Page:
        """Results from as many candidates as they need."""
        reach = min(MOST_RESULTS, max(_LEAST, 2 * wanted.end))
        while True:
            candidates, matches = self._candidates(plan, reach)
            ranked = self._rank(candidates, plan, wanted.limit, pages=1 + wanted.offset // max(1, wanted.limit))
            cut = len(candidates) >= reach  # there are more matches
            if cut and self._of_few_hosts(ranked, plan, reach, wanted.end):
                reach = _FOR_HOSTS
                continue
            if self.options.semantic and self.options.sort == "relevance":
                self._by_meaning(ranked, query)
            fresh = [r for r in ranked.order if (ranked.keys[r] & HALF) not in wanted.shown]
            hits, used = self._hits(ranked, fresh[wanted.start :], wanted.limit, plan)
            seen = wanted.start + used
            # copies of one text are one result: where they are many, more candidates must be asked for
            if len(fresh) > seen or not cut or reach >= MOST_RESULTS:
                more = len(fresh) > seen and wanted.offset + used < MOST_RESULTS
                keys = [ranked.keys[r] & HALF for r in fresh[:seen]]
                return _Page(hits, matches, write_cursor(wanted.offset + used, [*wanted.shown, *keys]) if more else "")
            reach = min(MOST_RESULTS, 4 * reach)

    def explain(self, query: str, key: int) -> Reasons | None:
        plan = self.plan(query)
        if plan.every is None:
            return None
        only = Query.const_score_query(Query.term_query(self.index.schema, "key", key), 0.0)
        hit = self._hit_of(plan.every(), only)
        if hit is None:
            return None
        address = hit[1]
        parts, score = self._contributions(plan, key, only, address)
        ranked = self._rank([(score, address)], plan, 1)
        priors = ranking.prior(ranked.facts, self.weights, self.now_ms)
        factors = {name: float(factor[0]) for name, factor in priors.items() if factor[0] != 1.0}
        return Reasons(
            score=score * math.prod(factors.values()),
            text_score=score,
            factors=factors,
            parts=parts,
            terms={name: sorted(terms) for name, terms in plan.wanted.items() if terms},
        )

    def _contributions(
        self, plan: Plan, key: int, only: Query, address: tantivy.DocAddress
    ) -> tuple[dict[str, Contribution], float]:
        """What the words and each kind of bonus give a page, and the sum."""
        parts: dict[str, Contribution] = {}
        total = 0.0
        for part in plan.parts:
            for asked in (part.first or part.query, part.query):
                hit = self._hit_of(asked, only)
                if hit is not None:
                    score = hit[0] * part.factor
                    total += score
                    how = msgspec.json.decode(asked.explain(self.searcher, address).to_json())
                    parts["words"] = Contribution(score, self._each(plan, only, part.factor), how)
                    break
        for bonus in plan.bonuses:
            for more, _ in self._nearer([bonus], [key]):
                parts.setdefault(bonus.name, Contribution(0.0)).score += more
                total += more
        return parts, total

    def _hit_of(self, query: Query, only: Query) -> tuple[float, tantivy.DocAddress] | None:
        """The one page that `only` finds, if the query finds it too."""
        both = Query.boolean_query([(Occur.Must, query), (Occur.Must, only)])
        return next(iter(self.searcher.search(both, limit=1).hits), None)

    def _each(self, plan: Plan, only: Query, factor: float) -> dict[str, float]:
        """What each word of the page would score alone, in the form it stands there, the best first."""
        scores: dict[str, float] = {}
        for name, term in plan.factors:
            asked = Query.term_query(self.index.schema, f"body_{name}", term, index_option="freq")
            if hit := self._hit_of(asked, only):
                scores[term] = hit[0] * plan.factors[name, term] * factor
        return dict(sorted(scores.items(), key=lambda item: -item[1]))

    def plan(self, query: str) -> Plan:
        languages = self.index.languages(self.searcher)
        parsed = parse(query) if self.options.syntax else parse_words(query)
        if self.options.every:
            parsed = required(parsed, lambda word: _is_stop_word(word, [name for name, _ in languages]))
        learned = self.index.suggester
        lexicon = Lexicon(
            self.index.schema, self.searcher, languages, self.index.forms, learned.spoken if learned else None
        )
        weights = ranking.for_texts(self.weights, self.index.length(self.searcher))
        plan = Planner(lexicon, weights, self.options.preferences.blocks, self.options.loose).plan(parsed)
        plan.counted = not plan.plain or sum(documents for _, _, documents in plan.scored) <= _COUNT_BELOW
        return plan

    def _candidates(self, plan: Plan, reach: int) -> Found:
        """Pages from which results are chosen, and how many matches there are (0: not counted)."""
        if self.options.sort == "relevance":
            return self._best(plan, reach)
        assert plan.every is not None
        order = Order.Asc if self.options.sort == "oldest" else Order.Desc
        by = "captured" if self.options.sort == "captured" else "published"
        dated = found(self.searcher, plan.every(), reach, by=by, order=order)
        return Found([(0.0, address) for _, address in dated.hits], dated.matches)

    def _best(self, plan: Plan, reach: int) -> Found:
        """The best candidates by their text, and how many matches there are (0: not counted)."""
        best: list[tuple[float, tantivy.DocAddress, str]] = []
        matches = 0
        for part in plan.parts:
            answer = None
            if part.first is not None and not plan.counted:
                answer = found(self.searcher, part.first, reach, count=False)
            if answer is None or len(answer.hits) < reach:
                answer = found(self.searcher, part.query, reach, count=plan.counted)
            best += [(score * part.factor, address, part.language) for score, address in answer.hits]
            matches += answer.matches
        best.sort(key=lambda hit: -hit[0])
        del best[reach:]
        more = self._more(plan, best, _CLOSELY if reach in (_LEAST, _FOR_HOSTS) else min(_MOST_CLOSELY, reach))
        return Found([(score + more.get((at.segment_ord, at.doc), 0.0), at) for score, at, _ in best], matches)

    def _more(
        self, plan: Plan, best: list[tuple[float, tantivy.DocAddress, str]], closely: int
    ) -> dict[tuple[int, int], float]:
        """What bonuses give the first `closely` candidates, by their places in the index."""
        languages = {language for _, _, language in best}
        bonuses = [bonus for bonus in plan.bonuses if not bonus.language or languages & {bonus.language, ""}]
        more: dict[tuple[int, int], float] = {}
        if bonuses and best:
            keys = self._column("key", [address for _, address, _ in best[:closely]]).tolist()
            for score, address in self._nearer(bonuses, keys):
                place = (address.segment_ord, address.doc)
                more[place] = more.get(place, 0.0) + score
        return more

    def _of_few_hosts(self, ranked: _Ranked, plan: Plan, reach: int, wanted: int) -> bool:
        """Whether a few hosts fill the candidates, so that results of others must be looked for further down."""
        if not self.options.diverse or self.options.sort != "relevance" or reach >= _FOR_HOSTS or plan.one_host:
            return False
        hosts = Counter(ranked.columns["host_key"].tolist())
        if sum(min(count, self.weights.per_host) for count in hosts.values()) >= wanted:
            return False
        return len(self.searcher.terms_with_prefix("host", "", limit=2)) > 1

    def _nearer(self, bonuses: list[Bonus], keys: list[int]) -> list[tuple[float, tantivy.DocAddress]]:
        """Those of these documents that are better matches than their words alone say, and by how much.

        Asked of the candidates only: the engine looks at their positions and at no others, so that a phrase of very
        common words costs as little as any. (A union of terms is ten times faster here than the engine's term set.)
        """
        one = [(Occur.Should, Query.term_query(self.index.schema, "key", key, index_option="basic")) for key in keys]
        these = Query.const_score_query(Query.boolean_query(one), 0.0)
        plain = these
        asked = []
        for bonus in bonuses:
            scored = Query.boost_query(bonus.query, bonus.weight)
            if bonus.name == "phrase":
                # both required: an optional phrase would be looked for between the candidates too
                asked.append(Query.boolean_query([(Occur.Must, these), (Occur.Must, scored)]))
            else:
                plain = Query.boolean_query([(Occur.Must, plain), (Occur.Should, scored)])
        if plain is not these:
            asked.append(plain)
        return [hit for query in asked for hit in self.searcher.search(query, limit=len(keys), count=False).hits]

    def _rank(
        self, candidates: list[tuple[float, tantivy.DocAddress]], plan: Plan, page: int, pages: int = 1
    ) -> _Ranked:
        addresses = [address for _, address in candidates]
        columns = {
            name: self._column(name, addresses)
            for name in ("key", "host_key", "captured", "depth", "length", "simhash")
        }
        scores = np.array([score for score, _ in candidates], dtype=np.float64)
        facts = self._facts(columns, plan)
        if self.options.sort == "relevance":
            for factor in ranking.prior(facts, self.weights, self.now_ms).values():
                scores *= factor
            order = np.lexsort((columns["key"], -scores)).tolist()  # equal scores: always the same order
        else:
            order = list(range(len(candidates)))
        order, duplicates = self._without_copies(order, columns, addresses)
        order, delayed = self._spread(order, columns["host_key"], page, pages)
        return _Ranked(addresses, columns["key"].tolist(), scores, facts, order, duplicates, delayed, columns)

    def _facts(self, columns: dict[str, np.ndarray], plan: Plan) -> ranking.Facts:
        """What is known about the candidates beside their text."""
        links = self.index.link_ranks
        boosts = self._boosts(columns["host_key"])
        return ranking.Facts(
            captured_ms=columns["captured"],
            depth=columns["depth"] & 0xFF,
            length=columns["length"],
            link_rank=links.pages(columns["key"]) if links else None,
            host_rank=links.hosts(columns["host_key"]) if links else None,
            language=self._fitting(columns["depth"] >> 8, plan.language),
            boost=np.array([boosts.get(host, 1.0) for host in columns["host_key"].tolist()]) if boosts else None,
        )

    def _without_copies(
        self, order: list[int], columns: dict[str, np.ndarray], addresses: list[tantivy.DocAddress]
    ) -> tuple[list[int], dict[int, int]]:
        """The best of what is one page or one text, with how many others each stands for."""
        if not self.options.group:
            return order, {}
        if self.index.has_versions:
            return copies.one_per_page(order, self._column("page", addresses))
        return copies.one_per_text(order, columns["simhash"].view(np.uint64), self.weights.duplicate_bits)

    def _spread(self, order: list[int], host_keys: np.ndarray, page: int, pages: int) -> tuple[list[int], set[int]]:
        """Results of one host moved apart over the pages, with the hosts some of whose results were moved back."""
        if not self.options.diverse or not page or self.options.sort != "relevance":
            return order, set()
        hosts = host_keys[order].tolist()
        if len(set(hosts)) < 2:
            return order, set()
        places = ranking.spread(hosts, self.weights.per_host, page, pages)
        delayed = {hosts[place] for at, place in enumerate(places) if place < at}
        return [order[place] for place in places], delayed

    def _by_meaning(self, ranked: _Ranked, query: str) -> None:
        """Fuse the order of the best candidates with the order of their meaning; scores become those of the fusion."""
        from hemeroteca.search import semantic

        encoder = self.index.encoder or semantic.load_encoder()
        best, rest = ranked.order[: semantic.CANDIDATES], ranked.order[semantic.CANDIDATES :]
        kept = [stored(self.searcher, ranked.addresses[i]) for i in best]
        texts = [f"{page.title}. {page.description or page.text}" for page in kept]
        places = semantic.fused(query, texts, encoder)
        for place, score in places:
            ranked.scores[best[place]] = score
        for place, i in enumerate(rest, len(best)):
            ranked.scores[i] = 1 / (semantic.RANK_CONSTANT + 1 + place)
        ranked.order = [best[place] for place, _ in places] + rest

    def _boosts(self, host_keys: np.ndarray) -> dict[int, float]:
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

    def _column(self, name: str, addresses: list[tantivy.DocAddress]) -> np.ndarray:
        values = self.searcher.fast_field_values(name, addresses) if addresses else []
        kind = np.uint64 if name == "simhash" else np.int64
        try:
            return np.array(values, dtype=kind).view(np.int64)
        except TypeError:  # a document without the value
            return np.array([value or 0 for value in values], dtype=kind).view(np.int64)

    def _hits(self, ranked: _Ranked, order: list[int], limit: int, plan: Plan) -> tuple[list[Hit], int]:
        hits: list[Hit] = []
        used = 0
        for i in order:
            if len(hits) >= limit:
                break
            used += 1
            if not self.options.snippets and not plan.in_body and (known := self.index.remembered.get(ranked.keys[i])):
                hits.append(msgspec.structs.replace(known, score=float(ranked.scores[i])))
                continue
            kept = stored(self.searcher, ranked.addresses[i])
            if plan.in_body and not self._stands(ranked.keys[i], plan, kept):
                continue
            hits.append(self._hit(ranked, i, kept, plan))
            if not self.options.snippets and len(self.index.remembered) < _MOST_REMEMBERED:
                self.index.remembered[ranked.keys[i]] = hits[-1]
        return hits, used

    def _stands(self, key: int, plan: Plan, kept: Stored) -> bool:
        """Whether `inbody:` holds; remembered, for candidates come again when more are asked for."""
        known = self._read.get(key)
        if known is None:
            known = self._read[key] = stands(plan.asked, kept)
        return known

    def _hit(self, ranked: _Ranked, i: int, kept: Stored, plan: Plan) -> Hit:
        hit = Hit(
            url=kept.url,
            title=kept.title,
            snippet="",
            score=float(ranked.scores[i]),
            key=ranked.keys[i],
            page=kept.page or ranked.keys[i],
            host=kept.host,
            language=kept.language,
            type=kept.type,
            author=kept.author,
            digest=kept.digest,
            captured_ms=kept.captured_ms,
            published_ms=kept.published_ms,
            versions=kept.versions,
            collections=kept.collections,
            until_ms=kept.until_ms,
            id=kept.id,
            duplicates=ranked.duplicates.get(i, 0),
            more_from_host=int(ranked.columns["host_key"][i]) in ranked.delayed,
        )
        if self.options.snippets:
            marks = self._marks.get(kept.field)
            if marks is None:
                marks = self._marks[kept.field] = Marks(plan.wanted.get(kept.field, set()), kept.field)
            hit.snippet = marks.snippet(kept.text or kept.description)
            if kept.text and kept.description and "<b>" not in hit.snippet:
                described = marks.snippet(kept.description)
                hit.snippet = described if "<b>" in described else hit.snippet
            hit.title_html = marks.highlight(kept.title)
        return hit

    def _suggestion(self, query: str, plan: Plan) -> str:
        if not self.options.suggest or not (plan.doubtful or (plan.every is None and plan.plain)):
            return ""
        suggester = self.index.suggester
        return suggester.correct(query, is_known=self.index.is_known) if suggester else ""

    def _facets(self, plan: Plan) -> dict[str, list[tuple[str, int]]]:
        assert plan.every is not None
        wanted = {name: {"terms": {"field": name, "size": 10}} for name in _FACETS}
        found = self.searcher.aggregate(plan.every(), wanted)
        return {
            name: [(_facet_name(bucket["key"]), int(bucket["doc_count"])) for bucket in found[name]["buckets"]]
            for name in _FACETS
        }


class _Page(msgspec.Struct):
    hits: list[Hit]
    matches: int  # 0: not counted
    next_cursor: str  # empty: there are no more


class _Ranked(msgspec.Struct):
    addresses: list[Any]
    keys: list[int]
    scores: Any  # numpy array
    facts: ranking.Facts
    order: list[int]  # positions of the candidates, best first
    duplicates: dict[int, int]
    delayed: set[int]  # host keys with results moved back
    columns: dict[str, Any]


def _estimate(plan: Plan, documents: int) -> int:
    """How many documents have any of the words, if words were independent: good enough for «about 120,000»."""
    without = 1.0
    for _, _, having in plan.scored:
        without *= 1 - min(1.0, having / max(1, documents))
    most = max((having for _, _, having in plan.scored), default=0)
    return max(most, round(documents * (1 - without)))


def _is_stop_word(word: str, languages: list[str]) -> bool:
    return any(analysis.is_stop_word(word, language) for language in languages)


def _facet_name(key: object) -> str:
    return str(int(key)) if isinstance(key, float) else str(key)

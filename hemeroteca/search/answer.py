"""A query answered: candidates from the index, ordered by everything known about them, shown as a page of results.

Three steps bound the time whatever is asked: the engine gives at most `_MOST` candidates by their text, a few numbers
per candidate (columns of the index, link ranks) order them, and only what is shown is read in full.
"""

from __future__ import annotations

import base64
import math
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import tantivy
from tantivy import Occur, Order, Query

from hemeroteca.search import analysis, ranking
from hemeroteca.search.clauses import required
from hemeroteca.search.document import document_key
from hemeroteca.search.engine_document import Stored, language_number, stored
from hemeroteca.search.in_body import stands
from hemeroteca.search.index import Hit, Options, Results
from hemeroteca.search.notes import Note
from hemeroteca.search.plan import Bonus, Plan
from hemeroteca.search.planner import Lexicon, Planner
from hemeroteca.search.query import parse, parse_words
from hemeroteca.search.snippet import Marks

if TYPE_CHECKING:
    from hemeroteca.search.tantivy_index import TantivyIndex

_MOST = 1000  # results that can be reached by paging
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
        limit = max(0, min(limit, _MOST))
        shown_before: frozenset[int] = frozenset()
        if cursor:
            offset, shown_before = _read_cursor(cursor, plan.notes)
        reach = min(_MOST, max(_LEAST, 2 * (offset + limit)))
        count = not plan.plain or sum(documents for _, _, documents in plan.scored) <= _COUNT_BELOW
        start = 0 if cursor else offset
        while True:
            candidates, matches = self._candidates(plan, reach, count)
            ranked = self._rank(candidates, plan, limit, pages=1 + offset // max(1, limit))
            cut = len(candidates) >= reach  # there are more matches
            if cut and self._of_few_hosts(ranked, plan, reach, offset + limit):
                reach = _FOR_HOSTS
                continue
            if self.options.semantic and self.options.sort == "relevance":
                self._by_meaning(ranked, query)
            fresh = [r for r in ranked.order if (ranked.keys[r] & 0xFFFFFFFF) not in shown_before]
            hits, used = self._hits(ranked, fresh[start:], limit, plan)
            # copies of one text are one result: where they are many, more candidates must be asked for
            if len(fresh) > start + used or not cut or reach >= _MOST:
                break
            reach = min(_MOST, 4 * reach)
        total = matches if count or matches else _estimate(plan, self.searcher.num_docs)
        next_cursor = ""
        if len(fresh) > start + used and offset + used < _MOST:
            before = [int(k) & 0xFFFFFFFF for k in (ranked.keys[r] for r in fresh[: start + used])]
            next_cursor = _write_cursor(offset + used, [*shown_before, *before])
        if plan.at is not None and not self.index.has_versions:
            plan.notes.append(
                Note("only the last version of each page is indexed: `at:` found those unchanged since then")
            )
        return Results(
            total=max(total, len(hits)),
            exact=count and not plan.in_body,
            hits=hits,
            notes=plan.notes,
            cursor=next_cursor,
            facets=self._facets(plan) if self.options.facets else {},
            suggestion=self._suggestion(query, plan) if not cursor and not offset else "",
        )

    def explain(self, query: str, key: int) -> dict[str, Any] | None:
        plan = self.plan(query)
        if plan.every is None:
            return None
        only = Query.const_score_query(Query.term_query(self.index.schema, "key", key), 0.0)
        found = self.searcher.search(
            Query.boolean_query([(Occur.Must, plan.every()), (Occur.Must, only)]), limit=1
        ).hits
        if not found:
            return None
        address = found[0][1]
        text: dict[str, Any] = {}
        score = 0.0
        for part in plan.parts:
            for asked in (part.first or part.query, part.query):
                this = Query.boolean_query([(Occur.Must, asked), (Occur.Must, only)])
                if hits := self.searcher.search(this, limit=1).hits:
                    break
            if hits:
                score += hits[0][0] * part.factor
                how = msgspec.json.decode(asked.explain(self.searcher, address).to_json())
                text["words"] = {
                    "score": hits[0][0] * part.factor,
                    "each": self._each(plan, only, part.factor),
                    "how": how,
                }
        for bonus in plan.bonuses:
            for more, _ in self._nearer([bonus], [key]):
                text.setdefault(bonus.name, {"score": 0.0})["score"] += more
                score += more
        ranked = self._rank([(score, address)], plan, 1)
        priors = ranking.prior(ranked.facts, self.weights, self.now_ms)
        factors = {name: float(factor[0]) for name, factor in priors.items() if factor[0] != 1.0}
        return {
            "text_score": score,
            "factors": factors,
            "score": score * math.prod(factors.values()),
            "parts": text,
            "notes": plan.notes,
            "terms": {name: sorted(terms) for name, terms in plan.wanted.items() if terms},
        }

    def _each(self, plan: Plan, only: Query, factor: float) -> dict[str, float]:
        """What each word of the page would score alone, in the form it stands there, the best first."""
        scores: dict[str, float] = {}
        for name, term in plan.factors:
            asked = Query.term_query(self.index.schema, f"body_{name}", term, index_option="freq")
            this = Query.boolean_query([(Occur.Must, asked), (Occur.Must, only)])
            for score, _ in self.searcher.search(this, limit=1, count=False).hits:
                scores[term] = score * plan.factors[name, term] * factor
        return dict(sorted(scores.items(), key=lambda item: -item[1]))

    def plan(self, query: str) -> Plan:
        languages = self.index.languages(self.searcher)
        parsed = parse(query) if self.options.syntax else parse_words(query)
        if self.options.every:
            parsed = required(parsed, lambda word: _says_nothing(word, [name for name, _ in languages]))
        learned = self.index.suggester
        lexicon = Lexicon(
            self.index.schema, self.searcher, languages, self.index.forms, learned.spoken if learned else None
        )
        weights = ranking.for_texts(self.weights, self.index.length(self.searcher))
        return Planner(lexicon, weights, self.options.preferences.blocks, self.options.loose).plan(parsed)

    def _candidates(self, plan: Plan, reach: int, count: bool) -> tuple[list[tuple[float, tantivy.DocAddress]], int]:
        """Pages from which results are chosen, and how many matches there are (0: not counted)."""
        if self.options.sort == "relevance":
            return self._best(plan, reach, count)
        order = Order.Asc if self.options.sort == "oldest" else Order.Desc
        by = "captured" if self.options.sort == "captured" else "published"
        dated = self.searcher.search(plan.every(), limit=reach, order_by_field=by, order=order)  # type: ignore[misc]
        return [(0.0, address) for _, address in dated.hits], dated.count  # type: ignore[attr-defined]

    def _best(self, plan: Plan, reach: int, count: bool) -> tuple[list[tuple[float, tantivy.DocAddress]], int]:
        """The best candidates by their text, and how many matches there are (0: not counted)."""
        found: list[tuple[float, tantivy.DocAddress, str]] = []
        matches = 0
        for part in plan.parts:
            answer = None
            if part.first is not None and not count:
                answer = self.searcher.search(part.first, limit=reach, count=False)
            if answer is None or len(answer.hits) < reach:
                answer = self.searcher.search(part.query, limit=reach, count=count)
            found += [(score * part.factor, address, part.language) for score, address in answer.hits]
            matches += answer.count if count else 0  # type: ignore[attr-defined]
        found.sort(key=lambda hit: -hit[0])
        del found[reach:]
        languages = {language for _, _, language in found}
        bonuses = [bonus for bonus in plan.bonuses if not bonus.language or languages & {bonus.language, ""}]
        more: dict[tuple[int, int], float] = {}
        if bonuses and found:
            closely = _CLOSELY if reach in (_LEAST, _FOR_HOSTS) else min(_MOST_CLOSELY, reach)
            keys = self._column("key", [address for _, address, _ in found[:closely]]).tolist()
            for score, address in self._nearer(bonuses, keys):
                place = (address.segment_ord, address.doc)
                more[place] = more.get(place, 0.0) + score
        return [(score + more.get((at.segment_ord, at.doc), 0.0), at) for score, at, _ in found], matches

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
        links = self.index.link_ranks
        page_ranks = links.pages(columns["key"]) if links else None
        host_ranks = links.hosts(columns["host_key"]) if links else None
        boosts = self._boosts(columns["host_key"])
        facts = ranking.Facts(
            captured_ms=columns["captured"],
            depth=columns["depth"] & 0xFF,
            length=columns["length"],
            link_rank=page_ranks,
            host_rank=host_ranks,
            language=self._fitting(columns["depth"] >> 8, plan.language),
            boost=np.array([boosts.get(host, 1.0) for host in columns["host_key"].tolist()]) if boosts else None,
        )
        if self.options.sort == "relevance":
            for factor in ranking.prior(facts, self.weights, self.now_ms).values():
                scores *= factor
            order = np.lexsort((columns["key"], -scores)).tolist()  # equal scores: always the same order
        else:
            order = list(range(len(candidates)))
        duplicates: dict[int, int] = {}
        if self.options.group:
            if self.index.has_versions:
                order, duplicates = _one_per_page(order, self._column("page", addresses))
            else:
                order, duplicates = _grouped(order, columns["simhash"].view(np.uint64), self.weights.duplicate_bits)
        delayed: set[int] = set()
        if self.options.diverse and page and self.options.sort == "relevance":
            hosts = columns["host_key"][order].tolist()
            if len(set(hosts)) > 1:
                places = ranking.spread(hosts, self.weights.per_host, page, pages)
                delayed = {hosts[place] for at, place in enumerate(places) if place < at}
                order = [order[place] for place in places]
        return _Ranked(addresses, columns["key"].tolist(), scores, facts, order, duplicates, delayed, columns)

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


class _Ranked(msgspec.Struct):
    addresses: list[Any]
    keys: list[int]
    scores: Any  # numpy array
    facts: ranking.Facts
    order: list[int]  # positions of the candidates, best first
    duplicates: dict[int, int]
    delayed: set[int]  # host keys with results moved back
    columns: dict[str, Any]


def _grouped(order: list[int], fingerprints: np.ndarray, bits: int) -> tuple[list[int], dict[int, int]]:
    """Leave the best of each group of near-duplicates; count the others."""
    if len(order) < 2:
        return order, {}
    marks = fingerprints[order]
    alike = np.bitwise_count(marks[:, None] ^ marks[None, :]) <= bits
    alike &= (marks != 0)[:, None]
    if np.count_nonzero(alike) == np.count_nonzero(marks):  # each only like itself
        return order, {}
    alike = np.triu(alike, 1)
    duplicates: dict[int, int] = {}
    gone = np.zeros(len(order), dtype=bool)
    for place in np.flatnonzero(alike.any(axis=1)).tolist():
        if not gone[place]:
            same = alike[place] & ~gone
            duplicates[order[place]] = int(same.sum())
            gone |= same
    return [candidate for place, candidate in enumerate(order) if not gone[place]], duplicates


def _one_per_page(order: list[int], pages: np.ndarray) -> tuple[list[int], dict[int, int]]:
    """Of all versions of a page, the one that fits best."""
    best: dict[int, int] = {}
    duplicates: dict[int, int] = {}
    for candidate in order:
        shown = best.setdefault(int(pages[candidate]), candidate)
        if shown != candidate:
            duplicates[shown] = duplicates.get(shown, 0) + 1
    return list(best.values()), duplicates


def _estimate(plan: Plan, documents: int) -> int:
    """How many documents have any of the words, if words were independent: good enough for «about 120,000»."""
    without = 1.0
    for _, _, having in plan.scored:
        without *= 1 - min(1.0, having / max(1, documents))
    most = max((having for _, _, having in plan.scored), default=0)
    return max(most, round(documents * (1 - without)))


def _says_nothing(word: str, languages: list[str]) -> bool:
    return any(analysis.is_empty(word, language) for language in languages)


def _facet_name(key: object) -> str:
    return str(int(key)) if isinstance(key, float) else str(key)


def _write_cursor(offset: int, shown: list[int]) -> str:
    """What was shown travels with the cursor, so that nothing is shown twice while the index changes."""
    packed = msgspec.msgpack.encode((1, offset, np.array(shown[-_MOST:], dtype="<u4").tobytes()))
    return base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")


def _read_cursor(cursor: str, notes: list[str]) -> tuple[int, frozenset[int]]:
    try:
        packed = base64.urlsafe_b64decode(cursor[:10_000] + "=" * (-len(cursor) % 4))
        version, offset, shown = msgspec.msgpack.decode(packed, type=tuple[int, int, bytes])
        if version != 1 or not 0 <= offset <= _MOST or len(shown) % 4:
            raise ValueError(cursor)
    except (ValueError, msgspec.MsgspecError):
        notes.append(Note("the page asked for is not known; this is the first one"))
        return 0, frozenset()
    return offset, frozenset(np.frombuffer(shown, dtype="<u4").tolist())

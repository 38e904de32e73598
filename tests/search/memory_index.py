"""An index that is obviously right: a dictionary of documents, read from beginning to end for every question.

The oracle of `test_index_contract`; its scores count words and are no BM25.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.search import analysis
from hemeroteca.search.index import Index, Match, Matches
from hemeroteca.search.index import document_fields as fields
from hemeroteca.search.index import expressions as q
from hemeroteca.search.suggest.suggester import distance


class MemoryIndex(Index):
    def __init__(self) -> None:
        self.committed: dict[int, SearchDocument] = {}
        self.commits = 0

    def writer(self, heap_bytes: int = 0, threads: int = 1) -> "MemoryWriter":
        return MemoryWriter(self)

    def reader(self) -> "MemoryReader":
        return MemoryReader(list(self.committed.values()), self.commits)

    def sample(self, most: int) -> Iterator[SearchDocument]:
        yield from list(self.committed.values())[:: max(1, len(self.committed) // max(1, most))]


class MemoryWriter:
    def __init__(self, index: MemoryIndex) -> None:
        self.index = index
        self.waiting = dict(index.committed)

    def put(self, document: SearchDocument, replaces: bool = True) -> None:
        self.waiting[document.key] = fields.prepared(document)

    def delete(self, key: int) -> None:
        self.waiting.pop(key, None)

    def commit(self) -> None:
        self.index.committed = dict(self.waiting)
        self.index.commits += 1

    def close(self) -> None:
        pass

    def __enter__(self) -> "MemoryWriter":
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Page:
    """A document and its words: field → [(place, word)], one place free between two parts."""

    def __init__(self, document: SearchDocument) -> None:
        self.document = document
        self.numbers = fields.numbers(document)
        self.words: dict[str, list[tuple[int, str]]] = {}
        for field, text in fields.texts(document):
            words = self.words.setdefault(field, [])
            start = words[-1][0] + 2 if words else 0
            terms = analysis.analyzers.positions(text) if field != fields.BODIES["pairs"] else enumerate(text.split())
            words += [(start + at, term) for at, term in terms]
        for field, keyword in fields.keywords(document):
            self.words.setdefault(field, []).append((len(self.words[field]), keyword))


class MemoryReader:
    def __init__(self, documents: list[SearchDocument], generation: int) -> None:
        self.pages = [Page(document) for document in documents]
        self.generation = generation
        self.documents = len(documents)

    def search(
        self, query: q.Query, limit: int, *, count: bool = True, by: str = "", descending: bool = True
    ) -> Matches:
        found = [Match(score, page) for page in self.pages if (score := score_of(query, page)) is not None]
        if by:
            found = [Match(0.0, match.place) for match in found]
            found.sort(key=lambda match: match.place.numbers.get(by, 0), reverse=descending)
        else:
            found.sort(key=lambda match: -match.score)
        return Matches(found[:limit], len(found) if count else 0)

    def scores(self, queries: Iterable[q.Query], keys: Sequence[int]) -> dict[int, float]:
        found: dict[int, float] = {}
        for query in queries:
            for page in self.pages:
                if page.document.key in keys and (score := score_of(query, page)) is not None:
                    found[page.document.key] = found.get(page.document.key, 0.0) + score
        return found

    def score_table(self, queries: Sequence[q.Query], keys: Sequence[int]) -> np.ndarray:
        each = [self.scores([query], keys) for query in queries]
        return np.array([[scores.get(key, 0.0) for key in keys] for scores in each]).reshape(len(queries), len(keys))

    def columns(self, names: Iterable[str], places: Sequence[Any]) -> dict[str, np.ndarray]:
        return {name: np.array([page.numbers.get(name, 0) for page in places], np.int64) for name in names}

    def read(self, place: Any) -> SearchDocument:
        return place.document

    def facets(self, query: q.Query, fields: Iterable[str], most: int) -> dict[str, list[tuple[str, int]]]:
        found = [page for page in self.pages if score_of(query, page) is not None]
        counts = {
            name: Counter(
                value
                for page in found
                for value in (
                    [str(page.numbers[name])] if name in page.numbers else [w for _, w in page.words.get(name, [])]
                )
            )
            for name in fields
        }
        return {name: counted.most_common(most) for name, counted in counts.items()}

    def frequency(self, field: str, term: str) -> int:
        return sum(any(word == term for _, word in page.words.get(field, [])) for page in self.pages)

    def terms(self, field: str, prefix: str = "", most: int | None = None) -> list[tuple[str, int]]:
        counts = Counter(word for page in self.pages for word in {word for _, word in page.words.get(field, [])})
        found = [(word, count) for word, count in counts.items() if word.startswith(prefix)]
        return sorted(found, key=lambda entry: (-entry[1], entry[0]))[:most]

    def average(self, column: str) -> float:
        values = [page.numbers[column] for page in self.pages if column in page.numbers]
        return sum(values) / len(values) if values else 0.0

    def explain(self, query: q.Query, place: Any) -> dict[str, Any]:
        return {"value": score_of(query, place), "description": "words counted", "details": []}


def score_of(query: q.Query, page: Page) -> float | None:
    """None: it does not match."""
    match query:
        case q.TermQuery(field, term):
            if isinstance(term, int):
                return 1.0 if page.numbers.get(field) == term else None
            return _count(page, field, term.__eq__)
        case q.WildcardQuery(field, pattern):
            letters = {"*": ".*", "?": "."}
            return _any(page, field, re.compile("".join(letters.get(c, re.escape(c)) for c in pattern)).fullmatch)
        case q.NumberQuery(field, low, high):
            return _any(page, field, lambda word: re.fullmatch(r"0|[1-9]\d*", word) and low <= int(word) <= high)
        case q.FuzzyQuery(field, term, edits, prefix):
            beginnings = range(len(term) - edits, len(term) + edits + 1)
            return _any(
                page,
                field,
                lambda word: any(distance(term, word[:end] if prefix else word, edits) <= edits for end in beginnings),
            )
        case q.PhraseQuery(field, terms, slop):
            return _phrase(page, field, terms, slop)
        case q.RangeQuery(field, low, high):
            number = page.numbers.get(field)
            inside = number is not None and (low is None or low <= number) and (high is None or number <= high)
            return 1.0 if inside else None
        case q.KeysQuery(keys):
            return 0.0 if page.document.key in keys else None
        case q.AllQuery():
            return 1.0
        case q.NoneQuery():
            return None
        case q.BoostQuery(inner, factor):
            score = score_of(inner, page)
            return None if score is None else score * factor
        case q.ConstantQuery(inner, constant):
            return None if score_of(inner, page) is None else constant
        case q.BestQuery(queries, tie):
            found = [score for one in queries if (score := score_of(one, page)) is not None]
            return max(found) + tie * (sum(found) - max(found)) if found else None
        case q.BooleanQuery():
            return _boolean(query, page)
    raise AssertionError(query)


def _boolean(query: q.BooleanQuery, page: Page) -> float | None:
    needed = [score_of(one, page) for one in query.must]
    wanted = [score for one in query.should if (score := score_of(one, page)) is not None]
    if None in needed or any(score_of(one, page) is not None for one in query.must_not):
        return None
    return sum(needed) + sum(wanted) if needed or wanted else None


def _count(page: Page, field: str, fits: Any) -> float | None:
    return float(sum(bool(fits(word)) for _, word in page.words.get(field, []))) or None


def _any(page: Page, field: str, fits: Any) -> float | None:
    return 1.0 if _count(page, field, fits) else None


def _phrase(page: Page, field: str, terms: tuple[tuple[int, str], ...], slop: int) -> float | None:
    """With slop only of two words, whose distance may differ by so much."""
    words = page.words.get(field, [])
    if not slop:
        there = set(words)
        return float(sum(all((at + gap, term) in there for gap, term in terms) for at, _ in words)) or None
    (first, one), (second, other) = terms
    places = [(a, b) for a, left in words for b, right in words if (left, right) == (one, other) and a != b]
    return 1.0 if any(abs((b - a) - (second - first)) <= slop for a, b in places) else None

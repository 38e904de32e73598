"""Clauses that must match, as queries of the index: phrases, nearness, patterns, fields, properties, dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice, product
from typing import TYPE_CHECKING

from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.search import analysis
from hemeroteca.search.index import expressions as ex
from hemeroteca.search.index.document_fields import BODIES
from hemeroteca.search.query import clauses as q
from hemeroteca.search.query.clauses import Note
from hemeroteca.search.query.vocabulary import MAX_ALIKE, Form, Vocabulary

if TYPE_CHECKING:
    from hemeroteca.search.query.query_plan import QueryPlan

MAX_FORMS = 12  # forms of one word that are searched, the most frequent ones
FEW_FORMS = 3  # … in a very long query, and of words that must be near each other
MAX_PLACES = 3_000_000  # documents in which phrases after the first may be looked for: some tenths of a second
MAX_PIECES = 8  # words with wildcards in a title or an address
MAX_COLLECTIONS = 10_000  # whose names are compared
MAX_TAGGED = 5_000  # pages with a tag: those that got it last
MAX_NEAR = 9  # combinations of forms of words that must be near each other
MAX_READ = 15_000_000  # documents, of all clauses together: about half a second
MIN_READ = 2_000  # what a clause or a word of one costs at least
_TOO_MUCH = Note("the query asks for too much at once: its last parts were ignored")
_MANY_TAGGED = Note("of the pages with this tag, the {number} that got it last were looked at", number=MAX_TAGGED)
_NO_TAGS = Note("`tag:` finds nothing here: tags are for people who have signed in")
_TOO_COMMON = Note("the words of some phrases are very common: pages with these words were looked for, in any order")


class Conditions:
    def __init__(self, vocabulary: Vocabulary, tagged: q.Tagged | None = None) -> None:
        """`tagged`: where the tags of pages are, which are not in the index; None: whoever asks may not see them."""
        self.vocabulary = vocabulary
        self.tagged = tagged
        self.read = 0  # documents the engine has to look at, about
        self.contrary = False  # inside a clause that is not wanted
        self.places: int | None = None  # documents in which phrases may still be looked for; None: no phrase yet

    def clause(self, clause: q.Clause, plan: QueryPlan, marked: bool = True) -> ex.Query | None:
        """What a clause looks for, be it wanted or not; nothing when the query has asked for too much already."""
        self.read += MIN_READ
        if self.read > MAX_READ:
            if _TOO_MUCH not in plan.notes:
                plan.notes.append(_TOO_MUCH)
            return None
        if clause.occurs != "not":
            return self._query(clause.node, plan, marked)
        self.contrary = not self.contrary
        try:
            return self._query(clause.node, plan, marked=False)
        finally:
            self.contrary = not self.contrary

    def _query(self, node: q.Node, plan: QueryPlan, marked: bool) -> ex.Query | None:
        match node:
            case q.Word(text):
                return self._phrase(text, 0, plan, marked)
            case q.Phrase(text, slop):
                return self._phrase(text, slop, plan, marked)
            case q.Near(left, right, distance):
                return self._near(left, right, distance, plan)
            case q.Wildcard(pattern):
                return self._wildcard(pattern, plan, marked)
            case q.Fuzzy(text, distance):
                return self._fuzzy(text, distance, plan, marked)
            case q.Numbers(low, high):
                return ex.any_of(ex.NumberQuery(BODIES[name], low, high) for name in self.vocabulary.fields)
            case q.Within(part, text, phrase):
                return self._within(part, text, phrase, plan, marked)
            case q.Only(name, value):
                return self._tag(value, plan) if name == "tag" else self._only(name, value)
            case q.When():
                return self._when(node, plan)
            case q.ClauseGroup(clauses):
                return self._group(clauses, plan, marked)

    def _group(self, clauses: Sequence[q.Clause], plan: QueryPlan, marked: bool) -> ex.Query | None:
        parts: dict[str, list[ex.Query]] = {"may": [], "must": [], "not": []}
        for clause in _flat(clauses):
            query = self.clause(clause, plan, marked)
            if query is not None:
                parts[clause.occurs].append(query)
        if not any(parts.values()):
            return None
        if not parts["may"] and not parts["must"]:
            self.read += self.vocabulary.reader.documents
            parts["must"].append(ex.ConstantQuery(ex.AllQuery()))
        return ex.BooleanQuery(must=tuple(parts["must"]), should=tuple(parts["may"]), must_not=tuple(parts["not"]))

    def _phrase(self, text: str, slop: int, plan: QueryPlan, marked: bool) -> ex.Query | None:
        alternatives = []
        for name in self.vocabulary.fields:
            placed = _positioned(text, name)
            if len(placed) == 1:
                query: ex.Query | None = self._any_form(name, placed[0][1], plan, marked)
            else:
                query = self._placed(BODIES[name], placed, slop, name, plan)
                if marked:
                    plan.wanted[name].update(term for _, term in placed)
            if query is not None:
                alternatives.append(ex.boosted(query, self.vocabulary.factor(name, placed[0][1])))
        return ex.any_of(alternatives)

    def _any_form(self, name: str, word: str, plan: QueryPlan, marked: bool) -> ex.Query:
        forms = self.vocabulary.forms(name, word)[:MAX_FORMS]
        self.read += sum(form.documents for form in forms)
        if marked:
            plan.wanted[name].update(form.term for form in forms)
        queries = [ex.boosted(ex.TermQuery(BODIES[name], form.term), form.factor) for form in forms]
        return ex.any_of(queries) or ex.TermQuery(BODIES[name], word)

    def _affordable(self, body: str, terms: list[str], plan: QueryPlan, times: int = 1) -> bool:
        """Whether the words may be looked for as a phrase: always the first time, then while they are not too common.

        A phrase is looked for in every document that has all its words: at most those that have the rarest one.
        """
        cost = times * len(terms) * min(self.vocabulary.reader.frequency(body, term) for term in terms)
        first, left = self.places is None, MAX_PLACES if self.places is None else self.places
        if cost > left and not first:
            if _TOO_COMMON not in plan.notes:
                plan.notes.append(_TOO_COMMON)
            return False
        self.places = max(0, left - cost)
        return True

    def _placed(
        self, body: str, placed: list[tuple[int, str]], slop: int, name: str, plan: QueryPlan
    ) -> ex.Query | None:
        if not placed:
            return None
        if len(placed) == 1:
            return self._term(body, placed[0][1])
        if name == analysis.BIGRAMS or not self._affordable(body, [term for _, term in placed], plan):
            words = list(dict.fromkeys(term for _, term in placed))
            return ex.all_of(self._term(body, term) for term in words[:64])
        start = placed[0][0]
        return ex.PhraseQuery(body, tuple((at - start, term) for at, term in placed), slop)

    def _near(self, left: str, right: str, distance: int, plan: QueryPlan) -> ex.Query | None:
        alternatives = []
        for name in self.vocabulary.fields:
            first, second = analysis.terms(left, name), analysis.terms(right, name)
            if not first or not second or name == analysis.BIGRAMS:
                continue
            choices = [
                self.vocabulary.forms(name, word)[:FEW_FORMS] if len(side) == 1 else [Form(word, 0, 1.0)]
                for side in (first, second)
                for word in side
            ]
            either: list[ex.Query] = []
            for chosen in islice(product(*choices), MAX_NEAR):
                words = [form.term for form in chosen]
                plan.wanted[name].update(words)
                if not self._affordable(BODIES[name], words, plan, times=2):
                    either.append(ex.all_of(ex.TermQuery(BODIES[name], word) for word in dict.fromkeys(words)))
                    break
                # slop counts the moves from "left right": one less than the distance, two more for the other order
                for order in (words, words[len(first) :] + words[: len(first)]):
                    either.append(ex.PhraseQuery(BODIES[name], tuple(enumerate(order)), distance - 1))
            if either:
                alternatives.append(ex.boosted(ex.BooleanQuery(should=tuple(either)), self.vocabulary.factors[name]))
        return ex.any_of(alternatives)

    def _wildcard(self, pattern: str, plan: QueryPlan, marked: bool) -> ex.Query | None:
        folded = _folded(pattern)
        alternatives: list[ex.Query] = []
        for name in self.vocabulary.fields:
            alternatives.append(ex.WildcardQuery(BODIES[name], folded))
            literal = analysis.fold(pattern.rstrip("*?"))
            if marked and literal.isalnum() and len(literal) > 1:
                alike = self.vocabulary.reader.terms(BODIES[name], literal, MAX_ALIKE)
                plan.wanted[name].update(term for term, _ in alike)
        return ex.any_of(alternatives)

    def _fuzzy(self, text: str, distance: int, plan: QueryPlan, marked: bool) -> ex.Query | None:
        alternatives: list[ex.Query] = []
        for name in self.vocabulary.fields:
            for term in analysis.terms(text, name)[:1]:
                body, most = BODIES[name], distance if len(term) > 3 else min(1, distance)
                alternatives.append(ex.FuzzyQuery(body, term, most))
                stem = min(
                    (analysis.stems([term], code)[term] for code, _ in self.vocabulary.languages), key=len, default=term
                )
                if 5 <= len(stem) < len(term):  # other forms of what was meant
                    alternatives.append(ex.boosted(ex.FuzzyQuery(body, stem, most, prefix=True), 0.5))
                if marked:
                    plan.wanted[name].add(term)
        return ex.any_of(alternatives)

    def _within(self, part: str, text: str, phrase: bool, plan: QueryPlan, marked: bool) -> ex.Query | None:
        if part == "body":
            # told by the text itself when a page is read (`stands`): until then too much is found
            plan.in_body = True
            return ex.NoneQuery() if self.contrary else self._phrase(text, 0, plan, marked)
        if analysis.has_spaceless(text) or (not phrase and "*" in text):
            return self._part_pattern(part, text)
        placed = analysis.positioned(text, analysis.WORDS)
        if part == "title" and not phrase and len(placed) == 1:
            return self._title_word(placed[0][1])
        query = self._placed(part, placed, 0, analysis.WORDS, plan)
        if query is not None and marked and part == "title":
            for name in self.vocabulary.fields:
                plan.wanted[name].update(analysis.terms(text, name))
        return query

    def _part_pattern(self, part: str, text: str) -> ex.Query | None:
        """Words of a title, an address or a link text with wildcards; without spaces, characters inside of words."""
        found = []
        for piece in re.findall(r"[^\W_*?]*(?:[*?]+[^\W_*?]*)+|[^\W_]+", text)[:MAX_PIECES]:
            if not (letters := piece.strip("*?")):
                continue
            if analysis.has_spaceless(letters):
                piece = f"*{letters}*"
            found.append(ex.WildcardQuery(part, _folded(piece)))
        return ex.all_of(found) if found else None

    def _only(self, name: str, value: str) -> ex.Query:
        """A property; the name of a collection in any spelling of letters and accents."""
        if name != "collection":
            return ex.ConstantQuery(self._term(name, value))
        named = self.vocabulary.reader.terms(name, "", MAX_COLLECTIONS)
        same = [term for term, _ in named if analysis.fold(term) == analysis.fold(value)] or [value]
        return ex.ConstantQuery(ex.any_of(ex.TermQuery(name, term) for term in same) or ex.NoneQuery())

    def _tag(self, tag: str, plan: QueryPlan) -> ex.Query:
        keys = self.tagged(tag, MAX_TAGGED + 1) if self.tagged else ()
        note = _NO_TAGS if self.tagged is None else _MANY_TAGGED if len(keys) > MAX_TAGGED else None
        if note is not None and note not in plan.notes:
            plan.notes.append(note)
        self.read += len(keys)
        found = ex.any_of(ex.TermQuery("page", key) for key in keys[:MAX_TAGGED])
        return ex.ConstantQuery(found or ex.NoneQuery())

    def _title_word(self, word: str) -> ex.Query:
        """A word of the title in any form."""
        forms = {
            form.term for name in self.vocabulary.fields for form in self.vocabulary.forms(name, word)[:MAX_FORMS]
        } | {word}
        return ex.any_of(self._term("title", term) for term in sorted(forms)) or self._term("title", word)

    def _term(self, field: str, value: str) -> ex.Query:
        self.read += MIN_READ + self.vocabulary.reader.frequency(field, value)
        return ex.TermQuery(field, value)

    def _when(self, node: q.When, plan: QueryPlan) -> ex.Query:
        self.read += self.vocabulary.reader.documents
        if node.what == "at":
            plan.at = node
            standing: list[ex.Query] = []  # at some moment of that time
            if node.high is not None:
                standing.append(ex.RangeQuery("captured", None, node.high))
            if node.low is not None:
                standing.append(ex.RangeQuery("until", node.low + 1, None))
            return ex.ConstantQuery(ex.all_of(standing))
        name = "captured" if node.what == "captured" else "published"
        return ex.ConstantQuery(ex.RangeQuery(name, node.low, node.high))


def _positioned(text: str, name: str) -> list[tuple[int, str]]:
    """Terms of a phrase with their places; `*` alone stands for any word."""
    if "*" not in text or name == analysis.BIGRAMS:
        return analysis.positioned(text, name)
    placed: list[tuple[int, str]] = []
    start = 0
    for part in re.split(r"(?<!\S)\*(?!\S)", text):
        here = analysis.positioned(part, name)
        placed += [(start + at, term) for at, term in here]
        start += (here[-1][0] + 1 if here else 0) + 1
    return placed


def _folded(pattern: str) -> str:
    """A pattern in the letters of the index."""
    return "".join(letter if letter in "*?" else analysis.fold(letter) for letter in pattern)


def _flat(clauses: Sequence[q.Clause]) -> list[q.Clause]:
    """Alternatives among alternatives are alternatives: `(a OR (b OR c))` costs what `(a OR b OR c)` does."""
    flat: list[q.Clause] = []
    for clause in clauses:
        inner = clause.node.clauses if isinstance(clause.node, q.ClauseGroup) and clause.occurs == "may" else ()
        if inner and all(one.occurs == "may" for one in inner) and all(one.occurs == "may" for one in clauses):
            flat += _flat(inner)
        else:
            flat.append(clause)
    return flat


# `inbody:` asks for words of the text itself, not only of the title or of links to the page. The index has all words of
# a page in one field, so that they are weighed together: it is told by reading the pages that are shown.


def stands(asked: q.ClauseGroup, page: SearchDocument) -> bool:
    """Whether a page the index found for a query can be meant by it, by what its `inbody:` ask for."""
    return _holds(asked, _Text(page)) is not False


class _Text:
    def __init__(self, page: SearchDocument) -> None:
        self._field, self._language = analysis.field_of(page.language), page.language
        parts = [_stemmed(part, self._field, self._language) for part in (page.text, page.description)]
        self._words = [*parts[0], "", *parts[1]]
        self._known = frozenset(self._words)

    def has(self, text: str) -> bool:
        """Whether the words stand together somewhere."""
        wanted = _wanted(text, self._field, self._language)
        if not self._known.issuperset(wanted):
            return False
        size = len(wanted)
        return size < 2 or any(
            self._words[at : at + size] == wanted for at, word in enumerate(self._words) if word == wanted[0]
        )


def _stemmed(text: str, field: str, language: str) -> list[str]:
    terms = analysis.terms(text, field)
    stem = analysis.stems(terms, language)
    return [stem[term] for term in terms]


_wanted = lru_cache(maxsize=1000)(_stemmed)  # the same few words are looked for in every result


def _holds(node: q.Node, text: _Text) -> bool | None:
    """None: the text does not tell; the index has."""
    if isinstance(node, q.Within) and node.part == "body":
        return text.has(node.text)
    return _all(node.clauses, text) if isinstance(node, q.ClauseGroup) else None


def _all(clauses: tuple[q.Clause, ...], text: _Text) -> bool | None:
    needed = [_holds(clause.node, text) for clause in clauses if clause.occurs == "must"]
    needed += [_contrary(_holds(clause.node, text)) for clause in clauses if clause.occurs == "not"]
    wanted = [_holds(clause.node, text) for clause in clauses if clause.occurs == "may"]
    if wanted and not needed:
        needed = [True if True in wanted else None if None in wanted else False]
    return False if False in needed else None if None in needed else True


def _contrary(held: bool | None) -> bool | None:
    return None if held is None else not held

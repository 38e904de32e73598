"""Clauses that must match, as queries of the engine: phrases, nearness, patterns, fields, properties, dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, product

import tantivy
from tantivy import Occur, Query

from hemeroteca.search import analysis, numbers
from hemeroteca.search import clauses as q
from hemeroteca.search.notes import Note
from hemeroteca.search.plan import Plan
from hemeroteca.search.tantivy_query import any_of, between, boosted, term_query, unscored
from hemeroteca.search.vocabulary import MOST_ALIKE, Form, Vocabulary

MOST_FORMS = 12  # forms of one word that are searched, the most frequent ones
FEW_FORMS = 3  # … in a very long query, and of words that must be near each other
MOST_PLACES = 3_000_000  # documents in which phrases after the first may be looked for: some tenths of a second
MOST_PIECES = 8  # words with wildcards in a title or an address
MOST_COLLECTIONS = 10_000  # whose names are compared
MOST_NEAR = 9  # combinations of forms of words that must be near each other
MOST_READ = 15_000_000  # documents, of all clauses together: about half a second
LEAST_READ = 2_000  # what a clause or a word of one costs at least
_TOO_MUCH = Note("the query asks for too much at once: its last parts were ignored")
_TOO_COMMON = Note("the words of some phrases are very common: pages with these words were looked for, in any order")


class ClauseQueries:
    def __init__(self, schema: tantivy.Schema, vocabulary: Vocabulary) -> None:
        self.schema = schema
        self.vocabulary = vocabulary
        self.read = 0  # documents the engine has to look at, about
        self.contrary = False  # inside a clause that is not wanted
        self.places: int | None = None  # documents in which phrases may still be looked for; None: no phrase yet

    def clause(self, clause: q.Clause, plan: Plan, marked: bool = True) -> Query | None:
        """What a clause looks for, be it wanted or not; nothing when the query has asked for too much already."""
        self.read += LEAST_READ
        if self.read > MOST_READ:
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

    def _query(self, node: q.Node, plan: Plan, marked: bool) -> Query | None:
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
                return any_of(
                    Query.regex_query(self.schema, f"body_{name}", numbers.pattern(low, high))
                    for name in self.vocabulary.fields
                )
            case q.Within(part, text, phrase):
                return self._within(part, text, phrase, plan, marked)
            case q.Only(name, value):
                return self._only(name, value)
            case q.When():
                return self._when(node, plan)
            case q.Group(clauses):
                return self._group(clauses, plan, marked)

    def _group(self, clauses: Sequence[q.Clause], plan: Plan, marked: bool) -> Query | None:
        parts = []
        for clause in _flat(clauses):
            query = self.clause(clause, plan, marked)
            if query is not None:
                occurs = {"may": Occur.Should, "must": Occur.Must, "not": Occur.MustNot}[clause.occurs]
                parts.append((occurs, query))
        if not parts:
            return None
        if all(occurs == Occur.MustNot for occurs, _ in parts):
            self.read += self.vocabulary.searcher.num_docs
            parts.append((Occur.Must, Query.const_score_query(Query.all_query(), 0.0)))
        return Query.boolean_query(parts)

    def _phrase(self, text: str, slop: int, plan: Plan, marked: bool) -> Query | None:
        alternatives = []
        for name in self.vocabulary.fields:
            placed = _positioned(text, name)
            if len(placed) == 1:
                query: Query | None = self._any_form(name, placed[0][1], plan, marked)
            else:
                query = self._placed(f"body_{name}", placed, slop, name, plan)
                if marked:
                    plan.wanted[name].update(term for _, term in placed)
            if query is not None:
                alternatives.append(boosted(query, self.vocabulary.factor(name, placed[0][1])))
        return any_of(alternatives)

    def _any_form(self, name: str, word: str, plan: Plan, marked: bool) -> Query:
        forms = self.vocabulary.forms(name, word)[:MOST_FORMS]
        self.read += sum(form.documents for form in forms)
        if marked:
            plan.wanted[name].update(form.term for form in forms)
        queries = [boosted(term_query(self.schema, f"body_{name}", form.term), form.factor) for form in forms]
        return any_of(queries) or term_query(self.schema, f"body_{name}", word)

    def _affordable(self, body: str, terms: list[str], plan: Plan, times: int = 1) -> bool:
        """Whether the words may be looked for as a phrase: always the first time, then while they are not too common.

        A phrase is looked for in every document that has all its words: at most those that have the rarest one.
        """
        cost = times * len(terms) * min(self.vocabulary.searcher.doc_freq(body, term) for term in terms)
        first, left = self.places is None, MOST_PLACES if self.places is None else self.places
        if cost > left and not first:
            if _TOO_COMMON not in plan.notes:
                plan.notes.append(_TOO_COMMON)
            return False
        self.places = max(0, left - cost)
        return True

    def _placed(self, body: str, placed: list[tuple[int, str]], slop: int, name: str, plan: Plan) -> Query | None:
        if not placed:
            return None
        if len(placed) == 1:
            return self._term(body, placed[0][1])
        if name == analysis.BIGRAMS or not self._affordable(body, [term for _, term in placed], plan):
            words = list(dict.fromkeys(term for _, term in placed))
            return Query.boolean_query([(Occur.Must, self._term(body, term)) for term in words[:64]])
        start = placed[0][0]
        return Query.phrase_query(self.schema, body, [(at - start, term) for at, term in placed], slop=slop)

    def _near(self, left: str, right: str, distance: int, plan: Plan) -> Query | None:
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
            either: list[tuple[Occur, Query]] = []
            for chosen in islice(product(*choices), MOST_NEAR):
                words = [form.term for form in chosen]
                plan.wanted[name].update(words)
                if not self._affordable(f"body_{name}", words, plan, times=2):
                    every = [
                        (Occur.Must, term_query(self.schema, f"body_{name}", word)) for word in dict.fromkeys(words)
                    ]
                    either.append((Occur.Should, Query.boolean_query(every)))
                    break
                terms: list[str | tuple[int, str]] = [*words]
                # slop counts the moves from "left right": one less than the distance, two more for the other order
                for order in (terms, terms[len(first) :] + terms[: len(first)]):
                    query = Query.phrase_query(self.schema, f"body_{name}", order, slop=distance - 1)
                    either.append((Occur.Should, query))
            if either:
                alternatives.append(boosted(Query.boolean_query(either), self.vocabulary.factors[name]))
        return any_of(alternatives)

    def _wildcard(self, pattern: str, plan: Plan, marked: bool) -> Query | None:
        regex = _regex(pattern)
        alternatives = []
        for name in self.vocabulary.fields:
            body = f"body_{name}"
            alternatives.append(Query.regex_query(self.schema, body, regex))
            literal = analysis.fold(pattern.rstrip("*?"))
            if marked and literal.isalnum():
                alike = (
                    self.vocabulary.searcher.terms_with_prefix(body, literal, limit=MOST_ALIKE)
                    if len(literal) > 1
                    else []
                )
                plan.wanted[name].update(term for term, _ in alike)
        return any_of(alternatives)

    def _fuzzy(self, text: str, distance: int, plan: Plan, marked: bool) -> Query | None:
        alternatives = []
        for name in self.vocabulary.fields:
            for term in analysis.terms(text, name)[:1]:
                body, most = f"body_{name}", distance if len(term) > 3 else min(1, distance)
                alternatives.append(Query.fuzzy_term_query(self.schema, body, term, most))
                stem = min(
                    (analysis.stems([term], code)[term] for code, _ in self.vocabulary.languages), key=len, default=term
                )
                if 5 <= len(stem) < len(term):  # other forms of what was meant
                    forms = Query.fuzzy_term_query(self.schema, body, stem, most, prefix=True)
                    alternatives.append(boosted(forms, 0.5))
                if marked:
                    plan.wanted[name].add(term)
        return any_of(alternatives)

    def _within(self, part: str, text: str, phrase: bool, plan: Plan, marked: bool) -> Query | None:
        if part == "body":
            # whether it stands in the text itself is told when a page is read (`in_body`): until then too much is found
            plan.in_body = True
            return Query.empty_query() if self.contrary else self._phrase(text, 0, plan, marked)
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

    def _part_pattern(self, part: str, text: str) -> Query | None:
        """Words of a title, an address or a link text with wildcards; without spaces, characters inside of words."""
        found = []
        for piece in re.findall(r"[^\W_*?]*(?:[*?]+[^\W_*?]*)+|[^\W_]+", text)[:MOST_PIECES]:
            if not (letters := piece.strip("*?")):
                continue
            if analysis.has_spaceless(letters):
                piece = f"*{letters}*"
            found.append(Query.regex_query(self.schema, part, _regex(piece)))
        return Query.boolean_query([(Occur.Must, query) for query in found]) if found else None

    def _only(self, name: str, value: str) -> Query:
        """A property; the name of a collection in any spelling of letters and accents."""
        if name != "collection":
            return unscored(self._term(name, value))
        named = self.vocabulary.searcher.terms_with_prefix(name, "", limit=MOST_COLLECTIONS)
        same = [term for term, _ in named if analysis.fold(term) == analysis.fold(value)] or [value]
        return unscored(any_of(term_query(self.schema, name, term) for term in same) or Query.empty_query())

    def _title_word(self, word: str) -> Query:
        """A word of the title in any form."""
        forms = {
            form.term for name in self.vocabulary.fields for form in self.vocabulary.forms(name, word)[:MOST_FORMS]
        } | {word}
        return any_of(self._term("title", term) for term in sorted(forms)) or self._term("title", word)

    def _term(self, field: str, value: str) -> Query:
        self.read += LEAST_READ + self.vocabulary.searcher.doc_freq(field, value)
        return term_query(self.schema, field, value)

    def _when(self, node: q.When, plan: Plan) -> Query:
        self.read += self.vocabulary.searcher.num_docs
        if node.what == "at":
            plan.at = node
            standing = []  # at some moment of that time
            if node.high is not None:
                standing.append((Occur.Must, between(self.schema, "captured", None, node.high)))
            if node.low is not None:
                standing.append((Occur.Must, between(self.schema, "until", node.low + 1, None)))
            return unscored(Query.boolean_query(standing))
        name = "captured" if node.what == "captured" else "published"
        return unscored(between(self.schema, name, node.low, node.high))


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


def _regex(pattern: str) -> str:
    """A pattern with `*` and `?` as the engine reads it."""
    folded = "".join(c if c in "*?" else analysis.fold(c) for c in pattern)
    return "".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in folded)


def _flat(clauses: Sequence[q.Clause]) -> list[q.Clause]:
    """Alternatives among alternatives are alternatives: `(a OR (b OR c))` costs what `(a OR b OR c)` does."""
    flat: list[q.Clause] = []
    for clause in clauses:
        inner = clause.node.clauses if isinstance(clause.node, q.Group) and clause.occurs == "may" else ()
        if inner and all(one.occurs == "may" for one in inner) and all(one.occurs == "may" for one in clauses):
            flat += _flat(inner)
        else:
            flat.append(clause)
    return flat

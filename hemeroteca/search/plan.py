"""From a parsed query to queries of the engine: what must match, what scores, what is marked in the results.

The index holds words as they are written. A word of the query stands for all its forms in the index's vocabulary that
share its stem. As typed it weighs what BM25 gives it; the other forms only add to that, each weighed as the whole group
is, so that a rare form is not taken for a rare word.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice, pairwise, product

import msgspec
import tantivy
from tantivy import FieldType, Occur, Query

from hemeroteca.search import analysis
from hemeroteca.search import clauses as q
from hemeroteca.search.notes import Note
from hemeroteca.search.ranking import Weights

MOST_TERMS = 256  # scored terms; of a longer query the rarest are kept
RARE = 3  # pages; a word in no more of them may be misspelt
MOST_PAIRS = 12  # neighbouring words looked at for nearness
MOST_PLACED = 64  # words among which they are looked for
MOST_FORMS = 12  # forms of one word that are searched, the most frequent ones
FEW_FORMS = 3  # … in a very long query, and of words that must be near each other
LONG_QUERY = 24  # words from which a query is very long
OTHER_FORM = 0.9  # what a form counts that was not typed
TIE = 0.25  # … and what each form but the best one adds
IN_SUM = 0.55  # … and the same where all forms are added up
IN_SUM_FORMS = 4  # forms added up, if they are not much rarer than the others
MOST_REQUIRED = 6  # words that are first asked for all together
MOST_POSTINGS = 30_000  # of all words and forms, up to which the best form is looked for
MOST_KNOWN = 20_000  # words remembered with their forms
MOST_PLACES = 3_000_000  # documents in which phrases after the first may be looked for: some tenths of a second
MOST_NEAR = 9  # combinations of forms of words that must be near each other
LEAST_SHARE = 0.04  # of the pages, from which the forms of a language's words are looked for
MOST_ALIKE = 100  # words of the vocabulary that are compared with one of the query
_TOO_COMMON = Note("the words of some phrases are very common: pages with these words were looked for, in any order")
_TOO_LONG = Note("the query is very long: its {number} rarest words were searched", number=MOST_TERMS)


class Form(msgspec.Struct, frozen=True, gc=False):
    """A word as it stands in the index."""

    term: str
    documents: int
    factor: float  # of its scores; what was not typed weighs as the group of forms it belongs to


class Part(msgspec.Struct, frozen=True):
    query: Query
    factor: float  # of its scores
    language: str = ""  # body field; empty: any
    first: Query | None = None  # stricter and faster; enough when it finds enough


class Bonus(msgspec.Struct, frozen=True):
    """What makes a match better than its words alone."""

    name: str
    query: Query
    weight: float
    language: str = ""  # body field; empty: any


class Plan(msgspec.Struct):
    every: Callable[[], Query] | None = None  # makes the query of every match; None when nothing is asked for
    parts: list[Part] = []  # the same, as parts without common documents
    bonuses: list[Bonus] = []
    wanted: dict[str, set[str]] = {}  # body field → terms to mark
    in_body: list[str] = []  # words that must stand in the text itself
    scored: list[tuple[str, str, int]] = []  # (field, term, documents) of plain words in all their forms
    factors: dict[tuple[str, str], float] = {}  # (field, term) → factor of its score
    plain: bool = True  # only words: the number of matches may be estimated
    notes: list[str] = []
    at: q.When | None = None
    one_host: bool = False  # only pages of a site or host are asked for
    language: str = ""  # the query is written in; empty: it does not tell
    doubtful: bool = False  # some word is in no page, or in hardly any: perhaps it is misspelt


class Planner:
    def __init__(
        self,
        schema: tantivy.Schema,
        searcher: tantivy.Searcher,
        languages: Sequence[tuple[str, int]],
        weights: Weights,
        blocks: Sequence[str] = (),
        known: dict[tuple[str, str], list[Form]] | None = None,
        spoken: Callable[[list[str]], Counter[str]] | None = None,
    ) -> None:
        """`known`: forms of words found before in the same commit of the index. `spoken`: languages words are of."""
        self.spoken = spoken
        self.schema = schema
        self.searcher = searcher
        self.weights = weights
        self.blocks = blocks
        self.known = {} if known is None else known
        known_language = max(1, sum(count for code, count in languages if code))
        self.languages = [
            (code, count / known_language)
            for code, count in sorted(languages, key=lambda entry: -entry[1])
            if code in analysis.LANGUAGES and (count >= LEAST_SHARE * known_language or code in analysis.OWN_SCRIPT)
        ]
        common = {code for code, _ in self.languages}
        self.rare = [(code, n / known_language) for code, n in languages if code in analysis.LANGUAGES - common]
        total = sum(count for _, count in languages)
        pairs = sum(count for code, count in languages if analysis.field_of(code) == analysis.BIGRAMS)
        # The engine divides a field's length by all documents, not by those that have the field: pages of the rarer
        # field look too long. The factor makes their scores comparable again (docs/explanation/ranking.md).
        self.factors = {
            name: min(8.0, (1 + 1.2 * (0.25 + 0.75 * total / count)) / 2.2)
            for name, count in ((analysis.WORDS, total - pairs), (analysis.BIGRAMS, pairs))
            if count
        }
        self.fields = list(self.factors)
        self.spaceless = False  # the query is in a script without spaces: only pages in one are meant
        self.empty: frozenset[str] = frozenset()
        self.places: int | None = None  # documents in which phrases may still be looked for; None: no phrase yet
        self.words: list[tuple[str, list[Form], int]] = []  # (field, forms of a word, times it is in the query)

    def plan(self, parsed: q.Parsed) -> Plan:
        clauses = parsed.root.clauses
        self._keep_language(clauses)
        plan = Plan(wanted={name: set() for name in self.fields}, notes=list(parsed.notes))
        words = [c.node.text for c in clauses if isinstance(c.node, q.Word) and c.occurs == "may"]
        others = [c for c in clauses if not (isinstance(c.node, q.Word) and c.occurs == "may")]
        plan.plain = not others and not self.blocks
        required = [c.node for c in others if c.occurs == "must" and isinstance(c.node, q.Only)]
        plan.one_host = any(node.property in ("site", "host") for node in required)
        if any(isinstance(c.node, q.Word | q.Phrase) and analysis.has_spaceless(c.node.text) for c in clauses):
            self.spaceless = True
            self.known = {}  # words weigh otherwise

        if words:
            self._words(words, plan)
            plan.bonuses = self._bonuses(words)
        if plan.plain and plan.scored:
            plan.parts = self._by_field(plan)
            # not a closure over the plan: what refers to itself keeps the files of an index open until it is collected
            scored, factors = plan.scored, plan.factors
            plan.every = lambda: Query.boolean_query([(Occur.Should, q) for q in self._scoring(scored, factors)])
            return plan
        scoring = self._scoring(plan.scored, plan.factors) if words else []
        must: list[Query] = []
        must_not = [self._term("site", host) for host in self.blocks]
        for clause in others:
            query = self._node(clause.node, plan, marked=clause.occurs != "not")
            if query is not None:
                {"not": must_not, "must": must, "may": scoring}[clause.occurs].append(query)
        if not scoring and not must and others and must_not:
            must.append(Query.const_score_query(Query.all_query(), 1.0))
        if not scoring and not must:
            return plan

        wanted = [(Occur.Should, query) for query in scoring]
        # beside a required word or phrase other words are optional; beside filters one of them must be there
        optional = any(c.occurs == "must" and not isinstance(c.node, q.Only | q.When) for c in others)
        if scoring and (must or must_not) and not optional:
            wanted = [(Occur.Must, Query.boolean_query(wanted))]
        wanted += [(Occur.Must, query) for query in must] + [(Occur.MustNot, query) for query in must_not]
        whole = Query.boolean_query(wanted)
        plan.every = lambda: whole
        plan.parts = [Part(whole, 1.0)]
        return plan

    def _keep_language(self, clauses: Sequence[q.Clause]) -> None:
        """With `lang:`, words are read in that language only."""
        for clause in clauses:
            if isinstance(clause.node, q.Only) and clause.node.property == "language" and clause.occurs == "must":
                self.languages = [(clause.node.value, 1.0)]
                self.known, self.rare = {}, []
                self.fields = [name for name in self.fields if name == analysis.field_of(clause.node.value)]

    def _by_field(self, plan: Plan) -> list[Part]:
        """One query per field; a page is in one.

        Of the forms of a word the one that fits best counts, the others add a little: the engine saturates each by
        itself, and their sum would make much of a word that is written in many ways. That reads every posting, so
        where words are common a plain union is asked instead, which lets the engine skip (WAND), with less weight for
        forms that were not typed.
        """
        precisely = sum(documents for _, _, documents in plan.scored) <= MOST_POSTINGS
        parts = []
        for name in self.fields:
            terms = []
            factor = 1.0
            for field, forms, times in self.words:
                if field == name:
                    factor = max(factor, self._factor(name, forms[0].term))
                    body = f"body_{name}"
                    if precisely and len(forms) > 1:
                        each = [self._boost(self._term(body, form.term), form.factor * times) for form in forms]
                        terms.append(Query.disjunction_max_query(each, TIE))
                    else:
                        least = sum(form.documents for form in forms) // 50
                        terms += [
                            self._boost(self._term(body, form.term), form.factor * times * (1.0 if at == 0 else IN_SUM))
                            for at, form in enumerate(forms[:IN_SUM_FORMS])
                            if form.documents >= least
                        ]
            if terms:
                query = Query.boolean_query([(Occur.Should, term) for term in terms])
                parts.append(Part(query, factor, name, None if precisely else self._every_word(name)))
        return parts

    def _every_word(self, name: str) -> Query | None:
        """All words, as typed where that is a usual form: of common words enough pages have them all."""
        words = [(forms, times) for field, forms, times in self.words if field == name]
        if not 1 <= len(words) <= MOST_REQUIRED:
            return None
        every = []
        for forms, times in words:
            usual = sum(form.documents for form in forms) // 4
            chosen = forms[:1] if forms[0].documents >= usual else forms[:IN_SUM_FORMS]
            either = [self._boost(self._term(f"body_{name}", form.term), form.factor * times) for form in chosen]
            every.append((Occur.Must, self._any(either) or either[0]))
        return every[0][1] if len(every) == 1 else Query.boolean_query(every)

    # words that score

    def _words(self, words: list[str], plan: Plan) -> None:
        chosen: list[tuple[str, list[Form], int, int]] = []
        self._hear(words)
        if len(self.languages) > 1 or len(self.fields) > 1:
            plan.language = self._language(words)
        self.empty = analysis.empty_words(words, self.languages, plan.language)
        for name in self.fields:
            times = Counter(self._content_terms(words, name))
            if len(times) > MOST_TERMS:
                times = self._rarest(times, name)
                plan.notes.append(_TOO_LONG)
            most = MOST_FORMS if len(times) <= LONG_QUERY else FEW_FORMS
            for word, count in times.items():
                if forms := self._forms(name, word)[:most]:
                    chosen.append((name, forms, sum(form.documents for form in forms), count))
        plan.doubtful = len(words) <= 16 and any(self._is_rare(word) for word in words)
        if len(chosen) > MOST_TERMS:
            plan.notes.append(_TOO_LONG)
            keep = sorted(range(len(chosen)), key=lambda i: chosen[i][2])[:MOST_TERMS]
            chosen = [chosen[i] for i in sorted(keep)]
        self.words = [(name, forms, times) for name, forms, _, times in chosen]
        documents: dict[tuple[str, str], int] = {}
        for name, forms, _, count in chosen:
            for form in forms:
                documents[name, form.term] = form.documents
                plan.factors[name, form.term] = plan.factors.get((name, form.term), 0.0) + form.factor * count
                plan.wanted[name].add(form.term)
        plan.scored = [(name, term, having) for (name, term), having in documents.items()]
        plan.notes = list(dict.fromkeys(plan.notes))

    def _rarest(self, times: Counter[str], name: str) -> Counter[str]:
        """The words of a very long query in the fewest documents, before their forms are looked for."""
        having = {word: self.searcher.doc_freq(f"body_{name}", word) for word in times}
        kept = sorted((word for word in times if having[word]), key=having.__getitem__)[:MOST_TERMS]
        return Counter({word: times[word] for word in kept})

    def _hear(self, words: list[str]) -> None:
        """Read the query in a language of few pages too, when its little words are clearly of that language."""
        if not self.rare:
            return
        least = analysis.CLEARLY + max((self._little(words, code) for code, _ in self.languages), default=0)
        little = {language: self._little(words, language[0]) for language in self.rare}
        heard = max(self.rare, key=little.__getitem__)
        if little[heard] >= least:
            self.languages.append(heard)
            self.known = {}  # words have other forms

    @staticmethod
    def _little(words: list[str], code: str) -> int:
        return sum(analysis.is_empty(word, code) for word in words[:LONG_QUERY])

    def _language(self, words: list[str]) -> str:
        """The language a query is written in, by its little words and by the pages its other words are in.

        One word is enough for a language many pages are in, else it takes two more: German `war` is English too.
        """
        votes: Counter[str] = Counter()
        for code, _ in self.languages:
            votes[code] = self._little(words, code)
        if self.spoken is not None:
            votes.update(self.spoken(words[:LONG_QUERY]))
        best = votes.most_common(2)
        if not best or not best[0][1] or (len(best) > 1 and best[1][1] == best[0][1]):
            return ""
        shares = dict(self.languages)
        if shares.get(best[0][0], 0) >= analysis.COMMON:
            return best[0][0]
        common = max((votes[code] for code, share in self.languages if share >= analysis.COMMON), default=0)
        return best[0][0] if best[0][1] >= analysis.CLEARLY + common else ""

    def _scoring(self, scored: list[tuple[str, str, int]], factors: dict[tuple[str, str], float]) -> list[Query]:
        if not scored:
            return [Query.empty_query()]
        return [
            self._boost(self._term(f"body_{name}", term), self._factor(name, term) * factors[name, term])
            for name, term, _ in scored
        ]

    def _forms(self, name: str, word: str) -> list[Form]:
        """The forms of a word in the vocabulary of a body field: as it is typed, then the most frequent."""
        forms = self.known.get((name, word))
        if forms is None:
            if len(self.known) > MOST_KNOWN:
                self.known.clear()
            forms = self.known[name, word] = self._look_up(name, word)
        return forms

    def _look_up(self, name: str, word: str) -> list[Form]:
        body = f"body_{name}"
        having = {word: self.searcher.doc_freq(body, word)}
        stems = {code: analysis.stems([word], code)[word] for code, _ in self.languages if name == analysis.WORDS}
        if stems and word.isalpha():
            # forms differ at the end, by y and i or a doubled letter also at the end of the stem
            shortest = min(stems.values(), key=len)
            prefix = shortest[:-1] if len(shortest) > 4 else shortest
            if len(prefix) < 4 or not word.startswith(prefix):  # too many words begin so
                prefix = word
            alike = self.searcher.terms_with_prefix(body, prefix, limit=MOST_ALIKE) if len(prefix) > 2 else []
            alike = [(term, documents) for term, documents in alike if len(term) <= len(word) + 5]
            for code, stem in stems.items():
                of = analysis.stems((term for term, _ in alike), code)
                having |= {term: documents for term, documents in alike if of[term] == stem}
        total = self.searcher.num_docs
        elsewhere = self._elsewhere(name, word)
        alone = _rarity(min(total, having[word] + elsewhere), total)
        together = OTHER_FORM * _rarity(min(total, sum(having.values()) + elsewhere), total)
        return [
            Form(term, documents, (alone if term == word else together) / _rarity(documents, total))
            for term, documents in having.items()
            if documents
        ]

    def _factor(self, name: str, term: str) -> float:
        """What makes scores of a field comparable; not for words of other scripts in it: few, and few times each."""
        if name == analysis.WORDS or self.spaceless or analysis.is_spaceless(term):
            return self.factors[name]
        return 1.0

    def _elsewhere(self, name: str, word: str) -> int:
        """Pages that have the word in another field: a word is as rare as it is in all pages.

        An English word is rare in Chinese pages; weighed as such, they would stand before all English ones.
        """
        if len(self.fields) < 2 or self.spaceless or analysis.is_spaceless(word):
            return 0
        if name == analysis.BIGRAMS:
            return sum(form.documents for form in self._forms(analysis.WORDS, word))
        return self.searcher.doc_freq(f"body_{analysis.BIGRAMS}", word)

    def _is_rare(self, word: str) -> bool:
        if word in self.empty:
            return False
        found = 0
        for name in self.fields:
            if terms := analysis.terms(word, name):
                found += min(sum(form.documents for form in self._forms(name, term)) for term in terms)
        return found <= RARE

    def _content_terms(self, words: list[str], name: str) -> list[str]:
        content = [word for word in words if word not in self.empty]
        return analysis.terms(" ".join(content), name) or analysis.terms(" ".join(words), name)

    def _bonuses(self, words: list[str]) -> list[Bonus]:
        weights = self.weights
        bonuses: list[Bonus] = []
        for name in self.fields:
            if name == analysis.BIGRAMS:
                continue
            empty, factor, body = {analysis.fold(word) for word in self.empty}, self.factors[name], f"body_{name}"
            joined = _inside_words(words[:MOST_PLACED], self.languages)
            placed = [p for p in analysis.positioned(" ".join(words[:MOST_PLACED]), name) if p[1] not in empty]
            placed = [p for p in placed if self._forms(name, p[1])]
            pairs = list(pairwise(placed))
            if len(pairs) > MOST_PAIRS:  # of many words only those written as one are meant to stand together
                pairs = [pair for pair in pairs if pair[1][0] in joined][:MOST_PAIRS]
            for (at, first), (then, second) in pairs:
                if first == second or then - at > 4:
                    continue
                pair: list[str | tuple[int, str]] = [(0, first), (then - at, second)]
                phrase = Query.phrase_query(self.schema, body, pair)
                near = Query.phrase_query(self.schema, body, pair, slop=8)
                both = [
                    (Occur.Must, self._boost(near, weights.near)),
                    (Occur.Should, self._boost(phrase, weights.joined if then in joined else weights.phrase)),
                ]
                bonuses.append(Bonus("phrase", Query.boolean_query(both), factor, name))
        folded = list(dict.fromkeys(analysis.terms(" ".join(words[:32]), analysis.WORDS)))
        empty = {analysis.fold(word) for word in self.empty}
        content = [word for word in folded if word not in empty]
        if 1 <= len(content) <= 8:
            every = Query.boolean_query([(Occur.Must, self._term("title", word)) for word in content])
            bonuses.append(Bonus("title", every, weights.title))
            any_word = Query.boolean_query([(Occur.Should, self._term("url", word)) for word in content])
            bonuses.append(Bonus("url", any_word, weights.url))
        return bonuses

    # clauses that must match

    def _node(self, node: q.Node, plan: Plan, marked: bool = True) -> Query | None:
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
                return self._any(
                    Query.term_set_query(self.schema, f"body_{name}", [str(n) for n in range(low, high + 1)])
                    for name in self.fields
                )
            case q.Within(part, text, phrase):
                return self._within(part, text, phrase, plan, marked)
            case q.Only(name, value):
                return self._filter(self._term(name, value))
            case q.When():
                return self._when(node, plan)
            case q.Group(clauses):
                return self._group(clauses, plan, marked)

    def _group(self, clauses: Sequence[q.Clause], plan: Plan, marked: bool) -> Query | None:
        parts = []
        for clause in _flat(clauses):
            query = self._node(clause.node, plan, marked and clause.occurs != "not")
            if query is not None:
                occurs = {"may": Occur.Should, "must": Occur.Must, "not": Occur.MustNot}[clause.occurs]
                parts.append((occurs, query))
        if not parts:
            return None
        if all(occurs == Occur.MustNot for occurs, _ in parts):
            parts.append((Occur.Must, Query.const_score_query(Query.all_query(), 0.0)))
        return Query.boolean_query(parts)

    def _phrase(self, text: str, slop: int, plan: Plan, marked: bool) -> Query | None:
        alternatives = []
        for name in self.fields:
            placed = analysis.positioned(text, name)
            if len(placed) == 1:
                query: Query | None = self._any_form(name, placed[0][1], plan, marked)
            else:
                query = self._placed(f"body_{name}", placed, slop, name, plan)
                if marked:
                    plan.wanted[name].update(term for _, term in placed)
            if query is not None:
                alternatives.append(self._boost(query, self._factor(name, placed[0][1])))
        return self._any(alternatives)

    def _any_form(self, name: str, word: str, plan: Plan, marked: bool) -> Query:
        forms = self._forms(name, word)[:MOST_FORMS]
        if marked:
            plan.wanted[name].update(form.term for form in forms)
        queries = [self._boost(self._term(f"body_{name}", form.term), form.factor) for form in forms]
        return self._any(queries) or self._term(f"body_{name}", word)

    def _affordable(self, body: str, terms: list[str], plan: Plan, times: int = 1) -> bool:
        """Whether the words may be looked for as a phrase: always the first time, then while they are not too common.

        A phrase is looked for in every document that has all its words: at most those that have the rarest one.
        """
        cost = times * len(terms) * min(self.searcher.doc_freq(body, term) for term in terms)
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
        for name in self.fields:
            first, second = analysis.terms(left, name), analysis.terms(right, name)
            if not first or not second or name == analysis.BIGRAMS:
                continue
            choices = [
                self._forms(name, word)[:FEW_FORMS] if len(side) == 1 else [Form(word, 0, 1.0)]
                for side in (first, second)
                for word in side
            ]
            either: list[tuple[Occur, Query]] = []
            for chosen in islice(product(*choices), MOST_NEAR):
                words = [form.term for form in chosen]
                plan.wanted[name].update(words)
                if not self._affordable(f"body_{name}", words, plan, times=2):
                    every = [(Occur.Must, self._term(f"body_{name}", word)) for word in dict.fromkeys(words)]
                    either.append((Occur.Should, Query.boolean_query(every)))
                    break
                terms: list[str | tuple[int, str]] = [*words]
                # slop counts the moves from "left right": one less than the distance, two more for the other order
                for order in (terms, terms[len(first) :] + terms[: len(first)]):
                    query = Query.phrase_query(self.schema, f"body_{name}", order, slop=distance - 1)
                    either.append((Occur.Should, query))
            if either:
                alternatives.append(self._boost(Query.boolean_query(either), self.factors[name]))
        return self._any(alternatives)

    def _wildcard(self, pattern: str, plan: Plan, marked: bool) -> Query | None:
        folded = "".join(c if c in "*?" else analysis.fold(c) for c in pattern)
        regex = "".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in folded)
        alternatives = []
        for name in self.fields:
            body = f"body_{name}"
            alternatives.append(Query.regex_query(self.schema, body, regex))
            literal = folded.rstrip("*?")
            if marked and literal.isalnum():
                alike = self.searcher.terms_with_prefix(body, literal, limit=MOST_ALIKE) if len(literal) > 1 else []
                plan.wanted[name].update(term for term, _ in alike)
        return self._any(alternatives)

    def _fuzzy(self, text: str, distance: int, plan: Plan, marked: bool) -> Query | None:
        alternatives = []
        for name in self.fields:
            for term in analysis.terms(text, name)[:1]:
                body, most = f"body_{name}", distance if len(term) > 3 else 1
                alternatives.append(Query.fuzzy_term_query(self.schema, body, term, most))
                stem = min((analysis.stems([term], code)[term] for code, _ in self.languages), key=len, default=term)
                if 5 <= len(stem) < len(term):  # other forms of what was meant
                    forms = Query.fuzzy_term_query(self.schema, body, stem, most, prefix=True)
                    alternatives.append(self._boost(forms, 0.5))
                if marked:
                    plan.wanted[name].add(term)
        return self._any(alternatives)

    def _within(self, part: str, text: str, phrase: bool, plan: Plan, marked: bool) -> Query | None:
        if part == "body":
            plan.in_body.append(text)
            return self._phrase(text, 0, plan, marked)
        placed = analysis.positioned(text, analysis.WORDS)
        if part == "title" and not phrase and len(placed) == 1:
            return self._title_word(placed[0][1])
        query = self._placed(part, placed, 0, analysis.WORDS, plan)
        if query is not None and marked and part == "title":
            for name in self.fields:
                plan.wanted[name].update(analysis.terms(text, name))
        return query

    def _title_word(self, word: str) -> Query:
        """A word of the title in any form."""
        forms = {form.term for name in self.fields for form in self._forms(name, word)[:MOST_FORMS]} | {word}
        return self._any([self._term("title", term) for term in sorted(forms)]) or self._term("title", word)

    def _when(self, node: q.When, plan: Plan) -> Query:
        if node.what == "at":
            plan.at = node
            standing = []  # at some moment of that time
            if node.high is not None:
                standing.append((Occur.Must, self._range("captured", None, node.high)))
            if node.low is not None:
                standing.append((Occur.Must, self._range("until", node.low + 1, None)))
            return self._filter(Query.boolean_query(standing))
        name = "captured" if node.what == "captured" else "published"
        return self._filter(self._range(name, node.low, node.high))

    # small parts

    def _range(self, name: str, low: int | None, high: int | None) -> Query:
        return Query.range_query(self.schema, name, FieldType.Integer, low, high)

    def _term(self, name: str, value: str) -> Query:
        return Query.term_query(self.schema, name, value, index_option="freq")

    @staticmethod
    def _boost(query: Query, factor: float) -> Query:
        return query if math.isclose(factor, 1.0) else Query.boost_query(query, factor)

    @staticmethod
    def _filter(query: Query) -> Query:
        return Query.const_score_query(query, 0.0)

    @staticmethod
    def _any(queries: object) -> Query | None:
        alternatives: list[Query] = list(queries)  # type: ignore[call-overload]
        if not alternatives:
            return None
        if len(alternatives) == 1:
            return alternatives[0]
        return Query.boolean_query([(Occur.Should, query) for query in alternatives])


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


_LOOSE = re.compile("['’ʼ/]")


def _inside_words(words: Sequence[str], languages: Sequence[tuple[str, float]]) -> set[int]:
    """Places of terms that follow another inside one word of the query: `perl` of `mod_perl`, `19` of `COVID-19`.

    What an apostrophe or a stroke joins (`l'eau`, `yes/no`) and what begins or ends with a little word (`y a-t-il`)
    is no name.
    """
    places: set[int] = set()
    if all(map(str.isalnum, words)):
        return places
    at = 0
    for word in words:
        terms = analysis.word_analyzer().analyze(word)
        if len(terms) > 1 and not _LOOSE.search(word):
            little = [any(analysis.is_empty(term, code) for code, _ in languages) for term in terms]
            places.update(at + i for i in range(1, len(terms)) if not little[i] and not little[i - 1])
        at += len(terms)
    return places


def _rarity(documents: int, total: int) -> float:
    """BM25's weight of a word in so many documents, as the engine computes it."""
    return math.log(1 + (max(total, documents) - documents + 0.5) / (documents + 0.5))

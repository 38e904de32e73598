"""From a parsed query to a plan: words that score, what makes a match better, clauses that must match.

A plan is made of queries that every engine can answer (`index.expressions`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from hemeroteca.search import analysis
from hemeroteca.search.index import IndexReader
from hemeroteca.search.index import expressions as ex
from hemeroteca.search.index.document_fields import BODIES
from hemeroteca.search.query import clauses as q
from hemeroteca.search.query.clauses import Note
from hemeroteca.search.query.conditions import FEW_FORMS, MAX_FORMS, Conditions
from hemeroteca.search.query.operators import host_in
from hemeroteca.search.query.vocabulary import LONG_QUERY, Form, Vocabulary, rarity
from hemeroteca.search.ranking import Weights

MAX_TERMS = 256  # scored terms; of a longer query the rarest are kept
RARE = 3  # pages; a word in no more of them may be misspelt
PART_OF_NUMBER = 0.3  # what the 2 and the 6 of `v2.6` count by themselves
NAMED_BESIDE = 2  # simple words, up to which one with a hyphen is a name
MAX_PAIRS = 12  # neighbouring words looked at for nearness
MAX_PLACED = 64  # words among which they are looked for
MAX_APART = 4  # words from one to the other in the query
MAX_NAMING = 32  # words looked at for titles and addresses …
MAX_NAMED = 8  # … which so many that say something may name
TIE = 0.25  # … and what each form but the best one adds
IN_SUM = 0.55  # … and the same where all forms are added up
IN_SUM_FORMS = 4  # forms added up, if they are not much rarer than the others
PAIR = 0.5  # what a pair of characters counts: each character of a run but the ends is in two
MAX_REQUIRED = 6  # words that are first asked for all together
MAX_POSTINGS = 30_000  # of all words and forms, up to which the best form is looked for …
MAX_LITTLE = 300_000  # … beside so many of little words
_TOO_LONG = Note("the query is very long: its {number} rarest words were searched", number=MAX_TERMS)


class ScoredWord(msgspec.Struct, frozen=True):
    """A word of the query with its forms in the index."""

    forms: tuple[tuple[str, float], ...]  # terms, the typed one first, and what the engine takes for their rarity
    weight: float  # the rarity of the word in any form, as often as it is in the query …
    as_typed: float  # … and of the typed form; 0 when the index does not have it


class Part(msgspec.Struct, frozen=True):
    query: ex.Query
    factor: float  # of its scores
    language: str = ""  # body field; empty: any
    first: ex.Query | None = None  # stricter and faster; enough when it finds enough
    words: tuple[ScoredWord, ...] = ()  # by which the best of what it finds are scored anew
    rest: ex.Query | None = None  # … and what is added to that: little words


class Bonus(msgspec.Struct, frozen=True):
    """What makes a match better than its words alone."""

    name: str
    query: ex.Query
    weight: float
    language: str = ""  # body field; empty: any


class QueryPlan(msgspec.Struct):
    every: Callable[[], ex.Query] | None = None  # makes the query of every match; None when nothing is asked for
    parts: list[Part] = []  # the same, as parts without common documents
    bonuses: list[Bonus] = []
    wanted: dict[str, set[str]] = {}  # body field → terms to mark
    asked: q.ClauseGroup = q.ClauseGroup(())  # the query as it was read
    in_body: bool = False  # some words of it are looked for in the text itself: see `conditions.stands`
    scored: list[tuple[str, str, int]] = []  # (field, term, documents) of plain words in all their forms
    factors: dict[tuple[str, str], float] = {}  # (field, term) → factor of its score
    plain: bool = True  # only words: the number of matches may be estimated
    counted: bool = True  # … and is not: it is told exactly
    notes: list[str] = []
    at: q.When | None = None
    one_host: bool = False  # only pages of a site or host are asked for
    language: str = ""  # the query is written in; empty: it does not tell
    doubtful: bool = False  # some word is in no page, or in hardly any: perhaps it is misspelt
    meant: list[str] = []  # words that say something, where nothing is quoted or looked for in a field


class Lexicon(NamedTuple):
    """An index as it stands, and what is known about its words."""

    reader: IndexReader
    languages: Sequence[tuple[str, int]]  # with how many pages each
    forms: dict[tuple[str, str, str], list[Form]]  # of words found before in the same commit
    spoken: Callable[[list[str]], Counter[str]] | None = None  # languages words are of


class QueryPlanner:
    def __init__(
        self,
        lexicon: Lexicon,
        weights: Weights,
        blocks: Sequence[str] = (),
        loose: bool = False,
        tagged: q.Tagged | None = None,
    ) -> None:
        """`blocks`: hosts nothing is shown of. `loose`: pages that have nothing but little words match too."""
        self.reader = lexicon.reader
        self.spoken = lexicon.spoken
        self.weights = weights
        self.blocks = blocks
        self.loose = loose
        self.vocabulary = Vocabulary(lexicon.reader, lexicon.languages, lexicon.forms)
        self.clauses = Conditions(self.vocabulary, tagged)
        self.stop_words: frozenset[str] = frozenset()
        self.words: list[tuple[str, str, list[Form], float]] = []  # (field, word, its forms, times it is in the query)
        self.parts_of_numbers: frozenset[str] = frozenset()  # terms that are nothing else in the query
        self.little: list[tuple[str, Form, int]] = []  # … of the words that say nothing

    def plan(self, parsed: q.Parsed) -> QueryPlan:
        clauses = parsed.root.clauses
        self._keep_language(clauses)
        plan = QueryPlan(
            wanted={name: set() for name in self.vocabulary.fields}, notes=list(parsed.notes), asked=parsed.root
        )
        words, others = self._sorted(clauses)
        plan.plain = not others and not self.blocks
        plan.one_host = any(node.property in ("site", "host") for node in q.properties(others))
        if any(isinstance(c.node, q.Word | q.Phrase) and analysis.has_spaceless(c.node.text) for c in clauses):
            self.vocabulary.keep_spaceless()
        if words:
            self._words(words, plan)
            plan.bonuses = self._bonuses(words)
            if not others:
                plan.meant = [word for word in words if word not in self.stop_words] or words
        if plan.plain and plan.scored:
            self._plan_words(plan)
        else:
            plan.bonuses += self._little_bonuses()
            self._plan_clauses(plan, self._scoring(plan.scored, plan.factors) if words else [], others)
        return plan

    def _sorted(self, clauses: Sequence[q.Clause]) -> tuple[list[str], list[q.Clause]]:
        """Words that score, and everything else."""
        words: list[str] = []
        others: list[q.Clause] = []
        for clause in clauses:
            if isinstance(clause.node, q.Word) and clause.occurs == "may":
                words += analysis.pieces(clause.node.text)
            else:
                others.append(clause)
        if len(words) == 1 and not others and (host := host_in(words[0])) and self.reader.frequency("site", host):
            others = [q.Clause(q.Only("site", host))]  # who types the name of a site means its pages too
        return words, others

    def _plan_words(self, plan: QueryPlan) -> None:
        """Of nothing but words: one query per field."""
        precisely = self._is_affordable(plan)
        plan.parts = self._by_field(precisely)
        if not precisely and not self.loose:
            plan.bonuses += self._little_bonuses()
        # not a closure over the plan: what refers to itself keeps the files of an index open until it is collected
        scored, factors = plan.scored, plan.factors
        plan.every = lambda: ex.BooleanQuery(should=tuple(self._scoring(scored, factors)))

    def _plan_clauses(self, plan: QueryPlan, scoring: list[ex.Query], others: Sequence[q.Clause]) -> None:
        """Of words and clauses: one query of all; none when nothing is asked for that can be looked for."""
        must: list[ex.Query] = []
        must_not: list[ex.Query] = [ex.TermQuery("site", host) for host in self.blocks]
        by_occurrence = {"may": scoring, "must": must, "not": must_not}
        for clause in others:
            query = self.clauses.clause(clause, plan)
            if query is not None:
                by_occurrence[clause.occurs].append(query)
        if not scoring and not must and others and must_not:
            must.append(ex.ConstantQuery(ex.AllQuery(), 1.0))
        if not scoring and not must:
            return
        # beside a required word or phrase other words are optional; beside filters one of them must be there
        optional = any(c.occurs == "must" and not q.is_filter(c.node) for c in others)
        whole = _whole(scoring, must, must_not, optional)
        plan.every = lambda: whole
        plan.parts = [Part(whole, 1.0)]

    def _keep_language(self, clauses: Sequence[q.Clause]) -> None:
        """With `lang:`, words are read in that language only."""
        for node in q.properties(clauses):
            if node.property == "language":
                self.vocabulary.keep_language(node.value)

    def _is_affordable(self, plan: QueryPlan) -> bool:
        """Whether every page that has a word can be looked at."""
        little = sum(form.documents for _, form, _ in self.little) if self.loose else 0
        words = sum(documents for _, _, documents in plan.scored) - little
        return words <= MAX_POSTINGS and little <= MAX_LITTLE

    def _by_field(self, precisely: bool) -> list[Part]:
        """One query per field; a page is in one.

        Of the forms of a word the one that fits best counts, the others add a little: the engine saturates each by
        itself, and their sum would make much of a word that is written in many ways. That reads every posting, so
        where words are common a plain union is asked instead, which lets the engine skip (WAND), with less weight for
        forms that were not typed.
        """
        parts = []
        for name in self.vocabulary.fields:
            terms = []
            factor = 1.0
            for field, _, forms, times in self.words:
                if field == name:
                    factor = max(factor, self.vocabulary.factor(name, forms[0].term))
                    terms += self._best_form(name, forms, times) if precisely else self._sum(name, forms, times)
            if self.loose:
                terms += self._little_words(name)
            if terms:
                query = ex.BooleanQuery(should=tuple(terms))
                if precisely and not self.loose and (little := self._little_words(name)):
                    query = ex.BooleanQuery(must=(query,), should=tuple(little))
                first = None if precisely or self.loose else self._every_word(name)
                rest = ex.any_of(self._little_words(name)) if precisely or self.loose else None
                parts.append(
                    Part(
                        query=query,
                        factor=factor,
                        language=name,
                        first=first,
                        words=self._scored_words(name),
                        rest=rest,
                    )
                )
        return parts

    def _best_form(self, name: str, forms: list[Form], times: float) -> list[ex.Query]:
        if len(forms) == 1:
            return self._sum(name, forms, times)
        return [ex.BestQuery(tuple(self._word(name, form.term, form.factor * times) for form in forms), TIE)]

    def _sum(self, name: str, forms: list[Form], times: float) -> list[ex.Query]:
        least = sum(form.documents for form in forms) // 50
        return [
            self._word(name, form.term, form.factor * times * (1.0 if at == 0 else IN_SUM))
            for at, form in enumerate(forms[:IN_SUM_FORMS])
            if form.documents >= least
        ]

    def _scored_words(self, name: str) -> tuple[ScoredWord, ...]:
        total = self.vocabulary.total
        scored = []
        for field, typed, forms, times in self.words:
            if field == name:
                known = tuple((form.term, rarity(form.documents, total)) for form in forms)
                part = PART_OF_NUMBER if typed in self.parts_of_numbers else 1.0
                own = forms[0].as_typed * times * part if forms[0].term == typed else 0.0
                scored.append(ScoredWord(known, forms[0].rarity * times * part, own))
        return tuple(scored)

    def _every_word(self, name: str) -> ex.Query | None:
        """All words, as typed where that is a usual form: of common words enough pages have them all."""
        words = [(forms, times) for field, _, forms, times in self.words if field == name]
        if not 1 <= len(words) <= MAX_REQUIRED:
            return None
        every = []
        for forms, times in words:
            usual = sum(form.documents for form in forms) // 4
            chosen = forms[:1] if forms[0].documents >= usual else forms[:IN_SUM_FORMS]
            either = [self._word(name, form.term, form.factor * times) for form in chosen]
            every.append(ex.any_of(either) or either[0])
        return every[0] if len(every) == 1 else ex.all_of(every)

    # words that score

    def _words(self, words: list[str], plan: QueryPlan) -> None:
        chosen: list[tuple[str, str, list[Form], int, float]] = []
        self.vocabulary.hear(words)
        if len(self.vocabulary.languages) > 1 or len(self.vocabulary.fields) > 1:
            plan.language = self.vocabulary.language(words, self.spoken)
            self.vocabulary.count_in(plan.language)
        self.stop_words = analysis.stop_words_of(words, self.vocabulary.languages, plan.language)
        self.parts_of_numbers = parts_of_numbers(words)
        for name in self.vocabulary.fields:
            times = Counter(self._content_terms(words, name))
            if len(times) > MAX_TERMS:
                times = self._rarest(times, name)
                plan.notes.append(_TOO_LONG)
            most = MAX_FORMS if len(times) <= LONG_QUERY else FEW_FORMS
            for word, count in times.items():
                if forms := self.vocabulary.forms(name, word)[:most]:
                    weight = count * (PAIR if analysis.is_spaceless(word) else 1.0)
                    chosen.append((name, word, forms, sum(form.documents for form in forms), weight))
        plan.doubtful = len(words) <= 16 and any(self._is_rare(word) for word in words)
        if len(chosen) > MAX_TERMS:
            plan.notes.append(_TOO_LONG)
            keep = sorted(range(len(chosen)), key=lambda i: chosen[i][3])[:MAX_TERMS]
            chosen = [chosen[i] for i in sorted(keep)]
        self.words = [(name, word, forms, times) for name, word, forms, _, times in chosen]
        documents: dict[tuple[str, str], int] = {}
        for name, _, forms, _, weight in chosen:
            for form in forms:
                documents[name, form.term] = form.documents
                plan.factors[name, form.term] = plan.factors.get((name, form.term), 0.0) + form.factor * weight
                plan.wanted[name].add(form.term)
        self.little = self._little(words, plan)
        for name, form, count in self.little:
            plan.factors[name, form.term] = form.factor * count
            if self.loose:
                documents[name, form.term] = form.documents
        plan.scored = [(name, term, having) for (name, term), having in documents.items()]
        plan.notes = list(dict.fromkeys(plan.notes))

    def _little(self, words: list[str], plan: QueryPlan) -> list[tuple[str, Form, int]]:
        """Words that say nothing, as typed: field, word, times it is in the query."""
        if not self.stop_words:
            return []
        said = " ".join(word for word in words if word in self.stop_words)
        little = []
        for name in self.vocabulary.fields:
            for term, count in Counter(analysis.terms(said, name)).items():
                if (name, term) not in plan.factors and (form := self.vocabulary.as_typed(name, term)):
                    little.append((name, Form(term, form.documents, form.factor * self.weights.little), count))
        return little

    def _rarest(self, times: Counter[str], name: str) -> Counter[str]:
        """The words of a very long query in the fewest documents, before their forms are looked for."""
        having = {word: self.reader.frequency(BODIES[name], word) for word in times}
        kept = sorted((word for word in times if having[word]), key=having.__getitem__)[:MAX_TERMS]
        return Counter({word: times[word] for word in kept})

    def _scoring(self, scored: list[tuple[str, str, int]], factors: dict[tuple[str, str], float]) -> list[ex.Query]:
        if not scored:
            return [ex.NoneQuery()]
        return [
            ex.boosted(ex.TermQuery(BODIES[name], term), self.vocabulary.factor(name, term) * factors[name, term])
            for name, term, _ in scored
        ]

    def _word(self, name: str, word: str, factor: float) -> ex.Query:
        return ex.boosted(ex.TermQuery(BODIES[name], word), factor)

    def _little_words(self, name: str) -> list[ex.Query]:
        return [self._word(name, form.term, form.factor * times) for field, form, times in self.little if field == name]

    def _little_bonuses(self) -> list[Bonus]:
        """Little words where they only order the best pages that the other words find."""
        every = ((name, ex.any_of(self._little_words(name))) for name in self.vocabulary.fields)
        return [
            Bonus("little words", query, self.vocabulary.factors[name], name)
            for name, query in every
            if query is not None
        ]

    def _is_rare(self, word: str) -> bool:
        if word in self.stop_words:
            return False
        found = 0
        for name in self.vocabulary.fields:
            if terms := analysis.terms(word, name):
                found += min(sum(form.documents for form in self.vocabulary.forms(name, term)) for term in terms)
        return found <= RARE

    def _content_terms(self, words: list[str], name: str) -> list[str]:
        content = [word for word in words if word not in self.stop_words]
        return analysis.terms(" ".join(content), name) or analysis.terms(" ".join(words), name)

    def _bonuses(self, words: list[str]) -> list[Bonus]:
        stop_words = {analysis.fold(word) for word in self.stop_words}
        near = [
            bonus
            for name in self.vocabulary.fields
            if name != analysis.BIGRAMS
            for bonus in self._nearness(words[:MAX_PLACED], name, stop_words)
        ]
        return near + self._title_and_address(words[:MAX_NAMING], stop_words)

    def _nearness(self, words: list[str], name: str, stop_words: set[str]) -> Iterator[Bonus]:
        """Neighbouring words of the query that stand near each other in the page, better so as typed."""
        weights, factor, body = self.weights, self.vocabulary.factors[name], BODIES[name]
        joined = inside_words(words, self.vocabulary.languages)
        placed = [p for p in analysis.positioned(" ".join(words), name) if p[1] not in stop_words]
        placed = [p for p in placed if self.vocabulary.forms(name, p[1])]
        pairs = list(pairwise(placed))
        if len(pairs) > MAX_PAIRS:  # of many words only those written as one are meant to stand together
            pairs = [pair for pair in pairs if pair[1][0] in joined][:MAX_PAIRS]
        for (at, first), (then, second) in pairs:
            if (first == second and then not in joined) or then - at > MAX_APART:
                continue
            pair = ((0, first), (then - at, second))
            both = ex.BooleanQuery(
                must=(ex.boosted(ex.PhraseQuery(body, pair, slop=8), weights.near),),
                should=(ex.boosted(ex.PhraseQuery(body, pair), weights.joined if then in joined else weights.phrase),),
            )
            yield Bonus("phrase", both, factor, name)

    def _title_and_address(self, words: list[str], stop_words: set[str]) -> list[Bonus]:
        folded = dict.fromkeys(analysis.terms(" ".join(words), analysis.WORDS))
        content = [word for word in folded if word not in stop_words]
        if not 1 <= len(content) <= MAX_NAMED:
            return []
        every = ex.all_of(ex.TermQuery("title", word) for word in content)
        any_word = ex.BooleanQuery(should=tuple(ex.TermQuery("url", word) for word in content))
        return [Bonus("title", every, self.weights.title), Bonus("url", any_word, self.weights.url)]


def _whole(scoring: list[ex.Query], must: list[ex.Query], must_not: list[ex.Query], optional: bool) -> ex.Query:
    """`optional`: of the words that score none needs to be there."""
    if scoring and (must or must_not) and not optional:
        must, scoring = [ex.BooleanQuery(should=tuple(scoring)), *must], []
    return ex.BooleanQuery(must=tuple(must), should=tuple(scoring), must_not=tuple(must_not))


_LOOSE = re.compile("['’ʼ/]")
_COMPOUND = re.compile(r"\W*[^\W\d_]+(?:-[^\W\d_]+)+\W*")


def inside_words(words: Sequence[str], languages: Sequence[tuple[str, float]]) -> set[int]:
    """Places of terms that follow another inside one word of the query: `perl` of `mod_perl`, `19` of `COVID-19`.

    What an apostrophe or a stroke joins (`l'eau`, `yes/no`) and what begins or ends with a little word (`y a-t-il`)
    is no name; nor is what a hyphen joins in a sentence (`high-speed flow of gases`).
    """
    places: set[int] = set()
    if all(map(str.isalnum, words)):
        return places
    at = 0
    cut = [analysis.all_words(word) for word in words]
    in_sentence = sum(len(terms) == 1 for terms in cut) > NAMED_BESIDE
    for word, terms in zip(words, cut, strict=True):
        if len(terms) > 1 and not _LOOSE.search(word) and not (in_sentence and _COMPOUND.fullmatch(word)):
            little = [any(analysis.is_stop_word(term, code) for code, _ in languages) for term in terms]
            places.update(at + i for i in range(1, len(terms)) if not little[i] and not little[i - 1])
        at += len(terms)
    return places


_NUMBER = re.compile(r"\W*[a-zA-Z]?\d+(?:[.,:-]\d+)+\W*")


def parts_of_numbers(words: Sequence[str]) -> frozenset[str]:
    """Terms of numbers and versions written as one (`2.4.3`, `v2.6`) that no other word of the query is."""
    numbers = [word for word in words if _NUMBER.fullmatch(word)]
    if not numbers:
        return frozenset()
    others = analysis.all_words(" ".join(word for word in words if word not in numbers))
    return frozenset(analysis.all_words(" ".join(numbers))).difference(others)

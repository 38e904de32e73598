"""Which words of the index a word of a query stands for, and in which languages a query is read.

The index holds words as they are written. A word of the query stands for all its forms in the index's vocabulary that
share its stem. To find candidates, as typed it weighs mostly what BM25 gives it (`TYPED`); the other forms are weighed
as the whole group is, so that a rare form is not taken for a rare word. In the best candidates all forms are counted
together (`Retrieval.word_scores`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from hemeroteca.search import analysis
from hemeroteca.search.index import IndexReader
from hemeroteca.search.index import expressions as ex
from hemeroteca.search.index.document_fields import BODIES

LONG_QUERY = 24  # words from which a query is very long
TYPED = 0.7  # of the weight of a word as typed: its own rarity; the rest is that of all its forms together
OTHER_FORM = 0.9  # what a form counts that was not typed
MAX_KNOWN = 20_000  # words remembered with their forms
MIN_SHARE = 0.04  # of the pages, from which the forms of a language's words are looked for
MAX_ENDING = 3  # letters that are taken off a word to find shorter forms of it
MIN_PREFIX = 3  # letters that forms of a word have in common, at least
MAX_COUNTED = 30_000  # pages with forms of a word, counted by each form, up to which those with any are counted
MAX_ALIKE = 200  # words of the vocabulary that are compared with one of the query
MAX_SHARE = 0.5  # of the pages; words of a language so many are in are about as rare in it as in all
PRIOR_PAGES = 10  # … and of one few pages are in, as if so many more had a word as often as all do


class Form(msgspec.Struct, frozen=True, gc=False):
    """A word as it stands in the index."""

    term: str
    documents: int
    factor: float  # of its scores; what was not typed weighs as the group of forms it belongs to
    rarity: float = 0.0  # of the word in any of its forms …
    as_typed: float = 0.0  # … and of the one that was typed


class Vocabulary:
    def __init__(
        self,
        reader: IndexReader,
        languages: Sequence[tuple[str, int]],
        known: dict[tuple[str, str, str], list[Form]] | None = None,
    ) -> None:
        """`known`: forms of words found before in the same commit of the index."""
        self.reader = reader
        self.pages = dict(languages)
        # what frequencies are counted over: like them, with documents deleted since the last merge
        self.total = sum(self.pages.values())
        self.left = reader.documents / max(1, self.total)  # part of it that was not deleted
        self.asked = ""  # language the rarity of words is counted in; empty: all
        self.known = {} if known is None else known
        known_language = max(1, sum(count for code, count in languages if code))
        self.languages = [
            (code, count / known_language)
            for code, count in sorted(languages, key=lambda entry: -entry[1])
            if code in analysis.LANGUAGES and (count >= MIN_SHARE * known_language or code in analysis.OWN_SCRIPT)
        ]
        common = {code for code, _ in self.languages}
        self.rare = [(code, n / known_language) for code, n in languages if code in analysis.LANGUAGES - common]
        pairs = sum(count for code, count in languages if analysis.field_of(code) == analysis.BIGRAMS)
        # The engine divides a field's length by all documents, not by those that have the field: pages of the rarer
        # field look too long. The factor makes their scores comparable again (docs/explanation/ranking.md).
        self.factors = {
            name: min(8.0, (1 + 1.2 * (0.25 + 0.75 * self.total / count)) / 2.2)
            for name, count in ((analysis.WORDS, self.total - pairs), (analysis.BIGRAMS, pairs))
            if count
        }
        self.fields = list(self.factors)
        self.spaceless = False  # the query is in a script without spaces: only pages in one are meant

    def keep_language(self, language: str) -> None:
        """Read words in this language only."""
        self.languages = [(language, 1.0)]
        self.count_in(language)
        self.known, self.rare = {}, []
        self.fields = [name for name in self.fields if name == analysis.field_of(language)]

    def count_in(self, language: str) -> None:
        """Weigh words by their rarity in this language: among English pages `leer` is rarer than `json`, and says less.

        Words of scripts without spaces are of one language anyway.
        """
        if analysis.field_of(language) == analysis.WORDS and self.pages.get(language, 0) < MAX_SHARE * self.total:
            self.asked = language

    def keep_spaceless(self) -> None:
        self.spaceless = True
        self.known = {}  # words weigh otherwise

    def hear(self, words: list[str]) -> None:
        """Read the query in a language of few pages too, when its little words are clearly of that language."""
        if not self.rare:
            return
        least = analysis.CLEARLY + max((_little(words, code) for code, _ in self.languages), default=0)
        little = {language: _little(words, language[0]) for language in self.rare}
        heard = max(self.rare, key=little.__getitem__)
        if little[heard] >= least:
            self.languages.append(heard)
            self.known = {}  # words have other forms

    def language(self, words: list[str], spoken: Callable[[list[str]], Counter[str]] | None) -> str:
        """The language a query is written in, by its little words and by the pages its other words are in.

        One word is enough for a language many pages are in, else it takes two more: German `war` is English too.
        """
        votes: Counter[str] = Counter()
        for code, _ in self.languages:
            votes[code] = _little(words, code)
        if spoken is not None:
            votes.update(spoken(words[:LONG_QUERY]))
        best = votes.most_common(2)
        if not best or not best[0][1] or (len(best) > 1 and best[1][1] == best[0][1]):
            return ""
        shares = dict(self.languages)
        if shares.get(best[0][0], 0) >= analysis.COMMON:
            return best[0][0]
        common = max((votes[code] for code, share in self.languages if share >= analysis.COMMON), default=0)
        return best[0][0] if best[0][1] >= analysis.CLEARLY + common else ""

    def forms(self, name: str, word: str) -> list[Form]:
        """The forms of a word in the vocabulary of a body field: as it is typed, then the most frequent."""
        forms = self.known.get((self.asked, name, word))
        if forms is None:
            if len(self.known) > MAX_KNOWN:
                self.known.clear()
            forms = self.known[self.asked, name, word] = self._look_up(name, word)
        return forms

    def as_typed(self, name: str, word: str) -> Form | None:
        """A word without its other forms; None when no page has it."""
        forms = self.forms(name, word)
        return forms[0] if forms and forms[0].term == word else None

    def factor(self, name: str, term: str) -> float:
        """What makes scores of a field comparable; not for words of other scripts in it: few, and few times each."""
        if name == analysis.WORDS or self.spaceless or analysis.is_spaceless(term):
            return self.factors[name]
        return 1.0

    def _look_up(self, name: str, word: str) -> list[Form]:
        body = BODIES[name]
        having = {word: self.reader.frequency(body, word)}
        stems = {code: analysis.stems([word], code)[word] for code, _ in self.languages if name == analysis.WORDS}
        if stems and word.isalpha():
            # forms differ at the end, of the stem too: by y and i (copies), an e (coding), a doubled letter
            shortest = min(stems.values(), key=len)
            prefix = shortest[:-1] if len(shortest) > 4 or shortest.endswith(("e", "i")) else shortest
            beginnings = {prefix}
            if len(prefix) < MIN_PREFIX or not word.startswith(prefix):  # too many words begin so
                prefix = word
                beginnings = {word, shortest, f"{shortest[:-1]}i", f"{shortest[:-1]}y"}  # using, use; tries, try
            alike = [
                (term, documents)
                for beginning in beginnings
                if len(beginning) >= MIN_PREFIX
                for term, documents in self.reader.terms(body, beginning, MAX_ALIKE)
                if len(term) <= len(word) + 5
            ]
            # what is shorter does not begin so: `niño` of `niños`, `cat` of `cats`
            shorter = [word[:end] for end in range(max(3, len(word) - MAX_ENDING), len(prefix))]
            alike += [(term, documents) for term in shorter if (documents := self.reader.frequency(body, term))]
            for code, stem in stems.items():
                of = analysis.stems((term for term, _ in alike), code)
                having |= {term: documents for term, documents in alike if of[term] == stem}
        found = [term for term, documents in having.items() if documents]
        if not found:
            return []
        total = self.total
        elsewhere = self._elsewhere(name, word)
        together = rarity(self._everywhere(found, self._any(body, having) + elsewhere), total)
        alone = together
        if found != [word]:
            alone = rarity(self._everywhere([word], having[word] + elsewhere), total)
        weights = dict.fromkeys(found, OTHER_FORM * together) | {word: TYPED * alone + (1 - TYPED) * together}
        return [
            Form(term, having[term], weights[term] / rarity(having[term], total), together, alone) for term in found
        ]

    def _any(self, body: str, having: Mapping[str, int]) -> int:
        """Pages that have any of some terms; each is in so many. Of many pages their sum, which is more."""
        found = [term for term, documents in having.items() if documents]
        most = sum(having.values())
        if len(found) < 2 or most > MAX_COUNTED:
            return most
        either = ex.BooleanQuery(should=tuple(ex.TermQuery(body, term) for term in found))
        return round(self.reader.search(either, 1).total / self.left)

    def _everywhere(self, terms: Iterable[str], documents: int) -> float:
        """How many pages would have one of the terms if all were in the language asked for; `documents` do have it."""
        total = self.total
        pages = self.pages.get(self.asked, 0) * self.left
        if not self.asked or not pages:  # pages in no known language are not those of any
            return min(total, documents)
        either = ex.BooleanQuery(should=tuple(ex.TermQuery(BODIES[analysis.WORDS], term) for term in terms))
        # a column read for each page takes a third of the time of a second list of pages
        written = dict(self.reader.facets(either, ("language",), len(self.pages))["language"])
        found = written.get(self.asked, 0) + PRIOR_PAGES * min(1.0, documents / total)
        return min(1.0, found / (pages + PRIOR_PAGES)) * total

    def _elsewhere(self, name: str, word: str) -> int:
        """Pages that have the word in another field: a word is as rare as it is in all pages.

        An English word is rare in Chinese pages; weighed as such, they would stand before all English ones.
        """
        if len(self.fields) < 2 or self.spaceless or analysis.is_spaceless(word):
            return 0
        if name == analysis.BIGRAMS:
            return sum(form.documents for form in self.forms(analysis.WORDS, word))
        return self.reader.frequency(BODIES[analysis.BIGRAMS], word)


def _little(words: list[str], code: str) -> int:
    """How many of the words are little words of a language."""
    return sum(analysis.is_stop_word(word, code) for word in words[:LONG_QUERY])


def rarity(documents: float, total: int) -> float:
    """BM25's weight of a word in so many documents, as the engine computes it."""
    return math.log(1 + (max(total, documents) - documents + 0.5) / (documents + 0.5))

"""How much a page, a link and an address have to do with a focus: numbers from 0 to 1.

Every term found adds its weight, more for each further occurrence but ever less (1 + ln n); the sum is set against the
length of the text, and bent so that it never passes 1. All links of a page are looked at together, in two passes.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import exp, log
from typing import NamedTuple

from hemeroteca.extract.document import names
from hemeroteca.focus import matcher, thesaurus
from hemeroteca.focus.definition import CompiledFocus, Definition
from hemeroteca.focus.matcher import Matcher, fold, fold_all
from hemeroteca.urls import registrable_domain

LONG = 2400  # characters (400 words) after which a text must have more terms to be as relevant
MAX_TEXT = 200_000  # characters of a page that are looked at
MAX_ADDRESS = 500  # of an address
COMMONEST = 10  # terms of a page that `terms-2016` looks at


class LinkText(NamedTuple):
    """What is known of a link before anybody has followed it."""

    url: str
    anchor: str
    context: str


class LinkRelevance(NamedTuple):
    anchor: float
    context: float
    address: float
    away: float  # how surely it leads elsewhere, by words of its anchor and address


def compiled(definition: Definition, load: Callable[[str], thesaurus.Thesaurus]) -> CompiledFocus:
    """Put a focus and the thesauri it names together."""
    terms = [(term, [term], weight) for term, weight in definition.terms.items()]
    words: Counter[str] = Counter()
    for name in definition.thesauri:
        found = load(name)
        for uri, forms, weight in thesaurus.terms(found, definition.themes, definition.languages):
            terms.append((uri, forms, weight * definition.thesaurus_weight))
            if definition.relevance == "terms-2016":
                words.update({word for form in forms for word in plain_words(form)})
    hints = [(hint, [hint], weight) for hint, weight in definition.hints.items()]
    away = [(word, [word], group.weight) for group in definition.away for word in group.words]
    return CompiledFocus(definition, matcher.table(terms), matcher.table(hints), matcher.table(away), dict(words))


class Relevance:
    """Of one focus."""

    def __init__(self, focus: CompiledFocus) -> None:
        self.definition = focus.definition
        self._terms = Matcher(focus.table)
        self._hints = Matcher(focus.hints)
        self._away = Matcher(focus.away)
        self._label_words = focus.label_words if focus.definition.relevance == "terms-2016" else None

    def page(self, text: str) -> float:
        text = text[:MAX_TEXT]
        if self._label_words is not None:
            found = terms_2016(text, self._label_words)
            return found / (found + 100.0)
        found = self._terms.compiled and self._terms.compiled.sum(text)
        return _bent(weight_in_python(self._terms, text) if found is None else found, len(text))

    def links(self, links: Sequence[LinkText]) -> list[LinkRelevance]:
        if self._label_words is not None:
            words = self._label_words
            pairs = [
                (_of_words(anchor_2016(one.anchor, words)), _of_words(anchor_2016(one.context, words))) for one in links
            ]
            anchors, contexts = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        else:
            texts = [one.anchor for one in links]
            texts += [one.context for one in links]
            both = _each(self._terms, texts)
            anchors, contexts = both[: len(links)], both[len(links) :]
        addresses = _each(self._hints, [one.url[:MAX_ADDRESS] for one in links])
        barren = _each(self._away, [f"{one.anchor} {_without_domain(one.url)}" for one in links])
        away = map(_away, barren, addresses)
        return list(map(LinkRelevance._make, zip(anchors, contexts, addresses, away, strict=True)))


def _without_domain(url: str) -> str:
    """An address without the name somebody registered, which says whose it is, not what part of a site this is."""
    origin, _, path = url.partition("://")[2].partition("/")
    return f"{_below_domain(origin)}/{path}"[:MAX_ADDRESS]


@lru_cache(4096)
def _below_domain(origin: str) -> str:
    return origin.replace(registrable_domain(origin.partition(":")[0]), " ", 1)


def _away(barren: float, address: float) -> float:
    """How surely a link leads elsewhere: as its words say, and less the more its address looks like a target's."""
    return 1.0 - (1.0 - barren) ** (1.0 - address) if barren else 0.0


def _each(matcher: Matcher, texts: list[str]) -> list[float]:
    """The relevance of each of several short texts."""
    found: list[float] | None = matcher.compiled and matcher.compiled.each(texts)
    return each_in_python(matcher, texts) if found is None else found


# The same in Python: its meaning, and the way of texts that are not plain.


def weight_in_python(matcher: Matcher, text: str) -> float:
    """The weights of the terms in a text, more for each further occurrence but ever less."""
    total = 0.0
    for term, count in Counter(term for term, _ in matcher.find(fold(text))).items():
        total += matcher.weights[term] * (1.0 + log(count))
    return total


def each_in_python(matcher: Matcher, texts: Sequence[str]) -> list[float]:
    """See `_each`; the texts are joined, so that they cost one pass."""
    folded, ends = fold_all(texts)
    sums = [0.0] * len(texts)
    seen: set[tuple[int, int]] = set()
    weights, place = matcher.weights, 0
    for term, start in matcher.find(folded):
        while start >= ends[place]:
            place += 1
        if (place, term) not in seen:
            seen.add((place, term))
            sums[place] += weights[term]
    return [_bent(total, 0) if total else 0.0 for total in sums]


def _bent(total: float, length: int) -> float:
    return 1.0 - exp(-total / (1.0 + length / LONG))


# The rule of 2016, as it was published, for comparison.


def terms_2016(text: str, labels: Mapping[str, int]) -> float:
    """Symbols and stop words removed; of the ten commonest terms, Σ (n_term / n_unique × n_total) × labels with it."""
    words = plain_words(text)
    if not words:
        return 0.0
    counts = Counter(words)
    unique, total = len(counts), len(words)
    return sum(count / unique * total * labels.get(word, 0) for word, count in counts.most_common(COMMONEST))


def anchor_2016(text: str, labels: Mapping[str, int]) -> int:
    """For an anchor: labels with each of its words, added up."""
    return sum(labels.get(word, 0) for word in plain_words(text))


def plain_words(text: str) -> list[str]:
    """Words in small letters, without symbols, numbers and stop words."""
    words = fold(text).decode("utf-8", "replace").split()
    return [word for word in words if len(word) > 1 and word not in _STOP_WORDS and not word.isdigit()]


def _of_words(labels: int) -> float:
    return labels / (labels + 1.0)


_STOP_WORDS = names(
    "a an and are as at be by for from has have in is it its of on or that the this to was were which will with not "
    "al como con de del desde el en entre es esta este la las lo los más no o para pero por que se sin sobre su sus "
    "un una unos unas y ya ser son fue ha han their they them you your we our"
)

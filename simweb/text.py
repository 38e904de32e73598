"""Sentences from the word models, cheap enough to write thousands of pages a second.

A sentence has two halves (who did, what and how). For each language, topic and variant there are 256 of each, drawn
once with Zipf frequencies; the text of a page is then a string of random bytes, each byte choosing one half.
"""

import random
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from urllib.parse import quote

from simweb.words import LANGUAGES, Language

VARIANTS = 4
PARAGRAPH = "</p>\n<p>"


class Prose:
    """The fragments of one (language, topic, variant)."""

    def __init__(self, language: Language, topic: str, variant: int) -> None:
        rng = random.Random(f"simweb prose {language.code} {topic} {variant}")
        subject = language.topics[topic]
        self.section = _slug(subject.section)
        self.label = _capital(subject.section)
        self.heads = [f"{_capital(_zipf(rng, subject.subjects))} {_zipf(rng, language.verbs)} " for _ in range(256)]
        self.tails = [_zipf(rng, subject.objects) for _ in range(256)]
        if language.code == "ja":  # subject, how, what, did
            self.heads = [_zipf(rng, subject.subjects) for _ in range(256)]
            self.tails = [tail + _zipf(rng, language.verbs) for tail in self.tails]
            self.slugs = [f"{topic}-{rng.randrange(100)}" for _ in range(256)]
            begins = [_opening(rng, language, topic) + _zipf(rng, language.complements) for _ in range(256)]
            ends = [_zipf(rng, subject.objects) + _zipf(rng, language.verbs) + "。" for _ in range(256)]
        else:
            self.slugs = [_slug(_zipf(rng, subject.objects)) for _ in range(256)]
            begins = [f"{_opening(rng, language, topic)} {_zipf(rng, language.verbs)} " for _ in range(256)]
            ends = [_zipf(rng, subject.objects) + _ending(rng, language) for _ in range(256)]
        self.wiki_slugs = [quote(tail.replace(" ", "_").capitalize()) for tail in self.tails]
        self._begin = begins.__getitem__
        self._end = [end + (PARAGRAPH if i % 6 == 0 else " ") for i, end in enumerate(ends)].__getitem__

    def text(self, choices: bytes) -> str:
        """Sentences, one for every two bytes of `choices`; paragraphs are parted by `PARAGRAPH`."""
        fragments = [""] * (len(choices) & ~1)
        fragments[0::2] = map(self._begin, choices[0 : len(fragments) : 2])
        fragments[1::2] = map(self._end, choices[1 : len(fragments) : 2])
        return "".join(fragments)

    def plain(self, choices: bytes) -> str:
        """The same without markup, for feeds, PDF and summaries."""
        return self.text(choices).replace(PARAGRAPH, " ").strip()


@lru_cache(maxsize=256)
def prose(language: str, topic: str, variant: int) -> Prose:
    """The fragments of a language and topic; `variant` keeps different hosts from sharing every fragment."""
    return Prose(LANGUAGES[language], topic, variant % VARIANTS)


def keyword(number: int) -> str:
    """A made-up word that only one page carries: a bijection of the page's number (below 2**42)."""
    number ^= number >> 21
    number = (number * 0x1B873593_1E5 + 0x2545F491) & (1 << 42) - 1
    number ^= number >> 21
    syllables = []
    for _ in range(7):
        syllables.append(_SYLLABLES[number & 63])
        number >>= 6
    return "".join(syllables) + "x"


_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvzjh" for vowel in "aeio"]


def _opening(rng: random.Random, language: Language, topic: str) -> str:
    subject = _zipf(rng, language.topics[topic].subjects)
    draw = rng.random()
    if draw < 0.12:
        subject = rng.choice(language.names)
    elif draw < 0.3 and language.code != "ja":
        subject = f"{subject} {language.of} {_zipf(rng, language.places)}"
    if rng.random() < 0.25:
        return _zipf(rng, language.connectors) + ("" if language.code == "ja" else " ") + subject
    return _capital(subject)


def _ending(rng: random.Random, language: Language) -> str:
    draw = rng.random()
    if draw < 0.15:
        return f" {language.percent.format(rng.randint(2, 98))}."
    if draw < 0.3:
        return f", {rng.randint(1890, 2025)}."
    if draw < 0.4:
        return f" ({_zipf(rng, language.places)})."
    return f" {_zipf(rng, language.complements)}."


def _zipf(rng: random.Random, items: Sequence[str]) -> str:
    return rng.choices(items, cum_weights=_zipf_weights(len(items)))[0]


@lru_cache(maxsize=64)
def _zipf_weights(count: int) -> list[float]:
    return list(accumulate(1 / (rank + 2) for rank in range(count)))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _slug(text: str) -> str:
    """`la reforma de las pensiones` → `reforma-pensiones`: long words only, ASCII."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    words = [word for word in re.split(r"[^a-z]+", plain) if len(word) > 3]
    return "-".join(words[:3]) or "x"

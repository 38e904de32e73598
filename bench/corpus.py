"""Documents and queries for measuring search engines: simweb's prose in seven languages, the same every time."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from simweb.text import keyword, prose
from simweb.words import LANGUAGES, TOPICS

_LANGUAGES = [code for code in LANGUAGES if code != "ja"]
_SHARES = [8 if code in ("es", "en") else 1 for code in _LANGUAGES]
_TOPICS = list(TOPICS)


class Text(NamedTuple):
    number: int
    url: str
    host: str
    title: str
    text: str
    language: str


def documents(count: int, seed: int = 1) -> Iterator[Text]:
    """`count` pages of 300 to 3,000 characters on a thousand hosts, each with a word of its own."""
    rng = random.Random(seed)
    for number in range(count):
        language = rng.choices(_LANGUAGES, _SHARES)[0]
        words = prose(language, rng.choice(_TOPICS), rng.randrange(4))
        choices = rng.randbytes(2 * rng.randrange(5, 45))
        host = f"h{number % 1000}.test"
        yield Text(
            number,
            f"http://{host}/{words.section}/{number}.html",
            host,
            words.heads[choices[0]] + words.tails[choices[1]],
            f"{words.plain(choices)} {keyword(number)}",
            language,
        )


def queries(count: int, size: int, seed: int = 2) -> list[str]:
    """What people type: one to four words of a sentence, sometimes a rare word, without operators."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        if rng.random() < 0.15:
            found.append(keyword(rng.randrange(size)))
            continue
        words = prose(rng.choice(("es", "en")), rng.choice(_TOPICS), rng.randrange(4))
        sentence = words.plain(rng.randbytes(8)).translate(str.maketrans("", "", ".,;:()%")).split()
        length = rng.choice((1, 2, 2, 3, 3, 4))
        start = rng.randrange(max(1, len(sentence) - length))
        found.append(" ".join(sentence[start : start + length]))
    return found

"""Queries made to hurt, asked of the large index: the slowest answer, in processor time and by the clock.

python -m bench.hostile [INDEX]        the index `python -m bench search` leaves, unless another is named
"""

import random
import sys
import time
from pathlib import Path
from typing import NamedTuple

from bench import machine
from hemeroteca.search.results import READER, SearchOptions
from hemeroteca.search.searcher import Searcher, open_searcher

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Answered(NamedTuple):
    name: str
    seconds: float
    cpu: float


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else machine.WORK / "search-hemeroteca-1000000"
    for answered in sorted(ask(folder), key=lambda answered: -answered.cpu):
        print(f"{answered.cpu * 1e3:7.0f} ms of processor time, {answered.seconds * 1e3:7.0f} ms: {answered.name}")


def ask(folder: Path) -> list[Answered]:
    searcher = open_searcher(None, folder)
    reader = searcher.index.reader()
    known = [entry for letter in LETTERS for entry in reader.terms("body_words", letter, 3000)]
    known.sort(key=lambda entry: -entry[1])
    words = [word for word, _ in known]
    searcher.search(words[0])
    found = [_timed(name, searcher, query) for name, query in queries(words).items()]
    common = " ".join(words[:12])
    for name, query, options in (
        ("counts of all documents", "-xyzzyx", SearchOptions(facets=True)),
        ("counts of any of 400 words", " OR ".join(words[:400]), SearchOptions(facets=True)),
        ("400 common words, newest first", " ".join(words[:400]), SearchOptions(sort="newest")),
        ("every one of 12 common words", common, SearchOptions(every=True)),
    ):
        found.append(_timed(name, searcher, query, options))
    return [*found, _paged(searcher, common)]


def _timed(name: str, searcher: Searcher, query: str, options: SearchOptions = READER, cursor: str = "") -> Answered:
    clock, cpu = time.perf_counter(), time.process_time()
    searcher.search(query, options=options, cursor=cursor)
    return Answered(name, time.perf_counter() - clock, time.process_time() - cpu)


def _paged(searcher: Searcher, query: str) -> Answered:
    """The slowest of the pages that can be reached."""
    worst, cursor = Answered("", 0.0, 0.0), ""
    while True:
        this = _timed("a page of results, one after the other", searcher, query, cursor=cursor)
        worst = max(worst, this, key=lambda answered: answered.cpu)
        cursor = searcher.search(query, cursor=cursor).cursor
        if not cursor:
            return worst


def queries(words: list[str]) -> dict[str, str]:
    """`words`: of the searcher, the commonest first."""
    rng = random.Random(3)
    top = words[:400]
    pairs = list(zip(top[:60:2], top[1:60:2], strict=True))
    long = [word for word in top if len(word) > 6][:8]
    any_word = [rng.choice(words) for _ in range(30_000)]
    return {
        "12 common words": " ".join(top[:12]),
        "400 common words": " ".join(top),
        "10,000 words": " ".join(any_word[:10_000]),
        "100,000 characters of words": " ".join(any_word)[:100_000],
        "100,000 characters of noise": "".join(chr(rng.randrange(33, 0x2FFF)) for _ in range(100_000)),
        "100,000 letters": "a" * 100_000,
        "100,000 Chinese characters": "漢字" * 50_000,
        "400 required words": " ".join(f"+{word}" for word in top),
        "400 alternatives": " OR ".join(top),
        "200 words with AND": " AND ".join(top[:200]),
        "a* OR b* …": " OR ".join(f"{letter}*" for letter in LETTERS),
        "50 prefixes of two letters": " OR ".join(f"{a}{b}*" for a in "aeiocdmpst" for b in "aeior"),
        "8 common prefixes": "co* re* de* in* pr* es* ca* ma*",
        "8 common prefixes, all required": "+co* +re* +de* +in* +pr* +es* +ca* +ma*",
        "wildcards at the front": "*cion *ing *dad",
        "wildcards on both sides": "*aci* *ent* *ion*",
        "wildcards inside": "c*n r*s d*o p*a m*e s*r t*l b*d",
        "question marks": "c?n??? ?a?a?a? ?????cion",
        "stars": "* " * 5000,
        "fuzzy common words": " ".join(f"{word}~2" for word in long),
        "fuzzy short words": "casa~2 pan~2 mesa~2 loro~2 rama~2 cosa~2 para~2 todo~2",
        "fuzzy long words": "electroencefalografistas~2 " * 8,
        "3,000 parentheses": "(" * 3000 + "casa" + ")" * 3000,
        "nested alternatives": "".join(f"({word} OR " for word in top[:200]) + "x" + ")" * 200,
        "near: of common words": " ".join(f"{one} near:50 {other}" for one, other in pairs[:20]),
        "phrases of common words": " OR ".join(f'"{one} {other}"' for one, other in pairs),
        "loose phrases": " OR ".join(f'"{one} {other} {one}"~50' for one, other in pairs),
        "a phrase of 100 common words": f'"{" ".join(top[:100])}"',
        "a phrase of the same word": f'"{" ".join([top[0]] * 100)}"',
        "100 ranges of numbers": " ".join(f"{low}..{low + 199}" for low in range(0, 20_000, 200)),
        "a range of all numbers": "1..999999999999",
        "10,000 ranges of numbers": " ".join(f"{low}..{low + 999_999}" for low in range(9_999)),
        "5,000 alternatives that exclude": " OR ".join(f"-{word}" for word in words[:5_000]),
        "400 excluded words": " ".join(f"-{word}" for word in top),
        "4,000 groups of alternatives": " ".join(
            f"({a} OR {b})" for a, b in zip(words, words[4_000:8_000], strict=False)
        ),
        "4,000 alternatives of two words": " OR ".join(
            f"{a} AND {b}" for a, b in zip(words, words[4_000:8_000], strict=False)
        ),
        "5,000 sites": f"site:({' OR '.join(f'{word}.org' for word in words[:5_000])})",
        "3,000 words of titles in one group": f"intitle:({' OR '.join(words[:3_000])})",
        "characters inside of titles": "intitle:日 " * 200,
        "wildcards in titles and addresses": " ".join(f"intitle:*{word[1:4]}* url:{word[:2]}*" for word in top[:40]),
        "9,000 words of the text, excluded": " ".join(f"-inbody:{word}" for word in words[:9_000]),
        "9,000 words of the text, any": " OR ".join(f"inbody:{word}" for word in words[:9_000]),
        "2,400 dates": " OR ".join(f"before:{year}-{month}" for year in range(1900, 2100) for month in range(1, 13)),
        "4,000 addresses": " ".join(f"https://example.org/{word}" for word in words[:4_000]),
        "100,000 quotation marks": "«" * 100_000,
        "100,000 parentheses": "(" * 100_000,
        "many vowels": "*a*e*i* OR c*n OR s*s OR a*a OR e*e OR m*o OR p*r OR t*a",
        "loose phrases of three words": " OR ".join(
            f'"{a} {b} {c}"~99' for a, b, c in zip(top[:72:3], top[1:72:3], top[2:72:3], strict=True)
        ),
        "all documents": "-xyzzyx",
        "all dates": "after:1900 before:2900",
        "words of titles": " ".join(f"intitle:{word}" for word in top[:60]),
        "words of the text": " ".join(f"inbody:{word}" for word in top[:30]),
        "of everything": f'("{top[0]} {top[1]}" OR co* OR {top[2]}~2) AND ({" OR ".join(top[:50])}) -re*',
    }


if __name__ == "__main__":
    main()

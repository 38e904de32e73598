"""Why one page stands before another: every weight of the ranking, in one place.

The text decides (BM25F, then phrases and nearness); what is known about the page itself only tips the balance between
pages that fit about equally well. Without links, dates or addresses (an imported collection) those parts are exactly
neutral. docs/explanation/ranking.md tells the reasons.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np


class Weights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Change them in `ranking.json` of the index folder; `hemeroteca search explain` shows their effect."""

    # how often a part of the page is counted as text (built into the index: rebuild after changing the code)
    # title 2, headings 2 (once in the text), description 1, anchor texts 1: see tantivy_document.document

    # words that say nothing (the, of, how), as part of the BM25 score they would have
    little: float = 0.10  # … all of it among texts of a sentence or two:
    sentence: int = 50  # characters

    # nearness, as parts of the BM25 score a phrase would have
    phrase: float = 0.05  # two words of the query side by side, in order
    joined: float = 0.40  # the same of words written as one: mod_perl, COVID-19
    near: float = 0.015  # the same within a few words, in any order
    title: float = 0.06  # every word of the query is in the title
    url: float = 0.05  # words of the query in the address

    # what the text is about
    meaning: float = 2.0  # 1 + weight · how near its words are to those of the query, 0 … 1, multiplies the score

    # what is known about the page; each multiplies the score by 1 + weight · (0 … 1)
    language: float = 0.15  # it is in the language of the query, by half in one the reader reads
    link_rank: float = 0.30  # PageRank of the page, as its share of the best page's, on a log scale
    host_rank: float = 0.15
    freshness: float = 0.06  # halves with every `freshness_days`
    freshness_days: float = 180.0
    home: float = 0.06  # a host's first page; less with each level of the path
    thin: float = -0.20  # almost no text
    thin_below: int = 200  # characters

    # the page of results
    per_host: int = 3  # no more results of one host on a page, while others that fit about as well wait:
    comparable: float = 0.8  # … with so much of its score …
    many_hosts: int = 30  # … on an instance of so many hosts; of fewer, with nearly all of it
    duplicate_bits: int = 3  # fingerprints that differ in no more bits are the same text


DEFAULT = Weights()


class Preferences(msgspec.Struct, frozen=True, kw_only=True):
    """A person's own judgement of hosts: a factor above or below 1, or never to be shown."""

    boosts: Mapping[str, float] = {}
    blocks: tuple[str, ...] = ()


class Facts(msgspec.Struct):
    """What is known about pages beside what their words score: an array per property, a value per page."""

    captured_ms: np.ndarray
    depth: np.ndarray  # 255: not a crawled page
    length: np.ndarray
    link_rank: np.ndarray | None = None  # None: not known
    host_rank: np.ndarray | None = None
    boost: np.ndarray | None = None
    language: np.ndarray | None = None  # how well the language fits, 0 … 1
    meaning: np.ndarray | None = None  # how near the words of the text are to those of the query, 0 … 1


def prior(facts: Facts, weights: Weights, now_ms: int) -> dict[str, np.ndarray]:
    """The factors of each page, by name; their product multiplies the score of its text."""
    factors: dict[str, np.ndarray] = {}
    if facts.link_rank is not None:
        factors["link rank"] = 1 + weights.link_rank * facts.link_rank
    if facts.host_rank is not None:
        factors["host rank"] = 1 + weights.host_rank * facts.host_rank
    crawled = facts.depth < 255
    if crawled.any():
        factors["depth"] = np.where(crawled, 1 + weights.home / (1.0 + facts.depth), 1.0)
        factors["thin"] = np.where(crawled & (facts.length < weights.thin_below), 1 + weights.thin, 1.0)
        age_days = np.maximum(0, now_ms - facts.captured_ms) / 86_400_000
        fresh = 1 + weights.freshness * 0.5 ** (age_days / weights.freshness_days)
        factors["freshness"] = np.where(crawled & (facts.captured_ms > 0), fresh, 1.0)
    if facts.language is not None:
        factors["language"] = 1 + weights.language * facts.language
    if facts.meaning is not None:
        factors["meaning"] = 1 + weights.meaning * facts.meaning
    if facts.boost is not None:
        factors["your boost"] = facts.boost
    return factors


def for_texts(weights: Weights, length: float) -> Weights:
    """The weights for an index whose texts have so many characters, on average.

    Any long text has the little words, and those it lacks tell how it is written, not what about; in a single sentence
    they are a good part of what is said. And words of one sentence are near each other anyway: there their order says
    little.
    """
    sentences = min(1.0, length / weights.sentence)
    little = max(weights.little, min(1.0, weights.sentence / max(1.0, length)))
    return msgspec.structs.replace(
        weights, little=little, phrase=weights.phrase * sentences, near=weights.near * sentences
    )


def comparable(weights: Weights, hosts: int) -> float:
    """The part of a result's score with which one of another host goes before it, on an instance of so many hosts.

    Who keeps three manuals wants the best pages, whichever they are in; among many sites another voice is worth more.
    """
    return 1 - (1 - weights.comparable) * min(1.0, (hosts - 1) / max(1, weights.many_hosts))


def spread(
    hosts: Sequence[int], scores: Sequence[float], per_host: int, comparable: float, page: int, pages: int
) -> list[int]:
    """An order of the results (given by hosts and scores, best first) with about `per_host` of one host on each page.

    What is more waits for a later page, but only for the sake of others that have `comparable` of its score. The first
    `pages` pages are arranged. Results are delayed, never dropped.
    """
    waiting = list(range(len(hosts)))
    order: list[int] = []
    for _ in range(pages):
        shown: Counter[int] = Counter()
        taken: list[int] = []
        delayed: deque[int] = deque()
        coming = deque(waiting)
        while len(taken) < page and (delayed or coming):
            while coming and shown[hosts[coming[0]]] >= per_host:
                delayed.append(coming.popleft())
            overtaken = coming and (not delayed or scores[coming[0]] >= comparable * scores[delayed[0]])
            best = coming.popleft() if overtaken else delayed.popleft()
            shown[hosts[best]] += 1
            taken.append(best)
        order += sorted(taken)
        waiting = sorted([*delayed, *coming])
    return order + waiting

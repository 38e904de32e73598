"""Why one page stands before another: every weight of the ranking, in one place.

The text decides (BM25F, then phrases and nearness); what is known about the page itself only tips the balance between
pages that fit about equally well. Without links, dates or addresses (an imported collection) those parts are exactly
neutral. docs/explanation/ranking.md tells the reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec


class Weights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Change them in `ranking.json` of the index folder; `hemeroteca search explain` shows their effect."""

    # how often a part of the page is counted as text (built into the index: rebuild after changing the code)
    # title 2, headings 2 (once in the text), description 1, anchor texts 1: see tantivy_index._document

    # nearness, as parts of the BM25 score a phrase would have
    phrase: float = 0.20  # two words of the query side by side, in order
    near: float = 0.06  # the same within a few words, in any order
    title: float = 0.06  # every word of the query is in the title
    url: float = 0.05  # words of the query in the address

    # what is known about the page; each multiplies the score by 1 + weight · (0 … 1)
    link_rank: float = 0.30  # PageRank of the page, as its share of the best page's, on a log scale
    host_rank: float = 0.15
    freshness: float = 0.06  # halves with every `freshness_days`
    freshness_days: float = 180.0
    home: float = 0.06  # a host's first page; less with each level of the path
    thin: float = -0.20  # almost no text
    thin_below: int = 200  # characters

    # the page of results
    per_host: int = 3  # no more results of one host on a page, while others wait
    duplicate_bits: int = 3  # fingerprints that differ in no more bits are the same text


DEFAULT = Weights()


class Preferences(msgspec.Struct, frozen=True, kw_only=True):
    """A person's own judgement of hosts: a factor above or below 1, or never to be shown."""

    boosts: Mapping[str, float] = {}
    blocks: tuple[str, ...] = ()


class Facts(msgspec.Struct, gc=False):
    """What is known about a page before its text is read. Neutral values say "not known"."""

    captured_ms: int = 0
    depth: int = 255  # 255: not a crawled page
    length: int = 0
    link_rank: float = 0.0
    host_rank: float = 0.0
    boost: float = 1.0


def prior(facts: Facts, weights: Weights, now_ms: int) -> dict[str, float]:
    """The factors of a page, by name; their product multiplies the score of its text."""
    factors: dict[str, float] = {}
    if facts.link_rank:
        factors["link rank"] = 1 + weights.link_rank * facts.link_rank
    if facts.host_rank:
        factors["host rank"] = 1 + weights.host_rank * facts.host_rank
    if facts.depth < 255:
        factors["depth"] = 1 + weights.home / (1 + facts.depth)
        if facts.length < weights.thin_below:
            factors["thin"] = 1 + weights.thin
        if facts.captured_ms and weights.freshness:
            age_days = max(0.0, (now_ms - facts.captured_ms) / 86_400_000)
            factors["freshness"] = 1 + weights.freshness * 0.5 ** (age_days / weights.freshness_days)
    if facts.boost != 1.0:
        factors["your boost"] = facts.boost
    return factors


def product(factors: Mapping[str, float]) -> float:
    value = 1.0
    for factor in factors.values():
        value *= factor
    return value


def spread(hosts: Sequence[int], per_host: int, page: int, pages: int) -> list[int]:
    """An order of the results (given by their hosts, best first) with at most `per_host` of one host on each page.

    The first `pages` pages are arranged. Results are delayed, never dropped; when other hosts run out, the rest follows
    in its own order.
    """
    waiting = list(range(len(hosts)))
    order: list[int] = []
    for _ in range(pages):
        shown: dict[int, int] = {}
        taken: list[int] = []
        left: list[int] = []
        for at, i in enumerate(waiting):
            if len(taken) == page:
                left += waiting[at:]
                break
            if shown.get(hosts[i], 0) < per_host:
                shown[hosts[i]] = shown.get(hosts[i], 0) + 1
                taken.append(i)
            else:
                left.append(i)
        if len(taken) < page:
            taken = sorted(taken + left[: page - len(taken)])
            left = [i for i in left if i not in taken]
        order += taken
        waiting = left
        if not waiting:
            break
    return order + waiting

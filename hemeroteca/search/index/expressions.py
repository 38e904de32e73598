"""Queries as every engine can answer them: a small algebra of values that an engine translates into its own.

Words are terms already (`search.analysis`); fields are those of `fields`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec


class TermQuery(msgspec.Struct, frozen=True, gc=False):
    """Documents that have a word, a keyword or a number in a field; scored by BM25 where the field is a text."""

    field: str
    term: str | int


class PhraseQuery(msgspec.Struct, frozen=True):
    """Words at these places relative to each other, moved by `slop` steps in all."""

    field: str
    terms: tuple[tuple[int, str], ...]
    slop: int = 0


class WildcardQuery(msgspec.Struct, frozen=True, gc=False):
    """Words of a pattern: `*` stands for any letters, `?` for one."""

    field: str
    pattern: str


class NumberQuery(msgspec.Struct, frozen=True, gc=False):
    """Whole numbers of a range, written as words of a text."""

    field: str
    low: int
    high: int


class FuzzyQuery(msgspec.Struct, frozen=True, gc=False):
    """Words within so many edits; with `prefix`, words that begin like that."""

    field: str
    term: str
    edits: int
    prefix: bool = False


class RangeQuery(msgspec.Struct, frozen=True, gc=False):
    """Documents whose number in a column is in a range, both ends included; None: open."""

    field: str
    low: int | None
    high: int | None


class KeysQuery(msgspec.Struct, frozen=True):
    """These documents. They have no score."""

    keys: tuple[int, ...]


class AllQuery(msgspec.Struct, frozen=True, gc=False):
    """Every document."""


class NoneQuery(msgspec.Struct, frozen=True, gc=False):
    """No document."""


class BooleanQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Documents that match all of `must`, none of `must_not`, and one of `should` where nothing is a must.

    Scores of `must` and `should` add up.
    """

    must: tuple[Query, ...] = ()
    should: tuple[Query, ...] = ()
    must_not: tuple[Query, ...] = ()


class BestQuery(msgspec.Struct, frozen=True):
    """Documents that match any; the best score counts, each other adds `tie` of its own."""

    queries: tuple[Query, ...]
    tie: float


class BoostQuery(msgspec.Struct, frozen=True):
    query: Query
    factor: float


class ConstantQuery(msgspec.Struct, frozen=True):
    """The same documents, all with one score."""

    query: Query
    score: float = 0.0


Query = (
    TermQuery
    | PhraseQuery
    | WildcardQuery
    | NumberQuery
    | FuzzyQuery
    | RangeQuery
    | KeysQuery
    | AllQuery
    | NoneQuery
    | BooleanQuery
    | BestQuery
    | BoostQuery
    | ConstantQuery
)


def boosted(query: Query, factor: float) -> Query:
    return query if math.isclose(factor, 1.0) else BoostQuery(query, factor)


def any_of(queries: Iterable[Query]) -> Query | None:
    alternatives = tuple(queries)
    if len(alternatives) < 2:
        return alternatives[0] if alternatives else None
    return BooleanQuery(should=alternatives)


def all_of(queries: Iterable[Query]) -> Query:
    return BooleanQuery(must=tuple(queries))

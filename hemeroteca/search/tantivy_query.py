"""Small queries of the engine, from which larger ones are put together."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import tantivy
from tantivy import DocAddress, FieldType, Occur, Order, Query


class Found(NamedTuple):
    hits: list[tuple[float, DocAddress]]
    matches: int  # how many there are; 0: not counted


def found(
    searcher: tantivy.Searcher,
    query: Query,
    limit: int,
    count: bool = True,
    by: str | None = None,
    order: Order = Order.Desc,
) -> Found:
    """The first matches, by their scores or by the field `by`."""
    answer = searcher.search(query, limit=limit, count=count, order_by_field=by, order=order)
    return Found(answer.hits, answer.count if count else 0)  # type: ignore[attr-defined]  # the engine's stub lacks it


def term_query(schema: tantivy.Schema, field: str, value: str) -> Query:
    return Query.term_query(schema, field, value, index_option="freq")


def between(schema: tantivy.Schema, field: str, low: int | None, high: int | None) -> Query:
    return Query.range_query(schema, field, FieldType.Integer, low, high)


def boosted(query: Query, factor: float) -> Query:
    return query if math.isclose(factor, 1.0) else Query.boost_query(query, factor)


def unscored(query: Query) -> Query:
    return Query.const_score_query(query, 0.0)


def any_of(queries: Iterable[Query]) -> Query | None:
    alternatives = list(queries)
    if not alternatives:
        return None
    if len(alternatives) == 1:
        return alternatives[0]
    return Query.boolean_query([(Occur.Should, query) for query in alternatives])

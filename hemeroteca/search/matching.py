"""All documents that match, without order or page: for what is told of them or done to them as a whole."""

from collections.abc import Iterator

from tantivy import FieldType, Occur, Order, Query

from hemeroteca.search.answer import Answer
from hemeroteca.search.index import Options
from hemeroteca.search.tantivy_index import TantivyIndex

MOST = 50_000  # matches of one query that are told apart: the newest
_AT_ONCE = 100_000


def matching(index: TantivyIndex, query: str, options: Options, most: int = MOST) -> tuple[list[int], list[str]]:
    """Keys of the documents that match, those captured last first, and what of the query was not understood."""
    answer = Answer(index, options)
    plan = answer.plan(query)
    if plan.base is None:
        return [], plan.notes
    hits = answer.searcher.search(
        plan.base, limit=most, count=False, order_by_field="captured", order=Order.Desc
    ).hits
    keys = answer.searcher.fast_field_values("key", [address for _, address in hits]) if hits else []
    return [int(key or 0) for key in keys], plan.notes


def keys_of_site(index: TantivyIndex, site: str) -> Iterator[int]:
    """Keys of every document of a domain, its subdomains included."""
    last = -(1 << 63)
    these = Query.term_query(index.schema, "site", site, index_option="basic")
    while True:
        searcher = index.searcher()
        beyond = Query.range_query(index.schema, "key", FieldType.Integer, last, None, include_lower=False)
        part = Query.boolean_query([(Occur.Must, these), (Occur.Must, beyond)])
        hits = searcher.search(part, limit=_AT_ONCE, count=False, order_by_field="key", order=Order.Asc).hits
        keys = [int(key or 0) for key in searcher.fast_field_values("key", [at for _, at in hits])] if hits else []
        yield from keys
        if len(keys) < _AT_ONCE:
            return
        last = keys[-1]

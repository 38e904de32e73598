"""All documents that match, without order or page: for what is told of them or done to them as a whole."""

import logging
from collections.abc import Collection, Iterator
from html import unescape

from tantivy import FieldType, Occur, Order, Query

from hemeroteca.ingest.document import SearchDocument
from hemeroteca.search.analysis import field_of
from hemeroteca.search.answer import Answer
from hemeroteca.search.in_body import stands
from hemeroteca.search.index import Hit, IndexUnusableError, Options
from hemeroteca.search.snippet import Marks
from hemeroteca.search.tantivy_document import stored
from hemeroteca.search.tantivy_index import TantivyIndex

log = logging.getLogger("hemeroteca.search")
MOST = 50_000  # matches of one query that are told apart: the newest
_AT_ONCE = 100_000


def matching(
    index: TantivyIndex, query: str, options: Options, known: Collection[int] = (), most: int = MOST
) -> list[int]:
    """Keys of the documents that match and are not `known`, those captured last first."""
    answer = Answer(index, options)
    plan = answer.plan(query)
    if plan.every is None:
        return []
    hits = answer.searcher.search(
        plan.every(), limit=most, count=False, order_by_field="captured", order=Order.Desc
    ).hits
    addresses = [address for _, address in hits]
    keys = answer.searcher.fast_field_values("key", addresses) if hits else []
    found = [(int(key or 0), address) for key, address in zip(keys, addresses, strict=True)]
    return [
        key
        for key, address in found
        if key not in known and (not plan.in_body or stands(plan.asked, stored(answer.searcher, address)))
    ]


def described(index: TantivyIndex, query: str, options: Options, keys: list[int]) -> list[Hit]:
    """What a message says of these documents: the snippet is plain text."""
    answer = Answer(index, options)
    plan = answer.plan(query)
    hits = []
    for key in keys:
        document = index.get(key)
        if document is None:
            continue
        field = field_of(document.language)
        shown = Marks(plan.wanted.get(field, set()), field).snippet(document.text or document.description)
        hits.append(
            Hit(
                url=document.url,
                title=document.title,
                snippet=unescape(shown.replace("<b>", "").replace("</b>", "")),
                score=0.0,
                key=key,
                captured_ms=document.captured_ms,
            )
        )
    return hits


def keys_of_site(index: TantivyIndex, site: str) -> Iterator[int]:
    """Keys of every document of a domain, its subdomains included."""
    return _keys(index, Query.term_query(index.schema, "site", site, index_option="basic"))


def imported(index: TantivyIndex) -> Iterator[SearchDocument]:
    """Documents that were not crawled: no archive has them. One that cannot be read is left out, which is said."""
    lost = 0
    for key in _keys(index, Query.range_query(index.schema, "captured", FieldType.Integer, 0, 0)):
        try:
            document = index.get(key)
        except IndexUnusableError:
            lost += 1
            continue
        if document is not None and document.id:
            yield document
    if lost:
        log.warning("%d documents that were imported cannot be read any more; import their files again", lost)


def _keys(index: TantivyIndex, these: Query) -> Iterator[int]:
    last = -(1 << 63)
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

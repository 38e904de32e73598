"""How results divide by host, language, type, year and collection."""

from hemeroteca.search.index import IndexReader
from hemeroteca.search.index.expressions import Query
from hemeroteca.search.index.fields import FACETS

MAX_VALUES = 10  # of each facet

Facets = dict[str, list[tuple[str, int]]]  # facet → its most frequent values, with how many results have each


def facets(reader: IndexReader, query: Query) -> Facets:
    """Counted over all matches of a query, not only those that are shown."""
    return reader.facets(query, FACETS, MAX_VALUES)

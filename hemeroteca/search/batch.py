"""Many queries at once, for measuring quality: ranking only, no grouping, no spreading over hosts."""

from collections.abc import Iterable, Iterator

import msgspec

from hemeroteca.search.index import Index, Options

RANKING_ONLY = Options(group=False, diverse=False, snippets=False, suggest=False, syntax=False, loose=True)


class Ranked(msgspec.Struct):
    """A result of one of the queries."""

    qid: str
    rank: int
    id: str
    score: float


def run(
    index: Index, queries: Iterable[tuple[str, str]], limit: int, options: Options = RANKING_ONLY
) -> Iterator[Ranked]:
    """The results of queries, given with their ids."""
    for qid, text in queries:
        for rank, hit in enumerate(index.search(text, limit=limit, options=options).hits, 1):
            yield Ranked(qid, rank, hit.id or hit.url, hit.score)

"""Why a result stands where it does: its place and what its score is made of."""

from __future__ import annotations

import msgspec

from hemeroteca import urls
from hemeroteca.ingest.document import document_key
from hemeroteca.search.index import Contribution, Index, Options, SearchError

RESULTS, PAGES = 10, 10  # on a page, and pages in which the place of a result is looked for


class Explanation(msgspec.Struct):
    place: int | None  # on the pages of results, counted from 1; None: on none of the first, or hidden as a copy
    title: str
    score: float
    text_score: float
    factors: dict[str, float]  # each multiplies the score of the text
    parts: dict[str, Contribution]  # whose scores add up to that of the text: words, phrase, title, …

    @property
    def words(self) -> dict[str, float]:
        """What each word of the query would score alone, the best first."""
        words = self.parts.get("words")
        return dict(words.each or {}) if words else {}


def explained(index: Index, query: str, address: str, options: Options) -> Explanation:
    """Of a page by its address, or of an imported document by its identifier. Raises SearchError."""
    keys = [document_key(f"import:{address}")]
    try:
        keys.insert(0, urls.key(urls.canonical(address)))
    except urls.UrlError:
        pass
    for key in keys:
        document = index.get(key)
        if document is not None:
            break
    else:
        raise SearchError(f"{address} is not in the index; `hemeroteca search url:…` finds addresses")
    why = index.explain(query, key, options)
    if why is None:
        for host in options.preferences.blocks:
            if f".{document.host}".endswith(f".{host}"):
                raise SearchError(f"{host} is blocked; `hemeroteca search prefer {host} --forget` shows it again")
        raise SearchError(f"{address} does not match the query {query!r}")
    return Explanation(
        place=_place(index, query, key, options),
        title=document.title,
        score=why.score,
        text_score=why.text_score,
        factors=why.factors,
        parts={name: part for name, part in why.parts.items() if part.score},
    )


def _place(index: Index, query: str, key: int, options: Options) -> int | None:
    cursor, before = "", 0
    for _ in range(PAGES):
        found = index.search(query, limit=RESULTS, cursor=cursor, options=options)
        for at, hit in enumerate(found.hits, before + 1):
            if hit.key == key:
                return at
        cursor, before = found.cursor, before + len(found.hits)
        if not cursor:
            break
    return None

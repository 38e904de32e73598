"""What is done with the index from time to time: link ranks, texts of links, learned words; and which one is asked."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from hemeroteca.search.asked import asked
from hemeroteca.search.document import SearchDocument
from hemeroteca.search.graph import LinkGraph, LinkRanks, rank_pages_and_hosts
from hemeroteca.search.index import Index, SearchError
from hemeroteca.search.learn import Learner
from hemeroteca.search.query import asks_for_the_past
from hemeroteca.search.tantivy_index import VERSIONS
from hemeroteca.search.versions import has_versions


def choose(index_dir: Path, query: str, versions: bool | None = None) -> Path:
    """The index a query is for: that of all versions when that is asked for, or when there is one for its `at:`."""
    kept = has_versions(index_dir)
    if versions and not kept:
        raise SearchError(
            "all versions are not indexed here; set `index_versions` to true and run `hemeroteca search rebuild`"
        )
    if versions or (versions is None and kept and asks_for_the_past(query)):
        return index_dir / VERSIONS
    return index_dir


def refresh_ranks(path: Path, seeds: Iterable[int] = ()) -> LinkRanks:
    """Rank the link graph kept beside the index; searches take the new ranks at once."""
    ranks = rank_pages_and_hosts(LinkGraph(path / "links"), seeds)
    if len(ranks):
        ranks.save(path / "rank")
    return ranks


def changed_anchors(index: Index, graph: LinkGraph, seconds: float = 60.0) -> Iterator[tuple[SearchDocument, str]]:
    """Documents that link texts say more about than they do themselves, with these texts.

    Most links repeat the title; a document is written anew only for words that would not find it now. What time does
    not allow waits.
    """
    until = time.monotonic() + seconds
    for key, texts in graph.anchor_texts():
        document = index.get(key)
        if document is not None and not _own_words(document).issuperset(_words(texts)):
            yield document, texts
        if time.monotonic() > until:
            return


def refresh(path: Path, index: Index, seeds: Iterable[int] = (), most: int = 10_000) -> None:
    """What should be done from time to time while pages come in: link ranks and learned words. Seconds, not minutes."""
    LinkGraph(path / "links").compact()
    refresh_ranks(path, seeds)
    learn(path, index, most)


def learn(
    path: Path, index: Index, most: int = 10_000, progress: Callable[[int, int], object] = lambda done, total: None
) -> int:
    """Learn words and what follows them from a sample of the index, for suggestions and spelling."""
    learner = Learner()
    count = 0
    for document in index.sample(most):
        learner.add(document.title, document.text or document.description, document.language)
        count += 1
        progress(count, most)
    learner.write(path / "suggest", asked(path))
    return count


def _own_words(document: SearchDocument) -> set[str]:
    return _words(f"{document.title} {document.headings} {document.anchors} {document.url}")


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower().replace("_", " ")))

"""Care of the index: made anew, and from time to time link ranks, texts of links, learned words.

    python -m hemeroteca.search.maintenance INDEX N     keys of the seeds on its standard input (msgpack)

is one turn of it, as a process at the lowest priority: it compacts the link graph, ranks pages and hosts, learns the
words of about N documents; what it finds out about link texts it leaves in a file for whoever writes the index.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import msgspec

from hemeroteca import urls
from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.search.graph import LinkGraph, LinkRanks, rank_pages_and_hosts
from hemeroteca.search.index import (
    HEAP_BYTES,
    VERSIONS,
    Index,
    IndexUnusableError,
    SearchError,
    deleted_documents,
    index_exists,
    open_index,
    replacement,
)
from hemeroteca.search.index.expressions import RangeQuery, TermQuery
from hemeroteca.search.index.version_index import has_versions, open_versions
from hemeroteca.search.suggest.language_model import Learner
from hemeroteca.search.suggest.query_log import logged_queries

log = logging.getLogger("hemeroteca.search")
TEXTS = "texts.todo"  # [(page key, link texts)]
_MAX_TEXTS = 20_000  # in one turn; the rest at the next
_LOOKED_UP = 100  # pages asked for together


def refresh_ranks(path: Path, seeds: Iterable[int] = (), step: Callable[[], None] = lambda: None) -> LinkRanks:
    """Rank the link graph kept beside the index; searches take the new ranks at once. `step` is called again and again
    meanwhile and may end it by raising: the ranks there were stay."""
    ranks = rank_pages_and_hosts(LinkGraph(path / "links"), seeds, step)
    if len(ranks):
        ranks.save(path / "rank")
    return ranks


def forget(path: Path, addresses: Iterable[str], heap_bytes: int = HEAP_BYTES) -> int:
    """Take pages out of the index, and all their versions out of that of all versions; how many pages were named."""
    keys = [urls.key(urls.canonical(address)) for address in addresses]
    if not keys:
        return 0
    if index_exists(path):
        with open_index(None, path).writer(heap_bytes) as writer:
            for key in keys:
                writer.delete(key)
            writer.commit()
    if has_versions(path):
        versions = open_versions(path)
        named = [number for key in keys for number in versions.keys(TermQuery("page", key))]
        with versions.writer(heap_bytes) as writer:
            for number in named:
                writer.delete(number)
            writer.commit()
    return len(keys)


def forget_texts(path: Path, texts: frozenset[tuple[int, str]], heap_bytes: int = HEAP_BYTES) -> None:
    """Take texts of links (key of the page they lead to, text) out of the link graph and out of the documents there."""
    if not texts:
        return
    LinkGraph(path / "links").forget_texts(texts)
    (path / TEXTS).unlink(missing_ok=True)
    targets = sorted({target for target, _ in texts})
    for folder in (path, path / VERSIONS):
        if not index_exists(folder):
            continue
        index = open_index(None, folder)
        with index.writer(heap_bytes) as writer:
            for target in targets:
                one = [index.get(target)] if folder == path else index.versions(target)
                for document in one:
                    if document is not None and document.anchors:
                        lines = document.anchors.split("\n")
                        document.anchors = "\n".join(line for line in lines if (target, line) not in texts)
                        writer.put(document, True)
            writer.commit()


def expunge(path: Path, heap_bytes: int = HEAP_BYTES) -> int:
    """Write indexes anew whose files still hold deleted documents: until the engine merges them, their words lie there.
    How many documents were written. Nobody else may write the index meanwhile; searches go on."""
    count = 0
    for folder in (path, path / VERSIONS):
        if not index_exists(folder) or not deleted_documents(folder):
            continue
        index = open_index(None, folder)
        with replacement(folder, heap_bytes) as writer:
            for document in index.sample(index.count()):
                writer.put(document, replaces=False)
                count += 1
    return count


def changed_anchors(index: Index, graph: LinkGraph, seconds: float = 60.0) -> Iterator[tuple[SearchDocument, str]]:
    """Documents that link texts say more about than they do themselves, with these texts.

    Most links repeat the title; a document is written anew only for words that would not find it now. What time does
    not allow waits.
    """
    until = time.monotonic() + seconds
    every = graph.anchor_texts()
    while (some := dict(islice(every, _LOOKED_UP))) and time.monotonic() < until:
        for document in index.some(some):
            texts = some[document.key]
            own = f"{document.title} {document.headings} {document.anchors} {document.url}"
            if not _words(own).issuperset(_words(texts)):
                yield document, texts


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
    learner.write(path / "suggest", logged_queries(path))
    return count


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower().replace("_", " ")))


def rebuild(
    path: Path,
    documents: Iterable[SearchDocument],
    heap_bytes: int = HEAP_BYTES,
    progress: Callable[[int], None] = lambda count: None,
) -> int:
    """Build the index in `path` anew from `documents`; searches use the old one until the new one is complete.

    Documents that were imported stay, as far as the old index can be read: no archive has them.
    """
    count = 0
    with replacement(path, heap_bytes) as writer:
        for document in chain(documents, _rescued(path)):
            writer.put(document, replaces=False)
            count += 1
            progress(count)
    return count


def _rescued(path: Path) -> Iterator[SearchDocument]:
    try:
        yield from imported_documents(open_index(None, path, any_layout=True))
    except SearchError as error:
        log.warning("documents that were imported are not kept: %s", error)


def imported_documents(index: Index) -> Iterator[SearchDocument]:
    """Documents that were not crawled: no archive has them. One that cannot be read is left out, which is said."""
    lost = 0
    for key in index.keys(RangeQuery("captured", 0, 0)):
        try:
            document = index.get(key)
        except IndexUnusableError:
            lost += 1
            continue
        if document is not None and document.id:
            yield document
    if lost:
        log.warning("%d documents that were imported cannot be read any more; import their files again", lost)


class TurnError(Exception):
    """Why there was no turn; the next one comes later."""


def turn(folder: Path, seeds: list[int], learned: int) -> None:
    """One turn, in this process."""
    alone = (folder / "refresh.lock").open("ab")
    try:
        fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
        index = open_index(None, folder)
        refresh(folder, index, seeds, learned)
        changed = changed_anchors(index, LinkGraph(folder / "links"))
        texts = [(document.key, text) for document, text in islice(changed, _MAX_TEXTS)]
    except BlockingIOError:
        raise TurnError("a turn of an engine that was killed is still under way; the next one comes later")
    except (SearchError, OSError, ValueError) as error:
        raise TurnError(f"search could not be refreshed: {error}")
    finally:
        alone.close()
    draft = folder / f"{TEXTS}.draft"
    draft.write_bytes(msgspec.msgpack.encode(texts))
    os.replace(draft, folder / TEXTS)


def main(folder: Path, learned: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the engine; it tells us when to stop
    os.nice(15)
    try:
        turn(folder, msgspec.msgpack.decode(sys.stdin.buffer.read(), type=list[int]), learned)
    except TurnError as error:
        raise SystemExit(str(error))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

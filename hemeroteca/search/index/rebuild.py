"""An index made anew from the documents of the archive."""

import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from hemeroteca.search.document import SearchDocument
from hemeroteca.search.index import HEAP_BYTES, Index, IndexUnusableError, SearchError, open_index, replacement
from hemeroteca.search.index.expressions import RangeQuery

log = logging.getLogger("hemeroteca.search")


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
            if count % 1000 == 0:
                progress(count)
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

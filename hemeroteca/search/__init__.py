"""Search over what was archived: query language, index, ranking, suggestions, spelling and the link graph.

Nothing here but `portal` needs Django or the database, so that `hemeroteca search` starts fast. The archive is the
truth: everything in this room can be rebuilt from it (`hemeroteca search rebuild`).

- `searcher`: answers queries. `query/` (text → plan) → `candidates` (the plan asked of the index; `ranking`,
  `semantic` and `dedup` order what it finds) → `results` (with `snippet`, `facets`); `explanation` says why.
  `throttle` keeps long queries from blocking short ones.
- `index/`: the seam. `Index` is what an engine must do; `tantivy/` does it. `analysis` cuts text into words.
- `suggest/`: completion and spelling. `graph`: links and PageRank. `maintenance` refreshes both from time to time.
- `corpus`: documents imported from files, queries run from files; `document_queue`: documents waiting for the engine.
- `preferences`: hosts a person has raised, lowered or blocked. `portal`: search as the API and the console use it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hemeroteca.ingest.search_document import SearchDocument
    from hemeroteca.search.index import (
        Index,
        IndexBusyError,
        IndexReader,
        IndexUnusableError,
        IndexWriteError,
        IndexWriter,
        SearchError,
        open_index,
    )
    from hemeroteca.search.ranking import Preferences
    from hemeroteca.search.results import Hit, Options, Results
    from hemeroteca.search.searcher import Searcher, open_searcher

__all__ = [
    "Hit",
    "Index",
    "IndexBusyError",
    "IndexReader",
    "IndexUnusableError",
    "IndexWriteError",
    "IndexWriter",
    "Options",
    "Preferences",
    "Results",
    "SearchDocument",
    "SearchError",
    "Searcher",
    "open_index",
    "open_searcher",
]
_PLACES = {
    "Hit": "results",
    "Options": "results",
    "Preferences": "ranking",
    "Results": "results",
    "Searcher": "searcher",
    "open_searcher": "searcher",
}


def __getattr__(name: str) -> Any:
    """Each name from its module when it is asked for: whoever counts documents needs no ranking."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "SearchDocument":
        return import_module("hemeroteca.ingest.search_document").SearchDocument
    return getattr(import_module(f"{__name__}.{_PLACES.get(name, 'index')}"), name)

"""Search over what was archived: index, query language, ranking, suggestions, spelling and the link graph.

Nothing here needs Django or the database, so that workers can build documents and `hemeroteca search` starts fast.
The archive is the truth: everything in this room can be rebuilt from it (`hemeroteca search rebuild`).

A document's way: `document` (made by ingest) → `tantivy_index` (written, per-language fields by `analysis`).
A query's way: `query` (parsed) → `planner` (engine queries) → `answer` (candidates, `ranking`, `snippet`).
Beside it: `filling` (rebuilt, imported), `batch` (many queries, to measure), `graph` (links, PageRank), `learn` and
`suggest` (completion, next words, spelling), `services` (what is refreshed from time to time).
"""

from hemeroteca.ingest.document import SearchDocument
from hemeroteca.search.index import (
    Hit,
    Index,
    IndexBusyError,
    IndexUnusableError,
    IndexWriteError,
    Options,
    Results,
    SearchError,
    Writer,
    open_index,
)
from hemeroteca.search.ranking import Preferences

__all__ = [
    "Hit",
    "Index",
    "IndexBusyError",
    "IndexUnusableError",
    "IndexWriteError",
    "Options",
    "Preferences",
    "Results",
    "SearchDocument",
    "SearchError",
    "Writer",
    "open_index",
]

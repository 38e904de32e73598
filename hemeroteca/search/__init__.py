"""Search over what was archived: index, query language, ranking, suggestions, spelling and the link graph.

Nothing here needs Django or the database, so that workers can build documents and `hemeroteca search` starts fast.
The archive is the truth: everything in this room can be rebuilt from it (`hemeroteca search rebuild`).
"""

from hemeroteca.search.document import SearchDocument
from hemeroteca.search.index import (
    Hit,
    Index,
    IndexBusyError,
    IndexUnusableError,
    Results,
    SearchError,
    Writer,
    open_index,
)

__all__ = [
    "Hit",
    "Index",
    "IndexBusyError",
    "IndexUnusableError",
    "Results",
    "SearchDocument",
    "SearchError",
    "Writer",
    "open_index",
]

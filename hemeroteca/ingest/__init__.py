"""Capture → Ingested: the one way in, for crawl, browser, import and rebuild alike. No database here.

    from hemeroteca.ingest import Rules, ingest
    found = ingest(capture, Rules(key=urls.key(url), host=urls.host(url)))

ingestion    `ingest`, and `Ingest` for many captures
rules        what it must know besides the capture: of the crawl, the site, the version before
ingested     what it finds: records, document, candidates, edges, difference, finds of other rooms
document     what search learns of a page; its struct: search_document;  candidates: where it leads
difference   how it changed
pool         the processes that run it (worker), driven by the engine's selector
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hemeroteca.ingest.difference import Difference, Listing
    from hemeroteca.ingest.ingested import Edges, Ingested
    from hemeroteca.ingest.ingestion import Ingest, ingest
    from hemeroteca.ingest.rules import Comparison, CrawlOptions, CrawlRules, Rules
    from hemeroteca.ingest.search_document import SearchDocument

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads that nothing here uses

__all__ = [
    "Comparison",
    "CrawlOptions",
    "CrawlRules",
    "Difference",
    "Edges",
    "Ingest",
    "Ingested",
    "Listing",
    "Rules",
    "SearchDocument",
    "ingest",
]
_PLACES = {
    "Difference": "difference",
    "Listing": "difference",
    "SearchDocument": "search_document",
    "Edges": "ingested",
    "Ingested": "ingested",
    "Ingest": "ingestion",
    "ingest": "ingestion",
}


def __getattr__(name: str) -> Any:
    """Loaded when asked for: who only needs the rules does not load the readers."""
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module(f"hemeroteca.ingest.{_PLACES.get(name, 'rules')}"), name)

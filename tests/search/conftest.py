from collections.abc import Callable
from pathlib import Path

import pytest

from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.search.searcher import Searcher, open_searcher


def page(key: int, text: str = "", language: str = "es", **more: object) -> SearchDocument:
    more.setdefault("url", f"https://example.org/{key}")
    more.setdefault("host", str(more["url"]).split("/")[2])
    return SearchDocument(key=key, text=text, language=language, **more)


def fill(path: Path, *pages: SearchDocument) -> Searcher:
    searcher = open_searcher(None, path)
    with searcher.index.writer(15 << 20) as writer:
        for document in pages:
            writer.put(document, replaces=True)
        writer.commit()
    return searcher


@pytest.fixture
def indexed(tmp_path: Path) -> Callable[..., Searcher]:
    """An index of the pages given."""
    return lambda *pages: fill(tmp_path, *pages)

"""An index of every version of every page: what did it say in March?

The same kind of index in a folder of its own. Each version is a document that knows from when until when it was the
page's last one, so that `at:2024-03-15` finds exactly what stood there then. Optional: it grows with every change.
"""

from pathlib import Path

import msgspec

from hemeroteca.search.document import SearchDocument, document_key
from hemeroteca.search.tantivy_index import VERSIONS, TantivyIndex


def open_versions(index_dir: Path) -> TantivyIndex:
    """The index of all versions beside the index of an instance."""
    return TantivyIndex(index_dir / VERSIONS)


class VersionWriter:
    """Puts versions in any order and keeps their times consistent. One at a time, like any writer."""

    def __init__(self, index: TantivyIndex, heap_bytes: int = 48 << 20) -> None:
        self._index = index
        self._writer = index.writer(heap_bytes)
        self._pending: dict[int, dict[int, SearchDocument]] = {}  # page → capture time → version, since the last commit

    def put(self, document: SearchDocument) -> None:
        """A version of the page `document.key`, captured at `document.captured_ms`."""
        page = document.page or document.key
        known = self._pending.get(page)
        if known is None:
            known = {version.captured_ms: version for version in self._index.versions(page)}
            self._pending[page] = known
        earlier = max((ms for ms in known if ms < document.captured_ms), default=None)
        later = min((ms for ms in known if ms > document.captured_ms), default=0)
        if earlier is not None and known[earlier].until_ms != document.captured_ms:
            known[earlier].until_ms = document.captured_ms
            self._writer.put(known[earlier], replaces=True)
        version = msgspec.structs.replace(
            document, key=document_key(f"{page}@{document.captured_ms}"), page=page, until_ms=later
        )
        self._writer.put(version, replaces=True)
        known[document.captured_ms] = version

    def commit(self) -> None:
        self._writer.commit()
        self._pending.clear()

    def close(self) -> None:
        self._writer.close()

    def __enter__(self) -> "VersionWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

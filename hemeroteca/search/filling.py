"""The index filled from outside a crawl: built anew, or with documents that are imported.

Works on plain values; the caller brings the documents (from the archive, from a file) and the place.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import msgspec

from hemeroteca.ingest.document import SearchDocument, document_key
from hemeroteca.search import collection_files, handover
from hemeroteca.search.collection_files import Row
from hemeroteca.search.guess import language_of, written_in
from hemeroteca.search.index import Index, SearchError
from hemeroteca.search.languages import code_of
from hemeroteca.search.matching import imported
from hemeroteca.search.tantivy_index import ENGINE_ERRORS, TantivyIndex, replace_index
from hemeroteca.search.tantivy_writer import TantivyWriter

log = logging.getLogger("hemeroteca.search")
COMMIT_EVERY = 50_000  # documents of a long import become findable, and safe, in steps
_UNREADABLE: tuple[type[BaseException], ...] = (SearchError, *ENGINE_ERRORS)
_SAMPLE = 300  # documents from which the language of a collection is told


def rebuild(
    path: Path,
    documents: Iterable[SearchDocument],
    heap_bytes: int = 48 << 20,
    progress: Callable[[int], None] = lambda count: None,
) -> int:
    """Build the index in `path` anew from `documents`; searches use the old one until the new one is complete.

    Documents that were imported stay, as far as the old index can be read: no archive has them.
    """
    count = 0
    documents = chain(documents, _imported(path))

    def fill(writer: TantivyWriter) -> None:
        nonlocal count
        for document in documents:
            writer.put(document, replaces=False)
            count += 1
            if count % 1000 == 0:
                progress(count)

    replace_index(path, fill, heap_bytes)
    progress(count)
    return count


def _imported(path: Path) -> Iterator[SearchDocument]:
    try:
        yield from imported(TantivyIndex(path, any_layout=True))
    except _UNREADABLE as error:
        log.warning("documents that were imported are not kept: %s", error)


class Imported(msgspec.Struct):
    documents: int = 0
    skipped: int = 0
    problems: list[str] = []  # the first few, with their lines
    unnamed: int = 0  # without an id: they have the number of their line
    empty: int = 0  # without title and text


def import_documents(
    index: Index,
    lines: Iterable[bytes],
    heap_bytes: int = 48 << 20,
    progress: Callable[[int], None] = lambda count: None,
    collection: str = "",
) -> Imported:
    """Index documents given as JSON lines `{"id", "url", "title", "text", "lang"}`; one of the same id is replaced.

    Documents without `lang` get the language of the collection when it clearly has one: guessing it for each short
    text would scatter them over languages.
    """
    report = Imported()
    seen = _Seen() if not index.count() else None
    writer = index.writer(heap_bytes, os.cpu_count() or 1)
    try:
        for document in _documents(lines, report, progress, collection):
            writer.put(document, replaces=seen is None or seen.before(document.key))
            if report.documents % COMMIT_EVERY == 0:
                writer.commit()
        writer.commit()
    finally:
        writer.close()
    return report


def leave_documents(
    path: Path,
    lines: Iterable[bytes],
    progress: Callable[[int], None] = lambda count: None,
    collection: str = "",
) -> tuple[Imported, Path]:
    """The same while an engine writes the index in `path`: it takes the documents from the file that is returned."""
    report = Imported()
    left = handover.leave(path, _documents(lines, report, progress, collection))
    return report, left


def take_documents(index: Index, file: Path, heap_bytes: int = 48 << 20) -> None:
    """Put what was left for an engine that is gone."""
    writer = index.writer(heap_bytes, os.cpu_count() or 1)
    try:
        for document in handover.read(file):
            writer.put(document, replaces=True)
        writer.commit()
    finally:
        writer.close()
    file.unlink(missing_ok=True)


class _Seen:
    """Keys that came before in one import, in fixed memory: now and then it takes a new one for an old one."""

    BITS = 1 << 27  # 16 MB; of a million keys 0.4 % are taken for old ones, which costs a needless look

    def __init__(self) -> None:
        self.marks = bytearray(self.BITS // 8)

    def before(self, key: int) -> bool:
        byte, bit = divmod(key % self.BITS, 8)
        known = bool(self.marks[byte] >> bit & 1)
        self.marks[byte] |= 1 << bit
        return known


def _documents(
    lines: Iterable[bytes], report: Imported, progress: Callable[[int], None], collection: str
) -> Iterator[SearchDocument]:
    """Documents of JSON lines; what happens is told to `report`."""
    rows = _read(lines, report)
    sample = list(islice(rows, _SAMPLE))
    language = _common_language(sample)
    for row in chain(sample, rows):
        report.documents += 1
        yield _document(row, language, collection)
        if report.documents % 1000 == 0:
            progress(report.documents)
    progress(report.documents)


def _read(lines: Iterable[bytes], report: Imported) -> Iterator[Row]:
    def problem(number: int, what: str) -> None:
        report.skipped += 1
        if len(report.problems) < 10:
            report.problems.append(f"line {number}: {what}")

    for number, row in collection_files.documents(lines, problem):
        report.unnamed += not (row.id or row.url)
        report.empty += not (row.title or row.text)
        row.id = row.id or row.url or str(number)
        yield row


def _document(row: Row, language: str, collection: str) -> SearchDocument:
    return SearchDocument(
        key=document_key(f"import:{row.id}"),
        id=row.id,
        url=row.url,
        host=_host(row.url),
        title=row.title,
        text=row.text,
        language=written_in(f"{row.title} {row.text}", code_of(row.lang) or language),
        type="text",
        collections=(collection,) if collection else (),
    )


def _common_language(sample: list[Row]) -> str:
    votes = Counter(language_of(f"{row.title} {row.text}") for row in sample if not row.lang)
    if not votes:
        return ""
    language, count = votes.most_common(1)[0]
    if count < 0.6 * sum(votes.values()):
        return ""
    # texts of a few words each say nothing alone, but together they do
    return language or language_of(" ".join(f"{row.title} {row.text}" for row in sample))


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0].lower()

"""What can be done with the index besides searching it: rebuild, import, batch runs, link ranks.

Works on plain values; the caller brings the documents (from the archive) and the place.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import msgspec

from hemeroteca.search import analysis, collection_files, handover
from hemeroteca.search.asked import asked
from hemeroteca.search.collection_files import Row
from hemeroteca.search.document import SearchDocument, document_key
from hemeroteca.search.graph import LinkGraph, LinkRanks, rank_pages_and_hosts
from hemeroteca.search.index import Index, Options, SearchError, Writer
from hemeroteca.search.languages import code_of
from hemeroteca.search.learn import Learner
from hemeroteca.search.matching import imported
from hemeroteca.search.query import asks_for_the_past
from hemeroteca.search.tantivy_index import ENGINE_ERRORS, VERSIONS, TantivyIndex, replace_index
from hemeroteca.search.tantivy_writer import TantivyWriter
from hemeroteca.search.versions import has_versions

log = logging.getLogger("hemeroteca.search")
COMMIT_EVERY = 50_000  # documents of a long import become findable, and safe, in steps
BATCH = Options(group=False, diverse=False, snippets=False, suggest=False, syntax=False)
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


def batch(
    index: Index, queries: Iterable[tuple[str, str]], limit: int, options: Options = BATCH
) -> Iterator[dict[str, object]]:
    """Run queries, given with their ids; a row per result: qid, rank, id, score."""
    for qid, text in queries:
        for rank, hit in enumerate(index.search(text, limit=limit, options=options).hits, 1):
            yield {"qid": qid, "rank": rank, "id": hit.id or hit.url, "score": hit.score}


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


def apply_anchors(index: Index, writer: Writer, graph: LinkGraph) -> int:
    """Put the texts of links into the documents they point at; returns how many changed. The caller commits."""
    changed = 0
    for document, texts in changed_anchors(index, graph):
        document.anchors = texts
        writer.put(document, replaces=True)
        changed += 1
    return changed


def refresh(path: Path, index: Index, seeds: Iterable[int] = (), most: int = 10_000) -> None:
    """What should be done from time to time while pages come in: link ranks and learned words. Seconds, not minutes."""
    LinkGraph(path / "links").compact()
    refresh_ranks(path, seeds)
    learn(path, index, most)


def learn(path: Path, index: Index, most: int = 10_000) -> int:
    """Learn words and what follows them from a sample of the index, for suggestions and spelling."""
    learner = Learner()
    count = 0
    for document in index.sample(most):
        learner.add(document.title, document.text or document.description, document.language)
        count += 1
    learner.write(path / "suggest", asked(path))
    return count


def _own_words(document: SearchDocument) -> set[str]:
    return _words(f"{document.title} {document.headings} {document.anchors} {document.url}")


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower().replace("_", " ")))


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
        language=_written_in(f"{row.title} {row.text}", code_of(row.lang) or language),
        type="text",
        collections=(collection,) if collection else (),
    )


def _written_in(text: str, said: str) -> str:
    """The language a document is said to be in, unless its script is another: then, or when nothing is said, a guess.

    The script decides by which field a document is found, so a wrong label would hide it.
    """
    if said and analysis.fits_script(text, said):
        return said
    guessed = _language(text)
    return guessed if analysis.fits_script(text, guessed) else analysis.language_by_script(text)


def _common_language(sample: list[Row]) -> str:
    votes = Counter(_language(f"{row.title} {row.text}") for row in sample if not row.lang)
    if not votes:
        return ""
    language, count = votes.most_common(1)[0]
    if count < 0.6 * sum(votes.values()):
        return ""
    # texts of a few words each say nothing alone, but together they do
    return language or _language(" ".join(f"{row.title} {row.text}" for row in sample))


def _language(text: str) -> str:
    from resiliparse.parse.lang import detect_fast

    language, distance = detect_fast(text[:5000])
    return language if distance < 1200 and language != "unknown" else ""


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0].lower()

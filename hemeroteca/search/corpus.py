"""Documents imported from files, and queries of files run, as people and test collections have them.

Documents are JSON lines `{"id", "url", "title", "text", "lang"}`; what others call these is understood too: `_id` of
BEIR, `docno`, `doc_id` and `docid` of TREC, ir_datasets and Anserini, `contents`, `body` and `abstract` for the text.
Queries are `qid<TAB>query`, or JSON lines `{"_id", "text"}` as in BEIR. Either may be packed with gzip and may begin
with a byte order mark. A line that cannot be read costs that line only, and bytes that are no UTF-8 only themselves.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from hemeroteca.extract import language
from hemeroteca.ingest.search_document import SearchDocument, document_key
from hemeroteca.search import document_queue
from hemeroteca.search.analysis import code_of, fits_script, language_by_script
from hemeroteca.search.index import HEAP_BYTES, Index
from hemeroteca.search.results import SearchOptions

if TYPE_CHECKING:
    from hemeroteca.search.searcher import Searcher

MAX_LINE = 64 << 20  # bytes; more is no document, and a line is held in memory
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_COMMIT_EVERY = 50_000  # documents of a long import become findable, and safe, in steps
_SAMPLE = 300  # documents from which the usual language of a collection is told …
_MOSTLY = 0.6  # … the part of them that must be in it …
_VOTES = 10  # … and words of those that tell; of fewer, as in lists of names …
_TELLING = 5  # words from which a text tells another language than the usual: French `pour` is English too
_TOGETHER = 5000  # … so many characters are looked at together
RANKING_ONLY = SearchOptions(group=False, diverse=False, snippets=False, suggest=False, syntax=False, loose=True)

Problem = Callable[[int, str], None]  # told the number of a line and what is wrong with it


class CorpusRow(msgspec.Struct):
    id: str  # empty where the file says none
    url: str
    title: str
    text: str
    lang: str


def lines(source: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, unpacked if it is packed; what is beyond `MAX_LINE` in a line is left out."""
    file = io.BufferedReader(source)  # type: ignore[type-var]  # a pipe and a file have what it needs
    unpacked: BinaryIO = gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == _GZIP else file  # type: ignore[assignment]
    while line := unpacked.readline(MAX_LINE):
        yield line
        while len(line) == MAX_LINE and not line.endswith(b"\n"):
            line = unpacked.readline(MAX_LINE)


def documents(lines: Iterable[bytes], problem: Problem) -> Iterator[tuple[int, CorpusRow]]:
    """Documents with the numbers of their lines; `problem` hears of each line that is none."""
    for number, line in _numbered(lines, problem):
        try:
            yield number, _row(line)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            problem(number, str(error))


def queries(lines: Iterable[bytes]) -> list[tuple[str, str]]:
    """Queries with their ids. One without an id has the number of its line (`line-3` where another has that id)."""
    problems: list[str] = []
    read = [(number, *_query(line)) for number, line in _numbered(lines, lambda _, what: problems.append(what))]
    if problems:
        raise ValueError(problems[0])
    given = {qid for _, qid, _ in read}
    found = []
    for number, qid, text in read:
        if not qid:
            qid = str(number) if str(number) not in given else f"line-{number}"
            while qid in given:
                qid += "+"
        found.append((qid, text))
    return found


class _Line(msgspec.Struct, rename={"beir": "_id"}):
    id: str | int | float | None = None
    url: str | None = None
    title: str | None = None
    text: str | None = None
    lang: str | None = None
    # as others have it; any of these may mean something else in somebody's file
    beir: Any = None
    docno: Any = None
    doc_id: Any = None
    docid: Any = None
    contents: Any = None
    body: Any = None
    abstract: Any = None


_decode = msgspec.json.Decoder(_Line).decode


def _numbered(lines: Iterable[bytes], problem: Problem) -> Iterator[tuple[int, bytes]]:
    """Lines that are not empty, with their numbers, as far as the file can be read."""
    number = 0
    try:
        for number, line in enumerate(lines, 1):
            if number == 1:
                line = line.removeprefix(_BYTE_ORDER_MARK)
            if line.strip():
                yield number, line
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        problem(number + 1, f"the packed file is damaged from here on ({error})")


def _row(line: bytes) -> CorpusRow:
    try:
        read = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if isinstance(error, msgspec.ValidationError):
            raise
        read = _decode(_mended(line))
    return CorpusRow(
        id=_first(read.id, read.beir, read.docno, read.doc_id, read.docid),
        url=read.url or "",
        title=read.title or "",
        text=_text(read.text, read.contents, read.body, read.abstract),
        lang=read.lang or "",
    )


def _mended(line: bytes) -> bytes:
    """The same without bytes and halves of characters that are no text."""
    return json.dumps(json.loads(line.decode("utf-8", "replace")), ensure_ascii=False).encode("utf-8", "replace")


def _first(*given: object) -> str:
    return next((str(one) for one in given if isinstance(one, str | int | float) and str(one)), "")


def _text(*given: object) -> str:
    return next((one for one in given if isinstance(one, str) and one), "")


def _query(line: bytes) -> tuple[str, str]:
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    if text.lstrip().startswith("{"):
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):  # a query may begin with a brace
            row = {}
        asked = _text(*(row.get(name) for name in ("text", "query", "title")))
        if asked:
            return _first(*(row.get(name) for name in ("_id", "id", "qid", "query_id"))), asked
    qid, tab, asked = text.partition("\t")
    return (qid.strip(), asked) if tab else ("", text)


class RunLine(msgspec.Struct):
    """A result of one of the queries."""

    qid: str
    rank: int
    id: str
    score: float


def run_queries(
    searcher: Searcher, queries: Iterable[tuple[str, str]], limit: int, options: SearchOptions = RANKING_ONLY
) -> Iterator[RunLine]:
    """The results of queries, given with their ids, as a run of TREC has them: ranking only."""
    for qid, text in queries:
        for rank, hit in enumerate(searcher.search(text, limit=limit, options=options).hits, 1):
            yield RunLine(qid, rank, hit.id or hit.url, hit.score)


class CorpusReport(msgspec.Struct):
    documents: int = 0
    skipped: int = 0
    problems: list[str] = []  # the first few, with their lines
    unnamed: int = 0  # without an id: they have the number of their line
    empty: int = 0  # without title and text


def import_documents(
    index: Index,
    lines: Iterable[bytes],
    heap_bytes: int = HEAP_BYTES,
    progress: Callable[[int], None] = lambda count: None,
    collection: str = "",
) -> CorpusReport:
    """Index documents given as JSON lines `{"id", "url", "title", "text", "lang"}`; one of the same id is replaced."""
    report = CorpusReport()
    seen = _Seen() if not index.count() else None
    with index.writer(heap_bytes, os.cpu_count() or 1) as writer:
        for document in _documents(lines, report, progress, collection):
            writer.put(document, replaces=seen is None or seen.before(document.key))
            if report.documents % _COMMIT_EVERY == 0:
                writer.commit()
        writer.commit()
    return report


def queue_documents(
    path: Path, lines: Iterable[bytes], progress: Callable[[int], None] = lambda count: None, collection: str = ""
) -> tuple[CorpusReport, Path]:
    """The same while an engine writes the index in `path`: it takes the documents from the file that is returned."""
    report = CorpusReport()
    left = document_queue.push(path, _documents(lines, report, progress, collection))
    return report, left


def take_documents(index: Index, file: Path, heap_bytes: int = HEAP_BYTES) -> None:
    """Put what was left for an engine that is gone."""
    with index.writer(heap_bytes, os.cpu_count() or 1) as writer:
        for document in document_queue.read(file):
            writer.put(document, replaces=True)
        writer.commit()
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
    lines: Iterable[bytes], report: CorpusReport, progress: Callable[[int], None], collection: str
) -> Iterator[SearchDocument]:
    """Documents of JSON lines; what happens is told to `report`."""
    rows = _read(lines, report)
    sample = list(islice(rows, _SAMPLE))
    usual = _usual_language(sample)
    for row in chain(sample, rows):
        report.documents += 1
        yield _document(row, usual, collection)
        if report.documents % 1000 == 0:
            progress(report.documents)
    progress(report.documents)


def _read(lines: Iterable[bytes], report: CorpusReport) -> Iterator[CorpusRow]:
    def problem(number: int, what: str) -> None:
        report.skipped += 1
        if len(report.problems) < 10:
            report.problems.append(f"line {number}: {what}")

    for number, row in documents(lines, problem):
        report.unnamed += not (row.id or row.url)
        report.empty += not (row.title or row.text)
        row.id = row.id or row.url or str(number)
        yield row


def _document(row: CorpusRow, usual: str, collection: str) -> SearchDocument:
    return SearchDocument(
        key=document_key(f"import:{row.id}"),
        id=row.id,
        url=row.url,
        host=_host(row.url),
        title=row.title,
        text=row.text,
        language=_language(row, usual),
        type="text",
        collections=(collection,) if collection else (),
    )


def _language(row: CorpusRow, usual: str) -> str:
    """The language a document is said to be in; where none is said, the one it is in, or the usual one if it is short.

    The script decides by which field a document is found, so one that does not fit is not believed.
    """
    text, said = _whole(row), code_of(row.lang)
    if said and fits_script(text, said):
        return said
    told = usual
    if not usual or len(text.split()) >= _TELLING:
        told = language.detect(text) or usual
    return told if fits_script(text, told) else language_by_script(text)


def _usual_language(sample: list[CorpusRow]) -> str:
    """The language of most documents of a collection, for those that are too short to tell; empty: it has several."""
    texts = [_whole(row) for row in sample if not row.lang]
    votes: Counter[str] = Counter()
    for text in texts:
        votes[language.detect(text)] += len(text.split())  # a long one tells more surely
    del votes[""]  # those that say nothing speak for no language
    if votes.total() < _VOTES:
        return language.by_statistics(" ".join(texts)[:_TOGETHER])
    return next((name for name, count in votes.items() if count >= _MOSTLY * votes.total()), "")


def _whole(row: CorpusRow) -> str:
    return f"{row.title} {row.text}"


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0].lower()

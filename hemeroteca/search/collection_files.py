"""Files of documents and of queries as people and test collections have them, line by line.

Documents are JSON lines `{"id", "url", "title", "text", "lang"}`; what others call these is understood too: `_id` of
BEIR, `docno`, `doc_id` and `docid` of TREC, ir_datasets and Anserini, `contents`, `body` and `abstract` for the text.
Queries are `qid<TAB>query`, or JSON lines `{"_id", "text"}` as in BEIR. Either may be packed with gzip and may begin
with a byte order mark. A line that cannot be read costs that line only, and bytes that are no UTF-8 only themselves.
"""

import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

import msgspec

LONGEST_LINE = 64 << 20  # bytes; more is no document, and a line is held in memory
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"

Problem = Callable[[int, str], None]  # told the number of a line and what is wrong with it


class Row(msgspec.Struct):
    id: str  # empty where the file says none
    url: str
    title: str
    text: str
    lang: str


def lines(source: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, unpacked if it is packed; what is beyond `LONGEST_LINE` in a line is left out."""
    file = io.BufferedReader(source)  # type: ignore[type-var]  # a pipe and a file have what it needs
    unpacked: BinaryIO = gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == _GZIP else file  # type: ignore[assignment]
    while line := unpacked.readline(LONGEST_LINE):
        yield line
        while len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            line = unpacked.readline(LONGEST_LINE)


def documents(lines: Iterable[bytes], problem: Problem) -> Iterator[tuple[int, Row]]:
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


def _row(line: bytes) -> Row:
    try:
        read = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if isinstance(error, msgspec.ValidationError):
            raise
        read = _decode(_mended(line))
    return Row(
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

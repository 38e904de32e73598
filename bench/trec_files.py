"""Test collections as they are published, brought into one form: documents.jsonl, queries.tsv, qrels.txt.

What a file is, is told by how it begins:

- documents: JSON lines (this program's, BEIR's, Anserini's), TSV (`id text`, `id title text` or `id url title text`, as
  MS MARCO's), TREC's `<DOC>`, SMART's `.I .T .W` (Cranfield, CISI, CACM, Medline);
- queries: TSV, JSON lines, TREC's `<top>` (its title) and `<topic number=>` (its query), SMART's;
- judgements: TREC's four columns, three columns (with BEIR's header or without), SMART's lists of relevant documents.

Each may be packed with gzip.
"""

import html
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from hemeroteca.search import corpus

Qrels = dict[str, dict[str, int]]

# names of the files in a folder, the surest first
DOCUMENTS = (
    "documents.jsonl*",
    "corpus.jsonl*",
    "docs.jsonl*",
    "collection.tsv*",
    "cran.all*",
    "*.all",
    "*.ALL",
    "docs*",
)
QUERIES = ("queries.tsv*", "queries.jsonl*", "topics*", "*.qry", "*.QRY", "query.text", "queries*")
QRELS = ("qrels.t[sx][tv]*", "qrels/test.tsv*", "qrels/dev.tsv*", "cranqrel*", "*.REL", "*.rel", "qrels*")


class CollectionError(Exception):
    """Says which file cannot be used, and why."""


def bring(sources: list[Path], folder: Path) -> tuple[Path, Path, Path]:
    """Write the collection in a folder, or in three files, to `folder` in the form the bench and the commands take."""
    if len(sources) == 1:
        root = sources[0]
        documents, queries, qrels = (_find(root, names) for names in (DOCUMENTS, QUERIES, QRELS))
    elif len(sources) == 3:
        documents, queries, qrels = sources
    else:
        raise CollectionError("give one folder, or three files: documents, queries and qrels")
    folder.mkdir(parents=True, exist_ok=True)
    judged = read_qrels(_text(qrels))
    asked = _by_number(read_queries(_lines(queries)), judged)
    missing = {doc for qid in asked for doc in judged.get(qid, ())}
    wanted = len(missing)
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as file:
        for row in read_documents(_lines(documents)):
            missing.discard(row["id"])
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    if not wanted:
        raise CollectionError(f"no query of {queries} is judged in {qrels}: are their ids the same?")
    if len(missing) == wanted:
        raise CollectionError(f"no judged document of {qrels} is in {documents}: are their ids the same?")
    if missing:
        print(f"{len(missing):,} of {wanted:,} judged documents are not in {documents.name}")
    _write(folder / "queries.tsv", (f"{qid}\t{' '.join(text.split())}" for qid, text in asked.items()))
    _write(
        folder / "qrels.txt",
        (f"{qid} 0 {doc} {grade}" for qid, grades in judged.items() for doc, grade in grades.items()),
    )
    return folder / "documents.jsonl", folder / "queries.tsv", folder / "qrels.txt"


def read_documents(lines: Iterable[bytes]) -> Iterator[dict[str, str]]:
    first, lines = _peeked(lines)
    if first.startswith(b"<"):
        yield from _trec_documents(lines)
    elif first.startswith(b".I"):
        for identifier, fields in _smart(lines):
            yield {"id": identifier, "title": fields.get("T", ""), "text": fields.get("W", "")}
    elif first.startswith(b"{"):
        for number, row in corpus.documents(lines, _refuse):
            document = {"id": row.id or row.url or str(number), "url": row.url, "title": row.title, "text": row.text}
            yield {name: value for name, value in {**document, "lang": row.lang}.items() if value}
    else:
        for line in lines:
            columns = line.decode("utf-8", "replace").rstrip("\r\n").split("\t")
            if len(columns) > 1:
                yield {"id": columns[0].strip(), "title": columns[-2] if len(columns) > 2 else "", "text": columns[-1]}


def read_queries(lines: Iterable[bytes]) -> dict[str, str]:
    first, lines = _peeked(lines)
    if first.startswith(b".I"):
        return {identifier: fields.get("W") or fields.get("T", "") for identifier, fields in _smart(lines)}
    if first.startswith(b"<"):
        return dict(_trec_topics(b"".join(lines).decode("utf-8", "replace")))
    return dict(corpus.queries(lines))


def read_qrels(text: str) -> Qrels:
    """Judgements by query and document. A list of relevant documents without grades gives each the grade 1."""
    rows = [line.split() for line in text.splitlines()]
    rows = [row for row in rows if len(row) in (3, 4) and _is_number(row[-1])]  # others are headers
    listed = all(len(row) == 4 and row[1] != "0" and not float(row[3]) and row[2] == "0" for row in rows)
    qrels: Qrels = {}
    for row in rows:
        if listed:  # SMART: query, document, nothing, nothing
            qrels.setdefault(_number(row[0]), {})[_number(row[1])] = 1
        else:
            qrels.setdefault(row[0], {})[row[-2]] = int(float(row[-1]))
    return qrels


def _find(root: Path, names: tuple[str, ...]) -> Path:
    if not root.is_dir():
        raise CollectionError(f"{root} is no folder; name one, or three files: documents, queries and qrels")
    for name in names:
        found = sorted(path for path in root.glob(name) if path.is_file())
        if len(found) == 1:
            return found[0]
        if found:
            listed = ", ".join(path.name for path in found)
            raise CollectionError(f"{root} has several files {name} ({listed}); name the three files to use")
    raise CollectionError(f"{root} has none of {', '.join(names)}; name the three files to use")


def _by_number(asked: dict[str, str], judged: Qrels) -> dict[str, str]:
    """Cranfield's queries have ids of their own, while its judgements count them from 1."""
    counted = {str(number) for number in range(1, len(asked) + 1)}
    if set(judged) <= counted and not set(judged) <= set(asked):
        print("the queries are counted from 1, as in the judgements")
        return {str(number): text for number, text in enumerate(asked.values(), 1)}
    return asked


def _trec_documents(lines: Iterable[bytes]) -> Iterator[dict[str, str]]:
    held: list[bytes] = []
    for line in lines:
        held.append(line)
        if b"</DOC>" in line.upper():
            found = b"".join(held).decode("utf-8", "replace")
            held = []
            number = re.search(r"<DOCNO>\s*(.*?)\s*</DOCNO>", found, re.S | re.I)
            if number:
                title = re.search(r"<(TITLE|HEADLINE|HEAD|HL)>(.*?)</\1>", found, re.S | re.I)
                text = re.sub(r"<(DOCNO|DOCID|DOCHDR|TITLE|HEADLINE|HEAD|HL)>.*?</\1>", " ", found, flags=re.S | re.I)
                yield {"id": number[1], "title": _plain(title[2]) if title else "", "text": _plain(text)}


def _trec_topics(text: str) -> Iterator[tuple[str, str]]:
    for topic in re.split(r"(?=<top(?:ic)?[\s>])", text, flags=re.I)[1:]:
        number = re.search(r"""number\s*=\s*["']?(\w+)|<num>\s*(?:Number:)?\s*(\w+)""", topic, re.I)
        asked = re.search(r"<(?:title|query)>\s*(?:Topic:)?([^<]*)", topic, re.I)
        if number and asked:
            yield number[1] or number[2], _plain(asked[1])


def _smart(lines: Iterable[bytes]) -> Iterator[tuple[str, dict[str, str]]]:
    """Entries `.I number` with fields `.T`, `.W` …, each on the lines after its letter."""
    identifier, letter, fields = "", "", dict[str, str]()
    for line in lines:
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if begins := re.match(r"\.I\s*(\S+)", text):
            if identifier:
                yield identifier, fields
            identifier, letter, fields = _number(begins[1]), "", {}
        elif re.fullmatch(r"\.[A-Z]\s*", text):
            letter = text[1]
        elif letter:
            fields[letter] = f"{fields.get(letter, '')} {text}".strip()
    if identifier:
        yield identifier, fields


def _plain(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup)).split())


def _number(identifier: str) -> str:
    return str(int(identifier)) if identifier.isdecimal() else identifier


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None


def _peeked(lines: Iterable[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The beginning of the first line that is not empty, and the lines from there."""
    rest = iter(lines)
    for line in rest:
        line = line.removeprefix(b"\xef\xbb\xbf")
        if line.strip():
            return line.lstrip(), chain((line,), rest)
    return b"", iter(())


def _lines(file: Path) -> Iterator[bytes]:
    try:
        source = file.open("rb")
    except OSError as error:
        raise CollectionError(f"{file} cannot be read ({error.strerror})")
    with source:
        yield from corpus.lines(source)


def _text(file: Path) -> str:
    return b"".join(_lines(file)).decode("utf-8-sig", "replace")


def _refuse(number: int, what: str) -> None:
    raise CollectionError(f"line {number} of the documents: {what}")


def _write(file: Path, lines: Iterable[str]) -> None:
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

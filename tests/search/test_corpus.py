"""Files of documents and queries: as this program has them, as test collections have them, and broken ones."""

import gzip
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.ingest.search_document import document_key
from hemeroteca.search import corpus
from hemeroteca.search.corpus import CorpusRow, documents, queries


def read(*lines: bytes) -> tuple[list[CorpusRow], list[int]]:
    problems: list[int] = []
    rows = [row for _, row in documents(lines, lambda number, _: problems.append(number))]
    return rows, problems


@pytest.mark.parametrize(
    ("line", "identifier", "text"),
    [
        (b'{"id": "a", "text": "pan"}', "a", "pan"),
        (b'{"id": 0, "text": "pan"}', "0", "pan"),
        (b'{"id": 3.5, "text": "pan"}', "3.5", "pan"),
        (b'{"id": null, "url": null, "title": null, "lang": null, "text": "pan"}', "", "pan"),
        (b'{"_id": "4983", "title": "", "text": "pan", "metadata": {"year": 1999}}', "4983", "pan"),
        (b'{"docno": "FT911-3", "text": "pan"}', "FT911-3", "pan"),
        (b'{"id": "doc1", "contents": "pan"}', "doc1", "pan"),
        (b'{"doc_id": "7", "abstract": "pan", "body": {"html": "<p>"}}', "7", "pan"),
        (b'{"id": "a", "text": "pan", "body": ["other"]}', "a", "pan"),
        (b'{"id": "a", "text": "pan \xff\xfe"}', "a", "pan ��"),
        (rb'{"id": "a", "text": "pan \ud800"}', "a", "pan ?"),
    ],
)
def test_names_and_kinds_of_fields(line, identifier, text):
    rows, problems = read(line)
    assert [(row.id, row.text) for row in rows] == [(identifier, text)]
    assert problems == []


def test_lines_that_are_no_documents_cost_only_themselves():
    deep = b'{"id": ' + b"[" * 100_000
    rows, problems = read(b"{}\n", b"[1]\n", b'"a"\n', b"a\n", b"\n", deep, b'{"text": {"a": 1}}\n', b'{"id": "z"}\n')
    assert [row.id for row in rows] == ["", "z"]
    assert problems == [2, 3, 4, 6, 7]


def test_a_byte_order_mark_is_no_part_of_the_first_line():
    assert read(b'\xef\xbb\xbf{"id": "a"}\r\n')[0][0].id == "a"
    assert queries([b"\xef\xbb\xbf1\tpan\r\n"]) == [("1", "pan")]


def test_queries_are_tab_separated_or_json():
    assert queries([b" 1 \tpan\tqueso\n", b"\n", b'{"_id": "q2", "text": "sopa", "metadata": {}}\n']) == [
        ("1", "pan\tqueso"),
        ("q2", "sopa"),
    ]
    assert queries([b'{"query_id": 0, "query": "sopa"}\n', b"{no json\n", b'{"a": 1}\n']) == [
        ("0", "sopa"),
        ("2", "{no json"),
        ("3", '{"a": 1}'),
    ]


def test_a_query_without_an_id_gets_one_of_its_own():
    asked = [b"2\tpan\n", b"pan\n", b"line-2\tpan\n", b"pan\n", b"\tpan\n"]
    assert [qid for qid, _ in queries(asked)] == ["2", "line-2+", "line-2", "4", "5"]


def test_packed_files_are_unpacked():
    plain = b'{"id": "a"}\n{"id": "b"}'
    for file in (plain, gzip.compress(plain)):
        assert list(corpus.lines(io.BytesIO(file))) == [b'{"id": "a"}\n', b'{"id": "b"}']
    assert list(corpus.lines(io.BytesIO(b""))) == []


def test_a_damaged_packed_file_gives_what_can_be_read():
    packed = gzip.compress(b"".join(b'{"id": "%d"}\n' % number for number in range(20_000)))
    problems: list[int] = []
    lines = corpus.lines(io.BytesIO(packed[: len(packed) // 2]))
    rows = [row for _, row in documents(lines, lambda number, _: problems.append(number))]
    assert [row.id for row in rows] == [str(number) for number in range(len(rows))]
    assert problems == [len(rows) + 1]
    with pytest.raises(ValueError, match="damaged"):
        queries(corpus.lines(io.BytesIO(packed[: len(packed) // 2])))


def test_a_line_without_end_is_not_held_whole(monkeypatch):
    monkeypatch.setattr(corpus, "MAX_LINE", 10)
    assert list(corpus.lines(io.BytesIO(b"x" * 35 + b"\n0123456789\nend"))) == [
        b"x" * 10,
        b"0123456789",
        b"end",
    ]


@given(st.lists(st.binary(max_size=60)))
def test_whatever_the_lines_are(lines):
    assert len(read(*lines)[0]) <= len(lines)
    assert len(queries(lines)) <= len(lines)


ENGLISH = (
    "compact memories of the computer have flexible capacities",
    "a study of the flow past a wing at high speed",
    "transistor circuits for the reception of signals",
    "C library, J bindings",  # says nothing, or French by its letters
    "Dielectric constant: liquids",
)
SPANISH = ("los circuitos que amplifican las señales de la radio", "una memoria para el ordenador con más capacidad")


@pytest.fixture
def languages(indexed):
    """Of documents that are imported as a collection, in their order."""

    def imported(*texts: str, **fields: str) -> list[str]:
        index = indexed().index
        lines = [json.dumps({"id": at, "text": text, **fields}).encode() for at, text in enumerate(texts)]
        corpus.import_documents(index, lines)
        return [index.get(document_key(f"import:{at}")).language for at in range(len(texts))]

    return imported


def test_texts_that_do_not_tell_are_in_the_language_of_the_others(languages):
    assert languages(*ENGLISH) == ["en"] * 5


def test_each_text_is_in_the_language_it_is_clearly_in(languages):
    assert languages(*ENGLISH, SPANISH[0], *ENGLISH, SPANISH[1]) == ["en"] * 5 + ["es"] + ["en"] * 5 + ["es"]


def test_texts_in_capitals_are_in_a_language_too(languages):
    assert languages(*(text.upper() for text in (*ENGLISH[:3], SPANISH[0]))) == ["en"] * 3 + ["es"]


def test_names_are_in_the_language_of_those_that_tell(languages):
    names = ["ruido", "antena", "señal", "onda", "memoria", "puentes"] * 5
    told = ["quality of the water", "protection of the birds", "loss of habitat by fire and flood"]
    assert set(languages(*names, *told)) == {"en"}


def test_names_that_say_nothing_alone_tell_together(languages):
    names = "Wasserverschmutzung Luftreinhaltung Abfallbeseitigung Naturschutzgebiet Gewässerschutz Lärmbelästigung"
    assert set(languages(*names.split() * 3)) == {"de"}


def test_a_language_that_is_said_is_believed_if_the_script_fits(languages):
    assert languages("Amplifier noise", lang="German") == ["de"]
    assert languages("los circuitos que amplifican las señales", lang="ja") == ["es"]

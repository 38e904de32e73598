"""Collections as they are published: each of these small ones says the same in another form."""

import gzip
import json

import pytest

from bench import trec, trec_files

BEIR = {
    "corpus.jsonl": '{"_id": "1", "title": "Wings", "text": "lift of a wing"}\n'
    '{"_id": "2", "title": "", "text": "heat", "metadata": {}}\n',
    "queries.jsonl": '{"_id": "q1", "text": "wing lift"}\n{"_id": "of training", "text": "heat"}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\t1\t2\nq1\t2\t0\n",
}
OURS = {
    "documents.jsonl": '{"id": 1, "title": "Wings", "text": "lift of a wing"}\n{"id": 2, "text": "heat"}\n',
    "queries.tsv": "q1\twing lift\n",
    "qrels.txt": "q1 0 1 2\nq1 0 2 0\n",
}
TREC = {
    "docs.trec": "<DOC>\n<DOCNO> 1 </DOCNO>\n<TITLE>Wings</TITLE>\n<TEXT>lift of\n<b>a</b> wing</TEXT>\n</DOC>\n"
    "<doc><docno>2</docno><text>heat</text></doc>\n",
    "topics.txt": "<top>\n<num> Number: q1\n<title> wing\nlift\n<desc> Description:\nWhat lifts?\n</top>\n",
    "qrels.adhoc": "q1 Q0 1 2\nq1 Q0 2 0\n",
}
TREC_XML = {
    **TREC,
    "topics.txt": '<topics><topic number="q1"><query>wing lift</query><question>What?</question></topic></topics>',
}
MS_MARCO = {
    "collection.tsv": "1\thttp://x.test/\tWings\tlift of a wing\n2\t\t\theat\n",
    "queries.tsv": OURS["queries.tsv"],
    "qrels.txt": OURS["qrels.txt"],
}


@pytest.mark.parametrize("files", [BEIR, OURS, TREC, TREC_XML, MS_MARCO])
@pytest.mark.parametrize("packed", [False, True])
def test_every_form_says_the_same(tmp_path, files, packed):
    documents, queries, qrels = brought(tmp_path, files, packed)
    rows = [json.loads(line) for line in documents.read_text().splitlines()]
    assert [(row["id"], row.get("title", ""), row["text"]) for row in rows] == [
        ("1", "Wings", "lift of a wing"),
        ("2", "", "heat"),
    ]
    assert queries.read_text().startswith("q1\twing lift\n")
    assert qrels.read_text() == "q1 0 1 2\nq1 0 2 0\n"


SMART = {
    "cran.all.1400": ".I 1\n.T\nwings\n.A\nbrown,j.\n.B\nj. 1958\n.W\nlift of\na wing\n.I 2\n.T\nheat\n.A\n.B\n.W\n\n",
    "cran.qry": ".I 001\n.W\nwing\nlift\n.I 004\n.W\nheat\n",
    "cranqrel": "1 1 2\n1 2 -1\n2 2 1\n",
}


def test_cranfield_counts_its_queries_in_the_judgements(tmp_path):
    documents, queries, qrels = brought(tmp_path, SMART)
    assert json.loads(documents.read_text().splitlines()[0]) == {"id": "1", "title": "wings", "text": "lift of a wing"}
    assert queries.read_text() == "1\twing lift\n2\theat\n"
    assert qrels.read_text().splitlines()[-1] == "2 0 2 1"


def test_a_list_of_relevant_documents_has_the_grade_one():
    assert trec_files.read_qrels("01 1410  0 0\n02 0007 0 0.000000\n") == {"1": {"1410": 1}, "2": {"7": 1}}
    assert trec_files.read_qrels("1 0 3 0\n") == {"1": {"3": 0}}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"qrels/test.tsv": "q1\tother\t1\n"}, "no judged document"),
        ({"qrels/test.tsv": "other\t1\t1\n"}, "no query"),
        ({"corpus.jsonl": "{broken\n"}, "line 1"),
        ({"queries.jsonl": None}, "has none of queries.tsv"),
        ({"corpus.jsonl.gz": "x"}, "several files"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path, change, reason):
    with pytest.raises(trec_files.CollectionError, match=reason):
        brought(tmp_path, {name: text for name, text in {**BEIR, **change}.items() if text is not None})


def test_a_folder_is_measured(tmp_path, capsys):
    source = tmp_path / "beir"
    write(source, BEIR)
    found = {row["engine"]: row["ndcg10"] for row in trec.main([str(source)])}
    assert found == {"plain BM25": 1.0, "BM25, Lucene's english": 1.0, "hemeroteca": 1.0}
    assert "hemeroteca / plain BM25: 1.000" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        trec.main([str(tmp_path / "none")])
    assert "is no folder" in capsys.readouterr().err


def brought(tmp_path, files, packed=False):
    write(tmp_path / "published", files, packed)
    return trec_files.bring([tmp_path / "published"], tmp_path / "brought")


def write(folder, files, packed=False):
    for name, text in files.items():
        file = folder / (f"{name}.gz" if packed else name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(text.encode()) if packed else text.encode())

"""A small judged collection: questions people ask, in Spanish and English, with typos; the answers they expect.

The measure is nDCG@10, against plain BM25 of the same engine. A change of analysis or weights that makes results worse
shows here before anybody sees it.
"""

import json

import pytest

from bench.trec import evaluate, plain
from hemeroteca.search import corpus, maintenance
from hemeroteca.search.results import SearchOptions
from hemeroteca.search.searcher import open_searcher
from hemeroteca.search.suggest.suggester import Suggester
from tests.search.judged import DOCUMENTS, JUDGEMENTS, TYPOS

QUERIES = {f"q{i}": query for i, (query, _) in enumerate(JUDGEMENTS)}
QRELS = {f"q{i}": dict(relevant) for i, (_, relevant) in enumerate(JUDGEMENTS)}


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    file = folder / "documents.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in DOCUMENTS), "utf-8")
    searcher = open_searcher(None, folder / "index")
    with file.open("rb") as lines:
        corpus.import_documents(searcher.index, lines)
    maintenance.learn(folder / "index", searcher.index)
    return folder, file, searcher


def test_it_is_no_worse_than_plain_bm25_and_better_on_average(collection):
    folder, file, searcher = collection
    run = {
        qid: [hit.id for hit in searcher.search(query, 100, options=corpus.RANKING_ONLY).hits]
        for qid, query in QUERIES.items()
    }
    ours, reference = evaluate(run, QRELS), evaluate(plain(file, QUERIES, folder / "plain"), QRELS)
    assert ours.ndcg10 > reference.ndcg10 * 1.05
    assert ours.map > reference.map
    assert ours.ndcg10 > 0.85


@pytest.mark.parametrize(("typed", "meant", "first"), TYPOS, ids=[typo[0] for typo in TYPOS])
def test_typos_are_understood(collection, typed, meant, first):
    folder, _, searcher = collection
    corrected = Suggester.load(folder / "index" / "suggest").correct(typed)
    assert corrected.lower() == meant
    assert searcher.search(corrected, options=SearchOptions()).hits[0].id == first


def test_the_measures_are_those_of_trec():
    run = {"1": ["a", "b", "c"], "2": ["x"]}
    quality = evaluate(run, {"1": {"b": 1, "z": 1}, "2": {"x": 2}})
    assert quality.mrr == pytest.approx((1 / 2 + 1) / 2)
    assert quality.map == pytest.approx((1 / 2 / 2 + 1) / 2)
    assert quality.ndcg10 == pytest.approx(((1 / 1.58496) / (1 + 1 / 1.58496) + 1) / 2, rel=1e-4)

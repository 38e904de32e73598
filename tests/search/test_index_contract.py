"""What every engine behind `search.Index` must do, asked of each; an index in memory says what is right.

A new engine is added to `ENGINES` and must pass all of it.
"""

import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.search.index import Index, open_index
from hemeroteca.search.index import document_fields as fields
from hemeroteca.search.index import expressions as q
from hemeroteca.search.results import SearchOptions
from hemeroteca.search.searcher import Searcher
from tests.search.memory_index import MemoryIndex

ENGINES: dict[str, Callable[[Path], Index]] = {
    "tantivy": lambda path: open_index(None, path),
    "memory": lambda path: MemoryIndex(),
}
WORDS = ["agua", "aguas", "fuego", "tierra", "aire", "cielo", "mar", "7", "70", "1869"]
DAY = 86_400_000
WORDS_FIELD, PAIRS_FIELD = fields.BODIES["words"], fields.BODIES["pairs"]


def pages() -> list[SearchDocument]:
    dice = random.Random(3)
    found = []
    for key in range(-20, 20):
        host = dice.choice(["www.example.org", "example.org", "otro.test"])
        found.append(
            SearchDocument(
                key=key,
                url=f"https://{host}/{dice.choice(WORDS)}/{key}",
                host=host,
                title=" ".join(dice.choices(WORDS, k=2)),
                text=" ".join(dice.choices(WORDS, k=dice.randint(0, 12))),
                anchors=dice.choice(["", "fuego aire"]),
                language=dice.choice(["es", "en", ""]),
                type=dice.choice(["html", "pdf"]),
                collections=tuple(dice.sample(["Prensa", "Mi colección"], dice.randint(0, 2))),
                captured_ms=dice.randint(0, 1000) * DAY,
                published_ms=dice.choice([0, 900 * DAY]),
                page=dice.choice([0, 5]),
                simhash=dice.randint(1, (1 << 64) - 1),
            )
        )
    return [*found, SearchDocument(key=99, url="", text="国家图书馆", language="zh", host="zh.test")]


PAGES = pages()


@pytest.fixture(params=ENGINES)
def index(request, tmp_path) -> Index:
    return ENGINES[request.param](tmp_path)


@pytest.fixture(scope="module", params=ENGINES)
def filled(request, tmp_path_factory) -> Index:
    return put(ENGINES[request.param](tmp_path_factory.mktemp(request.param)), *PAGES)


@pytest.fixture(scope="module")
def oracle() -> Index:
    return put(MemoryIndex(), *PAGES)


def put(index: Index, *documents: SearchDocument) -> Index:
    with index.writer(15 << 20) as writer:
        for document in documents:
            writer.put(document)
        writer.commit()
    return index


def keys(index: Index, query: q.Query) -> set[int]:
    reader = index.reader()
    found = reader.search(query, 100)
    assert found.total == len(found.best)
    return set(reader.columns(("key",), [match.place for match in found.best])["key"].tolist())


def score(index: Index, query: q.Query, key: int) -> float:
    return index.reader().search(q.all_of((query, q.KeysQuery((key,)))), 1).best[0].score


def test_nothing_is_found_before_a_commit_and_nothing_uncommitted_stays(index):
    writer = index.writer(15 << 20)
    before = index.reader().generation
    writer.put(PAGES[0])
    assert index.count() == 0
    writer.commit()
    assert index.count() == 1
    assert index.reader().generation != before
    assert index.reader().generation == index.reader().generation
    writer.put(PAGES[1])
    writer.close()
    assert index.count() == 1


def test_a_document_comes_back_as_it_was_put(filled):
    for page in PAGES:
        kept = filled.get(page.key)
        assert kept == (page if page.simhash else msgspec.structs.replace(page, simhash=kept.simhash))
    assert filled.get(12345) is None


def test_a_document_put_again_replaces_itself_and_a_deleted_one_is_gone(index):
    put(index, PAGES[0], msgspec.structs.replace(PAGES[0], text="nuevo"), PAGES[1])
    assert index.count() == 2
    assert index.get(PAGES[0].key).text == "nuevo"
    with index.writer(15 << 20) as writer:
        writer.delete(PAGES[0].key)
        writer.commit()
    assert (index.count(), index.get(PAGES[0].key)) == (1, None)
    assert keys(index, q.AllQuery()) == {PAGES[1].key}


field_terms = st.one_of(
    st.builds(q.TermQuery, st.sampled_from([WORDS_FIELD, "title", "anchor", "url"]), st.sampled_from(WORDS)),
    st.builds(q.TermQuery, st.just("site"), st.sampled_from(["org", "example.org", "www.example.org"])),
    st.builds(q.TermQuery, st.just("collection"), st.sampled_from(["Prensa", "Mi colección", "prensa"])),
    st.just(q.TermQuery(PAIRS_FIELD, "图书")),
    st.just(q.TermQuery("page", 5)),
)
leaves = st.one_of(
    field_terms,
    st.builds(
        lambda field, one, gap, other: q.PhraseQuery(field, ((0, one), (gap, other))),
        st.sampled_from([WORDS_FIELD, "title"]),
        st.sampled_from(WORDS),
        st.integers(1, 3),
        st.sampled_from(WORDS),
    ),
    st.builds(q.WildcardQuery, st.just(WORDS_FIELD), st.sampled_from(["agu*", "a?re", "*ar", "t*a", "7*", "x*"])),
    st.builds(q.NumberQuery, st.just(WORDS_FIELD), st.integers(0, 60), st.integers(60, 2000)),
    st.builds(q.FuzzyQuery, st.just(WORDS_FIELD), st.sampled_from(["augua", "fueg", "mara"]), st.integers(1, 2)),
    st.builds(
        q.RangeQuery,
        st.sampled_from(["captured", "published", "until", "year", "key"]),
        st.none() | st.integers(-10, 800).map(lambda day: day * DAY),
        st.none() | st.integers(-10, 1000).map(lambda day: day * DAY),
    ).filter(lambda query: query.low is not None or query.high is not None),
    st.builds(q.KeysQuery, st.lists(st.integers(-25, 25), max_size=5).map(tuple)),
    st.just(q.AllQuery()),
    st.just(q.NoneQuery()),
)


def _combined(inner: st.SearchStrategy[q.Query]) -> st.SearchStrategy[q.Query]:
    some = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(
        st.builds(lambda a, b, c: q.BooleanQuery(must=a, should=b, must_not=c), some, some, some),
        st.builds(q.BestQuery, st.lists(inner, min_size=1, max_size=3).map(tuple), st.just(0.25)),
        st.builds(q.BoostQuery, inner, st.just(2.5)),
        st.builds(q.ConstantQuery, inner, st.just(3.0)),
    )


@settings(max_examples=200)
@given(st.recursive(leaves, _combined, max_leaves=8))
def test_a_query_finds_what_reading_everything_finds(filled, oracle, query):
    wanted = keys(oracle, query)
    assert keys(filled, query) == wanted
    assert list(filled.keys(query)) == sorted(wanted)
    assert set(filled.reader().scores([query], [*range(-5, 5)])) == wanted & {*range(-5, 5)}


@settings(max_examples=60)
@given(field_terms, field_terms)
def test_scores_add_up_are_multiplied_and_the_best_counts(filled, one, other):
    both = keys(filled, q.all_of((one, other)))
    for key in sorted(both)[:3]:
        first, second = score(filled, one, key), score(filled, other, key)
        near = pytest.approx
        assert score(filled, q.BooleanQuery(should=(one, other)), key) == near(first + second, rel=1e-5)
        assert score(filled, q.BoostQuery(one, 2.5), key) == near(2.5 * first, rel=1e-5)
        assert score(filled, q.ConstantQuery(one, 7.0), key) == near(7.0)
        best = max(first, second) + 0.25 * min(first, second)
        assert score(filled, q.BestQuery((one, other), 0.25), key) == near(best, rel=1e-5)
        assert filled.reader().scores([one, other], [key]) == {key: near(first + second, rel=1e-5)}
        assert filled.reader().score_table([one, q.NoneQuery(), other], [key, 1 << 40]) == near(
            np.array([[first, 0], [0, 0], [second, 0]]), rel=1e-5
        )


@given(field_terms, st.sets(st.sampled_from([page.key for page in PAGES]), min_size=1))
def test_only_documents_asked_about_have_scores(filled, word, asked):
    """Be there more documents with the word than are asked about, or fewer."""
    expected = {key: pytest.approx(score(filled, word, key), rel=1e-5) for key in keys(filled, word) & asked}
    assert filled.reader().scores([word], sorted(asked)) == expected


def test_of_no_documents_there_are_no_scores(filled):
    assert filled.reader().scores([q.AllQuery()], []) == {}
    assert filled.reader().score_table([q.AllQuery()], []).shape == (1, 0)


def test_two_words_may_stand_apart_in_either_order_by_the_slop(filled, oracle):
    for slop in (1, 2, 5):
        query = q.PhraseQuery(WORDS_FIELD, ((0, "agua"), (1, "mar")), slop)
        assert keys(filled, query) == keys(oracle, query)


def test_results_come_in_the_order_of_a_column_or_of_their_scores(filled, oracle):
    reader = filled.reader()
    for by in ("captured", "published", "key"):
        for descending in (True, False):
            found = reader.search(q.AllQuery(), 10, by=by, descending=descending).best
            values = reader.columns((by,), [match.place for match in found])[by].tolist()
            assert values == sorted([fields.numbers(page)[by] for page in PAGES], reverse=descending)[:10]
    scores = [match.score for match in reader.search(q.TermQuery(WORDS_FIELD, "agua"), 50).best]
    assert scores == sorted(scores, reverse=True)
    assert reader.search(q.AllQuery(), 3, count=False).total == 0


def test_columns_have_every_number_of_a_document(filled):
    reader = filled.reader()
    places = [match.place for match in reader.search(q.AllQuery(), 100).best]
    columns = reader.columns(fields.NUMBERS, places)
    for at, place in enumerate(places):
        numbers = fields.numbers(reader.read(place))
        assert {name: int(column[at]) for name, column in columns.items()} == {"year": 0} | numbers
    assert reader.columns(("key",), [])["key"].tolist() == []


def test_facets_frequencies_terms_and_averages_are_counted(filled, oracle):
    ours, right = filled.reader(), oracle.reader()
    for query in (q.AllQuery(), q.TermQuery(WORDS_FIELD, "fuego"), q.NoneQuery()):
        found, wanted = ours.facets(query, fields.FACETS, 10), right.facets(query, fields.FACETS, 10)
        assert {name: dict(values) for name, values in found.items()} == {n: dict(v) for n, v in wanted.items()}
    for field in (WORDS_FIELD, "title", "host", "language", "collection"):
        assert ours.terms(field) == right.terms(field)
        assert ours.terms(field, "a", 2) == right.terms(field, "a", 2)
        for term, count in right.terms(field):
            assert ours.frequency(field, term) == count
    assert ours.frequency(WORDS_FIELD, "nunca") == 0
    assert ours.average("length") == pytest.approx(right.average("length"))
    assert ours.documents == len(PAGES)


def test_versions_of_a_page_come_oldest_first(filled):
    wanted = sorted(page.captured_ms for page in PAGES if (page.page or page.key) == 5)
    assert [page.captured_ms for page in filled.versions(5)] == wanted


def test_a_sample_is_spread_over_the_documents(filled):
    assert {page.key for page in filled.sample(len(PAGES))} == {page.key for page in PAGES}
    assert 5 <= len(list(filled.sample(10))) <= 20


def test_a_score_is_explained(filled):
    query = q.TermQuery(WORDS_FIELD, "agua")
    reader = filled.reader()
    match = reader.search(query, 1).best[0]
    assert reader.explain(query, match.place)["value"] == pytest.approx(match.score, rel=1e-4)


@pytest.mark.parametrize(
    "query",
    [
        "agua",
        "agua fuego",
        '"agua fuego"',
        "agua -mar",
        "agu* OR cielo",
        "site:example.org mar",
        "intitle:aire",
        "图书馆",
    ],
)
def test_what_people_type_finds_the_same_in_every_engine(filled, oracle, tmp_path, query):
    everything = SearchOptions(group=False, diverse=False, facets=True)
    found, wanted = (
        Searcher(index, tmp_path).search(query, limit=100, options=everything) for index in (filled, oracle)
    )
    assert {hit.key: hit.snippet for hit in found.hits} == {hit.key: hit.snippet for hit in wanted.hits}
    assert found.total == wanted.total
    assert dict(found.facets["host"]) == dict(wanted.facets["host"])

"""Meaning of words: vectors of texts, what they change in the order, and what they leave alone."""

import re
import socket
from itertools import chain

import msgspec
import numpy as np
import pytest

from hemeroteca.search import word_vectors
from hemeroteca.search.ranking import DEFAULT
from hemeroteca.search.results import SearchOptions

from .conftest import page

ALL = SearchOptions(group=False, diverse=False)


@pytest.fixture
def vectors():
    found = word_vectors.load()
    assert found is not None, "the package `wordllama` is not installed"
    return found


def near(vectors, one, other, language="en"):
    return float(vectors.of(one, language) @ vectors.of(other, language))


def test_texts_about_the_same_thing_are_near_each_other(vectors):
    assert near(vectors, "repair of a car engine", "fixing the motor of an automobile") > 0.5
    assert near(vectors, "repair of a car engine", "baking bread at home") < 0.3
    assert near(vectors, "libros antiguos", "bibliotecas y lectura", "es") > near(
        vectors, "libros antiguos", "motor de un coche", "es"
    )


def test_vectors_come_from_files_and_ask_nobody(monkeypatch):
    def refuse(*_):
        raise AssertionError("somebody was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    word_vectors.load.cache_clear()
    assert word_vectors.load().of("ship", "en") is not None


def test_words_are_cut_into_the_pieces_that_were_learned_first():
    pieces = {piece: at for at, piece in enumerate(["▁", "l", "o", "w", "e", "r", "lo", "▁lo", "we", "er", "▁low"])}
    cut = word_vectors.WordVectors(pieces, np.zeros((len(pieces), 2), dtype="<f2"))._cut
    assert cut("lower") == (pieces["▁lo"], pieces["we"], pieces["r"])
    assert cut("low") == (pieces["▁low"],)
    assert cut("xlo") == (pieces["▁"], pieces["lo"])  # a letter nobody knows is left out


def test_a_text_of_stop_words_other_scripts_or_a_few_words_over_and_over_says_nothing(vectors):
    assert vectors.of("the of and", "en") is None
    assert vectors.of("美術館の歴史", "ja") is None
    assert vectors.of("pastillas baratas " * 50, "es") is None
    assert vectors.of("x" * 3000, "en") is None
    honest = re.findall(
        "[a-z]+", "harbour ship captain sail storm island letter window garden river market bread forest"
    )
    assert vectors.of(" ".join(f"pills {word}" for word in 3 * honest), "en") is None
    assert vectors.of(" ".join(["pills", *honest]), "en") is not None
    assert vectors.of("", "") is None


def test_vectors_do_not_change_when_there_is_no_more_room_for_words(vectors, monkeypatch):
    texts = [f"ship sea harbour sail {word} captain" for word in re.findall(r"\w+", socket.__doc__)[:60]]
    roomy = [vectors.of(text, "en") for text in texts]
    monkeypatch.setattr(word_vectors, "_REMEMBERED", 40)
    monkeypatch.setattr(word_vectors, "_MAX_NEW", 20)
    cramped = word_vectors.WordVectors(vectors._pieces, vectors._table)
    for text, wanted in zip(texts, roomy, strict=True):
        assert np.allclose(cramped.of(text, "en"), wanted, atol=1e-6)
        assert len(cramped._met.words["en"]) <= 40


def test_signs_beyond_ascii_belong_to_no_word(vectors):
    assert np.allclose(vectors.of("“Ships” — l’eau… ÉTÉ", "fr"), vectors.of("ships l'eau... été", "fr"), atol=1e-6)


@pytest.mark.parametrize(
    "query", ["mod_perl", "use of --quiet", "COVID-19 vaccine", "apt-get install", "美術館 history"]
)
def test_codes_and_other_scripts_mean_only_themselves(vectors, query):
    assert vectors.of_query(query.split()) is None


def test_a_code_in_a_long_query_lowers_what_its_words_mean(vectors):
    plain, coded = (
        "boundary layer flow over flat plate with heat transfer",
        "boundary layer flow at 300 degrees with heat",
    )
    assert vectors.of_query(plain.split())[1] == 1
    assert 0 < vectors.of_query(coded.split())[1] < 1
    assert vectors.of_query(["three-dimensional", "high-speed", "boundary-layer", "flow"])[1] == 1


def test_of_pages_with_the_same_words_the_one_about_the_subject_of_the_query_comes_first(indexed):
    searcher = indexed(
        page(1, "The bank of our family: an old wooden bench where grandmother rested under trees", "en"),
        page(2, "The bank of our family: an old institution where grandmother borrowed money and paid loans", "en"),
    )
    searcher.weights = msgspec.structs.replace(DEFAULT, meaning=0.0)
    before = {hit.key: hit.score for hit in searcher.search("bank credit finance", options=ALL).hits}
    searcher.weights = DEFAULT
    hits = searcher.search("bank credit finance", options=ALL).hits
    assert [hit.key for hit in hits] == [2, 1]
    assert hits[0].score / before[2] > hits[1].score / before[1] >= 1


def test_the_part_of_meaning_is_explained(indexed):
    searcher = indexed(page(1, "loans and credit of a bank", "en"), page(2, "a bank of sand", "en"))
    (first, *_) = searcher.search("bank money", options=ALL).hits
    why = searcher.explain("bank money", first.key)
    assert why.factors["meaning"] > 1
    assert why.score == pytest.approx(first.score)


@pytest.mark.parametrize("query", ['"bank money"', "bank site:example.org", "bank -sand", "title:bank"])
def test_what_is_quoted_left_out_or_looked_for_in_a_field_is_ordered_by_words_alone(indexed, query):
    searcher = indexed(page(1, "loans and bank money", "en", title="bank"), page(2, "a bank of sand", "en"))
    found = searcher.search(query, options=ALL).hits
    searcher.weights = msgspec.structs.replace(DEFAULT, meaning=0.0)
    assert [hit.score for hit in searcher.search(query, options=ALL).hits] == [hit.score for hit in found]


def test_candidates_that_are_not_compared_stay_behind_and_pages_of_results_fit_together(indexed):
    words = re.findall(r"\w+", "money loan credit river sand water tree wood stone paper ink glass")
    searcher = indexed(
        *(page(i, f"bank {words[i % 12]} {words[i * 5 % 12]} " + "word " * (i % 7), "en") for i in range(1, 90))
    )
    cursor, seen = "", []
    while True:
        found = searcher.search("bank money", cursor=cursor, options=ALL)
        seen.append([hit.key for hit in found.hits])
        cursor = found.cursor
        if not cursor:
            break
    keys = list(chain.from_iterable(seen))
    assert sorted(keys) == list(range(1, 90))
    scores = [hit.score for hit in searcher.search("bank money", limit=89, options=ALL).hits]
    assert scores == sorted(scores, reverse=True)


def test_without_the_package_words_alone_decide(indexed, monkeypatch):
    monkeypatch.setattr(word_vectors, "load", lambda: None)
    searcher = indexed(page(1, "bank of sand", "en"))
    assert "meaning" not in searcher.explain("bank money", 1).factors

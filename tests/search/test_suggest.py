"""Completion, next words and spelling, learned from nothing but the texts given."""

import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.search.suggest.model import Bounds, Learner, fold
from hemeroteca.search.suggest.query_log import LoggedQuery
from hemeroteca.search.suggest.suggester import Suggester, distance

SPANISH = """La biblioteca nacional conserva periódicos antiguos. La hemeroteca municipal guarda periódicos antiguos y
revistas. El gobierno presentó el presupuesto general. La biblioteca municipal abre por la tarde. El presupuesto general
del estado creció. La información de la hemeroteca es pública. Más información en la biblioteca nacional."""
ENGLISH = """The national library keeps old newspapers. The garbage collector frees memory. The garbage collection of
the city starts early. The library opens in the morning. A regular expression matches text. The government presented the
budget."""


@pytest.fixture(scope="module")
def suggester(tmp_path_factory):
    learner = Learner()
    for i in range(30):
        learner.add("Biblioteca Nacional de España" if i < 20 else "Biblioteca del Congreso", SPANISH, "es")
        learner.add("National Library", ENGLISH, "en")
    path = tmp_path_factory.mktemp("suggest")
    learner.write(path, [LoggedQuery("biblioteca pública", 5, by=7)])
    return Suggester.load(path)


def texts(suggester, typed):
    return [suggestion.text for suggestion in suggester.complete(typed, asker=7)]


def test_completion_offers_queries_words_and_titles(suggester):
    offered = texts(suggester, "bibl")
    assert offered[0] == "biblioteca pública"
    assert "biblioteca" in offered
    assert "Biblioteca Nacional de España" in offered
    assert texts(suggester, "presupuesto g")[0] == "presupuesto general"
    assert "presupuesto garbage" not in texts(suggester, "presupuesto g")
    assert texts(suggester, "periodicos an")[0] == "periodicos antiguos"
    assert texts(suggester, "  ") == []
    assert texts(suggester, "zzzz") == []


def test_a_word_that_is_being_typed_is_not_corrected(suggester):
    assert suggester.correct("bibloteca naci", typing=True) == "biblioteca naci"
    assert suggester.correct("biblioteca naci", typing=True) == ""
    assert suggester.correct("biblioteca nacionl", typing=True) == "biblioteca nacional"


@pytest.mark.parametrize(
    "written",
    [
        "site:bibloteca.nacionl.es",
        'intitle:"bibloteca nacionl"',
        "site:(bibloteca.es OR nacionl.es)",
        "bibloteca.es",
        "ana@bibloteca.es",
        "bibloteca*",
        "bibloteca~",
    ],
)
def test_operators_patterns_and_addresses_are_meant_as_they_are_written(suggester, written):
    assert suggester.correct(written) == ""
    assert suggester.correct(f"bibloteca {written}") == f"biblioteca {written}"


def test_a_title_that_fits_the_words_stands_before_words_that_do_not(tmp_path):
    learner = Learner()
    for _ in range(20):
        learner.add("Public libraries", "Public libraries lend books", "en")
        learner.add("El libro", "El libro y el libro de los libros", "es")
    learner.write(tmp_path)
    assert Suggester.load(tmp_path).complete("public lib")[0].text.lower() == "public libraries"


def test_the_next_word_comes_from_what_was_written(suggester):
    assert suggester.next_words("el presupuesto")[0][0] == "general"
    assert {word for word, _ in suggester.next_words("the garbage")} == {"collector", "collection"}
    assert suggester.next_words("palabra desconocida") == []
    scores = [score for _, score in suggester.next_words("la biblioteca")]
    assert all(0 < score <= 1 for score in scores)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("bibliotca", "biblioteca"),
        ("bibloteca nacionl", "biblioteca nacional"),
        ("Hemeorteca municpal", "Hemeroteca municipal"),
        ("garbge colector", "garbage collector"),
        ("regualr expresion", "regular expression"),
        ("presupuestogeneral", "presupuesto general"),
        ("bibliiotcea nacioanl", "biblioteca nacional"),  # two mistakes in a word
        ("site:example.org bibliotca", "site:example.org biblioteca"),
        ("biblioteca nacional", ""),
        ("periodicos", ""),  # accents are not a mistake: search ignores them
        ("xqzwv", ""),
        ("", ""),
    ],
)
def test_did_you_mean(suggester, typed, meant):
    assert suggester.correct(typed) == meant


def test_little_words_are_right_as_they_are(tmp_path):
    learner = Learner()
    for _ in range(40):
        learner.add("El sol", "El sol sale por el este. El mar y el sol del verano", "es")
        learner.add("El sol", "els arbres del parc", "ca")
    learner.add("Los planetas", "Los planetas son grandes", "es")
    learner.write(tmp_path)
    suggester = Suggester.load(tmp_path)
    assert suggester.correct("¿Qué son los planetas?") == ""
    assert suggester.correct("els planteas") == "els planetas"


def test_nothing_learned_nothing_suggested(tmp_path):
    assert Suggester.load(tmp_path) is None
    Learner().write(tmp_path)
    empty = Suggester.load(tmp_path)
    assert empty.complete("a") == []
    assert empty.correct("algo") == ""


def test_the_model_stays_within_its_bounds(tmp_path):
    bounds = Bounds(words=50, ngrams=100, followers=3, titles=5)
    learner = Learner(bounds)
    for i in range(400):
        learner.add(f"Título {i}", " ".join(f"{'abcdefghij'[j % 10]}{'klmnopqrst'[(i + j) % 10]}o" for j in range(80)))
    learner.write(tmp_path)
    model = Suggester.load(tmp_path)
    assert len(model._forms) <= 50
    assert all(len(model._grams[order][0]) <= 100 for order in (2, 3))
    assert len(texts(model, "título")) <= 8


@given(st.text(max_size=60))
def test_any_text_can_be_completed_and_corrected(suggester, text):
    suggester.complete(text)
    assert isinstance(suggester.correct(text), str)


@given(st.text("abcd", max_size=7), st.text("abcd", max_size=7))
def test_distance_is_symmetric_and_bounded(one, two):
    assert distance(one, two, 3) == distance(two, one, 3)
    assert (distance(one, two, 3) == 0) == (one == two)


def test_folding():
    assert fold("Canción ÑANDÚ") == "cancion nandu"


def test_a_model_that_was_cut_off_is_not_used_and_what_a_killed_process_left_goes(tmp_path):
    left = tmp_path / "model.999999999.draft"
    left.mkdir()
    learner = Learner()
    learner.add("Biblioteca", SPANISH, "es")
    learner.add("Hemeroteca", SPANISH, "es")
    learner.write(tmp_path)
    assert not left.exists()
    model = next(tmp_path.glob("model.*"))
    assert Suggester.load(tmp_path) is not None
    for name in ("forms", "words", "titles.texts"):
        damaged = tmp_path / "other" / "model.7"
        shutil.copytree(model, damaged)
        (damaged / name).write_text("")
        assert Suggester.load(tmp_path / "other") is None
        shutil.rmtree(damaged)


def test_titles_made_by_machines_are_not_offered(tmp_path):
    learner = Learner()
    for title in ("Abadía", "ab12cd34ef56ab12", "https://abc.test/x", "12345", "Abril de 2024", "COVID-19 abc"):
        learner.add(title, "texto", "es")
    learner.write(tmp_path)
    suggester = Suggester.load(tmp_path)
    offered = {found.text for letter in "abhc1" for found in suggester.complete(letter)}
    assert {"Abadía", "Abril de 2024", "COVID-19 abc"} <= offered
    assert not offered & {"ab12cd34ef56ab12", "https://abc.test/x", "12345"}

"""Conditions of a query are found, taken away and added, and the rest of it stays what it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.search.query.parser import parse
from hemeroteca.search.query.query_filters import filters, loosened, narrowed, without


def texts(query):
    return [one.text for one in filters(query)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("pan host:a.test lang:es", ["host:a.test", "lang:es"]),
        ('pan collection:"La Prensa" -sitio:b.test', ['collection:"La Prensa"', "-sitio:b.test"]),
        ("pan «host:a.test» after:2020-01-01", ["after:2020-01-01"]),
        ('"host:a.test" pan', []),
        ("(pan host:a.test) queso", []),
        ("pan OR host:a.test", []),
        ("host:a.test | pan", []),
        ("guerra near:5 paz", []),
        ("std::vector http://a.test/ 12:30 host:", []),
        (") pan date:2019", ["date:2019"]),
    ],
)
def test_which_conditions_stand_by_themselves(query, expected):
    assert texts(query) == expected


def test_one_is_taken_away_and_the_rest_stays():
    query = '(pan OR queso) host:a.test  lang:es "bien hecho"'
    first, second = filters(query)
    assert without(query, first) == '(pan OR queso) lang:es "bien hecho"'
    assert without(query, first, second) == '(pan OR queso) "bien hecho"'


def test_a_condition_holds_for_the_whole_query():
    assert narrowed("pan", "lang:es") == "pan lang:es"
    assert narrowed("pan OR queso", "lang:es") == "(pan OR queso) lang:es"
    assert narrowed("(pan OR queso) lang:es", "host:a.test") == "(pan OR queso) lang:es host:a.test"


def test_queries_that_ask_for_less():
    assert loosened('"pan casero" host:a.test collection:"La Prensa"') == [
        '"pan casero" collection:"La Prensa"',
        '"pan casero" host:a.test',
        '"pan casero"',
        'pan casero host:a.test collection:"La Prensa"',
        "pan casero",
    ]
    assert loosened("pan host:a.test") == ["pan"]
    assert loosened("pan") == loosened("host:a.test") == []


@given(
    st.lists(st.sampled_from(["pan", "host:a.test", "(", ")", '"', "OR", "-", "lang:es", "«", "near:3", " ", "x:y"]))
)
def test_what_is_left_is_never_more_than_it_was(pieces):
    query = " ".join(pieces)
    found = filters(query)
    assert all(query[one.start : one.end] == one.text for one in found)
    left = without(query, *found)
    assert len(filters(left)) <= len(found)
    parse(left)
    parse(narrowed(query, "host:b.test"))

"""The query language is read as far as possible, never fails, and says what it left out."""

import re
import time
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hemeroteca.search.query.clauses import (
    Clause,
    Fuzzy,
    Group,
    Near,
    Node,
    Numbers,
    Only,
    Phrase,
    When,
    Wildcard,
    Within,
    Word,
    required,
)
from hemeroteca.search.query.dates import moment
from hemeroteca.search.query.parser import asks_for_the_past, parse
from hemeroteca.search.tantivy.translation import number_pattern


def either(*nodes: Node) -> Group:
    return Group(tuple(map(Clause, nodes)))


def both(*nodes: Node) -> Group:
    return Group(tuple(Clause(node, "must") for node in nodes))


def nodes(text: str) -> list[tuple[str, object]]:
    return [(clause.occurs, clause.node) for clause in parse(text).root.clauses]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hola mundo", [("may", Word("hola")), ("may", Word("mundo"))]),
        ('"hola mundo"', [("must", Phrase("hola mundo"))]),
        ("«hola mundo» adiós", [("must", Phrase("hola mundo")), ("may", Word("adiós"))]),
        ('"hola mundo"~3', [("must", Phrase("hola mundo", 3))]),
        ("-no +si", [("not", Word("no")), ("must", Word("si"))]),
        ("NOT no", [("not", Word("no"))]),
        ("site:https://Example.org/", [("must", Only("site", "example.org"))]),
        (
            "site:https://Example.org:81/a/b",
            [("must", both(Only("site", "example.org"), Within("url", "example.org:81/a/b", phrase=True)))],
        ),
        ("site:(a.es OR b.es)", [("must", either(Only("site", "a.es"), Only("site", "b.es")))]),
        ("site:a.es,b.es", [("must", either(Only("site", "a.es"), Only("site", "b.es")))]),
        ("-lang:(en fr)", [("not", either(Only("language", "en"), Only("language", "fr")))]),
        (
            'intitle:(pan "dos palabras")',
            [("must", both(Within("title", "pan"), Within("title", "dos palabras", True)))],
        ),
        (
            "(https://es.example.org/wiki/Pan_(comida)?a=1#b).",
            [
                (
                    "must",
                    Group(
                        (
                            Clause(
                                either(
                                    Within("url", "es.example.org/wiki/Pan_(comida)?a=1", phrase=True),
                                    Phrase("es.example.org/wiki/Pan_(comida)?a=1"),
                                ),
                                "must",
                            ),
                        )
                    ),
                )
            ],
        ),
        ("sitio:ñandú.es", [("must", Only("site", "xn--and-6ma2c.es"))]),
        ("-host:a.b.c", [("not", Only("host", "a.b.c"))]),
        ("filetype:.PDF", [("must", Only("type", "pdf"))]),
        ("lang:Español", [("must", Only("language", "es"))]),
        ("collection:Prensa", [("must", Only("collection", "Prensa"))]),
        ('intitle:"dos palabras"', [("must", Within("title", "dos palabras", phrase=True))]),
        (
            "inanchor:aquí url:docs inbody:texto",
            [("must", Within("anchor", "aquí")), ("must", Within("url", "docs")), ("must", Within("body", "texto"))],
        ),
        ("bibliot*", [("may", Wildcard("bibliot*"))]),
        ("*teca", [("may", Wildcard("*teca"))]),
        ("b?blioteca", [("may", Wildcard("b?blioteca"))]),
        ("casa~ ~perro gato~2", [("may", Fuzzy("casa", 1)), ("may", Fuzzy("perro", 1)), ("may", Fuzzy("gato", 2))]),
        (
            "e-mai* mod_per*",
            [("must", both(Word("e"), Wildcard("mai*"))), ("must", both(Word("mod"), Wildcard("per*")))],
        ),
        ("¿qué? ~30 pan~0", [("may", Word("¿qué?")), ("may", Word("~30")), ("may", Fuzzy("pan", 0))]),
        ("1990..1995", [("must", Numbers(1990, 1995))]),
        ("$50..1.500€ 9..1", [("must", Numbers(50, 1500)), ("must", Numbers(1, 9))]),
        ("guerra near:5 paz", [("must", Near("guerra", "paz", 5))]),
        ("pan -guerra near:5 paz", [("may", Word("pan")), ("not", Near("guerra", "paz", 5))]),
        ("pan OR guerra near:99 paz", [("may", Word("pan")), ("may", Near("guerra", "paz", 50))]),
        ("\u202esite:a.es\u2069\x85pan", [("must", Only("site", "a.es")), ("may", Word("pan"))]),
        ("std::vector 12:30 C++", [("may", Word("std::vector")), ("may", Word("12:30")), ("may", Word("C++"))]),
        ("e-mail well-known", [("may", Word("e-mail")), ("may", Word("well-known"))]),
    ],
)
def test_each_part_of_the_language(text, expected):
    parsed = parse(text)
    assert nodes(text) == expected
    assert parsed.notes == []


def test_or_joins_alternatives_and_and_binds_closer():
    assert nodes("a OR b") == [("may", Word("a")), ("may", Word("b"))]
    assert nodes("c (a OR b)") == [
        ("may", Word("c")),
        ("must", Group((Clause(Word("a")), Clause(Word("b"))))),
    ]
    assert nodes("a AND b") == [("must", Word("a")), ("must", Word("b"))]
    assert nodes("a AND b OR c") == [
        ("may", Group((Clause(Word("a"), "must"), Clause(Word("b"), "must")))),
        ("may", Word("c")),
    ]


def test_dates_are_whole_days_months_or_years():
    assert moment("2024-02-29") == (1709164800000, 1709251199999)
    assert moment("2024-02") == (1706745600000, 1709251199999)
    assert moment("31/12/2023") == moment("2023-12-31") == moment("20231231")
    assert moment("2023-02-30") is None
    assert moment("mañana") is None
    start = moment("2024")[0]
    assert nodes("after:2024") == [("must", When("date", low=start))]
    assert nodes("before:2024") == [("must", When("date", high=start - 1))]
    assert nodes("date:2024..2024-03") == [("must", When("date", start, moment("2024-03")[1]))]
    assert nodes("captured:7d") == [("must", When("captured", low=moment("7d")[0]))]
    assert nodes("at:2024-05-01")[0][1].what == "at"


def test_dates_in_words_are_the_last_such_day_or_month():
    def now():
        return datetime(2024, 3, 10, 22, tzinfo=UTC)

    assert moment("hoy", now) == moment("today", now) == moment("2024-03-10")
    assert moment("Ayer", now) == moment("1d", now) == moment("2024-03-09")
    assert moment("marzo", now) == moment("mar", now) == moment("2024-03")
    assert moment("april", now) == moment("2023-04")
    assert moment("abril-2021", now) == moment("2021-04")


def test_an_alternative_may_be_a_page_without_something():
    assert nodes("a OR -b") == [("may", Word("a")), ("may", Group((Clause(Word("b"), "not"),)))]


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ('"sin cerrar', "quotation mark"),
        ("((a)", "never closed"),
        ("a)", "closing parenthesis"),
        ("a OR", "nothing after"),
        ("OR a", "nothing before"),
        ("a (AND b)", "nothing before"),
        ("a site:", "`site:` without a value"),
        ("intitle: a", "`intitle:` without a value"),
        ("a lang:klingon", "`lang:klingon` was ignored"),
        ("after:mañana", "write a date"),
        ("guerra near:² paz", "between two words"),
        ("autor:cervantes", "`autor:` is not known here"),
        ('"bibliot* nacional"', "stands for a whole word"),
        ("*", "matches too much"),
        ("x*", "matches too much"),
        ("near:3 paz", "between two words"),
        ("(" * 30 + "a", "deeper than"),
        ("a " * 20_000, "words"),
        ("a" * 200_000, "characters"),
    ],
)
def test_what_is_not_understood_is_said(text, noted):
    assert any(noted in note for note in parse(text).notes)


@given(st.text(max_size=300))
@example('"' * 50)
@example("((((((((((" * 10)
@example("-+-+-+- OR AND NOT | ~ * ? : ::: site: near:9")
@example("\x00\x1f\u200b\ufeff")
def test_any_text_is_a_query(text):
    parsed = parse(text)
    assert parsed.words >= 0
    assert all(isinstance(note, str) for note in parsed.notes)


@given(st.integers(0, 10**15 - 1), st.integers(0, 10**15 - 1), st.integers(0, 10**15 - 1))
@example(0, 9, 5)
@example(95, 1005, 1000)
def test_a_range_of_numbers_as_a_pattern(one, other, number):
    low, high = sorted((one, other))
    fits = re.compile(number_pattern(low, high)).fullmatch
    for tried in (number, low, high, max(0, low - 1), high + 1):
        assert bool(fits(str(tried))) == (low <= tried <= high)


def test_marks_that_are_never_closed_take_no_time():
    before = time.process_time()
    for mark in "«„“":
        assert parse(mark * 90_000 + "pan").root.clauses == (Clause(Word("pan")),)
    assert time.process_time() - before < 60  # milliseconds; looking for each one's end took minutes


@given(
    st.lists(
        st.sampled_from(["a", "OR", "AND", "NOT", "(", ")", '"', "-", "site:x", "near:2", "b*", "1..3", "|"]),
        max_size=40,
    )
)
def test_any_mixture_of_operators_is_a_query(parts):
    parse(" ".join(parts))


def test_hundreds_of_patterns_are_read_as_words_after_the_first_few():
    found = parse(" ".join(["tolstoi~2", "bibliot*"] * 200))
    kinds = [type(clause.node).__name__ for clause in found.root.clauses]
    assert (kinds.count("Fuzzy"), kinds.count("Wildcard"), kinds.count("Word")) == (4, 4, 392)
    assert found.root.clauses[-1].node == Word("bibliot")
    assert found.notes == ["only 8 words may have `*`, `?` or `~`; the others were read as written"]


def test_every_word_can_be_required_except_those_that_say_nothing_and_alternatives():
    made = required(parse("el pan -seco"), lambda word: word == "el")
    assert [clause.occurs for clause in made.root.clauses] == ["may", "must", "not"]
    assert required(parse("pan OR queso"), lambda word: False) == parse("pan OR queso")


def test_a_query_asks_for_the_past_when_it_has_a_date_to_ask_for():
    assert asks_for_the_past("(pan OR vino at:2024-03)")
    assert not asks_for_the_past("pan at:mañana")
    assert not asks_for_the_past('"look at: this"')


def test_one_word_may_begin_with_a_wildcard():
    found = parse("*cion *mente *idad casa")
    assert [type(clause.node).__name__ for clause in found.root.clauses] == ["Wildcard", "Word", "Word", "Word"]
    assert found.notes == ["only one word may begin with `*` or `?`; the others were read as written"]


def test_of_hundreds_of_phrases_the_first_are_looked_for_and_the_words_of_the_others():
    found = parse(" OR ".join(f'"uno dos{i}"' for i in range(100)))
    kinds = [type(clause.node).__name__ for clause in found.root.clauses]
    assert (kinds.count("Phrase"), kinds.count("Group")) == (24, 76)
    assert found.notes == ["only 24 phrases are looked for; of the others, their words"]
    many = parse(" ".join(f"uno{i} near:5 dos{i}" for i in range(50)))
    assert sum(type(clause.node).__name__ == "Near" for clause in many.root.clauses) == 6


def test_notes_can_be_said_in_another_language():
    note = parse("casa before:{nunca}").notes[0]
    assert note == "`before:{nunca}` was ignored: write a date as 2024, 2024-03 or 2024-03-31"
    assert note.said("«{text}» no") == "«before:{nunca}» no"

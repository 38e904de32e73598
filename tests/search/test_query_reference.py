"""Operators find exactly what a reading of every document finds: random queries against a plain evaluation."""

import random
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.search.results import SearchOptions
from hemeroteca.search.searcher import Searcher
from hemeroteca.search.suggest.suggester import distance
from tests.search.conftest import fill

WORDS = ["alfa", "beta", "gamma", "delta", "deltoide", "epsilon", "zeta", "alfabeto", "18", "19", "95", "310"]
HOSTS = ["example.org", "docs.example.org", "example.com", "otro.es"]
DAY = 86_400_000
YEAR_2024 = 1_704_067_200_000
EVERYTHING = SearchOptions(group=False, diverse=False, snippets=False, suggest=False)

Holds = Callable[[SearchDocument], bool]
Query = tuple[str, Holds, str]  # as typed, whether a document is meant, word | needed | filter


def documents() -> list[SearchDocument]:
    rng = random.Random(5)
    pages = []
    for key in range(1, 61):
        host = rng.choice(HOSTS)
        path = "/".join(rng.choices(["uno", "dos", "tres"], k=rng.randint(0, 3)))
        pages.append(
            SearchDocument(
                key=key,
                url=f"https://{host}/{path}",
                host=host,
                title=" ".join(rng.choices(WORDS[:6], k=rng.randint(0, 2))),
                text=" ".join(rng.choices(WORDS, k=rng.randint(1, 9))),
                anchors=" ".join(rng.choices(WORDS[:4], k=rng.randint(0, 1))),
                type=rng.choice(["html", "pdf", "text"]),
                collections=(rng.choice(["Prensa", "Mi colección"]),) if rng.random() < 0.5 else (),
                captured_ms=YEAR_2024 + rng.randint(-60, 60) * DAY,
                simhash=key,
            )
        )
    return pages


PAGES = documents()


@pytest.fixture(scope="module")
def searcher():
    with tempfile.TemporaryDirectory() as folder:
        yield fill(Path(folder), *PAGES)


def words_of(page: SearchDocument) -> list[str]:
    """As the index has them: the title counts twice, and one place is free between two parts."""
    parts = [page.title, page.title, page.anchors, page.text]
    return " | ".join(part for part in parts if part).split()


def has(page: SearchDocument, fits: Callable[[str], bool]) -> bool:
    return any(fits(word) for word in words_of(page) if word != "|")


def in_order(words: list[str], wanted: list[str]) -> bool:
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words)))


def within(words: list[str], one: str, other: str, most: int) -> bool:
    places = [(a, b) for a, left in enumerate(words) for b, right in enumerate(words) if (left, right) == (one, other)]
    return any(0 < abs(a - b) <= most for a, b in places)


def leaf(typed: str, holds: Holds, kind: str = "filter") -> Query:
    return typed, holds, kind


word = st.sampled_from(WORDS)
letters = st.sampled_from(WORDS[:8])
leaves = st.one_of(
    word.map(lambda w: leaf(w, lambda p: has(p, w.__eq__), "word")),
    word.map(lambda w: leaf(w.upper(), lambda p: has(p, w.__eq__), "word")),
    word.map(lambda w: leaf(f"+{w}", lambda p: has(p, w.__eq__), "needed")),
    st.lists(word, min_size=2, max_size=3).map(
        lambda ws: leaf(f'"{" ".join(ws)}"', lambda p: in_order(words_of(p), ws), "needed")
    ),
    st.tuples(word, word).map(
        lambda ws: leaf(
            f'"{ws[0]} * {ws[1]}"',
            lambda p: any(words_of(p)[at::2][:2] == list(ws) for at in range(len(words_of(p)))),
            "needed",
        )
    ),
    st.tuples(word, st.integers(1, 4), word)
    .filter(lambda t: t[0] != t[2])
    .map(lambda t: leaf(f"{t[0]} near:{t[1]} {t[2]}", lambda p: within(words_of(p), t[0], t[2], t[1]), "needed")),
    st.tuples(letters, st.integers(2, 4)).map(
        lambda t: leaf(f"{t[0][: t[1]]}*", lambda p: has(p, lambda w: w.startswith(t[0][: t[1]])), "word")
    ),
    letters.map(lambda w: leaf(f"*{w[-3:]}", lambda p: has(p, lambda other: other.endswith(w[-3:])), "word")),
    letters.map(
        lambda w: leaf(
            f"{w[0]}?{w[2:]}", lambda p: has(p, lambda o: len(o) == len(w) and o[0] + o[2:] == w[0] + w[2:]), "word"
        )
    ),
    letters.map(lambda w: leaf(f"{w[1:]}~", lambda p: has(p, lambda other: distance(w[1:], other, 1) <= 1), "word")),
    st.tuples(st.integers(0, 400), st.integers(0, 400)).map(
        lambda t: leaf(
            f"{t[0]}..{t[1]}",
            lambda p: has(p, lambda w: w.isdigit() and min(t) <= int(w) <= max(t)),
            "needed",
        )
    ),
    st.sampled_from([*HOSTS, "org", "es"]).map(
        lambda h: leaf(f"site:{h}", lambda p: p.host == h or p.host.endswith(f".{h}"))
    ),
    st.sampled_from(HOSTS).map(lambda h: leaf(f"host:{h}", lambda p: p.host == h)),
    st.sampled_from(HOSTS).map(
        lambda h: leaf(
            f"site:{h}/uno", lambda p: re.match(rf"https://([a-z.]+\.)?{re.escape(h)}/uno(/|$)", p.url) is not None
        )
    ),
    st.sampled_from(["uno", "dos", "tres"]).map(lambda w: leaf(f"url:{w}", lambda p: w in p.url.split("/"))),
    word.map(lambda w: leaf(f"intitle:{w}", lambda p: w in p.title.split())),
    letters.map(
        lambda w: leaf(f"intitle:{w[:3]}*", lambda p: any(other.startswith(w[:3]) for other in p.title.split()))
    ),
    word.map(lambda w: leaf(f"inanchor:{w}", lambda p: w in p.anchors.split())),
    st.sampled_from(["html", "pdf", "text"]).map(lambda t: leaf(f"filetype:{t}", lambda p: p.type == t)),
    st.just(leaf("filetype:(pdf OR text)", lambda p: p.type in ("pdf", "text"))),
    st.just(leaf("filetype:pdf,text", lambda p: p.type in ("pdf", "text"))),
    st.just(leaf('collection:"mi coleccion"', lambda p: "Mi colección" in p.collections)),
    st.just(leaf("before:2024", lambda p: p.captured_ms < YEAR_2024)),
    st.just(leaf("after:2024", lambda p: p.captured_ms >= YEAR_2024)),
    st.just(leaf("date:2023..2024-01", lambda p: p.captured_ms < YEAR_2024 + 31 * DAY)),
)


def either(queries: list[Query]) -> Query:
    typed = " OR ".join(query[0] for query in queries)
    return f"({typed})", lambda p: any(query[1](p) for query in queries), _kind(queries)


def both(queries: list[Query]) -> Query:
    typed = " AND ".join(query[0] for query in queries)
    return f"({typed})", lambda p: all(query[1](p) for query in queries), _kind(queries)


def without(query: Query) -> Query:
    return f"-{query[0]}", lambda p: not query[1](p), query[2]


def _kind(queries: list[Query]) -> str:
    return "filter" if all(query[2] == "filter" for query in queries) else "needed"


def inner(queries: st.SearchStrategy[Query]) -> st.SearchStrategy[Query]:
    several = st.lists(queries, min_size=2, max_size=3)
    negated = queries.filter(lambda q: "near:" not in q[0].split("(")[0] and q[0][0] not in "+-").map(without)
    return st.one_of(
        several.map(either),
        several.map(both),
        st.lists(st.one_of(queries, negated), min_size=2, max_size=3).map(either),
    )


nested = st.recursive(leaves, inner, max_leaves=6)


def expected(queries: list[Query], unwanted: list[Query]) -> set[int]:
    """Words side by side: one of them is enough, and none is needed beside what is needed and no filter."""
    words = [holds for _, holds, kind in queries if kind == "word"]
    needed = [holds for _, holds, kind in queries if kind != "word"]
    optional = not words or any(kind == "needed" for _, _, kind in queries)
    return {
        page.key
        for page in PAGES
        if all(holds(page) for holds in needed)
        and (optional or any(holds(page) for holds in words))
        and not any(holds(page) for _, holds, _ in unwanted)
    }


def found(searcher: Searcher, query: str) -> tuple[set[int], int, list[str]]:
    results = searcher.search(query, limit=100, options=EVERYTHING)
    return {hit.key for hit in results.hits}, results.total, results.notes


@settings(max_examples=400)
@given(st.lists(nested, min_size=1, max_size=3), st.lists(nested, max_size=2))
def test_a_query_finds_what_reading_everything_finds(searcher, queries, unwanted):
    unwanted = [query for query in unwanted if query[0][0] not in "+-" and "near:" not in query[0].split("(")[0]]
    # a prefix of an operator or the first word of a `near:` would be joined to what stands before it
    typed = " ".join([*(query[0] for query in queries), *(f"-{query[0]}" for query in unwanted)])
    if sum(map(typed.count, "*?~")) > 8 or len(re.findall(r"\*\w", typed)) > 1 or typed.count("near:") > 4:
        return  # beyond the bounds of hostile queries
    keys, total, notes = found(searcher, typed)
    assert (typed, keys) == (typed, expected(queries, unwanted))
    assert total == len(keys)
    assert notes == []


@settings(max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(["", "-"]), word), min_size=1, max_size=3), st.sampled_from([" OR ", " "]))
def test_words_of_the_text_itself(searcher, chosen, join):
    typed = join.join(f"{sign}inbody:{w}" for sign, w in chosen)
    quantity = any if "OR" in join else all
    wanted = {page.key for page in PAGES if quantity((w in page.text.split()) != bool(sign) for sign, w in chosen)}
    assert (typed, found(searcher, typed)[0]) == (typed, wanted)

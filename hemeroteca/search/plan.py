"""What is asked of the engine for a query: what must match, what scores, what is marked in the results."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from tantivy import Query

from hemeroteca.search.clauses import Group, When


class Part(msgspec.Struct, frozen=True):
    query: Query
    factor: float  # of its scores
    language: str = ""  # body field; empty: any
    first: Query | None = None  # stricter and faster; enough when it finds enough


class Bonus(msgspec.Struct, frozen=True):
    """What makes a match better than its words alone."""

    name: str
    query: Query
    weight: float
    language: str = ""  # body field; empty: any


class Plan(msgspec.Struct):
    every: Callable[[], Query] | None = None  # makes the query of every match; None when nothing is asked for
    parts: list[Part] = []  # the same, as parts without common documents
    bonuses: list[Bonus] = []
    wanted: dict[str, set[str]] = {}  # body field → terms to mark
    asked: Group = Group(())  # the query as it was read
    in_body: bool = False  # some words of it are looked for in the text itself: see `in_body`
    scored: list[tuple[str, str, int]] = []  # (field, term, documents) of plain words in all their forms
    factors: dict[tuple[str, str], float] = {}  # (field, term) → factor of its score
    plain: bool = True  # only words: the number of matches may be estimated
    counted: bool = True  # … and is not: it is told exactly
    notes: list[str] = []
    at: When | None = None
    one_host: bool = False  # only pages of a site or host are asked for
    language: str = ""  # the query is written in; empty: it does not tell
    doubtful: bool = False  # some word is in no page, or in hardly any: perhaps it is misspelt

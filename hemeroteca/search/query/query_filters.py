"""The conditions of a query (`host:example.org`, `before:2020`) as pieces that can be added and taken away.

Only conditions that stand by themselves: one in parentheses or beside OR belongs to something larger.
"""

from __future__ import annotations

import re

import msgspec

from hemeroteca.search.query.operators import FIELDS

_QUOTED = r'"[^"]*"|“[^”"]*[”"]|«[^»]*»|„[^“”"]*[“”"]'
_PIECE = re.compile(
    rf"""
    (?P<sign>[-+−!])? (?P<name>[^\W\d_]{{2,12}}): (?P<value>{_QUOTED}|[^\s/()|"“”«»„][^\s()|"“”«»„]*)
  | (?P<phrase>{_QUOTED})
  | (?P<operator>\|\|?|&&|(?:OR|AND|NOT)(?!\S))
  | (?P<open>\() | (?P<close>\)) | (?P<other>[^\s()|"“”«»„]+|\S)
    """,
    re.VERBOSE,
)


class QueryFilter(msgspec.Struct, frozen=True):
    text: str  # as it was typed
    start: int
    end: int


def filters(query: str) -> list[QueryFilter]:
    """The conditions that can be taken away one by one, in their order."""
    pieces = list(_PIECE.finditer(query))
    found = []
    depth = 0
    for place, piece in enumerate(pieces):
        depth += bool(piece["open"]) - bool(piece["close"] and depth)
        beside = (*pieces[max(0, place - 1) : place], *pieces[place + 1 : place + 2])
        field = FIELDS.get(piece["name"].lower(), "") if piece["name"] else ""
        if field and field != "near" and not depth and not any(other["operator"] for other in beside):
            found.append(QueryFilter(piece.group(), piece.start(), piece.end()))
    return found


def without(query: str, *taken: QueryFilter) -> str:
    """The query with these of its conditions taken away."""
    for one in sorted(taken, key=lambda one: -one.start):
        query = f"{query[: one.start]} {query[one.end :]}"
    return " ".join(query.split())


def narrowed(query: str, condition: str) -> str:
    """The query with one more condition, which holds for all of it."""
    whole = re.search(r"\bOR\b|\|", query) and not _is_one_group(query)
    return f"({query}) {condition}" if whole else f"{query} {condition}"


def loosened(query: str) -> list[str]:
    """Queries that ask for less: without each condition, without all of them, phrases as words."""
    conditions = filters(query)
    bare = without(query, *conditions)
    fewer = [without(query, one) for one in conditions] + [bare, _unquoted(query), _unquoted(bare)]
    return [other for other in dict.fromkeys(fewer) if other and other != " ".join(query.split())]


def _unquoted(query: str) -> str:
    """Phrases as words; a quoted value of a condition stays."""
    values = [(one.start, one.end) for one in filters(query)]
    return " ".join(
        "".join(
            " " if letter in '"“”«»„' and not any(start <= at < end for start, end in values) else letter
            for at, letter in enumerate(query)
        ).split()
    )


def _is_one_group(query: str) -> bool:
    """Whether every OR stands in parentheses: `(pan OR queso) lang:es`."""
    depth = 0
    for piece in _PIECE.finditer(query):
        depth += bool(piece["open"]) - bool(piece["close"] and depth)
        if piece["operator"] in ("OR", "|", "||") and not depth:
            return False
    return True

"""Queries of ours as Tantivy's."""

import re
from collections.abc import Callable
from typing import Any

import tantivy
from tantivy import FieldType, Occur, Query

from hemeroteca.search.index import expressions as ours


def translated(query: ours.Query, schema: tantivy.Schema) -> Query:
    return _TRANSLATIONS[type(query)](query, schema)


def _term(query: ours.TermQuery, schema: tantivy.Schema) -> Query:
    return Query.term_query(schema, query.field, query.term, index_option="freq")


def _phrase(query: ours.PhraseQuery, schema: tantivy.Schema) -> Query:
    return Query.phrase_query(schema, query.field, list(query.terms), slop=query.slop)


def _wildcard(query: ours.WildcardQuery, schema: tantivy.Schema) -> Query:
    pattern = "".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in query.pattern)
    return Query.regex_query(schema, query.field, pattern)


def _number(query: ours.NumberQuery, schema: tantivy.Schema) -> Query:
    return Query.regex_query(schema, query.field, number_pattern(query.low, query.high))


def _fuzzy(query: ours.FuzzyQuery, schema: tantivy.Schema) -> Query:
    return Query.fuzzy_term_query(schema, query.field, query.term, query.edits, prefix=query.prefix)


def _range(query: ours.RangeQuery, schema: tantivy.Schema) -> Query:
    return Query.range_query(schema, query.field, FieldType.Integer, query.low, query.high)


def _keys(query: ours.KeysQuery, schema: tantivy.Schema) -> Query:
    # a union of terms is ten times faster here than the engine's term set
    each = [(Occur.Should, Query.term_query(schema, "key", key, index_option="basic")) for key in query.keys]
    return Query.const_score_query(Query.boolean_query(each), 0.0)


def _boolean(query: ours.BooleanQuery, schema: tantivy.Schema) -> Query:
    parts = [(Occur.Must, translated(one, schema)) for one in query.must]
    parts += [(Occur.Should, translated(one, schema)) for one in query.should]
    parts += [(Occur.MustNot, translated(one, schema)) for one in query.must_not]
    return Query.boolean_query(parts)


def _best(query: ours.BestQuery, schema: tantivy.Schema) -> Query:
    return Query.disjunction_max_query([translated(one, schema) for one in query.queries], query.tie)


def _boost(query: ours.BoostQuery, schema: tantivy.Schema) -> Query:
    return Query.boost_query(translated(query.query, schema), query.factor)


def _constant(query: ours.ConstantQuery, schema: tantivy.Schema) -> Query:
    return Query.const_score_query(translated(query.query, schema), query.score)


_TRANSLATIONS: dict[type, Callable[[Any, tantivy.Schema], Query]] = {
    ours.TermQuery: _term,
    ours.PhraseQuery: _phrase,
    ours.WildcardQuery: _wildcard,
    ours.NumberQuery: _number,
    ours.FuzzyQuery: _fuzzy,
    ours.RangeQuery: _range,
    ours.KeysQuery: _keys,
    ours.AllQuery: lambda query, schema: Query.all_query(),
    ours.NoneQuery: lambda query, schema: Query.empty_query(),
    ours.BooleanQuery: _boolean,
    ours.BestQuery: _best,
    ours.BoostQuery: _boost,
    ours.ConstantQuery: _constant,
}


def number_pattern(low: int, high: int) -> str:
    """A regular expression of the numbers from `low` to `high`, written without zeros before them."""
    return "|".join(
        _same_length(max(low, _least(n)), min(high, 10**n - 1)) for n in range(_digits(low), _digits(high) + 1)
    )


def _digits(number: int) -> int:
    return len(str(number))


def _least(digits: int) -> int:
    return 10 ** (digits - 1) if digits > 1 else 0


def _same_length(low: int, high: int) -> str:
    """Both ends have as many digits."""
    digits = _digits(high)
    if digits == 1:
        return _one(low, high)
    tens_low, last_low = divmod(low, 10)
    tens_high, last_high = divmod(high, 10)
    if tens_low == tens_high:
        return f"{tens_low}{_one(last_low, last_high)}"
    parts = []
    if last_low:
        parts.append(f"{tens_low}{_one(last_low, 9)}")
        tens_low += 1
    if last_high < 9:
        parts.append(f"{tens_high}{_one(0, last_high)}")
        tens_high -= 1
    if tens_low <= tens_high:
        parts.append(f"(?:{_same_length(tens_low, tens_high)})[0-9]")
    return "|".join(parts)


def _one(low: int, high: int) -> str:
    return str(low) if low == high else f"[{low}-{high}]"

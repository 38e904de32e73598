"""Aggregation pipelines, as the founding work took them, as Ibis expressions: a JSON array of stages.

`$match, $project, $group, $sort, $limit, $skip, $unwind, $count`, with the operators below. What is not understood is
refused by name; nothing is evaluated as code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import ibis
import ibis.expr.types as ir

MAX_STAGES = 50
MAX_DEPTH = 20
DATE_FORMAT = "%Y-%m-%d"


class PipelineError(ValueError):
    """A stage or operator that is not understood; the message names it and what may be written instead."""


def translate(stages: Any, table: ir.Table, date_format: str = "") -> ir.Table:
    """The table that a pipeline makes of another. `date_format` is how texts compared with times are written."""
    if not isinstance(stages, list) or not all(isinstance(stage, dict) and len(stage) == 1 for stage in stages):
        raise PipelineError('a pipeline is a JSON array of stages with one name each: [{"$match": {…}}, …]')
    if len(stages) > MAX_STAGES:
        raise PipelineError(f"a pipeline has at most {MAX_STAGES} stages, this one {len(stages)}")
    context = _Context(date_format)
    for stage in stages:
        name, argument = next(iter(stage.items()))
        if name not in _STAGES:
            raise PipelineError(f"there is no stage {name!r}; there are {', '.join(_STAGES)}")
        try:
            table = _STAGES[name](table, argument, context)
        except PipelineError:
            raise
        except Exception as error:  # Ibis has an error for each thing that does not fit
            raise PipelineError(f"{name} cannot be done: {str(error).splitlines()[0][:300]}")
    return table


class _Context:
    """How texts are read as times, and the order that the last $sort gave."""

    def __init__(self, date_format: str) -> None:
        self._format = date_format
        self.order: dict[str, int] = {}

    def read(self, text: str) -> datetime:
        formats = [self._format] if self._format else [DATE_FORMAT, "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S"]
        for format_ in formats:
            try:
                moment = datetime.strptime(text, format_)
            except ValueError:
                continue
            return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
        raise PipelineError(f"{text!r} is not a time of the form {formats[0]!r}; `date_format` names another")


def _match(table: ir.Table, argument: Any, context: _Context) -> ir.Table:
    return table.filter(_condition(table, argument, context, 0))


def _condition(table: ir.Table, wanted: Any, context: _Context, depth: int) -> Any:
    if not isinstance(wanted, dict) or depth > MAX_DEPTH:
        raise PipelineError('$match takes an object: {"user": "Ana", "size": {"$gt": 100}}')
    conditions = []
    for name, value in wanted.items():
        if name in ("$and", "$or", "$nor"):
            if not isinstance(value, list) or not value:
                raise PipelineError(f"{name} takes a list of conditions")
            parts = [_condition(table, part, context, depth + 1) for part in value]
            joined = ibis.and_(*parts) if name == "$and" else ibis.or_(*parts)
            conditions.append(~joined if name == "$nor" else joined)
        elif name == "$expr":
            conditions.append(_expression(table, value, context, depth + 1))
        elif name.startswith("$"):
            raise PipelineError(f"there is no condition {name!r}; there are $and, $or, $nor, $expr")
        else:
            conditions.append(_compare(_field(table, name), value, context, depth))
    return ibis.and_(*conditions) if conditions else ibis.literal(True)


def _compare(field: Any, wanted: Any, context: _Context, depth: int) -> Any:
    if not isinstance(wanted, dict):
        return _equal(field, wanted, context)
    found = []
    for name, value in wanted.items():
        if name == "$eq":
            found.append(_equal(field, value, context))
        elif name == "$ne":
            found.append(~_equal(field, value, context))
        elif name in _ORDERINGS:
            found.append(_ORDERINGS[name](field, _literal(field, value, context)))
        elif name in ("$in", "$nin"):
            if not isinstance(value, list):
                raise PipelineError(f"{name} takes a list")
            hit = ibis.or_(*[_equal(field, part, context) for part in value]) if value else ibis.literal(False)
            found.append(hit if name == "$in" else ~hit)
        elif name == "$regex":
            found.append(field.re_search(_pattern(value, wanted.get("$options", ""))))
        elif name == "$options":
            continue
        elif name == "$exists":
            found.append(field.notnull() if value else field.isnull())
        elif name == "$not":
            found.append(~_compare(field, value, context, depth + 1))
        elif name == "$size":
            found.append(field.length() == int(value))
        else:
            raise PipelineError(
                f"there is no comparison {name!r}; there are $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $regex, "
                "$exists, $not, $size"
            )
    return ibis.and_(*found) if found else ibis.literal(True)


def _equal(field: Any, value: Any, context: _Context) -> Any:
    if value is None:
        return field.isnull()
    if field.type().is_array() and not isinstance(value, list):
        return ibis.coalesce(field.contains(value), False)
    return ibis.coalesce(field == _literal(field, value, context), False)


def _literal(field: Any, value: Any, context: _Context) -> Any:
    if isinstance(value, dict) and set(value) == {"$date"}:
        value = value["$date"]
    if field.type().is_timestamp() and isinstance(value, str):
        return ibis.literal(context.read(value))
    if isinstance(value, dict):
        raise PipelineError(f"{value!r} is not a value to compare with")
    return value


def _pattern(value: Any, options: str) -> str:
    if not isinstance(value, str) or len(value) > 1000:
        raise PipelineError("$regex takes a text of at most 1000 characters")
    if not isinstance(options, str) or not re.fullmatch("[imsx]*", options):
        raise PipelineError("$options takes letters of i, m, s and x")
    return f"(?{options}){value}" if options else value


def _project(table: ir.Table, argument: Any, context: _Context) -> ir.Table:
    if not isinstance(argument, dict) or not argument:
        raise PipelineError('$project takes an object: {"user": 1, "year": {"$year": "$timestamp"}}')
    removed = [name for name, value in argument.items() if value in (0, False) and not isinstance(value, dict | str)]
    if removed and len(removed) == len(argument):
        return table.drop(*[name for name in removed if name in table.columns])
    columns = {}
    for name, value in argument.items():
        if value in (0, False) and not isinstance(value, dict | str):
            continue
        keep = value is True or (isinstance(value, int) and not isinstance(value, bool) and value == 1)
        columns[name] = _field(table, name) if keep else _expression(table, value, context, 0)
    return table.select(**columns)


def _group(table: ir.Table, argument: Any, context: _Context) -> ir.Table:
    if not isinstance(argument, dict) or "_id" not in argument:
        raise PipelineError('$group takes an object with `_id`: {"_id": "$user", "edits": {"$sum": 1}}')
    key = argument["_id"]
    if context.order and all(name.split(".")[0] in table.columns for name in context.order):
        place = ibis.row_number().over(ibis.window(order_by=_ordering(table, context.order)))
        table = table.mutate(**{_PLACE: place})
    context.order = {}
    sums = {}
    for name, value in argument.items():
        if name == "_id":
            continue
        if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in _ACCUMULATORS:
            raise PipelineError(f"{name} in $group takes one of {', '.join(_ACCUMULATORS)}")
        operator, inner = next(iter(value.items()))
        sums[name] = _ACCUMULATORS[operator](table, inner, context)
    if key is None:
        if not sums:
            raise PipelineError("$group with `_id` null needs something to compute")
        return table.aggregate(**sums).mutate(_id=ibis.null()).select("_id", *sums)
    if isinstance(key, dict) and not any(part.startswith("$") for part in key):
        names = {f"_id_{part}": _expression(table, value, context, 0) for part, value in key.items()}
        grouped = table.group_by(**names).aggregate(**sums) if sums else table.select(**names).distinct()
        identity = ibis.struct({part: grouped[f"_id_{part}"] for part in key})
        return grouped.mutate(_id=identity).select("_id", *sums)
    identity = _expression(table, key, context, 0)
    if not sums:
        return table.select(_id=identity).distinct()
    return table.group_by(_id=identity).aggregate(**sums)


def _sort(table: ir.Table, argument: Any, context: _Context) -> ir.Table:
    if not isinstance(argument, dict) or not argument or any(value not in (1, -1) for value in argument.values()):
        raise PipelineError('$sort takes an object: {"edits": -1, "_id": 1}')
    context.order = argument
    return table.order_by(_ordering(table, argument))


def _ordering(table: ir.Table, wanted: Mapping[str, int]) -> list[Any]:
    return [(ibis.asc if way == 1 else ibis.desc)(_field(table, name)) for name, way in wanted.items()]


def _limit(table: ir.Table, argument: Any, context: _Context) -> ir.Table:
    return table.limit(_whole("$limit", argument, 1))


def _skip(table: ir.Table, argument: Any, context: _Context) -> ir.Table:
    return table.limit(None, offset=_whole("$skip", argument, 0))


def _whole(name: str, value: Any, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 1 << 63:
        raise PipelineError(f"{name} takes a whole number of {least} or more, not {value!r}")
    return value


def _unwind(table: ir.Table, argument: Any, context: _Context) -> ir.Table:
    path = argument.get("path") if isinstance(argument, dict) else argument
    if not isinstance(path, str) or not path.startswith("$"):
        raise PipelineError('$unwind takes the name of a list: "$tags"')
    _field(table, path[1:])
    return table.unnest(path[1:])


def _count(table: ir.Table, argument: Any, context: _Context) -> ir.Table:
    if not isinstance(argument, str) or not argument or "$" in argument:
        raise PipelineError('$count takes a name: {"$count": "edits"}')
    return table.aggregate(**{argument: table.count()})


def _field(table: ir.Table, name: str) -> Any:
    first, *rest = name.split(".")
    if first not in table.columns:
        raise PipelineError(f"there is no field {first!r} here; there are {', '.join(table.columns)}")
    value = table[first]
    for part in rest:
        value = value[part]
    return value


def _expression(table: ir.Table, value: Any, context: _Context, depth: int) -> Any:
    """A value computed from a row: "$field", a constant, or {"$operator": arguments}."""
    if depth > MAX_DEPTH:
        raise PipelineError(f"an expression is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str) and value.startswith("$"):
        return _field(table, value[1:])
    if isinstance(value, dict):
        if len(value) != 1 or not next(iter(value)).startswith("$"):
            raise PipelineError(f"{value!r} is not an expression with one operator")
        operator, inner = next(iter(value.items()))
        if operator == "$literal":
            return ibis.literal(inner)
        if operator == "$dateToString":
            if not isinstance(inner, dict) or "date" not in inner:
                raise PipelineError('$dateToString takes {"format": "%Y-%m-%d", "date": "$timestamp"}')
            return _expression(table, inner["date"], context, depth + 1).strftime(inner.get("format", DATE_FORMAT))
        if operator == "$cond":
            return _conditional(table, inner, context, depth)
        if operator not in _OPERATORS:
            raise PipelineError(f"there is no operator {operator!r}; there are {', '.join(_OPERATORS)}")
        given = inner if isinstance(inner, list) else [inner]
        count, function = _OPERATORS[operator]
        if count and len(given) != count:
            raise PipelineError(f"{operator} takes {count} value{'s' if count > 1 else ''}, not {len(given)}")
        return function(*[_expression(table, part, context, depth + 1) for part in given])
    if isinstance(value, list):
        raise PipelineError("a list is not a value of an expression")
    return ibis.literal(value)


def _conditional(table: ir.Table, inner: Any, context: _Context, depth: int) -> Any:
    parts = [inner.get("if"), inner.get("then"), inner.get("else")] if isinstance(inner, dict) else inner
    if not isinstance(parts, list) or len(parts) != 3:
        raise PipelineError('$cond takes {"if": …, "then": …, "else": …}')
    test, yes, no = (_expression(table, part, context, depth + 1) for part in parts)
    return ibis.ifelse(test, yes, no)


def _sum(table: ir.Table, inner: Any, context: _Context) -> Any:
    if isinstance(inner, int) and not isinstance(inner, bool):
        return table.count() * inner if inner != 1 else table.count()
    return ibis.coalesce(_number(_expression(table, inner, context, 0)).sum(), 0)


def _number(value: Any) -> Any:
    return value.cast("int64") if value.type().is_boolean() else value


def _accumulator(make: Callable[[Any], Any]) -> Callable[[ir.Table, Any, _Context], Any]:
    return lambda table, inner, context: make(_number(_expression(table, inner, context, 0)))


def _in_order(
    plain: Callable[[Any], Any], placed: Callable[[Any, Any], Any]
) -> Callable[[ir.Table, Any, _Context], Any]:
    """What depends on the order of rows. It is known after a $sort: then the place of a row decides, because Spark has
    no aggregates with an order of their own."""

    def made(table: ir.Table, inner: Any, context: _Context) -> Any:
        value = _number(_expression(table, inner, context, 0))
        return placed(value, table[_PLACE]) if _PLACE in table.columns else plain(value)

    return made


def _listed(value: Any, place: Any) -> Any:
    rows = ibis.struct({"place": place, "value": value}).collect(where=value.notnull())
    return rows.sort().map(lambda row: row.value)


_PLACE = "place in the order of $sort"  # no field of anybody's is called so
_ACCUMULATORS: Mapping[str, Callable[[ir.Table, Any, _Context], Any]] = {
    "$sum": _sum,
    "$avg": _accumulator(lambda value: value.mean()),
    "$min": _accumulator(lambda value: value.min()),
    "$max": _accumulator(lambda value: value.max()),
    "$count": lambda table, inner, context: table.count(),
    "$first": _in_order(lambda value: value.first(), lambda value, place: value.argmin(place, where=value.notnull())),
    "$last": _in_order(lambda value: value.last(), lambda value, place: value.argmax(place, where=value.notnull())),
    "$addToSet": _accumulator(lambda value: value.collect(distinct=True)),
    "$push": _in_order(lambda value: value.collect(), _listed),
    "$stdDevPop": _accumulator(lambda value: value.std(how="pop")),
    "$stdDevSamp": _accumulator(lambda value: value.std()),
}
_ORDERINGS: Mapping[str, Callable[[Any, Any], Any]] = {
    "$gt": lambda a, b: ibis.coalesce(a > b, False),
    "$gte": lambda a, b: ibis.coalesce(a >= b, False),
    "$lt": lambda a, b: ibis.coalesce(a < b, False),
    "$lte": lambda a, b: ibis.coalesce(a <= b, False),
}


def _fold(step: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def folded(first: Any, *others: Any) -> Any:
        for other in others:
            first = step(first, other)
        return first

    return folded


_OPERATORS: Mapping[str, tuple[int, Callable[..., Any]]] = {  # how many values (0: any number), what is made of them
    "$add": (0, _fold(lambda a, b: a + b)),
    "$subtract": (2, lambda a, b: a - b),
    "$multiply": (0, _fold(lambda a, b: a * b)),
    "$divide": (2, lambda a, b: a / b),
    "$mod": (2, lambda a, b: a % b),
    "$abs": (1, lambda a: a.abs()),
    "$concat": (0, _fold(lambda a, b: a.concat(b))),
    "$toLower": (1, lambda a: a.lower()),
    "$toUpper": (1, lambda a: a.upper()),
    "$strLenCP": (1, lambda a: a.length()),
    "$substr": (3, lambda a, start, size: a.substr(start, size)),
    "$size": (1, lambda a: a.length()),
    "$ifNull": (2, ibis.coalesce),
    "$year": (1, lambda a: a.year()),
    "$month": (1, lambda a: a.month()),
    "$dayOfMonth": (1, lambda a: a.day()),
    "$dayOfYear": (1, lambda a: a.day_of_year()),
    "$dayOfWeek": (1, lambda a: (a.day_of_week.index() + 1) % 7 + 1),  # 1 is Sunday
    "$hour": (1, lambda a: a.hour()),
    "$minute": (1, lambda a: a.minute()),
    "$eq": (2, lambda a, b: a == b),
    "$ne": (2, lambda a, b: a != b),
    "$gt": (2, lambda a, b: a > b),
    "$gte": (2, lambda a, b: a >= b),
    "$lt": (2, lambda a, b: a < b),
    "$lte": (2, lambda a, b: a <= b),
    "$and": (0, lambda *parts: ibis.and_(*parts)),
    "$or": (0, lambda *parts: ibis.or_(*parts)),
    "$not": (1, lambda a: ~a),
}
_STAGES: Mapping[str, Callable[[ir.Table, Any, _Context], ir.Table]] = {
    "$match": _match,
    "$project": _project,
    "$group": _group,
    "$sort": _sort,
    "$limit": _limit,
    "$skip": _skip,
    "$unwind": _unwind,
    "$count": _count,
}
STAGES: Sequence[str] = tuple(_STAGES)

"""SQL and aggregation pipelines over the lake, of whoever may, in the sandbox: one at a time, one that waits."""

from __future__ import annotations

from contextlib import contextmanager
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any

import msgspec

from hemeroteca.accounts import Actor, require
from hemeroteca.errors import Busy, Invalid
from hemeroteca.wiki import answer_cache, commits
from hemeroteca.wiki.query_process import of_the_lake

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hemeroteca.lake.sandbox import SqlAnswer


def sql(actor: Actor, text: str) -> SqlAnswer:
    """One SELECT over articles, revisions, texts, events, earlier and mediawiki_history, in the sandbox."""
    require(actor, "wiki.query")
    return _confined(text)


def pipeline(actor: Actor, stages: Any, collection: str = "revisions", date_format: str = "") -> SqlAnswer:
    """An aggregation pipeline, translated to Ibis, run in the sandbox."""
    require(actor, "wiki.query")
    return _confined(_translated(stages, collection, date_format))


@of_the_lake
def _translated(stages: Any, collection: str, date_format: str) -> str:
    import ibis

    from hemeroteca.lake import query_engine
    from hemeroteca.lake.pipeline import PipelineError, translate

    if collection not in query_engine.QUERYABLE:
        raise Invalid(f"there is no collection {collection!r}; there are {', '.join(query_engine.QUERYABLE)}")
    try:
        return str(ibis.to_sql(translate(stages, query_engine.unbound(collection), date_format), dialect="duckdb"))
    except PipelineError as error:
        raise Invalid(str(error))


@of_the_lake
def columns() -> dict[str, list[str]]:
    """What can be asked in SQL: tables and their columns."""
    from hemeroteca.lake import query_engine, revisions

    found = {table: list(revisions.schema(table).names) for table in revisions.TABLES}
    found["articles"] = list(query_engine.articles_schema().names)
    return {table: [name for name in names if name != "fingerprint"] for table, names in found.items()}


def _confined(text: str) -> SqlAnswer:
    from hemeroteca.lake import sandbox

    key = "sql", text
    if (known := answer_cache.recall(key)) is not None:
        return known
    version = commits.current_version()
    sources, made, visible = _sources()
    with _turn():
        try:
            answer = sandbox.ask(text, msgspec.convert(sources, list[sandbox.TableSource]), made, visible)
        except sandbox.QueryRefused as error:
            raise Invalid(str(error), "query-refused")
    answer_cache.remember(key, answer, version)
    return answer


@of_the_lake
def _sources() -> tuple[Any, list[tuple[str, str]], list[str]]:
    """What the sandbox opens, the views over it, and the names that may be asked for."""
    from hemeroteca.lake import query_engine, views

    sources, made = views.for_sandbox(commits.lake_files(), commits.manifest())
    return msgspec.to_builtins(sources, builtin_types=(bytes,)), made, [*query_engine.QUERYABLE, views.HISTORY]


@contextmanager
def _turn() -> Iterator[None]:
    """One query after the other, one that waits; others are told to come again, and the console has its threads."""
    if not _places.acquire(blocking=False):
        raise Busy("other queries are being run; ask again in a moment")
    try:
        with _at_work:
            yield
    finally:
        _places.release()


_at_work = Lock()
_places = BoundedSemaphore(2)

"""The tables of a manifest in Ibis: over DuckDB, or over Spark when that is asked for. Reading only.

Whatever is asked of histories is written once, as Ibis expressions over `Lake.revisions` and its sisters, and gives the
same on both engines (`tests/lake/test_engines.py` holds them to it).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from hemeroteca.lake.files import LakeFiles
from hemeroteca.lake.manifest import LakeArticle, Manifest
from hemeroteca.lake.revisions import EARLIER, EVENTS, KEYS, REVISIONS, TABLES, TEXTS, schema

ARTICLES = "articles"


class Lake:
    """Tables as Ibis sees them. `engine`: duckdb or spark."""

    def __init__(self, files: LakeFiles, manifest: Manifest, engine: str = "duckdb", threads: int = 0) -> None:
        self.manifest = manifest
        self._files = files
        self.engine = engine
        if engine == "spark":
            self.connection = _spark()
        else:
            self.connection = ibis.duckdb.connect(**({"threads": threads} if threads else {}))
            self.connection.raw_sql("SET TimeZone='UTC'")

    @cached_property
    def revisions(self) -> ir.Table:
        """Each revision once, in its last form, with its article's title of today."""
        table = current(self._read(REVISIONS, updates=False), self._read(REVISIONS, updates=True), KEYS[REVISIONS])
        renamed = [article for article in self.manifest.articles if article.renamed]
        return retitled(table, _memtable(renamed)) if renamed else table

    @cached_property
    def texts(self) -> ir.Table:
        """Texts by sha1. A text that two writers brought at the same moment may be there twice."""
        found = self._read(TEXTS, updates=False)
        return _empty(TEXTS) if found is None else found

    @cached_property
    def earlier(self) -> ir.Table:
        """What revisions were before the wiki changed them."""
        found = self._read(EARLIER, updates=False)
        return _empty(EARLIER) if found is None else found

    @cached_property
    def events(self) -> ir.Table:
        found = self._read(EVENTS, updates=False)
        return _empty(EVENTS) if found is None else found.distinct(on=list(KEYS[EVENTS]))

    @cached_property
    def articles(self) -> ir.Table:
        return _memtable(self.manifest.articles)

    def table(self, name: str) -> ir.Table:
        return getattr(self, name)

    def rows(self, expression: ir.Table) -> list[dict[str, Any]]:
        return self.connection.to_pyarrow(expression).to_pylist()

    def value(self, expression: Any) -> Any:
        return self.connection.to_pyarrow(expression).as_py()

    def arrow(self, expression: ir.Table) -> pa.Table:
        return self.connection.to_pyarrow(expression)

    def batches(self, expression: ir.Table, size: int) -> Iterator[pa.RecordBatch]:
        """Rows in parts, for what is too much at once."""
        if self.engine == "spark":
            yield from self.connection.to_pyarrow_batches(expression, chunk_size=size)
            return
        # Ibis 12 asks DuckDB 2 by a name that it no longer has
        self.connection._run_pre_execute_hooks(expression)
        found = self.connection.con.sql(str(self.connection.compile(expression)))
        yield from found.to_arrow_reader(size) if hasattr(found, "to_arrow_reader") else found.fetch_record_batch(size)

    def close(self) -> None:
        if self.engine != "spark":  # a Spark session is shared by the process
            self.connection.disconnect()

    def _read(self, table: str, updates: bool) -> ir.Table | None:
        names = (self.manifest.updates if updates else self.manifest.bases).get(table, ())
        if not names:
            return None
        paths = self._files.locals(names)
        if self.engine == "spark":
            session = self.connection._session
            frame = session.read.parquet(*paths)
            view = f"{table}_{'updates' if updates else 'bases'}_{self.manifest.version}_{abs(hash(tuple(names)))}"
            frame.createOrReplaceTempView(view)
            return self.connection.table(view)
        return self.connection.read_parquet(paths, table_name=f"{table}_{'updates' if updates else 'bases'}")


def current(base: ir.Table | None, updates: ir.Table | None, keys: Sequence[str]) -> ir.Table:
    """Rows of the bases, with those of the updates instead where there are any."""
    if base is None and updates is None:
        return _empty(REVISIONS)
    if updates is None:
        assert base is not None
        return base
    window = ibis.window(group_by=list(keys), order_by=[updates.version.desc(), updates.extraction_date.desc()])
    newest = updates.mutate(place=ibis.row_number().over(window)).filter(ibis._.place == 0).drop("place")
    if base is None:
        return newest
    return base.anti_join(newest, list(keys)).union(newest)


def retitled(revisions: ir.Table, renamed: ir.Table) -> ir.Table:
    """Articles that were moved have one title, that of today."""
    titles = renamed.select(title_wiki="wiki", title_pageid="pageid", title_now="title")
    joined = revisions.left_join(titles, [revisions.wiki == titles.title_wiki, revisions.pageid == titles.title_pageid])
    named = joined.mutate(title=ibis.coalesce(joined.title_now, joined.title))
    return named.select(*revisions.columns)


def articles_arrow(articles: Sequence[LakeArticle]) -> pa.Table:
    names = LakeArticle.__struct_fields__
    columns: dict[str, Any] = {}
    for field in articles_schema():
        values = [getattr(article, field.name) for article in articles]
        if field.name.endswith("_date"):
            columns[field.name] = pa.array([value or None for value in values], pa.int64()).cast(field.type)
        else:
            columns[field.name] = pa.array([list(v) if isinstance(v, tuple) else v for v in values], field.type)
    assert set(columns) == set(names)
    return pa.table(columns, schema=articles_schema())


def articles_schema() -> pa.Schema:
    return pa.schema(
        [
            ("wiki", pa.string()),
            ("locale", pa.string()),
            ("ns", pa.int64()),
            ("pageid", pa.int64()),
            ("title", pa.string()),
            ("first_extraction_date", pa.timestamp("ms")),
            ("last_extraction_date", pa.timestamp("ms")),
            ("last_revision_extracted", pa.int64()),
            ("renamed", pa.bool_()),
            ("deleted", pa.bool_()),
            ("limited", pa.bool_()),
            ("categories", pa.list_(pa.string())),
        ]
    )


def unbound(table: str) -> ir.Table:
    """A table by its name only: for expressions that are compiled here and run elsewhere."""
    shape = articles_schema() if table == ARTICLES else schema(table)
    return ibis.table(ibis.Schema.from_pyarrow(shape), name=table)


QUERYABLE = (ARTICLES, *TABLES)


def _memtable(articles: Sequence[LakeArticle]) -> ir.Table:
    return ibis.memtable(articles_arrow(articles))


def _empty(table: str) -> ir.Table:
    return ibis.memtable(schema(table).empty_table())


def _spark() -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise ModuleNotFoundError("the engine spark needs pyspark: pip install 'hemeroteca[spark]'")
    session = (
        SparkSession.builder.appName("hemeroteca")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    return ibis.pyspark.connect(session)

"""Tables of the lake for the sandbox, and the view that carries the names of Wikimedia's history dumps."""

from __future__ import annotations

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from hemeroteca.lake.files import LakeFiles
from hemeroteca.lake.manifest import Manifest
from hemeroteca.lake.query_engine import ARTICLES, articles_arrow, articles_schema, current, retitled
from hemeroteca.lake.revisions import KEYS, REVISIONS, TABLES, schema
from hemeroteca.lake.sandbox import TableSource

HISTORY = "mediawiki_history"


def for_sandbox(files: LakeFiles, manifest: Manifest) -> tuple[list[TableSource], list[tuple[str, str]]]:
    """Open-able sources and the views over them, the same tables that `engine.Lake` has."""
    sources = [TableSource(ARTICLES, stream=_stream(articles_arrow(manifest.articles)))]
    views: list[tuple[str, str]] = []
    for table in TABLES:
        parts: dict[str, ir.Table | None] = {}
        for kind, names in (("bases", manifest.bases.get(table, ())), ("updates", manifest.updates.get(table, ()))):
            name = f"{table}_{kind}"
            parts[kind] = None
            if names:
                sources.append(TableSource(name, files=tuple(files.locals(names))))
                parts[kind] = ibis.table(ibis.Schema.from_pyarrow(schema(table)), name=name)
        if parts["bases"] is None and parts["updates"] is None:
            sources.append(TableSource(table, stream=_stream(schema(table).empty_table())))
            continue
        if table == REVISIONS:
            found = current(parts["bases"], parts["updates"], KEYS[table])
            if any(article.renamed for article in manifest.articles):
                articles = ibis.table(ibis.Schema.from_pyarrow(articles_schema()), name=ARTICLES)
                found = retitled(found, articles.filter(articles.renamed))
        else:
            assert parts["bases"] is not None
            found = parts["bases"].distinct(on=list(KEYS[table])) if table in ("texts", "events") else parts["bases"]
        views.append((table, str(ibis.to_sql(found, dialect="duckdb"))))
    revisions = ibis.table(ibis.Schema.from_pyarrow(schema(REVISIONS)), name=REVISIONS)
    views.append((HISTORY, str(ibis.to_sql(history(revisions), dialect="duckdb"))))
    return sources, views


def history(revisions: ir.Table) -> ir.Table:
    """Revisions with the column names of Wikimedia's history dumps, as far as a revision tells them."""
    page = ibis.window(group_by=["wiki", "pageid"], order_by=["timestamp", "revid"])
    size = revisions["size"]
    return revisions.select(
        wiki_db=revisions.wiki,
        event_entity=ibis.literal("revision"),
        event_type=ibis.literal("create"),
        event_timestamp=revisions.timestamp,
        event_comment=revisions.comment,
        event_user_id=revisions.userid,
        event_user_text=revisions.user,
        event_user_is_anonymous=revisions.anon,
        event_user_is_temporary=revisions.temp,
        page_id=revisions.pageid,
        page_title=revisions.title,
        page_namespace=revisions.ns,
        page_revision_count=(ibis.row_number().over(page) + 1),
        revision_id=revisions.revid,
        revision_parent_id=revisions.parentid,
        revision_minor_edit=revisions.minor,
        revision_text_bytes=size,
        revision_text_bytes_diff=size - ibis.coalesce(size.lag().over(page), 0),
        revision_text_sha1=revisions.sha1,
        revision_content_model=revisions.contentmodel,
        revision_content_format=revisions.contentformat,
        revision_is_deleted_by_page_deletion=revisions.gone,
        revision_tags=revisions.tags,
    )


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()

"""Rows into Parquet files, and several files into one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hemeroteca.lake.revisions import KEYS, ORDER, TEXTS, TIMES, Revision, schema

ROWS_IN_GROUP = 131_072
TEXT_ROWS_IN_GROUP = 4_096
TEXT_PAGE_BYTES = 8 << 20  # consecutive texts of an article in one page: zstd stores what differs
TEXT_LEVEL = 6
LEVEL = 3
DICTIONARIES = {"wiki", "locale", "title", "user", "contentmodel", "contentformat", "type", "action", "slots"}


def write(table: str, rows: Sequence[msgspec.Struct], target: Path) -> int:
    """Write rows, in the table's order, to a file; its bytes."""
    return _store(table, arrow(table, rows), target)


def arrow(table: str, rows: Sequence[msgspec.Struct]) -> pa.Table:
    columns: dict[str, Any] = {}
    shape = schema(table)
    for field in shape:
        if field.name == "fingerprint":
            values: list[Any] = [row.fingerprint() for row in rows if isinstance(row, Revision)]
        else:
            values = [getattr(row, field.name) for row in rows]
        if field.name in TIMES:
            columns[field.name] = pa.array(values, pa.int64()).cast(pa.timestamp("ms"))
        else:
            columns[field.name] = pa.array(values, field.type)
    return pa.table(columns, schema=shape)


def merge(table: str, bases: Sequence[Path], updates: Sequence[Path], target: Path) -> tuple[int, int]:
    """Make one file of several: each thing once, in its last form. Gives its rows and bytes.

    Memory: the rows of a bucket of one wiki, which compaction keeps to some hundred megabytes.
    """
    everything = pa.concat_tables([pq.read_table(path, schema=schema(table)) for path in (*bases, *updates)])
    if everything.num_rows:
        kept = _last_of_each(table, everything)
        everything = everything.take(kept.take(pc.sort_indices(kept)))
    return everything.num_rows, _store(table, everything, target)


def _last_of_each(table: str, everything: pa.Table) -> pa.Array:
    """Places of the rows to keep. Of texts the first, which keeps them beside the revision that brought them."""
    places = pa.array(range(everything.num_rows), pa.int64())
    keys = list(KEYS[table])
    numbered = everything.select(keys).append_column("place", places)
    if table == TEXTS:
        return numbered.group_by(keys).aggregate([("place", "min")]).column("place_min").combine_chunks()
    if "version" in everything.column_names:
        order = pc.sort_indices(everything, [("version", "ascending"), ("extraction_date", "ascending")])
        numbered = numbered.take(order).set_column(len(keys), "place", order.cast(pa.int64()))
        numbered = numbered.append_column("turn", places)
        last = numbered.group_by(keys).aggregate([("turn", "max")]).column("turn_max").combine_chunks()
        return numbered.column("place").combine_chunks().take(last)
    return numbered.group_by(keys).aggregate([("place", "max")]).column("place_max").combine_chunks()


def _store(table: str, rows: pa.Table, target: Path) -> int:
    if table != TEXTS:
        rows = rows.take(pc.sort_indices(rows, [(name, "ascending") for name in ORDER[table]]))
    elif rows.num_rows:  # by article, within it in the order in which the texts came
        order = pc.sort_indices(
            pa.table({"pageid": rows.column("pageid"), "place": pa.array(range(rows.num_rows))}),
            [("pageid", "ascending"), ("place", "ascending")],
        )
        rows = rows.take(order)
    pq.write_table(
        rows,
        target,
        compression="zstd",
        compression_level=TEXT_LEVEL if table == TEXTS else LEVEL,
        use_dictionary=[name for name in rows.column_names if name in DICTIONARIES],
        row_group_size=TEXT_ROWS_IN_GROUP if table == TEXTS else ROWS_IN_GROUP,
        data_page_size=TEXT_PAGE_BYTES if table == TEXTS else 1 << 20,
        write_page_index=True,
    )
    return target.stat().st_size

"""Rows into Parquet files, and several files into one."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Sized
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hemeroteca import lazy
from hemeroteca.lake.revisions import KEYS, ORDER, TEXTS, Text, schema

pc = lazy.Module("pyarrow.compute")  # wraps hundreds of functions, of which compaction needs one

ROWS_IN_GROUP = 131_072
TEXT_ROWS_IN_GROUP = 4_096
TEXT_PAGE_BYTES = 4 << 20  # consecutive texts of an article in one page: zstd stores what differs
MIN_TEXT_PAGE_BYTES = 64 << 10  # one that is written before it is full: another bucket needs the memory
WRITE_LEVEL = 3  # of zstd: an extraction shall cost little; compaction packs tighter
MERGE_LEVEL = 6
DICTIONARIES = {"wiki", "locale", "title", "user", "contentmodel", "contentformat", "type", "action", "slots"}


def write(table: str, rows: Sequence[msgspec.Struct], target: Path) -> int:
    """Write rows, in the table's order, to a file; its bytes."""
    return _store(table, arrow(table, sorted(rows, key=attrgetter(*ORDER[table]))), target, WRITE_LEVEL)


class TextWriter:
    """A file of texts, written as they come: one page of it is held, however long the histories are."""

    def __init__(self, target: Path, spare: list[memoryview] | None = None) -> None:
        """`spare`: memory of pages, shared by several writers that seldom fill theirs at once. New memory is costly."""
        self.target = target
        self.rows = 0
        self._keys: list[tuple[str, int, str]] = []  # of the texts in the page that is being filled
        self._sizes: list[int] = []
        self._spare = [] if spare is None else spare
        self._page: memoryview | None = None
        self._filled = 0
        self._writer = pq.ParquetWriter(target, schema(TEXTS), **_settings(TEXTS, WRITE_LEVEL))

    def add(self, text: Text) -> int:
        """Take a text; its bytes."""
        data = text.text.encode("utf-8", "replace") if isinstance(text.text, str) else text.text
        size = len(data)
        if self._filled + size > TEXT_PAGE_BYTES or len(self._keys) >= TEXT_ROWS_IN_GROUP:
            self._write()
        page = self._page
        if page is None or size > len(page):
            page = self._page = self._memory(size)
        if isinstance(data, bytes):
            page[self._filled : self._filled + size] = data
        else:
            data.write(page, self._filled)
        self._filled += size
        self._keys.append((text.wiki, text.pageid, text.sha1))
        self._sizes.append(size)
        self.rows += 1
        return size

    def settle(self) -> None:
        """For a while no texts will come: a page that is worth it is written, and its memory is free for others."""
        if self._filled >= MIN_TEXT_PAGE_BYTES:
            self._write()

    def close(self) -> int:
        """The bytes of the file, which is then whole."""
        self._write()
        self._writer.close()
        return self.target.stat().st_size

    def _memory(self, size: int) -> memoryview:
        if size > TEXT_PAGE_BYTES:
            return np.empty(size, np.uint8).data
        return self._spare.pop() if self._spare else np.empty(TEXT_PAGE_BYTES, np.uint8).data

    def _write(self) -> None:
        if self._page is not None and self._keys:
            shape = schema(TEXTS)
            keys = zip(*self._keys, strict=True)
            columns = [_column(list(values), field.type) for values, field in zip(keys, shape, strict=False)]
            page = pa.py_buffer(self._page[: self._filled])
            columns.append(pa.Array.from_buffers(pa.string(), len(self._sizes), [None, _ends(self._sizes), page]))
            self._writer.write_table(pa.Table.from_arrays(columns, schema=shape))
            if len(self._page) == TEXT_PAGE_BYTES:
                self._spare.append(self._page)
        self._keys, self._sizes, self._filled, self._page = [], [], 0, None


def arrow(table: str, rows: Sequence[msgspec.Struct]) -> pa.Table:
    shape = schema(table)
    columns = [_column([*map(attrgetter(field.name), rows)], field.type) for field in shape]
    return pa.Table.from_arrays(columns, schema=shape)


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """An array from its parts. `pa.array` would load pandas (half a second) to ask whether a list is one of its own."""
    if values and values.count(values[0]) == len(values) and not pa.types.is_list(kind):
        return _repeated(values[0], len(values), kind)
    valid = _bits([value is not None for value in values]) if None in values else None
    if pa.types.is_string(kind):
        data = "".join(filter(None, values)).encode("utf-8", "replace")
        parts: list[Any] = [value or "" for value in values]
        if len(data) != sum(map(len, parts)):  # not ASCII alone
            parts = [part.encode("utf-8", "replace") for part in parts]
        return pa.Array.from_buffers(kind, len(values), [valid, _offsets(parts), pa.py_buffer(data)])
    if pa.types.is_list(kind):
        lists = [value or () for value in values]
        inner = _column([part for value in lists for part in value], kind.value_type)
        return pa.Array.from_buffers(kind, len(values), [valid, _offsets(lists)], children=[inner])
    if pa.types.is_boolean(kind):
        return pa.Array.from_buffers(kind, len(values), [valid, _bits(values)])
    if valid is not None:
        values = [value or 0 for value in values]
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(np.array(values, np.int64))])  # times: in ms


def _repeated(value: Any, count: int, kind: pa.DataType) -> pa.Array:
    """A column that says one thing throughout, as most do of one article."""
    if value is None:
        return pa.nulls(count, kind)
    if pa.types.is_string(kind):
        data = value.encode("utf-8", "replace")
        ends = pa.py_buffer(np.arange(count + 1, dtype=np.int32) * np.int32(len(data)))
        return pa.Array.from_buffers(kind, count, [None, ends, pa.py_buffer(data * count)])
    if pa.types.is_boolean(kind):
        bits = np.full(-(-count // 8), 255 if value else 0, np.uint8)
        return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(bits)])
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(np.full(count, value, np.int64))])


def _offsets(parts: Sequence[Sized]) -> pa.Buffer:
    return _ends([*map(len, parts)])


def _ends(sizes: list[int]) -> pa.Buffer:
    ends = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=ends[1:])
    return pa.py_buffer(ends)


def _bits(values: list[bool]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(np.array(values, np.bool_), bitorder="little"))


def of_page(source: Path, pageid: int, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of one page. `read_table` with filters would load pandas, which takes longer than an extraction."""
    with pq.ParquetFile(source) as file:
        place = file.schema.names.index("pageid")
        ranges = [file.metadata.row_group(number).column(place).statistics for number in range(file.num_row_groups)]
        groups = [n for n, range_ in enumerate(ranges) if _may_hold(range_, pageid)]
        rows = file.read_row_groups(groups, columns=list(dict.fromkeys(("pageid", *columns))))
    pages = rows.column("pageid").combine_chunks()  # its bytes: `np.array` of it would load pandas, too
    places = np.flatnonzero(np.frombuffer(pages.buffers()[1] or b"", np.int64, len(pages), 8 * pages.offset) == pageid)
    wanted = rows.select(columns)
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)  # they lie together; `take` would load `pc`
    return [row for run in runs if len(run) for row in wanted.slice(int(run[0]), len(run)).to_pylist()]


def _may_hold(range_: Any, value: int) -> bool:
    return range_ is None or not range_.has_min_max or range_.min <= value <= range_.max


def without(table: str, source: Path, pageids: Collection[int], target: Path) -> tuple[int, int]:
    """The rows of a file but those of some pages, as another file. Gives its rows and bytes."""
    everything = pq.read_table(source, schema=schema(table))
    pages = np.array(everything.column("pageid"))
    rows = everything.take(_column(list(np.flatnonzero(~np.isin(pages, list(pageids)))), pa.int64()))
    return rows.num_rows, _store(table, rows, target, WRITE_LEVEL)


def merge(table: str, bases: Sequence[Path], updates: Sequence[Path], target: Path) -> tuple[int, int]:
    """Make one file of several: each thing once, in its last form. Gives its rows and bytes.

    Memory: the rows of a bucket of one wiki, which compaction keeps to some hundred megabytes.
    """
    everything = pa.concat_tables([pq.read_table(path, schema=schema(table)) for path in (*bases, *updates)])
    if everything.num_rows:
        kept = _last_of_each(table, everything)
        everything = everything.take(kept.take(pc.sort_indices(kept)))
        everything = everything.take(_order(table, everything))
    return everything.num_rows, _store(table, everything, target, MERGE_LEVEL)


def _last_of_each(table: str, everything: pa.Table) -> pa.Array:
    """Places of the rows to keep. Of texts the first, which keeps them beside the revision that brought them."""
    places = _column(list(range(everything.num_rows)), pa.int64())
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


def _store(table: str, rows: pa.Table, target: Path, level: int) -> int:
    with pq.ParquetWriter(target, rows.schema, **_settings(table, level)) as writer:
        writer.write_table(rows, row_group_size=TEXT_ROWS_IN_GROUP if table == TEXTS else ROWS_IN_GROUP)
    return target.stat().st_size


def _settings(table: str, level: int) -> dict[str, Any]:
    return {
        "compression": "zstd",
        "compression_level": level,
        "data_page_version": "2.0",  # a page of the first kind is copied once more before it is packed
        "use_dictionary": [name for name in schema(table).names if name in DICTIONARIES],
        "data_page_size": TEXT_PAGE_BYTES if table == TEXTS else 1 << 20,
        "write_statistics": [name for name in schema(table).names if name != "text"],  # nobody asks for the least text
        "write_page_index": True,
    }


def _order(table: str, rows: pa.Table) -> pa.Array:
    """Places of the rows in the table's order."""
    if table != TEXTS:
        names = list(ORDER[table])
    else:  # by article, within it in the order in which the texts came
        names = ["pageid", "place"]
        rows = rows.select(["pageid"]).append_column("place", _column(list(range(rows.num_rows)), pa.int64()))
    return pc.sort_indices(rows, [(name, "ascending") for name in names])

"""Files of texts written in pages, as they come, and read back as they were."""

import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from hemeroteca.lake import parquet
from hemeroteca.lake.revisions import REVISIONS, TEXTS, Revision, Text


def text(number: int, content: str, pageid: int = 7) -> Text:
    return Text(wiki="w", pageid=pageid, sha1=f"{number:040x}", text=content)


@pytest.mark.parametrize("page_bytes", [16, 1000, 1 << 20])
def test_texts_written_as_they_come_are_read_back(tmp_path, monkeypatch, page_bytes):
    monkeypatch.setattr(parquet, "TEXT_PAGE_BYTES", page_bytes)
    contents = ["uno", "", "Mérida é ñ \N{ROCKET}", "largo " * 50, "a lone \ud800 surrogate", "fin"]
    writer = parquet.TextWriter(tmp_path / "texts")
    for number, content in enumerate(contents):
        writer.add(text(number, content))
    assert writer.close() == (tmp_path / "texts").stat().st_size
    table = pq.read_table(tmp_path / "texts")
    expected = [content.encode("utf-8", "replace").decode() for content in contents]
    assert table.column("text").to_pylist() == expected
    assert table.column("sha1").to_pylist() == [f"{number:040x}" for number in range(len(contents))]
    assert writer.rows == table.num_rows


def test_a_file_of_no_text_is_sound(tmp_path):
    writer = parquet.TextWriter(tmp_path / "texts")
    writer.close()
    assert pq.read_table(tmp_path / "texts").num_rows == 0


def test_texts_of_some_pages_are_left_out(tmp_path):
    rows = [text(number, f"texto {number}", number % 3) for number in range(9)]
    parquet.write(TEXTS, rows, tmp_path / "all")
    kept, size = parquet.without(TEXTS, tmp_path / "all", {0, 2}, tmp_path / "some")
    assert (kept, size) == (3, (tmp_path / "some").stat().st_size)
    assert pq.read_table(tmp_path / "some").column("text").to_pylist() == ["texto 1", "texto 4", "texto 7"]


@pytest.mark.parametrize("count", [1, 8, 9, 17])
@pytest.mark.parametrize("varies", [False, True])
def test_columns_that_say_one_thing_are_read_back_like_others(tmp_path, count, varies):
    usual = {
        "wiki": "w",
        "locale": "es",
        "ns": 0,
        "pageid": 7,
        "title": "Mérida \N{ROCKET}",
        "size": None,
        "minor": True,
    }
    rows = [Revision(revid=number, timestamp=number, tags=["a", "b"], **usual) for number in range(count)]
    if varies:
        rows[-1] = Revision(revid=count - 1, timestamp=count - 1, **{**usual, "title": "", "size": 3, "minor": False})
    parquet.write(REVISIONS, rows, tmp_path / "rows")
    table = pq.read_table(tmp_path / "rows")
    for name in ("title", "user", "size", "minor", "temp", "pageid", "tags", "fingerprint"):
        assert table.column(name).to_pylist() == [getattr(row, name) for row in rows], name


def test_rows_of_a_page_are_read_without_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "TEXT_ROWS_IN_GROUP", 4)
    rows = [text(number, f"texto {number}", number // 3) for number in range(12)]
    parquet.write(TEXTS, rows, tmp_path / "all")
    assert pq.ParquetFile(tmp_path / "all").num_row_groups == 3
    assert [row["text"] for row in parquet.of_page(tmp_path / "all", 1, ["pageid", "text"])] == [
        "texto 3", "texto 4", "texto 5",
    ]  # fmt: skip
    assert parquet.of_page(tmp_path / "all", 99, ["sha1"]) == []
    parquet.TextWriter(tmp_path / "none").close()
    assert parquet.of_page(tmp_path / "none", 1, ["sha1"]) == []


def test_a_writer_loads_neither_pandas_nor_the_engines(tmp_path):
    """They take longer to load than most extractions last."""
    parquet.write(TEXTS, [text(1, "uno")], tmp_path / "all")
    program = (
        "import sys, pathlib; from hemeroteca.lake import manifest, parquet;"
        "print(len(parquet.of_page(pathlib.Path(sys.argv[1]), 7, ['sha1', 'text'])),"
        "sorted({'pandas', 'ibis', 'duckdb', 'pyarrow.dataset'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "all")], capture_output=True, text=True, check=True
    )
    assert done.stdout.split(maxsplit=1) == ["1", "[]\n"]

"""Files of texts written in pages, as they come, and read back as they were."""

import pyarrow.parquet as pq
import pytest

from hemeroteca.lake import parquet
from hemeroteca.lake.revisions import TEXTS, Text


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

"""Mapped files are let go when they take more than the bound, and nobody notices."""

import gc
import sys
import threading
from pathlib import Path

import pytest

from hemeroteca.search.query.query_plan import QueryPlan, QueryPlanner
from hemeroteca.search.results import SearchOptions
from hemeroteca.search.retrieval import Retrieval
from hemeroteca.search.searcher import Searcher, open_searcher
from hemeroteca.search.tantivy import mapped_files
from hemeroteca.search.tantivy.tantivy_index import TantivyIndex, TantivyReader
from tests.search.conftest import fill, page


@pytest.fixture
def mapped(monkeypatch) -> list[int]:
    """What the system says is mapped, to be set by a test."""
    said = [0]
    monkeypatch.setattr(mapped_files, "mapped_bytes", lambda: said[0])
    return said


def looks(files: mapped_files.MappedFiles, times: int = 4) -> bool:
    return any(files.exceeded() for _ in range(times))


def test_the_bound_is_looked_at_every_few_calls(mapped):
    files = mapped_files.MappedFiles(100)
    assert not looks(files)
    mapped[0] = 101
    assert looks(files)


def test_what_cannot_be_released_is_not_tried_again_at_once(mapped):
    files = mapped_files.MappedFiles(100)
    mapped[0] = 300
    assert looks(files)
    files.released()  # still 300: something else has it
    assert not looks(files)
    mapped[0] = 351
    assert looks(files)
    mapped[0] = 90  # it was let go of later: the bound holds again
    assert not looks(files)
    mapped[0] = 101
    assert looks(files)


def test_an_index_opened_anew_finds_the_same(tmp_path, mapped, monkeypatch):
    fill(tmp_path, *(page(n, f"la biblioteca número {n} guarda periódicos") for n in range(30)))
    searcher = Searcher(TantivyIndex(tmp_path, mapped_bytes=1000), tmp_path)
    before = [(hit.key, hit.score) for hit in searcher.search("biblioteca periódicos").hits]
    released, anew = mapped_files.MappedFiles.released, []
    monkeypatch.setattr(mapped_files.MappedFiles, "released", lambda itself: (anew.append(1), released(itself)))
    mapped[0] = 2000
    found = [[(hit.key, hit.score) for hit in searcher.search("biblioteca periódicos").hits] for _ in range(4)]
    assert anew
    assert found == [before] * 4
    assert searcher.index.get(3) is not None


def test_a_sample_goes_on_when_the_index_is_opened_anew(tmp_path, mapped):
    fill(tmp_path, *(page(n, f"la biblioteca número {n}") for n in range(30)))
    searcher = Searcher(TantivyIndex(tmp_path, mapped_bytes=1), tmp_path)
    mapped[0] = 1 << 40
    assert len(list(searcher.index.sample(30))) == 30


def test_an_index_opened_anew_sees_later_commits_of_its_writer(tmp_path, mapped):
    searcher = Searcher(TantivyIndex(tmp_path, mapped_bytes=1), tmp_path)
    with searcher.index.writer(15 << 20) as writer:
        for key in range(8):
            mapped[0] += 1 << 30
            writer.put(page(key, "la biblioteca"), replaces=True)
            writer.commit()
            assert searcher.search("biblioteca").total == key + 1


def test_threads_search_while_the_index_is_opened_anew(tmp_path, mapped, monkeypatch):
    fill(tmp_path, *(page(n, f"la biblioteca número {n} guarda periódicos") for n in range(50)))
    searcher = Searcher(TantivyIndex(tmp_path, mapped_bytes=1), tmp_path)
    mapped[0] = 1 << 40
    monkeypatch.setattr(mapped_files.MappedFiles, "released", lambda itself: None)  # let it be tried again and again
    wrong: list[object] = []

    def ask() -> None:
        for _ in range(30):
            found = searcher.search("biblioteca periódicos", limit=5)
            if found.total != 50 or len(found.hits) != 5:
                wrong.append(found)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_linux_tells_what_is_mapped():
    assert mapped_files.mapped_bytes() > 1 << 20  # Python itself


def test_without_proc_nothing_is_ever_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped_files, "_STATM", str(Path(tmp_path) / "missing"))
    assert mapped_files.mapped_bytes() == 0
    assert not looks(mapped_files.MappedFiles(1), 20)


def test_nothing_of_a_search_outlives_it(tmp_path):
    """What is caught in a cycle of references keeps the files open until the collector comes by."""
    fill(tmp_path, *(page(n, f"la biblioteca número {n} guarda periódicos", title="Biblioteca") for n in range(30)))
    searcher = open_searcher(None, tmp_path)
    gc.collect()
    gc.disable()
    try:
        for query in ("biblioteca periódicos", '"la biblioteca" número', "biblio* OR ~periodicos", "site:example.org"):
            for sort in ("relevance", "newest"):
                searcher.search(query, options=SearchOptions(facets=True, sort=sort))
        searcher.explain("biblioteca", 3)
        left = [
            found
            for found in gc.get_objects()
            if isinstance(found, (Retrieval, QueryPlanner, QueryPlan, TantivyReader))
        ]
    finally:
        gc.enable()
    assert left == []

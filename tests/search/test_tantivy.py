"""The index on disk: what is committed is found, survives a kill, and is refused clearly when it cannot be read."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from hemeroteca.ingest.search_document import SearchDocument, simhash
from hemeroteca.search.index import IndexBusyError, IndexUnusableError, replacement
from hemeroteca.search.searcher import open_searcher
from hemeroteca.search.tantivy.tantivy_index import TantivyReader


def page(key: int, text: str, language: str = "es", **more: object) -> SearchDocument:
    more.setdefault("url", f"https://example.org/{key}")
    more.setdefault("host", "example.org")
    return SearchDocument(key=key, text=text, language=language, **more)


def fill(path: Path, *pages: SearchDocument) -> None:
    searcher = open_searcher(None, path)
    with searcher.index.writer() as writer:
        for document in pages:
            writer.put(document, replaces=True)
        writer.commit()


def urls(path: Path, query: str) -> list[str]:
    return [hit.url for hit in open_searcher(None, path).search(query).hits]


def test_a_committed_page_is_found_and_an_uncommitted_one_is_not(tmp_path):
    searcher = open_searcher(None, tmp_path)
    writer = searcher.index.writer()
    writer.put(page(1, "la biblioteca de periódicos"), replaces=False)
    assert searcher.search("biblioteca").hits == []
    writer.commit()
    assert [hit.key for hit in searcher.search("biblioteca").hits] == [1]
    writer.put(page(2, "otra biblioteca"), replaces=False)
    writer.close()
    assert searcher.index.count() == 1


@pytest.mark.parametrize(
    ("language", "text", "query"),
    [
        ("es", "las canciones populares", "canción"),
        ("es", "la educación pública", "educacion publica"),
        ("en", "running dogs", "dog run"),
        ("pt", "as bibliotecas nacionais", "biblioteca nacional"),
        ("fr", "les bibliothèques nationales", "bibliotheque nationale"),
        ("it", "le biblioteche", "biblioteca"),
        ("de", "die Häuser", "haus"),
        ("ca", "les ciutats", "ciutats"),
        ("", "zdravljica ëta", "eta"),
        ("zh", "国家图书馆的历史", "图书馆"),
        ("ru", "библиотеки города", "библиотека"),
    ],
)
def test_words_are_found_in_other_forms_and_without_accents(tmp_path, language, text, query):
    fill(tmp_path, page(1, text, language), page(2, "algo distinto", "es"))
    assert urls(tmp_path, query) == ["https://example.org/1"]


def test_a_page_put_again_replaces_the_old_one(tmp_path):
    fill(tmp_path, page(7, "primera redacción"))
    fill(tmp_path, page(7, "segunda redacción"))
    assert urls(tmp_path, "primera") == []
    assert urls(tmp_path, "segunda") == ["https://example.org/7"]


def test_a_deleted_page_is_gone(tmp_path):
    fill(tmp_path, page(-5, "negativa"), page(6, "positiva"))
    searcher = open_searcher(None, tmp_path)
    with searcher.index.writer() as writer:
        writer.delete(-5)
        writer.commit()
    assert searcher.index.count() == 1


def test_snippet_marks_the_words_and_escapes_html(tmp_path):
    fill(tmp_path, page(1, "relleno " * 200 + "el <script>alert(1)</script> vio las canciones " + "final " * 100))
    snippet = open_searcher(None, tmp_path).search("canción").hits[0].snippet
    assert "<b>canciones</b>" in snippet
    assert "&lt;script&gt;" in snippet
    assert "<script>" not in snippet
    assert len(snippet) < 400


def test_a_reader_in_another_place_sees_new_commits(tmp_path):
    searcher = open_searcher(None, tmp_path)
    assert searcher.index.count() == 0
    fill(tmp_path, page(1, "uno"))
    assert searcher.index.count() == 1
    fill(tmp_path, page(2, "dos"))
    assert [hit.key for hit in searcher.search("dos").hits] == [2]


def test_two_writers_are_refused_with_a_reason(tmp_path):
    searcher = open_searcher(None, tmp_path)
    with searcher.index.writer(), pytest.raises(IndexBusyError, match="another process"):
        open_searcher(None, tmp_path).index.writer()


def test_a_writer_killed_in_the_middle_leaves_the_last_commit(tmp_path):
    script = textwrap.dedent(f"""
        from pathlib import Path
        from hemeroteca.ingest.search_document import SearchDocument
        from hemeroteca.search.searcher import open_searcher
        writer = open_searcher(None, Path({str(tmp_path)!r})).index.writer()
        key = 0
        while True:
            for _ in range(50):
                key += 1
                writer.put(SearchDocument(key=key, url=f"u{{key}}", text=f"palabra{{key}} comun", language="es"))
            writer.commit()
            print(key, flush=True)
    """)
    acknowledged = 0
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=os.environ)
        for _ in range(4):
            acknowledged = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = process.communicate()[0].split()
        acknowledged = int(rest[-1]) if rest else acknowledged
        searcher = open_searcher(None, tmp_path)
        assert searcher.index.count() >= acknowledged
        assert [hit.url for hit in searcher.search(f"palabra{acknowledged}").hits] == [f"u{acknowledged}"]


def test_an_index_of_another_layout_says_how_to_rebuild(tmp_path):
    fill(tmp_path, page(1, "uno"))
    (tmp_path / "main" / "hemeroteca.json").write_text('{"schema": 999}')
    with pytest.raises(IndexUnusableError, match="hemeroteca search rebuild"):
        open_searcher(None, tmp_path)


def test_a_damaged_index_says_how_to_rebuild(tmp_path):
    fill(tmp_path, page(1, "uno"))
    (tmp_path / "main" / "meta.json").write_text("{half a file")
    with pytest.raises(IndexUnusableError, match="hemeroteca search rebuild"):
        open_searcher(None, tmp_path)


def test_rebuilding_puts_a_whole_new_index_in_place_under_open_readers(tmp_path):
    fill(tmp_path, page(1, "antiguo"))
    searcher = open_searcher(None, tmp_path)
    assert searcher.index.count() == 1
    with replacement(tmp_path, 15 << 20) as writer:
        for key in (2, 3):
            writer.put(page(key, "nuevo"))
    assert [hit.key for hit in searcher.search("nuevo").hits] == [2, 3]
    assert sorted(os.listdir(tmp_path)) == ["lock", "main"]


def test_simhash_is_near_for_near_texts_and_far_for_others():
    text = " ".join(f"palabra{i}" for i in range(600))
    near = text.replace("palabra300", "cambio")
    far = " ".join(f"otra{i * 7}" for i in range(600))
    assert (simhash(text) ^ simhash(near)).bit_count() <= 3
    assert (simhash(text) ^ simhash(far)).bit_count() > 12
    assert simhash("dos palabras") == 0


def test_searching_goes_on_while_another_process_writes_and_merges(tmp_path):
    script = textwrap.dedent(f"""
        from pathlib import Path
        from hemeroteca.ingest.search_document import SearchDocument
        from hemeroteca.search.searcher import open_searcher
        with open_searcher(None, Path({str(tmp_path)!r})).index.writer(15 << 20) as writer:
            for commit in range(40):
                for number in range(25):
                    key = commit * 25 + number
                    writer.put(SearchDocument(key=key, url=f"u{{key}}", text=f"comun palabra{{key}}", language="es"))
                writer.commit()
                print(commit, flush=True)
    """)
    searcher = open_searcher(None, tmp_path)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=os.environ)
    seen = []
    while process.poll() is None:
        seen.append(searcher.search("comun").total)
    process.communicate()
    assert process.returncode == 0
    assert seen == sorted(seen)  # every commit whole, none lost
    assert searcher.search("comun").total == 1000


def test_processes_that_start_together_share_one_new_index(tmp_path):
    script = (
        "import sys; from pathlib import Path; from hemeroteca.search.searcher import open_searcher; "
        "sys.exit(open_searcher(None, Path(sys.argv[1])).index.count())"
    )
    starts = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "index")]) for _ in range(4)]
    assert [process.wait() for process in starts] == [0, 0, 0, 0]


@pytest.mark.parametrize("killed_after", ["ready", "first rename"])
def test_a_rebuild_killed_at_the_end_is_finished_by_the_next_one_who_opens(tmp_path, killed_after):
    fill(tmp_path, page(1, "antiguo"))
    fill(tmp_path / "fresh", page(2, "nuevo"))
    (tmp_path / "fresh" / "ready").touch()
    if killed_after == "first rename":
        (tmp_path / "main").rename(tmp_path / "old")
    assert urls(tmp_path, "nuevo") == ["https://example.org/2"]
    assert sorted(os.listdir(tmp_path)) == ["lock", "main"]


def test_a_rebuild_killed_before_its_end_changes_nothing(tmp_path):
    fill(tmp_path, page(1, "antiguo"))
    fill(tmp_path / "fresh", page(2, "a medias"))
    assert urls(tmp_path, "antiguo") == ["https://example.org/1"]


def test_broken_characters_and_endless_texts_are_taken_as_far_as_possible(tmp_path):
    fill(
        tmp_path,
        page(1, "medio car\ud800cter y biblioteca \x00\x1b", title="t\udfff", url="https://example.org/\udc80"),
        page(2, "biblioteca " + "relleno " * 400_000),
        page(3, "", title="", url="", host="", published_ms=-(10**13)),
    )
    searcher = open_searcher(None, tmp_path)
    assert searcher.index.count() == 3
    assert {hit.key for hit in searcher.search("biblioteca \ud800").hits} == {1, 2}


def test_a_query_the_engine_refuses_is_answered_as_words(tmp_path, monkeypatch):
    real = TantivyReader.search

    def refuse_patterns(self, query, *arguments, **named):
        if "Wildcard" in repr(query):
            raise IndexUnusableError("too complex")
        return real(self, query, *arguments, **named)

    monkeypatch.setattr(TantivyReader, "search", refuse_patterns)
    fill(tmp_path, page(1, "biblioteca"))
    found = open_searcher(None, tmp_path).search("biblioteca AND bib*")
    assert [hit.key for hit in found.hits] == [1]
    assert any("plain words" in note for note in found.notes)


def test_a_file_where_the_index_should_be_is_told_and_goes_with_a_rebuild(tmp_path):
    (tmp_path / "main").write_text("not a folder")
    with pytest.raises(IndexUnusableError, match="hemeroteca search rebuild"):
        open_searcher(None, tmp_path)
    for text in ("nuevo", "otra vez"):
        with replacement(tmp_path, 15 << 20) as writer:
            writer.put(page(1, text))
        assert urls(tmp_path, text) == ["https://example.org/1"]


def test_a_document_that_cannot_be_read_any_more_says_how_to_rebuild(tmp_path):
    fill(tmp_path, page(1, "la biblioteca de periódicos"))
    searcher = open_searcher(None, tmp_path)
    for file in (tmp_path / "main").glob("*.store"):
        with file.open("r+b") as store:
            store.write(b"\xff" * 40)
    for ask in (lambda: searcher.index.get(1), lambda: searcher.search("biblioteca")):
        with pytest.raises(IndexUnusableError, match="hemeroteca search rebuild"):
            ask()


def test_a_disk_without_room_is_told_keeps_the_last_commit_and_takes_no_room(tmp_path):
    """The limit of the size of a file stands for the disk: the engine fails in the same places."""
    fill(tmp_path, page(1, "antes"))
    script = textwrap.dedent(f"""
        import random, resource, signal
        from pathlib import Path
        from hemeroteca.ingest.search_document import SearchDocument
        from hemeroteca.search.index import IndexWriteError
        from hemeroteca.search.searcher import open_searcher
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        dice = random.Random(1)
        texts = [" ".join(f"w{{dice.randrange(10**9)}}" for _ in range(2000)) for _ in range(200)]
        writer = open_searcher(None, Path({str(tmp_path)!r})).index.writer(15 << 20)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        try:
            for key, text in enumerate(texts):
                writer.put(SearchDocument(key=key, url=f"u{{key}}", text=text))
            writer.commit()
        except IndexWriteError as error:
            print(error)
        writer.close()
    """)
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True)
    assert "could not be written" in done.stdout
    assert urls(tmp_path, "antes") == ["https://example.org/1"]
    fill(tmp_path, page(2, "después"))  # no lock is left
    assert urls(tmp_path, "después") == ["https://example.org/2"]
    assert sum(file.stat().st_size for file in (tmp_path / "main").iterdir()) < 100_000


def test_a_rebuild_that_fails_leaves_no_half_index_behind(tmp_path):
    fill(tmp_path, page(1, "antiguo"))

    with pytest.raises(RuntimeError), replacement(tmp_path, 15 << 20) as writer:
        writer.put(page(2, "a medias"))
        raise RuntimeError("the archive cannot be read")
    assert sorted(os.listdir(tmp_path)) == ["lock", "main"]
    assert urls(tmp_path, "antiguo") == ["https://example.org/1"]

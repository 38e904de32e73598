"""`hemeroteca search` as people and programs call it."""

import gzip
import json
import subprocess
import sys
import threading

import pytest
from typer.testing import CliRunner

from hemeroteca.cli.search import app
from hemeroteca.instance import Instance
from hemeroteca.search import corpus, document_queue
from hemeroteca.search.index import open_index
from tests.waiting import PATIENCE, wait_for

runner = CliRunner()


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.delenv("HEMEROTECA_DATA", raising=False)
    file = tmp_path / "documents.jsonl"
    rows = [
        {
            "id": "a",
            "url": "https://x.test/a",
            "title": "Hemeroteca",
            "text": "periódicos antiguos de la ciudad",
            "lang": "es",
        },
        {
            "id": "b",
            "url": "https://y.test/rebuild",
            "title": "Rebuild",
            "text": "how to rebuild an old house",
            "lang": "en",
        },
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    folder = tmp_path / "data"
    done = runner.invoke(app, ["import", str(file), "--data", str(folder), "--json"])
    assert json.loads(done.stdout) == {"documents": 2, "skipped": 0}
    return folder


def run(data, *arguments):
    done = runner.invoke(
        app, [*arguments, "--data", str(data)] if "--" not in arguments else ["--data", str(data), *arguments]
    )
    assert done.exit_code == 0, done.output
    return done.stdout


def test_words_are_a_query(data):
    found = [json.loads(line) for line in run(data, "periodicos", "--limit", "5", "--json").splitlines()]
    assert [row["url"] for row in found] == ["https://x.test/a"]
    assert {"url", "title", "snippet", "score", "captured_at"} <= set(found[0])
    assert "<b>periódicos</b>" in found[0]["snippet"]


def test_a_query_for_people(data):
    shown = run(data, "old", "houses")
    assert "https://y.test/rebuild" in shown
    assert "1 result" in shown


def test_a_query_that_is_a_verb_goes_after_two_dashes(data):
    assert "https://y.test/rebuild" in run(data, "--", "rebuild")


def test_did_you_mean_is_shown(data):
    assert "did you mean: hemeroteca" in run(data, "hemerotca").lower()


def test_batch_queries(data, tmp_path):
    queries = tmp_path / "queries.tsv"
    queries.write_text("1\told house\n2\tperiódico\n")
    rows = [json.loads(line) for line in run(data, "query", "--from-file", str(queries), "--limit", "3").splitlines()]
    assert [(row["qid"], row["rank"], row["id"]) for row in rows] == [("1", 1, "b"), ("2", 1, "a")]
    assert run(data, "query", "--from-file", str(queries), "--trec").split()[:4] == ["1", "Q0", "b", "1"]


def test_a_collection_as_it_is_published(tmp_path):
    corpus, queries = tmp_path / "corpus.jsonl.gz", tmp_path / "queries.jsonl"
    rows = [{"_id": "0", "title": "Ships", "text": "of the line"}, {"_id": "1", "title": "", "text": ""}, {"text": "x"}]
    corpus.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    queries.write_text('{"_id": "q", "text": "ships line"}\n')
    done = runner.invoke(app, ["import", str(corpus), "--data", str(tmp_path / "data")])
    assert "3 documents indexed, 0 lines skipped" in done.stdout
    assert "1 documents had no id" in done.stderr
    assert "1 documents have neither title nor text" in done.stderr
    found = json.loads(run(tmp_path / "data", "query", "--from-file", str(queries)))
    assert (found["qid"], found["id"]) == ("q", "0")


def test_packed_queries_that_are_damaged_are_refused(data, tmp_path):
    queries = tmp_path / "queries.tsv.gz"
    queries.write_bytes(gzip.compress(b"1\told house\n" * 1000)[:40])
    done = runner.invoke(app, ["query", "--from-file", str(queries), "--data", str(data)])
    assert done.exit_code == 1
    assert "damaged" in done.stderr


def test_explain_by_id(data):
    why = json.loads(run(data, "explain", "old house", "b", "--json"))
    assert why["score"] > 0
    assert "phrase" in why["parts"]
    assert why["place"] == 1
    told = run(data, "explain", "old house", "b")
    assert told.startswith("result 1\nscore ")
    assert "house " in told


def test_prefer_blocks_a_host(data):
    assert "blocked" in run(data, "prefer", "y.test", "--block")
    assert "0 results" in run(data, "old", "house")


def test_prefer_shows_what_was_judged_and_says_what_is_no_host(data):
    assert "no host is judged" in run(data, "prefer")
    run(data, "prefer", "https://y.test/rebuild", "--factor", "2")
    assert run(data, "prefer") == "y.test × 2\n"
    refused = runner.invoke(app, ["prefer", "no host", "--block", "--data", str(data)])
    assert refused.exit_code == 1
    assert "write it like example.org" in refused.output


def test_an_empty_folder_says_how_to_begin(tmp_path):
    done = runner.invoke(app, ["algo", "--data", str(tmp_path)])
    assert done.exit_code == 1
    assert "hemeroteca crawl" in done.output


def test_searching_does_not_load_django(data):
    script = (
        "import sys\nfrom hemeroteca.cli.search import app\n"
        f"app(['periodicos', '--json', '--data', {str(data)!r}], standalone_mode=False)\n"
        "sys.exit('django' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode == 0


def hand_over(data, tmp_path):
    """An import that waits for the engine whose lock is held here."""
    file = tmp_path / "more.jsonl"
    file.write_text('{"id": "c", "text": "un documento nuevo", "lang": "es"}\n')
    instance = Instance(data)
    engine = instance.lock_engine()
    importing = threading.Thread(target=runner.invoke, args=(app, ["import", str(file), "--data", str(data)]))
    importing.start()
    wait_for(lambda: document_queue.pending(instance.index_dir))
    return instance, engine, importing


def test_documents_are_handed_to_a_running_engine(data, tmp_path):
    """Here the engine is a thread that holds its lock and writes the index, as `serve` does."""
    instance, engine, importing = hand_over(data, tmp_path)
    assert importing.is_alive()
    corpus.take_documents(open_index(None, instance.index_dir), document_queue.pending(instance.index_dir)[0])
    importing.join(PATIENCE)
    assert not importing.is_alive()
    assert json.loads(run(data, "documento", "--json"))["id"] == "c"
    engine.close()


def test_documents_are_imported_all_the_same_when_the_engine_ends(data, tmp_path):
    instance, engine, importing = hand_over(data, tmp_path)
    engine.close()
    importing.join(PATIENCE)
    assert document_queue.pending(instance.index_dir) == []
    assert json.loads(run(data, "documento", "--json"))["id"] == "c"


def test_a_lost_index_is_told_apart_from_an_empty_folder(tmp_path):
    def said():
        done = runner.invoke(app, ["pan", "--data", str(tmp_path)])
        assert done.exit_code == 1
        return done.output

    assert "begin with `hemeroteca crawl`" in said()
    (tmp_path / "warc").mkdir()
    (tmp_path / "warc" / "kept.warc.gz").touch()
    assert "`hemeroteca search rebuild` makes it anew" in said()


def test_preferences_that_cannot_be_read_are_told_in_a_line(data):
    (data / "index" / "preferences.json").write_text("{bad")
    for words in (("periodicos",), ("explain", "periodicos", "a")):
        done = runner.invoke(app, [*words, "--data", str(data)])
        assert done.exit_code == 1
        assert "preferences.json cannot be read" in done.stderr
        assert "correct or remove the file" in done.stderr


def test_a_folder_is_no_file_of_documents(data, tmp_path):
    done = runner.invoke(app, ["import", str(tmp_path), "--data", str(data)])
    assert done.exit_code == 2
    assert "is a folder" in done.stderr

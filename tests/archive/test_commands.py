"""The commands, as a person runs them: each in a process of its own, on a folder of its own."""

import json
import os
import subprocess
import sys

import pytest

from tests import commands
from tests.warc.making import exchange

MS = 1_700_000_000_000


def run(data, *arguments, code=0, room="archive", before="", told=""):
    done = commands.run(f"{before}\nfrom hemeroteca.cli.{room} import app; app()", data, *arguments, code=code)
    assert told in done.stderr
    return done.stdout


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A WARC of another tool: two versions of a page, the second twice, and half a record at the end."""
    path = tmp_path_factory.mktemp("source") / "other.warc.gz"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
    bodies = [
        b"<title>Uno</title><p>La primera hemeroteca guarda periodicos antiguos.",
        b"<title>Dos</title><p>La segunda palabra es esdrujula.",
        b"<title>Dos</title><p>La segunda palabra es esdrujula.",
    ]
    data = b"".join(
        exchange("http://example.org/", MS + day * 86_400_000, "", "", b"", head, body).data
        for day, body in enumerate(bodies)
    )
    path.write_bytes(data + data[:100])
    return path


@pytest.fixture(scope="module")
def instance(tmp_path_factory, source):
    data = tmp_path_factory.mktemp("instance")
    done = json.loads(run(data, "import", source, "--json", code=1))
    assert (done["taken"], done["repeated"], done["lost"]) == (3, 1, 1)
    assert "ends inside" in done["problems"][0]["reason"]
    return data


def test_an_import_tells_of_what_was_taken_down(tmp_path):
    data, path = tmp_path / "data", tmp_path / "two.warc.gz"
    path.write_bytes(b"".join(exchange(f"http://example.org/{name}", MS, body=b"x").data for name in "ab"))
    run(data, "takedown", "add", "http://example.org/a", "--reason", "asked")
    told = "1 capture of addresses that were taken down left out; `hemeroteca archive takedown list` tells which"
    assert run(data, "import", path, told=told).startswith("1 file: 1 capture taken")


def test_versions_and_bytes(instance):
    found = lines(run(instance, "versions", "example.org", "--json"))
    assert [row["captured_at"][:10] for row in found] == ["2023-11-14", "2023-11-15"]
    assert len(lines(run(instance, "versions", "http://example.org/", "--all", "--json"))) == 3
    assert "2023-11-14 22:13:20" in run(instance, "versions", "http://example.org/")
    assert "primera" in run(instance, "get", "http://example.org/", "--at", "2023-11-14")
    assert "segunda" in run(instance, "get", "http://example.org/")
    assert run(instance, "get", "http://example.org/", "--head").startswith("HTTP/1.1 200 OK")
    run(instance, "get", "http://unknown.example/", code=1)
    run(instance, "get", "http://example.org/", "--at", "someday", code=2)


def test_the_archive_is_checked_and_counted(instance):
    report = json.loads(run(instance, "verify", "--json"))
    assert (report["sound"], report["captures"]) == (True, 3)
    facts = json.loads(run(instance, "stats", "--json"))
    assert (facts["captures"], facts["versions"], facts["revisits"]) == (3, 2, 1)


def test_a_round_trip_through_a_wacz_gives_the_same_captures_versions_and_search_results(instance, tmp_path):
    wacz = tmp_path / "out.wacz"
    assert json.loads(run(instance, "export", wacz, "--json"))["captures"] == 3
    other = tmp_path / "other"
    assert json.loads(run(other, "import", wacz, "--json"))["taken"] == 3

    def known(data):
        rows = lines(run(data, "versions", "http://example.org/", "--all", "--json"))
        return [{name: row[name] for name in ("id", "captured_at", "digest", "version", "status")} for row in rows]

    assert known(other) == known(instance)
    for words, count in (("esdrujula", 1), ("primera", 0)):
        found = [run(data, words, "--json", room="search") for data in (instance, other)]
        assert [len(lines(text)) for text in found] == [count, count]


def test_metadata_goes_to_standard_output(instance):
    assert run(instance, "export", "-", "--format", "csv").startswith("id,url,captured_at,")
    assert len(lines(run(instance, "export", "-", "--format", "json", "--versions"))) == 2
    run(instance, "export", "somewhere", code=2)


def test_pruning_says_what_would_go_and_does_it_only_when_told(instance, tmp_path, source):
    data = tmp_path / "pruned"
    run(data, "import", source, code=1)
    run(data, "import", source, code=1)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
    later = tmp_path / "later.warc.gz"
    body = b"<title>Dos</title><p>La segunda palabra es esdrujula."
    later.write_bytes(exchange("http://example.org/", MS + 10**9, "", "", b"", head, body).data)
    run(data, "import", later)
    listed = tmp_path / "gone.jsonl"
    for arguments, gone in (((), True), (("--dry-run",), True), (("--yes",), False)):
        command = ("prune", "--older-than", "2024", "--json", *arguments, "--report", listed, "--force")
        report = json.loads(run(data, *command))
        assert (report["captures"], report["dry_run"], report["pages"]) == (1, gone, {"http://example.org/": 1})
        assert [row["url"] for row in lines(listed.read_text())] == ["http://example.org/"]
    assert json.loads(run(data, "stats", "--json"))["captures"] == 3
    assert json.loads(run(data, "verify", "--json"))["sound"]
    run(data, "prune", code=2)
    run(data, "prune", "--older-than", "2024", "--yes", "--dry-run", code=2)
    run(data, "prune", "--older-than", "2024", "--report", tmp_path / "gone.pdf", code=2)


def test_what_changes_the_archive_waits_until_the_engine_is_stopped(instance):
    from hemeroteca.instance import Instance

    lock = Instance(instance).lock_engine()
    try:
        run(instance, "verify")
        repair = subprocess.Popen(
            [sys.executable, "-m", "hemeroteca", "archive", "verify", "--repair"],
            env={**os.environ, "HEMEROTECA_DATA": str(instance), "HEMEROTECA_DATABASE": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert "waits for the crawl or the import" in repair.stderr.readline()
        assert repair.poll() is None
    finally:
        lock.close()
    assert "all is well" in repair.communicate()[0]
    assert repair.returncode == 0


def test_what_comes_in_is_compared_and_indexed_like_what_is_crawled(tmp_path):
    data, other = tmp_path / "data", tmp_path / "other.warc.gz"
    run(data, "set", "example.org", "exclude=p[class=teaser]", room="site")
    run(data, "add", "http://example.org/", "--scope", "host", "--collection", "prensa", room="watch")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
    gone = head.replace(b"200 OK", b"404 Not Found")
    page = b"<title>Diario</title><article><p>%s, con todas sus letras.</p><p class=teaser>Un anuncio.</p></article>"
    answers = [
        ("http://example.org/", 0, head, page % b"Portada antigua"),
        ("http://example.org/", 2, head, page % b"Portada nueva"),
        ("http://example.org/ida", 0, head, page % b"Noticia retirada"),
        ("http://example.org/ida", 1, gone, b"no"),
        ("http://example.org/oculta", 0, head, b'<meta name="robots" content="noindex">' + page % b"Secreto"),
        ("http://elsewhere.test/", 0, head, page % b"Ajena"),
    ]

    def take(*given):
        records = [exchange(url, MS + day * 86_400_000, "", "", b"", *answer).data for url, day, *answer in given]
        other.write_bytes(b"".join(records))
        run(data, "import", other)

    def found(*query):
        return [hit["url"] for hit in lines(run(data, *query, "--json", room="search"))]

    def differs():
        rows = lines(run(data, "versions", "http://example.org/", "--json"))
        return [row["importance"] for row in rows]

    take(*answers)
    assert found("portada") == found("portada collection:prensa") == ["http://example.org/"]
    assert found("ajena") == ["http://elsewhere.test/"]
    assert found("ajena collection:prensa") == []
    assert found("anuncio") == found("ajena anuncio") == ["http://elsewhere.test/"]  # where no rule leaves it out
    assert found("retirada") == found("secreto") == []

    first, importance = differs()
    assert first is None
    assert 0 < importance <= 1
    told = json.loads(run(data, "diff", "http://example.org/", "--json"))
    assert told["total"] == importance
    # a version that lay between the two: both distances are measured anew
    take(("http://example.org/", 1, head, page % b"Portada nueva" + b"<p>y algo que luego desaparece"))
    assert len(again := differs()) == 3
    assert again[0] is None
    assert again[1] > importance != again[2] > 0


FULL = """
import errno
from hemeroteca.warc.writer import WarcWriter
def append(self, data):
    raise OSError(errno.ENOSPC, "No space left on device")
WarcWriter.append = append
"""


def test_what_cannot_be_written_is_told_in_one_line(instance, tmp_path, source):
    page, nowhere = "http://example.org/", tmp_path / "nowhere"
    for arguments in (
        ("get", page, "-o", nowhere / "page.html"),
        ("export", nowhere / "all.warc.gz"),
        ("export", nowhere / "all.wacz"),
        ("export", nowhere / "all.csv"),
        ("diff", page, "-o", nowhere / "change.pdf"),
        ("diff", page, "-o", nowhere / "change.html"),
    ):
        run(instance, *arguments, code=1, told=f"cannot write {arguments[-1]}: No such file or directory")
    run(tmp_path / "full", "import", source, code=1, before=FULL, told="No space left on device")
    run(tmp_path / "full", "import", source, code=1, told="ends inside")  # with room again everything is taken
    assert len(lines(run(tmp_path / "full", "versions", page, "--json"))) == 2
    run(instance, "export", "-", code=2, told="--format")


def test_what_is_not_there_is_told_with_the_next_step(instance, tmp_path):
    nothing = "http://unknown.example/"
    for command in ("versions", "get", "diff"):
        for form in ((), ("--json",)):
            run(instance, command, nothing, *form, code=1, told=f"hemeroteca crawl {nothing} --scope page")
    run(instance, "export", tmp_path / "none.warc.gz", nothing, told="holds none")


def test_ids_of_versions_are_shown_whole(instance):
    (*_, last) = lines(run(instance, "versions", "http://example.org/", "--json"))
    assert run(instance, "versions", "http://example.org/").split()[-1] == last["id"]


def test_damage_and_a_lost_database_are_told_with_the_way_back(tmp_path, source):
    data = tmp_path / "data"
    run(data, "import", source, code=1)
    (file,) = (data / "warc").iterdir()
    whole = file.read_bytes()
    at = whole.index(b"\x1f\x8b", 100) + 60
    file.write_bytes(whole[:at] + bytes(40) + whole[at + 40 :])
    assert "a record is damaged and cannot be unpacked" in run(data, "verify", code=1)
    file.write_bytes(whole)
    for name in data.glob("hemeroteca.sqlite3*"):
        name.unlink()
    for command in (("verify",), ("versions", "http://example.org/")):
        run(data, *command, code=1, told="`hemeroteca archive verify --repair` makes it anew")
    assert "all is well" in run(data, "verify", "--repair")
    assert len(lines(run(data, "versions", "http://example.org/", "--json"))) == 2


def test_what_a_repair_brings_back_is_findable_after_the_next_start(tmp_path, source):
    from hemeroteca.engine.sinks.search_sink import read_watermark
    from hemeroteca.instance import Instance

    data = tmp_path / "data"
    run(data, "import", source, code=1)
    assert read_watermark(Instance(data)) > 0
    for path in data.glob("hemeroteca.sqlite3*"):
        path.unlink()
    run(data, "verify", "--repair")
    assert read_watermark(Instance(data)) == 0  # a start reads all again
    run(data, "rebuild", room="search")
    assert read_watermark(Instance(data)) > 0

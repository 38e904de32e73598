"""`hemeroteca backup`: a copy that is an instance of its own."""

import json
from pathlib import Path

import pytest

from tests import commands
from tests.warc.making import exchange

PAGE = b"<title>Uno</title><p>La primera hemeroteca guarda periodicos antiguos."


def run(data: Path, *arguments: object, code: int = 0):
    return commands.run("from hemeroteca.cli import main; main()", data, *arguments, code=code)


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("instance")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    source = folder / "other.warc.gz"
    source.write_bytes(exchange("http://example.org/", 1_700_000_000_000, "", "", b"", head, PAGE).data)
    run(folder / "data", "archive", "import", source)
    document = folder / "book.jsonl"
    document.write_text(json.dumps({"id": "b1", "title": "un libro", "text": "encuadernado en piel"}))
    run(folder / "data", "search", "import", document)
    return folder / "data"


def test_the_copy_is_whole_and_can_be_read_and_searched(instance: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    report = json.loads(run(instance, "backup", copy, "--json").stdout)
    assert report["files"] == sum(path.is_file() for path in copy.rglob("*"))
    assert json.loads(run(copy, "archive", "verify", "--json").stdout)["captures"] == 1
    assert PAGE.decode() in run(copy, "archive", "get", "http://example.org/").stdout
    assert "http://example.org/" in run(copy, "search", "hemeroteca").stdout
    assert "un libro" in run(copy, "search", "encuadernado").stdout  # it is in no capture


def test_an_instance_restored_from_a_copy_does_not_make_the_copy_again(instance: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    run(instance, "backup", copy)
    jobs = [json.loads(line) for line in run(copy, "job", "list", "--json").stdout.splitlines()]
    assert [job["state"] for job in jobs if job["arguments"].get("target") == str(copy)] == ["done"]
    assert {path.name for path in copy.iterdir() if path.name.startswith("hemeroteca.sqlite3")} == {
        "hemeroteca.sqlite3"
    }


KILLED = """
import django; django.setup()
from hemeroteca.archive import services
from hemeroteca.cli import main
from hemeroteca.engine import rebuild
rebuild.catch_up = lambda *_: 0
services.mark_stale = lambda *_, **__: None
main()
"""  # before it committed the index: an engine marks no pages


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """An instance whose index does not hold the last version of its page."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    for number, word in enumerate((b"antes", b"despues")):
        source = tmp_path / f"{number}.warc.gz"
        page = b"<title>Uno</title><p>La pagina dice " + word
        source.write_bytes(exchange("http://example.org/", 1_700_000_000_000 + number, head=head, body=page).data)
        commands.run(KILLED if number else "from hemeroteca.cli import main; main()", tmp_path / "data", "archive",
                     "import", source)  # fmt: skip
    assert "0 results" in run(tmp_path / "data", "search", "despues").stdout
    return tmp_path / "data"


def test_a_copy_finds_what_was_captured_before_it_was_made(killed: Path, tmp_path: Path) -> None:
    run(killed, "backup", tmp_path / "copy")
    for data in (tmp_path / "copy", killed):
        assert "http://example.org/" in run(data, "search", "despues").stdout
        assert run(data, "search", "antes").stdout == "0 results\n`--versions` looks in past versions of pages too\n"
        assert "http://example.org/" in run(data, "search", "antes", "--versions").stdout


def test_an_import_after_a_kill_does_not_hide_what_the_index_lacks(killed: Path, tmp_path: Path) -> None:
    source = tmp_path / "other.warc.gz"
    source.write_bytes(exchange("http://example.org/other", 1_700_000_000_000, body=b"otro").data)
    run(killed, "archive", "import", source)
    assert "http://example.org/" in run(killed, "search", "despues").stdout


DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="es">
<siteinfo><base>http://wiki.example.org/wiki/Portada</base></siteinfo><page><title>Gato</title><ns>0</ns><id>5</id>
<revision><id>10</id><timestamp>2020-01-01T10:00:00Z</timestamp><contributor><username>Ana</username><id>3</id>
</contributor><model>wikitext</model><format>text/x-wiki</format><text>El gato</text></revision></page></mediawiki>"""
CONCEPT = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://example.org/1> a skos:Concept ; skos:prefLabel "hydrography"@en ; skos:altLabel "rivers"@en ."""


def test_histories_of_wikis_thesauri_and_what_rooms_to_come_will_keep_are_in_the_copy(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    (tmp_path / "dump.xml").write_text(DUMP)
    (tmp_path / "water.ttl").write_text(CONCEPT)
    run(data, "wiki", "import", tmp_path / "dump.xml")
    run(data, "focus", "thesaurus", "import", "water", tmp_path / "water.ttl")
    assert json.loads(run(data, "status", "--json").stdout)["lake_bytes"] > 0
    (data / "room").mkdir()
    (data / "room" / "kept").write_text("kept")
    run(data, "backup", copy)
    assert {path.name for path in copy.iterdir()} & {"secret.key", "engine.lock", "planner.state"} == set()
    asked = ("wiki", "query", "select count(*) from texts", "--json")
    assert run(copy, *asked).stdout == run(data, *asked).stdout
    assert json.loads(run(copy, "wiki", "revisions", "--title", "Gato", "--json").stdout)["revid"] == 10
    assert "water" in run(copy, "focus", "thesaurus", "list").stdout
    assert (copy / "thesauri").is_dir()
    assert (copy / "room" / "kept").read_text() == "kept"
    assert not list(data.glob("backup-*"))


def test_a_copy_begun_while_the_index_changes_is_of_one_moment(instance: Path, tmp_path: Path, monkeypatch) -> None:
    """A file that is merged away while it is copied: the next try takes what is there then."""
    from hemeroteca.instance import Instance, backup

    linked, tries = backup.os.link, []

    def link(source: Path, target: Path) -> None:
        tries.append(source)
        if len(tries) == 3:
            raise FileNotFoundError(source)
        linked(source, target)

    monkeypatch.setattr(backup.os, "link", link)
    found = backup._linked_index(Instance(instance), tmp_path / "links")
    kept = {path.name for path in (instance / "index" / "main").iterdir() if path.suffix != ".lock"}
    assert {place.name for _, place in found if place.parent == Path("index", "main")} == kept
    assert all(source.is_relative_to(tmp_path / "links" / "1") and source.is_file() for source, _ in found)


def test_a_folder_with_something_in_it_is_not_written_into(instance: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    assert "is not empty" in run(instance, "backup", tmp_path, code=1).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("step", "error"),
    [
        ("shutil.copy2", "OSError(28, 'No space left on device')"),
        ("backup._copy_database", "sqlite3.OperationalError('database or disk is full')"),
    ],
)
def test_a_full_disk_is_told_once(instance: Path, tmp_path: Path, step: str, error: str) -> None:
    """Whether the index, with its many files, or the database meets it."""
    program = f"""
import shutil, sqlite3
from hemeroteca.cli import main
from hemeroteca.instance import backup
def full(*_, **__):
    raise {error}
{step} = full
main()
"""
    told = commands.run(program, instance, "backup", tmp_path / "copy", code=1).stderr
    assert "is not whole" in told
    assert len(told.splitlines()) == 1
    assert len(told) < 400
    assert not list(instance.glob("backup-*"))


def test_the_data_folder_is_not_copied_into_itself(instance: Path) -> None:
    assert "inside the data folder" in run(instance, "backup", instance / "copy", code=1).stderr
    assert not (instance / "copy").exists()


def password_of(data: Path) -> str:
    code = (
        "import django; django.setup(); from hemeroteca.frontier import services as sites; "
        "print('password:', sites.settings_of('example.org').password)"
    )
    return commands.run(code, data).stdout.strip().removeprefix("password:").strip()


def test_a_copy_holds_the_key_only_when_asked_and_opens_with_it(instance: Path, tmp_path: Path) -> None:
    """A thief of the copy gets no password of a site; its owner puts the key back and has them all."""
    code = (
        "import django; django.setup(); from hemeroteca.accounts import SYSTEM; "
        "from hemeroteca.frontier import services; services.set_site("
        "SYSTEM, 'example.org', {'username': 'ana', 'password': 'geheim-1'})"
    )
    commands.run(code, instance)
    plain, restored, whole = (tmp_path / name for name in ("plain", "restored", "whole"))
    assert "secret.key" in run(instance, "backup", plain).stdout, "it says what is missing"
    run(instance, "backup", restored)
    run(instance, "backup", whole, "--with-key")
    assert not (plain / "secret.key").exists()
    (restored / "secret.key").write_bytes((instance / "secret.key").read_bytes())
    assert password_of(plain) == ""
    assert password_of(restored) == "geheim-1"
    assert password_of(whole) == "geheim-1"
    assert (whole / "secret.key").stat().st_mode & 0o077 == 0

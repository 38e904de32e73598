"""Archives of other tools taken in while an engine runs: kept by the command, made findable by the engine."""

import io
import json
import os
import signal
import subprocess
import sys

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from hemeroteca import config, urls
from hemeroteca.archive import services
from hemeroteca.engine import rebuild
from hemeroteca.instance import Instance, spool
from hemeroteca.search.index import open_index
from hemeroteca.warc.writer import OPEN
from tests.archive.making import Archive
from tests.engine.system import System
from tests.waiting import PATIENCE, wait_for


def write_warc(path, pages):
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for url, date, text in pages:
            body = f"<title>{text}</title><p>{text}</p><a href='/next'>more</a>".encode()
            head = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
            record = writer.create_warc_record(
                url, "response", io.BytesIO(body), http_headers=head, warc_headers_dict={"WARC-Date": date}
            )
            writer.write_record(record)
    return path


@pytest.fixture
def system(tmp_path):
    system = System(tmp_path / "data", index_commit_seconds=0.2)
    assert system.run("archive", "stats").returncode == 1  # there is none
    subprocess.run([sys.executable, "-m", "hemeroteca.accounts"], env=system.environment, check=True)
    return system


@pytest.fixture
def engine(system):
    """The engine of `serve`, which has the lock when this begins."""
    process = start_engine(system)
    yield process
    process.terminate()
    process.wait(PATIENCE)


def start_engine(system):
    process = subprocess.Popen([sys.executable, "-m", "hemeroteca.engine"], env=system.environment)
    lock = system.data / "engine.lock"
    wait_for(lambda: lock.exists() and lock.read_text() == str(process.pid))
    return process


def titles(system, query):
    done = system.run("search", query, "--json")
    return [json.loads(line)["title"] for line in done.stdout.splitlines() if '"title"' in line]


def test_an_import_beside_a_running_engine_is_kept_weighed_and_found(system, engine, tmp_path):
    pages = [(f"http://old.example/{n}", "2020-01-01T00:00:00Z", f"primero{n}") for n in range(30)]
    pages += [(f"http://old.example/{n}", "2021-01-01T00:00:00Z", f"segundo{n}") for n in range(30)]
    done = system.run("archive", "import", str(write_warc(tmp_path / "old.warc.gz", pages)), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["taken"] == 60
    assert engine.poll() is None
    assert titles(system, "segundo7") == ["segundo7"]
    assert titles(system, "primero7") == []  # the newest of each page is found
    assert system.rows("SELECT count(*) FROM capture WHERE version AND importance > 0") == [(30,)]
    assert system.run("archive", "verify").returncode == 0
    assert system.rows("SELECT count(*) FROM stale_page") == [(0,)]
    assert not list((system.data / "spool").iterdir())
    again = json.loads(system.run("archive", "import", str(tmp_path / "old.warc.gz"), "--json").stdout)
    assert (again["taken"], again["known"]) == (0, 60)


def test_all_versions_can_be_found_where_they_are_indexed(tmp_path):
    system = System(tmp_path / "data", index_commit_seconds=0.2, index_versions=1)
    subprocess.run([sys.executable, "-m", "hemeroteca.accounts"], env=system.environment, check=True)
    engine = start_engine(system)
    pages = [("http://old.example/", f"{year}-01-01T00:00:00Z", f"año{year}") for year in (2019, 2020, 2021)]
    assert system.run("archive", "import", str(write_warc(tmp_path / "old.warc.gz", pages))).returncode == 0
    assert titles(system, "año2020 at:2020-06") == ["año2020"]
    assert titles(system, "año2020 at:2021-06") == []
    engine.terminate()
    assert engine.wait(PATIENCE) == 0


@pytest.fixture
def held_up(system, tmp_path):
    """An import that has committed a batch, has half of one in hand, and waits for its second file."""
    pages = [(f"http://old.example/{n}", "2020-01-01T00:00:00Z", f"pagina{n}") for n in range(550)]
    file = write_warc(tmp_path / "old.warc.gz", pages)
    pipe = tmp_path / "slow.warc.gz"
    os.mkfifo(pipe)

    def begin():
        importing = system.start("archive", "import", str(file), str(pipe), "--json")
        wait_for(lambda: system.rows("SELECT count(*) FROM capture") == [(500,)])
        return importing

    return file, pipe, begin


def test_an_engine_that_starts_again_leaves_an_import_alone_and_a_killed_one_is_made_good(system, held_up):
    file, _, begin = held_up
    engine = start_engine(system)
    importing = begin()
    engine.kill()
    engine.wait(PATIENCE)
    engine = start_engine(system)
    wait_for(lambda: (system.data / "index" / "main" / "archive.json").exists())
    wait_for(lambda: system.rows("SELECT count(*) FROM stale_page") == [(0,)])
    assert importing.poll() is None
    assert list((system.data / "warc").glob(f"*{OPEN}"))
    assert list((system.data / "spool").glob("import-*"))
    system.kill(importing)

    done = json.loads(system.run("archive", "import", str(file), "--json").stdout)
    assert (done["known"], done["taken"]) == (500, 50)
    engine.terminate()
    assert engine.wait(PATIENCE) == 0
    engine = start_engine(system)
    wait_for(lambda: not list((system.data / "warc").glob(f"*{OPEN}")))
    engine.terminate()
    assert engine.wait(PATIENCE) == 0
    assert system.run("archive", "verify").returncode == 0
    assert titles(system, "pagina3") == ["pagina3"]
    assert titles(system, "pagina549") == ["pagina549"]


def test_the_next_import_takes_away_what_a_killed_one_left(system, held_up):
    """No engine need have started in between."""
    file, _, begin = held_up
    system.kill(begin())
    assert list((system.data / "warc").glob(f"*{OPEN}"))
    assert list((system.data / "spool").glob("import-*"))
    done = json.loads(system.run("archive", "import", str(file), "--json").stdout)
    assert (done["known"], done["taken"]) == (500, 50)
    assert not list((system.data / "warc").glob(f"*{OPEN}"))
    assert not list((system.data / "spool").iterdir())
    assert system.run("archive", "verify").returncode == 0


def test_ctrl_c_keeps_what_was_taken_and_the_same_command_goes_on(system, engine, held_up):
    file, pipe, begin = held_up
    importing = begin()
    importing.send_signal(signal.SIGINT)
    wait_for(lambda: not opened(pipe) and importing.poll() is not None)
    out, err = importing.communicate()
    assert out, (importing.returncode, err)
    first = json.loads(out)
    assert (importing.returncode, first["stopped"]) == (130, True), err
    assert "same command goes on" in err
    assert system.rows("SELECT count(*) FROM capture") == [(first["taken"],)]  # also what was in hand
    again = json.loads(system.run("archive", "import", str(file), "--json").stdout)
    assert (again["known"], again["taken"], again["stopped"]) == (first["taken"], 550 - first["taken"], False)
    assert titles(system, "pagina549") == ["pagina549"]
    assert system.run("archive", "verify").returncode == 0


def opened(pipe):
    """Let whoever waits at the other end of a pipe see that nothing comes."""
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def test_the_rest_is_done_by_the_import_when_the_engine_ends(system, tmp_path):
    lock = Instance(system.data).lock_engine()  # of an engine that does nothing
    file = write_warc(tmp_path / "old.warc.gz", [("http://old.example/", "2020-01-01T00:00:00Z", "huerfano")])
    importing = system.start("archive", "import", str(file))
    wait_for(lambda: system.rows("SELECT count(*) FROM stale_page") == [(1,)])
    lock.close()
    _, err = importing.communicate(timeout=PATIENCE)
    assert importing.returncode == 0, err
    assert "makes them findable" in err
    assert titles(system, "huerfano") == ["huerfano"]


def test_one_import_at_a_time_and_no_pruning_meanwhile(system, tmp_path):
    file = write_warc(tmp_path / "old.warc.gz", [("http://old.example/", "2020-01-01T00:00:00Z", "uno")])
    with Instance(system.data).lock_import():
        second = system.run("archive", "import", str(file))
        pruning = system.start("archive", "prune", "--older-than", "2030", "--yes")
        assert "waits for the crawl or the import" in pruning.stderr.readline()
    assert second.returncode == 1
    assert "another" in second.stderr
    assert pruning.wait(PATIENCE) == 0, "it has waited until the import ended"
    pruning.communicate()
    assert system.run("archive", "import", str(file)).returncode == 0


@pytest.fixture
def instance(tmp_path):
    instance = Instance(tmp_path)
    instance.create()
    return instance


def test_what_is_newer_here_is_not_replaced_by_something_older(system, engine, tmp_path):
    newer = write_warc(tmp_path / "new.warc.gz", [("http://old.example/", "2023-01-01T00:00:00Z", "nuevo")])
    older = write_warc(tmp_path / "old.warc.gz", [("http://old.example/", "2020-01-01T00:00:00Z", "viejo")])
    for file in (newer, older):
        assert system.run("archive", "import", str(file)).returncode == 0
    assert titles(system, "nuevo") == ["nuevo"]
    assert titles(system, "viejo") == []
    weights = system.rows("SELECT importance FROM capture ORDER BY captured_ms")
    assert weights[0] == (None,)
    assert weights[1][0] > 0  # the later one is compared with the one that came in before it


@pytest.mark.django_db
def test_pages_marked_by_an_import_that_died_are_read_at_the_next_start(instance, monkeypatch):
    archive = Archive(instance.warc_dir)
    archive.add("http://a.example/", "20240101", b"<p>words <a href=/b>that lead on</a>")
    archive.add("http://a.example/gone", "20240101", b"<p>no more", status=404)
    archive.close()
    services.mark_stale(["example,a)/", "example,a)/gone"], 0)
    given = config.load(data=instance.data)
    assert rebuild.catch_up(given, instance) == 2
    index = open_index(None, instance.index_dir)
    assert index.get(urls.key("http://a.example/")).text == "words that lead on"
    assert index.get(urls.key("http://a.example/gone")) is None
    assert rebuild.catch_up(given, instance) == 0


def test_the_spool_of_a_living_import_stays(instance):
    with spool.own(instance) as mine:
        (mine / "body").write_bytes(b"on its way")
        (instance.spool_dir / "import-dead").mkdir()
        (instance.spool_dir / "left").write_bytes(b"")
        spool.clear(instance)
        assert list(instance.spool_dir.iterdir()) == [mine]
        assert (mine / "body").exists()
    assert not list(instance.spool_dir.iterdir())

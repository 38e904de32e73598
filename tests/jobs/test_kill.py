"""A job whose process was killed is finished by the next one, with the same result; commands and `serve` share it."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.system import System
from tests.waiting import wait_for
from tests.warc.making import exchange

SUBMIT = """
import sys, django
django.setup()
from hemeroteca.accounts import SYSTEM
from hemeroteca.instance import schema
from hemeroteca.jobs import services
from tests.jobs.work import Count
schema.prepare()
print(services.submit(SYSTEM, "test.count", Count(int(sys.argv[1]), sys.argv[2])).pk)
"""
STEPS = 40


@pytest.fixture
def system(tmp_path: Path) -> System:
    found = System(tmp_path / "data")
    found.environment["DJANGO_SETTINGS_MODULE"] = "hemeroteca.django_settings"
    return found


def python(system: System, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)], env=system.environment, stdout=subprocess.PIPE, text=True
    )


def job(system: System, number: int = 1) -> dict[str, object]:
    done = system.run("job", "show", str(number), "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_killed_worker_costs_nothing_but_time(system: System, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    (marks / "hold").touch()
    assert python(system, "-c", SUBMIT, STEPS, marks).communicate()[0] == "1\n"
    worker = python(system, "-m", "tests.jobs.work")
    middle = f"{STEPS // 2}.{worker.pid}"
    wait_for((marks / middle).exists, "the middle of the job")
    assert job(system)["state"] == "running"
    assert python(system, "-m", "tests.jobs.work").wait() == 3, "nobody takes a job that runs"
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    assert job(system)["state"] == "queued", "the process is gone; nothing had to be reconciled"
    (marks / "hold").unlink()
    second = python(system, "-m", "tests.jobs.work")
    assert second.wait() == 0
    assert job(system)["result"] == {"total": STEPS * (STEPS + 1) // 2}
    by_second = {int(mark.name.split(".")[0]) for mark in marks.glob(f"*.{second.pid}")}
    assert by_second == set(range(STEPS // 2 + 1, STEPS + 1)), "it went on where the first had been"


def test_a_killed_import_is_resumed(system: System, tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    source = tmp_path / "other.warc.gz"
    with source.open("wb") as file:
        for number in range(1500):
            body = f"<title>{number}</title><p>Periodico {number}".encode()
            url = f"http://example.org/{number}"
            file.write(exchange(url, 1_700_000_000_000, "", "", b"", head, body).data)
    importing = system.start("archive", "import", str(source))

    def captures() -> int:
        try:
            return system.rows("SELECT count(*) FROM capture")[0][0]
        except Exception:  # there are no tables yet
            return 0

    wait_for(captures, "a first batch of captures")
    importing.send_signal(signal.SIGKILL)
    importing.communicate()
    assert 0 < captures() < 1500, "it was killed in its middle"
    done = system.run("job", "resume", "1", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)["result"]
    assert result["taken"] + result["known"] == 1500
    assert captures() == 1500
    assert json.loads(system.run("archive", "verify", "--json").stdout)["sound"]


def test_serve_does_what_commands_leave_to_it(system: System, tmp_path: Path) -> None:
    assert system.run("status").returncode == 1
    serving = subprocess.Popen(
        [sys.executable, "-m", "hemeroteca", "serve", "--port", "0"],
        env=system.environment | {"HEMEROTECA_REPLAY": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert "Hemeroteca is at" in serving.stdout.readline()
        wait_for((system.data / "engine.json").exists, "the engine")
        rebuilt = system.run("search", "rebuild", "--json")
        assert json.loads(rebuilt.stdout) == {"documents": 0, "versions": 0}, rebuilt.stderr
        wait_for((system.data / "engine.json").exists, "the engine goes on afterwards")
        queued = system.run("backup", str(tmp_path / "copy"), "--background", "--json")
        number = json.loads(queued.stdout)["id"]
        followed = system.run("job", "follow", str(number), "--json")
        assert json.loads(followed.stdout)["state"] == "done", followed.stderr
        assert (tmp_path / "copy" / "hemeroteca.sqlite3").exists()
        listed = [json.loads(line) for line in system.run("job", "list", "--json").stdout.splitlines()]
        assert [(row["kind"], row["state"]) for row in listed] == [
            ("instance.backup", "done"),
            ("search.rebuild", "done"),
        ]
    finally:
        serving.send_signal(signal.SIGTERM)
        serving.communicate()
    assert serving.returncode == 0

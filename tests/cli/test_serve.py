"""`hemeroteca serve` as who starts it sees it: where it is, what it reads, and what is left when it cannot begin."""

import os
import re
import socket
import subprocess
import sys
import threading

import pytest

from tests.commands import ROOT, run
from tests.waiting import PATIENCE, wait_for

HEMEROTECA = "import sys; from hemeroteca.__main__ import main; sys.argv[0] = 'hemeroteca'; main()"


@pytest.fixture
def begin(tmp_path):
    """begin(*arguments) -> what a server on a free port prints, line by line, while it runs."""
    running = []

    def start(*arguments, **environment):
        usual = {name: value for name, value in os.environ.items() if not name.startswith("HEMEROTECA_")}
        process = subprocess.Popen(
            [sys.executable, "-m", "hemeroteca", "serve", "--port", "0", *map(str, arguments)],
            cwd=tmp_path,
            env={**usual, "PYTHONPATH": str(ROOT), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        running.append(process)
        lines = []
        threading.Thread(target=lambda: lines.extend(process.stdout), daemon=True).start()
        wait_for(lambda: any("engine started" in line for line in lines), lambda: "".join(lines))
        return "".join(lines)

    yield start
    for process in running:
        process.terminate()
        process.wait(PATIENCE)


@pytest.mark.slow
def test_it_says_its_data_folder_and_settings_and_a_webhook_is_at_the_address_that_is_served(begin, tmp_path):
    (tmp_path / "hemeroteca.toml").write_text(
        f'data = "{tmp_path / "kept"}"\ncontact = "a@example.org"\nreplay = false\n'
    )
    told = begin()
    assert f"Data folder: {tmp_path / 'kept'}\n" in told
    assert f"Settings: {tmp_path / 'hemeroteca.toml'}\n" in told
    served = re.search(r"is at (http://127\.0\.0\.1:\d+)/", told)[1]
    run(HEMEROTECA, tmp_path / "kept", "watch", "add", "https://example.org/")
    printed = run(HEMEROTECA, tmp_path / "kept", "watch", "webhook", "1")
    assert re.fullmatch(rf"{served}/api/v1/signals/\S+\n", printed.stdout)
    assert printed.stderr == ""


def test_a_webhook_without_a_server_is_at_the_address_of_the_settings_and_that_is_said(tmp_path):
    run(HEMEROTECA, tmp_path, "watch", "add", "https://example.org/")
    printed = run(HEMEROTECA, tmp_path, "watch", "webhook", "1")
    assert printed.stdout.startswith("http://127.0.0.1:")
    assert "is not running" in printed.stderr


def test_how_often_a_site_changes_is_unknown_before_it_was_looked_at_twice(tmp_path):
    run(HEMEROTECA, tmp_path, "watch", "add", "https://example.org/")
    heading, line = run(HEMEROTECA, tmp_path, "watch", "list").stdout.splitlines()
    assert line[heading.index(" P ") + 1 :].split()[0] == "unknown"


@pytest.mark.parametrize(
    "options", [["--port", "TAKEN"], ["--port", "70000"], ["--host", "host.invalid", "--port", "0"]]
)
def test_a_server_that_cannot_begin_leaves_nothing(tmp_path, options):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        given = [port if option == "TAKEN" else option for option in options]
        failed = run(HEMEROTECA, tmp_path / "new" / "data", "serve", *given, code=1)
    assert failed.stderr.startswith("hemeroteca: ")
    assert list(tmp_path.iterdir()) == [], "neither the folder nor those above it that were made for it"


def test_a_database_that_does_not_answer_is_named_as_the_reason_and_nothing_is_left(tmp_path):
    away = "postgresql://someone:secret@127.0.0.1:1/nothing"
    main = f"import os; os.environ['HEMEROTECA_DATABASE'] = '{away}'; {HEMEROTECA}"
    for words in (["status"], ["serve", "--port", "0"]):
        failed = run(main, tmp_path / words[0] / "data", *words, code=1)
        assert re.fullmatch(r"hemeroteca: .*the database cannot be reached \(.*refused.*`database`\n", failed.stderr)
        assert "secret" not in failed.stderr
    assert not (tmp_path / "serve").exists()


def test_a_disk_that_takes_no_more_is_the_reason_in_words_and_nothing_is_left(tmp_path):
    little = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)); {HEMEROTECA}"
    failed = run(little, tmp_path / "data", "serve", "--port", "0", code=1)
    assert re.fullmatch(r"hemeroteca: the instance in \S+ cannot be made ready: [a-z /IO]+\n", failed.stderr)
    assert list(tmp_path.iterdir()) == []

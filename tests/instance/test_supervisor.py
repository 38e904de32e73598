"""The supervisor restarts what dies, stops everything when asked, and leaves nothing behind when killed."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import psutil
import pytest

from tests.waiting import PATIENCE, wait_for

SUPERVISE = """
import logging, sys, json
from hemeroteca.instance.supervisor import RestartLimits, Program, Supervisor
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
programs = [Program(name, [sys.executable, "-uc", code]) for name, code in json.loads(sys.argv[1]).items()]
limits = RestartLimits(**json.loads(sys.argv[2]))
Supervisor(programs, lambda name, line: print(f"{name}> {line}", flush=True), limits).run()
print("all stopped", flush=True)
"""
STAYS = "import time, os; print('pid', os.getpid()); time.sleep(1000)"
STUBBORN = (
    "import signal, time, os; signal.signal(15, lambda *_: print('asked to stop')); print('pid', os.getpid())\n"
    "while True: time.sleep(1000)"
)


class Running:
    """A process whose output is read as it comes, so that a test can wait for a line instead of sleeping."""

    def __init__(self, arguments, **more):
        self.process = subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True, **more
        )
        self.text = ""
        self._changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            with self._changed:
                self.text += line
                self._changed.notify_all()

    def wait_for(self, pattern, times=1):
        """The last match, once `pattern` has been written so many times."""
        with self._changed:
            done = self._changed.wait_for(lambda: len(re.findall(pattern, self.text)) >= times, PATIENCE)
        assert done, f"{pattern!r} not seen {times} times within {PATIENCE:.0f} s in:\n{self.text}"
        return re.findall(pattern, self.text)[times - 1]

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def start():
    running = []

    def begin(arguments, **more):
        running.append(Running(arguments, **more))
        return running[-1]

    yield begin
    for one in running:
        one.end()


@pytest.fixture
def supervise(start):
    def begin(programs, **limits):
        return start([sys.executable, "-c", SUPERVISE, json.dumps(programs), json.dumps(limits)])

    return begin


def wait_until_gone(*pids):
    wait_for(lambda: not any(map(runs, pids)), lambda: f"the end of {[pid for pid in pids if runs(pid)]}")


def runs(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_child_that_is_killed_is_started_again_and_the_other_goes_on(supervise):
    running = supervise({"one": STAYS, "two": STAYS})
    one, two = int(running.wait_for(r"one> pid (\d+)")), int(running.wait_for(r"two> pid (\d+)"))
    os.kill(one, signal.SIGKILL)
    again = int(running.wait_for(r"one> pid (\d+)", times=2))
    running.wait_for(r"one died \(killed by SIGKILL\)")
    assert again != one
    assert runs(two)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_every_child_and_then_the_supervisor(supervise, number):
    running = supervise({"one": STAYS, "two": STAYS})
    pids = [int(running.wait_for(rf"{name}> pid (\d+)")) for name in ("one", "two")]
    running.process.send_signal(number)
    running.wait_for("all stopped")
    wait_until_gone(*pids)
    assert running.process.wait(PATIENCE) == 0


def test_a_child_that_ignores_the_request_is_killed_after_the_grace_period(supervise):
    running = supervise({"mule": STUBBORN}, grace_seconds=0.3)
    pid = int(running.wait_for(r"mule> pid (\d+)"))
    running.process.send_signal(signal.SIGTERM)
    running.wait_for("mule has not stopped; killing it")
    running.wait_for("all stopped")
    wait_until_gone(pid)


def test_a_second_ctrl_c_does_not_wait_for_the_grace_period(supervise):
    running = supervise({"mule": STUBBORN}, grace_seconds=1000)
    running.wait_for(r"mule> pid (\d+)")
    running.process.send_signal(signal.SIGINT)
    running.wait_for("mule> asked to stop")  # the first was heard; two signals at once are one signal
    running.process.send_signal(signal.SIGINT)
    running.wait_for("all stopped")


def test_children_do_not_outlive_a_supervisor_that_is_killed(supervise):
    running = supervise({"one": STAYS})
    pid = int(running.wait_for(r"one> pid (\d+)"))
    os.kill(running.process.pid, signal.SIGKILL)
    wait_until_gone(pid)


def test_children_of_a_dead_child_die_with_it(supervise):
    running = supervise({"one": f"import subprocess, sys; subprocess.run([sys.executable, '-uc', {STAYS!r}])"})
    grandchild = int(running.wait_for(r"one> pid (\d+)"))
    os.kill(psutil.Process(grandchild).ppid(), signal.SIGKILL)
    running.wait_for("one died")
    wait_until_gone(grandchild)


def test_one_that_dies_again_and_again_is_started_ever_less_often(supervise):
    running = supervise({"bad": "print('no'); raise SystemExit(3)"}, restarts_a_minute=2)
    running.wait_for(r"bad died \(exit code 3\); starting it again in 0.5 s")
    running.wait_for(r"bad died \(exit code 3\); starting it again in 1.0 s")
    wait = float(running.wait_for(r"bad died 3 times within a minute \(exit code 3\).*next try in (\d+) s"))
    assert 30 < wait <= 60
    assert running.text.count("bad> no") == 3


def test_words_without_line_ends_and_last_words_are_passed_on_and_bounded(supervise):
    running = supervise({"talk": "import sys, time; sys.stdout.write('x' * 20000 + '\\nlast'); sys.stdout.flush()"})
    running.wait_for("talk> last")
    assert max(len(line) for line in running.text.splitlines()) < 9000


SERVE = "from hemeroteca.cli import main; main()"


@pytest.fixture
def serve(start, tmp_path):
    def begin(*options, data=tmp_path / "data"):
        environ = {key: value for key, value in os.environ.items() if not key.startswith("HEMEROTECA_")}
        arguments = [sys.executable, "-c", SERVE, "serve", "--data", str(data), "--port", "0", *options]
        return start(arguments, env={**environ, "PYTHONPATH": str(Path.cwd())}, cwd=tmp_path)

    return begin


def get(address):
    with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
        return answer.status, answer.read().decode()


@pytest.mark.slow
def test_serve_prints_its_address_and_the_password_once_survives_a_dead_web_process_and_stops(serve, tmp_path):
    running = serve()
    address = running.wait_for(r"Hemeroteca is at (http://127.0.0.1:\d+/)")
    password = running.wait_for(r"Sign in as admin with the password (\S+)")
    assert "Hemeroteca" in get(address)[1]

    web = int(running.wait_for(r"web started \(process (\d+)\)"))
    engine = int(running.wait_for(r"engine started \(process (\d+)\)"))
    os.kill(web, signal.SIGKILL)
    again = int(running.wait_for(r"web started \(process (\d+)\)", times=2))
    assert get(address)[0] == 200, "the port was kept open meanwhile"

    log = tmp_path / "data" / "logs" / "hemeroteca.log"
    assert "web died" in log.read_text()
    assert password not in log.read_text()
    assert log.stat().st_mode & 0o077 == 0

    running.process.send_signal(signal.SIGINT)
    running.wait_for("Hemeroteca has stopped.")
    assert running.process.wait(PATIENCE) == 0
    wait_until_gone(web, again, engine)

    second = serve()
    second.wait_for("Hemeroteca is at")
    second.wait_for("web started")
    assert "password" not in second.text, "only the first start has somebody to introduce"


@pytest.mark.slow
def test_a_second_server_on_the_same_folder_and_a_taken_port_are_refused_in_words(serve, tmp_path):
    first = serve()
    port = int(first.wait_for(r"http://127.0.0.1:(\d+)/"))
    same = serve()
    assert same.process.wait(PATIENCE) == 1
    same.wait_for(rf"another `hemeroteca serve` \(process {first.process.pid}\) already runs on .*--data")
    other = serve("--port", str(port), data=tmp_path / "other")
    assert other.process.wait(PATIENCE) == 1
    other.wait_for(rf"port {port} on 127.0.0.1 is taken by another program; .*--port")


def test_a_port_and_a_folder_that_cannot_be_are_refused_in_words(tmp_path):
    from hemeroteca.cli import serve
    from hemeroteca.instance import Instance

    with pytest.raises(serve.ServeError, match="port 70000 does not exist"):
        serve.listen("127.0.0.1", 70_000)
    (tmp_path / "file").touch()
    with pytest.raises(serve.ServeError, match="cannot be used"):
        serve._only_server(Instance(tmp_path / "file"))


def test_listening_on_localhost_uses_one_port_for_all_its_addresses():
    from hemeroteca.cli.serve import listen

    sockets = listen("localhost", 0)
    try:
        assert len({one.getsockname()[1] for one in sockets}) == 1
        assert {one.family for one in sockets} <= {socket.AF_INET, socket.AF_INET6}
    finally:
        for one in sockets:
            one.close()


OBEY = """
import logging, sys, json
from pathlib import Path
from hemeroteca.instance import Instance
from hemeroteca.instance.supervisor import RestartLimits, Program, Supervisor
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
instance = Instance(Path(sys.argv[2]))
programs = [Program(name, [sys.executable, "-uc", code], may_stop=name != "web")
            for name, code in json.loads(sys.argv[1]).items()]
Supervisor(programs, lambda name, line: print(f"{name}> {line}", flush=True), RestartLimits(grace_seconds=0.5),
           ear=instance.ear("supervisor"), report_file=instance.processes_path).run()
"""


def test_a_process_is_stopped_started_and_restarted_by_order_and_is_told_of(start, tmp_path):
    from hemeroteca.instance import Instance
    from hemeroteca.instance.processes import processes

    instance = Instance(tmp_path / "data")
    told = lambda: {one.facts.name: one for one in processes(instance)}  # noqa: E731
    assert told() == {}, "nobody keeps processes here"
    programs = {"web": STAYS, "engine": STUBBORN}
    running = start([sys.executable, "-c", OBEY, json.dumps(programs), str(instance.data)])
    first = int(running.wait_for(r"engine> pid (\d+)"))
    running.wait_for(r"web> pid (\d+)")
    wait_for(lambda: told()["engine"].facts.pid == first)
    assert told()["engine"].memory_bytes > 1_000_000
    assert instance.order("stop", "web")
    assert instance.order("stop", "nobody")
    assert instance.order("stop", "engine")
    running.wait_for("engine> asked to stop")
    running.wait_for("engine has not ended as ordered; killing it")
    wait_for(lambda: told()["engine"].facts.state == "stopped")
    assert (told()["engine"].facts.pid, told()["engine"].facts.ending) == (0, "killed by SIGKILL")
    assert told()["web"].facts.state == "running", "it may not be stopped: nobody could start it again"
    assert instance.order("start", "engine")
    second = int(running.wait_for(r"engine> pid (\d+)", times=2))
    assert second != first
    web = told()["web"].facts.pid
    assert instance.order("restart", "web")
    assert int(running.wait_for(r"web> pid (\d+)", times=2)) != web
    assert "died" not in running.text, "an end that was ordered is no death"
    wait_for(lambda: told()["web"].facts.starts == 2)

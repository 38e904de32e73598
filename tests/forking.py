"""`python -m hemeroteca …` in a process of its own, without half a second of loading libraries for each.

A parent, one for each process of the tests, has loaded what others wrote and nothing of ours; every command is forked
from it. So a command still loads our modules, reads its settings and ends by itself, as one that a person starts.
"""

import atexit
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache

_file = tempfile.TemporaryFile
LIBRARIES = (
    *("numpy", "lxml.html", "msgspec.json", "pycurl", "tantivy", "typer.main", "rich.table", "ada_url", "re2", "isal"),
    *("protego", "publicsuffixlist", "resiliparse.parse.encoding", "sqlparse", "asyncio", "multiprocessing.connection"),
    *("django.core.management", "django.core.mail", "django.db.backends.sqlite3.base", "django.db.models.sql.compiler"),
    *("django.db.migrations.recorder", "django.forms", "django.template", "django.contrib.auth.hashers"),
    *("django.core.serializers", "django.http", "django.urls", "django.test.signals", "django.core.checks"),
)


def run(
    arguments: tuple[str, ...], environment: dict[str, str], stdin: str, timeout: float
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` would give it."""
    ours, theirs = socket.socketpair()
    with ours, theirs, _file() as given, _file() as out, _file() as err:
        given.write(stdin.encode())
        given.seek(0)
        order = json.dumps([arguments, environment, os.getcwd()]).encode()
        socket.send_fds(_parent(), [order], [given.fileno(), out.fileno(), err.fileno(), theirs.fileno()])
        theirs.close()
        process = int.from_bytes(ours.recv(4))
        ours.settimeout(timeout)
        try:
            code = int.from_bytes(ours.recv(4), signed=True)
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            raise subprocess.TimeoutExpired(["hemeroteca", *arguments], timeout)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess(["hemeroteca", *arguments], code, *texts)


@cache
def _parent() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.forking", str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    theirs.close()

    @atexit.register
    def end() -> None:
        ours.close()
        process.wait()

    return ours


def _serve(orders: socket.socket) -> list[str]:
    """Forks until nobody can ask any more. Returns in the processes forked, with the arguments of the command."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait
    while True:
        order, files, _, _ = socket.recv_fds(orders, 1 << 20, 4)
        if not order:
            os._exit(0)
        if os.fork() == 0:
            break
        for file in files:
            os.close(file)
    orders.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    answer = socket.socket(fileno=files.pop())
    if process := os.fork():
        answer.sendall(process.to_bytes(4))
        _, status = os.waitpid(process, 0)
        answer.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, signed=True))
        os._exit(0)
    answer.close()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    arguments, environment, folder = json.loads(order)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    return arguments


if __name__ == "__main__":
    for name in LIBRARIES:
        __import__(name)
    sys.argv[1:] = _serve(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module("hemeroteca", run_name="__main__", alter_sys=True)

"""Readers that are copies of the engine's process: they read, are replaced, and end with it."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.waiting import wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere readers are always started anew")

PROGRAM = """
import json, os, selectors, signal, sys, threading
from hemeroteca import urls
from hemeroteca.ingest.pool import Pool, fork_readers
from hemeroteca.ingest.rules import CrawlOptions
readers = fork_readers(2)
pids = [reader.process.pid for reader in readers]
"""
READ = """
from hemeroteca.ingest.rules import CrawlRules
from tests.ingest.test_pool import task
from tests.waiting import wait_for
selector, answers = selectors.DefaultSelector(), []
pool = Pool(2, selector, answers.extend, readers)
scope = urls.Scope(kind="host", seeds=("http://a.test/",))
pool.learn(CrawlRules(crawl=1, options=CrawlOptions(scope=scope), max_depth=200))
def turn():
    for key, mask in selector.select(0.1):
        key.data(key.fd, mask)
def read(*numbers):
    answers.clear()
    for number in numbers:
        pool.submit(task(number))
    wait_for(lambda: len(answers) >= len(numbers), turn=turn)
    return sorted(done.document.title for _, done in answers if done.document)
"""


def run(program: str) -> dict[str, object]:
    done = subprocess.run([sys.executable, "-c", PROGRAM + program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_copies_read_pages_and_end_in_order():
    program = f"""{READ}
titles = read(1, 2, 3, 4)
used = [reader.process.pid for reader in pool.readers]
pool.close()
left = [pid for pid in pids if os.path.exists(f"/proc/{{pid}}")]
print(json.dumps(dict(titles=titles, same=used == pids, left=left, cpu=pool.usage.cpu_seconds > 0)))
"""
    assert run(program) == {"titles": ["Prueba"] * 4, "same": True, "left": [], "cpu": True}


def test_a_copy_that_dies_is_replaced_by_a_process_started_anew():
    program = f"""{READ}
os.kill(pids[0], 9)
titles = read(1, 2, 3, 4)
now = [reader.process.pid for reader in pool.readers]
pool.close()
print(json.dumps(dict(read=len(titles), answers=len(answers), gone=pids[0] not in now, readers=len(now))))
"""
    assert run(program) == {
        "read": 3,
        "answers": 4,
        "gone": True,
        "readers": 2,
    }  # one is kept unread


def test_no_copies_of_a_process_with_threads():
    program = """
wait = threading.Event()
threading.Thread(target=wait.wait, daemon=True).start()
print(json.dumps(dict(first=len(readers), now=len(fork_readers(2)))))
"""
    assert run(program) == {"first": 2, "now": 0}


def test_copies_end_with_the_process_that_made_them():
    program = PROGRAM + "print(json.dumps(pids), flush=True)\nsignal.pause()\n"  # until it is killed
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as engine:
        assert engine.stdout is not None
        pids = json.loads(engine.stdout.readline())
        assert all(_runs(pid) for pid in pids)
        engine.kill()
    try:
        wait_for(lambda: not any(map(_runs, pids)), "the end of the copies")
    finally:
        for pid in filter(_runs, pids):
            os.kill(pid, signal.SIGKILL)


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

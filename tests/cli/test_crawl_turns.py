"""Crawls by command in one data folder, one after another: what the second does while the first is the engine."""

import json
import os
import signal
import sqlite3
import subprocess
import sys

import pytest

from hemeroteca.instance import Instance
from hemeroteca.instance.status import EngineStatus, read_engine_status, write_engine_status
from simweb.api import SimWeb
from tests.commands import ROOT
from tests.waiting import PATIENCE, wait_for


@pytest.fixture
def ordered(tmp_path):
    """A crawl that waits for another process to be no longer the engine; that process is the test."""
    instance = Instance(tmp_path / "data")
    instance.create()
    with SimWeb(seed=5, hosts=2, pages_per_host=4, page_bytes=2000, trouble=0, robots="open") as web:
        lock = instance.lock_engine()
        assert lock is not None
        environment = {
            **os.environ,
            "HEMEROTECA_DATA": str(instance.data),
            "HEMEROTECA_DATABASE": "",
            "HEMEROTECA_RESOLVE": web.resolve,
            "HEMEROTECA_ALLOW_PRIVATE": "1",
            "HEMEROTECA_DELAY": "0",
        }
        waiting = subprocess.Popen(
            [sys.executable, "-m", "hemeroteca", "crawl", web.seed_urls(1)[0], "--json"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert waiting.stderr is not None
        wait_for(lambda: "Another crawl is at work" in waiting.stderr.readline(), "that it waits")
        yield instance, lock, waiting
        waiting.kill()
        waiting.wait()


def state(instance: Instance) -> str:
    with sqlite3.connect(instance.database_path) as database:
        return str(database.execute("SELECT state FROM crawl").fetchone()[0])


def test_a_crawl_that_waited_for_the_engine_of_another_begins_when_that_has_ended(ordered):
    _, lock, waiting = ordered
    lock.close()
    out, _ = waiting.communicate(timeout=PATIENCE)
    assert (waiting.returncode, json.loads(out)["state"]) == (0, "finished")
    assert json.loads(out)["pages"] >= 4


def test_it_can_be_stopped_while_it_waits(ordered):
    instance, lock, waiting = ordered
    waiting.send_signal(signal.SIGINT)
    waiting.communicate(timeout=PATIENCE)
    assert (waiting.returncode, state(instance)) == (130, "stopped")
    lock.close()


def test_an_engine_that_was_killed_is_not_at_work(tmp_path):
    instance = Instance(tmp_path / "data")
    instance.create()
    killed = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    now = 10**15  # it wrote just now, or will
    write_engine_status(instance, EngineStatus(killed.pid, now, now))
    assert read_engine_status(instance) is not None
    killed.kill()
    killed.wait()
    assert read_engine_status(instance) is None

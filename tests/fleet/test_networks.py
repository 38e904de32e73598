"""A coordinator, sites and devices on machines of their own, with kills and cuts at random."""

import json
import os
import random
import signal
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from hemeroteca import __version__
from tests.fleet.laboratory import PROXY, PYTHON, SITE, Laboratory
from tests.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.slow

HOSTS = [f"203.0.113.{n}" for n in range(1, 13)]  # more than one block has at first: both devices get some
EACH = 6
DELAY = 0.3
CLOCK = 0.03  # the site notes the end of an answer before it is on its way
COORDINATOR = "192.0.2.1"
SERVER = f"http://{COORDINATOR}:8970"
CURL = [PYTHON, "-m", "hemeroteca", "worker"]


@pytest.fixture
def laboratory():
    laboratory = Laboratory()
    yield laboratory
    laboratory.close()


class Fleet:
    def __init__(self, laboratory: Laboratory, folder) -> None:
        self.laboratory = laboratory
        self.folder = folder
        self.requests = folder / "requests.jsonl"
        self.environment = {
            "HEMEROTECA_DATA": str(folder / "data"),
            "HEMEROTECA_CONFIG": os.devnull,
            "HEMEROTECA_ALLOW_NETWORKS": "203.0.113.0/24",
            "HEMEROTECA_DELAY": str(DELAY),
            "HEMEROTECA_DELAY_FACTOR": "0",
            "HEMEROTECA_REPLAY": "0",
            "HEMEROTECA_INGEST_PROCESSES": "1",
            "HEMEROTECA_WEB_PROCESSES": "2",
        }
        sites = laboratory.machine(*HOSTS)
        laboratory.start(sites, PYTHON, "-c", SITE, str(self.requests), *HOSTS, log=folder / "site.log")
        self.machine = laboratory.machine(COORDINATOR)
        self.server = laboratory.start(
            self.machine, PYTHON, "-m", "hemeroteca", "serve", "--host", "0.0.0.0", "--port", "8970",
            log=folder / "serve.log", **self.environment,
        )  # fmt: skip
        self.proxy = laboratory.start(self.machine, PYTHON, "-c", PROXY, COORDINATOR, log=folder / "proxy.log")
        wait_for(lambda: self.ask("GET", "/robots.txt", check=False) == 0, "the server answers")
        self.token = self.hemeroteca("token", "create", "admin").splitlines()[0]

    def hemeroteca(self, *words: str) -> str:
        environment = {**os.environ, **self.environment}
        done = subprocess.run(
            [PYTHON, "-m", "hemeroteca", *words], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(self, method: str, path: str, value: object = None, check: bool = True, token: str = ""):
        """A request on the coordinator's own machine; JSON, or the exit code of curl."""
        command = ["ip", "netns", "exec", self.machine, "curl", "-sf", "-X", method, f"http://{COORDINATOR}:8970{path}"]
        if check:
            command += ["-H", f"Authorization: Bearer {token or self.token}", "-H", "Content-Type: application/json"]
        if value is not None:
            command += ["-d", json.dumps(value)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not check:
            return done.returncode
        return json.loads(done.stdout) if done.returncode == 0 else None

    def device(self, name: str, owner: str) -> str:
        return json.loads(self.hemeroteca("fleet", "device", "add", name, "--owner", owner, "--json"))["token"]

    def worker(self, machine: str, port: int, token: str, *program: str) -> subprocess.Popen:
        return self.laboratory.start(
            machine, *program, "--server", f"http://{COORDINATOR}:{port}", "--token", token,
            "--allow-network", "203.0.113.0/24", "--consent", "crawls,clients", "--min-delay", "0.1",
            "--state", str(self.folder / f"state-{machine}"), log=self.folder / f"worker-{machine}.log",
        )  # fmt: skip

    def add_owner(self, name: str) -> None:
        add = [PYTHON, "-m", "hemeroteca", "user", "add", name, "--role", "reader"]
        environment, password = {**os.environ, **self.environment}, "a long password\n" * 2
        subprocess.run(add, input=password, env=environment, capture_output=True, text=True, check=False)

    def finish(self, job: str, beat: Callable[[], bool] = lambda: True) -> list[dict]:
        """All results, once there are no more to come."""
        wait_for(
            lambda: beat() and (self.ask("GET", f"/api/v1/fetch/{job}") or {}).get("state") == "finished",
            lambda: (
                self.rows("SELECT state, share_id, device_id, urls FROM fleet_block"),
                self.rows("SELECT url, reason FROM fleet_result WHERE resolved_ms = 0")[:5],
                self.rows("SELECT name, state, connected, resting, late, reason FROM fleet_device"),
            ),
        )
        found, cursor = [], ""
        while cursor is not None:
            part = self.ask("GET", f"/api/v1/fetch/{job}/results?limit=25&cursor={cursor}")
            found += part["results"]
            cursor = part["next_cursor"]
        return found

    def check(self, found: list[dict], urls: list[str], askers: set[str]) -> None:
        """Everything once, no host hurried, nobody else asked, and nobody paid twice or too little."""
        assert sorted(one["url"] for one in found) == sorted(urls)  # each exactly once
        assert {one["status"] for one in found} == {200}
        asked = [json.loads(line) for line in self.requests.read_text().splitlines()]
        assert {one[2] for one in asked} == askers
        for host in HOSTS:
            visits = sorted((one[3], one[4]) for one in asked if one[0] == host)
            for (_, ended), (began, _) in pairwise(visits):
                assert began - ended >= DELAY - CLOCK, (host, began - ended)
        assert self.rows("SELECT sum(balance) FROM fleet_account") == [(0,)]
        assert self.rows("SELECT count(*) FROM fleet_transfer WHERE reason LIKE 'fetch %'") == [(len(urls),)]
        owed = Counter()  # by what the client was told of each URL: 70 % to its devices in equal parts, the rest to us
        for one in found:
            shares = [700 // len(one["devices"])] * len(one["devices"]) if one["devices"] else []
            owed.update(dict(zip(one["devices"], shares, strict=True)))
            owed["operator"] += 1000 - sum(shares)
        paid = self.rows(
            "SELECT coalesce(pseudonym, kind), balance FROM fleet_account "
            "LEFT JOIN fleet_device ON fleet_device.id = number AND kind = 'device'"
        )
        assert {name: amount for name, amount in paid if amount} == {**owed, "issued": -1000 * len(urls)}
        facts = [json.loads(line) for line in self.hemeroteca("fleet", "devices", "--json").splitlines()]
        assert all(one["counts"].get("invalid", 0) == 0 for one in facts)

    def rows(self, query: str):
        with sqlite3.connect(self.folder / "data" / "hemeroteca.sqlite3", timeout=PATIENCE) as database:
            return database.execute(query).fetchall()

    def children(self, module: str) -> list[int]:
        """Processes of the server that run a module."""
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    with open(f"/proc/{entry}/cmdline", "rb") as file:
                        words = file.read().split(b"\0")
                    with open(f"/proc/{entry}/environ", "rb") as file:
                        mine = f"HEMEROTECA_DATA={self.folder / 'data'}".encode() in file.read().split(b"\0")
                except OSError:
                    continue
                if mine and module.encode() in words:
                    found.append(int(entry))
        return found


def test_kills_and_cuts_lose_nothing_double_nothing_and_hurry_no_host(laboratory, tmp_path):
    fleet = Fleet(laboratory, tmp_path)
    fleet.hemeroteca("fleet", "set", "task_seconds=2", "cache_seconds=0", "strategy=democratic")  # both get work
    fleet.add_owner("bea")
    single = tmp_path / "worker.pyz"
    subprocess.run(
        [
            "ip",
            "netns",
            "exec",
            fleet.machine,
            "curl",
            "-sf",
            "-o",
            single,
            f"http://{COORDINATOR}:8970/fleet/worker.pyz",
        ],
        check=True,
    )
    seats = [
        (
            laboratory.machine("198.51.100.11"),
            9000,
            fleet.device("one", "admin"),
            [PYTHON, "-m", "hemeroteca", "worker"],
        ),
        (laboratory.machine("192.0.2.77"), 8970, fleet.device("two", "bea"), [PYTHON, "-I", "-S", str(single)]),
    ]
    workers = [fleet.worker(machine, port, token, *program) for machine, port, token, program in seats]
    wait_for(
        lambda: fleet.rows("SELECT count(*) FROM fleet_device WHERE connected") == [(2,)], "both devices are connected"
    )
    urls = [f"http://{host}/page-{n}" for n in range(EACH) for host in HOSTS]
    job = fleet.ask("POST", "/api/v1/fetch", {"urls": urls})["id"]
    dice = random.Random(17)

    def resolved() -> int:
        found = fleet.ask("GET", f"/api/v1/fetch/{job}")
        return found["resolved"] if found else -1

    blows = ["worker 0", "cut", "worker 1", "web", "engine", "worker 0", "cut", "web", "worker 1"]
    dice.shuffle(blows)
    for number, blow in enumerate(blows):
        goal = (number + 1) * len(urls) * 0.6 / len(blows)
        wait_for(lambda goal=goal: resolved() >= goal, lambda: (tmp_path / "serve.log").read_text()[-2000:])
        os.kill(fleet.proxy.pid, signal.SIGUSR2)  # a cut lasts until the next blow
        if blow.startswith("worker"):
            seat = int(blow[-1])
            laboratory.kill(workers[seat])
            machine, port, token, program = seats[seat]
            workers[seat] = fleet.worker(machine, port, token, *program)
        elif blow == "cut":
            os.kill(fleet.proxy.pid, signal.SIGUSR1)
        else:
            module = {"web": "hemeroteca.console.web", "engine": "hemeroteca.engine"}[blow]
            killed = fleet.children(module)
            assert killed, blow
            os.kill(dice.choice(killed), signal.SIGKILL)  # of two coordinators one goes on
    os.kill(fleet.proxy.pid, signal.SIGUSR2)
    fleet.check(fleet.finish(job), urls, {"198.51.100.11", "192.0.2.77", COORDINATOR})  # all three took part

    os.killpg(workers[0].pid, signal.SIGINT)
    wait_for(lambda: workers[0].poll() is not None, "Ctrl-C ends it")
    assert workers[0].returncode == 0


def test_what_a_thief_took_is_not_lost_with_it(laboratory, tmp_path):
    """A device that lives and takes nothing gets a share; another steals it and is killed with stolen work in hand."""
    fleet = Fleet(laboratory, tmp_path)
    fleet.hemeroteca("fleet", "set", "task_seconds=2", "cache_seconds=0", "strategy=less-busy")
    idle, robber = fleet.device("idle", "admin"), fleet.device("thief", "admin")
    hello = {"version": __version__, "activities": ["crawls", "clients"]}
    assert fleet.ask("POST", "/fleet/v1/connect", hello, token=idle)
    machine = laboratory.machine("198.51.100.11")
    thief = fleet.worker(machine, 8970, robber, *CURL)
    connected = "SELECT count(*) FROM fleet_device WHERE connected"
    wait_for(lambda: fleet.rows(connected) == [(2,)], "both devices are connected")
    urls = [f"http://{host}/page-{n}" for n in range(EACH) for host in HOSTS]
    job = fleet.ask("POST", "/api/v1/fetch", {"urls": urls})["id"]
    stolen = "SELECT count(*) FROM fleet_block WHERE kind = 'visit' AND device_id <> share_id AND state = "

    def beat() -> bool:
        """It goes on living: nothing of its share is taken back because it has gone."""
        return bool(fleet.ask("POST", "/fleet/v1/beat", {}, token=idle))

    def holds() -> bool:
        return beat() and fleet.rows(f"{stolen} 'leased'") != [(0,)]

    while True:
        wait_for(holds, lambda: fleet.rows("SELECT state, share_id, device_id, urls FROM fleet_block"))
        os.killpg(thief.pid, signal.SIGSTOP)
        if holds() and holds():  # it was not being returned in that very moment
            break
        os.killpg(thief.pid, signal.SIGCONT)
    laboratory.kill(thief)
    wait_for(lambda: beat() and fleet.rows(f"{stolen} 'expired'") != [(0,)], "its lease ends by itself")
    fleet.worker(machine, 8970, robber, *CURL)
    found = fleet.finish(job, beat)
    fleet.check(found, urls, {"198.51.100.11", COORDINATOR})  # what was stolen is there, once

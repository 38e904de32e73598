"""Devices that lie, through the real engine: what they say never reaches the archive, and they are caught."""

import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hemeroteca.fetch import Guard
from hemeroteca.fleet.device.caps import Caps, Meter
from hemeroteca.fleet.device.fetching import ThreadFetching
from hemeroteca.fleet.device.link import Link
from hemeroteca.fleet.device.worker import Worker
from tests.engine.system import System
from tests.waiting import held_port, wait_for

pytestmark = pytest.mark.slow

PAGES = 12


class Site:
    """Pages that say the same to everybody, and one that never says the same."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                site.asked.append((self.path, self.headers["User-Agent"].partition("/")[0]))
                robots = b"User-agent: HemerotecaFleet\nDisallow: /own\n\nUser-agent: *\nDisallow: /private\n"
                page = f"<title>{self.path}</title><p>This page is number {self.path} and that is the truth</p>"
                if self.path == "/restless":
                    page += f"<b>{len(site.asked)}</b>"
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(robots if self.path == "/robots.txt" else page.encode())

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"


class Lying(ThreadFetching):
    """Fetches, and then says something else."""

    def submit(self, order, done):
        def lie(answer):
            answer.body = answer.body.replace(b"truth", b"truth: buy 99 pills")
            done(answer)

        super().submit(order, lie)


class Served:
    def __init__(self, folder) -> None:
        with held_port() as port:
            self.port = port
            self.system = System(folder / "data", delay=0.1, delay_factor=0, replay=0, port=port, config=os.devnull)
            self.process = self.system.start("serve")
        self.server = f"http://127.0.0.1:{self.port}"
        wait_for(lambda: self._curl("/robots.txt").returncode == 0, "the server answers")
        self.token = self.system.run("token", "create", "admin").stdout.splitlines()[0]

    def ask(self, method: str, path: str, value: object = None):
        more = ["-d", json.dumps(value)] if value is not None else []
        done = self._curl(path, "-X", method, "-H", f"Authorization: Bearer {self.token}",
                          "-H", "Content-Type: application/json", *more)  # fmt: skip
        return json.loads(done.stdout)

    def worker(
        self,
        name: str,
        fetching=ThreadFetching,
        activities=("crawls", "clients"),
        owner="admin",
        categories=("general", "politics"),
    ) -> Worker:
        told = json.loads(self.system.run("fleet", "device", "add", name, "--owner", owner, "--json").stdout)
        worker = Worker(
            Link(self.server, told["token"]),
            fetching(Guard(allow_private=True), 4, any_port=True),
            Caps(min_delay=0.05, on_battery=True, on_metered=True),
            Meter(Caps(), None),
            list(activities),
            check_network=False,
            say=lambda line: None,
            categories=list(categories),
            guard=Guard(allow_private=True),
            any_port=True,
        )
        threading.Thread(target=worker.run, daemon=True).start()
        wait_for(lambda: "online" in self.system.run("fleet", "devices", "--json").stdout, "it is connected")
        return worker

    def fetch(self, urls: list[str]) -> dict[str, dict]:
        job = self.ask("POST", "/api/v1/fetch", {"urls": urls, "max_age": 0})["id"]
        wait_for(lambda: self.ask("GET", f"/api/v1/fetch/{job}")["state"] == "finished", "the job has finished")
        return {one["url"]: one for one in self.ask("GET", f"/api/v1/fetch/{job}/results")["results"]}

    def content(self, capture: str) -> str:
        return self._curl(f"/api/v1/captures/{capture}/content").stdout

    def devices(self) -> dict[str, dict]:
        lines = self.system.run("fleet", "devices", "--json").stdout.splitlines()
        return {one["name"]: one for one in map(json.loads, lines)}

    def _curl(self, path: str, *more: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["curl", "-sf", f"{self.server}{path}", *more], capture_output=True, text=True, check=False
        )

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate()


@pytest.fixture
def site():
    site = Site()
    yield site
    site.server.shutdown()
    site.server.server_close()


@pytest.fixture
def served(tmp_path):
    served = Served(tmp_path)
    yield served
    served.close()


def test_a_lie_never_reaches_the_archive_and_the_liar_is_slowed(site, served):
    liar = served.worker("liar", Lying)
    urls = [f"{site.address}/{n}" for n in range(PAGES)]
    found = served.fetch(urls)
    liar.stop()
    assert set(found) == set(urls)
    for one in found.values():
        text = served.content(one["capture"])
        assert "truth" in text
        assert "pills" not in text
        assert one["devices"] == []
    facts = served.devices()["liar"]
    assert facts["state"] == "slowed"
    assert facts["counts"]["invalid"] >= 1
    assert facts["credits"] == 0
    assert "caught" in served.system.run("fleet", "log").stdout


def test_an_honest_device_is_believed_and_a_restless_page_is_nobodys_fault(site, served):
    worker = served.worker("honest")
    urls = [f"{site.address}/{n}" for n in range(PAGES)] + [f"{site.address}/restless"]
    hidden = [f"{site.address}/private/x", f"{site.address}/own/x"]
    found = served.fetch(urls + hidden)
    worker.stop()
    assert {found[url]["status"] for url in urls} == {200}
    assert all("forbids" in found[url]["reason"] and not found[url]["status"] for url in hidden)
    assert "the fleet" in found[hidden[1]]["reason"]
    # on a busy machine the engine may have asked for one or two before the device did
    most = PAGES - 2
    assert sum(bool(found[url]["checked"] and found[url]["devices"]) for url in urls[:-1]) >= most
    facts = served.devices()["honest"]
    assert facts["counts"]["valid"] >= most
    assert facts["counts"].get("invalid", 0) == 0
    assert facts["counts"]["open"] >= 1
    assert facts["score"] >= most
    assert 0.7 * most <= facts["credits"] + 0.001
    assert facts["credits"] <= 0.7 * PAGES + 0.001
    asked = [path for path, agent in site.asked if agent == "HemerotecaFleet"]
    assert asked.count("/robots.txt") == 1  # the second party that sees the rules, the first time
    asked.remove("/robots.txt")
    assert not any(path.startswith(("/private", "/own")) for path in asked)
    wanted = {url.removeprefix(site.address) for url in urls}
    assert set(asked) <= wanted
    assert most <= len(asked) <= len(wanted) + 1  # the restless one may be asked for again

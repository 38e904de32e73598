"""Devices that lie, through the real engine: what they say never reaches the archive, and they are caught."""

import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hemeroteca.fetch import Guard
from hemeroteca.fleet.device.caps import Caps, Meter
from hemeroteca.fleet.device.coordinator_link import CoordinatorLink
from hemeroteca.fleet.device.http_requests import ThreadFetching
from hemeroteca.fleet.device.stages import Lending, Worker
from tests.engine.system import System
from tests.waiting import held_port, wait_for

pytestmark = pytest.mark.slow

PAGES = 12
BEFORE_TRUST = 9  # results that are all checked: from ten valid ones on a device is mostly believed


class Site:
    """Pages that say the same to everybody, and one that never says the same."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.shown_to_devices = b""  # rules, where it has others for them
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                by_device = self.headers["Accept-Encoding"] == "gzip"  # their standard library; the engine's libcurl
                site.asked.append((self.path, "device" if by_device else "engine"))
                robots = b"User-agent: HemerotecaFleet\nDisallow: /own\n\nUser-agent: *\nDisallow: /private\n"
                if site.shown_to_devices and by_device:
                    robots = site.shown_to_devices
                page = f"<title>{self.path}</title><p>This page is number {self.path} and that is the truth</p>"
                if self.path == "/restless":
                    page += f"<b>{len(site.asked)}</b>"
                if self.path == "/robot":  # as many do: the one word in the name, and those who are signed
                    page += "<p>No robots, please</p>" * ("bot" in self.headers["User-Agent"])
                    page += "<p>Welcome, you are who you say</p>" * ("Signature" in self.headers)
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


class Sly(Lying):
    """Tells the truth until it is believed."""

    awake = threading.Event()

    def submit(self, order, done):
        super().submit(order, done) if self.awake.is_set() else ThreadFetching.submit(self, order, done)


class Served:
    def __init__(self, folder) -> None:
        with held_port() as port:
            self.port = port
            self.system = System(
                folder / "data", delay=0.1, delay_factor=0, replay=0, port=port, config=os.devnull,
                public_url=f"http://127.0.0.1:{port}",
            )  # fmt: skip
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
            CoordinatorLink(self.server, told["token"]),
            fetching(Guard(allow_private=True), 4, any_port=True),
            Caps(min_delay=0.05, on_battery=True, on_metered=True),
            Meter(Caps(), None),
            Lending(
                activities=list(activities),
                categories=list(categories),
                check_network=False,
                guard=Guard(allow_private=True),
                any_port=True,
            ),
            say=lambda line: None,
        )
        threading.Thread(target=worker.run, daemon=True).start()
        wait_for(lambda: "online" in self.system.run("fleet", "devices", "--json").stdout, "it is connected")
        return worker

    def fetch(self, urls: list[str], **more: object) -> dict[str, dict]:
        job = self.ask("POST", "/api/v1/fetch", {"urls": urls, "max_age": 0, **more})["id"]
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
    told = sum(who == "device" and path != "/robots.txt" for path, who in site.asked)
    assert facts["counts"]["invalid"] == facts["counts"]["requests"] == told >= 1  # nothing it said was believed
    assert facts["credits"] == 0
    assert "caught" in served.system.run("fleet", "log").stdout


def test_an_honest_device_is_believed_and_a_restless_page_is_nobodys_fault(site, served):
    served.system.run("fleet", "set", "probe_percent=0")  # else a page may be asked for a second time, to try it
    worker = served.worker("honest")
    names = [*range(BEFORE_TRUST - 1), "robot", "restless"]  # one depends on who asks: all say the same
    urls = [f"{site.address}/{name}" for name in names]
    hidden = [f"{site.address}/private/x", f"{site.address}/own/x"]
    found = served.fetch(urls + hidden)
    worker.stop()
    assert {found[url]["status"] for url in urls} == {200}
    assert all("forbids" in found[url]["reason"] and not found[url]["status"] for url in hidden)
    assert "the fleet" in found[hidden[1]]["reason"]
    assert all(found[url]["checked"] and len(found[url]["devices"]) == 1 for url in urls[:-1])
    assert found[urls[-1]]["devices"] == []  # nobody can tell: the engine's own answer counts
    facts = served.devices()["honest"]
    expected = {"requests": BEFORE_TRUST + 1, "valid": BEFORE_TRUST, "open": 1, "2xx": BEFORE_TRUST + 1}
    assert {name: facts["counts"].get(name) for name in expected} == expected
    assert "invalid" not in facts["counts"]
    assert facts["score"] == BEFORE_TRUST
    assert facts["credits"] == pytest.approx(0.7 * BEFORE_TRUST)
    asked = sorted(path for path, who in site.asked if who == "device")
    wanted = [url.removeprefix(site.address) for url in urls]
    assert asked == sorted([*wanted, "/robots.txt"])  # each once; the rules too, as the second party that sees them


def test_a_page_whose_answer_is_known_betrays_a_device_that_lies_there(site, served):
    """The probes look like any other URL; who answers one wrongly has its next results checked, whatever its trust."""
    served.system.run("fleet", "set", "probe_percent=20")
    Sly.awake.clear()
    sly = served.worker("sly", Sly)
    first = served.fetch([f"{site.address}/{n}" for n in range(16)])
    assert all(one["devices"] for one in first.values())
    Sly.awake.set()
    second = served.fetch([f"{site.address}/{n}" for n in range(16, 32)])
    sly.stop()
    assert all("pills" not in served.content(one["capture"]) for one in second.values())


def test_rules_that_two_owners_devices_were_shown_count_when_they_are_stricter(site, served):
    """A site may show the engine other rules than the rest of the world: nobody is asked against them."""
    site.shown_to_devices = b"User-agent: *\nDisallow: /secret\n"
    served.system.run("user", "add", "bea", "--role", "reader", stdin="a long password\n" * 2)
    served.system.run("fleet", "set", "strategy=democratic", "probe_percent=0")  # by turns
    workers = [served.worker("one"), served.worker("two", owner="bea")]
    wait_for(lambda: [one["state"] for one in served.devices().values()] == ["online"] * 2, "both are connected")
    told = []
    for n in range(8):
        (found,) = served.fetch([f"{site.address}/secret/{n}"]).values()
        told.append(found["reason"])
        if found["reason"]:
            break
    served.fetch([f"{site.address}/secret/last"])
    for worker in workers:
        worker.stop()
    assert "forbids the fleet this page" in told[-1]
    asked = {path for path, _ in site.asked}
    assert {"/secret/0", "/secret/1"} <= asked  # one owner's word was not enough
    assert "/secret/last" not in asked
    assert "robots differ" in served.system.run("fleet", "log").stdout

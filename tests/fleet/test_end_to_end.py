"""A volunteer, a client and the operator with a server that runs: worker by code, HEAD, WARC, webhook, own crawls."""

import gzip
import hashlib
import hmac
import http.client
import json
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hemeroteca import __version__
from hemeroteca.fleet.device.coordinator_link import CoordinatorLink
from tests.fleet.test_liars import Served
from tests.waiting import PATIENCE, held_port, wait_for

pytestmark = pytest.mark.slow


class Site:
    """Pages that say the same to everybody; notes who asks for what. It also hears webhooks, the second time."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []  # method, path, agent
        self.heard: list[tuple[bytes, dict[str, str]]] = []
        self.gate = threading.Event()
        self.gate.set()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                site.asked.append((self.command, self.path, self.headers["User-Agent"].partition("/")[0]))
                if self.path.startswith("/shut-"):
                    site.gate.wait(PATIENCE)
                status = {"/robots.txt": 404, "/blocked": 403, "/gone": 451}.get(self.path, 200)
                next_one = int(self.path.removeprefix("/chain/")) + 1 if self.path.startswith("/chain/") else 0
                link = f"<a href='/chain/{next_one}'>on</a>" if 0 < next_one < 4 else ""
                body = f"<title>{self.path}</title><p>This is the page {self.path}</p>{link}".encode()
                status = 206 if self.path == "/part" and self.headers["Range"] else status
                if self.path == "/spoken":
                    body = f"<p>In {self.headers['Accept-Language']}</p>".encode()
                self.send_response(status)
                if self.path == "/spoken":
                    self.send_header("Vary", "Accept-Encoding, Accept-Language")
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            def do_HEAD(self):
                self.do_GET()

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                site.heard.append((body, dict(self.headers)))
                self.send_response(500 if len(site.heard) == 1 else 204)
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def agents(self, path: str) -> list[str]:
        return [agent for _, asked, agent in list(self.asked) if asked == path]


@pytest.fixture(scope="module")
def site():
    site = Site()
    yield site
    site.server.shutdown()
    site.server.server_close()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    served = Served(tmp_path_factory.mktemp("fleet"))
    served.system.run("fleet", "set", "local=false", "probe_percent=0")
    yield served
    served.close()


@pytest.fixture(scope="module")
def volunteer(served, tmp_path_factory):
    """The single-file worker as a volunteer starts it: downloaded, with a one-time code, Python and nothing else."""
    folder = tmp_path_factory.mktemp("volunteer")
    worker, state = folder / "worker.pyz", folder / "state"
    subprocess.run(["curl", "-sf", "-o", worker, f"{served.server}/fleet/worker.pyz"], check=True)
    told = subprocess.run(
        ["curl", "-sf", f"{served.server}/fleet/worker.pyz.sha256"], capture_output=True, text=True, check=True
    )
    assert told.stdout.split()[0] == hashlib.sha256(worker.read_bytes()).hexdigest()
    served.system.run("fleet", "device", "add", "pi", "--owner", "admin")
    code = json.loads(served.system.run("fleet", "device", "code", "pi", "--json").stdout)["code"]
    command = [sys.executable, "-I", "-S", worker, "--server", served.server, "--state", state, "--allow-private"]
    more = ["--min-delay", "0.05", "--on-battery", "--on-metered", "--consent", "crawls,clients"]

    def start(*options: str) -> subprocess.Popen:
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen([*command, *more, *options], text=True, **quiet)

    process = start("--code", code)
    wait_for(lambda: served.devices()["pi"]["state"] == "online", "it is connected")
    assert (state / "token").stat().st_mode & 0o077 == 0  # for its owner alone
    yield start, process
    if process.poll() is None:
        process.kill()
        process.communicate()


def test_a_device_that_lives_and_takes_nothing_holds_up_no_job(served, site):
    told = json.loads(served.system.run("fleet", "device", "add", "idle", "--owner", "admin", "--json").stdout)
    idle = CoordinatorLink(served.server, told["token"])
    idle.post("connect", {"version": __version__, "activities": ["crawls", "clients"]})
    urls = [f"{site.address}/idle/{n}" for n in range(3)]
    job = served.ask("POST", "/api/v1/fetch", {"urls": urls})["id"]

    def finished() -> bool:
        return idle.post("beat", {}) and served.ask("GET", f"/api/v1/fetch/{job}")["state"] == "finished"

    wait_for(finished, "the engine makes the visits")
    found = served.ask("GET", f"/api/v1/fetch/{job}/results")["results"]
    assert [one["status"] for one in found] == [200, 200, 200]
    idle.post("disconnect", {})


def test_a_client_gets_head_and_warc_and_its_webhook_is_told(served, volunteer, site):
    job = served.ask("POST", "/api/v1/fetch", {"urls": [f"{site.address}/head"], "method": "HEAD"})["id"]
    wait_for(lambda: served.ask("GET", f"/api/v1/fetch/{job}")["state"] == "finished", "HEAD is answered")
    (found,) = served.ask("GET", f"/api/v1/fetch/{job}/results")["results"]
    assert (found["status"], found["capture"]) == (200, None)
    assert {method for method, path, _ in site.asked if path == "/head"} == {"HEAD"}
    assert "HemerotecaFleet" in site.agents("/head")

    urls = [f"{site.address}/warc-{n}" for n in range(3)]
    order = {"urls": urls, "webhook": f"{site.address}/hook", "max_age": 0}
    job = served.ask("POST", "/api/v1/fetch", order)["id"]
    wait_for(lambda: served.ask("GET", f"/api/v1/fetch/{job}")["webhook"] == "told", "the webhook was told")
    download = subprocess.run(
        ["curl", "-sf", "-H", f"Authorization: Bearer {served.token}", f"{served.server}/api/v1/fetch/{job}/warc"],
        capture_output=True, check=True,
    )  # fmt: skip
    text = gzip.decompress(download.stdout).decode()
    kinds = re.findall("WARC-Type: ([a-z]+)", text)
    assert sorted(kinds) == sorted(["warcinfo", *["response", "request"] * 3])
    for n, url in enumerate(urls):
        assert f"WARC-Target-URI: {url}" in text
        assert f"This is the page /warc-{n}" in text
    assert len(site.heard) == 2  # the first time it was not well
    body, headers = site.heard[1]
    assert json.loads(body) | {"state": "finished", "answered": 3} == json.loads(body)
    with sqlite3.connect(served.system.data / "hemeroteca.sqlite3", timeout=PATIENCE) as database:
        ((secret,),) = database.execute("SELECT secret FROM fleet_client").fetchall()
    signed = headers["X-Hemeroteca-Timestamp"].encode() + b"." + body
    assert headers["X-Hemeroteca-Signature"] == "sha256=" + hmac.new(secret.encode(), signed, "sha256").hexdigest()


@pytest.mark.parametrize(("path", "status"), [("/blocked", 403), ("/gone", 451)])
def test_what_a_site_refuses_one_country_is_asked_from_no_other(served, volunteer, site, path, status):
    for round_ in (1, 2):
        (found,) = served.fetch([site.address + path]).values()
        assert found["status"] == status
        assert found["cached"] is (round_ == 2)
        assert site.agents(path) == ["HemerotecaFleet"]  # not even the engine looked
    assert "asked again" in served.system.run("fleet", "log").stdout


def test_own_crawls_go_through_devices_link_by_link(served, volunteer, site):
    crawl = served.ask("POST", "/api/v1/crawls", {"seeds": [f"{site.address}/chain/0"]})["id"]
    wait_for(lambda: served.ask("GET", f"/api/v1/crawls/{crawl}")["state"] == "finished", "the crawl has ended")
    for n in range(4):
        assert "HemerotecaFleet" in site.agents(f"/chain/{n}")
        (capture,) = served.ask("GET", f"/api/v1/captures?url={site.address}/chain/{n}")["items"]
        assert f"This is the page /chain/{n}" in served.content(capture["id"])


def test_commands_order_vantage_checks_and_load_tests(served, site):
    def run(*words: str) -> str:
        done = served.system.run("fleet", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    check = run("vantage", "order", f"{site.address}/seen", "--user", "admin", "--title", "News").strip()

    def seen() -> list[dict]:
        report = json.loads(run("vantage", "show", check, "--json"))["report"]
        return report["urls"] if report and report["state"] == "finished" else []

    wait_for(seen, "the run is over")
    assert [(one["verdict"], one["status"], one["places"]) for one in seen()] == [("same", 200, 1)]
    assert "News" in run("vantage", "list")
    assert f"{site.address}/seen" in run("vantage", "show", check)
    run("vantage", "end", check)
    assert json.loads(run("vantage", "list", "--json"))["state"] == "ended"

    propose = ("load-test", "propose", f"{site.address}/", "--user", "admin", "--rate", "2", "--json")
    made = json.loads(run(*propose))
    assert made["state"] == "proposed"
    refused = served.system.run("fleet", "load-test", "start", made["id"])
    assert refused.returncode == 1
    assert "does not hold the line" in refused.stderr  # the site shows another page there
    assert made["proof"] in refused.stderr
    run("load-test", "stop", made["id"])
    assert json.loads(run("load-test", "show", made["id"], "--json"))["state"] == "stopped"
    assert made["id"] in run("load-test", "list")


def test_a_host_that_is_closed_is_left_alone_at_once_leased_blocks_included(served, volunteer, site):
    alone = site.address.replace("127.0.0.1", "127.0.0.2")
    alone_site = ThreadingHTTPServer(("127.0.0.2", site.server.server_port), site.server.RequestHandlerClass)
    threading.Thread(target=alone_site.serve_forever, daemon=True).start()
    site.gate.clear()  # the first request hangs while the rest of its block waits on the device
    job = served.ask("POST", "/api/v1/fetch", {"urls": [f"{alone}/shut-{n}" for n in range(6)], "max_age": 0})["id"]
    shut = partial(_asked, site, "/shut-.*")
    try:
        wait_for(shut, "a device asks")
        served.system.run("fleet", "close", "127.0.0.2", "--reason", "its owner asked")
        process = volunteer[1]
        assert process.poll() is None
        ((closed,),) = _rows(served, "SELECT max(at_ms) FROM fleet_closed_host")
        wait_for(lambda: _beaten(served, closed), "the device has said that it lives, and was told")
    finally:
        site.gate.set()
    wait_for(lambda: served.ask("GET", f"/api/v1/fetch/{job}")["state"] == "finished", "the job ends")
    alone_site.shutdown()
    alone_site.server_close()
    assert len(shut()) == 1  # what was under way
    found = served.ask("GET", f"/api/v1/fetch/{job}/results")["results"]
    assert sum("closed to the fleet" in one["reason"] for one in found) == 6


def test_a_job_that_is_cancelled_asks_nothing_more_leased_blocks_included(served, volunteer, site):
    site.gate.clear()
    urls = [f"{site.address}/shut-{name}" for name in "abcdef"]
    job = served.ask("POST", "/api/v1/fetch", {"urls": urls, "max_age": 0})["id"]
    shut = partial(_asked, site, "/shut-[a-f]")
    try:
        wait_for(shut, "a device asks")
        served.ask("DELETE", f"/api/v1/fetch/{job}")
        wait_for(lambda: _rows(served, "SELECT count(*) FROM fleet_block WHERE recalled") == [(1,)], "it is recalled")
        since = time.time_ns() // 1_000_000
        wait_for(lambda: _beaten(served, since), "the device has said that it lives, and was told")
    finally:
        site.gate.set()
    wait_for(lambda: served.ask("GET", f"/api/v1/fetch/{job}")["state"] == "cancelled", "the job ends")
    assert len(shut()) == 1  # what was under way
    assert _rows(served, "SELECT count(*) FROM fleet_account WHERE kind = 'job' AND balance <> 0") == [(0,)]


def test_what_one_client_asked_in_its_own_way_is_no_answer_for_another(served, volunteer, site):
    part, spoken, plain = (f"{site.address}/{name}" for name in ("part", "spoken", "plain"))
    first = served.fetch([part, spoken, plain], headers={"Range": "bytes=0-3", "Accept-Language": "ca"})
    assert [first[url]["status"] for url in (part, spoken, plain)] == [206, 200, 200]
    second = served.fetch([part, spoken, plain], max_age=3600)
    assert [second[url]["status"] for url in (part, spoken, plain)] == [200, 200, 200]
    assert [second[url]["cached"] for url in (part, spoken, plain)] == [False, False, True]
    assert second[plain]["capture"] == first[plain]["capture"]  # it has the bytes too
    again = served.fetch([plain], max_age=0)  # the same once more, in the archive a mere reference
    last = served.fetch([plain], max_age=3600)
    assert last[plain]["cached"]
    assert last[plain]["capture"] == again[plain]["capture"] != first[plain]["capture"]
    assert served.content(last[plain]["capture"]) == served.content(first[plain]["capture"]) != ""


NGINX = """
daemon off; pid nginx.pid; error_log stderr;
events {}
http {
    access_log off;
    server {
        listen 127.0.0.1:%d;
        location / { proxy_pass %s; proxy_set_header Host $host; }
    }
}
"""


@pytest.mark.skipif(shutil.which("nginx") is None, reason="there is no nginx")
def test_events_come_through_nginx_as_they_happen(served, volunteer, site, tmp_path):
    site.gate.clear()  # the second page hangs; the first is refused at once
    urls = [f"{site.address}/../../etc/passwd", f"{site.address}/shut-later"]
    job = served.ask("POST", "/api/v1/fetch", {"urls": urls, "max_age": 0})["id"]
    with held_port() as port:
        (tmp_path / "nginx.conf").write_text(NGINX % (port, served.server))
        nginx = subprocess.Popen(["nginx", "-p", tmp_path, "-c", tmp_path / "nginx.conf"], stderr=subprocess.PIPE)
    reader = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        wait_for(lambda: _listens(port), "nginx listens")
        reader.request("GET", f"/api/v1/fetch/{job}/events", headers={"Authorization": f"Bearer {served.token}"})
        stream = reader.getresponse()
        first = _next_event(stream)
        assert ("result", urls[0]) == (first[0], json.loads(first[1])["url"])
        assert served.ask("GET", f"/api/v1/fetch/{job}")["state"] == "running"
        site.gate.set()
        assert [_next_event(stream)[0], _next_event(stream)[0]] == ["result", "end"]
    finally:
        site.gate.set()
        reader.close()
        nginx.terminate()
        nginx.communicate()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _next_event(stream: http.client.HTTPResponse) -> tuple[str, str]:
    """Its kind and data."""
    found: dict[str, str] = {}
    while line := stream.readline().decode().strip():
        name, _, value = line.partition(": ")
        found[name] = value
    return found["event"], found["data"]


def _beaten(served: Served, since: int) -> bool:
    """Whether the device was heard of after that, twice: the answer to the first may be on its way."""
    ((seen,),) = _rows(served, "SELECT max(seen_ms) FROM fleet_device WHERE connected")
    return seen > since + 6_000


def _rows(served: Served, query: str) -> list:
    with sqlite3.connect(served.system.data / "hemeroteca.sqlite3", timeout=PATIENCE) as database:
        return database.execute(query).fetchall()


def test_a_volunteer_stops_with_one_click_or_loses_the_token(served, volunteer):
    start, process = volunteer
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "nothing is left behind" in told
    assert served.devices()["pi"]["state"] == "offline"

    again = start()  # the token of the code was kept
    address = next(word for word in again.stdout.readline().split() if word.startswith("http://127.0.0.1:"))
    wait_for(lambda: served.devices()["pi"]["state"] == "online", "it is back")
    page = subprocess.run(["curl", "-sf", address], capture_output=True, text=True, check=True).stdout
    key = page.partition('value="')[2].partition('"')[0]
    subprocess.run(["curl", "-sf", "-d", f"k={key}&do=Stop", address], capture_output=True, check=True)
    again.communicate(timeout=PATIENCE)
    assert again.returncode == 0

    third = start()
    wait_for(lambda: served.devices()["pi"]["state"] == "online", "it is back once more")
    served.system.run("fleet", "device", "revoke", "pi")
    told, _ = third.communicate(timeout=PATIENCE)
    assert third.returncode == 1
    assert "revoked" in told


def _asked(site, shape: str) -> list[str]:
    """Paths of that shape which the site was asked for, in turn."""
    return [path for _, path, _ in list(site.asked) if re.fullmatch(shape, path)]

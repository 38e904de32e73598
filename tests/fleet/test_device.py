"""The program on a volunteer's machine: what it refuses whatever it is told, what it asks, what it shows."""

import ast
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hemeroteca.fetch import Guard
from hemeroteca.fleet import zipapp
from hemeroteca.fleet.device import consent, fetching, signs
from hemeroteca.fleet.device.caps import Caps, Meter
from hemeroteca.fleet.device.fetching import RequestOrder
from hemeroteca.fleet.device.page import Page
from hemeroteca.fleet.device.records import Answer


def resolves_to(*addresses: str):
    """A name server that says this, one answer after the other."""
    answers = list(addresses)

    def resolve(host, port, **more):
        ip = answers.pop(0) if len(answers) > 1 else answers[0]
        family = socket.AF_INET6 if ":" in ip else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (ip, port))]

    return resolve


def fetch(url: str, guard: Guard | None = None, any_port: bool = False, resolve=None, **more) -> Answer:
    return fetching.fetch(RequestOrder(url, "test", **more), guard or Guard(), any_port, resolve or socket.getaddrinfo)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://2130706433/",  # the same in decimal
        "http://0x7f.1/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::1]/",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://localhost/",
        "http://a.test:22/",
        "http://a.test:8080/",
        "ftp://a.test/",
        "file:///etc/passwd",
        "http://user:secret@a.test/",
        "http://a.test/\r\nX: y",
    ],
)
def test_addresses_that_are_not_public_are_refused_whatever_the_coordinator_says(url):
    answer = fetch(url)
    assert answer.failure == "refused-address", answer
    assert answer.request_head == b""


def test_a_name_that_changes_its_address_is_asked_once_and_the_checked_one_is_used(monkeypatch):
    """DNS rebinding: a public address when it is checked, a private one when it is used."""
    used = []
    monkeypatch.setattr(
        socket.socket, "connect", lambda self, place: used.append(place) or (_ for _ in ()).throw(OSError)
    )
    fetch("http://rebind.test/", resolve=resolves_to("93.184.216.34", "127.0.0.1"))
    assert used == [("93.184.216.34", 80)]
    assert fetch("http://rebind.test/", resolve=resolves_to("127.0.0.1")).failure == "refused-address"
    assert len(used) == 1


class Site:
    def __init__(self) -> None:
        self.asked: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                site.asked.append(self.path)
                self.send_response(302 if self.path == "/away" else 200)
                self.send_header("Location", "http://127.0.0.1/secret")
                self.end_headers()
                self.wfile.write(b"x" * (100_000 if self.path == "/long" else 10))

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def site():
    site = Site()
    yield site
    site.server.shutdown()
    site.server.server_close()


def test_redirects_are_answers_and_never_followed(site):
    answer = fetch(site.address + "/away", Guard(allow_private=True), any_port=True)
    assert (answer.status, answer.header("location")) == (302, "http://127.0.0.1/secret")
    assert site.asked == ["/away"]


def test_bodies_are_cut_at_their_limit_and_networks_opened_one_by_one(site):
    opened = Guard(networks=["127.0.0.0/8"])
    answer = fetch(site.address + "/long", opened, any_port=True, max_bytes=1000)
    assert (len(answer.body), answer.truncated, answer.ip) == (1000, "length", "127.0.0.1")
    assert opened.check("10.0.0.1")


def test_consent_is_typed_per_activity_and_kept(tmp_path):
    file = tmp_path / "consent.json"
    answers = iter(["agree", "yes", "", "AGREE"])
    assert consent.agreed(file, "http://s", ask=lambda question: next(answers)) == ["crawls", "load"]
    assert consent.agreed(file, "http://s") == ["crawls", "load"]
    assert consent.agreed(file, "http://other") == ["crawls"]  # another server was not agreed to
    with pytest.raises(ValueError, match="no activity"):
        consent.agreed(file, "http://s", given="crawls,mining")


def test_three_unrelated_hosts_that_refuse_make_the_device_rest():
    now = [0.0]
    refusals = signs.Refusals(lambda: now[0])
    for host in ("a.one.test", "b.one.test", "c.one.test"):
        refusals.note(host, Answer("", status=429))
    assert not refusals.reason  # one site
    refusals.note("two.org", Answer("", status=403))
    refusals.note("three.net", Answer("", status=503, body=b"<form id=captcha>"))
    assert "rests" in refusals.reason
    now[0] += signs.REST_SECONDS + 1
    assert not refusals.reason


def test_a_network_that_answers_for_everything_is_recognised():
    assert "captive portal" in signs.network(resolves_to("10.0.0.1"))

    def honest(*args, **more):
        raise socket.gaierror

    assert signs.network(honest) == ""
    assert signs.intercepted(Answer("", failure="tls", detail="self-signed certificate in certificate chain"))
    assert not signs.intercepted(Answer("", failure="tls", detail="certificate has expired"))


def test_the_data_of_a_month_are_counted_over_starts(tmp_path):
    file = tmp_path / "used.json"
    meter = Meter(Caps(bytes_per_month=1000), file)
    meter.count(1500)
    meter.close()
    assert "used up" in Meter(Caps(bytes_per_month=1000), file).reason(0)
    assert Meter(Caps(hours="5-5"), None).reason(0)
    slow = Meter(Caps(bytes_per_second=100), None)
    slow.count(1000)
    assert slow.pause() > 5


def test_the_page_shows_what_happens_and_stops_only_by_its_button():
    stopped = []
    page = Page(lambda: [("Now", ["http://a.test/<script>"])], lambda: stopped.append(1))

    def ask(path="", data=None, host=None):
        request = urllib.request.Request(page.address + path, data, {"Host": host} if host else {})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ""

    status, html = ask()
    assert status == 200
    assert "&lt;script&gt;" in html
    assert ask(host="evil.test")[0] == 421
    assert ask("stop", b"k=guess")[0] == 403
    key = html.partition('value="')[2].partition('"')[0]
    assert ask("stop", f"k={key}".encode(), host=f"evil.test:{page.port}")[0] == 421
    assert not stopped
    assert ask("stop", f"k={key}".encode())[0] == 200
    assert stopped == [1]
    page.close()


def test_the_single_file_is_the_same_every_time_and_runs_without_anything_else(tmp_path):
    first = zipapp.build()
    zipapp.build.cache_clear()
    assert zipapp.build() == first
    file = tmp_path / "worker.pyz"
    file.write_bytes(first)
    alone = [sys.executable, "-I", "-S", str(file)]  # no site-packages
    told = subprocess.run([*alone, "--help"], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert "--allow-private" in told.stdout
    missing = subprocess.run(
        [*alone, "--server", "http://127.0.0.1:1", "--state", str(tmp_path / "s")], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert missing.returncode == 1
    assert "--token-file" in missing.stderr


def test_every_file_of_the_single_file_is_python_3_9():
    for name in zipapp.FILES:
        text = (zipapp.ROOT / name).read_text("utf-8")
        tree = ast.parse(text, feature_version=(3, 9))
        assert "annotations" in text.partition("import annotations")[1] or not _annotated(tree), name
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
                for module in modules:
                    known = module.partition(".")[0] in sys.stdlib_module_names
                    assert known or (Path(name) and module.startswith("hemeroteca")), (name, module)


def _annotated(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.AnnAssign | ast.FunctionDef) for node in ast.walk(tree))

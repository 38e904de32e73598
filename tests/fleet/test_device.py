"""The program on a volunteer's machine: what it refuses whatever it is told, what it asks, what it shows."""

import ast
import gzip
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hemeroteca.fetch import Guard
from hemeroteca.fleet import zipapp
from hemeroteca.fleet.device import consent, http_requests, startup, working_conditions
from hemeroteca.fleet.device.caps import Caps, Meter
from hemeroteca.fleet.device.coordinator_link import CoordinatorLink, LinkError, RefusedByCoordinator
from hemeroteca.fleet.device.http_requests import RequestOrder
from hemeroteca.fleet.device.result_file import FetchedUrl
from hemeroteca.fleet.device.stages import Lending, Worker
from hemeroteca.fleet.device.status_page import StatusPage
from hemeroteca.fleet.device.throughput import MAX_HELD, Throughput
from hemeroteca.fleet.device.work_in_hand import DeviceHost
from tests.waiting import PATIENCE, wait_for


def resolves_to(*addresses: str):
    """A name server that says this, one answer after the other."""
    answers = list(addresses)

    def resolve(host, port, **more):
        ip = answers.pop(0) if len(answers) > 1 else answers[0]
        family = socket.AF_INET6 if ":" in ip else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (ip, port))]

    return resolve


def fetch(url: str, guard: Guard | None = None, any_port: bool = False, resolve=None, **more) -> FetchedUrl:
    return http_requests.fetch(
        RequestOrder(url, "test", **more), guard or Guard(), any_port, resolve or socket.getaddrinfo
    )


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


def test_a_site_that_drips_its_answer_is_left_when_the_time_is_over():
    """A host is somebody else's after the deadline: no request may outlast its time, byte by byte."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                while not ended.wait(0.05):
                    try:
                        connection.sendall(b"x")
                    except OSError:
                        return

        threading.Thread(target=drip, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        answer = fetch(url, Guard(allow_private=True), any_port=True, timeout=0.4)
        ended.set()
    assert answer.failure == "timeout"
    assert answer.seconds < PATIENCE


def test_a_machine_on_battery_busy_or_on_a_metered_network_is_left_alone(tmp_path, monkeypatch):
    supplies = tmp_path / "supplies"
    for name, facts in {
        "BAT0": {"type": "Battery", "status": "Discharging"},
        "AC": {"type": "Mains", "online": "0"},
    }.items():
        (supplies / name).mkdir(parents=True)
        for fact, value in facts.items():
            (supplies / name / fact).write_text(value + "\n")
    assert working_conditions.on_battery("linux", supplies)
    (supplies / "AC" / "online").write_text("1\n")
    assert not working_conditions.on_battery("linux", supplies)
    programs = {
        "nmcli": "GENERAL.METERED:no (guessed)",
        "pmset": "Now drawing from 'Battery Power'",
        "termux-battery-status": '{"plugged": "UNPLUGGED", "status": "DISCHARGING"}',
    }
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    def says(name: str, words: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\ncat <<'END'\n{words}\nEND\n")
        (tmp_path / name).chmod(0o755)

    for name, words in programs.items():
        says(name, words)
    assert working_conditions.on_battery("darwin")
    assert working_conditions.on_battery("linux", tmp_path / "none")  # Termux: nobody else may read them
    assert not working_conditions.is_metered()
    monkeypatch.setattr(os, "getloadavg", lambda: (3.0 * (os.cpu_count() or 1), 0.0, 0.0))
    now = [0.0]
    lent = working_conditions.Machine(Caps(on_battery=True, max_load=2.0), lambda: now[0])
    assert "busy" in lent.reason
    monkeypatch.setattr(os, "getloadavg", lambda: (0.1, 0.0, 0.0))
    says("nmcli", "GENERAL.METERED:yes (guessed)")
    assert "busy" in lent.reason  # looked at now and then only
    now[0] += working_conditions.LOOK_SECONDS
    assert "paid by volume" in lent.reason
    assert not working_conditions.Machine(Caps(on_battery=True, on_metered=True, max_load=2.0)).reason


def test_consent_is_typed_per_activity_and_kept(tmp_path, capsys):
    file = tmp_path / "consent.json"
    answers = iter(["agree", "yes", "", "AGREE"])
    assert consent.agreed(file, "http://s", ask=lambda question: next(answers)) == ["crawls", "load"]
    assert consent.agreed(file, "http://s") == ["crawls", "load"]
    capsys.readouterr()
    assert consent.agreed(file, "http://other") == ["crawls"]  # another server was not agreed to
    told = capsys.readouterr().out
    assert "Each visited site sees the address of your connection" in told  # also where nobody can be asked
    assert "pages for the archive of this server and nothing else" in told
    with pytest.raises(ValueError, match="no activity"):
        consent.agreed(file, "http://s", given="crawls,mining")


def test_three_unrelated_hosts_that_refuse_make_the_device_rest():
    now = [0.0]
    refusals = working_conditions.Refusals(lambda: now[0])
    for host in ("a.one.test", "b.one.test", "c.one.test"):
        refusals.note(host, FetchedUrl("", status=429))
    assert not refusals.reason  # one site
    refusals.note("two.org", FetchedUrl("", status=403))
    refusals.note("three.net", FetchedUrl("", status=503, body=b"<form id=captcha>"))
    assert "rests" in refusals.reason
    now[0] += working_conditions.REST_SECONDS + 1
    assert not refusals.reason


def test_a_network_that_answers_for_everything_is_recognised():
    assert "captive portal" in working_conditions.network(resolves_to("10.0.0.1"))

    def honest(*args, **more):
        raise socket.gaierror

    assert working_conditions.network(honest) == ""
    assert working_conditions.intercepted(
        FetchedUrl("", failure="tls", detail="self-signed certificate in certificate chain")
    )
    assert not working_conditions.intercepted(FetchedUrl("", failure="tls", detail="certificate has expired"))


def test_a_portal_and_intercepted_tls_are_told_from_single_odd_sites():
    now = [0.0]
    tampering = working_conditions.Tampering(lambda: now[0])
    signed_by_itself = FetchedUrl("", failure="tls", detail="self-signed certificate")
    away = FetchedUrl("", status=302, response_head=b"HTTP/1.1 302 Found\r\nLocation: http://login.hotel.test/\r\n\r\n")
    for _ in range(5):  # one site, however often, is that site's own matter
        assert not tampering.note("a.one.test", signed_by_itself)
        assert not tampering.note("b.one.test", away)
    assert not tampering.note("two.org", signed_by_itself)
    assert not tampering.note("two.org", away)
    assert not tampering.reason
    assert tampering.note("three.net", away)
    assert tampering.reason == "everything leads to hotel.test"
    now[0] += working_conditions.TAMPERED_SECONDS + 1
    assert not tampering.reason
    for host in ("two.org", "three.net"):
        tampering.note(host, signed_by_itself)
    assert tampering.note("four.net", signed_by_itself)
    assert "intercepted" in tampering.reason
    assert working_conditions.Tampering().note("five.net", FetchedUrl("", status=511))  # the portal says it itself
    assert not working_conditions.Tampering().note("six.net", FetchedUrl("", status=200))


class Waiting:
    """Requests that are answered when the test says so."""

    def __init__(self) -> None:
        self.orders: dict[str, tuple[RequestOrder, Callable[[FetchedUrl], None]]] = {}

    def submit(self, order: RequestOrder, done: Callable[[FetchedUrl], None]) -> None:
        self.orders[order.url] = order, done

    def answer(self, url: str, **facts: object) -> None:
        _, done = self.orders.pop(url)
        done(FetchedUrl(url, **{"status": 200, "seconds": 0.01, **facts}))

    def close(self) -> None:
        pass


class OneBlock:
    """A coordinator that has a single block, and keeps what comes back."""

    def __init__(self, urls: Sequence[str], seconds: float = 600.0, signature: Sequence[Sequence[str]] = ()) -> None:
        self._facts, self._seconds = {"delay": 0.0, "signature": signature}, seconds
        self._work: list[dict] = []
        if urls:
            self.give(urls)
        self.returned: list[bytes] = []
        self.asked: list[dict] = []
        self.beats: list[dict] = []
        self.orders: dict[str, object] = {}  # told at each heartbeat
        self.refusal: RefusedByCoordinator | None = None

    def give(self, urls: Sequence[str]) -> None:
        hosts = [{"host": urlsplit(url).hostname, "tasks": [{"url": url}], **self._facts} for url in urls]
        work = {"hosts": hosts, "timeout": 30.0}
        self._work.append({"block": 1, "nonce": "n", "seconds": self._seconds, "work": work})

    def post(self, path: str, value: object = None, headers: object = None) -> dict:
        if self.refusal is not None:
            raise self.refusal
        if path == "lease":
            self.asked.append(value)
            if not self._work:
                raise RefusedByCoordinator(503, "come-back", "no work", 600.0)
            return self._work.pop()
        if path == "beat":
            self.beats.append(value)
            return self.orders
        return {"device": "d", "agent": "test/1", "heartbeat_seconds": 0.1} if path == "connect" else {}

    def upload(self, block, nonce, file, part_bytes, live, wait) -> None:
        file.seek(0)
        self.returned.append(gzip.decompress(file.read()))


@pytest.fixture
def worker():
    """Begins a worker with these URLs in hand; it ends with the test."""
    begun = []

    def begin(urls, seconds=600.0, min_delay=0.0, signature=(), refusal=None, **caps):
        fetching, link = Waiting(), OneBlock(urls, seconds, signature)
        link.refusal = refusal
        kept = Caps(min_delay=min_delay, on_battery=True, on_metered=True, **caps)
        made = Worker(
            link,
            fetching,
            kept,
            Meter(kept, None),
            Lending(["crawls"], parallel=32, check_network=False),
            say=lambda line: None,
        )
        threading.Thread(target=made.run, daemon=True).start()
        begun.append(made)
        return made, fetching, link

    yield begin
    for made in begun:
        made.stop()


def test_many_hosts_of_one_network_are_asked_a_few_at_a_time(worker):
    urls = [f"http://h{n}.test/" for n in range(12)]
    _, fetching, link = worker([*urls, *(f"{url}more" for url in urls)], per_network=4)
    wait_for(lambda: len(fetching.orders) == 12, "all are asked: nobody knows where they are")
    for n, url in enumerate(urls):
        fetching.answer(url, ip=f"93.184.216.{n}")
    wait_for(lambda: len(fetching.orders) == 4, "four of that network are asked again")
    most = 0
    while not link.returned:
        wait_for(lambda: fetching.orders or link.returned, "the next one is asked")
        most = max(most, len(fetching.orders))
        for url in list(fetching.orders)[:1]:
            fetching.answer(url, ip="93.184.216.1")
    assert most == 4


def test_a_device_keeps_its_own_pause_at_a_host_whatever_the_block_says(worker):
    _, fetching, _ = worker([*(f"http://slow.test/{n}" for n in range(3)), "http://other.test/"], min_delay=3600.0)
    wait_for(lambda: len(fetching.orders) == 2, "one request to each host")
    fetching.answer("http://slow.test/0")
    fetching.answer("http://other.test/")
    moment = time.monotonic() + 0.3
    wait_for(lambda: time.monotonic() > moment, "the device has looked again")
    assert not fetching.orders


def test_no_request_begins_when_it_could_outlast_the_lease(worker):
    """A host belongs to somebody else from the deadline on."""
    _, fetching, link = worker(["http://a.test/1", "http://a.test/2"], seconds=20.0)  # a request may take 30
    wait_for(lambda: link.returned, "all of it is given back")
    assert not fetching.orders


def test_a_signature_is_carried_until_the_first_deadline_and_no_longer(worker):
    """It expires with the lease: in a lease that was renewed it would be a wrong one."""
    made, fetching, _ = worker(["http://a.test/1", "http://a.test/2"], signature=[["Signature", "sig1=:x:"]])
    wait_for(lambda: "http://a.test/1" in fetching.orders, "the first one is asked")
    assert fetching.orders["http://a.test/1"][0].headers == [("Signature", "sig1=:x:")]
    with made._lock:
        made._blocks[1].signed = time.monotonic()
    fetching.answer("http://a.test/1")
    wait_for(lambda: "http://a.test/2" in fetching.orders, "the second one is asked")
    assert fetching.orders["http://a.test/2"][0].headers == []


def test_its_owners_bounds_hold_in_a_load_test_too(worker):
    made, _, _ = worker(["http://a.test/1"], bytes_per_second=1000)
    assert not made._declines_load()
    made._meter.count(100_000)
    assert made._declines_load()


def test_speed_is_that_of_pages_and_told_once_it_is_known():
    """A file of rules, answered at once, would make a device look a hundred times faster than it is."""
    throughput = Throughput(32, now=0.0)
    for _ in range(32):
        throughput.measure("http://a.test/robots.txt", FetchedUrl("http://a.test/robots.txt", 200, seconds=0.001))
    assert throughput.speed == 0
    for _ in range(32):
        throughput.measure("http://a.test/page", FetchedUrl("http://a.test/page", 200, seconds=0.2))
    assert throughput.speed == pytest.approx(32 / 0.2)


def in_hand(hosts: int, urls: int, delay: float = 0.0) -> list[DeviceHost]:
    return [DeviceHost(f"h{n}.test", jobs=deque([None] * urls), delay=delay) for n in range(hosts)]


def test_a_device_holds_no_more_hosts_than_it_can_ask():
    """Hosts in hand are closed to everybody else."""
    throughput = Throughput(32, now=0.0)
    for _ in range(32):
        throughput.measure("http://a.test/page", FetchedUrl("http://a.test/page", 200, seconds=1.0))
    assert throughput.room(in_hand(100, 2), under_way=32, now=0.0) == 0  # they wait, though they could be asked
    assert throughput.room(in_hand(30, 2), under_way=32, now=0.0) == MAX_HELD - 60


def test_many_urls_of_few_hosts_are_not_enough_to_do():
    """They must be asked one after the other: a device that counted URLs would have its slots stand idle."""
    few = in_hand(32, 19, delay=3600.0)
    assert Throughput(32, now=0.0).room(few, under_way=32, now=0.0) == MAX_HELD - 32 * 19


def test_a_device_asks_at_first_for_as_much_as_it_may_hold(worker):
    _, fetching, link = worker(["http://a.test/"])
    wait_for(lambda: fetching.orders, "it is asked")
    assert link.asked[0] == {"urls": MAX_HELD, "speed": 0.0}


def test_its_owner_sees_how_much_of_what_it_lends_is_used(worker):
    throughput = Throughput(32, now=0.0)
    throughput.note(5.0, under_way=0, has_work=False)
    throughput.note(15.0, under_way=8, has_work=True)
    assert throughput.used == 8
    made, fetching, _ = worker([f"http://h{n}.test/" for n in range(8)])
    wait_for(lambda: len(fetching.orders) == 8, "all are asked")
    summary = dict(made.facts())["Now"]
    assert any("of 32 requests under way on average while it had work" in line for line in summary), summary


def test_in_a_network_that_lies_nothing_is_handed_in_and_no_work_taken(worker):
    urls = [f"http://site{n}.n{n}.test/" for n in range(5)]
    made, fetching, link = worker(urls)
    wait_for(lambda: len(fetching.orders) == 5, "all are asked")
    away = b"HTTP/1.1 302 Found\r\nLocation: http://login.hotel.example/\r\n\r\n"
    fetching.answer(urls[0], body=b"an honest answer", response_head=b"HTTP/1.1 200 OK\r\n\r\n")
    for url in urls[1:4]:
        fetching.answer(url, status=302, response_head=away)
    assert made.state == "takes no work: everything leads to hotel.example"
    fetching.answer(urls[4], status=0, failure="connection")
    wait_for(lambda: link.returned, "the block is returned")
    assert b"hotel" not in link.returned[0]
    assert b"honest" not in link.returned[0]  # from before somebody noticed: nobody can tell


def test_a_device_that_takes_no_work_tells_the_coordinator(worker):
    _, fetching, link = worker([f"http://{name}.test/" for name in ("a.one", "b.two", "c.three")])
    wait_for(lambda: len(fetching.orders) == 3, "all are asked")
    for url in list(fetching.orders):
        fetching.answer(url, status=403)
    wait_for(lambda: link.beats and link.beats[-1]["resting"], "it rests, and says so")
    assert "sites refuse this address" in link.beats[-1]["says"]


def test_a_block_that_is_recalled_is_returned_as_it_is(worker):
    urls = [f"http://{n}.test/" for n in range(40)]  # 32 are begun
    _, fetching, link = worker(urls)
    wait_for(lambda: len(fetching.orders) == 32, "it works")
    link.orders = {"back": [1]}
    wait_for(lambda: len(link.beats) >= 2, "it has heard of it")
    for url in list(fetching.orders):
        fetching.answer(url)
    wait_for(lambda: link.returned, "it is returned")
    assert link.returned[0].count(b"WARC-Type: response") == 32
    assert not fetching.orders  # nothing more was begun


@pytest.mark.parametrize("where", ["here", "at the coordinator"])
def test_a_device_that_is_paused_gives_back_what_it_has_and_goes_on_later(worker, where):
    urls = [f"http://{n}.test/" for n in range(40)]  # 32 are begun
    made, fetching, link = worker(urls)
    wait_for(lambda: len(fetching.orders) == 32, "it works")
    if where == "here":
        made.pause()
    else:
        link.orders = {"rest": "this device is paused: by its owner"}
    wait_for(lambda: "paused" in made.state, lambda: made.state)
    for url in list(fetching.orders):
        fetching.answer(url)
    wait_for(lambda: link.returned, "what is done is returned")
    assert link.returned[0].count(b"WARC-Type: response") == 32
    assert not fetching.orders  # nothing more was begun
    wait_for(lambda: link.beats and link.beats[-1]["resting"], "the coordinator knows")
    made.go_on() if where == "here" else link.orders.clear()
    link.give(urls[-1:])
    wait_for(lambda: fetching.orders, "it works again")


def test_a_device_that_was_paused_before_it_began_waits(worker):
    paused = RefusedByCoordinator(403, "paused", "this device is paused: by its owner", 0.0)
    made, fetching, link = worker(["http://a.test/"], refusal=paused)
    wait_for(lambda: "paused" in made.state, lambda: made.state)
    link.refusal = None
    made.go_on()  # it would ask again in 15 s
    wait_for(lambda: fetching.orders, "it works")


@pytest.mark.parametrize("status", [200, 302, 404])
def test_a_portal_or_a_wrong_server_is_no_coordinator(status):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "17")
            self.end_headers()
            self.wfile.write(b"<h1>Sign in!</h1>")

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(LinkError, match=f"no coordinator: look at --server.*{status}"):
            CoordinatorLink(f"http://127.0.0.1:{server.server_port}", "t").post("lease", {})
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--hours", "night"], "'night' are no hours of a day; write them like 22-7"),
        (["--hours", "25-7"], "no hours"),
        (["--hours", "7-7"], "no hours"),
        (["--parallel", "0"], "'0' is not possible; write a number, 1 to 128"),
        (["--min-delay=-3"], "'-3' is not possible; write a number, 0 or more"),
        (["--min-delay", "nan"], "not possible"),
        (["--bytes-per-month", "lots"], "'lots' is not possible"),
        (["--cpu-percent", "101"], "0 to 100"),
        (["--page-port", "99999"], "0 to 65535"),
        (["--token-file", "nowhere"], "no token in the file nowhere: No such file or directory; write it there"),
        (["--token-file", "empty"], "no token in the file empty: it is empty; write it there"),
        (["--token", "t", "--state", "empty/state"], "the folder empty/state cannot be used"),
        (["--token", "t", "--page-port", "TAKEN"], "cannot be used (Address already in use); choose another with"),
    ],
)
def test_an_option_that_cannot_be_is_refused_with_the_way_out(tmp_path, monkeypatch, capsys, options, why):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").touch()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        given = [word.replace("TAKEN", str(taken.getsockname()[1])) for word in options]
        with pytest.raises(SystemExit) as ended:
            startup.main(["--server", "http://127.0.0.1:1", "--state", "state", "--consent", "crawls", *given])
    assert ended.value.code
    assert why in " ".join(capsys.readouterr().err.split())


def test_processor_time_is_lent_in_the_share_that_was_given():
    meter = Meter(Caps(cpu_percent=1), None)
    begun, burnt = time.monotonic(), time.process_time()
    while time.process_time() - burnt < 0.05:
        sum(range(1000))
    pause = meter.pause()
    used, passed = time.process_time() - burnt, time.monotonic() - begun
    assert pause == pytest.approx(used / 0.01 - passed, rel=0.2)
    assert Meter(Caps(), None).pause() == 0.0


def test_the_data_of_a_month_are_counted_over_starts(tmp_path):
    file = tmp_path / "used.json"
    meter = Meter(Caps(bytes_per_month=1000), file)
    meter.count(1500)
    meter.close()
    assert "used up" in Meter(Caps(bytes_per_month=1000), file).reason(0)
    hour = time.localtime().tm_hour
    for begin, end, works in ((hour + 6, hour + 12, False), (hour + 18, hour + 6, True)):
        assert (Meter(Caps(hours=f"{begin % 24}-{end % 24}"), None).reason(0) == "") is works
    slow = Meter(Caps(bytes_per_second=100), None)
    slow.count(1000)
    assert slow.pause() > 5


def test_the_page_shows_what_happens_and_stops_only_by_its_button():
    pressed = []
    buttons = {name: lambda name=name: pressed.append(name) for name in ("Stop", "Pause", "Go on")}
    page = StatusPage(lambda: [("Now", ["http://a.test/<script>"])], buttons)

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
    assert ask("", b"k=guess&do=Stop")[0] == 403
    key = html.partition('value="')[2].partition('"')[0]
    assert ask("", f"k={key}&do=Stop".encode(), host=f"evil.test:{page.port}")[0] == 421
    assert ask("", f"k={key}&do=Nonsense".encode())[0] == 403
    assert not pressed
    for name in re.findall(r"<button name=do value=([^>]*)>", html):
        assert ask("", f"k={key}&do={name}".encode())[0] == 200
    assert pressed == ["Stop", "Pause", "Go on"]
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

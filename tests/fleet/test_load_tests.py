"""Load tests: only with the proof at every address, never more than the plan, over at once."""

import dataclasses
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.conf import settings

from hemeroteca.accounts import SYSTEM, Actor, Role
from hemeroteca.accounts import services as accounts
from hemeroteca.errors import Busy, Conflict, Invalid
from hemeroteca.fetch import Guard
from hemeroteca.fleet import coordinator, load_tests, protocol, services
from hemeroteca.fleet.device import load_generator
from hemeroteca.fleet.device.load_generator import PATH, LoadGenerator
from hemeroteca.fleet.device.result_file import FetchedUrl
from hemeroteca.fleet.models import Device, LoadSecond, LoadTest
from hemeroteca.jobs.models import Job
from tests.fleet.test_liars import Served
from tests.waiting import PATIENCE, wait_for


class Target:
    """A site with, or without, a proof; one server for each address."""

    def __init__(self, *addresses: str) -> None:
        self.proofs: dict[str, str] = {}
        self.asked: list[tuple[str, str]] = []
        target = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                here = self.server.server_address[0]
                target.asked.append((here, self.path))
                body = target.proofs.get(here, "").encode() if self.path == PATH else b"hello"
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        first = ThreadingHTTPServer((addresses[0], 0), Handler)
        self.port = first.server_port
        self.servers = [first, *(ThreadingHTTPServer((one, self.port), Handler) for one in addresses[1:])]
        for server in self.servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()

    @property
    def loaded(self) -> int:
        return sum(path == "/x" for _, path in self.asked)

    def close(self) -> None:
        for server in self.servers:
            server.shutdown()
            server.server_close()


@pytest.fixture
def target():
    target = Target("127.0.0.1", "127.0.0.2")
    yield target
    target.close()


@pytest.fixture
def laboratory(settings):
    settings.CONFIG = dataclasses.replace(settings.CONFIG, allow_private=True)
    return settings.CONFIG


def both(host, port, **_):
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in ("127.0.0.1", "127.0.0.2")]


def proposed(target: Target, name: str = "ana", rate: int = 10, **more) -> tuple[Actor, LoadTest]:
    actor = Actor.of(accounts.add_user(SYSTEM, name, Role.ADMINISTRATOR, "a long password"))
    url = f"http://shop.test:{target.port}/x"
    return actor, load_tests.propose(actor, load_tests.LoadTestOrder(url=url, rate=rate, **more))


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_the_proof_must_lie_at_every_address_or_nothing_begins(target, laboratory):
    actor, test = proposed(target)
    for proofs in (
        {},
        {"127.0.0.1": load_tests.proof(test)},
        {"127.0.0.1": load_tests.proof(test), "127.0.0.2": "another"},
    ):
        target.proofs = proofs
        with pytest.raises(Conflict, match="does not hold the line"):
            load_tests.start(actor, test, laboratory, both)
        assert test.state == LoadTest.State.PROPOSED
    target.proofs = dict.fromkeys(("127.0.0.1", "127.0.0.2"), f"x\n{load_tests.proof(test)}\n")
    load_tests.start(actor, test, laboratory, both)
    assert test.state == LoadTest.State.RUNNING
    assert test.addresses == ["127.0.0.1", "127.0.0.2"]
    assert Job.objects.get().kind == "fleet.load"
    assert target.loaded == 0
    _, other = proposed(target, "eve")
    assert load_tests.proof(other) != load_tests.proof(test)  # nobody starts a test with somebody else's file
    del target.proofs["127.0.0.2"]
    assert not load_tests.watch(test, laboratory)
    assert test.state == LoadTest.State.STOPPED
    assert "the proof is gone" in test.reason


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_an_address_that_is_not_public_is_never_tested(target):
    actor, test = proposed(target)
    target.proofs = dict.fromkeys(("127.0.0.1", "127.0.0.2"), load_tests.proof(test))
    with pytest.raises(Conflict, match="not on the public internet"):
        load_tests.start(
            actor, test, dataclasses.replace(settings.CONFIG, allow_private=False, allow_networks=()), both
        )
    assert target.asked == []


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (load_tests.LoadTestOrder(url="http://a.test/", rate=0), "1 to 1000"),
        (load_tests.LoadTestOrder(url="http://a.test/", rate=100_000), "1 to 1000"),
        (load_tests.LoadTestOrder(url="http://a.test/", rate=10, hold_seconds=10_000), "at most 900 together"),
        (load_tests.LoadTestOrder(url="not an address", rate=10), "not a web address"),
    ],
)
def test_hard_caps_are_hard(wanted, why):
    actor = Actor.of(accounts.add_user(SYSTEM, "ana", Role.ADMINISTRATOR, "a long password"))
    with pytest.raises(Invalid, match=why):
        load_tests.propose(actor, wanted)


def running(target: Target, config, rate: int, **more) -> tuple[Actor, LoadTest, list[Device]]:
    actor, test = proposed(target, rate=rate, **more)
    target.proofs = dict.fromkeys(("127.0.0.1", "127.0.0.2"), load_tests.proof(test))
    load_tests.start(actor, test, config, both)
    devices = []
    for number in range(3):
        device, _ = services.add_device(actor, f"d{number}", actor.user)
        coordinator.connect(device, protocol.Hello(version="0.1.0", activities=("load",)), f"127.0.{number}.1")
        device.refresh_from_db()
        devices.append(device)
    load_tests._helpers.cache_clear()
    return actor, test, devices


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_the_ramp_begins_with_the_first_device_that_hears_of_it(target, laboratory):
    """Else a site that is to be approached slowly gets the rate of the second in which a device first asked."""
    _, _, devices = running(target, laboratory, rate=30, ramp_seconds=30, hold_seconds=600)
    LoadTest.objects.update(started_ms=services.now_ms() - 20_000)
    first = load_tests.hand_out(devices[0], load_tests.LoadMeasured())
    assert (first.second, first.requests) == (0, 1)
    LoadTest.objects.update(started_ms=services.now_ms() - 20_000)
    assert load_tests.hand_out(devices[1], load_tests.LoadMeasured()).second >= 20  # only once


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_a_second_is_shared_and_never_holds_more_than_the_plan(target, laboratory):
    actor, test, devices = running(target, laboratory, rate=30, ramp_seconds=1, hold_seconds=600)
    LoadTest.objects.update(started_ms=services.now_ms() - 60_000)
    given: dict[int, int] = {}
    for _ in range(5):
        for device in devices:
            plan = load_tests.hand_out(device, load_tests.LoadMeasured())
            assert plan.requests <= 10
            given[plan.second] = given.get(plan.second, 0) + plan.requests
    assert all(count <= 30 for count in given.values())
    assert max(given.values()) == 30
    assert LoadSecond.objects.filter(given__gt=30).count() == 0
    second = max(given)
    told = load_tests.LoadMeasured(
        test=str(test.public_id), second=second, statuses={"200": 8, "503": 1, "0": 1}, times={"20": 9}
    )
    load_tests.hand_out(devices[0], told)
    load_tests.hand_out(
        devices[1], load_tests.LoadMeasured(test=str(test.public_id), second=second, statuses={"200": 900})
    )  # a lie
    found = load_tests.report(test)
    assert (found.asked, found.errors) == (10, 2)
    assert found.statuses == {"200": 8, "503": 1, "0": 1}
    assert found.p50 == pytest.approx(1.1**21, rel=0.01)
    load_tests.stop(actor, test)
    assert load_tests.hand_out(devices[0], load_tests.LoadMeasured()).over
    assert not load_tests.waiting()


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_a_device_tells_of_its_own_requests_alone_and_no_number_breaks_the_report(target, laboratory):
    actor, test, devices = running(target, laboratory, rate=30, ramp_seconds=1, hold_seconds=600)
    plan = load_tests.hand_out(devices[0], load_tests.LoadMeasured())
    assert plan.requests == 10
    load_tests.stop(actor, test)  # nothing more is handed out; what was is still told of

    def told(device, **more):
        load_tests.hand_out(device, load_tests.LoadMeasured(test=plan.test, second=plan.second, **more))
        return load_tests.report(test)

    assert told(devices[1], statuses={"200": 10}, times={"20": 10}).asked == 0  # another's
    assert told(devices[0], statuses={"200": 1}, times={"20": 5}).asked == 0  # more times than answers
    assert told(devices[0], statuses={"200": 4, "9999": 3}, times={"20": 3, "9999": 1}).asked == 4
    assert told(devices[0], statuses={"200": 7}).asked == 4  # it had six left
    found = told(devices[0], statuses={"200": 6}, times={"20": 6})
    assert (found.asked, found.statuses) == (10, {"200": 10})
    assert found.p99 == pytest.approx(1.1**21, rel=0.01)


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_two_tests_at_once_share_the_devices(target, laboratory, monkeypatch):
    """Else whoever began first would keep all others waiting, and theirs would end with nothing asked."""
    actor, first, devices = running(target, laboratory, rate=30, ramp_seconds=1, hold_seconds=600)
    second = load_tests.propose(
        actor, load_tests.LoadTestOrder(url=f"http://other.test:{target.port}/x", rate=6, ramp_seconds=1)
    )
    target.proofs = dict.fromkeys(target.proofs, f"{load_tests.proof(first)} {load_tests.proof(second)}")
    load_tests.start(actor, second, laboratory, both)
    now = services.now_ms()
    monkeypatch.setattr(load_tests, "now_ms", lambda: now)
    plans = {}
    for _ in range(4):
        now += 1000
        for device in devices:
            plan = load_tests.hand_out(device, load_tests.LoadMeasured())
            plans.setdefault((plan.test, plan.second), []).append(plan.requests)
    assert {test for test, _ in plans} == {str(first.public_id), str(second.public_id)}
    assert all(sum(asked) <= (30 if test == str(first.public_id) else 6) for (test, _), asked in plans.items())
    assert all(sum(asked) > 0 for asked in plans.values())


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_slow_proofs_do_not_hold_the_console(target, laboratory, monkeypatch):
    actor, test = proposed(target)
    monkeypatch.setattr(services, "_LOOKS", threading.BoundedSemaphore(1))
    with services.looking(), pytest.raises(Busy):
        load_tests.start(actor, test, laboratory, both)
    assert target.asked == []


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_without_a_fresh_proof_nothing_is_handed_out(target, laboratory):
    _, _, devices = running(target, laboratory, rate=30)
    LoadTest.objects.update(proven_ms=services.now_ms() - load_tests.MAX_PROOF_MS - 1)
    assert load_tests.hand_out(devices[0], load_tests.LoadMeasured()).over
    Device.objects.update(activities=["crawls"])
    devices[0].refresh_from_db()
    LoadTest.objects.update(proven_ms=services.now_ms())
    assert load_tests.hand_out(devices[0], load_tests.LoadMeasured()).over  # its owner did not agree


def test_the_ramp_is_a_straight_line():
    test = LoadTest(rate=100, ramp_seconds=10, hold_seconds=5)
    assert [load_tests.rate_at(test, second) for second in (-1, 0, 4, 9, 14, 15)] == [0, 10, 50, 100, 100, 0]


class FakeLink:
    """A coordinator that sends a device somewhere."""

    def __init__(self, plan: dict) -> None:
        self.plans = [plan, {"over": True}]

    def post(self, path, value):
        return self.plans.pop(0)


@pytest.mark.parametrize("proof", ["", "anything", "hemeroteca-load-" + "0" * 32])
def test_a_device_reads_the_proof_itself_whatever_the_coordinator_says(target, proof):
    target.proofs = {"127.0.0.1": "hemeroteca-load-" + "1" * 32}
    plan = {"test": "t", "second": 0, "requests": 5, "url": f"http://shop.test:{target.port}/x",
            "address": "127.0.0.1", "proof": proof, "seconds": 1.0}  # fmt: skip
    told = LoadGenerator(FakeLink(plan), Guard(allow_private=True), True, "x", lambda: False).run(lambda answer: None)
    assert "takes no part" in told
    assert target.loaded == 0
    told = LoadGenerator(FakeLink(plan), Guard(), False, "x", lambda: False).run(lambda answer: None)
    assert "takes no part" in told  # and never asks an address that is not public
    assert len(target.asked) <= 1


def test_what_waits_behind_a_slow_site_is_never_sent_after_the_end(monkeypatch):
    """Stop means stop: all threads wait for answers, and further requests of the plan wait for a thread."""
    proof, address = "hemeroteca-load-" + "1" * 32, "127.0.0.1"
    plan = {"test": "t", "requests": 20, "url": "http://shop.test/x", "address": address, "proof": proof,
            "seconds": 0.01}  # fmt: skip
    asked, answers, others = [], threading.Event(), set(threading.enumerate())

    class Ending(FakeLink):
        def post(self, path, value):
            if len(self.plans) == 1:  # the end
                wait_for(lambda: len(asked) == load_generator.MAX_PER_SECOND, "every thread asks")
            return super().post(path, value)

    link = Ending({**plan, "second": 0})
    link.plans.insert(1, {**plan, "second": 1})

    def slow(order, *_):
        if order.url.endswith(load_generator.PATH):
            return FetchedUrl(order.url, 200, body=proof.encode())
        asked.append(order.url)
        answers.wait(PATIENCE)
        return FetchedUrl(order.url, 200)

    monkeypatch.setattr(load_generator, "fetch", slow)
    monkeypatch.setattr(load_generator, "LATE_SECONDS", PATIENCE)
    told = LoadGenerator(link, Guard(allow_private=True), True, "x", lambda: False).run(lambda answer: None)
    assert told == "the load test is over"
    threads = set(threading.enumerate()) - others
    answers.set()
    for one in threads:
        one.join(PATIENCE)
    assert len(asked) == load_generator.MAX_PER_SECOND


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_a_test_that_was_stopped_meanwhile_does_not_begin(target, laboratory, monkeypatch):
    actor, test = proposed(target)
    target.proofs = dict.fromkeys(("127.0.0.1", "127.0.0.2"), load_tests.proof(test))
    verify = load_tests.verify

    def slowly(given, *more):
        found = verify(given, *more)
        load_tests.stop(actor, LoadTest.objects.get(pk=given.pk))
        return found

    monkeypatch.setattr(load_tests, "verify", slowly)
    with pytest.raises(Conflict, match="meanwhile"):
        load_tests.start(actor, test, laboratory, both)
    test.refresh_from_db()
    assert test.state == LoadTest.State.STOPPED


@pytest.mark.slow
def test_a_whole_test_with_a_real_device(tmp_path):
    target, served = Target("127.0.0.1"), Served(tmp_path)
    try:
        worker = served.worker("d", activities=["load"])
        url = f"http://127.0.0.1:{target.port}/x"
        order = {"url": url, "rate": 8, "ramp_seconds": 2, "hold_seconds": 6}
        test = served.ask("POST", "/api/v1/fleet/load-tests", order)
        target.proofs["127.0.0.1"] = test["proof"]
        assert served.ask("POST", f"/api/v1/fleet/load-tests/{test['id']}/start")["state"] == "running"

        def found():
            return served.ask("GET", f"/api/v1/fleet/load-tests/{test['id']}")

        wait_for(lambda: found()["state"] == "finished", lambda: json.dumps(found())[:2000])
        worker.stop()
        report = found()["report"]
        assert 10 <= report["asked"] <= target.loaded <= 8 * 8
        assert report["errors"] == 0
        assert 0 < report["p50"] <= report["p95"] <= report["p99"]
        assert all(one["planned"] <= 8 for one in report["seconds"])
        before = target.loaded
        until = time.monotonic() + 1.5
        wait_for(lambda: time.monotonic() > until, "a moment later")
        assert target.loaded == before
    finally:
        served.close()
        target.close()

"""Names to addresses: cache, failures, bounds."""

import socket
import threading

import pytest

from hemeroteca.fetch import Request
from hemeroteca.fetch.resolver import Resolver, system_lookup
from tests.waiting import PATIENCE, wait_for

from .conftest import keep, ok


def settle(names: Resolver, rung: threading.Event, count: int = 1):
    found = []
    while len(found) < count:
        assert rung.wait(PATIENCE)
        rung.clear()
        found += names.collect()
    return dict(found)


def test_an_answer_is_kept_until_it_expires():
    rung = threading.Event()
    names = Resolver(rung.set, lookup=lambda host: ["1.1.1.1", "10.0.0.1", "1.1.1.1", "fe80::1%eth0"], seconds=100)
    assert names.known("a", 0.0) is None
    names.ask("a")
    answer = settle(names, rung)["a"]
    assert answer.addresses == ("1.1.1.1", "10.0.0.1")
    assert answer.public == ("1.1.1.1",)
    assert [ip for ip, _ in answer.refused] == ["10.0.0.1", "fe80::1%eth0"]
    assert names.known("a", answer.expires - 1) is answer
    assert names.known("a", answer.expires) is None
    names.close()


def test_the_cache_is_bounded():
    rung = threading.Event()
    names = Resolver(rung.set, lookup=lambda host: ["1.1.1.1"], entries=10)
    for number in range(50):
        names.ask(f"h{number}")
    settle(names, rung, 50)
    assert sum(names.known(f"h{number}", 0.0) is not None for number in range(50)) == 10
    names.close()


def test_there_are_never_more_threads_than_allowed():
    rung, gate, asking = threading.Event(), threading.Event(), []

    def lookup(host):
        asking.append(threading.current_thread())
        gate.wait(PATIENCE)
        return ["1.1.1.1"]

    names = Resolver(rung.set, lookup=lookup, threads=3)
    for number in range(50):
        names.ask(f"h{number}")
    wait_for(lambda: len(asking) == 3)
    gate.set()
    settle(names, rung, 50)
    names.close()
    assert len(set(asking)) == 3


@pytest.mark.parametrize(
    ("error", "transient", "words"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), False, "no such host"),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure"), True, "name server"),
        (OSError("broken"), True, "broken"),
        (RuntimeError("a mistake"), True, "a mistake"),
    ],
)
def test_failures_are_told_and_remembered_for_a_short_time(new_loop, error, transient, words):
    asked = []

    def lookup(host):
        asked.append(host)
        raise error

    loop = new_loop(lookup=lookup)
    for _ in range(3):
        result = loop.get("http://nowhere.test/")
        assert (result.failure, result.transient) == ("dns", transient)
        assert words in result.detail
        assert "nowhere.test" in result.detail
    assert asked == ["nowhere.test"]


def test_a_name_is_asked_once_for_many_requests(serve, new_loop):
    server, asked = serve(keep(ok())), []
    loop = new_loop(lookup=lambda host: asked.append(host) or ["127.0.0.1"])
    results = loop.get_all([Request(url=f"http://a.test:{server.port}/{n}") for n in range(20)])
    assert {result.status for result in results} == {200}
    assert asked == ["a.test"]


def test_the_systems_resolver_answers_for_this_machine():
    assert set(system_lookup("localhost")) & {"127.0.0.1", "::1"}


def test_a_lookup_that_ends_after_close_harms_nobody(new_loop):
    gate, ended, asking = threading.Event(), threading.Event(), []

    def lookup(host):
        asking.append(threading.current_thread())
        gate.wait(PATIENCE)
        ended.set()
        return ["127.0.0.1"]

    loop = new_loop(lookup=lookup)
    loop.fetcher.submit(Request(url="http://slow.test/"), lambda result: None)
    wait_for(lambda: asking)
    loop.fetcher.close()
    gate.set()
    asking[0].join(PATIENCE)
    assert ended.is_set()
    assert not asking[0].is_alive()

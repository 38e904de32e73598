"""The politeness log says what really happened at the server."""

import socket
import time
from collections.abc import Iterator

import pytest

from simweb import SimWeb
from simweb.politeness import PolitenessLog
from tests.simweb.client import Client
from tests.waiting import PATIENCE


@pytest.fixture
def slow_web() -> Iterator[SimWeb]:
    with SimWeb(seed=1, hosts=3, pages_per_host=20, latency=0.05) as running:
        yield running


def ask(port: int, host: str, path: str) -> socket.socket:
    """A request whose answer is still to be read."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    return connection


def read_all(connection: socket.socket) -> None:
    with connection:
        while connection.recv(1 << 16):
            pass


def test_one_after_the_other_is_seen_as_polite(slow_web: SimWeb) -> None:
    client = Client(slow_web.port)
    host = slow_web.web.host_at(0)
    ended = started = 0.0
    gaps = []
    for path in ("/robots.txt", "/", host.path(1), "/no-such-page"):
        started = time.monotonic()
        if ended:
            gaps.append(started - ended)
        client.get(host.origin + path)
        ended = time.monotonic()
    client.close()
    log = slow_web.stats().hosts[host.name]
    assert log.requests == 4
    assert log.max_active == 1
    assert log.max_connections == 1
    assert log.statuses == {200: 3, 404: 1}
    assert log.before_robots == 0
    assert log.min_gap is not None
    assert log.min_gap >= min(gaps)  # never shorter than the client's own pause
    assert log.min_start_gap is not None
    assert log.min_start_gap > log.min_gap


def test_two_at_once_are_seen() -> None:
    with SimWeb(seed=1, hosts=3, pages_per_host=20, latency=2) as web:  # so that the first still waits for its answer
        host = web.web.host_at(0)
        connections = [ask(web.port, host.name, host.path(2)) for _ in range(3)]
        for connection in connections:
            read_all(connection)
        log = web.stats().hosts[host.name]
        assert log.max_active >= 2
        assert log.max_connections >= 2
        assert log.min_gap == 0
        assert web.fetches(host.name) == {host.url(2): 3}
        assert web.stats().max_fetches == 3


def test_different_hosts_at_once_are_no_harm(slow_web: SimWeb) -> None:
    hosts = (slow_web.web.host_at(0), slow_web.web.host_at(1))
    for connection in [ask(slow_web.port, host.name, "/") for host in hosts]:
        read_all(connection)
    assert slow_web.stats().max_active == 1


def test_robots_broken_is_seen(slow_web: SimWeb) -> None:
    client = Client(slow_web.port)
    host = slow_web.web.host_at(0)
    assert host.robots == "rules"
    client.get(f"{host.origin}/robots.txt")
    client.get(f"{host.origin}/privado/secreto.html")
    client.get(f"{host.origin}/privado/abierto/x.html")
    client.get(f"{host.origin}/buscar?orden=fecha")
    other = slow_web.web.host_at(1)
    client.get(other.url(0))
    client.close()
    stats = slow_web.stats()
    assert stats.hosts[host.name].forbidden_samples == ["/privado/secreto.html", "/buscar?orden=fecha"]
    assert stats.forbidden == 2
    assert stats.hosts[other.name].before_robots == 1


def test_reset_forgets(slow_web: SimWeb) -> None:
    client = Client(slow_web.port)
    client.get(slow_web.seed_urls()[0])
    assert slow_web.stats().requests == 1
    slow_web.reset()
    assert slow_web.stats().requests == 0
    client.get(slow_web.seed_urls()[0])
    client.close()
    assert slow_web.stats().requests == 1
    assert slow_web.stats().max_active == 1


def test_the_log_is_bounded() -> None:
    now = [0.0]
    log = PolitenessLog(lambda: now[0], max_urls=10)
    for number in range(50):
        log.end(log.start("a.sim.test", f"/{number}", forbidden=True), 200)
    log.end(log.start("a.sim.test", "/" + "x" * 5000, forbidden=False), 200)
    assert len(log.fetches) == 10
    assert log.dropped_urls == 41
    assert len(log.hosts["a.sim.test"].forbidden_samples) == 20
    for number in range(30_000):
        log.end(log.start(f"h{number}.sim.test", "/", forbidden=False), 200)
    assert len(log.hosts) == 20_000
    assert log.dropped_hosts == 10_001


def test_gaps_by_a_given_clock() -> None:
    now = [10.0]
    log = PolitenessLog(lambda: now[0], max_urls=10)

    def request(start: float, end: float) -> None:
        now[0] = start
        entry = log.start("a", "/", forbidden=False)
        now[0] = end
        log.end(entry, 200)

    request(10, 11)
    request(13, 14)
    request(14.5, 20)
    entry = log.hosts["a"]
    assert (entry.min_gap, entry.min_start_gap, entry.max_active) == (0.5, 1.5, 1)

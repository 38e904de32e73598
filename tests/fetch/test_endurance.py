"""Thousands of requests: nothing is left open and memory does not grow."""

import gc
import os
import resource

import pytest

from hemeroteca.fetch import Request
from tests.waiting import wait_for

from .conftest import keep, ok, say


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def memory() -> int:
    """Resident bytes now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.fixture
def site(nginx, tmp_path):
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "small").write_bytes(b"x" * 2000)
    (tmp_path / "www" / "large").write_bytes(b"x" * 100_000)
    return nginx(f"listen 127.0.0.1:{{port}}; root {tmp_path}/www;")


def crawl(loop, site, count: int, hosts: int = 20) -> None:
    left, finished = count, 0

    def submit(host: int) -> None:
        nonlocal left
        if left > 0:
            left -= 1
            path = ("small", "large", "absent", "small")[left % 4]
            jar = "jar" if left % 10 == 0 else ""
            limit = 50_000 if left % 8 == 1 else 0
            request = Request(
                url=f"http://h{host}.test:{site.port}/{path}?{left}", tag=host, cookie_jar=jar, max_body_bytes=limit
            )
            loop.fetcher.submit(request, done)

    def done(result) -> None:
        nonlocal finished
        finished += 1
        assert result.status in (200, 404), result.detail
        result.body.discard()
        submit(result.request.tag)

    for host in range(hosts):
        submit(host)
    loop.until(lambda: finished == count)


def test_thousands_of_requests_leave_nothing_behind(site, new_loop, tmp_path):
    loop = new_loop(spool_bytes=60_000)
    crawl(loop, site, 1500)
    gc.collect()
    open_before, held_before = descriptors(), memory()
    crawl(loop, site, 6000)
    gc.collect()
    assert descriptors() <= open_before + 5
    assert memory() - held_before < 4 << 20
    assert list((tmp_path / "spool").glob("*")) == []
    assert loop.fetcher.held == 0


def test_failures_leave_nothing_behind(serve, loop):
    server = serve(say(ok(b"x" * 1000)[:-100]))
    urls = [f"http://a.test:{server.port}/", "http://[::1]:9/", "nonsense", "http://127.0.0.1:9/"]

    def round_of_failures():
        results = loop.get_all([Request(url=url, username="me" if n % 2 else "") for n in range(50) for url in urls])
        assert all(result.failure for result in results)

    round_of_failures()
    gc.collect()
    before = descriptors()
    for _ in range(4):
        round_of_failures()
    gc.collect()
    assert descriptors() <= before + 5


def test_connections_kept_are_bounded(serve, new_loop):
    server = serve(keep(ok()))
    loop = new_loop(max_connections=10)
    for number in range(100):
        assert loop.get(f"http://h{number}.test:{server.port}/").status == 200
    assert server.connections == 100
    loop.until(lambda: len(server.open) <= 12)


def test_a_fetcher_gives_back_all_its_descriptors(serve, new_loop):
    server = serve(keep(ok()))
    new_loop().get(f"http://a.test:{server.port}/")
    gc.collect()
    before = descriptors()
    loop = new_loop()
    loop.get_all([Request(url=f"http://h{n}.test:{server.port}/", cookie_jar=f"j{n}") for n in range(30)])
    assert descriptors() > before + 30
    loop.close()
    wait_for(lambda: descriptors() <= before)  # the test server's ends close in their threads

"""A robots.txt that cannot be had for a while: nothing of its origin is asked, what is elsewhere goes on, and when it
is back, so are its pages and its rules."""

import sqlite3
from collections import Counter

import pytest

from tests.engine.system import System
from tests.fetch.conftest import RawServer, ok
from tests.waiting import wait_for

PAGES = 12  # more than failures after which a host is given up
LINKS = "".join(f"<a href=/{number}>x</a>" for number in range(PAGES)).encode()


class Origin:
    """A site at a port of 127.0.0.1. `away`: how it refuses its robots.txt now; empty: it does not."""

    def __init__(self, home: bytes = LINKS) -> None:
        self.away = ""
        self.home = home
        self.asked: Counter[str] = Counter()
        self.server = RawServer(self._answer)
        self.port = self.server.port
        self.url = f"http://127.0.0.1:{self.port}"

    def _answer(self, connection, _head, path):
        self.asked[path] += 1
        if path == "/robots.txt":
            if self.away == "time-out":
                wait_for(lambda: not self.away)
                return False
            if self.away:
                connection.sendall(f"HTTP/1.1 {self.away} X\r\nContent-Length: 0\r\n\r\n".encode())
                return True
            connection.sendall(ok(b"User-agent: *\nDisallow: /3\n", b"Content-Type: text/plain"))
            return True
        connection.sendall(ok(self.home if path == "/" else b"<p>" + path.encode(), b"Content-Type: text/html"))
        return True

    def go_away(self, how: str) -> None:
        self.away = how
        if how == "refused":
            self.server.close()

    def come_back(self) -> None:
        if self.away == "refused":
            self.server = RawServer(self._answer, port=self.port)
        self.away = ""


@pytest.fixture
def two():
    one = Origin()
    other = Origin(LINKS + f"<a href={one.url}/>x</a><a href={one.url}/late>x</a>".encode())
    yield one, other
    for origin in (one, other):
        origin.away = ""
        origin.server.close()


@pytest.fixture
def system(tmp_path):
    return System(tmp_path / "data", delay=0, retry_seconds=0.05, timeout=1, connect_timeout=1)


def crawl(system, *seeds):
    return system.crawl(*seeds, "--scope", "web", "--delay", "0", "--no-sitemaps")


@pytest.mark.parametrize("how", ["refused", "503", "time-out"])
def test_its_origin_is_left_alone_the_other_port_is_not_and_both_are_whole_when_it_is_back(two, system, how):
    gone, other = two
    gone.go_away(how)
    seeds = (other.url + "/", *(f"{gone.url}/{number}" for number in range(PAGES)))
    summary = crawl(system, *seeds)
    pages = {str(number) for number in range(PAGES) if number != 3}
    assert other.asked.keys() == {"/robots.txt", "/", *(f"/{number}" for number in pages)}
    assert gone.asked.keys() <= {"/robots.txt"}, "not one page without its rules"
    assert gone.asked["/robots.txt"] <= 3, "it is not asked again for each of its pages"
    left = {url for url in system.pages(state=2) if url.startswith(gone.url)}
    assert left == {f"{gone.url}/{name}" for name in (*range(PAGES), "", "late")}
    assert summary["queued"] == 0
    (reason,) = {reason for (reason,) in system.rows("SELECT reason FROM visit WHERE state = 2")}
    assert reason.startswith("connect: " if how == "refused" else "robots-unreachable: "), reason
    assert str(gone.port) in reason

    gone.come_back()
    with sqlite3.connect(system.data / "hemeroteca.sqlite3") as database:  # ten minutes later
        database.execute("UPDATE robots_file SET fetched_ms = fetched_ms - 700000 WHERE status >= 429")
    before = gone.asked["/robots.txt"]
    summary = crawl(system, *seeds)
    assert gone.asked["/robots.txt"] == before + 1
    assert gone.asked.keys() == {"/robots.txt", "/", "/late", *(f"/{number}" for number in pages)}
    assert summary["failed"] == 0
    assert system.rows("SELECT count(*) FROM robots_file WHERE status = 200") == [(2,)]


def test_a_crawl_at_work_goes_on_with_an_origin_whose_rules_come_at_the_second_try(two, system):
    gone, _ = two
    gone.away = "503"
    answer = gone._answer

    def first_not(connection, head, path):
        done = answer(connection, head, path)
        gone.away = ""
        return done

    gone.server.answer = first_not
    summary = crawl(system, gone.url + "/")
    assert gone.asked["/robots.txt"] == 2
    assert summary["failed"] == 0
    assert gone.asked["/3"] == 0
    assert sum(gone.asked.values()) == PAGES + 2


def test_rules_that_were_unreachable_a_moment_ago_are_not_asked_for_again_by_the_next_crawl(two, system):
    gone, _ = two
    gone.go_away("503")
    crawl(system, gone.url + "/1")
    asked = gone.asked["/robots.txt"]
    summary = crawl(system, gone.url + "/2")
    assert gone.asked["/robots.txt"] == asked
    assert (summary["failed"], gone.asked["/2"]) == (1, 0)

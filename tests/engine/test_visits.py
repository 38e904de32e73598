"""What becomes of visits when servers do not behave: tried again, failed, excluded, and why."""

import socket
from collections import Counter
from types import SimpleNamespace

import pytest

from hemeroteca.engine.browser_visits import BrowserVisits
from hemeroteca.engine.runs import Run
from hemeroteca.frontier.crawl_counts import Counts
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.urls import Scope
from tests.engine.system import System
from tests.fetch.conftest import RawServer

HOST = "www.site.test"
PAGES = {"/": "<a href=/one>1</a><a href=/two>2</a>", "/one": "<p>one</p>", "/two": "<p>two</p>"}


class Server:
    """Answers from `says` (host and path → status, body, further headers), else from PAGES; counts what it is asked."""

    def __init__(self) -> None:
        self.says: dict[str, tuple[int, str, str]] = {}
        self.asked: Counter[str] = Counter()
        self.silent: set[str] = set()  # hosts that close the connection
        self.server = RawServer(self._answer)

    def _answer(self, connection: socket.socket, head: bytes, path: str) -> bool:
        host = head.lower().partition(b"host: ")[2].partition(b"\r\n")[0].decode()
        self.asked[host + path] += 1
        if host in self.silent:
            return False
        status, body, more = self.says.get(host + path, (200 if path in PAGES else 404, PAGES.get(path, ""), ""))
        lines = f"HTTP/1.1 {status} X\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n{more}\r\n"
        connection.sendall((lines + body).encode())
        return True


@pytest.fixture
def server():
    server = Server()
    yield server
    server.server.close()


@pytest.fixture
def system(tmp_path, server) -> System:
    return System(tmp_path / "data", resolve=f"*.test=127.0.0.1:{server.server.port}", delay=0, retry_seconds=0.05)


def crawl(system: System, *arguments: str) -> dict:
    return system.crawl(f"http://{HOST}/", "--delay", "0", "--no-sitemaps", *arguments)


def test_a_page_that_fails_for_a_while_is_tried_again(server, system):
    server.says[f"{HOST}/one"] = (500, "", "")
    summary = crawl(system)
    assert server.asked[f"{HOST}/one"] == 3  # two retries
    assert summary["reasons"]["http-500"] == 1
    assert {url.removeprefix(f"http://{HOST}") for url in system.pages(state=2)} == {"/one"}
    assert {url.removeprefix(f"http://{HOST}") for url in system.pages()} == {"/", "/two"}
    assert summary["queued"] == 0


def test_rules_that_lie_elsewhere_are_fetched_there_and_obeyed(server, system):
    server.says[f"{HOST}/robots.txt"] = (301, "", "Location: http://rules.test/all.txt\r\n")
    server.says["rules.test/all.txt"] = (200, "User-agent: *\nDisallow: /one", "")
    summary = crawl(system)
    assert server.asked["rules.test/all.txt"] == 1
    assert server.asked[f"{HOST}/one"] == 0
    assert summary["reasons"]["robots"] == 1
    assert {url.removeprefix(f"http://{HOST}") for url in system.pages()} == {"/", "/two"}


def test_a_site_whose_rules_cannot_be_had_is_left_alone_with_the_reason(server, system):
    server.says[f"{HOST}/robots.txt"] = (503, "", "")
    summary = crawl(system)
    assert server.asked[f"{HOST}/robots.txt"] == 3
    assert server.asked[f"{HOST}/"] == 0
    assert (summary["failed"], summary["queued"], summary["reasons"]) == (1, 0, {"robots-unreachable": 1})


def test_rules_that_come_at_the_second_try_let_the_crawl_go_on(server, system):
    answers = iter([(503, "", ""), (200, "User-agent: *\nDisallow: /two", "")])
    says = server.says

    class Says(dict):
        def get(self, key, default=None):
            return next(answers) if key == f"{HOST}/robots.txt" else says.get(key, default)

    server.says = Says()
    crawl(system)
    assert server.asked[f"{HOST}/robots.txt"] == 2
    assert {url.removeprefix(f"http://{HOST}") for url in system.pages()} == {"/", "/one"}


def test_a_limit_that_is_reached_while_a_site_is_asked_again_for_its_rules_ends_the_crawl(server, system):
    links = "".join(f"<a href=/{n}>x</a>" for n in range(9))
    server.says[f"{HOST}/"] = (200, f"<a href=http://slow.site.test/>x</a>{links}", "")
    server.says["slow.site.test/robots.txt"] = (503, "", "Retry-After: 20\r\n")
    summary = crawl(system, "--scope", "domain", "--limit", "5")
    assert "limit" in summary["stop_reason"]
    assert summary["pages"] == 5  # what waits for the rules has left its place to another
    assert summary["seconds"] < 20  # nobody waited for the next try
    assert server.asked["slow.site.test/robots.txt"] == 1
    assert server.asked["slow.site.test/"] == 0


def test_a_host_that_stops_answering_is_given_up_and_the_others_go_on(server, system):
    links = "".join(f"<a href=http://dead.site.test/{n}>x</a>" for n in range(12))
    server.says[f"{HOST}/"] = (200, links + PAGES["/"], "")
    server.silent.add("dead.site.test")
    summary = crawl(system, "--scope", "domain", "--ignore-robots")
    assert summary["reasons"].get("host-unreachable", 0) >= 1
    assert summary["failed"] == 12
    assert sum(count for path, count in server.asked.items() if path.startswith("dead.")) <= 8
    assert {url.removeprefix(f"http://{HOST}") for url in system.pages()} == {"/", "/one", "/two"}
    assert summary["queued"] == 0


def test_a_limit_counts_visits_made_not_tries(server, system):
    server.says[f"{HOST}/one"] = (500, "", "")
    summary = crawl(system, "--limit", "3")
    assert summary["pages"] == 3
    assert summary["queued"] == 0


@pytest.mark.parametrize(("stop", "opened"), [("time", False), ("person", False), ("pages", True), ("", True)])
def test_a_page_that_was_read_is_opened_in_the_browser_unless_the_crawl_is_over(stop, opened):
    run = Run(1, CrawlOptions(scope=Scope(), limit=1), Counts())
    if stop == "pages":
        assert run.is_at_limit(1)
    elif stop:
        run.stop("stopped by a person" if stop == "person" else "limit of 2 seconds reached", 5.0)
    told: list[str] = []
    lease = SimpleNamespace(give_back=lambda visit: told.append("given back"))
    engine = SimpleNamespace(
        config=SimpleNamespace(retry_seconds=1.0, robots_token="x"),
        robots=None,
        fetcher=SimpleNamespace(submit=None),
        rendering=SimpleNamespace(missing=lambda: "none here"),
        visits=SimpleNamespace(fail=lambda visit, reason: told.append("opened")),
    )
    BrowserVisits(engine).render_read(SimpleNamespace(lease=lease), run)
    assert told == ["opened" if opened else "given back"]

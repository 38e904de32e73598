"""Crawls that are polite and complete where servers are odd: packed rules, raw bytes in headers, chains of styles."""

import gzip
import json
import sqlite3

import brotli
import pytest

from tests.engine.pages import HOST, Answer, Pages
from tests.engine.system import System

HOME = f"http://{HOST}/"
TWO_LINKS = "<a href=/one>1</a><a href=/two>2</a>"
RULES = b"User-agent: *\nDisallow: /one\nCrawl-delay: 0\nSitemap: http://www.site.test/map.xml\n"
MAP = b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http://www.site.test/mapped</loc></url></urlset>"


@pytest.fixture
def server():
    server = Pages()
    yield server
    server.server.close()


@pytest.fixture
def system(tmp_path, server) -> System:
    return System(tmp_path / "data", resolve=server.resolve, delay=0, retry_seconds=0.05)


def paths(system: System, state: int = 1) -> set[str]:
    return {url.removeprefix(f"http://{HOST}") for url in system.pages(state)}


@pytest.mark.parametrize(("name", "pack"), [("gzip", gzip.compress), ("br", brotli.compress)])
def test_rules_and_sitemaps_that_arrive_compressed_are_obeyed(server, system, name, pack):
    packed = f"Content-Encoding: {name}\r\n".encode()
    server.pages |= {
        "/": TWO_LINKS,
        "/two": "two",
        "/mapped": "mapped",
        "/robots.txt": Answer(pack(RULES), "text/plain", headers=packed),
        "/map.xml": Answer(pack(MAP), "text/xml", headers=packed),
    }
    summary = system.crawl(HOME)
    assert server.asked["/one"] == 0
    assert summary["reasons"]["robots"] == 1
    assert paths(system) == {"/", "/two", "/mapped", "/map.xml"}


def test_rules_that_cannot_be_unpacked_allow_nothing(server, system):
    server.pages |= {"/": TWO_LINKS, "/robots.txt": Answer(b"\x28\xb5\x2f", headers=b"Content-Encoding: snappy\r\n")}
    summary = system.crawl(HOME)
    assert server.asked["/"] == 0
    assert summary["reasons"] == {"robots-unreachable": 1}


def test_rules_kept_packed_by_an_earlier_version_are_asked_for_again(server, system):
    server.pages |= {"/": TWO_LINKS, "/two": "two", "/robots.txt": Answer(RULES, "text/plain")}
    system.crawl(HOME)
    with sqlite3.connect(system.data / "hemeroteca.sqlite3") as database:
        database.execute("UPDATE robots_file SET body = ?", (gzip.compress(RULES),))
    system.crawl(HOME)
    assert server.asked["/one"] == 0
    assert server.asked["/robots.txt"] == 2


@pytest.mark.parametrize(
    ("location", "target"),
    [
        (b"/caf\xc3\xa9", "/caf%C3%A9"),
        (b"/caf\xe9", "/caf%E9"),
        (b"http://www.site.test/a?q=\xc3\xb1", "/a?q=%C3%B1"),
        (b"/plain%20name", "/plain%20name"),
    ],
)
@pytest.mark.parametrize("header", ["Location", "Refresh"])
def test_addresses_in_headers_are_followed_by_their_bytes(server, system, header, location, target):
    value = location if header == "Location" else b"0; url=" + location
    line = header.encode() + b": " + value + b"\r\n"
    server.pages |= {"/": Answer(b"moved", status=302 if header == "Location" else 200, headers=line), target: "here"}
    system.crawl(HOME, "--no-sitemaps")
    assert server.asked[target] == 1
    assert paths(system) == {"/", target}


def test_an_etag_is_sent_back_as_the_bytes_it_came_as(server, system):
    server.pages["/"] = Answer(b"page", headers=b'ETag: "caf\xc3\xa9"\r\n')
    system.crawl(HOME, "--no-sitemaps")
    system.crawl(HOME, "--no-sitemaps")
    assert b'If-None-Match: "caf\xc3\xa9"\r\n' in server.heads["/"]

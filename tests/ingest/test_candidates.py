"""Where links lead by the fast path is where they lead by Python; or the fast path says nothing about them."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hemeroteca import extract, urls
from hemeroteca.extract import native
from hemeroteca.ingest.candidates import EDGES, edges_known, edges_of, folder_host_key
from hemeroteca.ingest.ingestion import Ingest
from hemeroteca.ingest.rules import CrawlOptions, CrawlRules, Rules
from hemeroteca.warc import Capture

pytestmark = pytest.mark.skipif(native.load() is None, reason="the fast path is not built here")

JAVA = Path("/usr/share/doc/openjdk-17-jre-headless/api")
PAGES = ["https://example.org/a/b/c.html", "http://127.0.0.1:8000/", "http://a.test/x//y/?q=/z", "https://é.test/ü/"]
HREF_PIECES = [
    *("a", "b.html", "../", "./", "/", "//", ".", "..", "?", "&", "=", "#x", " ", "%20", "%7e", ":", "é", "\\", ";"),
    *("http", "https:", "http://", "https://", "example.org", "EXAMPLE.com", "xn--a.org", "a.b.c", "1.2.3.4", "..a"),
    *("id=1", "sid=0123456789abcdef0", "page=2", "utm_source=x", "ctx=a&id=b", "session=0123456789abcdef1", "a'b", "+"),
]
HREFS = st.lists(st.sampled_from(HREF_PIECES), min_size=1, max_size=6).map("".join)
PLAIN_HREFS = st.sampled_from(["a", "b", "c.html", "/x/y", "../z", "https://example.org/a/b/c", "http://o.test/q?id=1"])


def capture(url: str, body: bytes) -> tuple[Capture, Rules]:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
    made = Capture(url=url, captured_ms=1, status=200, protocol="http/1.1", response_head=head, body=body)
    return made, Rules(crawl=1, key=urls.key(urls.canonical(url)), host=urls.host(url), depth=1)


def agree(url: str, body: bytes) -> bool:
    """Whether the fast path resolved the links; if so, as Python does."""
    key, host = urls.key(urls.canonical(url)), urls.host(url)
    directory = urls.directory(url)
    place = extract.Place(directory.encode(), folder_host_key(directory), key) if directory else None
    document = extract.read(body, "text/html; charset=utf-8", url, place=place)
    if document.leads is None:
        return False
    resolved = urls.resolve_targets(url, [link.href for link in document.links])
    keys = memoryview(document.leads.keys).cast("q").tolist()
    assert keys == [target and target.key for target in resolved]
    expected = edges_of(key, host, document.links, resolved, native.key_set())
    assert document.packed is not None
    assert edges_known(host, document.packed, document.leads, native.key_set()) == expected
    return True


@settings(derandomize=True, max_examples=600, deadline=None)
@given(HREFS, st.sampled_from(PAGES))
@example("?id=1", PAGES[0])
@example("http://example.org", PAGES[1])
@example("x" * 501, PAGES[1])
def test_any_address(href: str, page: str) -> None:
    agree(page, f'<a href="{href}">x</a>'.encode())


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            PLAIN_HREFS,
            st.sampled_from(["", "x", "word", "wörd", "é" * 81]),
            st.booleans(),
            st.sampled_from(["p", "nav"]),
        ),
        max_size=20,
    )
)
def test_any_links(links: list[tuple[str, str, bool, str]]) -> None:
    written = [
        f"<{tag}><a href='{href}'{' rel=nofollow' if unendorsed else ''}>{text}</a></{tag}>"
        for href, text, unendorsed, tag in links
    ]
    assert agree(PAGES[0], "".join(written).encode())


@pytest.mark.parametrize("href", ["../../../../x.html", "../?id=1", "/", "./x", "q?page=1&v=2", "https://o.test"])
def test_common_addresses_are_plain(href: str) -> None:
    assert agree(PAGES[0], f'<a href="{href}">word</a>'.encode())


def test_more_links_than_edges() -> None:
    links = "".join(f'<a href="p{number % 170}">text {number}</a> ' for number in range(400))
    assert agree(PAGES[0], f"<nav>{links}</nav><p>{links}</p><a href='/last'>last</a>".encode())
    assert len(links) > EDGES


def test_pages_with_a_base_or_styles_are_left_to_python() -> None:
    assert not agree(PAGES[0], b'<base href="/x/"><a href="a">word</a>')
    assert not agree(PAGES[0], b'<p style="background: url(x.png)">a</p><a href="a">word</a>')


def test_the_java_documentation() -> None:
    if not JAVA.exists():
        pytest.skip("this documentation is not installed")
    files = sorted(JAVA.glob("**/*.html"))[::97]
    good = sum(agree(f"http://127.0.0.1:8000/{file.relative_to(JAVA)}", file.read_bytes()) for file in files)
    assert good > 0.95 * len(files)


def test_the_same_pages_are_found_with_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [
        b'<a href="a">one</a> <a href="b?id=1">two</a> <a href="http://other.test/">out</a> <img src="i.png">',
        b'<a href="c">three</a> <a href="a">one</a> <a href="http://other.test/">out</a> <img src="i.png">',
        b'<a href="%61">one</a> <a href="d">four</a>',
    ]
    options = CrawlOptions(scope=urls.Scope(kind="host", seeds=("http://a.test/",)))

    def found() -> list[object]:
        ingest = Ingest()
        ingest.learn(CrawlRules(crawl=1, options=options, max_depth=200))
        answers = [ingest(*capture(f"http://a.test/x/{number}", page)) for number, page in enumerate(pages)]
        return [(answer.candidates, answer.edges, answer.notes) for answer in answers]

    quickly = found()
    monkeypatch.setattr("hemeroteca.urls.directory", lambda url: "")
    assert found() == quickly
    assert any(answer[0] for answer in quickly)

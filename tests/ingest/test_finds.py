"""What a reader of another room finds in a body travels through ingest by its name; no other room is edited for it."""

import msgspec

from hemeroteca import extract, urls
from hemeroteca.ingest.ingested import Ingested
from hemeroteca.ingest.ingestion import ingest
from hemeroteca.ingest.rules import Rules
from hemeroteca.warc import Capture

URL = "http://example.org/wms?request=GetCapabilities"


class Service(msgspec.Struct):
    title: str


class MapReader:
    def sniff(self, content: extract.Content) -> str:
        return "atlas" if content.root == "atlas" else ""

    def read(self, content: extract.Content, document: extract.Document) -> None:
        document.title = "Rivers"
        document.finds["service"] = Service("Rivers")


def test_a_find_reaches_ingested_and_its_text_search() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n\r\n"
    body = b"<?xml version='1.0'?><atlas/>"
    capture = Capture(url=URL, captured_ms=1, status=200, protocol="http/1.1", response_head=head, body=body)
    rules = Rules(key=urls.key(urls.canonical(URL)), host=urls.host(URL), depth=1)
    assert ingest(capture, rules).finds == {}
    reader = MapReader()
    extract.register(reader)
    try:
        found = ingest(capture, rules)
    finally:
        extract.unregister(reader)
    assert found.find("service", Service) == Service("Rivers")
    assert found.document is not None
    assert (found.document.type, found.document.title) == ("atlas", "Rivers")


def test_a_page_tells_the_proper_address_on_its_own_host() -> None:
    def named(href: str, url: str = "http://example.org/dir/a.html?x=1&y=2") -> int:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
        body = f"<link rel=canonical href='{href}'><p>Text".encode()
        capture = Capture(url=url, captured_ms=1, status=200, protocol="http/1.1", response_head=head, body=body)
        found = ingest(capture, Rules(key=urls.key(urls.canonical(url)), host=urls.host(url), depth=1)).document
        assert found is not None
        return found.canonical

    assert named("a.html") == named("/dir/a.html#top") == urls.key("http://example.org/dir/a.html")
    assert named("http://example.com/") == named("a.html?x=1&y=2") == named("") == 0


def test_a_header_may_tell_it_too_and_the_page_itself_is_believed_first() -> None:
    def named(header: str, element: str = "") -> int:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nLink: {header}\r\n\r\n".encode()
        url = "http://example.org/dir/a.html?x=1"
        body = f"<base href='/elsewhere/'>{element}<p>Text".encode()
        capture = Capture(url=url, captured_ms=1, status=200, protocol="http/1.1", response_head=head, body=body)
        found = ingest(capture, Rules(key=urls.key(urls.canonical(url)), host=urls.host(url), depth=1)).document
        assert found is not None
        return found.canonical

    assert named("<a.html>; rel=canonical") == urls.key("http://example.org/dir/a.html")
    assert named("</a.css>; rel=stylesheet, <caf\u00e9>; rel=canonical") == urls.key("http://example.org/dir/caf%C3%A9")
    both = named("<a.html>; rel=canonical", "<link rel=canonical href=b.html>")
    assert both == urls.key("http://example.org/elsewhere/b.html")
    assert named("<http://example.com/>; rel=canonical") == named("<a.html>; rel=next") == 0


def test_a_find_outlives_the_buffer_it_came_in() -> None:
    """What a reader sends is decoded where it lies, and the next frame is written over it."""
    sent = Ingested()
    sent.add_find("service", Service("Rivers"))
    buffer = bytearray(msgspec.msgpack.encode(sent))
    got = msgspec.msgpack.decode(memoryview(buffer), type=Ingested)
    buffer[:] = b"x" * len(buffer)
    assert got.find("service", Service) == Service("Rivers")

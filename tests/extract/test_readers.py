"""A kind of document is added by registering a reader; nothing else is edited."""

from collections.abc import Iterator

import pytest

from hemeroteca import extract

CAPABILITIES = b'<?xml version="1.0"?><Map_Capabilities><Title>Rivers of Aragon</Title></Map_Capabilities>'


class MapReader:
    """A toy of what another room would add: descriptions of map services."""

    def sniff(self, content: extract.Content) -> str:
        return "wms" if content.root == "map_capabilities" else ""

    def read(self, content: extract.Content, document: extract.Document) -> None:
        document.title = content.body.partition(b"<Title>")[2].partition(b"</Title>")[0].decode()
        document.finds["service"] = {"type": "WMS", "title": document.title}


@pytest.fixture
def map_reader() -> Iterator[MapReader]:
    reader = MapReader()
    extract.register(reader)
    yield reader
    extract.unregister(reader)


@pytest.mark.parametrize("content_type", ["text/xml", "application/vnd.ogc.wms+xml; charset=utf-8", "text/html", ""])
def test_a_registered_reader_is_used_and_its_find_travels_with_the_document(
    map_reader: MapReader, content_type: str
) -> None:
    document = extract.read(CAPABILITIES, content_type, "http://example.org/wms?request=GetCapabilities")
    assert document.kind == "wms"
    assert document.title == "Rivers of Aragon"
    assert document.finds == {"service": {"type": "WMS", "title": "Rivers of Aragon"}}


def test_others_are_read_as_before(map_reader: MapReader) -> None:
    for body, content_type, kind in (
        (b"<!doctype html><title>T</title><p>x", "text/html", "html"),
        (b"<rss><channel><title>T</title></channel></rss>", "text/html", "feed"),
        (b"<urlset><url><loc>http://example.org/</loc></url></urlset>", "text/xml", "sitemap"),
        (b"hola", "text/plain", "text"),
    ):
        document = extract.read(body, content_type, "http://example.org/")
        assert document.kind == kind
        assert document.finds == {}


def test_without_it_nobody_reads_such_a_body() -> None:
    assert extract.read(CAPABILITIES, "text/xml", "http://example.org/wms").kind == "other"
    assert extract.kind_of(CAPABILITIES, "text/xml", "http://example.org/wms") == "other"


def test_the_reader_of_higher_priority_gets_the_body(map_reader: MapReader) -> None:
    class Greedy(MapReader):
        def sniff(self, content: extract.Content) -> str:
            return "all"

    low, high = Greedy(), Greedy()
    extract.register(low, priority=1)
    try:
        assert extract.kind_of(CAPABILITIES, "text/xml", "") == "wms"
        assert extract.kind_of(b"GIF89a", "image/gif", "") == "all"
        extract.register(high, priority=1000)
        assert extract.kind_of(CAPABILITIES, "text/xml", "") == "all"
    finally:
        extract.unregister(low)
        extract.unregister(high)


@pytest.mark.parametrize(
    ("body", "content_type", "url", "kind"),
    [
        (b"<feed>", "text/html", "", "feed"),
        (b"\n<RSS version=2>", "text/html", "", "feed"),
        (b"<html><feed>", "text/html", "", "html"),
        (b"<opml>", "text/html", "", "html"),
        (b"<?xml version='1.0'?><opml>", "text/html", "", "other"),
        (b"<!-- x --><div>", "text/html", "", "html"),
        (b"\xff\xfe<\0r\0s\0s\0>\0", "", "", "feed"),
        (b'{"version": "https://jsonfeed.org/version/1.1"}', "application/feed+json", "", "feed"),
        (b'{"version": "https://jsonfeed.org/version/1.1"}', "application/json", "", "feed"),
        (b"http://example.org/a\n", "text/plain", "http://example.org/Sitemap.txt", "sitemap"),
        (b"http://example.org/a\n", "text/plain", "http://example.org/links.txt", "text"),
        (b"http://example.org/a\n", "", "http://example.org/sitemap.txt", "sitemap"),
        (b"PK\x03\x04" + b"\0" * 26 + b"mimetypeapplication/epub+zip", "text/html", "", "epub"),
        (b"PK\x03\x04 a mere zip", "text/html", "", "other"),
        (b"\x1f\x8b", "text/html", "", "gzip"),
        (b"p{}", "text/css", "", "css"),
    ],
)
def test_kinds_by_content_type_and_first_bytes(body: bytes, content_type: str, url: str, kind: str) -> None:
    assert extract.kind_of(body, content_type, url) == kind

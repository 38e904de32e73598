"""Style sheets, plain text, dates, and what a body is."""

import pytest

from hemeroteca.extract import css, dates, kind_of, read
from hemeroteca.extract.link_elements import srcset


def test_style_sheets() -> None:
    sheet = """@charset "utf-8"; @import "a.css"; @import url('b.css') screen; @import 'c.css';
    @font-face { src: url( d.woff2 ) format("woff2"), url("e f.woff") }
    p { background: URL(data:image/png;base64,AA==) }
    q { cursor: url(g\\29.cur), url(#h), url(), url("") }"""
    assert list(css.addresses(sheet)) == ["a.css", "b.css", "c.css", "d.woff2", "e f.woff", "g).cur"]
    document = read(sheet.encode(), "text/css", "http://example.org/x.css")
    assert (document.kind, len(document.links), {link.kind for link in document.links}) == ("css", 6, {"requisite"})


def test_pictures_of_a_set_are_addresses_with_or_without_url() -> None:
    sheet = """p { background: image-set("a.png" 1x, 'b.png' 2x, url(c.png) 3x, "d.avif" type("image/avif") 4x) }
    q::before { content: "12" ; width: 2px }"""
    assert list(css.addresses(sheet)) == ["a.png", "b.png", "c.png"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a.png", ["a.png"]),
        ("a.png 1x, b.png 2x", ["a.png", "b.png"]),
        ("a.png 100w,b.png 200w", ["a.png", "b.png"]),
        ("a.png, b.png", ["a.png", "b.png"]),
        ("/i/w_1,h_2/a.png 1x, b.png", ["/i/w_1,h_2/a.png", "b.png"]),
        ("data:image/gif;base64,R0== 1x, a.png 2x", ["data:image/gif;base64,R0==", "a.png"]),
        ("", []),
        (" , ", []),
    ],
)
def test_srcset(value: str, expected: list[str]) -> None:
    assert list(srcset(value)) == expected


def test_plain_text() -> None:
    body = "Título\n\nVea http://example.org/a, (http://example.org/b_(c)) y <https://example.org/d#e>. ¡http://x.org/!"
    document = read(body.encode("latin-1"), "text/plain; charset=latin-1", "http://example.org/leeme.txt")
    assert (document.kind, document.title, document.text) == ("text", "Título", body)
    assert [link.href for link in document.links] == [
        "http://example.org/a",
        "http://example.org/b_(c)",
        "https://example.org/d",
        "http://x.org/",
    ]


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2024-01-31", 1706659200000),
        ("2024-01-31T10:00:00Z", 1706695200000),
        ("2024-01-31T10:00:00.123+01:00", 1706691600000),
        ("2024-01-31 10:00", 1706695200000),
        ("20240131T100000Z", 1706695200000),
        ("2024-01", 1704067200000),
        ("2024", 1704067200000),
        ("Wed, 31 Jan 2024 10:00:00 GMT", 1706695200000),
        ("31 Jan 2024 11:00:00 +0100", 1706695200000),
        ("", 0),
        ("ayer", 0),
        ("9999-99-99", 0),
        ("0000-01-01", 0),
        ("1066-10-14", 0),
        ("1936-07-19", -1055721600000),
        ("1936", -1073001600000),
        ("Sun, 20 Jul 1969 20:17:40 GMT", -14182940000),
        ("2024-01-31T10:00:00+99:99", 1706332860000),
    ],
)
def test_dates(text: str, ms: int) -> None:
    assert dates.to_ms(text) == ms


@pytest.mark.parametrize(
    ("body", "content_type", "kind"),
    [
        (b"<p>x", "text/html", "html"),
        (b"%PDF-1.7", "text/html", "pdf"),
        (b"<html xmlns='http://www.w3.org/1999/xhtml'>", "application/xhtml+xml", "xhtml"),
        (b"<?xml version='1.0'?><html>", "text/html", "xhtml"),
        (b"<?xml version='1.0'?><!-- x --><?xml-stylesheet href='a'?><rss>", "text/html", "feed"),
        (b"  <!doctype html><p>", "", "html"),
        (b"<!-- a --><HTML>", "application/octet-stream", "html"),
        (b"hola", "", "text"),
        (b"\x89PNG\r\n\x1a\n", "", "other"),
        (b"a\0b", "", "other"),
        (b"<p>x", "text/plain", "text"),
        (b"GIF89a", "image/gif", "other"),
        (b"{}", "application/json", "other"),
        (b"<svg/>", "image/svg+xml", "svg"),
        (b"", "", "other"),
    ],
)
def test_kinds(body: bytes, content_type: str, kind: str) -> None:
    assert kind_of(body, content_type, "http://example.org/") == kind


def test_media_type_is_kept() -> None:
    assert read(b"GIF89a", "Image/GIF ; x=y", "http://example.org/").media_type == "image/gif"

"""`<link>` elements and the header `Link`, which says the same, lead to the same."""

import pytest

from hemeroteca import extract
from hemeroteca.extract import native
from hemeroteca.extract.link_elements import in_headers


def in_header(value: str) -> list[tuple[str, str, str]]:
    return [(link.href, link.kind, link.text) for entry in in_headers([value]) for link in entry.links]


def in_page(element: str) -> list[tuple[str, str, str]]:
    document = extract.read(f"<html><head>{element}</head></html>".encode(), "text/html", "https://a.test/")
    return [(link.href, link.kind, link.text) for link in document.links]


@pytest.mark.parametrize(
    ("parameters", "kind"),
    [
        ('rel="stylesheet"', "requisite"),
        ('rel="icon"', "requisite"),
        ('rel="modulepreload"', "requisite"),
        ('rel="preload"', "requisite"),
        ('rel="next"', "page"),
        ('rel="prev"', "page"),
        ('rel="canonical"', "canonical"),
        ('rel="sitemap"', "sitemap"),
        ('rel="alternate"', "alternate"),
        ('rel="alternate" hreflang="es"', "alternate"),
        ('rel="alternate" type="application/rss+xml"', "feed"),
        ('rel="alternate stylesheet"', "requisite"),
        ('rel="preconnect"', ""),
        ('rel="https://api.w.org/"', ""),
    ],
)
def test_a_header_says_what_an_element_says(parameters, kind):
    found = in_header("</x>; " + parameters.replace('" ', '"; '))
    assert found == in_page(f'<link href="/x" {parameters}>')
    assert [entry[1] for entry in found] == ([kind] if kind else [])


@pytest.mark.parametrize(
    ("value", "hrefs"),
    [
        ("</a.css>; rel=stylesheet, </b.js>;rel=preload;as=script", ["/a.css", "/b.js"]),
        ('</a?x=1,2>; rel=preload; title="a, <b>; rel=x", <c>; rel="icon shortcut"', ["/a?x=1,2", "c"]),
        ("</a>; REL=Preload", ["/a"]),
        ("</a>; anchor=/other; rel=preload", []),
        ("</a>; rel=preconnect; rel=preload", []),
        ('</a>; rel=preload; imagesrcset="/b 1x, /c 2x"', ["/a", "/b", "/c"]),
        ("/a; rel=preload", []),
        ('</a>; rel="preload', []),
    ],
)
def test_headers_are_taken_apart(value, hrefs):
    assert [href for href, _, _ in in_header(value)] == hrefs


@pytest.mark.parametrize("fast", [True, False])
def test_pictures_of_a_preload_are_needed(fast, monkeypatch):
    if not fast:
        monkeypatch.setattr(native, "read", lambda *_, **__: None)
    element = '<link rel=preload as=image href="/s.jpg" imagesrcset="/m.jpg 600w, /l.jpg 1200w" imagesizes="100vw">'
    assert in_page(element) == [(href, "requisite", "") for href in ("/s.jpg", "/m.jpg", "/l.jpg")]
    assert in_page('<link rel=preconnect imagesrcset="/m.jpg 600w">') == []


def test_a_hostile_header_is_read_in_bounded_steps():
    assert len(in_header("</a>; rel=next," * 20_000)) == 1000
    assert in_header('<a>; title="' + '\\"' * 100_000) == []
    assert in_header("<" * 100_000) == []

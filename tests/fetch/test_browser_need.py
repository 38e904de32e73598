"""Which pages `render = auto` opens in a browser."""

import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca import extract
from hemeroteca.fetch.browser import needs_browser

JAVADOC = Path("/usr/share/doc/openjdk-17-jre-headless/api")
SENTENCE = "The council met on Tuesday to discuss the harbour, the bridge and the price of bread in the old town. "

CREATE_REACT_APP = """<!doctype html><html lang="en"><head><meta charset="utf-8"/><link rel="icon" href="/favicon.ico"/>
<title>React App</title><script defer="defer" src="/static/js/main.5c1a9b3f.js"></script>
<link href="/static/css/main.f855e6bc.css" rel="stylesheet"></head><body>
<noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div></body></html>"""
VITE = """<!doctype html><html><head><title>Vite</title>
<script type="module" crossorigin src="/assets/index-DiwrgTda.js"></script></head>
<body><div id="app"></div></body></html>"""
VUE_CLI = """<!DOCTYPE html><html lang=""><head><title>tienda</title>
<link href="/js/chunk-vendors.8a1.js" rel="preload" as="script">
</head><body><noscript><strong>We're sorry but tienda doesn't work properly without JavaScript enabled. Please enable
it to continue.</strong></noscript><div id="app"></div><script src="/js/chunk-vendors.8a1.js"></script>
<script src="/js/app.12.js"></script></body></html>"""
ANGULAR = """<!doctype html><html><head><title>Panel</title><base href="/"></head><body class="mat-typography">
<app-root>Loading...</app-root><script src="runtime.9e1.js" type="module"></script>
<script src="polyfills.bf99d438b005d57b.js" type="module"></script>
<script src="main.a1b2c3d4e5.js" type="module"></script>
</body></html>"""
NEXT_EMPTY = """<!DOCTYPE html><html><head><script src="/_next/static/chunks/main-5f.js" defer=""></script></head><body>
<div id="__next"></div><script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{}},"page":"/"}</script>
</body></html>"""
EMBER = """<html><head><title>Foro</title></head><body><script src="/assets/vendor.js"></script>
<script src="/assets/foro.js"></script><div id="ember-basic-dropdown-wormhole"></div></body></html>"""
SPINNER = """<html><head><title>Loading</title></head><body><div class="spinner"></div><div id="content"></div>
<p>Loading…</p>
<script src="/bundle.js"></script></body></html>"""
WRITES_ITSELF = (
    "<html><body><script>" + "document.write('<p>' + texts.shift() + '</p>');\n" * 80 + "</script></body></html>"
)
GOES_ELSEWHERE = "<html><head><script>location.href = '/es/portada';</script></head><body></body></html>"
WALLED = """<html><head><title>Just a moment</title></head><body>
<noscript>Enable JavaScript and cookies to continue</noscript>
<div class="h2">Checking your browser</div><script src="/challenge.js"></script></body></html>"""
FLUTTER = """<!DOCTYPE html><html><head><title>app</title></head><body>
<script src="flutter_bootstrap.js" async></script></body></html>"""

SHELLS = {name: page for name, page in globals().items() if name.isupper() and isinstance(page, str)}
del SHELLS["SENTENCE"]


@pytest.mark.parametrize("name", SHELLS)
def test_shells_need_a_browser(name):
    assert _needs(SHELLS[name])


ORDINARY = {
    "a news page": "<html><body><script src=a.js></script><div id=app><h1>News</h1><p>"
    + SENTENCE * 30
    + "</p></div></body>",
    "a rendered app": VITE.replace('<div id="app">', '<div id="app"><p>' + SENTENCE * 6 + "</p>"),
    "a short page": f"<html><body><h1>Contact</h1><p>{SENTENCE}</p><script src='/analytics.js'></script></body></html>",
    "a page without scripts": "<html><body><div id=root></div><p>Gone.</p></body></html>",
    "an empty page": "<html><body></body></html>",
    "an image": "<html><body><img src=poster.jpg><script src='/analytics.js'></script></body></html>",
    "frames": "<html><head><script src=x.js></script></head><frameset cols=*><frame src=a.html></frameset></html>",
    "a list of links": "<html><body><div id=root></div><script src=x.js></script>"
    + "".join(f"<a href=/{i}>{i}</a>" for i in range(30))
    + "</body></html>",
    "data only": '<html><body><p>Hi</p><script type="application/ld+json">'
    + '{"a": 1}' * 500
    + "</script></body></html>",
    "a redirect": '<html><head><meta http-equiv=refresh content="0; url=/es/"><script src=x.js></script></head></html>',
    "a form": "<html><body><form action=/login><input name=user></form><script src=x.js></script></body></html>",
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_pages_do_not(name):
    assert not _needs(ORDINARY[name])


def test_what_is_not_html_does_not():
    body = CREATE_REACT_APP.encode()
    assert not needs_browser(extract.read(body, "text/plain", "http://x.test/"), body)


@pytest.mark.skipif(not JAVADOC.is_dir(), reason="the JDK's documentation is not installed")
def test_none_of_the_javadoc_does():
    files = sorted(JAVADOC.rglob("*.html"))
    random.Random(7).shuffle(files)
    taken = [JAVADOC / "index.html", JAVADOC / "search.html", *files[:300]]
    assert [file for file in taken if file.name != "search.html" and _needs_bytes(file.read_bytes())] == []


PIECES = ["<div id=root>", "</div>", "<noscript>", "</noscript>", "<script", " src=x", ">", "</script>", "<!--", "-->",
          " ", "<x-y>", "</x-y>", "text", "<", "id='app'", "\x00"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_any_heap_of_tags_is_judged(pieces):
    assert _needs("".join(pieces)) in (True, False)


@pytest.mark.parametrize(
    "piece",
    [
        "<script>",
        "<noscript>",
        "<div id=a>",
        "<div id=",
        "<x-y ",
        "<x-y>",
        "<!--",
        "<div id=a><!--",
        "<x-y><!-- -->",
        " ",
    ],
)
def test_a_page_made_to_be_slow_is_judged_quickly(piece):
    body = ("<script src=x></script>" + piece * (500_000 // len(piece))).encode()
    document = extract.Document(kind="html")
    started = time.process_time()
    needs_browser(document, body)
    assert time.process_time() - started < 2.0


def _needs(html: str) -> bool:
    return _needs_bytes(html.encode())


def _needs_bytes(body: bytes) -> bool:
    return needs_browser(extract.read(body, "text/html; charset=utf-8", "http://x.test/"), body)

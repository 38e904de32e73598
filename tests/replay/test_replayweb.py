"""A crawl exported as WACZ opens in ReplayWeb.page, in Chromium: its pages, their texts, pictures, styles and scripts.

`tests/install` gets ReplayWeb.page where npm is (docs/decisions/0035-wacz-for-replayweb.md).
"""

import hashlib
import struct
import subprocess
import sys
import threading
import zipfile
import zlib
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.engine.system import System

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PROGRAM = Path(__file__).parents[1] / ".replaywebpage" / "package"
HOST = "http://www.diario.test"
RED, GREEN = "rgb(200, 0, 0)", "rgb(0, 128, 0)"
# ReplayWeb.page opens its frame as soon as its worker is registered; a worker that is not yet at work lets the frame
# through to our server, which knows no such page (docs/decisions/0035-wacz-for-replayweb.md).
# So the worker comes first.
INDEX = """<!doctype html><meta charset="utf-8"><script src="/ui.js"></script><body style="margin: 0">
<script type="module">
const {installing, waiting} = await navigator.serviceWorker.register("/replay/sw.js?serveIndex=1", {scope: "/replay/"})
const worker = installing || waiting
while (worker && worker.state != "activated") await new Promise(then => { worker.onstatechange = then })
const reader = document.createElement("replay-web-page")
reader.setAttribute("source", "/out.wacz")
reader.setAttribute("replayBase", "/replay/")
reader.style = "display: block; height: 100vh"
document.body.append(reader)
</script>"""


def png(*colour):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(colour) * 120 for _ in range(60))
    header = struct.pack(">IIBBBBB", 120, 60, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def html(title, body):
    return (
        f'<!doctype html><html lang="es"><meta charset="utf-8"><title>{title}</title>'
        f'<link rel="stylesheet" href="/estilo.css"><h1>{title}</h1>{body}<p><a href="/">portada</a></p>'
    )


LINKS = "".join(
    f'<li><a href="{path}">{name}</a>'
    for path, name in (
        ("/fija", "fija"), ("/noticia?id=7&amp;orden=asc", "siete"), ("/página/ñandú?q=á", "ñandú"), ("/app", "mareas")
    )
)  # fmt: skip


class Site:
    """A newspaper whose front page changes. What has not changed it calls so, and says nothing else of it then."""

    def __init__(self):
        self.edition = 1
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Answer, self))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def page(self, path):
        pages = {
            "/": html("Portada", f"<p>Edición {self.edition}</p><img src='/rojo.png'><ul>{LINKS}</ul>"),
            "/fija": html("Página fija", "<p>Nunca cambia el salmonete.</p><img src='/rojo.png'>"),
            "/noticia?id=7&orden=asc": html("Noticia siete", "<p>Versos de pulpo.</p><img src='/copia.png?w=1&h=2'>"),
            "/página/ñandú?q=á": html("Ñandú", "<p>Aquí vive el quebrantahuesos.</p><img src='/rojo.png'>"),
            "/app": "<!doctype html><title>App</title><link rel=stylesheet href=/estilo.css><div id=root></div>"
            "<script src=/app.js></script>",
            "/app.js": "fetch('/datos.json').then(answer => answer.json()).then(found => { "
            "root.innerHTML = found.html; document.title = 'Mareas' })",
            "/datos.json": '{"html": "<h1>Mareas</h1><p>%s</p><img src=/rojo.png>"}' % ("La bajamar. " * 40),
            "/estilo.css": f"@import '/mas.css'; h1 {{ color: {RED} }}",
            "/mas.css": f"p {{ color: {GREEN} }}",
        }
        return pages.get(path, "").encode()


class _Answer(BaseHTTPRequestHandler):
    TYPES = {".css": "text/css", ".js": "text/javascript", ".json": "application/json", ".png": "image/png"}

    def __init__(self, site, *arguments):
        self.site = site
        super().__init__(*arguments)

    def do_GET(self):
        path = unquote(self.path)
        picture = path.partition("?")[0] in ("/rojo.png", "/copia.png")  # one payload under two addresses
        body = png(220, 0, 0) if picture else self.site.page(path)
        tag = f'"{hashlib.sha256(body).hexdigest()}"'
        if body and self.headers.get("If-None-Match") == tag:
            self.send_response(304)
            self.end_headers()
            return
        self.send_response(200 if body else 404)
        kind = self.TYPES.get(Path(path.partition("?")[0]).suffix, "text/html; charset=utf-8")
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), ("ETag", tag)):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module", params=["plain", "blocks"])
def exported(request, archive, tmp_path_factory):
    """A folder with ReplayWeb.page and `out.wacz`, whose index is one file or, as of many captures, blocks."""
    web = tmp_path_factory.mktemp(request.param)
    (web / "replay").mkdir(parents=True)
    arguments = ["archive", "export", str(web / "out.wacz"), "--title", "Mi diario"]
    if request.param == "plain":
        done = archive.run(*arguments)
    else:
        code = (
            "from hemeroteca.archive import zipnum; zipnum.PLAIN_BYTES, zipnum.LINES = 0, 2\n"
            "from hemeroteca.cli import main; main()"
        )
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, env=archive.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(web / "out.wacz") as file:
        assert ("indexes/index.idx" in file.namelist()) == (request.param == "blocks")
    (web / "index.html").write_text(INDEX)
    (web / "ui.js").symlink_to(PROGRAM / "ui.js")
    (web / "replay" / "sw.js").symlink_to(PROGRAM / "sw.js")
    return web


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The front page in two editions, all else visited twice."""
    if not (PROGRAM / "ui.js").exists():
        pytest.skip("ReplayWeb.page is not here; tests/install gets it where npm is")
    folder = tmp_path_factory.mktemp("replayweb")
    site = Site()
    system = System(folder / "data", resolve=f"*.diario.test=127.0.0.1:{site.server.server_port}", delay=0)
    for edition in (1, 2):
        site.edition = edition
        assert system.crawl(f"{HOST}/", "--delay", "0", "--no-sitemaps")["state"] == "finished"
    site.server.shutdown()
    kinds = {row[0] for row in system.rows("SELECT status FROM capture WHERE kind = 'revisit'")}
    assert {200, 304} <= kinds, "both kinds of revisit are in it"
    return system


@pytest.fixture
def reader(exported, chromium):
    """reader() -> the list of pages that ReplayWeb.page shows."""
    from playwright.sync_api import Error

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=exported)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        context = chromium.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(120_000)
        page = context.new_page()

        def begin():
            """ReplayWeb.page may ask for its frame before its service worker answers, and then waits for ever; it comes
            when the page is loaded again."""
            app = page.frame_locator("replay-web-page iframe")
            for seconds in (15, 30, 60, 120, 240):
                page.goto("about:blank")
                page.goto(f"http://localhost:{server.server_port}/index.html")
                try:
                    app.locator("wr-page-entry").first.wait_for(timeout=seconds * 1000)
                except Error:
                    continue
                return app
            raise AssertionError("ReplayWeb.page lists no page")

        yield begin
        context.close()
        server.shutdown()


def shown(app, title):
    """The archived page itself, once it is there with its picture and both its styles."""
    from playwright.sync_api import expect

    expect.set_options(timeout=120_000)
    inside = app.frame_locator("iframe")
    expect(inside.get_by_role("heading", name=title)).to_have_css("color", RED)
    expect(inside.locator("p").first).to_have_css("color", GREEN)
    expect(inside.locator("img")).to_have_js_property("naturalWidth", 120)
    return inside


def test_it_lists_the_pages_with_their_titles_and_finds_their_texts(reader):
    from playwright.sync_api import expect

    app = reader()
    app.get_by_text("Mi diario").first.wait_for(state="attached")  # in the menu "Archive Info"
    titles = app.locator("wr-page-entry .title, wr-page-entry a")
    expect(app.locator("wr-page-entry")).to_have_count(6)
    for title in ("Portada", "Página fija", "Noticia siete", "Ñandú", "Mareas"):
        expect(titles.filter(has_text=title).first).to_be_visible()
    for word, title in (("quebrantahuesos", "Ñandú"), ("bajamar", "Mareas"), ("salmonete", "Página fija")):
        app.get_by_placeholder("Search by Page URL, Title, or Text").fill(word)
        expect(app.locator("wr-page-entry")).to_have_count(1)
        expect(titles.filter(has_text=title).first).to_be_visible()


@pytest.mark.parametrize("edition", [1, 2])
def test_each_edition_is_shown_and_its_links_lead_to_pages_visited_again(reader, edition):
    app = reader()
    links = app.locator(f"wr-page-entry a[href*='{HOST.removeprefix('http://')}%2F&']")
    (links.first if edition == 2 else links.last).click()
    for link, title in (("fija", "Página fija"), ("siete", "Noticia siete"), ("ñandú", "Ñandú"), ("mareas", "Mareas")):
        inside = shown(app, "Portada")
        inside.get_by_text(f"Edición {edition}").wait_for()
        inside.get_by_role("link", name=link).click()
        inside = shown(app, title)
        if link != "mareas":
            inside.get_by_role("link", name="portada").click()

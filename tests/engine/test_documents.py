"""What the search index knows of crawled pages: rules of sites, versions, collections; the same after a rebuild."""

import http.server
import json
import shutil
import threading

import numpy as np
import pytest

from hemeroteca import urls
from hemeroteca.search.graph import LinkGraph, LinkRanks
from tests.engine.system import System

PORTADA = """<html lang="es"><head><title>Portada</title></head><body><main><h1>Portada</h1>
<p>El pan cuesta {price} monedas en el mercado de la ciudad.</p><div class="caja teaser">compre una lavadora</div>
<a href="/nota.txt">nota</a> <a href="/oculta">oculta</a></main></body></html>"""
OCULTA = '<html lang="es"><meta name="robots" content="noindex"><p>La ballena no quiere salir aquí.</p></html>'


@pytest.fixture
def pages():
    """A site that answers what this dictionary says: a text, or a number that is its status."""
    answers = {
        "/": ("text/html; charset=utf-8", PORTADA.format(price="cien")),
        "/nota.txt": ("text/plain; charset=utf-8", "Una nota sobre el tren de la costa."),
        "/oculta": ("text/html; charset=utf-8", OCULTA),
    }

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            kind, text = answers.get(self.path, ("text/plain", 404))
            body = (text if isinstance(text, str) else "not now").encode()
            self.send_response(text if isinstance(text, int) else 200)
            if isinstance(text, int) and text < 400:
                self.send_header("Location", "/")
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    answers["address"] = (f"http://127.0.0.1:{server.server_address[1]}/", "")
    yield answers
    server.shutdown()


def found(system, *query):
    done = system.run("search", *query, "--json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def texts(system, *query):
    return [hit["snippet"].replace("<b>", "").replace("</b>", "") for hit in found(system, *query)]


def test_the_past_can_be_searched_also_after_a_rebuild_and_after_the_setting_was_off(tmp_path, pages):
    site = pages["address"][0]
    system = System(tmp_path / "data", index_versions=1)
    crawl = ("crawl", site, "--delay", "0")
    system.run(*crawl)
    pages["/"] = (pages["/"][0], PORTADA.format(price="doscientas"))
    pages["/nota.txt"] = ("text/plain", None)
    system.run(*crawl)

    def check(cheap, dear):
        assert [len(found(system, "tren")), len(found(system, "tren", "--versions"))] == [0, 1]
        assert found(system, "tren", "--versions")[0]["until"] > found(system, "tren", "--versions")[0]["captured_at"]
        assert dear in texts(system, "monedas")[0]
        old, new = found(system, f"{cheap} monedas", "--versions"), found(system, f"{dear} monedas", "--versions")
        assert cheap in old[0]["snippet"]
        assert "until" in old[0]
        assert dear in new[0]["snippet"]
        assert "until" not in new[0]
        assert found(system, "monedas at:2001") == []
        assert len(found(system, "monedas", "at:2001..")) == 1  # one of the versions of a page stands for it

    check("cien", "doscientas")
    assert found(system, "monedas")[0]["versions"] == 2
    assert system.run("search", "rebuild").returncode == 0
    check("cien", "doscientas")
    assert found(system, "monedas")[0]["versions"] == 2

    system.environment["HEMEROTECA_INDEX_VERSIONS"] = "0"
    pages["/"] = (pages["/"][0], PORTADA.format(price="trescientas"))
    system.run(*crawl)
    system.environment["HEMEROTECA_INDEX_VERSIONS"] = "1"
    pages["/"] = (pages["/"][0], PORTADA.format(price="cuatrocientas"))
    system.run(*crawl)
    check("trescientas", "cuatrocientas")
    (ended,) = found(system, "doscientas", "--versions")  # it was the last one when nobody kept versions
    assert ended["until"] == found(system, "trescientas", "--versions")[0]["captured_at"]


def test_without_the_setting_nobody_pays_for_versions_and_is_told_so(tmp_path, pages):
    system = System(tmp_path / "data", index_versions=0)
    system.run("crawl", pages["address"][0], "--delay", "0")
    assert not (tmp_path / "data" / "index" / "versions").exists()
    refused = system.run("search", "monedas", "--versions")
    assert refused.returncode == 1
    assert "index_versions" in refused.stderr
    answered = system.run("search", "monedas at:2030")
    assert "only the last version of each page is indexed" in answered.stderr


def test_rules_of_a_site_hold_in_a_crawl_and_in_a_rebuild(tmp_path, pages):
    system = System(tmp_path / "data")
    assert system.run("site", "set", "127.0.0.1", "exclude=div[class=teaser]; aside").returncode == 0
    system.run("crawl", pages["address"][0], "--delay", "0")
    assert (len(texts(system, "pan")), texts(system, "lavadora")) == (1, [])
    assert system.run("search", "rebuild").returncode == 0
    assert (len(texts(system, "pan")), texts(system, "lavadora")) == (1, [])
    assert system.run("site", "set", "127.0.0.1", "exclude=").returncode == 0
    assert system.run("search", "rebuild").returncode == 0
    assert len(texts(system, "lavadora")) == 1
    refused = system.run("site", "set", "127.0.0.1", "include=div[[")
    assert (refused.returncode, "is not a rule" in refused.stderr) == (2, True)


@pytest.mark.parametrize(("options", "hits"), [((), 0), (("--ignore-robots",), 1)], ids=["obeyed", "ignored"])
def test_a_rebuild_treats_noindex_as_the_crawl_did(tmp_path, pages, options, hits):
    system = System(tmp_path / "data")
    system.run("crawl", pages["address"][0], "--delay", "0", *options)
    assert len(texts(system, "ballena")) == hits
    assert system.run("search", "rebuild").returncode == 0
    assert len(texts(system, "ballena")) == hits


@pytest.mark.parametrize(("status", "hits"), [(500, 1), (302, 1), (404, 0)])
def test_only_a_page_that_is_gone_is_no_longer_found_in_a_crawl_a_rebuild_and_after_a_crash(
    tmp_path, pages, status, hits
):
    system = System(tmp_path / "data", retries=0)
    system.run("crawl", pages["address"][0], "--delay", "0", "--no-sitemaps")
    shutil.copytree(system.data / "index", tmp_path / "before")
    pages["/nota.txt"] = ("text/plain", status)
    system.run("crawl", pages["address"][0], "--delay", "0", "--no-sitemaps")
    kept = system.rows("SELECT status FROM capture WHERE url LIKE '%nota.txt' ORDER BY id")
    assert kept == [(200,), (status,)]
    assert len(texts(system, "tren")) == hits
    assert system.run("search", "rebuild").returncode == 0
    assert len(texts(system, "tren")) == hits

    shutil.rmtree(system.data / "index")
    shutil.copytree(tmp_path / "before", system.data / "index")  # what a crash before the next commit leaves
    system.run("crawl", f"{pages['address'][0]}oculta", "--delay", "0", "--scope", "page", "--no-sitemaps")
    assert len(texts(system, "tren")) == hits


def test_a_page_that_is_gone_recommends_nothing_any_more(tmp_path, pages):
    site = pages["address"][0]
    pages["/"] = ("text/html; charset=utf-8", '<html lang="es"><p>Una portada.</p><a href="/hija">hija</a></html>')
    pages["/hija"] = ("text/html; charset=utf-8", '<html lang="es"><p>La hija.</p><a href="/nota.txt">nota</a></html>')
    system = System(tmp_path / "data", retries=0)

    def links():
        edges = LinkGraph(system.data / "index" / "links").edges()
        return {(source, target) for source, target in zip(*edges, strict=True) if source != target}

    home, child, note = (urls.key(f"{site}{path}") for path in ("", "hija", "nota.txt"))
    system.run("crawl", site, "--delay", "0", "--no-sitemaps")
    assert links() == {(home, child), (child, note)}
    pages["/hija"] = ("text/html", 404)
    system.run("crawl", site, "--delay", "0", "--no-sitemaps")
    assert links() == {(home, child)}
    assert system.run("search", "rebuild").returncode == 0
    assert links() == {(home, child)}


def test_a_seed_that_leads_elsewhere_recommends_where_it_leads(tmp_path, pages):
    site = pages["address"][0]
    pages["/moved"] = ("text/html", 302)  # to /
    system = System(tmp_path / "data")
    seed, home, note = (urls.key(f"{site}{path}") for path in ("moved", "", "nota.txt"))

    def ranks():
        return LinkRanks.load(system.data / "index" / "rank").pages(np.array([seed, home, note])).tolist()

    system.run("crawl", f"{site}moved", "--delay", "0", "--no-sitemaps", "--scope", "host")
    assert ranks()[0] == 1.0 > ranks()[1] > 0.3  # a page no seed leads to has at most that
    before = ranks()
    assert system.run("search", "rank").returncode == 0
    assert ranks() == pytest.approx(before)  # the command knows the seeds, too
    assert system.run("search", "rebuild").returncode == 0
    assert ranks() == pytest.approx(before)  # and so does an index that is built anew


def test_what_pages_say_gives_no_orders_to_the_terminal(tmp_path, pages):
    site = pages["address"][0]
    hostile = "<title>ma\x1b]0;owned\x07r</title><p>calma \x1b[2J\x1b]0;{}\x07 \u202e&#27;c</p><a href='/[/bold]'>x</a>"
    pages["/robots.txt"] = ("text/plain", "User-agent: *\nDisallow: /[/bold\x1b]0;owned\x07\nDisallow: /[/bold]\n")
    system = System(tmp_path / "data")
    told = []
    for words in ("uno", "dos"):
        pages["/"] = ("text/html; charset=utf-8", hostile.format(words))
        told.append(system.run("crawl", site, "--delay", "0"))
    commands = (("search", "calma"), ("search", "explain", "calma", site), ("archive", "diff", site), ("status",))
    told += [system.run(*command) for command in commands]
    for done in told:
        assert not {"\x1b", "\x07", "\u202e"} & {*done.stdout, *done.stderr}
        assert done.returncode == 0, done.stderr
    assert "[/bold]" in told[-1].stdout  # the rule of robots.txt, and no markup


def test_pages_know_the_collections_of_the_subscriptions_they_fall_under(tmp_path, pages):
    site = pages["address"][0]
    system = System(tmp_path / "data")
    assert system.run("watch", "add", site, "--scope", "host", "--collection", "La prensa").returncode == 0
    assert system.run("watch", "add", f"{site}nota.txt", "--scope", "page", "--collection", "Notas").returncode == 0
    system.run("crawl", site, "--delay", "0", "--limit", "5")
    assert found(system, "monedas")[0]["collections"] == ["La prensa"]
    assert [hit["url"] for hit in found(system, 'collection:"La prensa" monedas')] == [site]
    assert system.run("search", "rebuild").returncode == 0
    assert found(system, "tren")[0]["collections"] == ["La prensa", "Notas"]
    assert "collection: La prensa 1" in system.run("search", "tren", "--facets").stdout


def test_an_index_of_imported_documents_alone_can_be_built_anew(tmp_path):
    system = System(tmp_path / "data")
    file = tmp_path / "documents.jsonl"
    file.write_text('{"id": "a", "title": "Pan", "text": "pan de pueblo"}')
    assert system.run("search", "import", str(file)).returncode == 0
    assert system.run("search", "rebuild").returncode == 0
    assert "1 result" in system.run("search", "pueblo").stdout
    (system.data / "index" / "main" / "meta.json").write_text("damaged")
    assert system.run("search", "import", str(file)).returncode == 1
    assert "not kept" in system.run("search", "rebuild").stderr
    assert system.run("search", "import", str(file)).returncode == 0
    assert "1 result" in system.run("search", "pueblo").stdout

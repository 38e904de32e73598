"""Crawls that are polite and complete where servers are odd: packed rules, raw bytes in headers, chains of styles."""

import gzip
import json
import re
import socket
import sqlite3
import threading

import brotli
import pytest

from tests.engine.pages import HOST, Answer, Pages
from tests.engine.system import System
from tests.waiting import PATIENCE

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


def test_styles_that_import_one_another_are_followed_to_their_end_and_what_is_cut_is_told(server, system):
    server.pages |= {
        f"/{n}.css": Answer(f"@import '/{n + 1}.css'; i {{ background: url(/{n}.png) }}".encode(), "text/css")
        for n in range(20)
    }
    server.pages["/"] = (
        "<link rel=stylesheet href=/0.css><body background=/behind.png><table><td BackGround=cell.png>x</table>"
    )
    server.other = lambda host, path: Answer(b"", "image/png") if path.endswith("png") else Answer(status=404)
    summary = system.crawl(HOME, "--no-sitemaps")
    assert {"/behind.png", "/cell.png", "/14.png", "/15.css"} <= paths(system)
    assert "/16.css" not in paths(system)
    assert summary["notes"]["requisites-cut"] == 1


def test_what_a_header_links_to_is_what_an_element_would_link_to(server, system):
    links = (
        'Link: </caf\u00e9.css>; rel="stylesheet", <beside.js>; rel=preload; as=script\r\n'
        "Link: </2>; rel=next, </other>; rel=alternate; hreflang=es, </far>; rel=preconnect\r\n"
    )
    server.pages["/dir/"] = Answer(b"<base href=/elsewhere/><p>one", headers=links.encode())
    server.pages["/dir/beside.js"] = Answer(b"", "text/javascript")
    server.pages["/caf%C3%A9.css"] = Answer(b"p { background: url(/p.png) }", "text/css")
    server.pages |= {"/2": "two", "/other": "otro", "/p.png": Answer(b"x", "image/png")}
    system.crawl(HOME + "dir/", "--no-sitemaps", "--scope", "host")
    assert paths(system) == {"/dir/", "/dir/beside.js", "/caf%C3%A9.css", "/p.png", "/2", "/other"}
    assert server.asked["/far"] == 0


def test_what_drawings_and_modules_are_made_of_is_fetched(server, system):
    svg, js, png = "image/svg+xml", "text/javascript", Answer(b"x", "image/png")
    server.pages |= {
        "/": "<img src=/d.svg><script type=module src=/m0.js></script>"
        "<script type=module>import './inline.js'</script>"
        "<link rel=preload as=image imagesrcset='/s.png 1x, /l.png 2x'>",
        "/d.svg": Answer(b"<svg><image href='photo.png'/><use href='icons.svg#a'/></svg>", svg),
        "/icons.svg": Answer(b"<svg><symbol id='a'/></svg>", svg),
        "/inline.js": Answer(b"", js),
        **dict.fromkeys(("/photo.png", "/s.png", "/l.png"), png),
        **{f"/m{n}.js": Answer(f"import {{ a }} from './m{n + 1}.js'".encode(), js) for n in range(20)},
    }
    summary = system.crawl(HOME, "--no-sitemaps")
    assert {"/photo.png", "/icons.svg", "/inline.js", "/s.png", "/l.png", "/m15.js"} <= paths(system)
    assert "/m16.js" not in paths(system)
    assert summary["notes"]["requisites-cut"] == 1


# the end


def test_a_crawl_whose_time_is_up_cuts_what_hangs_and_keeps_it_queued(server, tmp_path):
    deaf = socket.create_server(("127.0.0.1", 0))  # never says a word, so that TLS waits for ever
    system = System(
        tmp_path / "data",
        resolve=f"{server.resolve},deaf.example=127.0.0.1:{deaf.getsockname()[1]}",
        delay=0,
        connect_timeout=100_000,
        timeout=100_000,
        low_speed_seconds=100_000,
    )
    ended = threading.Event()
    server.hold = lambda: server.asked["/slow"] and ended.wait(PATIENCE)
    server.pages |= {"/": "<a href=/slow>slow</a>", "/slow": "slow"}
    summary = system.crawl(HOME, "https://deaf.example/", "--no-sitemaps", "--max-time", "1s")
    ended.set()
    deaf.close()
    assert summary["stop_reason"] == "limit of 1 seconds reached"
    assert summary["failed"] == 0
    assert paths(system) == {"/"}
    assert paths(system, state=0) == {"/slow", "https://deaf.example/"}
    attempts = system.rows("SELECT DISTINCT attempts FROM visit WHERE state = 0")
    assert attempts == [(0,)]


# held back


def numbered(server: Pages, count: int, page, **listed) -> None:
    """`count` pages that one list leads to."""
    server.pages["/"] = "".join(f"<a href=/file/{n}>{n}</a> " for n in range(1, count + 1))
    server.pages |= {f"/file/{n}": page(n) for n in range(1, count + 1)}
    server.pages |= listed


def few(system: System, *arguments: str) -> dict:
    """A crawl that takes 20 pages in a row, or 80 in all, for a trap."""
    system.environment["HEMEROTECA_SAME_TEXT_CAP"] = "80"
    return system.crawl(HOME, "--no-sitemaps", *arguments)


REGISTER = "<h1>Commercial register</h1><p>File {0} of day {1}: share capital {2} euros, as the law demands.</p>"


@pytest.mark.parametrize("chained", [False, True], ids=["listed", "chained"])
@pytest.mark.parametrize("kind", ["register", "measurements", "scans"])
def test_honest_pages_that_differ_in_numbers_or_pictures_are_all_kept(server, system, kind, chained):
    def page(n: int) -> str:
        text = {
            "register": REGISTER.format(n, f"{n % 28 + 1}.{n % 12 + 1}.19{n % 90:02}", n * 7919),
            "measurements": "<table>" + "".join(f"<tr><td>{h}<td>{n * h * 37 % 1009}" for h in range(5)) + "</table>",
            "scans": f"<p>The scanned page.</p><img src=/scan/{n}.png>",
        }[kind]
        return text + (f" <a href=/file/{n + 1}>next</a>" if chained and n < 130 else "")

    numbered(server, 130, page)
    if chained:
        server.pages["/"] = "<a href=/file/1>first</a>"
    server.other = lambda host, path: Answer(path.encode(), "image/png") if "scan" in path else Answer(status=404)
    summary = few(system)
    assert {f"/file/{n}" for n in range(1, 131)} <= paths(system)
    assert summary["held"] == 0
    if kind == "scans":
        assert {f"/scan/{n}.png" for n in range(1, 131)} <= paths(system)


def test_pictures_that_are_there_are_fetched_after_many_that_are_not(server, system):
    server.pages["/"] = "".join(f"<img src=/picture/{n}.png>" for n in range(200))
    missing = Answer(b"<p>There is no such picture here.</p>", status=404)
    server.other = lambda host, path: (
        Answer(path.encode(), "image/png") if path > "/picture/1" and path[9] in "89" else missing
    )
    summary = few(system)
    there = {f"/picture/{n}.png" for n in range(200) if str(n)[0] in "89"}
    assert there <= paths(system)
    assert summary["held"] == 0


def test_missing_pages_close_no_shape(server, system):
    numbered(server, 100, lambda n: Answer(b"<p>No such file. <a href=/>home</a></p>", status=404 if n < 70 else 200))
    few(system)
    assert sum(server.asked[f"/file/{n}"] for n in range(1, 101)) == 100


@pytest.mark.parametrize("clock", [False, True])
def test_a_calendar_without_end_runs_dry_and_what_is_held_back_can_be_taken(server, system, clock):
    ticks = iter(range(1_000_000))

    def month(host: str, path: str) -> Answer:
        if not path.startswith("/agenda/"):
            return Answer(status=404)
        n = int(path.rpartition("/")[2])
        now = f"<p>Served in {next(ticks)} ms.</p>" if clock else ""
        return Answer(
            f"<h1>Month {n}</h1><p>No events.</p>{now}"
            f"<a href=/agenda/{n + 1}>next</a> <a href=/agenda/{n + 7}>later</a>".encode()
        )

    server.pages["/"] = "<a href=/agenda/1>agenda</a>"
    server.other = month
    summary = few(system)
    assert summary["state"] == "finished"
    assert 20 <= summary["pages"] <= (90 if not clock else 450)
    assert summary["held"] >= 1
    assert summary["stop_reason"].startswith(f"{summary['held']} addresses are held back")
    assert "trap" not in summary["notes"]
    before = set(server.asked)
    listed = system.run("held", "list", "--json")
    (kind,) = [json.loads(line) for line in listed.stdout.splitlines()]
    assert (kind["crawl"], kind["host"], kind["addresses"]) == (1, HOST, summary["held"])
    assert "/agenda/{n}" in kind["reason"]
    assert f"{kind['reason']}  {kind['example']}" in system.run("held", "list").stdout, "in full, whatever the width"
    taken = system.run("held", "take", "1", "--limit", "40", "--json")
    assert taken.returncode == 0, taken.stderr
    assert len(set(server.asked) - before) >= 40, "a person said it is no trap"


def test_a_book_whose_pages_lead_one_to_the_next_is_kept_to_its_end_without_a_click(server, system):
    numbered(server, 240, lambda n: f"<p>The scanned page.</p><img src=/scan.png?{n}><a href=/file/{n + 1}>next</a>")
    server.pages["/"] = "<a href=/file/1>first</a>"
    summary = system.crawl(HOME, "--no-sitemaps", "--no-requisites")
    assert (summary["held"], summary["pages"]) == (0, 242)


def test_a_chain_longer_than_the_greatest_depth_is_held_back_and_goes_on_when_taken(server, system):
    system.environment["HEMEROTECA_MAX_DEPTH"] = "10"
    numbered(server, 25, lambda n: f"<p>{'x' * n}</p><a href=/file/{n + 1}>next</a>")
    server.pages["/"] = "<a href=/file/1>first</a>"
    summary = few(system)
    assert (summary["held"], len(paths(system))) == (1, 11)
    assert paths(system, state=4) == {"/file/11"}
    again = few(system)  # the same order once more: what was held back stays so
    assert (again["held"], again["unchanged"]) == (1, 11)
    system.run("held", "take", "1")  # moved to the new crawl: nothing is left there
    assert system.run("held", "take", "2").returncode == 0
    assert {f"/file/{n}" for n in range(1, 26)} <= paths(system)


# politeness


def test_the_name_we_give_is_the_name_whose_rules_we_obey(server, system):
    system.environment["HEMEROTECA_USER_AGENT"] = "Mozilla/5.0 (compatible; MyBot/1.0; +https://example.org)"
    rules = b"User-agent: hemeroteca\nDisallow: /two\n\nUser-agent: mybot\nCrawl-delay: 0\n"
    rules += b"User-agent: other\nDisallow: /one\n"
    server.pages |= {"/": TWO_LINKS, "/one": "1", "/robots.txt": Answer(rules, "text/plain")}
    server.pages["/two"] = Answer(b"2", headers=b"X-Robots-Tag: mybot: noarchive\r\n")
    summary = system.crawl(HOME, "--no-sitemaps")
    assert (server.asked["/one"], server.asked["/two"]) == (0, 1)
    assert summary["reasons"] == {"robots": 1, "noarchive": 1}


def test_a_host_that_asks_for_a_day_gets_it_and_the_crawl_can_be_taken_up_later(server, system):
    server.pages |= {"/": TWO_LINKS, "/two": "2", "/one": Answer(status=503, headers=b"Retry-After: 86400\r\n")}
    summary = system.crawl(HOME, "--no-sitemaps")
    assert summary["state"] == "stopped"
    assert re.search(r"ask to be left alone until \d{4}-\d\d-\d\d \d\d:\d\d UTC$", summary["stop_reason"])
    assert summary["queued"] >= 1
    asked = server.asked.total()
    assert system.crawl(HOME, "--no-sitemaps")["state"] == "stopped"
    assert server.asked.total() == asked
    ((wait,),) = system.rows("SELECT next_ms - (SELECT max(visited_ms) FROM page) FROM host")
    assert wait > 80_000_000


def test_rules_whose_host_is_busy_are_asked_for_when_it_says(server, system):
    server.pages["/robots.txt"] = Answer(status=503, headers=b"Retry-After: 7200\r\n")
    summary = system.crawl(HOME, "--no-sitemaps")
    assert (summary["state"], server.asked["/robots.txt"]) == ("stopped", 1)


def test_hosts_that_share_an_address_are_not_asked_all_at_once(server, system):
    gate = threading.Semaphore(0)
    server.hold = lambda: gate.acquire(timeout=0.05)  # long enough for all to begin that may
    server.pages["/"] = "".join(f"<a href=http://h{n}.site.test/>x</a>" for n in range(30))
    server.other = lambda host, path: Answer(b"User-agent: *\nAllow: /" if path == "/robots.txt" else host.encode())
    summary = system.crawl(HOME, "--no-sitemaps", "--scope", "domain", "--delay", "0")
    assert summary["pages"] == 31
    assert 1 < server.most_at_once <= 4


# what is told


@pytest.mark.parametrize(
    ("seed", "code", "told"),
    [
        ("http://nowhere.invalid/", "dns", "nowhere.invalid"),
        ("http://10.1.2.3/", "refused-address", "10.1.2.3"),
        ("http://closed.test/", "connect", "127.0.0.1:1"),
    ],
)
def test_a_seed_that_cannot_be_reached_fails_once_with_its_own_reason(system, seed, code, told):
    system.environment |= {"HEMEROTECA_ALLOW_PRIVATE": "0", "HEMEROTECA_RESOLVE": "closed.test=127.0.0.1:1"}
    if code == "connect":
        system.environment["HEMEROTECA_ALLOW_PRIVATE"] = "1"
    summary = system.crawl(seed)
    assert (summary["failed"], summary["pages"], summary["reasons"]) == (1, 0, {code: 1})
    again = system.run("crawl", seed)
    assert again.returncode == 1
    (example,) = [line for line in again.stdout.splitlines() if line.startswith("for example:")]
    assert f"{seed}: " in example
    assert told in example
    shown = json.loads(system.run("status", "--json").stdout)["reasons"]
    assert [(entry["reason"], entry["pages"]) for entry in shown] == [(code, 1)]
    system.environment["COLUMNS"] = "80"
    assert told in system.run("status").stdout


def test_a_lone_page_that_is_not_there_has_failed(server, system):
    done = system.run("crawl", HOME, "--json")
    summary = json.loads(done.stdout)
    assert (done.returncode, summary["failed"], summary["notes"]["http-404"]) == (1, 1, 1)  # the sitemap is no page
    shown = json.loads(system.run("status", "--json").stdout)
    assert (shown["pages"]["failed"], shown["crawls"][0]["counts"]["failed"]) == (1, 1)
    assert [(entry["reason"], entry["state"], entry["pages"]) for entry in shown["reasons"]] == [
        ("http-404", "failed", 1)
    ]

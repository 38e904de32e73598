"""Every monster does what it says, seen by a client that never reads more than it must."""

import gzip
import http.client
import re
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Iterator
from urllib.parse import urljoin, urlsplit

import brotli
import pytest

from simweb import SimWeb
from simweb.zoo import INDEX_URL, MONSTERS, Monster
from tests.simweb.client import Client, links, visit
from tests.waiting import PATIENCE

BY_NAME = {monster.name: monster for monster in MONSTERS}
CHECKS: dict[str, Callable[[SimWeb, Monster], None]] = {}


@pytest.fixture(scope="module")
def zoo() -> Iterator[SimWeb]:
    with SimWeb(seed=1, hosts=2, pages_per_host=5, zoo=True) as running:
        yield running


def check(*names: str) -> Callable[[Callable[[SimWeb, Monster], None]], None]:
    def register(function: Callable[[SimWeb, Monster], None]) -> None:
        CHECKS.update(dict.fromkeys(names, function))

    return register


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_monster(zoo: SimWeb, name: str) -> None:
    CHECKS[name](zoo, BY_NAME[name])


def test_every_monster_is_described_once_and_checked() -> None:
    assert len(BY_NAME) == len(MONSTERS) == len({monster.url for monster in MONSTERS})
    assert set(CHECKS) == set(BY_NAME)
    assert all(monster.what and monster.outcome for monster in MONSTERS)


def test_the_index_links_to_all(zoo: SimWeb) -> None:
    page = _get(zoo, INDEX_URL).decode()
    linked = set(re.findall(r'<li><a href="([^"]+)"', page))
    assert linked == {monster.url for monster in MONSTERS} | {"/prohibido/jaula.html"}


def test_the_web_still_answers_while_monsters_feed(zoo: SimWeb) -> None:
    held = []
    for name in ("endless", "drip", "silent", "huge-dom"):
        monster = BY_NAME[name]
        connection = socket.create_connection(("127.0.0.1", zoo.port), timeout=PATIENCE)
        connection.sendall(f"GET {monster.path} HTTP/1.1\r\nHost: {monster.host}\r\n\r\n".encode())
        held.append(connection)
    assert len(held[0].recv(1000)) > 0
    assert zoo.now() > 0
    assert len(_get(zoo, zoo.seed_urls()[0])) > 1000
    for connection in held:
        connection.close()


def test_without_zoo_there_are_no_monsters() -> None:
    with SimWeb(hosts=1, pages_per_host=1) as web:
        assert visit(web.port, "zoo.sim.test", "/").status == 404
        assert web.tls_port is None
        assert web.resolve == f"*.sim.test=127.0.0.1:{web.port}"


# -- what each one does


@check("drip")
def _drip(zoo: SimWeb, monster: Monster) -> None:
    seen = visit(zoo.port, monster.host, monster.path, silence=0.4)
    assert seen.end == "timeout"
    assert b"Content-Length: 1000000" in seen.head
    began = time.monotonic()
    longer = visit(zoo.port, monster.host, monster.path, limit=len(seen.data) + 1)
    assert longer.end == "limit"
    assert time.monotonic() - began > 0.9


@check("slow-head")
def _slow_head(zoo: SimWeb, monster: Monster) -> None:
    seen = visit(zoo.port, monster.host, monster.path, silence=0.4)
    assert seen.end == "timeout"
    assert b"\r\n\r\n" not in seen.data
    assert seen.data.startswith(b"HTTP/1.1 200 OK\r\nX-Slow: z")


@check("endless", "endless-chunks")
def _endless(zoo: SimWeb, monster: Monster) -> None:
    assert visit(zoo.port, monster.host, monster.path, limit=30 << 20).end == "limit"


@check("silent")
def _silent(zoo: SimWeb, monster: Monster) -> None:
    seen = visit(zoo.port, monster.host, monster.path, silence=0.3, begins=False)
    assert (seen.data, seen.end) == (b"", "timeout")


@check("empty")
def _empty(zoo: SimWeb, monster: Monster) -> None:
    seen = visit(zoo.port, monster.host, monster.path)
    assert (seen.data, seen.end) == (b"", "closed")


@check("reset")
def _reset(zoo: SimWeb, monster: Monster) -> None:
    seen = visit(zoo.port, monster.host, monster.path)
    assert seen.end == "reset"
    assert 0 < len(seen.body) < 100_000


@check("garbage")
def _garbage(zoo: SimWeb, monster: Monster) -> None:
    seen = visit(zoo.port, monster.host, monster.path)
    assert seen.end == "closed"
    assert seen.data.startswith(b"\x00\xffBOGUS")


@check("content-length-long", "content-length-short", "content-length-twice")
def _lengths(zoo: SimWeb, monster: Monster) -> None:
    seen = visit(zoo.port, monster.host, monster.path)
    lengths = [int(length) for length in re.findall(rb"Content-Length: (\d+)", seen.head)]
    expected = {"long": ([100_000], 1000), "short": ([1000], 5000), "twice": ([1000, 2000], 1500)}
    assert (lengths, len(seen.body)) == expected[monster.name.rpartition("-")[2]]


@check("giant-header")
def _giant_header(zoo: SimWeb, monster: Monster) -> None:
    seen = visit(zoo.port, monster.host, monster.path, limit=64 << 20)
    assert len(seen.head) > 16 << 20


@check("many-headers")
def _many_headers(zoo: SimWeb, monster: Monster) -> None:
    seen = visit(zoo.port, monster.host, monster.path, limit=64 << 20)
    assert seen.head.count(b"\r\n") == 200_000


@check("cookie-flood")
def _cookie_flood(zoo: SimWeb, monster: Monster) -> None:
    assert visit(zoo.port, monster.host, monster.path).head.count(b"Set-Cookie:") == 500


@check("redirect-loop", "redirect-self")
def _redirect_loop(zoo: SimWeb, monster: Monster) -> None:
    seen = [monster.url]
    while len(set(seen)) == len(seen):
        seen.append(_location(zoo, seen[-1]))
        assert len(seen) < 5


@check("chain")
def _chain(zoo: SimWeb, monster: Monster) -> None:
    seen = [monster.url]
    for _ in range(30):
        seen.append(_location(zoo, seen[-1]))
    assert len(set(seen)) == 31


@check("redirect-garbage", "redirect-metadata", "redirect-loopback", "redirect-file", "redirect-nowhere")
def _redirect(zoo: SimWeb, monster: Monster) -> None:
    expected = {
        "garbage": rb"http://\[oops",
        "metadata": rb"http://169\.254\.169\.254/",
        "loopback": rb"http://127\.0\.0\.1:1/",
        "file": rb"file:///",
    }
    seen = visit(zoo.port, monster.host, monster.path)
    assert seen.status == 302
    kind = monster.name.partition("-")[2]
    assert (
        (re.search(rb"Location: " + expected[kind], seen.head) is not None)
        if kind in expected
        else b"Location" not in seen.head
    )


@check("refresh-loop")
def _refresh_loop(zoo: SimWeb, monster: Monster) -> None:
    assert b"url=/refresh-loop/b" in _get(zoo, monster.url)
    assert b'url=/refresh-loop"' in _get(zoo, f"{monster.url}/b")


@check("bad-tls")
def _bad_tls(zoo: SimWeb, monster: Monster) -> None:
    if zoo.tls_port is None:
        pytest.skip("no openssl command here, so no TLS listener")
    assert zoo.resolve.startswith(f"{monster.host}=127.0.0.1:{zoo.tls_port},*.sim.test=")
    plain = socket.create_connection(("127.0.0.1", zoo.tls_port), timeout=PATIENCE)
    with plain, pytest.raises(ssl.SSLCertVerificationError):
        ssl.create_default_context().wrap_socket(plain, server_hostname=monster.host)
    insecure = ssl._create_unverified_context()
    connection = http.client.HTTPSConnection("127.0.0.1", zoo.tls_port, timeout=PATIENCE, context=insecure)
    connection.request("GET", "/", headers={"Host": monster.host})
    assert b"Behind bad TLS" in connection.getresponse().read()
    connection.close()


@check("no-tls")
def _no_tls(zoo: SimWeb, monster: Monster) -> None:
    plain = socket.create_connection(("127.0.0.1", zoo.port), timeout=PATIENCE)
    with plain, pytest.raises(ssl.SSLError):
        ssl.create_default_context().wrap_socket(plain, server_hostname=monster.host)


@check("robots-giant")
def _robots_giant(zoo: SimWeb, monster: Monster) -> None:
    seen = visit(zoo.port, monster.host, "/robots.txt", limit=200 << 20)
    assert len(seen.body) == 100 << 20
    assert b"Disallow: /secreto/" in seen.body[:100]
    assert seen.body.endswith(b"Disallow: /tarde/\n")
    assert b"/secreto/1.html" in _get(zoo, monster.url)
    Client(zoo.port).get(f"http://{monster.host}/secreto/1.html")
    assert zoo.stats().hosts[monster.host].forbidden == 1


@check("robots-silent")
def _robots_silent(zoo: SimWeb, monster: Monster) -> None:
    assert visit(zoo.port, monster.host, "/robots.txt", silence=0.3, begins=False).end == "timeout"


@check("robots-loop")
def _robots_loop(zoo: SimWeb, monster: Monster) -> None:
    address = f"http://{monster.host}/robots.txt"
    assert _location(zoo, address) == address


@check("gzip-bomb", "nested-gzip", "brotli-bomb")
def _bombs(zoo: SimWeb, monster: Monster) -> None:
    answer = Client(zoo.port).get(monster.url)
    packed = answer.body
    assert len(packed) < 1_100_000
    if monster.name == "brotli-bomb":
        assert answer.headers["content-encoding"] == "br"
        unpacker = brotli.Decompressor()
        size = len(unpacker.process(packed, output_buffer_limit=1 << 20))
        while not unpacker.is_finished():
            size += len(unpacker.process(b"", output_buffer_limit=1 << 24))
    else:
        if monster.name == "nested-gzip":
            assert answer.headers["content-encoding"] == "gzip, gzip"
            packed = gzip.decompress(packed)
        size = 0
        inflate = zlib.decompressobj(31)
        while not inflate.eof:
            size += len(inflate.decompress(packed, 1 << 24))
            packed = inflate.unconsumed_tail
    assert size == 1 << 30


@check("bad-gzip", "cut-gzip")
def _bad_gzip(zoo: SimWeb, monster: Monster) -> None:
    answer = Client(zoo.port).get(monster.url)
    assert answer.headers["content-encoding"] == "gzip"
    with pytest.raises((OSError, EOFError)):
        gzip.decompress(answer.body)


@check("charset-lie", "charset-conflict", "charset-unknown", "charset-utf16-lie")
def _charsets(zoo: SimWeb, monster: Monster) -> None:
    answer = Client(zoo.port).get(monster.url)
    declared = answer.headers["content-type"].partition("charset=")[2]
    real = "cp1252" if monster.name == "charset-lie" else "utf-8"
    text = answer.body.decode(real)
    try:
        assert answer.body.decode(declared) != text
    except (LookupError, UnicodeDecodeError):
        pass


@check("type-lie", "binary")
def _type_lie(zoo: SimWeb, monster: Monster) -> None:
    answer = Client(zoo.port).get(monster.url)
    assert answer.headers["content-type"].startswith("text/html")
    assert b"\0" in answer.body


@check("deep-dom")
def _deep_dom(zoo: SimWeb, monster: Monster) -> None:
    assert b"<div>" * 100_000 in _get(zoo, monster.url)


@check("huge-dom", "huge-attribute")
def _huge(zoo: SimWeb, monster: Monster) -> None:
    seen = visit(zoo.port, monster.host, monster.path, limit=100 << 20)
    length = re.search(rb"Content-Length: (\d+)", seen.head)
    assert length
    assert len(seen.body) == int(length[1])
    assert seen.body.count(b"<br>") == 10_000_000 if monster.name == "huge-dom" else b"a" * 20_000_000 in seen.body


@check("million-links")
def _million_links(zoo: SimWeb, monster: Monster) -> None:
    seen = visit(zoo.port, monster.host, monster.path, limit=100 << 20)
    assert seen.body.count(b"<a href=/l/") == 1_000_000
    assert b"Disallow: /l/" in _get(zoo, f"http://{monster.host}/robots.txt")


@check("laughs-sitemap", "laughs-feed", "xxe-feed")
def _entities(zoo: SimWeb, monster: Monster) -> None:
    text = _get(zoo, monster.url).decode()
    declared = dict(re.findall(r'<!ENTITY (\w+) "([^"]*)"', text))
    if monster.name == "xxe-feed":
        assert 'SYSTEM "file:///' in text
        return
    size = {"lol": len(declared["lol"])}
    for level in range(1, 10):
        used = re.findall(r"&(\w+);", declared[f"lol{level}"])
        size[f"lol{level}"] = sum(size[name] for name in used)
    assert size["lol9"] == 3 * 10**9
    assert "&lol9;" in text.partition("]>")[2]


@check("pdf-bomb", "pdf-loop", "pdf-garbage")
def _pdfs(zoo: SimWeb, monster: Monster) -> None:
    body = _get(zoo, monster.url)
    assert body.startswith(b"%PDF-")
    assert len(body) < 1 << 20
    if monster.name == "pdf-bomb":
        stream = body.partition(b"stream\n")[2]
        inflate = zlib.decompressobj(-15)
        size, data = 0, stream[2:]
        while not inflate.eof:
            size += len(inflate.decompress(data, 1 << 24))
            data = inflate.unconsumed_tail
        assert size == 256 << 20
    elif monster.name == "pdf-loop":
        assert b"2 0 obj\n<< /Type /Pages /Kids [2 0 R" in body


@check("weird-urls", "odd-links", "private-addresses")
def _links(zoo: SimWeb, monster: Monster) -> None:
    page = _get(zoo, monster.url).decode()
    wanted = {
        "weird-urls": ["with space", "ñandú", "http://[::1", "%00", "user:pass@", "long" * 5000],
        "odd-links": ["javascript:alert(1)", "data:text/html", "mailto:"],
        "private-addresses": ["http://169.254.169.254/", "http://127.0.0.1:1/", "http://[::1]:1/"],
    }
    assert all(part in page for part in wanted[monster.name])
    if monster.name == "weird-urls":
        assert visit(zoo.port, monster.host, "/weird-urls/%f1").status == 200


@check("xss")
def _xss(zoo: SimWeb, monster: Monster) -> None:
    page = _get(zoo, monster.url).decode()
    assert "<title>&lt;script&gt;" in page
    assert "<script>" not in page


@check("calendar", "parameters", "paths", "endless-names")
def _traps(zoo: SimWeb, monster: Monster) -> None:
    client = Client(zoo.port)
    url, seen = monster.url, set[str]()
    for _ in range(40):
        answer = client.get(url)
        assert answer.status == 200
        seen.add(url)
        url = next(link for link in links(url, answer)[::-1] if link not in seen)
    client.close()
    assert len(seen) == 40


@check("soft-404")
def _soft_404(zoo: SimWeb, monster: Monster) -> None:
    client = Client(zoo.port)
    lost = [client.get(f"http://{monster.host}/perdida-{n}.html") for n in range(3)]
    assert {(answer.status, answer.body) for answer in lost} == {(200, lost[0].body)}
    assert client.get(f"http://{monster.host}/real-1.html").body != lost[0].body
    client.close()


@check("sessions")
def _sessions(zoo: SimWeb, monster: Monster) -> None:
    first, second = (set(re.findall(rb'href="([^"]+)"', _get(zoo, monster.url))) for _ in range(2))
    assert first & second == {b"/"}
    assert {re.split(rb"[?;]", link)[0] for link in first} == {b"/", *(b"/pagina-%d.php" % n for n in range(1, 12))}
    text = [
        re.sub(rb"(?i)[0-9a-f]{32}", b"", _get(zoo, f"http://{monster.host}/pagina-3.php?PHPSESSID=a{n}")) for n in "ab"
    ]
    assert text[0] == text[1]


@check("mirror-a", "mirror-b")
def _mirrors(zoo: SimWeb, monster: Monster) -> None:
    other = monster.host.replace("-a.", "-b.") if "-a." in monster.host else monster.host.replace("-b.", "-a.")
    for path in ("/", "/7.html"):
        assert _get(zoo, f"http://{monster.host}{path}") == _get(zoo, f"http://{other}{path}")


@check("mixed-case")
def _mixed_case(zoo: SimWeb, monster: Monster) -> None:
    hrefs = re.findall(r'href="([^"]+)"', _get(zoo, monster.url).decode())
    assert len(set(hrefs)) == 20
    assert {(urlsplit(href).hostname, urlsplit(href).path) for href in hrefs} == {
        (monster.host, f"/{n}") for n in range(1, 6)
    }


def _get(zoo: SimWeb, url: str) -> bytes:
    client = Client(zoo.port)
    answer = client.get(url)
    client.close()
    assert answer.status == 200
    return answer.body


def _location(zoo: SimWeb, url: str) -> str:
    client = Client(zoo.port)
    answer = client.get(url)
    client.close()
    assert 300 < answer.status < 309
    return urljoin(url, answer.headers["location"])

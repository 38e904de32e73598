"""The simulated web as a client sees it: the same every time, reachable as promised, correct HTTP."""

import gzip
import io
import re
import socket
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter

import psutil
import pytest

from simweb import Settings, SimWeb, SimWebError
from simweb.model import CHARSET_SHARES, TROUBLE, Web
from tests.simweb.client import Client, Visit, crawl, decoded, visit
from tests.waiting import PATIENCE


def test_a_crawl_of_the_server_finds_exactly_what_the_model_promises(web: SimWeb) -> None:
    expected = web.crawl_map(web.seed_urls(1), requisites=True)
    found = crawl(web.port, web.seed_urls(1))
    assert found == {url: what.status for url, what in expected.items()}
    assert len(found) > 1500
    # The rough sides were really part of it.
    assert {200, 301, 302, 307, 308, 404, 410, 500} <= set(found.values())
    assert {web.web.host_at(i).robots for i in range(40)} >= {"rules", "delay", "missing", "error", "moved"}


def test_reachable_documents_leave_out_what_robots_forbid_and_include_what_only_sitemaps_list(web: SimWeb) -> None:
    host = web.web.host_at(0)
    by_trait = {trait: [n for n in range(40) if host.trait(n) == trait] for trait in ("private", "open", "orphan")}
    assert all(by_trait.values()), "choose a seed whose first host has each kind of page"
    found = web.reachable(host.url(0), scope="host")
    without = web.reachable(host.url(0), scope="host", sitemaps=False)
    assert not any(host.url(n) in found for n in by_trait["private"])
    assert all(host.url(n) in found for n in by_trait["open"])
    orphans = {host.url(n) for n in by_trait["orphan"]}
    assert orphans <= found
    # Nobody links to an orphan's own address; a redirect may still lead to it.
    redirected = {host.url(int(host.trouble(n).rpartition("/")[2])) for n in range(40) if host.trouble(n)}
    assert found - without == orphans - redirected
    assert all(url.startswith(host.origin) for url in found)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    def everything(seed: int) -> dict[str, bytes]:
        with SimWeb(seed=seed, hosts=4, pages_per_host=12) as web:
            client = Client(web.port)
            urls = [url for host in web.hosts() for url in web.urls(host)]
            web.advance(50)
            answers = {url: client.get(url, Accept_Encoding="gzip, br") for url in urls}
            client.close()
            return {url: repr(sorted(a.headers.items())).encode() + a.body for url, a in answers.items()}

    first, again, other = everything(5), everything(5), everything(6)
    assert first == again
    assert not set(first.values()) & set(other.values())


def test_pages_are_realistic() -> None:
    settings = Settings(seed=3, hosts=200, pages_per_host=100)
    model = Web(settings)
    hosts = [model.host_at(i) for i in range(200)]
    assert {host.language for host in hosts} >= {"es", "en", "pt", "fr", "it", "de", "ca", "ja"}
    assert {host.charset for host in hosts} == {charset for charset, _ in CHARSET_SHARES}
    assert {host.process(n).name for host in hosts[:20] for n in range(100)} == {
        "never", "hourly", "daily", "weekly", "poisson", "bursts", "seasons",
    }  # fmt: skip
    # Popularity follows a power law: the most linked tenth of a host's pages gets a third or more of the links.
    large = Web(Settings(seed=3, hosts=1, pages_per_host=2000)).host_at(0)
    linked = Counter(target for n in range(2000) for target in large.related(n))
    top = sum(count for _, count in linked.most_common(200))
    assert top > 0.3 * sum(linked.values()) > 10_000
    # Sizes are log-normal: the mean lies well above the median.
    sizes = sorted(model.page_sizes)
    assert sizes[128] == pytest.approx(24_000, rel=0.05)
    assert sum(sizes) / len(sizes) > 1.2 * sizes[128]


def test_every_page_carries_its_keyword_and_no_other_page_does(web: SimWeb, client: Client) -> None:
    urls = list(web.urls(web.hosts()[0]))[1:20]
    pages = {url: client.get(url).text() for url in urls}
    for url in urls:
        word = web.keyword(url)
        assert [other for other, text in pages.items() if word in text] == [url]


def test_charsets_are_declared_as_the_model_says_and_decode_to_the_same_words(web: SimWeb, client: Client) -> None:
    seen = set()
    for index in range(40):
        host = web.web.host_at(index)
        answer = client.get(host.url(1))
        charset = host.charset
        seen.add(charset.codec)
        header = re.search(r"charset=(\S+)", answer.headers["content-type"])
        assert (header[1] if header else "") == charset.header
        assert answer.body.startswith(charset.bom)
        text = answer.body.removeprefix(charset.bom).decode(charset.codec)
        assert host.headline(1) in text
        assert (f'<meta charset="{charset.meta}">' in text) == bool(charset.meta)
    assert len(seen) >= 4


def test_compressed_and_chunked_bodies_are_the_plain_ones(web: SimWeb, client: Client) -> None:
    seen = set()
    for name in web.hosts():
        host = web.web.host(name)
        assert host
        plain = client.get(host.url(2))
        packed = client.get(host.url(2), Accept_Encoding="gzip, deflate, br")
        assert packed.headers.get("content-encoding", "") == host.encoding
        assert decoded(packed) == plain.body
        assert ("transfer-encoding" in plain.headers) == host.chunked
        refused = client.get(host.url(2), Accept_Encoding="gzip;q=0, br;q=0")
        assert "content-encoding" not in refused.headers
        seen.add((host.encoding, host.chunked))
    assert len(seen) == 6


@pytest.mark.parametrize("kind", ["both", "etag", "weak", "modified", "none"])
def test_conditional_requests(web: SimWeb, client: Client, kind: str) -> None:
    hosts = [host for host in (web.web.host_at(i) for i in range(40)) if host.validators == kind]
    assert hosts
    for host in hosts[:3]:
        url = host.url(3)
        first = client.get(url)
        tag, modified = first.headers.get("etag"), first.headers.get("last-modified")
        assert bool(tag) == (kind in ("both", "etag", "weak"))
        assert bool(modified) == (kind in ("both", "modified"))
        if tag:
            assert client.get(url, If_None_Match=tag).status == 304
            assert client.get(url, If_None_Match=f'"other", {tag}').status == 304
            assert client.get(url, If_None_Match='"other"').status == 200
            # If-None-Match wins over If-Modified-Since.
            later = "Fri, 01 Jan 2100 00:00:00 GMT"
            assert client.get(url, If_None_Match='"other"', If_Modified_Since=later).status == 200
        if modified:
            answer = client.get(url, If_Modified_Since=modified)
            assert (answer.status, answer.body) == (304, b"")
            assert client.get(url, If_Modified_Since="Mon, 01 Jan 2001 00:00:00 GMT").status == 200
            assert client.get(url, If_Modified_Since="no date").status == 200
        if not tag and not modified:
            assert client.get(url, If_None_Match="*").status == 200


def test_feeds_sitemaps_and_pdfs_are_valid_files(web: SimWeb, client: Client) -> None:
    kinds = set()
    for index in range(40):
        host = web.web.host_at(index)
        feed = ElementTree.fromstring(client.get(host.origin + host.feed).body)
        entries = feed.findall("channel/item") or feed.findall("{http://www.w3.org/2005/Atom}entry")
        assert len(entries) > 10
        kinds.add((feed.tag, host.sitemap))
        if host.sitemap in ("xml", "index"):
            root = ElementTree.fromstring(client.get(f"{host.origin}/sitemap.xml").body)
            assert root.tag.endswith("urlset" if host.sitemap == "xml" else "sitemapindex")
        pdf = next((n for n in range(40) if host.trait(n) == "pdf"), None)
        if pdf and host.charset.codec != "shift_jis":
            import pypdfium2

            document = pypdfium2.PdfDocument(client.get(f"{host.origin}/docs/informe-{pdf}.pdf").body)
            assert host.keyword(pdf) in document[0].get_textpage().get_text_bounded()
    assert len(kinds) >= 6


def test_sitemap_parts_cover_a_large_host() -> None:
    with SimWeb(hosts=3, pages_per_host=1200, page_bytes=5000) as web:
        client = Client(web.port)
        host = web.web.host_at(0)
        assert host.sitemap == "index"
        text = client.get(f"{host.origin}/sitemap.xml").body.decode()
        parts = re.findall("<loc>([^<]+)</loc>", text)
        assert [part.rpartition("/")[2] for part in parts] == ["sitemap-1.xml", "sitemap-2.xml.gz", "sitemap-3.xml"]
        bodies = [client.get(part).body for part in parts]
        bodies[1] = gzip.GzipFile(fileobj=io.BytesIO(bodies[1])).read()
        listed = [url for body in bodies for url in re.findall("<loc>([^<]+)</loc>", body.decode())]
        assert listed == [host.url(n) for n in range(1200) if host.trait(n) != "private"]
        assert client.get(f"{host.origin}/sitemap-4.xml.gz").status == 404
        client.close()


def test_trouble_answers(web: SimWeb, client: Client) -> None:
    origin = web.seed_urls(1)[0].rstrip("/")
    statuses = {word: client.get(f"{origin}/{word}/5").status for word in TROUBLE}
    assert statuses == {word: status for word, (_, status) in TROUBLE.items()}
    busy = client.get(f"{origin}/ocupado/6")
    assert (busy.status, busy.headers["retry-after"]) == (503, "1")
    assert client.get(f"{origin}/ocupado/6").status == 200
    assert client.get(f"{origin}/refresco/5").headers["refresh"].startswith("0; url=http://")
    assert client.get(f"{origin}/corto/5").headers["location"].endswith("/viejo/5")
    assert client.get(f"{origin}/no-such-page-5.html").status == 404
    assert client.get("http://nobody.sim.test/").status == 404
    www = client.get(origin.replace("://", "://www.") + "/x?y=1")
    assert (www.status, www.headers["location"]) == (301, f"{origin}/x?y=1")


def test_without_trouble_no_link_leads_to_an_error_or_a_redirect() -> None:
    web = SimWeb(hosts=6, pages_per_host=80, trouble=0, robots="open")
    found = web.crawl_map(web.seed_urls(1))
    assert {what.status for what in found.values()} == {200}
    pages = [url for url, what in found.items() if what.kind == "page"]
    assert len(pages) == 6 * 80


def test_head_and_other_methods(web: SimWeb, client: Client) -> None:
    url = web.seed_urls(1)[0]
    assert client.get(url, "HEAD").body == b""
    assert client.get(url).status == 200  # the connection is still in step
    assert client.get(url, "POST").status == 405


def test_pipelined_requests_are_answered_in_order(web: SimWeb) -> None:
    host = web.web.host_at(0)
    request = "GET {} HTTP/1.1\r\nHost: {}\r\n{}\r\n"
    numbers = [3, 1, 2, 5, 4]
    batch = "".join(request.format(host.path(n), host.name, "") for n in numbers[:-1])
    batch += request.format(host.path(numbers[-1]), host.name, "Connection: close\r\n")
    with socket.create_connection(("127.0.0.1", web.port), timeout=PATIENCE) as connection:
        for start in range(0, len(batch), 17):  # requests cut anywhere
            connection.sendall(batch[start : start + 17].encode())
        data = b""
        while piece := connection.recv(1 << 16):
            data += piece
    positions = [data.find(f'<link rel="canonical" href="{host.url(n)}">'.encode()) for n in numbers]
    assert positions == sorted(positions)
    assert -1 not in positions
    assert data.count(b"HTTP/1.1 200 OK") == 5


@pytest.mark.parametrize("garbage", [b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"A" * 70_000])
def test_broken_requests_are_refused(web: SimWeb, garbage: bytes) -> None:
    with socket.create_connection(("127.0.0.1", web.port), timeout=PATIENCE) as connection:
        connection.sendall(garbage)
        data = b""
        try:
            while piece := connection.recv(1 << 16):
                data += piece
        except ConnectionResetError:
            pass
    assert Visit(data, "").status in (400, 431)


def test_a_million_pages_start_at_once_in_little_memory() -> None:
    with SimWeb(hosts=1000, pages_per_host=1000) as web:
        server = psutil.Process(web.pid)
        spent = server.cpu_times()
        client = Client(web.port)
        urls = [web.web.host_at(i).url(999) for i in range(0, 1000, 50)]
        assert all(client.get(url).status == 200 for url in urls)
        memory = server.memory_info().rss
        client.close()
    assert spent.user + spent.system < 10  # 0.4 s here; making a million pages takes minutes
    assert memory < 120 << 20


def test_the_server_ends_with_its_parent() -> None:
    code = "import os; from simweb import SimWeb; print(SimWeb().start().pid, flush=True); os.kill(os.getpid(), 9)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=PATIENCE, check=False).stdout
    pid = int(output.split()[0])
    try:
        psutil.Process(pid).wait(PATIENCE)
    except psutil.NoSuchProcess:
        pass


def test_errors_say_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="`changes` is 'sometimes'; choose mixed, never"):
        Settings(changes="sometimes")
    with pytest.raises(ValueError, match="`hosts` is 0; it must be at least 1"):
        SimWeb(hosts=0)
    web = SimWeb(hosts=2)
    with pytest.raises(SimWebError, match="is no page of this web"):
        web.truth("http://noticias-0000.sim.test/nothing")
    with pytest.raises(SimWebError, match="no host 'x'"):
        web.urls("x")


def test_visit_reads_a_plain_page(web: SimWeb) -> None:
    assert visit(web.port, web.hosts()[0], "/").status == 200


def test_a_slow_reader_of_a_large_answer_gets_all_of_it_and_leaves_no_trace(capfd: pytest.CaptureFixture[str]) -> None:
    """The answer does not fit into the buffers of the connection, which closes after it."""
    with SimWeb(hosts=1, pages_per_host=2, zoo=True) as web:
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(PATIENCE)
            connection.connect(("127.0.0.1", web.port))
            connection.sendall(b"GET /huge-attribute HTTP/1.1\r\nHost: zoo.sim.test\r\nConnection: close\r\n\r\n" * 2)
            data = bytearray()
            while piece := connection.recv(20_000):
                data += piece
        assert data.endswith(b'">after the attribute')
        assert data.count(b"HTTP/1.1 200 OK") == 1
        assert web.stats().hosts["zoo.sim.test"].active == 0
    assert "Traceback" not in capfd.readouterr().err

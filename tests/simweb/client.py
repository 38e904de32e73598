"""A small bounded HTTP client and a plain breadth-first crawler, written apart from the model they check."""

import gzip
import http.client
import re
import socket
from collections import deque
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin, urlsplit
from urllib.robotparser import RobotFileParser

import brotli

from tests.waiting import PATIENCE


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def text(self) -> str:
        return decoded(self).decode("utf-8", "replace")


class Client:
    """GETs over kept-alive connections, one per host name."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._connections: dict[str, http.client.HTTPConnection] = {}

    def get(self, url: str, method: str = "GET", **headers: str) -> Answer:
        parts = urlsplit(url)
        name = parts.netloc.lower()
        connection = self._connections.get(name)
        if connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            self._connections[name] = connection
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, target, headers={"Host": name, "Accept-Encoding": "identity", **sent})
        response = connection.getresponse()
        body = response.read()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, body)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()


@dataclass
class Visit:
    """What came back from a monster, and how it ended: closed, reset, limit or timeout."""

    data: bytes
    end: str

    @property
    def head(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[0]

    @property
    def body(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[2]

    @property
    def status(self) -> int:
        match = re.match(rb"HTTP/1\.1 (\d{3})", self.data)
        return int(match[1]) if match else 0


def visit(
    port: int, host: str, target: str, *, limit: int = 4 << 20, silence: float = PATIENCE, begins: bool = True
) -> Visit:
    """One raw request, never more than `limit` bytes and never `silence` seconds without a byte.

    What `begins` to answer may take its time for the first byte: how long is a matter of the machine.
    """
    parts: list[bytes] = []
    size = 0
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE if begins else silence) as connection:
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        while size < limit:
            try:
                data = connection.recv(1 << 16)
            except TimeoutError:
                return Visit(b"".join(parts), "timeout")
            except ConnectionResetError:
                return Visit(b"".join(parts), "reset")
            if not data:
                return Visit(b"".join(parts), "closed")
            connection.settimeout(silence)
            parts.append(data)
            size += len(data)
    return Visit(b"".join(parts), "limit")


def decoded(answer: Answer) -> bytes:
    match answer.headers.get("content-encoding"):
        case "gzip":
            return gzip.decompress(answer.body)
        case "br":
            return brotli.decompress(answer.body)
    return answer.body


def crawl(port: int, seeds: list[str]) -> dict[str, int]:
    """Every URL a polite robot can find (pages, files, feeds, sitemaps' pages) with its last status."""
    client = Client(port)
    queue, known, found = deque(seeds), set(seeds), {}
    robots: dict[str, RobotFileParser] = {}

    def add(url: str) -> None:
        url = _canonical(url)
        if url not in known:
            known.add(url)
            queue.append(url)

    while queue:
        url = queue.popleft()
        origin = "http://" + urlsplit(url).netloc
        if origin not in robots:
            robots[origin] = _robots(client, origin)
            for sitemap in robots[origin].site_maps() or []:
                for listed in _sitemap(client, sitemap):
                    add(listed)
        if not _allowed(robots[origin], url):
            continue
        answer = client.get(url, Accept_Encoding="gzip, br")
        while answer.status in (429, 503):
            answer = client.get(url, Accept_Encoding="gzip, br")
        found[url] = answer.status
        for link in links(url, answer):
            add(link)
    client.close()
    return found


def links(url: str, answer: Answer) -> list[str]:
    """Absolute addresses of everything a document refers to."""
    if 300 <= answer.status < 400:
        return [urljoin(url, answer.headers["location"])]
    kind = answer.headers.get("content-type", "")
    if kind.startswith("text/html"):
        parser = _Links(url)
        parser.feed(decoded(answer).decode(_charset(answer), "replace"))
        return parser.found
    if kind.startswith("text/css"):
        return [urljoin(url, ref) for ref in re.findall(r'(?:url\(|@import )"?([^")]+)', answer.body.decode())]
    if "rss" in kind or "atom" in kind:
        text = decoded(answer).decode()
        return [
            ref.replace("&amp;", "&")
            for ref in re.findall(r'<link>([^<]+)|<link href="([^"]+)', text)
            for ref in ref
            if ref
        ]
    return []


class _Links(HTMLParser):
    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "base":
            self.base = values["href"]
            return
        if values.get("rel") == "nofollow":
            return
        for name in ("href", "src"):
            if name in values:
                self.found.append(_join(self.base, values[name]))
        for candidate in values.get("srcset", "").split(","):
            if candidate.strip():
                self.found.append(_join(self.base, candidate.split()[0]))


def _join(base: str, href: str) -> str:
    """`urljoin`, with its easy cases done at once: it takes most of the time otherwise."""
    if href.startswith("http://"):
        return href
    if href.startswith("/") and not href.startswith("//"):
        return "/".join(base.split("/", 3)[:3]) + href
    return urljoin(base, href)


def _charset(answer: Answer) -> str:
    body = decoded(answer)
    if body.startswith(b"\xff\xfe"):
        return "utf-16"
    match = re.search(r"charset=(\S+)", answer.headers.get("content-type", ""))
    if match:
        return match[1]
    meta = re.search(rb'<meta charset="([^"]+)', body)
    return meta[1].decode() if meta else "utf-8"


def _robots(client: Client, origin: str) -> RobotFileParser:
    """RFC 9309: no file allows everything, a broken server forbids everything, redirects are followed."""
    parser = RobotFileParser()
    answer = client.get(f"{origin}/robots.txt")
    if answer.status == 301:
        answer = client.get(urljoin(origin, answer.headers["location"]))
    if answer.status >= 500:
        parser.disallow_all = True
    elif answer.status >= 400:
        parser.allow_all = True
    else:
        parser.parse(answer.body.decode().splitlines())
    return parser


def _allowed(robots: RobotFileParser, url: str) -> bool:
    """The standard library takes the first rule, not the longest, and knows no `*`; simweb uses these three rules."""
    if robots.disallow_all:
        return False
    if robots.allow_all or not robots.default_entry:
        return True
    rules = {(line.path, line.allowance) for line in robots.default_entry.rulelines}
    assert rules == {("/privado/", False), ("/privado/abierto/", True), ("/%2Aorden%3D", False)}, rules
    path = url.split("/", 3)[3]
    private = path.startswith("privado/") and not path.startswith("privado/abierto/")
    return not private and "orden=" not in path


def _sitemap(client: Client, url: str) -> list[str]:
    body = client.get(url).body
    text = (gzip.decompress(body) if url.endswith(".gz") else body).decode()
    if url.endswith(".txt"):
        return text.split()
    found = [loc.replace("&amp;", "&") for loc in re.findall("<loc>([^<]+)</loc>", text)]
    return [page for part in found for page in _sitemap(client, part)] if "<sitemapindex" in text else found


def _canonical(url: str) -> str:
    parts = urlsplit(urldefrag(url)[0])
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{parts.netloc.lower().removesuffix(':80')}{parts.path or '/'}{query}"

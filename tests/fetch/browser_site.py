"""A web of small, unpleasant pages for the tests of the browser, on loopback under `*.site.test`."""

import gzip
import json
import selectors
import socket
import threading
import time
from collections import Counter
from pathlib import Path

from hemeroteca.fetch import FetchSettings, Request
from hemeroteca.fetch.browser import BrowserFetcher, BrowserSettings, Rendered
from tests.fetch.conftest import RawServer
from tests.waiting import wait_for

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cfc00000000301"
    "0100a5f645400000000049454e44ae426082"
)
STORY = "Un texto que solo existe cuando los programas de la página han terminado su trabajo."


class Site:
    """Serves `pages` (path → HTML) and some fixed paths; counts what it is asked for."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        self.asked: Counter[str] = Counter()
        self.heads: dict[str, bytes] = {}
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self.server = RawServer(self._answer)
        self.port = self.server.port
        self.api = gzip.compress(json.dumps({"story": STORY}).encode(), mtime=0)

    def _answer(self, connection: socket.socket, head: bytes, path: str) -> bool:
        with self._lock:
            self.asked[path] += 1
            self.heads[path] = head
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return self._say(connection, head, path)
        finally:
            with self._lock:
                self._at_once -= 1

    def _say(self, connection: socket.socket, head: bytes, path: str) -> bool:
        if path in self.pages:
            return _send(connection, self.pages[path].encode(), "text/html; charset=utf-8")
        if path.startswith("/api"):
            return _send(connection, self.api, "application/json", "Content-Encoding: gzip")
        if path.startswith("/image"):
            return _send(connection, PIXEL, "image/png")
        if path.startswith("/slow"):
            time.sleep(0.15)
            return _send(connection, PIXEL, "image/png")
        if path.startswith("/to/"):
            return _send(connection, b"moved", "text/html", f"Location: {path[4:]}", status="302 Found")
        if path == "/file":
            return _send(connection, b"x" * 5000, "application/zip", "Content-Disposition: attachment; filename=a.zip")
        if path == "/big":
            return _send(connection, b"x" * 600_000, "application/octet-stream")
        if path == "/cookie-wall":
            if b"pass=1" in head:
                return _send(connection, b"<title>in</title><p>behind the wall", "text/html")
            return _send(
                connection, b"", "text/html", "Location: /cookie-wall", "Set-Cookie: pass=1", status="302 Found"
            )
        if path == "/shared":
            opened = ["Access-Control-Allow-Origin: *", "Access-Control-Allow-Headers: x-own"]
            return _send(connection, b"" if head.startswith(b"OPTIONS") else b"given", "text/plain", *opened)
        if path == "/endless":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
            while True:
                connection.sendall(b"more ")
                time.sleep(0.05)
        if path == "/post":
            while b"\r\n\r\nhello" not in head:
                head += connection.recv(1000)
            return _send(connection, b"thanks", "text/plain")
        return _send(connection, b"<p>nothing here", "text/html", status="404 Not Found")


class Window:
    """A browser and the loop its caller would run."""

    def __init__(self, spool: Path, site: Site, ca_file: str = "", allow_private: bool = False, **fields) -> None:
        self.spool = spool
        resolve = (f"*.site.test=127.0.0.1:{site.port}", *fields.pop("resolve", ()))
        fetch = FetchSettings(
            spool_dir=spool,
            resolve=resolve,
            user_agent="Hemeroteca/test",
            ca_file=ca_file,
            allow_private=allow_private,
        )
        self.settings = BrowserSettings(**{"fetch": fetch, "timeout": 30.0, **fields})
        self.selector = selectors.DefaultSelector()
        self.browser = BrowserFetcher(self.settings, self.selector)
        self.results: list[Rendered] = []

    def open(self, url: str, allowed=None, **fields) -> Rendered:
        self.results.clear()
        request = Request(**{"url": url, "allow_private": True, **fields})  # the site's own host only
        self.browser.submit(request, self.results.append, allowed)
        self.until(lambda: self.results)
        return self.results[0]

    def until(self, condition) -> None:
        wait_for(condition, turn=self._turn)

    def _turn(self) -> None:
        timeout = self.browser.timeout()
        for key, mask in self.selector.select(0.2 if timeout is None else min(0.2, timeout)):
            key.data(key.fd, mask)
        self.browser.tick()

    def close(self) -> None:
        self.browser.close()
        self.selector.close()


def by_url(rendered: Rendered) -> dict[str, object]:
    return {exchange.request.url: exchange for exchange in rendered.exchanges}


def _send(connection: socket.socket, body: bytes, kind: str, *headers: str, status: str = "200 OK") -> bool:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers, "", ""]
    connection.sendall("\r\n".join(lines).encode() + body)
    return True

"""A server of few pages under any host name, each answered to the letter; it counts what it is asked."""

import socket
import threading
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from tests.fetch.conftest import RawServer

HOST = "www.site.test"


class Answer(NamedTuple):
    body: bytes = b""
    kind: str = "text/html"
    status: int = 200
    headers: bytes = b""


class Pages:
    """`pages`: by path on HOST, or by host and path. `other`: what it says to all else."""

    def __init__(self) -> None:
        self.pages: dict[str, Answer | bytes | str] = {}
        self.other: Callable[[str, str], Answer] = lambda host, path: Answer(status=404)
        self.asked: Counter[str] = Counter()  # paths on HOST, host and path elsewhere
        self.heads: dict[str, bytes] = {}
        self.most_at_once = 0
        self.hold: Callable[[], None] = lambda: None  # while a request is under way
        self._at_once = 0
        self._lock = threading.Lock()
        self.server = RawServer(self._answer)

    @property
    def resolve(self) -> str:
        return f"*.test=127.0.0.1:{self.server.port}"

    def _answer(self, connection: socket.socket, head: bytes, path: str) -> bool:
        host = head.lower().partition(b"host: ")[2].partition(b"\r\n")[0].decode()
        name = path if host == HOST else host + path
        with self._lock:
            self.asked[name] += 1
            self.heads[name] = head
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        self.hold()
        with self._lock:
            self._at_once -= 1
        found = self.pages.get(name)
        if found is None:
            found = self.other(host, path)
        if isinstance(found, str):
            found = found.encode()
        if isinstance(found, bytes):
            found = Answer(found)
        lines = f"HTTP/1.1 {found.status} X\r\nContent-Type: {found.kind}\r\nContent-Length: {len(found.body)}\r\n"
        connection.sendall(lines.encode() + found.headers + b"\r\n" + found.body)
        return True

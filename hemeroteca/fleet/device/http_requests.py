"""Requests with the standard library: one name resolved, every address checked, the checked one used. Redirects are
answers like others. Hard limits on time and size. Whatever the coordinator says, only public addresses, http and https,
and the ports 80 and 443; a laboratory may open both (`--allow-private`)."""

from __future__ import annotations

import hashlib
import http.client
import io
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from hemeroteca.fetch.guard import Guard
from hemeroteca.fleet.device.result_file import FetchedUrl

PORTS = {"http": 80, "https": 443}
MAX_HEAD = 64 << 10


@dataclass
class RequestOrder:
    """One request to make."""

    url: str
    agent: str
    method: str = "GET"
    headers: list[tuple[str, str]] = field(default_factory=list)
    timeout: float = 30.0
    max_bytes: int = 8 << 20
    certificate: bool = False  # look at the certificate


Done = Callable[[FetchedUrl], None]


class ThreadFetching:
    """A few threads that fetch. `submit` never waits; the answer comes from one of the threads."""

    def __init__(self, guard: Guard, parallel: int, any_port: bool = False, resolve: Callable[..., Any] | None = None):
        self._guard = guard
        self._any_port = any_port
        self._resolve = resolve or socket.getaddrinfo
        self._orders: queue.Queue[tuple[RequestOrder, Done] | None] = queue.Queue()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(parallel)]
        for thread in self._threads:
            thread.start()

    def submit(self, order: RequestOrder, done: Done) -> None:
        self._orders.put((order, done))

    def close(self) -> None:
        for _ in self._threads:
            self._orders.put(None)

    def _run(self) -> None:
        while True:
            item = self._orders.get()
            if item is None:
                return
            order, done = item
            done(fetch(order, self._guard, self._any_port, self._resolve))


def refusal(url: str, any_port: bool = False) -> str:
    """Why a URL is not asked at all, before its name is looked up."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "not a web address"
    if parts.scheme not in PORTS or not parts.hostname or parts.username or parts.password:
        return "not a plain http or https address"
    if any(ord(letter) <= 32 or ord(letter) > 126 for letter in url):
        return "an address with letters that do not belong there"
    if port not in (None, PORTS[parts.scheme]) and not any_port:
        return f"port {port}: only 80 and 443 are asked"
    return ""


def fetch(order: RequestOrder, guard: Guard, any_port: bool, resolve: Callable[..., Any]) -> FetchedUrl:
    answer = FetchedUrl(order.url)
    begun = time.monotonic()
    wrong = refusal(order.url, any_port)
    if wrong:
        answer.failure, answer.detail = "refused-address", wrong
        return answer
    parts = urlsplit(order.url)
    host = str(parts.hostname)
    port = parts.port or PORTS[parts.scheme]
    try:
        address, family = _public(host, port, guard, resolve, answer)
        if not address:
            return answer
        _exchange(order, answer, parts, host, port, address, family, begun)
    except socket.timeout:
        answer.failure, answer.detail = "timeout", f"no whole answer within {order.timeout:g} s"
    except ssl.SSLError as error:
        answer.failure, answer.detail = "tls", str(error.reason or error)
    except (OSError, http.client.HTTPException, ValueError) as error:
        answer.failure, answer.detail = "connection", str(error) or type(error).__name__
    answer.seconds = time.monotonic() - begun
    if answer.failure:
        answer.status = 0
    return answer


def _public(host: str, port: int, guard: Guard, resolve: Callable[..., Any], answer: FetchedUrl) -> tuple[str, int]:
    """The first public address of a name; all others are passed over."""
    try:
        found = resolve(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        answer.failure, answer.detail = "dns", str(error)
        return "", 0
    refused = []
    for family, _, _, _, place in found:
        ip = str(place[0])
        reason = guard.check(ip)  # what is bound to one interface (fe80::1%eth0) is no address for the guard
        if reason is None:
            answer.ip = ip
            return ip, family
        refused.append(f"{ip}: {reason}")
    answer.failure, answer.detail = (
        "refused-address",
        f"{host} is not on the public internet ({'; '.join(refused[:3])})",
    )
    return "", 0


def _exchange(
    order: RequestOrder, answer: FetchedUrl, parts: Any, host: str, port: int, address: str, family: int, begun: float
) -> None:
    sock: socket.socket = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(min(20.0, _left(order, begun)))
        sock.connect((address, port))
        sock.settimeout(_left(order, begun))
        if parts.scheme == "https":
            sock = ssl.create_default_context().wrap_socket(sock, server_hostname=host)
            if order.certificate and isinstance(sock, ssl.SSLSocket):
                answer.certificate = hashlib.sha256(sock.getpeercert(binary_form=True) or b"").hexdigest()
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        bracketed = f"[{host}]" if ":" in host else host
        authority = bracketed if port == PORTS[parts.scheme] else f"{bracketed}:{port}"
        lines = [f"{order.method} {target} HTTP/1.1", f"Host: {authority}", f"User-Agent: {order.agent}"]
        given = {name.lower() for name, _ in order.headers}
        if "accept" not in given:
            lines.append("Accept: */*")
        lines += [f"{name}: {value}" for name, value in order.headers if "\n" not in value and "\r" not in value]
        lines += ["Accept-Encoding: gzip", "Connection: close"]
        answer.request_head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
        answer.started = time.time()
        sock.settimeout(_left(order, begun))
        sock.sendall(answer.request_head)
        _read(order, answer, sock, begun)
    finally:
        sock.close()


def _read(order: RequestOrder, answer: FetchedUrl, sock: socket.socket, begun: float) -> None:
    response = http.client.HTTPResponse(_Timed(sock, order, begun), method=order.method)  # type: ignore[arg-type]
    try:
        response.begin()
        fields = response.getheaders()
        version = "1.0" if response.version == 10 else "1.1"
        head = f"HTTP/{version} {response.status} {response.reason}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in fields)
        if len(head) > MAX_HEAD:
            raise ValueError(f"a head of more than {MAX_HEAD} bytes")
        answer.response_head = (head + "\r\n").encode("latin-1", "replace")
        answer.status = response.status
        pieces, size = [], 0
        while size <= order.max_bytes:
            piece = response.read1(1 << 16)
            if not piece:
                break
            pieces.append(piece)
            size += len(piece)
        answer.body = b"".join(pieces)[: order.max_bytes]
        if size > order.max_bytes:
            answer.truncated = "length"
    finally:
        response.close()


class _Timed(io.RawIOBase):
    """A socket that is read until the request's time is over, however slowly its bytes drip."""

    def __init__(self, sock: socket.socket, order: RequestOrder, begun: float) -> None:
        self._sock, self._order, self._begun = sock, order, begun

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(_left(self._order, self._begun))
        return self._sock.recv_into(buffer)


def _left(order: RequestOrder, begun: float) -> float:
    left = begun + order.timeout - time.monotonic()
    if left <= 0:
        raise socket.timeout
    return left

"""The HTTP/1.1 server: one event loop, keep-alive, safe with pipelining, every virtual host behind one port.

It parses just enough of HTTP to be a correct origin server for GET and HEAD, asks the site for an answer and writes it
in one piece. Monsters write their own bytes: an answer may be a stream of bytes and pauses.
"""

import asyncio
import gc
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any

from simweb.clock import http_date
from simweb.messages import Request, Stream
from simweb.model import Settings
from simweb.politeness import HostLog
from simweb.site import Site
from simweb.tls import self_signed_context

MAX_HEAD = 64 << 10
MAX_REQUEST_BODY = 1 << 20
IDLE_SECONDS = 90
CHUNK = 8 << 10
REASONS = {status.value: status.phrase for status in HTTPStatus}


def serve(settings: Settings, port: int, ready: Callable[[int, int | None], None], attached: bool = False) -> None:
    """Run a simulated web until SIGTERM or SIGINT; `attached`: also until standard input closes (the parent is gone).

    `ready` is called with the port and the TLS port (None without zoo or TLS) once connections are accepted.
    """
    asyncio.run(_serve(settings, port, ready, attached))


async def _serve(settings: Settings, port: int, ready: Callable[[int, int | None], None], attached: bool) -> None:
    loop = asyncio.get_running_loop()
    site = Site(settings)
    make = partial(Connection, site, loop)
    server = await loop.create_server(make, "127.0.0.1", port, backlog=4096)
    site.port = server.sockets[0].getsockname()[1]
    tls_server = None
    if settings.zoo and (context := self_signed_context()):
        tls_server = await loop.create_server(make, "127.0.0.1", 0, ssl=context, backlog=256)
        site.tls_port = tls_server.sockets[0].getsockname()[1]

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if attached:
        loop.add_reader(sys.stdin.fileno(), lambda: None if os.read(sys.stdin.fileno(), 4096) else stop.set())
    # A TLS monster makes clients break the handshake: nothing to report.
    loop.set_exception_handler(_report_unless_network)
    sweeper = asyncio.create_task(_close_idle_connections(site))
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)  # pages leave no cycles behind; collecting often only costs time
    ready(site.port, site.tls_port)
    await stop.wait()
    sweeper.cancel()
    for listener in (server, tls_server):
        if listener:
            listener.close()
    for connection in list(site.connections):
        connection.abort()


def _report_unless_network(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if not isinstance(context.get("exception"), OSError):  # ssl.SSLError is one
        loop.default_exception_handler(context)


async def _close_idle_connections(site: Site) -> None:
    while True:
        await asyncio.sleep(IDLE_SECONDS / 3)
        oldest = time.monotonic() - IDLE_SECONDS
        for connection in list(site.connections):
            connection.close_if_idle(oldest)


class Connection(asyncio.Protocol):
    """One client connection; answers its requests strictly one after the other."""

    def __init__(self, site: Site, loop: asyncio.AbstractEventLoop) -> None:
        self._site = site
        self._loop = loop
        self._buffer = b""
        self._busy = False  # a response is under way
        self._paused = False  # the client does not read
        self._reading = True
        self._close_after = False
        self._log: HostLog | None = None
        self._status = 0
        self._seen: dict[str, HostLog] = {}
        self._stream: Stream | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._used = time.monotonic()

    # -- asyncio calls these

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=0)  # so that we know when the last byte was handed over
        self._site.connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        if not self._busy:
            self._answer_requests()
        elif self._reading and len(self._buffer) > MAX_HEAD:
            self._reading = False
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        # Not at once: asyncio ends a connection twice when its protocol closes it inside this call.
        self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        if self._paused or self._transport.is_closing():
            return
        if self._stream:
            if not self._timer:
                self._pump()
        elif self._busy and not self._timer:
            self._finish()
            self._answer_requests()

    def connection_lost(self, error: Exception | None) -> None:
        self._site.connections.discard(self)
        if self._timer:
            self._timer.cancel()
        self._stream = None
        if self._busy:
            self._busy = False
            self._end_log()
        for log in self._seen.values():
            log.connections -= 1

    # -- requests

    def _answer_requests(self) -> None:
        while self._buffer and not self._busy and not self._transport.is_closing():
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if self._buffer[:2] == b"\x16\x03":  # somebody speaks TLS to a plain port
                    self._refuse(400)
                elif len(self._buffer) > MAX_HEAD:
                    self._refuse(431)
                return
            request = _parse(self._buffer[:end])
            if request is None:
                self._refuse(400)
                return
            rest = end + 4
            if request.method not in ("GET", "HEAD"):
                length = request.headers.get("content-length", "0")
                if "transfer-encoding" in request.headers or not length.isdecimal() or int(length) > MAX_REQUEST_BODY:
                    self._refuse(413)
                    return
                if len(self._buffer) < rest + int(length):
                    return
                request.body = self._buffer[rest : rest + int(length)]
                rest += int(length)
            self._buffer = self._buffer[rest:]
            if not self._reading:
                self._reading = True
                self._transport.resume_reading()
            self._begin(request)

    def _begin(self, request: Request) -> None:
        site = self._site
        self._busy = True
        self._used = time.monotonic()
        connection = request.headers.get("connection", "").lower()
        self._close_after = "close" in connection or (request.version == "HTTP/1.0" and "keep-alive" not in connection)
        if not site.is_admin(request.host):
            name = site.log_name(request.host)
            self._log = log = site.log.start(name, request.target, site.forbids(request.host, request.target))
            if name not in self._seen:
                self._seen[name] = log
                site.log.connected(log)
            delay = site.delay(request)
            if delay:
                self._timer = self._loop.call_later(delay, self._respond_later, request)
                return
        self._respond(request)

    def _respond_later(self, request: Request) -> None:
        self._timer = None
        self._respond(request)
        self._answer_requests()

    def _respond(self, request: Request) -> None:
        answer = self._site.answer(request)
        self._status = answer.status
        if isinstance(answer, Stream):
            self._stream = answer
            self._pump()
            return
        head = (
            f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, '')}\r\nServer: simweb\r\n"
            f"Date: {http_date(self._site.clock.now())}\r\n{answer.extra}"
        )
        if self._close_after:
            head += "Connection: close\r\n"
        if answer.media_type:
            head += f"Content-Type: {answer.media_type}\r\n"
        body = answer.body
        if answer.status == 304 or answer.status < 200:
            body = b""
        elif answer.chunked and request.version == "HTTP/1.1":
            head += "Transfer-Encoding: chunked\r\n"
            body = _chunks(body)
        else:
            head += f"Content-Length: {len(body)}\r\n"
        if request.method == "HEAD":
            body = b""
        everything = f"{head}\r\n".encode("latin-1") + body
        ended = time.monotonic()
        self._transport.write(everything)
        if not self._paused:
            self._finish(ended)

    def _refuse(self, status: int) -> None:
        """The request cannot even be read: say so and hang up."""
        self._transport.write(f"HTTP/1.1 {status} {REASONS[status]}\r\nConnection: close\r\n\r\n".encode())
        self._transport.close()

    # -- responses

    def _pump(self) -> None:
        """Send a stream for as long as the client reads; let others have a turn now and then."""
        self._timer = None
        stream = self._stream
        for _ in range(16):
            if stream is None or self._paused or self._transport.is_closing():
                return
            part = next(stream.parts, None)
            if part is None:
                self._end_stream(stream)
                return
            if isinstance(part, bytes):
                self._transport.write(part)
            else:
                self._timer = self._loop.call_later(part, self._pump)
                return
        self._timer = self._loop.call_later(0, self._pump)

    def _end_stream(self, stream: Stream) -> None:
        self._stream = None
        if stream.end == "hang":
            return
        if stream.end == "reset":
            # Closing with unsent data thrown away makes the kernel send RST.
            raw = self._transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()
        elif stream.end == "close":
            self._close_after = True
            self._finish()
        else:
            self._finish()
            self._answer_requests()

    def _finish(self, ended: float | None = None) -> None:
        self._busy = False
        self._used = ended or time.monotonic()
        self._end_log(ended)
        if self._close_after:
            self._transport.close()

    def _end_log(self, ended: float | None = None) -> None:
        if self._log is not None:
            self._site.log.end(self._log, self._status, ended)
            self._log = None

    def close_if_idle(self, oldest: float) -> None:
        if not self._busy and self._used < oldest:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()


def _parse(head: bytes) -> Request | None:
    """Request line and headers; None when they make no sense."""
    lines = head.decode("latin-1").split("\r\n")
    parts = lines[0].split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        return None
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon:
            return None
        headers[name.lower()] = value.strip()
    method, target, version = parts
    host = headers.get("host", "")
    if target.startswith("http://"):  # the form a proxy gets
        host, _, rest = target[7:].partition("/")
        target = f"/{rest}"
    return Request(method, target, host.partition(":")[0].lower(), version, headers)


def _chunks(body: bytes) -> bytes:
    """The chunked form of a body."""
    parts = []
    for start in range(0, len(body), CHUNK):
        piece = body[start : start + CHUNK]
        parts += [b"%x\r\n" % len(piece), piece, b"\r\n"]
    return b"".join([*parts, b"0\r\n\r\n"])

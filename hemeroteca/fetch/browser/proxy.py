"""The only way out of the browser: a proxy on loopback that opens every connection's TLS and hands over requests.

It connects to nothing itself: a request goes to the page's `Traffic`, which fetches it like any other. What is not an
HTTP request (WebSockets, other tunnels) ends here. Why TLS is opened: docs/decisions/0015-browser.md.
"""

import asyncio
import base64
import hashlib
import os
import re
import socket
import ssl
import subprocess
import tempfile
from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from hemeroteca.fetch.browser.traffic import Traffic
from hemeroteca.fetch.request import Result

_MAX_HEAD = 128 << 10
_MAX_CONTENT = 1 << 20  # of a request
_IDLE_SECONDS = 120.0
_MAX_CONNECTIONS = 256

_REQUEST_LINE = re.compile(r"([A-Z]{1,20}) ([!-~]{1,65536}) HTTP/1\.[01]").fullmatch
_AUTHORITY = re.compile(r"[0-9A-Za-z._~\-]{1,253}:[0-9]{1,5}|\[[0-9A-Fa-f:.]{2,45}\]:[0-9]{1,5}").fullmatch
# Between the browser and us only; `accept-encoding` is made anew. No language either: a plain fetch names none, and the
# page must be the same one.
_BETWEEN_US = """
    host connection proxy-connection proxy-authorization keep-alive te trailer transfer-encoding upgrade expect
    content-length accept-encoding accept-language
"""
_NOT_FORWARDED = frozenset(_BETWEEN_US.split())
# Length and connection are ours; the others would make the browser ask for more by itself, now or later.
_OURS_OR_MORE = """
    connection proxy-connection proxy-authenticate keep-alive te trailer transfer-encoding upgrade content-length
    alt-svc nel report-to reporting-endpoints
"""
_NOT_RETURNED = frozenset(_OURS_OR_MORE.split())
_DECODED_LATER = ("gzip", "deflate", "br")  # encodings `extract` can read
_BODILESS = (204, 304)
# Two lengths: the browser sees a network error, as it would without a proxy, and does not try again.
_NO_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 1\r\nConnection: close\r\n\r\n"
_NO_PAGE = b"HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n"  # the navigation ends where it began


class Certificate(NamedTuple):
    """What the proxy shows for every host, and how the browser knows it."""

    context: ssl.SSLContext
    fingerprint: str  # base64 SHA-256 of the public key


class BrowserProxy:
    """Serves the browser; requests belong to the page in `traffic`, and are refused while there is none."""

    def __init__(self, certificate: Certificate) -> None:
        self.traffic: Traffic | None = None
        self.agent = ""  # the User-Agent of pages
        self._certificate = certificate
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]
        self._tasks: set[asyncio.Task[None]] = set()
        self._accepting = asyncio.create_task(self._accept())

    def close(self) -> None:
        """Ends every connection."""
        self._accepting.cancel()
        for task in self._tasks:
            task.cancel()
        self._socket.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, peer = await loop.sock_accept(self._socket)
            if len(self._tasks) >= _MAX_CONNECTIONS or not _is_ours(peer[1], self.port):
                connection.close()
                continue
            task = asyncio.create_task(self._serve(connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: socket.socket) -> None:
        try:
            if await _peek(connection, 8) == b"CONNECT ":
                await self._tunnel(connection)
            else:
                await self._requests(connection, "", None)
        except (OSError, EOFError, ValueError, TimeoutError, asyncio.LimitOverrunError):
            pass  # the browser went away, or is not talking HTTP
        finally:
            connection.close()

    async def _tunnel(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        head = b""
        while not head.endswith(b"\r\n\r\n"):  # nothing follows it before our answer
            piece = await asyncio.wait_for(loop.sock_recv(connection, 4096), _IDLE_SECONDS)
            head += piece
            if not piece or len(head) > _MAX_HEAD:
                return
        authority = head.split(b" ", 2)[1].decode("latin-1")
        if not _AUTHORITY(authority):
            return
        await loop.sock_sendall(connection, b"HTTP/1.1 200 OK\r\n\r\n")
        if await _peek(connection, 1) == b"\x16":  # TLS begins so; a plain WebSocket does not
            await self._requests(connection, f"https://{authority.removesuffix(':443')}", self._certificate.context)
        elif self.traffic is not None:
            self.traffic.refuse(f"ws://{authority}/", "tunnel", "WebSockets and other tunnels are not let through")

    async def _requests(self, connection: socket.socket, origin: str, context: ssl.SSLContext | None) -> None:
        """Answers the requests of a connection; without `origin` each one names its own."""
        reader, writer = await _streams(connection, context)
        try:
            while True:
                raw = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _IDLE_SECONDS)
                lines = raw.decode("latin-1").split("\r\n")[:-2]
                line = _REQUEST_LINE(lines[0])
                if line is None:
                    return
                method, target = line.groups()
                if origin and not target.startswith("/"):
                    return
                if not origin and not target.startswith("http://"):
                    return
                fields = [
                    (name.strip(), value.strip()) for name, _, value in (text.partition(":") for text in lines[1:])
                ]
                if not await self._answer(reader, writer, method, origin + target, fields):
                    return
        finally:
            writer.close()

    async def _answer(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        method: str,
        url: str,
        fields: list[tuple[str, str]],
    ) -> bool:
        """Whether the connection goes on."""
        traffic = self.traffic
        if traffic is None or _value(fields, "user-agent") != self.agent:
            return False  # a request of Chromium itself: it has a maker to report to
        if _value(fields, "upgrade"):
            traffic.refuse(url, "tunnel", "WebSockets and other tunnels are not let through")
            return False
        content = await _content(reader, fields)
        if content is None:
            traffic.refuse(url, "request-too-large", f"the request has more than {_MAX_CONTENT} bytes")
            writer.write(_NO_ANSWER)
            return False
        result = await traffic.exchange(method, url, _forwarded(fields), content)
        if result is None:
            if traffic.main is not None and traffic.main.status and traffic.unrendered and not traffic.exchanges:
                writer.write(_NO_PAGE)
                return True
            writer.write(_NO_ANSWER)
            await writer.drain()
            return False
        bodiless = method == "HEAD" or result.status in _BODILESS
        writer.write(_head(result, bodiless))
        if not bodiless:
            for chunk in result.body.chunks():
                writer.write(chunk)
                await asyncio.wait_for(writer.drain(), _IDLE_SECONDS)
        await writer.drain()
        return True


def make_certificate() -> Certificate:
    """A new key and certificate, kept in memory only; OSError, with the next step, when there is no openssl."""
    with tempfile.TemporaryDirectory(prefix="hemeroteca-tls-") as folder:
        key, certificate = Path(folder, "key.pem"), Path(folder, "certificate.pem")
        command = ["openssl", "req", "-x509", "-nodes", "-days", "30", "-subj", "/CN=Hemeroteca"]
        command += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        command += ["-keyout", str(key), "-out", str(certificate)]
        show = ["openssl", "x509", "-in", str(certificate), "-noout", "-pubkey"]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=30, stdin=subprocess.DEVNULL)
            shown = subprocess.run(show, check=True, capture_output=True, timeout=30, stdin=subprocess.DEVNULL).stdout
        except (OSError, subprocess.SubprocessError) as error:
            raise OSError(f"the openssl command could not make a certificate ({error}); install openssl")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(["http/1.1"])
    public = base64.b64decode(b"".join(shown.strip().splitlines()[1:-1]))
    return Certificate(context, base64.b64encode(hashlib.sha256(public).digest()).decode())


async def _streams(
    connection: socket.socket, context: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_MAX_HEAD)
    protocol = asyncio.StreamReaderProtocol(reader)
    owned = socket.socket(fileno=connection.detach())  # from here on the transport closes it
    transport, _ = await loop.connect_accepted_socket(
        lambda: protocol, owned, ssl=context, ssl_handshake_timeout=15.0 if context else None
    )
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def _peek(connection: socket.socket, size: int) -> bytes:
    """The first bytes of what comes next, which stay to be read."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    connection.setblocking(False)
    loop.add_reader(connection, readable.set)
    try:
        await asyncio.wait_for(readable.wait(), _IDLE_SECONDS)
    finally:
        loop.remove_reader(connection)
    return connection.recv(size, socket.MSG_PEEK)


async def _content(reader: asyncio.StreamReader, fields: list[tuple[str, str]]) -> bytes | None:
    """The body of a request; None when it is too long."""
    if _value(fields, "transfer-encoding"):
        content = b""
        while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
            if size < 0 or len(content) + size > _MAX_CONTENT:
                return None
            content += await reader.readexactly(size)
            await reader.readexactly(2)
        while await reader.readuntil(b"\r\n") != b"\r\n":
            pass
        return content
    length = int(_value(fields, "content-length") or 0)
    if not 0 <= length <= _MAX_CONTENT:
        return None
    return await reader.readexactly(length)


def _forwarded(fields: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    headers = []
    for name, value in fields:
        lower = name.lower()
        if lower == "accept-encoding":
            offered = {text.partition(";")[0].strip() for text in value.split(",")}
            value = ", ".join(encoding for encoding in _DECODED_LATER if encoding in offered) or "identity"
        elif lower in _NOT_FORWARDED:
            continue
        elif lower == "range" and value == "bytes=0-":
            continue  # how media are asked for; the archive wants the whole
        headers.append((name, value))
    return tuple(headers)


def _head(result: Result, bodiless: bool) -> bytes:
    try:
        reason = HTTPStatus(result.status).phrase
    except ValueError:
        reason = "Unknown"
    lines = [f"HTTP/1.1 {result.status} {reason}"]
    lines += [f"{name}: {value}" for name, value in result.fields() if name not in _NOT_RETURNED]
    if not bodiless:
        lines.append(f"Content-Length: {len(result.body)}")
    lines += ["Connection: keep-alive", "", ""]
    return "\r\n".join(lines).encode("latin-1", "replace")


def _value(fields: Iterable[tuple[str, str]], name: str) -> str:
    return next((value for field, value in fields if field.lower() == name), "")


def _is_ours(port: int, to: int) -> bool:
    """Whether a process of this user holds the other end: the machine's other users have no business here."""
    ours = f"0100007F:{port:04X} 0100007F:{to:04X}" if _LITTLE else f"7F000001:{port:04X} 7F000001:{to:04X}"
    with open("/proc/net/tcp") as file:
        for line in file:
            if ours in line:
                return int(line.split()[7]) == os.getuid()
    return False


_LITTLE = socket.htonl(1) != 1

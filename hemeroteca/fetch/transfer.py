"""One libcurl handle and the response it is receiving; handles are used again for requests of the same kind."""

import os
import socket
import ssl
import time
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import pycurl

from hemeroteca.fetch import failures
from hemeroteca.fetch.body import BodyWriter, Spool
from hemeroteca.fetch.failures import Failure
from hemeroteca.fetch.guard import Guard
from hemeroteca.fetch.heads import ResponseHeads, protocol_of, sort_response, without_proxy_login
from hemeroteca.fetch.origins import Origin
from hemeroteca.fetch.request import FetchSettings, Request, Result

# What libcurl says when a callback of ours refused to go on. With another code the trouble was overcome: a second
# address of the host was tried.
_ENDED_BY_US = (pycurl.E_COULDNT_CONNECT, pycurl.E_WRITE_ERROR, 97)
PIN_SECONDS = 60.0  # after this time libcurl is told again which addresses of a host were checked
_NOTHING: list[bytes] = []


class HandleKind(NamedTuple):
    """What is set once on a handle. Handles of different kinds are never mixed, so nothing leaks between requests."""

    insecure: bool = False
    proxy: str = ""  # with name and password
    jar: str = ""
    login: bool = False


USUAL = HandleKind()


class CurlTransfer:
    """A handle, its settings and the state of the request under way on it."""

    __slots__ = (
        "_connect_to", "_headers_set", "_max_header_bytes", "_max_headers", "_method", "_pins", "_timeout", "address",
        "allowed", "begin", "body", "curl", "done", "guard", "kind", "lines", "origin", "request", "sent", "share",
        "started", "started_ms", "trouble",
    )  # fmt: skip

    request: Request
    origin: Origin
    done: Callable[[Result], None]
    guard: Guard  # asked again about the address connected to

    def __init__(self, settings: FetchSettings, spool: Spool, kind: HandleKind, share: pycurl.CurlShare | None) -> None:
        self.kind = kind
        self.share = share
        self.lines: list[bytes] = []  # all header lines received
        self.body = BodyWriter(spool)
        self.sent = b""  # the last request head; a login or a proxy makes libcurl send several
        self.begin = 0  # where in `lines` the answer to it starts
        self.trouble: Failure | None = None  # found by a callback
        self.allowed: tuple[str, ...] = ()  # addresses that were checked before
        self.address = ""  # that the fetcher counts it under
        self.started = 0.0
        self.started_ms = 0
        self._max_header_bytes = settings.max_header_bytes
        self._max_headers = settings.max_headers
        self._method = "GET"
        self._pins = False
        self._timeout = 0
        self._headers_set: list[bytes] = _NOTHING
        self._connect_to: list[str] = []
        self.curl = self._new_handle(settings, share)

    def prepare(
        self,
        request: Request,
        done: Callable[[Result], None],
        origin: Origin,
        target: str,
        headers: list[bytes],
        *,
        timeout_ms: int,
        body_limit: int,
        guard: Guard,
        allowed: tuple[str, ...],
        connect_to: list[str],
        resolve: list[str] | None,
        basic: bool,
    ) -> None:
        """Sets only what differs from the request before: each option costs time."""
        curl = self.curl
        self.request, self.done, self.origin = request, done, origin
        self.guard, self.allowed = guard, allowed
        self.trouble = None
        self.body.begin(body_limit)
        url = origin.root + target
        curl.setopt(pycurl.URL, url)
        if not self.kind.login:
            # To the letter: libcurl would write %7e as %7E. Not with a login: a digest covers libcurl's spelling.
            absolute = self.kind.proxy.startswith("http") and url.startswith("http:")
            curl.setopt(pycurl.REQUEST_TARGET, url if absolute else target)
        if request.method != "GET" or self._method != "GET":
            self._set_method(request)
        if headers is not self._headers_set:
            curl.setopt(pycurl.HTTPHEADER, headers)
            self._headers_set = headers
        if timeout_ms != self._timeout:
            curl.setopt(pycurl.TIMEOUT_MS, timeout_ms)
            self._timeout = timeout_ms
        if connect_to is not self._connect_to:
            if connect_to:
                curl.setopt(pycurl.CONNECT_TO, connect_to)
            elif self._connect_to:
                curl.unsetopt(pycurl.CONNECT_TO)
            self._connect_to = connect_to
        self._pins = resolve is not None and not self.kind.proxy
        if resolve is not None:
            curl.setopt(pycurl.RESOLVE, resolve)
        if self.kind.login:
            # Both: libcurl first asks what the server wants. Basic alone is sent at once.
            curl.setopt(pycurl.HTTPAUTH, pycurl.HTTPAUTH_BASIC | (0 if basic else pycurl.HTTPAUTH_DIGEST))
            curl.setopt(pycurl.USERNAME, request.username.encode())
            curl.setopt(pycurl.PASSWORD, request.password.encode())
        self.started_ms = time.time_ns() // 1_000_000
        self.started = monotonic()

    def result(self, code: int, message: str) -> Result:
        """What became of the request, once libcurl is done with it (code 0) or gave up."""
        elapsed = monotonic() - self.started
        curl, lines = self.curl, self.lines
        heads = sort_response(lines, self.begin)
        if code or not heads.complete or len(heads.final) > self._max_header_bytes or len(lines) > self._max_headers:
            return self._broken(code, message, heads, elapsed)
        protocol = protocol_of(heads.final)
        if self._pins:  # libcurl has taken them: the next requests need not tell it again
            self.origin.pinned, self.origin.pinned_until = self.allowed, self.started + PIN_SECONDS
        return Result(
            request=self.request,
            status=curl.getinfo(pycurl.RESPONSE_CODE),
            protocol=protocol,
            ip="" if self.kind.proxy else curl.getinfo(pycurl.PRIMARY_IP),
            request_head=without_proxy_login(self.sent),
            response_head=heads.final,
            trailers=heads.trailers,
            body=self.body.end(),
            started_ms=self.started_ms,
            elapsed=elapsed,
        )

    def _broken(self, code: int, message: str, heads: ResponseHeads, elapsed: float) -> Result:
        """The result of a transfer that did not end well, or was ended by us."""
        failure = self.trouble if code in _ENDED_BY_US else None
        truncated = ""
        if failure is None and self.headers_too_large():
            failure = self.too_large()
        elif failure is None and self.body.full:
            truncated = "length"
        elif failure is None:
            failure = failures.from_curl(
                code, message, self.curl.getinfo(pycurl.SSL_VERIFYRESULT), bool(self.kind.proxy)
            )
            if code == pycurl.E_ABORTED_BY_CALLBACK:
                self.origin.pinned_until = 0.0  # libcurl had lost the address; the next request tells it again
        answered = heads.complete and not self.sent.startswith(b"CONNECT ")  # a refused CONNECT is the proxy's answer
        if failure is not None:
            if failure.code in (failures.HEADER_TOO_LARGE, failures.STORAGE):
                answered = False
            elif answered:
                truncated = "time" if failure.code in ("timeout", "too-slow") else "disconnect"
        result = Result(
            request=self.request,
            ip="" if self.kind.proxy else self.curl.getinfo(pycurl.PRIMARY_IP) or "",
            body=self.body.end(),
            started_ms=self.started_ms,
            elapsed=elapsed,
        )
        if failure is not None:
            result.failure, result.detail, result.transient = failure
        if answered:
            result.status = self.curl.getinfo(pycurl.RESPONSE_CODE)
            result.protocol = protocol_of(heads.final)
            result.request_head = without_proxy_login(self.sent)
            result.response_head = heads.final
            result.trailers = heads.trailers
            result.truncated = truncated
        else:
            result.body.discard()
        return result

    def forget(self) -> None:
        """Drops everything of the request, so that an idle handle holds no memory and no secret."""
        self.body.drop()
        self.lines.clear()
        self.sent = b""
        self.begin = 0
        self.allowed = ()
        del self.request, self.origin, self.done, self.guard

    def _set_method(self, request: Request) -> None:
        curl, method = self.curl, request.method
        curl.setopt(pycurl.HTTPGET, 1)  # undoes all others
        curl.unsetopt(pycurl.CUSTOMREQUEST)
        self._method = method
        if method == "HEAD":
            curl.setopt(pycurl.NOBODY, 1)
            return
        if request.content or method in ("POST", "PUT", "PATCH"):
            curl.setopt(pycurl.POST, 1)
            curl.setopt(pycurl.POSTFIELDS, request.content)
        if method != "GET" or request.content:
            curl.setopt(pycurl.CUSTOMREQUEST, method)

    def headers_too_large(self) -> bool:
        """Whether the header lines so far are more than allowed."""
        return len(self.lines) > self._max_headers or sum(map(len, self.lines)) > self._max_header_bytes

    # libcurl calls these; an exception would be printed and lost, so each one keeps its trouble for the result

    def _write(self, chunk: bytes) -> int:
        body = self.body
        try:
            if not body.size and self.headers_too_large():
                self.trouble = self.too_large()
                return 0
            if body.write(chunk):
                return len(chunk)
        except OSError as error:
            self.trouble = Failure(
                failures.STORAGE, f"the body could not be written to the spool folder ({error}); free some space", True
            )
        return 0  # anything but the whole length ends the transfer

    def too_large(self) -> Failure:
        """The failure for a header block beyond the limits."""
        return Failure(
            failures.HEADER_TOO_LARGE,
            f"more than {self._max_header_bytes} bytes or {self._max_headers} lines of headers",
        )

    def _open_socket(self, _purpose: int, address: Any) -> socket.socket | int:
        try:
            ip = str(ip_address(address.addr[0]))
            if ip in self.allowed:
                reason = self.guard.check(ip)
            else:
                reason = "not the address that was checked"
            if reason is None:
                return socket.socket(address.family, address.socktype, address.protocol)
            self.trouble = Failure(failures.REFUSED_ADDRESS, f"connection to {ip} refused: {reason}")
        except Exception as error:
            self.trouble = Failure("connect", f"no socket could be opened ({error})", True)
        return pycurl.SOCKET_BAD

    def _may_resolve(self, *_: object) -> int:
        # libcurl asks before it resolves anything by itself, literal addresses included. Names are always pinned, so
        # a name that comes here must not be looked up.
        return 0 if self._connect_to or self.origin.literal or self.kind.proxy else 1

    def _watch(self, kind: int, data: bytes) -> None:
        if kind == pycurl.INFOTYPE_HEADER_OUT:
            # A head that did not fit into the socket's buffer comes in pieces.
            going_on = self.sent and not self.sent.endswith(b"\r\n\r\n")
            self.sent = self.sent + data if going_on else data
            self.begin = len(self.lines)

    def _new_handle(self, settings: FetchSettings, share: pycurl.CurlShare | None) -> pycurl.Curl:
        kind = self.kind
        curl = pycurl.Curl()
        for option, value in _common(settings):
            curl.setopt(option, value)
        curl.setopt(pycurl.HEADERFUNCTION, self.lines.append)
        curl.setopt(pycurl.WRITEFUNCTION, self._write)
        if settings.watch or kind.login or kind.proxy:  # the last two send several heads: `begin` is needed
            # The archive must say what was really sent, so libcurl is watched (docs/decisions/0012-libcurl.md).
            curl.setopt(pycurl.VERBOSE, 1)
            curl.setopt(pycurl.DEBUGFUNCTION, self._watch)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)
        curl.setopt(pycurl.RESOLVER_START_FUNCTION, self._may_resolve)
        # An empty text, not nothing: otherwise libcurl takes proxies from the environment.
        curl.setopt(pycurl.PROXY, kind.proxy)
        curl.setopt(pycurl.NOPROXY, "")
        if kind.insecure:
            curl.setopt(pycurl.SSL_VERIFYPEER, 0)
            curl.setopt(pycurl.SSL_VERIFYHOST, 0)
        if share is not None:
            curl.setopt(pycurl.SHARE, share)
            curl.setopt(pycurl.COOKIEFILE, "")  # switches cookies on, reads no file
        return curl


def _common(settings: FetchSettings) -> list[tuple[int, Any]]:
    return [
        (pycurl.NOSIGNAL, 1),
        (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
        (pycurl.FOLLOWLOCATION, 0),
        (pycurl.PATH_AS_IS, 1),
        (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS),
        (pycurl.HTTP09_ALLOWED, 0),
        (pycurl.HTTP_CONTENT_DECODING, 0),  # the archive keeps what came
        (pycurl.NETRC, pycurl.NETRC_IGNORED),
        (pycurl.CONNECTTIMEOUT_MS, max(1, int(settings.connect_timeout * 1000))),
        (pycurl.LOW_SPEED_LIMIT, settings.low_speed_bytes),
        (pycurl.LOW_SPEED_TIME, settings.low_speed_seconds),
        (pycurl.DNS_CACHE_TIMEOUT, int(2 * PIN_SECONDS + settings.timeout)),  # longer than a pin is relied on
        (pycurl.BUFFERSIZE, 1 << 17),
        (pycurl.CAINFO, settings.ca_file or _system_certificates()),
    ]


def _system_certificates() -> str:
    for file in (os.environ.get("SSL_CERT_FILE", ""), ssl.get_default_verify_paths().cafile or "", *_BUNDLES):
        if file and Path(file).is_file():
            return file
    return _BUNDLES[0]  # https then fails with the advice to install it


_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Raspberry Pi OS, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora
    "/etc/ssl/cert.pem",  # Alpine
)

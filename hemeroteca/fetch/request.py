"""What goes into a fetcher and what comes out: `FetchSettings`, `Request`, `Result`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from hemeroteca.config import Config
from hemeroteca.fetch import heads
from hemeroteca.fetch.body import Body


@dataclass(frozen=True)
class FetchSettings:
    """Limits and policy of a fetcher; a request can narrow or change some of them for itself."""

    spool_dir: Path
    user_agent: str = "Hemeroteca"
    allow_private: bool = False
    allow_networks: tuple[str, ...] = ()
    resolve: tuple[str, ...] = ()  # `pattern=ip[:port]`
    proxy: str = ""

    connect_timeout: float = 20.0  # s, also for resolving the name
    timeout: float = 120.0  # s, the whole response
    low_speed_bytes: int = 10  # per second
    low_speed_seconds: int = 30
    max_body_bytes: int = 64 << 20
    max_header_bytes: int = 64 << 10
    max_headers: int = 1000
    spool_bytes: int = 1 << 20
    watch: bool = True  # note what was sent, as an archive must; libcurl then tells every byte that comes once more
    memory_bytes: int = 64 << 20  # of all bodies under way; beyond it every further body goes to disk at once

    per_address: int = 0  # most requests at once to one address; 0: no limit
    max_connections: int = 256  # kept open for reuse, over all hosts
    dns_seconds: float = 300.0
    dns_failure_seconds: float = 30.0
    dns_entries: int = 20_000
    dns_threads: int = 8
    ca_file: str = ""  # certificates trusted; empty: those of the system

    @classmethod
    def from_config(cls, config: Config, spool_dir: Path) -> "FetchSettings":
        """The settings of this instance."""
        return cls(
            spool_dir=spool_dir,
            user_agent=config.agent,
            allow_private=config.allow_private,
            allow_networks=config.allow_networks,
            resolve=config.resolve,
            proxy=config.proxy,
            connect_timeout=config.connect_timeout,
            timeout=config.timeout,
            low_speed_seconds=config.low_speed_seconds,
            max_body_bytes=config.max_body_bytes,
            max_header_bytes=config.max_header_bytes,
            spool_bytes=config.spool_bytes,
            per_address=config.address_concurrency,
            max_connections=max(64, 2 * config.concurrency),
        )


class Request(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One request. `url` should be canonical; `tag` is the caller's and comes back untouched."""

    url: str
    method: str = "GET"  # others only for a browser, whose scripts may ask with them
    content: bytes = b""  # sent as the body of the request
    tag: Any = None
    etag: str = ""  # sent as If-None-Match
    last_modified: str = ""  # sent as If-Modified-Since
    headers: tuple[tuple[str, str], ...] = ()  # further headers; one of ours with the same name is replaced
    insecure: bool = False  # accept any certificate
    allow_private: bool = False  # this site may live at a private address
    proxy: str = ""  # http://, https:// or socks5h://; empty: that of the settings
    username: str = ""  # basic or digest login, whichever the server asks for
    password: str = ""
    cookie_jar: str = ""  # cookies are kept between requests with the same name; empty: none are kept or sent
    max_body_bytes: int = 0  # 0: that of the settings
    timeout: float = 0.0  # s; 0: that of the settings


class Result(msgspec.Struct, kw_only=True):
    """What became of a request.

    A response that broke off has both a status and a failure, and `truncated` says why its body is short; the caller
    decides whether to keep it or to try again. A body cut at its size limit is no failure.
    """

    request: Request
    status: int = 0
    failure: str = ""
    detail: str = ""
    transient: bool = False
    protocol: str = ""
    ip: str = ""
    certificate: str = ""  # SHA-256 of the server's, where a device of the fleet told it
    request_head: bytes = b""
    response_head: bytes = b""
    trailers: bytes = b""
    body: Body
    truncated: str = ""
    started_ms: int = 0
    elapsed: float = 0.0

    @property
    def ok(self) -> bool:
        """A whole response came (of whatever status), or one cut at its size limit."""
        return not self.failure

    def header(self, name: str) -> str:
        """The value of the first header with this name (any case), or an empty text."""
        return heads.header(self.response_head, name)

    def address(self, name: str) -> str:
        """The same, of a header that holds an address."""
        return heads.address(self.response_head, name)

    def header_all(self, name: str) -> list[str]:
        """The values of all headers with this name, in order."""
        return heads.header_all(self.response_head, name)

    def fields(self) -> list[tuple[str, str]]:
        """All headers of the response as (lower-case name, value)."""
        return [(name.lower(), value) for name, value in heads.fields(self.response_head)]

"""One request at a time behind the address guard, for what is no visit: hubs, webhooks, keys, checks of services.

Redirects are followed only where the caller says so: an address somebody gave us is the address we use.
Apprise brings its own HTTP and SMTP; `guarded_names` puts the same guard into the look-up of names they all share.
"""

import selectors
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from hemeroteca import urls
from hemeroteca.config import Config
from hemeroteca.fetch.guard import Guard
from hemeroteca.fetch.request import FetchSettings, Request, Result

SECONDS = 30.0
MAX_BODY_BYTES = 256 << 10


class Reply(msgspec.Struct, frozen=True):
    """What came back. `status` 0: nothing, `reason` says why."""

    status: int
    body: bytes = b""  # without its Content-Encoding
    reason: str = ""
    url: str = ""  # where the answer came from
    content_type: str = ""
    seconds: float = 0.0  # until the whole answer was there
    retry_after: str = ""

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def passing(self) -> bool:
        """Whether another try may go better."""
        return self.status in (0, 408, 425, 429) or self.status >= 500


class GuardedClient:
    """One request at a time; for chores and commands, never inside the engine's loop."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def send(
        self,
        url: str,
        *,
        content: bytes | None = None,
        headers: dict[str, str] | None = None,
        max_bytes: int = MAX_BODY_BYTES,
        redirects: int = 0,
    ) -> Reply:
        """GET, or POST when there is content. Up to `redirects` are followed, each behind the guard again."""
        try:
            url = urls.canonical(url, urls.CanonRules(drop_session_ids=False, drop_tracking=False))
        except urls.UrlError as error:
            return Reply(0, reason=f"not an address ({error})")
        request = Request(
            url=url,
            method="GET" if content is None else "POST",
            content=content or b"",
            headers=tuple((headers or {}).items()),
            max_body_bytes=max_bytes,
            timeout=SECONDS,
        )
        with tempfile.TemporaryDirectory(prefix="hemeroteca-") as folder:
            for _ in range(redirects):
                reply, target = self._fetch(request, Path(folder), max_bytes)
                if target is None or content is not None:
                    return reply
                request = msgspec.structs.replace(request, url=target)
            return self._fetch(request, Path(folder), max_bytes)[0]

    def _fetch(self, request: Request, spool: Path, max_bytes: int) -> tuple[Reply, str | None]:
        from hemeroteca.extract import decode_body  # only here: the web process seldom asks anybody
        from hemeroteca.fetch.fetcher import Fetcher

        results: list[Result] = []
        selector = selectors.DefaultSelector()
        fetcher = Fetcher(FetchSettings.from_config(self._config, spool), selector)
        try:
            fetcher.submit(request, results.append)
            until = time.monotonic() + SECONDS + 5
            fetcher.tick()  # what is refused, is refused at once
            while not results and time.monotonic() < until:
                wait = fetcher.timeout()  # 0: at once
                for key, mask in selector.select(1.0 if wait is None else min(wait, 1.0)):
                    key.data(key.fd, mask)
                fetcher.tick()
        finally:
            fetcher.close()
            selector.close()
        if not results:
            return Reply(0, reason="no answer in time", url=request.url), None
        result = results[0]
        if result.failure and not result.status:
            reason = f"{result.failure}: {result.detail}" if result.detail else result.failure
            return Reply(0, reason=reason, url=request.url, seconds=result.elapsed), None
        body, note = decode_body(result.body.bytes(max_bytes), result.header("content-encoding"), max_bytes)
        reason = note if 200 <= result.status < 300 else f"http-{result.status}"
        location = result.header("location") if 300 <= result.status < 400 else ""
        reply = Reply(
            status=result.status,
            body=body,
            reason=reason,
            url=request.url,
            content_type=result.header("content-type"),
            seconds=result.elapsed,
            retry_after=result.header("retry-after"),
        )
        return reply, urls.resolve_links(request.url, [location])[0] if location else None


@contextmanager
def guarded_names(config: Config) -> Iterator[None]:
    """Names that lead to addresses which are not public cannot be resolved meanwhile, by anything in this process."""
    guard = Guard(config.allow_private, config.allow_networks)
    look_up = socket.getaddrinfo

    def guarded(host: Any, port: Any, *args: Any, **options: Any) -> Any:
        found = look_up(host, port, *args, **options)
        allowed = [entry for entry in found if guard.check(str(entry[4][0]).partition("%")[0]) is None]
        if not allowed:
            raise socket.gaierror(socket.EAI_NONAME, f"{host} is not on the public internet")
        return allowed

    socket.getaddrinfo = guarded
    try:
        yield
    finally:
        socket.getaddrinfo = look_up

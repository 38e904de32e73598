"""The worker with libcurl: the same program, other requests. One thread, many connections kept open, HTTP/2."""

import argparse
import os
import selectors
import socket
import tempfile
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from hemeroteca import config
from hemeroteca.fetch import Fetcher, FetchSettings, Guard, Request, Result
from hemeroteca.fleet.device import startup
from hemeroteca.fleet.device.http_requests import Done, RequestOrder, fetch, refusal
from hemeroteca.fleet.device.result_file import FetchedUrl


class CurlFetching:
    """`submit` never waits; answers come from the thread of the loop."""

    def __init__(self, settings: FetchSettings, any_port: bool) -> None:
        self._settings = settings
        self._any_port = any_port
        self._guard = Guard(settings.allow_private, settings.allow_networks)
        self._orders: deque[tuple[RequestOrder, Done]] = deque()
        self._bell, self._ring = os.pipe()
        os.set_blocking(self._bell, False)
        self._ended = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def submit(self, order: RequestOrder, done: Done) -> None:
        if order.certificate:  # libcurl tells none; the standard library does
            look = lambda: done(fetch(order, self._guard, self._any_port, socket.getaddrinfo))  # noqa: E731
            threading.Thread(target=look, daemon=True).start()
            return
        self._orders.append((order, done))
        os.write(self._ring, b"!")

    def close(self) -> None:
        self._ended = True
        os.write(self._ring, b"!")

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._bell, selectors.EVENT_READ, lambda fd, mask: os.read(fd, 4096))
            fetcher = Fetcher(self._settings, selector)
            while not self._ended:
                while self._orders:
                    self._begin(fetcher, *self._orders.popleft())
                wait = fetcher.timeout()
                for key, mask in selector.select(1.0 if wait is None else min(wait, 1.0)):
                    key.data(key.fd, mask)
                fetcher.tick()
            fetcher.close()

    def _begin(self, fetcher: Fetcher, order: RequestOrder, done: Done) -> None:
        wrong = refusal(order.url, self._any_port)
        if wrong:
            done(FetchedUrl(order.url, failure="refused-address", detail=wrong))
            return
        request = Request(
            url=order.url,
            method=order.method,
            headers=(("User-Agent", order.agent), *order.headers),
            timeout=order.timeout,
            max_body_bytes=order.max_bytes,
        )
        fetcher.submit(request, lambda result: done(_answer(order.url, result)))


def _answer(url: str, result: Result) -> FetchedUrl:
    body = result.body.bytes()
    result.body.discard()
    broken = bool(result.failure)
    return FetchedUrl(
        url=url,
        status=0 if broken else result.status,
        request_head=result.request_head,
        response_head=result.response_head,
        body=body,
        ip=result.ip,
        protocol=result.protocol,
        failure=result.failure,
        detail=result.detail,
        truncated="" if broken else result.truncated,
        seconds=result.elapsed,
        started=result.started_ms / 1000,
    )


def main(arguments: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="hemeroteca-worker-") as folder:

        def make(options: argparse.Namespace, guard: Guard) -> CurlFetching:
            settings = FetchSettings(
                spool_dir=Path(folder),
                allow_private=options.allow_private,
                allow_networks=tuple(options.allow_network),
                resolve=config.load().resolve if options.allow_private else (),  # of laboratories without names
                max_connections=max(64, 2 * options.parallel),
            )
            return CurlFetching(settings, options.allow_private or bool(options.allow_network))

        startup.main(arguments, make, "hemeroteca worker")

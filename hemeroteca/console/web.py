"""The web process: waitress around the console and the API, on sockets that the supervisor opened.

python -m hemeroteca.console.web FD [FD …]
"""

import gc
import logging
import re
import signal
import socket
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

import waitress.server
from django.conf import settings
from waitress.channel import ClientDisconnected, HTTPChannel
from waitress.task import WSGITask

from hemeroteca import usage
from hemeroteca.console.wsgi import application  # sets Django up; first

from hemeroteca.engine.overview import watch_pace  # isort: skip
from hemeroteca.ingest.heavy_reads import network  # isort: skip
from hemeroteca.wiki import query_process  # isort: skip

THREADS = 8
CONNECTIONS = 500
CONNECTIONS_EACH = 60  # of one address, or /64 of IPv6
READ_SECONDS = 60.0  # for a whole request, however it drips
WRITE_SECONDS = 120.0  # that a thread waits for a reader of 16 MiB
SLOW_READERS = THREADS // 2  # threads that wait for one at a time
MAX_REQUEST_BYTES = 4 << 20  # a list of seeds is the longest thing anybody sends


def main(descriptors: list[int]) -> None:
    usage.return_memory(arenas=2)
    gc.freeze()  # modules stay: collections need not look at them
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    for handler in logging.getLogger().handlers:
        handler.addFilter(_without_secrets)
    signal.signal(signal.SIGTERM, _stop)
    options: dict[str, object] = {}
    if settings.CONFIG.public_url:
        # A proxy on this machine stands in front; believe it about the client's address and the scheme.
        options["trusted_proxy"] = "127.0.0.1"
        options["trusted_proxy_headers"] = {"x-forwarded-for", "x-forwarded-proto"}
    watch_pace()
    query_process.begin()
    waitress.server.TcpWSGIServer.channel_class = BoundedChannel
    server = waitress.server.create_server(
        application,
        sockets=[socket.socket(fileno=descriptor) for descriptor in descriptors],
        threads=THREADS,
        max_request_body_size=MAX_REQUEST_BYTES,
        channel_timeout=60,
        connection_limit=CONNECTIONS,
        ident=None,
        clear_untrusted_proxy_headers=True,
        **options,
    )
    server.run()


class BareTask(WSGITask):  # type: ignore[misc]
    """An answer to HEAD ends with its headers, without the last chunk of a body that it does not have."""

    def finish(self) -> None:
        if self.request.command != "HEAD":
            super().finish()
        elif not self.wrote_header:
            self.write(b"")


class BoundedChannel(HTTPChannel):  # type: ignore[misc]
    """A connection. One address gets only so many, a request must be whole in time, and who does not read what they
    asked for is left: a long answer holds a thread while it is read."""

    task_class = BareTask
    held: Counter[str] = Counter()
    slow = threading.BoundedSemaphore(SLOW_READERS)

    def __init__(self, server: Any, sock: Any, addr: Any, adj: Any, map: Any = None) -> None:  # noqa: A002
        super().__init__(server, sock, addr, adj, map)
        self._begun = 0.0
        self._waited, self._read = 0.0, 0  # seconds, and bytes that were read meanwhile
        self._who = network(addr[0])
        self.held[self._who] += 1
        behind = settings.CONFIG.public_url and self._who.startswith("127.")  # the proxy, which speaks for all
        if self.held[self._who] > CONNECTIONS_EACH and not behind:
            self.handle_close()

    def received(self, data: bytes) -> Any:
        now = time.monotonic()
        if self.request is None:
            self._begun = now
        elif now - self._begun > READ_SECONDS:
            self.handle_close()
            return False
        return super().received(data)

    def _flush_outbufs_below_high_watermark(self) -> None:
        """Wait until so much was read that more may be written."""
        most = self.adj.outbuf_high_watermark
        if self.total_outbufs_len <= most:
            return
        if not self.slow.acquire(blocking=False):
            self._leave()
        try:
            with self.outbuf_lock:
                while self.connected and self.total_outbufs_len > most:
                    begun, size = time.monotonic(), self.total_outbufs_len
                    self.server.pull_trigger()
                    self.outbuf_lock.wait(1.0)
                    self._waited += time.monotonic() - begun
                    self._read += size - self.total_outbufs_len
                    if self._read >= most:
                        self._waited, self._read = 0.0, 0
                    elif self._waited > WRITE_SECONDS:
                        self._leave()
        finally:
            self.slow.release()

    def _leave(self) -> NoReturn:
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)  # the loop sees it and closes
        raise ClientDisconnected

    def handle_close(self) -> None:
        if self._who:
            self.held[self._who] -= 1
            if self.held[self._who] <= 0:
                del self.held[self._who]
            self._who = ""
        super().handle_close()


def _without_secrets(record: logging.LogRecord) -> bool:
    """The address of a webhook is its secret."""
    if "/signals/" in (line := record.getMessage()):
        record.msg, record.args = re.sub(r"(/signals/(?:websub/\d+/)?)[^\s/'\"]+", r"\1…", line), ()
    return True


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit  # waitress ends its threads on it


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])

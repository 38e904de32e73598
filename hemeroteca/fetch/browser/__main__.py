"""A browser process: renders the pages the engine orders, one at a time, and ends when the engine does.

    python -m hemeroteca.fetch.browser FD       started by `fetcher.BrowserFetcher`

Frames as in `values`: the settings once, then orders; while a page is open, questions whether an address may be asked.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import sys
import time
from typing import TYPE_CHECKING

import msgspec

from hemeroteca.fetch.body import Body, Spool
from hemeroteca.fetch.browser import wire
from hemeroteca.fetch.browser.proxy import BrowserProxy, make_certificate
from hemeroteca.fetch.browser.traffic import Traffic
from hemeroteca.fetch.browser.wire import (
    HEADER,
    MAX_FRAME,
    BrowserSettings,
    Rendered,
    RenderOrder,
    decode_settings,
    encode,
)
from hemeroteca.fetch.request import Result

if TYPE_CHECKING:
    from hemeroteca.fetch.browser.page import Browser


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the engine; it tells us when to stop
    try:
        asyncio.run(_serve(socket.socket(fileno=int(sys.argv[1]))))
    except (EOFError, ConnectionError):
        pass
    os._exit(0)  # threads that look up names may be stuck for minutes


async def _serve(channel: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=channel, limit=1 << 20)
    engine = _Engine(reader, writer)
    listening = asyncio.create_task(engine.listen())
    working = asyncio.create_task(_work(engine))
    await asyncio.wait({listening, working}, return_when=asyncio.FIRST_COMPLETED)
    for task in (working, listening):  # whichever is left; Chromium is stopped on the way out of `_work`
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, EOFError, ConnectionError):
            await task


async def _work(engine: "_Engine") -> None:
    settings = await engine.settings
    try:
        from hemeroteca.fetch.browser.page import Browser  # Playwright may be missing: that is an answer too

        certificate = await asyncio.to_thread(make_certificate)
        proxy = BrowserProxy(certificate)
        browser = Browser(settings, proxy.port, certificate.fingerprint)
        await browser.start()
        proxy.agent = browser.agent
    except Exception as error:
        text = " ".join(str(error).split())[:500]
        await engine.send(wire.BROKEN, encode(f"{type(error).__name__}: {text}"))
        return
    try:
        for _ in range(settings.pages_per_process):
            rendered, sound = await _render(settings, engine, proxy, browser, await engine.orders.get())
            await engine.send(wire.RENDERED, encode(rendered))
            if not sound:
                return
    finally:
        proxy.close()
        await browser.stop()
        # The engine does this too, unless it was killed.
        for folder in (settings.fetch.spool_dir, os.environ["TMPDIR"]):
            shutil.rmtree(folder, ignore_errors=True)


async def _render(
    settings: BrowserSettings, engine: "_Engine", proxy: BrowserProxy, browser: "Browser", order: RenderOrder
) -> tuple[Rendered, bool]:
    started, started_ms = time.monotonic(), time.time_ns() // 1_000_000
    traffic = Traffic(settings, order.request, engine.ask if order.ask else None)
    proxy.traffic = traffic
    try:
        snapshot, sound = await browser.render(order.request.url, traffic)
    finally:
        proxy.traffic = None
        notes = traffic.close()
    spool = Spool(settings.fetch.spool_dir, 0, 0)
    main = traffic.main
    rendered = Rendered(
        request=order.request,
        main=main or Result(request=order.request, failure="browser", body=Body(), started_ms=started_ms),
        exchanges=traffic.exchanges,
        screenshot=_store(spool, snapshot.screenshot),
        dom=_store(spool, snapshot.dom),
        text=snapshot.text,
        final_url=snapshot.final_url or order.request.url,
        notes=[*snapshot.notes, *notes],
        failure=snapshot.failure,
        detail=snapshot.detail,
        transient=snapshot.transient,
        started_ms=started_ms,
        elapsed=time.monotonic() - started,
    )
    if main is not None and main.failure:
        rendered.failure, rendered.detail, rendered.transient = main.failure, main.detail, main.transient
    elif main is not None and traffic.unrendered:
        rendered.notes.insert(0, f"not-rendered: {traffic.unrendered}")
        rendered.failure = rendered.detail = ""
    elif main is None and not rendered.failure:
        rendered.failure, rendered.detail = "browser", "the browser did not ask for the page"
    return rendered, sound


class _Engine:
    """The other end of the channel."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.settings: asyncio.Future[BrowserSettings] = asyncio.get_running_loop().create_future()
        self.orders: asyncio.Queue[RenderOrder] = asyncio.Queue()
        self._reader = reader
        self._writer = writer
        self._questions: dict[int, asyncio.Future[bool]] = {}
        self._asked = 0

    async def listen(self) -> None:
        """Until the engine goes away."""
        while True:
            length, kind = HEADER.unpack(await self._reader.readexactly(HEADER.size))
            if length > MAX_FRAME:
                return
            payload = await self._reader.readexactly(length)
            if kind == wire.SETUP:
                self.settings.set_result(decode_settings(payload))
            elif kind == wire.ORDER:
                self.orders.put_nowait(msgspec.msgpack.decode(payload, type=RenderOrder))
            elif kind == wire.VERDICT:
                number, allowed = msgspec.msgpack.decode(payload, type=tuple[int, bool])
                future = self._questions.get(number)
                if future is not None and not future.done():
                    future.set_result(allowed)

    async def ask(self, url: str) -> bool:
        """Whether the engine lets this address be fetched; it may have to ask its host for the rules first."""
        self._asked += 1
        number = self._asked
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._questions[number] = future
        try:
            await self.send(wire.QUESTION, encode((number, url)))
            return await future
        finally:
            del self._questions[number]

    async def send(self, kind: int, payload: bytes) -> None:
        self._writer.write(HEADER.pack(len(payload), kind) + payload)
        await self._writer.drain()


def _store(spool: Spool, data: bytes) -> Body:
    if not data:
        return Body()
    fd, path = spool.file()
    with open(fd, "wb") as file:
        file.write(data)
    return Body(b"", path, len(data))


if __name__ == "__main__":
    main()

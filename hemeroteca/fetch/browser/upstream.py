"""A `Fetcher` for asyncio."""

import asyncio
import selectors

from hemeroteca.fetch.fetcher import Fetcher
from hemeroteca.fetch.request import FetchSettings, Request, Result


class Upstream:
    """Fetches; what is under way when it is closed is cancelled."""

    def __init__(self, settings: FetchSettings) -> None:
        self._loop = asyncio.get_running_loop()
        self._selector = selectors.EpollSelector()
        self._fetcher = Fetcher(settings, self._selector)
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: set[asyncio.Future[Result]] = set()
        self._loop.add_reader(self._selector.fileno(), self._turn)

    async def fetch(self, request: Request) -> Result:
        """What became of the request."""
        future: asyncio.Future[Result] = self._loop.create_future()
        self._waiting.add(future)
        self._fetcher.submit(request, lambda result: self._deliver(future, result))
        self._set_timer()
        return await future

    def close(self) -> None:
        """Drops what is under way."""
        self._loop.remove_reader(self._selector.fileno())
        if self._timer is not None:
            self._timer.cancel()
        self._fetcher.close()
        self._selector.close()
        for future in self._waiting:
            future.cancel()
        self._waiting.clear()

    def _deliver(self, future: asyncio.Future[Result], result: Result) -> None:
        self._waiting.discard(future)
        if future.done():
            result.body.discard()
        else:
            future.set_result(result)

    def _turn(self) -> None:
        for key, mask in self._selector.select(0):
            key.data(key.fd, mask)
        self._fetcher.tick()
        self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        wait = self._fetcher.timeout()
        self._timer = None if wait is None else self._loop.call_later(wait, self._turn)

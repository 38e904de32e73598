"""The requests of one page: which are let through, what came back, and when the network has fallen quiet."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from time import monotonic

import msgspec

from hemeroteca import urls
from hemeroteca.fetch.body import Body
from hemeroteca.fetch.browser.upstream import Upstream
from hemeroteca.fetch.browser.wire import BrowserSettings
from hemeroteca.fetch.request import Request, Result

Allowed = Callable[[str], Awaitable[bool]]

METHODS = frozenset(["GET", "HEAD", "POST", "OPTIONS"])  # a visit reads; what changes things is left to people
_RENDERED_TYPES = ("", "text/html", "application/xhtml+xml")
_STALE_SECONDS = 4.0  # a response that takes longer does not hold up the end of the page
_MAX_REFUSALS = 100  # kept as exchanges; the rest is counted
_MAX_COOKIE_REDIRECTS = 3


class Traffic:
    """Everything the browser asks for while one page is open. The first request is for the page itself."""

    def __init__(self, settings: BrowserSettings, request: Request, allowed: Allowed | None) -> None:
        self.main: Result | None = None
        self.exchanges: list[Result] = []
        self.unrendered = ""  # why the browser was not given the page
        self.refused: Counter[str] = Counter()
        self._settings = settings
        self._request = request
        self._allowed = allowed
        self._deadline = monotonic() + (request.timeout or settings.timeout)
        self._upstream = Upstream(settings.fetch)
        self._slots = asyncio.Semaphore(settings.connections)
        self._host_slots: dict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(settings.host_connections)
        )
        self._closed = False
        self._asked = 0
        self._bytes = 0
        self._cookie_redirects = 0
        self._under_way: dict[int, tuple[float, str]] = {}
        self._last = monotonic()  # when something began or ended

    async def exchange(
        self, method: str, url: str, headers: tuple[tuple[str, str], ...], content: bytes
    ) -> Result | None:
        """What the server answers; None when the browser gets no answer. Failures and refusals are kept too."""
        if self._closed:
            return None
        self._asked += 1
        number, main = self._asked, self.main is None and (self._asked == 1 or bool(self._cookie_redirects))
        self._under_way[number] = (monotonic(), url)
        self._last = monotonic()
        try:
            if not main and (refusal := await self._refusal(method, url)):
                self._refuse(method, url, *refusal)
                return None
            async with self._host_slots[urls.host(url)], self._slots:
                if self._closed:
                    return None
                result = await self._upstream.fetch(self._make(method, url, headers, content, main))
        finally:
            del self._under_way[number]
            self._last = monotonic()
        return self._keep_main(result) if main else self._keep(result)

    async def quiet(self, at_most: float, calm: float) -> bool:
        """Waits until nothing has begun or ended for `calm` seconds; False when `at_most` seconds were not enough."""
        end = min(monotonic() + at_most, self._deadline)
        while (now := monotonic()) < end:
            pending = any(now - since < _STALE_SECONDS for since, _ in self._under_way.values())
            if not pending and now - self._last >= calm:
                return True
            await asyncio.sleep(0.05)
        return False

    def left(self) -> float:
        """Seconds until the page's time is over."""
        return max(0.0, self._deadline - monotonic())

    def refuse(self, url: str, code: str, detail: str) -> None:
        """Keeps note of something the proxy itself turned down."""
        self._refuse("GET", url, code, detail)

    def close(self) -> list[str]:
        """Ends what is under way; notes about what was left out."""
        notes = [f"unfinished: {url[:200]}" for _, url in list(self._under_way.values())[:5]]
        notes += [f"{code}: {count} requests" for code, count in sorted(self.refused.items())]
        self._closed = True
        self._upstream.close()
        return notes

    async def _refusal(self, method: str, url: str) -> tuple[str, str] | None:
        settings = self._settings
        if method not in METHODS:
            return "refused-method", f"{method[:20]} requests are not sent on behalf of a page"
        if self._asked > settings.page_requests:
            return "page-requests", f"the page asked for more than {settings.page_requests} things"
        if self._bytes >= settings.page_bytes:
            return "page-bytes", f"the page loaded more than {settings.page_bytes} bytes"
        if not self.left():
            return "page-time", "the page's time was over"
        if self._allowed is None:
            return None
        try:
            if not await asyncio.wait_for(self._allowed(url), min(settings.rules_seconds, max(0.5, self.left()))):
                return "robots", "robots.txt of that host forbids it"
        except TimeoutError:
            return "robots-unknown", "robots.txt of that host did not come in time"
        return None

    def _make(self, method: str, url: str, headers: tuple[tuple[str, str], ...], content: bytes, main: bool) -> Request:
        page, settings = self._request, self._settings
        own = urls.origin(url) == urls.origin(page.url)  # what a person allowed for a site is for its origin alone
        limit = settings.body_bytes
        if main:
            limit = page.max_body_bytes or settings.fetch.max_body_bytes
        return Request(
            url=page.url if main else url,
            method=method,
            content=content,
            headers=(*headers, *page.headers) if own else headers,
            insecure=own and page.insecure,
            allow_private=own and page.allow_private,
            proxy=page.proxy,
            username=page.username if own else "",
            password=page.password if own else "",
            max_body_bytes=max(1, min(limit, settings.page_bytes - self._bytes)),
            timeout=max(0.5, min(settings.fetch.timeout, self.left())),
        )

    def _keep_main(self, result: Result) -> Result | None:
        if self._sets_a_cookie_only(result):
            self._cookie_redirects += 1
            return self._keep(result)
        result.request = _without_secrets(result.request)
        self.main = result
        self._bytes += len(result.body)
        kind = result.header("content-type").partition(";")[0].strip().lower()
        if not result.status:
            self.unrendered = result.failure
        elif 300 <= result.status < 400:
            self.unrendered = "redirect"
        elif kind not in _RENDERED_TYPES or result.header("content-disposition").lower().startswith("attachment"):
            self.unrendered = f"not-html: {kind[:80]}"
        elif not len(result.body):
            self.unrendered = "empty"
        return None if self.unrendered else result

    def _sets_a_cookie_only(self, result: Result) -> bool:
        """A redirect to the page itself that gives a cookie: the page is there for whoever brings it."""
        if not 300 <= result.status < 400 or self._cookie_redirects >= _MAX_COOKIE_REDIRECTS:
            return False
        url = self._request.url
        location = result.address("location")
        return bool(location and result.header("set-cookie")) and urls.resolve_links(url, [location])[0] == url

    def _keep(self, result: Result) -> Result | None:
        result.request = _without_secrets(result.request)
        self._bytes += len(result.body)
        if result.status or self._room_for_refusal(result.failure):
            self.exchanges.append(result)
        return result if result.status else None

    def _refuse(self, method: str, url: str, code: str, detail: str) -> None:
        if not self._room_for_refusal(code):
            return
        request = Request(url=url[:8192], method=method[:20])
        now = time.time_ns() // 1_000_000
        self.exchanges.append(Result(request=request, failure=code, detail=detail, body=Body(), started_ms=now))

    def _room_for_refusal(self, code: str) -> bool:
        self.refused[code] += 1
        return self.refused.total() <= _MAX_REFUSALS


def _without_secrets(request: Request) -> Request:
    return msgspec.structs.replace(request, username="", password="", proxy="", headers=())

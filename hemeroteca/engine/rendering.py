"""Pages that go to the browser: which ones, whether there is a browser, and what is kept of what it loaded."""

import selectors
from collections.abc import Callable
from pathlib import Path

from hemeroteca import urls
from hemeroteca.archive import queries
from hemeroteca.archive.rendered import screenshot_of
from hemeroteca.fetch import FetchSettings, Request, Result
from hemeroteca.fetch.browser import BrowserFetcher, BrowserSettings, Rendered, missing
from hemeroteca.frontier.values import Role, Visit

MOST_WAITING = 16  # pages given to the browser at once; the hosts of further ones wait
# The browser's own troubles, which say nothing about the host.
BROWSER_TROUBLES = {"browser", "browser-died", "browser-memory", "browser-missing", "page-crashed", "render-timeout"}


class Rendering:
    """The browser, started when the first page needs it."""

    def __init__(self, fetch: FetchSettings, selector: selectors.BaseSelector) -> None:
        self.wanted: dict[int, Visit] = {}  # pages read already that need it: their next lease goes to the browser
        self.gave_up: dict[int, str] = {}  # pages the browser could not open, and why: their next fetch is a plain one
        self._settings = BrowserSettings(fetch=fetch)
        self._selector = selector
        self._fetcher: BrowserFetcher | None = None
        self._missing: str | None = None

    def missing(self) -> str:
        """Why no page can be rendered here; empty when pages can."""
        if self._missing is None:
            self._missing = missing(self._settings)
        return self._missing

    @property
    def active(self) -> int:
        return self._fetcher.active if self._fetcher is not None else 0

    @property
    def room(self) -> bool:
        return self.active < MOST_WAITING

    def submit(self, request: Request, done: Callable[[Rendered], None], allowed: Callable[[str], bool] | None) -> None:
        if self._fetcher is None:
            self._fetcher = BrowserFetcher(self._settings, self._selector)
        self._fetcher.submit(request, done, allowed)

    def timeout(self) -> float | None:
        return self._fetcher.timeout() if self._fetcher is not None else None

    def tick(self) -> None:
        if self._fetcher is not None:
            self._fetcher.tick()

    def forget(self, crawl: int) -> None:
        """A crawl has ended."""
        self.wanted = {page: visit for page, visit in self.wanted.items() if visit.crawl != crawl}

    def close(self) -> None:
        if self._fetcher is not None:
            self._fetcher.close()


def led_away(rendered: Rendered, key: int) -> str:
    """The page scripts went on to, in which case the DOM is that page's; empty when they stayed, or only changed the
    address that is shown."""
    address = rendered.final_url.partition("#")[0]
    if _key(address) in (key, None):
        return ""
    return address if any(_is_page(exchange, address) for exchange in rendered.exchanges) else ""


def picture_place(folder: Path, visit: Visit) -> tuple[str, str, int, int] | None:
    """Where the screenshot of a page's last version lies."""
    version = queries.whole(visit.digest) if visit.digest else None  # the DOM, when a browser made that version
    row = screenshot_of(version) if version is not None else None
    return None if row is None else (str(folder), row.warc_name, row.offset, row.length)


def requisites(rendered: Rendered, visit: Visit) -> tuple[list[tuple[Visit, Result]], list[str]]:
    """What the page loaded and the archive keeps, each as a visit without a page; and notes about what it does not."""
    kept: list[tuple[Visit, Result]] = []
    methods: dict[str, int] = {}
    for exchange in rendered.exchanges:
        key = _key(exchange.request.url)
        if exchange.status and exchange.request.method != "GET":
            methods[exchange.request.method] = methods.get(exchange.request.method, 0) + 1
        elif exchange.status and key is not None and key != visit.key:
            url = urls.canonical(exchange.request.url)
            kept.append((Visit(0, key, url, visit.host, visit.crawl, 0, 0, Role.REQUISITE, 0, "", "", "", 0), exchange))
            continue
        exchange.body.discard()
    # The answer to such a request would be replayed to whoever asks for the same address with GET.
    notes = [f"{method.lower()}-not-kept: {count} answers" for method, count in methods.items() if method == "POST"]
    return kept, notes


def is_met(exchange: Result) -> bool:
    """Whether an address the browser loaded need not be fetched again for its own sake. What may be a page must."""
    return exchange.status == 200 and not exchange.truncated and not _html(exchange)


def _is_page(exchange: Result, address: str) -> bool:
    return exchange.request.url.partition("#")[0] == address and exchange.request.method == "GET" and _html(exchange)


def _html(exchange: Result) -> bool:
    kind = exchange.header("content-type").partition(";")[0].strip().lower()
    return bool(exchange.status) and kind in ("", "text/html", "application/xhtml+xml")


def _key(url: str) -> int | None:
    try:
        return urls.key(urls.canonical(url))
    except urls.UrlError:
        return None

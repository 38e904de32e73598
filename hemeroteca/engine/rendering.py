"""Pages that go to the browser: which ones, whether there is a browser, and what is kept of what it loaded."""

import selectors
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from hemeroteca import urls
from hemeroteca.archive import queries
from hemeroteca.archive.rendered import screenshot_of
from hemeroteca.fetch import FetchSettings, Request, Result
from hemeroteca.fetch.browser import BrowserFetcher, BrowserSettings, Rendered, missing
from hemeroteca.fetch.browser.browser_fetcher import Allowed, Answer
from hemeroteca.frontier.robots import MAX_BYTES, MAX_REDIRECTS, RobotsCache
from hemeroteca.frontier.visit import Visit
from hemeroteca.urls.candidate import UrlRole
from hemeroteca.warc import Location, keys

MAX_WAITING = 16  # pages given to the browser at once; the hosts of further ones wait
# The browser's own troubles, which say nothing about the host.
BROWSER_TROUBLES = {"browser", "browser-died", "browser-memory", "browser-missing", "page-crashed", "render-timeout"}
RULES_SECONDS = 10.0  # for a robots.txt that a page waits for

Keep = Callable[[str, Visit, Result], None]


class Rendering:
    """The browser, started when the first page needs it."""

    def __init__(self, fetch: FetchSettings, selector: selectors.BaseSelector) -> None:
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
        return self.active < MAX_WAITING

    def submit(self, request: Request, done: Callable[[Rendered], None], allowed: Allowed | None) -> None:
        if self._fetcher is None:
            self._fetcher = BrowserFetcher(self._settings, self._selector)
        self._fetcher.submit(request, done, allowed)

    def timeout(self) -> float | None:
        return self._fetcher.timeout() if self._fetcher is not None else None

    def tick(self) -> None:
        if self._fetcher is not None:
            self._fetcher.tick()

    def close(self) -> None:
        if self._fetcher is not None:
            self._fetcher.close()


class PageRules:
    """Whether robots.txt lets a page load something. Rules nobody knows are asked for first; the page waits meanwhile.

    They are asked for at once, not in the queue of their host: the page is about to load from that host anyway, and the
    host may be the one that is busy with this very page.
    """

    def __init__(
        self,
        robots: RobotsCache,
        fetch: Callable[[Request, Callable[[Result], None]], None],
        agent: str,
        keep: Keep,
    ) -> None:
        self._robots = robots
        self._fetch = fetch
        self._agent = agent
        self._keep = keep  # the archive has every robots.txt that was obeyed
        self._waiting: dict[str, list[tuple[str, Answer]]] = {}

    def ask(self, url: str, page: Request, answer: Answer) -> None:
        """`page`: the request of the page; what a person allowed for its host holds for that host's rules too."""
        try:
            address = urls.canonical(url)
        except urls.UrlError:
            answer(True)  # the browser's business: the archive does not keep it
            return
        origin = urls.origin(address)
        rules = self._robots.rules(origin, time.time())
        if rules is not None:
            answer(rules.allows(address, self._agent))
            return
        if origin in self._waiting:
            self._waiting[origin].append((address, answer))
            return
        self._waiting[origin] = [(address, answer)]
        own = origin == urls.origin(page.url)
        self._get(origin, f"{origin}/robots.txt", page if own else Request(url="", proxy=page.proxy), page.tag, 0)

    def _get(self, origin: str, url: str, like: Request, visit: Visit, redirects: int) -> None:
        request = msgspec.structs.replace(
            like, url=url, tag=None, cookie_jar="", max_body_bytes=MAX_BYTES, timeout=RULES_SECONDS
        )
        self._fetch(request, lambda result: self._got(origin, request, visit, redirects, result))

    def _got(self, origin: str, request: Request, visit: Visit, redirects: int, result: Result) -> None:
        if result.failure == "refused-address":  # the guard will refuse what the page wants too, and say why
            result.body.discard()
            for _, answer in self._waiting.pop(origin, ()):
                answer(True)
            return
        if 300 <= result.status < 400 and redirects < MAX_REDIRECTS:
            target = urls.resolve_links(request.url, [result.address("location")])[0]
            if target is not None:
                self._keep(request.url, visit, result)
                own = urls.origin(target) == urls.origin(request.url)  # a login is not for whoever it is led to
                self._get(
                    origin, target, request if own else Request(url="", proxy=request.proxy), visit, redirects + 1
                )
                return
        rules = self._robots.learn_from(origin, result, time.time())
        if result.status:
            self._keep(request.url, visit, result)
        else:
            result.body.discard()
        for address, answer in self._waiting.pop(origin, ()):
            answer(rules.allows(address, self._agent))


def led_away(rendered: Rendered, key: int) -> str:
    """The page scripts went on to, in which case the DOM is that page's; empty when they stayed, or only changed the
    address that is shown."""
    address = rendered.final_url.partition("#")[0]
    if _key(address) in (key, None):
        return ""
    return address if any(_is_page(exchange, address) for exchange in rendered.exchanges) else ""


def picture_place(folder: Path, visit: Visit) -> Location | None:
    """Where the screenshot of a page's last version lies."""
    version = queries.whole(visit.digest) if visit.digest else None  # the DOM, when a browser made that version
    row = screenshot_of(version) if version is not None else None
    return None if row is None else row.location(folder)


def requisites(rendered: Rendered, visit: Visit) -> tuple[list[tuple[Visit, Result]], list[str]]:
    """What the page loaded and the archive keeps, each as a visit without a page; and notes about what it does not."""
    kept: list[tuple[Visit, Result]] = []
    too_long = 0
    for exchange in rendered.exchanges:
        key, method = _key(exchange.request.url), exchange.request.method
        if exchange.status and method == "POST" and not keys.is_kept(method, exchange.request.content):
            too_long += 1
        elif exchange.status and key is not None and (method == "POST" or (method == "GET" and key != visit.key)):
            url = urls.canonical(exchange.request.url)
            kept.append((Visit(key=key, url=url, host=visit.host, crawl=visit.crawl, role=UrlRole.REQUISITE), exchange))
            continue
        exchange.body.discard()
    return kept, [f"post-not-kept: {too_long} answers to more than {keys.MAX_SENT} bytes"] if too_long else []


def is_met(exchange: Result) -> bool:
    """Whether an address the browser loaded need not be fetched again for its own sake. What may be a page must."""
    got = exchange.status == 200 and exchange.request.method == "GET"
    return got and not exchange.truncated and not _html(exchange)


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

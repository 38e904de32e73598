"""What a perfect crawler would find: the web walked in the model, without a request."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from simweb.model import IMAGES, LOGIN_PATH, SEARCH_PATH, STATIC_PAGES, Host, Resource, Web

DOCUMENTS = frozenset({"page", "print", "static", "pdf", "refresh", "busy"})


class Found(NamedTuple):
    """What is at a URL in the end: busy pages count with the status they have after waiting."""

    kind: str
    status: int


class Link(NamedTuple):
    url: str
    kind: str  # page, requisite, feed, redirect, nofollow


def crawl_map(
    web: Web,
    seeds: Iterable[str],
    now: float,
    *,
    scope: str = "domain",
    sitemaps: bool = True,
    feeds: bool = True,
    requisites: bool = False,
    nofollow: bool = False,
) -> dict[str, Found]:
    """Every URL a complete, robots-respecting crawl asks for (robots.txt and sitemaps apart) and what it finds there.

    `scope` "host" stays on the hosts of the seeds, "domain" follows links to all hosts. `nofollow`: follow such links.
    """
    if scope not in ("host", "domain"):
        raise ValueError(f"scope is {scope!r}; simweb knows `host` and `domain`")
    seeds = list(seeds)
    hosts = {urlsplit(url).hostname for url in seeds}
    queue = deque(seeds)
    known = set(seeds)
    found: dict[str, Found] = {}
    visited_hosts: set[int] = set()
    wanted = {"requisite": requisites, "feed": feeds, "nofollow": nofollow}

    def add(url: str) -> None:
        if url not in known and (scope == "domain" or urlsplit(url).hostname in hosts):
            known.add(url)
            queue.append(url)

    while queue:
        url = queue.popleft()
        host, target = locate(web, url)
        if host is None or host.forbids(target):
            continue
        if sitemaps and host.index not in visited_hosts:
            visited_hosts.add(host.index)
            for listed in sitemap_urls(host, now):
                add(listed)
        resource = host.resource(target, now)
        found[url] = Found(resource.kind, 200 if resource.kind == "busy" else resource.status)
        for link in links(host, target, resource, now):
            if wanted.get(link.kind, True):
                add(link.url)
    return found


def reachable(web: Web, seeds: Iterable[str], now: float, *, scope: str = "domain", sitemaps: bool = True) -> set[str]:
    """The documents (HTML and PDF, status 200) among them."""
    everything = crawl_map(web, seeds, now, scope=scope, sitemaps=sitemaps)
    return {url for url, what in everything.items() if what.kind in DOCUMENTS and what.status == 200}


def locate(web: Web, url: str) -> tuple[Host | None, str]:
    """The host and the path with query of a URL."""
    parts = urlsplit(url)
    path = parts.path or "/"
    return web.host(parts.hostname or ""), f"{path}?{parts.query}" if parts.query else path


def sitemap_urls(host: Host, now: float) -> Iterator[str]:
    """What the announced sitemaps of a host list."""
    if host.sitemap != "none":
        for number in range(host.count(now)):
            if host.trait(number) != "private":
                yield host.url(number)


def links(host: Host, target: str, resource: Resource, now: float) -> Iterator[Link]:
    """The links of what is at an address, in no special order; some twice."""
    match resource.kind:
        case "page":
            yield from _page_links(host, resource.number, now)
            yield from _frame_links(host)
        case "static":
            yield from _frame_links(host)
        case "feed":
            yield Link(f"{host.origin}/", "page")
            for number in host.latest(now):
                yield Link(host.url(number), "page")
        case "print" | "refresh" | "busy":
            yield Link(host.url(resource.number), "page")
        case "redirect":
            yield Link(host.origin + resource.location, "redirect")
        case "css":
            files = ("/img/logo.svg",) if target.endswith("extra.css") else ("/static/extra.css", "/img/fondo.png")
            for path in files:
                yield Link(host.origin + path, "requisite")


def _page_links(host: Host, number: int, now: float) -> Iterator[Link]:
    numbers = [*host.related(number), *host.children(number, now), *host.neighbours(number), *host.ancestors(number)]
    if number == 0:
        numbers += host.latest(now)
    for other in numbers:
        if host.trait(other) != "orphan":
            yield Link(host.url(other), "page")
    for foreign, other in host.cross(number):
        yield Link(foreign.url(other), "page")
    if path := host.trouble(number):
        yield Link(host.origin + path, "page")
    match host.trait(number):
        case "pdf":
            yield Link(f"{host.origin}/docs/informe-{number}.pdf", "page")
        case "print":
            yield Link(host.origin + host.print_path(number), "page")
    image = number % IMAGES
    yield Link(f"{host.origin}/img/{image}.png", "requisite")
    if image % 4 == 0:
        yield Link(f"{host.origin}/img/{image}.svg", "requisite")


def _frame_links(host: Host) -> Iterator[Link]:
    for number in (0, *host.menu(), *host.most_read()):
        if host.trait(number) != "orphan":
            yield Link(host.url(number), "page")
    for path in (*STATIC_PAGES, SEARCH_PATH):
        yield Link(host.origin + path, "page")
    yield Link(host.origin + LOGIN_PATH, "nofollow")
    for friend in host.friends():
        yield Link(f"{friend.origin}/", "page")
    yield Link(host.origin + host.feed, "feed")
    for path in ("/static/estilo.css", "/static/app.js", "/favicon.ico", "/img/logo.png", "/img/1.gif"):
        yield Link(host.origin + path, "requisite")

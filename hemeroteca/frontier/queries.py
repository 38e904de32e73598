"""Reads of the frontier for people: crawls, pages and hosts. The engine has its own (`statements`)."""

from bisect import bisect_right
from collections.abc import Iterable

import msgspec
from django.db.models import Count, Exists, Max, Min, OuterRef

from hemeroteca import urls
from hemeroteca.frontier.models import FETCH, STANDING, Crawl, CrawlEvent, FocusLink, Host, Page, QueuedVisit
from hemeroteca.frontier.visit import State
from hemeroteca.urls.candidate import UrlRole


class Held(msgspec.Struct, frozen=True):
    """Addresses of one host that a crawl holds back for one reason."""

    crawl: int
    host: str
    reason: str
    addresses: int
    example: str


def crawl(number: int) -> Crawl | None:
    """A crawl of a person or a subscription; what a client of the fleet had fetched is shown to nobody else."""
    return Crawl.objects.exclude(fingerprint__startswith=FETCH).filter(pk=number).first()


def crawls(limit: int, before: int | None = None) -> list[Crawl]:
    """Those people ordered, not those of subscriptions and clients; newest first, those older than crawl number
    `before`."""
    found = Crawl.objects.exclude(fingerprint=STANDING).exclude(fingerprint__startswith=FETCH).order_by("-pk")
    return list((found.filter(pk__lt=before) if before is not None else found)[:limit])


def events(crawl: int, limit: int = 100) -> list[CrawlEvent]:
    """The log of a crawl, the last first."""
    return list(CrawlEvent.objects.filter(crawl=crawl).order_by("-pk")[:limit])


def queued_hosts(crawl: int, limit: int = 10) -> list[tuple[Host, int]]:
    """The hosts a crawl has most to ask of, with how many of its pages wait there."""
    waiting = (
        QueuedVisit.objects.filter(crawl=crawl, state=State.QUEUED).values_list("host").annotate(number=Count("pk"))
    )
    most = dict(waiting.order_by("-number")[:limit])
    found = Host.objects.in_bulk(list(most))
    return [(found[number], count) for number, count in most.items() if number in found]


def page(url: str) -> Page | None:
    """The page at an address, in whatever spelling. Raises urls.UrlError for what is not an address."""
    return Page.objects.select_related("host").filter(key=urls.key(urls.canonical(url))).first()


def last_visit(page: Page) -> QueuedVisit | None:
    """What became of the last order to visit a page. Looks it up by crawl and page, as all are found."""
    found = QueuedVisit.objects.select_related("page", "page__host").filter(
        page=page, crawl__in=Crawl.objects.values("pk")
    )
    return found.order_by("-crawl").first()


def visited_as_page(crawl: int | None, page: int | None) -> bool:
    """Whether a crawl visits a page for its own sake, not because another page needs it."""
    return QueuedVisit.objects.filter(crawl=crawl, page=page).exclude(role=UrlRole.REQUISITE).exists()


def visits(
    limit: int, *, before: int | None = None, state: State | None = None, host: str = "", crawl: int | None = None
) -> list[QueuedVisit]:
    """Newest first, those before visit number `before`: of one crawl, or the last one of each page. What clients of the
    fleet have fetched is theirs."""
    found = QueuedVisit.objects.select_related("page", "page__host").exclude(crawl__fingerprint__startswith=FETCH)
    found = found.order_by("-pk")
    if crawl is not None:
        found = found.filter(crawl=crawl)
    else:
        later = Crawl.objects.filter(pk__gt=OuterRef(OuterRef("crawl"))).values("pk")
        found = found.filter(~Exists(QueuedVisit.objects.filter(page=OuterRef("page"), crawl__in=later)))
    if before is not None:
        found = found.filter(pk__lt=before)
    if state is not None:
        found = found.filter(state=state)
    if host:
        found = found.filter(host__name=host.lower())
    return list(found[:limit])


def way_to(url: str, crawl: int | None = None, most: int = 12) -> list[tuple[FocusLink, str]]:
    """How a crawl with a focus (the last one, or one of them) came to a page: the link to it, the link to the page that
    one stands on, and so on; each with the address it leads to. Raises urls.UrlError for what is not an address."""
    address = urls.canonical(url)
    found = FocusLink.objects.filter(key=urls.key(address)).order_by("-crawl")
    link = (found.filter(crawl=crawl) if crawl is not None else found).first()
    way: list[tuple[FocusLink, str]] = []
    while link is not None and len(way) < most and link.key not in {step.key for step, _ in way}:
        way.append((link, address))
        address = link.parent_url
        link = FocusLink.objects.filter(crawl=link.crawl_id, key=link.parent).first() if link.parent else None  # type: ignore[attr-defined]
        if link is not None and not address:  # a redirect
            page = Page.objects.filter(key=link.key).first()
            address = page.url if page is not None else ""
    return way


def focus_links(
    limit: int, *, before: int | None = None, crawl: int | None = None, targets: bool = True
) -> list[tuple[FocusLink, str]]:
    """Pages that crawls with a focus visited, the last first, with their addresses; `targets`: only what they look
    for."""
    found = FocusLink.objects.filter(number__gt=0).order_by("-pk")
    if targets:
        found = found.exclude(target="")
    if crawl is not None:
        found = found.filter(crawl=crawl)
    if before is not None:
        found = found.filter(pk__lt=before)
    links = list(found[:limit])
    addresses = dict(Page.objects.filter(key__in=[link.key for link in links]).values_list("key", "url"))
    return [(link, addresses.get(link.key, "")) for link in links]


def harvest_curve(crawl: int, points: int) -> tuple[int, list[tuple[int, int]]]:
    """Pages that a crawl with a focus has visited, and targets found after so many of them, in equal steps."""
    links = FocusLink.objects.filter(crawl=crawl, number__gt=0)
    visited = links.aggregate(last=Max("number"))["last"] or 0
    found = sorted(links.exclude(target="").values_list("number", flat=True))
    step = max(1, visited // points)
    places = [*range(0, visited, step), visited] if visited else []
    return visited, [(at, bisect_right(found, at)) for at in places]


def held(crawl: int | None = None, limit: int = 200) -> list[Held]:
    """What is held back as a possible trap, the most first."""
    found = QueuedVisit.objects.filter(state=State.HELD)
    if crawl is not None:
        found = found.filter(crawl=crawl)
    kinds = found.values_list("crawl", "host__name", "reason").annotate(addresses=Count("id"), example=Min("page__url"))
    return [Held(*kind) for kind in kinds.order_by("-addresses", "host__name")[:limit]]


def held_count(crawl: int) -> int:
    return QueuedVisit.objects.filter(crawl=crawl, state=State.HELD).count()


def pages_by_key(keys: Iterable[int]) -> dict[int, Page]:
    return {found.key: found for found in Page.objects.filter(key__in=list(keys)).only("id", "key", "versions")}


def hosts(limit: int) -> list[Host]:
    """Hosts with the most pages first."""
    return list(Host.objects.order_by("-pages", "name")[:limit])


def seed_keys(most: int = 5000) -> list[int]:
    """Keys of the pages people asked for, those of the newest crawls first."""
    keys: dict[int, None] = {}
    for seeds in Crawl.objects.order_by("-pk").values_list("seeds", flat=True)[:1000]:
        keys.update(dict.fromkeys(urls.key(seed) for seed in seeds[:most]))
        if len(keys) >= most:
            break
    return list(keys)[:most]


def crawls_that_ignore_robots() -> set[int]:
    return set(Crawl.objects.filter(options__ignore_robots=True).values_list("pk", flat=True))


def longest_delay(usual: float) -> float:
    """Between two requests to a host, of the crawls at work; `usual` where they do not say."""
    asked = Crawl.objects.filter(state=Crawl.State.RUNNING).values_list("options__delay", flat=True)
    return max([usual, *(delay for delay in asked if isinstance(delay, int | float))])  # a row may be damaged

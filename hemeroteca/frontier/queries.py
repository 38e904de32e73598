"""Reads of the frontier for people: crawls, pages and hosts. The engine has its own (`store`)."""

from collections.abc import Iterable

from django.db.models import Exists, OuterRef

from hemeroteca import urls
from hemeroteca.frontier.models import Crawl, Host, Page, Visit
from hemeroteca.frontier.visit import State
from hemeroteca.urls.candidate import Role


def crawl(number: int) -> Crawl | None:
    return Crawl.objects.filter(pk=number).first()


def crawls(limit: int, before: int | None = None) -> list[Crawl]:
    """Newest first, those older than crawl number `before`."""
    found = Crawl.objects.order_by("-pk")
    return list((found.filter(pk__lt=before) if before is not None else found)[:limit])


def page(url: str) -> Page | None:
    """The page at an address, in whatever spelling. Raises urls.UrlError for what is not an address."""
    return Page.objects.select_related("host").filter(key=urls.key(urls.canonical(url))).first()


def last_visit(page: Page) -> Visit | None:
    """What became of the last order to visit a page. Looks it up by crawl and page, as all are found."""
    found = Visit.objects.select_related("page", "page__host").filter(page=page, crawl__in=Crawl.objects.values("pk"))
    return found.order_by("-crawl").first()


def is_sitemap(page: int) -> bool:
    """Whether a crawl has visited the page as a list of others."""
    visits = Visit.objects.filter(page=page, crawl__in=Crawl.objects.values("pk"))
    return visits.filter(role=Role.SITEMAP).exists()


def visits(
    limit: int, *, before: int | None = None, state: State | None = None, host: str = "", crawl: int | None = None
) -> list[Visit]:
    """Newest first, those before visit number `before`: of one crawl, or the last one of each page."""
    found = Visit.objects.select_related("page", "page__host").order_by("-pk")
    if crawl is not None:
        found = found.filter(crawl=crawl)
    else:
        later = Crawl.objects.filter(pk__gt=OuterRef(OuterRef("crawl"))).values("pk")
        found = found.filter(~Exists(Visit.objects.filter(page=OuterRef("page"), crawl__in=later)))
    if before is not None:
        found = found.filter(pk__lt=before)
    if state is not None:
        found = found.filter(state=state)
    if host:
        found = found.filter(host__name=host.lower())
    return list(found[:limit])


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

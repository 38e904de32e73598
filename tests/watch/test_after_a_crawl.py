"""Pages that somebody else visited before a subscription, or before its scope grew, are watched like all others."""

import pytest
from django.conf import settings

from hemeroteca import config, urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.engine.loop import Engine
from hemeroteca.frontier import services as frontier
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.watch import services
from hemeroteca.watch.fields import Order
from hemeroteca.watch.models import WatchedPage
from tests.engine.pages import HOST, Answer, Pages
from tests.watch.test_engine import Days

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True), pytest.mark.slow]

HOME = f"http://{HOST}/"
TREE = {
    "/": "<a href=/a/>a</a><a href=/b/>b</a>",
    "/a/": "<a href=/a/1>1</a><a href=/>home</a>",
    "/b/": "<p>b",
    "/a/1": "<p>1",
}


class Still(Pages):
    """A web that never changes; with `etags`, it says so."""

    def __init__(self, etags: bool) -> None:
        super().__init__()
        if etags:
            self.other = self._unchanged
        else:
            self.pages |= TREE

    def _unchanged(self, host: str, path: str) -> Answer:
        if path not in TREE:
            return Answer(status=404)
        if b"If-None-Match" in self.heads[path]:
            return Answer(status=304)
        return Answer(TREE[path].encode(), headers=b'ETag: "1"\r\n')

    def advance(self, hours: float) -> None:
        """Nothing happens."""


@pytest.fixture(params=[False, True], ids=["same bytes", "304"])
def web(request):
    web = Still(request.param)
    yield web
    web.server.close()


def crawl(web: Still, kind: str) -> None:
    settings.INSTANCE.create()
    options = CrawlOptions(scope=urls.Scope(kind=kind), sitemaps=False)
    order, _ = frontier.submit_crawl(SYSTEM, [HOME], options)
    given = config.load(resolve=web.resolve, allow_private=True, delay=0, ingest_processes=1, commit_seconds=0.02)
    Engine(given, settings.INSTANCE, only=order.pk).run()


def watched() -> set[str]:
    return {url.removeprefix(f"http://{HOST}") for url in WatchedPage.objects.values_list("url", flat=True)}


def test_a_site_that_was_crawled_before_is_watched_whole(web, monkeypatch):
    crawl(web, "host")
    services.subscribe(SYSTEM, Order(url=HOME, scope="host", requisites=False, mode="fixed 6"))
    Days(web, days=1, step_hours=6).run(monkeypatch, allow_private=True)
    assert set(TREE) <= watched()


def test_a_wider_scope_reaches_what_pages_unchanged_since_link_to(web, monkeypatch):
    subscription, _ = services.subscribe(SYSTEM, Order(url=HOME, scope="page", requisites=False, mode="fixed 6"))
    Days(web, days=1, step_hours=6).run(monkeypatch, allow_private=True)
    assert watched() == {"/"}
    services.edit(SYSTEM, subscription.pk, {"scope": "host"})
    Days(web, days=1, step_hours=6).run(monkeypatch, allow_private=True)
    assert set(TREE) <= watched()


def test_a_crawl_of_a_wider_scope_follows_the_links_of_pages_another_crawl_knows(web):
    crawl(web, "page")
    crawl(web, "host")
    assert set(TREE) <= set(web.asked)


def test_a_link_that_robots_txt_closes_is_no_trouble_of_its_site(monkeypatch):
    web = Still(etags=False)
    web.pages |= {"/robots.txt": "User-agent: *\nDisallow: /private/", "/": "<a href=/private/x>x</a>"}
    subscription, _ = services.subscribe(SYSTEM, Order(url=HOME, scope="host", requisites=False, mode="fixed 48"))
    Days(web, days=1, step_hours=6).run(monkeypatch, allow_private=True)
    web.server.close()
    assert watched() == {"/"}
    assert "/private/x" not in web.asked
    subscription.refresh_from_db()
    assert (subscription.failures, subscription.last_error) == (0, "")

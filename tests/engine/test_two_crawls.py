"""Two crawls over one site at once: both end complete, and one visit serves both."""

import pytest
from django.conf import settings

from hemeroteca import config, urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.archive.models import IndexedCapture
from hemeroteca.engine import loop
from hemeroteca.engine.loop import Engine
from hemeroteca.engine.rebuild import repair
from hemeroteca.frontier import services
from hemeroteca.frontier.models import Crawl, QueuedVisit
from hemeroteca.frontier.visit import State
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.watch import services as watch
from hemeroteca.watch.fields import Order
from simweb import SimWeb

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def web():
    with SimWeb(seed=8, hosts=2, pages_per_host=25, page_bytes=2000, trouble=0, robots="open", growth=0.0) as web:
        yield web


def order(web: SimWeb, **options) -> Crawl:
    scope = urls.Scope(kind="domain")
    return services.submit_crawl(SYSTEM, web.seed_urls(1), CrawlOptions(scope=scope, requisites=False, **options))[0]


def run(web: SimWeb, monkeypatch, tick=None) -> None:
    """Let an engine work until no crawl is running."""

    def look(engine: Engine) -> None:
        if tick is not None:
            tick(engine)
        if not Crawl.objects.filter(state=Crawl.State.RUNNING).exists():
            engine.stop("all is done")

    monkeypatch.setattr(loop, "MAX_PAUSE", 0.02)
    settings.INSTANCE.create()
    given = config.load(resolve=web.resolve, delay=0, ingest_processes=1, commit_seconds=0.05, allow_private=True)
    repair(given, settings.INSTANCE)
    Engine(given, settings.INSTANCE, tick=look).run()


def pages(crawl: Crawl) -> set[str]:
    found = QueuedVisit.objects.filter(crawl=crawl, role=0)
    assert not found.filter(state=State.QUEUED).exists()
    return set(found.values_list("page__url", flat=True))


def test_ordered_together_both_are_complete_and_no_page_is_asked_for_twice(web, monkeypatch):
    one, other = order(web), order(web, sitemaps=False)
    run(web, monkeypatch)
    assert len(pages(other)) >= 25
    assert pages(one) >= pages(other)
    stats = web.stats()
    assert stats.max_fetches == 1
    assert stats.max_active == 1
    assert IndexedCapture.objects.values("url").distinct().count() == IndexedCapture.objects.count()  # kept once, too
    counts = [services.counts_of(crawl) for crawl in Crawl.objects.order_by("pk")]
    assert [count.queued for count in counts] == [0, 0]
    assert counts[0].pages >= counts[1].pages >= 25
    assert counts[0].captures + counts[1].captures == IndexedCapture.objects.count()


def test_one_that_begins_later_asks_again_only_for_what_was_visited_before_it_was_ordered(web, monkeypatch):
    one = order(web)
    later: list[Crawl] = []

    def tick(engine: Engine) -> None:
        if not later and QueuedVisit.objects.filter(crawl=one, state=State.DONE).count() >= 8:
            later.append(order(web, sitemaps=False))

    run(web, monkeypatch, tick)
    assert pages(one) >= pages(later[0])
    stats = web.stats()
    assert stats.max_fetches <= 2
    assert stats.max_active == 1
    first: dict[str, int] = {}
    again = set()
    for url, captured_ms in IndexedCapture.objects.order_by("captured_ms").values_list("url", "captured_ms"):
        if url in first:
            again.add(url)
        first.setdefault(url, captured_ms)
    assert again == {url for url in pages(later[0]) if first[url] < later[0].created_ms}
    assert again


def test_a_site_that_is_watched_first_is_crawled_completely(web, monkeypatch):
    """Pages that the watch knows, and has not seen change, lead on as those that nobody knew."""
    watched, _ = watch.subscribe(SYSTEM, Order(url=web.seed_urls(1)[0], scope="host"))
    crawls: list[Crawl] = []

    def tick(engine: Engine) -> None:
        seen = QueuedVisit.objects.filter(crawl=watched.crawl_id, state=State.DONE).count()
        if not crawls and seen >= 10:
            crawls.append(order(web))
        if crawls and Crawl.objects.get(pk=crawls[0].pk).state != Crawl.State.RUNNING:
            engine.stop("the crawl is done")

    run(web, monkeypatch, tick)
    there = web.reachable(web.seed_urls(1))
    assert len(there) >= 25
    assert pages(crawls[0]) >= there


def test_each_crawl_keeps_to_its_own_scope(web, monkeypatch):
    order(web)
    seed = web.seed_urls(1)[0]
    narrow, _ = services.submit_crawl(SYSTEM, [seed], CrawlOptions(scope=urls.Scope(kind="page"), requisites=False))
    run(web, monkeypatch)
    assert pages(narrow) == {seed}
    assert web.stats().max_fetches == 1

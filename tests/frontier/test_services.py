"""Orders from people: crawls and settings of sites."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.errors import Refused
from hemeroteca.frontier import queries, services
from hemeroteca.frontier.models import Crawl, QueuedVisit
from hemeroteca.frontier.visit import State
from hemeroteca.ingest.rules import CrawlOptions
from tests.frontier.making import finish, leased, opened, order

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def test_the_same_order_goes_on_until_it_has_finished():
    first, continued = services.submit_crawl(SYSTEM, ["a.test"], CrawlOptions(scope=urls.Scope(kind="host")))
    assert not continued
    again, continued = services.submit_crawl(
        SYSTEM, ["https://A.test/"], CrawlOptions(scope=urls.Scope(kind="host"), limit=5)
    )
    assert continued
    assert again.pk == first.pk
    assert services.options_of(again).limit == 5
    Crawl.objects.update(state=Crawl.State.FINISHED)
    fresh, continued = services.submit_crawl(SYSTEM, ["a.test"], CrawlOptions(scope=urls.Scope(kind="host")))
    assert not continued
    assert fresh.pk != first.pk


def test_the_same_order_given_many_times_at_once_is_one_crawl():
    if connection.vendor == "sqlite":
        pytest.skip("the SQLite of tests lives in memory, where writers do not wait for each other")
    together = Barrier(6)

    def give(_: int) -> tuple[int, bool]:
        try:
            together.wait(timeout=30)
            crawl, continued = services.submit_crawl(SYSTEM, ["a.test"], CrawlOptions(scope=urls.Scope(kind="host")))
            return crawl.pk, continued
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as people:
        given = list(people.map(give, range(6)))
    assert len({crawl for crawl, _ in given}) == 1
    assert sorted(continued for _, continued in given) == [False, *[True] * 5]


@pytest.mark.parametrize("bad", ["", "   ", "ftp://a.test/", "http://", "http://a b/", "javascript:alert(1)"])
def test_an_address_that_cannot_be_crawled_is_refused_by_name(bad):
    with pytest.raises(Refused) as caught:
        services.submit_crawl(SYSTEM, [bad], CrawlOptions(scope=urls.Scope(kind="host")))
    assert "address" in str(caught.value)


def test_settings_of_a_site_are_checked_and_kept():
    settings = services.set_site(SYSTEM, "A.test", {"delay": "2.5", "insecure": "true"})
    assert (settings.delay, settings.insecure) == (2.5, True)
    assert services.site(SYSTEM, "a.test") == settings
    assert services.set_site(SYSTEM, "a.test", {"delay": None}).delay is None
    with pytest.raises(Refused, match="not a setting"):
        services.set_site(SYSTEM, "a.test", {"dealy": "2"})
    with pytest.raises(Refused, match="delay is 'fast'; write a number"):
        services.set_site(SYSTEM, "a.test", {"delay": "fast"})


def test_an_unknown_way_to_render_is_refused_with_the_known_ones():
    with pytest.raises(Refused, match="render=often is not known; write one of: auto, always, never"):
        services.set_site(SYSTEM, "a.test", {"render": "often"})
    assert services.set_site(SYSTEM, "a.test", {"render": "always"}).render == "always"
    assert services.set_site(SYSTEM, "a.test", {"render": None}).render == "auto"


@pytest.mark.parametrize(
    "options", [{"limit": 10**30}, {"limit": 0}, {"max_bytes": 1 << 70}, {"delay": float("inf")}, {"delay": -1.0}]
)
def test_numbers_that_nobody_means_are_refused_and_leave_nothing_behind(options):
    with pytest.raises(Refused, match="is out of range; write a number from"):
        services.submit_crawl(SYSTEM, ["http://a.test/"], CrawlOptions(scope=urls.Scope(kind="host"), **options))
    with pytest.raises(Refused, match="depth"):
        services.keep_crawl(None, ["http://a.test/"], CrawlOptions(scope=urls.Scope(depth=10**20)), running=True)
    with pytest.raises(Refused, match="delay nan"):
        services.set_site(SYSTEM, "a.test", {"delay": float("nan")})
    assert not Crawl.objects.exists()


def test_an_order_that_has_finished_visits_its_pages_once_more_when_it_is_given_again():
    crawl = order()
    frontier = opened(crawl, "http://a.test/1", "http://a.test/2")
    finish(leased(frontier, 1.0))
    frontier.write(1)
    Crawl.objects.update(state=Crawl.State.FINISHED)
    again = order()
    assert again.pk != crawl.pk
    assert set(QueuedVisit.objects.values_list("crawl", "state")) == {(again.pk, State.QUEUED)}
    assert QueuedVisit.objects.count() == 2


def test_an_unknown_order_of_visits_is_refused_with_the_known_ones():
    with pytest.raises(Refused, match="order=random is not known; write one of: "):
        services.submit_crawl(SYSTEM, ["a.test"], CrawlOptions(scope=urls.Scope(kind="host"), order="random"))


def test_a_damaged_delay_does_not_stop_a_start():
    services.submit_crawl(SYSTEM, ["a.test"], CrawlOptions(scope=urls.Scope(kind="host"), delay=7.0))
    services.submit_crawl(SYSTEM, ["b.test"], CrawlOptions(scope=urls.Scope(kind="host")))
    assert queries.longest_delay(2.0) == 7.0
    Crawl.objects.update(options={"delay": "soon"})
    assert queries.longest_delay(2.0) == 2.0

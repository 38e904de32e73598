"""The frontier on a real database: SQLite here, PostgreSQL in `tests.postgres`."""

import pytest

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.errors import Refused
from hemeroteca.frontier import queue, services
from hemeroteca.frontier.models import Crawl, Host, Page
from hemeroteca.frontier.queue import Frontier
from hemeroteca.frontier.values import CrawlOptions, Outcome
from hemeroteca.urls.candidate import Candidate

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def order(*seeds: str) -> Crawl:
    return services.submit_crawl(SYSTEM, seeds or ("http://a.test/",), CrawlOptions(scope=urls.Scope(kind="host")))[0]


def found(crawl: Crawl, *addresses: str, priority: int = 0) -> list[Candidate]:
    return [Candidate(urls.key(a), a, urls.host(a), crawl.pk, priority=priority) for a in addresses]


def outcome(page: int, state: int = 1, due_ms: int = 0) -> Outcome:
    return Outcome(page, state, due_ms, 0, 0, 0, 200, "", "", "", "", 0)


def opened(crawl: Crawl, *addresses: str, cap: int = 1000) -> Frontier:
    frontier = Frontier(cap)
    frontier.open_crawl(crawl.pk)
    frontier.add(found(crawl, *addresses))
    frontier.write(1)
    return frontier


def test_one_lease_per_host_until_it_is_released():
    crawl = order()
    frontier = opened(crawl, "http://a.test/1", "http://a.test/2", "http://b.test/1")
    leased = {urls.host(visit.url): visit for visit in (frontier.lease(10.0), frontier.lease(10.0))}
    assert leased.keys() == {"a.test", "b.test"}
    first = leased["a.test"]  # the host with a page left
    assert frontier.lease(10.0) is None
    frontier.release(first.host, 15.0, delay=5.0, failed=False)
    assert frontier.lease(14.9) is None
    assert frontier.next_time() == 15.0
    assert frontier.lease(15.0).host == first.host


def test_higher_priority_first_then_the_order_of_discovery():
    crawl = order()
    frontier = Frontier(1000)
    frontier.open_crawl(crawl.pk)
    frontier.add(found(crawl, "http://a.test/low", priority=-2))
    frontier.write(1)
    frontier.add(found(crawl, "http://a.test/high", priority=1))
    frontier.write(1)
    assert frontier.lease(1.0).url == "http://a.test/high"


def test_a_url_is_queued_once_per_crawl():
    crawl = order()
    frontier = opened(crawl, "http://a.test/1")
    assert frontier.add(found(crawl, "http://a.test/1", "http://a.test/2", "http://a.test/2")) == 1
    frontier.write(1)
    assert Page.objects.count() == 2
    assert frontier.queued[crawl.pk] == 2


def test_a_settled_page_leaves_the_queue_and_an_unsettled_one_survives_a_crash():
    crawl = order()
    frontier = opened(crawl, "http://a.test/1", "http://a.test/2")
    visit = frontier.lease(1.0)
    frontier.settle(visit, outcome(visit.page))
    frontier.release(visit.host, 1.0, delay=0.0, failed=False)
    frontier.write(2)
    lost = frontier.lease(2.0)  # leased, and then the process dies
    again = Frontier(1000)
    again.open_crawl(crawl.pk)
    assert again.queued[crawl.pk] == 1
    assert again.lease(3.0).url == lost.url
    assert again.add(found(crawl, "http://a.test/1", "http://a.test/2")) == 0


def test_a_leased_page_is_not_leased_twice_before_it_is_written():
    crawl = order()
    frontier = opened(crawl, *(f"http://a.test/{n}" for n in range(200)))
    seen = set()
    for _ in range(200):
        visit = frontier.lease(1.0)
        assert visit.url not in seen
        seen.add(visit.url)
        frontier.settle(visit, outcome(visit.page))
        frontier.release(visit.host, 1.0, delay=0.0, failed=False)
    assert frontier.lease(1.0) is None
    frontier.write(1)
    assert frontier.queued[crawl.pk] == 0


def test_a_page_to_be_tried_later_waits_until_it_is_due():
    crawl = order()
    frontier = opened(crawl, "http://a.test/1")
    visit = frontier.lease(1.0)
    frontier.settle(visit, outcome(visit.page, state=0, due_ms=50_000))
    frontier.release(visit.host, 1.0, delay=0.0, failed=True)
    frontier.write(1)
    assert frontier.lease(49.0) is None
    assert frontier.next_time() == 50.0
    assert frontier.lease(50.0).url == visit.url


def test_a_host_given_up_fails_its_pages_with_the_reason():
    crawl = order()
    frontier = opened(crawl, "http://a.test/1", "http://a.test/2", "http://a.test/3", "http://b.test/1")
    visit = frontier.lease(1.0)
    while urls.host(visit.url) != "a.test":
        visit = frontier.lease(1.0)
    frontier.settle(visit, outcome(visit.page, state=2))
    frontier.release(visit.host, 1.0, delay=0.0, failed=True)
    frontier.give_up(visit.host, "host-unreachable: test")
    frontier.write(1)
    assert frontier.gave_up[crawl.pk, "host-unreachable: test"] == 2
    assert Page.objects.filter(state=Page.State.FAILED, reason="host-unreachable: test").count() == 2
    assert frontier.queued[crawl.pk] == 1


def test_the_cap_per_host_holds_and_is_told():
    crawl = order()
    frontier = opened(crawl, *(f"http://a.test/{n}" for n in range(30)), cap=10)
    assert Page.objects.count() == 10
    assert frontier.refused[crawl.pk, "host-page-cap"] == 20


def test_hosts_beyond_the_memory_bound_wait_on_disk_and_get_their_turn(monkeypatch):
    monkeypatch.setattr(queue, "MOST_HOSTS", 5)
    crawl = order()
    frontier = opened(crawl, *(f"http://h{n}.test/" for n in range(23)))
    visited = set()
    for _ in range(100):
        visit = frontier.lease(1.0)
        if visit is None:
            if frontier.queued[crawl.pk] == 0:
                break
            frontier.write(1)
            continue
        visited.add(visit.url)
        frontier.settle(visit, outcome(visit.page))
        frontier.release(visit.host, 1.0, delay=0.0, failed=False)
        assert len(frontier._hosts) <= 5
    assert len(visited) == 23


def test_politeness_survives_a_restart():
    crawl = order()
    frontier = opened(crawl, "http://a.test/1", "http://a.test/2")
    visit = frontier.lease(1.0)
    frontier.release(visit.host, 100.0, delay=99.0, failed=False)
    frontier.settle(visit, outcome(visit.page))
    frontier.write(1)
    assert Host.objects.get(name="a.test").next_ms == 100_000
    again = Frontier(1000)
    again.open_crawl(crawl.pk)
    assert again.lease(99.0) is None
    assert again.lease(100.0) is not None


def test_a_clock_that_is_set_back_lets_no_host_and_no_page_wait_for_the_time_that_was():
    month = 30 * 86_400.0
    crawl = order()
    frontier = opened(crawl, "http://a.test/1", "http://a.test/2", "http://b.test/1")
    leased = {urls.host(visit.url): visit for visit in (frontier.lease(month), frontier.lease(month))}
    frontier.settle(leased["a.test"], outcome(leased["a.test"].page))
    frontier.release(leased["a.test"].host, month + 5, delay=5.0, failed=False)
    frontier.settle(leased["b.test"], outcome(leased["b.test"].page, state=0, due_ms=int((month + 50) * 1000)))
    frontier.release(leased["b.test"].host, month, delay=0.0, failed=True)
    frontier.write(1)
    assert frontier.lease(month + 1) is None
    assert frontier.lease(1000.0) is None
    assert frontier.lease(1005.0).url == "http://a.test/2"
    assert frontier.lease(1048.0) is None
    assert frontier.lease(1049.0).url == "http://b.test/1"


def test_a_host_left_behind_by_a_clock_that_was_ahead_is_asked_after_its_delay():
    crawl = order()
    frontier = opened(crawl, "http://a.test/1", "http://a.test/2")
    visit = frontier.lease(1e6)
    frontier.settle(visit, outcome(visit.page))
    frontier.release(visit.host, 1e6 + 5, delay=5.0, failed=False)
    frontier.write(1)
    again = Frontier(1000, clock=lambda: 1000.0)
    again.open_crawl(crawl.pk)
    assert again.lease(1004.0) is None
    assert again.lease(1005.0) is not None


def test_a_second_crawl_visits_known_pages_again_but_does_not_take_those_of_a_running_one():
    crawl = order()
    frontier = opened(crawl, "http://a.test/done")
    visit = frontier.lease(1.0)
    frontier.settle(visit, outcome(visit.page))
    frontier.release(visit.host, 1.0, delay=0.0, failed=False)
    frontier.add(found(crawl, "http://a.test/queued"))
    frontier.write(1)
    other = order("http://other.test/")
    frontier.open_crawl(other.pk)
    frontier.add(found(other, "http://a.test/done", "http://a.test/queued"))
    frontier.write(1)
    assert frontier.queued == {crawl.pk: 1, other.pk: 1}
    assert Page.objects.get(url="http://a.test/done").crawl_id == other.pk
    assert Page.objects.get(url="http://a.test/queued").crawl_id == crawl.pk


def test_the_same_order_goes_on_until_it_has_finished():
    first, continued = services.submit_crawl(SYSTEM, ["a.test"], CrawlOptions(scope=urls.Scope(kind="host")))
    assert not continued
    more = CrawlOptions(scope=urls.Scope(kind="host"), limit=5)
    again, continued = services.submit_crawl(SYSTEM, ["https://A.test/"], more)
    assert continued
    assert again.pk == first.pk
    assert services.options_of(again).limit == 5
    Crawl.objects.update(state=Crawl.State.FINISHED)
    fresh, continued = services.submit_crawl(SYSTEM, ["a.test"], CrawlOptions(scope=urls.Scope(kind="host")))
    assert not continued
    assert fresh.pk != first.pk


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
    with pytest.raises(Refused):
        services.set_site(SYSTEM, "a.test", {"delay": "fast"})


def test_a_site_that_is_paused_and_set_free_again_goes_on():
    services.set_site(SYSTEM, "a.test", {"paused": "true"})
    since = services.settings_revision()
    frontier = opened(order(), "http://a.test/1")
    assert frontier.lease(1.0) is None
    services.set_site(SYSTEM, "b.test", {"delay": "3"})
    services.set_site(SYSTEM, "a.test", {"paused": "false"})
    changed = services.sites_set_since(since)
    assert [name for _, name, _, _ in changed] == ["b.test", "a.test"]
    for number, _, settings, _ in changed:
        frontier.set_host(number, settings)
    assert frontier.lease(2.0).url == "http://a.test/1"
    assert services.sites_set_since(changed[-1][3]) == []


def test_a_page_asked_for_again_is_its_hosts_next_and_stays_leased_meanwhile():
    crawl = order()
    frontier = opened(crawl, "http://a.test/1", "http://a.test/2")
    visit = frontier.lease(1.0)
    frontier.release(visit.host, 2.0, delay=1.0, failed=False)
    frontier.ask_again(visit)
    frontier.give_up(visit.host, "gone")  # fails what waits on disk, not what is leased
    frontier.ask_again(visit)
    frontier.write(3)
    assert dict(Page.objects.values_list("url", "state")) == {
        "http://a.test/1": Page.State.QUEUED,
        "http://a.test/2": Page.State.FAILED,
    }
    assert frontier.lease(1.9) is None
    assert frontier.lease(2.0) is visit
    frontier.settle(visit, outcome(visit.page))
    frontier.release(visit.host, 3.0, delay=1.0, failed=False)
    frontier.write(4)
    assert frontier.queued[crawl.pk] == 0
    assert frontier.lease(9.0) is None


def test_a_host_rests_as_long_as_it_is_told():
    crawl = order()
    frontier = opened(crawl, "http://a.test/1")
    visit = frontier.lease(1.0)
    frontier.put_back(visit)
    frontier.rest(visit.host, 5.0)
    assert frontier.lease(4.9) is None
    assert frontier.lease(5.0) is visit


def test_what_was_met_by_other_means_is_not_queued():
    crawl = order()
    frontier = opened(crawl)
    frontier.meet(crawl.pk, [urls.key("http://a.test/style.css")])
    assert frontier.add(found(crawl, "http://a.test/style.css", "http://a.test/other.css")) == 1


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

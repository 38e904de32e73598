"""The frontier on a real database: SQLite here, PostgreSQL in `tests.postgres`."""

import pytest

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.errors import Invalid
from hemeroteca.frontier import queue, services
from hemeroteca.frontier.models import Host, Page, QueuedVisit
from hemeroteca.frontier.prioritisers import BreadthFirst, Freshness, prioritiser, register
from hemeroteca.frontier.queue import Frontier
from hemeroteca.frontier.visit import State
from hemeroteca.urls.candidate import Candidate, UrlRole
from tests.frontier.making import brought, candidates, finish, leased, opened, order

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def states() -> dict[str, State]:
    return {url: State(state) for url, state in QueuedVisit.objects.values_list("page__url", "state")}


def test_one_lease_per_host_until_it_is_answered():
    frontier = opened(order(), "http://a.test/1", "http://a.test/2", "http://b.test/1")
    visits = {urls.host(visit.url): visit for visit in (leased(frontier, 10.0), leased(frontier, 10.0))}
    assert visits.keys() == {"a.test", "b.test"}
    first = visits["a.test"]  # the host with a page left
    assert frontier.lease(10.0) is None
    first.lease.answered(first, 15.0, 5.0)
    assert frontier.lease(14.9) is None
    assert frontier.next_time() == 15.0
    assert leased(frontier, 15.0).host == first.host


def test_a_url_is_queued_once_per_crawl():
    crawl = order()
    frontier = opened(crawl, "http://a.test/1")
    assert frontier.add(candidates(crawl, "http://a.test/1", "http://a.test/2", "http://a.test/2")) == 1
    frontier.write(1)
    assert Page.objects.count() == 2
    assert frontier.queued[crawl.pk] == 2


def test_a_visit_that_ended_leaves_the_queue_and_one_that_did_not_survives_a_crash():
    crawl = order()
    frontier = opened(crawl, "http://a.test/1", "http://a.test/2")
    finish(leased(frontier, 1.0))
    frontier.write(2)
    lost = leased(frontier, 2.0)  # leased, and then the process dies
    again = Frontier(1000)
    again.open_crawl(crawl.pk)
    assert again.queued[crawl.pk] == 1
    assert leased(again, 3.0).url == lost.url
    assert again.add(candidates(crawl, "http://a.test/1", "http://a.test/2")) == 0


def test_after_a_kill_hosts_rest_for_their_delay():
    crawl = order()
    first = opened(crawl, "http://known.test/1", "http://known.test/2", "http://new.test/1")
    visits = [leased(first, 10.0), leased(first, 10.0)]
    known = next(visit for visit in visits if "known" in visit.url)
    finish(known, at=15.0, delay=5.0)
    first.write(2)  # of new.test nothing is written before the process dies
    again = Frontier(1000, clock=lambda: 100.0)
    again.rest_all(2.0)
    again.open_crawl(crawl.pk)
    assert again.lease(101.9) is None
    assert leased(again, 102.0).url == "http://new.test/1"
    assert again.lease(104.9) is None
    assert leased(again, 105.0).url == "http://known.test/2"


def test_a_page_is_not_leased_twice_before_it_is_written():
    crawl = order()
    frontier = opened(crawl, *(f"http://a.test/{n}" for n in range(200)))
    seen = set()
    for _ in range(200):
        visit = leased(frontier, 1.0)
        assert visit.url not in seen
        seen.add(visit.url)
        finish(visit)
    assert frontier.lease(1.0) is None
    frontier.write(1)
    assert frontier.queued[crawl.pk] == 0


def test_what_a_visit_brought_is_kept_with_its_page():
    frontier = opened(order(), "http://a.test/1")
    visit = leased(frontier, 1.0)
    finish(visit)
    frontier.write(1)
    page = Page.objects.get()
    assert (page.visited_ms, page.changed_ms, page.status, page.versions) == (1, 1, 200, 1)
    assert page.digest == f"sha256:{visit.key}"


def test_the_cap_per_host_holds_and_is_told_and_counts_a_page_once_for_all_crawls():
    crawl = order()
    addresses = [f"http://a.test/{n}" for n in range(30)]
    frontier = opened(crawl, *addresses, cap=10)
    assert Page.objects.count() == 10
    assert frontier.refused[crawl.pk, "host-page-cap"] == 20
    other = order("http://other.test/")
    frontier.open_crawl(other.pk)
    frontier.add(candidates(other, *addresses))
    frontier.write(1)
    assert frontier.queued[other.pk] == 10
    assert Host.objects.get(name="a.test").pages == 10


def test_hosts_beyond_the_memory_bound_wait_on_disk_and_get_their_turn(monkeypatch):
    monkeypatch.setattr(queue, "MAX_HOSTS", 5)
    crawl = order()
    frontier = opened(crawl, *(f"http://h{n}.test/" for n in range(23)))
    visited = set()
    for _ in range(100):
        visit = leased(frontier, 1.0)
        if visit is None:
            if frontier.queued[crawl.pk] == 0:
                break
            frontier.write(1)
            continue
        visited.add(visit.url)
        finish(visit)
    assert len(visited) == 23


def test_politeness_survives_a_restart():
    crawl = order()
    frontier = opened(crawl, "http://a.test/1", "http://a.test/2")
    finish(leased(frontier, 1.0), 100.0, 99.0)
    frontier.write(1)
    assert Host.objects.get(name="a.test").next_ms == 100_000
    again = Frontier(1000)
    again.open_crawl(crawl.pk)
    assert again.lease(99.0) is None
    assert again.lease(100.0) is not None


def test_a_clock_that_is_set_back_lets_no_host_and_no_page_wait_for_the_time_that_was():
    month = 30 * 86_400.0
    frontier = opened(order(), "http://a.test/1", "http://a.test/2", "http://b.test/1")
    visits = {urls.host(visit.url): visit for visit in (leased(frontier, month), leased(frontier, month))}
    finish(visits["a.test"], month + 5, 5.0)
    visits["b.test"].lease.answered(visits["b.test"], month, 0.0, refused=True)
    visits["b.test"].lease.retry(visits["b.test"], month + 50, "busy")
    frontier.write(1)
    assert frontier.lease(month + 1) is None
    assert frontier.lease(1000.0) is None
    assert leased(frontier, 1005.0).url == "http://a.test/2"
    assert frontier.lease(1048.0) is None
    assert leased(frontier, 1049.0).url == "http://b.test/1"


def test_a_host_left_behind_by_a_clock_that_was_ahead_is_asked_after_its_delay():
    crawl = order()
    frontier = opened(crawl, "http://a.test/1", "http://a.test/2")
    finish(leased(frontier, 1e6), 1e6 + 5, 5.0)
    frontier.write(1)
    again = Frontier(1000, clock=lambda: 1000.0)
    again.open_crawl(crawl.pk)
    assert again.lease(1004.0) is None
    assert again.lease(1005.0) is not None


def test_what_was_met_by_other_means_is_not_queued():
    crawl = order()
    frontier = opened(crawl)
    frontier.meet(crawl.pk, [urls.key("http://a.test/style.css")])
    assert frontier.add(candidates(crawl, "http://a.test/style.css", "http://a.test/other.css")) == 1


def test_an_errand_is_its_hosts_next_visit_and_leaves_nothing_on_disk():
    frontier = opened(order(), "http://a.test/1")
    from hemeroteca.frontier.visit import Visit as Errand

    frontier.send("a.test", Errand(url="http://a.test/robots.txt", robots_for="http://a.test"))
    errand = leased(frontier, 1.0)
    assert errand.robots_for == "http://a.test"
    assert frontier.lease(1.0) is None
    errand.lease.answered(errand, 2.0, 1.0)
    assert errand.lease.done(errand)
    frontier.write(1)
    assert leased(frontier, 2.0).url == "http://a.test/1"
    assert QueuedVisit.objects.count() == 1


def test_a_crawl_that_is_held_gets_no_more_visits_and_others_of_the_same_host_do():
    crawl, other = order(), order("http://other.test/")
    frontier = opened(crawl, "http://a.test/1", "http://a.test/2")
    frontier.open_crawl(other.pk)
    frontier.add(candidates(other, "http://a.test/3"))
    frontier.write(1)
    visit = leased(frontier, 1.0)
    assert visit.crawl == crawl.pk
    frontier.hold_crawl(crawl.pk)
    visit.lease.give_back(visit)
    assert frontier.under_way(crawl.pk) == 0
    visit = leased(frontier, 1.0)
    assert (visit.crawl, visit.url) == (other.pk, "http://a.test/3")
    finish(visit)
    assert frontier.lease(9.0) is None
    assert frontier.queued[crawl.pk] == 2


def test_an_errand_that_a_visit_waits_for_is_still_sent_when_its_crawl_is_held_or_read_anew():
    from hemeroteca.frontier.visit import Visit as Errand

    for change in ("hold_crawl", "reload_crawl"):
        crawl = order(f"http://{change}.test/".replace("_", "-"))
        host = f"{change}.test".replace("_", "-")
        frontier = opened(crawl, f"http://{host}/1", f"http://{host}/2")
        waiting = leased(frontier, 1.0)
        waiting.lease.answered(waiting, 2.0, 1.0)
        frontier.send(host, Errand(url=f"http://{host}/robots.txt", robots_for=f"http://{host}", crawl=crawl.pk))
        getattr(frontier, change)(crawl.pk)
        assert leased(frontier, 2.0).robots_for == f"http://{host}", change


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
    assert leased(frontier, 2.0).url == "http://a.test/1"
    assert services.sites_set_since(changed[-1][3]) == []


# several crawls over one site


def test_each_crawl_has_its_own_visit_of_a_page_and_one_at_a_time_is_made():
    crawl, other = order(), order("http://other.test/")
    frontier = opened(crawl, "http://a.test/1")
    frontier.open_crawl(other.pk)
    frontier.add(candidates(other, "http://a.test/1"))
    frontier.write(1)
    assert (Page.objects.count(), QueuedVisit.objects.count()) == (1, 2)
    first = leased(frontier, 1.0)
    first.lease.answered(first, 1.0)
    assert frontier.lease(1.0) is None  # the same page is under way: its answer may serve both
    first.lease.done(first, brought(first))
    assert frontier.lease(1.0) is None  # and it is not on disk yet
    frontier.write(1)
    second = leased(frontier, 1.0)
    assert {first.crawl, second.crawl} == {crawl.pk, other.pk}
    assert (second.page, second.digest, second.versions, second.visited_ms) == (
        first.page,
        f"sha256:{first.key}",
        1,
        1,
    )
    finish(second)
    frontier.write(2)
    assert frontier.queued == {crawl.pk: 0, other.pk: 0}


def test_visits_read_before_another_crawl_visited_the_page_know_what_it_brought():
    crawl, other = order(), order("http://other.test/")
    frontier = opened(crawl, *(f"http://a.test/{n}" for n in range(5)))
    frontier.open_crawl(other.pk)
    frontier.add(candidates(other, *(f"http://a.test/{n}" for n in range(5))))
    frontier.write(1)
    digests = []
    for _ in range(10):
        visit = leased(frontier, 1.0)
        if visit is None:
            frontier.write(1)
            visit = leased(frontier, 1.0)
        digests.append(bool(visit.digest))
        finish(visit)
    assert sorted(digests) == [False] * 5 + [True] * 5
    assert frontier.lease(1.0) is None


def test_a_crawl_may_visit_again_what_an_earlier_one_has_visited():
    crawl = order()
    frontier = opened(crawl, "http://a.test/1")
    finish(leased(frontier, 1.0))
    frontier.write(1)
    other = order("http://other.test/")
    frontier.open_crawl(other.pk)
    frontier.add(candidates(other, "http://a.test/1"))
    frontier.write(1)
    assert frontier.queued == {crawl.pk: 0, other.pk: 1}
    assert dict(QueuedVisit.objects.values_list("crawl", "state")) == {crawl.pk: State.DONE, other.pk: State.QUEUED}


def test_a_page_is_visited_again_when_its_crawl_asks_for_it():
    crawl = order()
    frontier = opened(crawl, "http://a.test/1")
    finish(leased(frontier, 1.0))
    frontier.write(1)
    frontier.requeue(candidates(crawl, "http://a.test/1"))
    frontier.requeue(candidates(crawl, "http://a.test/2"))  # never met
    frontier.write(1)
    assert frontier.queued[crawl.pk] == 2
    assert QueuedVisit.objects.count() == 2


# which visit is next


class ByName:
    """The later in the alphabet, the better."""

    def score(self, candidate: Candidate) -> float:
        return float(ord(candidate.url[-1]))


def test_the_best_visit_goes_first_within_a_host_and_among_hosts_that_may_be_asked():
    crawl = order()
    frontier = Frontier(1000)
    frontier.open_crawl(crawl.pk, ByName())
    frontier.add(candidates(crawl, "http://a.test/c", "http://a.test/z", "http://b.test/y", "http://c.test/a"))
    frontier.write(1)
    visits = [leased(frontier, 1.0) for _ in range(3)]
    assert [visit.url for visit in visits] == ["http://a.test/z", "http://b.test/y", "http://c.test/a"]
    finish(visits[0], 5.0)
    assert frontier.lease(1.0) is None
    assert leased(frontier, 5.0).url == "http://a.test/c"


def test_a_better_visit_that_comes_later_overtakes_those_read_before():
    crawl = order()
    frontier = Frontier(1000)
    frontier.open_crawl(crawl.pk, ByName())
    frontier.add(candidates(crawl, "http://a.test/b", "http://a.test/c", "http://b.test/d", "http://b.test/a"))
    frontier.write(1)
    first = leased(frontier, 1.0)
    assert first.url == "http://b.test/d"
    finish(first)
    frontier.add(candidates(crawl, "http://a.test/z", "http://b.test/y"))
    frontier.write(1)
    visits = [leased(frontier, 1.0) for _ in range(2)]
    assert [visit.url for visit in visits] == ["http://a.test/z", "http://b.test/y"]
    for visit in visits:
        finish(visit)
    assert leased(frontier, 1.0).url == "http://a.test/c"


def test_the_order_is_the_same_after_a_restart():
    crawl = order()
    frontier = Frontier(1000)
    frontier.open_crawl(crawl.pk, ByName())
    frontier.add(candidates(crawl, "http://a.test/b", "http://b.test/z", "http://c.test/k"))
    frontier.write(1)
    again = Frontier(1000)
    again.open_crawl(crawl.pk, ByName())
    assert [leased(again, 1.0).url[-1] for _ in range(3)] == ["z", "k", "b"]


def test_breadth_first_is_sitemaps_then_depth_and_redirects_before_their_like():
    def score(**fields) -> float:
        return BreadthFirst().score(Candidate(1, "http://a.test/", "a.test", 1, **fields))

    assert score(role=UrlRole.SITEMAP, depth=3) > score() > score(depth=1) > score(depth=2)
    assert score(depth=2, redirects=1) > score(depth=2)
    assert score(depth=1) == score(depth=10_001, role=UrlRole.REQUISITE)  # of a page one link from a seed


def test_freshness_prefers_pages_that_are_due_to_those_just_found():
    def score(**fields) -> float:
        return Freshness().score(Candidate(1, "http://a.test/", "a.test", 1, **fields))

    assert score(role=UrlRole.SITEMAP) > score(depth=7) > score(depth=1, parent=9) > score(depth=2, parent=9)


def test_a_prioritiser_of_another_room_is_known_by_its_name():
    register("by-name", ByName)
    assert isinstance(prioritiser("by-name"), ByName)
    with pytest.raises(Invalid, match="by-name"):
        prioritiser("by-moon")

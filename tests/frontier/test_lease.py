"""Leases: each visit ends exactly once, and all that is counted is counted there."""

import pytest

from hemeroteca import urls
from hemeroteca.frontier.lease import MAX_REFUSALS
from hemeroteca.frontier.models import Host, QueuedVisit
from hemeroteca.frontier.politeness import UNREACHABLE_AFTER
from hemeroteca.frontier.queue import LEASE_SECONDS, READ_AHEAD, Frontier
from hemeroteca.frontier.visit import How, State
from tests.frontier.making import brought, candidates, finish, leased, opened, order

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def states() -> dict[str, State]:
    return {url: State(state) for url, state in QueuedVisit.objects.values_list("page__url", "state")}


def endings(frontier: Frontier) -> list[tuple[How, str]]:
    return [(ending.how, ending.reason) for ending in frontier.take_endings()]


def watched(*addresses: str, **options) -> tuple[Frontier, int]:
    """A crawl whose endings are told."""
    crawl = order()
    frontier = Frontier(1000, **options)
    frontier.open_crawl(crawl.pk, tell=True)
    frontier.add(candidates(crawl, *addresses))
    frontier.write(1)
    return frontier, crawl.pk


def test_a_visit_ends_once_and_a_second_ending_does_nothing():
    frontier, crawl = watched("http://a.test/1")
    visit = leased(frontier, 1.0)
    lease = visit.lease
    assert (frontier.under_way(crawl), frontier.taken(crawl)) == (1, 1)
    lease.answered(visit, 2.0)
    assert lease.done(visit, brought(visit))
    assert not lease.done(visit, brought(visit))
    assert not lease.retry(visit, 5.0, "late")
    assert not lease.fail(visit, "late")
    assert not lease.exclude(visit, "late")
    assert not lease.give_back(visit)
    lease.answered(visit, 99.0)
    assert (frontier.under_way(crawl), frontier.taken(crawl)) == (0, 1)
    assert endings(frontier) == [(How.DONE, "")]
    assert endings(frontier) == []
    frontier.write(1)
    assert frontier.queued[crawl] == 0
    assert Host.objects.get(name="a.test").next_ms == 2000


def test_a_page_to_be_tried_later_waits_until_it_is_due():
    frontier, crawl = watched("http://a.test/1")
    visit = leased(frontier, 1.0)
    visit.lease.answered(visit, 1.0, failure="timeout")
    visit.lease.retry(visit, 50.0, "timeout")
    assert (frontier.under_way(crawl), frontier.taken(crawl)) == (0, 0)
    frontier.write(1)
    assert endings(frontier) == [(How.RETRIED, "timeout")]
    assert frontier.lease(49.0) is None
    assert frontier.next_time() == 50.0
    again = leased(frontier, 50.0)
    assert (again.url, again.attempts) == (visit.url, 1)


def test_a_page_is_given_up_after_its_tries():
    frontier, crawl = watched("http://a.test/1", max_tries=3)
    for tried in range(3):
        visit = leased(frontier, 1.0 + tried)
        assert visit.lease.is_last_try(visit) == (tried == 2)
        visit.lease.answered(visit, 1.0)
        visit.lease.retry(visit, 1.0, "broken")
        frontier.write(1)
    assert [how for how, _ in endings(frontier)] == [How.RETRIED, How.RETRIED, How.FAILED]
    assert states() == {"http://a.test/1": State.FAILED}
    assert frontier.queued[crawl] == 0
    assert frontier.taken(crawl) == 1


def test_a_host_that_says_it_is_busy_gets_more_tries():
    frontier, _ = watched("http://a.test/1", max_tries=2)
    for tried in range(MAX_REFUSALS):
        visit = leased(frontier, 1.0 + tried)
        visit.lease.answered(visit, 1.0, refused=True)
        visit.lease.retry(visit, 1.0, "http-503", busy=True)
        frontier.write(1)
    assert states() == {"http://a.test/1": State.FAILED}


def test_a_host_without_answers_is_given_up_with_all_its_visits_and_told():
    addresses = [f"http://a.test/{n}" for n in range(UNREACHABLE_AFTER + 3)]
    frontier, crawl = watched(*addresses, "http://b.test/1")
    failed = 0
    while failed < UNREACHABLE_AFTER:
        visit = leased(frontier, 1.0 + failed)
        if urls.host(visit.url) == "b.test":
            finish(visit)
            continue
        failed += 1
        visit.lease.answered(visit, 1.0, failure="timeout")
        visit.lease.fail(visit, "timeout")
    frontier.write(1)
    reason = f"host-unreachable: {UNREACHABLE_AFTER} failures in a row, last timeout"
    assert frontier.gave_up[crawl, reason] == 3
    told = frontier.take_endings()
    assert sum(ending.reason == reason and not ending.asked for ending in told) == 3
    assert len(told) == len(addresses) + 1
    assert frontier.queued[crawl] == 0
    assert set(states().values()) == {State.FAILED, State.DONE}


def test_an_answer_ends_the_failures_of_a_host():
    frontier, _ = watched(*(f"http://a.test/{n}" for n in range(9)))
    for number in range(9):
        visit = leased(frontier, 1.0)
        visit.lease.answered(visit, 1.0, failure="" if number == 4 else "timeout")
        visit.lease.fail(visit, "timeout")
    frontier.write(1)
    assert not frontier.gave_up
    assert Host.objects.get(name="a.test").failures == 4


def test_a_visit_given_back_is_its_hosts_next_and_counts_no_try():
    frontier, crawl = watched("http://a.test/1", "http://a.test/2")
    visit = leased(frontier, 1.0)
    visit.lease.give_back(visit, rest=5.0)
    assert (frontier.under_way(crawl), frontier.taken(crawl)) == (0, 0)
    assert frontier.lease(4.9) is None
    again = leased(frontier, 5.0)
    assert again is visit
    assert again.attempts == 0
    again.lease.give_back(again, due=90.0)
    frontier.write(1)
    other = leased(frontier, 6.0)
    assert other.url != visit.url
    finish(other)
    frontier.write(1)
    assert frontier.next_time() == 6.0 or frontier.lease(6.0) is None
    assert frontier.lease(89.0) is None
    assert leased(frontier, 90.0).url == visit.url
    assert [how for how, _ in endings(frontier)] == [How.GIVEN_BACK, How.GIVEN_BACK, How.DONE]


def test_an_excluded_page_is_out_of_the_queue_and_no_visit_of_a_limit():
    frontier, crawl = watched("http://a.test/1")
    visit = leased(frontier, 1.0)
    visit.lease.exclude(visit, "robots")
    frontier.write(1)
    assert states() == {"http://a.test/1": State.EXCLUDED}
    assert (frontier.queued[crawl], frontier.taken(crawl)) == (0, 0)
    assert endings(frontier) == [(How.EXCLUDED, "robots")]


def test_a_visit_that_needs_no_request_frees_its_host_at_once():
    frontier, crawl = watched("http://a.test/1", "http://a.test/2")
    visit = leased(frontier, 1.0)
    visit.lease.unasked(visit)
    other = leased(frontier, 1.0)
    assert other.url != visit.url
    assert frontier.under_way(crawl) == 2
    visit.lease.done(visit)
    assert (frontier.under_way(crawl), frontier.taken(crawl)) == (1, 2), "its page counts for a limit like any other"


def test_a_page_asked_for_again_is_its_hosts_next_and_stays_leased_meanwhile():
    frontier, crawl = watched("http://a.test/1", "http://a.test/2")
    visit = leased(frontier, 1.0)
    lease = visit.lease
    lease.answered(visit, 2.0, 1.0)
    lease.again(visit)
    assert frontier.lease(1.9) is None
    assert frontier.lease(2.0) is lease
    lease.again(visit, 7.0)  # not now
    assert frontier.lease(6.9) is None
    assert frontier.lease(7.0) is lease
    lease.answered(visit, 8.0, 1.0)
    lease.done(visit, brought(visit))
    frontier.write(1)
    assert frontier.queued[crawl] == 1
    assert leased(frontier, 9.0).url != visit.url


def test_what_waits_for_its_host_again_fails_with_the_host():
    frontier, crawl = watched("http://a.test/1", "http://a.test/2")
    visit = leased(frontier, 1.0)
    visit.lease.answered(visit, 2.0, 1.0)
    visit.lease.again(visit)
    frontier.give_up(visit.host, "gone")
    frontier.write(3)
    assert set(states().values()) == {State.FAILED}
    assert (frontier.queued[crawl], frontier.under_way(crawl)) == (0, 0)
    assert frontier.lease(9.0) is None


def test_an_origin_that_is_given_up_takes_no_other_of_its_host_with_it():
    """A link to a closed port must not fail the pages of the site that still wait."""
    frontier, crawl = watched("http://a.test:81/0", "http://a.test/1", "http://a.test/2", "http://a.test:81/3")
    visit = leased(frontier, 1.0)
    while not visit.url.startswith("http://a.test:81/"):
        visit.lease.give_back(visit, due=5.0)
        visit = leased(frontier, 2.0)
    visit.lease.answered(visit, 2.0, 1.0)
    visit.lease.fail(visit, "gone")
    frontier.give_up(visit.host, "gone", "http://a.test:81")
    frontier.write(3)
    failed = {url for url, state in states().items() if state == State.FAILED}
    assert failed == {"http://a.test:81/0", "http://a.test:81/3"}
    assert frontier.queued[crawl] == 2
    assert leased(frontier, 9.0).url in ("http://a.test/1", "http://a.test/2")


def test_the_deadline_ends_what_the_lessee_did_not():
    frontier, crawl = watched("http://a.test/1", max_tries=2)
    lease = frontier.lease(1.0, "device 7", 60.0)
    visit = lease.visit
    assert frontier.lease(60.9) is None
    assert frontier.expire(61.0) == 1
    assert not lease.done(visit, brought(visit))  # too late
    assert frontier.under_way(crawl) == 0
    frontier.write(1)
    again = frontier.lease(62.0, "device 8", 60.0)
    assert again.visit.attempts == 1
    frontier.expire(122.0)
    frontier.write(1)
    assert states() == {"http://a.test/1": State.FAILED}
    assert [how for how, _ in endings(frontier)] == [How.EXPIRED, How.FAILED]
    assert "device 8 did not answer in time" in QueuedVisit.objects.get().reason


def test_a_deadline_passes_without_anybody_looking_for_it():
    frontier, _ = watched("http://a.test/1")
    frontier.lease(1.0)
    frontier.lease(LEASE_SECONDS + 2.0)
    frontier.write(1)
    assert frontier.lease(LEASE_SECONDS + 3.0) is not None


def test_a_clock_that_is_set_back_does_not_lengthen_a_lease():
    frontier, _ = watched("http://a.test/1")
    lease = frontier.lease(1_000_000.0, "device 7", 60.0)
    frontier.lease(500_000.0)
    assert lease.deadline == 500_060.0


def test_a_lease_of_many_visits_holds_its_hosts_until_the_last_answer():
    addresses = [f"http://{host}.test/{n}" for host in "abc" for n in range(5)]
    frontier, crawl = watched(*addresses)
    lease = frontier.lease(1.0, "device 7", 600.0, max_visits=7, per_host=3)
    assert len(lease.visits) == 7
    hosts = [urls.host(visit.url) for visit in lease.visits]
    assert {host: hosts.count(host) for host in hosts} == {"a.test": 3, "b.test": 3, "c.test": 1}
    assert frontier.lease(1.0, "device 8", max_visits=7) is None
    for visit in [visit for visit in lease.visits if urls.host(visit.url) == "a.test"]:
        assert frontier.lease(50.0) is None
        visit.lease.answered(visit, 2.0)
        lease.done(visit, brought(visit))
    other = frontier.lease(50.0)
    assert urls.host(other.visit.url) == "a.test"
    assert frontier.under_way(crawl) == 5
    assert frontier.expire(700.0) == 4
    frontier.write(1)
    assert frontier.queued[crawl] == 15 - 3


def test_a_run_of_visits_is_whole_however_few_of_them_were_in_memory():
    """Else a host would be handed out in fragments, and stand idle between them."""
    addresses = [f"http://a.test/{n}" for n in range(2 * READ_AHEAD[0])]
    frontier, _ = watched(*addresses)
    seen = []
    for now in (1.0, 2.0, 3.0):
        lease = frontier.lease(now, "device 7", 600.0, max_visits=64, per_host=10)
        assert len(lease.visits) == 10
        for visit in list(lease.visits):
            seen.append(visit.url)
            finish(visit, now + 0.5)
    assert len(set(seen)) == 30
    assert len(frontier.lease(4.0, "device 7", 600.0, max_visits=64, per_host=10).visits) == 2
    assert frontier.lease(4.0, "device 8", max_visits=64, per_host=10) is None


def test_a_lease_of_few_hosts_gets_longer_runs_but_nothing_that_was_not_chosen():
    frontier, _ = watched(*(f"http://{host}.test/{n}" for host in "ab" for n in range(40)), "http://c.test/own")
    lease = frontier.lease(1.0, "device 7", 600.0, max_visits=64, per_host=4)
    assert len(lease.visits) == 9
    frontier.extend(lease, 1.0, lambda host: 30 if host.name == "a.test" else 6)
    hosts = [urls.host(visit.url) for visit in lease.visits]
    assert {host: hosts.count(host) for host in hosts} == {"a.test": 30, "b.test": 6, "c.test": 1}
    assert len({visit.url for visit in lease.visits}) == 37
    frontier.extend(lease, 1.0, lambda host: 40, lambda host, visit: False)
    assert len(lease.visits) == 37
    assert frontier.lease(1.0, "device 8", max_visits=64) is None  # all are held


def test_a_crawl_that_is_closed_leaves_nothing_under_way():
    frontier, crawl = watched("http://a.test/1")
    visit = leased(frontier, 1.0)
    frontier.close_crawl(crawl)
    assert visit.lease is None
    frontier.open_crawl(crawl)
    assert (frontier.under_way(crawl), frontier.queued[crawl]) == (0, 1)
    assert leased(frontier, 2.0).url == visit.url


def test_endings_are_told_only_of_crawls_that_want_it():
    frontier = opened(order(), "http://a.test/1")
    finish(leased(frontier, 1.0))
    frontier.write(1)
    assert frontier.take_endings() == []

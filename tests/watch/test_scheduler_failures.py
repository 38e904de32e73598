"""Visits without an answer, sites that are down, subscriptions that cannot be worked with."""

import pytest
from msgspec.structs import replace

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.frontier.models import Host, Page, QueuedVisit
from hemeroteca.watch import services
from hemeroteca.watch.fields import Order
from hemeroteca.watch.models import Change, Observation, SiteRun, Subscription, WatchedPage
from tests.watch.driving import HOUR, World, given_up, no_answer, restarted, subscribe

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def test_a_site_that_is_down_for_a_week_gets_few_probes_and_comes_back_calmly(tmp_path):
    sub = subscribe(mode="fixed 6")
    world = World(tmp_path)
    for number in range(50):
        world.add(sub, f"https://news.test/{number}", [])
    world.run(24)
    world.dead.add("news.test")
    world.visits.clear()
    world.run(7 * 24)
    assert 5 <= sum(world.visits.values()) <= 120  # instead of 1400
    assert Subscription.objects.get().failures >= 3
    world.dead.clear()
    world.visits.clear()
    world.run(24)
    back = len(world.visits)
    world.run(5 * 24)
    assert back >= 1
    assert len(world.visits) == 50
    assert Subscription.objects.get().failures == 0
    busiest = max(sum(hour < at <= hour + 1 for at, _ in world.log) for hour in range(int(world.hours)))
    assert busiest <= 55


def test_pages_of_a_site_that_is_down_say_when_it_is_tried_next_and_are_visited_when_it_is_back(tmp_path):
    sub = subscribe()
    world = World(tmp_path)
    for number in range(10):
        world.add(sub, f"https://news.test/{number}", [])
    world.run(20)
    world.dead.add("news.test")
    world.visits.clear()
    world.run(7 * 24, step=0.5)
    now_ms = world.now * 1000
    for page in WatchedPage.objects.exclude(next_reason={}):  # the others are on their way
        assert page.next_ms >= now_ms - 2 * 3_600_000, page.next_reason  # nothing was to happen days ago
    assert WatchedPage.objects.filter(next_reason__code="then-down").exists()
    world.dead.clear()
    world.visits.clear()
    world.run(36, step=0.5)  # the last probe, and an hour of rest for each page
    assert len(world.visits) == 10  # pages nobody knows yet do not lose their first visits


def test_pages_given_up_with_their_host_are_no_visits(tmp_path):
    sub = subscribe(mode="fixed 6")
    world = World(tmp_path)
    for number in range(20):
        world.add(sub, f"https://news.test/{number}", [])
    world.scheduler.due(world.now, world.crawls)
    world.now += 7 * HOUR
    _, again = world.scheduler.due(world.now, world.crawls)
    assert len(again) > 3
    first = again[0]
    world.scheduler.ended([no_answer(first.crawl, first.key, first.url)])
    world.scheduler.ended([given_up(other) for other in again[1:]])
    world.write()
    assert Subscription.objects.get().failures == 1


def test_a_visit_that_was_given_up_with_its_host_is_made_again(tmp_path):
    sub = subscribe(mode="fixed 6")
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [])
    world.scheduler.due(world.now, world.crawls)  # the budget begins to fill
    world.now += 7 * HOUR
    _, again = world.scheduler.due(world.now, world.crawls)
    assert len(again) == 1
    world.write()
    world.now += 200
    world.look()
    assert WatchedPage.objects.get().failures == 0
    world.scheduler.ended([given_up(again[0])])
    world.run(24)
    assert world.visits["https://news.test/a"] >= 2


def test_a_subscription_that_cannot_be_worked_with_is_set_aside_and_the_others_go_on(tmp_path):
    good, bad = subscribe(mode="fixed 1"), subscribe("https://bad.test/", mode="fixed 1")
    Subscription.objects.filter(pk=bad.pk).update(mode="policy-of-later")
    world = World(tmp_path)
    world.add(good, "https://news.test/a", [])
    world.run(6)
    assert world.visits["https://news.test/a"] >= 5
    bad.refresh_from_db()
    assert "policy-of-later" in bad.fault
    assert world.scheduler.faults.keys() == {bad.pk}
    services.edit(SYSTEM, bad.pk, {"mode": "fixed 1"})
    assert world.scheduler.changed()
    world.scheduler.refresh()
    world.add(bad, "https://bad.test/a", [])
    world.run(6)
    bad.refresh_from_db()
    assert (bad.fault, world.scheduler.faults) == ("", {})
    assert world.visits["https://bad.test/a"] >= 5


@pytest.mark.parametrize("place", ["_by_policy", "_observed"])
def test_a_subscription_that_fails_while_it_works_is_set_aside_and_tried_again(tmp_path, monkeypatch, place):
    good, bad = subscribe(mode="fixed 1"), subscribe("https://bad.test/", mode="fixed 1")
    world = World(tmp_path)
    world.add(good, "https://news.test/a", [])
    world.add(bad, "https://bad.test/a", [])
    broken = world.scheduler.state.subs[bad.pk].policy

    def fail(*_):
        raise ValueError("upside down")

    monkeypatch.setattr(broken, "due" if place == "_by_policy" else "observe", fail)
    world.run(2, step=0.1)
    bad.refresh_from_db()
    assert bad.fault == "ValueError: upside down"
    before = world.visits["https://news.test/a"], world.visits["https://bad.test/a"]
    assert world.scheduler.changed()  # ten minutes are over
    world.scheduler.refresh()
    world.run(3, step=0.1)
    bad.refresh_from_db()
    assert bad.fault == ""
    assert world.visits["https://news.test/a"] >= before[0] + 2
    assert world.visits["https://bad.test/a"] >= before[1] + 2


def test_a_subscription_of_a_policy_that_is_gone_can_be_paused_and_removed():
    sub = subscribe()
    Subscription.objects.filter(pk=sub.pk).update(mode="policy-of-later")
    assert not services.pause(SYSTEM, sub.pk).active
    services.remove(SYSTEM, sub.pk)
    assert not Subscription.objects.exists()


@pytest.mark.parametrize("told", [True, False])
def test_a_site_that_is_down_when_it_is_subscribed_to_is_tried_again(tmp_path, told):
    sub = subscribe()
    world = World(tmp_path)
    world.dead.add("news.test")
    world.changes["https://news.test/"] = []
    host = Host.objects.create(name="news.test")
    key = urls.key("https://news.test/")
    page = Page.objects.create(key=key, url="https://news.test/", host=host)
    QueuedVisit.objects.create(page=page, host=host, crawl_id=sub.crawl_id, state=2, reason="robots")
    if told:
        world.scheduler.ended([no_answer(sub.crawl_id, key, "https://news.test/")])
    else:  # it was given up before the engine started
        world = restarted(world, tmp_path)
        world.dead.add("news.test")
    world.run(24, step=0.05)
    sub.refresh_from_db()
    assert 4 <= sub.failures <= 7
    assert world.visits["https://news.test/"] in (sub.failures - 1, sub.failures)
    world.dead.clear()
    world.run(24, step=0.05)
    sub.refresh_from_db()
    assert (sub.failures, WatchedPage.objects.count()) == (0, 1)


def test_an_address_that_never_answered_is_tried_as_soon_as_somebody_asks(tmp_path):
    sub = subscribe()
    world = World(tmp_path)
    world.changes["https://news.test/"] = []
    world.scheduler.ended([no_answer(sub.crawl_id, urls.key("https://news.test/"), "https://news.test/")])
    world.run(0.1, step=0.01)
    assert world.visits["https://news.test/"] == 0
    services.check_now(SYSTEM, sub.pk)
    world.scheduler.refresh()
    world.run(0.02, step=0.01)
    assert world.visits["https://news.test/"] == 1


def test_a_page_visited_every_minute_is_tried_again_soon(tmp_path):
    sub = subscribe(mode="fixed 0.02")
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [])
    world.dead.add("news.test")
    world.run(0.3, step=1 / 3600)
    sub.refresh_from_db()
    assert sub.failures >= 3


def test_an_address_that_never_answered_stays_with_the_subscription_that_is_left(tmp_path):
    left, removed = subscribe(), services.subscribe(SYSTEM, Order(url="https://news.test/", scope="page"))[0]
    world = World(tmp_path)
    world.dead.add("news.test")
    key = urls.key("https://news.test/")
    world.scheduler.ended([no_answer(sub.crawl_id, key, "https://news.test/") for sub in (left, removed)])
    services.remove(SYSTEM, removed.pk)
    world.scheduler.refresh()
    world.run(24, step=0.05)
    assert world.visits["https://news.test/"] >= 4


def test_a_subscription_removed_before_its_visits_are_written_takes_nothing_of_others_with_it(tmp_path):
    removed, left = subscribe(), services.subscribe(SYSTEM, Order(url="https://other.test/"))[0]
    world = World(tmp_path)
    world.add(removed, "https://news.test/a", [0.5])
    world.now += HOUR
    world.changes |= {"https://news.test/new": [], "https://other.test/": []}
    for sub, url in (
        (removed, "https://news.test/a"),
        (removed, "https://news.test/new"),
        (left, "https://other.test/"),
    ):
        world.visit(sub.crawl_id, url)
    services.remove(SYSTEM, removed.pk)
    world.write()
    assert set(WatchedPage.objects.values_list("url", flat=True)) == {"https://other.test/"}
    assert set(SiteRun.objects.values_list("subscription", flat=True)) == {left.pk}
    told = Change.objects.get(url="https://news.test/a")
    assert told.subscription is None, "what was seen stays"
    assert set(Observation.objects.values_list("subscription", flat=True)) == {None, left.pk}


def test_the_visit_of_another_crawl_does_not_end_the_one_under_way(tmp_path):
    sub, other = subscribe(mode="fixed 6"), services.subscribe(SYSTEM, Order(url="https://news.test/a"))[0]
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [])
    world.look()
    world.now += 7 * HOUR
    _, (due,) = world.scheduler.due(world.now, world.crawls)
    assert due.crawl == sub.crawl_id
    world.scheduler.ended([given_up(replace(due, crawl=other.crawl_id))])
    assert due.key in world.scheduler.state.under_way
    world.scheduler.ended([given_up(due)])
    assert due.key not in world.scheduler.state.under_way


@pytest.mark.parametrize("engine", ["goes on", "is restarted"])
def test_an_address_that_is_not_there_from_the_first_visit_is_told_until_it_is(tmp_path, engine):
    sub = subscribe()
    world = World(tmp_path)
    world.missing.add("https://news.test/")
    world.add(sub, "https://news.test/", [])
    world.add(sub, "https://news.test/other", [])  # another page that answers does not make it well
    sub.refresh_from_db()
    assert (sub.failures, sub.last_error) == (1, "news.test: http-404")
    assert not WatchedPage.objects.filter(url="https://news.test/").exists()
    QueuedVisit.objects.filter(page__url="https://news.test/").update(state=1, reason="http-404")  # as kept
    if engine == "is restarted":
        world = restarted(world, tmp_path)
    world.missing.add("https://news.test/")
    world.run(24, step=0.05)
    sub.refresh_from_db()
    assert 4 <= sub.failures <= 7
    world.missing.clear()
    world.run(24, step=0.05)
    sub.refresh_from_db()
    assert (sub.failures, sub.last_error) == (0, "")
    assert WatchedPage.objects.filter(url="https://news.test/").exists()

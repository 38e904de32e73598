"""Budgets hold: of the instance, of collections, sites and subscriptions, also over a restart."""

from collections import Counter

import pytest

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.frontier import services as frontier
from hemeroteca.frontier.models import Host, Page, QueuedVisit
from hemeroteca.urls.candidate import Candidate
from hemeroteca.watch import services
from hemeroteca.watch.models import WatchedPage
from tests.watch.driving import HOUR, START, World, poisson, restarted, subscribe

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("mode", ["lambda-crawl", "gamma"])
def test_policies_that_share_a_budget_keep_to_it(tmp_path, mode):
    sub = subscribe(mode=mode, visits_per_day=6)
    world = World(tmp_path)
    for number in range(6):
        world.add(sub, f"https://news.test/{number}", poisson(0.1 + 0.2 * number, 20, number))
    world.run(20 * 24)
    visits = sum(world.visits.values()) - 6
    assert 0.7 * 120 <= visits <= 126
    assert min(world.visits.values()) >= 2


@pytest.mark.simulation
def test_a_budget_is_spent_evenly_and_never_exceeded(tmp_path):
    sub = subscribe(visits_per_day=24)
    world = World(tmp_path)
    for number in range(40):
        world.add(sub, f"https://news.test/{number}", poisson(1, 10, number))
    first = len(world.log)
    world.run(10 * 24)
    made = [at for at, _ in world.log[first:]]
    assert 0.85 * 240 <= len(made) <= 240
    by_day = [sum(day * 24 < at <= (day + 1) * 24 for at in made) for day in range(10)]
    assert max(by_day[1:]) <= 25
    busiest = max(sum(hour < at <= hour + 1 for at in made) for hour in range(240))
    assert busiest <= 3


def test_site_and_collection_budgets_hold(tmp_path):
    services.set_collection(SYSTEM, "museums", {"visits_per_day": 10})
    frontier.set_site(SYSTEM, "news.test", {"visits_per_day": 5})
    first = subscribe(mode="fixed 1", collection="museums")
    second = subscribe("https://other.test/", mode="fixed 1", collection="museums")
    world = World(tmp_path)
    world.add(first, "https://news.test/a", [])
    world.add(second, "https://other.test/a", [])
    world.run(48)
    assert world.visits["https://news.test/a"] - 1 <= 10
    assert sum(world.visits.values()) - 2 <= 20
    assert world.visits["https://other.test/a"] > 5


def test_a_budget_of_a_collection_is_used_fully_and_holds_up_nobody_else(tmp_path):
    # 100 lively pages share 20 visits a day, ten quiet ones of another subscription have 10: in ten days of one look
    # in 12 hours (what is saved up lasts for one) 200 and 100, less the day that the first visits of 100 pages cost and
    # less what does not make a whole visit.
    services.set_collection(SYSTEM, "press", {"visits_per_day": 20})
    lively = subscribe(collection="press")
    quiet = subscribe("https://quiet.test/")
    world = World(tmp_path, watch_saved_minutes=720)
    for number in range(100):
        world.add(lively, f"https://news.test/{number}", [12.0 * n for n in range(20)])
    for number in range(10):
        world.add(quiet, f"https://quiet.test/{number}", [])
    services.edit(SYSTEM, quiet.pk, {"visits_per_day": 10})
    world.scheduler.refresh()
    first = len(world.log)
    world.run(10 * 24, step=12)
    made = Counter(urls.host(url) for _, url in world.log[first:])
    assert 150 <= made["news.test"] <= 200
    assert 85 <= made["quiet.test"] <= 100


def test_a_collection_without_lively_pages_uses_its_budget_too(tmp_path):
    # Two pages that never change: alone, each would be visited when a change is 40 % likely, ever more seldom. With 4
    # visits a day for their collection, ten days make 40, less the
    # two first ones and parts of an hour that are lost when a whole visit is saved up.
    services.set_collection(SYSTEM, "press", {"visits_per_day": 4})
    sub = subscribe(collection="press")
    world = World(tmp_path)
    for name in "ab":
        world.add(sub, f"https://news.test/{name}", [])
    world.run(10 * 24)
    assert 28 <= sum(world.visits.values()) - 2 <= 40


def test_a_budget_of_bytes_closes_until_it_is_paid_back(tmp_path):
    sub = subscribe(mode="fixed 1", bytes_per_day=100_000)
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [h / 2 for h in range(500)])
    world.run(4 * 24)
    assert 20 <= world.visits["https://news.test/a"] <= 45  # ten visits of 10 kB a day instead of 24


@pytest.mark.simulation
@pytest.mark.parametrize("whose", ["subscription", "collection", "site", "instance"])
@pytest.mark.parametrize(("limit", "expected"), [({"visits_per_day": 4}, 40), ({"bytes_per_day": 40_000}, 40)])
def test_a_budget_is_the_same_however_often_the_engine_starts_again(tmp_path, whose, limit, expected):
    settings = {f"watch_{name}": value for name, value in limit.items()} if whose == "instance" else {}
    if whose == "collection":
        services.set_collection(SYSTEM, "museums", limit)
    if whose == "site":
        frontier.set_site(SYSTEM, "news.test", limit)
    own = limit if whose == "subscription" else {}
    sub = subscribe(mode="fixed 1", collection="museums" if whose == "collection" else "", **own)
    world = World(tmp_path, **settings)
    for number in range(4):
        world.add(sub, f"https://news.test/{number}", [h / 4 for h in range(2000)])
    first = len(world.log)
    for _ in range(10 * 8):
        world.run(3, step=0.5)
        world = restarted(world, tmp_path, **settings)
    # A start forgave what was owed (too many visits), or what was saved up (none at all).
    assert 0.75 * expected <= len(world.log) - first <= expected


def test_a_debt_outlives_an_edit_and_a_pause(tmp_path):
    sub = subscribe(mode="fixed 1", visits_per_day=2)
    world = World(tmp_path)
    for number in range(2):
        world.add(sub, f"https://news.test/{number}", [])
    world.run(24, step=0.5)
    before = len(world.log)
    for hour in range(48):
        services.edit(SYSTEM, sub.pk, {"mode": "fixed 1" if hour % 2 else "fixed 2"})
        world.scheduler.refresh()
        world.run(1, step=0.5)
        if hour % 12 == 5:
            services.pause(SYSTEM, sub.pk)
            world.scheduler.refresh()
            services.resume(SYSTEM, sub.pk)
            world.scheduler.refresh()
    assert 2 <= len(world.log) - before <= 4


def test_pages_met_after_a_restart_come_after_those_met_before(tmp_path):
    sub = subscribe(visits_per_day=48)
    world = World(tmp_path)
    host = Host.objects.create(name="news.test")
    due_ms = int((world.now + 5 * HOUR) * 1000)
    page = Page.objects.create(key=1, url="https://news.test/1", host=host)
    QueuedVisit.objects.create(page=page, host=host, crawl_id=sub.crawl_id, due_ms=due_ms)
    again = World(tmp_path)
    found = again.scheduler.pace([Candidate(2, "https://news.test/2", "news.test", sub.crawl_id, 1)], world.now)
    assert found[0].due_ms == due_ms + 3_600_000


def test_new_pages_of_a_subscription_with_a_budget_come_in_its_rhythm(tmp_path):
    sub = subscribe(visits_per_day=48)
    world = World(tmp_path)
    found = [Candidate(n, f"https://news.test/{n}", "news.test", sub.crawl_id, 1) for n in range(10)]
    paced = world.scheduler.pace(found, world.now)
    assert [round((f.due_ms / 1000 - world.now) / HOUR) for f in paced] == list(range(1, 11))


@pytest.mark.parametrize(
    ("limits", "code", "hours"),
    [
        ({"bytes_per_day": 10_000}, "then-budget-subscription", 24),
        ({"visits_per_day": 1}, "then-budget-subscription", 48),  # the first visit was ahead of the budget
        ({"collection": "museums"}, "then-budget-collection", 48),
        ({"windows": ["08:00-10:00"]}, "then-window", 8),
    ],
)
def test_a_page_that_waits_for_a_budget_or_a_window_says_until_when(tmp_path, limits, code, hours):
    services.set_collection(SYSTEM, "museums", {"visits_per_day": 1})
    sub = subscribe(mode="fixed 1", **limits)
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [])
    world.run(3)
    page = WatchedPage.objects.get()
    assert page.next_reason == {"code": code}
    assert page.next_ms / 1000 == pytest.approx(START + hours * HOUR, abs=HOUR)
    before = world.visits["https://news.test/a"]
    world.run((page.next_ms / 1000 - world.now) / HOUR - 0.5)
    assert world.visits["https://news.test/a"] == before
    world.run(1)
    assert world.visits["https://news.test/a"] == before + 1

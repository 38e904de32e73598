"""The scheduler on a real database, with a clock that the test holds."""

import random
from itertools import pairwise
from pathlib import Path

import pytest

from hemeroteca import urls
from hemeroteca.frontier import services as frontier
from hemeroteca.frontier.models import Host, Page
from hemeroteca.frontier.values import Found
from hemeroteca.watch import memory, services
from hemeroteca.watch.models import Change, Observation, Signal, SignalSource, Subscription, WatchedPage
from hemeroteca.watch.reasons import ENGLISH, SPANISH, sentence
from hemeroteca.watch.services import Order
from tests.watch.driving import HOUR, START, World

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def subscribe(url="https://news.test/", **options) -> Subscription:
    return services.subscribe(Order(url=url, scope="host", **options))[0]


def poisson(rate_per_day: float, days: float, seed: int) -> list[float]:
    generator, at, found = random.Random(seed), 0.0, []
    while (at := at + generator.expovariate(rate_per_day / 24)) < days * 24:
        found.append(at)
    return found


def test_a_page_that_changes_often_is_visited_more_often_than_one_that_never_does(tmp_path):
    sub = subscribe()
    world = World(tmp_path)
    world.add(sub, "https://news.test/fast", poisson(1.0, 60, 1))
    world.add(sub, "https://news.test/slow", poisson(0.05, 60, 2))
    world.add(sub, "https://news.test/never", [])
    world.run(60 * 24, step=1.0)
    assert world.visits["https://news.test/fast"] > 3 * world.visits["https://news.test/slow"]
    assert world.visits["https://news.test/never"] <= world.visits["https://news.test/slow"] + 2
    assert world.found["https://news.test/fast"] > 30
    # and it cost clearly less than looking at all of them every day
    assert sum(world.visits.values()) < 0.8 * 3 * 60


def test_what_was_seen_is_kept_with_interval_difference_and_reason(tmp_path):
    sub = subscribe(mode="fixed 24")
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [5.0])
    world.run(48)
    first, second = Observation.objects.order_by("seen_ms")[:2]
    assert (first.interval_ms, first.important) == (0, False)
    assert second.interval_ms > 0
    assert (second.changed, second.important, second.content) == (True, True, 0.4)
    change = Change.objects.get()
    assert change.url == "https://news.test/a"
    assert change.since_ms == first.seen_ms
    assert change.diff == "+ new"
    page = WatchedPage.objects.get()
    assert page.changes == 1
    assert page.visits == Observation.objects.count()
    assert page.next_ms > page.last_ms
    assert "fixed" in sentence(page.reason, "en")
    assert "política fixed" in sentence(page.reason, "es")


def test_titles_and_differences_of_strangers_can_be_kept(tmp_path):
    sub = subscribe(mode="fixed 24")
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [5.0])
    original = world.scheduler.observed

    def observed(seen):
        seen.title = "a\x00b\ud800"
        original(seen)

    world.scheduler.observed = observed
    world.run(30, step=1)
    assert Change.objects.get().title == "ab?"


def test_fixed_means_fixed(tmp_path):
    sub = subscribe(mode="fixed 12")
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", poisson(4, 10, 3))
    world.run(10 * 24)
    assert 19 <= world.visits["https://news.test/a"] - 1 <= 21


@pytest.mark.parametrize("mode", ["simple", "simple-notify", "simple-history", "day-type", "exponential", "nutch"])
def test_every_policy_runs_and_survives_a_restart(tmp_path, mode):
    sub = subscribe(mode=mode)
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", poisson(1, 30, 4))
    world.run(15 * 24)
    before = world.visits["https://news.test/a"]
    assert before >= 3
    world.scheduler.close()
    again = World(tmp_path, world.now)
    again.changes, again._seen = world.changes, world._seen
    again.run(15 * 24)
    assert again.visits["https://news.test/a"] >= 2


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
    services.set_collection("museums", visits_per_day=10)
    frontier.set_site("news.test", {"visits_per_day": 5})
    first = subscribe(mode="fixed 1", collection="museums")
    second = subscribe("https://other.test/", mode="fixed 1", collection="museums")
    world = World(tmp_path)
    world.add(first, "https://news.test/a", [])
    world.add(second, "https://other.test/a", [])
    world.run(48)
    assert world.visits["https://news.test/a"] - 1 <= 10
    assert sum(world.visits.values()) - 2 <= 20
    assert world.visits["https://other.test/a"] > 5


def test_a_budget_of_bytes_closes_until_it_is_paid_back(tmp_path):
    sub = subscribe(mode="fixed 1", bytes_per_day=100_000)
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [h / 2 for h in range(500)])
    world.run(4 * 24)
    assert 20 <= world.visits["https://news.test/a"] <= 45  # ten visits of 10 kB a day instead of 24


def restarted(world: World, tmp_path: Path, **settings: object) -> World:
    """As after a kill: only what was written is there."""
    again = World(tmp_path, world.now, **settings)
    again.changes, again.visits, again.log = world.changes, world.visits, world.log
    again._seen, again.found = world._seen, world.found
    return again


@pytest.mark.parametrize("whose", ["subscription", "collection", "site", "instance"])
@pytest.mark.parametrize(("limit", "expected"), [({"visits_per_day": 4}, 40), ({"bytes_per_day": 40_000}, 40)])
def test_a_budget_is_the_same_however_often_the_engine_starts_again(tmp_path, whose, limit, expected):
    settings = {f"watch_{name}": value for name, value in limit.items()} if whose == "instance" else {}
    if whose == "collection":
        services.set_collection("museums", **limit)
    if whose == "site":
        frontier.set_site("news.test", limit)
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
        services.edit(sub.pk, {"mode": "fixed 1" if hour % 2 else "fixed 2"})
        world.scheduler.refresh()
        world.run(1, step=0.5)
        if hour % 12 == 5:
            services.pause(sub.pk)
            world.scheduler.refresh()
            services.resume(sub.pk)
            world.scheduler.refresh()
    assert 2 <= len(world.log) - before <= 4


def test_pages_met_after_a_restart_come_after_those_met_before(tmp_path):
    sub = subscribe(visits_per_day=48)
    world = World(tmp_path)
    host = Host.objects.create(name="news.test")
    due_ms = int((world.now + 5 * HOUR) * 1000)
    Page.objects.create(key=1, url="https://news.test/1", host=host, crawl_id=sub.crawl_id, due_ms=due_ms)
    again = World(tmp_path)
    found = again.scheduler.pace([Found(2, "https://news.test/2", "news.test", sub.crawl_id, 1)], world.now)
    assert found[0].due_ms == due_ms + 3_600_000


@pytest.mark.parametrize("mode", ["simple", "nutch", "gamma"])
def test_a_policy_that_would_wait_longer_than_allowed_says_so(tmp_path, mode):
    sub = subscribe(mode=mode, max_hours=30, visits_per_day=24 if mode == "gamma" else 0)
    world = World(tmp_path)
    world.add(sub, "https://news.test/quiet", [])
    world.add(sub, "https://news.test/fast", [h / 2 for h in range(1000)])
    world.run(6 * 24, step=0.5)
    gaps = [b - a for a, b in pairwise(at for at, url in world.log if url.endswith("quiet"))]
    assert max(gaps) <= 31
    page = WatchedPage.objects.get(url="https://news.test/quiet")
    if mode == "simple":
        assert page.reason["code"] == "overdue"
        assert page.next_reason == {"code": "then-latest", "policy": "simple", "hours": 30.0}
        assert page.next_ms == page.last_ms + 30 * 3_600_000


def test_outside_its_window_nothing_is_visited(tmp_path):
    sub = subscribe(mode="fixed 1", windows=["08:00-10:00"])
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [])
    world.run(72)
    hours = [at % 24 for at, _ in world.log[1:]]
    assert hours
    assert all(8 <= hour <= 10 for hour in hours)


def test_nobody_is_left_alone_longer_than_the_maximum(tmp_path):
    sub = subscribe(max_hours=100)
    world = World(tmp_path)
    for number in range(20):
        world.add(sub, f"https://news.test/{number}", poisson(3, 60, number) if number < 5 else [])
    world.run(60 * 24, step=2.0)
    for url in world.changes:
        times = [at for at, visited in world.log if visited == url]
        gaps = [b - a for a, b in pairwise(times)]
        assert max(gaps) <= 110, url


def test_a_maximum_below_an_hour_is_kept_and_so_is_a_minimum(tmp_path):
    sub = subscribe(max_hours=0.25)
    calm = subscribe("https://calm.test/", min_hours=36, max_hours=48)
    world = World(tmp_path)
    for number in range(80):  # more visits than an instance without limits would spread over the day
        world.add(sub, f"https://news.test/{number}", [])
    world.add(calm, "https://calm.test/", poisson(20, 10, 1))
    world.run(6, step=1 / 60)
    for number in range(80):
        gaps = [b - a for a, b in pairwise(at for at, url in world.log if url == f"https://news.test/{number}")]
        assert max(gaps) <= 0.5
    services.pause(sub.pk)
    world.scheduler.refresh()
    world.run(8 * 24, step=1.0)
    gaps = [b - a for a, b in pairwise(at for at, url in world.log if url == "https://calm.test/")]
    assert min(gaps) >= 36
    assert max(gaps) <= 49


def test_a_clock_that_jumps_a_month_ahead_makes_no_stampede(tmp_path):
    sub = subscribe()
    world = World(tmp_path)
    for number in range(200):
        world.add(sub, f"https://news.test/{number}", [])
    world.run(48)
    world.now += 31 * 86_400
    before = len(world.log)
    world.look()
    assert len(world.log) - before <= 50
    for _ in range(60):
        world.now += 60
        world.look()
    assert 20 <= len(world.log) - before <= 300


@pytest.mark.parametrize("mode", ["auto", "fixed 24"])
def test_a_clock_that_jumps_back_starves_nobody(tmp_path, mode):
    sub = subscribe(mode=mode, max_hours=48)
    world = World(tmp_path)
    world.now = START + 400 * 86_400  # the clock is wrong by more than a year
    for number in range(5):
        world.add(sub, f"https://news.test/{number}", [])
    world.run(72)
    world.now = START
    world.visits.clear()
    world.run(4 * 24)
    assert min(world.visits[f"https://news.test/{n}"] for n in range(5)) >= 1


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("mode", ["auto", "fixed 24", "simple", "gamma"])
def test_what_pages_say_is_true_again_after_a_clock_that_was_ahead(tmp_path, mode, restart):
    sub = subscribe(mode=mode, max_hours=48, visits_per_day=24 if mode == "gamma" else 0)
    world = World(tmp_path)
    world.now = START + 400 * 86_400
    for number in range(5):
        world.add(sub, f"https://news.test/{number}", [])
    world.run(72)
    world.now = START
    world.scheduler.close()
    if restart:  # the clock was set right while nothing ran
        world = restarted(world, tmp_path)
    world.visits.clear()
    world.look()
    assert all(page.next_reason.get("hours", 24) >= 10 for page in WatchedPage.objects.all())  # of hours, not seconds
    latest = int((START + 49 * HOUR) * 1000)
    assert all(page.last_ms <= START * 1000 and page.next_ms <= latest for page in WatchedPage.objects.all())
    world.run(4 * 24)
    assert min(world.visits[f"https://news.test/{n}"] for n in range(5)) >= 1


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
    world.scheduler.failed(first.crawl, first.key, first.url, "connect: nobody listens", unanswered=True)
    Page.objects.update(state=Page.State.FAILED, reason="host-unreachable")
    world.now += 200
    world.scheduler.due(world.now, world.crawls)
    world.write()
    assert Subscription.objects.get().failures == 1


def test_a_pending_visit_that_ended_without_a_word_is_made_again(tmp_path):
    sub = subscribe(mode="fixed 6")
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [])
    world.scheduler.due(world.now, world.crawls)  # the budget begins to fill
    world.now += 7 * HOUR
    _, again = world.scheduler.due(world.now, world.crawls)
    assert len(again) == 1  # queued; then its host is given up and the engine says nothing
    world.write()
    world.now += 200
    world.look()
    assert WatchedPage.objects.get().failures == 0
    from hemeroteca.frontier.models import Page

    Page.objects.update(state=Page.State.FAILED, reason="host-unreachable")
    world.run(24)
    assert world.visits["https://news.test/a"] >= 2


def test_a_paused_subscription_is_not_visited_and_goes_on_later(tmp_path):
    sub = subscribe(mode="fixed 6")
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [])
    services.pause(sub.pk)
    assert world.scheduler.changed()
    world.scheduler.refresh()
    world.run(48)
    assert world.visits["https://news.test/a"] == 1
    services.resume(sub.pk)
    world.scheduler.refresh()
    world.run(24)
    assert world.visits["https://news.test/a"] >= 4


def test_new_pages_of_a_subscription_with_a_budget_come_in_its_rhythm(tmp_path):
    sub = subscribe(visits_per_day=48)
    world = World(tmp_path)
    found = [Found(n, f"https://news.test/{n}", "news.test", sub.crawl_id, 1) for n in range(10)]
    paced = world.scheduler.pace(found, world.now)
    assert [round((f.due_ms / 1000 - world.now) / HOUR) for f in paced] == list(range(1, 11))


# signals


def webhook(sub: Subscription) -> SignalSource:
    source, _ = services.add_webhook(sub.pk)
    return source


def say(source: SignalSource, url: str) -> None:
    Signal.objects.create(source=source, url=url, received_ms=0)


def quiet_site(data: Path, pages: int) -> tuple[World, SignalSource]:
    """Pages that never change, and a webhook that may say they do."""
    sub = subscribe()
    world = World(data)
    for number in range(pages):
        world.add(sub, f"https://news.test/{number}", [])
    source = webhook(sub)
    world.scheduler.refresh()
    return world, source


def test_a_signal_brings_a_visit_at_once(tmp_path):
    sub = subscribe()
    world = World(tmp_path)
    for number in range(20):
        world.add(sub, f"https://news.test/{number}", [30.0] if number == 7 else [])
    source = webhook(sub)
    world.scheduler.refresh()
    world.run(30.1)
    visits = world.visits["https://news.test/7"]
    say(source, "https://news.test/7")
    for _ in range(30):
        world.now += 1
        world.look()
    assert world.visits["https://news.test/7"] == visits + 1
    assert not Signal.objects.exists()
    source.refresh_from_db()
    assert (source.right, source.wrong) == (1, 0)
    assert "webhook" in sentence(WatchedPage.objects.get(url="https://news.test/7").reason, "es")


def test_a_first_crawl_does_not_keep_a_small_instance_from_reacting(tmp_path):
    sub = subscribe()
    other = subscribe("https://clock.test/", mode="fixed 0.02")
    world = World(tmp_path)
    for number in range(40):
        world.add(sub, f"https://news.test/{number}", [0.05] if number == 7 else [])
    world.add(other, "https://clock.test/", [])
    source = webhook(sub)
    world.scheduler.refresh()
    world.run(0.06, step=1 / 3600)
    assert world.visits["https://clock.test/"] >= 3
    say(source, "https://news.test/7")  # seen four minutes ago
    world.run(0.01, step=1 / 3600)
    assert world.found["https://news.test/7"] == 1
    assert "webhook" in sentence(WatchedPage.objects.get(url="https://news.test/7").reason, "es")


def test_false_alarms_about_pages_just_seen_are_found_out_by_a_few_visits(tmp_path):
    world, source = quiet_site(tmp_path, 200)
    world.run(0.1, step=1 / 360)
    before = len(world.log)
    for number in range(200):
        say(source, f"https://news.test/{number}")
    world.run(0.7, step=1 / 360)
    assert 1 <= len(world.log) - before <= 20


def test_a_source_speaks_for_its_own_subscription_only(tmp_path):
    mine, other = subscribe(), subscribe("https://other.test/")
    world = World(tmp_path)
    world.add(mine, "https://news.test/a", [])
    world.add(other, "https://other.test/a", [20.0])
    source = webhook(mine)
    world.scheduler.refresh()
    world.run(21, step=1.0)
    say(source, "https://other.test/a")
    world.run(0.1, step=1 / 3600)
    assert world.visits["https://other.test/a"] == 1
    services.pause(mine.pk)
    world.scheduler.refresh()
    say(source, "https://other.test/a")
    world.run(0.1, step=1 / 3600)
    assert world.visits["https://other.test/a"] == 1
    world.run(30, step=1.0)
    source.refresh_from_db()
    assert (source.right, source.wrong, source.missed) == (0, 0, 0)


def test_a_source_that_lies_is_heard_less_and_less(tmp_path):
    world, source = quiet_site(tmp_path, 50)
    world.run(24)
    rounds = []
    for _ in range(12):
        before = len(world.log)
        for number in range(50):
            say(source, f"https://news.test/{number}")
        world.run(6)
        rounds.append(len(world.log) - before)
    assert sum(rounds[-3:]) < 0.5 * sum(rounds[:3])
    source.refresh_from_db()
    assert source.wrong >= 5
    assert source.right == 0


def test_a_source_that_names_pages_that_are_not_there_is_soon_asked_for_proof(tmp_path):
    world, source = quiet_site(tmp_path, 1)
    active = SignalSource.State.ACTIVE
    honest = SignalSource.objects.create(kind="indexnow", site="news.test", state=active, created_ms=0)
    world.scheduler.refresh()
    asked = []
    for hour in range(6):
        before = len(world.log)
        for number in range(300):
            url = f"https://news.test/{hour}/{number}"
            world.changes[url] = []
            world.missing.add(url)
            say(source, url)
        for number in range(20):
            world.changes[f"https://news.test/new/{hour}/{number}"] = []
            say(honest, f"https://news.test/new/{hour}/{number}")
        world.run(1.01, step=0.01)
        made = [url for _, url in world.log[before:]]
        asked.append(sum(url in world.missing for url in made))
        assert sum("/new/" in url for url in made) == 20  # a liar takes nothing from others
    assert asked[0] <= 100
    assert max(asked[1:]) <= 5
    source.refresh_from_db()
    assert (source.right, source.wrong) == (0, sum(asked))


def test_a_new_page_that_a_signal_names_is_visited_when_it_is_in_scope(tmp_path):
    sub = subscribe()
    world = World(tmp_path)
    source = webhook(sub)
    world.scheduler.refresh()
    world.changes |= {"https://news.test/new": []}
    say(source, "https://news.test/new")
    say(source, "https://elsewhere.test/")
    say(source, "not an address")
    world.run(1)
    assert world.visits == {"https://news.test/new": 1}


def test_a_feed_announces_its_pages_and_what_it_misses_is_counted(tmp_path):
    sub = subscribe(max_hours=240)
    world = World(tmp_path)
    feed, page, other = "https://news.test/feed.xml", "https://news.test/a", "https://news.test/b"
    world.listings[feed] = []
    world.add(sub, page, [80.5])
    world.add(sub, other, [20.0, 100.0, 130.0])
    world.add(sub, feed, [81.0])
    assert WatchedPage.objects.get(url=feed).listing == "feed"
    world.run(80.4)
    world.listings[feed] = [(page, 80.5)]
    before = world.visits[page]
    world.run(30)
    assert world.visits[feed] > 3
    assert world.visits[page] > before
    assert world.found[page] == 1
    world.run(200)
    source = SignalSource.objects.get(kind="feed")
    assert source.right == 1
    assert source.missed >= 1


def test_what_was_learned_survives_a_restart_and_a_lost_file(tmp_path):
    sub = subscribe()
    world = World(tmp_path)
    world.add(sub, "https://news.test/fast", poisson(1, 60, 1))
    world.add(sub, "https://news.test/never", [])
    world.run(30 * 24, step=1.0)
    key = urls.key("https://news.test/fast")
    world.scheduler.close()
    from hemeroteca.watch import learning, memory

    hour = memory.hour(world.now * 1000) + 12
    kept, _ = memory.load(tmp_path / memory.FILE)
    said = float(kept.chance([key], hour)[0])
    again, _ = learning.rebuild()
    assert float(again.chance([key], hour)[0]) == pytest.approx(said, abs=0.15)
    (tmp_path / memory.FILE).write_bytes(b"not a planner")
    assert memory.load(tmp_path / memory.FILE) is None
    assert len(World(tmp_path).scheduler) == 2


def test_a_changed_maximum_counts_at_once_and_a_pause_forgets_nothing(tmp_path):
    sub = subscribe()
    world = World(tmp_path)
    world.add(sub, "https://news.test/fast", poisson(1, 90, 1))
    world.add(sub, "https://news.test/never", [])
    world.run(40 * 24, step=1.0)
    planner, key = world.scheduler._planning.planner, urls.key("https://news.test/fast")
    before = world.visits["https://news.test/never"]
    services.edit(sub.pk, {"max_hours": 12})
    world.scheduler.refresh()
    world.run(5 * 24, step=1.0)
    assert world.visits["https://news.test/never"] >= before + 8
    services.edit(sub.pk, {"max_hours": 0})
    world.scheduler.refresh()
    hour = memory.hour(world.now * 1000) + 12
    said = float(planner.chance([key], hour)[0])
    services.pause(sub.pk)
    world.scheduler.refresh()
    visits = world.visits.total()
    world.run(24, step=1.0)
    assert world.visits.total() == visits
    services.resume(sub.pk)
    world.scheduler.refresh()
    world.scheduler._planning.take_in()
    assert float(planner.chance([key], hour)[0]) == pytest.approx(said, abs=0.05)
    services.pause(sub.pk)  # and over a restart
    world.scheduler.refresh()
    world.scheduler.close()
    services.resume(sub.pk)
    again = World(tmp_path)
    again.scheduler._planning.take_in()
    assert float(again.scheduler._planning.planner.chance([key], hour)[0]) == pytest.approx(said, abs=0.05)


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
    services.edit(bad.pk, {"mode": "fixed 1"})
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
    broken = world.scheduler._state.subs[bad.pk].policy

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
    assert not services.pause(sub.pk).active
    services.remove(sub.pk)
    assert not Subscription.objects.exists()


def test_every_reason_has_its_sentence_in_both_languages():
    values = {"source": "feed", "precision": 0.9, "changed": 3, "visited": 4, "section": "/noticias", "times": 2.5}
    values |= {"page": "https://a.test/", "changes": 3, "days": 1.5, "ago": 0.5, "visits": 1, "policy": "simple"}
    values |= {"hours": 36.0, "failures": 1}
    assert ENGLISH.keys() == SPANISH.keys()
    for code in ENGLISH:
        said = sentence({"code": code, **values}, "es"), sentence({"code": code, **values}, "en")
        assert all(text != code and "{" not in text for text in said)
    assert sentence({"code": "habit", **values}, "es") == (
        "se visita porque cambia más o menos cada 1,5 días y se vio por última vez hace 12 horas"
    )
    assert sentence({"code": "neighbours", **values}, "en") == (
        "visited because 3 of 4 pages of /noticias changed today"
    )
    assert sentence({"code": "then-policy", "policy": "fixed", "hours": 0.02}, "es") == (
        "la próxima, 1 minuto después, porque lo pide la política fixed"
    )


def test_the_sentences_about_the_next_visit_are_true(tmp_path):
    auto, fixed = subscribe(), subscribe("https://fixed.test/", mode="fixed 12")
    shared = subscribe("https://shared.test/", visits_per_day=10)
    world = World(tmp_path)
    world.add(auto, "https://news.test/a", [])
    world.add(fixed, "https://fixed.test/a", [])
    world.add(shared, "https://shared.test/a", [])
    pages = {page.site: page for page in WatchedPage.objects.all()}
    young = pages["news.test"]
    assert sentence(young.next_reason, "en") == "next 24 hours later, to learn its habits"
    assert young.next_ms - young.last_ms == 24 * HOUR * 1000
    assert pages["shared.test"].next_reason["code"] == "then-share"
    said = pages["fixed.test"].next_reason
    world.run(said["hours"] - 0.1, step=0.05)
    assert world.visits["https://fixed.test/a"] == 1
    world.run(0.2, step=0.05)
    assert world.visits["https://fixed.test/a"] == 2
    world.run(24)
    assert world.visits["https://news.test/a"] == 2
    world.run(60 * 24, step=2.0)
    silent = WatchedPage.objects.get(site="news.test")
    assert silent.next_reason["code"] in ("then-latest", "then-chance")
    world.dead.add("news.test")
    world.run(40 * 24, step=2.0)
    silent.refresh_from_db()
    assert silent.next_reason["code"] == "then-retry"


def test_a_signal_does_not_spoil_the_forecast_of_the_next_visit(tmp_path):
    sub = subscribe()
    world = World(tmp_path)
    for number in range(10):
        world.add(sub, f"https://news.test/{number}", [])
    source = webhook(sub)
    world.scheduler.refresh()
    world.run(20 * 24, step=2.0)
    say(source, "https://news.test/1")
    world.run(0.05, step=1 / 3600)
    page = WatchedPage.objects.get(url="https://news.test/1")
    assert page.reason["code"] == "news"
    assert page.next_ms - page.last_ms > 48 * HOUR * 1000


@pytest.mark.parametrize("told", [True, False])
def test_a_site_that_is_down_when_it_is_subscribed_to_is_tried_again(tmp_path, told):
    sub = subscribe()
    world = World(tmp_path)
    world.dead.add("news.test")
    world.changes["https://news.test/"] = []
    host = Host.objects.create(name="news.test")
    key = urls.key("https://news.test/")
    Page.objects.create(key=key, url="https://news.test/", host=host, crawl_id=sub.crawl_id, state=2, reason="robots")
    if told:
        world.scheduler.failed(sub.crawl_id, key, "https://news.test/", "connect", unanswered=True)
    world.run(24, step=0.05)
    sub.refresh_from_db()
    assert 4 <= sub.failures <= 7
    assert world.visits["https://news.test/"] in (sub.failures - 1, sub.failures)
    world.dead.clear()
    world.run(24, step=0.05)
    sub.refresh_from_db()
    assert (sub.failures, WatchedPage.objects.count()) == (0, 1)


def test_a_page_visited_every_minute_is_tried_again_soon(tmp_path):
    sub = subscribe(mode="fixed 0.02")
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [])
    world.dead.add("news.test")
    world.run(0.3, step=1 / 3600)
    sub.refresh_from_db()
    assert sub.failures >= 3


def test_somebody_never_heard_before_is_not_said_to_have_been_right_half_of_the_time(tmp_path):
    sub = subscribe()
    world = World(tmp_path)
    for number in range(3):
        world.add(sub, f"https://news.test/{number}", [2.0])
    source = webhook(sub)
    world.scheduler.refresh()
    world.run(3)
    said = []
    for number in (0, 1):
        say(source, f"https://news.test/{number}")
        world.run(0.02, step=1 / 3600)
        said.append(WatchedPage.objects.get(url=f"https://news.test/{number}").reason)
    assert said[0] == {"code": "news", "source": "webhook", "chance": said[0]["chance"]}
    assert (said[1]["code"], said[1]["precision"]) == ("signal", 1.0)


def test_a_page_that_is_not_there_is_not_watched_because_somebody_named_it(tmp_path):
    world, source = quiet_site(tmp_path, 1)
    url = "https://news.test/missing"
    world.changes[url] = []
    world.missing.add(url)
    say(source, url)
    world.run(2)
    assert world.visits[url] == 1
    assert not WatchedPage.objects.filter(url=url).exists()
    world.missing.clear()  # it has come meanwhile, and is named once more
    Page.objects.create(
        key=urls.key(url),
        url=url,
        host=Host.objects.get(),
        crawl_id=source.subscription.crawl_id,
        state=Page.State.DONE,
        status=404,
        visited_ms=int((world.now - 7200) * 1000),
    )
    say(source, url)
    world.run(1)
    assert world.visits[url] == 2
    assert WatchedPage.objects.get(url=url).visits == 1


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
    services.set_collection("museums", visits_per_day=1)
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


def test_a_signal_that_is_sent_once_more_brings_no_other_visit(tmp_path):
    world, source = quiet_site(tmp_path, 3)
    url = "https://news.test/1"
    world.changes[url] = [4.5]
    world.run(5)
    said_ms = int((START + 4.5 * HOUR) * 1000)
    for _ in range(3):  # the same dated word again and again
        Signal.objects.create(source=source, url=url, said_ms=said_ms, received_ms=0)
        world.run(0.2, step=1 / 360)
    assert world.visits[url] == 2
    assert world.found[url] == 1
    source.refresh_from_db()
    assert (source.right, source.wrong) == (1, 0)


def test_a_feed_that_lies_is_soon_no_longer_believed(tmp_path):
    sub = subscribe(max_hours=240)
    world = World(tmp_path)
    feed = "https://news.test/feed.xml"
    pages = [f"https://news.test/{number}" for number in range(20)]
    world.listings[feed] = []
    for url in pages:
        world.add(sub, url, [])
    world.add(sub, feed, [float(hour) for hour in range(1, 24 * 20)])
    made = []
    for _ in range(20):
        world.listings[feed] = [(url, world.hours + 0.5) for url in pages]  # "all of them have just changed"
        before = sum(world.visits[url] for url in pages)
        world.run(24, step=0.5)
        made.append(sum(world.visits[url] for url in pages) - before)
    assert SignalSource.objects.get(kind="feed").wrong >= 5
    assert sum(made[-5:]) <= 0.5 * 5 * 20  # no page more often than every other day
    assert sum(made[10:]) >= 10  # and none forgotten


@pytest.mark.parametrize("mode", ["auto", "simple", "fixed 24"])
def test_an_instance_that_was_off_for_a_week_catches_up_without_a_stampede(tmp_path, mode):
    sub = subscribe(mode=mode, max_hours=72)
    world = World(tmp_path)
    for number in range(120):
        world.add(sub, f"https://news.test/{number}", [])
    world.run(5 * 24, step=1.0)
    world.scheduler.close()
    again = World(tmp_path)
    again.now, again.changes, again._seen = world.now + 7 * 86_400, world.changes, world._seen
    began = again.hours
    again.run(1, step=1 / 60)
    assert len(again.log) <= 200  # an instance without limits makes 24 visits a page and day
    minutes = [int((at - began) * 60 + 1e-6) for at, _ in again.log]
    assert max(minutes.count(minute) for minute in set(minutes)) <= 50  # what may wait at one host
    again.run(23, step=0.25)
    assert len(again.visits) == 120
    later = again.hours
    again.run(72, step=0.25)
    hours = [int(at) for at, _ in again.log if at > later]
    assert max(hours.count(hour) for hour in set(hours)) <= 120
    assert all(again.visits[f"https://news.test/{number}"] >= 2 for number in range(120))

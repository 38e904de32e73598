"""The scheduler on a real database, with a clock that the test holds."""

from itertools import pairwise

import pytest

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.frontier.models import Host, Page, QueuedVisit
from hemeroteca.frontier.visit import State
from hemeroteca.watch import services
from hemeroteca.watch.answered_visit import planner_hour
from hemeroteca.watch.models import Change, Observation, Subscription, WatchedPage
from hemeroteca.watch.next_visit import ENGLISH, SPANISH, sentence
from tests.watch.driving import HOUR, START, World, poisson, restarted, subscribe

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


@pytest.mark.simulation
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
    again.changes, again.seen = world.changes, world.seen
    again.run(15 * 24)
    assert again.visits["https://news.test/a"] >= 2


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


@pytest.mark.simulation
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


@pytest.mark.simulation
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
    services.pause(SYSTEM, sub.pk)
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


def test_a_paused_subscription_is_not_visited_and_goes_on_later(tmp_path):
    sub = subscribe(mode="fixed 6")
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [])
    services.pause(SYSTEM, sub.pk)
    assert world.scheduler.changed()
    world.scheduler.refresh()
    world.run(48)
    assert world.visits["https://news.test/a"] == 1
    services.resume(SYSTEM, sub.pk)
    world.scheduler.refresh()
    world.run(24)
    assert world.visits["https://news.test/a"] >= 4


def test_what_was_learned_survives_a_restart_and_a_lost_file(tmp_path):
    sub = subscribe()
    world = World(tmp_path)
    world.add(sub, "https://news.test/fast", poisson(1, 60, 1))
    world.add(sub, "https://news.test/never", [])
    world.run(30 * 24, step=1.0)
    key = urls.key("https://news.test/fast")
    world.scheduler.close()
    from hemeroteca.watch import observations

    hour = planner_hour(world.now * 1000) + 12
    kept, _ = observations.load_planner(tmp_path / observations.PLANNER_FILE)
    said = float(kept.chance([key], hour)[0])
    again, _ = observations.rebuild()
    assert float(again.chance([key], hour)[0]) == pytest.approx(said, abs=0.15)
    (tmp_path / observations.PLANNER_FILE).write_bytes(b"not a planner")
    assert observations.load_planner(tmp_path / observations.PLANNER_FILE) is None
    assert len(World(tmp_path).scheduler) == 2


@pytest.mark.simulation
def test_a_changed_maximum_counts_at_once_and_a_pause_forgets_nothing(tmp_path):
    sub = subscribe()
    world = World(tmp_path)
    world.add(sub, "https://news.test/fast", poisson(1, 90, 1))
    world.add(sub, "https://news.test/never", [])
    world.run(40 * 24, step=1.0)
    planner, key = world.scheduler.state.plan.planner, urls.key("https://news.test/fast")
    before = world.visits["https://news.test/never"]
    services.edit(SYSTEM, sub.pk, {"max_hours": 12})
    world.scheduler.refresh()
    world.run(5 * 24, step=1.0)
    assert world.visits["https://news.test/never"] >= before + 8
    services.edit(SYSTEM, sub.pk, {"max_hours": 0})
    world.scheduler.refresh()
    hour = planner_hour(world.now * 1000) + 12
    said = float(planner.chance([key], hour)[0])
    services.pause(SYSTEM, sub.pk)
    world.scheduler.refresh()
    visits = world.visits.total()
    world.run(24, step=1.0)
    assert world.visits.total() == visits
    services.resume(SYSTEM, sub.pk)
    world.scheduler.refresh()
    world.scheduler.state.plan.take_in()
    assert float(planner.chance([key], hour)[0]) == pytest.approx(said, abs=0.05)
    services.pause(SYSTEM, sub.pk)  # and over a restart
    world.scheduler.refresh()
    world.scheduler.close()
    services.resume(SYSTEM, sub.pk)
    again = World(tmp_path)
    again.scheduler.state.plan.take_in()
    assert float(again.scheduler.state.plan.planner.chance([key], hour)[0]) == pytest.approx(said, abs=0.05)


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


@pytest.mark.simulation
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


def test_a_page_that_somebody_tries_out_is_not_left_alone_for_a_month(tmp_path):
    """Ten visits in a few minutes, each of which finds a change, say nothing about days: it stays a page to learn."""
    sub = subscribe()
    world = World(tmp_path)
    address = "https://news.test/a"
    world.add(sub, address, [hour / 20 + 0.01 for hour in range(100)] + [24.0 * day + 7 for day in range(1, 9)])
    for _ in range(10):
        world.now += 0.05 * HOUR
        services.check_now(SYSTEM, sub.pk)
        Subscription.objects.update(check_ms=int(world.now * 1000))
        world.scheduler.refresh()
        world.look()
    assert (world.visits[address], world.found[address]) == (11, 10)
    page = WatchedPage.objects.get()
    assert sentence(page.next_reason) == "next 24 hours later, to learn its habits"
    world = restarted(world, tmp_path)
    world.run(8 * 24)
    assert world.visits[address] >= 14
    assert page.next_reason["code"] != "then-latest"


def test_a_visit_asked_for_just_after_another_is_made(tmp_path):
    """Until the next commit the database says of a page that was answered that it is queued."""
    sub = subscribe()
    world = World(tmp_path)
    address = "https://news.test/a"
    world.add(sub, address, [])
    QueuedVisit.objects.update_or_create(
        crawl=sub.crawl,
        page=Page.objects.get(url=address),
        defaults={"host": Host.objects.get(name="news.test"), "state": State.QUEUED},
    )
    before = world.visits[address]
    for asked in (1, 2):
        world.now += 0.05 * HOUR
        services.check_now(SYSTEM, sub.pk)
        Subscription.objects.update(check_ms=int(world.now * 1000))
        world.scheduler.refresh()
        world.look()
        assert world.visits[address] == before + asked


@pytest.mark.simulation
@pytest.mark.parametrize("mode", ["auto", "simple", "fixed 24"])
def test_an_instance_that_was_off_for_a_week_catches_up_without_a_stampede(tmp_path, mode):
    sub = subscribe(mode=mode, max_hours=72)
    world = World(tmp_path)
    for number in range(120):
        world.add(sub, f"https://news.test/{number}", [])
    world.run(5 * 24, step=1.0)
    world.scheduler.close()
    again = World(tmp_path)
    again.now, again.changes, again.seen = world.now + 7 * 86_400, world.changes, world.seen
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

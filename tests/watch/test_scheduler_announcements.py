"""What others say of pages: signals and feeds bring visits, and who lies is found out."""

from pathlib import Path

import pytest

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.frontier.models import Host, Page
from hemeroteca.watch import services
from hemeroteca.watch.models import Signal, SignalSource, Subscription, WatchedPage
from hemeroteca.watch.next_visit import sentence
from tests.watch.driving import HOUR, START, World, subscribe

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def webhook(sub: Subscription) -> SignalSource:
    source, _ = services.add_webhook(SYSTEM, sub.pk)
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
    services.pause(SYSTEM, mine.pk)
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


@pytest.mark.simulation
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
        status=404,
        visited_ms=int((world.now - 7200) * 1000),
    )
    say(source, url)
    world.run(1)
    assert world.visits[url] == 2
    assert WatchedPage.objects.get(url=url).visits == 1


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


@pytest.mark.simulation
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

"""Orders of people: subscriptions, collections, windows, budgets, subscription_files."""

import contextlib
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca.accounts import SYSTEM
from hemeroteca.errors import Refused
from hemeroteca.frontier.models import Crawl
from hemeroteca.watch import queries, services, subscription_files, time_windows
from hemeroteca.watch.budgets import Bucket
from hemeroteca.watch.fields import Order
from hemeroteca.watch.models import Collection, Subscription

database = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def marked(function):
    for mark in database:
        function = mark(function)
    return function


@marked
def test_a_subscription_has_a_standing_crawl_and_is_made_once():
    made, new = services.subscribe(SYSTEM, Order(url="Example.org", collection="news", threshold=0.2))
    assert new
    assert made.url == "https://example.org/"
    assert made.scope["kind"] == "host"
    assert made.crawl.state == "running"
    assert made.crawl.options["watch"] == {"threshold": 0.2}
    again, new = services.subscribe(SYSTEM, Order(url="https://example.org/#top"))
    assert (again.pk, new) == (made.pk, False)
    other, new = services.subscribe(SYSTEM, Order(url="https://example.org/", scope="page"))
    assert new
    assert other.pk != made.pk


@marked
def test_editing_pausing_and_removing():
    made, _ = services.subscribe(SYSTEM, Order(url="https://example.org/a"))
    before = queries.revision()
    edited = services.edit(
        SYSTEM, made.pk, {"mode": "fixed 12", "max_hours": 48, "windows": ["mon-fri 8-18"], "collection": "new"}
    )
    assert queries.revision() > before
    assert (edited.mode, edited.fixed_hours, edited.max_hours) == ("fixed", 12.0, 48)
    assert services.order_of(services.find(made.pk)).windows == ["mon,tue,wed,thu,fri 08:00-18:00"]
    Crawl.objects.update(state="running")
    services.pause(SYSTEM, made.pk)
    assert Crawl.objects.get().stop_requested
    services.resume(SYSTEM, made.pk)
    assert Crawl.objects.get().state == "running"
    assert not Crawl.objects.get().stop_requested
    services.remove(SYSTEM, made.pk)
    assert not Subscription.objects.exists()
    assert Crawl.objects.get().stop_requested


@marked
@pytest.mark.parametrize(
    ("order", "says"),
    [
        ({"url": "ftp://example.org/"}, "only http and https can be fetched"),
        ({"url": "example.org", "mode": "fixd"}, "there is no policy"),
        ({"url": "example.org", "mode": "simple 3"}, "only `fixed` takes hours"),
        ({"url": "example.org", "mode": "fixed x"}, "are no hours"),
        ({"url": "example.org", "mode": "fixed nan"}, "must be a number"),
        ({"url": "example.org", "mode": "gamma"}, "give visits_per_day"),
        ({"url": "example.org", "threshold": 0.0}, "threshold"),
        ({"url": "example.org", "min_hours": 9, "max_hours": 3}, "less than min_hours"),
        ({"url": "example.org", "include": ["("]}, "("),
        ({"url": "example.org", "ignore": ["p["]}, "CSS selector"),
        ({"url": "example.org", "windows": ["someday"]}, "write a window like"),
        ({"url": "example.org", "country": "XX"}, "holiday calendar"),
        ({"url": "example.org", "weight": float("inf")}, "must be a number"),
    ],
)
def test_an_order_that_cannot_be_carried_out_says_why(order, says):
    with pytest.raises(Refused) as error:
        services.subscribe(SYSTEM, Order(**order))
    assert says in str(error.value)
    assert not Crawl.objects.exists()


@marked
def test_a_collection_with_subscriptions_is_not_removed():
    services.set_collection(SYSTEM, "news", {"category": "news", "visits_per_day": 100})
    services.subscribe(SYSTEM, Order(url="example.org", collection="news"))
    with pytest.raises(Refused, match="still has 1"):
        services.remove_collection(SYSTEM, "news")
    assert Collection.objects.get().category.code == 301


@marked
def test_csv_with_a_header_is_taken_and_wrong_lines_are_named():
    text = (
        "url;name;collection;mode;max_hours;windows\n"
        "https://a.test/;A site;news;fixed 12;48;mon-fri 08:00-18:00|sat\n"
        "not an address;B;;;;\n"
        "https://c.test/x;C;;simple;;\n"
        ";D;;;;\n"
        "https://a.test/;again;;;;\n"
        "https://e.test/;E;;;many;\n"
    )
    report = subscription_files.read_file(SYSTEM, text.encode("utf-8-sig"), "list.csv")
    assert (report.new, report.known, report.refused) == (2, 1, 3)
    assert [(line.number, line.outcome) for line in report.lines] == [
        (2, "new"),
        (3, "refused"),
        (4, "new"),
        (5, "refused"),
        (7, "refused"),
    ]
    assert "no address" in report.lines[3].detail
    assert "max_hours is 'many'" in report.lines[4].detail
    made = Subscription.objects.get(url="https://a.test/")
    assert (made.name, made.mode, made.fixed_hours, len(made.windows)) == ("A site", "fixed", 12.0, 2)


@marked
def test_csv_without_a_header_is_a_list_of_addresses():
    report = subscription_files.read_file(SYSTEM, b"https://a.test/1,First\nhttps://a.test/2\n", "list.csv")
    assert report.new == 2
    assert Subscription.objects.get(url="https://a.test/1").name == "First"


@marked
def test_opml_of_a_feed_reader_brings_pages_and_folders():
    text = """<?xml version="1.0"?><opml version="2.0"><head><title>x</title></head><body>
    <outline text="Museos"><outline type="rss" text="Prado" xmlUrl="https://p.test/feed" htmlUrl="https://p.test/"/></outline>
    <outline type="rss" title="Alone" xmlUrl="https://q.test/feed.xml"/></body></opml>"""
    report = subscription_files.read_file(SYSTEM, text.encode(), "feeds.opml")
    assert report.new == 2
    first = Subscription.objects.get(url="https://p.test/")
    assert (first.name, first.collection.name) == ("Prado", "Museos")
    assert Subscription.objects.get(url="https://q.test/feed.xml").collection is None


@pytest.mark.parametrize(
    "data",
    [
        b"<opml><body><outline",
        b'<!DOCTYPE x [<!ENTITY a "b">]><opml>&a;</opml>',
        b"<opml>" + b"<outline text='x'>" * 200,
        b"\x00\xff<",
    ],
)
def test_hostile_opml_is_refused_with_a_reason(data):
    with pytest.raises(Refused):
        subscription_files.read_opml(data)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_as_csv_or_opml_give_lines_or_a_reason(data):
    for read in (subscription_files.read_csv, subscription_files.read_opml):
        with contextlib.suppress(Refused):  # and nothing else is raised
            assert isinstance(read(data), list)


# windows and budgets: pure


@pytest.mark.parametrize("start", ["2026-03-28", "2026-10-24"])  # clocks are set forward and back on the 29th and 25th
@pytest.mark.parametrize("text", ["22:00-06:00", "02:15-02:45", "02:30-03:30", "01:30-02:30", "sun 22:00-01:00"])
def test_the_next_opening_is_the_first_open_minute_when_clocks_change(text, start):
    window = time_windows.read(f"{text} Europe/Madrid")
    first = int(datetime.fromisoformat(f"{start}T00:00+00:00").timestamp())
    minutes = [first + 60 * minute for minute in range(10 * 1440)]
    following, opens = {}, None
    for moment in reversed(minutes):
        following[moment] = opens
        opens = moment if window.open(moment) else opens
    for moment in minutes[: 3 * 1440 : 7]:
        if not window.open(moment):
            assert time_windows.next_open([window], moment) == following[moment]


def test_the_next_opening_of_windows_is_known():
    thursday = 1_767_225_600.0  # 2026-01-01, midnight UTC
    office = time_windows.read("mon-fri 08:00-18:00 Europe/Madrid")
    assert time_windows.next_open([office], thursday) == thursday + 7 * 3600
    assert time_windows.next_open([office], thursday + 7 * 3600) == thursday + 31 * 3600
    thursdays = [time_windows.read("thu 3-4"), time_windows.read("sun")]
    assert time_windows.next_open(thursdays, thursday + 4 * 3600) == thursday + 72 * 3600
    assert time_windows.next_open([time_windows.read("thu 0-1")], thursday) == thursday + 7 * 86_400


def test_windows_open_when_they_say():
    office = time_windows.read("mon-fri 08:00-18:00 Europe/Madrid")
    monday = 1_767_600_000.0 - 1_767_600_000.0 % 86_400 + 86_400 * 0  # 2026-01-05
    assert office.open(monday + 7.5 * 3600)  # half past eight in Madrid
    assert not office.open(monday + 6.5 * 3600)
    assert not office.open(monday - 86_400 + 10 * 3600)
    night = time_windows.read("sun 22:00-06:00")
    assert night.open(monday + 5 * 3600)  # Sunday's night ends on Monday
    assert not night.open(monday + 7 * 3600)
    assert time_windows.any_open([], monday)


@given(st.floats(0, 4e9), st.sampled_from(["mon-fri 08:00-18:00 America/Caracas", "sat,sun", "22-6", "fri-mon 0-24"]))
def test_a_window_is_written_as_it_is_read(when, text):
    window = time_windows.read(text)
    assert time_windows.read(str(window)) == window
    assert window.open(when) == time_windows.read(str(window)).open(when)


@given(st.floats(1, 1e6), st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 10)), max_size=60))
def test_a_bucket_never_gives_more_than_its_rate_whatever_the_clock_does(per_day, steps):
    bucket, now, spent = Bucket(per_day), 1e9, 0
    bucket.fill(now)
    ahead = 0.0
    for jump, _ in steps:
        now += jump
        ahead += max(0.0, jump)
        bucket.fill(now)
        while bucket.held >= 1:
            bucket.spend(1)
            spent += 1
    assert spent <= ahead * per_day / 86_400 + 1e-6
    assert spent <= len(steps) * max(1, per_day / 144) + 1

"""What the founding work measures and shows: groups, bursts, requisites, reports; numbers worked out by hand."""

import platform
import random
import uuid
from itertools import pairwise

import pytest

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM, Actor, Role
from hemeroteca.accounts import services as accounts
from hemeroteca.archive.models import IndexedCapture, WarcFile
from hemeroteca.errors import Conflict, Invalid
from hemeroteca.frontier.models import Host, Page, QueuedVisit
from hemeroteca.ingest.difference import Difference
from hemeroteca.urls.candidate import UrlRole
from hemeroteca.warc.keys import index_key
from hemeroteca.watch import (
    notices,
    observations,
    queries,
    services,
    site_metrics,
    site_reports,
    subscription_files,
)
from hemeroteca.watch.answered_visit import DAY_MS, AnsweredVisit
from hemeroteca.watch.fields import ChannelOrder
from hemeroteca.watch.models import Burst, Change, Notice, Observation, Subscription, WatchedPage
from tests.watch.driving import START, World, restarted, subscribe

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]
DAY0 = int(START) * 1000


def seen(sub: Subscription, url: str, visits: list[tuple[float, bool]], size: int = 1000) -> int:
    """A page with visits of the past: (day, changed); the first one only begins."""
    key = urls.key(url)
    before = None
    for day, hit in visits:
        at = DAY0 + int(day * DAY_MS)
        Observation.objects.create(
            key=key, subscription=sub, seen_ms=at, interval_ms=at - before if before else 0, status=200, changed=hit,
            important=hit, bytes=size if hit else 0, stored=size if hit else 100, cost_ms=1000, chance=0.5,
        )  # fmt: skip
        before = at
    WatchedPage.objects.create(
        key=key, subscription=sub, site=urls.host(url), url=url, first_ms=DAY0, last_ms=before or DAY0,
        visits=len(visits),
    )  # fmt: skip
    return key


def describe(*keys: int, day: float) -> None:
    observations.describe(keys, DAY0 + int(day * DAY_MS))


def test_the_group_of_a_page_does_not_fall_because_it_is_visited_less_often():
    # It changes every day. Visited every 36 hours, each of 20 visits finds a change; half an unseen quiet visit (18 h)
    # is added: 20·36/(e^{36λ} − 1) = 18, λ = ln 41/36 = .1032 an hour, P = 1 − e^{−24·.1032} = .916: high.
    # By days with a change of days observed it would have been 20/30 = .67, medium.
    sub = subscribe()
    key = seen(sub, "https://news.test/a", [(1.5 * i, i > 0) for i in range(21)])
    describe(key, day=30)
    page = WatchedPage.objects.get()
    assert page.daily_chance == pytest.approx(0.916, abs=0.001)
    assert page.group == "high"


def test_a_site_has_a_group_of_its_own():
    # Daily visits for 10 days of two pages that change on other days: 3 and 2 of 10, so the site on 5 of 10: medium,
    # and each page is low.
    sub = subscribe()
    keys = [
        seen(sub, f"https://news.test/{name}", [(d, d in days) for d in range(11)])
        for name, days in (("a", (1, 4, 7)), ("b", (2, 8)))
    ]
    describe(*keys, day=11)
    sub.refresh_from_db()
    assert sub.daily_chance == pytest.approx(0.5, abs=0.001)
    assert sub.group == "medium"
    chances = dict(WatchedPage.objects.values_list("url", "daily_chance"))
    assert chances["https://news.test/a"] == pytest.approx(0.3, abs=0.001)  # daily visits: 3/10
    assert set(WatchedPage.objects.values_list("group", flat=True)) == {"low"}


def test_exceptional_days_are_kept_told_and_hurried_after():
    # One change every fourth day until day 36, then ten pages change on each of the days 41 and 42: 20 changes, where
    # 29 changes in 39 days make 1.5 usual in two days.
    sub = subscribe(mode="simple")
    services.add_channel(SYSTEM, ChannelOrder(target="https://hooks.test/x", kind="webhook"))
    keys = [seen(sub, "https://news.test/a", [(d, d % 4 == 0 and d > 0) for d in range(39)])]
    keys += [seen(sub, f"https://news.test/{n}", [(40, False), (41, True), (42, True)]) for n in range(10)]
    describe(*keys, day=42.5)
    burst = Burst.objects.get()
    assert (burst.start_ms, burst.end_ms) == (DAY0 + 41 * DAY_MS, DAY0 + 43 * DAY_MS)
    assert burst.changes == 20
    assert burst.usual < 2
    notices.write_notices()
    notices.write_notices()
    (notice,) = Notice.objects.filter(kind="burst")
    assert "20" in notices.message([notice], "es")[1]
    sub.refresh_from_db()
    assert sub.in_burst
    describe(*keys, day=42.6)
    assert Burst.objects.count() == 1
    describe(*keys, day=45)
    sub.refresh_from_db()
    assert not sub.in_burst
    (row,) = site_reports.report("bursts", sub.pk).rows
    assert row[4] == 20


def test_changes_of_weeks_found_on_one_day_are_no_exceptional_day():
    # 40 pages, visited together every 30 days; 20 of them had changed on day 30, the others on day 60. By the day of
    # the visit that would be 20 in a day where 40 in 30 days make 1.3 usual. Spread over the 30 days in which they
    # happened, they are .67 on each of 60 days: none is exceptional. Ten a day on days 61 and 62 are: of 60 changes in
    # 62 days 1.9 are usual in two days.
    sub = subscribe()
    keys = [seen(sub, f"https://news.test/{n}", [(0, False), (30, n < 20), (60, n >= 20)]) for n in range(40)]
    describe(*keys, day=60.5)
    assert not Burst.objects.exists()
    keys += [seen(sub, f"https://news.test/new/{n}", [(60, False), (61, True), (62, True)]) for n in range(10)]
    describe(*keys, day=62.5)
    burst = Burst.objects.get()
    assert (burst.start_ms, burst.end_ms) == (DAY0 + 61 * DAY_MS, DAY0 + 63 * DAY_MS)
    assert (burst.changes, burst.usual) == (20, pytest.approx(1.9, abs=0.1))


def test_a_burst_is_dated_by_when_pages_changed_not_by_when_that_was_found():
    # Ten pages change on each of the days 41, 42 and 43. Seven are visited every noon. Two are left alone from day 42
    # on and one from day 41 on, until day 46 finds that they changed: 29 changes in all, 3 of them on some day of 42 to
    # 46 or 43 to 46. Spread over these days, or by the day of the visit, they would make the burst end later.
    def noon(first: float, second: float) -> tuple[int, int]:
        return tuple(int((DAY0 // DAY_MS + day + 0.5) * DAY_MS) for day in (first, second))

    hits = [noon(day - 1, day) for day in range(4, 40, 4)]
    hits += [noon(day - 1, day) for day in (41, 42, 43) for _ in range(7)]
    hits += [noon(day - 1, day) for day in (41, 42) for _ in range(2)] + [noon(42, 46)] * 2
    hits += [noon(40, 41), noon(41, 46)]
    day = DAY0 // DAY_MS
    assert observations.exceptional_days(sorted(hits)) == [(day + 41, day + 43)]
    # One page that changes on five days in a row has one change a day; both of its ends count.
    alone = [noon(day - 1, day) for day in (*range(4, 40, 12), *range(41, 46), 60, 75)]
    assert observations.exceptional_days(alone) == [(day + 41, day + 45)]


def test_a_burst_that_closes_the_gap_between_two_is_one_and_told_once():
    # Known and told: days 38–40 and 43. Twenty changes on days 41 and 42 join them: one burst of days 38–43.
    sub = subscribe()
    services.add_channel(SYSTEM, ChannelOrder(target="https://hooks.test/x", kind="webhook"))
    for first, end in ((38, 41), (43, 44)):
        Burst.objects.create(
            subscription=sub, start_ms=DAY0 + first * DAY_MS, end_ms=DAY0 + end * DAY_MS, changes=5, usual=1, told=True
        )
    keys = [seen(sub, "https://news.test/a", [(d, d % 4 == 0 and d > 0) for d in range(37)])]
    keys += [seen(sub, f"https://news.test/{n}", [(40, False), (41, True), (42, True)]) for n in range(10)]
    describe(*keys, day=42.5)
    burst = Burst.objects.get()
    assert (burst.start_ms, burst.end_ms) == (DAY0 + 38 * DAY_MS, DAY0 + 44 * DAY_MS)
    assert burst.changes == 20
    notices.write_notices()
    assert not Notice.objects.exists()


def test_intervals_are_shortened_during_a_burst(tmp_path):
    # `simple` waits 24, 48, 72 … hours after visits in vain; in a burst half of it. From day 10 on, 20 days:
    # at most 5 visits without one (the waits are 5 days and more by then); with one, about twice as many.
    calm, busy = (subscribe(f"https://{name}.test/", mode="simple") for name in ("calm", "busy"))
    Subscription.objects.filter(pk=busy.pk).update(in_burst=True)
    world = World(tmp_path)
    world.add(calm, "https://calm.test/a", [])
    world.add(busy, "https://busy.test/a", [])
    world.run(30 * 24, step=4)
    assert world.visits["https://busy.test/a"] >= 1.3 * world.visits["https://calm.test/a"]


def requisite(world: World, sub: Subscription, url: str, *, changed: bool = False, first: bool = False) -> None:
    host, _ = Host.objects.get_or_create(name=urls.host(url))
    page, _ = Page.objects.get_or_create(key=urls.key(url), defaults={"url": url, "host": host})
    QueuedVisit.objects.get_or_create(
        page=page,
        crawl_id=sub.crawl_id,
        defaults={"host": host, "state": 1, "role": UrlRole.REQUISITE, "depth": 10_000},
    )
    world.scheduler.observed(
        AnsweredVisit(
            crawl=sub.crawl_id, key=urls.key(url), page=page.pk, host=0, url=url, role=UrlRole.REQUISITE,
            at_ms=int(world.now * 1000), status=200, first=first, changed=changed or first, not_modified=not changed,
            bytes=100, stored=100, cost_ms=5, mime="text/css",
            difference=Difference(0.0, 0.0, 0.3, 0.3, True) if changed else None,
        )
    )  # fmt: skip
    world.write()


def needing(world: World, url: str) -> None:
    """All pages visited from now on need a requisite."""
    original = world.scheduler.observed

    def observed(visit):
        visit.requisites = (urls.key(url),) if visit.role == UrlRole.PAGE else ()
        original(visit)

    world.scheduler.observed = observed


def test_a_stylesheet_is_looked_at_again_with_new_versions_and_its_change_is_one_of_the_view(tmp_path):
    style = "https://news.test/style.css"
    sub = subscribe(mode="fixed 24")
    world = World(tmp_path)
    requisite(world, sub, style, first=True)
    needing(world, style)
    world.changes[style] = []
    world.add(sub, "https://news.test/a", [24.0 * d + 1 for d in range(20)])
    asked = []
    for _ in range(20):  # a new version every day; the style is looked at every second day at most
        world.now += 86_400
        _, again = world.scheduler.due(world.now, world.crawls)
        for found in again:
            if found.role == UrlRole.REQUISITE:
                asked.append(found.url)
                requisite(world, sub, style, changed=len(asked) == 3)
            else:
                world.visit(found.crawl, found.url)
        world.write()
    assert 5 <= len(asked) <= 10
    change = Change.objects.get(url=style)
    assert (change.view, change.form, change.content) == (0.3, 0.0, 0.0)
    assert change.key == urls.key("https://news.test/a")


def test_the_style_of_a_page_that_never_changes_is_looked_at_every_week(tmp_path):
    # Visited daily for 29 days in vain: the style, seen on day 0, is looked at on days 7, 14, 21 and 28.
    style = "https://news.test/style.css"
    sub = subscribe(mode="fixed 24")
    world = World(tmp_path)
    requisite(world, sub, style, first=True)
    world.changes[style] = []
    world.add(sub, "https://news.test/a", [])
    asked = []
    for day in range(1, 30):
        world.now = START + day * 86_400
        _, again = world.scheduler.due(world.now, world.crawls)
        for found in again:
            if found.role == UrlRole.REQUISITE:
                asked.append(day)
                requisite(world, sub, style)
            else:
                world.visit(found.crawl, found.url)
        world.write()
        for _ in world.scheduler.state.requisites.due():  # wanted by this day's visit
            asked.append(day)
            requisite(world, sub, style)
    assert asked == [7, 14, 21, 28]


def test_a_check_that_somebody_asks_for_looks_at_styles_too(tmp_path):
    style = "https://news.test/style.css"
    sub = subscribe(mode="fixed 24")
    world = World(tmp_path)
    requisite(world, sub, style, first=True)
    world.add(sub, "https://news.test/a", [])
    world.now += 3600  # nothing is due
    assert world.scheduler.due(world.now, world.crawls)[1] == []
    Subscription.objects.filter(pk=sub.pk).update(check_ms=int(world.now * 1000) + 1)
    world.scheduler.refresh()
    world.now += 60
    asked = {found.url for found in world.scheduler.due(world.now, world.crawls)[1]}
    assert asked == {"https://news.test/a", style}


def test_a_picture_replaced_at_its_address_is_a_change_of_content(tmp_path):
    # Its bytes cannot be compared as text: another digest is a whole change, 1.0, of the content of a page with it.
    picture = "https://news.test/photo.png"
    sub = subscribe(mode="fixed 24")
    world = World(tmp_path)
    requisite(world, sub, picture, first=True)
    needing(world, picture)
    world.changes[picture] = []
    world.add(sub, "https://news.test/a", [24.0 * d + 1 for d in range(4)])
    world.now += 3 * 86_400
    world.scheduler.observed(
        AnsweredVisit(
            crawl=sub.crawl_id, key=urls.key(picture), page=0, host=0, url=picture, role=UrlRole.REQUISITE,
            at_ms=int(world.now * 1000), status=200, first=False, changed=True, not_modified=False, bytes=9, stored=9,
            cost_ms=5, mime="image/png",
        )
    )  # fmt: skip
    world.write()
    change = Change.objects.get(url=picture)
    assert (change.view, change.form, change.content, change.total) == (0.0, 0.0, 1.0, 1.0)
    assert change.key == urls.key("https://news.test/a")


def test_looking_at_requisites_costs_few_requests(tmp_path):
    # 200 pages, one style, 40 days, a visit of each page every 10 days: 20 visits a day. The style is looked at with
    # new versions every second day at most: 20 times of 800 visits, 2.5 %.
    style = "https://news.test/style.css"
    sub = subscribe(mode="fixed 240")
    world = World(tmp_path)
    requisite(world, sub, style, first=True)
    world.changes[style] = []
    needing(world, style)
    rng = random.Random(1)
    for number in range(200):
        world.add(sub, f"https://news.test/{number}", [rng.uniform(0, 960) for _ in range(4)])
    world.run(40 * 24, step=12)
    pages = sum(count for url, count in world.visits.items() if url != style)
    assert pages > 600
    assert 0 < world.visits[style] <= 0.05 * pages


def test_a_policy_of_history_knows_last_year_after_a_restart(tmp_path):
    # Last year on these dates it changed daily for 30 days; this year it was visited once, in vain, a day ago.
    # Of this year's 30 days none, of last year's 30 all: P = 30/60, T = 48 hours.
    sub = subscribe(mode="simple-history")
    world = World(tmp_path)
    url = "https://news.test/a"
    host, _ = Host.objects.get_or_create(name="news.test")
    page = Page.objects.create(key=urls.key(url), url=url, host=host)
    QueuedVisit.objects.create(page=page, crawl_id=sub.crawl_id, host=host, state=1)
    seen(sub, url, [*((d - 365 - 30, True) for d in range(31)), (-1, False)])
    world.changes[url] = []
    again = restarted(world, tmp_path)
    policy = again.scheduler.state.subs[sub.pk].policy
    wait = policy.next_at(urls.key(url)) * 3600
    last = (WatchedPage.objects.get().last_ms - 1_704_067_200_000) / 1000  # planner time begins in 2024
    assert (wait - last) / 3600 == pytest.approx(48, abs=2)


def test_runs_of_a_site_are_kept_with_their_figures(tmp_path):
    # Runs on days 0, 1, 2 and 4, two pages each, a minute apart; new versions on days 1 (both) and 4 (one); the engine
    # starts again between the two visits of day 4, which are one run all the same.
    # Between runs 24, 24, 48 hours: mean 32, deviation √((64+64+256)/3) = 11.31, mode 24. A version has 10,000 bytes.
    sub = subscribe(mode="fixed 24")
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [23.5, 95.5])
    world.now += 60
    world.add(sub, "https://news.test/b", [23.5])
    for day in (1, 2, 4):
        for place, name in enumerate("ab"):
            world.now = START + day * 86_400 + place * 60
            if day == 4 and place:
                world = restarted(world, tmp_path)
            world.visit(sub.crawl_id, f"https://news.test/{name}")
            world.write()
    found = site_reports.report("rounds", sub.pk)
    column = {name: [row[i] for row in found.rows] for i, name in enumerate(found.columns)}
    assert column["pages"] == [2, 2, 2, 2]
    assert column["versions"] == [0, 2, 0, 1]
    assert column["received"] == [20_000, 20_000, 0, 10_000]
    assert column["index_seconds"] == [0.006] * 4  # 3 ms each
    assert set(column["machine"]) == {platform.node()}
    assert found.summary["hours"]["mean"] == pytest.approx(32)
    assert found.summary["hours"]["deviation"] == pytest.approx(11.31, abs=0.01)
    assert found.summary["hours"]["mode"] == 24
    assert found.as_csv().count("\n") == 5
    assert found.as_chart()["encoding"]["y"]["field"] == "versions"


def test_a_run_names_the_warc_files_it_wrote(tmp_path):
    # Two runs of one page each, on days 0 and 1, written to the files a, then a and b (it was full). One of another
    # crawl (c), one from before the first run (d) and one of another site (e) belong to neither.
    sub, other = subscribe(mode="fixed 24"), subscribe("https://other.test/")
    world = World(tmp_path)
    world.add(sub, "https://news.test/x", [])
    world.now = START + 86_400
    world.visit(sub.crawl_id, "https://news.test/x")
    world.write()
    for name, day, crawl, url in (
        ("a", 0, sub.crawl_id, "https://news.test/x"),
        ("a", 1, sub.crawl_id, "https://news.test/x"),
        ("b", 1.01, sub.crawl_id, "https://news.test/y"),
        ("c", 1, other.crawl_id, "https://news.test/x"),
        ("d", -1, sub.crawl_id, "https://news.test/x"),
        ("e", 1, sub.crawl_id, "https://other.test/x"),
    ):
        file, _ = WarcFile.objects.get_or_create(name=f"{name}.warc.gz", defaults={"created_ms": 0})
        IndexedCapture.objects.create(
            record_id=uuid.uuid4(), url=url, urlkey=index_key(url), captured_ms=DAY0 + int(day * DAY_MS), status=200,
            digest="d", kind="response", version=True, warc=file, offset=0, length=700, body_size=2000, crawl_id=crawl,
        )  # fmt: skip
    found = site_reports.report("rounds", sub.pk)
    place = found.columns.index("warc_files")
    assert [row[place] for row in found.rows] == [["a.warc.gz"], ["a.warc.gz", "b.warc.gz"]]


def test_nothing_is_judged_before_a_page_was_watched_for_a_day():
    """Ten changes in ten minutes of somebody who tries it out would be 500 a day, nearly all of them lost."""
    sub = subscribe()
    seen(sub, "https://news.test/a", [(visit / 1440, visit > 0) for visit in range(11)])
    assert site_reports.report("admission", sub.pk).rows == []
    (measured,) = site_metrics.measure("subscription", subscription=sub.pk)
    assert not measured.says_of_days


def test_admission_is_a_verdict_of_three_figures():
    # Ten daily visits, five with a change: λ = −ln(.5)/24 h, lost = 10·ln 2 − 5 = 1.93 of 6.93 = .279 ≤ .5.
    # Stored 5·1000 + 5·100 + the first 100 = 5,600 against ten copies of 1,000: .56 ≤ 1.
    # 11 s in 864,000 s: .0000127 < .05. Admitted.
    sub = subscribe()
    seen(sub, "https://news.test/a", [(d, d % 2 == 1) for d in range(11)])
    (row,) = site_reports.report("admission", sub.pk).rows
    assert row[2] is True
    assert row[3] == pytest.approx(0.279, abs=0.001)
    assert row[4] == pytest.approx(0.56, abs=0.001)
    assert row[5] == pytest.approx(0.0000127, abs=1e-6)


def test_storage_grows_and_fills_the_disk(monkeypatch):
    # 3 versions of 1,000 bytes and 7 records of 100 in the last 10 days: 3,700 bytes, 370 a day, in a year
    # 138,750 in all; with 37,000 bytes free the disk is full in 100 days.
    sub = subscribe(collection="Press")
    monkeypatch.setattr(services, "now_ms", lambda: DAY0 + 10 * DAY_MS)
    monkeypatch.setattr(site_reports.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 37_000}))
    seen(sub, "https://news.test/a", [(d, d in (1, 2, 3)) for d in range(10)])
    found = site_reports.report("storage")
    assert found.rows == [[sub.pk, "Press", 1, 3, 3700, 370, 3700 + 365 * 370]]
    assert found.summary["days_until_full"] == 100


def test_weekdays_and_intervals():
    # 2026-01-01 is a Thursday. Daily visits for 28 days; a change on every Monday (day 4, 11, 18, 25): P(mon) = 1.
    # All intervals are of one day: 28 visits, 4 of them found a change.
    sub = subscribe()
    seen(sub, "https://news.test/a", [(d + 0.5, d % 7 == 4) for d in range(29)])
    chances = {row[0]: row[2] for row in site_reports.report("weekdays", sub.pk).rows}
    assert chances.pop("mon") == pytest.approx(1, abs=0.01)
    assert max(chances.values()) < 0.01
    assert site_reports.report("intervals", sub.pk).rows == [["up to 1 d", 28, 4, round(4 / 28, 4), 0.5]]
    # 28 visits at λ = −ln(24/28)/24 h; every 24 hours the same is found: 28·(1 − 24/28) = 4
    table = site_reports.report("frequencies", sub.pk).rows
    assert table[1][:2] == ["every 24 h", 28]
    assert table[1][2] == pytest.approx(4, abs=0.01)


def test_holidays_are_days_of_their_own():
    # In Spain 1, 6 January, 3 and 6 April 2026 … are holidays. Daily visits from 1 January on, 14 days: 2 … 14 January
    # end a day each; a change on every day but the 6th. P(holiday) = 0 of 1, of every weekday 1, and Tuesday the 6th is
    # no Tuesday: one is left (13th).
    sub = subscribe(country="ES")
    seen(sub, "https://news.test/a", [(d + 0.5, d != 5) for d in range(14)])
    rows = {row[0]: row[1:] for row in site_reports.report("weekdays", sub.pk).rows}
    assert rows["holiday"][0] == 1
    assert rows["holiday"][1] == pytest.approx(0, abs=0.01)
    assert rows["tue"] == [1, pytest.approx(1, abs=0.01)]


def test_figures_are_kept_apart_by_group():
    # One site that changed on 9 of 10 days (high), one on none (low): 11 visits each, 9 and 0 changes; of the visits
    # after the first, 1 and 10 in vain.
    keys = []
    for name, days in (("busy", range(1, 10)), ("calm", ())):
        sub = subscribe(f"https://{name}.test/")
        keys.append(seen(sub, f"https://{name}.test/a", [(d, d in days) for d in range(11)]))
    describe(*keys, day=11)
    found = {row.name: (row.visits, row.changes, row.unnecessary) for row in site_metrics.measure("group")}
    assert found == {"high": (11, 9, 1), "low": (11, 0, 10)}


def test_nobody_knows_a_group_before_the_second_visit():
    sub = subscribe()
    key = seen(sub, "https://news.test/a", [(0, False)])
    describe(key, day=1)
    sub.refresh_from_db()
    page = WatchedPage.objects.get()
    assert (sub.group, sub.daily_chance, page.group, page.daily_chance) == ("", None, "", None)
    assert queries.site_groups() == {"high": 0, "medium": 0, "low": 0, "unknown": 1}
    Observation.objects.create(
        key=key, subscription=sub, seen_ms=DAY0 + DAY_MS, interval_ms=DAY_MS, status=200, changed=False, important=False
    )
    describe(key, day=1)
    sub.refresh_from_db()
    assert (sub.group, sub.daily_chance) == ("low", 0.0)


def test_every_visit_keeps_why_it_was_made(tmp_path):
    # `fixed 24`: the first visit, then one a day by its interval (before the second, a part of it: pages are spread).
    sub = subscribe(mode="fixed 24")
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [])
    world.run(72)
    told = [(one.reason["code"], one.reason.get("hours")) for one, _ in queries.decisions(10, sub.pk)]
    assert [code for code, _ in told] == ["interval", "interval", "interval", "first"]
    assert [hours for _, hours in told[:2]] == [24, 24]
    assert {url for _, url in queries.decisions(10, sub.pk)} == {"https://news.test/a"}
    assert queries.decisions(10, sub.pk, url="https://news.test/other") == []


def test_categories_are_a_coded_list_that_filters_and_measures():
    # News (301) by their collection; one site of it is a museum's (320, made here), which counts for itself.
    services.set_category(SYSTEM, 320, "museums")
    services.set_collection(SYSTEM, "Press", {"category": "301"})
    for name, category in (("press", ""), ("culture", "Museums")):
        sub = subscribe(f"https://{name}.test/", collection="Press", category=category)
        seen(sub, f"https://{name}.test/a", [(d, d == 1) for d in range(3)])
    assert {row.name: row.visits for row in site_metrics.measure("category")} == {"news": 3, "museums": 3}
    assert [row.url for row in queries.subscriptions(category="news")] == ["https://press.test/"]
    assert [row.url for row in queries.subscriptions(category="320")] == ["https://culture.test/"]
    codes = {row.code: (row.name, row.subscriptions) for row in queries.categories()}
    assert (codes[300], codes[301], codes[320]) == (("general", 0), ("news", 1), ("museums", 1))
    assert {*range(300, 315)} < codes.keys()
    services.set_category(SYSTEM, 301, "press")
    assert services.order_of(sub).category == "museums"
    services.remove_category(SYSTEM, 314)
    assert 314 not in {row.code for row in queries.categories()}
    with pytest.raises(Conflict, match="move them first"):
        services.remove_category(SYSTEM, 320)
    with pytest.raises(Conflict, match="320"):
        services.set_category(SYSTEM, 321, "Museums")
    with pytest.raises(Invalid, match="category set"):
        subscribe("https://other.test/", category="nothing")


def test_the_table_of_subscriptions_says_p_group_and_behaviour_and_can_be_read_back():
    # Daily visits, 8 of 10 with a change: P = .8, high.
    sub = subscribe()
    key = seen(sub, "https://news.test/a", [(d, d > 2) for d in range(11)])
    describe(key, day=11)
    text = subscription_files.as_csv(queries.subscriptions())
    header, line = (row.split(",") for row in text.splitlines())
    told = dict(zip(header, line, strict=True))
    assert (float(told["daily_chance"]), told["group"], told["behaviour"]) == (0.8, "high", "periodic")
    services.remove(SYSTEM, sub.pk)
    assert subscription_files.read_file(SYSTEM, text.encode(), "all.csv").new == 1


def test_a_watched_site_is_found_by_the_address_of_one_of_its_pages():
    sub = subscribe(name="The news")
    subscribe("https://other.test/")
    seen(sub, "https://news.test/a/b", [(0, False)])
    for asked in ("news.test/a/b", "https://NEWS.test/a/b#c", "the news", "news.test"):
        assert [row.pk for row in queries.subscriptions(address=asked)] == [sub.pk], asked
    assert queries.subscriptions(address="nowhere.test/a") == []


def test_people_are_told_only_when_a_condition_holds():
    # Three changes: a price falls from 12 to 9.50, a word comes, another one goes.
    services.add_channel(SYSTEM, ChannelOrder(target="https://hooks.test/x", kind="webhook"))
    sub = subscribe(notify=("below 10", "vanishes sold out", "importance 0.9"))
    assert services.order_of(sub).notify == ("below 10", "vanishes sold out", "importance 0.9")
    for diff in ("- Price 12 €\n+ Price 9.50 €", "+ hello", "- Sold out\n+ In stock", "- Price 9\n+ Price 11"):
        Change.objects.create(
            key=1, subscription=sub, site="news.test", url="https://news.test/", seen_ms=DAY0, since_ms=DAY0, view=0,
            form=0, content=0.2, total=0.2, diff=diff,
        )  # fmt: skip
    notices.write_notices()
    told = [notice.facts["diff"] for notice in Notice.objects.order_by("pk")]
    assert [text.split()[1] for text in told] == ["Price", "Sold"]
    with pytest.raises(Invalid, match="appears"):
        services.edit(SYSTEM, sub.pk, {"notify": ("when it rains",)})


def test_weights_of_a_site_are_checked_and_kept():
    sub = subscribe(weights=("colours=0", "text=0.5"))
    assert services.order_of(sub).weights == ("colours=0", "text=0.5")
    with pytest.raises(Invalid, match="component"):
        services.edit(SYSTEM, sub.pk, {"weights": ("nothing=1",)})


def test_rules_can_be_joined_for_a_real_site(tmp_path):
    # Never changed: `simple` alone would wait 720 hours in the end, history never more than 144.
    sub = subscribe(mode="simple+notify+history+day-type")
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [])
    world.run(60 * 24, step=4)
    times = [hours for hours, _ in world.log]
    assert max(b - a for a, b in pairwise(times)) <= 148


def test_a_subscription_is_a_history_to_simulate_on():
    # Visits on days 0 … 3, changes seen on days 1 and 3: two changes at hours 24 and 72, watched for 4 days.
    sub = subscribe()
    seen(sub, "https://news.test/a", [(d, d in (1, 3)) for d in range(4)])
    trace, start = observations.trace_of(sub)
    assert (start, trace.hours) == ("2026-01-01", 96)
    assert trace.changes[0].tolist() == [24, 72]
    assert trace.sizes[0].tolist() == [1000, 1000]


def test_a_new_subscription_begins_with_the_dates_of_another_archive(tmp_path):
    # Three captures, the second with another digest: intervals of 31 and 28 days, one change. A line of another site
    # and one that was not found (404) are left out.
    sub = subscribe()
    file = tmp_path / "index.cdx"
    file.write_text(
        " CDX N b a m s k\n"
        "test,news)/a 20250101000000 https://news.test/a text/html 200 AAAA 100\n"
        "test,news)/a 20250201000000 https://news.test/a text/html 200 BBBB 100\n"
        "test,news)/a 20250301000000 https://news.test/a text/html 200 BBBB 100\n"
        "test,news)/a 20250401000000 https://news.test/a text/html 404 CCCC 100\n"
        "test,other)/a 20250401000000 https://other.test/a text/html 200 CCCC 100\n"
    )
    assert observations.learn_from_cdx(sub, observations.read_cdx(str(file))) == 3
    rows = Observation.objects.order_by("seen_ms").values_list("interval_ms", "important")
    assert list(rows) == [(0, False), (31 * DAY_MS, True), (28 * DAY_MS, False)]
    # Its group is known before the first visit: 744/(e^{744λ} − 1) = 672 hours, λ = ln(2.107)/744 = .001002 an hour,
    # P = 1 − e^{−24λ} = .0238; of the site 31 days with .0238/(1 − .9762³¹) = .0452 each, of 59 days: .0238. Low.
    sub.refresh_from_db()
    assert (sub.group, sub.daily_chance) == ("low", pytest.approx(0.0238, abs=0.0005))
    assert observations.learn_from_cdx(sub, observations.read_cdx(str(file))) == 0
    until = DAY0 + DAY_MS
    days = site_metrics.series(since_ms=0, until_ms=until, url="https://news.test/a")
    assert [(day["visits"], day["changes"]) for day in days] == [(1, 0), (1, 1), (1, 0)]
    assert site_metrics.series(since_ms=0, until_ms=until, subscription=sub.pk) == [], "none was a visit of ours"
    assert site_metrics.series(since_ms=0, until_ms=until, learned_by=sub.pk) == days
    with pytest.raises(Invalid, match="cannot be read"):
        list(observations.read_cdx(str(tmp_path / "nothing.cdx")))


def test_a_check_at_once_waits_for_no_policy_and_is_made_once(tmp_path):
    # Seen first on day 0; the rule would come back after 30 days, somebody asks on day 2.
    sub = subscribe(mode="fixed 720")
    world = World(tmp_path)
    world.add(sub, "https://news.test/a", [30.0])
    world.run(48)
    assert world.visits["https://news.test/a"] == 1
    Subscription.objects.filter(pk=sub.pk).update(check_ms=int(world.now * 1000) + 1)
    world.scheduler.refresh()
    world.run(2)
    assert world.visits["https://news.test/a"] == 2
    assert Change.objects.count() == 1
    assert restarted(world, tmp_path).look() == []  # nor again after a restart
    services.pause(SYSTEM, sub.pk)
    with pytest.raises(Conflict, match="resume"):
        services.check_now(SYSTEM, sub.pk)


def test_each_person_has_read_what_they_have_read():
    ana, leo = (accounts.add_user(SYSTEM, name, Role.DIRECTOR, "correct horse battery") for name in ("ana", "leo"))
    sub = subscribe()

    def change() -> None:
        Change.objects.create(
            key=1, subscription=sub, site="news.test", url="https://news.test/", seen_ms=DAY0, since_ms=DAY0, view=0,
            form=0, content=0.2, total=0.2,
        )  # fmt: skip

    change()
    services.mark_read(Actor.of(ana), sub.pk)
    change()
    change()
    assert queries.unread(ana, [sub.pk]) == {sub.pk: 2}
    assert queries.unread(leo, [sub.pk]) == {sub.pk: 3}
    assert queries.unread(None, [sub.pk]) == {}

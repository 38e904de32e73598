"""What the archive and the past teach, how good predictions are, and what watching brought."""

import uuid

import numpy as np
import pytest

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.archive.models import IndexedCapture, WarcFile
from hemeroteca.frontier.models import Host, Page, QueuedVisit
from hemeroteca.predict.estimators import maximum_likelihood
from hemeroteca.urls.candidate import UrlRole
from hemeroteca.warc.keys import index_key
from hemeroteca.watch import observations, services, site_metrics
from hemeroteca.watch.answered_visit import DAY_MS, HOUR_MS, planner_hour
from hemeroteca.watch.fields import Order
from hemeroteca.watch.models import Observation, Subscription, WatchedPage
from tests.watch.driving import START, World

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def captured(url: str, days: list[tuple[float, bool]], status: int = 200) -> None:
    warc, _ = WarcFile.objects.get_or_create(name="x.warc.gz", defaults={"created_ms": 0})
    for day, version in days:
        IndexedCapture.objects.create(
            record_id=uuid.uuid4(),
            url=url,
            urlkey=index_key(url),
            captured_ms=int(START * 1000 + day * DAY_MS),
            status=status,
            digest="d",
            kind="response",
            version=version,
            warc=warc,
            offset=0,
            length=700,
            body_size=2000,
        )


def page(subscription: Subscription, url: str, role: UrlRole = UrlRole.PAGE) -> None:
    host, _ = Host.objects.get_or_create(name=urls.host(url))
    made = Page.objects.create(key=urls.key(url), url=url, host=host)
    QueuedVisit.objects.create(page=made, host=host, crawl_id=subscription.crawl_id, state=1, role=role)


def subscribe(url: str = "https://news.test/", scope: str = "host", **options) -> Subscription:
    return services.subscribe(SYSTEM, Order(url=url, scope=scope, **options))[0]


def test_captures_made_before_the_subscription_become_observations_once():
    subscription = subscribe()
    page(subscription, "https://news.test/a")
    captured("https://news.test/a", [(-10, True), (-9, False), (-7, True), (-6, False)])
    captured("https://news.test/unvisited", [(-3, True), (-2, True)])
    captured("https://elsewhere.test/", [(-3, True), (-2, True)])
    captured("https://news.test/broken", [(-3, True), (-2, True)], status=503)
    page(subscription, "https://news.test/sitemap.xml", UrlRole.SITEMAP)  # looked for by an earlier crawl, not there
    captured("https://news.test/sitemap.xml", [(-3, True)], status=404)
    assert observations.learn_from_archive(subscription) == 7
    assert observations.learn_from_archive(subscription) == 0
    rows = list(Observation.objects.filter(key=urls.key("https://news.test/a")).order_by("seen_ms"))
    assert [row.interval_ms // DAY_MS for row in rows] == [0, 1, 2, 1]
    assert [row.important for row in rows] == [False, False, True, False]
    assert all(row.imported for row in rows)
    watched = WatchedPage.objects.get()
    assert (watched.visits, watched.changes, watched.observed_days) == (4, 1, 4.0)


@pytest.mark.parametrize(
    ("scope", "url", "expected"),
    [
        ("page", "https://news.test/s/a", 1),
        ("prefix", "https://news.test/s/", 2),
        ("host", "https://news.test/", 3),
        ("domain", "https://news.test/", 4),
    ],
)
def test_only_captures_in_scope_are_learned(scope, url, expected):
    subscription = subscribe(url, scope)
    for address in (
        "https://news.test/s/a",
        "https://news.test/s/b",
        "https://news.test/c",
        "https://www2.news.test/d",
    ):
        captured(address, [(-2, True)])
    captured("https://news.test.evil.test/", [(-2, True)])
    captured("https://newsx.test/", [(-2, True)])
    assert observations.learn_from_archive(subscription) == expected


def test_history_of_the_archive_counts_from_the_first_day(tmp_path):
    subscription = subscribe()
    for name, changing in (("fast", True), ("slow", False)):
        url = f"https://news.test/{name}"
        page(subscription, url)
        captured(url, [(-60 + day, changing or day == 0) for day in range(59)])
    observations.learn_from_archive(subscription)
    observations.keep(tmp_path, *observations.rebuild())
    world = World(tmp_path)
    assert not (tmp_path / observations.FRESH_FILE).exists()  # taken over
    assert (tmp_path / observations.PLANNER_FILE).exists(), "the chores need not learn it again every 20 s"
    fast, slow = (urls.key(f"https://news.test/{name}") for name in ("fast", "slow"))
    chances = world.scheduler.state.plan.planner.chance([fast, slow], planner_hour(START * 1000))
    assert chances[0] > 0.6
    assert chances[1] < 0.3
    world.changes = {f"https://news.test/{name}": [] for name in ("fast", "slow")}
    world.run(3)
    assert world.visits["https://news.test/fast"] >= 1
    assert world.visits["https://news.test/slow"] == 0


def test_calibration_replays_the_history_and_tells_how_good_it_was(tmp_path):
    subscription = subscribe()
    world = World(tmp_path)
    generator = np.random.default_rng(1)
    for number in range(12):
        rate = 0.02 + 0.08 * (number % 4)
        changes = np.cumsum(generator.exponential(24 / rate, 200))
        world.add(subscription, f"https://news.test/s{number % 3}/{number}", changes[changes < 40 * 24].tolist())
    world.run(40 * 24, step=3.0)
    planner, last, found = observations.calibrated()
    assert found.visits == Observation.objects.filter(interval_ms__gt=0).count()
    assert last == Observation.objects.order_by("-pk").first().pk
    assert len(planner) == 12
    assert found.error < 0.3  # few visits; a forecaster that knows nothing has about 0.4
    assert 0 < found.prior.mean < 1
    stored = Observation.objects.filter(chance__isnull=False)
    assert stored.count() == found.visits  # what was said before each visit is kept too


def test_behaviour_is_found_from_the_changes(tmp_path):
    subscription = subscribe(mode="fixed 6")
    world = World(tmp_path)
    world.add(subscription, "https://news.test/daily", [24.0 * day + 9 for day in range(31)])
    world.add(subscription, "https://news.test/never", [])
    world.run(31 * 24, step=2.0)
    keys = [urls.key(f"https://news.test/{name}") for name in ("daily", "never")]
    observations.describe(keys, int(world.now * 1000))
    daily, never = (WatchedPage.objects.get(key=key) for key in keys)
    assert (daily.behaviour, daily.group) == ("periodic", "high")
    assert (never.behaviour, never.group) == ("silent", "low")


# metrics


def observe(url: str, subscription: Subscription, visits: list[tuple[float, bool]], **values) -> None:
    """Gaps in hours, and whether each visit found a change."""
    at = int(START * 1000)
    key = urls.key(url)
    WatchedPage.objects.create(
        key=key, subscription=subscription, site=urls.host(url), url=url, first_ms=at, last_ms=at, **values
    )
    for gap, changed in visits:
        at += int(gap * HOUR_MS)
        Observation.objects.create(
            key=key,
            subscription=subscription,
            seen_ms=at,
            interval_ms=int(gap * HOUR_MS),
            status=200 if changed else 304,
            conditional=not changed,
            changed=changed,
            important=changed,
            bytes=1000 if changed else 0,
            stored=400 if changed else 100,
            cost_ms=20,
        )


def test_metrics_count_and_estimate_as_they_say():
    subscription = subscribe(collection="press")
    visits = [(0, False)] + [(24, True), (24, False), (48, True), (24, False)] * 5
    observe("https://news.test/a", subscription, visits)
    observe("https://other.test/b", subscription, [(0, False), (120, False)], group="low")
    end = int(START * 1000) + 600 * HOUR_MS + 1
    rows = {row.name: row for row in site_metrics.measure("site", until_ms=end)}
    row = rows["news.test"]
    assert (row.pages, row.visits, row.changes, row.unnecessary, row.conditional) == (1, 21, 10, 10, 11)
    assert (row.generated, row.stored) == (10_000, 5100)
    assert row.days == 25
    rate = maximum_likelihood([(gap, hit) for gap, hit in visits if gap])
    assert row.lost == pytest.approx(rate * 600 - 10, abs=0.01)
    assert row.fixed_visits == 25
    assert row.fixed_changes == pytest.approx(25 * (1 - np.exp(-24 * rate)), abs=0.01)
    assert row.fixed_bytes == 25 * 1000
    assert 0 < row.freshness < 1
    assert 0 < row.delay_hours < 48
    quiet = rows["other.test"]
    assert (quiet.changes, quiet.lost, quiet.freshness, quiet.delay_hours) == (0, 0.0, 1.0, None)
    assert site_metrics.measure("collection", until_ms=end)[0].name == "press"
    assert {row.name for row in site_metrics.measure("group", until_ms=end)} == {"low", "unknown"}
    assert site_metrics.measure("all", until_ms=end)[0].visits == 23
    assert site_metrics.measure("site", since_ms=end) == []


def test_rates_agree_with_the_estimator_of_predict():
    generator = np.random.default_rng(3)
    page_numbers = np.sort(generator.integers(0, 20, 400))
    gaps = generator.uniform(1, 100, 400)
    hits = generator.random(400) < 0.4
    found = site_metrics.rates(page_numbers, gaps, hits, 20)
    for number in range(20):
        mine = page_numbers == number
        expected = maximum_likelihood(list(zip(gaps[mine], hits[mine], strict=True)))
        assert found[number] == pytest.approx(expected, rel=1e-6)


def test_metrics_as_csv_cannot_become_a_formula():
    rows = [site_metrics.Metrics(name="=1+1", visits=3)]
    text = site_metrics.as_csv(rows)
    assert text.splitlines()[0].startswith("name,pages,days,visits")
    assert text.splitlines()[1].startswith("'=1+1,")

"""A page that was captured before it is watched: watching begins with what it was then, whoever captured it."""

import time
from io import BytesIO

import pytest
from django.conf import settings
from django.db.models import F
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from hemeroteca import config, urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.archive import queries
from hemeroteca.archive.importing import Importer
from hemeroteca.archive.models import IndexedCapture
from hemeroteca.engine.loop import Engine
from hemeroteca.frontier import services as frontier
from hemeroteca.frontier.models import Page
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.warc.writer import WarcWriter
from hemeroteca.watch import notices, observations, services
from hemeroteca.watch.fields import ChannelOrder, Order
from hemeroteca.watch.models import Change, Notice, Observation, SiteRun, Subscription, WatchedPage
from simweb import SimWeb
from tests.engine.pages import HOST, Answer, Pages
from tests.watch.driving import START, Days

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True), pytest.mark.slow]

HOME = f"http://{HOST}/"
DAY_MS = 86_400_000
OLD = "<html><title>t</title><body><p>the council met on monday and spoke about the old bridge over the river"
NEW = "<html><title>t</title><body><p>a fire destroyed the market hall tonight, nobody was hurt, says the mayor"


class Later(Days):
    """A few minutes, in which budgets fill, some days after now: captures have the machine's time."""

    def __init__(self, web, after: float, days: float = 0.4 / 24, step_hours: float = 0.1) -> None:
        super().__init__(web, days=days, step_hours=step_hours)
        self.now = self.start = time.time() + after * 86_400
        self.end = self.start + days * 86_400


class Site(Pages):
    """One page that says what a test wants."""

    def say(self, text: str, status: int = 200) -> None:
        self.pages["/"] = Answer(text.encode(), status=status)

    def advance(self, hours: float) -> None:
        """Only a test changes it."""


@pytest.fixture
def site():
    site = Site()
    site.say(OLD)
    yield site
    site.server.close()


def crawl(web, url: str = HOME, kind: str = "page") -> None:
    """As `hemeroteca crawl`, and as a page saved at once."""
    settings.INSTANCE.create()
    order, _ = frontier.submit_crawl(SYSTEM, [url], CrawlOptions(scope=urls.Scope(kind=kind), sitemaps=False))
    given = config.load(resolve=web.resolve, allow_private=True, delay=0, ingest_processes=1, commit_seconds=0.02)
    Engine(given, settings.INSTANCE, only=order.pk).run()


def watch(**options) -> Subscription:
    options = {"url": HOME, "scope": "page", "mode": "fixed 240", "requisites": False} | options
    return services.subscribe(SYSTEM, Order(**options))[0]


def seen(key: int = urls.key(HOME)) -> list[tuple[float, bool]]:
    """Days since the visit before, and whether it had changed."""
    rows = Observation.objects.filter(key=key).order_by("seen_ms").values_list("interval_ms", "important")
    return [(round(gap / DAY_MS, 1), hit) for gap, hit in rows]


def test_what_changed_between_a_crawl_and_the_first_watched_visit_is_a_change(monkeypatch):
    with SimWeb(
        seed=4, hosts=1, pages_per_host=12, page_bytes=2000, changes="medium", trouble=0, robots="open",
        charsets="utf-8", compression="none",
    ) as web:  # fmt: skip
        home, began = web.seed_urls(1)[0], web.now()
        crawl(web, home, "host")
        sub = watch(url=home, scope="host")
        services.add_channel(SYSTEM, ChannelOrder(target="https://hook.test/", kind="webhook", subscription=sub.pk))
        web.advance(36)
        # Known are the hours at which each page really changed: some of the twelve did in these 36, some did not.
        pages = {url for url in web.urls(web.hosts()[0]) if Page.objects.filter(key=urls.key(url)).exists()}
        changed = {url for url in pages if any(began < at <= web.now() for at in web.truth(url).changes)}
        assert 3 <= len(changed) < len(pages)
        days = Later(web, after=1.5)
        days.run(monkeypatch)
        rows = {row.url: row for row in WatchedPage.objects.filter(subscription=sub, listing="")}
        assert changed <= set(rows)
        assert {url for url, row in rows.items() if row.changes} == changed
        for url, row in rows.items():
            # One capture by the crawl and one visit a day and a half later, which says whether it changed between.
            assert (row.visits, row.changes, round(row.observed_days, 1)) == (2, int(url in changed), 1.5), url
            assert seen(row.key) == [(1.5, url in changed)], url
        assert set(Change.objects.values_list("url", flat=True)) == changed
        for change in Change.objects.all():
            # "Since" is the capture of the crawl, to the millisecond, and the new capture knows how much differs.
            assert change.since_ms in {row.captured_ms for row in queries.captures_of(change.url)}
            assert queries.by_record(change.record_id).importance == pytest.approx(change.total)
        (run,) = SiteRun.objects.filter(subscription=sub)
        assert (run.changes, run.versions) == (len(changed), len(changed))
        while notices.write_notices():
            pass
        assert {notice.facts["url"] for notice in Notice.objects.filter(kind="change")} == changed


def test_learning_from_the_archive_afterwards_adds_the_first_capture_and_counts_nothing_twice(site, monkeypatch):
    crawl(site)
    for table, column in ((IndexedCapture, "captured_ms"), (Page, "visited_ms")):  # the crawl was three days ago
        table.objects.update(**{column: F(column) - 3 * DAY_MS})
    site.say(NEW)
    sub = watch()
    Later(site, after=0).run(monkeypatch)
    assert seen() == [(3.0, True)]
    assert observations.learn_from_archive(sub) == 1
    assert seen() == [(0.0, False), (3.0, True)]
    assert WatchedPage.objects.values_list("visits", "changes").get() == (2, 1)
    assert observations.learn_from_archive(sub) == 0


def test_an_imported_capture_is_where_watching_begins(site, monkeypatch, tmp_path):
    settings.INSTANCE.create()
    file = tmp_path / "other.warc"
    with file.open("wb") as out:
        writer = WARCWriter(out, gzip=False)
        head = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        writer.write_record(
            writer.create_warc_record(
                HOME,
                "response",
                payload=BytesIO(OLD.encode()),
                http_headers=head,
                warc_headers_dict={"WARC-Date": "2026-01-01T00:00:00Z"},
            )
        )
    Importer(WarcWriter(settings.INSTANCE.warc_dir)).read([file], tmp_path / "spool")
    site.say(NEW)
    watch()
    days = Later(site, after=3)
    days.run(monkeypatch)
    (row,) = Observation.objects.all()
    assert row.important
    assert row.interval_ms / DAY_MS == pytest.approx((days.start - START) / 86_400, abs=0.05)
    assert [change.since_ms for change in Change.objects.all()] == [START * 1000]
    assert [row.version for row in queries.captures_of(HOME)] == [True, True]


def test_a_crawl_just_before_that_found_the_same_is_no_change(site, monkeypatch):
    crawl(site)
    watch()
    Later(site, after=2).run(monkeypatch)
    assert seen() == [(2.0, False)]
    assert not Change.objects.exists()


@pytest.mark.parametrize("etag", ["", '"one"'])
def test_what_an_ordinary_crawl_found_first_is_told_at_the_next_watched_visit_and_once(site, monkeypatch, etag):
    watch(mode="fixed 24")
    Later(site, after=0).run(monkeypatch)
    WatchedPage.objects.update(last_ms=F("last_ms") - DAY_MS)  # all this was a day before
    for table, column in ((IndexedCapture, "captured_ms"), (Page, "visited_ms")):
        table.objects.update(**{column: F(column) - DAY_MS})
    site.pages["/"] = Answer(NEW.encode(), headers=f"ETag: {etag}\r\n".encode() if etag else b"")
    crawl(site)
    assert not Change.objects.exists()
    Later(site, after=2).run(monkeypatch)
    (change,) = Change.objects.all()
    assert "market hall" in change.diff
    assert change.title == "t"
    assert change.total > 0.3
    assert b"If-None-Match" not in site.heads["/"], "an answer without a body could not be compared"
    Later(site, after=4).run(monkeypatch)
    assert (b"If-None-Match" in site.heads["/"]) == bool(etag)
    assert Change.objects.count() == 1
    assert [hit for _, hit in seen()] == [False, True, False]
    versions = [(row.version, row.importance is not None) for row in queries.captures_of(HOME)]
    assert versions == [(True, False), (True, True), (False, False), (False, False)], "the crawl's is the new version"


def test_a_page_watched_again_goes_on_where_the_first_subscription_ended(site, monkeypatch):
    first = watch()
    Later(site, after=0).run(monkeypatch)
    services.remove(SYSTEM, first.pk)
    assert not WatchedPage.objects.exists()
    site.say(NEW)
    again = watch()
    Later(site, after=4).run(monkeypatch)
    assert seen() == [(0.0, False), (4.0, True)]
    assert [change.subscription_id for change in Change.objects.all()] == [again.pk]


def test_a_refusal_in_between_is_not_what_a_page_is_compared_with(site, monkeypatch):
    watch(mode="fixed 24")
    Later(site, after=0).run(monkeypatch)
    site.say("<p>you shall not pass", status=403)
    Later(site, after=2).run(monkeypatch)
    site.say(OLD)
    Later(site, after=4).run(monkeypatch)
    assert seen() == [(0.0, False), (4.0, False)]
    assert not Change.objects.exists()
    site.say("<p>you shall not pass", status=403)
    Later(site, after=6).run(monkeypatch)
    site.say(NEW)
    Later(site, after=8).run(monkeypatch)
    assert seen()[-1] == (4.0, True)


def test_a_second_subscription_hears_of_what_it_finds_and_keeps_the_page_when_the_first_ends(site, monkeypatch):
    whole = watch(scope="host")  # would visit it again in ten days
    Later(site, after=0).run(monkeypatch)
    site.say(NEW)
    page = watch(mode="fixed 24", threshold=0.9)  # cares only for pages that become quite another
    Later(site, after=1.5).run(monkeypatch)
    told = dict(Change.objects.values_list("subscription", "total"))
    assert set(told) == {whole.pk, page.pk}
    assert seen() == [(0.0, False), (1.5, True)]
    services.edit(SYSTEM, whole.pk, {"active": False})
    site.say(OLD)
    Later(site, after=3).run(monkeypatch)
    assert seen()[-1] == (1.5, True)
    assert Change.objects.order_by("-pk").values_list("subscription", flat=True).first() == page.pk


def test_pages_of_a_removed_subscription_that_another_covers_are_visited_for_that_one_at_once(site, monkeypatch):
    whole = watch(scope="host")
    Later(site, after=0).run(monkeypatch)
    page = watch(mode="fixed 24")

    def meanwhile(days: Days) -> None:
        if Subscription.objects.filter(pk=whole.pk).exists():
            assert WatchedPage.objects.get().subscription_id == whole.pk
            services.remove(SYSTEM, whole.pk)
            site.say(NEW)

    days = Later(site, after=0.1, days=2, step_hours=6)
    days.meanwhile = meanwhile
    days.run(monkeypatch)
    assert list(WatchedPage.objects.values_list("url", "subscription")) == [(HOME, page.pk)]
    assert [change.subscription_id for change in Change.objects.all()] == [page.pk]

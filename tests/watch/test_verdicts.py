"""Several subscriptions over one page: each judges a change by its own rules and tells its own channels."""

from datetime import UTC, datetime, timedelta

import pytest

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.ingest.rules import ComparisonRules
from hemeroteca.watch import notices, queries, services
from hemeroteca.watch.fields import ChannelOrder, Order
from hemeroteca.watch.models import Change, Notice, WatchedPage
from tests.watch.driving import World
from tests.watch.receiver import Receiver
from tests.watch.test_engine import Days

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

FILLER = "The harbour museum opens its doors to visitors from near and far every single morning. " * 4


def shop(clock: str = "nine", price: str = "ten euros", news: str = "nothing new") -> bytes:
    return (
        f"<html><head><title>Shop</title></head><body><h1>Shop</h1><p id=opening>It is {clock}</p>"
        f"<p id=price>It costs {price}</p><div id=news><p>{news}</p></div><p>{FILLER}</p></body></html>"
    ).encode()


class StillWeb:
    """Stands for the simulated web of `Days`: a page that a test changes."""

    resolve = ()

    def advance(self, hours: float) -> None:
        """Nothing changes by itself."""


def subscribe(site: Receiver) -> dict[str, int]:
    orders = {
        "all": Order(url=f"{site.url}/", scope="host", mode="fixed 6", requisites=False),
        "no clock": Order(url=f"{site.url}/", scope="page", mode="fixed 6", ignore=["#opening"], requisites=False),
        "price": Order(url=f"{site.url}/", scope="prefix", mode="fixed 6", keep=["#price"], requisites=False),
        "large": Order(url=f"{site.url}/", scope="domain", mode="fixed 6", threshold=0.99, requisites=False),
    }
    found = {}
    for name, order in orders.items():
        found[name] = services.subscribe(SYSTEM, order)[0].pk
        services.add_channel(
            SYSTEM, ChannelOrder(target="https://hooks.test/", name=name, subscription=found[name], changes=True)
        )
    services.add_channel(SYSTEM, ChannelOrder(target="https://hooks.test/", name="everything"))
    return found


def told() -> list[tuple[str, str]]:
    """Channels that were told since the last look, with the lines they were shown."""
    while notices.write_notices():
        pass
    rows = [
        (notice.channel.name, "".join(line for line in notice.facts["diff"].splitlines() if line[:2] == "+I"))
        for notice in Notice.objects.select_related("channel").order_by("channel__name")
    ]
    Notice.objects.all().delete()
    return rows


@pytest.mark.slow
def test_each_subscription_that_covers_a_page_judges_by_its_own_rules(monkeypatch):
    with Receiver() as site:
        site.pages["/"] = shop()
        numbers = subscribe(site)
        seen: dict[int, list[tuple[str, str]]] = {}
        steps = {
            12: shop(clock="ten"),
            24: shop(clock="ten", price="twelve euros"),
            36: shop("ten", "twelve euros", FILLER),
        }

        def meanwhile(days: Days) -> None:
            hours = round((days.now - days.start) / 3600)
            if hours in steps:
                seen[hours] = told()
                site.pages["/"] = steps[hours]

        Days(StillWeb(), days=2, step_hours=6, meanwhile=meanwhile).run(monkeypatch)
        assert seen[12] == []
        assert seen[24] == [("all", "+It is ten"), ("everything", "+It is ten")]
        price = "+It costs twelve euros"
        assert seen[36] == [("all", price), ("everything", price), ("no clock", price), ("price", price)]
        assert [name for name, _ in told()] == ["all", "everything", "no clock"]
        assert WatchedPage.objects.count() == 1
        assert len(queries.changes()) == 3  # once each
        assert [len(queries.changes(subscription=numbers[name])) for name in numbers] == [3, 2, 1, 0]


@pytest.mark.slow
def test_a_clock_on_a_page_is_no_change_from_the_second_visit_on(monkeypatch):
    # Four visits of a page that says what time it is, two hours east of here; before the last one the price changes.
    with Receiver() as site:

        def show(price: str = "ten euros") -> None:
            now = datetime.now(UTC) + timedelta(hours=2)
            site.pages["/"] = shop(clock=f"{now:%H:%M:%S} o'clock by this site", price=price)

        show()
        services.subscribe(SYSTEM, Order(url=f"{site.url}/", scope="page", mode="fixed 6", requisites=False))
        seen = []

        def meanwhile(days: Days) -> None:
            seen.append(queries.changes())
            show("twelve euros" if len(seen) >= 4 else "ten euros")

        Days(StillWeb(), days=1.25, step_hours=6, meanwhile=meanwhile).run(monkeypatch)
    assert seen[:4] == [[], [], [], []]
    assert WatchedPage.objects.get().visits >= 4
    assert ["twelve" in change.diff for change in queries.changes()] == [True]


def test_subscriptions_with_the_same_rules_share_a_comparison_and_others_have_their_own(tmp_path):
    for scope, ignore in (("host", ()), ("prefix", ()), ("page", ["#clock"])):
        services.subscribe(SYSTEM, Order(url="https://news.test/a/", scope=scope, ignore=ignore))
    elsewhere = services.subscribe(SYSTEM, Order(url="https://other.test/"))[0]
    world = World(tmp_path)
    crawls = list(services.Subscription.objects.order_by("pk").values_list("crawl_id", flat=True))
    first, second, third = services.Subscription.objects.order_by("pk").values_list("pk", flat=True)[:3]
    judges = world.scheduler.judges(crawls[0], "https://news.test/a/")
    assert [tuple(sorted(judge.subscriptions)) for judge in judges] == [(first, second), (third,)]
    assert judges[1].comparison == ComparisonRules(ignore=("#clock",))
    judges = world.scheduler.judges(crawls[2], "https://news.test/a/")
    assert [tuple(sorted(judge.subscriptions)) for judge in judges] == [
        (third,),
        (first, second),
    ]
    assert [j.subscriptions for j in world.scheduler.judges(elsewhere.crawl_id, "https://other.test/x")] == [
        (elsewhere.pk,)
    ]
    assert [j.subscriptions for j in world.scheduler.judges(crawls[0], "https://news.test/b")] == [(first,)]
    services.edit(SYSTEM, third, {"scope": "host"})  # what covered one page covers all of them from now on
    world.scheduler.refresh()
    assert [j.subscriptions for j in world.scheduler.judges(crawls[0], "https://news.test/b")] == [(first,), (third,)]


def test_without_a_verdict_of_its_own_a_subscription_has_its_threshold(tmp_path):
    """One that was made while the page was under way, or beyond the sets of rules that are compared."""
    owner = services.subscribe(SYSTEM, Order(url="https://news.test/", scope="host"))[0]
    for threshold in (0.3, 0.8):
        services.subscribe(SYSTEM, Order(url=f"https://news.test/{threshold}/", scope="domain", threshold=threshold))
    world = World(tmp_path)
    world.add(owner, "https://news.test/a", [5.0])  # changes by 0.5
    world.run(72)
    found = Change.objects.filter(key=urls.key("https://news.test/a")).order_by("pk")
    assert [services.order_of(change.subscription).threshold for change in found] == [0.05, 0.3]
    assert [change.first for change in found] == [True, False]

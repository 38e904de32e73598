"""`hemeroteca watch` as a person uses it: whole addresses, options, clear errors, files out and in."""

import json
import time

import pytest
from django.conf import settings
from typer.testing import CliRunner

from hemeroteca.accounts import SYSTEM
from hemeroteca.cli import command_line
from hemeroteca.cli.watch import shared
from hemeroteca.watch import queries, services, subscription_files
from hemeroteca.watch.fields import Order
from hemeroteca.watch.models import Subscription, WatchedPage
from tests.watch.driving import World, subscribe

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

LONG = "https://news.test/a/rather/long/address/of/a/page/that/nobody/could/read/in/ten/characters.html"


@pytest.fixture
def run(monkeypatch):
    from hemeroteca.cli import common

    monkeypatch.setattr(common, "setup", lambda *_, **__: None)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: str):
        return CliRunner().invoke(command_line("watch"), ["watch", *arguments])

    return call


def test_addresses_are_never_folded_and_reasons_stand_below(run, tmp_path):
    sub = services.subscribe(SYSTEM, Order(url=LONG, collection="press"))[0]
    other = services.subscribe(SYSTEM, Order(url="https://other.test/"))[0]
    Subscription.objects.filter(pk=other.pk).update(fault="this version has no policy 'gone'")
    listed = run("list").stdout
    assert f"{LONG}  (page, press)" in listed
    assert "stopped" in listed
    assert "no policy 'gone'" in listed
    assert "none of its pages has been visited yet" in run("show", str(sub.pk)).stdout
    World(tmp_path).add(sub, LONG, [])
    shown = run("show", str(sub.pk), "--language", "es").stdout
    assert LONG in shown
    assert "la próxima, 24 horas después, para conocer sus hábitos" in shown
    assert "/api/v1/watch/feed?subscription=" in shown


def test_edit_takes_the_options_of_add_and_names_with_values(run):
    sub = services.subscribe(SYSTEM, Order(url=LONG, windows=["sat"], depth=3))[0]
    changed = run("edit", str(sub.pk), "--mode", "fixed 12", "--depth", "-1", "weight=2", "--no-requisites", "--json")
    facts = json.loads(changed.stdout)
    assert (facts["mode"], facts["depth"], facts["weight"], facts["requisites"]) == ("fixed 12", None, 2.0, False)
    assert facts["windows"] == ["sat"]
    assert json.loads(run("edit", str(sub.pk), "--window", "", "--json").stdout)["windows"] == []


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (("edit", "NUMBER"), "nothing to change was named", 2),
        (("edit", "NUMBER", "--mode", "moon"), "there is no policy 'moon'", 2),
        (("edit", "NUMBER", "bogus=1"), "`bogus` cannot be changed", 2),
        (("show", "77"), "watch list", 1),
        (("add", "nonsense"), "write http://nonsense/", 2),
        (("channel", "pause", "9"), "watch channel list", 1),
        (("metrics", "--fixed-hours", "0"), "fixed-hours", 2),
        (("pages", "--group", "moon"), "high", 2),
        (("export", "/no/such/folder/x.csv"), "name another place", 1),
    ],
)
def test_what_cannot_be_done_is_said_with_what_to_do(run, arguments, said, code):
    number = str(services.subscribe(SYSTEM, Order(url=LONG))[0].pk)
    result = run(*(number if argument == "NUMBER" else argument for argument in arguments))
    assert result.exit_code == code
    assert said in " ".join(result.output.split())


def test_a_visit_now_is_asked_for_by_number_or_by_any_address_that_is_watched(run, tmp_path, monkeypatch):
    site = subscribe("https://news.test/", mode="fixed 240")
    page = services.subscribe(SYSTEM, Order(url="https://news.test/a", mode="fixed 240"))[0]
    world = World(tmp_path, time.time())
    for path in ("", "a", "b"):
        world.add(site, f"https://news.test/{path}", [])
    # Nobody serves: the order is kept, and there is nothing to wait for.
    asked = json.loads(run("check", "https://news.test/b", "--json").stdout)
    assert (asked["id"], asked["pages"], asked["visited"], asked["serving"]) == (site.pk, 3, 0, False)
    assert "when `hemeroteca serve` runs" in run("check", str(site.pk)).stdout
    refused = run("check", str(site.pk), "--wait", "5")
    assert (refused.exit_code, "is not running" in refused.output) == (1, True)
    # The scheduler obeys, though ten days were planned; what changed meanwhile is told.
    world.run(1)
    world.changes["https://news.test/b"] = [world.hours]
    world.now += 3600
    now_ms = int(world.now * 1000)
    monkeypatch.setattr(services, "now_ms", lambda: now_ms)
    monkeypatch.setattr(type(settings.INSTANCE), "served_at", lambda *_: "http://127.0.0.1:1")
    run("check", str(site.pk))
    world.scheduler.refresh()
    assert sorted(world.look()) == ["https://news.test/", "https://news.test/a", "https://news.test/b"]
    sub = Subscription.objects.get(pk=site.pk)
    assert queries.checked(sub) == queries.Checked(3, 3, 0, ["https://news.test/b"])
    # A page that has its own subscription too is told of by both.
    assert [queries.figures([site.pk, page.pk])[one.pk]["pages"] for one in (site, page)] == [3, 1]
    assert "none of its pages has been visited" not in run("show", str(page.pk)).stdout
    assert queries.next_visits([page.pk])[page.pk].url == page.url
    # A page that is visited for the whole site is visited when its own subscription is asked for.
    now_ms += 600_000
    world.now += 600
    monkeypatch.setattr(services, "now_ms", lambda: now_ms)
    assert "1 page is visited now" in run("check", "https://news.test/a").stdout
    world.scheduler.refresh()
    assert world.look() == ["https://news.test/a"]
    # Waiting ends when all have answered; not with 0 when one has not.
    monkeypatch.setattr(services, "now_ms", lambda: now_ms - 1)
    done = run("check", str(page.pk), "--wait", "60", "--json")
    assert (done.exit_code, json.loads(done.stdout)["visited"]) == (0, 1)
    monkeypatch.setattr(services, "now_ms", lambda: now_ms + 1)
    late = run("check", str(page.pk), "--wait", "0.01")
    assert (late.exit_code, "0 of 1 page visited" in late.output) == (1, True)
    assert f"`hemeroteca watch show {page.pk}`" in late.output
    WatchedPage.objects.filter(url=page.url).update(failures=1, next_ms=2**62)
    Subscription.objects.filter(pk=page.pk).update(last_error="news.test: http-503")
    dead = run("check", str(page.pk), "--wait", "60")
    assert dead.exit_code == 1
    assert "1 without an answer (news.test: the server is not available (503))" in dead.output
    services.pause(SYSTEM, page.pk)
    assert "resume it first" in run("check", str(page.pk)).output


def test_what_is_exported_can_be_imported_again():
    services.subscribe(
        SYSTEM, Order(url=LONG, name='Ñandú, "x"', collection="press", windows=["mon 8-9", "sat"], depth=2)
    )
    services.subscribe(SYSTEM, Order(url="https://b.test/", mode="fixed 12", ignore=["//a", ".b"], active=False))
    before = [services.order_of(row) for row in Subscription.objects.order_by("url")]
    rows = list(Subscription.objects.select_related("collection", "crawl"))
    table, outline = subscription_files.as_csv(rows), subscription_files.as_opml(rows)
    for row in rows:
        services.remove(SYSTEM, row.pk)
    assert subscription_files.read_file(SYSTEM, table.encode(), "x.csv").new == 2
    after = [services.order_of(row) for row in Subscription.objects.order_by("url")]
    assert [vars(order) for order in after] == [vars(order) for order in before]
    for row in Subscription.objects.all():
        services.remove(SYSTEM, row.pk)
    assert subscription_files.read_file(SYSTEM, outline.encode(), "x.opml").new == 2
    again = Subscription.objects.get(url=LONG)
    assert (again.name, again.collection.name) == ('Ñandú, "x"', "press")


def test_numbers_stand_to_the_right_and_long_cells_are_cut_but_for_the_last():
    rows = [(["1", "x" * 40, "y" * 90], ["below"]), (["1,234", "z", "w"], [])]
    first, second, below, third = shared.lines(("n", "name", "address"), rows)
    assert first.startswith("    n  name")
    assert second == "    1  " + "x" * 23 + "…  " + "y" * 90
    assert below == "      below"
    assert third.startswith("1,234  z ")


def test_reports_are_tables_csv_and_json(run, tmp_path):
    sub = services.subscribe(SYSTEM, Order(url=LONG))[0]
    World(tmp_path).add(sub, LONG, [])
    assert "pages_per_minute" in run("report", "rounds", "--subscription", str(sub.pk)).stdout
    assert run("report", "storage", "--csv").stdout.startswith("subscription,collection,documents")
    assert json.loads(run("report", "admission", "--json").stdout)["name"] == "admission"
    assert run("report", "nothing").exit_code == 1


def test_policies_are_simulated_as_a_job_on_the_history_of_a_subscription(tmp_path, monkeypatch):
    from hemeroteca.cli import common
    from hemeroteca.jobs.models import Job

    monkeypatch.setattr(common, "setup", lambda *_, **__: None)
    sub = services.subscribe(SYSTEM, Order(url=LONG, mode="fixed 24"))[0]
    world = World(tmp_path)
    world.add(sub, LONG, [30.0, 80.0, 130.0])
    world.run(200)
    words = ["simulate", "--subscription", str(sub.pk), "--warmup", "0", "--policy", "fixed:24", "--budget", "own"]
    done = CliRunner().invoke(command_line("simulate"), [*words, "--json"])
    (outcome,) = json.loads(done.stdout)["policies"]
    assert (outcome["changes"], outcome["lost"]) == (3, 0)
    assert Job.objects.get().kind == "predict.simulate"
    done = CliRunner().invoke(command_line("predict"), ["predict", "calibrate", "--json"])
    assert json.loads(done.stdout)["visits"] >= 5
    assert Job.objects.filter(kind="predict.calibrate", state="done").exists()


def test_an_address_that_is_not_there_is_told_by_list_and_show(run, tmp_path):
    sub = services.subscribe(SYSTEM, Order(url=LONG))[0]
    world = World(tmp_path)
    world.missing.add(LONG)
    world.add(sub, LONG, [])
    for command in (["list"], ["show", str(sub.pk)]):
        assert "the last visit failed: news.test: the server does not have it (404)" in run(*command).stdout, command
    assert "none of its pages has answered yet" in run("show", str(sub.pk)).stdout

"""Vantage checks: what places saw is compared; through the real engine, with devices of several countries."""

import json
import uuid

import pytest

from hemeroteca.accounts import SYSTEM, Actor, Role
from hemeroteca.accounts import services as accounts
from hemeroteca.errors import Conflict, Invalid
from hemeroteca.fleet import services, vantage
from hemeroteca.fleet.device.http_requests import ThreadFetching
from hemeroteca.fleet.models import VantageCheck, VantageObservation, VantageRun
from hemeroteca.frontier.models import Crawl
from tests.fleet.test_liars import Served, Site
from tests.waiting import wait_for


def seen(country: str, status: int = 200, numbers: str = "1", name: str = "", **more) -> VantageObservation:
    print_ = {"status": status, "headers": "h", "links": "l", "numbers": numbers, "sketch": [1, 2, 3]}
    pseudonym = name or (f"device-{country}" if country else "")
    return VantageObservation(
        country=country, network=f"net-{country}", pseudonym=pseudonym, status=status,
        fingerprint=print_ if status else {}, seconds=more.pop("seconds", 0.2), **more,
    )  # fmt: skip


def test_what_most_places_saw_is_right_and_each_difference_has_its_country_and_evidence():
    evidence = uuid.uuid4()
    rows = [
        seen(""), seen("CL"), seen("DE"),
        seen("XA", status=451, capture=evidence),
        seen("XB", status=0, failure="tls: self-signed certificate"),
        seen("XC", numbers="other"),
        seen("XD", location="http://block.test/"),
        seen("XE", certificate="b" * 64), seen("FR", certificate="a" * 64), seen("ES", certificate="a" * 64),
        seen("XF", seconds=9.0),
    ]  # fmt: skip
    found = vantage.compare("http://a.test/", rows)
    assert found.verdict == "differs"
    assert (found.places, found.status) == (11, 200)
    told = {one.country: one for one in found.differences}
    assert {country: one.what for country, one in told.items()} == {
        "XA": "status", "XB": "no answer", "XC": "content", "XD": "redirect", "XE": "certificate", "XF": "slow",
    }  # fmt: skip
    assert told["XA"].capture == str(evidence)
    assert "self-signed" in told["XB"].detail
    places = {one.name: (one.places, one.same) for one in found.countries}
    assert places["CL"] == (1, 1)
    assert places["XA"] == (1, 0)
    assert places["XF"] == (1, 1)  # slow is no other page
    assert places["the server"] == (1, 1)


def test_a_page_that_differs_by_itself_accuses_nobody():
    rows = [seen(country, numbers=country or "server") for country in ("", "CL", "DE", "FR")]
    found = vantage.compare("http://a.test/", rows)
    assert found.verdict == "restless"
    assert found.differences == []


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_runs_begin_when_due_and_no_two_of_a_check_at_once():
    owner = accounts.add_user(SYSTEM, "ana", Role.ADMINISTRATOR, "a long password")
    actor = Actor.of(owner)
    check = vantage.order(actor, vantage.VantageOrder(urls=["http://a.test/", "http://A.test:80/"], every_hours=6))
    assert check.urls == ["http://a.test/"]
    vantage.start_due()
    vantage.start_due()
    run = VantageRun.objects.get()
    check.refresh_from_db()
    assert check.next_ms > services.now_ms() + 5 * 3_600_000
    assert run.crawl is not None
    VantageCheck.objects.update(next_ms=1)
    vantage.start_due()  # the first run still goes on
    assert VantageRun.objects.count() == 1
    Crawl.objects.update(state=Crawl.State.FINISHED)
    VantageCheck.objects.update(next_ms=1)
    vantage.start_due()
    assert VantageRun.objects.count() == 2
    vantage.end(actor, check)
    VantageCheck.objects.update(next_ms=1)
    vantage.start_due()
    assert VantageRun.objects.count() == 2


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("order", "why"),
    [
        (vantage.VantageOrder(urls=[]), "1 to 100 URLs"),
        (vantage.VantageOrder(urls=["http://a.test/?x=1' or '1'='1"]), "looks like SQL injection"),
        (vantage.VantageOrder(urls=["http://a.test/"], category="films"), "no category"),
        (vantage.VantageOrder(urls=["http://a.test/"], countries=["Chile"]), "two letters"),
        (vantage.VantageOrder(urls=["http://a.test/"], every_hours=100_000), "hours"),
        (vantage.VantageOrder(urls=["http://closed.test/x"]), "closed to the fleet"),
    ],
)
def test_an_order_that_cannot_be_says_why(order, why):
    actor = Actor.of(accounts.add_user(SYSTEM, "ana", Role.ADMINISTRATOR, "a long password"))
    services.close_host(SYSTEM, "closed.test", "asked")
    with pytest.raises(Invalid, match=why):
        vantage.order(actor, order)


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_only_approved_people_order_checks():
    actor = Actor.of(accounts.add_user(SYSTEM, "ben", Role.READER, "a long password"))
    with pytest.raises(Conflict, match="not a client"):
        vantage.order(actor, vantage.VantageOrder(urls=["http://a.test/"]))


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_nobody_has_more_checks_under_way_than_the_bound_whether_once_or_again_and_again(monkeypatch):
    monkeypatch.setattr(vantage, "MAX_ACTIVE", 2)
    actor = Actor.of(accounts.add_user(SYSTEM, "ana", Role.ADMINISTRATOR, "a long password"))
    once = vantage.VantageOrder(urls=["http://a.test/"])
    again = vantage.VantageOrder(urls=["http://a.test/"], every_hours=1)
    vantage.order(actor, again)
    vantage.order(actor, once)
    for wanted in (once, again):
        with pytest.raises(Conflict, match="2 checks of yours"):
            vantage.order(actor, wanted)
    vantage.start_due()
    with pytest.raises(Conflict, match="2 checks of yours"):
        vantage.order(actor, once)
    Crawl.objects.update(state=Crawl.State.FINISHED)
    vantage.order(actor, once)  # the one that ran once is over


class Censored(ThreadFetching):
    """Sees another page where it is."""

    def submit(self, order, done):
        def other(answer):
            if "censored" in order.url and answer.status:
                answer.body = b"<title>Blocked</title><p>This page is not for you, by order of 1984"
            done(answer)

        super().submit(order, other)


@pytest.mark.slow
def test_devices_look_one_after_the_other_and_the_report_names_who_saw_something_else(tmp_path):
    site, served = Site(), Served(tmp_path)
    try:
        workers = [
            served.worker("free", activities=["vantage"]),
            served.worker("closed", Censored, activities=["vantage"]),
            served.worker("prude", activities=["vantage"], categories=["news"]),
        ]
        wait_for(lambda: served.system.run("fleet", "devices", "--json").stdout.count('"online"') == 3, "all are there")
        urls = [f"{site.address}/free", f"{site.address}/censored", f"{site.address}/private/x"]
        order = {"urls": urls, "category": "politics", "title": "Two pages"}
        check = served.ask("POST", "/api/v1/fleet/vantage", order)["id"]

        def report():
            found = served.ask("GET", f"/api/v1/fleet/vantage/{check}")["report"]
            return found if found and found["state"] == "finished" else None

        wait_for(report, "the run is over")
        by_url = {one["url"]: one for one in report()["urls"]}
        for worker in workers:
            worker.stop()
        assert by_url[urls[2]]["verdict"] == "unseen"  # robots.txt forbids it to everybody
        assert by_url[urls[0]]["verdict"] == "same"
        assert by_url[urls[0]]["places"] == 3  # the server and the two that agreed to politics
        assert by_url[urls[1]]["verdict"] == "differs"
        (other,) = by_url[urls[1]]["differences"]
        assert other["what"] == "content"
        assert other["device"]
        text = served.content(other["capture"])
        assert "1984" in text  # the evidence is in the archive …
        found = served.ask("GET", f"/api/v1/captures?url={urls[1]}")
        assert "1984" not in json.dumps(found)
        latest = [one["id"] for one in found["items"]]
        assert other["capture"] not in latest  # … and is no version of the page
        asked = [path for path, agent in site.asked if path == "/censored"]
        assert len(asked) == 3
    finally:
        served.close()
        site.server.shutdown()

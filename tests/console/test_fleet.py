"""The pages of the fleet, as an owner, a client and an operator go through them."""

import uuid

import pytest
import segno

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM, Actor
from hemeroteca.fleet import coordinator, load_tests, protocol, services, vantage
from hemeroteca.fleet.dispatch import Verdict, keep
from hemeroteca.fleet.models import Answer, Device, LoadSecond, LoadTest, VantageObservation, VantageRun
from hemeroteca.fleet.trust import Reputation
from hemeroteca.frontier.models import Crawl

pytestmark = pytest.mark.browser


def worked(device, count=40):
    """What a device did: answers that were judged, as the engine writes them."""
    coordinator.connect(
        device,
        protocol.Hello(
            version="0.1.0",
            system="Linux",
            activities=("crawls", "clients"),
            caps=protocol.LentCaps(parallel=8, bytes_per_month=10**10, hours="22-7", cpu_percent=20, min_delay=0.5),
        ),
        "192.0.2.7",
    )
    Device.objects.filter(pk=device.pk).update(country="CL")
    crawl = Crawl.objects.create(
        fingerprint="x", seeds=[], options={"scope": {"kind": "page", "seeds": []}}, created_ms=1
    )
    kinds = [Answer.Verdict.VALID, Answer.Verdict.UNCHECKED]
    verdicts = [Verdict(device.pk, "0.1.0", crawl.pk, n, 200, 5000, kinds[n % 2]) for n in range(count)]
    keep(verdicts, {(device.pk, "0.1.0"): Reputation(20, 20)}, [], 70)


def test_an_owner_adds_a_device_and_gets_one_command(journey, reader):
    page = journey("/fleet", reader)
    page.look("overview-empty")
    page.get_by_role("link", name=page.say("Lend a device", "Prestar un dispositivo")).click()
    page.look("devices-empty")
    page.locator("input[name=name]").fill("Pi de casa")
    page.get_by_role("button", name=page.say("Add it", "Añadirlo")).click()
    command = page.locator("code.command").inner_text()
    assert "worker.pyz --server" in command
    code = command.split("--code ")[1].strip()
    assert services.redeem_code(code).startswith("hemdev_")
    page.get_by_role("button", name=page.say("Copy it", "Copiarlo")).click()
    page.get_by_text(page.say("On a telephone or tablet", "En un teléfono o una tableta")).click()
    drawn = page.locator(".qr path[stroke]").get_attribute("d")
    assert drawn in segno.make(command, micro=False).svg_inline()  # the same command
    page.look("start")
    device = Device.objects.get(name="Pi de casa")
    assert device.owner == reader
    worked(device)
    page.goto(f"{page.site}/fleet/devices/{device.pk}")
    page.locator(".chart canvas, .chart svg").first.wait_for()
    page.look("device")
    page.get_by_role("button", name=page.say("Pause", "Pausar"), exact=True).click()
    device.refresh_from_db()
    assert device.state == "paused"
    page.get_by_role("button", name=page.say("Go on", "Continuar"), exact=True).click()
    device.refresh_from_db()
    assert device.state == "active"
    page.get_by_role("button", name=page.say("Show it on the list of helpers", "Mostrarlo en la lista")).click()
    page.goto(f"{page.site}/fleet")
    page.locator(".chart canvas, .chart svg").first.wait_for()
    assert "Pi de casa" in page.locator("main").inner_text()
    page.look("overview")
    page.goto(f"{page.site}/fleet/devices")
    page.look("devices")
    page.goto(f"{page.site}/fleet/credits")
    page.look("credits")


def test_a_name_that_cannot_be_is_told_and_devices_of_others_are_not_shown(journey, reader, director):
    device, _ = services.add_device(SYSTEM, "of eva", director)
    page = journey("/fleet/devices", reader)
    assert "of eva" not in page.locator("main").inner_text()
    page.locator("input[name=name]").fill("///")
    page.get_by_role("button", name=page.say("Add it", "Añadirlo")).click()
    assert "///" in page.locator(".message.error").inner_text()
    page.goto(f"{page.site}/fleet/devices/{device.pk}")
    assert "of eva" not in page.locator("main").inner_text()


def test_a_person_asks_to_be_a_client_the_operator_approves_and_urls_are_ordered(journey, administrator, reader):
    services.ask(Actor.of(reader), reader, "study how news sites change")
    page = journey("/fleet/operate", administrator)
    assert "study how news" in page.locator("main").inner_text()
    page.look("operate")
    page.get_by_role("button", name=page.say("Approve", "Aprobar")).click()
    reader.refresh_from_db()
    assert reader.fleet_client.state == "approved"
    page.locator("select[name=strategy]").select_option("less-busy")
    page.get_by_role("button", name=page.say("Change settings", "Cambiar los ajustes")).click()
    assert services.fleet_settings().strategy == "less-busy"
    page.locator("input[name=host]").first.fill("shop.example")
    page.get_by_role("button", name=page.say("Close it", "Cerrarlo")).click()
    assert services.closed_reason("www.shop.example")
    page.goto(f"{page.site}/fleet/jobs")
    page.locator("textarea[name=urls]").fill("https://shop.example/a\nhttps://example.org/../etc/passwd")
    page.get_by_role("button", name=page.say("Fetch them", "Pedirlas")).click()
    text = page.locator("main").inner_text()
    assert "closed to the fleet" in text
    page.look("job")
    page.goto(f"{page.site}/fleet/jobs")
    page.look("jobs")


def test_a_vantage_report_names_who_saw_something_else(journey, administrator):
    actor = Actor.of(administrator)
    url = "https://example.org/news"
    check = vantage.order(actor, vantage.VantageOrder(urls=[url], title="News", category="news"))
    vantage.start_due()
    run = VantageRun.objects.get(vantage=check)
    shown = {"status": 200, "headers": "h", "links": "l", "numbers": "n", "sketch": [1, 2]}
    for name, country, status in (("", "", 200), ("aa", "CL", 200), ("bb", "XA", 451)):
        VantageObservation.objects.create(
            run=run, key=urls.key(url), url=url, pseudonym=name, country=country, network="192.0.2.0/24",
            at_ms=1, status=status, fingerprint=shown | {"status": status}, seconds=0.3, capture=uuid.uuid4(),
        )  # fmt: skip
    page = journey("/fleet/vantage", administrator)
    page.look("vantages")
    page.get_by_role("link", name="News").click()
    text = page.locator("main").inner_text()
    assert page.say("another status", "otro estado") in text
    assert "451 instead of 200" in text
    assert "XA" in text
    page.look("vantage")
    page.get_by_role("button", name=page.say("End this check", "Terminar esta comparación")).click()
    check.refresh_from_db()
    assert check.state == "ended"


def test_a_load_test_waits_for_its_proof_and_shows_its_curves(journey, administrator):
    page = journey("/fleet/load-tests", administrator)
    page.locator("input[name=url]").fill("https://shop.example/")
    page.get_by_role("button", name=page.say("Propose it", "Proponerla")).click()
    test = LoadTest.objects.get()
    assert load_tests.proof(test) in page.locator("code.command").inner_text()
    page.look("proposed")
    LoadTest.objects.update(state="finished", addresses=["192.0.2.1"], started_ms=1, ended_ms=2)
    for second in range(20):
        LoadSecond.objects.create(
            test=test, second=second, given=second, asked=second, errors=second // 8, statuses={"200": second},
            times={"45": second, "50": second // 5},
        )  # fmt: skip
    page.reload()
    page.locator(".chart canvas, .chart svg").first.wait_for()
    page.look("finished")
    page.goto(f"{page.site}/fleet/load-tests")
    page.look("tests")

"""Geographic services in the console: found on a map, looked at, added, harvested; focused crawls and thesauri."""

import json

import pytest

from hemeroteca.console.fleet import COAST
from hemeroteca.geo import services
from hemeroteca.geo.description import Description, FoundLayer
from hemeroteca.geo.models import HealthCheck, Service
from hemeroteca.jobs.models import Job

SPAIN, ASIA = (-9.5, 36.0, 4.5, 44.0), (100.0, 0.0, 110.0, 10.0)
DAY = 86_400_000


def add_service(title: str, box, number: int = 1) -> Service:
    place = f"https://s{number}.example/wms"
    found = Description(
        type="wms", version="1.3.0", title=title, abstract=f"Maps of {title}", endpoint=place, bbox=box,
        provider="Instituto Geográfico", keywords=["agua", "hidrografía"], crs=["EPSG:4326"],
        layers=[FoundLayer(name="rios", title="Ríos", bbox=box), FoundLayer(name="lagos", title="Lagos", bbox=box)],
    )  # fmt: skip
    address = f"{place}?service=WMS&request=GetCapabilities"
    return services.record([services.Sighting(found, address, services.now_ms(), f"digest{number}")])[0]


@pytest.fixture
def catalogue(transactional_db):
    rivers = add_service("Red hidrográfica de España", SPAIN)
    add_service("Forests of Borneo", ASIA, 2)
    for number in range(3, 40):
        west = -9 + number * 0.3
        add_service(f"Municipal map {number}", (west, 40.0, west + 0.05, 40.05), number)
    now = services.now_ms()
    for number in range(20):
        failed = number in (4, 5)
        HealthCheck.objects.create(
            service=rivers, at_ms=now - number * DAY, ok=not failed, request="capabilities",
            status=503 if failed else 200, milliseconds=180 + 10 * number, reason="http-503" if failed else "",
        )  # fmt: skip
    return rivers


class TestJourneys:
    def test_a_service_is_found_by_words_and_by_a_box_and_looked_at(self, catalogue, journey, administrator):
        page = journey("/geo", administrator)
        page.locator(".map[data-drawn]").wait_for()
        assert page.locator(".results li").count() == 25
        assert page.locator(".leaflet-tooltip.cluster").count() > 0
        page.look("map")
        page.locator("#draw-box").click()
        page.locator(".map").evaluate("place => place.scrollIntoView({block: 'center'})")
        box = page.locator(".map").bounding_box()
        page.mouse.move(box["x"] + 60, box["y"] + 20)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.45, box["y"] + box["height"] * 0.7, steps=4)
        with page.expect_navigation():
            page.mouse.up()
        assert "bbox=" in page.url
        assert page.get_by_text("Forests of Borneo").count() == 0
        page.locator("input[name=bbox]").fill("")
        page.locator("input[name=q]").fill("hidrografica")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="Red hidrográfica de España").click()
        page.locator(".map[data-drawn]").wait_for()
        page.locator("figure.chart[data-drawn]").nth(1).wait_for()
        page.get_by_role("cell", name="rios").wait_for()
        page.get_by_text("90 %").first.wait_for()
        page.look("service")
        page.get_by_role("button", name=page.say("Look at it now", "Comprobarlo ahora")).click()
        page.locator(".progress").wait_for()
        job = Job.objects.get(kind="geo.check")
        assert job.arguments["services"] == [catalogue.pk]

    def test_a_service_is_added_and_a_catalogue_harvested(self, transactional_db, journey, administrator):
        page = journey("/geo", administrator)
        page.get_by_text(page.say("No geographic service is known yet.", "Todavía no se conoce")).wait_for()
        page.look("empty")
        page.locator("main .empty a.button").click()
        page.locator("input[name=url]").fill("not an address at all")
        page.locator("main form button").click()
        page.locator(".message.error").wait_for()
        page.complaints.clear()  # the browser tells of the 422, which is meant
        page.locator("input[name=url]").fill("https://www.example.org/wms")
        page.look("add")
        page.locator("main form button").click()
        page.wait_for_url("**/crawls/*")
        page.goto(page.site + "/geo/harvests")
        page.locator("input[name=url]").fill("https://www.example.org/csw")
        page.locator("select[name=kind]").select_option("csw")
        page.locator("main form.card button").click()
        page.locator(".progress").wait_for()
        page.look("harvests")
        assert Job.objects.get(kind="geo.harvest").arguments == {"url": "https://www.example.org/csw", "kind": "csw"}

    def test_a_focused_crawl_is_ordered_and_its_harvest_followed(self, transactional_db, journey, administrator):
        from hemeroteca.frontier.models import Crawl, FocusLink

        page = journey("/geo/focus", administrator)
        page.locator("textarea[name=seeds]").fill("https://www.idee.es/")
        page.locator("summary").click()
        page.locator("input[name=delta]").fill("0,4")
        page.look("settings")
        page.locator("main form.card button").first.click()
        page.wait_for_url("**/geo/focus/*")
        page.locator(".empty").wait_for()
        crawl = Crawl.objects.order_by("pk").last()
        assert crawl.options["focus"]["tuning"]["delta"] == 0.4
        FocusLink.objects.bulk_create(
            FocusLink(crawl=crawl, key=n, number=n, target="service" if n % 7 == 0 else "", anchor=f"WMS {n}", score=1)
            for n in range(1, 200)
        )
        page.reload()
        page.locator("figure.chart[data-drawn]").first.wait_for()
        assert page.locator(".tiles b").all_inner_texts()[:2] == ["199", "28"]
        page.look("harvest")

    def test_a_thesaurus_is_walked_through(self, journey, administrator):
        page = journey("/geo/thesaurus", administrator)
        page.look("top")
        page.locator(".concepts a").first.click()
        page.locator("dl.facts").wait_for()
        page.look("concept")
        page.locator("input[name=q]").fill("zzzz")
        page.keyboard.press("Enter")
        page.locator(".empty").wait_for()


@pytest.mark.django_db(transaction=True)
def test_a_wrong_box_is_refused_with_the_reason_and_the_form_as_it_was(client, administrator):
    client.force_login(administrator)
    answer = client.get("/geo", {"q": "rivers", "bbox": "1,2,3"})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "is not a bounding box" in page
    assert 'value="rivers"' in page


@pytest.mark.django_db(transaction=True)
def test_secrets_of_addresses_are_not_on_pages(client, administrator):
    client.force_login(administrator)
    found = Description(type="wms", version="1.3.0", title="T", endpoint="https://s.example/wms?token=SECRET123")
    address = "https://s.example/wms?token=SECRET123&service=WMS&request=GetCapabilities"
    service = services.record([services.Sighting(found, address, 1_700_000_000_000, "d")])[0]
    for path in ("/geo", f"/geo/services/{service.pk}"):
        assert "SECRET123" not in client.get(path).content.decode()


@pytest.mark.django_db(transaction=True)
def test_strangers_see_a_service_as_they_see_the_catalogue(client):
    service = add_service("Rivers", SPAIN)
    assert "Rivers" in client.get("/geo").content.decode()
    assert client.get(f"/geo/services/{service.pk}").status_code == 200


def test_no_line_of_the_coast_crosses_the_map():
    lines = json.loads(COAST.read_text())
    assert len(lines) > 100
    assert max(abs(a - b) for line in lines for a, b in zip(line[::2], line[2::2], strict=False)) < 900

"""Collections that everybody may read: their pages, and that nothing else can be reached from them."""

import io
from urllib.parse import parse_qs, urlsplit

import pytest

from hemeroteca.accounts import SYSTEM
from hemeroteca.watch import publications, services
from hemeroteca.watch.fields import Order
from tests.console.test_pages import replaced
from tests.console.world import BREAD, HARBOUR

browser = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def prensa(world):
    """diario.example is published, news.example and evil.example are not."""
    services.subscribe(SYSTEM, Order(url="https://diario.example/", scope="host", collection="Prensa"))
    services.subscribe(SYSTEM, Order(url="https://evil.example/", scope="host", collection="Otra"))
    return publications.publish(SYSTEM, "Prensa", "prensa", "La prensa del pan", "Diarios.\n\nDesde 2025.", "#1a5fb4")


@pytest.fixture
def closed(settings):
    settings.CONFIG = replaced(settings.CONFIG, open_search=False)


@pytest.mark.database
class TestForStrangers:
    def test_the_collection_is_read_where_the_archive_is_closed(self, client, world, prensa, closed):
        assert client.get("/archive").status_code == 302, "to sign in"
        told = client.get("/c/prensa").content.decode()
        assert "La prensa del pan" in told
        assert "diario.example" in told
        assert "news.example" not in told
        assert "/c/prensa/look.css" in told
        capture = world.captures[BREAD][1].record_id
        shown = client.get(f"/c/prensa/v/{capture}").content.decode()
        assert "El precio del pan sube otra vez" in shown
        assert "Earlier version" in shown
        copy = client.get(f"/c/prensa/v/{capture}/copy")
        assert b"harina" in copy.content
        assert copy["Content-Security-Policy"].startswith("sandbox;")
        assert str(capture) in client.get("/c/prensa/page", {"url": BREAD}).content.decode()
        assert b"#1a5fb4" in client.get("/c/prensa/look.css").content
        assert client.get("/c/prensa/at", {"url": BREAD, "at": "2025"}).status_code == 302

    def test_nothing_else_can_be_reached_through_it(self, client, world, prensa, closed):
        other = world.captures[HARBOUR][0].record_id
        for part in ("", "/copy", "/picture", "/replay"):
            assert client.get(f"/c/prensa/v/{other}{part}").status_code == 404
        for path in ("page", "at"):
            assert client.get(f"/c/prensa/{path}", {"url": HARBOUR}).status_code == 404
        assert client.get("/c/otra").status_code == 404
        for path in (f"/v/{other}", f"/v/{other}/copy", f"/page?url={HARBOUR}", "/cdx?url=news.example"):
            assert client.get(path).status_code in (302, 401, 403)

    @pytest.mark.parametrize(
        "query", ["harbour", "x) OR (harbour", 'harbour" OR "harbour', "host:news.example", "-zzz"]
    )
    def test_a_search_in_it_finds_only_its_pages_whatever_is_asked(self, client, world, prensa, closed, query):
        told = client.get("/c/prensa", {"q": query}).content.decode()
        assert "lighthouse" not in told
        assert "news.example/harbour" not in told

    def test_a_search_finds_its_pages(self, client, world, prensa, closed, monkeypatch):
        from hemeroteca.search.index import open_index

        index = open_index(None, world.instance.index_dir)
        from hemeroteca import urls

        document = index.get(urls.key(BREAD))
        document.collections = ("Prensa",)
        with index.writer(15_000_000) as writer:
            writer.put(document)
            writer.commit()
        assert "economia/pan" in client.get("/c/prensa", {"q": "harina"}).content.decode()

    def test_a_site_that_comes_later_or_covers_more_is_not_public_until_somebody_decides(
        self, client, world, prensa, closed
    ):
        from hemeroteca.watch.models import Subscription

        late = world.captures[HARBOUR][0].record_id
        services.subscribe(SYSTEM, Order(url=HARBOUR, scope="host", collection="Prensa"))
        assert client.get(f"/c/prensa/v/{late}").status_code == 404
        assert publications.undecided(prensa) == 1
        publications.publish(SYSTEM, "Prensa", "prensa")
        assert client.get(f"/c/prensa/v/{late}").status_code == 200
        Subscription.objects.filter(url=HARBOUR, collection__name="Prensa").update(collection=None)
        assert client.get(f"/c/prensa/v/{late}").status_code == 404, "what goes is not public any more"

    def test_what_its_crawls_fetch_elsewhere_is_public_only_to_show_its_pages(self, client, world, prensa, closed):
        """Not the pages they visit since somebody let them cover more."""
        from hemeroteca.archive.models import IndexedCapture
        from hemeroteca.frontier.models import Host, Page, QueuedVisit
        from hemeroteca.watch.models import Subscription

        crawl = Subscription.objects.get(collection__name="Prensa").crawl
        other = world.captures[HARBOUR][0].record_id
        host, _ = Host.objects.get_or_create(name="news.example")
        page, _ = Page.objects.get_or_create(url=HARBOUR, defaults={"key": 77, "host": host})
        IndexedCapture.objects.filter(record_id=other).update(crawl=crawl, page=page)
        visit = QueuedVisit.objects.create(crawl=crawl, page=page, host=host, role=1)
        assert client.get(f"/c/prensa/v/{other}").status_code == 200, "a requisite"
        for role in (0, 2):
            QueuedVisit.objects.filter(pk=visit.pk).update(role=role)
            for part in ("", "/copy", "/replay"):
                assert client.get(f"/c/prensa/v/{other}{part}").status_code == 404

    def test_an_empty_collection_publishes_nothing(self, client, world, closed):
        services.set_collection(SYSTEM, "Vacía", {})
        publications.publish(SYSTEM, "Vacía", "vacia")
        assert "diario.example" not in client.get("/c/vacia").content.decode()
        assert client.get(f"/c/vacia/v/{world.captures[BREAD][0].record_id}").status_code == 404
        assert client.get("/c/vacia/page", {"url": BREAD}).status_code == 404

    def test_replay_gets_a_ticket_for_this_collection_only(self, client, world, prensa, closed, settings):
        settings.CONFIG = replaced(settings.CONFIG, replay_url="http://replay.localhost:9999")
        capture = world.captures[BREAD][1].record_id
        place = client.get(f"/c/prensa/v/{capture}/replay", headers={"Host": "localhost"})["Location"]
        asked = parse_qs(urlsplit(place).query)
        assert asked["publication"] == ["prensa"]
        from hemeroteca.replay import addresses

        key = addresses.key_of(settings.SECRET_KEY)
        until = int(asked["ticket"][0].partition(".")[0])
        assert asked["ticket"] == [addresses.sign(key, "ticket prensa", until)]
        assert asked["ticket"] != [addresses.sign(key, "ticket", until)], "not one for members"
        answer = client.get("/cdx", {"url": "news.example/*", "publication": "prensa"}, headers=bearer(key))
        assert answer.getvalue() == b""
        answer = client.get("/cdx", {"url": "diario.example/*", "publication": "prensa"}, headers=bearer(key))
        assert answer.getvalue().count(b"\n") == 3
        assert (
            client.get("/cdx", {"url": "diario.example/*", "publication": "nada"}, headers=bearer(key)).status_code
            == 404
        )


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.database
def test_only_who_may_publishes_and_withdraws(client, world, prensa, reader, administrator):
    client.force_login(reader)
    assert client.post("/archive/publish", {"collection": "Otra"}).status_code == 403
    client.force_login(administrator)
    assert client.post("/archive/publish", {"collection": "Otra", "slug": "prensa"}).status_code == 422
    assert client.post("/archive/publish", {"collection": "Otra", "slug": "../x"}).status_code == 422
    bomb = io.BytesIO(b"<svg onload=alert(1)>")
    bomb.name = "a.png"
    assert client.post("/archive/publish", {"collection": "Otra", "picture": bomb}).status_code == 422
    assert client.post("/archive/publish", {"collection": "Otra"})["Location"] == "/c/otra"
    client.post("/archive/publish", {"collection": "Otra", "do": "unpublish"})
    assert client.get("/c/otra").status_code == 404


def test_a_picture_is_drawn_anew(client, world, prensa):
    image = pytest.importorskip("PIL.Image")
    data = io.BytesIO()
    image.new("RGB", (3000, 1500), "navy").save(data, "JPEG", comment=b"secret place")
    publications.publish(SYSTEM, "Prensa", "prensa", picture=data.getvalue())
    served = client.get("/c/prensa/cover.png")
    assert served["Content-Type"] == "image/png"
    assert image.open(io.BytesIO(served.content)).size == (1200, 400)
    assert b"secret place" not in served.content


class TestInABrowser:
    pytestmark = browser

    def test_publishing_and_reading(self, journey, administrator, world):
        services.subscribe(SYSTEM, Order(url="https://diario.example/", scope="host", collection="Prensa"))
        page = journey("/archive/publish", administrator)
        page.look("publish")
        page.get_by_label(page.say("Title", "Título")).fill("La prensa del pan")
        page.get_by_label(page.say("Description", "Descripción")).fill("Diarios que hablan del pan.")
        page.get_by_label(page.say("A colour of its own", "Un color propio")).check()
        page.get_by_role("button", name=page.say("Publish", "Publicar")).click()
        page.get_by_role("link", name="La prensa del pan").wait_for()
        page.look("front")
        page.locator(".captures a").first.click()
        page.get_by_role("heading", name="El precio del pan").wait_for()
        page.look("capture")
        page.locator("header input[type=search]").fill("harina")
        seen = page.locator("header input[type=search]").evaluate(
            "box => [getComputedStyle(box).color, getComputedStyle(box).backgroundColor].map(c => c.match(/\\d+/)[0])"
        )
        assert abs(int(seen[0]) - int(seen[1])) > 100, "what is typed can be read on any cover"
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="harina").wait_for()
        page.look("search")

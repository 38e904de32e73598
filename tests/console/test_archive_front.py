"""The archive's first page, a page saved now, and a selection taken away."""

import json
from urllib.parse import quote

import pytest

from hemeroteca.accounts import SYSTEM
from hemeroteca.frontier import takedowns
from hemeroteca.frontier.models import Crawl, Page
from hemeroteca.jobs.models import Job
from tests.console.world import BREAD

browser = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.database
def test_the_archive_opens_on_what_is_there(client, world):
    told = client.get("/archive").content.decode()
    for text in ("diario.example", "news.example", "Captured last", "on disk"):
        assert text in told
    assert "09:46:40 UTC" in told, "to the second, in one zone"


@pytest.mark.database
@pytest.mark.django_db
def test_an_empty_archive_says_what_to_do(client, instance):
    told = client.get("/archive").content.decode()
    assert "Nothing is archived yet" in told
    assert 'href="/save"' in told


@pytest.mark.database
def test_an_unknown_address_offers_to_save_it(client, world):
    answer = client.get("/page", {"url": "https://nowhere.example/a b"})
    assert answer.status_code == 404
    assert "/save?url=https%3A%2F%2Fnowhere.example%2Fa%20b" in answer.content.decode()


def test_each_page_stands_once_among_the_captured_last(client, world):
    told = client.get("/archive").content.decode()
    assert told.partition('id="sites"')[0].count(f"/page?url={quote(BREAD, safe='')}") == 1


def test_nobody_is_led_to_what_they_may_not_do(client, world, reader, director):
    seen = {}
    for person in (reader, director):
        client.force_login(person)
        capture = f"/v/{world.captures[BREAD][0].record_id}"
        pages = (f"/page?url={BREAD}", "/page?url=https://nowhere.example/", "/archive?url=nowhere.example", capture)
        seen[person.name] = ["/save?url=" in client.get(page).content.decode() for page in pages]
    assert seen == {reader.name: [False] * 4, director.name: [True] * 4}


def test_a_favourite_is_kept_and_let_go_on_the_page_itself(client, world, reader):
    client.force_login(reader)
    there = f"/page?url={BREAD}"
    for button, other in (("keep", "forget"), ("forget", "keep"), ("keep", "forget")):
        shown = client.get(there).content.decode()
        assert f'value="{button}"' in shown
        assert f'value="{other}"' not in shown
        client.post("/favourites", {"do": button, "url": BREAD})


def test_a_page_that_was_taken_down_says_so_and_is_not_offered_to_be_saved(client, world, director):
    client.force_login(director)
    takedowns.take_down(SYSTEM, "https://gone.example/x", "exact", "its owner asked for it")
    shown = client.get("/page?url=https://gone.example/x").content.decode()
    assert "was taken down" in shown
    assert "/save?url=" not in shown


def test_imported_versions_are_counted_too(client, world):
    Page.objects.filter(url=BREAD).update(versions=0)
    assert "<dt>Versions</dt><dd>2</dd>" in client.get(f"/page?url={BREAD}").content.decode()


@pytest.mark.database
def test_who_may_order_crawls_saves_a_page_and_others_may_not(client, world, director, reader):
    client.force_login(reader)
    assert client.post("/save", {"url": "https://nowhere.example/x"}).status_code == 403
    client.force_login(director)
    client.get("/save", {"url": "https://nowhere.example/x"})
    assert not Crawl.objects.filter(seeds=["https://nowhere.example/x"]).exists(), "a link alone orders nothing"
    answer = client.post("/save", {"url": "https://nowhere.example/x"})
    crawl = Crawl.objects.get(seeds=["https://nowhere.example/x"])
    assert answer["Location"] == f"/save/{crawl.pk}"
    assert crawl.options["scope"]["kind"] == "page"
    assert client.post("/save", {"url": "mailto:a@b.c"}).status_code == 422


@pytest.mark.database
def test_a_program_saves_a_page(client, world, director):
    from hemeroteca.accounts import SYSTEM, services

    headers = {"Authorization": f"Bearer {services.create_token(SYSTEM, director, 'test').secret}"}
    order = {"url": "https://nowhere.example/api"}
    answer = client.post("/api/v1/captures", json.dumps(order), content_type="application/json", headers=headers)
    assert answer.status_code == 202, answer.content
    assert Crawl.objects.get(pk=answer.json()["crawl"]).seeds == ["https://nowhere.example/api"]


class TestInABrowser:
    pytestmark = browser

    def test_looking_around_saving_and_taking_away(self, journey, director):
        page = journey("/archive", director)
        page.get_by_role("heading", name=page.say("Captured last", "Últimas capturas")).wait_for()
        page.look("front")
        page.get_by_role("link", name=page.say("Save a page", "Guardar una página")).first.click()
        page.get_by_label(page.say("Address", "Dirección")).fill("https://nowhere.example/new")
        page.look("save")
        page.get_by_role("button", name=page.say("Save this page now", "Guardar esta página ahora")).click()
        page.get_by_text(page.say("being captured", "capturándose")).wait_for()
        page.look("saving")
        page.goto(f"{page.site}/archive/export?url={BREAD}&match=exact")
        page.look("take-away")
        page.get_by_role("button", name=page.say("Make the file", "Crear el archivo")).click()
        page.get_by_text(page.say("waiting", "en espera")).first.wait_for()
        from hemeroteca.jobs import runner

        job = Job.objects.latest("pk")
        assert job.arguments["selection"]["urls"] == [BREAD]
        runner.Runner().drain(exclusive=False)
        page.goto(f"{page.site}/jobs/{job.pk}")
        with page.expect_download() as taken:
            page.get_by_role("link", name=page.say("Download the file", "Descargar el archivo")).click()
        assert taken.value.suggested_filename.endswith(".wacz")

    def test_erasing_a_page(self, journey, administrator, world):
        from hemeroteca.archive.models import Erasure, IndexedCapture
        from hemeroteca.search import portal

        page = journey("/archive/erase", administrator)
        page.get_by_role("textbox", name=page.say("Address", "Dirección")).fill(BREAD)
        page.get_by_label(page.say("Reason", "Motivo")).fill("letter of the author, 3 May")
        page.get_by_role("button", name=page.say("Show what would go", "Mostrar qué se borraría")).click()
        page.get_by_text(page.say("3 captures would go", "Se borrarían 3 capturas")).wait_for()
        page.look("what-would-go")
        page.get_by_role("button", name=page.say("Erase for good", "Borrar para siempre")).click()
        page.get_by_text("archive.erase").first.wait_for()
        from hemeroteca.jobs import runner

        world.writer.close()
        runner.Runner().drain(exclusive=True)
        job = Job.objects.latest("pk")
        assert job.state == "done", job.message
        assert not IndexedCapture.objects.filter(url=BREAD).exists()
        assert Erasure.objects.get().captures == 3
        portal.searcher_at.cache_clear()
        page.goto(f"{page.site}/archive/erase")
        page.get_by_text("letter of the author").last.wait_for()
        page.look("audit")
        page.goto(f"{page.site}/?q=harina")
        assert page.get_by_text("economia/pan").count() == 0

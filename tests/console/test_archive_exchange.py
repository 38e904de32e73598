"""The archive as people work with it: files brought in, tags and notes, screenshots compared, addresses kept out."""

import io

import pytest

from hemeroteca import warc
from hemeroteca.archive import notes, services
from hemeroteca.archive.capture_rows import NewCapture
from hemeroteca.archive.models import IndexedCapture
from hemeroteca.frontier.models import Takedown
from hemeroteca.jobs.models import Job
from hemeroteca.jobs.runner import Runner
from hemeroteca.warc.keys import SCREENSHOT
from tests.console.world import BREAD
from tests.engine.test_imports import write_warc

browser = [pytest.mark.browser, pytest.mark.slow]


def png(text, colour):
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (1280, 1800), "white")
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 0, 1280, 120), fill="#333")
    for line in range(8, 40):
        draw.text((120, line * 40), "El precio del pan subió ayer en los mercados", fill="#222", font_size=24)
    draw.text((120, 180), text, fill=colour, font_size=60)
    data = io.BytesIO()
    picture.save(data, "PNG")
    return data.getvalue()


@pytest.fixture
def pictured(world):
    """The first two versions of a page with what a browser photographed."""
    pytest.importorskip("PIL.Image")
    for row, text, colour in zip(
        world.captures[BREAD], ("El precio del pan", "El pan sube otra vez"), ("#111", "#a00"), strict=False
    ):
        beside = warc.Capture(
            url=SCREENSHOT + BREAD, captured_ms=row.captured_ms, content_type="image/png",
            body=png(text, colour),
        )  # fmt: skip
        made = warc.records(beside)
        name, offset = world.writer.append(made.data)
        world.writer.sync()
        services.insert_captures(
            [
                NewCapture(
                    record_id=made.main.record_id, url=beside.url, captured_ms=row.captured_ms, status=200,
                    mime="image/png", digest=made.digest, kind="resource", version=True, warc_name=name,
                    offset=offset, length=made.main.length, body_size=len(beside.body),
                )
            ],
            world.writer.sizes(),
        )  # fmt: skip
    return world


@pytest.mark.database
def test_two_screenshots_are_compared(client, pictured):
    pair = {
        "url": BREAD,
        "a": str(pictured.captures[BREAD][0].record_id),
        "b": str(pictured.captures[BREAD][1].record_id),
    }
    told = client.get("/compare", pair | {"view": "pictures"}).content.decode()
    assert "1 place differs" in told
    assert "data-slider" in told
    picture = client.get("/compare/picture", pair)
    assert picture["Content-Type"] == "image/png"
    small = client.get(f"/v/{pair['a']}/picture", {"width": "320"})
    from PIL import Image

    assert Image.open(io.BytesIO(small.content)).size == (320, 200)


@pytest.mark.database
def test_without_screenshots_the_page_says_how_to_get_them(client, world):
    told = client.get("/compare", {"url": BREAD, "view": "pictures"}).content.decode()
    assert "There are no screenshots of both" in told
    assert client.get("/compare/picture", {"url": BREAD}).status_code == 404


@pytest.mark.database
def test_tags_and_notes_are_for_those_who_sign_in(client, world, director, reader):
    assert client.post(f"/page?url={BREAD}", {"do": "note", "text": "no"}).status_code in (302, 403)
    client.force_login(director)
    client.post(f"/page?url={BREAD}", {"do": "tags", "tags": "Pan, harina"})
    client.post(f"/page?url={BREAD}", {"do": "note", "text": "<b>mira</b>\nesto"})
    told = client.get("/page", {"url": BREAD}).content.decode()
    assert "&lt;b&gt;mira&lt;/b&gt;<br>esto" in told
    assert "harina" in client.get("/archive").content.decode()
    assert "economia/pan" in client.get("/archive/notes", {"tag": "pan"}).content.decode()
    assert "economia/pan" in client.get("/archive/notes", {"q": "mira"}).content.decode()
    assert "economia/pan" not in client.get("/archive/notes", {"q": "nada"}).content.decode()
    client.logout()
    strangers = client.get("/page", {"url": BREAD}).content.decode()
    assert "mira" not in strangers
    client.force_login(reader)
    assert "mira" in client.get("/page", {"url": BREAD}).content.decode()
    assert client.post(f"/page?url={BREAD}", {"do": "note", "text": "no"}).status_code == 403


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_a_small_file_can_be_sent_without_scripts(client, world, director, tmp_path):
    client.force_login(director)
    file = write_warc(tmp_path / "old.warc.gz", [("http://old.example/1", "2020-01-01T00:00:00Z", "antaño")])
    with file.open("rb") as opened:
        answer = client.post("/archive/upload", {"file": opened})
    assert answer["Location"] == f"/jobs/{Job.objects.get().pk}"
    world.writer.close()
    Runner().drain(exclusive=False)
    assert Job.objects.get().result["taken"] == 1
    assert client.post("/archive/upload", {}).status_code == 422


class TestInABrowser:
    pytestmark = browser

    def test_a_file_is_sent_in_parts_and_found(self, journey, director, world, tmp_path):
        import os

        world.writer.close()
        pages = [(f"http://old.example/{n}", "2020-01-01T00:00:00Z", os.urandom(40_000).hex()) for n in range(30)]
        file = write_warc(tmp_path / "old.warc.gz", pages)
        assert file.stat().st_size > 1 << 20, "more than one part"
        page = journey("/archive/upload", director)
        page.locator("input[type=file]").set_input_files(str(file))
        page.look("upload")
        page.get_by_role("button", name=page.say("Send", "Enviar")).click()
        page.get_by_text("archive.import").first.wait_for()
        page.evaluate("window.sameDocument = true")
        Runner().drain(exclusive=False)
        page.get_by_role("heading", name=page.say("Result", "Resultado")).wait_for()
        assert page.evaluate("window.sameDocument") is True, "the page of the job followed it without leaving"
        job = Job.objects.get()
        assert (job.state, job.result["taken"]) == ("done", 30), job.message
        page.goto(f"{page.site}/archive/upload")
        page.get_by_text("old.warc.gz").wait_for()
        page.look("uploaded")
        assert IndexedCapture.objects.filter(url="http://old.example/7").exists()

    def test_tags_notes_and_what_is_kept_out(self, journey, administrator, world):
        page = journey(f"/page?url={BREAD}", administrator)
        page.get_by_text(page.say("Tags and notes", "Etiquetas y notas")).last.click()
        page.get_by_label(page.say("Tags, with commas between them", "Etiquetas, separadas por comas")).fill(
            "pan, precios"
        )
        page.get_by_role("button", name=page.say("Set the tags", "Poner las etiquetas")).click()
        page.get_by_role("link", name="precios").wait_for()
        page.locator("#notes summary").click()
        page.get_by_label(page.say("A note about this page", "Una nota sobre esta página")).fill("Cambió el titular.")
        page.get_by_role("button", name=page.say("Write the note", "Escribir la nota")).click()
        page.get_by_text("Cambió el titular.").wait_for()
        page.look("page")
        page.get_by_role("link", name="precios").click()
        page.get_by_role("heading", name=page.say("Tags and notes", "Etiquetas y notas")).wait_for()
        page.look("noted")
        assert notes.tags_of(BREAD) == ["pan", "precios"]
        page.goto(f"{page.site}/archive/erase")
        page.get_by_role("textbox", name=page.say("Address", "Dirección")).fill("evil.example/*")
        page.get_by_label(page.say("Reason", "Motivo")).fill("court order 12")
        page.get_by_role("button", name=page.say("Only do not capture again", "Solo no volver a capturar")).click()
        page.get_by_text("court order 12").wait_for()
        page.look("kept-out")
        assert Takedown.objects.get().match == "prefix"
        page.get_by_role("button", name=page.say("Lift", "Levantar")).click()
        page.get_by_text(page.say("may be captured again", "puede volver a capturarse")).wait_for()
        assert Takedown.objects.get().lifted_by == "root"

    def test_screenshots_with_a_slider(self, journey, pictured):
        a, b = (pictured.captures[BREAD][place].record_id for place in (0, 1))
        page = journey(f"/compare?url={BREAD}&a={a}&b={b}&view=pictures")
        page.locator(".slider.live").wait_for()
        over = page.locator("img.over")
        assert over.evaluate("element => getComputedStyle(element).clipPath") == "inset(0px 0px 0px 50%)"
        page.get_by_role("slider").fill("80")
        assert over.evaluate("element => getComputedStyle(element).clipPath") == "inset(0px 0px 0px 20%)"
        page.look("slider")

"""The console in a real browser: what people do, and what hostile pages try."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hemeroteca.accounts import SYSTEM, Role, services
from tests.console.conftest import PASSWORD
from tests.console.world import BREAD, HOSTILE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_search_leads_to_the_result_and_to_its_archived_copy(visit, world):
    page = visit("/")
    page.locator("#q:focus").wait_for()  # without a click, soon after the page is there
    page.keyboard.type("panaderos")
    page.keyboard.press("Enter")
    result = page.get_by_role("listitem").filter(has_text="El precio del pan sube otra vez")
    result.wait_for()
    assert result.locator("mark", has_text="panaderos").count() >= 1
    assert result.get_by_role("link", name="Live page").get_attribute("href") == BREAD
    result.get_by_role("heading").get_by_role("link").click()
    page.get_by_role("heading", name="El precio del pan sube otra vez").wait_for()
    assert "Los panaderos dicen que la harina" in page.locator("article").inner_text()
    page.get_by_role("link", name="Page without scripts").click()
    page.frame_locator("iframe.copy").get_by_text("Los panaderos dicen").first.wait_for()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download original").click()
    assert b"<h1>El precio del pan" in Path(download.value.path()).read_bytes()
    assert page.complaints == []


def test_results_are_reached_and_hosts_judged_by_keyboard(visit, world):
    services.add_user(SYSTEM, "eva", Role.DIRECTOR, PASSWORD)
    page = visit("/sign-in?next=/%3Fq=harbour")
    page.get_by_label("Name").fill("eva")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.locator(".results").wait_for()
    focused = "document.activeElement.getAttribute('href') || document.activeElement.id"
    results = page.locator(".results h2 a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    seen = []
    for key in "jjk/":
        page.keyboard.press(key)
        seen.append(page.evaluate(focused))
    assert seen == [results[0], results[1], results[0], "q"]
    page.keyboard.type("harbour host:evil.example /j")  # in the box they are letters
    assert page.locator("#q").input_value() == "harbour host:evil.example /j"
    page.locator(".judge summary").first.press("Enter")
    page.locator(".judge[open] button", has_text="Block").press("Enter")
    page.locator(".message").wait_for()
    assert page.locator(".results h2 a").count() == len(results) - 1
    assert page.complaints == []


@pytest.mark.parametrize(
    "query", ["harbour", "harbour host:news.example lang:en", "a" * 300, "before:nunca " + "b" * 300]
)
def test_a_page_of_results_fits_a_narrow_phone(visit, world, query):
    page = visit("/?q=" + query.replace(" ", "%20"), viewport={"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_all_of_the_navigation_is_in_view_on_a_phone_in_two_lines_at_most(visit, world):
    page = visit("/", viewport={"width": 360, "height": 640}, locale="es")
    links = page.locator(".top nav a")
    assert links.evaluate_all("links => new Set(links.map(link => link.offsetTop)).size") <= 2
    assert links.evaluate_all("links => links.every(link => link.getBoundingClientRect().right <= innerWidth)")


def test_facets_stand_open_beside_the_results_and_folded_on_a_phone(visit, world):
    wide = visit("/?q=pan%20OR%20harbour")
    assert wide.locator(".facets dd a").first.is_visible()
    narrow = visit("/?q=pan%20OR%20harbour", viewport={"width": 360, "height": 640})
    assert not narrow.locator(".facets dd a").first.is_visible()
    narrow.locator(".facets summary").click()
    narrow.locator(".facets dd a").first.wait_for()


def test_the_status_page_follows_the_engine_without_reloading(visit, world):
    page = visit("/status")
    page.get_by_text("42.0").wait_for()
    page.evaluate("window.sameDocument = true")
    world.engine(pages_per_second=99.5)
    page.get_by_text("99.5").wait_for()
    assert page.evaluate("window.sameDocument") is True
    (world.instance.data / "engine.json").unlink()
    page.get_by_text("No engine is at work").wait_for()
    assert page.complaints == []


def test_the_language_follows_the_browser_and_the_switch(visit):
    page = visit("/status", locale="es-ES")
    page.get_by_role("heading", name="Estado").wait_for()
    page.get_by_role("button", name="English").click()
    page.get_by_role("heading", name="Status").wait_for()
    assert page.locator("html").get_attribute("lang") == "en"
    assert urlsplit(page.url).path == "/status", "it stays on the same page"
    page.goto(page.site + "/")
    page.get_by_role("button", name="Search").wait_for()


def test_times_are_shown_in_the_readers_zone(visit, world):
    path = f"/crawls/{world.crawl.pk}"
    shown = {zone: visit(path, timezone_id=zone).locator("time").first.inner_text() for zone in ("UTC", "Asia/Tokyo")}
    assert shown["UTC"] != shown["Asia/Tokyo"]


def test_nothing_a_hostile_page_wrote_is_run_anywhere(visit, world):
    capture = world.captures[HOSTILE][0].record_id
    page = visit("/?q=harbour")
    attack = "/?q=%22%3E%3Cscript%3Ewindow.hacked=1%3C/script%3E"
    paths = ["/?q=harbour", "/status", "/crawls", f"/crawls/{world.crawl.pk}", f"/page?url={HOSTILE}"]
    paths += [f"/v/{capture}", f"/v/{capture}?view=facts", f"/v/{capture}?view=cite", "/archive?url=*.example"]
    for path in [*paths, attack]:
        page.goto(page.site + path)
        assert page.evaluate("typeof window.hacked") == "undefined", path
        assert page.locator("main script, main img").count() == 0, path


def test_a_hostile_copy_runs_nothing_reaches_nothing_and_has_no_origin(visit, world):
    capture = world.captures[HOSTILE][0].record_id
    page = visit(f"/v/{capture}?view=copy")
    frame = page.frame_locator("iframe.copy")
    frame.get_by_text("harbour").first.wait_for()
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.evaluate("document.querySelector('iframe.copy').contentDocument") is None, "an origin of its own"
    assert not [url for url in page.answered if url.endswith("/x")], "its picture is not fetched"
    frame.get_by_role("button", name="Go").click()
    page.goto(page.site + f"/v/{capture}/copy")  # somebody opens the frame's address itself
    assert page.get_by_text("harbour").count()
    assert not [url for url in page.requested if "sign-out" in url], "its form is not sent"


def test_a_director_signs_in_and_orders_a_crawl(visit):
    services.add_user(SYSTEM, "eva", Role.DIRECTOR, PASSWORD)
    page = visit("/crawls")
    assert page.get_by_role("button", name="Start the crawl").count() == 0
    page.get_by_role("link", name="Sign in").click()
    page.get_by_label("Name").fill("eva")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    page.get_by_label("Addresses to start from").fill("https://nuevo.example/")
    page.get_by_label("Most pages").fill("25")
    page.get_by_role("button", name="Start the crawl").click()
    page.get_by_text("https://nuevo.example/").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("stopping").wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("link", name="Sign in").wait_for()
    assert page.complaints == []


def test_everything_comes_from_this_server_also_the_page_of_the_api(visit):
    page = visit("/")
    for path in ("/?q=pan", "/status", "/api/v1/docs"):
        page.goto(page.site + path)
    page.get_by_text("/api/v1/search", exact=True).wait_for()
    assert {urlsplit(url).netloc for url in page.requested if not url.startswith("data:")} == {
        urlsplit(page.site).netloc
    }
    assert page.complaints == []


def test_no_page_and_no_table_is_wider_than_a_phone(visit, world):
    page = visit("/", viewport={"width": 390, "height": 844}, locale="es")
    capture = world.captures[HOSTILE][0].record_id
    for path in ("/", "/?q=harbour", "/status", "/crawls", f"/crawls/{world.crawl.pk}", f"/page?url={BREAD}",
                 f"/v/{capture}", f"/v/{capture}?view=facts", f"/v/{capture}?view=cite", "/archive?url=*.example",
                 f"/compare?url={BREAD}", f"/compare?url={BREAD}&view=sides", "/sign-in", "/nowhere"):  # fmt: skip
        page.goto(page.site + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
        wide = "[...document.querySelectorAll('main .scroll')].filter(box => box.scrollWidth > box.clientWidth).length"
        assert page.evaluate(wide) == 0, f"{path}: a table is read from top to bottom, not sideways"
    page.goto(page.site + f"/compare?url={BREAD}&view=sides")
    assert page.locator(".sides.stacked").count() == 0, "side by side stays side by side"
    page.emulate_media(media="print")
    page.goto(page.site + f"/page?url={BREAD}")
    assert page.locator(".versions").is_visible(), "the list of versions can be printed"
    page.emulate_media(media="screen")
    page.goto(page.site + "/crawls")
    assert page.locator("td[data-heading=Estado]").first.is_visible(), "each cell says its heading"


def test_every_field_has_a_name_and_every_page_one_main_heading(visit, world):
    page = visit("/")
    for path in (
        "/",
        "/?q=pan",
        "/status",
        "/crawls",
        "/archive?url=*.example",
        f"/page?url={BREAD}",
        f"/compare?url={BREAD}",
        f"/v/{world.captures[BREAD][0].record_id}",
        "/sign-in",
    ):
        page.goto(page.site + path)
        assert page.get_by_role("heading", level=1).count() == 1, path
        unnamed = page.evaluate(
            "[...document.querySelectorAll('input:not([type=hidden]), select, textarea, button, a')]"
            ".filter(e => !(e.labels && e.labels.length) && !e.textContent.trim() && !e.ariaLabel)"
            ".map(e => e.outerHTML)"
        )
        assert unnamed == [], path

"""Replay in Chromium: pages work, and nothing in them reaches the console, whatever it tries."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.console.conftest import PASSWORD
from tests.replay.making import attack

STAMP = "20251115094640"

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def window(served, chromium):
    """window(**options) -> a browser of its own, with a record of what the console answered."""
    contexts = []

    def begin(**options):
        context = chromium.new_context(**{"locale": "en-GB", "viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        return context

    yield begin
    for context in contexts:
        context.close()


def sign_in(context, console):
    page = context.new_page()
    page.goto(f"{console}/sign-in")
    page.get_by_label("Name").fill("eva")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").wait_for()
    return page


def test_a_result_leads_to_the_page_with_its_script_and_style_and_back(served, window):
    from playwright.sync_api import expect

    page = window().new_page()
    page.goto(f"{served.console}/page?url=https://diario.example/portada")
    page.get_by_role("link", name="Archived copy").click()
    page.wait_for_url(f"{served.origin}/20251116094640/https://diario.example/portada")
    inside = page.frame_locator("#replay_iframe")
    inside.get_by_text("script of diario.example").wait_for()
    page.get_by_role("link", name="Earlier version").click()
    inside.get_by_role("heading", name="Portada 1").wait_for()
    expect(inside.locator("h1")).to_have_css("color", "rgb(200, 0, 0)")
    inside.get_by_role("link", name="El pan").click()
    page.wait_for_url(re.compile(r"/\d+/https://diario\.example/economia/pan$"))
    expect(page.locator("#address")).to_have_value("https://diario.example/economia/pan")
    page.get_by_role("link", name="All versions").click()
    page.get_by_role("heading", name="diario.example/economia/pan").wait_for()
    assert page.url.startswith(served.console)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("without_policy", [False, True], ids=["with policy", "even without its policy"])
@pytest.mark.parametrize("modifier", ["id_", "mp_"], ids=["as it was", "rewritten"])
def test_a_hostile_page_reaches_nothing_of_the_console(served, window, name, without_policy, modifier):
    """Signed in at the console, somebody opens it. `bypass_csp` shows that the policy is not the only defence."""
    console = f"http://{name}:{served.port}"
    context = window(bypass_csp=without_policy)
    own = sign_in(context, console)
    before = {(cookie["name"], cookie["domain"]): cookie["value"] for cookie in context.cookies(console)}
    assert ("sessionid", name) in before
    page = context.new_page()
    sent = []  # what the browser really asked for: a page can be told anything about itself by pywb's script
    page.on("request", lambda request: sent.append(request))
    page.goto(f"{served.origin}/{STAMP}{modifier}/https://evil.example/attack")
    if modifier == "mp_":  # it stands in the frame under the bar; wait for its own document
        page.wait_for_url(f"{served.origin}/{STAMP}/https://evil.example/attack")
        page.locator("#replay_iframe").wait_for()
        inside = page.locator("#replay_iframe").element_handle().content_frame()
    else:
        inside = page.main_frame
    inside.wait_for_function("window.results")
    results = inside.evaluate("window.results")
    to_console = [request for request in sent if not request.url.startswith((served.origin, "data:", "about:"))]
    if not without_policy:
        assert not [request.url for request in to_console if request.response()], "the policy lets nothing out"
    for request in to_console:
        cookies = request.all_headers().get("cookie", "")
        assert "sessionid" not in cookies, (request.method, request.url)
    assert "csrftoken" not in results["cookie"]
    assert "sessionid" not in results["cookie"]
    for what, outcome in results.items():
        if what.startswith(("read", "api")) and not outcome.startswith("refused"):
            # pywb's script led it into the archive, which has no such page
            assert modifier == "mp_", (what, outcome)
            assert "lang=" not in outcome, "that would be the console's page"
            assert not [request.url for request in to_console if request.resource_type == "fetch"], (what, outcome)
        if what.startswith(("frame", "window")):
            assert outcome != "read", (what, outcome)
        if what.startswith("worker "):
            assert outcome.startswith("refused"), (what, outcome)
    assert results["worker"].startswith("refused")
    assert results["workers"] == 0
    after = {(cookie["name"], cookie["domain"]): cookie["value"] for cookie in context.cookies(console)}
    assert after == before, "no cookie of the console was changed, added or taken away"
    set_by_it = {cookie["domain"].lstrip(".") for cookie in context.cookies() if cookie["value"] == "stolen"}
    assert set_by_it <= {"replay.localhost"}
    own.goto(f"{console}/crawls")
    own.get_by_role("button", name="Sign out").wait_for()
    assert own.get_by_text("stolen.example").count() == 0, "no crawl was ordered"


def test_the_same_attack_under_the_name_of_the_console_would_see_its_cookies(served, window):
    """The control: what a port of its own alone would be worth, and that the attack above can succeed."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(attack(served.port))

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        context = window()
        sign_in(context, served.console)
        page = context.new_page()
        sent = []
        page.on("request", lambda request: sent.append(request))
        page.goto(f"http://127.0.0.1:{server.server_port}/attack")
        page.wait_for_function("window.results")
        to_console = [request for request in sent if request.url.startswith(served.console)]
        carried = [request.url for request in to_console if "sessionid" in request.all_headers().get("cookie", "")]
        results = page.evaluate("window.results")
        server.shutdown()
    assert "csrftoken" in results["cookie"]
    assert carried


def test_the_bar_fits_a_phone(served, window):
    page = window(viewport={"width": 390, "height": 844}, locale="es-ES").new_page()
    page.goto(f"{served.origin}/{STAMP}/https://diario.example/portada")
    page.frame_locator("#replay_iframe").get_by_text("script of").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("link", name="Todas las versiones").wait_for()


def test_the_bar_tells_the_capture_that_is_shown_and_knows_the_ends(served, window):
    """Two versions of one minute read differently, in one named zone; a moment between leads to the nearest capture."""
    from playwright.sync_api import expect

    page = window(timezone_id="America/Caracas").new_page()
    url = "https://diario.example/minuto"
    page.goto(f"{served.origin}/2026/{url}")
    page.wait_for_url(f"{served.origin}/20251115094645/{url}")
    expect(page.locator("#when")).to_have_text(re.compile(r"Nov 15, 2025, 9:46:45\sAM UTC"))
    expect(page.get_by_label("Later version")).to_have_attribute("aria-disabled", "true")
    expect(page.locator("#timeline a")).to_have_count(2)
    page.get_by_label("Earlier version").click()
    page.wait_for_url(f"{served.origin}/{STAMP}/{url}")
    expect(page.locator("#when")).to_have_text(re.compile(r"Nov 15, 2025, 9:46:40\sAM UTC"))
    expect(page.get_by_label("Earlier version")).to_have_attribute("aria-disabled", "true")
    page.locator("#timeline a").last.click()
    page.wait_for_url(f"{served.origin}/20251115094645/{url}")
    page.get_by_label("Address").fill("diario.example/portada")
    page.get_by_role("button", name="Show").click()
    page.frame_locator("#replay_iframe").get_by_role("heading", name="Portada").wait_for()


def test_what_is_not_archived_has_no_date(served, window):
    from playwright.sync_api import expect

    page = window().new_page()
    told = page.goto(f"{served.origin}/20260101000000/https://diario.example/never")
    assert told.status == 404
    assert "memento-datetime" not in told.headers
    page.get_by_role("heading", name="This address is not in the archive").wait_for()
    assert "2026" not in page.locator("body").inner_text()
    page.goto(f"{served.origin}/{STAMP}/https://diario.example/lost-link")
    page.frame_locator("#replay_iframe").get_by_role("link", name="nowhere").click()
    page.frame_locator("#replay_iframe").get_by_text("not in the archive").wait_for()
    expect(page.locator("#state")).to_have_text("Not archived")
    expect(page.locator("#address")).to_have_value("https://diario.example/nowhere")
    expect(page.locator("#when")).to_be_hidden()


def test_a_page_that_a_browser_rendered_is_not_blank_without_scripts(served, window):
    page = window().new_page()
    page.goto(f"{served.console}/page?url=https://diario.example/app")
    page.get_by_role("link", name="Text").first.click()
    page.get_by_role("link", name="Page without scripts").click()
    page.frame_locator("iframe.copy").get_by_text("made by a script").wait_for()

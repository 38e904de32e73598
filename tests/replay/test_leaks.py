"""An archive for members in Chromium: a hostile page reads no other capture and carries nothing off; others work."""

import re

import pytest

from tests.replay.making import leak
from tests.replay.test_browser import STAMP, sign_in
from tests.waiting import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SECRET = "panaderos"
WAYS = {
    "fetch",
    "image",
    "beacon",
    "socket",
    "open",
    "frame",
    "prefetch",
    "upwards",
    "formTop",
}  # some that work elsewhere
WITHOUT_A_POLICY = {"rtc"}  # Chromium does not know `webrtc 'block'` yet: SECURITY.md says so


@pytest.fixture
def member(closed, chromium):
    context = chromium.new_context(locale="en-GB", viewport={"width": 1280, "height": 800})
    page = sign_in(context, closed.console)
    page.goto(f"{closed.console}/page?url=https://diario.example/portada")
    page.get_by_role("link", name="Archived copy").click()
    page.wait_for_url(f"{closed.origin}/*/https://diario.example/portada")
    yield page
    context.close()


@pytest.mark.parametrize("page_name", ["leak", "launch"], ids=["rewritten", "as it was"])
def test_a_hostile_page_reads_nothing_of_others_and_carries_nothing_off(closed, sink, member, page_name):
    sink.heard.clear()
    member.goto(f"{closed.origin}/{STAMP}/https://evil.example/{page_name}")
    frame = member.locator("#replay_iframe").element_handle().content_frame()
    frame.wait_for_url(re.compile("/https://evil.example/leak$"))
    frame.wait_for_function("window.read")
    read = frame.evaluate("window.read")
    for way, text in read.items():
        assert SECRET not in text, way
    assert read["own site"] == '{"of": "evil.example"}', "a page may read its own site, as on the web"
    assert read["given to all"] == '{"given": 1}'
    assert read["not given"].startswith("refused")
    frame.evaluate("window.go = true")
    lead_off(frame)
    assert set(sink.heard) <= WITHOUT_A_POLICY


def lead_off(frame):
    """Until the page has led itself off, which ends at the frame's policy or at a page of replay: most ways were tried
    before."""
    from playwright.sync_api import Error

    try:
        frame.wait_for_url(lambda url: url.startswith("chrome-error:") or "/http://127.0.0.1:" in url)
    except Error as error:
        if "ERR_ABORTED" not in str(error):
            raise


def test_the_same_page_elsewhere_carries_things_off_in_most_ways(sink, chromium):
    """The control: the ways are real."""
    sink.heard.clear()
    sink.page = leak(sink.port, sink.stun)
    context = chromium.new_context()
    page = context.new_page()
    try:
        page.goto(f"http://127.0.0.1:{sink.port}/page")
        page.evaluate("window.go = true")
        wait_for(lambda: set(sink.heard) >= WAYS, lambda: sink.heard)
    finally:
        sink.page = b""
        context.close()


def test_pages_of_a_closed_archive_have_their_scripts_styles_and_links(closed, member):
    from playwright.sync_api import expect

    inside = member.frame_locator("#replay_iframe")
    inside.get_by_text("script of diario.example").wait_for()
    member.get_by_role("link", name="Earlier version").click()
    inside.get_by_role("heading", name="Portada 1").wait_for()
    expect(inside.locator("h1")).to_have_css("color", "rgb(200, 0, 0)")
    inside.get_by_role("link", name="El pan").click()
    member.wait_for_url(re.compile(r"/\d+/https://diario\.example/economia/pan$"))
    assert "~" not in member.url, "what a member hands on is the address, not the ticket"

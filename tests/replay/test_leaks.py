"""An archive for members in Chromium: a hostile page reads no other capture and carries nothing off; others work."""

import re
from functools import partial

import pytest

from tests.replay.making import leak
from tests.replay.test_browser import STAMP, sign_in
from tests.waiting import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SECRET = "panaderos"
WITHOUT_A_POLICY = {"rtc"}  # Chromium does not know `webrtc 'block'` yet: SECURITY.md says so
DEAD = {"icon", "prerender"}  # which a browser without a window does nowhere
# What Chromium says when the frame's policy, the page's own or its sandbox ended a way.
STOPPED = re.compile(
    "Framing '.*' violates the following Content Security Policy|violates the following Content Security Policy "
    "directive: \"form-action|Blocked opening '.*' in a new window|Unsafe attempt to initiate navigation"
)


@pytest.fixture
def member(closed, chromium):
    context = chromium.new_context(locale="en-GB", viewport={"width": 1280, "height": 800})
    page = sign_in(context, closed.console)
    page.goto(f"{closed.console}/page?url=https://diario.example/portada")
    page.get_by_role("link", name="Archived copy").click()
    page.wait_for_url(f"{closed.origin}/*/https://diario.example/portada")
    yield page
    context.close()


def hostile(closed, member, page_name):
    """The frame of the hostile page, when its script has run."""
    member.goto(f"{closed.origin}/{STAMP}/https://evil.example/{page_name}")
    frame = member.locator("#replay_iframe").element_handle().content_frame()
    modifier = "im_" if page_name == "launch" else "mp_"
    frame.wait_for_url(re.compile(f"/~.*{modifier}/https://evil.example/leak$"))
    frame.wait_for_function("window.carry")
    return frame


KINDS = pytest.mark.parametrize("page_name", ["leak", "launch"], ids=["rewritten", "as it was"])


@KINDS
def test_a_hostile_page_reads_nothing_of_others_and_carries_nothing_off(closed, sink, member, page_name):
    sink.heard.clear()
    frame = hostile(closed, member, page_name)
    read = frame.evaluate("window.look()")
    for way, text in read.items():
        assert SECRET not in text, way
    assert read["own site"] == '{"of": "evil.example"}', "a page may read its own site, as on the web"
    assert read["given to all"] == '{"given": 1}'
    assert read["not given"].startswith("refused")
    for way in frame.evaluate("window.ways"):
        frame.evaluate("way => Promise.race([window.carry(way), new Promise((done) => setTimeout(done, 150))])", way)
    assert set(sink.heard) <= WITHOUT_A_POLICY


@KINDS
def test_a_hostile_page_leads_nowhere(closed, sink, member, page_name):
    """Each way in a run of its own. All are stopped, but some of a rewritten page: replay has no such page."""
    sink.heard.clear()
    stopped, asked, ways = [], [], hostile(closed, member, page_name).evaluate("window.leading")
    member.on("console", lambda message: stopped.extend(STOPPED.findall(message.text)))
    member.on("response", lambda response: asked.append(response.url))

    def ended(way):
        led = f"mp_/http://127.0.0.1:{sink.port}/{way}?"
        return stopped or (page_name == "leak" and any(led in url for url in asked))

    assert len(ways) > 15
    for way in ways:
        frame = hostile(closed, member, page_name)
        stopped.clear()
        frame.evaluate("way => { setTimeout(() => window.carry(way)) }", way)
        wait_for(partial(ended, way), f"an end of {way}", lambda: member.wait_for_timeout(20))
        assert member.url.startswith(closed.origin + "/"), way
        assert sink.heard == [], way


def test_the_same_page_elsewhere_carries_things_off_in_every_way(sink, chromium):
    """The control: the ways are real."""
    sink.page = leak(sink.port, sink.stun)
    context = chromium.new_context()
    try:
        page = opened(context, sink)
        every, leading = page.evaluate("[window.ways, window.leading]")
        for way in [*every, *leading]:
            if way in leading:
                page = opened(context, sink)
            sink.heard.clear()
            page.evaluate("way => { setTimeout(() => window.carry(way)) }", way)
            if way not in DEAD:
                wait_for(partial(sink.heard.count, way), way, partial(page.wait_for_timeout, 20))
    finally:
        sink.page = b""
        context.close()


def opened(context, sink):
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{sink.port}/page")
    return page


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

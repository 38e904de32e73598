"""Accounts in a browser, as a person would: an invitation, two-factor sign-in, a proposal, favourites, the log."""

import pytest

from hemeroteca.accounts import SYSTEM, Role, services
from tests.accounts.test_registration import code_for
from tests.console.conftest import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_an_invited_person_makes_an_account_and_switches_two_factor_sign_in_on(journey):
    path = services.invite(SYSTEM, Role.SUBSCRIBER).path
    page = journey(path)
    page.look("register")
    page.locator("input[name=username]").fill("nora")
    page.locator("input[name=password1]").fill(PASSWORD)
    page.get_by_role("button", name=page.say("Make an account", "Crear una cuenta")).click()
    page.locator(".person .who").wait_for(state="attached")
    page.goto(page.site + "/account")
    page.look("account")
    page.get_by_role("link", name=page.say("Switch it on", "Activarla")).click()
    if "again" in page.url:
        page.locator("input[name=password]").fill(PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url("**/two-factor/on")
    page.look("two-factor")
    page.locator("summary", has_text=page.say("I cannot scan it", "No puedo escanearlo")).click()
    secret = page.locator("#secret").inner_text()
    page.locator("input[name=code]").fill(code_for(secret))
    page.keyboard.press("Enter")
    page.wait_for_url("**/account/codes")
    page.look("codes")
    page.goto(page.site + "/watch/add?url=https://press.test/")
    page.locator("form[method=post] button").last.click()
    page.wait_for_url("**/watch/*")
    page.goto(page.site + "/watch/proposals")
    page.get_by_text("press.test").first.wait_for()
    page.look("proposals")


def test_an_administrator_invites_and_reads_the_audit_log(journey, administrator):
    page = journey("/people", administrator)
    page.look("people")
    page.get_by_role("button", name=page.say("Invite", "Invitar"), exact=True).click()
    page.locator("#invitation").wait_for()
    page.look("invited")
    page.goto(page.site + "/audit")
    page.get_by_role("cell", name=page.say("invited somebody", "invitó a alguien")).wait_for()
    page.look("audit")
    page.goto(page.site + "/settings")
    page.look("settings")


def test_a_result_is_kept_and_every_section_is_in_view(journey, reader):
    page = journey("/?q=panaderos", reader)
    for link in page.locator(".top nav a").all():
        box = link.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= page.viewport_size["width"], link.inner_text()
    page.locator(".judge summary").first.click()
    page.get_by_role("button", name=page.say("Keep among favourites", "Guardar en favoritos")).first.click()
    page.goto(page.site + "/favourites")
    page.locator(".cards li").wait_for()
    page.look("favourites")
    page.goto(page.site + "/")
    page.look("home")
    for address in ("/password", "/register", "/nowhere"):
        page.context.clear_cookies()
        page.complaints.clear()
        page.goto(page.site + address)
        page.complaints.clear()  # a page that is not found is a complaint of the browser
        page.look(address.strip("/"))

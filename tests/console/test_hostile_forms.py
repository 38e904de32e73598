"""Hostile strings through every form of the console, and then every page again: what was kept comes back as text."""

from urllib.parse import urlsplit

import pytest
from django.test import Client
from lxml import html

from hemeroteca.accounts import SYSTEM
from hemeroteca.archive.models import PageNote, PageTag
from hemeroteca.console.routes import PAGES
from hemeroteca.frontier.models import CrawlOrder
from hemeroteca.watch import services as watch
from tests.accounts.test_every_route import filled
from tests.console.test_hostile_strings import BOOKMARKLET, BOOKMARKLETS, LIVE, SCRIPTED
from tests.console.world import BREAD

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

STRINGS = ['"><script>hacked(1)</script>', "javascript:hacked(1)//'><svg onload=hacked(1)>"]
ADDRESS = 'https://hacked.example/"><svg onload=hacked(1)>'  # where only an address gets further
LEAVING = {"/sign-out", "/language", "/account/two-factor/off"}  # of the sign-in itself
ASKED = {f"/page?url={BREAD}", "/crawls", "/watch/channels", f"/save?url={BREAD}"}  # where what people write is kept


def sent(form, button, string, hidden):
    """What a browser would send, with a hostile string in every field that somebody can type into."""
    data = {}
    for field in form.xpath(".//input[@name] | .//textarea[@name] | .//select[@name]"):
        name, kind = field.get("name"), field.get("type", "text")
        if kind == "hidden":
            data[name] = string if hidden else field.get("value", "")
        elif field.tag == "select":
            options = field.xpath(".//option")
            data[name] = string if hidden else options[-1].get("value", options[-1].text or "") if options else ""
        elif kind in ("number", "range", "date"):
            data[name] = string if hidden else field.get("min", "1" if kind != "date" else "")
        elif kind in ("checkbox", "radio"):
            data[name] = field.get("value", "on")
        elif kind != "file":
            data[name] = ADDRESS if name in ("url", "seeds", "address") and not hidden else string
    if button is not None and button.get("name"):
        data[button.get("name")] = button.get("value", "")
    return data


def check(answer, what):
    assert answer.status_code < 500, what
    if answer.headers.get("Content-Type", "").startswith("text/html") and not answer.streaming:
        assert not LIVE.search(answer.content), what
        own = [BOOKMARKLET] if what.partition("?")[0] == BOOKMARKLETS else []
        assert [link for link in SCRIPTED.findall(answer.content) if link not in own] == [], what


def test_what_is_typed_into_any_form_is_text_wherever_it_comes_back(world, administrator):
    site, _ = watch.subscribe(SYSTEM, watch.Order(url="https://diario.example/", name=STRINGS[0], purpose=STRINGS[1]))
    asked = ASKED | {f"/watch/{site.pk}", f"/watch/{site.pk}/edit", f"/crawls/{world.crawl.pk}"}
    client = Client(raise_request_exception=False)
    given = 0
    for path in sorted(asked | {f"/{filled(page.address)}" for page in PAGES if page.send}):
        client.force_login(administrator)
        page = client.get(path)
        if page.status_code != 200 or not page.headers["Content-Type"].startswith("text/html"):
            continue
        for form in html.document_fromstring(page.content).xpath("//form[translate(@method, 'POST', 'post')='post']"):
            target = form.get("action") or path
            if urlsplit(target).path in LEAVING:
                continue
            for button in form.xpath(".//button[@name]") or [None]:
                for number, string in enumerate(STRINGS):
                    client.force_login(administrator)
                    data = sent(form, button, string, hidden=number == 1)
                    check(client.post(target, data, follow=False), target)
                    given += 1
    assert given > 60
    assert PageNote.objects.filter(text__contains="hacked").exists()
    assert PageTag.objects.filter(tag__contains="hacked").exists()
    assert CrawlOrder.objects.filter(name__contains="hacked").exists()
    client.force_login(administrator)
    seen = 0
    for path in sorted(asked | {f"/{filled(page.address)}" for page in PAGES}):
        if urlsplit(path).path in LEAVING:
            continue
        answer = client.get(path, headers={"accept-language": "es"})
        check(answer, path)
        seen += answer.status_code == 200 and b"hacked" in b"".join(answer)
    assert seen >= 4, "what was typed is shown somewhere"

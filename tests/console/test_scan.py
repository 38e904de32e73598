"""What a scanner of web applications looks for, on every page: headers, inline code, forms without a token, cookies,
errors that tell too much."""

import re

import pytest
from django.test import Client

from hemeroteca.console.routes import PAGES
from tests.accounts.test_every_route import filled

pytestmark = pytest.mark.django_db
PROBES = ("'\"><script>alert(1)</script>", "../../../../etc/passwd", "1' OR '1'='1", "\x00", "{{7*7}}", "${7*7}")
LEAKS = re.compile(r"Traceback \(most recent call last\)|django\.|sqlite3\.|psycopg|/site-packages/")


@pytest.fixture
def browser(world, administrator):
    client = Client(headers={"host": "localhost"})
    client.force_login(administrator)
    return client


def pages(client):
    for page in PAGES:
        if page.name in ("charts", "favicon"):
            continue
        answer = client.get(f"/{filled(page.address)}")
        if "text/html" in answer.headers.get("Content-Type", ""):
            yield page, answer, answer.content.decode()


def test_every_page_forbids_what_is_not_its_own(browser):
    seen = 0
    for page, answer, _ in pages(browser):
        policy = answer.headers["Content-Security-Policy"]
        assert "unsafe" not in policy, page.address
        assert "default-src 'none'" in policy or "sandbox" in policy, page.address
        assert answer.headers["X-Content-Type-Options"] == "nosniff", page.address
        assert answer.headers["X-Frame-Options"] in ("DENY", "SAMEORIGIN"), page.address
        assert answer.headers["Referrer-Policy"] == "same-origin", page.address
        seen += 1
    assert seen > 40


def test_no_page_has_code_or_style_of_its_own_or_a_form_without_a_token(browser):
    for page, _, text in pages(browser):
        assert not re.search(r"<script(?![^>]*\bsrc=)(?![^>]*type=\"application/json\")[^>]*>", text), page.address
        assert not re.search(r"<style\b|\son\w+=\"|\sstyle=\"", text), page.address
        assert "javascript:" not in text or page.name == "save", "only the bookmarklet is a script, for another page"
        for form in re.findall(r"<form\b.*?</form>", text, re.DOTALL):
            if 'method="post"' in form:
                assert "csrfmiddlewaretoken" in form, (page.address, form[:200])
            assert not re.search(r'action="https?:', form), page.address
        for field in re.findall(r"<input[^>]*type=\"password\"[^>]*>", text):
            assert "autocomplete=" in field, (page.address, field)
            assert not re.search(r'\svalue="[^"]', field), page.address


@pytest.mark.database  # a probe may reach it
def test_probes_in_every_parameter_are_neither_run_nor_answered_with_the_inside(browser):
    names = ("q", "url", "next", "who", "act", "thing", "before", "format", "invitation", "key", "name", "year", "p")
    for page in PAGES:
        if page.name in ("charts", "favicon", "language"):
            continue
        for probe in PROBES:
            answer = browser.get(f"/{filled(page.address)}", dict.fromkeys(names, probe))
            assert answer.status_code < 500, (page.address, probe)
            if "text/html" in answer.headers.get("Content-Type", "") and not answer.streaming:
                text = answer.content.decode()
                assert "<script>alert(1)" not in text, page.address
                assert not LEAKS.search(text), (page.address, probe)
            assert not answer.headers.get("Location", "").startswith(("http:", "https:", "//")), page.address


def test_a_post_without_the_token_is_refused_everywhere(administrator, world):
    strict = Client(enforce_csrf_checks=True, headers={"host": "localhost"})
    strict.force_login(administrator)
    for page in PAGES:
        if page.send:
            assert strict.post(f"/{filled(page.address)}", {"do": "x"}).status_code in (403, 405), page.address

"""The frame of the console: navigation by role, charts drawn under its policy, jobs followed while they run."""

from types import ModuleType

import pytest
from django.http import HttpResponse
from django.template import Context, Template, engines
from django.urls import path, reverse

from hemeroteca import django_urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.console import charts
from hemeroteca.console.routes import PAGES, SECTIONS
from hemeroteca.jobs import services as jobs
from hemeroteca.jobs.models import Job

ROWS = [{"day": f"2026-03-{day:02}", "changes": day % 5} for day in range(1, 29)]
browser = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_names_of_pages_are_unique():
    names = [page.name for page in PAGES]
    assert len(names) == len(set(names))
    assert all(section.page(name) for section in SECTIONS for name, _ in section.menu)


@pytest.mark.django_db
@pytest.mark.database
def test_the_menu_shows_only_what_whoever_looks_may_see(client, world, reader):
    stranger = client.get("/status").content.decode()
    assert '<nav class="menu"' in stranger
    assert 'href="/jobs"' not in stranger
    client.force_login(reader)
    assert 'href="/jobs"' in client.get("/status").content.decode()


@pytest.mark.django_db
@pytest.mark.database
def test_a_job_is_for_its_owner_and_for_directors(client, instance, reader, director):
    job = jobs.submit(SYSTEM, "search.rebuild", {})
    client.force_login(reader)
    assert client.get(f"/jobs/{job.pk}").status_code == 403
    assert client.get(f"/jobs/{job.pk}/progress").status_code == 403
    client.force_login(director)
    assert client.get(f"/jobs/{job.pk}").status_code == 200
    assert client.get("/jobs/99999999999999999999").status_code == 404
    again = 'hx-trigger="load" hx-select="#content" hx-target="#content"'
    assert again not in client.get(f"/jobs/{job.pk}/progress").content.decode()
    Job.objects.update(state="done")
    answer = client.get(f"/jobs/{job.pk}/progress")
    assert again in answer.content.decode()
    assert "HX-Refresh" not in answer, "the browser does not leave by itself"
    assert again not in client.get(f"/jobs/{job.pk}").content.decode(), "once"


def test_a_chart_carries_its_figures_as_a_table_and_escapes_them():
    rows = [{"page": "</script><b>x", "visits": 3}, {"page": "b", "visits": None}]
    made = charts.spec(rows, "page", "visits", kind="nominal", titles=("Page", "Visits"))
    shown = Template('{% load console %}{% chart spec "Visits" %}').render(Context({"spec": made}))
    assert "<b>x" not in shown
    assert "\\u003C/script\\u003E" in shown
    assert "<td>3</td>" in shown


def test_bars_with_names_lie_where_they_can_be_read_and_few_days_are_named_once():
    made = charts.spec([{"who": "A long name", "edits": 3}], "who", "edits", kind="nominal")
    assert made["encoding"]["y"]["field"] == "who"
    made = charts.spec([{"day": "2026-11-17", "n": 3}], "day", "n", unit="yearmonthdate")
    assert made["encoding"]["x"]["axis"] == {"tickCount": "day"}


@pytest.mark.django_db
def test_pages_travel_compressed_and_other_answers_as_they_are(client):
    asked = {"Accept-Encoding": "gzip"}
    assert client.get("/sign-in", headers=asked)["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in client.get("/api/v1/openapi.json", headers=asked)


@pytest.mark.django_db
@pytest.mark.slow
def test_the_drawing_library_is_served_compressed_and_for_good(client, instance):
    address = reverse("charts", args=[charts.library_name()])
    answer = client.get(address)
    body = b"".join(answer.streaming_content)
    assert answer["Content-Encoding"] == "gzip"
    assert "immutable" in answer["Cache-Control"]
    assert len(body) < 400_000
    assert client.get("/charts/other.js").status_code == 404


class TestInABrowser:
    pytestmark = browser

    def test_a_job_is_followed_until_it_is_cancelled(self, journey, administrator):
        job = jobs.submit(SYSTEM, "search.rebuild", {})
        page = journey("/jobs", administrator)
        page.look("list")
        named = page.say("Rebuilding of the search index", "Reconstrucción del índice de búsqueda")
        page.get_by_role("link", name=named).click()
        page.get_by_text(page.say("waiting", "en espera")).first.wait_for()
        Job.objects.update(state="running", done=3, total=10, message="reading", lease_ms=1 << 60)
        page.get_by_text(page.say("3 of 10", "3 de 10")).wait_for()
        page.look("running")
        Job.objects.update(state="queued")
        page.get_by_role("button", name=page.say("Cancel", "Cancelar")).click()
        page.get_by_text(page.say("cancelled", "cancelado")).first.wait_for()
        page.get_by_role("button", name=page.say("Do it again", "Repetir")).click()
        page.get_by_text(page.say("waiting", "en espera")).first.wait_for()
        assert Job.objects.get(pk=job.pk).state == "queued"

    def test_a_chart_is_drawn_without_eval_and_without_foreign_styles(self, journey, settings, administrator):
        settings.ROOT_URLCONF = ModuleType("urls_with_a_chart")
        settings.ROOT_URLCONF.urlpatterns = [path("chart", shows_a_chart), *django_urls.urlpatterns]
        page = journey("/", administrator)
        page.goto(page.site + "/chart")
        page.locator("figure.chart[data-drawn] svg").wait_for()
        assert page.locator("figure.chart svg path").count() > 20
        page.look("chart")
        page.locator("figure.chart svg .mark-rect path").nth(2).hover()
        page.locator("#vg-tooltip-element.visible").wait_for()
        assert page.complaints == []

    def test_a_chart_of_a_dark_page_is_printed_dark_on_light(self, visit, settings):
        settings.ROOT_URLCONF = ModuleType("urls_with_a_chart")
        settings.ROOT_URLCONF.urlpatterns = [path("chart", shows_a_chart), *django_urls.urlpatterns]
        page = visit("/chart", color_scheme="dark")
        text = page.locator("figure.chart[data-drawn] svg .role-axis-label text").first
        text.wait_for()
        on_screen = text.evaluate("text => getComputedStyle(text).fill")
        page.emulate_media(media="print", color_scheme="light")
        on_paper = text.evaluate("text => getComputedStyle(text).fill")
        assert (on_screen, on_paper) == ("rgb(167, 159, 146)", "rgb(106, 100, 89)")


def shows_a_chart(request):
    source = """{% extends "console/base.html" %}{% load console %}{% block scripts %}{% chart_scripts %}{% endblock %}
        {% block content %}<h1>Chart</h1>{% chart spec "Changes" %}{% endblock %}"""
    made = charts.spec(ROWS, "day", "changes", titles=("Day", "Changes"), unit="yearmonthdate")
    return HttpResponse(engines["django"].from_string(source).render({"spec": made}, request))

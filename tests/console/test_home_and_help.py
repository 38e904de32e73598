"""The first page tells what is new, results open archived copies, help in both languages, errors as pages."""

import logging
import re

import pytest
from django.test import RequestFactory
from django.utils import translation

from hemeroteca import urls
from hemeroteca.console import error_pages
from hemeroteca.console.help import IDEAS
from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.search.index.version_index import rebuild_versions
from tests.console.world import BREAD

browser = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def text(client, address, status=200, **headers):
    answer = client.get(address, **headers)
    assert answer.status_code == status
    return answer.content.decode()


@pytest.mark.django_db
@pytest.mark.database
class TestFirstPage:
    def test_it_tells_what_was_captured_lately(self, client, world):
        page = text(client, "/")
        assert "Lately captured" in page
        assert "diario.example" in page

    def test_a_result_opens_the_archived_copy_and_a_setting_turns_it_round(self, client, world, settings):
        page = text(client, "/?q=panaderos")
        assert f'<a href="{BREAD}" rel="noopener noreferrer nofollow">Live page</a>' in page
        assert '"auto"><a href="/v/' in page
        settings.CONFIG = settings.CONFIG.__class__(**{**vars(settings.CONFIG), "title_opens_live": True})
        page = text(client, "/?q=panaderos")
        assert f'"auto"><a href="{BREAD}"' in page
        assert "Live page" not in page

    def test_words_that_only_a_past_version_has_are_found_with_a_hint(self, client, world, instance):
        past = SearchDocument(
            key=urls.key(BREAD), url=BREAD, title="Antes", text="la tahona vendía hogazas", host="diario.example",
            language="es", captured_ms=1_600_000_000_000,
        )  # fmt: skip
        rebuild_versions(instance.index_dir, [past], 15_000_000)
        page = text(client, "/?q=hogazas")
        assert "these past versions did" in page
        assert "Antes" in page
        assert "these past versions did" not in text(client, "/?q=panaderos")

    def test_days_become_part_of_the_query(self, client, world):
        answer = client.get("/?q=pan+date:2020&from=2025-01-01&to=")
        assert answer.status_code == 302
        assert answer["Location"] == "?q=pan%20date%3A2025-01-01.."
        answer = client.get("/?q=pan+fecha:2020&from=&to=2025-01-01&sort=newest&versions=1")
        assert answer["Location"] == "?q=pan%20date%3A..2025-01-01&sort=newest&versions=1"
        assert client.get("/?q=pan+date:2020&from=&to=")["Location"] == "?q=pan", "days that were emptied"
        found = text(client, "/?q=panaderos+date:2025-01-01..2026-12-31")
        assert 'name="from" value="2025-01-01"' in found
        assert 'name="to" value="2026-12-31"' in found
        assert client.get("/?q=pan&from=tomorrow")["Location"] == "?q=pan", "no day"


@pytest.mark.django_db
@pytest.mark.database
def test_history_is_of_one_person_and_can_be_erased(client, world, reader, director):
    assert client.get("/history").status_code == 302  # strangers sign in first
    for person, query in ((director, "harbour"), (reader, "panaderos")):
        client.force_login(person)
        client.get("/", {"q": query})
    shown = text(client, "/history")
    assert "panaderos" in shown
    assert "harbour" not in shown
    client.post("/history")
    assert "panaderos" not in text(client, "/history")
    client.force_login(director)
    assert "harbour" in text(client, "/history")


@pytest.mark.django_db
@pytest.mark.database
class TestHelp:
    @pytest.mark.parametrize("name", IDEAS)
    def test_every_idea_has_a_page_in_both_languages(self, client, instance, name):
        english = text(client, f"/help/{name}")
        spanish = text(client, f"/help/{name}", headers={"accept-language": "es"})
        with translation.override("en"):
            heading = f"<h1>{IDEAS[name]}</h1>"
        assert heading in english
        assert heading not in spanish
        assert english.count("<p>") == spanish.count("<p>")
        assert english.count("<li>") == spanish.count("<li>")

    def test_the_demonstration_has_a_tour_whose_links_lead_somewhere(self, client, world, administrator, settings):
        client.force_login(administrator)
        assert "/help/tour" not in text(client, "/")
        settings.CONFIG = settings.CONFIG.__class__(**{**vars(settings.CONFIG), "demo": True})
        assert "/help/tour" in text(client, "/")
        links = re.findall(
            r'<li><a href="([^"]+)"', text(client, "/help/tour").partition("<ol>")[2].partition("</ol>")[0]
        )
        assert len(links) == 10
        for link in links:
            text(client, link)

    def test_what_is_no_idea_is_not_found(self, client, instance):
        text(client, "/help/nonsense", 404)


@pytest.mark.django_db
@pytest.mark.database
class TestErrors:
    def test_what_is_not_there_comes_with_a_search(self, client, instance):
        assert '<input type="search"' in text(client, "/nowhere", 404)

    def test_a_reader_at_the_admin_pages_is_told_the_role_that_is_needed(self, client, instance, reader):
        assert client.get("/admin/").status_code == 302  # a stranger is asked to sign in
        client.force_login(reader)
        answer = client.get("/admin/", follow=True)
        assert answer.status_code == 403
        assert "administrator" in answer.content.decode()

    def test_a_failure_has_an_id_that_the_log_has_too(self, instance, caplog):
        request = RequestFactory().get("/somewhere")
        with caplog.at_level(logging.ERROR):
            answer = error_pages.failed(request)
        assert answer.status_code == 500
        number = caplog.records[-1].args[0]
        assert number in answer.content.decode()


class TestJourney:
    pytestmark = browser

    def test_from_the_first_page_to_help_and_an_archived_copy(self, journey):
        page = journey("/")
        page.get_by_role("heading", name=page.say("Lately captured", "Capturas recientes")).wait_for()
        page.look("home")
        page.get_by_role("link", name=page.say("Help", "Ayuda"), exact=True).first.click()
        page.get_by_role("link", name=page.say("What is a version?", "¿Qué es una versión?")).click()
        page.get_by_role("heading", level=1, name=page.say("What is a version?", "¿Qué es una versión?")).wait_for()
        page.look("help")
        page.goto(page.site + "/?q=panaderos")
        page.look("results")
        page.locator(".results h2 a").first.click()
        page.wait_for_url("**/v/**")

"""Wikis: articles listed, extracted, measured, compared, asked; in both languages, at a desk and on a telephone."""

import dataclasses

import pytest
from django.conf import settings as django_settings

from hemeroteca.jobs.models import Job
from hemeroteca.wiki.models import Article, Wiki
from tests.wiki.making import keep

browser = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
database = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def histories(db, instance, settings):
    """Two articles with reverts, tags, IP edits and years of edits."""
    settings.CONFIG = dataclasses.replace(django_settings.CONFIG, contact="tests@example.org")
    people = ("Ana", "Beto", "10.0.0.1", "CleanBot", "Ana", "<b>Zoé</b>")
    made = []
    for n in range(90):
        user = people[n % 6]
        at = f"20{20 + n // 30}-{1 + n % 12:02d}-{1 + n % 28:02d}T{n % 24:02d}:00:00Z"
        size = 1000 + n * 37 - (400 if n % 7 == 0 else 0) if n % 9 else 1000
        tags = ["mw-reverted"] if n % 9 == 1 else []
        made.append(("Caracas", 1, 100 + n, at, user, 0 if user == "10.0.0.1" else n % 6 + 1, size, tags))
    keep(made)
    keep([("Mérida", 2, 300 + n, f"2021-{1 + n:02d}-03T10:00:00Z", "Ana", 1, 500 + n, []) for n in range(12)])
    return Article.objects.order_by("pk")


def texts(answer):
    return answer.content.decode()


class TestPages:
    pytestmark = database

    def test_an_empty_instance_says_what_to_do(self, client, instance, director):
        stranger = texts(client.get("/wiki"))
        assert "No article is kept yet." in stranger
        assert 'class="button" href="/wiki/extract"' not in stranger
        client.force_login(director)
        assert 'class="button" href="/wiki/extract"' in texts(client.get("/wiki"))

    def test_articles_are_found_by_a_part_of_their_title(self, client, histories):
        assert "Caracas" in texts(client.get("/wiki?contains=aRac"))
        assert "Mérida" not in texts(client.get("/wiki?contains=aRac"))
        assert client.get("/wiki?sort=password").status_code == 422

    def test_names_of_users_are_texts(self, client, histories):
        page = texts(client.get(f"/wiki/articles/{histories[0].pk}"))
        assert "<b>Zoé" not in page
        assert "&lt;b&gt;Zoé" in page

    def test_numbers_of_a_period_and_their_download(self, client, histories):
        number = histories[0].pk
        assert "No revision is in this period." in texts(client.get(f"/wiki/articles/{number}?datestart=2030-01-01"))
        assert client.get(f"/wiki/articles/{number}?datestart=soon").status_code == 422
        table = client.get(f"/wiki/articles/{number}/editors.csv?dateend=2020-12-31")
        assert table["Content-Disposition"] == 'attachment; filename="editors.csv"'
        assert texts(table).splitlines()[1].startswith("Ana,10,")
        assert client.get("/wiki/articles/99999999999999999999").status_code == 404

    def test_an_extraction_is_ordered_or_refused_with_the_form_as_it_was(self, client, histories, director, reader):
        client.force_login(reader)
        assert client.get("/wiki/extract").status_code == 403
        client.force_login(director)
        order = {"wiki": "http://127.0.0.1:9/w/api.php", "titles": "Plaza\n\nMérida", "text": "1", "policy": "auto"}
        answer = client.post("/wiki/extract", order)
        job = Job.objects.get()
        assert answer["Location"] == f"/wiki/extract?job={job.pk}"
        assert (job.arguments["titles"], job.arguments["text"]) == (["Plaza", "Mérida"], True)
        refused = client.post("/wiki/extract", {**order, "max_revisions": "many"})
        assert refused.status_code == 422
        assert "“many” is not a whole number." in texts(refused)
        assert "Plaza" in texts(refused)

    def test_an_article_is_looked_at_when_people_say(self, client, histories, director):
        client.force_login(director)
        path = f"/wiki/articles/{histories[0].pk}"
        client.post(path, {"do": "policy", "policy": "never"})
        assert Article.objects.get(title="Caracas").policy == "never"
        answer = client.post(path, {"do": "refresh"}, follow=True)
        assert "known from a dump only" in texts(answer)
        assert 'value="refresh"' not in texts(answer), "what cannot be done is not offered"
        Wiki.objects.update(api_url="https://wiki.test/w/api.php")
        assert 'value="refresh"' in texts(client.get(path))

    def test_what_a_dump_had_is_not_called_half(self, client, histories):
        histories.filter(title="Caracas").update(source="dump", complete=False)
        histories.filter(title="Mérida").update(source="api", complete=False)
        shown = texts(client.get("/wiki"))
        assert (shown.count("as in its dump"), shown.count("not all yet")) == (1, 1)

    def test_extractions_of_a_whole_wiki_are_told_in_the_language_of_the_reader(self, client, histories, director):
        client.force_login(director)
        client.post("/wiki/extract", {"wiki": "es", "whole": "1", "policy": "auto"})
        assert "el wiki entero (" in texts(client.get("/wiki/extract", headers={"Accept-Language": "es"}))

    def test_answers_are_downloaded(self, client, histories, reader):
        client.force_login(reader)
        order = {"text": "SELECT title, count(*) AS n FROM revisions GROUP BY 1 ORDER BY 1"}
        assert texts(client.post("/wiki/query", {**order, "do": "csv"})) == "title,n\nCaracas,90\nMérida,12\n"
        assert client.post("/wiki/query", {**order, "do": "json"}).json()[1] == {"title": "Mérida", "n": 12}
        assert "only one SELECT" in texts(client.post("/wiki/query", {"text": "DROP TABLE revisions"}))
        assert "The pipeline is no JSON" in texts(client.post("/wiki/query", {"text": "[{"}))

    def test_two_articles_are_needed_to_compare(self, client, histories):
        first, second = histories
        alone = client.get(f"/wiki/compare?article={first.pk}")  # from its page: the others are chosen beside it
        assert alone.status_code == 200
        assert "Gini" not in texts(alone)
        assert second.title in texts(alone)
        assert client.get(f"/wiki/compare?article={first.pk}&article=0").status_code >= 400
        assert "Gini" in texts(client.get(f"/wiki/compare?article={first.pk}&article={second.pk}"))


class TestInABrowser:
    pytestmark = browser

    def test_from_the_list_to_an_article_and_its_comparison(self, journey, histories, director):
        page = journey("/wiki", director)
        page.look("articles")
        page.get_by_role("link", name="Caracas").click()
        page.locator("figure.chart[data-drawn] svg").nth(5).wait_for()
        page.look("article")
        page.goto(page.site + "/wiki")
        for title in ("Caracas", "Mérida"):
            page.get_by_role("checkbox", name=title).check()
        page.get_by_role("button", name=page.say("Compare those chosen", "Comparar los elegidos")).click()
        page.locator("figure.chart[data-drawn] svg").wait_for()
        page.look("compare")
        page.get_by_role("link", name=page.say("Unusual", "Inusual")).click()
        page.look("unusual")

    def test_a_question_is_asked_drawn_and_taken_home(self, journey, histories, director):
        page = journey("/wiki/query", director)
        page.get_by_role(
            "link", name=page.say("Edits of each month and article", "Ediciones por mes y artículo")
        ).click()
        page.get_by_role("button", name=page.say("Ask", "Preguntar"), exact=True).click()
        page.locator("figure.chart[data-drawn] svg").wait_for()
        page.look("answer")
        with page.expect_download() as started:
            page.get_by_role("button", name=page.say("Download CSV", "Descargar CSV")).click()
        assert started.value.suggested_filename == "answer.csv"
        page.get_by_role("textbox", name=page.say("Question", "Pregunta")).fill(
            "SELECT * FROM read_text('/etc/passwd')"
        )
        page.get_by_role("button", name=page.say("Ask", "Preguntar"), exact=True).click()
        page.get_by_role("alert").wait_for()
        page.complaints.clear()  # the browser names the status 422
        page.look("refused")

    def test_an_extraction_is_ordered_and_followed(self, journey, histories, director):
        page = journey("/wiki/extract", director)
        page.look("form")
        page.locator("input[name=wiki]").fill("http://127.0.0.1:9/w/api.php")
        page.locator("textarea[name=titles]").fill("Plaza")
        page.get_by_role("button", name=page.say("Extract", "Extraer"), exact=True).click()
        page.get_by_text(page.say("waiting", "en espera")).first.wait_for()
        Job.objects.update(state="running", done=120, message="Plaza", lease_ms=1 << 60)
        page.get_by_text("120").first.wait_for()
        page.look("running")
        result = {"wiki": "es.example.org", "articles": 1, "revisions": 5, "changed": 0, "texts": 0, "requests": 4}
        Job.objects.update(state="done", result={**result, "missing": ["No hay"], "limited": []})
        page.get_by_role("link", name=page.say("See the articles", "Ver los artículos")).wait_for()
        page.look("done")

"""What people see: every page, in both languages, with a hostile archive behind it."""

import html
import json
import re
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from django.utils import translation

from hemeroteca.accounts import Role
from hemeroteca.accounts.models import User
from hemeroteca.console import middleware
from hemeroteca.console.templatetags import console as tags
from hemeroteca.frontier.models import Crawl, QueuedVisit
from hemeroteca.frontier.visit import State
from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.search import portal
from hemeroteca.search.index import open_index
from hemeroteca.search.maintenance import learn
from hemeroteca.urls.robots_txt import Robots
from tests.console.conftest import PASSWORD
from tests.console.world import ATTACK, BREAD, HARBOUR, HOSTILE
from tests.frontier.making import hold_back

pytestmark = [pytest.mark.database, pytest.mark.django_db]


def text(answer):
    return answer.content.decode()


class TestSearching:
    def test_an_empty_archive_says_what_to_do(self, client, instance):
        answer = client.get("/")
        assert answer.status_code == 200
        assert "Nothing has been archived yet" in text(answer)

    def test_a_result_has_title_snippet_copy_and_versions(self, client, world):
        page = text(client.get("/", {"q": "panaderos"}))
        assert f'href="{BREAD}"' in page
        assert "<mark>panaderos</mark>" in page
        latest = world.captures[BREAD][-1].record_id
        assert f'href="/v/{latest}"' in page
        assert f'href="/page?url={quote(BREAD, safe="")}"' in page
        assert "2 versions" in page

    def test_nothing_found_is_said(self, client, world):
        assert "Nothing in the archive matches" in text(client.get("/", {"q": "zanahoria"}))

    @pytest.mark.parametrize("query", ['"', "a:b:c", "(((", "\x00", "x" * 5000, "<script>alert(1)</script>", "title:"])
    def test_any_query_is_answered_and_shown_escaped(self, client, world, query):
        answer = client.get("/", {"q": query})
        assert answer.status_code == 200
        assert "<script>alert" not in text(answer)

    def test_what_was_ignored_is_said_in_the_reader_s_language(self, client, world):
        spanish = text(client.get("/", {"q": "harbour before:nunca"}, headers={"accept-language": "es"}))
        assert "«before:nunca» no se tuvo en cuenta" in spanish
        english = text(client.get("/", {"q": "harbour before:nunca"}, headers={"accept-language": "en"}))
        assert "`before:nunca` was ignored" in english

    def test_nothing_comes_twice_on_the_next_page_while_pages_come_in(self, client, instance):
        def put(*numbers, text="el faro del puerto", **more):
            with open_index(None, instance.index_dir).writer(15 << 20) as writer:
                for n in numbers:
                    url = f"https://h{n}.example/"
                    writer.put(SearchDocument(key=n, url=url, host=f"h{n}.example", text=f"{text} {n}", **more))
                writer.commit()

        put(*range(1, 26))
        shown = re.findall(r'<h2[^>]*><a href="([^"]+)"', first := text(client.get("/", {"q": "faro"})))
        onwards = html.unescape(re.search(r'rel="next" href="([^"]+)"', first)[1])
        put(*range(100, 115), text="el faro", title="Faro")  # better than all that were there
        then = re.findall(r'<h2[^>]*><a href="([^"]+)"', text(client.get("/" + onwards)))
        assert len(shown) == len(then) == 10
        assert not set(shown) & set(then)

    def test_page_numbers_from_strangers_do_no_harm(self, client, world):
        for number in ("0", "-1", "99999999999999999999", "x", "7"):
            assert client.get("/", {"q": "harbour", "p": number}).status_code == 200

    def test_a_broken_index_is_told_not_a_failure(self, client, instance):
        (instance.index_dir / "main").mkdir(parents=True)
        (instance.index_dir / "main" / "meta.json").write_text("{")
        answer = client.get("/", {"q": "x"})
        assert answer.status_code == 200
        assert "rebuild" in text(answer)

    def test_results_can_be_narrowed_without_scripts(self, client, world):
        page = text(client.get("/", {"q": "pan OR harbour"}))
        narrowed = re.search(r'href="\?q=([^"]*host%3Anews\.example)"', page)
        assert narrowed, page
        page = text(client.get("/?q=" + narrowed[1]))
        assert f'href="{HARBOUR}"' in page
        assert f'href="{BREAD}"' not in page

    @pytest.mark.parametrize(("facet", "value"), [("lang", "es"), ("date", "2025"), ("filetype", "html")])
    def test_every_facet_is_a_query(self, client, world, facet, value):
        assert f'href="{BREAD}"' in text(client.get("/", {"q": f"pan {facet}:{value}"}))

    def test_more_of_a_host_that_fills_the_results(self, client, world, instance):
        with portal.searcher().index.writer(15 << 20) as writer:
            for number in range(30):
                words = f"arenque número {number} " + " ".join(f"{number * 50 + n}palabra" for n in range(40))
                host = "a.example" if number < 28 else f"b{number}.example"
                url = f"https://{host}/{number}"
                writer.put(SearchDocument(key=number, url=url, host=host, title="Arenque", text=words, language="es"))
            writer.commit()
        page = text(client.get("/", {"q": "arenque"}))
        assert "More from a.example" in page
        assert "q=arenque%20host%3Aa.example" in page

    def test_while_typing_the_box_offers_how_it_may_go_on(self, client, world, instance):
        assert client.get("/suggest/options", {"q": "pan"}).content == b""  # nothing learned yet
        learn(instance.index_dir, portal.searcher().index)
        page = text(client.get("/"))
        assert 'hx-get="/suggest/options"' in page
        assert "<option value=" in text(client.get("/suggest/options", {"q": "pana"}))
        assert "panaderos" in text(client.get("/suggest/options", {"q": "pana"}))

    def test_only_people_who_signed_in_teach_completions(self, client, world, instance, director):
        log = instance.index_dir / "suggest" / "queries.log"
        client.get("/", {"q": "panaderos"})
        assert not log.exists()
        client.force_login(director)
        client.get("/", {"q": "zanahoria"})  # finds nothing
        client.get("/", {"q": "panaderos"})
        day, person, query = log.read_text().rstrip("\n").split("\t")
        assert (int(person), query) == (director.pk, "panaderos")
        assert int(day) > 20_000

    def test_a_query_that_is_cut_says_so(self, client, world):
        assert "characters of the query" not in text(client.get("/", {"q": "pan"}))
        shown = text(client.get("/", {"q": "pan " * 600, "lang": "es"}, headers={"Accept-Language": "es"}))
        assert "solo se leyeron los primeros 2000 caracteres de la consulta" in shown

    def test_what_somebody_asked_is_not_shown_to_strangers(self, client, world, instance, director):
        client.force_login(director)
        client.get("/", {"q": "panaderos y OR hornos"})
        learn(instance.index_dir, portal.searcher().index)
        shown = text(client.get("/suggest/options", {"q": "panaderos"}))
        assert "panaderos y OR hornos" in shown
        assert "panaderos y OR hornos" in client.get("/suggest", {"q": "panaderos"}).content.decode()
        client.logout()
        assert "OR hornos" not in text(client.get("/suggest/options", {"q": "panaderos"}))
        assert "OR hornos" not in client.get("/suggest", {"q": "panaderos"}).content.decode()
        assert "OR hornos" not in client.get("/api/v1/suggest", {"q": "panaderos"}).content.decode()


class TestBrowsersAndFeedReaders:
    def test_browsers_can_add_the_archive(self, client, world):
        assert 'rel="search" type="application/opensearchdescription+xml"' in text(client.get("/"))
        answer = client.get("/opensearch.xml")
        assert answer.headers["Content-Type"] == "application/opensearchdescription+xml"
        root = ElementTree.fromstring(answer.content)
        templates = {url.get("type"): url.get("template") for url in root.iter() if url.tag.endswith("}Url")}
        assert templates["text/html"] == "http://testserver/?q={searchTerms}"
        assert templates["application/x-suggestions+json"] == "http://testserver/suggest?q={searchTerms}"

    def test_suggestions_come_in_the_browsers_format(self, client, world, instance):
        learn(instance.index_dir, portal.searcher().index)
        answer = client.get("/suggest", {"q": "pana"})
        assert answer.headers["Content-Type"].startswith("application/x-suggestions+json")
        typed, found = json.loads(answer.content)
        assert typed == "pana"
        assert "panaderos" in found

    def test_a_query_is_a_feed_of_what_is_new(self, client, world):
        answer = client.get("/search.rss", {"q": "pan"})
        assert answer.headers["Content-Type"].startswith("application/rss+xml")
        items = ElementTree.fromstring(answer.content).findall("channel/item")
        assert [item.findtext("link") for item in items] == [BREAD]
        assert items[0].findtext("guid")
        assert "<b>" not in items[0].findtext("description")
        assert ElementTree.fromstring(client.get("/search.rss").content).findall("channel/item") == []

    def test_hostile_titles_make_no_broken_feed(self, client, world):
        for query in ("hacked", "\x00", "]]>", "x" * 3000):
            ElementTree.fromstring(client.get("/search.rss", {"q": query}).content)

    def test_text_of_a_page_is_no_markup_in_a_feed_reader(self, client, world):
        items = ElementTree.fromstring(client.get("/search.rss", {"q": "hacked"}).content).findall("channel/item")
        said = [item.findtext("description") for item in items]  # which feed readers take for HTML
        assert any("&lt;img src=x" in description for description in said)
        assert not any("<" in description for description in said)

    @pytest.mark.parametrize(
        "address", ["/", "/?q=pan", "/suggest?q=pan", "/search.rss?q=pan", "/opensearch.xml", "/status"]
    )
    def test_whoever_asks_only_for_the_head_gets_it(self, client, world, address):
        assert client.head(address).status_code == 200

    def test_a_feed_reader_reads_a_closed_archive_with_the_feed_s_own_key(self, client, world, settings, director):
        settings.CONFIG = replaced(settings.CONFIG, open_search=False)
        client.force_login(director)
        page = text(client.get("/", {"q": "pan"}))
        address = html.unescape(re.search(r'<link rel="alternate"[^>]*href="([^"]+)"', page)[1])
        client.logout()
        answer = client.get(address)
        assert answer.status_code == 200
        assert BREAD in text(answer)
        assert html.unescape(re.search(r'rel="self"[^>]*href="([^"]+)"', text(answer))[1]).endswith(address)
        assert client.get(address.replace("q=pan", "q=harbour")).status_code == 401, "it opens nothing else"
        assert client.get("/search.rss?q=pan&key=").status_code == 401

    def test_a_feed_that_has_nothing_new_is_not_sent_again(self, client, world):
        first = client.get("/search.rss?q=pan")
        again = client.get("/search.rss?q=pan", headers={"if-none-match": first.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b"")

    def test_the_image_has_a_size_without_which_firefox_ignores_it(self, client, world):
        root = ElementTree.fromstring(client.get("/opensearch.xml").content)
        image = next(part for part in root if part.tag.endswith("}Image"))
        assert (image.get("width"), image.get("height")) == ("16", "16")

    def test_closed_archives_answer_members_only(self, client, world, settings, director):
        settings.CONFIG = replaced(settings.CONFIG, open_search=False)
        for address in ("/suggest?q=pan", "/search.rss?q=pan"):
            assert client.get(address).status_code == 401
        client.force_login(director)
        for address in ("/suggest?q=pan", "/search.rss?q=pan"):
            assert client.get(address).status_code == 200


def test_crawlers_stay_out_of_results_and_copies(client, instance):
    rules = Robots.read(200, client.get("/robots.txt").content)
    assert rules.allows("http://testserver/", "Other")
    for path in ("/?q=pan", "/v/00000000-0000-0000-0000-000000000000", "/page?url=x", "/search.rss?q=pan", "/crawls"):
        assert not rules.allows(f"http://testserver{path}", "Other"), path


class TestHostileArchive:
    def test_titles_snippets_reasons_and_notes_are_text_everywhere(self, client, world, administrator):
        client.force_login(administrator)
        capture = world.captures[HOSTILE][0].record_id
        for path in (
            "/?q=harbour", "/status", "/status/live", "/crawls", f"/crawls/{world.crawl.pk}",
            f"/page?url={HOSTILE}", f"/v/{capture}", f"/v/{capture}?view=facts", f"/v/{capture}?view=copy",
        ):  # fmt: skip
            page = text(client.get(path))
            assert "<script>window" not in page, path
            assert "<img src=x" not in page, path
        assert html.escape(ATTACK) in text(client.get("/status/live")), "it is shown, as text"

    def test_the_copy_is_answered_only_into_a_sandbox(self, client, world):
        capture = world.captures[HOSTILE][0].record_id
        answer = client.get(f"/v/{capture}/copy")
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("sandbox;")
        assert "allow-scripts" not in policy
        assert "allow-same-origin" not in policy
        assert "default-src 'none'" in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        frame = re.search(r"<iframe[^>]*>", text(client.get(f"/v/{capture}?view=copy")))[0]
        assert re.search(r"\ssandbox\s", frame)

    def test_the_original_is_a_download_and_never_a_page(self, client, world):
        row = world.captures[HOSTILE][0]
        answer = client.get(f"/v/{row.record_id}/original")
        assert answer.headers["Content-Disposition"].startswith("attachment")
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert answer.headers["Content-Security-Policy"].startswith("sandbox")
        assert len(b"".join(answer.streaming_content)) == row.body_size

    def test_an_address_that_is_not_of_the_web_is_never_a_link(self):
        assert tags.web_address("javascript:alert(1)") == ""
        assert tags.web_address("https://a.example/") == "https://a.example/"

    def test_a_snippet_keeps_highlights_and_nothing_else(self):
        assert tags.snippet("a &lt;b&gt; <b>c</b> <i>d</i> <b>e") == (
            "a &lt;b&gt; <mark>c</mark> &lt;i&gt;d&lt;/i&gt; <mark>e</mark>"
        )
        assert tags.snippet("</b></b><script>x</script>") == "&lt;script&gt;x&lt;/script&gt;"


class TestCaptures:
    def test_the_text_of_a_capture_is_read_from_the_archive(self, client, world):
        page = text(client.get(f"/v/{world.captures[BREAD][0].record_id}"))
        assert "Los panaderos dicen que la harina" in page
        assert "<h1>El precio del pan</h1>" in page

    def test_a_revisit_shows_what_it_repeats(self, client, world):
        revisit = world.captures[BREAD][2]
        assert revisit.kind == "revisit"
        assert "Los panaderos dicen" in text(client.get(f"/v/{revisit.record_id}"))

    def test_a_page_lists_its_captures_newest_first(self, client, world):
        page = text(client.get("/page", {"url": "HTTPS://diario.example:443/economia/pan#top", "all": "1"}))
        found = [page.index(str(row.record_id)) for row in reversed(world.captures[BREAD])]
        assert found == sorted(found)
        assert "new version" in page
        assert "unchanged" in page

    @pytest.mark.parametrize(
        "url", ["", "not an address", "https://nobody.example/", "javascript:alert(1)", "http://["]
    )
    def test_an_unknown_address_is_a_plain_404(self, client, world, url):
        assert client.get("/page", {"url": url}).status_code == 404

    def test_a_lost_warc_file_is_told(self, client, world):
        for file in world.instance.warc_dir.iterdir():
            file.unlink()
        answer = client.get(f"/v/{world.captures[HARBOUR][0].record_id}")
        assert answer.status_code == 200
        assert "is not in" in text(answer)
        assert client.get(f"/v/{world.captures[HARBOUR][0].record_id}/original").status_code == 404

    def test_unknown_captures_and_paths_are_404_pages(self, client, instance):
        for path in ("/v/00000000-0000-0000-0000-000000000000", "/nowhere", "/crawls/99999999999999999999"):
            answer = client.get(path)
            assert answer.status_code == 404
            assert "There is nothing here" in text(answer)


class TestStatusAndCrawls:
    def test_status_shows_pace_queue_reasons_hosts_and_disk(self, client, world):
        page = text(client.get("/status"))
        for expected in (
            "42.0",
            "17",
            "the server failed (500)",
            "robots.txt",
            "evil.example",
            "30 s",
            "4 failures",
            "The engine is at work",
        ):
            assert expected in page, expected
        assert 'hx-get="/status/live"' in page
        assert "<polyline" in page

    def test_an_engine_that_no_longer_writes_is_not_at_work(self, client, world):
        (world.instance.data / "engine.json").unlink()
        assert "No engine is at work" in text(client.get("/status/live"))

    def test_strangers_and_readers_cannot_order(self, client, world):
        assert "<textarea" not in text(client.get("/crawls"))
        assert client.post("/crawls", {"seeds": "https://a.example/"}).status_code == 403
        User.objects.create(name="reader", role=Role.READER)
        client.force_login(User.objects.get(name="reader"))
        assert client.post("/crawls", {"seeds": "https://a.example/"}).status_code == 403
        assert client.post(f"/crawls/{world.crawl.pk}", {"do": "stop"}).status_code == 403
        assert Crawl.objects.count() == 1

    def test_a_director_orders_stops_and_resumes(self, client, instance, director):
        client.force_login(director)
        answer = client.post("/crawls", {"seeds": "a.example\nhttps://b.example/", "scope": "domain", "limit": "100"})
        crawl = Crawl.objects.get()
        assert answer.headers["Location"] == f"/crawls/{crawl.pk}"
        assert crawl.seeds == ["https://a.example/", "https://b.example/"]
        assert crawl.options["limit"] == 100
        client.post(f"/crawls/{crawl.pk}", {"do": "stop"})
        crawl.refresh_from_db()
        assert crawl.stop_requested
        Crawl.objects.update(state=Crawl.State.STOPPED)
        client.post(f"/crawls/{crawl.pk}", {"do": "resume"})
        crawl.refresh_from_db()
        assert crawl.state == Crawl.State.RUNNING

    def test_what_is_held_back_is_on_the_page_of_the_crawl_and_one_click_takes_it(self, client, instance, director):
        client.force_login(director)
        client.post("/crawls", {"seeds": "a.example", "scope": "host"})
        crawl = Crawl.objects.get()
        Crawl.objects.update(state=Crawl.State.FINISHED, counts={"reasons": {"http-404": 1}, "notes": {"duplicate": 3}})
        hold_back(crawl, "https://a.example/1", "https://a.example/2")
        page = text(client.get(f"/crawls/{crawl.pk}"))
        captured = page[page.index("Captured, but") :]
        assert "the same bytes as another page" in captured
        assert "the same bytes" not in page[: page.index("Captured, but")]
        assert "https://a.example/1" in page
        assert "addresses held back" in text(client.get("/status/live"))
        take = {"do": "take", "host": "a.example", "reason": "trap: pages like /{n} bring nothing new"}
        assert all(f'value="{value}"' in page for value in take.values())
        assert 'name="csrfmiddlewaretoken"' in page
        client.get(f"/crawls/{crawl.pk}?do=take")
        assert not QueuedVisit.objects.filter(state=State.QUEUED).exists()
        assert client.post(f"/crawls/{crawl.pk}", take).status_code == 302
        assert QueuedVisit.objects.filter(state=State.QUEUED).count() == 2
        assert "Held back" not in text(client.get(f"/crawls/{crawl.pk}"))

    def test_readers_cannot_take_what_is_held_back(self, client, world):
        hold_back(world.crawl, "https://a.example/1")
        assert 'value="take"' not in text(client.get(f"/crawls/{world.crawl.pk}"))
        assert client.post(f"/crawls/{world.crawl.pk}", {"do": "take"}).status_code == 403

    def test_words_are_no_addresses(self, client, instance, director):
        client.force_login(director)
        assert client.post("/crawls", {"seeds": "hello world", "scope": "host"}).status_code == 422
        assert not Crawl.objects.exists()

    def test_a_wrong_order_is_explained_and_kept_in_the_form(self, client, instance, director):
        client.force_login(director)
        for order in (
            {"seeds": "ftp://a.example/"},
            {"seeds": ""},
            {"seeds": "a.example", "limit": "-3"},
            {"seeds": "a.example", "scope": "x"},
        ):
            answer = client.post("/crawls", {"scope": "host", **order})
            assert answer.status_code == 422
            assert 'role="alert"' in text(answer)
            assert order["seeds"] in text(answer)
        assert not Crawl.objects.exists()


class TestPeople:
    def test_signing_in_and_out(self, client, instance, director):
        wrong = client.post("/sign-in", {"name": "eva", "password": "no"})
        assert wrong.status_code == 403
        assert "Name or password is wrong" in text(wrong)
        right = client.post("/sign-in", {"name": "EVA", "password": PASSWORD, "next": "/status"})
        assert right.headers["Location"] == "/status"
        assert "Sign out" in text(client.get("/"))
        assert client.get("/sign-out").status_code == 405
        client.post("/sign-out")
        assert "Sign in" in text(client.get("/"))

    @pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "\\\\evil"])
    def test_signing_in_never_leads_elsewhere(self, client, instance, director, target):
        answer = client.post("/sign-in", {"name": "eva", "password": PASSWORD, "next": target})
        assert answer.headers["Location"] == "/"

    def test_a_closed_instance_asks_everybody_to_sign_in(self, client, world, settings, director):
        settings.CONFIG = replaced(settings.CONFIG, open_search=False)
        capture = world.captures[BREAD][0].record_id
        paths = ["/", "/status", "/status/live", "/crawls", f"/page?url={BREAD}"]
        paths += [f"/v/{capture}", f"/v/{capture}/copy", f"/v/{capture}/original"]
        for path in paths:
            assert client.get(path).headers["Location"].startswith("/sign-in?next="), path
        client.force_login(director)
        for path in paths:
            assert client.get(path).status_code == 200, path

    def test_djangos_admin_is_for_administrators_and_has_the_same_door(self, client, instance, director, administrator):
        assert client.get("/admin/login/?next=/admin/").headers["Location"] == "/sign-in?next=/admin/"
        client.force_login(director)
        assert client.get("/admin/").status_code == 302
        client.force_login(administrator)
        for path in ("/admin/", "/admin/accounts/user/", "/admin/accounts/user/add/", "/admin/accounts/apitoken/"):
            assert client.get(path).status_code == 200, path
        assert client.get(f"/admin/accounts/user/{director.pk}/change/").status_code == 200
        assert client.get("/admin/mfa/authenticator/").status_code == 404  # second factors are their owners' alone
        assert "Authenticators" not in client.get("/admin/", headers={"Accept-Language": "es"}).content.decode()

    def test_an_administrator_adds_a_person_in_djangos_admin(self, client, instance, administrator):
        client.force_login(administrator)
        fields = {
            "name": "Nueva",
            "role": "director",
            "usable_password": "true",
            "password1": PASSWORD,
            "password2": PASSWORD,
        }
        assert client.post("/admin/accounts/user/add/", fields).status_code == 302
        assert User.objects.get(name="nueva").check_password(PASSWORD)

    def test_a_form_without_its_token_is_refused_in_words(self, director, instance):
        from django.test import Client

        answer = Client(enforce_csrf_checks=True).post("/sign-in", {"name": "eva", "password": PASSWORD})
        assert answer.status_code == 403
        assert "reload the page" in text(answer)


def replaced(config, **changes):
    import dataclasses

    return dataclasses.replace(config, **changes)


class TestLanguages:
    def test_the_browser_chooses_and_the_reader_can_change_it(self, client, instance):
        assert "Buscar en el archivo" in text(client.get("/", headers={"accept-language": "es-VE,es;q=0.9"}))
        assert "Search the archive" in text(client.get("/", headers={"accept-language": "de"}))
        client.post("/language", {"language": "es", "next": "/status"})
        page = text(client.get("/status"))
        assert '<html lang="es">' in page
        assert "páginas por segundo" in page


class TestHeaders:
    def test_every_answer_carries_the_policy(self, client, world):
        for path in (
            "/",
            "/status",
            "/sign-in",
            "/nowhere",
            "/api/v1/status",
            "/api/v1/docs",
            "/static/console/console.css",
        ):
            headers = client.get(path).headers
            assert "script-src 'self'" in headers["Content-Security-Policy"], path
            assert "unsafe" not in headers["Content-Security-Policy"]
            assert headers["X-Content-Type-Options"] == "nosniff"

    @pytest.mark.parametrize(
        "host", ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "192.168.1.7", "LOCALHOST."]
    )
    def test_names_and_addresses_of_our_own_are_answered(self, client, instance, host):
        assert client.get("/sign-in", headers={"host": host}).status_code == 200

    @pytest.mark.parametrize(
        "host", ["evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example"]
    )
    def test_other_names_are_refused_against_rebinding(self, client, instance, host):
        answer = client.get("/sign-in", headers={"host": host})
        assert answer.status_code == 421
        assert "public_url" in text(answer)

    def test_the_public_name_is_ours(self, client, instance, settings):
        settings.CONFIG = replaced(settings.CONFIG, public_url="https://archivo.example/")
        assert client.get("/sign-in", headers={"host": "archivo.example"}).status_code == 200

    def test_static_files_come_from_the_package(self, client, instance):
        for path in ("/static/console/console.css", "/static/console/console.js", "/static/django_htmx/htmx-2.min.js"):
            assert client.get(path).status_code == 200


def test_host_names_are_read_from_any_header():
    assert middleware.host_name("[::1]:80") == "::1"
    assert middleware.host_name("A.example.:80") == "a.example"
    assert middleware.host_name("[") == ""


def test_durations_for_people():
    assert [tags.seconds(n) for n in (0, 0.5, 59, 60, 3600, 3661, 90000)] == [
        "0 s", "0.5 s", "59 s", "1 min", "1 h", "1 h 1 min", "1 d 1 h"
    ]  # fmt: skip


def test_spanish_writes_its_months_small():
    noon = 1_763_200_000_000
    with translation.override("es"):
        assert tags.exactly(noon) == "15 nov 2025 09:46:40 UTC"
        assert "15 nov 2025" in tags.day(noon)
    with translation.override("en"):
        assert tags.exactly(noon) == "15 Nov 2025 09:46:40 UTC"

"""The API as a program meets it: answers, cursors, problems, and who may do what."""

import json
import os
import time
from urllib.parse import quote

import pytest
from django.test import Client

from hemeroteca.accounts import SYSTEM, Role, services
from hemeroteca.api import shapes
from hemeroteca.frontier.models import Crawl, QueuedVisit
from hemeroteca.instance.status import EngineStatus, write_engine_status
from hemeroteca.search import portal
from hemeroteca.search.maintenance import learn
from tests.console.conftest import PASSWORD
from tests.console.test_pages import replaced
from tests.console.world import BREAD, HARBOUR, HOSTILE
from tests.frontier.making import hold_back

pytestmark = [pytest.mark.database, pytest.mark.django_db]

ORDER = {"seeds": ["https://a.example/"], "scope": "host", "limit": 10}


@pytest.fixture
def call(client):
    """call("GET", "/search?q=x", token=…, body=…) -> (status, decoded answer, response)"""

    def ask(method, path, token="", body=None):
        headers = {"authorization": f"Bearer {token}"} if token else {}
        data = json.dumps(body) if body is not None else ""
        answer = client.generic(method, f"/api/v1{path}", data, "application/json", headers=headers)
        return answer.status_code, json.loads(answer.content), answer

    return ask


@pytest.fixture
def token(director):
    return services.create_token(SYSTEM, director, "test").secret


def is_problem(answer, status):
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    body = json.loads(answer.content)
    assert body["status"] == status
    assert body["type"]
    assert body["title"]
    return body


class TestReading:
    def test_search_gives_what_the_command_gives(self, call, world):
        status, found, _ = call("GET", "/search?q=panaderos&limit=5")
        assert status == 200
        (result,) = found["items"]
        assert result["url"] == BREAD
        assert result["title"].startswith("El precio del pan")
        assert "<b>panaderos</b>" in result["snippet"]
        assert result["score"] > 0
        assert result["captured_at"].startswith("2025-11-15T")
        status, capture, _ = call("GET", f"/captures/{result['capture']}")
        assert (status, capture["url"], capture["captured_at"]) == (200, BREAD, result["captured_at"])
        assert found["total"] == 1
        assert found["next_cursor"] is None

    def test_search_counts_and_sorts_when_asked(self, call, world):
        _, plain, _ = call("GET", "/search?q=pan")
        assert plain["facets"] == {}
        status, body, _ = call("GET", "/search?q=pan%20OR%20harbour&facets=true&sort=newest")
        assert status == 200
        assert {"value": "news.example", "count": 1} in body["facets"]["host"]
        moments = [item["captured_at"] for item in body["items"]]
        assert moments == sorted(moments, reverse=True)
        assert body["items"][0]["breadcrumbs"]
        assert call("GET", "/search?q=pan&sort=upwards")[0] == 422

    def test_a_query_of_any_length_is_answered_and_says_what_was_left_out(self, call, world):
        for query, said in (("pan " * 10_001, "10000 words"), ("(" * 5_000 + "pan", "deeper than 20 levels")):
            status, found, _ = call("GET", f"/search?q={quote(query)}")
            assert status == 200
            assert any(said in note for note in found["notes"])
        assert call("GET", f"/suggest?q={quote('pan ' * 10_000)}")[0] == 200

    def test_suggest_completes_and_corrects(self, call, world, instance):
        assert call("GET", "/suggest?q=pana")[1] == {"completions": [], "did_you_mean": ""}
        learn(instance.index_dir, portal.searcher().index)
        assert "panaderos" in call("GET", "/suggest?q=pana")[1]["completions"]
        assert call("GET", "/suggest?q=pnaderos")[1]["did_you_mean"] == "panaderos"

    def test_search_goes_on_with_its_cursor_until_the_end(self, call, world):
        seen, cursor = [], ""
        for _ in range(5):
            _, found, _ = call("GET", f"/search?q=harbour&limit=1&cursor={cursor}")
            seen += [result["url"] for result in found["items"]]
            cursor = found["next_cursor"]
            if not cursor:
                break
        assert sorted(seen) == sorted([HARBOUR, HOSTILE])

    def test_a_hostile_snippet_is_escaped(self, call, world):
        _, found, _ = call("GET", "/search?q=harbour")
        for result in found["items"]:
            assert "<script" not in result["snippet"]
            assert "<img" not in result["snippet"]

    def test_status_tells_queue_pace_stored_failing_and_why(self, call, world):
        _, found, _ = call("GET", "/status")
        assert found["running"] is True
        assert found["engine"]["pages_per_second"] == 42.0
        assert found["pages"] == {
            "queued": 17,
            "done": 3,
            "failed": 2,
            "excluded": 1,
            "held": 0,
        }  # queued: the engine's figure
        assert found["captures"] == 5
        assert {"http-500", "dns", "robots.txt"} <= {entry["reason"].split()[0] for entry in found["reasons"]}
        assert found["waiting"][0]["name"] == "evil.example"

    def test_pages_by_state_host_and_crawl_with_reasons(self, call, world):
        _, failed, _ = call("GET", "/pages?state=failed")
        assert {page["url"].rpartition("/")[2][:4] for page in failed["items"]} == {"roto", "aaaa"}
        _, one, _ = call("GET", "/pages?state=failed&host=diario.example")
        assert [page["reason"] for page in one["items"]] == ["http-500 after 3 tries"]
        _, none, _ = call("GET", "/pages?crawl=999")
        assert none["items"] == []

    def test_a_list_of_pages_comes_whole_and_once_through_cursors(self, call, world):
        seen, cursor = [], ""
        while cursor is not None:
            _, found, _ = call("GET", f"/pages?limit=2&cursor={cursor}")
            seen += [page["url"] for page in found["items"]]
            cursor = found["next_cursor"]
        assert len(seen) == len(set(seen)) == 7

    def test_one_page_in_any_spelling(self, call, world):
        _, page, _ = call("GET", f"/pages/by-url?url={BREAD.upper().replace('ECONOMIA/PAN', 'economia/pan')}%23x")
        assert page["url"] == BREAD
        assert page["versions"] == 2
        is_problem(call("GET", "/pages/by-url?url=https://nobody.example/")[2], 404)
        is_problem(call("GET", "/pages/by-url?url=gopher:x")[2], 422)

    def test_captures_oldest_first_through_cursors(self, call, world):
        seen, cursor = [], ""
        while cursor is not None:
            _, found, _ = call("GET", f"/captures?url={BREAD}&limit=1&cursor={cursor}")
            seen += [capture["id"] for capture in found["items"]]
            cursor = found["next_cursor"]
        assert seen == [str(row.record_id) for row in world.captures[BREAD]]

    def test_many_captures_of_one_moment_all_come(self, call, world):
        from hemeroteca.frontier.models import Page
        from tests.console.world import NOW, article

        page = Page.objects.get(url=HARBOUR)
        for number in range(40):
            world.capture(page, article(f"t{number}", "<p>x</p>"), NOW)
        seen, cursor = [], ""
        while cursor is not None:
            _, found, _ = call("GET", f"/captures?url={HARBOUR}&limit=3&cursor={cursor}")
            seen += [capture["id"] for capture in found["items"]]
            cursor = found["next_cursor"]
        assert len(seen) == len(set(seen)) == 41

    def test_the_content_of_a_capture_and_of_a_revisit(self, call, client, world):
        first, second, revisit = world.captures[BREAD]
        _, one, _ = call("GET", f"/captures/{revisit.record_id}")
        assert one["kind"] == "revisit"
        bodies = {}
        for row in (first, second, revisit):
            answer = client.get(f"/api/v1/captures/{row.record_id}/content")
            assert answer.headers["Content-Type"] == "application/octet-stream"
            assert answer.headers["Content-Disposition"].startswith("attachment")
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Content-Security-Policy"].startswith("sandbox")
            bodies[row.record_id] = b"".join(answer.streaming_content)
            assert len(bodies[row.record_id]) == int(answer.headers["Content-Length"])
        assert bodies[second.record_id] == bodies[revisit.record_id] != bodies[first.record_id]


class TestOrders:
    def test_a_director_orders_lists_stops_and_resumes(self, call, instance, token):
        status, crawl, _ = call("POST", "/crawls", token, ORDER)
        assert status == 201
        assert crawl["seeds"] == ["https://a.example/"]
        assert call("GET", f"/crawls/{crawl['id']}")[1] == crawl
        assert call("GET", "/crawls")[1]["items"] == [crawl]
        assert call("POST", f"/crawls/{crawl['id']}/stop", token)[1]["stop_requested"] is True
        Crawl.objects.update(state=Crawl.State.STOPPED)
        is_problem(call("POST", f"/crawls/{crawl['id']}/stop", token)[2], 409)
        assert call("POST", f"/crawls/{crawl['id']}/resume", token)[1]["state"] == "running"
        is_problem(call("POST", "/crawls/12345/stop", token)[2], 404)

    def test_the_same_order_goes_on_with_the_same_crawl(self, call, instance, token):
        assert call("POST", "/crawls", token, ORDER)[1]["id"] == call("POST", "/crawls", token, ORDER)[1]["id"]

    def test_going_on_with_a_crawl_creates_nothing(self, call, instance, token):
        assert [call("POST", "/crawls", token, ORDER)[0] for _ in range(2)] == [201, 200]

    def test_an_order_does_not_change_the_options_of_a_crawl_at_work(self, call, instance, token):
        number = call("POST", "/crawls", token, ORDER | {"limit": 5})[1]["id"]
        for taken_up in ([], [number]):  # about to be at work, and at work
            write_engine_status(instance, EngineStatus(os.getpid(), 1, int(time.time() * 1000), crawls=taken_up))
            problem = is_problem(call("POST", "/crawls", token, ORDER | {"limit": 2})[2], 409)
            assert f"crawl {number}" in problem["detail"]
        assert call("POST", "/crawls", token, ORDER | {"limit": 5})[0] == 200
        assert call("GET", f"/crawls/{number}")[1]["options"]["limit"] == 5
        call("POST", f"/crawls/{number}/stop", token)
        Crawl.objects.update(state=Crawl.State.STOPPED)
        assert call("POST", "/crawls", token, ORDER | {"limit": 2})[1]["options"]["limit"] == 2
        log = call("GET", f"/crawls/{number}/log", token)[1]
        assert [(line["what"], line["detail"]) for line in log] == [
            ("resumed", "limit 5 → 2"),
            ("stopping", ""),
            ("ordered", ""),
        ]

    def test_the_crawl_of_a_subscription_is_no_crawl_to_stop(self, call, instance, token):
        watched = call("POST", "/watch/subscriptions", token, {"url": "https://a.example/"})
        assert watched[0] == 201
        crawl = Crawl.objects.get()
        assert call("GET", "/crawls")[1]["items"] == []
        assert call("GET", "/status")[1]["crawls"] == []
        for verb in ("stop", "resume"):
            problem = is_problem(call("POST", f"/crawls/{crawl.pk}/{verb}", token)[2], 409)
            assert "watch pause" in problem["detail"]
        crawl.refresh_from_db()
        assert (crawl.state, crawl.stop_requested) == ("running", False)

    def test_what_a_crawl_holds_back_is_listed_and_taken(self, call, instance, token, director):
        crawl = Crawl.objects.get(pk=call("POST", "/crawls", token, ORDER)[1]["id"])
        Crawl.objects.update(state=Crawl.State.FINISHED)
        hold_back(crawl, "https://a.example/1", "https://a.example/2", "https://b.example/")
        kinds = call("GET", f"/crawls/{crawl.pk}/held")[1]
        assert [(kind["host"], kind["addresses"]) for kind in kinds] == [("a.example", 2), ("b.example", 1)]
        assert call("GET", "/status")[1]["pages"]["held"] == 3
        assert [page["state"] for page in call("GET", "/pages?state=held")[1]["items"]] == ["held"] * 3
        reading = services.create_token(SYSTEM, services.add_user(SYSTEM, "lee", Role.READER, "x" * 20), "").secret
        is_problem(call("POST", f"/crawls/{crawl.pk}/take", reading, {})[2], 403)
        is_problem(call("POST", f"/crawls/{crawl.pk}/take", token, {"hots": "a"})[2], 422)
        assert call("POST", f"/crawls/{crawl.pk}/take", token, {"host": "a.example"})[1] == {"taken": 2}
        crawl.refresh_from_db()
        assert crawl.state == "running"
        assert crawl.options["trusted"] == ["a.example trap: pages like /{n} bring nothing new"]
        assert QueuedVisit.objects.filter(state=0).count() == 2
        is_problem(call("POST", f"/crawls/{crawl.pk}/take", token, {"host": "a.example"})[2], 409)

    def test_crawls_come_newest_first_through_cursors(self, call, instance, token):
        made = [call("POST", "/crawls", token, {"seeds": [f"https://{n}.example/"]})[1]["id"] for n in "abc"]
        _, first, _ = call("GET", "/crawls?limit=2")
        _, rest, _ = call("GET", f"/crawls?limit=2&cursor={first['next_cursor']}")
        assert [crawl["id"] for crawl in first["items"] + rest["items"]] == made[::-1]
        assert rest["next_cursor"] is None

    @pytest.mark.parametrize(
        "change",
        [
            {"seeds": []}, {"seeds": ["ftp://a.example/"]}, {"seeds": ["http://["]}, {"seeds": "x"}, {"scope": "all"},
            {"depth": -1}, {"limit": 0}, {"include": ["("]}, {"include": ["x"] * 101}, {"seeds": ["x" * 5000]},
            {"max_seconds": "NaN"}, {"limit": 10**30}, {"limt": 2}, {"seeds": ["mailto:a@b.c"]},
            {"seeds": ["hello world"]}, {"seeds": ["a@b.c"]}, {"seeds": ["example"]},
        ],
    )  # fmt: skip
    def test_wrong_orders_are_explained(self, call, instance, token, change):
        body = is_problem(call("POST", "/crawls", token, ORDER | change)[2], 422)
        assert body["detail"]
        assert not Crawl.objects.exists()

    def test_what_is_wrong_with_an_order_is_told_in_words(self, call, instance, token):
        wrong = {"seeds": "x", "limit": "many", "limt": 2}
        body = is_problem(call("POST", "/crawls", token, ORDER | wrong)[2], 422)
        told = {"seeds": "it must be a list", "limit": "it must be a whole number", "limt": "there is no such field"}
        assert {one["field"]: one["reason"] for one in body["errors"]} == told

    @pytest.mark.parametrize("rude", [{"ignore_robots": True}, {"insecure": True}, {"delay": 0}])
    def test_rude_orders_need_an_administrator(self, call, instance, token, administrator, rude):
        assert "administrator" in is_problem(call("POST", "/crawls", token, ORDER | rude)[2], 403)["detail"]
        assert call("POST", "/crawls", services.create_token(SYSTEM, administrator, "").secret, ORDER | rude)[0] == 201


class TestParameters:
    @pytest.mark.parametrize(
        ("path", "known"),
        [
            ("/search?q=a&lenguage=es", "known: "),
            ("/crawls?limt=2", "known: cursor, limit"),
            ("/crawls/1?limt=2", "this operation has none"),
            ("/wiki/articles?titel=x", "known: "),
        ],
    )
    def test_one_that_does_not_exist_is_refused_by_name(self, call, instance, token, path, known):
        name = path.rpartition("=")[0].replace("?", "&").rpartition("&")[2]
        call("POST", "/crawls", token, ORDER)
        body = is_problem(call("GET", path)[2], 422)
        assert [one["field"] for one in body["errors"]] == [f"query.{name}"]
        assert body["errors"][0]["reason"].startswith(f"there is no such parameter; {known}")

    def test_nothing_is_done_when_one_does_not_exist(self, call, instance, token):
        is_problem(call("POST", "/crawls?dry=1", token, ORDER)[2], 422)
        assert not Crawl.objects.exists()

    @pytest.mark.parametrize("path", ["/suggest?q=a&client=firefox", "/?q=a&utm=x"])
    def test_protocols_and_pages_bear_what_they_do_not_know(self, client, world, path):
        assert client.get(path).status_code == 200

    def test_a_hub_may_add_parameters_of_its_own(self, client, instance):
        answer = client.get("/api/v1/signals/websub/1/aaaaaaaaaa?hub.mode=subscribe&hub.extra=1")
        assert answer.status_code == 404


class TestAccess:
    def test_writes_need_a_token_of_a_director(self, call, instance, director):
        problem = call("POST", "/crawls", body=ORDER)[2]
        is_problem(problem, 401)
        assert problem.headers["WWW-Authenticate"].startswith("Bearer")
        is_problem(call("POST", "/crawls", "hem_wrong", ORDER)[2], 401)
        reading = services.create_token(SYSTEM, director, "", Role.READER).secret
        is_problem(call("POST", "/crawls", reading, ORDER)[2], 403)
        assert not Crawl.objects.exists()

    def test_a_wrong_token_is_refused_even_where_none_is_needed(self, call, instance):
        is_problem(call("GET", "/status", "hem_wrong")[2], 401)

    def test_a_closed_instance_answers_nobody_without_a_token(self, call, world, settings, token):
        settings.CONFIG = replaced(settings.CONFIG, open_search=False)
        capture = world.captures[BREAD][0].record_id
        paths = ["/search?q=x", "/status", "/crawls", "/crawls/1", "/pages", f"/pages/by-url?url={BREAD}"]
        paths += [f"/captures?url={BREAD}", f"/captures/{capture}", f"/captures/{capture}/content"]
        for path in paths:
            is_problem(call("GET", path)[2], 401)
        assert call("GET", "/search?q=x", token)[0] == 200

    def test_the_session_of_the_console_works_but_only_with_its_csrf_token(self, instance, director):
        browser = Client(enforce_csrf_checks=True)
        browser.force_login(director)
        refused = browser.post("/api/v1/crawls", json.dumps(ORDER), "application/json")
        assert "CSRF" in is_problem(refused, 403)["detail"]
        browser.get("/sign-in")
        header = {"X-CSRFToken": browser.cookies["csrftoken"].value}
        assert browser.post("/api/v1/crawls", json.dumps(ORDER), "application/json", headers=header).status_code == 201

    def test_signing_out_ends_the_session_for_the_api_too(self, client, instance, director, settings):
        settings.CONFIG = replaced(settings.CONFIG, open_search=False)
        client.post("/sign-in", {"name": "eva", "password": PASSWORD})
        assert client.get("/api/v1/status").status_code == 200
        client.post("/sign-out")
        assert client.get("/api/v1/status").status_code == 401


class TestProblems:
    @pytest.mark.parametrize(
        ("method", "path", "status"),
        [
            ("GET", "/nothing", 404),
            ("GET", "/captures/not-a-uuid", 422),
            ("GET", "/captures/00000000-0000-0000-0000-000000000000", 404),
            ("GET", "/crawls/0", 422),
            ("GET", "/search", 422),
            ("GET", "/search?q=x&limit=0", 422),
            ("GET", "/search?q=x&limit=101", 422),
            ("GET", "/pages?state=odd", 422),
            ("GET", "/pages?cursor=zzz", 400),
            ("GET", "/pages?cursor=WyJhIl0", 400),
            ("DELETE", "/search?q=x", 405),
        ],
    )
    def test_every_error_is_a_problem(self, call, instance, method, path, status):
        is_problem(call(method, path)[2], status)

    def test_a_wrong_host_and_a_body_that_is_not_json_are_problems_too(self, client, instance, token):
        is_problem(client.get("/api/v1/status", headers={"host": "evil.example"}), 421)
        headers = {"authorization": f"Bearer {token}"}
        answer = client.post("/api/v1/crawls", "{not json", "application/json", headers=headers)
        is_problem(answer, 400)

    def test_a_failure_of_ours_is_a_problem_without_its_secrets(self, client, instance, monkeypatch):
        from hemeroteca.engine import overview

        monkeypatch.setattr(overview, "now", lambda: 1 / 0)
        client.raise_request_exception = False
        body = is_problem(client.get("/api/v1/status"), 500)
        assert "division" not in json.dumps(body)


class TestDescription:
    def test_every_operation_may_answer_a_problem(self, call, instance):
        _, schema, _ = call("GET", "/openapi.json")
        for operations in schema["paths"].values():
            for operation in operations.values():
                assert "application/problem+json" in operation["responses"]["default"]["content"]

    def test_the_page_of_the_api_loads_nothing_from_elsewhere(self, client, instance):
        page = client.get("/api/v1/docs").content.decode()
        assert "http://" not in page
        assert "https://" not in page
        for source in ("swagger-ui-bundle.js", "swagger-ui.css", "swagger-ui-init.js"):
            assert client.get(f"/static/ninja/{source}").status_code == 200


def test_a_cursor_comes_back_as_it_was_written():
    assert shapes.read_cursor(shapes.write_cursor(5, -(1 << 62)), 2) == [5, -(1 << 62)]
    assert shapes.read_cursor("", 2) is None


def test_sites_have_rules_of_comparison(call, token, world):
    host = BREAD.split("/")[2]
    status, site, _ = call("PATCH", f"/sites/{host}", token, {"ignore": [".clock", "//aside"], "threshold": 0.3})
    assert (status, site["ignore"], site["threshold"], site["noise"]) == (200, [".clock", "//aside"], 0.3, [])
    assert call("GET", f"/sites/{host}", token)[1]["ignore"] == [".clock", "//aside"]
    status, compared, _ = call("GET", f"/history/compare?url={BREAD}")
    assert (status, compared["threshold"]) == (200, 0.3)
    assert call("PATCH", f"/sites/{host}", token, {"threshold": None})[1]["threshold"] is None
    status, problem, _ = call("PATCH", f"/sites/{host}", token, {"ignore": ["p["]})
    assert status == 422
    assert "cannot be read" in problem["detail"]


def test_sites_are_for_directors_and_their_dangers_for_administrators(call, token, world):
    assert call("GET", "/sites/example.org")[0] == 401
    assert call("GET", "/sites/nobody.example", token)[0] == 404
    assert call("PATCH", "/sites/example.org", token, {"ignore_robots": True})[0] == 403
    assert call("PATCH", "/sites/example.org", token, {"delay": 0})[0] == 403
    assert call("PATCH", "/sites/example.org", token, {"password": "x"})[1].get("password") is None

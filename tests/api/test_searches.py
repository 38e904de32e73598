"""Saved searches, sites and the past, over the API."""

import json
from contextlib import closing

import pytest

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM, Role
from hemeroteca.accounts import services as accounts
from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.instance import Instance
from hemeroteca.search import portal
from hemeroteca.search.index import open_index
from hemeroteca.search.index.version_index import VersionWriter, open_versions

pytestmark = [pytest.mark.django_db, pytest.mark.database]
MARCH, JUNE = 1_710_500_000_000, 1_718_000_000_000


@pytest.fixture
def folder(settings, tmp_path):
    settings.INSTANCE = Instance(tmp_path / "data")
    settings.INSTANCE.create()
    portal.searcher_at.cache_clear()
    with open_index(None, settings.INSTANCE.index_dir).writer(15 << 20) as writer:
        writer.put(page(JUNE, "el pan cuesta doscientas monedas"))
        writer.commit()
    yield settings.INSTANCE.index_dir
    portal.searcher_at.cache_clear()


def page(captured_ms, text):
    return SearchDocument(
        key=1, url="https://a.example/pan", host="a.example", title="Pan", text=text, language="es", author="Ana",
        captured_ms=captured_ms, published_ms=MARCH, collections=("Prensa",), versions=2,
    )  # fmt: skip


@pytest.fixture
def call(client, folder):
    tokens = {}

    def ask(method, path, body=None, role=Role.DIRECTOR):
        if role not in tokens:
            user = accounts.add_user(SYSTEM, role.value, role, "una frase bien larga")
            tokens[role] = accounts.create_token(SYSTEM, user, "test").secret
        answer = client.generic(
            method, f"/api/v1{path}", json.dumps(body) if body is not None else "", "application/json",
            headers={"Authorization": f"Bearer {tokens[role]}"},
        )  # fmt: skip
        return answer.status_code, answer.json() if answer.content else None

    return ask


def test_times_have_one_shape_also_on_a_full_second(call):
    _, told = call("GET", "/search?q=pan")
    (item,) = told["items"]
    assert (item["published_at"], item["captured_at"]) == ("2024-03-15T10:53:20.000Z", "2024-06-10T06:13:20.000Z")


def test_saving_listing_and_forgetting_a_search(call):
    status, made = call("POST", "/searches", {"query": "pan OR queso", "name": "Comida"})
    assert (status, made["name"], made["found"], made["owner"]) == (201, "Comida", 0, "director")
    assert made["feed"] == "/search.rss?q=pan%20OR%20queso"
    assert [row["id"] for row in call("GET", "/searches", role=Role.READER)[1]] == [made["id"]]
    assert call("POST", "/searches", {"query": "x"}, role=Role.READER)[0] == 403
    assert call("POST", "/searches", {"query": "x", "channel": 99})[0] == 422
    assert call("DELETE", f"/searches/{made['id']}")[0] == 204
    assert call("DELETE", f"/searches/{made['id']}")[0] == 404


def test_results_say_what_is_known_of_a_page(call):
    hit = call("GET", "/search?q=pan&facets=true")[1]["items"][0]
    assert (hit["author"], hit["collections"], hit["versions"], hit["until"]) == ("Ana", ["Prensa"], 2, None)
    assert hit["published_at"].startswith("2024-03-15")


def test_the_past_is_searched_when_it_is_asked_for_and_kept(call, folder):
    assert call("GET", "/search?q=pan&versions=true")[0] == 503
    with closing(VersionWriter(open_versions(folder), 15 << 20)) as writer:
        writer.put(page(MARCH, "el pan cuesta cien monedas"))
        writer.put(page(JUNE, "el pan cuesta doscientas monedas"))
        writer.commit()
    for query in ("/search?q=pan+at:2024-04", "/search?q=cien&versions=true"):
        found = call("GET", query)[1]
        assert "cien" in found["items"][0]["snippet"]
        assert found["items"][0]["until"].startswith("2024-06-10")
        assert found["notes"] == []
    assert call("GET", "/search?q=cien")[1]["total"] == 0
    assert call("GET", "/search?q=cien+at:2024-04&versions=false")[1]["total"] == 0


def test_directors_set_rules_and_only_administrators_what_makes_us_impolite(call):
    status, site = call("PATCH", "/sites/A.example", {"exclude": ["aside", "*[class=ad*]"], "render": "never"})
    assert (status, site["exclude"], site["render"]) == (200, ["aside", "*[class=ad*]"], "never")
    assert call("PATCH", "/sites/a.example", {"include": ["div[["]})[0] == 422
    assert call("PATCH", "/sites/a.example", {"ignore_robots": True})[0] == 403
    status, site = call("PATCH", "/sites/a.example", {"password": "abc", "exclude": None}, role=Role.ADMINISTRATOR)
    assert (status, site["password"], site["exclude"], site["render"]) == (200, "set", [], "never")
    assert call("GET", "/sites/a.example")[1] == site
    assert call("GET", "/sites/unknown.example")[0] == 404
    assert call("GET", "/sites/a.example", role=Role.READER)[0] == 403


def test_hosts_are_raised_blocked_and_forgotten(call):
    assert call("GET", "/preferences", role=Role.READER) == (200, {"boosts": {}, "blocks": []})
    assert call("PUT", "/preferences/a.example", {"factor": 2.5}) == (200, {"boosts": {"a.example": 2.5}, "blocks": []})
    assert call("PUT", "/preferences/a.example", {"factor": 0})[1] == {"boosts": {}, "blocks": ["a.example"]}
    assert call("GET", "/search?q=pan")[1]["items"] == []
    assert call("DELETE", "/preferences/a.example")[1] == {"boosts": {}, "blocks": []}
    assert len(call("GET", "/search?q=pan")[1]["items"]) == 1


def test_only_directors_judge_hosts_and_mistakes_are_named(call):
    assert call("PUT", "/preferences/a.example", {"factor": 2}, role=Role.READER)[0] == 403
    status, problem = call("PUT", "/preferences/a%20b", {"factor": 2})
    assert status == 422
    assert "write it like example.org" in problem["detail"]
    assert call("PUT", "/preferences/a.example", {"factor": 0.001})[0] == 422


def test_why_a_result_stands_there(call, folder):
    with open_index(None, folder).writer(15 << 20) as writer:
        known = page(JUNE, "el pan cuesta doscientas monedas")
        known.key = urls.key(known.url)
        writer.put(known)
        writer.delete(1)
        writer.commit()
    status, why = call("GET", "/search/explain?q=pan+monedas&url=https://a.example/pan")
    assert (status, why["place"], why["title"]) == (200, 1, "Pan")
    assert set(why["words"]) == {"pan", "monedas"}
    assert why["score"] > 0
    assert why["text_score"] == pytest.approx(sum(why["parts"].values()))
    status, problem = call("GET", "/search/explain?q=pan&url=https://b.example/")
    assert status == 404
    assert "is not in the index" in problem["detail"]

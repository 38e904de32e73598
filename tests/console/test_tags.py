"""Pages found by the tags people gave them: on the page of results, over the API, on the command line, as a notice."""

import json
import re

import pytest

from hemeroteca import urls
from hemeroteca.accounts import STRANGER, SYSTEM, Actor, services
from hemeroteca.archive import notes
from hemeroteca.archive.models import PageTag
from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.search import portal
from hemeroteca.search.index import open_index
from hemeroteca.search.query import conditions
from hemeroteca.watch import saved_searches
from tests.commands import run
from tests.console.world import BREAD, HARBOUR

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture
def tagged(world):
    notes.set_tags(SYSTEM, BREAD, ["precios", "primera plana"])
    notes.set_tags(SYSTEM, "http://www.news.example/harbour/", ["puerto", "precios"])  # another spelling of HARBOUR
    return world


def found(query, actor=SYSTEM, **options):
    return {hit.url for hit in portal.searcher().search(query, options=portal.reader_options(actor, **options)).hits}


@pytest.mark.parametrize(
    ("query", "urls"),
    [
        ("tag:precios", {BREAD, HARBOUR}),
        ("etiqueta:PRECIOS", {BREAD, HARBOUR}),
        ('tag:"primera  plana"', {BREAD}),
        ("tag:precios panaderos", {BREAD}),
        ("harbour tag:puerto", {HARBOUR}),
        ("harbour -tag:puerto", {"https://evil.example/x"}),
        ("tag:puerto,primera", {HARBOUR}),
        ("tag:nada", set()),
        ("tag:puerto OR panaderos", {BREAD, HARBOUR}),
    ],
)
def test_what_a_tag_finds(tagged, query, urls):
    assert found(query) == urls


def test_tags_are_not_read_by_those_who_may_not(tagged, reader):
    assert found("tag:precios", Actor.of(reader)) == {BREAD, HARBOUR}
    assert found("tag:precios", STRANGER) == set()
    answer = portal.searcher().search("tag:precios", options=portal.reader_options(STRANGER))
    assert answer.notes == ["`tag:` finds nothing here: tags are for people who have signed in"]


def test_of_very_many_the_last_are_looked_at_and_that_is_said(tagged, monkeypatch):
    PageTag.objects.filter(url=BREAD).update(made_ms=1)
    monkeypatch.setattr(conditions, "MAX_TAGGED", 1)
    answer = portal.searcher().search("tag:precios", options=portal.reader_options(SYSTEM))
    assert [hit.url for hit in answer.hits] == [HARBOUR]
    assert "that got it last were looked at" in answer.notes[0]


def test_a_result_shows_its_tags_to_those_who_may_read_them(client, tagged, reader):
    strangers = client.get("/", {"q": "panaderos"}).content.decode()
    assert "primera plana" not in strangers
    assert "tags are for people" in client.get("/", {"q": "tag:precios"}).content.decode()
    client.force_login(reader)
    page = client.get("/", {"q": "panaderos"}).content.decode()
    link = re.search(r'href="(\?q=tag%3A[^"]+)"[^>]*># primera plana', page)[1]
    assert BREAD in client.get("/" + link).content.decode()


def test_over_the_api(client, tagged, reader):
    token = services.create_token(SYSTEM, reader, "test").secret
    answer = client.get("/api/v1/search?q=tag:puerto", headers={"authorization": f"Bearer {token}"}).json()
    assert [(item["url"], item["tags"]) for item in answer["items"]] == [(HARBOUR, ["precios", "puerto"])]
    assert client.get("/api/v1/search?q=tag:puerto").json()["items"] == []
    assert client.get("/api/v1/search?q=harbour").json()["items"][0]["tags"] == []


def test_on_the_command_line(tmp_path):
    command = "from hemeroteca.cli import main; main()"
    run(command, tmp_path / "data", "archive", "tag", HARBOUR, "puerto")
    writer = open_index(None, tmp_path / "data/index").writer(15_000_000)
    writer.put(SearchDocument(key=urls.key(HARBOUR), url=HARBOUR, title="Storm", text="the harbour was closed"))
    writer.commit()
    writer.close()
    done = run(command, tmp_path / "data", "search", "closed tag:puerto", "--json")
    assert json.loads(done.stdout)["url"] == HARBOUR
    assert "0 results" in run(command, tmp_path / "data", "search", "closed tag:otro").stdout


def test_a_saved_search_tells_of_pages_that_get_a_tag(tagged, subscriber):
    saved = saved_searches.save(Actor.of(subscriber), "tag:puerto")
    notes.set_tags(SYSTEM, BREAD, ["puerto"])
    saved_searches.SavedSearchRun(tagged.instance.index_dir).run()
    saved.refresh_from_db()
    assert saved.found == 1

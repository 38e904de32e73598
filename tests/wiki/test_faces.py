"""Commands and API with the founding work's shapes and filters, over a lake whose rows are known."""

import json

import pytest
from django.test import Client

from hemeroteca import cli
from hemeroteca.accounts import SYSTEM, Role
from hemeroteca.accounts import services as accounts
from hemeroteca.jobs.models import Job
from hemeroteca.wiki.models import LakeFile
from hemeroteca.wiki.queries import REVISION_SORTS
from tests.wiki.making import keep

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def kept(house):
    """Two articles, seven revisions, three users, three days."""
    return keep(
        [
            ("Caracas", 1, 10, "2026-03-01T10:00:00Z", "Ana", 1, 100, ["mw-undo"]),
            ("Caracas", 1, 11, "2026-03-01T23:59:59Z", "Beto", 2, 200, []),
            ("Caracas", 1, 12, "2026-03-02T00:00:00Z", "Ana", 1, 150, []),
            ("Caracas", 1, 14, "2026-03-04T12:00:00Z", "Carla", 3, 150, ["mobile edit", "mw-reverted"]),
            ("Mérida", 2, 13, "2026-03-02T08:00:00Z", "Beto", 2, 50, []),
            ("Mérida", 2, 15, "2026-03-04T09:00:00Z", "10.0.0.1", 0, 60, []),
            ("Mérida", 2, 16, "2026-03-04T13:00:00Z", "Ana", 1, 60, []),
        ]
    )


@pytest.fixture
def api(kept):
    user = accounts.add_user(SYSTEM, "eva", Role.DIRECTOR, "a-long-password-1")
    secret = accounts.create_token(SYSTEM, user, "test").secret
    client = Client(headers={"Authorization": f"Bearer {secret}"})

    def ask(path, code=200, **given):
        answer = client.get(f"/api/v1/wiki/{path}", given)
        assert answer.status_code == code, answer.content
        return answer.json()

    ask.client = client
    return ask


@pytest.mark.parametrize(
    ("given", "count"),
    [
        ({}, 7),
        ({"title": "Caracas"}, 4),
        ({"pageid": 2}, 3),
        ({"user": "Ana"}, 3),
        ({"userid": 2}, 2),
        ({"tag": "mw-reverted"}, 1),
        ({"size": 150}, 2),
        ({"size": 150, "sizematch": 0}, 2),
        ({"size": 100, "sizematch": 5}, 3),
        ({"size": 100, "sizematch": -1}, 3),
        ({"date": "2026-03-01"}, 2),
        ({"datestart": "2026-03-02"}, 5),
        ({"dateend": "2026-03-02"}, 4),
        ({"datestart": "2026-03-02", "dateend": "2026-03-04"}, 5),
        ({"locale": "es"}, 7),
        ({"locale": "de"}, 0),
        ({"title": "Caracas", "user": "Ana", "datestart": "2026-03-02"}, 1),
    ],
)
def test_count_with_every_filter(api, given, count):
    assert api("count", **given) == {"count": count}


def test_avg_counts_both_ends(api):
    assert api("avg", datestart="2026-03-01", dateend="2026-03-04") == {"avg": 7 / 4}
    assert "datestart and dateend are required" in api("avg", 422, datestart="2026-03-01")["detail"]


@pytest.mark.parametrize(
    ("attribute", "values", "count"),
    [
        ("title", ["Caracas"], 4),
        ("pageid", [1], 4),
        ("user", ["Ana"], 3),
        ("userid", [1], 3),
        ("date", ["2026-03-04"], 3),
        ("size", [60, 150], 2),
    ],
)
def test_mode_gives_all_that_are_as_frequent(api, attribute, values, count):
    assert api("mode", attribute=attribute) == {"mode": values[0], "count": count, "modes": values}


@pytest.mark.parametrize("path", ["articles", "revisions", "count", "avg", "mode", "metrics", "trends"])
def test_unknown_parameters_are_refused_with_those_allowed(api, path):
    given = {"attribute": "user"} if path == "mode" else {}
    detail = api(path, 422, titel="Caracas", **given)["detail"]
    assert "titel" in detail
    assert ("days" if path == "trends" else "title") in detail


@pytest.mark.parametrize(
    "given",
    [
        {"date": "yesterday"},
        {"date": "2026-02-30"},
        {"dateend": "9999-12-31"},
        {"datestart": "0001-01-01T00:00:00+14:00"},
        {"sizematch": 1},
        {"datestart": "2026-03-04", "dateend": "2026-03-01"},
        {"date": "2026-03-04", "datestart": "2026-03-01"},
        {"pageid": "seven"},
        {"size": str(1 << 70)},
    ],
)
def test_what_cannot_be_is_refused(api, given):
    assert api("count", 422, **given)["detail"]


def test_articles_and_revisions_in_parts(api):
    found = api("articles", sort="-title", page_size=1)
    assert (found["total"], [item["title"] for item in found["items"]]) == (2, ["Mérida"])
    assert found["items"][0].keys() >= {
        *("ns", "pageid", "title", "locale", "first_extraction_date", "last_extraction_date", "last_revision_extracted")
    }
    assert [row["revid"] for row in api("revisions", page=2, page_size=3)["items"]] == [13, 15, 14]
    seen, cursor = [], ""
    while cursor is not None:
        part = api("revisions", page_size=2, sort="-size", **({"cursor": cursor} if cursor else {}))
        seen += [row["revid"] for row in part["items"]]
        cursor = part["next_cursor"]
    assert seen == [11, 14, 12, 10, 16, 15, 13]
    assert api("revisions", extraction_date="1999-01-01")["items"] == []
    assert len(api("revisions", last_extraction_date="2026-11-01")["items"]) == 7
    assert api("revisions", first_extraction_date="2026-11-02")["items"] == []
    assert api("revisions", 422, sort="password")["detail"].startswith("sort is one of")


@pytest.mark.parametrize(
    "given",
    [{"page_size": 0}, {"page_size": 1001}, {"page": 0}, {"page": "x"}, {"page": 1 << 80}, {"cursor": "nonsense"},
     {"cursor": "WzEsMl0"}, {"cursor": "é"}, {"sort": "--size"}, {"extraction_date": "never"}],
)  # fmt: skip
def test_parts_that_cannot_be_are_refused(api, given):
    assert api("revisions", 422, **given)["detail"]


@pytest.mark.parametrize("sort", ["user", "-user", "size", "-size"])
def test_revisions_whose_user_or_size_is_hidden_are_in_some_part(api, sort):
    keep([("Oculto", 3, 20 + n, f"2026-04-0{n}T00:00:00Z", None, None, None, []) for n in range(1, 4)])
    seen, cursor = [], ""
    while cursor is not None:
        part = api("revisions", page_size=2, sort=sort, **({"cursor": cursor} if cursor else {}))
        seen += [row["revid"] for row in part["items"]]
        cursor = part["next_cursor"]
    assert sorted(seen) == [10, 11, 12, 13, 14, 15, 16, 21, 22, 23]
    assert len(seen) == len(set(seen))
    assert set(seen[-3:]) == {21, 22, 23}, "what is hidden comes last"


def test_revisions_are_sorted_by_every_name_there_is(api):
    for name in REVISION_SORTS:
        for sort in (name, f"-{name}"):
            first = api("revisions", page_size=4, sort=sort)
            rest = api("revisions", page_size=4, sort=sort, cursor=first["next_cursor"])
            rows = [*first["items"], *rest["items"]]
            keys = [(row[name], row["revid"]) for row in rows]
            assert keys == sorted(keys, reverse=sort != name), sort
            assert len(rows) == 7


def test_a_title_is_found_as_people_type_it(api):
    assert api("count", title="caracas") == api("count", title="Caracas") == {"count": 4}
    assert "is kept" in api("count", 404, title="no hay")["detail"]


def test_an_answer_has_an_etag_until_something_is_kept(api):
    first = api.client.get("/api/v1/wiki/count").headers["ETag"]
    assert api.client.get("/api/v1/wiki/count").headers["ETag"] == first
    assert api.client.get("/api/v1/wiki/count?user=Ana").headers["ETag"] != first
    keep([("Nuevo", 9, 90, "2026-03-05T00:00:00Z", "Ana", 1, 1, [])])
    assert api.client.get("/api/v1/wiki/count").headers["ETag"] != first
    assert api("count") == {"count": 8}


def test_extract_is_accepted_with_the_place_of_its_state(api):
    def order(**given):
        return api.client.post("/api/v1/wiki/extract", given, content_type="application/json")

    answer = order(url="http://127.0.0.1:9/wiki/Simón_Bolívar")
    assert answer.status_code == 202
    state = api.client.get(answer.headers["Location"]).json()
    assert (state["state"], state["status"], state["kind"]) == ("PENDING", "waiting", "wiki.extract")
    assert Job.objects.get(pk=state["job"]).arguments["titles"] == ["Simón Bolívar"]
    by_title = order(title="Bolívar")
    assert by_title.status_code == 202
    assert Job.objects.latest("pk").arguments["wiki"] == "en"
    assert order().status_code == 422
    assert "`url` or `title` is required" in order(locale="es").json()["detail"]
    assert order(title="a|b").status_code == 422
    assert order(title="x", colour="red").status_code == 422


def test_wikimedia_is_not_asked_without_a_contact(api, house):
    import dataclasses

    house.CONFIG = dataclasses.replace(house.CONFIG, contact="")
    answer = api.client.post("/api/v1/wiki/extract", {"title": "x"}, content_type="application/json")
    assert answer.status_code == 403
    assert "set `contact`" in answer.json()["detail"]
    assert not Job.objects.exists()


def test_an_answer_that_the_caller_has_is_not_sent_again(api):
    tag = api.client.get("/api/v1/wiki/count").headers["ETag"]
    again = api.client.get("/api/v1/wiki/count", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert api.client.get("/api/v1/wiki/count", headers={"If-None-Match": '"other"'}).status_code == 200


def test_metrics_as_table_and_as_chart(api):
    table = api.client.get("/api/v1/wiki/metrics", {"metric": "editors", "format": "csv"})
    assert table.headers["Content-Type"].startswith("text/csv")
    assert table.content.decode().splitlines()[:2] == [
        "user,edits,minor,added,removed,first,last",
        "Ana,3,0,100,50,2026-03-01T10:00:00.000Z,2026-03-04T13:00:00.000Z",
    ]
    assert "one metric" in api("metrics", 422, format="csv")["detail"]
    spec = api("metrics", metric="edits_per_day", format="chart")["edits_per_day"]
    assert spec["data"]["values"][0] == {"day": "2026-03-01", "edits": 2}
    assert [row["title"] for row in api("compare?title=Caracas&title=M%C3%A9rida")["articles"]] == ["Caracas", "Mérida"]


def test_articles_are_ordered_by_address_list_or_choice(api):
    def order(code=202, **given):
        answer = api.client.post("/api/v1/wiki/extract", given, content_type="application/json")
        assert answer.status_code == code, answer.content
        return Job.objects.latest("pk").arguments if code == 202 else answer.json()["detail"]

    made = order(locale="http://127.0.0.1:9/w/api.php", titles=["http://127.0.0.1:9/wiki/A_b", "C"], workers=2)
    assert (made["titles"], made["workers"]) == (["A b", "C"], 2)
    assert order(locale="http://127.0.0.1:9/w/api.php", category="X", depth=2, policy="never")["depth"] == 2
    assert "is not an article of" in order(422, locale="es", title="http://127.0.0.1:9/wiki/A")
    assert "there is no policy" in order(422, title="A", policy="daily")


def test_query_takes_sql_and_the_founding_pipeline(api):
    def ask(code=200, **order):
        answer = api.client.post("/api/v1/wiki/query", order, content_type="application/json")
        assert answer.status_code == code, answer.content
        return answer.json()

    answer = ask(sql="SELECT user, count(*) AS edits FROM revisions GROUP BY user ORDER BY edits DESC, user LIMIT 2")
    assert (answer["columns"], answer["rows"]) == (["user", "edits"], [["Ana", 3], ["Beto", 2]])
    stages = [
        {"$match": {"timestamp": {"$gte": "02/03/2026"}}},
        {"$group": {"_id": "$user", "edits": {"$sum": 1}, "size": {"$avg": "$size"}}},
        {"$sort": {"edits": -1, "_id": 1}},
        {"$limit": 1},
    ]
    assert ask(pipeline=stages, date_format="%d/%m/%Y")["rows"] == [["Ana", 2, 105.0]]
    assert ask(pipeline=[{"$count": "n"}], collection="articles")["rows"] == [[2]]
    bare = api.client.post("/api/v1/wiki/query?collection=articles", [{"$count": "n"}], content_type="application/json")
    assert bare.json()["rows"] == [[2]], "the array itself, as the founding work sent it"
    assert "sqll" in ask(422, sqll="SELECT 1")["detail"]
    assert "there is no stage" in ask(422, pipeline=[{"$out": "x"}])["detail"]
    assert "only one SELECT" in ask(422, sql="DELETE FROM revisions")["detail"]
    assert ask(422, sql="SELECT 1", pipeline=[])["detail"].startswith("send either")


def test_commands_have_the_shapes_of_the_design(kept, capsys, monkeypatch):
    monkeypatch.setattr("hemeroteca.cli.common.setup", lambda *a, **k: None)

    def lines(*words):
        app = cli.command_line("wiki")
        with pytest.raises(SystemExit) as end:
            app(["wiki", *words, "--json"])
        assert end.value.code == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert lines("count", "--title", "Caracas") == [{"count": 4}]
    assert lines("avg", "--datestart", "2026-03-01", "--dateend", "2026-03-04") == [{"avg": 1.75}]
    assert lines("mode", "--of", "user") == [{"mode": "Ana", "count": 3}]
    assert lines("mode", "--of", "size") == [{"mode": 60, "count": 2, "modes": [60, 150]}]
    rows = lines("revisions", "--title", "Caracas")
    assert [row["revid"] for row in rows] == [10, 11, 12, 14]
    assert rows[0].keys() >= {
        "pageid",
        "title",
        "minor",
        "extraction_date",
        "user",
        "tags",
        "sha1",
        "comment",
        "parentid",
    }
    assert [row["revid"] for row in lines("revisions", "--sort", "-revid", "--page-size", "2")] == [16, 15]
    assert [row["revid"] for row in lines("revisions", "--sort", "-revid", "--page-size", "2", "--page", "2")] == [
        14,
        13,
    ]
    assert [row["title"] for row in lines("articles")] == ["Caracas", "Mérida"]
    assert lines("query", "SELECT count(*) AS n FROM revisions") == [{"n": 7}]
    assert lines("metrics", "Caracas", "--only", "minor") == [{"minor": [{"edits": 4, "minor": 0, "share": 0.0}]}]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["count", "--date", "yesterday"], "date is a day like"),
        (["count", "--sizematch", "1"], "give size too"),
        (["avg"], "datestart and dateend are required"),
        (["mode", "--of", "colour"], "attribute is one of"),
        (["revisions", "--sort", "password"], "sort is one of"),
        (["count", "--title", "Nadie"], "no article 'Nadie' is kept; `hemeroteca wiki extract` brings it"),
        (["count", "--title", "Caracas", "--pageid", "2"], "no article 'Caracas' is kept"),
        (["count", "--title", "Caracas", "--locale", "en"], "no article 'Caracas' is kept"),
        (["count", "--pageid", "77"], "no article with the pageid 77 is kept"),
        (["count", "--wiki", "es"], "nothing is kept of a wiki named 'es'; there are es.example.org"),
        (["avg", "--title", "Nadie", "--datestart", "2026-03-01", "--dateend", "2026-03-02"], "no article 'Nadie'"),
        (["mode", "--of", "user", "--title", "Nadie"], "no article 'Nadie' is kept"),
        (["revisions", "--title", "Nadie"], "no article 'Nadie' is kept"),
        (["export", "out.csv", "--title", "Nadie"], "no article 'Nadie' is kept"),
        (["metrics", "Nadie"], "no article 'Nadie' is kept"),
        (["metrics", "Caracas", "--only", "magic"], "there is no metric 'magic'"),
        (["compare", "Caracas"], "name 2 to 10 articles"),
        (["query", "DROP TABLE revisions"], "only one SELECT"),
        (["query", "COPY revisions TO 'x.csv'"], "only one SELECT"),
        (["query", "SELECT * FROM read_csv('x')"], "read_csv"),
        (["query", "SELECT 1; SELECT 2"], "one SELECT at a time"),
        (["query", "missing.json"], "cannot be read"),
        (["status", "999"], "no job 999"),
        (["verify", "Nadie"], "no article 'Nadie' is kept"),
        (["verify", "--wiki", "xx.example.org"], "nothing is kept of a wiki named 'xx.example.org'"),
        (["refresh", "--wiki", "xx.example.org"], "nothing is kept of a wiki named 'xx.example.org'"),
        (["extract", "a|b", "--wiki", "http://127.0.0.1:9/api.php"], "cannot be the title"),
        (["extract", "A", "--wiki", "not a wiki"], "not a wiki"),
        (["extract", "A", "--wiki", "http://127.0.0.1:9/api.php", "--max-revisions", "-1"], "--max-revisions is -1"),
        (["import", "no-such-dump.xml"], "no-such-dump.xml"),
        (["export", "out.docx"], "docx"),
        (["count", "--nonsense", "1"], "--nonsense"),
    ],
)
def test_a_command_that_cannot_be_done_says_why(kept, capsys, monkeypatch, tmp_path, words, reason):
    monkeypatch.setattr("hemeroteca.cli.common.setup", lambda *a, **k: None)
    monkeypatch.chdir(tmp_path)
    app = cli.command_line("wiki")
    with pytest.raises(SystemExit) as end:
        app(["wiki", *words, "--json"])
    told = capsys.readouterr()
    assert end.value.code != 0
    assert reason in " ".join(told.err.split()) + " ".join(told.out.split())
    assert "Traceback" not in told.err
    assert not list(tmp_path.glob("out.*"))


@pytest.mark.parametrize(
    "path", ["count", "avg?datestart=2026-03-01&dateend=2026-03-02", "mode?attribute=user", "revisions", "metrics"]
)
def test_an_article_that_is_not_kept_is_not_one_without_revisions(api, path):
    name, _, query = path.partition("?")
    given = dict(pair.split("=") for pair in query.split("&") if pair)
    refused = api(name, 404, title="Nadie", **given)
    assert "no article 'Nadie' is kept" in refused["detail"]
    assert "es.example.org" in api(name, 404, wiki="es", **given)["detail"]
    api(name, 200, title="Caracas", user="Nadie", **given)
    assert api("count", title="Caracas", user="Nadie") == {"count": 0}


def test_an_export_knows_titles_as_questions_do(kept, run, tmp_path):
    done = run("wiki.export", {"target": str(tmp_path / "a.csv"), "format": "csv", "filters": {"title": "caracas"}})
    assert (done["articles"], done["revisions"]) == (1, 4)


def test_compaction_changes_no_answer(kept, run):
    from hemeroteca.wiki import queries

    before = list(queries.every_revision(SYSTEM, {}))
    keep([("Caracas", 1, 17, "2026-03-06T00:00:00Z", "Ana", 1, 1, [])])
    keep([("Caracas", 1, 18, "2026-03-07T00:00:00Z", "Ana", 1, 1, [])])
    files = LakeFile.objects.filter(state="live", table="revisions").count()
    assert run("wiki.compact", {"everything": True})["files"] > 0
    assert LakeFile.objects.filter(state="live", table="revisions").count() < files
    after = list(queries.every_revision(SYSTEM, {}))
    assert [row for row in after if row["revid"] < 17] == before
    assert [row["revid"] for row in after][-2:] == [17, 18]

"""The same expressions give the same on DuckDB and on Spark, over the same files: metrics, pipelines, updates."""

import datetime
import json
import os
import random
import shutil

import pytest

from hemeroteca.lake import parquet, pipeline, views
from hemeroteca.lake.files import LakeFiles
from hemeroteca.lake.manifest import LakeArticle, Manifest
from hemeroteca.lake.pipeline import PipelineError, translate
from hemeroteca.lake.query_engine import Lake
from hemeroteca.lake.revisions import Event, Revision, Text

PIPELINES = [
    [{"$match": {"user": "Ana", "size": {"$gt": 300}}}, {"$count": "n"}],
    [{"$group": {"_id": "$user", "n": {"$sum": 1}, "mean": {"$avg": "$size"}}}, {"$sort": {"n": -1, "_id": 1}}],
    [{"$match": {"tags": "mw-reverted"}}, {"$project": {"revid": 1, "year": {"$year": "$timestamp"}}},
     {"$sort": {"revid": 1}}],
    [{"$unwind": "$tags"}, {"$group": {"_id": "$tags", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}],
    [{"$match": {"$or": [{"user": None}, {"minor": True}]}}, {"$sort": {"revid": 1}}, {"$skip": 3}, {"$limit": 5},
     {"$project": {"revid": 1, "user": 1}}],
    [{"$group": {"_id": {"d": {"$dayOfWeek": "$timestamp"}}, "n": {"$sum": 1}}},
     {"$project": {"day": "$_id.d", "n": 1}}, {"$sort": {"day": 1}}],
    [{"$match": {"timestamp": {"$gte": "2024-03-01", "$lt": "2024-04-01"}}}, {"$count": "n"}],
    [{"$match": {"comment": {"$regex": "^cambio 1"}}}, {"$count": "n"}],
    [{"$group": {"_id": None, "minor": {"$sum": "$minor"}, "top": {"$max": "$size"}}}],
    # every comparison, every accumulator and every operator, in few questions: each costs Spark a second
    [{"$match": {
        "$and": [{"size": {"$gte": 50, "$lte": 950}}, {"revid": {"$nin": [12, 13]}}], "$nor": [{"user": "Beto"}],
        "user": {"$exists": True}, "title": {"$in": ["T0", "Nuevo"]}, "sha1": {"$ne": None},
        "comment": {"$regex": "^CAMBIO", "$options": "i"}, "minor": {"$not": {"$eq": True}}, "tags": {"$size": 0},
        "$expr": {"$gt": ["$size", "$revid"]}}},
     {"$sort": {"revid": -1}}, {"$project": {"comment": 0, "sha1": 0}}],
    [{"$sort": {"revid": -1}},
     {"$group": {
        "_id": "$user", "sum": {"$sum": "$size"}, "twice": {"$sum": 2}, "mean": {"$avg": "$size"},
        "least": {"$min": "$comment"}, "most": {"$max": "$timestamp"}, "n": {"$count": {}},
        "first": {"$first": "$revid"}, "last": {"$last": "$user"}, "set": {"$addToSet": "$title"},
        "all": {"$push": "$revid"}, "spread": {"$stdDevPop": "$size"}, "sample": {"$stdDevSamp": "$size"}}},
     {"$sort": {"_id": 1}}],
    [{"$project": {
        "revid": 1, "sum": {"$add": ["$size", 1, "$revid"]}, "less": {"$subtract": ["$revid", "$size"]},
        "times": {"$multiply": ["$size", 2]}, "part": {"$divide": ["$size", 3]}, "rest": {"$mod": ["$size", 7]},
        "far": {"$abs": {"$subtract": ["$revid", 150]}}, "name": {"$concat": ["$user", " / ", "$title"]},
        "low": {"$toLower": "$user"}, "up": {"$toUpper": "$user"}, "letters": {"$strLenCP": "$user"},
        "begin": {"$substr": ["$user", 1, 2]}, "count": {"$size": "$tags"}, "who": {"$ifNull": ["$user", "nobody"]},
        "y": {"$year": "$timestamp"}, "m": {"$month": "$timestamp"}, "d": {"$dayOfMonth": "$timestamp"},
        "doy": {"$dayOfYear": "$timestamp"}, "dow": {"$dayOfWeek": "$timestamp"}, "h": {"$hour": "$timestamp"},
        "min": {"$minute": "$timestamp"}, "eq": {"$eq": ["$size", 500]}, "ne": {"$ne": ["$size", 500]},
        "gte": {"$gte": ["$size", 500]}, "lt": {"$lt": ["$size", 500]}, "lte": {"$lte": ["$size", 500]},
        "both": {"$and": ["$minor", "$anon"]}, "one": {"$or": ["$minor", "$anon"]}, "not": {"$not": "$minor"},
        "kind": {"$cond": {"if": "$minor", "then": "small", "else": {"$literal": "$large"}}},
        "day": {"$dateToString": {"format": "%d/%m/%Y %H:%M", "date": "$timestamp"}}}},
     {"$sort": {"revid": 1}}],
]  # fmt: skip
# What Spark does to be quick with many rows: to compile each question, and to plan it anew in its middle.
FEW_ROWS = {
    "shuffle.partitions": "1",
    "codegen.wholeStage": "false",
    "codegen.factoryMode": "NO_CODEGEN",
    "adaptive.enabled": "false",
}
COMPARISONS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$regex", "$options", "$exists", "$not",
               "$size", "$and", "$or", "$nor", "$expr")  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """300 revisions of three articles, ten of them replaced, one article renamed."""
    files = LakeFiles(tmp_path_factory.mktemp("lake"))
    chance = random.Random(9)
    users = ("Ana", "Beto", "10.0.0.1", "~2026-1", "CleanBot", None)
    rows = [
        Revision(
            wiki="w", locale="es", ns=0, pageid=n % 3, title=f"T{n % 3}", revid=n,
            timestamp=1_706_000_000_000 + n * 7_200_000, user=(user := chance.choice(users)),
            anon=user == "10.0.0.1", temp=user == "~2026-1", minor=n % 4 == 0, size=chance.randrange(1000),
            sha1=f"{chance.randrange(60):040x}", comment=f"cambio {n}",
            text_sha1=f"{n % 60:040x}", tags=["mobile"] if n % 5 == 0 else [], version=1,
        )
        for n in range(300)
    ]  # fmt: skip
    updates = [
        Revision(
            **{**{f: getattr(rows[n], f) for f in Revision.__struct_fields__}, "tags": ["mw-reverted"], "version": v}
        )
        for n in range(10)
        for v in (2, 3)
    ]
    texts = [Text(wiki="w", pageid=0, sha1=f"{n:040x}", text=f"texto {n}") for n in range(60)]
    events = [Event(wiki="w", locale="es", pageid=0, title="T0", logid=1, type="move", action="move", timestamp=0)]
    for table, made, name in (
        ("revisions", rows[:200], "a"), ("revisions", rows[200:], "b"), ("revisions", updates, "u"),
        ("texts", texts, "t"), ("events", events, "e"), ("events", events, "e2"),
    ):  # fmt: skip
        draft = files.draft()
        parquet.write(table, made, draft)
        files.put(draft, f"{name}.parquet")
    manifest = Manifest(
        1,
        {"revisions": ("a.parquet", "b.parquet"), "texts": ("t.parquet",), "events": ("e.parquet", "e2.parquet")},
        {"revisions": ("u.parquet",)},
        (LakeArticle("w", "es", 0, 1, "Nuevo", renamed=True), LakeArticle("w", "es", 0, 0, "T0")),
    )
    return files, manifest


@pytest.fixture(scope="module", params=["duckdb", pytest.param("spark", marks=pytest.mark.slow)])
def lake(request, store):
    if request.param == "spark":
        pytest.importorskip("pyspark", reason="pyspark is not installed (tests/install brings it: the extra `spark`)")
        if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
            pytest.skip("Spark needs Java (tests/install brings it on Debian: default-jre-headless)")
        # a JVM that compiles little and quickly: the questions are many and the rows few
        quick = '--driver-java-options "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"'
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--master local[1] --driver-memory 1g {quick} pyspark-shell"
    found = Lake(*store, request.param)
    if request.param == "spark":
        for setting, value in FEW_ROWS.items():
            found.connection._session.conf.set(f"spark.sql.{setting}", value)
    yield found
    found.close()


@pytest.fixture(scope="module")
def reference(store):
    found = Lake(*store)
    yield found
    found.close()


def test_updates_replace_rows_and_renamed_articles_have_one_title(lake):
    rows = lake.rows(lake.revisions.select("revid", "version", "tags", "title").order_by("revid"))
    assert [row["revid"] for row in rows] == list(range(300))
    assert {row["version"] for row in rows[:10]} == {3}
    assert rows[0]["tags"] == ["mw-reverted"]
    assert {row["title"] for row in rows} == {"T0", "Nuevo", "T2"}
    assert lake.value(lake.events.count()) == 1, "an event that two writers brought counts once"
    assert lake.value(lake.texts.count()) == 60


def test_pipelines_give_the_same(lake, reference):
    for stages in PIPELINES:
        got = lake.rows(translate(stages, lake.revisions))
        assert _plain(got) == _plain(reference.rows(translate(stages, reference.revisions))), stages
        assert got, stages


def test_the_pipelines_above_use_everything_there_is():
    written = json.dumps(PIPELINES)
    for name in (*pipeline.STAGES, *pipeline._ACCUMULATORS, *pipeline._OPERATORS, *COMPARISONS):
        assert f'"{name}"' in written, name


def test_what_follows_a_sort_keeps_its_order(lake):
    facts = {"first": {"$first": "$revid"}, "last": {"$last": "$revid"}, "all": {"$push": "$revid"}}
    stages = [
        {"$match": {"revid": {"$lt": 50}}},
        {"$sort": {"minor": -1, "revid": -1}},
        {"$group": {"_id": None, **facts}},
    ]
    expected = sorted(range(50), key=lambda n: (n % 4 != 0, -n))
    [row] = lake.rows(translate(stages, lake.revisions))
    assert row == {"_id": None, "first": 48, "last": 1, "all": expected}


@pytest.mark.parametrize(
    ("stages", "reason"),
    [
        ({"$match": {}}, "a pipeline is a JSON array"),
        ([{"$out": "x"}], "there is no stage '\\$out'"),
        ([{"$match": {"nobody": 1}}], "there is no field 'nobody'"),
        ([{"$match": {"size": {"$where": "1"}}}], "there is no comparison"),
        ([{"$project": {"x": {"$function": "f"}}}], "there is no operator"),
        ([{"$group": {"n": {"$sum": 1}}}], "`_id`"),
        ([{"$limit": -1}], "\\$limit takes a whole number"),
        ([{"$limit": 1 << 70}], "\\$limit takes a whole number"),
        ([{"$match": {"timestamp": {"$gt": "soon"}}}], "is not a time"),
        ([{"$match": {}}] * 51, "at most 50 stages"),
        ([{"$sort": {"size": "up"}}], "\\$sort takes"),
    ],
)
def test_what_a_pipeline_cannot_say_is_refused_by_name(reference, stages, reason):
    with pytest.raises(PipelineError, match=reason):
        translate(stages, reference.revisions)


def test_metrics_give_the_same(lake, reference):
    from hemeroteca.wiki import filters, metrics

    everything = filters.read({})
    got = metrics.measure(lake, everything, (), ("Beto",))
    expected = metrics.measure(reference, everything, (), ("Beto",))
    for name in metrics.METRICS:
        assert _plain(got[name]) == _plain(expected[name]), name
        assert got[name], name
    assert metrics.reverted(lake, everything) == metrics.reverted(reference, everything)


def test_whatever_else_is_asked_gives_the_same(lake, reference):
    got, expected = _asked(lake), _asked(reference)
    assert all(expected.values()), expected
    assert [name for name, rows in expected.items() if _plain(got[name]) != _plain(rows)] == []


def _asked(lake):
    """What pages, commands and exports ask besides metrics."""
    import ibis

    from hemeroteca.wiki import filters, metrics

    table = lake.revisions
    compared = metrics.compare(lake, [("w", 0), ("w", 1)])
    moment = ibis.literal(datetime.datetime(2024, 2, 10))
    chosen = {
        "pageid": 1,
        "user": "Ana",
        "size": 100,
        "sizematch": 1,
        "datestart": "2024-01-24",
        "dateend": "2024-02-10",
    }
    tagged = filters.apply(table, filters.read({"tag": "mobile", "title": "Nuevo", "locale": "es", "wiki": "w"}))
    return {
        "articles": lake.rows(lake.articles.order_by("pageid")),
        "earlier": [{"count": 1 + lake.value(lake.earlier.count())}],
        "compared": compared["articles"],
        "months": compared["months"],
        "unusual": lake.rows(metrics.unusual(table, moment, 7)),
        "mode": lake.rows(metrics.most(table.group_by("user").aggregate(count=table.count()))),
        "top editors": lake.rows(metrics.top_editors(table)),
        "addresses": [{"user": user, "edits": edits} for user, edits in metrics.addresses(lake, filters.read({}))],
        "authors": [vars_of(author) for author in metrics.authors(lake, filters.read({"pageid": 0}))],
        "history": lake.rows(views.history(table).order_by("revision_id")),
        "filters": lake.rows(filters.apply(table, filters.read(chosen)).order_by("revid")),
        "a day": lake.rows(filters.apply(table, filters.read({"date": "2024-02-01"})).order_by("revid")),
        "tagged": lake.rows(tagged.order_by("revid")),
        "in parts": [row for part in lake.batches(table.order_by("revid"), 70) for row in part.to_pylist()],
    }


def vars_of(found):
    return {name: getattr(found, name) for name in found.__struct_fields__}


def _plain(rows):
    """Floats to nine digits, sets in one order; whatever the engine's own types of numbers are."""
    return [
        {
            key: round(float(value), 9) if isinstance(value, float | int) else sorted(value) if key == "set" else value
            for key, value in row.items()
        }
        for row in rows
    ]

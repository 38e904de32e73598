"""Rebuild, import, batch runs, anchors, preferences and all versions."""

import json
import re

import pytest

from hemeroteca.search import IndexBusyError, Options, SearchDocument, SearchError, handover, open_index, services
from hemeroteca.search.dates import moment
from hemeroteca.search.graph import LinkGraph
from hemeroteca.search.versions import VersionWriter, open_versions
from tests.search.conftest import fill, page


def lines(*rows: object) -> list[bytes]:
    return [row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows]


def test_documents_are_imported_and_found_by_batch_queries(tmp_path):
    index = open_index(None, tmp_path)
    report = services.import_documents(
        index,
        lines(
            {"id": "a", "url": "http://x.test/a", "title": "Pan", "text": "Receta de pan casero", "lang": "es"},
            {"id": 7, "text": "Bread is baked in an oven every morning", "lang": "en"},
            b"not json\n",
            {"id": "c", "title": None, "text": "Otra receta de sopa", "extra": [1, 2], "lang": "es"},
            b"\n",
        ),
    )
    assert (report.documents, report.skipped) == (3, 1)
    assert "line 3" in report.problems[0]
    rows = list(services.batch(index, ["q1\trecetas de pan\n", "q2\tbaking bread ovens\n", "\n"], 10))
    assert [(row["qid"], row["rank"], row["id"]) for row in rows] == [("q1", 1, "a"), ("q1", 2, "c"), ("q2", 1, "7")]
    assert rows[0]["score"] > rows[1]["score"]


def test_a_query_without_an_id_gets_one_of_its_own(tmp_path):
    index = open_index(None, tmp_path)
    services.import_documents(index, lines({"id": "a", "text": "pan", "lang": "es"}))
    asked = ["2\tpan\n", "pan\n", "line-2\tpan\n", "pan\n"]
    assert [row["qid"] for row in services.batch(index, asked, 10)] == ["2", "line-2+", "line-2", "4"]


def test_documents_can_be_left_for_whoever_writes_the_index(tmp_path):
    index = open_index(None, tmp_path)
    rows = lines({"id": "ñ 1", "text": "pan", "lang": "es"}, b"not json\n", {"id": 2, "text": "sopa", "lang": "es"})
    with index.writer(15 << 20):
        with pytest.raises(IndexBusyError):
            services.import_documents(index, rows)
        report, left = services.leave_documents(tmp_path, rows, collection="Cocina")
        with pytest.raises(IndexBusyError):
            services.take_documents(index, left)
    assert (report.documents, report.skipped, handover.waiting(tmp_path)) == (2, 1, [left])
    services.take_documents(index, left)
    assert handover.waiting(tmp_path) == []
    hit = index.search("pan collection:Cocina").hits[0]
    assert (hit.id, hit.collections, index.count()) == ("ñ 1", ("Cocina",), 2)


def test_a_damaged_file_of_documents_is_named(tmp_path):
    left = handover.leave(tmp_path, [SearchDocument(key=1, url="", text="uno")])
    left.write_bytes(left.read_bytes() + b"\x09\x00\x00\x00cut")
    found = handover.read(left)
    assert next(found).text == "uno"
    with pytest.raises(ValueError, match="damaged"):
        next(found)


def test_importing_again_replaces(tmp_path):
    index = open_index(None, tmp_path)
    for text in ("primero", "segundo"):
        services.import_documents(index, lines({"id": "a", "text": text, "lang": "es"}))
    assert index.count() == 1
    assert index.search("segundo").hits[0].id == "a"


def test_a_label_of_another_script_does_not_hide_a_document(tmp_path):
    index = open_index(None, tmp_path)
    rows = [{"id": str(at), "text": f"A page about rivers, number {at}", "lang": "en"} for at in range(8)]
    wrong = [
        {"id": "zh?", "text": "A page about mountains and lakes of the north", "lang": "zh"},
        {"id": "en?", "text": "国家图书馆收藏了许多古籍,市立图书馆每天开放,读者可以借阅图书", "lang": "en"},
    ]
    services.import_documents(index, lines(*rows, *wrong))
    assert [hit.id for hit in index.search("mountains lakes").hits] == ["zh?"]
    assert [hit.id for hit in index.search("图书馆").hits] == ["en?"]
    assert {hit.id: hit.language for hit in index.search("pages OR 图书馆").hits}["zh?"] != "zh"


def test_a_collection_without_languages_gets_its_own(tmp_path):
    index = open_index(None, tmp_path)
    texts = [
        "The wing of the aircraft was tested in the tunnel at high speed",
        "Flows over cones and plates were studied",
    ]
    services.import_documents(
        index, lines(*({"id": str(i), "text": texts[i % 2]} for i in range(20)), {"id": "x", "text": "wings"})
    )
    assert {hit.language for hit in index.search("wing", limit=30, options=Options(group=False)).hits} == {"en"}
    assert any(hit.id == "x" for hit in index.search("wing", limit=30, options=Options(group=False)).hits)


SENTENCES = {
    "mine": "That is all I can do for you just now.",
    "now": "Come right away.",
    "wife": "Where's your wife?",
    "tall": "Is she tall, his wife?",
    "free": "C++ is free: covid symptoms, a site of notes (or not)",
}


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("This is all that I can do right away", "mine"),
        ("What is it that I can xyzzy for you?", "mine"),
        ("Where is your wife?", "wife"),
        ('what is "covid: symptoms" -not OR (site:example.org', "free"),
        ("NOT OR -", "free"),
        ("C++?", "free"),
    ],
)
def test_every_word_of_a_batch_query_counts_and_operators_are_words(tmp_path, asked, first):
    index = open_index(None, tmp_path)
    rows = ({"id": key, "text": said, "lang": "en"} for key, said in SENTENCES.items())
    services.import_documents(index, lines(*rows))
    found = [row["id"] for row in services.batch(index, [f"q\t{asked}"], 10)]
    assert found[0] == first
    words = set(re.findall(r"\w+", asked.lower()))
    assert set(found) >= {key for key, said in SENTENCES.items() if words & set(re.findall(r"\w+", said.lower()))}


def test_grouping_and_spreading_do_not_touch_batch_runs(tmp_path):
    index = open_index(None, tmp_path)
    text = "the same text about geology again and again " * 3
    services.import_documents(
        index, lines(*({"id": str(i), "url": "http://h.test/", "text": text, "lang": "en"} for i in range(9)))
    )
    assert len(list(services.batch(index, ["1\tgeology"], 100))) == 9


def test_rebuild_takes_the_documents_given(tmp_path):
    fill(tmp_path, page(1, "viejo"))
    assert services.rebuild(tmp_path, [page(2, "nuevo"), page(3, "nuevo")], 15 << 20) == 2
    index = open_index(None, tmp_path)
    assert index.count() == 2
    assert index.search("viejo").total == 0


def test_rebuild_keeps_what_was_imported(tmp_path):
    index = open_index(None, tmp_path)
    with index.writer(15 << 20) as writer:
        writer.put(page(1, "una página vieja"))
        writer.commit()
    services.import_documents(index, lines({"id": "a", "text": "viejo", "lang": "es"}), collection="Cosas")
    services.import_documents(index, lines({"id": "a", "text": "un documento", "lang": "es"}), collection="Cosas")
    assert services.rebuild(tmp_path, [page(2, "una página nueva")]) == 2
    assert (index.search("viejo vieja").total, index.search("nueva").total) == (0, 1)
    assert index.search("documento collection:Cosas").hits[0].id == "a"


def test_an_unusable_index_can_be_rebuilt(tmp_path):
    fill(tmp_path, page(1, "uno"))
    (tmp_path / "main" / "meta.json").write_text("broken")
    services.rebuild(tmp_path, [page(1, "uno")], 15 << 20)
    assert open_index(None, tmp_path).count() == 1


def test_texts_of_links_lead_to_the_page_they_point_at(tmp_path):
    index = fill(tmp_path, page(1, "formulario de solicitud"), page(2, "otra cosa"))
    graph = LinkGraph(tmp_path / "links")
    links = graph.writer()
    links.add(2, "example.org", [1], ["example.org"], ["empadronamiento en línea"])
    links.commit()
    with index.writer(15 << 20) as writer:
        assert services.apply_anchors(index, writer, graph) == 1
        writer.commit()
    assert [hit.key for hit in index.search("empadronamiento").hits] == [1]
    assert [hit.key for hit in index.search("inanchor:empadronamiento").hits] == [1]
    with index.writer(15 << 20) as writer:
        assert services.apply_anchors(index, writer, graph) == 0


def test_preferences_are_kept(tmp_path):
    services.prefer(tmp_path, "a.test", 2.0)
    services.prefer(tmp_path, "b.test", 0)
    assert services.load_preferences(tmp_path).boosts == {"a.test": 2.0}
    assert services.load_preferences(tmp_path).blocks == ("b.test",)
    services.prefer(tmp_path, "b.test", None)
    assert services.load_preferences(tmp_path).blocks == ()
    (tmp_path / "preferences.json").write_text("{")
    with pytest.raises(SearchError, match="preferences"):
        services.load_preferences(tmp_path)


def test_weights_can_be_changed_and_mistakes_are_named(tmp_path):
    fill(tmp_path, page(1, "uno"))
    (tmp_path / "ranking.json").write_text('{"phrase": 0.5}')
    assert open_index(None, tmp_path).weights.phrase == 0.5
    (tmp_path / "ranking.json").write_text('{"phrases": 0.5}')
    with pytest.raises(SearchError, match="phrases"):
        open_index(None, tmp_path)


def test_learned_words_come_from_the_index_and_queries_from_the_log(tmp_path):
    from hemeroteca.search.suggest import Suggester

    index = fill(tmp_path, *(page(i, "la hemeroteca municipal guarda periódicos") for i in range(5)))
    services.note_query(tmp_path, "hemeroteca  digital")
    services.note_query(tmp_path, "x")
    assert services.learn(tmp_path, index, 100) == 5
    suggester = Suggester.load(tmp_path / "suggest")
    assert suggester.correct("hemerotca") == "hemeroteca"
    assert suggester.complete("heme")[0].text == "hemeroteca digital"


def test_at_finds_what_stood_there_then(tmp_path):
    march, may, july = (moment(day)[0] for day in ("2024-03-10", "2024-05-10", "2024-07-10"))
    index = open_versions(tmp_path)
    with VersionWriter(index) as writer:
        writer.put(page(1, "precio cien euros", captured_ms=march))
        writer.put(page(1, "precio trescientos euros", captured_ms=july))
        writer.commit()
        writer.put(page(1, "precio doscientos euros", captured_ms=may))  # an old capture imported later
        writer.put(page(2, "precio fijo", captured_ms=may))
        writer.commit()

    def texts(query: str) -> set[str]:
        return {hit.snippet.replace("<b>", "").replace("</b>", "") for hit in index.search(query).hits}

    assert texts("precio at:2024-03-15") == {"precio cien euros"}
    assert texts("precio at:2024-06") == {"precio doscientos euros", "precio fijo"}
    assert texts("precio at:2024-12") == {"precio trescientos euros", "precio fijo"}
    assert texts("cien at:2024-12") == set()
    assert texts("precio at:2023") == set()
    assert texts("cien") == {"precio cien euros"}
    assert len(index.search("precio").hits) == 2  # one result per page
    assert [v.until_ms for v in index.versions(1)] == [may, july, 0]


def test_at_without_versions_says_what_it_can_know(tmp_path):
    index = fill(tmp_path, page(1, "precio", captured_ms=moment("2024-03-10")[0]))
    found = index.search("precio at:2024-05")
    assert len(found.hits) == 1
    assert any("last version" in note for note in found.notes)

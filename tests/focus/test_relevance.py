"""Relevance of pages, links and addresses, and the focus that says what counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.errors import Invalid
from hemeroteca.focus import definition, thesaurus
from hemeroteca.focus.definition import Definition
from hemeroteca.focus.relevance import LinkText, Relevance, anchor_2016, compiled, terms_2016
from hemeroteca.focus.targets import Read, Target, target_of

GEO = Relevance(compiled(definition.load("geo"), lambda name: thesaurus.load(None, name)))
WEB = Relevance(
    compiled(Definition(terms={"río": 0.5, "water quality": 1.0, "wms": 0.7}, hints={"wms": 0.5}), lambda name: None)
)


@given(st.text(max_size=400), st.text(max_size=100), st.text(max_size=100))
def test_relevance_is_from_0_to_1_whatever_is_written(page, anchor, url):
    assert 0.0 <= GEO.page(page) <= 1.0
    for one in GEO.links([LinkText(url, anchor, page), LinkText("", "", "")]):
        assert all(0.0 <= part <= 1.0 for part in one)


@pytest.mark.parametrize("text", ["río", "RÍO", "Río.", "el rio, ancho", "«río»", "rio"])
def test_case_accents_and_punctuation_do_not_hide_a_term(text):
    assert WEB.page(text) > 0


@pytest.mark.parametrize(
    "text",
    ["red hidrográfica básica", "red hidrografica basica", "red hidrográfica basica", "red hidrografica básica",
     "Red hidrogra\u0301fica ba\u0301sica"],
)  # fmt: skip
def test_accents_that_are_left_out_here_and_written_there_do_not_hide_a_term(text):
    mixed = Relevance(compiled(Definition(terms={"red hidrográfica básica": 0.5}), lambda name: None))
    assert mixed.page(f"la {text} de Aragón") > 0
    assert mixed.links([LinkText("", text, "")])[0].anchor > 0


def test_a_term_never_spans_two_links():
    first, second = WEB.links([LinkText("", "water", "wms"), LinkText("", "quality", "water")])
    assert (first.anchor, second.anchor) == (0, 0)
    assert first.context > 0


@pytest.mark.parametrize("text", ["ríos", "frío", "wmsx", "water", "quality", "", "water. quality?"])
def test_parts_of_words_and_parts_of_terms_do_not_count(text):
    assert WEB.page(text.replace(". ", ".x ")) == 0


def test_more_terms_are_more_and_a_longer_text_needs_more_of_them():
    assert WEB.page("wms") < WEB.page("wms and water quality")
    assert WEB.page("wms " + "word " * 2000) < WEB.page("wms")
    assert WEB.page("wms") < WEB.page("wms wms wms") < 2 * WEB.page("wms")


def test_each_link_has_its_own_relevance():
    plain, none, hinted = WEB.links(
        [LinkText("http://a/x", "WMS", ""), LinkText("http://a/y", "", ""), LinkText("http://a/wms?x=1", "", "río")]
    )
    assert plain.anchor > 0 == plain.context == plain.address
    assert (none.anchor, none.context, none.address) == (0, 0, 0)
    assert hinted.anchor == 0 < hinted.context
    assert hinted.address > 0


def test_the_built_in_focus_tells_a_catalogue_of_services_from_a_newspaper():
    portal = GEO.page(
        "Catálogo de servicios WMS y WFS de la infraestructura de datos espaciales: hidrografía, ortofotos"
    )
    paper = GEO.page("El partido de vuelta de la copa fue un éxito para el equipo local, que ganó por dos goles.")
    assert portal > 0.6 > 0.05 > paper


def test_terms_2016_by_hand():
    labels = {"agua": 3, "aire": 1}
    # agua 2, aire 1, gato 1: 3 unique of 4 → (2/3·4)·3 + (1/3·4)·1
    assert terms_2016("El agua, el agua; aire y gato.", labels) == pytest.approx(8 + 4 / 3)
    assert anchor_2016("Agua y aire", labels) == 4
    assert terms_2016("", labels) == 0


def test_terms_2016_is_a_relevance_a_focus_can_choose():
    found = thesaurus.load(None, "geography")
    chosen = Relevance(compiled(Definition(thesauri=("geography",), relevance="terms-2016"), lambda name: found))
    assert 0 < chosen.page("cartografía y ortofoto de la cartografía") < 1
    assert chosen.page("gato y perro") == 0
    assert chosen.links([LinkText("", "mapa topográfico", "")])[0].anchor > 0.5


def test_targets_are_told_by_finds_roots_kinds_and_expressions():
    service = Target(find="service")
    root = Target(root=("WMS_Capabilities",), name="map")
    about = Target(kind="html", url=r"/agua/", relevance=0.5)
    targets = (service, root, about)
    assert target_of(targets, Read(url="http://a/", finds=("service",))) == "service"
    assert target_of(targets, Read(url="http://a/", root="wms_capabilities")) == "map"
    assert target_of(targets, Read(url="http://a/agua/1", kind="html", relevance=0.6)) == "html"
    assert target_of(targets, Read(url="http://a/agua/1", kind="html", relevance=0.4)) == ""
    assert target_of((Target(),), Read(url="http://a/")) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("terms = 3", "terms"),
        ("[terms]\nwms = 'many'", "terms"),
        ("colour = 'red'\n[terms]\na = 1", "colour"),
        ("name = 'x'", "no terms"),
        ("[[targets]]\nurl = '('\n[terms]\na = 1", "cannot be used"),
        ("[tuning]\ndelta = 2\n[terms]\na = 1", "delta"),
        ("this is no toml", "not TOML"),
    ],
)
def test_a_focus_that_cannot_be_used_is_refused_with_the_reason(text, reason):
    with pytest.raises(Invalid, match=reason):
        definition.parse(text)


def test_a_focus_file_has_the_name_of_its_file(tmp_path):
    path = tmp_path / "aguas.toml"
    path.write_text("[terms]\nagua = 1.0\n")
    assert definition.load(str(path)).name == "aguas"
    with pytest.raises(Invalid, match="geo"):
        definition.load("nowhere")

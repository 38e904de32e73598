"""Relevance of pages, links and addresses, and the focus that says what counts."""

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.errors import Invalid
from hemeroteca.focus import definition, thesaurus
from hemeroteca.focus.definition import Definition
from hemeroteca.focus.relevance import LinkText, Relevance, anchor_2016, compiled, terms_2016
from hemeroteca.focus.targets import ReadDocument, TargetRule, target_of

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
    service = TargetRule(find="service")
    root = TargetRule(root=("WMS_Capabilities",), name="map")
    about = TargetRule(kind="html", url=r"/agua/", relevance=0.5)
    targets = (service, root, about)
    assert target_of(targets, ReadDocument(url="http://a/", finds=("service",))) == "service"
    assert target_of(targets, ReadDocument(url="http://a/", root="wms_capabilities")) == "map"
    assert target_of(targets, ReadDocument(url="http://a/agua/1", kind="html", relevance=0.6)) == "html"
    assert target_of(targets, ReadDocument(url="http://a/agua/1", kind="html", relevance=0.4)) == ""
    assert target_of((TargetRule(),), ReadDocument(url="http://a/")) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("terms = 3", "terms must be a table of names and values, not a whole number"),
        ("[terms]\nwms = 'many'", "a value of terms must be a number, not a text"),
        ("[terms]\nwms = 99", "a value of terms must be a number of at most 10;"),
        ("colour = 'red'\n[terms]\na = 1", "there is no 'colour'"),
        ("relevance = 'high'\n[terms]\na = 1", "relevance cannot be 'high'"),
        ("name = 'x'", "no terms"),
        ("[[targets]]\nurl = '('\n[terms]\na = 1", "cannot be used"),
        ("[tuning]\ndelta = 2\n[terms]\na = 1", "delta of tuning must be a number of at most 1;"),
        ("[tuning]\ncontext = 1.5\n[terms]\na = 1", "context of tuning must be a whole number, not one with decimals"),
        ("[[away]]\nweight = 2\n[terms]\na = 1", "'words' is missing in number 1 of away"),
        ("[[away]]\nwords = 'news'\n[terms]\na = 1", "words of number 1 of away must be a list, not a text"),
        ("[[away]]\nwords = ['news']\nweight = -1\n[terms]\na = 1", "weight of number 1 of away must be"),
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


AWAY = Relevance(
    compiled(
        definition.parse(
            "[terms]\nwms = 0.7\n[hints]\nservice = 0.5\ngetcapabilities = 1.0\n"
            "[[away]]\nwords = ['noticias', 'aviso legal']\n[[away]]\nwords = ['turismo']\nweight = 0.5\n"
        ),
        lambda name: None,
    )
)


def away(url: str, anchor: str = "") -> float:
    return AWAY.links([LinkText(url, anchor, "")])[0].away


@pytest.mark.parametrize(
    ("url", "anchor"),
    [
        ("http://a/noticias/12", ""),
        ("http://noticias.diario.example/", ""),
        ("http://a/x", "Noticias"),
        ("http://a/aviso-legal", ""),
        ("http://a/noticias/", "Noticias"),
    ],
)
def test_words_of_anchor_path_and_host_lead_away_each_once(url, anchor):
    assert away(url, anchor) == pytest.approx(1 - exp(-2))


def test_the_name_that_somebody_registered_does_not_lead_away():
    assert away("http://noticias.example/wms") == away("https://www.aviso-legal.example:8443/x") == 0.0


def test_words_that_lead_away_have_weights_and_add_up():
    assert away("http://a/turismo/1") == pytest.approx(1 - exp(-0.5))
    assert away("http://a/turismo/noticias/") == pytest.approx(1 - exp(-2.5))
    assert away("http://a/aviso/1", "texto legal") == 0.0


def test_an_address_that_looks_like_a_target_is_hardly_led_away_from():
    strong = away("http://a/noticias/ows?service=x&request=GetCapabilities")
    assert strong < away("http://a/noticias/service") < away("http://a/noticias/12")
    assert strong < 0.4


def test_words_around_a_link_do_not_lead_away():
    assert AWAY.links([LinkText("http://a/x", "WMS", "noticias | aviso legal")])[0].away == 0.0


@pytest.mark.parametrize(
    ("url", "anchor"),
    [
        ("https://www.idee.es/web/idee/segun-tipo-de-servicio", "Directorio de servicios"),
        ("https://www.ign.es/wms-inspire/mapa-raster?SERVICE=WMS&request=GetCapabilities", "Mapa ráster"),
        ("https://geoservicios.example.es/catalogo/registro/red-hidrografica-12", "Red hidrográfica"),
        ("https://data.example.fr/datasets/cadastre", "Cadastre : parcelles"),
        ("https://www.geoportal.example.de/geodienste", "Geodienste und Schnittstellen"),
        ("https://sig.example.pt/geoserver/web/", "Geoserver"),
        ("https://geodata.example.org/arcgis/rest/services", "ArcGIS REST services directory"),
        ("https://example.org/open-data", "Open data downloads"),
        ("https://example.org/sitemap", "Mapa web"),
        ("https://example.org/record/cours-d-eau", "Cours d'eau"),
        ("https://example.org/record/cursos-de-agua-7", "Cursos de agua de la demarcación"),
        ("https://example.org/corsi-d-acqua", "Corsi d'acqua"),
        ("https://www.conseil-departemental.example.fr/sig", "Conseil départemental : carrières et cours d’eau"),
        ("https://example.org/camadas/amazonia-legal", "Amazônia Legal"),
    ],
)
def test_the_built_in_focus_does_not_turn_from_what_lists_services(url, anchor):
    assert GEO.links([LinkText(url, anchor, "")])[0].away == 0.0


def test_the_built_in_focus_turns_from_small_print_and_half_from_words_that_data_sets_bear():
    link = [
        LinkText("https://example.org/aviso-legal", "Aviso legal", ""),
        LinkText("https://example.org/record/7", "Hoteles y restaurantes de Teruel", ""),
        LinkText("https://example.org/record/8", "Museos", ""),
    ]
    small_print, several, one = (found.away for found in GEO.links(link))
    assert small_print > 0.9
    assert one == pytest.approx(1 - exp(-0.7))
    assert several < 0.8

"""The compiled way of scoring gives what the one in Python gives, to the last bit."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hemeroteca.extract import native
from hemeroteca.focus import definition, learned_scores, matcher, relevance, thesaurus

pytestmark = pytest.mark.skipif(native.Terms is None, reason="there is no compiled reader: make setup builds it")

GEO = matcher.Matcher(
    relevance.compiled(definition.load("geo"), lambda name: thesaurus.load(None, name)).table,
)
WORDS = ("WMS", "Servicio", "de", "visualización", "RÍOS", "río", "hidrogra\u0301fica", "«mapa»", "ÀÞŸ", "12", "v2",
         "•", "\n", "\t", "-", "ß", "ſ", "K", "中文", "٣", "\ud800", "\x1c", "a\u00a0b", "x\u0306", "catálogo",
         "ogc api", "…")  # fmt: skip
TEXTS = st.one_of(st.text(max_size=400), st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join))
PARTS = ("catalogo", "record", "red-hidrografica-12", "a_1", "x-9", "8f3a", "v1.1", "mapa.pdf", "%20x", "", "ñ", "0",
         "muy-largo-nombre-de-fichero.json", "aprovechamientosagricolas", "cgi-bin", "a.b.c", "٣", ".")  # fmt: skip
QUERIES = (
    "",
    "?",
    "?p=2",
    "?service=WMS&request=GetCapabilities",
    "?b&A=1&&c==",
    "?map=/srv/x.map#y?z",
    "#top",
    "?é=1",
)
HOSTS = st.sampled_from(
    ("ide-001.geo.test", "www.example.org", "8f3a.test", "-a-1-.x", "", "ñ.test", "IDE", "a_1_b.test")
)
ADDRESSES = st.one_of(
    st.text(max_size=80),
    st.builds(
        lambda host, parts, query: f"http://{host}/{'/'.join(parts)}{query}",
        HOSTS,
        st.lists(st.sampled_from(PARTS), max_size=10),
        st.sampled_from(QUERIES),
    ),
)


@given(TEXTS)
def test_a_page_has_the_same_relevance(text):
    found = GEO.compiled.sum(text)
    assert found is None or found == relevance.weight_in_python(GEO, text)


@given(st.lists(TEXTS, max_size=6))
def test_links_have_the_same_relevance(texts):
    found = GEO.compiled.each(texts)
    assert found is None or found == relevance.each_in_python(GEO, texts)


@given(ADDRESSES, HOSTS, TEXTS, TEXTS, ADDRESSES, st.floats(0, 1))
@example("http://a.test/" + "b/" * 148 + "?" + "x y=", "a.test", "á" * 301, " " * 299 + "ab", "http://a.test/?q", 1.0)
def test_a_link_has_the_same_features(url, host, anchor, context, parent_url, page):
    found = native.link_features(url, host, anchor, context, parent_url, page)
    assert found is None or found == learned_scores.features_in_python(url, host, anchor, context, parent_url, page)


def test_what_is_plain_is_not_left_to_python():
    assert GEO.compiled.sum("Servicio de visualización «WMS» – ríos…") > 0
    assert GEO.compiled.each(["WMS", "", "¿ríos?"])[1] == 0.0
    assert native.link_features("http://a.test/x?y=1", "a.test", "ríos", "«aquí»", "http://a.test/", 0.5) is not None


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, (1 << learned_scores.BITS) - 1), max_size=8), st.floats(-1, 1)), max_size=20
    )
)
def test_the_classifier_learns_the_same(steps):
    both = native.WordWeights(), learned_scores.WordWeights()
    for numbers, error in steps:
        words = learned_scores.array("I", dict.fromkeys(number % 50 for number in numbers)).tobytes()
        for weights in both:
            weights.step(words, error, learned_scores.RATE)
        first, second = (weights.total(words, -3.9) for weights in both)
        assert first == second

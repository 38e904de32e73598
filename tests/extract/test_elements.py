"""Rules of a site for the elements that hold its text."""

import time

import pytest

from hemeroteca import extract
from hemeroteca.extract import elements

PAGE = """<html lang="es"><head><title>Portada</title></head><body><header>cabecera</header>
<div class="caja teaser-2"><h2>Promoción</h2>compre ya <a href="/oferta">la oferta</a></div>
<div id="contenido"><h1>El faro</h1><p>El faro viejo del puerto &lt;sigue&gt; encendido cada noche del año.</p>
<div id="cookie-bar">acepte las galletas</div></div><nav data-kind="menu">menú lateral</nav></body></html>""".encode()


def read(include=(), exclude=(), page=PAGE, content_type="text/html; charset=utf-8"):
    document = extract.read(page, content_type, "https://a.example/")
    elements.narrow(document, page, content_type, tuple(include), tuple(exclude))
    return document


def test_what_is_excluded_is_in_neither_text_nor_headings_but_its_links_are_followed():
    document = read(exclude=["div[class=teaser*]", "*[id=cookie*]"])
    assert document.main == "El faro\nEl faro viejo del puerto <sigue> encendido cada noche del año."
    assert document.headings == "El faro"
    assert "Promoción" not in document.text
    assert [link.href for link in document.links] == ["/oferta"]
    assert (document.title, document.language) == ("Portada", "es")


def test_only_what_is_included_is_text_also_where_it_would_be_left_out_by_itself():
    assert read(include=["nav"]).main == "menú lateral"
    assert read(include=["div[id=contenido]"], exclude=["div[id=cookie-bar]"]).headings == "El faro"
    assert "galletas" in read(include=["div[id=contenido]"]).main


@pytest.mark.parametrize("rule", ["*[*=menu]", "nav[data-kind]", "nav[data-kind=MENU]", 'nav[data-kind="menu"]', "NAV"])
def test_a_star_stands_for_any_tag_attribute_or_letters_and_case_does_not_count(rule):
    assert read(include=[rule]).main == "menú lateral"


def test_a_word_of_the_value_is_enough_and_a_part_of_a_word_is_not():
    assert "Promoción" not in read(exclude=["div[class=caja]"]).text
    assert "Promoción" in read(exclude=["div[class=caj]"]).text


def test_a_page_without_the_included_element_is_read_as_if_there_were_no_rule():
    document = read(include=["div[id=antes-del-cambio]"])
    assert "El faro viejo" in document.main
    assert document.notes == ["include-fits-nothing"]


def test_other_kinds_of_document_are_let_be():
    assert read(["p"], ["div"], b"un texto sencillo de verdad", "text/plain").main == "un texto sencillo de verdad"


@pytest.mark.parametrize("rule", ["div[[", "div[class=a", "1div", "[class=a]", "div p", "a" * 300])
def test_what_is_no_rule_is_refused_with_an_example(rule):
    with pytest.raises(elements.RuleError, match=r"write it like nav, div\[class=teaser\]"):
        elements.parse([rule])


def test_many_rules_on_a_huge_page_cost_seconds_at_most():
    page = b"<html><body>" + b"<div class='x y z' id=q><p title=r>hola mundo</p></div>" * 20_000
    begun = time.process_time()
    read(exclude=[f"*[*=nada{n}*]" for n in range(100)], page=page)
    assert time.process_time() - begun < 40  # 1.4 here

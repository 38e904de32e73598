"""Why pages were not captured, in the reader's language."""

import pytest
from django.utils.translation import override

from hemeroteca.console.reasons import said
from hemeroteca.fetch import failures


@pytest.mark.parametrize(
    ("reason", "spanish"),
    [
        ("http-500 after 3 tries", "falló el servidor (500)"),
        ("http-418", "el servidor respondió 418"),
        ("robots.txt of a.example forbids /x (Disallow: /x)", "lo prohíbe robots.txt"),
        ("robots", "lo prohíbe robots.txt"),
        ("timeout: no byte for 30 s", "no respondió a tiempo"),
        ("duplicate: the same bytes as https://a.example/", "los mismos bytes que otra página"),
        ("algo que nadie conoce: aquí", "algo que nadie conoce: aquí"),
        ("limit of 40 pages reached", "se alcanzó el límite de 40 páginas"),
        ("stopped by a person", "lo detuvo una persona"),
        ("", ""),
        ("<b>", "<b>"),
    ],
)
def test_a_reason_is_said_in_spanish(reason, spanish):
    with override("es"):
        assert said(reason) == spanish


def test_every_failure_of_fetching_has_a_sentence():
    codes = {code for code, _ in failures._CODES.values()} | {
        failures.REFUSED_ADDRESS,
        failures.REFUSED_PORT,
        "too-slow",
    }
    with override("en"):
        assert [code for code in codes if said(code) == code and code != failures.REQUEST] == []


@pytest.mark.django_db
@pytest.mark.database
def test_the_status_page_says_reasons_in_spanish_and_keeps_the_details(client, world):
    page = client.get("/status", headers={"accept-language": "es"}).content.decode()
    assert "falló el servidor (500)" in page
    assert "lo prohíbe robots.txt" in page
    assert "el servidor no está disponible (503)" in page, "why a host waits"
    assert "http-500 after 3 tries" in page

"""Why pages were not captured, in the reader's language."""

import re
from pathlib import Path

import pytest
from django.utils.translation import override
from lxml import html

import hemeroteca
from hemeroteca.console.reasons import said
from hemeroteca.fetch import failures
from hemeroteca.frontier.reasons import detail, explained
from hemeroteca.jobs.models import Job, JobLine


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
        ("12 pages, 3 failed; limit of 12 pages reached", "12 páginas, 3 fallidas; se alcanzó el límite de 12 páginas"),
        ("timeout (2 addresses left the queue)", "timeout (2 direcciones salieron de la cola)"),
        ("5 addresses that were held back", "5 direcciones retenidas"),
        (
            "5 addresses that were held back: a.example trap: pages like /{n} bring nothing new",
            "5 direcciones retenidas: a.example: las páginas como /{n} no traen nada nuevo",
        ),
        ("again, after crawl 7", "otra vez, después del rastreo 7"),
        ("", ""),
        ("<b>", "<b>"),
    ],
)
def test_a_reason_is_said_in_spanish(reason, spanish):
    with override("es"):
        assert said(reason) == spanish


@pytest.mark.parametrize(
    ("reason", "more"),
    [
        ("http-500 after 3 tries", ""),
        ("http-404; duplicate: the same bytes as https://a.example/", ""),
        ("timeout: no byte for 30 s", "no byte for 30 s"),
        ("robots.txt of a.example forbids /x (Disallow: /x)", "Disallow: /x"),
    ],
)
def test_beside_its_sentence_a_reason_says_only_what_that_does_not(reason, more):
    assert detail(reason) == more


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("robots.txt of a.example forbids /x (Disallow: /x(1))", "robots.txt forbids it (Disallow: /x(1))"),
        ("connect: 127.0.0.1:9 is closed", "no connection to its host (127.0.0.1:9 is closed)"),
        ("http-404", "the server does not have it (404)"),
        ("something: else", "something: else"),
    ],
)
def test_a_reason_is_told_with_its_detail(reason, told):
    with override("en"):
        assert explained(reason) == told


ROOMS = Path(hemeroteca.__file__).parent
NOTE = re.compile(r"(?:note|append|insert)\((?:0, )?f?\"([a-z]+(?:-[a-z]+)+)(?=[\":])")
TABLE = re.compile(r"`([a-z]+(?:-[a-z]+)+)(?::…)?`")


def test_every_note_about_a_captured_page_has_a_sentence_in_both_languages():
    sources = [
        path.read_text()
        for room in ("extract", "ingest", "geo", "fetch/browser")
        for path in (ROOMS / room).rglob("*.py")
    ]
    page = (ROOMS.parent / "docs/explanation/reading-pages.md").read_text()
    listed = page[page.index("| note | meaning") : page.index("`tests/extract/monsters.py`")]
    codes = {code for text in sources for code in NOTE.findall(text)} | set(TABLE.findall(listed))
    codes -= {"not-rendered"}  # about a request of the page, not told of it
    assert len(codes) > 40
    for language in ("en", "es"):
        with override(language):
            assert sorted(code for code in codes if said(code) == code) == []
    with override("es"):
        told = {said(code) for code in codes}
    with override("en"):
        assert not told & {said(code) for code in codes}


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
    assert ": Disallow: /privado" in page


REFUSED = [  # what a person may send from a form that stands there, and is refused
    ("/save", {"url": "two words"}),
    ("/save", {"url": ""}),
    ("/searches", {"query": ""}),
    ("/preferences", {"host": "two words", "factor": "2"}),
    ("/archive/erase", {"url": "", "reason": "", "do": "take-down"}),
    ("/archive/erase", {"url": "a.example", "since": "soon", "do": "look"}),
    ("/watch/categories", {"code": "0", "name": "x"}),
    ("/watch/categories", {"code": "5", "name": ""}),
    ("/watch/channels", {"target": "", "language": "es"}),
    ("/wiki/query", {"text": "SELEC 1", "collection": "revisions"}),
    ("/wiki/extract", {"workers": "1", "max_revisions": "1", "depth": "1", "policy": "auto"}),
    ("/geo/add", {"url": ""}),
    ("/geo/add", {"url": "nada"}),
    ("/watch/add", {"url": "ftp://x/"}),
    ("/fleet/devices", {"name": "<b>"}),
    ("/fleet/jobs", {"urls": "", "category": "general", "do": "order"}),
    ("/crawls", {"seeds": "", "scope": "host"}),
    ("/crawls", {"seeds": "https://a.example/", "scope": "host", "name": "", "do": "keep"}),
]
ENGLISH = re.compile(r"\b(the|is|are|was|must|write|needs?|there|has|of|say|give|it)\b")


@pytest.mark.django_db
def test_what_a_form_refuses_is_told_in_spanish(client, instance, administrator):
    client.force_login(administrator)
    for path, sent in REFUSED:
        answer = client.post(path, sent, headers={"accept-language": "es"})
        (told,) = html.document_fromstring(answer.content).find_class("message error")
        assert not ENGLISH.search(told.text_content().partition("DuckDB")[0]), (path, sent)
    for message in (
        "/srv/copy is not empty; name a new folder",
        "a.tsv is cut or damaged (x); what was read until there is kept",
    ):
        job = Job.objects.create(kind="test.count", state="failed", message=message, exclusive=False, created_ms=1)
        JobLine.objects.create(job=job, at_ms=1, text="the export a.wacz held some of it and is removed")
        for path in ("/jobs", f"/jobs/{job.pk}"):
            shown = html.document_fromstring(client.get(path, headers={"accept-language": "es"}).content)
            assert not ENGLISH.search(shown.find(".//main").text_content()), path
    missing = client.get("/jobs/12345", headers={"accept-language": "es"})
    assert "no hay ninguna tarea 12345" in missing.content.decode()


@pytest.mark.django_db
def test_a_page_to_go_back_to_that_is_none_leads_to_the_list(client, reader):
    client.force_login(reader)
    kept = client.post("/favourites", {"do": "keep", "url": "https://a.example/", "next": "no page"})
    assert kept.status_code == 302

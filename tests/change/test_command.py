"""`hemeroteca archive diff`, as a person runs it, on captures of another tool."""

import json

import pytest

from tests import commands
from tests.warc.making import exchange

MS = 1_700_000_000_000
URL = "http://example.org/"
DIFF = "import sys; sys.argv.insert(1, 'diff'); from hemeroteca.cli.archive import app; app()"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
BODIES = [
    "<title>Tienda</title><p>Precio: 10 €<p>hace 3 minutos",
    "<title>Tienda</title><p>Precio: 10 €<p>hace 9 minutos",
    "<title>Tienda</title><p>Precio: 12 €<p>hace 9 minutos",
]


def run(data, *arguments, code=0, program=DIFF):
    done = commands.run(program, data, *arguments, code=code)
    return done.stdout if not code else done.stderr


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diff")
    source = folder / "other.warc.gz"
    source.write_bytes(
        b"".join(
            exchange(URL, MS + day * 86_400_000, "", "", b"", HEAD, body.encode()).data
            for day, body in enumerate(BODIES)
        )
    )
    run(folder / "data", "import", source, program="from hemeroteca.cli.archive import app; app()")
    return folder / "data"


def test_the_newest_version_against_the_one_before(instance):
    facts = json.loads(run(instance, URL, "--json"))
    assert facts["important"] is True
    assert facts["content"] > 0
    assert facts["view"] == facts["form"] == 0
    assert "-Precio: 10 €" in facts["text_diff"]
    assert "+Precio: 12 €" in facts["text_diff"]


def test_two_captures_by_date_or_by_id(instance):
    noise = json.loads(run(instance, URL, "2023-11-14", "2023-11-15T23:00:00Z", "--json"))
    assert noise["total"] == 0
    assert noise["important"] is False
    again = json.loads(run(instance, URL, noise["a"], noise["b"], "--json"))
    assert again == noise


def test_rules_and_threshold_can_be_tried(instance):
    assert json.loads(run(instance, URL, "--ignore-text", r"Precio: \d+", "--json"))["total"] == 0
    assert "p[" in run(instance, URL, "--ignore", "p[", code=2)


def test_a_table_for_people_and_files_to_hand_out(instance, tmp_path):
    assert "not important" not in run(instance, URL)
    run(instance, URL, "-o", tmp_path / "page.html")
    assert "<ins>12</ins>" in (tmp_path / "page.html").read_text("utf-8")
    run(instance, URL, "-o", tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF-")


def test_what_is_not_there_is_told(instance):
    assert "no capture" in run(instance, "http://example.net/", code=1)
    assert "neither an id nor a date" in run(instance, URL, "yesterday", code=2)


def test_people_see_which_words_images_and_links_came_and_went(instance, tmp_path):
    source = tmp_path / "shown.warc.gz"
    url = "http://shown.example/"
    bodies = [
        "<p>El pleno es el lunes por la tarde."
        '<img src="/a.jpg" alt="La plaza"><a href="/viejo">x</a><img src="/f.png">',
        "<p>El pleno es el martes por la tarde."
        '<img src="/a.jpg" alt="La torre"><a href="/nuevo">x</a><img src="/g.png">',
    ]
    source.write_bytes(
        b"".join(
            exchange(url, MS + day * 86_400_000, "", "", b"", HEAD, f"<title>T</title>{body}".encode()).data
            for day, body in enumerate(bodies)
        )
    )
    run(instance, "import", source, program="from hemeroteca.cli.archive import app; app()")
    told = run(instance, url)
    assert "El pleno es el [-lunes-]{+martes+} por la tarde." in told
    for line in ("- link /viejo", "+ link /nuevo", "- image /f.png", "+ image /g.png", "La plaza → La torre"):
        assert line in told
    coloured = run(instance, url, program=f"import os; os.environ['FORCE_COLOR'] = '1'\n{DIFF}")
    assert "\x1b[32mmartes" in coloured
    assert "[-" not in coloured.replace("\x1b[", "")

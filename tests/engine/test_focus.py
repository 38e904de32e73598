"""A focused crawl of a small geographic corner, through the command, and what is told of it."""

import json

import pytest

from simweb import SimWeb
from simweb.geo import Corner
from tests.engine.system import System

HOSTS = 10
FOCUS = """
name = "mapas"
thesauri = ["geography"]
[terms]
wms = 0.7
wfs = 0.7
getcapabilities = 1.0
servicio = 0.2
[hints]
getcapabilities = 0.9
wms = 0.5
[[targets]]
root = ["WMS_Capabilities", "WMT_MS_Capabilities", "WFS_Capabilities", "Capabilities", "TileMapService"]
"""


@pytest.fixture(scope="module")
def web():
    with SimWeb(seed=3, hosts=1, pages_per_host=5, corner=HOSTS) as web:
        yield web


@pytest.fixture
def system(tmp_path, web):
    (tmp_path / "mapas.toml").write_text(FOCUS)
    return System(tmp_path / "data", resolve=web.resolve, delay=0, commit_seconds=0.05)


def test_a_focused_crawl_finds_services_other_hosts_hold_and_says_why(web, system, tmp_path):
    corner = Corner(3, HOSTS)
    summary = system.crawl(corner.first_url, "--focus", str(tmp_path / "mapas.toml"), "--limit", "400", "--delay", "0")
    finds = [json.loads(line) for line in system.run("focus", "finds", "--json").stdout.splitlines()]
    assert summary["targets"] == len(finds) >= 4
    assert {find["url"] for find in finds} <= corner.services.keys()
    assert len({find["url"].split("/")[2] for find in finds}) > 1  # the scope is the web
    assert all(find["parent_url"] and find["digest"] and find["status"] == 200 for find in finds)
    assert not system.rows("SELECT 1 FROM visit WHERE role = 1")  # no images or styles
    explained = system.run("focus", "explain", finds[0]["url"])
    assert explained.returncode == 0
    assert "a seed" in explained.stdout
    assert corner.first_url in explained.stdout
    way = json.loads(system.run("focus", "explain", finds[0]["url"], "--json").stdout)["way"]
    assert way[0]["anchor"] == finds[0]["anchor"]
    assert way[-1]["url"] == corner.first_url
    gone = system.run("focus", "explain", "http://nowhere.test/")
    assert gone.returncode == 1
    assert "no crawl with a focus" in gone.stderr


def test_a_stopped_focused_crawl_goes_on_and_fetches_nothing_twice(web, system, tmp_path):
    first = Corner(3, HOSTS).first_url
    order = (first, "--focus", str(tmp_path / "mapas.toml"), "--delay", "0")
    before = system.crawl(*order, "--limit", "60")
    after = system.crawl(*order, "--limit", "60")
    assert before["crawl"] == after["crawl"]
    numbers = [number for (number,) in system.rows("SELECT number FROM focus_link WHERE number > 0")]
    assert len(numbers) == len(set(numbers)) == before["pages"] + after["pages"]


def test_a_focus_that_cannot_be_read_names_the_reason(system, tmp_path):
    (tmp_path / "bad.toml").write_text("colour = 'red'")
    done = system.run("crawl", "http://a.test/", "--focus", str(tmp_path / "bad.toml"))
    assert done.returncode == 2
    assert "colour" in done.stderr
    done = system.run("crawl", "http://a.test/", "--order", "shark-search")
    assert done.returncode == 2
    assert "with a focus" in done.stderr


def test_thesauri_are_imported_listed_and_shown(system, tmp_path):
    (tmp_path / "t.ttl").write_text(
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix t: <http://t.test/> . t:g skos:member t:a ; "
        'skos:prefLabel "waters"@en . t:a a skos:Concept ; skos:prefLabel "lake"@en, "lago"@es .'
    )
    done = system.run("focus", "thesaurus", "import", "waters", str(tmp_path / "t.ttl"), "--json")
    assert json.loads(done.stdout)["languages"] == {"en": 1, "es": 1}
    listed = [
        json.loads(line)["name"] for line in system.run("focus", "thesaurus", "list", "--json").stdout.splitlines()
    ]
    assert listed == ["geography", "waters"]
    assert json.loads(system.run("focus", "thesaurus", "show", "waters", "--json").stdout)["themes"] == [
        {"en": "waters"}
    ]
    assert system.run("focus", "thesaurus", "show", "nowhere").returncode == 1

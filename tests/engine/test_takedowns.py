"""What was erased is not captured again by a crawl, a single order or an import, and its words lie in no file."""

import json
import subprocess
import sys
import textwrap
import zlib
from uuid import UUID

import pytest

from simweb import SimWeb
from tests.engine.system import System
from tests.engine.test_imports import write_warc


@pytest.fixture(scope="module")
def web():
    with SimWeb(seed=11, hosts=2, pages_per_host=8, crawl_delay=0.05) as web:
        yield web


@pytest.fixture
def system(tmp_path, web):
    return System(tmp_path / "data", resolve=web.resolve, delay=0)


def captured(system, url):
    return system.rows("SELECT count(*) FROM capture WHERE url = ?", url)[0][0]


def test_an_erased_page_is_left_out_by_later_crawls_until_it_is_lifted(web, system):
    (seed,) = web.seed_urls(1)
    order = (seed, "--scope", "host", "--delay", "0")
    system.crawl(*order)
    gone = next(url for url in sorted(system.pages()) if url != seed and captured(system, url))
    done = system.run("archive", "erase", gone, "--reason", "letter of 3 May", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    system.crawl(*order)
    assert captured(system, gone) == 0
    (reason,) = system.rows(
        "SELECT reason FROM visit JOIN page ON page.id = page_id WHERE url = ? ORDER BY visit.id DESC LIMIT 1", gone
    )[0]
    assert reason == "taken-down: takedown 1 covers it"
    (line,) = system.run("archive", "takedown", "list", "--json").stdout.splitlines()
    assert json.loads(line) | {"made_at": ""} == {
        "id": 1, "url": gone, "match": "exact", "reason": "letter of 3 May", "actor": json.loads(line)["actor"],
        "made_at": "", "lifted_at": None, "lifted_by": "",
    }  # fmt: skip
    assert system.run("archive", "takedown", "lift", "1").returncode == 0
    system.crawl(*order)
    assert captured(system, gone) == 1


def test_an_import_leaves_out_what_was_taken_down_and_says_how_much(system, tmp_path):
    pages = [(f"http://old.example/{name}", "2020-01-01T00:00:00Z", name) for name in ("a/1", "a/2", "b")]
    file = write_warc(tmp_path / "old.warc.gz", pages)
    assert system.run("archive", "takedown", "add", "old.example/a/*", "--reason", "court order").returncode == 0
    done = system.run("archive", "import", str(file), "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout.splitlines()[-1])
    assert (facts["taken"], facts["taken_down"]) == (1, 2)
    assert system.rows("SELECT url FROM capture") == [("http://old.example/b",)]


def test_no_file_of_the_search_index_holds_the_words_of_an_erased_page(system, tmp_path):
    pages = [(f"http://old.example/{n}", "2020-01-01T00:00:00Z", f"palabra{n} zarzamora{n}") for n in range(12)]
    assert system.run("archive", "import", str(write_warc(tmp_path / "old.warc.gz", pages))).returncode == 0
    files = lambda: b"".join(f.read_bytes() for f in (system.data / "index").rglob("*") if f.is_file())  # noqa: E731
    assert b"zarzamora7" in files()
    done = system.run("archive", "erase", "http://old.example/7", "--reason", "the author asked", "--yes")
    assert done.returncode == 0, done.stderr
    assert b"zarzamora7" not in files()
    for query, expected in (("palabra3", 1), ("palabra7", 0)):
        found = [line for line in system.run("search", query, "--json").stdout.splitlines() if '"url"' in line]
        assert len(found) == expected, query


def test_what_others_kept_of_an_erased_page_goes_too(system, tmp_path):
    """Notes and tags, titles of favourites, what it called other pages, and services it described; theirs stays."""
    page, target = "http://old.example/7", "http://old.example/3"
    pages = [
        (page, "2020-01-01T00:00:00Z", f"palabra7 <a href='{target}'>frambuesa roja</a>"),
        (target, "2020-01-01T00:00:00Z", "palabra3"),
        ("http://old.example/9", "2020-01-01T00:00:00Z", f"palabra9 <a href='{target}'>melocotón</a>"),
    ]
    assert system.run("archive", "import", str(write_warc(tmp_path / "old.warc.gz", pages))).returncode == 0
    assert found_by(system, "frambuesa") == {page, target}, "by the text of the link to it, too"
    assert system.run("crawl", "http://127.0.0.1:9/", "--json").returncode
    in_python(
        system,
        f"""
        from hemeroteca.accounts import SYSTEM, Actor, Role, services
        from hemeroteca.archive import notes
        from hemeroteca.frontier.models import Crawl, FocusLink
        from hemeroteca.geo.models import Layer, Service
        from hemeroteca import urls
        eva = Actor.of(services.add_user(SYSTEM, "eva", Role.DIRECTOR, "una frase bien larga"))
        for url, word in (("{page}", "grosella"), ("{target}", "manzana")):
            notes.add_note(eva, url, word + " en una nota")
            notes.set_tags(eva, url, [word + " roja"])
            services.keep_favourite(eva, url, word + " en un título")
        for number, state in enumerate((Service.State.ALIVE, Service.State.WITHDRAWN)):
            fields = dict(key=number, type="wms", endpoint=f"http://geo.example/{{number}}", found_ms=1, state=state)
            one = Service.objects.create(url="{page}", url_key=urls.key("{page}"), title="grosella", **fields)
            Layer.objects.create(service=one, position=0, name="grosella")
        Service.objects.create(key=5, type="wms", endpoint="x", found_ms=1, found_on="{page}", anchor="grosella")
        FocusLink.objects.create(
            crawl=Crawl.objects.get(), key=1, parent=urls.key("{page}"), parent_url="{page}", anchor="grosella",
            context="grosella madura",
        )
        """,
    )
    done = system.run("archive", "erase", page, "--reason", "the author asked", "--yes")
    assert done.returncode == 0, done.stderr
    assert found_by(system, "frambuesa") == set()
    assert found_by(system, "melocotón") == {target, "http://old.example/9"}
    index = b"".join(file.read_bytes() for file in (system.data / "index").rglob("*") if file.is_file())
    assert b"frambuesa" not in index
    texts = b"".join(zlib.decompress(file.read_bytes()) for file in (system.data / "index").rglob("*.anchors"))
    assert b"frambuesa" not in texts
    assert "melocotón".encode() in texts
    database = b"".join(file.read_bytes() for file in system.data.glob("hemeroteca.sqlite3*"))
    assert b"grosella" not in database
    assert database.count(b"manzana en un") >= 2
    assert system.rows("SELECT state FROM geo_service ORDER BY key") == [("withdrawn",), ("alive",)]


def test_a_row_with_a_damaged_address_can_be_erased_too(system, tmp_path):
    pages = [(f"http://old.example/{n}", "2020-01-01T00:00:00Z", "zarzamora") for n in range(2)]
    assert system.run("archive", "import", str(write_warc(tmp_path / "old.warc.gz", pages))).returncode == 0
    system.rows("UPDATE capture SET url = 'http://[' WHERE url LIKE '%/1'")
    ((record,),) = system.rows("SELECT record_id FROM capture WHERE url = 'http://['")
    done = system.run("archive", "erase", "--capture", str(UUID(record)), "--reason", "the owner asked", "--yes")
    assert done.returncode == 0, done.stderr
    assert system.rows("SELECT url FROM capture") == [("http://old.example/0",)]


def found_by(system, query):
    lines = system.run("search", query, "--json").stdout.splitlines()
    return {fact["url"] for line in lines if '"url"' in line for fact in [json.loads(line)]}


def in_python(system, text):
    """What people did in the console, say."""
    setup = "import django; django.setup()\n"
    environment = system.environment | {"DJANGO_SETTINGS_MODULE": "hemeroteca.django_settings"}
    subprocess.run([sys.executable, "-c", setup + textwrap.dedent(text)], env=environment, check=True)

"""What a crawl kept, handed out by collection, by query, and unpacked."""

import gzip
import json
import sqlite3
import zipfile

import pytest

from tests.engine.system import System
from tests.fetch.browser_site import STORY, Site

PAGE = "http://www.site.test"


@pytest.fixture
def site(site: Site) -> Site:
    text = "<!doctype html><title>{0}</title><p>The {0} was opened by the council on a rainy day in spring.</p>"
    site.pages |= {"/": text.format("market") + "<a href=/a/bridge>b</a><a href=/api>api</a><img src=/image-1>"}
    site.pages |= {"/a/bridge": text.format("bridge")}
    return site


@pytest.fixture
def system(system: System) -> System:
    system.crawl(f"{PAGE}/", "--delay", "0", "--no-sitemaps")
    return system


def exported(system: System, *arguments: str) -> set[str]:
    done = system.run("archive", "export", "-", "--format", "json", *arguments)
    assert done.returncode == 0, done.stderr
    return {json.loads(line)["url"].removeprefix(PAGE) for line in done.stdout.splitlines()}


def test_by_collection(system):
    assert system.run("watch", "add", f"{PAGE}/a/", "--scope", "prefix", "--collection", "Bridges").returncode == 0
    assert exported(system, "--collection", "Bridges") == {"/a/bridge"}
    ((crawl,),) = system.rows("SELECT crawl_id FROM subscription")
    with sqlite3.connect(system.data / "hemeroteca.sqlite3") as database:  # as if its crawl had fetched the picture
        database.execute("UPDATE capture SET crawl_id = ? WHERE url = ?", (crawl, f"{PAGE}/image-1"))
    assert exported(system, "--collection", "Bridges") == {"/a/bridge", "/image-1"}
    unknown = system.run("archive", "export", "-", "--format", "json", "--collection", "Nobody's")
    assert unknown.returncode == 1
    assert "there is no collection" in unknown.stderr


def test_by_query(system, tmp_path):
    assert exported(system, "--search", "bridge") == {"/a/bridge"}
    assert system.run("archive", "export", str(tmp_path / "b.wacz"), "--search", "bridge").returncode == 0
    with zipfile.ZipFile(tmp_path / "b.wacz") as archive:
        index = archive.read("indexes/index.cdx").decode().splitlines()
    assert [line.split()[0] for line in index] == ["test,site)/a/bridge"]
    assert system.run("archive", "export", "-", "--format", "json", "--search", "zeppelin").returncode == 1


def test_unpacked_and_as_received(system, site, tmp_path):
    for options, wanted in (((), site.api), (("--decoded",), gzip.decompress(site.api))):
        done = system.run("archive", "get", f"{PAGE}/api", *options, "-o", str(tmp_path / "out"), "--force")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "out").read_bytes() == wanted
    assert STORY in json.loads((tmp_path / "out").read_bytes())["story"]


def test_counted_without_counting(system, site):
    def counted() -> dict:
        return json.loads(system.run("archive", "stats", "--json").stdout)

    def really() -> tuple[int, ...]:
        ((captures, versions, revisits, addresses, size),) = system.rows(
            "SELECT count(*), sum(version), sum(kind = 'revisit'), count(DISTINCT urlkey), sum(body_size) FROM capture"
        )
        return captures, versions, revisits, addresses, size

    names = ("captures", "versions", "revisits", "addresses", "received_bytes")
    assert tuple(counted()[name] for name in names) == really()
    site.pages["/new"] = "<p>new"
    site.pages["/"] = "<a href=/new>new</a>"
    system.crawl(f"{PAGE}/", "--delay", "0", "--no-sitemaps")
    assert tuple(counted()[name] for name in names) == really()
    assert system.run("archive", "prune", "--one-per", "year", "--yes").returncode == 0
    assert tuple(counted()[name] for name in names) == really()
    for name in ("hemeroteca.sqlite3", "hemeroteca.sqlite3-wal", "hemeroteca.sqlite3-shm"):
        (system.data / name).unlink(missing_ok=True)
    assert system.run("archive", "verify", "--repair").returncode == 0
    assert tuple(counted()[name] for name in names) == really()

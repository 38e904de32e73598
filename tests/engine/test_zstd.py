"""WARC files in Zstandard: asked for by a setting, read by us and by fastwarc, handed out as gzip."""

import json
from collections.abc import Iterator

import pytest
from fastwarc.warc import ArchiveIterator

from hemeroteca.warc import scan, zstd
from tests.engine.system import System
from tests.fetch.browser_site import Site

pytest.importorskip("zstandard")
PAGE = "http://www.site.test"
WORDS = [
    f"{a}{b}{a}" for a in "bcdfghlmnprs" for b in ("a", "e", "i", "o", "u", "aca", "ere", "ino", "oru", "ulo", "ana")
]
TEXT = "<!doctype html><title>Page {0}</title><p>The council met on day {0} and spoke about the old bridge.</p>"


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    links = "".join(f'<a href="/n/{word}">Day {word}</a>' for word in WORDS)
    site.pages |= {"/": TEXT.format("zero") + links}
    site.pages |= {f"/n/{word}": TEXT.format(word) + f"<p>{word * 3} and {word * 5}" for word in WORDS}
    yield site
    site.server.close()


@pytest.fixture
def system(tmp_path, site) -> System:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['playwright'] = None\n")
    settings = {"delay": 0, "warc_compression": "zstd", "archive_keep_bytes": 0}
    system = System(tmp_path / "data", resolve=f"*.site.test=127.0.0.1:{site.port}", **settings)
    system.environment["PYTHONPATH"] = f"{tmp_path}:{system.environment.get('PYTHONPATH', '')}"
    return system


def crawl(system: System) -> None:
    system.crawl(f"{PAGE}/", "--delay", "0", "--no-sitemaps")


def files(system: System):
    return sorted((system.data / "warc").iterdir())


def test_a_crawl_in_zstandard_with_a_dictionary_of_what_was_crawled_before(system, site, tmp_path):
    crawl(system)
    (plain,) = files(system)
    assert plain.name.endswith(".warc.zst")
    assert plain.read_bytes()[:4] == zstd.MAGIC
    for word in WORDS:
        site.pages[f"/n/{word}"] += "<p>And again on another day, when it rained."
    crawl(system)
    _, packed = files(system)
    assert packed.read_bytes()[:4] == bytes.fromhex("5d2a4d18")  # the dictionary in a skippable frame
    dictionary = zstd.dictionary_of(lambda size, offset: packed.read_bytes()[offset : offset + size])
    assert dictionary == (system.data / "warc.dict").read_bytes()

    ours = [(found.record.kind, found.record.url) for found in scan.scan(packed)]
    theirs = []
    for record in ArchiveIterator(str(packed), parse_http=False):  # finds the dictionary by itself
        assert record.verify_block_digest()
        theirs.append((record.headers["WARC-Type"], record.headers.get("WARC-Target-URI", "")))
    assert theirs == ours
    assert len(ours) > 250

    verified = system.run("archive", "verify", "--json")
    assert (verified.returncode, json.loads(verified.stdout)["troubles"]) == (0, [])
    assert "day bab " in system.run("archive", "get", f"{PAGE}/n/bab").stdout
    assert "when it rained" in system.run("archive", "diff", f"{PAGE}/n/bab").stdout

    assert system.run("archive", "export", str(tmp_path / "all.warc.gz")).returncode == 0
    kinds = {record.headers["WARC-Type"] for record in ArchiveIterator(str(tmp_path / "all.warc.gz"))}
    assert {"response", "request", "warcinfo"} <= kinds
    copy = System(tmp_path / "other")
    assert copy.run("archive", "import", str(plain), str(packed)).returncode == 0
    wanted = "SELECT url, captured_ms, digest, version FROM capture ORDER BY url, captured_ms"
    assert copy.rows(wanted) == system.rows(wanted)
    assert all(path.name.endswith(".warc.gz") for path in files(copy))

    assert system.run("archive", "prune", "--one-per", "year", "--yes").returncode == 0
    assert system.run("archive", "verify").returncode == 0
    for name in ("hemeroteca.sqlite3", "hemeroteca.sqlite3-wal", "hemeroteca.sqlite3-shm"):
        (system.data / name).unlink(missing_ok=True)
    assert system.run("archive", "verify", "--repair").returncode == 0
    assert "day bab " in system.run("archive", "get", f"{PAGE}/n/bab").stdout


def test_damage_is_told_and_the_rest_is_read(system, site, tmp_path):
    crawl(system)
    (path,) = files(system)
    places = [found.offset for found in scan.scan(path)]
    data = bytearray(path.read_bytes())
    data[places[10] + 20] ^= 0xFF
    (tmp_path / "bad.warc.zst").write_bytes(data[: places[20] + 30])
    found = list(scan.scan(tmp_path / "bad.warc.zst"))
    damages = [item for item in found if isinstance(item, scan.Damage)]
    assert [item.offset for item in damages] == [places[10], places[20]]
    assert len(found) - len(damages) == 19
    assert "ends inside" in damages[1].reason


def test_another_name_is_refused(system):
    system.environment["HEMEROTECA_WARC_COMPRESSION"] = "rar"
    done = system.run("crawl", f"{PAGE}/")
    assert done.returncode != 0
    assert "it can be gzip or zstd" in done.stderr
    assert "Traceback" not in done.stderr

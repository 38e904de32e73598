"""Whole crawls of a simulated web, through the command."""

import json
import shutil
import signal
import subprocess
import sys

import pytest

from hemeroteca import urls
from hemeroteca.search.graph import LinkGraph, LinkRanks
from hemeroteca.search.index import open_index
from hemeroteca.search.suggest.suggester import Suggester
from hemeroteca.warc import stored_record
from simweb import SimWeb
from tests.engine.system import System
from tests.waiting import PATIENCE, wait_for


@pytest.fixture(scope="module")
def web():
    with SimWeb(seed=7, hosts=6, pages_per_host=25, crawl_delay=0.05) as web:
        yield web


@pytest.fixture
def system(tmp_path, web):
    return System(tmp_path / "data", resolve=web.resolve, delay=0)


def documents(web, *seeds, **options):
    return web.reachable(list(seeds) or web.seed_urls(1), **options)


def test_a_crawl_finds_exactly_what_there_is_and_search_finds_it(web, system):
    summary = system.crawl(*web.seed_urls(1), "--scope", "domain", "--delay", "0")
    assert summary["state"] == "finished"
    expected = documents(web)
    done = system.pages()
    assert expected <= done
    assert summary["queued"] == 0
    assert summary["pages"] >= len(expected)
    assert summary["captures"] >= summary["versions"] > 0
    assert {
        "bytes",
        "seconds",
        "cpu_seconds",
        "pages_per_second",
        "max_rss_bytes",
        "failed",
        "unchanged",
    } <= summary.keys()
    page = next(iter(web.urls(web.hosts()[0])))
    found = system.run("search", web.keyword(page), "--json", "--limit", "5")
    hits = [json.loads(line) for line in found.stdout.splitlines()]
    assert page in [hit["url"] for hit in hits]
    assert {"url", "title", "snippet", "score", "captured_at"} <= hits[0].keys()


def test_after_a_crawl_links_are_ranked_their_texts_found_and_words_learned(web, system):
    seed = web.seed_urls(1)[0]
    system.crawl(seed, "--delay", "0")
    graph = LinkGraph(system.data / "index" / "links")
    source, _ = graph.edges()
    done = {urls.key(url) for url in system.pages()}
    assert len(source) > len(done)
    assert set(source.tolist()) <= done
    ranks = LinkRanks.load(system.data / "index" / "rank").pages(source)
    assert ranks.max() == 1.0
    key, texts = next((key, texts) for key, texts in graph.anchor_texts() if key in done)
    assert open_index(None, system.data / "index").get(key).anchors.split("\n") == texts.split("\n")
    assert Suggester.load(system.data / "index" / "suggest") is not None


def test_a_rebuilt_index_finds_the_same_as_the_first(web, system):
    system.crawl(*web.seed_urls(1), "--scope", "domain", "--delay", "0", "--no-requisites")
    before = json.loads(system.run("status", "--json").stdout)["documents"]
    done = system.run("search", "rebuild", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["documents"] == before > 100


def test_an_index_that_was_deleted_is_made_anew_by_the_next_start(web, system):
    seed = web.seed_urls(1)[0]
    system.crawl(seed, "--delay", "0", "--no-requisites")
    before = json.loads(system.run("status", "--json").stdout)["documents"]
    links = len(set(zip(*LinkGraph(system.data / "index" / "links").edges(), strict=True)))
    shutil.rmtree(system.data / "index")  # nobody told the rest of the data folder
    system.crawl(seed, "--limit", "1", "--delay", "0", "--no-requisites")
    assert json.loads(system.run("status", "--json").stdout)["documents"] == before > 10
    assert len(set(zip(*LinkGraph(system.data / "index" / "links").edges(), strict=True))) == links


def test_every_capture_is_in_the_warc_files_with_its_digest(web, system):
    system.crawl(*web.seed_urls(1), "--limit", "40", "--delay", "0")
    rows = system.rows(
        'SELECT capture.url, capture.kind, capture.digest, warc_file.name, "offset", length '
        "FROM capture JOIN warc_file ON warc_file.id = capture.warc_id"
    )
    assert len(rows) >= 40
    for url, kind, digest, name, offset, length in rows:
        record = stored_record.read(system.data / "warc", name, offset, length)
        assert record.url == url
        assert record.kind == kind
        assert not record.problems()
        if kind == "response":
            assert record.payload_digest == digest


def test_a_second_crawl_asks_conditionally_and_keeps_only_what_changed(web, system):
    seed = web.seed_urls(1)[0]
    first = system.crawl(seed, "--delay", "0")
    again = system.crawl(seed, "--delay", "0")
    assert again["crawl"] != first["crawl"]
    assert again["pages"] == first["pages"]
    assert again["unchanged"] > 0.8 * again["pages"]
    kinds = dict(system.rows("SELECT kind, COUNT(*) FROM capture GROUP BY kind"))
    assert kinds["revisit"] >= again["unchanged"] - 1
    assert system.rows("SELECT COUNT(*) FROM capture WHERE status = 304")[0][0] > 0


def test_another_order_follows_the_links_of_pages_that_have_not_changed(web, system):
    seed = web.seed_urls(1)[0]
    system.crawl(seed, "--scope", "page", "--no-requisites", "--delay", "0")
    system.crawl(seed, "--no-sitemaps", "--delay", "0")
    assert documents(web, seed, scope="host", sitemaps=False) <= system.pages()
    assert system.rows("SELECT COUNT(*) FROM capture WHERE url = ? AND kind = 'revisit'", seed)[0][0] == 1


def test_a_limit_stops_and_the_same_command_goes_on(web, system):
    seed = web.seed_urls(1)[0]
    first = system.crawl(seed, "--limit", "10", "--delay", "0")
    assert first["state"] == "stopped"
    assert first["stop_reason"] == "limit of 10 pages reached"
    assert first["pages"] == 10
    rest = system.crawl(seed, "--delay", "0")
    assert rest["crawl"] == first["crawl"]
    assert rest["state"] == "finished"
    assert documents(web, seed, scope="host") <= system.pages()


def test_a_limit_of_bytes_counts_what_has_come_not_what_was_read(web, system):
    seed = web.seed_urls(1)[0]
    summary = system.crawl(seed, "--max-bytes", "1", "--delay", "0", "--no-requisites", "--no-sitemaps")
    assert summary["stop_reason"] == "limit of 1 bytes reached"
    assert summary["pages"] == 1
    assert summary["queued"] > 0


def test_ctrl_c_ends_in_order_with_130_and_nothing_is_lost(web, system):
    seed = web.seed_urls(1)[0]
    process = system.start("crawl", seed, "--delay", "0.3", "--json")  # so slowly that it cannot end before
    wait_for(lambda: (system.data / "engine.json").exists() and len(system.pages()) >= 3, "three pages")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, errors
    summary = json.loads(output.strip().splitlines()[-1])
    assert summary["state"] == "stopped"
    assert summary["stop_reason"] == "interrupted"
    assert summary["pages"] == system.rows("SELECT COUNT(*) FROM visit WHERE state = 1")[0][0]
    rest = system.crawl(seed, "--delay", "0")
    assert rest["state"] == "finished"
    assert documents(web, seed, scope="host") <= system.pages()


def test_seeds_come_from_a_file_and_from_standard_input(web, system, tmp_path):
    seeds = web.seed_urls(3)
    listing = tmp_path / "urls.txt"
    listing.write_text("# my sites\n" + "\n".join(seeds[:2]) + "\n\n")
    summary = system.crawl(
        "--from-file", str(listing), "--scope", "page", "--no-requisites", "--no-sitemaps", "--delay", "0"
    )
    assert summary["pages"] == 2
    done = system.run("crawl", "--scope", "page", "--no-requisites", "--delay", "0", "--json", stdin=seeds[2] + "\n")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["pages"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no address"),
        (("ftp://a.test/",), "only http and https"),
        (("http://a.test/", "--include", "("), "expression"),
        (("http://a.test/", "--max-time", "soon"), "--max-time"),
        (("http://a.test/", "--max-bytes", "many"), "--max-bytes"),
        (("--from-file", "missing.txt"), "missing.txt"),
        (("http://a.test/", "--depth", "-1"), "depth"),
        (("http://a.test/", "--limit", "9" * 30), "limit"),
        (("http://a.test/", "--max-bytes", "9" * 400), "--max-bytes"),
    ],
)
def test_wrong_usage_is_told_in_one_line_with_exit_code_2(system, arguments, words):
    done = system.run("crawl", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_and_a_database_that_cannot_be_used_are_told_in_one_line(system, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    done = system.run("crawl", "http://a.test/", "--data", str(tmp_path / "file"))
    assert (done.returncode, "cannot be opened" in done.stderr) == (1, True)
    assert "Traceback" not in done.stderr
    system.data.mkdir()
    (system.data / "hemeroteca.sqlite3").write_text("not a database, " * 500)
    for command in (("status",), ("crawl", "http://a.test/")):
        done = system.run(*command)
        assert (done.returncode, "`hemeroteca archive verify --repair`" in done.stderr) == (1, True)
        assert "Traceback" not in done.stderr


def test_nothing_fetched_is_exit_code_1_with_the_reason(system):
    done = system.run("crawl", "http://nobody-lives-here.invalid/", "--json")
    assert done.returncode == 1
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["pages"] == 0
    assert summary["failed"] == 1
    status = json.loads(system.run("status", "--json").stdout)
    assert status["reasons"][0]["reason"] == "dns"
    assert "nobody-lives-here.invalid" in status["reasons"][0]["example"]


def test_scope_depth_include_and_exclude_bound_the_crawl(web, system):
    seed = web.seed_urls(1)[0]
    host = web.hosts()[0]
    system.crawl(seed, "--depth", "1", "--no-requisites", "--no-sitemaps", "--delay", "0")
    assert {depth for (depth,) in system.rows("SELECT DISTINCT depth FROM visit WHERE role = 0")} <= {0, 1}
    assert {name for (name,) in system.rows("SELECT name FROM host")} == {host}
    system.crawl(seed, "--include", "/nothing-like-this/", "--no-requisites", "--no-sitemaps", "--delay", "0")
    crawl = system.rows("SELECT MAX(id) FROM crawl")[0][0]
    assert system.rows("SELECT url FROM visit JOIN page ON page.id = page_id WHERE crawl_id = ?", crawl) == [(seed,)]


def test_a_command_follows_the_engine_of_serve_when_one_runs(web, system):
    subprocess.run([sys.executable, "-m", "hemeroteca.accounts"], env=system.environment, check=True)
    engine = subprocess.Popen(
        [sys.executable, "-m", "hemeroteca.engine"],
        env=system.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(lambda: (system.data / "engine.json").exists() or engine.poll() is not None, "an engine at work")
        summary = system.crawl(web.seed_urls(1)[0], "--limit", "10", "--delay", "0")
        assert summary["pages"] == 10
        assert engine.poll() is None
    finally:
        engine.send_signal(signal.SIGTERM)
        _, errors = engine.communicate(timeout=PATIENCE)
    assert engine.returncode == 0, errors

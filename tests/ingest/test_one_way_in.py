"""One way in: a site crawled, and the same site imported from the WARC files of that crawl into an empty instance, give
the same documents, versions, links, differences and search results."""

import json

import msgspec
import pytest

from hemeroteca import urls
from hemeroteca.search.graph import LinkGraph
from hemeroteca.search.index import open_index
from hemeroteca.warc.timestamps import timestamp
from simweb import SimWeb
from tests.engine.system import System

FACTS = "record_id, url, urlkey, captured_ms, status, mime, digest, version, truncated, body_size"


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """An instance that crawled a site three times, while it changed; an empty one that imported its files; words."""
    folder = tmp_path_factory.mktemp("one-way-in")
    with SimWeb(seed=11, hosts=3, pages_per_host=12, page_bytes=3000, changes="daily", robots="open") as web:
        first = System(folder / "crawled", resolve=web.resolve, delay=0, index_versions=1)
        for _ in range(3):
            summary = first.crawl(*web.seed_urls(1), "--scope", "domain", "--delay", "0")
            assert summary["state"] == "finished"
            web.advance(30)
        words = [web.keyword(url) for host in web.hosts() for url in sorted(web.urls(host))[:2]]
    second = System(folder / "imported", index_versions=1)
    files = sorted(str(file) for file in (first.data / "warc").iterdir())
    done = second.run("archive", "import", *files, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["taken"] == first.rows("SELECT count(*) FROM capture")[0][0]
    return first, second, words


def test_captures_versions_and_differences_are_the_same(both):
    first, second, _ = both
    facts = f"SELECT {FACTS} FROM capture ORDER BY record_id"
    assert second.rows(facts) == first.rows(facts)
    repeats = "SELECT record_id FROM capture WHERE kind = 'revisit'"
    assert set(first.rows(repeats)) <= set(second.rows(repeats)), "of two equal answers under way at once neither knew"
    weights = "SELECT importance FROM capture WHERE importance IS NOT NULL ORDER BY record_id"
    ours, theirs = ([weight for (weight,) in system.rows(weights)] for system in (first, second))
    assert len(ours) > 20
    # not exactly: a crawl has many pages in hand at once, and each is compared by the noise known at that moment
    assert theirs == pytest.approx(ours, abs=0.05)
    assert first.rows("SELECT count(*) FROM capture WHERE kind = 'revisit'")[0][0] > 50
    noise = "SELECT host FROM site_noise ORDER BY host"
    assert second.rows(noise) == first.rows(noise) != []


def test_documents_are_the_same(both):
    def documents(system):
        index = open_index(None, system.data / "index")
        found = {}
        for key in {urls.key(url) for (url,) in system.rows("SELECT url FROM capture")}:
            if (document := index.get(key)) is not None:
                texts = set(document.anchors.split("\n"))  # in the order in which they were met
                found[key] = msgspec.structs.asdict(document) | {"anchors": texts}
        return found

    first, second, _ = both
    assert len(documents(first)) > 30
    assert documents(second) == documents(first)


def test_links_are_the_same(both):
    def graph(system):
        found = LinkGraph(system.data / "index" / "links")
        pages, targets = found.edges()
        links = {pair for pair in zip(pages.tolist(), targets.tolist(), strict=True) if pair[0] != pair[1]}
        return links, {(page, text) for page, texts in found.anchor_texts() for text in texts.split("\n")}

    first, second, _ = both
    assert len(graph(first)[0]) > 50
    assert graph(second) == graph(first)


def test_search_results_are_the_same(both):
    def results(system, query):
        lines = system.run("search", query, "--json").stdout.splitlines()
        return sorted((hit["url"], hit["title"], hit["captured_at"]) for hit in map(json.loads, lines) if "url" in hit)

    first, second, words = both
    for word in words:
        assert results(second, word) == results(first, word) != []
    (moment,) = first.rows("SELECT captured_ms FROM capture WHERE version AND status = 200 ORDER BY id LIMIT 1")[0]
    past = f"{words[0]} at:{timestamp(moment + 1000)}"
    assert results(second, past) == results(first, past)

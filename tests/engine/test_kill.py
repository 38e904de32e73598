"""The kill test: a crawl of 5,000 pages, killed 20 times at random moments, ends as if nothing had happened."""

import random
import time

import pytest

from hemeroteca.archive import reader
from simweb import SimWeb
from tests.engine.system import System

PAGES = 5000
KILLS = 20


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_twenty_kills_change_nothing(tmp_path):
    with SimWeb(seed=3, hosts=50, pages_per_host=100) as web:
        arguments = [*web.seed_urls(1), "--scope", "domain", "--delay", "0", "--json"]
        undisturbed = System(tmp_path / "undisturbed", resolve=web.resolve)
        summary = undisturbed.crawl(*arguments[:-1])
        assert summary["state"] == "finished"
        expected = undisturbed.pages()
        assert len(expected) >= PAGES
        web.reset()

        killed = System(tmp_path / "killed", resolve=web.resolve)
        dice = random.Random(20)
        pace = summary["seconds"] / KILLS  # so that the kills are spread over the crawl
        for _ in range(KILLS):
            process = killed.start("crawl", *arguments)
            time.sleep(1.0 + dice.random() * 2 * pace)  # the random moment itself, not a wait for something
            killed.kill(process)
        final = killed.crawl(*arguments[:-1])
        assert final["state"] == "finished"

        assert killed.pages() == expected
        fetches = web.fetches()
        assert max(fetches.values()) <= 1 + KILLS
        twice = [url for url, count in fetches.items() if count > 2]
        assert len(twice) <= KILLS  # no page is fetched more than twice for one kill
        assert web.stats().max_active <= 1
        assert web.stats().forbidden == 0

        rows = killed.rows(
            'SELECT capture.url, capture.kind, capture.digest, warc_file.name, "offset", length '
            "FROM capture JOIN warc_file ON warc_file.id = capture.warc_id"
        )
        assert {row[0] for row in rows} >= expected
        for url, kind, digest, name, offset, length in rows:
            record = reader.read(killed.data / "warc", name, offset, length)
            assert record.url == url
            assert not record.problems()
            assert kind == "revisit" or record.payload_digest == digest
        open_files = killed.rows("SELECT COUNT(*) FROM warc_file WHERE closed = 0")[0][0]
        assert open_files == 0

        found = killed.run("status", "--json")
        import json

        assert (
            json.loads(found.stdout)["documents"] == json.loads(undisturbed.run("status", "--json").stdout)["documents"]
        )

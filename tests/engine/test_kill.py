"""The kill test: a crawl that is killed again and again at random moments ends as if nothing had happened.

A thorough run (THOROUGH=1) kills a crawl of 5,000 pages 20 times."""

import json
import random
import sqlite3
import time

import pytest

from hemeroteca.warc import stored_record
from simweb import SimWeb
from tests.engine.system import System
from tests.environment import THOROUGH
from tests.waiting import wait_for

HOSTS, PAGES_PER_HOST, KILLS = (50, 100, 20) if THOROUGH else (25, 40, 6)
PAGES = HOSTS * PAGES_PER_HOST
SECONDS = 500  # for a whole crawl, which takes ten here


@pytest.mark.slow
@pytest.mark.timeout(3 * SECONDS)
def test_kills_change_nothing(tmp_path):
    with SimWeb(seed=3, hosts=HOSTS, pages_per_host=PAGES_PER_HOST, crawl_delay=0.01, trouble=0) as web:
        order = ["crawl", *web.seed_urls(1), "--scope", "domain", "--delay", "0", "--no-requisites"]
        undisturbed = System(tmp_path / "undisturbed", resolve=web.resolve)
        summary = undisturbed.crawl(*order[1:], timeout=SECONDS)
        assert summary["state"] == "finished"
        expected = undisturbed.pages()
        assert len(expected) >= PAGES

        forget(web)
        killed = System(tmp_path / "killed", resolve=web.resolve)
        dice = random.Random(20)
        pace = summary["seconds"] / KILLS  # so that the kills are spread over the crawl
        for _ in range(KILLS):
            process = killed.start(*order)
            time.sleep(1.0 + dice.random() * 2 * pace)  # the random moment itself, not a wait for something
            killed.kill(process)
            assert_polite(web)
            forget(web)
        final = killed.crawl(*order[1:], timeout=SECONDS)
        assert final["state"] == "finished"
        assert_polite(web)

        assert killed.pages() == expected
        assert_every_capture_can_be_read(killed, expected)
        assert killed.rows("SELECT COUNT(*) FROM warc_file WHERE closed = 0") == [(0,)]
        assert documents(killed) == documents(undisturbed)


def assert_polite(web):
    """Between two kills no page is asked for twice, so a kill costs a page at most one more request."""
    stats = web.stats()
    assert stats.max_fetches <= 1
    assert stats.max_active <= 1
    assert stats.forbidden == 0


def forget(web):
    """Begin to count anew, once the server has seen the end of everything the killed crawl had sent it."""
    wait_for(lambda: not any(host.connections for host in web.stats().hosts.values()), "closed connections")
    web.reset()


def assert_every_capture_can_be_read(system, expected):
    rows = system.rows(
        'SELECT capture.url, capture.kind, capture.digest, warc_file.name, "offset", length '
        "FROM capture JOIN warc_file ON warc_file.id = capture.warc_id"
    )
    assert {row[0] for row in rows} >= expected
    for url, kind, digest, name, offset, length in rows:
        record = stored_record.read(system.data / "warc", name, offset, length)
        assert record.url == url
        assert not record.problems()
        assert kind == "revisit" or record.payload_digest == digest


def documents(system):
    return json.loads(system.run("status", "--json").stdout)["documents"]


def test_a_crawl_that_was_killed_goes_on_with_what_it_had_counted(tmp_path):
    with SimWeb(seed=3, hosts=1, pages_per_host=30, crawl_delay=0.01, trouble=0) as web:
        order = [*web.seed_urls(1), "--delay", "0.1", "--no-requisites", "--no-sitemaps"]
        undisturbed = System(tmp_path / "undisturbed", resolve=web.resolve).crawl(*order)
        killed = System(tmp_path / "killed", resolve=web.resolve)
        process = killed.start("crawl", *order)
        wait_for(lambda: some_are_counted(killed), "some pages")
        killed.kill(process)
        final = killed.crawl(*order)
        assert {name: final[name] for name in ("pages", "versions", "failed")} == {
            name: undisturbed[name] for name in ("pages", "versions", "failed")
        }
        assert final["seconds"] > 2.0, "of both processes"


def some_are_counted(system):
    """Whether the counts of a run under way are on disk."""
    try:
        return any(json.loads(counts).get("pages") for (counts,) in system.rows("SELECT counts FROM crawl"))
    except sqlite3.OperationalError:  # the database is being made
        return False

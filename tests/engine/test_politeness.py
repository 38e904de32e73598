"""Politeness measured where it matters: at the server."""

import pytest

from simweb import SimWeb
from tests.engine.system import System
from tests.waiting import wait_for

DELAY = 0.05
CRAWL_DELAY = 0.2
LONG_DELAY = 5.0  # a new engine has begun before
CLOCKS = 0.9  # the server sees the end of a response a little later than we do


@pytest.mark.slow
def test_one_request_at_a_time_never_closer_than_the_delay_and_robots_never_broken(tmp_path):
    with SimWeb(seed=11, hosts=12, pages_per_host=15, latency=0.01, crawl_delay=CRAWL_DELAY) as web:
        system = System(tmp_path / "data", resolve=web.resolve, delay_factor=0)
        summary = system.crawl(*web.seed_urls(1), "--scope", "domain", "--delay", str(DELAY), "--no-requisites")
        stats = web.stats()
        assert summary["pages"] > 150
        assert stats.max_active == 1
        assert stats.min_gap >= DELAY * CLOCKS
        assert stats.forbidden == 0
        assert stats.before_robots == 0
        slow = [
            host for host in stats.hosts.values() if host.min_start_gap and host.min_start_gap >= CRAWL_DELAY * CLOCKS
        ]
        assert slow  # the hosts that ask for a Crawl-delay get it
        assert summary["excluded"] > 0  # and what robots.txt forbids is on record, not asked for


def test_the_adaptive_delay_follows_the_response_time(tmp_path):
    with SimWeb(seed=12, hosts=1, pages_per_host=8, latency=0.05, robots="open", trouble=0) as web:
        system = System(tmp_path / "data", resolve=web.resolve, delay=0.01, delay_factor=3)
        system.crawl(*web.seed_urls(1), "--limit", "8", "--no-requisites")
        stats = web.stats()
        assert stats.max_active == 1
        assert stats.min_gap > 0.03  # three times a response of about 50 ms, however it varies


def test_after_a_kill_every_host_rests_before_it_is_asked_again(tmp_path):
    """The moments at which hosts were asked die with the engine when they were not on disk yet."""
    with SimWeb(seed=13, hosts=1, pages_per_host=8, robots="open", trouble=0) as web:
        system = System(tmp_path / "data", resolve=web.resolve, delay_factor=0, commit_seconds=600)
        order = ["crawl", *web.seed_urls(1), "--delay", str(LONG_DELAY), "--no-requisites"]
        first = system.start(*order)
        wait_for(lambda: web.stats().requests == 1, "the first request")
        system.kill(first)
        second = system.start(*order)
        wait_for(lambda: web.stats().requests == 2, "the next one")
        system.kill(second)
        assert web.stats().min_gap >= LONG_DELAY * CLOCKS

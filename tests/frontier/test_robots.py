"""How long the rules of an origin are believed."""

import pytest

from hemeroteca.frontier.robots import FRESH_SECONDS, UNREACHABLE_SECONDS, RobotsCache

pytestmark = pytest.mark.django_db

ORIGIN = "http://www.site.test"
NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("status", "seconds"), [(200, FRESH_SECONDS), (404, FRESH_SECONDS), (503, UNREACHABLE_SECONDS)]
)
def test_rules_are_fetched_again_after_their_time(status, seconds):
    cache = RobotsCache()
    cache.learn(ORIGIN, status, b"User-agent: *\nDisallow: /p\n", NOW)
    cache.write()
    for kept in (cache, RobotsCache()):  # in memory, and as the next engine finds them
        assert kept.rules(ORIGIN, NOW) is not None
        assert kept.rules(ORIGIN, NOW + seconds - 1) is not None
        assert kept.rules(ORIGIN, NOW + seconds) is None


def test_rules_fetched_by_a_clock_that_was_ahead_are_not_believed_until_then():
    cache = RobotsCache()
    cache.learn(ORIGIN, 200, b"", NOW + 30 * FRESH_SECONDS)
    cache.write()
    assert cache.rules(ORIGIN, NOW) is None
    assert RobotsCache().rules(ORIGIN, NOW) is None

"""How long the rules of an origin are believed."""

import pytest

from hemeroteca.engine.robots_rules import FRESH_SECONDS, UNREACHABLE_SECONDS, RobotsRules

pytestmark = pytest.mark.django_db

ORIGIN = "http://www.site.test"
NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("status", "seconds"), [(200, FRESH_SECONDS), (404, FRESH_SECONDS), (503, UNREACHABLE_SECONDS)]
)
def test_rules_are_fetched_again_after_their_time(status, seconds):
    robots_rules = RobotsRules()
    robots_rules.learn(ORIGIN, status, b"User-agent: *\nDisallow: /p\n", NOW)
    robots_rules.write()
    for kept in (robots_rules, RobotsRules()):  # in memory, and as the next engine finds them
        assert kept.rules(ORIGIN, NOW) is not None
        assert kept.rules(ORIGIN, NOW + seconds - 1) is not None
        assert kept.rules(ORIGIN, NOW + seconds) is None


def test_rules_fetched_by_a_clock_that_was_ahead_are_not_believed_until_then():
    robots_rules = RobotsRules()
    robots_rules.learn(ORIGIN, 200, b"", NOW + 30 * FRESH_SECONDS)
    robots_rules.write()
    assert robots_rules.rules(ORIGIN, NOW) is None
    assert RobotsRules().rules(ORIGIN, NOW) is None

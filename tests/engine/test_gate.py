"""How long the rules of an origin are believed."""

import pytest

from hemeroteca.engine.gate import FRESH_SECONDS, UNREACHABLE_SECONDS, Gate

pytestmark = pytest.mark.django_db

ORIGIN = "http://www.site.test"
NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("status", "seconds"), [(200, FRESH_SECONDS), (404, FRESH_SECONDS), (503, UNREACHABLE_SECONDS)]
)
def test_rules_are_fetched_again_after_their_time(status, seconds):
    gate = Gate()
    gate.learn(ORIGIN, status, b"User-agent: *\nDisallow: /p\n", NOW)
    gate.write()
    for kept in (gate, Gate()):  # in memory, and as the next engine finds them
        assert kept.rules(ORIGIN, NOW) is not None
        assert kept.rules(ORIGIN, NOW + seconds - 1) is not None
        assert kept.rules(ORIGIN, NOW + seconds) is None


def test_rules_fetched_by_a_clock_that_was_ahead_are_not_believed_until_then():
    gate = Gate()
    gate.learn(ORIGIN, 200, b"", NOW + 30 * FRESH_SECONDS)
    gate.write()
    assert gate.rules(ORIGIN, NOW) is None
    assert Gate().rules(ORIGIN, NOW) is None

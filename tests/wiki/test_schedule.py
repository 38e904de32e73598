"""When an article is looked at again: the founding rule with its two worked examples, and `auto`."""

from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.wiki import schedule
from hemeroteca.wiki.schedule import DAY_MS, HOUR_MS


def spread(count: int, days: float, start: int = 0) -> list[int]:
    """So many times, from the first to the last in so many days."""
    return [start + round(place * days * DAY_MS / (count - 1)) for place in range(count)]


def test_the_founding_examples():
    """28 revisions in 14 days: 12 h. 135 in 13 days: 2.31 h. Each is the newest tenth of a longer history."""
    old = spread(252, 900, -1000 * DAY_MS)
    assert schedule.exponential_ms([*old, *spread(28, 14)]) == 12 * HOUR_MS
    long = spread(1215, 900, -1000 * DAY_MS)
    assert round(schedule.exponential_ms([*long, *spread(135, 13)]) / HOUR_MS, 2) == 2.31


def test_at_least_twenty_revisions_are_looked_at():
    times = [*spread(10, 5, -900 * DAY_MS), *spread(20, 10)]
    assert schedule.exponential_ms(times) == 12 * HOUR_MS


def test_a_visit_is_due_when_the_quiet_exceeds_what_is_expected():
    times = spread(28, 14) and [*spread(252, 900, -1000 * DAY_MS), *spread(28, 14)]
    last = max(times)
    assert not schedule.exponential_due(times, last + 12 * HOUR_MS)
    assert schedule.exponential_due(times, last + 12 * HOUR_MS + 1)
    assert schedule.exponential_due([1, 1, 1], 2), "a history that tells nothing is looked at"


def test_the_founding_schedule_looks_at_midnight():
    class Row:
        policy = "exponential"

    now = 100 * DAY_MS + 5 * HOUR_MS
    busy = [now - place * HOUR_MS for place in range(50)]
    assert schedule.plan(Row, {}, busy, now)["due_ms"] == 101 * DAY_MS
    slow = [now - place * 3 * DAY_MS for place in range(50)]
    due = schedule.plan(Row, {}, slow, now)["due_ms"]
    assert due % DAY_MS == 0
    assert due - now > 2 * DAY_MS


@given(st.lists(st.integers(0, 3000 * DAY_MS), max_size=60), st.integers(0, 100 * DAY_MS))
def test_auto_is_within_its_bounds(times, later):
    now = max(times, default=0) + later
    assert schedule.MIN_AUTO_MS <= schedule.auto_ms(times, now) <= schedule.MAX_AUTO_MS


def test_auto_looks_sooner_where_more_happens():
    now = 1000 * DAY_MS
    busy = [now - place * HOUR_MS for place in range(60)]
    slow = [now - place * 5 * DAY_MS for place in range(60)]
    assert schedule.auto_ms(busy, now) < schedule.auto_ms(slow, now)
    assert schedule.auto_ms(busy, now) < schedule.auto_ms(busy, now + 30 * DAY_MS), "quiet lasts"

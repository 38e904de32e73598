"""Policies by hand: what each rule says after each visit."""

import numpy as np
import pytest

from hemeroteca.predict.calendars import HOLIDAY, WEEKEND, WORKING, country_calendar, week_calendar
from hemeroteca.predict.policies import (
    POLICIES,
    DayType,
    Exponential,
    Fixed,
    IntervalPolicy,
    Simple,
    SimpleHistory,
    SimpleNotify,
    World,
    history_interval,
    nutch_schedule,
    revision_sample,
)

ONE = np.array([0])


def started(policy, pages=1, **world):
    policy.start(World(["s"] * pages, [f"p{i}" for i in range(pages)], **world))
    return policy


def visit(policy, now, changed):
    policy.observe(ONE, now, np.array([changed]))
    return float(policy.interval[0])


def test_every_promised_policy_exists_by_name():
    promised = "fixed simple simple-notify simple-history day-type exponential nutch lambda-crawl auto"
    assert set(promised.split()) <= set(POLICIES)


def test_fixed_never_moves():
    policy = started(Fixed(hours=36))
    assert [visit(policy, 36, True), visit(policy, 72, False)] == [36, 36]


def test_simple_waits_a_day_more_each_time_in_vain_up_to_30_days_and_starts_again_after_a_change():
    policy = started(Simple())
    assert policy.interval[0] == 24
    assert [visit(policy, 24, False), visit(policy, 72, False), visit(policy, 144, True)] == [48, 72, 24]
    now = 200.0
    for _ in range(40):
        last = visit(policy, now, False)
        now += last
    assert last == 720


def test_simple_stretched_scales_steps_and_cap():
    policy = started(Simple(stretch=3))
    policy.observe(ONE, 72, np.array([False]))
    assert policy.next[0] == 72 + 3 * 48


def test_simple_notify_listens_only_while_its_interval_is_long():
    policy = started(SimpleNotify())
    policy.notify(ONE, 5.0)
    assert policy.next[0] == 24  # T = 24 is not long
    policy.interval[0] = 384
    policy.next[0] = 1000
    policy.notify(ONE, 50.0)
    assert (policy.interval[0], policy.next[0]) == (24, 50)
    assert policy.choose(50.0, None).tolist() == [0]


def test_history_interval_from_change_bits():
    nan = np.nan
    bits = np.array([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0], [1, nan, 0, nan], [nan] * 4])
    assert history_interval(bits).tolist() == [24, 48, 144, 48, 144]


def test_simple_history_forgets_after_its_window_but_knows_the_same_date_last_year():
    policy = started(SimpleHistory())
    assert visit(policy, 24, True) == 24
    assert visit(policy, 24 * 60, False) == 144
    assert visit(policy, 24 * (1 + 365), False) == 48  # day 0 a year ago changed, today did not


def test_day_type_rests_at_the_weekend_when_only_working_days_change():
    policy = started(DayType())
    for day in range(21):  # day 0 is a Monday
        interval = visit(policy, (day + 1) * 24, day % 7 < 5)
        if day >= 14:
            assert interval == (72 if day % 7 == 4 else 24 if day % 7 in (0, 1, 2, 3, 6) else 48)


def test_calendar_of_a_country_knows_its_holidays():
    from datetime import date

    spain = country_calendar("ES", date(2024, 1, 1))
    assert [spain.kind(d) for d in (0, 1, 5)] == [HOLIDAY, WORKING, HOLIDAY]  # New Year, Tuesday, Epiphany
    assert spain.kind(6) == WEEKEND
    assert week_calendar().kind(5) == WEEKEND
    with pytest.raises(ValueError, match="country code"):
        country_calendar("XX", date(2024, 1, 1))


def test_a_calendar_survives_days_no_date_can_say():
    assert week_calendar().kind(10**9) in (WORKING, WEEKEND)


def test_a_tenth_of_the_revisions_is_averaged_but_at_least_twenty():
    assert [revision_sample(n) for n in (5, 150, 1000)] == [20, 20, 100]


def test_exponential_looks_again_after_one_mean_distance():
    policy = started(Exponential())
    for now in range(10, 310, 10):
        interval = visit(policy, float(now), True)
    assert interval == pytest.approx(190 / 20)  # 20 newest revisions span 190 hours
    assert visit(policy, 310.0, False) == interval


def test_nutch_shrinks_grows_and_syncs():
    interval, wait = nutch_schedule(
        np.array([100.0, 100.0, 100.0]), np.array([True, False, False]), np.array([0, 50, 500])
    )
    assert interval.tolist() == pytest.approx([80, 120, 500])
    assert wait.tolist() == pytest.approx([80, 120 - 10, 500 - 100])


def test_nutch_stays_between_a_minute_and_a_year():
    interval, _ = nutch_schedule(np.array([1e-9, 1e9]), np.array([True, False]), np.array([0.0, 0.0]))
    assert interval.tolist() == pytest.approx([1 / 60, 8760])


def test_policies_that_share_a_budget_ask_for_one():
    for name in ("auto", "lambda-crawl"):
        with pytest.raises(ValueError, match="--budget"):
            started(POLICIES[name]())


def test_a_rule_without_revise_says_what_is_missing():
    policy = started(type("Mine", (IntervalPolicy,), {})())
    with pytest.raises(NotImplementedError, match="Mine"):
        visit(policy, 24, True)


def test_with_a_budget_first_visits_are_spread_over_one_round():
    policy = started(Simple(stretch=2), pages=100, visits_per_step=10)
    assert [policy.choose(24.0 * d, None).size for d in (1, 5, 10)] == [10, 50, 100]

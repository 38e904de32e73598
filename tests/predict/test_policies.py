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
    day_chances,
    history_interval,
    nutch_schedule,
    policy_of,
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


def test_history_interval_from_days_with_change():
    # 24/P: 30/30 → 24 h; 15/30 → 48 h; 5/30 → 144 h; 1/30 would be 720, the rule ends at 144; nothing → 144
    hits = np.array([30.0, 15, 5, 1, 0])
    assert history_interval(hits, np.full(5, 30.0)).tolist() == [24, 48, 144, 144, 144]


def test_simple_history_divides_by_the_days_of_its_window():
    # Visited every second day for 60 days, changed on every sixth: 5 days with a change of the last 30.
    # P = 5/30, T = 24·6 = 144. Divided by the 15 visits it would be 24·15/5 = 72.
    policy = started(SimpleHistory())
    for day in range(2, 62, 2):
        interval = visit(policy, 24 * day, day % 6 == 0)
    assert interval == 144
    # With a window of 10 days: changes on days 54 and 60 of the days 51 … 60, P = 2/10, T = 120.
    policy = started(SimpleHistory(window=10))
    for day in range(2, 62, 2):
        interval = visit(policy, 24 * day, day % 6 == 0)
    assert interval == 120


def test_simple_history_counts_only_days_on_which_the_page_was_watched():
    policy = started(SimpleHistory())
    assert visit(policy, 24, True) == 24  # 1 of 1 day
    assert visit(policy, 48, False) == 48  # 1 of 2 days
    assert visit(policy, 24 * 60, False) == 144  # none of the last 30


def test_simple_history_uses_the_same_dates_of_last_year():
    # Daily visits in days 0–29, all changed; then one on day 394, the same dates a year later (365 days back: 0–29).
    # This year 0 of 30, last year 30 of 30: P = 30/60, T = 48.
    policy = started(SimpleHistory())
    for day in range(30):
        visit(policy, 24 * (day + 1), True)
    assert visit(policy, 24 * 395, False) == 48


def test_day_type_shares_a_change_out_over_the_days_since_the_last_visit():
    # Ten working days one by one, 3 with a change; six weekend days one by one, none; one interval of a Friday and a
    # weekend with a change. L = p³(1−p)⁷(1−q)⁶(1−(1−p)(1−q)²); at q = 0: p⁴(1−p)⁷, so p = 4/11, and
    # ∂log L/∂q = −6 + 2(1−p)/p = −6 + 3.5 < 0: q = 0 is the maximum.
    spans = np.zeros((1, 17, 3), np.int16)
    spans[0, :10, 0] = spans[0, 10:16, 1] = 1
    spans[0, 16] = (1, 2, 0)
    hits = np.zeros((1, 17), bool)
    hits[0, [0, 1, 2, 16]] = True
    found = day_chances(spans, hits, np.full((1, 3), 0.5), rounds=200)
    assert found[0, 0] == pytest.approx(4 / 11, abs=0.01)
    assert found[0, 1] < 0.01


def test_day_type_learns_the_habits_of_a_site_that_rests_at_weekends():
    # Changes on 30 % of working days, never at weekends; visited every third day (a third of the days).
    rng = np.random.default_rng(3)
    policy = started(DayType())
    hidden = False
    for day in range(3 * 128):
        hidden |= day % 7 < 5 and rng.random() < 0.3
        if day % 3 == 2:
            visit(policy, 24 * (day + 1), hidden)
            hidden = False
    # 128 intervals: the standard error of a share of .3 over 274 working days is .03, more as days are not seen singly
    assert policy.chances[0, 0] == pytest.approx(0.3, abs=0.09)
    assert policy.chances[0, 1] < 0.12


def test_joined_rules_visit_when_the_first_of_them_asks():
    # Unchanged on day 1: simple asks for 48 h, history (P = 0) for 144 h.
    both, least = started(policy_of("simple+history")()), started(policy_of("least-volume:simple+history")())
    assert visit(both, 24, False) == 48
    assert visit(least, 24, False) == 144
    # Nothing for 20 days more: after visits on days 3, 6, 10, 15, 21 simple asks for 168 h, history for 144 h.
    for day in (3, 6, 10, 15, 21):
        interval = visit(both, 24 * day, False)
    assert interval == 144
    # A notification reaches the rule that listens, and with it all of them.
    policy = started(policy_of("notify+day-type")())
    policy.rules[0].interval[0], policy.rules[0].next[0], policy.rules[1].next[0] = 384, 1000, 900
    policy.notify(ONE, 50.0)
    assert policy.next[0] == 50


def test_only_rules_with_intervals_can_be_joined():
    for name, reason in (("auto+simple", "budget"), ("simple+nothing", "nothing"), ("nothing", "nothing")):
        with pytest.raises(ValueError, match=reason):
            policy_of(name)


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

"""The simulator's definitions on histories small enough to count by hand."""

import gzip
import math

import numpy as np
import pytest

from hemeroteca.predict import traces
from hemeroteca.predict.policies import Auto, Fixed, GammaPoisson, IntervalPolicy, Simple, SimpleNotify
from hemeroteca.predict.policy_comparison import compare
from hemeroteca.predict.simulator import PAGE_BYTES, PUBLISHED, REVISIT_BYTES, Settings, simulate
from hemeroteca.predict.traces import PROCESSES, Trace, generate, join, read


def trace(*changes, days=10.0):
    n = len(changes)
    return Trace(("s",) * n, tuple(f"p{i}" for i in range(n)), tuple(np.array(c, float) for c in changes), days * 24)


def fixed(history, hours, **options):
    return simulate(history, Fixed(hours=hours), Settings(**{"warmup": 0, **options}))


def test_daily_visits_lose_nothing():
    result = fixed(trace([1, 30, 31, 100]), 24)
    # Two of the four changes fall on the same day and count once.
    assert (result.visits, result.changes, result.detected, result.lost, result.unnecessary) == (10, 3, 3, 0, 7)
    assert result.bytes_stored == 3 * PAGE_BYTES + 7 * REVISIT_BYTES


def test_a_visit_sees_all_changes_since_the_last_as_one():
    result = fixed(trace([1, 30, 100, 200]), 120)  # visits at 120 h and 240 h
    assert (result.visits, result.changes, result.detected, result.lost) == (2, 4, 2, 2)


def test_delay_freshness_and_harmonic_staleness_by_hand():
    result = fixed(trace([20, 70], days=5), 120)
    assert result.mean_delay_hours == pytest.approx((100 + 50) / 2)
    assert result.freshness == pytest.approx(20 / 120)
    assert result.harmonic_staleness == pytest.approx((50 * 1 + 50 * 1.5) / 120)


def test_changes_never_seen_are_lost_and_stale_until_the_end():
    result = fixed(trace([60], days=5), 48)  # the visit after the change would be at 96 h
    assert (result.detected, result.lost) == (1, 0)
    late = fixed(trace([100], days=5), 96)
    assert (late.detected, late.lost) == (0, 1)
    assert late.freshness == pytest.approx(100 / 120)


def test_warm_up_counts_neither_visits_nor_changes_nor_staleness():
    result = fixed(trace([10, 60, 130]), 24, warmup=4)
    assert (result.visits, result.changes, result.detected) == (6, 1, 1)
    # A change of the warm-up found after it is not one of those to be found.
    late = fixed(trace([10]), 24 * 8, warmup=4)
    assert (late.visits, late.changes, late.detected, late.lost, late.unnecessary) == (1, 0, 0, 0, 0)


def test_resolution_sets_what_counts_once():
    history = trace([1, 5, 30], days=2)
    assert fixed(history, 4, resolution=4).changes == 3
    assert fixed(history, 24, resolution=24).changes == 2
    assert fixed(history, 4, resolution=4).visits == 12


def test_a_policy_that_visits_a_page_twice_in_a_step_is_refused():
    class Twice(Fixed):
        def choose(self, now, allowance):
            return np.array([0, 0])

    with pytest.raises(ValueError, match="at most once per step"):
        simulate(trace([1]), Twice(), Settings(warmup=0))


def test_simple_by_hand():
    # Visits on days 1, 3, 6, 10 while nothing changes; a change on day 6 brings the next visit to day 7.
    assert simulate(trace([], days=10), Simple(), Settings(warmup=0)).visits == 4
    result = simulate(trace([24 * 5 + 1], days=10), Simple(), Settings(warmup=0))
    assert (result.visits, result.detected) == (1 + 1 + 1 + 1 + 1, 1)


def test_budget_is_kept_every_day_and_fractions_are_carried_over():
    history = generate("poisson", pages=20, days=40, seed=1)
    seen = []

    class Watch(GammaPoisson):
        def observe(self, pages, now, changed):
            seen.append((now, pages.size))
            super().observe(pages, now, changed)

    result = simulate(history, Watch(), Settings(warmup=0), visits_per_step=2.5)
    per_day = {day: sum(n for d, n in seen if d == day) for day, _ in seen}
    assert set(per_day.values()) <= {2, 3}
    assert result.visits == 100


def test_comparison_gives_every_policy_the_same_visits():
    history = generate("bursty", pages=60, days=150, seed=3)
    names = ["simple", "fixed", "simple-history", "nutch", "lambda-crawl", "auto"]
    result = compare(history, names, Settings(budget="6", warmup=30))
    for outcome in result.outcomes:
        assert outcome.visits == pytest.approx(6 * 120, rel=0.06), outcome.policy
        assert outcome.lost == outcome.changes - outcome.detected
        assert outcome.visits >= outcome.detected + outcome.unnecessary


def test_same_as_simple_is_the_rule_itself_and_a_third_is_a_third():
    history = generate("poisson", pages=40, days=120, seed=3)
    own = compare(history, ["simple", "gamma"], Settings(budget="same-as:simple", warmup=20))
    assert own.stretch["simple"] == 1
    assert own.outcomes[1].visits == pytest.approx(own.outcomes[0].visits, abs=2)
    third = compare(history, ["simple"], Settings(budget="same-as:simple/3", warmup=20))
    assert third.outcomes[0].visits == pytest.approx(own.outcomes[0].visits / 3, rel=0.05)
    assert third.stretch["simple"] > 1


def test_same_seed_same_result():
    for name in ("auto", "simple"):
        first, second = (
            compare(generate("bursty", pages=30, days=90, seed=5), [name], Settings(budget="4", warmup=10, seed=5))
            for _ in range(2)
        )
        assert first.outcomes == second.outcomes


@pytest.mark.parametrize("budget", ["0", "-3", "many", "same-as:nobody", "same-as:auto", "same-as:simple/0"])
def test_a_budget_that_makes_no_sense_is_explained(budget):
    with pytest.raises(ValueError, match="budget"):
        compare(generate("poisson", pages=5, days=90), ["simple"], Settings(budget=budget))


def test_an_unknown_policy_and_a_warm_up_longer_than_the_trace_are_explained():
    history = generate("poisson", pages=5, days=30)
    with pytest.raises(ValueError, match="no policy is called 'magic'"):
        compare(history, ["magic"])
    with pytest.raises(ValueError, match="warm-up"):
        compare(history, ["simple"])


def test_the_published_table_is_the_published_table():
    table = [(o.visits, o.lost, o.bytes_stored / 1e6) for o in PUBLISHED]
    assert table == [(157, 49, 779), (240, 1, 2098), (16, 127, 125.1), (8, 130, 67.5)]
    assert all(o.changes == 137 and o.visits == o.detected + o.unnecessary for o in PUBLISHED)


def test_traces_are_read_plain_and_compressed(tmp_path):
    text = "site,page,seconds\na,x,7200\na,x,3600\nb,y,90000\n"
    (tmp_path / "t.csv").write_text(text)
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write(text)
    for name in ("t.csv", "t.csv.gz"):
        found = traces.read(tmp_path / name)
        assert (found.sites, found.pages, found.hours) == (("a", "b"), ("x", "y"), 48)
        assert [c.tolist() for c in found.changes] == [[1, 2], [25]]
    assert len(found.with_at_least(2, step=1)) == 1
    assert len(found.with_at_least(2)) == 0  # both changes of x fall on one day
    assert found.until(24).changes[1].size == 0


@pytest.mark.parametrize("bad", ["a,b", "a,b,soon", "a,b,-1", "a,b,nan", "a,b,inf"])
def test_a_bad_line_is_named(tmp_path, bad):
    path = tmp_path / "t.csv"
    path.write_text(f"site,page,seconds\na,x,1\n{bad}\n")
    with pytest.raises(ValueError, match="line 3"):
        traces.read(path)


def test_a_damaged_or_missing_file_is_named(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"site,page,seconds\n" * 100)[:-20])
    for name in ("t.csv.gz", "none.csv"):
        with pytest.raises(ValueError, match=name):
            traces.read(tmp_path / name)


@pytest.mark.parametrize("name", PROCESSES)
def test_processes_are_reproducible_sorted_and_inside_their_time(name):
    one, two = (generate(name, pages=20, days=100, seed=4) for _ in range(2))
    for a, b in zip(one.changes, two.changes, strict=True):
        assert a.tolist() == b.tolist() == sorted(a.tolist())
        assert a.size == 0 or (a[0] >= 0 and a[-1] < 2400)
    assert (name == "silent") == (sum(c.size for c in one.changes) == 0)


def test_processes_have_the_habits_they_are_named_after():
    weekly = np.concatenate(generate("seasonal", pages=100, days=700, seed=1).changes)
    assert np.mean(weekly % 168 < 120) > 0.9
    bursty = [np.diff(c) for c in generate("bursty", pages=100, days=700, seed=1).changes if c.size > 10]
    assert np.mean([d.std() / d.mean() for d in bursty]) > 1.4
    poisson = [np.diff(c) for c in generate("poisson", pages=200, days=700, seed=1).changes if c.size > 30]
    assert np.mean([d.std() / d.mean() for d in poisson]) == pytest.approx(1, abs=0.1)


def test_universities_change_on_working_days_of_term_only():
    # 2024-01-01 is a Monday. Of the first 241 days (until 28 August), days 7 to 211 are in term: 205 days, which begin
    # on a Monday, 29 weeks and 2 days: 147 working days. At p = .8 that is 117.6 changes, deviation 4.8.
    pages = generate("academic:p=.8", pages=100, days=241, seed=2).changes
    days = [np.floor(c / 24).astype(int) for c in pages]
    assert all(((d >= 7) & (d < 212) & (d % 7 < 5)).all() for d in days)
    assert np.mean([d.size for d in days]) == pytest.approx(117.6, abs=3 * 4.8 / 10)


def test_signals_reach_the_policies_that_listen():
    history = trace([24 * 137 + 1], days=180)  # by then the rule waits more than 15 days
    deaf = simulate(history, Simple(), Settings(warmup=0))
    told = simulate(history, SimpleNotify(), Settings(warmup=0, signals=(1.0, 0.0)))
    assert told.detected == deaf.detected == 1
    assert told.mean_delay_hours < deaf.mean_delay_hours


def test_one_small_class_is_a_new_policy():
    class Doubling(IntervalPolicy):
        def revise(self, pages, interval, gap, changed, now):
            return np.where(changed, 24.0, np.minimum(interval * 2, 960))

    history = generate("poisson", pages=30, days=120, seed=2)
    result = compare(history, ["doubling"], Settings(budget="5", warmup=20), more={"doubling": Doubling})
    assert result.outcomes[0].visits == pytest.approx(500, rel=0.1)
    assert math.isfinite(result.outcomes[0].freshness)


@pytest.mark.parametrize("save", [0.0, 10.0])
def test_a_budget_is_kept_day_by_day_or_with_savings_up_to_every_day(save):
    rng = np.random.default_rng(3)
    busy = np.sort(rng.uniform(100, 120, 15)) * 24  # one lively fortnight in half a year
    history = Trace(("s",) * 30, tuple(f"a/{i}" for i in range(30)), (busy,) * 30, 180 * 24.0)
    made: list[tuple[float, int]] = []

    class Counting(Auto):
        def observe(self, pages, now, changed):
            made.append((now / 24, pages.size))
            super().observe(pages, now, changed)

    outcome = simulate(history, Counting(), Settings(warmup=60, save=save), visits_per_step=3.0)
    by_day = [sum(n for at, n in made if at == day) for day in range(61, 181)]
    assert outcome.visits == sum(by_day) == 3 * 120  # equal visits, nothing left over
    assert all(total <= 3 * (i + 1) for i, total in enumerate(np.cumsum(by_day)))
    assert outcome.busiest == max(by_day)
    assert max(by_day) > 10 if save else max(by_day) == 3


def _published_site(days: int = 241) -> Trace:
    """137 changes in 241 days, spread evenly: day d changes when ⌊137(d + 1)/241⌋ grows."""
    changed = [d for d in range(days) if 137 * (d + 1) // 241 > 137 * d // 241]
    return Trace(("s",), ("p",), (np.array(changed) * 24.0 + 12,), days * 24.0)


def test_changes_are_lost_by_the_days_without_a_visit_as_in_the_table_of_2015():
    # Every 15 days: visits on days 14, 29 … 239, 16 of them as published; 137·16/241 = 9.1 of the changes fall on these
    # days, so 128 are lost (published: 127). Every 30 days: 8 visits; 137·30/241 = 17.05, so the phase hardly moves
    # from one to the next, and all 8 fall on days with a change: 129 lost (published: 130).
    found = compare(
        _published_site(), ["fixed:24", "fixed:360", "fixed:720"], Settings(budget="own", warmup=0)
    ).outcomes
    assert [o.visits for o in found] == [241, 16, 8]
    assert [o.changes for o in found] == [137] * 3
    assert found[0].lost_by_day == 0
    assert found[1].lost_by_day == pytest.approx(128, abs=1)
    assert found[2].lost_by_day == 129
    assert [o.surplus for o in found] == [241 - 137, 16 - 137, 8 - 137]
    assert all(o.page_days == 241 for o in found)


def test_the_rule_of_2015_beside_the_published_row_where_the_process_is_known():
    # Each day changes with p = 137/241 = .568, q = .432. After k days in vain the rule waits k + 1: the chance to be
    # asked to wait k days is 1, q, q·q², q³·q³ … = 1, .432, .081, .007 of 1.519 in all; the mean wait is
    # (1 + .863 + .242 + .026)/1.519 = 1.403 days: 241/1.403 = 172 visits (published: 157), 69 days without one,
    # 69·.568 = 39 changes lost (published: 49; a real site's quiet days come together).
    runs = [
        compare(
            generate("bernoulli:p=.568", pages=50, days=241, seed=seed), ["simple"], Settings(budget="own", warmup=0)
        ).outcomes[0]
        for seed in range(2)
    ]
    assert sum(o.visits for o in runs) / 100 == pytest.approx(172, abs=3)
    assert sum(o.lost_by_day for o in runs) / 100 == pytest.approx(39, abs=3)


def test_the_published_rows_lose_what_days_without_a_visit_lose():
    # A change is lost when its day has no visit, whatever the rule: of 241 − visits such days 137/241 = .568 change.
    # simple (241 − 157)·.568 = 47.8 (published 49), daily 1·.568 = .6 (1), every 15 days 225·.568 = 127.9 (127), every
    # 30 days 233·.568 = 132.5 (130). So the definition is theirs; only how often `simple` was sent depends on the site.
    for row in PUBLISHED:
        assert (241 - row.visits) * 137 / 241 == pytest.approx(row.lost_by_day, abs=2.5), row.policy


def test_rules_at_their_own_pace_are_not_stretched_and_unequal_visits_are_told():
    trace = generate("bernoulli:p=.9", pages=20, days=100)
    own = compare(trace, ["simple", "fixed:240"], Settings(budget="own", warmup=0))
    assert own.stretch == {"simple": 1.0, "fixed:240": 1.0}
    assert own.warnings == []
    # 10 visits of each page against nearly 100
    unequal = compare(trace, ["simple", "fixed:240"], Settings(warmup=0))
    assert "fixed:240 -" in unequal.warnings[0]


def test_groups_are_told_apart_in_the_outcome():
    trace = join([generate(f"bernoulli:p={p}", pages=10, days=200, seed=1) for p in (0.9, 0.5, 0.1)])
    (found,) = compare(trace, ["fixed:24"], Settings(budget="own", warmup=0)).outcomes
    assert [(g.group, g.pages) for g in found.groups] == [("high", 10), ("medium", 10), ("low", 10)]
    assert sum(g.changes for g in found.groups) == found.changes
    assert all(g.lost == g.lost_by_day == 0 for g in found.groups)


def test_bytes_with_and_without_deduplication(tmp_path):
    # Daily visits for 4 days; a change to 1,000 bytes on day 1, to 3,000 on day 3; before that the copy has 1,000.
    # Deduplicated 1,000 + 3,000 + 2 small records; whole copies 1,000 + 1,000 + 1,000 + 3,000.
    file = tmp_path / "trace.csv"
    file.write_text(f"s,p,{1.5 * 86400},1000,0.2\ns,p,{3.5 * 86400},3000,0.01\n")
    trace = read(file)
    (found,) = compare(trace, ["fixed:24"], Settings(budget="own", warmup=0)).outcomes
    assert found.bytes_stored == 4000 + 2 * REVISIT_BYTES
    assert found.bytes_copied == 6000
    assert [c.tolist() for c in trace.important(0.05).changes] == [[36.0]]


def test_a_process_takes_its_rate_from_its_name():
    # p = .9 over 1,000 days: 900 changes, standard error √(1000·.9·.1) = 9.5; 3 a day over 1,000 days: 3,000 ± 55
    assert generate("bernoulli:p=.9", pages=1, days=1000).changes[0].size == pytest.approx(900, abs=30)
    assert generate("poisson:rate=3", pages=1, days=1000).changes[0].size == pytest.approx(3000, abs=165)
    for wrong in ("bernoulli:p=2", "silent:p=.5", "poisson:x=1", "bernoulli:rate=2"):
        with pytest.raises(ValueError, match="write"):
            generate(wrong)


def test_a_strip_of_days_tells_visits_and_changes_of_the_page_in_the_middle():
    # Visits on days 1 and 3 (48 h, 96 h …); the page with two changes stands between those with one and three.
    result = fixed(trace([1], [30, 60], [1, 30, 60], days=5), 48)
    assert result.strip == ".sxv."

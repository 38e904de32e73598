"""Groups, behaviours and bursts."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.predict import daily_chance, site_chance
from hemeroteca.predict.groups import Behaviour, Group, behaviour, bursts, group


@pytest.mark.parametrize(
    ("chance", "expected"),
    [(0.71, "high"), (0.7, "medium"), (0.4, "medium"), (0.39, "low"), (0, "low"), (137 / 241, "medium")],
)
def test_groups_as_defined_in_2015(chance, expected):
    assert group(chance) == Group(expected)


def test_a_chance_above_one_is_refused():
    with pytest.raises(ValueError):
        group(1.5)


def test_the_chance_of_a_day_does_not_depend_on_how_often_one_looks():
    # λ = 1/24 an hour: P = 1 − e⁻¹ = .632
    assert daily_chance(1 / 24) == pytest.approx(0.632, abs=0.001)


def test_the_chance_of_a_site_is_that_of_its_days():
    # Daily visits of two pages over 4 days: changes on day 1 (both) and on day 3 (one): 2 of 4 days.
    # Each page's own P is 1/4 or 1/2; after one day a change is certain whatever P is.
    daily = [(d - 1, d, d in (1, 3), 0.5) for d in range(4)] + [(d - 1, d, d == 1, 0.25) for d in range(4)]
    assert site_chance(daily) == pytest.approx(0.5)
    # One page seen after 2 days with a change, P = .5: each of them had one with .5/(1 − .5²) = 2/3.
    assert site_chance([(0, 2, True, 0.5)]) == pytest.approx(2 / 3)
    # Two such pages: 1 − (1/3)² = 8/9 of the days.
    assert site_chance([(0, 2, True, 0.5)] * 2) == pytest.approx(8 / 9)


def test_behaviours():
    rng = np.random.default_rng(0)
    year = 365 * 24.0
    weekly = np.arange(0, year, 168) + rng.normal(0, 4, 53)
    crowds = np.concatenate([s + rng.uniform(0, 48, 12) for s in rng.uniform(0, year - 48, 5)])
    assert behaviour(weekly.tolist(), 0, year) == Behaviour.PERIODIC
    assert behaviour(crowds.tolist(), 0, year) == Behaviour.BURSTY
    assert behaviour([], 0, year) == behaviour([5.0], 0, year) == Behaviour.SILENT
    assert behaviour([1, 20, 50, 70, 100], 0, year) == Behaviour.SILENT  # long ago


def test_a_page_is_not_called_silent_before_it_was_silent_for_a_month():
    month = 30 * 24.0
    assert behaviour([], 0, 48) is None
    assert behaviour([], 0, month) == Behaviour.SILENT
    assert behaviour([700.0], 0, month) is None
    assert behaviour([700.0], 0, 700 + month) == Behaviour.SILENT


def test_most_memoryless_pages_are_called_steady():
    rng = np.random.default_rng(1)
    found = [behaviour(np.sort(rng.uniform(0, 8760, 60)).tolist(), 0, 8760) for _ in range(100)]
    assert found.count(Behaviour.STEADY) > 80


def test_bursts_are_found_where_they_are():
    quiet = list(range(0, 2000, 100))
    crowd = [1010 + 2 * i for i in range(12)]
    found = bursts([*quiet, *crowd])
    assert len(found) == 1
    assert 1000 <= found[0].start <= 1012
    assert 1030 <= found[0].end <= 1100
    assert found[0].changes >= 12
    assert found[0].rate > 5 / 100


def test_an_even_row_has_no_burst():
    assert bursts(list(range(0, 1000, 10))) == []
    assert bursts([1, 2]) == bursts([5, 5, 5]) == []


@given(st.lists(st.floats(0, 1e5), max_size=60), st.floats(0.1, 10))
def test_bursts_scale_with_time_and_lie_inside(times, factor):
    found = bursts(times)
    for burst in found:
        assert min(times) <= burst.start <= burst.end <= max(times)
        assert burst.changes <= len(times)
    assert all(a.end <= b.start for a, b in pairwise(found))


def test_factor_must_mean_faster():
    with pytest.raises(ValueError, match="greater than 1"):
        bursts([1, 2, 3], factor=1)

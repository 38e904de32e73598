"""Groups, behaviours and bursts."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.predict.groups import Behaviour, Group, behaviour, bursts, group


@pytest.mark.parametrize(
    ("changed", "observed", "expected"),
    [
        (71, 100, "high"),
        (70, 100, "medium"),
        (40, 100, "medium"),
        (39, 100, "low"),
        (0, 0, "low"),
        (137, 241, "medium"),
    ],
)
def test_groups_as_defined_in_2015(changed, observed, expected):
    assert group(changed, observed) == Group(expected)


def test_a_share_above_one_is_refused():
    with pytest.raises(ValueError):
        group(3, 2)


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

"""The published optima for rates 1…5 per day and 5 visits per day (algorithms.md 3)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca.predict import frequencies

RATES = [1, 2, 3, 4, 5]
ORACLES = {
    "freshness": [1.15, 1.36, 1.35, 1.14, 0],
    "age": [0.83, 0.97, 1.03, 1.07, 1.09],
    "randomised": [1.39, 1.37, 1.13, 0.77, 0.34],
    "lambda_crawl": [0.78, 0.95, 1.04, 1.10, 1.14],
    "fewest_lost": [1 / 3, 2 / 3, 1, 4 / 3, 5 / 3],
}


@pytest.mark.parametrize(("name", "expected"), ORACLES.items())
def test_published_optimum(name, expected):
    assert getattr(frequencies, name)(RATES, 5) == pytest.approx(expected, abs=0.0055)


@pytest.mark.parametrize("name", ORACLES)
@settings(deadline=None, max_examples=25)
@given(
    rates=st.lists(st.floats(0.01, 20), min_size=1, max_size=20),
    budget=st.floats(0.2, 50),
    factor=st.floats(0.1, 10),
)
def test_budget_is_spent_and_time_scales(name, rates, budget, factor):
    share = getattr(frequencies, name)
    f = share(rates, budget)
    assert f.sum() == pytest.approx(budget, rel=1e-6)
    assert np.all(f >= 0)
    faster = share(np.array(rates) * factor, budget * factor)
    assert faster == pytest.approx(f * factor, rel=1e-2, abs=1e-2 * budget * factor)


@pytest.mark.parametrize("name", ORACLES)
def test_a_heavier_page_gets_more(name):
    share = getattr(frequencies, name)
    assert share([1, 1], 2, [4, 1])[0] > share([1, 1], 2)[0]


@pytest.mark.parametrize("name", ORACLES)
def test_pages_that_never_change_get_nothing_unless_all_are_such(name):
    share = getattr(frequencies, name)
    assert share([0, 1], 2)[0] == pytest.approx(0, abs=1e-9)
    assert share([0, 0], 2) == pytest.approx([1, 1])


def test_refuses_what_makes_no_sense():
    with pytest.raises(ValueError, match="weights"):
        frequencies.lambda_crawl([1, 2], 1, [1])
    with pytest.raises(ValueError, match="budget"):
        frequencies.age([1], 0)

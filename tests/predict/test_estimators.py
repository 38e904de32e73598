"""Estimators against closed forms, simulation and the laws they must obey."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.predict.estimators import (
    Gamma,
    bias_reduced,
    fit_gamma,
    maximum_likelihood,
    naive,
    precision,
    unchanged_given_signals,
)
from hemeroteca.predict.policies import gamma_update

gaps = st.floats(0.01, 1000)
visits = st.lists(st.tuples(gaps, st.booleans()), min_size=1, max_size=30)
beliefs = st.builds(Gamma, st.floats(0.1, 50), st.floats(0.1, 500))


def test_naive_is_changes_per_time():
    assert naive(6, 12) == 0.5


def test_bias_reduced_matches_its_formula_and_stays_finite_when_every_visit_found_a_change():
    assert bias_reduced(3, 10, 2.0) == pytest.approx(-math.log(7.5 / 10.5) / 2)
    assert bias_reduced(10, 10, 1.0) == pytest.approx(math.log(21))
    assert bias_reduced(0, 10, 1.0) == 0


def test_maximum_likelihood_of_equal_gaps_is_the_closed_form():
    seen = [(2.0, True)] * 3 + [(2.0, False)] * 7
    assert maximum_likelihood(seen) == pytest.approx(-math.log(7 / 10) / 2)


@given(visits)
def test_maximum_likelihood_solves_its_equation(seen):
    rate = maximum_likelihood(seen)
    if not any(c for _, c in seen):
        assert rate == 0
    elif all(c for _, c in seen):
        assert rate == math.inf
    else:
        left = sum(t / math.expm1(rate * t) for t, c in seen if c and rate * t < 700)
        assert left == pytest.approx(sum(t for t, c in seen if not c), rel=1e-6)


@given(visits, st.randoms())
def test_maximum_likelihood_does_not_depend_on_the_order_of_visits(seen, random):
    shuffled = list(seen)
    random.shuffle(shuffled)
    assert maximum_likelihood(shuffled) == pytest.approx(maximum_likelihood(seen), rel=1e-9)


@given(visits, st.floats(0.1, 10))
def test_maximum_likelihood_scales_with_time(seen, factor):
    slower = maximum_likelihood([(t * factor, c) for t, c in seen])
    assert slower * factor == pytest.approx(maximum_likelihood(seen), rel=1e-6)


@given(visits, gaps)
def test_more_silence_never_raises_the_estimate(seen, quiet):
    assert maximum_likelihood([*seen, (quiet, False)]) <= maximum_likelihood(seen) * (1 + 1e-9)


def test_gamma_unchanged_adds_exposure():
    assert Gamma(2, 10).update(3, False) == Gamma(2, 13)


def test_gamma_update_matches_the_moments_of_the_exact_posterior():
    a, b, gap = 1.5, 8.0, 5.0
    rate = np.linspace(1e-6, 6, 400_000)
    posterior = rate ** (a - 1) * np.exp(-b * rate) * (1 - np.exp(-gap * rate))
    posterior /= posterior.sum()
    mean = (rate * posterior).sum()
    variance = ((rate - mean) ** 2 * posterior).sum()
    belief = Gamma(a, b).update(gap, True)
    assert belief.mean == pytest.approx(mean, rel=1e-4)
    assert belief.variance == pytest.approx(variance, rel=1e-4)


def test_gamma_predicts_as_the_integral_over_its_rates():
    rng = np.random.default_rng(1)
    rates = rng.gamma(1.5, 1 / 8, 400_000)
    assert Gamma(1.5, 8).chance(5) == pytest.approx((1 - np.exp(-5 * rates)).mean(), abs=2e-3)


@given(beliefs, gaps)
def test_a_change_raises_belief_and_silence_lowers_it(belief, gap):
    assert belief.update(gap, True).mean >= belief.mean * (1 - 1e-6)
    assert belief.update(gap, False).mean < belief.mean


@given(beliefs, gaps, st.floats(0.1, 10))
def test_gamma_scales_with_time(belief, gap, factor):
    scaled = Gamma(belief.shape, belief.exposure * factor).update(gap * factor, True)
    assert scaled.mean * factor == pytest.approx(belief.update(gap, True).mean, rel=1e-4)


@given(beliefs, gaps, gaps)
def test_unchanged_visits_commute(belief, first, second):
    one = belief.update(first, False).update(second, False)
    other = belief.update(second, False).update(first, False)
    assert one.exposure == pytest.approx(other.exposure)


@given(beliefs, gaps, gaps)
def test_a_longer_gap_is_never_less_likely_to_show_a_change(belief, first, more):
    assert belief.chance(first + more) >= belief.chance(first)


@given(st.lists(st.tuples(st.floats(0.1, 20), st.floats(0.1, 200), st.floats(0.1, 100), st.booleans()), min_size=1))
def test_the_vectorised_gamma_is_the_scalar_one(rows):
    a, b, gap, changed = (np.array(c) for c in zip(*rows, strict=True))
    shape, exposure = gamma_update(a, b, gap, changed)
    for i, row in enumerate(rows):
        expected = Gamma(row[0], row[1]).update(row[2], row[3])
        assert shape[i] == pytest.approx(expected.shape, rel=1e-3)
        assert exposure[i] == pytest.approx(expected.exposure, rel=1e-3)


def test_prior_of_many_pages_recovers_the_distribution_they_came_from():
    rng = np.random.default_rng(2)
    pages = []
    for rate in rng.gamma(0.8, 0.1 / 0.8, 2000):
        pages.append([(2.0, bool(rng.random() < -math.expm1(-rate * 2))) for _ in range(60)])
    prior = fit_gamma(pages)
    assert prior.mean == pytest.approx(0.1, rel=0.15)
    assert prior.shape == pytest.approx(0.8, rel=0.35)


def test_prior_of_equal_pages_is_firm_and_of_silent_pages_is_low():
    rng = np.random.default_rng(3)
    equal = [[(1.0, bool(rng.random() < 0.2)) for _ in range(50)] for _ in range(300)]
    assert fit_gamma(equal).shape > 20
    assert fit_gamma([[(1.0, False)] * 100] * 10).mean < 0.001
    assert fit_gamma([]).mean > 0


def test_signals_follow_the_formula():
    assert precision(0.5, recall=0.8, false_alarms=0.1) == pytest.approx(0.4 / 0.5)
    p = unchanged_given_signals(0.5, 3, 2, recall=0.8, false_alarms=0.1)
    assert p == pytest.approx(math.exp(-0.2 * 0.5 * 3) * 0.2**2)


@pytest.mark.parametrize("call", [lambda: naive(1, 0), lambda: bias_reduced(3, 2, 1), lambda: Gamma(0, 1)])
def test_nonsense_is_refused(call):
    with pytest.raises(ValueError):
        call()

"""Forecasts are checked against what came, and charts are drawn."""

from xml.etree import ElementTree

import numpy as np
import pytest

from hemeroteca.predict import Observed, Planner, calibrate, plot
from hemeroteca.predict.calibration import report
from hemeroteca.predict.simulator import PUBLISHED


def history(pages=60, days=160, seed=0):
    rng = np.random.default_rng(seed)
    rates = np.exp(rng.uniform(np.log(0.01), np.log(0.5), pages))
    for page in range(pages):
        last = 0.0
        for day in np.flatnonzero(rng.random(days) < 0.3):
            now = (day + 1) * 24.0
            if now > last:
                yield Observed(page, now, bool(rng.random() < -np.expm1(-rates[page] * (now - last) / 24)))
                last = now


def test_replaying_a_history_gives_calibrated_and_skilful_forecasts():
    planner = Planner()
    planner.add(range(60), ["s"] * 60, [f"p{i}" for i in range(60)], 0.0)
    found = calibrate(planner, history())
    assert found.visits > 2000
    assert found.log_loss < 0.93 * found.constant_log_loss
    assert found.error < 0.06
    assert found.prior.mean == pytest.approx(0.13, rel=0.5)
    assert sum(b.visits for b in found.bins) == found.visits


def test_the_table_counts_what_was_said_and_what_came():
    found = report([0.05, 0.05, 0.95, 0.95], [False, False, True, False])
    low, high = found.bins
    assert (low.visits, low.predicted, low.observed) == (2, pytest.approx(0.05), 0)
    assert (high.visits, high.observed) == (2, 0.5)
    assert 0 < low.doubt < 1
    assert found.error == pytest.approx((2 * 0.05 + 2 * 0.45) / 4)
    assert report([], []).visits == 0
    with pytest.raises(ValueError, match="predictions"):
        report([0.5], [])


def test_charts_are_well_formed_and_escape_names():
    found = report([0.1, 0.6, 0.9], [False, True, True])
    for text in (plot.reliability(found.bins, "a <b> & c"), plot.outcomes(PUBLISHED, "x < y"), plot.outcomes([], "")):
        assert ElementTree.fromstring(text).tag.endswith("svg")


def test_both_axes_of_the_reliability_plot_say_what_they_are():
    text = plot.reliability(report([0.1, 0.9], [False, True]).bins, "any")
    said = [node.text for node in ElementTree.fromstring(text).iter() if node.tag.endswith("text")]
    assert {"predicted chance of a change", "share that had changed"} <= set(said)

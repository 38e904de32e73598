"""`auto` against the other policies: real histories (skipped where absent) and independent generated pages."""

from pathlib import Path

import pytest

from hemeroteca.predict import traces
from hemeroteca.predict.policy_comparison import compare
from hemeroteca.predict.simulator import Settings

TRACES = Path(__file__).parents[3] / "shared" / "data" / "traces"


# A young site alone, few plans a day: the figures of all traces together are measured by bench/predict.py.
@pytest.mark.parametrize(("budget", "goal"), [("same-as:simple", 0.7), ("same-as:simple/3", 0.8)])
def test_auto_loses_far_fewer_changes_than_the_2015_rule_on_a_real_site(budget, goal):
    path = TRACES / "tantivy.csv.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    history = traces.read(path).until(330 * 24.0).with_at_least(2)
    result = compare(history, ["simple", "auto"], Settings(budget=budget, batches=6))
    simple, auto = result.outcomes
    assert auto.visits <= 1.01 * simple.visits
    assert auto.lost <= goal * simple.lost


@pytest.mark.parametrize("process", ["poisson", "bernoulli", "bursty", "silent"])
def test_auto_is_never_worse_than_the_others_where_pages_are_independent(process):
    history = traces.generate(process, pages=120, days=330, seed=1)
    names = ["auto", "simple", "lambda-crawl", "fixed"]
    auto, *others = compare(history, names, Settings(batches=2, seed=1)).outcomes
    assert auto.visits <= 1.01 * others[0].visits
    assert auto.lost <= min(o.lost for o in others)


@pytest.mark.parametrize("process", ["sections", "releases"])
def test_auto_gains_where_pages_move_together_with_or_without_their_paths_saying_so(process):
    history = traces.generate(process, pages=120, days=330, seed=1)
    auto, simple = compare(history, ["auto", "simple"], Settings(batches=6, budget="10")).outcomes
    assert auto.lost < 0.75 * simple.lost

"""The ranking's own parts: what is unknown is neutral, spreading keeps everything."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.search import ranking
from hemeroteca.search.ranking import DEFAULT, Facts, Preferences, prior, spread


def facts(**values: float) -> Facts:
    return Facts(**{name: np.array([value]) for name, value in values.items()})


def test_nothing_known_about_a_document_changes_nothing():
    assert prior(facts(captured_ms=0, depth=255, length=0), DEFAULT, 1_700_000_000_000) == {}


def test_what_is_known_tips_the_balance_within_bounds():
    now = 1_700_000_000_000
    good = facts(captured_ms=now, depth=0, length=5000, link_rank=1.0, host_rank=1.0)
    bad = facts(captured_ms=0, depth=12, length=10)
    assert math.prod(factor[0] for factor in prior(good, DEFAULT, now).values()) > 1.4
    assert 0.7 < math.prod(factor[0] for factor in prior(bad, DEFAULT, now).values()) < 1.0
    assert Preferences().blocks == ()


def test_among_sentences_little_words_count_in_full_and_their_order_less():
    def of(length: float) -> ranking.Weights:
        return ranking.for_texts(DEFAULT, length)

    assert of(1e6) == of(DEFAULT.sentence / DEFAULT.little) == DEFAULT
    assert of(DEFAULT.sentence).little == of(0).little == 1
    assert DEFAULT.little < of(1.5 * DEFAULT.sentence).little < 1
    assert of(DEFAULT.sentence / 2).phrase == DEFAULT.phrase / 2
    assert of(0).near == 0


@given(st.lists(st.integers(0, 5), max_size=60), st.integers(1, 5), st.integers(1, 12), st.integers(1, 8))
def test_spreading_only_reorders(hosts, per_host, page, pages):
    order = spread(hosts, [1.0] * len(hosts), per_host, 0.8, page, pages)
    assert sorted(order) == list(range(len(hosts)))
    first = [hosts[i] for i in order[:page]]
    if len(set(hosts)) * per_host >= page and len(hosts) >= page:
        possible = sum(min(per_host, hosts.count(host)) for host in set(hosts))
        if possible >= page:
            assert all(first.count(host) <= per_host for host in first)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0.1, 9)), max_size=40), st.integers(1, 3), st.integers(1, 12))
def test_a_result_is_delayed_only_for_one_that_fits_about_as_well(results, per_host, page):
    results.sort(key=lambda result: -result[1])
    hosts, scores = [host for host, _ in results], [score for _, score in results]
    order = spread(hosts, scores, per_host, 0.8, page, 1)
    shown, later = order[:page], order[page:]
    for i in later:
        assert all(scores[j] >= 0.8 * scores[i] or hosts[j] == hosts[i] for j in shown if j > i)
    assert spread(hosts, scores, per_host, 1.0, page, 1)[:page] == list(range(min(page, len(hosts)))) or len(
        set(scores)
    ) < len(scores)


def test_on_an_instance_of_a_few_sites_hardly_anything_is_spread():
    assert ranking.comparable(DEFAULT, 1) == 1
    assert ranking.comparable(DEFAULT, 3) > 0.98
    assert ranking.comparable(DEFAULT, 1000) == DEFAULT.comparable

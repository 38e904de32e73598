from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.frontier import seen_urls
from hemeroteca.frontier.seen_urls import SeenSet

KEYS = st.integers(-(2**63), 2**63 - 1)


@given(known=st.lists(KEYS, unique=True), batches=st.lists(st.lists(KEYS, max_size=8), max_size=20))
def test_each_key_is_new_exactly_once(known, batches):
    keys, reference = SeenSet(known), set(known)
    for batch in batches:
        expected = []
        for key in batch:
            expected.append(key not in reference)
            reference.add(key)
        assert keys.add_new(batch) == expected
    assert len(keys) == len(reference)
    assert all(key in keys for key in reference)


def test_merging_loses_nothing(monkeypatch):
    monkeypatch.setattr(seen_urls, "MERGE_AT", 10)
    keys = SeenSet()
    numbers = [(n * 7919) % 1009 - 500 for n in range(1000)]
    new = [keys.add_new([number])[0] for number in numbers]
    assert sum(new) == len(set(numbers)) == len(keys)
    assert not any(keys.add_new(numbers))


def test_a_million_keys_take_eight_bytes_each():
    import numpy as np

    keys = SeenSet(np.arange(1_000_000, dtype=np.int64))
    assert keys._sorted.nbytes == 8_000_000

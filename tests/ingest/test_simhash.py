"""The fingerprint is the same with and without the compiled library."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca.extract import native
from hemeroteca.ingest.search_document import LOOKED_AT, _simhash, simhash, without_digits

WORDS = st.lists(
    st.sampled_from(["the", "Word", "é", "\n", "漢字", "\x01", "x", "a" * 20, "", "Ñandú"]) | st.text(max_size=9)
)


@pytest.mark.skipif(native.load() is None, reason="the library is not built here")
@settings(derandomize=True, max_examples=200, deadline=None)
@given(WORDS, st.integers(1, 80))
def test_both_ways_agree(words: list[str], times: int) -> None:
    text = " ".join(f"{word}{number}" if number % 3 else word for number in range(times) for word in words)
    assert simhash(text) == _simhash(text[:100_000].encode("utf-8", "replace"))


@pytest.mark.parametrize(
    "text", ["", "12 34", "one 2 three " * 20, "wörd 7 漢字 x9 " * 9000, "a1é" * 70_000, "\ud800 5 " * 30]
)
def test_without_digits_too(text: str) -> None:
    expected = _simhash(without_digits(text)[:LOOKED_AT].encode("utf-8", "replace"))
    assert simhash(text, digits=False) == expected == simhash(without_digits(text))

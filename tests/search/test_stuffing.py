"""Words repeated only to be found count a few times; the same with and without the compiled library."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca.extract import native
from hemeroteca.search.index import document_fields as fields

WORDS = st.lists(st.sampled_from(["the", "Word", "é", "漢字", "x", "a\x1cb", "7", "\u2003", ","]) | st.text(max_size=4))


@pytest.mark.skipif(native.load() is None, reason="the library is not built here")
@settings(derandomize=True, max_examples=200, deadline=None)
@given(WORDS, st.integers(1, 40), st.integers(0, 60))
def test_both_ways_agree(words, times, others):
    words = [word.encode("utf-8", "replace").decode() for word in words]
    text = " ".join([*words * times, *map(str, range(others))])
    compiled = fields.without_stuffing(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "_module", None)
        assert fields.without_stuffing(text) == compiled


def test_a_text_of_spaces_and_a_book_are_left_as_they_are():
    book = " ".join(f"word{number % 1500}" for number in range(60_000))
    for text in (" " * 5000, book):
        assert fields.without_stuffing(text) is text


def test_what_is_repeated_keeps_its_place():
    prose = " ".join(f"word{number}" for number in range(300))
    cleaned = fields.without_stuffing(f"{prose} {'pills ' * 400}").split()
    assert len(cleaned) == 700
    assert cleaned.count("pills") == fields.REPEATED
    assert cleaned[:300] == prose.split()


def test_half_a_character_is_told_as_such():
    """So that whoever writes the document writes it without."""
    if native.load() is not None:
        with pytest.raises(UnicodeEncodeError):
            fields.without_stuffing("\ud800 " * 600)

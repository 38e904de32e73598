"""What a page says, by which the pages of a trap are seen, is the same with and without the compiled library."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca import extract
from hemeroteca.extract import native
from hemeroteca.ingest import fingerprints as module
from hemeroteca.ingest.fingerprints import fingerprints

ADDRESSES = ["http", "https://", "http://x.test/7", "xhttp://y", "/", "/path", "and/or", "//", "http:/", "https:///"]
PIECES = st.sampled_from([*ADDRESSES, "http://\u2003", "the", "7", "70", "é7", "\ud800", "漢字/8"])
SPACES = st.sampled_from(["", " ", "\n", "\u00a0", "\u2003", "\x1c", "\x85", "\u200b", "\t"])
TEXTS = st.lists(st.tuples(PIECES | st.text(max_size=5), SPACES), max_size=40)


@pytest.mark.skipif(native.load() is None, reason="the library is not built here")
@settings(derandomize=True, max_examples=400, deadline=None)
@given(TEXTS, st.sets(st.sampled_from(["7", "70", "8", "07"])), st.sampled_from(["", "\npicture.png\nframe.html"]))
def test_both_ways_agree(pieces, own, after):
    text = "".join(piece + space for piece, space in pieces)
    assert native.fingerprints(text, after, own) == module._fingerprints(text, after, own)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_page_of_a_trap_says_the_same_under_its_next_address(monkeypatch, compiled):
    if not compiled:
        monkeypatch.setattr(native, "_module", None)

    def said(number: int, text: str = "Page {} of the calendar, see /next or http://x.test/{}") -> tuple[int, int]:
        document = extract.Document(kind="html", title="Calendar", main=text.format(number, number))
        return fingerprints(f"http://x.test/{number}", document, "")

    assert said(17) == said(18), "its own number says nothing"
    assert said(17)[0] != said(17, "Page {} of 12 of the calendar")[0]
    assert said(17, "Room 12, page {}")[0] != said(17, "Room 13, page {}")[0]
    assert said(17, "Room 12, page {}")[1] == said(17, "Room 13, page {}")[1]

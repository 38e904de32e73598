"""Sets of keys, compiled and in Python: the same answers."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.extract import native

KEYS = st.lists(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 5), max_size=20)


@pytest.mark.skipif(native.load() is None, reason="the fast path is not built here")
@given(st.lists(st.tuples(KEYS, st.integers(0, 5))))
def test_both_sets_say_the_same(batches: list[tuple[list[int], int]]) -> None:
    compiled, plain = native.key_set(), native.KeySet()
    assert type(compiled) is not type(plain)
    for keys, most in batches:
        packed = array("q", keys).tobytes()
        assert compiled.missing(packed) == plain.missing(packed)
        assert compiled.add_missing(packed, most) == plain.add_missing(packed, most)
        for key in keys[:2]:
            compiled.add(key)
            plain.add(key)
        assert len(compiled) == len(plain)
        assert all((key in compiled) == (key in plain) for key in keys)
    compiled.clear()
    assert not len(compiled)


def test_links_are_made_when_they_are_looked_at() -> None:
    page = b"<a href=/a>one</a> <a href=/b rel=nofollow>two</a> <img src=c.png>"
    found = native.read(page, native.Limits())
    if found is None:
        pytest.skip("the fast path is not built here")
    links = list(found.links)
    assert [(link.href, link.text, link.nofollow) for link in links] == [
        ("c.png", "", False),
        ("/a", "one", False),
        ("/b", "two", True),
    ]
    assert [found.links[number] for number in range(len(found.links))] == links

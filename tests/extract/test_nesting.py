"""`plainly_nested` is allowed to say no to anything, but never yes to a page that grows in the parser."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from resiliparse.parse.html import ELEMENT, DOMNode, HTMLTree

from hemeroteca.extract.nesting import plainly_nested

DEPTH = 40


def _grown(data: bytes) -> tuple[int, int]:
    """Depth and number of elements of the tree the parser makes."""
    deepest = count = 0
    todo: list[tuple[DOMNode, int]] = [(HTMLTree.parse_from_bytes(data, "utf-8").document, 0)]
    while todo:
        node, depth = todo.pop()
        if node.type == ELEMENT:
            count += 1
            deepest = max(deepest, depth)
        child = node.first_child
        while child is not None:
            todo.append((child, depth + 1))
            child = child.next
    return deepest, count


NAMES = "div p b i a span li ul dd dl table tr td object button h1 br wbr title script noscript form blockquote x-y"
PIECES = [
    *(f"<{name}>" for name in NAMES.split()),
    *(f"</{name}>" for name in NAMES.split()),
    "text",
    ">",
    "<!--",
    "-->",
    '<div a="',
    '">',
    "<b c=d>",
    "<i e='f'>",
    '<a="',
    '<div ="',
    ' a="x>',
    "<div a=b=",
    "'",
    "=",
    "<!doctype html>",
    "<DIV>",
    "</Div >",
    "<p/>",
    "<link rel=x>",
    "<linz>",
    "</linz>",
]


@given(st.lists(st.sampled_from(PIECES), max_size=60), st.integers(1, 4))
@example(['<div a="', "</div>", '">'], 60)
@example(["<div>", "<!--", "</div>", "-->"], 60)
@example(["<li>", "<dd>"], 60)
@example(["<p>", "<b>", "<i>"], 60)
@example(["<p>", "<b>", "<div>", "</div>", "</b>"], 60)
@example(["<div>", "<table>", "<td>", "</div>"], 60)
@example(['<div ="', ' a="x>', "</div>"], 60)
@example(["<div>", "<title>", "</div>", "</title>"], 60)
@example(["<linz>"], 60)
@settings(max_examples=300, deadline=None)
def test_a_page_said_to_be_plain_stays_small(pieces: list[str], times: int) -> None:
    data = ("".join(pieces) * times).encode()
    if plainly_nested(data, DEPTH):
        depth, count = _grown(data)
        assert depth <= DEPTH
        assert count <= 3 * data.count(b"<") + 3


@pytest.mark.parametrize(
    "page",
    [
        '<!DOCTYPE html><html><head><title>a > b</title><meta charset="utf-8"><link rel="x" href=\'y\'></head><body>'
        '<ul class="a=b"><li>one<li>two <a href=three>three</a></ul><p>four<p>five <b>six</b><br>'
        "<table><tr><td>1<td>2</table><!-- seven --><script>eight()</script></body></html>",
        "no tags",
        "<p>cut in the middle of <a href=",
    ],
)
def test_honest_pages_are_plain(page: str) -> None:
    assert plainly_nested(page.encode(), DEPTH + 60)


@pytest.mark.parametrize(
    "page",
    ["<div>" * 200, "<b>" * 9 + "<p>x" * 9, "<div></b></div>", "<svg></svg>", "<a\0></a\0>", "< p>", "<div a=b=c>"],
)
def test_what_is_doubtful_is_not_plain(page: str) -> None:
    assert not plainly_nested(page.encode(), DEPTH)

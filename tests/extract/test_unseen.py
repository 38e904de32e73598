"""Text that a page's own style sheet hides is not indexed, and its links are not followed; what is shown stays."""

import pytest

from hemeroteca import extract

STYLE = """<style>
 /* .comment { display: none } */
 .spam, div.trap { display: none !important } #offscreen { position: absolute; left: -9999px }
 .spam { margin-top: 1em; padding-left: 2px } #offscreen { border-top: 0 } #beside { right: -9999px }
 .tab { display: none } .tab.active { display: block }
 @media print { .printed { display: none } } .small { font-size: 0 } a:hover .tip { display: none }
</style>"""


def read(body: str, head: str = STYLE) -> extract.Document:
    page = f"<!DOCTYPE html><html><head>{head}<title>T</title></head><body><p>seen</p>{body}</body></html>"
    return extract.read(page.encode(), "text/html; charset=utf-8", "https://example.org/")


@pytest.mark.parametrize(
    "attributes",
    [
        'class="spam"',
        "class='big spam'",
        "class=spam",
        'title="x" class="a trap b"',
        'id="offscreen"',
        'class="small"',
        'id="beside"',
    ],
)
def test_what_the_style_sheet_hides_is_not_read(attributes):
    document = read(f'<div {attributes}>word <a href="/bait">word</a></div><p>also seen</p>')
    assert document.text.split() == ["seen", "also", "seen"]
    assert [link.href for link in document.links if link.kind == "page"] == []


@pytest.mark.parametrize(
    "attributes",
    ['class="tab active"', 'class="printed"', 'class="comment"', 'class="tip"', 'class="spammer"', 'data-x="spam"'],
)
def test_what_may_be_shown_is_read(attributes):
    assert "word" in read(f"<div {attributes}>word</div>").text


def test_a_page_that_hides_everything_until_its_scripts_ran_is_read():
    page = (
        '<html><head><style>.app{visibility:hidden}</style></head><body><div class="app">all of it</div></body></html>'
    )
    assert "all of it" in extract.read(page.encode(), "text/html", "https://example.org/").text


def test_thousands_of_hidden_names_cost_little():
    names = "".join(f".n{number}{{display:none}}" for number in range(30_000))
    body = "".join(f'<p class="n{number}">x</p>' for number in range(20_000))
    read(body, f"<style>{names}</style>")

"""Text that a page's own style sheet hides is not indexed, and its links are not followed; what is shown stays."""

import pytest

from hemeroteca import extract
from hemeroteca.extract import native

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


MORE = """<style>
 body .deep, html > body .deeper, html * .deepest, :root #root { display: none } *.star { display: none }
 .menu .inner, body > .child, body * .grandchild, body.home .there { display: none }
 [data-ad] { display: none } *[data-kind="promo"], [my-state=off] { visibility: hidden }
 [v-cloak], [aria-label], [title], li[data-li] { display: none }
 [data-open="false"] { display: none } [data-open="true"] { display: block }
 .clipped { position: absolute; clip: rect(0, 0, 0, 0) } .inset { clip-path: inset(50%) }
 .sr-only { position: absolute; width: 1px; height: 1px; overflow: hidden; clip: rect(0 0 0 0); clip-path: inset(50%) }
 .aside { margin-left: -9999px } .indented { text-indent: -9999px }
 .column { float: left; margin-left: -100% } .wide { margin-left: -9999px; padding-left: 9999px }
 .skip { position: absolute; clip: rect(1px 1px 1px 1px) } .skip:focus { clip: auto }
</style>"""


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    "attributes",
    [
        *(f'class="{name}"' for name in ("deep", "deeper", "deepest", "star", "clipped", "inset", "aside", "indented")),
        'id="root"',
        "data-ad",
        'class="a" data-ad="1"',
        "data-kind=promo",
        "title=\"a data-kind='x'\" data-kind='promo'",
        'my-state="off"',
        'style="position: fixed; clip: rect(1px, 1px, 1px, 1px)"',
        'style="clip-path: inset(100%)"',
        'style="margin-left: -5000px"',
    ],
)
def test_other_ways_to_hide_are_known(attributes, fast, monkeypatch):
    if not fast:
        monkeypatch.setattr(native, "read", lambda *_, **__: None)
    document = read(f'<div {attributes}>word <a href="/bait">word</a></div><p>also seen</p>', MORE)
    assert document.text.split() == ["seen", "also", "seen"]
    assert [link.href for link in document.links if link.kind == "page"] == []


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    "attributes",
    [
        *(f'class="{name}"' for name in ("inner", "child", "grandchild", "there", "sr-only", "column", "wide", "skip")),
        "v-cloak",
        'aria-label="x"',
        'title="x"',
        "data-li",
        'data-open="false"',
        'data-kind="other"',
        'title="x data-ad "',
        'my-state="on"',
        'style="clip: rect(0 0 0 0)"',
        'style="clip-path: inset(50% 0)"',
        'style="position: absolute; clip: rect(0 auto auto 0)"',
        'style="width: 1px; clip-path: inset(50%)"',
        'style="float: left; margin-left: -960px"',
    ],
)
def test_what_is_for_listeners_or_waits_or_is_only_moved_is_read(attributes, fast, monkeypatch):
    if not fast:
        monkeypatch.setattr(native, "read", lambda *_, **__: None)
    assert "word" in read(f"<div {attributes}>word</div>", MORE).text


def test_a_page_that_hides_everything_until_its_scripts_ran_is_read():
    page = (
        '<html><head><style>.app{visibility:hidden}</style></head><body><div class="app">all of it</div></body></html>'
    )
    assert "all of it" in extract.read(page.encode(), "text/html", "https://example.org/").text


def test_thousands_of_hidden_names_cost_little():
    names = "".join(f".n{number}{{display:none}}" for number in range(30_000))
    body = "".join(f'<p class="n{number}">x</p>' for number in range(20_000))
    read(body, f"<style>{names}</style>")
    many = "".join(f"[data-n{number}]{{display:none}}" for number in range(30_000))
    read("".join(f"<p {'data-n1 ' * 20}>x</p>" for _ in range(5_000)), f"<style>{many}</style>")
    read("<p " + "a=b " * 200_000 + "data-n1>", f"<style>{many}</style>")
    read("data-n1 " * 200_000, f"<style>{many}</style>")

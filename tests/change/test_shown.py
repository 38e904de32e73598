"""Differences shown to people: unified, side by side, as a page, as JSON, as PDF."""

import difflib
import json
import random

import pypdfium2
import pytest

from hemeroteca.change import (
    ChangeRules,
    Snapshot,
    as_json,
    compare,
    fonts,
    highlighted_page,
    pdf_report,
    side_by_side,
    text_diff,
)
from hemeroteca.change.diffs import Stretch, changed_runs, lines_of
from tests.change.pages import html, newspaper, shop


def text(lines: list[str]) -> Snapshot:
    return Snapshot("\n".join(lines).encode(), "text/plain; charset=utf-8")


def test_a_unified_diff_is_what_difflib_would_write():
    old = [f"line {n}" for n in range(40)]
    new = [*old[:5], "line five", *old[6:30], "extra", *old[30:39]]
    expected = [line.rstrip("\n") for line in difflib.unified_diff(old, new, "a", "b", lineterm="")]
    assert text_diff(text(old), text(new), names=("a", "b")).splitlines() == expected


def test_a_unified_diff_can_be_applied():
    dice = random.Random(7)
    for _ in range(60):
        old = [dice.choice("abcdefghij") for _ in range(dice.randint(0, 30))]
        new = [line for line in old if dice.random() > 0.2]
        for _ in range(dice.randint(0, 4)):
            new.insert(dice.randint(0, len(new)), dice.choice("abcxyz"))
        assert _patched(old, text_diff(text(old), text(new))) == new


def _patched(old: list[str], diff: str) -> list[str]:
    out: list[str] = []
    at = 0
    for line in diff.splitlines()[2:]:
        if line.startswith("@@"):
            start, _, size = line.split()[1][1:].partition(",")
            begin = int(start) - (size != "0")
            out += old[at:begin]
            at = begin
        elif line[0] == "+":
            out.append(line[1:])
        else:
            assert old[at] == line[1:]
            at += 1
            out += [line[1:]] if line[0] == " " else []
    return out + old[at:]


def test_runs_show_the_words_that_changed():
    assert changed_runs("Precio: 10,00 € hoy", "Precio: 12,00 € hoy") == [
        Stretch("equal", "Precio: "),
        Stretch("delete", "10,00"),
        Stretch("insert", "12,00"),
        Stretch("equal", " € hoy"),
    ]


def test_side_by_side_puts_versions_of_a_line_in_one_row():
    rows = side_by_side(shop(price="10 €"), shop(price="12 €", extra="<p>Rebajas de invierno</p>"))
    changed = [row for row in rows if row.kind != "equal"]
    assert [row.kind for row in changed] == ["replace", "insert"]
    assert [run.text for run in changed[0].old if run.op == "delete"] == ["10"]
    assert [run.text for run in changed[0].new if run.op == "insert"] == ["12"]
    assert changed[1].old == []
    whole = side_by_side(shop(), shop(), context=None)
    assert len(whole) == len(lines_of(shop(), ChangeRules()))


def test_a_highlighted_page_marks_what_came_and_went_inside_its_elements():
    page = highlighted_page(
        html("<h1>Camisa</h1><p>Precio: <b>10</b> €</p><p>Gone with it</p>"),
        html("<h1>Camisa</h1><p>Precio: <b>12</b> €</p><ul><li>Quite new</li></ul>"),
    )
    assert "<h1>Camisa</h1>" in page
    assert "<p>Precio:<b> <del>10</del><ins>12</ins></b> €</p>" in page
    assert "<del>Gone with it</del>" in page
    assert "<ins>Quite new</ins></li></ul>" in page


def test_a_highlighted_page_keeps_all_words_of_the_new_version():
    new = newspaper(date="4 May", lead="The <i>coun</i>cil <b>met</b> &amp; decided &lt;nothing>.")
    page = highlighted_page(newspaper(), new)
    shown = Snapshot(page.encode(), "text/html; charset=utf-8")
    assert lines_of(shown, ChangeRules(ignore=("del", ".picture"))) == lines_of(new, ChangeRules())
    assert "▢" not in page
    assert "The town hall</span>" in page


@pytest.mark.parametrize(
    "nasty",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        '<a href="javascript:alert(1)" onclick="alert(1)">x</a>',
        "<svg onload=alert(1)><style>*{background:url(http://evil/)}</style></svg>",
        "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "<p title='</p><script>alert(1)</script>'>x</p>",
        "<base href=http://evil/><link rel=stylesheet href=http://evil/><meta http-equiv=refresh content='0;url=http://evil'>",
        "<form action=http://evil/><input name=a autofocus onfocus=alert(1)></form>",
        "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
        "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
        "<title></title><script>alert(1)</script>",
    ],
)
def test_a_highlighted_page_can_do_nothing(nasty):
    for old, new in (
        (html("<p>a</p>"), html(nasty)),
        (html(nasty), html("<p>a</p>")),
        (html(nasty), html(f"b{nasty}")),
    ):
        shown = highlighted_page(old, new)
        from resiliparse.parse.html import HTMLTree

        tree = HTMLTree.parse(shown)
        assert not tree.document.query_selector_all("script,iframe,svg,math,form,input,base,link,object,embed,img")
        for node in tree.body.query_selector_all("*"):
            assert set(node.attrs or []) <= {"class"}
        assert len(tree.document.query_selector_all("style")) == 1
        assert len(tree.document.query_selector_all("meta")) == 2


def test_plain_text_is_shown_as_a_page_too():
    page = highlighted_page(text(["one <b>", "two"]), text(["one <b>", "three"]))
    assert "<p>one &lt;b&gt;</p>" in page
    assert "<ins>three</ins>" in page


def test_facts_for_programs():
    facts = json.loads(json.dumps(as_json(shop(price="10 €"), shop(price="12 €"))))
    assert facts["important"] is True
    assert facts["total"] == pytest.approx(facts["view"] + facts["form"] + facts["content"])
    assert facts["components"]["content"]["text"] == facts["content"]
    assert "-Precio: 10 €" in facts["text_diff"].splitlines()
    assert "+Precio: 12 €" in facts["text_diff"].splitlines()
    assert facts["words"] == {"added": 1, "removed": 1}


def test_a_report_as_pdf_tells_the_verdict_and_the_difference():
    old, new = shop(price="10 €"), shop(price="12 €", extra="<p>¡Año nuevo, talla única! 日本</p>")
    data = pdf_report(old, new, change=compare(old, new), names=("1 May", "2 May"))
    assert data.startswith(b"%PDF-")
    document = pypdfium2.PdfDocument(data)
    words = "".join(page.get_textpage().get_text_bounded() for page in document)
    assert "important" in words
    assert "10" in words
    assert "12" in words
    assert "¡Año nuevo, talla única!" in " ".join(words.split())


def test_a_report_of_long_pages_ends():
    lines = [f"line {n} " + "word " * 30 for n in range(3000)]
    data = pdf_report(text([]), text(lines))
    assert len(pypdfium2.PdfDocument(data)) == 100


def test_parts_left_out_by_rules_are_not_shown():
    rules = ChangeRules(ignore=(".precio",))
    assert text_diff(shop(price="10 €"), shop(price="12 €"), rules) == ""
    assert "12" not in highlighted_page(shop(price="10 €"), shop(price="12 €"), rules).partition("<body>")[2][:200]


def shown_text(data):
    document = pypdfium2.PdfDocument(data)
    return "\n".join(page.get_textpage().get_text_range() for page in document)


def test_letters_of_other_scripts_come_from_a_font_of_the_machine():
    if not fonts.choose("Ж"):
        pytest.skip("no font with Cyrillic letters is on this machine (on Debian: apt install fonts-dejavu-core)")
    data = pdf_report(text(["Hola"]), text(["Привет Ελλάδα Łódź, café"]))
    assert "Привет Ελλάδα Łódź, café" in shown_text(data)
    assert len(pdf_report(text(["Hola"]), text(["Adiós, café — €"]))) < 10_000  # nothing is put into the file then


def test_letters_that_no_font_has_are_told(monkeypatch):
    monkeypatch.setattr(fonts, "found", tuple)
    shown = shown_text(pdf_report(text(["Hola"]), text(["Привет, 世界 \U0001f600"])))
    assert "??????, ?? ?" in shown
    assert "9 times ? stands for a letter" in " ".join(shown.split())
    assert "U+041F" in shown


def test_a_line_of_chinese_is_broken_inside_the_page(monkeypatch):
    monkeypatch.setattr(fonts, "found", tuple)
    page = pypdfium2.PdfDocument(pdf_report(text(["a"]), text(["世界" * 200])))[0]
    places = page.get_textpage()
    right = max(places.get_rect(number)[2] for number in range(places.count_rects()))
    assert right < 595


@pytest.mark.parametrize("font", [b"", b"\0\1\0\0", b"\0\1\0\0\0\1" + b"\0" * 6 + b"cmap" + b"\xff" * 12, b"OTTO" * 9])
def test_what_is_no_font_has_no_letters(font, tmp_path):
    (tmp_path / "font.ttf").write_bytes(font)
    assert fonts.letters(tmp_path / "font.ttf") == frozenset()


def test_the_same_comparison_gives_the_same_report():
    assert pdf_report(text(["a"]), text(["b"])) == pdf_report(text(["a"]), text(["b"]))


def test_arabic_is_written_from_right_to_left():
    if not fonts.choose("س"):
        pytest.skip("no font with Arabic letters is on this machine (on Debian: apt install fonts-dejavu-core)")
    assert pdf_report(text(["Hola"]), text(["سلام"])).startswith(b"%PDF-")

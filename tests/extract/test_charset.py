"""What a body is written in: what it says, and what its bytes prove."""

import pytest

from hemeroteca.extract import decode, read

SENTENCE = "El niño comió piñones en la cigüeña; ¿qué más da? Año tras año, después del café."
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. Широкая электрификация южных губерний."


@pytest.mark.parametrize(
    ("encoding", "header"),
    [
        ("utf-8", "text/html; charset=utf-8"),
        ("cp1252", "text/html; charset=ISO-8859-1"),
        ("cp1252", 'text/html; charset="windows-1252"'),
        ("utf-16", "text/html"),
        ("utf-16-le", "text/html; charset=utf-16le"),
        ("utf-32", "text/html"),
        ("utf-8-sig", "text/html; charset=iso-8859-1"),
    ],
)
def test_declared_and_true(encoding: str, header: str) -> None:
    text, _, note = decode.to_text(SENTENCE.encode(encoding), header)
    assert (text, note) == (SENTENCE, "")


@pytest.mark.parametrize(
    "head",
    [
        '<meta charset="windows-1251">',
        "<META HTTP-EQUIV=Content-Type CONTENT='text/html; charset=windows-1251'>",
        '<?xml version="1.0" encoding="windows-1251"?>',
    ],
)
def test_declared_inside(head: str) -> None:
    body = (head + RUSSIAN).encode("cp1251")
    assert decode.to_text(body, "text/html") == (head + RUSSIAN, "cp1251", "")


def test_utf8_declared_as_something_else() -> None:
    assert decode.to_text(SENTENCE.encode(), "text/html; charset=iso-8859-1") == (
        SENTENCE,
        "utf-8",
        "charset-lie:cp1252",
    )


def test_latin_declared_as_utf8() -> None:
    text, name, note = decode.to_text((SENTENCE * 5).encode("cp1252"), "text/html; charset=utf-8")
    assert (text, note) == (SENTENCE * 5, "charset-lie:utf-8")
    assert name != "utf-8"


def test_utf16_declared_and_not_meant() -> None:
    assert decode.to_text(b"<p>abc", "text/html; charset=utf-16")[:2] == ("<p>abc", "utf-8")
    assert decode.to_text(b'<meta charset="utf-16"><p>abc', "")[1] == "utf-8"


def test_nothing_declared_is_guessed() -> None:
    assert decode.to_text((RUSSIAN * 4).encode("koi8-r"), "")[0] == RUSSIAN * 4


def test_a_few_broken_bytes_do_not_change_the_charset() -> None:
    text, name, note = decode.to_text(SENTENCE.encode() + b"\xff" + SENTENCE.encode(), "text/html; charset=utf-8")
    assert (name, note) == ("utf-8", "charset-errors")
    assert text == f"{SENTENCE}\ufffd{SENTENCE}"


def test_a_character_cut_in_two_at_the_end() -> None:
    assert decode.to_text("año".encode()[:-2], "") == ("a\ufffd", "utf-8", "")


@pytest.mark.parametrize("label", ["utf-7", "nonsense", "hex", "rot13", "base64", "unicode_escape", "idna"])
def test_labels_that_are_no_charsets_of_the_web(label: str) -> None:
    assert decode.to_text(SENTENCE.encode(), f"text/html; charset={label}")[0] == SENTENCE


def test_read_names_the_charset() -> None:
    page = read(f"<title>{SENTENCE}</title>".encode("cp1252"), "text/html; charset=latin1", "http://example.org/")
    assert (page.title, page.charset) == (SENTENCE, "cp1252")

"""PDFs are read in a process that may die."""

import zlib

import pytest

from hemeroteca.extract import Document, Limits, read

INFO = b"<</Title(El titulo)/Author(Ana)/CreationDate(D:20240131110000+01'00')>>"


def pdf(pages: list[bytes], page_extra: bytes = b"", stream_extra: bytes = b"", info: bytes = INFO) -> bytes:
    """A small file; each page is the content stream given."""
    count = len(pages)
    kids = b" ".join(b"%d 0 R" % (5 + 2 * number) for number in range(count))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>" % (count, kids),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        info,
    ]
    for number, content in enumerate(pages):
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents %d 0 R/Resources<</Font<</F 3 0 R>>>>%s>>"
            % (6 + 2 * number, page_extra)
        )
        objects.append(b"<</Length %d%s>>stream\n%s\nendstream" % (len(content), stream_extra, content))
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, item in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, item)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    out += b"trailer<</Size %d/Root 1 0 R/Info 4 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)
    return bytes(out)


def show(text: str) -> bytes:
    return b"BT /F 12 Tf 20 200 Td (%s) Tj ET" % text.encode("cp1252")


def read_pdf(body: bytes, **limits) -> Document:
    return read(body, "application/pdf", "http://example.org/a.pdf", limits=Limits(**limits))


def test_text_and_facts() -> None:
    annotation = b"/Annots[<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/URI/URI(http://example.org/nota)>>>>]"
    body = pdf(
        [show("La biblioteca guarda los diarios de la ciudad en"), show("Ver http://example.org/texto.")], annotation
    )
    document = read_pdf(body)
    assert (document.kind, document.title, document.author) == ("pdf", "El titulo", "Ana")
    assert document.published == 1706695200000
    assert document.text == "La biblioteca guarda los diarios de la ciudad en\nVer http://example.org/texto."
    assert document.language == "es"
    assert [link.href for link in document.links] == ["http://example.org/nota", "http://example.org/texto"]
    assert document.notes == []


def test_without_a_title_the_first_line_is_it() -> None:
    assert read_pdf(pdf([show("Primera línea")], info=b"<<>>")).title == "Primera línea"


@pytest.mark.parametrize(
    "title", [b"untitled", b"Untitled Document", b"(anonymous)", b"Microsoft Word - Document1", b" "]
)
def test_a_title_that_only_the_program_gave_is_none(title: bytes) -> None:
    info = b"<</Title(" + title.replace(b"(", b"\\(").replace(b")", b"\\)") + b")/Author(anonymous)>>"
    document = read_pdf(pdf([show("Primera línea")], info=info))
    assert (document.title, document.author) == ("Primera línea", "")


def test_a_name_that_came_from_the_printer_is_the_title_without_the_program() -> None:
    info = b"<</Title(Microsoft Word - Informe anual 2.docx)/Author(Unknown Pleasures)>>"
    document = read_pdf(pdf([show("Primera")], info=info))
    assert (document.title, document.author) == ("Informe anual 2", "Unknown Pleasures")


def test_limits() -> None:
    pages = [show(f"pagina {number}") for number in range(9)]
    assert read_pdf(pdf(pages), pdf_pages=2).text == "pagina 0\npagina 1"
    assert read_pdf(pdf(pages), pdf_pages=2).notes == ["pages-cut"]
    assert read_pdf(pdf(pages), text_chars=20).notes == ["text-cut"]
    assert read_pdf(pdf(pages), pdf_bytes=100).notes == ["pdf-too-long"]


@pytest.mark.parametrize(
    "body",
    [
        b"%PDF-1.4",
        b"%PDF-1.4\n" + b"0" * 10_000,
        pdf([show("x")])[:300],
        pdf([b"BT (" * 1000]),
        pdf([show("x")]).replace(b"/Kids[5 0 R]", b"/Kids[2 0 R]"),  # a page tree that contains itself
        pdf([show("x")]).replace(b"/Count 1", b"/Count 2147483647"),
        pdf([show("x")]).replace(b"/Contents 6 0 R", b"/Contents 5 0 R"),
    ],
)
def test_damaged_files_end_quietly(body: bytes) -> None:
    document = read_pdf(body)
    assert document.kind == "pdf"
    assert len(document.text) < 100


def test_a_bomb_in_a_stream_stays_in_its_process() -> None:
    """A gigabyte of spaces, packed twice into a few kilobytes."""
    packed = zlib.compress(zlib.compress(b" " * (1 << 30), 9), 9)
    document = read_pdf(pdf([packed], stream_extra=b"/Filter[/FlateDecode/FlateDecode]"), pdf_seconds=2)
    assert document.text == ""


def test_a_page_without_end_is_stopped() -> None:
    content = zlib.compress(b"BT /F 1 Tf " + b"1 0 0 1 1 1 Tm (aaaaaaaaaa) Tj " * 3_000_000 + b"ET", 9)
    document = read_pdf(pdf([show("antes"), content], stream_extra=b""), pdf_seconds=40)
    assert document.text.startswith("antes")
    heavy = read_pdf(pdf([content], stream_extra=b"/Filter/FlateDecode"), pdf_seconds=1, pdf_memory=512 << 20)
    assert heavy.notes

"""Office files and e-books: their text is found, and a ZIP file from a stranger does no harm."""

import io
import time
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca import extract
from hemeroteca.extract.document import Limits

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
CORE = (
    '<cp:coreProperties xmlns:cp="c" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="t">'
    "<dc:title>Informe anual</dc:title><dc:creator>Ana Ruiz</dc:creator>"
    "<dcterms:created>2024-03-05T10:00:00Z</dcterms:created></cp:coreProperties>"
)
SENTENCE = "La biblioteca de la ciudad abre todos los días y presta libros a los vecinos"

BOOK = '<workbook><sheets><sheet name="Gastos"/><sheet name="Ingresos"/></sheets></workbook>'
STRINGS = "<sst><si><t>alquiler</t></si><si><r><t>luz </t></r><r><t>y agua</t></r></si></sst>"
SHEET = '<worksheet><c t="inlineStr"><is><t>en la celda</t></is></c><c><v>5</v></c></worksheet>'


def packed(parts, first=None):
    """A ZIP file; `first` is an entry `mimetype` that stands first, as it is."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        if first:
            archive.writestr("mimetype", first, zipfile.ZIP_STORED)
        for name, text in parts.items():
            archive.writestr(name, text)
    return file.getvalue()


def docx(body, **more):
    return packed(
        {
            "docProps/core.xml": CORE,
            "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
            **more,
        }
    )


def read(body, content_type="application/octet-stream"):
    return extract.read(body, content_type, "https://example.org/file")


def test_a_word_document_gives_text_title_author_date_headings_and_links():
    rels = (
        '<Relationships><Relationship Id="r1" Target="https://example.org/enlace" TargetMode="External"/>'
        '<Relationship Id="r2" Target="styles.xml"/></Relationships>'
    )
    body = (
        '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Primera parte</w:t></w:r></w:p>'
        f'<w:p><w:r><w:t xml:space="preserve">{SENTENCE} </w:t></w:r>'
        "<w:r><w:t>de &lt;todo&gt; el barrio.</w:t></w:r></w:p>"
    )
    found = read(docx(body, **{"word/_rels/document.xml.rels": rels}))
    assert found.kind == "docx"
    assert found.main == f"Primera parte\n{SENTENCE} de <todo> el barrio."
    assert (found.title, found.author, found.headings) == ("Informe anual", "Ana Ruiz", "Primera parte")
    assert found.published == 1709632800000
    assert found.language == "es"
    assert [link.href for link in found.links] == ["https://example.org/enlace"]


def test_slides_come_in_the_order_of_their_numbers_and_notes_after_them():
    slides = {
        f"ppt/{place}{n}.xml": f"<p:sld xmlns:p='p' {A}><a:p><a:r><a:t>{name} {n}</a:t></a:r></a:p></p:sld>"
        for place, name, n in (
            ("notesSlides/notesSlide", "Nota", 1),
            *(("slides/slide", "Lámina", n) for n in (10, 2, 1)),
        )
    }
    found = read(packed({"ppt/presentation.xml": "<x/>", **slides}))
    assert found.kind == "pptx"
    assert found.main.split("\n") == ["Lámina 1", "Lámina 2", "Lámina 10", "Nota 1"]


def test_sheets_give_their_texts_and_names():
    found = read(
        packed(
            {
                "xl/workbook.xml": BOOK,
                "xl/sharedStrings.xml": STRINGS,
                "xl/worksheets/sheet1.xml": SHEET,
            }
        )
    )
    assert found.kind == "xlsx"
    assert found.headings == "Gastos\nIngresos"
    assert found.main.split("\n") == ["alquiler", "luz y agua", "en la celda"]


@pytest.mark.parametrize(("kind", "name"), [("odt", "text"), ("ods", "spreadsheet"), ("odp", "presentation")])
def test_open_documents(kind, name):
    content = (
        '<office:document-content xmlns:office="o" xmlns:text="t" xmlns:xlink="http://www.w3.org/1999/xlink"><office:body>'
        "<style>no es texto</style><text:h>Capítulo uno</text:h>"
        f"<text:p>{SENTENCE}<text:s/>y <text:span>además</text:span> "
        '<text:a xlink:href="https://example.org/a">enlaza</text:a></text:p>'
        "</office:body></office:document-content>"
    )
    creator = "<meta:initial-creator>Eva</meta:initial-creator>"
    meta = f'<m xmlns:dc="d" xmlns:meta="m"><dc:title>Un título</dc:title>{creator}</m>'
    found = read(packed({"content.xml": content, "meta.xml": meta}, f"application/vnd.oasis.opendocument.{name}"))
    assert found.kind == kind
    assert found.main == f"Capítulo uno\n{SENTENCE} y además enlaza"
    assert (found.title, found.author, found.headings) == ("Un título", "Eva", "Capítulo uno")
    assert [link.href for link in found.links] == ["https://example.org/a"]


def test_a_book_is_read_in_its_order():
    page = "<html><head><title>x</title></head><body><h1>{0}</h1><p>Texto de {0}.</p></body></html>"
    opf = (
        '<package xmlns:dc="d"><metadata><dc:title>El libro</dc:title><dc:creator>Autora</dc:creator>'
        "<dc:language>es-ES</dc:language></metadata><manifest>"
        '<item id="b" href="dos%20b.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="a" href="uno.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="i" href="x.png" media-type="image/png"/></manifest>'
        '<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="i"/><itemref idref="missing"/></spine>'
        "</package>"
    )
    container = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    found = read(
        packed(
            {
                "META-INF/container.xml": container,
                "OEBPS/book.opf": opf,
                "OEBPS/dos b.xhtml": page.format("Dos"),
                "OEBPS/uno.xhtml": page.format("Uno"),
            },
            "application/epub+zip",
        ),
        "application/epub+zip",
    )
    assert found.kind == "epub"
    assert (found.title, found.author) == ("El libro", "Autora")
    assert found.main.index("Texto de Uno.") < found.main.index("Texto de Dos.")
    assert found.headings == "Uno\nDos"


def test_any_other_zip_file_and_any_broken_one_is_let_be():
    assert read(packed({"a.txt": "hello"})).kind == "other"
    whole = docx(f"<w:p><w:r><w:t>{SENTENCE * 50}</w:t></w:r></w:p>")
    cut = read(whole[:-40] + b"PK\x01\x02word/document.xml")
    assert cut.kind == "docx"
    assert cut.notes == ["office-unreadable"]
    assert cut.main == ""


def test_a_bomb_costs_no_more_than_a_book():
    bomb = docx("<w:p><w:r><w:t>" + "a b " * 15_000_000 + "</w:t></w:r></w:p>")
    assert len(bomb) < 1 << 20
    began = time.process_time()
    found = read(bomb)
    assert time.process_time() - began < 30  # 0.6 here
    assert len(found.text) <= Limits().text_chars
    assert found.notes


def test_many_parts_are_refused():
    assert read(b"PK\x03\x04word/document.xml" + b"PK\x01\x02" * 30_000).notes == ["office-too-many-parts"]


def test_entities_are_refused():
    declared = '<!DOCTYPE x [<!ENTITY a "boom"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    evil = f"{declared}<w:document {W}><w:p><w:r><w:t>vale &a;&f;</w:t></w:r></w:p></w:document>"
    found = read(packed({"word/document.xml": evil}))
    assert "entities-refused" in found.notes
    assert "boom" not in found.text
    assert "root" not in found.text


def test_links_out_of_the_book_are_not_followed():
    container = '<container><rootfile full-path="../../../../etc/passwd"/></container>'
    found = read(packed({"META-INF/container.xml": container}, "application/epub+zip"))
    assert found.text == ""


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=300), st.integers(0, 600), st.integers(0, 255))
def test_no_bytes_make_it_fail(junk, place, value):
    body = bytearray(docx(f"<w:p><w:r><w:t>{SENTENCE}</w:t></w:r></w:p>"))
    body[place % len(body)] = value
    read(bytes(body) + junk)
    read(b"PK\x03\x04" + junk + b"word/document.xml")

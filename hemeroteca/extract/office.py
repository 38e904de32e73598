"""Text of office files and e-books: docx, pptx, xlsx, OpenDocument, epub. All are XML in a ZIP file.

Nothing is unpacked to disk, links to other files are not followed, entities are refused (`xml`), and what one file may
unpack to is bounded, so that a ZIP bomb costs no more than an honest book.
"""

import io
import posixpath
import re
import struct
import zipfile
import zlib
from urllib.parse import unquote

from hemeroteca.extract import dates, language, text, xml
from hemeroteca.extract.document import Document, Limits
from hemeroteca.extract.html import read_html
from hemeroteca.extract.readers import Content, register

_UNPACKABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, RuntimeError, NotImplementedError, EOFError, ValueError, OSError,
    KeyError, OverflowError,
)  # fmt: skip
_NUMBER = re.compile(r"(\d+)\.xml$")


_NOT_OURS = "other"  # a ZIP file of another kind; nobody should take it for text, whatever it was sent as
_DIRECTORY = 256 << 10  # the names of the parts stand once more at the end
_DECLARED = (
    (b"application/epub+zip", "epub"),
    (b"application/vnd.oasis.opendocument.text", "odt"),
    (b"application/vnd.oasis.opendocument.spreadsheet", "ods"),
    (b"application/vnd.oasis.opendocument.presentation", "odp"),
)
_MAIN_PARTS = (
    (b"word/document.xml", "docx"),
    (b"ppt/presentation.xml", "pptx"),
    (b"xl/workbook.xml", "xlsx"),
    (b"META-INF/container.xml", "epub"),
)


class OfficeReader:
    """Text, title, author, date, headings and links of office files and e-books."""

    def sniff(self, content: Content) -> str:
        """By what the ZIP file holds: servers send these as anything, and a .docx may be a page that says no."""
        body = content.body
        if not body.startswith(b"PK\x03\x04"):
            return ""
        if body[30:38] == b"mimetype":  # OpenDocument and epub begin with their type, as it is
            declared = body[38 : 38 + 60]
            return next((kind for name, kind in _DECLARED if declared.startswith(name)), _NOT_OURS)
        names = body[:4096] + body[-_DIRECTORY:]
        return next((kind for part, kind in _MAIN_PARTS if part in names), _NOT_OURS)

    def read(self, content: Content, document: Document) -> None:
        limits = content.limits
        if document.kind == _NOT_OURS:
            return
        if content.body.count(b"PK\x01\x02") > limits.office_parts:
            document.note("office-too-many-parts")
            return
        try:
            package = _Package(zipfile.ZipFile(io.BytesIO(content.body)), document, limits)
            _READERS[document.kind](package)
        except _BROKEN:
            document.note("office-unreadable")  # damaged, cut short, or locked with a password
            return
        whole = _tidy("".join(package.text))
        if len(whole) > limits.text_chars:
            document.note("text-cut")
        document.text = document.main = whole[: limits.text_chars]
        document.headings = "\n".join(package.headings)[: limits.headings_chars]
        document.title = document.title or next(iter(package.headings), "")[: limits.line_chars]
        document.title = document.title or document.text[:200].partition("\n")[0]
        addresses = [*package.addresses, *text.addresses(document.text)]
        text.add_links(document, (a for a in addresses if a.startswith(("http://", "https://"))), "page", limits)
        document.language = language.detect(document.main, document.language or content.language)
        if not document.text and not document.notes:
            document.note("office-no-text")


class _Package:
    """The parts of one file, and what was read from them so far."""

    def __init__(self, archive: zipfile.ZipFile, document: Document, limits: Limits) -> None:
        self.document = document
        self.limits = limits
        self.text: list[str] = []
        self.headings: list[str] = []
        self.addresses: list[str] = []
        self.names = archive.namelist()
        self._archive = archive
        self._room = limits.office_bytes
        self._chars = limits.text_chars

    def part(self, name: str) -> bytes:
        """A part unpacked, as far as there is room; empty when there is none of that name."""
        try:
            info = self._archive.getinfo(name)
        except KeyError:
            return b""
        if info.compress_type not in _UNPACKABLE:
            self.document.note("office-unreadable")
            return b""
        with self._archive.open(info) as file:
            data = file.read(self._room)
        self._room -= len(data)
        if self._room <= 0:
            self.document.note("office-cut")
        return data

    def parse(self, name: str, handler: xml.Handler) -> None:
        if data := self.part(name):
            xml.parse(data, "", self.document, self.limits, handler)

    def numbered(self, folder: str) -> list[str]:
        """`slide1.xml`, `slide2.xml` … in the order of their numbers."""
        found = [
            (int(match[1][:9]), name)
            for name in self.names
            if name.startswith(folder) and (match := _NUMBER.search(name))
        ]
        return [name for _, name in sorted(found)]

    def add(self, text: str) -> None:
        self.text.append(text)
        self._chars -= len(text)
        if self._chars < 0:
            raise xml.EnoughError

    @property
    def full(self) -> bool:
        return self._chars < 0 or self._room <= 0


class _Properties(xml.Handler):
    """Dublin Core, which all of these formats use: title, creator, language, date, description."""

    def __init__(self, package: _Package) -> None:
        self.package = package

    def end(self, name: str, text: str) -> None:
        document, limits = self.package.document, self.package.limits
        line = " ".join(text.split())[: limits.line_chars]
        if name == "title":
            document.title = document.title or line
        elif name in ("creator", "initial-creator"):
            document.author = document.author or line
        elif name == "language":
            document.language = document.language or line[:2].lower()
        elif name in ("created", "date", "creation-date"):
            document.published = document.published or dates.to_ms(line)
        elif name in ("description", "subject"):
            document.description = document.description or line[: limits.description_chars]


class _Runs(xml.Handler):
    """Microsoft's formats: text in `t`, paragraphs `p`, cells `si`; a paragraph's style says that it is a heading."""

    def __init__(self, package: _Package) -> None:
        self.package = package
        self.inside = False
        self.heading = False
        self.paragraph: list[str] = []

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        if name == "t":
            self.inside = True
        elif name in ("tab", "br", "cr"):
            self._say(" ")
        elif name == "pstyle":
            style = next(iter(attributes.values()), "").lower()
            self.heading = style.startswith(("heading", "title", "ttulo", "titre", "berschrift"))
        elif name == "sheet":
            self.package.headings.append(attributes.get("name", "")[:200])

    def data(self, text: str) -> None:
        if self.inside:
            self._say(text)

    def end(self, name: str, text: str) -> None:
        if name == "t":
            self.inside = False
        elif name in ("p", "si", "is"):
            self.package.add("\n")
            if self.heading and len(self.package.headings) < 200:
                self.package.headings.append(" ".join("".join(self.paragraph).split())[:200])
            self.heading = False
            self.paragraph.clear()

    def _say(self, text: str) -> None:
        self.package.add(text)
        if self.heading:
            self.paragraph.append(text)


class _Flow(xml.Handler):
    """OpenDocument: text anywhere inside paragraphs `p` and headings `h`."""

    def __init__(self, package: _Package) -> None:
        self.package = package
        self.depth = 0
        self.heading: list[str] | None = None

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        if name in ("p", "h"):
            self.depth += 1
            if name == "h":
                self.heading = []
        elif name in ("s", "tab", "line-break"):
            self.data(" ")
        elif name == "a" and len(self.package.addresses) < self.package.limits.links:
            self.package.addresses += [value for key, value in attributes.items() if key.endswith("}href")]

    def data(self, text: str) -> None:
        if self.depth:
            self.package.add(text)
            if self.heading is not None:
                self.heading.append(text)

    def end(self, name: str, text: str) -> None:
        if name in ("p", "h"):
            self.depth -= 1
            self.package.add("\n")
        if name == "h" and self.heading is not None:
            if len(self.package.headings) < 200:
                self.package.headings.append(" ".join("".join(self.heading).split())[:200])
            self.heading = None


class _Relations(xml.Handler):
    """Where links of a docx lead."""

    def __init__(self, package: _Package) -> None:
        self.package = package

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        if attributes.get("TargetMode") == "External" and len(self.package.addresses) < self.package.limits.links:
            self.package.addresses.append(attributes.get("Target", "")[: self.package.limits.href_chars])


class _Spine(xml.Handler):
    """The contents of an e-book: its chapters in reading order."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.order: list[str] = []
        self.root = ""

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        if name == "rootfile":
            self.root = self.root or attributes.get("full-path", "")
        elif name == "item" and "html" in attributes.get("media-type", ""):
            self.files[attributes.get("id", "")] = attributes.get("href", "")
        elif name == "itemref":
            self.order.append(attributes.get("idref", ""))


def _word(package: _Package) -> None:
    package.parse("docProps/core.xml", _Properties(package))
    package.parse("word/_rels/document.xml.rels", _Relations(package))
    for name in ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml"):
        package.parse(name, _Runs(package))


def _slides(package: _Package) -> None:
    package.parse("docProps/core.xml", _Properties(package))
    # what a speaker says stands apart from what is shown, and comes after it
    for name in package.numbered("ppt/slides/slide") + package.numbered("ppt/notesSlides/notesSlide"):
        if package.full:
            break
        package.parse(name, _Runs(package))


def _sheets(package: _Package) -> None:
    package.parse("docProps/core.xml", _Properties(package))
    package.parse("xl/workbook.xml", _Runs(package))
    package.parse("xl/sharedStrings.xml", _Runs(package))
    for name in package.numbered("xl/worksheets/sheet"):
        if package.full:
            break
        data = package.part(name)
        if b"inlineStr" in data:  # most programs write texts into sharedStrings, some into the cells
            xml.parse(data, "", package.document, package.limits, _Runs(package))


def _open_document(package: _Package) -> None:
    package.parse("meta.xml", _Properties(package))
    package.parse("content.xml", _Flow(package))


def _book(package: _Package) -> None:
    spine = _Spine()
    package.parse("META-INF/container.xml", spine)
    data = package.part(spine.root)
    xml.parse(data, "", package.document, package.limits, _Properties(package))
    xml.parse(data, "", package.document, package.limits, spine)
    folder = posixpath.dirname(spine.root)
    for identifier in spine.order:
        if package.full:
            break
        name = posixpath.normpath(posixpath.join(folder, unquote(spine.files.get(identifier, ""))))
        chapter = Document(kind="xhtml", notes=[])
        read_html(package.part(name)[: package.limits.html_bytes], chapter, package.limits, "", False)
        package.headings += (
            chapter.headings.split("\n")[:50] if chapter.headings and len(package.headings) < 200 else []
        )
        try:
            package.add((chapter.text or chapter.main) + "\n")
        except xml.EnoughError:
            break


def _tidy(text: str) -> str:
    return re.sub(r"\n\s*\n+", "\n", re.sub(r"[^\S\n]+", " ", text.replace("\0", ""))).strip()


_READERS = {
    "docx": _word,
    "pptx": _slides,
    "xlsx": _sheets,
    "odt": _open_document,
    "ods": _open_document,
    "odp": _open_document,
    "epub": _book,
}


register(OfficeReader(), priority=50)

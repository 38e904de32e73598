"""Lines on paper: a PDF written by PDFium, which is here anyway to read PDFs, with the fonts every PDF reader has.

Those know the letters of western Europe; a TrueType font given as bytes brings others.
"""

import ctypes
import io

import pypdfium2
import pypdfium2.raw as pdfium

from hemeroteca.change.diffs import Run

MAX_PAGES = 100
WIDTH, HEIGHT, MARGIN = 595.0, 842.0, 48.0  # A4, in points
SIZE, LEADING = 9.0, 13.0

_COLOURS = {"equal": (30, 30, 30), "insert": (0, 110, 50), "delete": (180, 20, 20), "faint": (110, 110, 110)}


class Paper:
    """Lines of coloured words on pages, from top to bottom."""

    def __init__(self, font: bytes) -> None:
        self.document = pypdfium2.PdfDocument.new()
        self.own = bool(font)
        if font:
            buffer = (ctypes.c_uint8 * len(font)).from_buffer_copy(font)
            self.font = pdfium.FPDFText_LoadFont(self.document, buffer, len(font), pdfium.FPDF_FONT_TRUETYPE, True)
        else:
            self.font = pdfium.FPDFText_LoadStandardFont(self.document, b"Helvetica")
        if not self.font:
            self.document.close()
            raise ValueError("the font is not a TrueType font that PDFium can read; give another file")
        self.widths: dict[str, float] = {}
        self.page: pypdfium2.PdfPage | None = None
        self.pages = 0
        self.y = 0.0

    def write(self, runs: list[Run], size: float = SIZE) -> None:
        """A paragraph of runs, broken into lines."""
        x = MARGIN
        self._down(size * LEADING / SIZE)
        for run in runs:
            for word in _words(self._known(run.text)):
                width = self._width(word) * size
                if x + width > WIDTH - MARGIN and x > MARGIN:
                    self._down(size * LEADING / SIZE)
                    x = MARGIN
                    word = word.lstrip()
                    width = self._width(word) * size
                if word.strip() and self.page is not None:
                    self._text(word, x, size, run.op)
                x += width

    def space(self) -> None:
        self.y -= LEADING / 2

    def finish(self) -> bytes:
        self._end_page()
        buffer = io.BytesIO()
        self.document.save(buffer)
        return buffer.getvalue()

    def close(self) -> None:
        pdfium.FPDFFont_Close(self.font)
        self.document.close()

    def _down(self, height: float) -> None:
        self.y -= height
        if self.y < MARGIN:
            self._end_page()
            if self.pages < MAX_PAGES:
                self.page = self.document.new_page(WIDTH, HEIGHT)
                self.pages += 1
            self.y = HEIGHT - MARGIN - height

    def _end_page(self) -> None:
        if self.page is not None:
            self.page.gen_content()
            self.page.close()
            self.page = None

    def _text(self, word: str, x: float, size: float, op: str) -> None:
        shown = pdfium.FPDFPageObj_CreateTextObj(self.document, self.font, size)
        data = word.encode("utf-16-le") + b"\0\0"
        text = (ctypes.c_ushort * (len(data) // 2)).from_buffer_copy(data)
        pdfium.FPDFText_SetText(shown, text)
        pdfium.FPDFPageObj_SetFillColor(shown, *_COLOURS[op], 255)
        pdfium.FPDFPageObj_Transform(shown, 1, 0, 0, 1, x, self.y)
        pdfium.FPDFPage_InsertObject(self.page, shown)

    def _known(self, text: str) -> str:
        """What the font has letters for."""
        if self.own:
            return text.encode("utf-16-le", "replace").decode("utf-16-le", "replace")
        return text.replace("−", "-").encode("cp1252", "replace").decode("cp1252")

    def _width(self, word: str) -> float:
        """In ems."""
        total = 0.0
        for letter in word:
            width = self.widths.get(letter)
            if width is None:
                found = ctypes.c_float()
                pdfium.FPDFFont_GetGlyphWidth(self.font, ord(letter), 1000.0, found)
                width = self.widths[letter] = (found.value or 500.0) / 1000
            total += width
        return total


def _words(text: str) -> list[str]:
    """Words with the space before them; endless ones in pieces."""
    parts: list[str] = []
    for number, word in enumerate(text.split(" ")):
        word = word if not number else f" {word}"
        parts += [word[start : start + 60] for start in range(0, len(word), 60)]
    return parts

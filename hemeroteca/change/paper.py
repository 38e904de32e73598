"""Lines on paper: a PDF written by PDFium, which is here anyway to read PDFs, with the fonts every PDF reader has.

Those know the letters of western Europe. For others a font of this machine is taken and put into the file (`fonts`);
letters that none has are shown as `?` and told at the end.
"""

import ctypes
import io
import re
from collections.abc import Iterator

import pypdfium2
import pypdfium2.raw as pdfium

from hemeroteca.change import fonts
from hemeroteca.change.diffs import Run

MAX_PAGES = 100
WIDTH, HEIGHT, MARGIN = 595.0, 842.0, 48.0  # A4, in points
SIZE, LEADING = 9.0, 13.0

_COLOURS = {"equal": (30, 30, 30), "insert": (0, 110, 50), "delete": (180, 20, 20), "faint": (110, 110, 110)}
_MOST_FONTS = 6  # in a file: each is some hundred kilobytes
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
_LEFTWARDS = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+")  # words of Hebrew, Arabic and the like
_WIDE = re.compile(r"([\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60])")  # a line may end after each of these


class Paper:
    """Lines of coloured words on pages, from top to bottom."""

    def __init__(self, font: bytes = b"") -> None:
        """`font`: a TrueType font that comes before all others."""
        self.document = pypdfium2.PdfDocument.new()
        self.missing: dict[str, int] = {}
        self._fonts: list[_Font] = []
        self._of: dict[str, _Font | None] = {}
        self.page: pypdfium2.PdfPage | None = None
        self.pages = 0
        self.y = 0.0
        if font and not self._load(font):
            self.document.close()
            raise ValueError("the font is not a TrueType font that PDFium can read; give another file")
        self._fonts.append(_Font(pdfium.FPDFText_LoadStandardFont(self.document, b"Helvetica"), None))

    def write(self, runs: list[Run], size: float = SIZE) -> None:
        """A paragraph of runs, broken into lines."""
        x = MARGIN
        self._down(size * LEADING / SIZE)
        for run in runs:
            for word in _words(_UNSEEN.sub("", run.text.replace("−", "-"))):
                pieces = list(self._pieces(word))
                width = sum(font.width(piece) for font, piece in pieces) * size
                if x + width > WIDTH - MARGIN and x > MARGIN:
                    self._down(size * LEADING / SIZE)
                    x = MARGIN
                    pieces = list(self._pieces(word.lstrip()))
                for font, piece in pieces:
                    if piece.strip() and self.page is not None:
                        self._text(font, piece, x, size, run.op)
                    x += font.width(piece) * size

    def space(self) -> None:
        self.y -= LEADING / 2

    def finish(self) -> bytes:
        self._end_page()
        buffer = io.BytesIO()
        self.document.save(buffer)
        return buffer.getvalue()

    def close(self) -> None:
        for font in self._fonts:
            pdfium.FPDFFont_Close(font.handle)
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

    def _text(self, font: "_Font", text: str, x: float, size: float, op: str) -> None:
        shown = pdfium.FPDFPageObj_CreateTextObj(self.document, font.handle, size)
        data = _LEFTWARDS.sub(lambda found: found[0][::-1], text).encode("utf-16-le") + b"\0\0"
        buffer = (ctypes.c_ushort * (len(data) // 2)).from_buffer_copy(data)
        pdfium.FPDFText_SetText(shown, buffer)
        pdfium.FPDFPageObj_SetFillColor(shown, *_COLOURS[op], 255)
        pdfium.FPDFPageObj_Transform(shown, 1, 0, 0, 1, x, self.y)
        pdfium.FPDFPage_InsertObject(self.page, shown)

    def _pieces(self, word: str) -> Iterator[tuple["_Font", str]]:
        """A word as the fonts can show it."""
        piece, last = "", self._fonts[0]
        for letter in word:
            if letter not in self._of:
                self._of[letter] = self._font_with(letter)
            font = self._of[letter]
            if font is None:
                self.missing[letter] = self.missing.get(letter, 0) + 1
                letter, font = "?", self._fonts[0]
            if font is not last and piece:
                yield last, piece
                piece = ""
            piece, last = piece + letter, font
        if piece:
            yield last, piece

    def _font_with(self, letter: str) -> "_Font | None":
        for font in self._fonts:
            if font.has(letter):
                return font
        if ord(letter) > 0xFFFF or len(self._fonts) >= _MOST_FONTS:
            return None
        data = fonts.with_letter(letter)
        return self._fonts[-1] if data and self._load(data) else None

    def _load(self, font: bytes) -> bool:
        buffer = (ctypes.c_uint8 * len(font)).from_buffer_copy(font)
        handle = pdfium.FPDFText_LoadFont(self.document, buffer, len(font), pdfium.FPDF_FONT_TRUETYPE, True)
        if handle:
            self._fonts.append(_Font(handle, fonts.code_points(font)))
        return bool(handle)


class _Font:
    """`letters`: code points it has; None for the ones every PDF reader has."""

    def __init__(self, handle: object, letters: frozenset[int] | None) -> None:
        self.handle = handle
        self._letters = letters
        self._widths: dict[str, float] = {}

    def has(self, letter: str) -> bool:
        if self._letters is not None:
            return ord(letter) in self._letters
        return bool(letter.encode("cp1252", "ignore"))

    def width(self, text: str) -> float:
        """In ems."""
        total = 0.0
        for letter in text:
            width = self._widths.get(letter)
            if width is None:
                found = ctypes.c_float()
                pdfium.FPDFFont_GetGlyphWidth(self.handle, ord(letter), 1000.0, found)
                width = self._widths[letter] = (found.value or 500.0) / 1000
            total += width
        return total


def _words(text: str) -> list[str]:
    """Words with the space before them; endless ones in pieces."""
    parts: list[str] = []
    for number, word in enumerate(text.split(" ")):
        word = word if not number else f" {word}"
        for piece in _WIDE.split(word):
            parts += [piece[start : start + 60] for start in range(0, len(piece), 60)]
    return parts

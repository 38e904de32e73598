"""A comparison to hand out: as JSON for programs, as PDF for people.

The PDF is written by PDFium, which is here anyway to read PDFs, with the fonts every PDF reader has. Those know the
letters of western Europe; a TrueType font given as bytes brings others.
"""

import ctypes
import io
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from hemeroteca.change.compare import compare
from hemeroteca.change.diffs import Row, Run, changed_runs, side_by_side, text_diff
from hemeroteca.change.values import Change, ChangeRules, Snapshot

MAX_PAGES = 100
WIDTH, HEIGHT, MARGIN = 595.0, 842.0, 48.0  # A4, in points
SIZE, LEADING = 9.0, 13.0

_DEFAULTS = ChangeRules()
_COLOURS = {"equal": (30, 30, 30), "insert": (0, 110, 50), "delete": (180, 20, 20), "faint": (110, 110, 110)}


def as_json(
    old: Snapshot, new: Snapshot, given: ChangeRules = _DEFAULTS, change: Change | None = None
) -> dict[str, Any]:
    """Facts of a comparison: the three sums, their components, the total, the verdict and the text."""
    change = change or compare(old, new, given)
    view, form, content = (round(value, 6) for value in change.sums)
    return {
        "view": view,
        "form": form,
        "content": content,
        "total": round(change.total, 6),
        "important": change.important,
        "threshold": change.threshold,
        "same_bytes": change.same_bytes,
        "components": {"view": change.view, "form": change.form, "content": change.content},
        "words": {"added": change.words_added, "removed": change.words_removed},
        "resources": [{"kind": r.kind, "address": r.address, "added": r.added} for r in change.resources],
        "ignored": change.ignored,
        "notes": change.notes,
        "text_diff": text_diff(old, new, given),
    }


def pdf_report(
    old: Snapshot,
    new: Snapshot,
    given: ChangeRules = _DEFAULTS,
    *,
    change: Change | None = None,
    names: tuple[str, str] = ("before", "after"),
    font: bytes = b"",
) -> bytes:
    """A report of the comparison with the passages that differ."""
    change = change or compare(old, new, given)
    paper = _Paper(font)
    try:
        paper.write([Run("equal", new.url or "Comparison")], 14.0)
        paper.write([Run("delete", f"− {names[0]}")])
        paper.write([Run("insert", f"+ {names[1]}")])
        paper.space()
        verdict = "important" if change.important else "not important"
        paper.write([Run("equal", f"Total {change.total:.3f}, {verdict} (threshold {change.threshold:g})")], 11.0)
        for name, vector, value in zip(
            ("view", "form", "content"), (change.view, change.form, change.content), change.sums, strict=True
        ):
            parts = ", ".join(f"{part} {size:.3f}" for part, size in vector.items() if size)
            paper.write([Run("equal", f"{name} {value:.3f}"), Run("faint", f"   {parts}" if parts else "")])
        words = f"{change.words_added} words added, {change.words_removed} removed"
        paper.write([Run("faint", "; ".join([words, *change.notes]))])
        paper.space()
        for resource in change.resources:
            mark, op = ("+", "insert") if resource.added else ("−", "delete")
            paper.write([Run(op, f"{mark} {resource.kind}: {resource.address[:300]}")])
        paper.space()
        last = 0
        for row in side_by_side(old, new, given):
            if row.new_number > last + 1 and row.kind == "equal":
                paper.write([Run("faint", "…")])
            last = row.new_number or last
            paper.write(_runs(row))
        return paper.finish()
    finally:
        paper.close()


def _runs(row: Row) -> list[Run]:
    if row.kind != "replace":
        return row.old or row.new
    old, new = ("".join(run.text for run in side) for side in (row.old, row.new))
    return changed_runs(old, new)


class _Paper:
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

"""A comparison to hand out: as JSON for programs, as PDF for people."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from hemeroteca.change import fonts
from hemeroteca.change.comparison import compare
from hemeroteca.change.diffs import Row, Stretch, changed_runs, side_by_side, text_diff
from hemeroteca.change.judgement import Judgement
from hemeroteca.change.site_rules import ChangeRules
from hemeroteca.change.snapshot import Snapshot

MAX_PAGES = 100
MARGIN, SIZE, LEADING = 48.0, 9.0, 13.0  # in points

_DEFAULTS = ChangeRules()
_COLOURS = {"equal": (30, 30, 30), "insert": (0, 110, 50), "delete": (180, 20, 20), "faint": (110, 110, 110)}
_PIECE = 2000  # characters written at once: less than a page
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")


def as_json(
    old: Snapshot, new: Snapshot, given: ChangeRules = _DEFAULTS, change: Judgement | None = None
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
        "resources": [
            {"kind": r.kind, "address": r.address, "added": r.added, "text": r.text} for r in change.resources
        ],
        "ignored": change.ignored,
        "notes": change.notes,
        "text_diff": text_diff(old, new, given),
    }


def pdf_report(
    old: Snapshot,
    new: Snapshot,
    given: ChangeRules = _DEFAULTS,
    *,
    change: Judgement | None = None,
    names: tuple[str, str] = ("before", "after"),
) -> bytes:
    """A report of the comparison with the passages that differ."""
    change = change or compare(old, new, given)
    lines = list(_summary(new.url, change, names))
    last = 0
    for row in side_by_side(old, new, given):
        if row.new_number > last + 1 and row.kind == "equal":
            lines.append(_Line([Stretch("faint", "…")]))
        last = row.new_number or last
        lines.append(_Line(_runs(row)))
    return _pdf(lines)


class _Line(NamedTuple):
    runs: list[Stretch]
    size: float = SIZE
    space: float = 0.0  # before it


def _summary(url: str, change: Judgement, names: tuple[str, str]) -> Iterator[_Line]:
    yield _Line([Stretch("equal", url or "Comparison")], 14.0)
    yield _Line([Stretch("delete", f"− {names[0]}")])
    yield _Line([Stretch("insert", f"+ {names[1]}")])
    verdict = "important" if change.important else "not important"
    total = f"Importance {change.total:.3f}, {verdict} (threshold {change.threshold:g})"
    yield _Line([Stretch("equal", total)], 11.0, space=LEADING / 2)
    for name, vector, value in zip(
        ("view", "form", "content"), (change.view, change.form, change.content), change.sums, strict=True
    ):
        parts = ", ".join(f"{part} {size:.3f}" for part, size in vector.items() if size)
        yield _Line([Stretch("equal", f"{name} {value:.3f}"), Stretch("faint", f"   {parts}" if parts else "")])
    words = f"{change.words_added} words added, {change.words_removed} removed"
    yield _Line([Stretch("faint", "; ".join([words, *change.notes]))])
    space = LEADING / 2
    for resource in change.resources:
        mark, op = ("+", "insert") if resource.added else ("−", "delete")
        more = f" ({resource.text[:300]})" if resource.text else ""
        yield _Line([Stretch(op, f"{mark} {resource.kind}: {resource.address[:300]}{more}")], space=space)
        space = 0.0
    yield _Line([], 1.0, LEADING / 2)


def _pdf(lines: list[_Line]) -> bytes:
    """Lines of coloured words on pages. Letters that no font here has are shown as `?` and told at the end."""
    from fpdf import FPDF  # takes its time to load, and most commands need none of it

    lines = [line._replace(runs=[Stretch(run.op, _shown(run.text)) for run in line.runs]) for line in lines]
    used = Counter("".join(run.text for line in lines for run in line.runs))
    pdf = FPDF(unit="pt", format="A4")
    pdf.set_margin(MARGIN)
    pdf.set_creation_date(datetime.fromtimestamp(0, UTC))  # the same comparison gives the same file
    pdf.core_fonts_encoding = "cp1252"
    known = {letter for letter in used if letter.encode("cp1252", "ignore")}
    family = "Helvetica"
    if len(known) < len(used):
        chosen = fonts.choose(sorted({*used, "?"}))
        if "?" in chosen:
            known = set(chosen)
            files = list(dict.fromkeys([chosen["?"], *chosen.values()]))
            for file in files:
                pdf.add_font(file.stem, fname=file)
            pdf.set_fallback_fonts([file.stem for file in files[1:]])
            family = files[0].stem
    missing = {letter: count for letter, count in used.items() if letter not in known}
    if missing:
        lines.append(_Line([Stretch("faint", _without_letters(missing))], space=LEADING / 2))
    instead = str.maketrans(dict.fromkeys(missing, "?"))
    pdf.add_page()
    for line in lines:
        pdf.set_font(family, size=line.size)
        height = line.size * LEADING / SIZE
        pdf.ln(line.space)
        for run in line.runs:
            pdf.set_text_color(*_COLOURS[run.op])
            for start in range(0, len(run.text), _PIECE):
                last_page = pdf.page_no() >= MAX_PAGES
                if last_page and pdf.get_y() > pdf.h:
                    return bytes(pdf.output())
                pdf.set_auto_page_break(not last_page, MARGIN)
                pdf.write(height, run.text[start : start + _PIECE].translate(instead))
        pdf.ln(height)
    return bytes(pdf.output())


def _shown(text: str) -> str:
    return _UNSEEN.sub("", text.replace("−", "-"))


def _without_letters(missing: dict[str, int]) -> str:
    named = ", ".join(f"U+{ord(letter):04X}" for letter in list(missing)[:8])
    more = ", ..." if len(missing) > 8 else ""
    return (
        f"{sum(missing.values())} times ? stands for a letter that no font found on this machine has ({named}{more}); "
        "a TrueType font with it, put into ~/.local/share/fonts (Noto Sans of that script, say), shows it."
    )


def _runs(row: Row) -> list[Stretch]:
    if row.kind != "replace":
        return row.old or row.new
    old, new = ("".join(run.text for run in side) for side in (row.old, row.new))
    return changed_runs(old, new)

"""A comparison to hand out: as JSON for programs, as PDF for people."""

from typing import Any

from hemeroteca.change.compare import compare
from hemeroteca.change.diffs import Row, Run, changed_runs, side_by_side, text_diff
from hemeroteca.change.values import Change, ChangeRules, Snapshot

_DEFAULTS = ChangeRules()


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
    from hemeroteca.change.paper import Paper  # PDFium takes its time to load, and most commands need none of it

    change = change or compare(old, new, given)
    paper = Paper(font)
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
        if paper.missing:
            paper.space()
            paper.write([Run("faint", _without_letters(paper.missing))])
        return paper.finish()
    finally:
        paper.close()


def _without_letters(missing: dict[str, int]) -> str:
    named = ", ".join(f"U+{ord(letter):04X}" for letter in list(missing)[:8])
    more = ", …" if len(missing) > 8 else ""
    return (
        f"{sum(missing.values())} times ? stands for a letter that no font found on this machine has ({named}{more}); "
        "a TrueType font with it, put into ~/.local/share/fonts (Noto Sans of that script, say), shows it."
    )


def _runs(row: Row) -> list[Run]:
    if row.kind != "replace":
        return row.old or row.new
    old, new = ("".join(run.text for run in side) for side in (row.old, row.new))
    return changed_runs(old, new)

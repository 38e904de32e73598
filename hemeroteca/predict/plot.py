"""Two small charts as SVG text, written by hand so that no plotting library is needed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .calibration import Bin
from .simulator import PolicyOutcome

INK, SOFT, MARK, PALE = "#222", "#888", "#1f6f8b", "#dbe7ec"


def outcomes(results: Sequence[PolicyOutcome], title: str) -> str:
    """Bars: changes lost by each policy, the best one marked."""
    width, row, left = 760, 34, 170
    height = 70 + row * max(len(results), 1)
    widest = max((r.lost for r in results), default=0) or 1
    best = min((r.lost for r in results), default=0)
    parts = [_text(16, 28, title, 16, INK, weight="bold"), _text(left, 50, "changes lost (visits made)", 12, SOFT)]
    for i, r in enumerate(results):
        y = 60 + i * row
        length = (width - left - 190) * r.lost / widest
        colour = MARK if r.lost == best else SOFT
        parts.append(_text(left - 10, y + 17, r.policy, 13, INK, anchor="end"))
        parts.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="22" rx="2" fill="{colour}"/>')
        share = f"{r.lost / r.changes:.1%}" if r.changes else "—"
        parts.append(_text(left + length + 8, y + 16, f"{r.lost:,} = {share} ({r.visits:,})", 12, INK))
    return _document(width, height, title, parts)


def reliability(table: Sequence[Bin], title: str) -> str:
    """Predicted against observed, with the diagonal a perfect forecaster would follow."""
    size, margin = 420, 80

    def at(x: float, y: float) -> tuple[float, float]:
        return margin + x * size, 50 + (1 - y) * size

    parts = [_text(16, 28, title, 16, INK, weight="bold")]
    (x0, y0), (x1, y1) = at(0, 0), at(1, 1)
    parts.append(f'<rect x="{x0}" y="{y1}" width="{size}" height="{size}" fill="none" stroke="{PALE}"/>')
    parts.append(f'<line x1="{x0}" y1="{y0}" x2="{x1}" y2="{y1}" stroke="{SOFT}" stroke-dasharray="4 4"/>')
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x, y = at(tick, 0)
        parts.append(_text(x, y + 18, f"{tick:.0%}", 11, SOFT, anchor="middle"))
        x, y = at(0, tick)
        parts.append(_text(x - 8, y + 4, f"{tick:.0%}", 11, SOFT, anchor="end"))
    most = max((b.visits for b in table), default=1)
    for b in table:
        x, y = at(b.predicted, b.observed)
        _, top = at(0, min(b.observed + b.doubt, 1))
        _, bottom = at(0, max(b.observed - b.doubt, 0))
        parts.append(f'<line x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}" stroke="{MARK}"/>')
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{3 + 7 * (b.visits / most) ** 0.5:.1f}" fill="{MARK}"/>')
    parts.append(_text(margin + size / 2, size + 90, "predicted chance of a change", 12, INK, anchor="middle"))
    label = _text(0, 0, "share that had changed", 12, INK, anchor="middle")
    parts.append(f'<g transform="translate(22 {50 + size / 2:g}) rotate(-90)">{label}</g>')
    return _document(size + 2 * margin, size + 110, title, parts)


def _document(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="sans-serif" role="img"><title>{escape(title)}</title>'
        f'<rect width="100%" height="100%" fill="#fff"/>'
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def _text(x: float, y: float, text: str, size: int, fill: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escape(text)}</text>'
    )

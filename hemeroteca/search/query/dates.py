"""Dates as people write them in a query."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january enero jan ene",
            "february febrero feb",
            "march marzo mar",
            "april abril apr abr",
            "may mayo",
            "june junio jun",
            "july julio jul",
            "august agosto aug ago",
            "september septiembre setiembre sep sept set",
            "october octubre oct",
            "november noviembre nov",
            "december diciembre dec dic",
        ),
        1,
    )
    for name in names.split()
}
_DAYS_AGO = {"today": 0, "hoy": 0, "yesterday": 1, "ayer": 1}
_AGO = re.compile(r"(\d{1,4})([dwmysa])")
_UNITS = {"d": 1, "w": 7, "s": 7, "m": 30, "y": 365, "a": 365}


def moment(text: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> tuple[int, int] | None:
    """First and last millisecond of a date.

    2024, 2024-03, 2024-03-31, 31/3/2024; 7d, 2w, 3m, 1y ago; today, yesterday; march (the last one), march-2024.
    """
    text = text.strip().strip("/").lower()
    ago = _AGO.fullmatch(text)
    if ago or text in _DAYS_AGO:
        days = _UNITS[ago.group(2)] * int(ago.group(1)) if ago else _DAYS_AGO[text]
        try:
            day = (now() - timedelta(days=days)).replace(hour=0, minute=0, second=0, microsecond=0)
        except OverflowError:
            return None
        return _milliseconds(day), _milliseconds(day + timedelta(days=1)) - 1
    parts = _parts(text, now)
    if parts is None:
        return None
    year, month, day_of = parts
    try:
        start = datetime(year, month or 1, day_of or 1, tzinfo=UTC)
        if day_of:
            end = start + timedelta(days=1)
        elif month:
            end = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
        else:
            end = datetime(year + 1, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return _milliseconds(start), _milliseconds(end) - 1


def is_ago(text: str) -> bool:
    """Whether a date is a time ago: `captured:7d` means since then, not that day."""
    return _AGO.fullmatch(text.strip().lower()) is not None


def _parts(text: str, now: Callable[[], datetime]) -> tuple[int, int, int] | None:
    """Year, month and day; 0 for what is not said."""
    if found := re.fullmatch(r"(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2})(?:t.*)?)?)?", text):
        year, month, day = (int(part) if part else 0 for part in found.groups())
        return year, month, day
    if found := re.fullmatch(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})", text):
        return int(found[3]), int(found[2]), int(found[1])
    if found := re.fullmatch(r"(\d{4})(\d\d)(\d\d)", text):
        return int(found[1]), int(found[2]), int(found[3])
    if (found := re.fullmatch(r"([a-z]+)(?:[-/. ](\d{4}))?", text)) and (named := _MONTHS.get(found[1], 0)):
        today = now()
        return int(found[2] or today.year - (named > today.month)), named, 0
    return None


def _milliseconds(when: datetime) -> int:
    return int(when.timestamp() * 1000)

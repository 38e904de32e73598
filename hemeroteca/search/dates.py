"""Dates as people write them in a query."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


def moment(text: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> tuple[int, int] | None:
    """First and last millisecond of a date: 2024, 2024-03, 2024-03-31, 31/3/2024, or 7d, 2w, 3m, 1y ago."""
    text = text.strip().strip("/")
    ago = re.fullmatch(r"(\d{1,4})([dwmysa])", text.lower())
    if ago:
        days = {"d": 1, "w": 7, "s": 7, "m": 30, "y": 365, "a": 365}[ago.group(2)] * int(ago.group(1))
        try:
            day = (now() - timedelta(days=days)).replace(hour=0, minute=0, second=0, microsecond=0)
        except OverflowError:
            return None
        return _milliseconds(day), _milliseconds(day + timedelta(days=1)) - 1
    found = re.fullmatch(r"(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2})(?:T.*)?)?)?", text)
    if found:
        year, month, day_of = (int(part) if part else 0 for part in found.groups())
    else:
        found = re.fullmatch(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})", text) or re.fullmatch(r"(\d{4})(\d\d)(\d\d)", text)
        if not found:
            return None
        parts = [int(part) for part in found.groups()]
        year, month, day_of = parts if parts[0] > 31 else parts[::-1]
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


def _milliseconds(when: datetime) -> int:
    return int(when.timestamp() * 1000)

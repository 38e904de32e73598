"""Times as web archives write them: 14 digits (`20260131120000`), possibly cut short, and HTTP dates."""

import calendar
import re
from datetime import UTC, datetime
from functools import lru_cache


def timestamp(ms: int) -> str:
    """14 digits of a time in milliseconds."""
    return _fourteen(ms // 1000)


def start_ms(digits: str) -> int:
    """The first millisecond a timestamp of 4 to 14 digits stands for."""
    return _milliseconds(_parts(digits, 0))


def end_ms(digits: str) -> int:
    """The last millisecond a timestamp of 4 to 14 digits stands for: `2026` ends with the year."""
    return _milliseconds(_parts(digits, 1)) + 999


def http_date(ms: int) -> str:
    from email.utils import format_datetime  # only here: it takes long to load

    return format_datetime(datetime.fromtimestamp(ms // 1000, UTC), usegmt=True)


def from_http_date(text: str) -> int | None:
    """Milliseconds of an `Accept-Datetime` header, or None when it is not a date."""
    from email.utils import parsedate_to_datetime

    try:
        return int(parsedate_to_datetime(text).timestamp() * 1000)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def from_iso(text: str) -> int | None:
    """Milliseconds of a WARC-Date or any ISO 8601 time (UTC when it names no zone), or None.

    WARC/1.1 lets a date be shorter (2016-05); tools before WARC/1.0 wrote it in 14 digits. A leap second is the one
    before it."""
    try:
        text = text.strip().upper()
        if short := _SHORT(text):
            text = f"{short[1]}-{short[2] or '01'}-01"
        elif _FOURTEEN(text):
            text = f"{text[:8]}T{text[8:]}"
        text = text.replace(":60Z", ":59Z")
        if "." in text:
            text = _FRACTION.sub(lambda m: m[0][:7], text)
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def iso(ms: int) -> str:
    """ISO 8601 in UTC with milliseconds, as in a WARC-Date."""
    seconds, rest = divmod(ms, 1000)
    return f"{_second(seconds)}.{rest:03d}Z"


def moment(ms: int) -> datetime | None:
    """A UTC time; None for 0, which means never, and for what no calendar holds."""
    if not ms:
        return None
    try:
        return datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def read_moment(text: str) -> int | None:
    """Milliseconds of a time as people write it: 2026, 20260131, 2026-01-31 12:00 or ISO 8601; None for others."""
    digits = digits_of(text)
    try:
        return start_ms(digits) if digits.isdigit() and len(digits) <= 14 else from_iso(text)
    except ValueError:
        return None


def digits_of(text: str) -> str:
    """`2026-01-31 12:00` as `202601311200`."""
    return re.sub(r"[-: T]", "", text.strip())


_SHORT = re.compile(r"(\d{4})(?:-(\d{2}))?").fullmatch
_FOURTEEN = re.compile(r"\d{14}").fullmatch
_FRACTION = re.compile(r"\.\d{7,}")
_FIELDS = ((4, 1, 9999), (2, 1, 12), (2, 1, 31), (2, 0, 23), (2, 0, 59), (2, 0, 59))


def _parts(digits: str, end: int) -> list[int]:
    if not digits.isascii() or not digits.isdigit() or not 4 <= len(digits) <= 14:
        raise ValueError(f"{digits!r} is not a time; write 4 to 14 digits, for instance 2026 or 20260131120000")
    parts = []
    position = 0
    for width, low, high in _FIELDS:
        text = digits[position : position + width]
        position += width
        if not text:
            value = high if end else low
        elif len(text) < width:  # `202` of `2026021`: the first digit of a field is there, the second is free
            value = int(text + ("9" if end else "0"))
        else:
            value = int(text)
        parts.append(min(max(value, low), high))
    parts[2] = min(parts[2], calendar.monthrange(parts[0], parts[1])[1])
    return parts


def _milliseconds(parts: list[int]) -> int:
    return calendar.timegm((*parts, 0, 0, 0)) * 1000


@lru_cache(64)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]


def _fourteen(seconds: int) -> str:
    day, rest = divmod(seconds, 86_400)
    minutes, second = divmod(rest, 60)
    return f"{_day(day)}{minutes // 60:02d}{minutes % 60:02d}{second:02d}"


@lru_cache(1024)
def _day(number: int) -> str:
    moment = datetime.fromtimestamp(number * 86_400, UTC)
    return f"{moment.year:04d}{moment:%m%d}"

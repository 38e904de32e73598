"""Dates as they are written on the web, to milliseconds since 1970 in UTC."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_ISO = re.compile(
    r"\s*(\d{4})-?(?:(\d\d)(?:-?(\d\d)"
    r"(?:[T ]\s*(\d\d):?(\d\d)(?::?(\d\d)(?:[.,]\d+)?)?\s*(Z|[+-]\d\d:?\d\d|[+-]\d\d)?)?)?)?",
    re.I,
)
_EARLIEST, _LATEST = 1400, 9998  # years a text may be of, and that `datetime` can shift by a zone


def to_ms(text: str) -> int:
    """ISO 8601 in the forms of W3C and RFC 3339, or the date of a mail or an RSS feed; 0 for anything else.

    Negative before 1970: newspapers of 1936 are archived too.
    """
    text = text[:60]
    match = _ISO.match(text)
    try:
        if match and match[2]:
            year, month, day, hour, minute, second = (int(part or 0) for part in match.group(1, 2, 3, 4, 5, 6))
            if not _EARLIEST < year < _LATEST:
                return 0
            moment = datetime(year, month, day or 1, min(hour, 23), minute, min(second, 59), tzinfo=UTC)
            moment -= _offset(match[7])
        elif match and len(text.strip()) == 4:
            moment = datetime(int(match[1]), 1, 1, tzinfo=UTC)
        else:
            moment = parsedate_to_datetime(text)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
        return int(moment.timestamp() * 1000) if moment.year > _EARLIEST else 0
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0


def _offset(zone: str | None) -> timedelta:
    if not zone or zone in "Zz":
        return timedelta(0)
    digits = zone[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -offset if zone[0] == "-" else offset

"""How long a host must be left alone. Pure: times are arguments."""

from datetime import UTC
from email.utils import parsedate_to_datetime

import msgspec

FIRST_BACKOFF = 5.0
MAX_BACKOFF = 600.0
MAX_RETRY_AFTER = 7 * 86_400.0
UNREACHABLE_AFTER = 5  # failures in a row after which a host is given up for this run


class DelayLimits(msgspec.Struct, frozen=True):
    """The part of the settings that politeness needs."""

    delay: float  # least seconds between the end of a response and the next request
    factor: float  # the delay is also this multiple of the last response time …
    longest: float  # … but not more than this
    longest_crawl_delay: float


def delay_after(elapsed: float, limits: DelayLimits, *, fixed: float | None, crawl_delay: float | None) -> float:
    """Seconds to wait after a response that took `elapsed`.

    `fixed` is a person's --delay: it replaces the adaptive part, never what robots.txt asks for.
    """
    if fixed is not None:
        wait = fixed
    else:
        wait = min(max(limits.delay, limits.factor * elapsed), max(limits.longest, limits.delay))
    if crawl_delay is not None:
        wait = max(wait, min(crawl_delay, limits.longest_crawl_delay))
    return wait


def backoff(failures: int) -> float:
    """Seconds to leave a host alone after `failures` refusals (429, 503) or broken connections in a row."""
    return min(FIRST_BACKOFF * 2.0 ** max(0, failures - 1), MAX_BACKOFF)


def retry_after(header: str, now: float) -> float | None:
    """Seconds a Retry-After header asks for, at most a week; None when absent or unreadable."""
    header = header.strip()
    if not header:
        return None
    if header.isascii() and header.isdigit():
        seconds = float(header[:9])
    else:
        try:
            moment = parsedate_to_datetime(header)
        except (TypeError, ValueError, IndexError, OverflowError):
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = moment.timestamp() - now
    return min(max(seconds, 0.0), MAX_RETRY_AFTER)

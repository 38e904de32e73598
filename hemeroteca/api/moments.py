"""Milliseconds of the spine as moments for people and programs."""

from datetime import UTC, datetime


def moment(ms: int) -> datetime | None:
    """A UTC time; None for 0, which means never, and for what no calendar holds."""
    if not ms:
        return None
    try:
        return datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return None

"""What the planner has learned, kept in a file between runs.

The observations in the database are the truth; the file saves replaying them. It says up to which observation it has
learned, so that the few made since are replayed at a start. The worker writes a planner learned anew beside it
(`FRESH`), and the engine takes that over.
"""

import os
from datetime import UTC, date, datetime
from pathlib import Path

import msgspec

from hemeroteca.predict import Planner
from hemeroteca.watch.values import HOUR_MS

FILE = "planner.state"
FRESH = "planner.fresh"

# Planner time: hours since a Monday's midnight not long ago, for its times of a page have 24 bits.
ORIGIN = date(2024, 1, 1)
_ORIGIN_MS = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp() * 1000)


class _Kept(msgspec.Struct):
    observation: int
    planner: bytes


def hour(ms: float) -> float:
    """A time of the spine as planner time."""
    return (ms - _ORIGIN_MS) / HOUR_MS


def load(path: Path) -> tuple[Planner, int] | None:
    """The planner and the number of the last observation it knows; None when there is no usable file."""
    try:
        kept = msgspec.msgpack.decode(path.read_bytes(), type=_Kept)
        return Planner.loads(kept.planner), kept.observation
    except FileNotFoundError:
        return None
    except Exception:  # a cut, foreign or older file: the observations are all there to learn from again
        return None


def save(path: Path, planner: Planner, observation: int) -> None:
    """Replace the file at once, readable by its owner only."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.msgpack.encode(_Kept(observation, planner.dumps())))
    os.replace(draft, path)

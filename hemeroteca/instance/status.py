"""What the engine tells about itself while it runs: figures in `engine.json`, written anew a few times a second."""

import os
import time
from pathlib import Path

import msgspec

from hemeroteca.instance.folder import Instance

STALE_MS = 5_000  # an engine that has not written for longer is not running


class Trouble(msgspec.Struct):
    """Something that went wrong, for people."""

    at_ms: int
    url: str
    reason: str


class EngineStatus(msgspec.Struct):
    """Live figures of the engine."""

    pid: int
    started_ms: int
    updated_ms: int
    pages_per_second: float = 0.0
    active: int = 0  # requests under way
    reading: int = 0  # captures in the ingest processes
    queued: int = 0
    crawls: list[int] = []
    rss_bytes: int = 0
    cpu_seconds: float = 0.0
    troubles: list[Trouble] = []


def write_engine_status(instance: Instance, figures: EngineStatus | None) -> None:
    """Replace the live figures at once; None when the engine ends."""
    path = _path(instance)
    if figures is None:
        path.unlink(missing_ok=True)
        return
    draft = path.with_suffix(".new")
    draft.write_bytes(msgspec.json.encode(figures))
    os.replace(draft, path)


def read_engine_status(instance: Instance) -> EngineStatus | None:
    """The live figures; None when no engine is at work."""
    try:
        figures = msgspec.json.decode(_path(instance).read_bytes(), type=EngineStatus)
    except (OSError, msgspec.MsgspecError):
        return None
    return figures if time.time() * 1000 - figures.updated_ms < STALE_MS else None


def _path(instance: Instance) -> Path:
    return instance.data / "engine.json"

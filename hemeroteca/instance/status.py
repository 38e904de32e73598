"""What the engine tells about itself while it runs: figures in `engine.json`, written anew a few times a second."""

import logging
import os
import time
from pathlib import Path

import msgspec

from hemeroteca.instance.folder import Instance

log = logging.getLogger("hemeroteca.engine")

STALE_MS = 5_000  # an engine that has not written for longer is not running
MAX_SET_ASIDE = 200


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
    try:
        draft.write_bytes(msgspec.json.encode(figures))
        os.replace(draft, path)
    except OSError:  # a full disk is told by who cannot keep a capture
        draft.unlink(missing_ok=True)


def read_engine_status(instance: Instance) -> EngineStatus | None:
    """The live figures; None when no engine is at work."""
    try:
        figures = msgspec.json.decode(_path(instance).read_bytes(), type=EngineStatus)
    except (OSError, msgspec.MsgspecError):
        return None
    fresh = time.time() * 1000 - figures.updated_ms < STALE_MS
    return figures if fresh and _lives(figures.pid) else None


def _lives(pid: int) -> bool:
    """Whether a process has not been killed since it wrote."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another person's
        pass
    return True


def ended_badly(instance: Instance) -> bool:
    """Whether the last engine was killed: it did not take its figures away. Before this one writes its own."""
    return _path(instance).exists()


def set_aside(instance: Instance, what: str, error: Exception) -> None:
    """Note a record, page or row that cannot be read, so that the rest goes on without it and `status` shows it."""
    reason = f"{type(error).__name__}: {error}"[:500]
    log.error("%s was set aside: %s", what[:500], reason)
    kept = {trouble.url: trouble for trouble in read_set_aside(instance) if trouble.url != what[:500]}
    kept[what[:500]] = Trouble(time.time_ns() // 1_000_000, what[:500], reason)
    draft = instance.data / "set_aside.new"
    draft.write_bytes(msgspec.json.encode(list(kept.values())[-MAX_SET_ASIDE:]))
    os.replace(draft, instance.data / "set_aside.json")


def read_set_aside(instance: Instance) -> list[Trouble]:
    """What could not be read, oldest first."""
    try:
        return msgspec.json.decode((instance.data / "set_aside.json").read_bytes(), type=list[Trouble])
    except (OSError, msgspec.MsgspecError):
        return []


def _path(instance: Instance) -> Path:
    return instance.data / "engine.json"

"""All a planner has learned as one block of bytes, and back."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .neighbours import Companions, Sections

if TYPE_CHECKING:
    from .planner import Planner

FORMAT = 3


def write(planner: Planner) -> bytes:
    out = io.BytesIO()
    evidence, reserves = planner.evidence, planner.reserves
    alone = {"pace": reserves.pace, "clock": planner.clock, "changes": evidence.changes, "days": evidence.days}
    alone |= {"sensors": reserves.sensors, "sensed": reserves.sensed, "today": float(reserves.visits_today)}
    alone |= {"min_gap": float(planner.min_gap), "weekday": planner.profiles.first_weekday}
    alone |= {"day": planner.sections.day}
    facts = {"format": FORMAT, "numbers": alone, "index": planner.index.facts(), "sources": planner.signals.names}
    arrays = {name: getattr(part, attribute) for name, (part, attribute) in _arrays(planner).items()}
    np.savez(out, facts=np.frombuffer(json.dumps(facts).encode(), np.uint8), allow_pickle=False, **arrays)
    return out.getvalue()


def read(data: bytes, make: Callable[..., Planner]) -> Planner:
    """What `write` wrote, in a planner that `make` makes."""
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        facts = json.loads(stored["facts"].tobytes())
        if facts.get("format") != FORMAT:
            raise ValueError(
                f"planner state of format {facts.get('format')}, not {FORMAT}; discard it and replay the history"
            )
        alone = facts["numbers"]
        planner = make(first_weekday=int(alone["weekday"]), min_gap_hours=float(alone["min_gap"]) * 24)
        evidence, reserves = planner.evidence, planner.reserves
        reserves.pace, planner.clock = float(alone["pace"]), float(alone["clock"])
        reserves.sensors, reserves.sensed = float(alone["sensors"]), float(alone["sensed"])
        reserves.visits_today = int(alone["today"])
        evidence.changes, evidence.days = float(alone["changes"]), float(alone["days"])
        planner.sections.day = int(alone["day"])
        planner.index.restore(facts["index"])
        planner.signals.names = list(facts["sources"])
        for name, (part, attribute) in _arrays(planner).items():
            setattr(part, attribute, stored[name])
    planner.index.refresh()
    return planner


def size(planner: Planner) -> int:
    """Bytes of its arrays."""
    return sum(getattr(part, attribute).nbytes for part, attribute in _arrays(planner).values())


def _arrays(planner: Planner) -> dict[str, tuple[object, str]]:
    """Which arrays make up the state, by the names they have in the bytes, and where they live."""
    pages = planner.pages
    parts: dict[str, tuple[object, str]] = {
        "planner._pages": (pages, "rows"),
        "planner._count": (pages, "count"),
        "planner._exposure": (pages, "exposure"),
        "planner._in": (pages, "inside"),
    }
    kept: list[tuple[str, object, tuple[str, ...]]] = [
        ("sections", planner.sections, Sections.ARRAYS),
        ("companions", planner.companions, Companions.ARRAYS),
        ("profiles", planner.profiles, ("found", "promised")),
        ("signals", planner.signals, ("right", "owed", "asked", "announced", "happened", "speaks")),
        ("hazard", planner.hazard, ("weights", "curvature")),
        ("index", planner.index, ("members", "parent")),
    ]
    for where, part, names in kept:
        parts |= {f"{where}.{name}": (part, name) for name in names}
    return parts

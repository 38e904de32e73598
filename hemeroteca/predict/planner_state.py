"""All that a planner has learned: of every page, their neighbours, the week, the sources of signals. As one block of
bytes, and back."""

from __future__ import annotations

import io
import json

import numpy as np

from .evidence import EVIDENCE, Evidence
from .hazard import Hazard
from .neighbours import Companions, Sections
from .page_table import PageTable
from .paths import SectionIndex
from .profile import Profiles
from .reserves import Reserves
from .source_trust import SourceTrust

FORMAT = 3
COMPANIONS = 8  # of a page


class PlannerState:
    def __init__(self, first_weekday: int, min_gap_hours: float) -> None:
        self.min_gap = np.float32(min_gap_hours / 24.0)
        self.clock = 0.0  # day of the last call
        self.index = SectionIndex()
        self.sections = Sections()
        self.companions = Companions(0, COMPANIONS)
        self.profiles = Profiles(0, first_weekday)
        self.signals = SourceTrust()
        start = np.array([weight for _, weight, _ in EVIDENCE])
        self.hazard = Hazard(start, np.array([firmness for _, _, firmness in EVIDENCE]))
        self.pages = PageTable()
        self.evidence = Evidence(self.pages, self.index, self.sections, self.companions, self.profiles)
        self.reserves = Reserves(self.pages, self.index, self.sections, self.signals)

    def dumps(self) -> bytes:
        out = io.BytesIO()
        evidence, reserves = self.evidence, self.reserves
        alone = {"pace": reserves.pace, "clock": self.clock, "changes": evidence.changes, "days": evidence.days}
        alone |= {"sensors": reserves.sensors, "sensed": reserves.sensed, "today": float(reserves.visits_today)}
        alone |= {"min_gap": float(self.min_gap), "weekday": self.profiles.first_weekday}
        alone |= {"day": self.sections.day}
        facts = {"format": FORMAT, "numbers": alone, "index": self.index.facts(), "sources": self.signals.names}
        arrays = {name: getattr(part, attribute) for name, (part, attribute) in self._arrays().items()}
        np.savez(out, facts=np.frombuffer(json.dumps(facts).encode(), np.uint8), allow_pickle=False, **arrays)
        return out.getvalue()

    @classmethod
    def loads(cls, data: bytes) -> PlannerState:
        """What `dumps` wrote."""
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            facts = json.loads(stored["facts"].tobytes())
            if facts.get("format") != FORMAT:
                raise ValueError(
                    f"planner state of format {facts.get('format')}, not {FORMAT}; discard it and replay the history"
                )
            alone = facts["numbers"]
            state = cls(int(alone["weekday"]), float(alone["min_gap"]) * 24)
            evidence, reserves = state.evidence, state.reserves
            reserves.pace, state.clock = float(alone["pace"]), float(alone["clock"])
            reserves.sensors, reserves.sensed = float(alone["sensors"]), float(alone["sensed"])
            reserves.visits_today = int(alone["today"])
            evidence.changes, evidence.days = float(alone["changes"]), float(alone["days"])
            state.sections.day = int(alone["day"])
            state.index.restore(facts["index"])
            state.signals.names = list(facts["sources"])
            for name, (part, attribute) in state._arrays().items():
                setattr(part, attribute, stored[name])
        state.index.refresh()
        return state

    @property
    def size(self) -> int:
        """Bytes in memory."""
        arrays = sum(getattr(part, attribute).nbytes for part, attribute in self._arrays().values())
        return int(arrays) + self.pages.index_bytes

    def _arrays(self) -> dict[str, tuple[object, str]]:
        """Which arrays make up the state, by the names they have in the bytes, and where they live."""
        pages = self.pages
        parts: dict[str, tuple[object, str]] = {
            "planner._pages": (pages, "rows"),
            "planner._count": (pages, "count"),
            "planner._exposure": (pages, "exposure"),
            "planner._in": (pages, "inside"),
        }
        kept: list[tuple[str, object, tuple[str, ...]]] = [
            ("sections", self.sections, Sections.ARRAYS),
            ("companions", self.companions, Companions.ARRAYS),
            ("profiles", self.profiles, ("found", "promised")),
            ("signals", self.signals, ("right", "owed", "asked", "announced", "happened", "speaks")),
            ("hazard", self.hazard, ("weights", "curvature")),
            ("index", self.index, ("members", "parent")),
        ]
        for where, part, names in kept:
            parts |= {f"{where}.{name}": (part, name) for name in names}
        return parts

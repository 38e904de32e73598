"""Why the planner would visit a page: the strongest of what speaks for it, as a code and its values.

`Reason` can be said in any language: `SENTENCES` are the English ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .evidence import AT
from .page_table import NEVER, Floats
from .paths import LEVELS, PATHS

if TYPE_CHECKING:
    from .planner_state import PlannerState

Value = str | int | float


@dataclass(frozen=True, slots=True)
class Reason:
    """`code` is one of SENTENCES; `values` fill its places. Pages are named by key, sections by name."""

    code: str
    values: dict[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        return fill(SENTENCES[self.code], self.values)

    def kept(self) -> dict[str, Value]:
        """As it is kept in a table and read again by whoever says it in words."""
        return {"code": self.code, **self.values}


# The English sentences, for the command line and as the translators' source.
SENTENCES: dict[str, str] = {
    "signal": "visited because {source} announced a change (it was right {precision} of the time)",
    "neighbours": "visited because {changed} of {visited} pages of {section} changed today",
    "neighbour": "visited because a page of {section} changed today",
    "section": "visited because {section} has changed {times} times as much as usual since the last visit",
    "companion": "visited because {page} changed and they often change together",
    "burst": "visited because it changed {changes} times in the last {days}",
    "habit": "visited because it changes about every {days} and was last seen {ago} ago",
    "calendar": "visited because this is a time of the week at which its site changes",
    "new": "visited because it is new; pages of {section} change about every {days}",
    "overdue": "visited because it has not been seen for {ago}, the longest gap allowed",
    "sensor": "visited because no page of {section} has been seen for {ago}",
    "waiting": "visited because it has not been seen for {ago}",
}

# Words of each language for one and for several: days, hours, visits.
_UNITS = {
    "day": {"en": ("day", "days"), "es": ("día", "días")},
    "hour": {"en": ("hour", "hours"), "es": ("hora", "horas")},
    "visit": {"en": ("visit", "visits"), "es": ("visita", "visitas")},
}


def fill(sentence: str, values: Mapping[str, object], language: str = "en") -> str:
    """Put values into a sentence as people say them: durations with their unit, shares in per cent."""
    return sentence.format(**{name: _said(name, value, language) for name, value in values.items()})


def _said(name: str, value: object, language: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    units = {unit: words.get(language, words["en"]) for unit, words in _UNITS.items()}
    if name in ("days", "ago"):  # in days
        return _counted(value * 24, units["hour"], language) if value < 1 else _counted(value, units["day"], language)
    if name == "hours":
        return _counted(value / 24, units["day"], language) if value >= 48 else _counted(value, units["hour"], language)
    if name == "failures":
        return _counted(value, units["visit"], language)
    return f"{value:.0%}" if name == "precision" else _number(value, language)


def _counted(value: float, unit: tuple[str, str], language: str) -> str:
    number = _number(value if value < 10 else round(value), language)
    return f"{number} {unit[0] if number == '1' else unit[1]}"


def _number(value: float, language: str) -> str:
    text = f"{round(value, 1):g}" if abs(value) < 10_000 else f"{value:.0f}"
    return text.replace(".", ",") if language == "es" else text


def explain(state: PlannerState, key: int, day: float) -> Reason:
    """The strongest reason to visit this page now."""
    slot = state.pages.find([key])
    x, gap, _ = state.evidence.of(slot, day)
    page, push = state.pages.rows[slot[0]], state.hazard.weights * x[0]
    ago = round(float(gap[0]), 1)
    if page["told"]:
        source, precision = state.signals.best(int(page["site"]), int(page["told"]))
        return Reason("signal", {"source": source, "precision": precision})
    if state.reserves.overdue(np.array([float(gap[0])]), np.array([float(page["max_gap"])]))[0] > 1:
        return Reason("overdue", {"ago": ago})
    reasons: list[tuple[float, Reason]] = [(0.1, Reason("waiting", {"ago": ago}))]
    around_it = _sections(state, slot[0], x[0], push)
    reasons.append(around_it)
    # Several neighbours seen today tell a person more than one companion that is mostly among them.
    fewer = 0.5 if around_it[1].code == "neighbours" else 1.0
    reasons.append((fewer * float(push[AT["companions"]]), _companion(state, slot[0])))
    reasons.append((float(push[AT["week"]]) if x[0, AT["week"]] > 0 else 0.0, Reason("calendar")))
    recent = float(state.pages.count[slot[0], 1])
    if recent > 1.2:
        burst = float(push[AT["habit-30d"] : AT["habit-2d"] + 1].sum())
        reasons.append((burst, Reason("burst", {"changes": max(2, round(recent)), "days": 14})))
    habit = float(push[AT["habit-ever"] : AT["habit-150d"] + 1].sum())
    rate = float(state.evidence.rate(slot)[0])
    around = state.index.effective[state.pages.inside[slot[0], :PATHS]]
    narrow = int(around[np.flatnonzero(around)[-1]]) if around.any() else 0
    unseen = round(day - float(state.sections.sensed[narrow]), 1)
    if narrow and unseen >= 1:
        reasons.append((0.12, Reason("sensor", {"section": state.index.name(narrow), "ago": unseen})))
    if not page["visited"]:
        reasons.append((0.2, Reason("new", {"section": state.index.name(narrow), "days": round(1 / rate, 1)})))
    elif page["change_to"] > NEVER:
        reasons.append((max(habit, 0.15), Reason("habit", {"days": round(1 / rate, 1), "ago": ago})))
    return max(reasons, key=lambda r: r[0])[1]


def _sections(state: PlannerState, slot: int, x: Floats, push: NDArray[np.float64]) -> tuple[float, Reason]:
    levels = push[AT["section-0"] : AT["section-0"] + LEVELS]
    level = int(np.flatnonzero(levels >= 0.5 * levels.max())[-1])  # the narrowest that says about as much
    section = int(state.pages.inside[slot, level])
    name = state.index.name(section)
    strength = float(np.maximum(levels, 0).sum())
    changed, visited = int(state.sections.today_changes[section]), int(state.sections.today_visits[section])
    if section and changed and visited == 1:
        return strength, Reason("neighbour", {"section": name})
    if section and changed:
        return strength, Reason("neighbours", {"changed": changed, "visited": visited, "section": name})
    times = round(float(np.exp(x[AT["section-0"] + level])), 1)
    return strength if section else 0.0, Reason("section", {"section": name, "times": times})


def _companion(state: PlannerState, slot: int) -> Reason:
    others = state.companions.page[slot]
    recent = np.where(others >= 0, state.pages.rows["change_to"][others], NEVER)
    strong = np.where(recent > state.pages.rows["last"][slot], state.companions.bond[slot], -1)
    values: dict[str, Value] = {"page": int(state.pages.rows["key"][others[int(np.argmax(strong))]])}
    return Reason("companion", values)

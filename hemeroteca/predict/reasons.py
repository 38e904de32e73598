"""Why a page is visited: a code and its values, so that any reader can be told in their own language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Value = str | int | float


@dataclass(frozen=True, slots=True)
class Reason:
    """`code` is one of SENTENCES; `values` fill its places. Pages are named by key, sections by name."""

    code: str
    values: dict[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        return fill(SENTENCES[self.code], self.values)


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
    "en": {
        "day": ("day", "days"),
        "hour": ("hour", "hours"),
        "visit": ("visit", "visits"),
        "time": ("once", "times"),
    },
    "es": {
        "day": ("día", "días"),
        "hour": ("hora", "horas"),
        "visit": ("visita", "visitas"),
        "time": ("una vez", "veces"),
    },
}


def fill(sentence: str, values: Mapping[str, object], language: str = "en") -> str:
    """Put values into a sentence as people say them: durations with their unit, shares in per cent."""
    return sentence.format(**{name: _said(name, value, language) for name, value in values.items()})


def _said(name: str, value: object, language: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    units = _UNITS.get(language, _UNITS["en"])
    if name in ("days", "ago"):  # in days
        return _counted(value * 24, units["hour"], language) if value < 1 else _counted(value, units["day"], language)
    if name == "hours":
        return _counted(value / 24, units["day"], language) if value >= 48 else _counted(value, units["hour"], language)
    if name == "failures":
        return _counted(value, units["visit"], language)
    if name == "visits":
        return units["time"][0] if value == 1 else f"{value} {units['time'][1]}"
    return f"{value:.0%}" if name == "precision" else _number(value, language)


def _counted(value: float, unit: tuple[str, str], language: str) -> str:
    number = _number(value if value < 10 else round(value), language)
    return f"{number} {unit[0] if number == '1' else unit[1]}"


def _number(value: float, language: str) -> str:
    text = f"{round(value, 1):g}" if abs(value) < 10_000 else f"{value:.0f}"
    return text.replace(".", ",") if language == "es" else text

"""Why a page is visited: a code and its values, so that any reader can be told in their own language."""

from __future__ import annotations

from dataclasses import dataclass, field

Value = str | int | float


@dataclass(frozen=True, slots=True)
class Reason:
    """`code` is one of SENTENCES; `values` fill its places. Pages are named by key, sections by name."""

    code: str
    values: dict[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        return SENTENCES[self.code].format(**self.values)


# The English sentences, for the command line and as the translators' source.
SENTENCES: dict[str, str] = {
    "signal": "visited because {source} announced a change (it was right {precision:.0%} of the time)",
    "neighbours": "visited because {changed} of {visited} pages of {section} changed today",
    "section": "visited because {section} changes {times:.1f} times as much as usual since the last visit",
    "companion": "visited because {page} changed and they often change together",
    "burst": "visited because it changed {changes} times in the last {days} days",
    "habit": "visited because it changes about every {days} days and was last seen {ago} days ago",
    "calendar": "visited because this is a time of the week at which its site changes",
    "new": "visited because it is new; pages of {section} change about every {days} days",
    "overdue": "visited because it has not been seen for {ago} days, the longest gap allowed",
    "sensor": "visited because no page of {section} has been seen for {ago} days",
    "waiting": "visited because it has not been seen for {ago} days",
}

"""Times and days on a page that only say when it was visited: a clock, today's date, seconds since 1970.

No word has to name them. A time that stands as far from the moment of its visit as the earlier one stood from that of
the visit before, by what can be a time zone, is a clock, in whatever language; so is a date that was the day of both
visits. That is known at the second visit. Departures, opening hours, events and prices stay: they would have to move
exactly as the visits did.
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, partial

from hemeroteca.change import noise

SLACK = 3  # minutes between what a clock says and the moment of the visit
ZONES = tuple(range(-12 * 60, 14 * 60 + 1, 15))  # minutes
MAX_TOLD = 6  # differing lines with a time or date; more are a timetable, where some agree with anything
MAX_LINE = 300  # characters; longer ones are prose
MONTHS = {  # by their first letters, in the languages of `noise`
    name: number
    for names, number in {
        "jan ene gen jän": 1,
        "feb fév fev": 2,
        "mar mär": 3,
        "apr abr avr": 4,
        "may mai mag": 5,
        "jun juin giu": 6,
        "jul juil lug": 7,
        "aug ago aoû aou": 8,
        "sep set": 9,
        "oct okt out ott": 10,
        "nov": 11,
        "dec dic déc dez des": 12,
    }.items()
    for name in names.split()
}

_DIGITS = re.compile(r"\d")
_TIME = re.compile(
    r"(?<![\d:.,])([01]?\d|2[0-3])(?:[:h.]| h )([0-5]\d)(?::[0-5]\d(?:[.,]\d{1,6})?)?(?! ?[€$%£])(?![\d:])"
    r"(?: ?([ap])\.? ?m\b\.?)?",
    re.I,
)
_DAY = re.compile(noise.DATE, re.I)
_SECONDS = re.compile(r"(?<![\d.,])1[5-9]\d{8}(?:\d{3})?(?![\d.,])")
KINDS = (_SECONDS, _DAY, _TIME)


def without(old: Sequence[str], old_ms: int, new: Sequence[str], new_ms: int) -> tuple[list[str], list[str]]:
    """The differing lines of two visits with what tells their moments replaced by a mark."""
    before, after = _Visit(old_ms, old), _Visit(new_ms, new)
    zones = before.zones & after.zones
    if not zones:
        return list(old), list(new)
    return [before.cleaned(line, zones) for line in old], [after.cleaned(line, zones) for line in new]


class _Visit:
    """A moment, and the zones (in minutes) in which one of the lines tells it."""

    def __init__(self, at_ms: int, lines: Sequence[str]) -> None:
        self.at = datetime.fromtimestamp(at_ms / 1000, UTC)
        self.zones: set[int] = set()
        count = 0
        for line in filter(_may_tell, lines):
            showing = [self._zones_showing(kind, match) for kind in KINDS for match in kind.finditer(line)]
            count += bool(showing)
            self.zones.update(*showing)
        if count > MAX_TOLD:
            self.zones = set()

    @cached_property
    def by_day(self) -> dict[date, list[int]]:
        """The zones in which it was each day."""
        found: dict[date, list[int]] = {}
        for zone in ZONES:
            found.setdefault((self.at + timedelta(minutes=zone)).date(), []).append(zone)
        return found

    def cleaned(self, line: str, zones: set[int]) -> str:
        if _may_tell(line):
            for kind in KINDS:
                line = kind.sub(partial(self._marked, zones, kind), line)
        return line

    def _marked(self, zones: set[int], kind: re.Pattern[str], match: re.Match[str]) -> str:
        return match[0] if zones.isdisjoint(self._zones_showing(kind, match)) else noise.MARK

    def _zones_showing(self, kind: re.Pattern[str], match: re.Match[str]) -> Sequence[int]:
        """The zones whose clock or calendar showed this at the visit."""
        if kind is _SECONDS:
            return ZONES if abs(int(match[0][:10]) - self.at.timestamp()) <= 60 * SLACK else ()
        if kind is _DAY:
            return [zone for day in _days(match[0], self.at.year) for zone in self.by_day.get(day, ())]
        hour, half = int(match[1]), (match[3] or "").lower()
        if half:
            hour = hour % 12 + 12 * (half == "p")
        elif "." in match[0][:3]:
            return ()  # 10.32 alone may be a price
        away = hour * 60 + int(match[2]) - (self.at.hour * 60 + self.at.minute)
        zone = round(away / 15) * 15
        return [zone + day for day in (-1440, 0, 1440)] if abs(away - zone) <= SLACK else ()


def _may_tell(line: str) -> bool:
    return len(line) <= MAX_LINE and _DIGITS.search(line) is not None


def _days(text: str, year: int) -> set[date]:
    """What a date may mean: of 3/4/2026 both ways, of one without its year this one, the last and the next."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    words = [MONTHS.get(word[:4]) or MONTHS.get(word[:3]) for word in re.findall(r"[^\W\d_]{3,}", text.lower())]
    months = [month for month in words if month]
    if months:
        years = [number for number in numbers if number > 31] or [year - 1, year, year + 1]
        meant = [(one, months[-1], numbers[0] if numbers[0] <= 31 else numbers[-1]) for one in years]
    elif len(numbers) == 3 and numbers[0] > 31:
        meant = [(numbers[0], numbers[1], numbers[2])]
    elif len(numbers) == 3:
        full = numbers[2] + 2000 if numbers[2] < 100 else numbers[2]
        meant = [(full, numbers[1], numbers[0]), (full, numbers[0], numbers[1])]
    else:
        return set()
    found = set()
    for parts in meant:
        try:
            found.add(date(*parts))
        except ValueError:
            continue
    return found

"""Visits that do not go to the likeliest change: overdue pages, sensors of quiet sections; and a limit for signals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .neighbours import Sections
from .page_table import Floats, PageTable
from .paths import SectionIndex
from .source_trust import SourceTrust

ROUNDS = 10  # longest gap, in rounds over all pages at the present pace …
RESERVE = 0.125  # … kept by this share of the visits when pages are overdue
SENSORS = 0.15  # share of the visits that look into sections nobody has looked into lately
DEMANDED = 0.5  # share of the visits that maximum intervals set by people may claim


class Reserves:
    def __init__(self, pages: PageTable, index: SectionIndex, sections: Sections, signals: SourceTrust) -> None:
        self._pages = pages
        self._index = index
        self._sections = sections
        self._signals = signals
        self.pace = 0.0  # visits per day
        self.sensors = 0.0  # sensor visits owed …
        self.sensed = 0.0  # … up to this day
        self.visits_today = 0

    def overdue(self, gap: NDArray[np.floating], max_gap: NDArray[np.floating]) -> NDArray[np.floating]:
        """Gap as a multiple of the longest allowed: a page's own maximum, else some rounds at the present pace."""
        longest = ROUNDS * max(len(self._pages), 1) / self.pace if self.pace > 0 else np.inf
        return gap / np.where(max_gap > 0, max_gap, longest)

    def apply(self, value: Floats, chance: Floats, day: float, budget: int) -> None:
        """Lift overdue pages above the rest, and hold announced ones down to the share their sources have earned."""
        open_ = value >= 0
        told = np.flatnonzero(open_ & (self._pages.rows["told"] > 0))
        spare = told.size - self._signals.allowance(budget)
        if spare > 0:
            worst = told[np.argpartition(value[told], spare - 1)[:spare]]
            page = self._pages.rows[worst]
            # Without the signal: as if nobody had said anything.
            excess = self._signals.doubt(page["site"], page["told"])
            unannounced = (1 - (1 - chance[worst]) / np.maximum(excess, 1e-6)).clip(0, 1)
            value[worst] *= unannounced / np.maximum(chance[worst], 1e-6)
        self._sense(value, day, budget)
        late = self.overdue(day - self._pages.rows["last"], self._pages.rows["max_gap"])
        for mine, share in ((self._pages.rows["max_gap"] > 0, DEMANDED), (self._pages.rows["max_gap"] <= 0, RESERVE)):
            waiting = np.flatnonzero(open_ & mine & (late >= 1 - 1e-3))
            count = min(waiting.size, int(np.ceil(budget * share)))
            if count:
                first = waiting[np.argpartition(-late[waiting], count - 1)[:count]]
                value[first] = 1000 + np.minimum(late[first], 1000)

    def turn(self, days: int) -> None:
        """A new day begins, so many after the last one."""
        passed = min(max(days, 1), 365)
        fresh = self.visits_today / passed
        keep = 0.0 if self.pace == 0 else 0.9**passed
        self.pace = self.pace * keep + fresh * (1 - keep)
        self.visits_today = 0

    def _sense(self, value: Floats, day: float, budget: int) -> None:
        """Lift one page of each large section that went unseen longest: quiet pages are the sensors of their section.

        Without them a section that never changed is hardly looked at, and the day it wakes up passes unnoticed.
        """
        pace = self.pace or budget
        self.sensors = min(self.sensors + SENSORS * pace * max(day - self.sensed, 0), max(pace, 1.0))
        self.sensed = day
        count = int(self.sensors)
        if count == 0 or len(self._index) < 2:
            return
        unseen = np.maximum(day - self._sections.sensed, 0)
        urgent = np.where((unseen >= 1) & (self._index.effective > 0), self._index.members * unseen, 0)
        chosen = np.argpartition(-urgent, min(count, urgent.size - 1))[:count]
        chosen = chosen[(urgent[chosen] > 0) & (self._index.members[chosen] >= 3)]
        wanted = np.zeros(len(self._index), bool)
        wanted[chosen] = True
        page, level = np.nonzero(wanted[self._pages.inside])
        page, level = page[value[page] >= 0], level[value[page] >= 0]
        section = self._pages.inside[page, level]
        best = np.lexsort((-value[page], section))
        _, first = np.unique(section[best], return_index=True)
        value[page[best[first]]] = 500
        self.sensors -= first.size

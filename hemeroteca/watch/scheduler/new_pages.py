"""Pages whose habits are still unknown, by the time of their next visit."""

import heapq
from collections.abc import Iterator

from hemeroteca.watch.scheduler.state import HOST_QUEUE, Allowed, State, Watched
from hemeroteca.watch.values import HOUR_MS

YOUNG = (24.0, 48.0, 96.0)  # hours until the first visits of a page nobody knows yet, where no budget decides


class NewPages:
    def __init__(self, state: State) -> None:
        self._state = state
        self._young: list[tuple[float, int]] = []  # a heap

    def watch(self, key: int, page: Watched) -> None:
        if page.visits <= len(YOUNG) and not self._state.subs[page.sub].purse.visits.per_day:
            heapq.heappush(self._young, (page.last_ms / 1000 + YOUNG[page.visits - 1] * 3600, key))

    def retry(self, key: int, page: Watched) -> None:
        """A first visit that brought no answer is made later."""
        if page.visits <= len(YOUNG) and not self._state.subs[page.sub].purse.visits.per_day:
            heapq.heappush(self._young, (page.retry_at, key))

    def due(self, now: float, allowed: Allowed) -> Iterator[int]:
        """Pages nobody knows yet: a few early visits, for a prior alone would leave a lively page alone for weeks."""
        postponed: list[int] = []
        while self._young and self._young[0][0] <= now and len(postponed) < HOST_QUEUE:
            _, key = heapq.heappop(self._young)
            page = self._state.pages.get(key)
            if page is None or page.visits > len(YOUNG) or now * 1000 - page.last_ms < YOUNG[0] * HOUR_MS / 2:
                continue  # gone, known by now, or just visited for another reason
            if not allowed(key, now):
                postponed.append(key)
                continue
            self._state.records.page_chosen(key, int(now * 1000), {"code": "young", "visits": page.visits})
            yield key
        for key in postponed:
            heapq.heappush(self._young, (now + 900, key))

    def turn_back(self, now: float) -> None:
        self._young = [(min(at, now + YOUNG[0] * 3600), key) for at, key in self._young]
        heapq.heapify(self._young)

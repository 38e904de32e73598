"""Visits the scheduler asked for that have not ended yet, by page and by host."""

from collections import Counter

OVERDUE = 120.0  # s a visit may wait before it is looked for


class UnderWay:
    def __init__(self) -> None:
        self._since: dict[int, float] = {}
        self._waiting: Counter[str] = Counter()  # the same by host

    def __contains__(self, key: int) -> bool:
        return key in self._since

    def start(self, key: int, site: str, now: float) -> None:
        if key not in self._since:
            self._waiting[site] += 1
        self._since[key] = now

    def end(self, key: int, site: str) -> bool:
        """Whether it was under way."""
        if self._since.pop(key, None) is None:
            return False
        self._waiting[site] -= 1
        if self._waiting[site] <= 0:
            del self._waiting[site]
        return True

    def at(self, site: str) -> int:
        """How many of a host."""
        return self._waiting[site]

    def overdue(self, now: float) -> list[int]:
        return [key for key, since in self._since.items() if now - since > OVERDUE]

    def turn_back(self, now: float) -> None:
        self._since = {key: min(since, now) for key, since in self._since.items()}

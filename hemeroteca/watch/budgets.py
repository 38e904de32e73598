"""Allowances that fill evenly over the day. Pure: time is an argument.

A bucket holds minutes' worth of a day's budget, so that what was saved up (a paused instance, a clock that jumped, a
site that was down) can never be spent at once.
"""

import msgspec

DAY = 86_400.0
HELD = 600.0  # seconds' worth of the budget that can be saved up …
LEAST = 1.0  # … but always one visit


class Bucket(msgspec.Struct):
    """`per_day` 0: no limit. What is spent may exceed what is held; the bucket is then closed until it is paid back."""

    per_day: float = 0.0
    held: float = 0.0
    at: float = 0.0

    def fill(self, now: float) -> None:
        """Follow the clock; a step backwards gives nothing and takes nothing."""
        if self.at and self.per_day:
            grown = max(0.0, now - self.at) * self.per_day / DAY
            self.held = min(self.held + grown, self._most())
        self.at = now

    def resize(self, per_day: float) -> None:
        """What is owed under a larger budget is at most a day of the smaller one."""
        self.per_day = per_day
        self.held = max(min(self.held, self._most()), -per_day)

    @property
    def open(self) -> bool:
        return not self.per_day or self.held > 0

    @property
    def whole(self) -> float:
        """Visits that may be made now."""
        return self.held if self.per_day else float("inf")

    def opens(self, least: float) -> float:
        """Seconds until it holds `least`."""
        return max(least - self.held, 0.0) * DAY / self.per_day if self.per_day else 0.0

    def spend(self, amount: float) -> None:
        if self.per_day:
            self.held = max(self.held - amount, -self.per_day)  # at most a day of closure

    def _most(self) -> float:
        return max(self.per_day * HELD / DAY, LEAST)


class Purse(msgspec.Struct):
    """Visits and bytes of one site, subscription, collection or the instance."""

    visits: Bucket = msgspec.field(default_factory=Bucket)
    bytes: Bucket = msgspec.field(default_factory=Bucket)

    def resize(self, visits_per_day: float, bytes_per_day: float) -> None:
        self.visits.resize(visits_per_day)
        self.bytes.resize(bytes_per_day)

    def fill(self, now: float) -> None:
        self.visits.fill(now)
        self.bytes.fill(now)

    @property
    def open(self) -> bool:
        """Whether a whole visit may be made."""
        return (not self.visits.per_day or self.visits.held >= LEAST) and self.bytes.open

    @property
    def opens(self) -> float:
        """Seconds until a whole visit may be made."""
        return max(self.visits.opens(LEAST), self.bytes.opens(0.0))

    @property
    def limited(self) -> bool:
        return bool(self.visits.per_day or self.bytes.per_day)

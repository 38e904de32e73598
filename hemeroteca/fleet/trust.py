"""How far a device is believed. Pure: the numbers come in, a decision goes out, randomness is an argument.

A device earns trust per version of its worker: the valid results it gave in a row (CV), counting only those that
somebody else checked. One invalid result takes all of it away.
"""

from enum import StrEnum

import msgspec

SURE_AFTER = 10  # valid results in a row from which on a single answer may do
LEAST_AUDITED = 0.05  # share of all answers that the engine, or a device the operator trusts, always checks
MAX_AUDITED = 0.8  # … in a fleet that begins: who lies seldom is found early, while little is at stake …
BEGINNING_RESULTS = 80  # … half of that is gone after so many results per device …
ALARM_STEP = 0.05  # … and each believed device that is caught later adds so much for a while: liars seldom come alone
ALARM_RESULTS = 50
SLOWED_SECONDS = 86_400.0  # a device that failed gets one block in so many seconds, until it is believed again


class Check(StrEnum):
    """Who must confirm an answer before it counts."""

    NONE = "none"
    PEER = "peer"  # another owner's device on another network; the engine where there is none
    AUDIT = "audit"  # the engine, or a device the operator trusts


class Standing(msgspec.Struct, frozen=True):
    """Of a device with one version of its worker."""

    in_a_row: int = 0  # CV: checked results that were valid, since the last that was not
    valid: int = 0
    invalid: int = 0
    slowed: bool = False

    @property
    def is_sure(self) -> bool:
        return self.in_a_row >= SURE_AFTER

    def confirmed(self) -> "Standing":
        """A result of it was checked, and is valid."""
        in_a_row = self.in_a_row + 1
        slowed = self.slowed and in_a_row < SURE_AFTER
        return Standing(in_a_row, self.valid + 1, self.invalid, slowed)

    def refuted(self) -> "Standing":
        """A result of it is invalid: it begins anew and is slowed, not banned."""
        return Standing(0, self.valid, self.invalid + 1, slowed=True)


class Alarm:
    """The share of answers that is audited: at least `LEAST_AUDITED`, more for a while after a believed device lied."""

    def __init__(self) -> None:
        self._begins = MAX_AUDITED - LEAST_AUDITED
        self._more = 0.0

    @property
    def audited(self) -> float:
        return min(MAX_AUDITED, LEAST_AUDITED + self._begins + self._more)

    def caught(self) -> None:
        """A device that was believed gave a wrong result."""
        self._more = min(MAX_AUDITED, self._more + ALARM_STEP)

    def calm(self, devices: int) -> None:
        """One more result was judged, in a fleet of so many devices."""
        self._begins *= 0.5 ** (1 / (BEGINNING_RESULTS * max(1, devices)))
        self._more *= 0.5 ** (1 / (ALARM_RESULTS * max(1, devices)))


def check_for(standing: Standing, draw: float, audited: float = LEAST_AUDITED) -> Check:
    """Who checks the next result of a device; `draw` is uniform in [0, 1), `audited` as the alarm says.

    Decided when the result is there, never before: no device can know which of its answers are looked at.
    """
    if draw < audited:
        return Check.AUDIT
    if not standing.is_sure:
        return Check.PEER
    rest = (draw - audited) / (1 - audited)
    return Check.PEER if rest < 1 / standing.in_a_row else Check.NONE


def share_checked(standing: Standing) -> float:
    """The chance that a result is checked at all."""
    if not standing.is_sure:
        return 1.0
    return LEAST_AUDITED + (1 - LEAST_AUDITED) / standing.in_a_row

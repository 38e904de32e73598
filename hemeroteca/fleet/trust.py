"""How far a device is believed. Pure: the numbers come in, a decision goes out, randomness is an argument.

A device earns trust per version of its worker: the valid results it gave in a row (CV), counting only those that
somebody else checked. One invalid result takes all of it away, and what nobody confirmed is withdrawn, as far back as
`SEALED_AFTER` checks.
"""

from enum import StrEnum

import msgspec

SURE_AFTER = 10  # valid results in a row from which on a single answer may do
MIN_AUDITED = 0.05  # share of all answers that the engine, or a device the operator trusts, always checks
FULL_TRUST = 50  # valid results in a row that bring no further trust: one in so many is always compared with a peer's
SEALED_AFTER = 40  # checks a device passed after a result, from which on that result stands (decision 0078)
SLOWED_SECONDS = 86_400.0  # a device that failed gets one block in so many seconds, until it is believed again


class Check(StrEnum):
    """Who must confirm an answer before it counts."""

    NONE = "none"
    PEER = "peer"  # another owner's device on another network; the engine where there is none
    AUDIT = "audit"  # the engine, or a device the operator trusts


class Reputation(msgspec.Struct, frozen=True):
    """Of a device with one version of its worker."""

    in_a_row: int = 0  # CV: checked results that were valid, since the last that was not
    valid: int = 0
    invalid: int = 0
    slowed: bool = False

    @property
    def is_sure(self) -> bool:
        return self.in_a_row >= SURE_AFTER

    def confirmed(self, old: bool = False) -> "Reputation":
        """A result of it was checked, and is valid. `old`: it took that work before it was caught, and that earns no
        trust; else a liar would be believed again by what it still has in hand."""
        in_a_row = self.in_a_row + (not old)
        slowed = self.slowed and in_a_row < SURE_AFTER
        return Reputation(in_a_row, self.valid + 1, self.invalid, slowed)

    def refuted(self) -> "Reputation":
        """A result of it is invalid: it begins anew and is slowed, not banned."""
        return Reputation(0, self.valid, self.invalid + 1, slowed=True)


def check_for(reputation: Reputation, draw: float) -> Check:
    """Who checks the next result of a device; `draw` is uniform in [0, 1).

    Decided when the result is there, never before: no device can know which of its answers are looked at.
    """
    if draw < MIN_AUDITED:
        return Check.AUDIT
    if not reputation.is_sure:
        return Check.PEER
    rest = (draw - MIN_AUDITED) / (1 - MIN_AUDITED)
    return Check.PEER if rest < 1 / min(reputation.in_a_row, FULL_TRUST) else Check.NONE


def share_checked(reputation: Reputation) -> float:
    """The chance that a result is checked at all."""
    if not reputation.is_sure:
        return 1.0
    return MIN_AUDITED + (1 - MIN_AUDITED) / min(reputation.in_a_row, FULL_TRUST)

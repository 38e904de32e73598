"""The ledger: credits in double entry. Every transfer sums to zero and happens once; nothing but `issued` is negative.

Amounts are thousandths of a credit, whole numbers. A client pays per resolved request: 70 % to the devices whose
answers were validated, in equal parts, 30 % to the operator. An answer that no device gave pays the operator alone.
"""

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import F, Sum

from hemeroteca.errors import Conflict
from hemeroteca.fleet.models import Account, Entry, Transfer

Kind = Account.Kind
UNIT = 1000  # thousandths in a credit


class Side(NamedTuple):
    """What a transfer does to one account."""

    kind: Kind
    number: int
    amount: int


def split(price: int, device_percent: int, devices: Sequence[int]) -> list[Side]:
    """Who gets a price. What cannot be divided goes to the first devices, a thousandth each."""
    if not devices:
        return [Side(Kind.OPERATOR, 0, price)] if price else []
    theirs = price * device_percent // 100
    each, rest = divmod(theirs, len(devices))
    sides = [Side(Kind.DEVICE, device, each + (place < rest)) for place, device in enumerate(devices)]
    sides.append(Side(Kind.OPERATOR, 0, price - theirs))
    return [side for side in sides if side.amount]


def transfer(reason: str, sides: Iterable[Side]) -> bool:
    """Move credits. The same reason again does nothing and gives False."""
    return bool(transfer_all([(reason, list(sides))]))


def transfer_all(wanted: Sequence[tuple[str, list[Side]]]) -> int:
    """Several transfers in one transaction; gives how many were new."""
    wanted = [(reason, sides) for reason, sides in wanted if sides]
    for reason, sides in wanted:
        assert not sum(side.amount for side in sides), f"{reason} does not sum to zero"
    if not wanted:
        return 0
    now = time.time_ns() // 1_000_000
    try:
        with transaction.atomic():
            known = set(Transfer.objects.filter(reason__in=[r for r, _ in wanted]).values_list("reason", flat=True))
            new = {reason: sides for reason, sides in wanted if reason not in known}
            if not new:
                return 0
            accounts = _accounts({(side.kind, side.number) for sides in new.values() for side in sides})
            made = Transfer.objects.bulk_create([Transfer(reason=reason, at_ms=now) for reason in new])
            entries, sums = [], dict.fromkeys(accounts.values(), 0)
            for row in made:
                for side in new[row.reason]:
                    account = accounts[side.kind, side.number]
                    entries.append(Entry(transfer=row, account_id=account, amount=side.amount))
                    sums[account] += side.amount
            Entry.objects.bulk_create(entries)
            for account, amount in sorted(sums.items()):  # in one order: two web processes never wait for each other
                Account.objects.filter(pk=account).update(balance=F("balance") + amount)
            return len(new)
    except IntegrityError:
        raise Conflict(
            "there are not enough credits for this; ask the operator for more (`hemeroteca fleet credits --give`)",
            "no-credits",
        )


def balance(kind: Kind, number: int = 0) -> int:
    found = Account.objects.filter(kind=kind, number=number).values_list("balance", flat=True).first()
    return found or 0


def issue(client: int, amount: int, reason: str) -> None:
    """Give a client credits of the operator's making."""
    transfer(reason, [Side(Kind.ISSUED, 0, -amount), Side(Kind.CLIENT, client, amount)])


def total() -> int:
    """Of all accounts and of all entries: always zero."""
    accounts = Account.objects.aggregate(sum=Sum("balance"))["sum"] or 0
    entries = Entry.objects.aggregate(sum=Sum("amount"))["sum"] or 0
    return abs(accounts) + abs(entries)


def _accounts(wanted: set[tuple[Kind, int]]) -> dict[tuple[Kind, int], int]:
    Account.objects.bulk_create(
        [Account(kind=kind, number=number) for kind, number in sorted(wanted)], ignore_conflicts=True
    )
    rows = Account.objects.filter(kind__in={kind for kind, _ in wanted}, number__in={number for _, number in wanted})
    return {
        (Kind(kind), number): pk
        for pk, kind, number in rows.values_list("pk", "kind", "number")
        if (Kind(kind), number) in wanted
    }

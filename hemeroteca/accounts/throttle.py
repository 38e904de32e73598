"""Slows down guessing of passwords: too many wrong ones within a window and further tries are refused unread.

Counted three ways, because each alone can be abused: a name from one address (somebody at a keyboard), an address over
all names (one machine trying a list), and a name over all addresses (a botnet). The last limit does not hold for
browsers in which this person has signed in before (a signed cookie says so): nobody can lock them out from elsewhere.
"""

import hashlib
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from hemeroteca.accounts.models import FailedSignIn
from hemeroteca.ingest.heavy_reads import network

WINDOW = timedelta(minutes=15)
LIMITS = {"pair": 5, "address": 30, "name": 200}
MAX_ROWS = 10_000


def wait(name: str, address: str, now: datetime | None = None, known: bool = False) -> timedelta | None:
    """How long further tries are refused, or None when one may be made. `known`: from a browser of this person."""
    now = now or timezone.now()
    keys = _keys(name, address)
    asked = [key for key, kind in keys.items() if not (known and kind == "name")]
    rows = FailedSignIn.objects.filter(key__in=asked, since__gt=now - WINDOW)
    waits = [row.since + WINDOW - now for row in rows if row.failures >= LIMITS[keys[row.key]]]
    return max(waits, default=None)


def failed(name: str, address: str, now: datetime | None = None) -> None:
    """Count a wrong password."""
    now = now or timezone.now()
    with transaction.atomic():
        _make_room(now)
        for key in _keys(name, address):
            row, created = FailedSignIn.objects.get_or_create(key=key, defaults={"since": now, "failures": 1})
            if created:
                continue
            if row.since <= now - WINDOW:
                FailedSignIn.objects.filter(key=key).update(since=now, failures=1)
            else:
                FailedSignIn.objects.filter(key=key).update(failures=F("failures") + 1)


def succeeded(name: str, address: str) -> None:
    """Forget the wrong passwords of this person at this address; other counts go on."""
    pair = next(key for key, kind in _keys(name, address).items() if kind == "pair")
    FailedSignIn.objects.filter(key=pair).delete()


def forget(name: str) -> None:
    """Let a person try again from everywhere: whoever operates the machine gave them a new password."""
    FailedSignIn.objects.filter(key=_hash("name", name)).delete()


def _make_room(now: datetime) -> None:
    """Keep the table bounded whatever names and addresses are tried."""
    FailedSignIn.objects.filter(since__lte=now - WINDOW).delete()
    excess = FailedSignIn.objects.count() + len(LIMITS) - MAX_ROWS
    if excess > 0:
        # The counts that matter are the high ones: a flood of new keys must not push a blocked one out.
        oldest = FailedSignIn.objects.order_by("failures", "since").values_list("key", flat=True)[:excess]
        FailedSignIn.objects.filter(key__in=list(oldest)).delete()


def _keys(name: str, address: str) -> dict[str, str]:
    place = network(address)
    parts = {"pair": f"{name}\n{place}", "address": place, "name": name}
    return {_hash(kind, text): kind for kind, text in parts.items()}


def _hash(kind: str, text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16, person=kind.encode()).hexdigest()

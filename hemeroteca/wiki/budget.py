"""One budget of requests per farm of wikis, shared by all workers of this instance through the database.

Wikimedia counts over all its wikis together: about 10 requests a minute from whom it does not know, 200 with a
User-Agent that names a contact, at most 3 at once (https://www.mediawiki.org/wiki/Wikimedia_APIs/Rate_limits, and the
User-Agent policy). Other farms get the delay of the settings. Whoever is told to wait (Retry-After, maxlag) tells all.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from django.db import connection, transaction

from hemeroteca.config import Config
from hemeroteca.errors import Denied
from hemeroteca.jobs import workers
from hemeroteca.wiki.address import WIKIMEDIA
from hemeroteca.wiki.models import FarmBudget, FarmSlot

MAX_AT_ONCE = 3
SLOT_MS = 300_000  # more than twice as long as a request may take
KNOWN_PER_MINUTE = 200.0
MAX_WAIT_MS = 3_600_000  # of a Retry-After
LOOK_MS = 500
# One statement: whoever comes second finds it taken. Written out, because building it costs more than a short answer.
_SPEND = """
    UPDATE wiki_budget
    SET next_ms = CASE WHEN next_ms > %s THEN next_ms ELSE %s END + %s, reason = '', requests = requests + 1
    WHERE farm = %s AND next_ms <= %s
"""


class Budget:
    """`spend` returns when the next request may be made. Give the slot back with `release` when done for a while."""

    def __init__(self, config: Config, farm: str, pause: Callable[[float], None] = time.sleep) -> None:
        if farm == WIKIMEDIA and not config.contact:
            raise Denied(
                "Wikimedia asks who extracts: set `contact` (an address or page where you can be reached) in "
                "hemeroteca.toml or HEMEROTECA_CONTACT; without one its wikis are not asked"
            )
        self.farm = farm
        per_minute = config.wiki_requests_per_minute
        if not per_minute:
            per_minute = KNOWN_PER_MINUTE if farm == WIKIMEDIA else 60 / max(config.delay, 0.001)
        elif farm == WIKIMEDIA and not config.wiki_token:
            per_minute = min(per_minute, KNOWN_PER_MINUTE)  # more is for accounts that were given more
        self.interval_ms = 60_000 / per_minute
        self._worker = f"{workers.name()}:{threading.get_ident()}"
        self._pause = pause
        self._slot_until = 0  # ms

    def spend(self) -> None:
        """Wait until this worker may make a request."""
        while (wait := self._take()) > 0:
            self._pause(min(wait, 5_000) / 1000)

    def hold(self, seconds: float, reason: str) -> None:
        """Nobody asks this farm for so long."""
        until = now_ms() + min(int(seconds * 1000), MAX_WAIT_MS)
        FarmBudget.objects.filter(farm=self.farm, next_ms__lt=until).update(next_ms=until, reason=reason)

    def release(self) -> None:
        FarmSlot.objects.filter(farm=self.farm, worker=self._worker).delete()
        self._slot_until = 0

    def _take(self) -> int:
        """0: go. Otherwise milliseconds to wait before asking again."""
        now = now_ms()
        if self._slot_until < now + SLOT_MS // 2:
            with transaction.atomic():
                FarmBudget.objects.select_for_update().get_or_create(farm=self.farm)
                if not self._hold_slot(now):
                    return LOOK_MS
        with connection.cursor() as cursor:
            cursor.execute(_SPEND, [now - 1000, now - 1000, int(self.interval_ms), self.farm, now])
            if cursor.rowcount:
                return 0
        until = FarmBudget.objects.filter(farm=self.farm).values_list("next_ms", flat=True).first()
        return max(1, (until or 0) - now)

    def _hold_slot(self, now: int) -> bool:
        """Take or renew one of the three slots, for longer than a request lasts; False when all are taken."""
        if not FarmSlot.objects.filter(farm=self.farm, worker=self._worker).update(until_ms=now + SLOT_MS):
            others = FarmSlot.objects.filter(farm=self.farm)
            others.filter(until_ms__lt=now).delete()
            if others.count() >= MAX_AT_ONCE:  # a worker of this machine that was killed needs its slot no more
                gone = [slot.pk for slot in others.all() if workers.is_gone(slot.worker.rpartition(":")[0])]
                others.filter(pk__in=gone).delete()
                if others.count() >= MAX_AT_ONCE:
                    return False
            FarmSlot.objects.create(farm=self.farm, worker=self._worker, until_ms=now + SLOT_MS)
        self._slot_until = now + SLOT_MS
        return True


def now_ms() -> int:
    return time.time_ns() // 1_000_000

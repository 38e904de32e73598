"""One budget of requests per farm of wikis, shared by all workers of this instance through the database.

Wikimedia counts over all its wikis together: about 10 requests a minute from whom it does not know, 200 with a
User-Agent that names a contact, at most 3 at once (https://www.mediawiki.org/wiki/Wikimedia_APIs/Rate_limits, and the
User-Agent policy). Other farms get the delay of the settings. Whoever is told to wait (Retry-After, maxlag) tells all.

Where the limit is high, several requests are paid for at once: a row that must reach the disk costs as much as a short
answer. They were free when they were paid for and are made within a quarter of a second or not at all.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from django.db import connection, transaction

from hemeroteca.clock import now_ms
from hemeroteca.config import Config
from hemeroteca.errors import Denied
from hemeroteca.jobs import workers
from hemeroteca.wiki.models import FarmBudget, FarmSlot
from hemeroteca.wiki.wiki_address import WIKIMEDIA

MAX_AT_ONCE = 3
SLOT_MS = 300_000  # more than twice as long as a request may take
KNOWN_PER_MINUTE = 200.0
MAX_WAIT_MS = 3_600_000  # of a Retry-After
LOOK_MS = 500
SAVED_MS = 1000  # what was not spent for longer is lost
PAID_MS = 250  # in which requests that were paid for together are made
MAX_PAID = 10
# Written out, because building them costs more than a short answer. Each is one statement: whoever comes second finds
# the row taken.
_LOCK = """
    INSERT INTO wiki_budget (farm, next_ms, reason, requests) VALUES (%s, 0, '', 0)
    ON CONFLICT (farm) DO UPDATE SET requests = wiki_budget.requests
"""
_HOLD_SLOT = """
    INSERT INTO wiki_slot (farm, worker, until_ms) SELECT %s, %s, %s
    WHERE (SELECT count(*) FROM wiki_slot WHERE farm = %s AND worker <> %s AND until_ms >= %s) < %s
    ON CONFLICT (farm, worker) DO UPDATE SET until_ms = excluded.until_ms
"""
_SPEND = """
    UPDATE wiki_budget
    SET next_ms = CASE WHEN next_ms > %s THEN next_ms ELSE %s END + %s, reason = '', requests = requests + %s
    WHERE farm = %s AND next_ms <= %s
"""


class RequestBudget:
    """`spend` returns when the next request may be made. Give the slot back with `release` when done for a while."""

    def __init__(
        self, config: Config, farm: str, pause: Callable[[float], None] = time.sleep, worker: str = ""
    ) -> None:
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
        self._at_once = min(MAX_PAID, 1 + int(PAID_MS / self.interval_ms))
        self._paid = 0  # requests that were paid for and not made
        self._paid_until = 0  # ms
        self._worker = worker or f"{workers.name()}:{threading.get_ident()}"
        self._pause = pause
        self._slot_until = 0  # ms

    def spend(self) -> None:
        """Wait until this worker may make a request."""
        if not self._paid or now_ms() >= self._paid_until:
            while (wait := self._take()) > 0:
                self._pause(min(wait, 5_000) / 1000)
        self._paid -= 1

    def hold(self, seconds: float, reason: str) -> None:
        """Nobody asks this farm for so long."""
        self._paid_until = 0
        until = now_ms() + min(int(seconds * 1000), MAX_WAIT_MS)
        FarmBudget.objects.filter(farm=self.farm, next_ms__lt=until).update(next_ms=until, reason=reason)

    def release(self) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            ended = "DELETE FROM wiki_slot WHERE farm = %s AND (worker = %s OR until_ms < %s)"
            cursor.execute(ended, [self.farm, self._worker, now_ms()])
            if self._paid:
                unmade = "UPDATE wiki_budget SET requests = requests - %s WHERE farm = %s"
                cursor.execute(unmade, [self._paid, self.farm])
        self._slot_until = self._paid = 0

    def _take(self) -> int:
        """Pay for requests. 0: done. Otherwise milliseconds to wait before asking again."""
        now = now_ms()
        if self._slot_until >= now + SLOT_MS // 2:
            paid = self._pay(now)
        else:
            with transaction.atomic():
                if not self._hold_slot(now):
                    return LOOK_MS
                paid = self._pay(now)
        if paid:
            return 0
        until = FarmBudget.objects.filter(farm=self.farm).values_list("next_ms", flat=True).first()
        return max(1, (until or 0) - now)

    def _pay(self, now: int) -> bool:
        """For as many requests as may be made now: several, one or none."""
        with connection.cursor() as cursor:
            for count in dict.fromkeys((self._at_once, 1)):
                saved, cost = now - SAVED_MS, math.ceil(count * self.interval_ms)
                last = now - math.ceil((count - 1) * self.interval_ms)  # the last of them, too, is due by now
                cursor.execute(_SPEND, [saved, saved, cost, count - self._paid, self.farm, last])
                if cursor.rowcount:
                    self._paid, self._paid_until = count, now + PAID_MS
                    return True
        return False

    def _hold_slot(self, now: int) -> bool:
        """Take or renew one of the three slots, for longer than a request lasts; False when all are taken."""
        with connection.cursor() as cursor:
            cursor.execute(_LOCK, [self.farm])
            asked = (self.farm, self._worker, now + SLOT_MS, self.farm, self._worker, now, MAX_AT_ONCE)
            cursor.execute(_HOLD_SLOT, asked)
            if not cursor.rowcount:  # a worker of this machine that was killed needs its slot no more
                others = FarmSlot.objects.filter(farm=self.farm)
                gone = [slot.pk for slot in others if workers.is_gone(slot.worker.rpartition(":")[0])]
                FarmSlot.objects.filter(pk__in=gone).delete()
                cursor.execute(_HOLD_SLOT, asked)
                if not cursor.rowcount:
                    return False
        self._slot_until = now + SLOT_MS
        return True

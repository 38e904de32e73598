"""The process of `hemeroteca serve` that does what watching needs besides visits: `python -m hemeroteca.watch.chores`.

It runs saved searches, writes and delivers notices, subscribes at hubs, checks keys, learns from the archive, and
learns the planner anew when that is worth it. It may be killed at any moment: everything it does is either done or
still to do in the database. It ends when nothing is watched; `services.changed` lets the supervisor start it again.
"""

import logging
import os
import signal
import sys
import threading
import time

import django

log = logging.getLogger("hemeroteca.watch")

PAUSE = 1.0  # s between two rounds
SEARCHED = 10.0  # s between looks at saved searches
MAINTAINED = 15.0  # s between looks at hubs and keys
LEARNED = 20.0  # s between looks at new subscriptions
DESCRIBED = 60.0  # s between descriptions of how often and how pages change
CLEANED = 86_400.0
AGAIN_MS = 86_400_000  # a subscription learns a second time from the archive once its first crawl has met its pages


class Chores:
    """`round` does what is due now; `stop` ends `run` after the round under way."""

    def __init__(self) -> None:
        from django.conf import settings

        from hemeroteca.fetch.client import GuardedClient
        from hemeroteca.watch.saved_searches import SavedSearchRun

        self._config = settings.CONFIG
        self._data = settings.INSTANCE.data
        self._client = GuardedClient(settings.CONFIG)
        self._stopped = threading.Event()
        self._due: dict[str, float] = {}
        self._described_ms = 0
        self._searches = SavedSearchRun(settings.INSTANCE.index_dir)

    def stop(self, *_: object) -> None:
        self._stopped.set()

    def run(self) -> None:
        from django.db import DatabaseError, close_old_connections

        while not self._stopped.is_set():
            close_old_connections()
            try:
                self.round()
            except DatabaseError as error:  # locked for a minute, or PostgreSQL restarts: the next round does it
                log.warning("the database did not answer (%s); trying again", error)
            else:
                if not self._is_needed():
                    return
            self._stopped.wait(PAUSE)

    def round(self) -> None:
        from hemeroteca.watch import notices, services, signals

        now_ms = services.now_ms()
        while notices.write_notices() >= notices.BATCH and not self._stopped.is_set():
            pass
        if self._is_due("search", SEARCHED):
            self._searches.run()
        notices.deliver(self._config, self._client, now_ms)
        if self._is_due("maintain", MAINTAINED):
            signals.maintain(self._client, now_ms)
        if self._is_due("learn", LEARNED):
            self._learn(now_ms)
        if self._is_due("describe", DESCRIBED):
            self._describe(now_ms)
        if self._is_due("clean", CLEANED):
            notices.forget_old(now_ms)

    def _learn(self, now_ms: int) -> None:
        """Captures made before somebody subscribed count from the first day."""
        from django.db.models import F, Q

        from hemeroteca.watch import observations
        from hemeroteca.watch.models import Observation, Subscription

        new = Subscription.objects.filter(active=True).filter(
            Q(learned_ms=0) | Q(learned_ms__lt=F("created_ms") + AGAIN_MS, created_ms__lt=now_ms - AGAIN_MS)
        )
        learned = 0
        for subscription in list(new):
            if self._stopped.is_set():
                return
            learned += observations.learn_from_archive(subscription)
            Subscription.objects.filter(pk=subscription.pk).update(learned_ms=now_ms)
        lost = (
            not (self._data / observations.PLANNER_FILE).exists()
            and Observation.objects.filter(interval_ms__gt=0).exists()
        )
        if learned or (lost and not (self._data / observations.FRESH_FILE).exists()):
            planner, last = observations.rebuild()
            observations.keep(self._data, planner, last)
            log.info("learned %d observations from the archive", learned)

    def _describe(self, now_ms: int) -> None:
        from hemeroteca.watch import observations
        from hemeroteca.watch.models import WatchedPage

        recent = WatchedPage.objects.filter(last_ms__gt=self._described_ms, listing="").order_by("last_ms")
        rows = list(recent.values_list("key", "last_ms")[:5000])
        observations.describe((key for key, _ in rows), now_ms)
        if rows:
            self._described_ms = rows[-1][1]

    def _is_needed(self) -> bool:
        from hemeroteca.watch.models import Notice, SavedSearch, Subscription

        waiting = Notice.objects.filter(state=Notice.State.WAITING)
        return Subscription.objects.exists() or SavedSearch.objects.exists() or waiting.exists()

    def _is_due(self, name: str, pause: float) -> bool:
        now = time.monotonic()
        if now < self._due.get(name, 0.0):
            return False
        self._due[name] = now + pause
        return True


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hemeroteca.django_settings")
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(message)s")
    logging.getLogger("apprise").setLevel(logging.WARNING)
    django.setup()
    from hemeroteca.watch import notices

    chores = Chores()
    notices.settle_interrupted()
    signal.signal(signal.SIGTERM, chores.stop)
    signal.signal(signal.SIGINT, chores.stop)
    chores.run()


if __name__ == "__main__":
    main()

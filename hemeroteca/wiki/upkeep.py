"""The process of `hemeroteca serve` that keeps articles up to date: `python -m hemeroteca.wiki.upkeep`.

Every `wiki_follow_seconds` it asks each wiki what changed (one request, mostly) and reads the articles that are due:
those the wiki announced, and those whose policy says so. With `wiki_stream` it hears of the wikis of that farm by one
connection instead, and goes on after the last event it heard. It may be killed at any moment. It ends when no article
is kept up to date; an extraction lets the supervisor start it again.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from hemeroteca.wiki.models import Wiki

log = logging.getLogger("hemeroteca.wiki")

PAUSE = 5.0  # s between two rounds
MAX_DUE = 500  # articles read between two looks at what wikis announce
FAILED_SECONDS = 900.0  # until a wiki that did not answer is asked again


class Upkeep:
    """`round` does what is due now; `stop` ends `run` after the article under way."""

    def __init__(self) -> None:
        from django.conf import settings

        self._follow_seconds = settings.CONFIG.wiki_follow_seconds
        self._stream = settings.CONFIG.wiki_stream
        self._stream_held = 0.0  # until when a stream that failed is left alone; recent changes are asked for meanwhile
        self._stopped = threading.Event()
        self._due: dict[int, float] = {}  # of wikis, by their rows: when each is asked again (monotonic)
        self._held: dict[int, float] = {}  # of those that did not answer: until when they are left alone

    def stop(self, *_: object) -> None:
        self._stopped.set()

    def run(self) -> None:
        from django.db import DatabaseError, close_old_connections

        while not self._stopped.is_set():
            close_old_connections()
            try:
                if not self._follow_seconds or not self._wikis():
                    return
                self.round()
            except DatabaseError as error:
                log.warning("the database did not answer (%s); trying again", error)
            self._stopped.wait(PAUSE)

    def round(self) -> None:
        self._listen()
        for wiki in self._wikis():
            if self._stopped.is_set():
                return
            if time.monotonic() >= self._held.get(wiki.pk, 0.0):
                self._keep(wiki)

    def _listen(self) -> None:
        """Hear the stream for one connection; its wikis need not be asked then."""
        from hemeroteca.errors import Refused
        from hemeroteca.wiki import services, streams, wiki_address

        if not self._stream or time.monotonic() < self._stream_held:
            return
        farm = wiki_address.farm_of(self._stream)
        wikis = [wiki for wiki in self._wikis() if wiki.farm == farm]
        if not wikis:
            return
        try:
            with services.opened(wikis[0].api_url) as (_, client, _):
                streams.follow_events(wikis, client, self._stream, 0.0, self._go_on)
            for wiki in wikis:
                self._due[wiki.pk] = time.monotonic() + self._follow_seconds
        except _StoppedError:
            return
        except Refused as error:
            self._stream_held = time.monotonic() + FAILED_SECONDS
            log.warning("recent changes are asked for, for a while: %s", error)

    def _keep(self, wiki: Wiki) -> None:
        from hemeroteca.errors import Refused
        from hemeroteca.wiki import services, streams
        from hemeroteca.wiki.job_kinds import Refreshed

        now = time.monotonic()
        listens = now >= self._due.get(wiki.pk, 0.0)
        if not listens and not streams.due(wiki).exists():
            return
        try:
            with services.opened(wiki.api_url) as (wiki, client, _):
                if listens:
                    self._due[wiki.pk] = now + self._follow_seconds
                    streams.follow_changes(wiki, client, self._go_on)
                total = Refreshed()
                streams.refresh(wiki, client, list(streams.due(wiki)[:MAX_DUE]), total, self._go_on)
            if total.articles:
                log.info("%s: %d articles read, %d new revisions", wiki.name, total.articles, total.revisions)
        except _StoppedError:
            return
        except Refused as error:
            self._held[wiki.pk] = time.monotonic() + FAILED_SECONDS
            log.warning("%s is left alone for a while: %s", wiki.name, error)

    def _go_on(self, *_: object) -> None:
        if self._stopped.is_set():
            raise _StoppedError

    def _wikis(self) -> list[Wiki]:
        from hemeroteca.wiki.models import Wiki

        return list(Wiki.objects.exclude(api_url="").filter(articles__due_ms__gt=0).distinct().order_by("pk"))


class _StoppedError(Exception):
    """Between two steps: the process ends."""


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hemeroteca.django_settings")
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(message)s")
    django.setup()
    upkeep = Upkeep()
    signal.signal(signal.SIGTERM, upkeep.stop)
    signal.signal(signal.SIGINT, upkeep.stop)
    upkeep.run()


if __name__ == "__main__":
    main()

"""What must reach the disk together: an ordered list of sinks, written in one transaction.

The order makes a crash harmless: records are durable before the rows that point at them are committed, and the index
is committed after the rows, with a note of the last capture it holds, so that a restart can add what it lacks.
"""

import shutil
from collections.abc import Sequence

from django.db import transaction

from hemeroteca.config import Config
from hemeroteca.engine.sinks import Arrival, Sink, of_rooms
from hemeroteca.engine.sinks.archive_sink import ArchiveSink, PayloadGoneError
from hemeroteca.engine.sinks.links_sink import LinksSink
from hemeroteca.engine.sinks.noise_sink import NoiseSink
from hemeroteca.engine.sinks.search_sink import SearchSink
from hemeroteca.instance import Instance


class DiskFullError(OSError):
    """Too little room is left; stopping now loses nothing."""


class Ledger:
    def __init__(self, config: Config, instance: Instance) -> None:
        self._config = config
        self._instance = instance
        self.archive = ArchiveSink(config, instance)
        self.noise = NoiseSink()
        self.links = LinksSink(instance)
        self.search = SearchSink(config, instance, self.links)
        self.sinks: list[Sink] = [self.archive, self.noise, self.search, self.links, *of_rooms()]

    def add(self, sink: Sink, before: Sink | None = None) -> None:
        """Another sink, at its place in the order; the last without one."""
        self.sinks.insert(self.sinks.index(before) if before is not None else len(self.sinks), sink)

    def take(self, arrivals: Sequence[Arrival]) -> list[Arrival]:
        """Give what passed ingest to every sink. Returns those that must be read once more, with whole records: their
        payload is the last version's, which the archive no longer has."""
        self.archive.look_up(arrivals)
        again = []
        for arrival in arrivals:
            try:
                for sink in self.sinks:
                    sink.take(arrival)
            except PayloadGoneError:
                arrival.rules.previous = ""
                again.append(arrival)
        return again

    def refuse(self, url: str, crawl: int, reason: str) -> None:
        """robots.txt forbids to ask an address; sinks that keep such things are told."""
        for sink in self.sinks:
            if refuse := getattr(sink, "refuse", None):
                refuse(url, crawl, reason)

    @property
    def pending(self) -> bool:
        return any(sink.pending for sink in self.sinks)

    def commit(self) -> None:
        """Everything so far becomes durable."""
        if shutil.disk_usage(self._instance.data).free < self._config.min_free_bytes:
            raise DiskFullError(
                f"less than {self._config.min_free_bytes >> 20} MiB are free on the disk of {self._instance.data}; "
                "make room (or lower min_free_bytes) and start again: the crawl goes on where it stopped"
            )
        self.archive.sync()
        with transaction.atomic():
            for sink in self.sinks:
                sink.write()
        self.archive.close_files()
        self.commit_index()

    def commit_index(self, now: bool = False) -> None:
        """Make documents and links durable, when it is time. Right after `commit`."""
        self.search.commit(now)
        self.links.commit(now)

    def close(self) -> None:
        """After a last `commit`."""
        self.noise.write(now=True)
        self.commit_index(now=True)
        self.search.close()
        self.archive.close()

    def abandon(self) -> None:
        """After a failure: let go of everything that is not committed."""
        self.search.abandon()
        self.archive.abandon()

"""What the archive keeps of a capture: whole records, a revisit where it has the payload already, and what a browser
made of it."""

import os
from collections.abc import Sequence

from hemeroteca import __version__, warc
from hemeroteca.archive import queries
from hemeroteca.archive.captures import CaptureWriter
from hemeroteca.archive.offload import Uploads
from hemeroteca.archive.payloads import may_repeat
from hemeroteca.config import Config, ConfigError
from hemeroteca.engine.sinks import Arrival, Trip
from hemeroteca.instance import Instance
from hemeroteca.warc import Original, zstd
from hemeroteca.warc.keys import DOM
from hemeroteca.warc.writer import WarcWriter

SAMPLES = 1000  # captures that teach a dictionary
FEW = 100  # teach too little
SAMPLE_BYTES = 64 << 10


class PayloadGoneError(Exception):
    """Ingest made no records because the payload is the last version's, which the archive no longer has."""


class ArchiveSink:
    def __init__(self, config: Config, instance: Instance) -> None:
        facts = {"software": f"Hemeroteca/{__version__}", "http-header-user-agent": config.agent, "robots": "obey"}
        choose_packing(config, instance)
        self._captures = CaptureWriter(WarcWriter(instance.warc_dir, max_bytes=config.warc_bytes, facts=facts))
        self._originals: dict[str, Original] = {}
        self.uploads = Uploads(config, instance.warc_dir)

    @property
    def pending(self) -> bool:
        return bool(self._captures.rows)

    def look_up(self, arrivals: Sequence[Arrival]) -> None:
        """Which payloads of a batch the archive has: one question for all."""
        wanted = [a.done.digest for a in arrivals if a.done.digest and a.done.size]
        wanted += [
            a.rules.previous for a in arrivals if (a.capture.status == 304 or a.capture.attached) and a.rules.previous
        ]
        self._originals = self._captures.payloads.originals(wanted) if wanted else {}

    def take(self, arrival: Arrival) -> None:
        """Raises `PayloadGoneError`; then nothing was kept."""
        if arrival.trip is None:
            return
        if arrival.trip.visit.served:  # the crawl that made it has kept it
            arrival.unchanged = True
            return
        capture, rules, done = arrival.capture, arrival.rules, arrival.done
        not_modified = capture.status == 304 and bool(rules.previous)
        arrival.unchanged = not_modified or done.same
        original = self._originals.get(rules.previous if not_modified else done.digest)
        if done.same and original is None and not capture.attached:
            if done.size:
                raise PayloadGoneError
            done.records = warc.records(capture, done.digest)  # nothing to repeat, and no news either
        if not done.noarchive and done.digest:
            self._keep(arrival, arrival.trip, original if arrival.unchanged or may_repeat(capture) else None)
        for made in (done.records, *done.attached):
            if made is not None:
                made.discard()
        counts = arrival.trip.run.counts
        counts.stored_bytes += arrival.stored
        counts.bytes += done.size
        counts.captures += bool(arrival.stored)

    def _keep(self, arrival: Arrival, trip: Trip, original: Original | None) -> None:
        capture, rules, done, visit = arrival.capture, arrival.rules, arrival.done, trip.visit
        before = self._captures.stored
        row = self._captures.keep(capture, done, original)
        if row is None:
            return
        row.page_id, row.crawl_id = visit.page or None, visit.crawl
        row.version = not arrival.unchanged
        if capture.status == 304 and rules.previous and original is not None:
            row.digest = rules.previous
        first_seen = original is not None and not visit.digest
        if not visit.page or first_seen:  # nobody knows its last version; a browser or an import may have brought it
            row.version = self._captures.is_news(row)
        if done.difference is not None and row.version:
            row.importance = done.difference.total
        elsewhere = original is not None and original.url != capture.url and not arrival.unchanged
        if original is not None and elsewhere and visit.page and not capture.attached:
            done.notes.append(f"duplicate: the same bytes as {original.url[:200]}")
        arrival.row = row
        for beside, made in zip(capture.attached, done.attached, strict=False):
            self._captures.attach(row, beside, made)
        if capture.attached and done.same and (shown := self._originals.get(rules.previous)) is not None:
            dom = next(one for one in capture.attached if one.url.startswith(DOM))
            dom.original = shown
            self._captures.attach(row, dom, warc.records(dom, body_size=len(dom.body)))
        arrival.stored = self._captures.stored - before

    # the commit

    def sync(self) -> None:
        """Before the transaction: records are durable before the rows that point at them."""
        self._captures.sync()

    def write(self) -> None:
        self._captures.write()

    def close_files(self, all_files: bool = False) -> None:
        """After the transaction."""
        self.uploads.add(file.name for file in self._captures.close(all_files))

    def close(self) -> None:
        self.close_files(all_files=True)
        self.uploads.close()

    def abandon(self) -> None:
        self._captures.warcs.abandon()


def choose_packing(config: Config, instance: Instance) -> None:
    """How new WARC files are packed: with gzip, or with Zstandard and a dictionary made of what the archive holds.

    The dictionary is made once, when the archive has enough to learn from, and kept in the data folder; before that,
    files are packed without one. Files carry the dictionary they were packed with, so a new one harms nobody.
    """
    place = ""
    if config.warc_compression == "zstd":
        try:
            zstd.library()
        except zstd.ZstdError:
            raise ConfigError("warc_compression is zstd, which needs a library: pip install 'hemeroteca[zstd]'")
        path = instance.data / "warc.dict"
        if not path.exists() and (dictionary := zstd.train(_samples(instance))):
            draft = path.with_suffix(".new")
            draft.write_bytes(dictionary)
            os.replace(draft, path)
        place = str(path) if path.exists() else "-"
    elif config.warc_compression != "gzip":
        raise ConfigError(f"warc_compression is {config.warc_compression!r}; it can be gzip or zstd")
    warc.pack_as(place)


def _samples(instance: Instance) -> list[bytes]:
    """Records as they are packed, spread over the archive."""
    found = []
    for row in queries.spread(SAMPLES):
        try:
            record = row.location(instance.warc_dir).read()
        except warc.WarcReadError:
            continue
        top = "".join(f"{name}: {value}\r\n" for name, value in record.headers.items())
        found.append(f"WARC/1.1\r\n{top}\r\n".encode() + record.head + record.payload(SAMPLE_BYTES))
    return found if len(found) >= FEW else []

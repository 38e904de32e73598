"""Revisits and the captures they repeat: found by name, by address and time, or by a digest that was computed.

A revisit of another tool may come before its original, or without it. Without, its row refers to nothing until the
original comes (`join`); what it says of it stays in its record.
"""

from pathlib import Path

from hemeroteca.archive import queries, services
from hemeroteca.archive.capture_rows import CaptureRow, NewCapture
from hemeroteca.archive.payloads import Payloads
from hemeroteca.archive.versions import renumber_versions
from hemeroteca.warc import Original, WarcReadError, timestamps

_LOOKED_BACK = 20  # captures of an address that a revisit may repeat
_MAX_FOREIGN = 500_000


class Originals:
    """What revisits repeat. `pending`: captures that are kept and not committed."""

    def __init__(self, folder: Path, payloads: Payloads) -> None:
        self._folder = folder
        self._payloads = payloads
        self._foreign: dict[str, str] = {}  # payload digests of other tools, and ours

    def note(self, foreign: str, digest: str) -> None:
        """What another tool states as the digest of a payload, when it is true."""
        if foreign and len(self._foreign) < _MAX_FOREIGN:
            self._foreign[foreign] = digest

    def find(
        self, stated: Original, url: str, captured_ms: int, not_modified: bool, pending: list[NewCapture]
    ) -> Original | None:
        """The capture that a revisit of `url` repeats, by what it states of it."""
        own = url if not_modified else ""  # a server says its own page is as it was: there is nothing to compare
        if stated.record_id is not None:
            named = next((row for row in pending if row.record_id == stated.record_id), None)
            if found := named or queries.by_record(stated.record_id):
                return self._payloads.original(found.digest) if self._agrees(stated.digest, found, own) else None
        if stated.url and stated.captured_ms:
            rows = [row for row in pending if row.url == stated.url]
            for row in (*rows, queries.closest(stated.url, stated.captured_ms)):
                if row is None or abs(row.captured_ms - stated.captured_ms) >= 1000:
                    continue
                if self._agrees(stated.digest, row, own):
                    return self._payloads.original(row.digest)
        digest = self._foreign.get(stated.digest, stated.digest)
        return self._payloads.original(digest) or (
            self._by_payload(url, captured_ms, stated.digest) if stated.digest and not not_modified else None
        )

    def _agrees(self, stated: str, row: NewCapture | CaptureRow, own: str) -> bool:
        """Whether what a revisit names has the payload it states, by a digest that was computed."""
        if not stated or row.url == own or row.digest in (stated, self._foreign.get(stated)):
            return True
        return isinstance(row, CaptureRow) and has_payload(self._folder, row, stated)

    def _by_payload(self, url: str, captured_ms: int, stated: str) -> Original | None:
        """Among the captures of the same address before it, the one whose payload has the digest that the other tool
        states: it counts in another way than we do."""
        seen = set()
        for row in queries.captures_of(url, until_ms=captured_ms, limit=_LOOKED_BACK, newest_first=True):
            if row.kind != "response" or row.truncated or row.digest in seen:
                continue
            seen.add(row.digest)
            if has_payload(self._folder, row, stated):
                self.note(stated, row.digest)
                return self._payloads.original(row.digest)
        return None


def join(folder: Path, originals: Originals | None = None) -> int:
    """Give revisits that came without their original the one that came since; how many."""
    originals = originals or Originals(folder, Payloads())
    touched: set[str] = set()
    joined = 0
    for row in queries.unjoined():
        try:
            record = row.location(folder).read()
        except WarcReadError:
            continue
        fields = record.headers
        since = timestamps.from_iso(fields.get("warc-refers-to-date", "")) or 0
        stated = Original(record.refers_to, fields.get("warc-refers-to-target-uri", ""), since, row.digest)
        original = originals.find(stated, row.url, row.captured_ms, row.status == 304, [])
        if original is None or original.record_id is None:
            continue
        services.join_revisit(row.id, original.record_id, original.digest)
        touched.add(row.urlkey)
        joined += 1
    renumber_versions(touched, folder)
    services.mark_stale(touched, after_id=0)
    return joined


def is_joined(folder: Path, row: CaptureRow, stated: NewCapture) -> bool:
    """Whether the row of a revisit says what follows from its record: it waits for an original that is not here, or it
    has one with the payload that the record states."""
    if row.refers_to is None:
        named = queries.by_record(stated.refers_to) if stated.refers_to else None
        return row.digest == stated.digest and (named is None or not has_payload(folder, named, stated.digest))
    holder = queries.by_record(row.refers_to)
    if holder is None or holder.digest != row.digest:
        return False
    return not stated.digest or row.status == 304 or has_payload(folder, holder, stated.digest)


def has_payload(folder: Path, row: CaptureRow, stated: str) -> bool:
    """Whether the payload of a capture has the digest that some tool states."""
    try:
        return row.location(folder).read().has_payload(stated)
    except WarcReadError:
        return False

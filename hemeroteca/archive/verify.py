"""Files and index checked against each other, record by record; and the index repaired from the files.

The files are the truth. A record the index lacks is added, a row that says something else is corrected, a row without a
record is removed — but only when the file is there to prove it: a missing file is reported and nothing else.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from django.db import transaction

from hemeroteca.archive import prune, queries, revisits, services
from hemeroteca.archive.capture_rows import CaptureRow, NewCapture
from hemeroteca.archive.models import IndexedCapture, WarcFile
from hemeroteca.archive.versions import renumber_versions
from hemeroteca.warc import keys, scan, store, stored_record
from hemeroteca.warc.builder import safe_url
from hemeroteca.warc.keys import DOM, index_key
from hemeroteca.warc.stored_record import Record, uuid_of
from hemeroteca.warc.writer import OPEN, ClosedFile

INDEXED = ("response", "revisit", "resource", *keys.ABOUT)
MAX_PROBLEMS = 10_000
_BATCH = 500


@dataclass(frozen=True)
class DamagedRecord:
    file: str
    offset: int
    reason: str
    repaired: bool = False


@dataclass
class Verification:
    files: int = 0
    records: int = 0
    captures: int = 0
    bytes: int = 0
    troubles: list[DamagedRecord] = field(default_factory=list)
    unlisted: int = 0  # troubles beyond the first ten thousand
    added: int = 0
    corrected: int = 0
    removed: int = 0

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong, or everything that was has been repaired."""
        return not self.unlisted and all(trouble.repaired for trouble in self.troubles)

    def tell(self, file: str, offset: int, reason: str, repaired: bool = False) -> None:
        if len(self.troubles) < MAX_PROBLEMS:
            self.troubles.append(DamagedRecord(file, offset, reason, repaired))
        else:
            self.unlisted += 1


def verify(
    folder: Path,
    repair: bool = False,
    digests: bool = True,
    progress: Callable[[str, int], None] = lambda name, records: None,
) -> Verification:
    """Check every record of every file. With `repair`, only while no engine runs. `digests=False` trusts the bytes.

    `progress` is told each record and may end the check by raising: what was put right until then is right."""
    report = Verification()
    if repair:
        prune.finish(folder)
    present = {path.name for path in folder.iterdir() if path.name.endswith(store.WARCS)} if folder.is_dir() else set()
    remote = store.configured()
    if remote is not None:
        present |= set(remote.files())
    known = {file.name: file for file in WarcFile.objects.all()}  # after the listing: an engine may be closing files
    touched: set[str] = set()
    try:
        for name in sorted(present | set(known)):
            if name in known and known[name].closed and not known[name].size:
                report.tell(name, 0, "written anew by pruning and not removed yet")
                continue
            _File(
                folder=folder,
                name=name,
                known=known.get(name),
                report=report,
                repair=repair,
                digests=digests,
                touched=touched,
                progress=progress,
            ).check()
    finally:
        if touched:
            renumber_versions(touched, folder)
            services.mark_stale(touched, after_id=0)
            services.forget_addresses()
            revisits.join(folder)
    return report


def new_capture(record: Record, name: str, offset: int, length: int) -> NewCapture | None:
    """The row a record deserves; None for records that are not captures."""
    if record.kind not in INDEXED:
        return None
    moment, record_id = record.captured_ms, record.record_id
    if moment is None or record_id is None:
        return None
    stated = record.headers.get("warc-payload-digest", "")
    ours = stated.startswith("sha256:") and len(stated) == 71
    truncated = record.headers.get("warc-truncated", "") if record.kind != "revisit" else ""
    url = safe_url(record.url)
    if record.kind in keys.ABOUT:
        url = keys.address_about(record.kind, url, record_id)
    return NewCapture(
        record_id=record_id,
        url=url,
        urlkey=index_key(url),
        captured_ms=moment,
        status=record.status,
        mime="text/html" if url.startswith(DOM) else record.mime,  # a repeated one has no type of its own
        digest=stated if ours or record.kind == "revisit" else record.payload_digest,
        kind=record.kind,
        version=False,
        warc_name=name,
        offset=offset,
        length=length,
        body_size=record.size,
        truncated=truncated[:12],
        refers_to=record.refers_to if record.kind == "revisit" else None,
    )


@dataclass
class _File:
    folder: Path
    name: str
    known: WarcFile | None
    report: Verification
    repair: bool
    digests: bool
    touched: set[str]  # keys of pages whose rows were put right
    progress: Callable[[str, int], None]
    added: list[NewCapture] = field(default_factory=list)

    def check(self) -> None:
        try:
            with store.local_copy(self.folder, self.name) as path:
                self._check(path)
        except store.StoreError as error:
            self.report.tell(self.name, 0, str(error))
        except stored_record.WarcReadError:
            rows = IndexedCapture.objects.filter(warc=self.known).count() if self.known else 0
            self.report.tell(self.name, 0, f"the file is gone, and with it {rows} captures; restore it from a copy")

    def _check(self, path: Path) -> None:
        size = path.stat().st_size
        self.progress(self.name, self.report.records)
        self.report.files += 1
        self.report.bytes += size
        if self.known is None:
            self.report.tell(self.name, 0, "the index does not know this file", self.repair)
        elif size < self.known.size:
            self.report.tell(self.name, size, f"the file lacks its last {self.known.size - size} bytes")
        elif self.known.closed and size > self.known.size:
            self.report.tell(self.name, self.known.size, f"the closed file has grown by {size - self.known.size} bytes")
        end = min(size, self.known.size) if self.known else size
        digest = self._check_digest(path, size)
        self._check_records(path, end)
        if self.repair:
            self._flush(end)
            if self.known is None or (not self.known.closed and not path.name.endswith(OPEN)):
                services.acknowledge({self.name: end})
                services.mark_closed([ClosedFile(self.name, end, digest or _digest(path))])

    def _check_digest(self, path: Path, size: int) -> str:
        known = self.known
        if known is None or not self.digests or not known.closed or not known.digest or size != known.size:
            return ""
        digest = _digest(path)
        if digest != known.digest:
            self.report.tell(self.name, 0, "the file does not have the digest it had when it was closed")
        return digest

    def _check_records(self, path: Path, end: int) -> None:
        rows = self._rows()
        row = next(rows, None)
        last: tuple[NewCapture, CaptureRow | None] | None = None
        for found in scan.scan(path, end, payloads=self.digests):
            if isinstance(found, scan.Damage):
                self.report.tell(self.name, found.offset, found.reason)
                if found.length:  # rows of captures that lie in the damaged place stay: it may be restored
                    while row is not None and row.offset < found.offset + found.length:
                        row = next(rows, None)
                continue
            self.report.records += 1
            self.progress(self.name, self.report.records)
            if self.digests:
                for problem in found.record.problems():
                    self.report.tell(self.name, found.offset, problem)
            while row is not None and row.offset < found.offset:
                self._without_record(row)
                row = next(rows, None)
            here = row if row is not None and row.offset == found.offset else None
            wanted = new_capture(found.record, self.name, found.offset, found.length)
            if wanted is not None:
                self.report.captures += 1
                self._compare(here, wanted)
            elif here is not None:
                self._without_record(here)
            if wanted is not None:
                last = (wanted, here)
            elif found.record.kind == "request" and last is not None:
                self._check_post(found, *last)
            if here is not None:
                row = next(rows, None)
        while row is not None:
            if row.offset < end:
                self._without_record(row)
            elif self.known is not None and (self.known.closed or end < self.known.size):  # else it grew meanwhile
                self.report.tell(self.name, row.offset, f"the capture of {row.url} lies beyond the end of the file")
            row = next(rows, None)

    def _compare(self, row: CaptureRow | None, wanted: NewCapture) -> None:
        if row is None:
            self.report.tell(self.name, wanted.offset, f"the capture of {wanted.url} is not in the index", self.repair)
            if self.repair:
                if len(self.added) >= _BATCH:
                    self._flush(wanted.offset)
                self.added.append(wanted)
            return
        differing = [
            name
            for name in ("record_id", "url", "captured_ms", "status", "digest", "kind", "refers_to", "length")
            if getattr(row, name) != getattr(wanted, name)
        ]
        if wanted.kind == row.kind == "revisit" and {*differing} <= {"digest", "refers_to"} and differing:
            differing = [] if revisits.is_joined(self.folder, row, wanted) else differing
        if differing:
            text = f"the index says otherwise about the capture of {wanted.url}: {', '.join(differing)}"
            self._correct(row, wanted, text)

    def _correct(self, row: CaptureRow, wanted: NewCapture, text: str) -> None:
        self.report.tell(self.name, row.offset, text, self.repair)
        if self.repair:
            services.correct_capture(row.id, wanted)
            self.touched |= {row.urlkey, wanted.urlkey}
            self.report.corrected += 1

    def _check_post(self, found: scan.ScannedRecord, capture: NewCapture, row: CaptureRow | None) -> None:
        """What answers a POST is filed by what was sent, which only the request after it tells."""
        request = found.record
        method = keys.method(request.head)
        if method in ("", "GET") or uuid_of(request.headers.get("warc-concurrent-to", "")) != capture.record_id:
            return
        if not self.digests:
            request = stored_record.read(self.folder, self.name, found.offset, found.length)
        sent = request.payload(keys.MAX_SENT)
        capture.urlkey = index_key(keys.address(capture.url, method, request.header("content-type"), sent))
        if row is not None and row.urlkey != capture.urlkey:
            self._correct(row, capture, f"the index files the answer to a {method} of {capture.url} under another key")

    def _without_record(self, row: CaptureRow) -> None:
        text = f"the index has a capture of {row.url} where the file has none"
        self.report.tell(self.name, row.offset, text, self.repair)
        if self.repair:
            services.delete_captures([row.id])
            self.touched.add(row.urlkey)
            self.report.removed += 1

    def _flush(self, end: int) -> None:
        if not self.added:
            return
        batch, self.added = self.added, []
        size = max(end, self.known.size) if self.known else end
        with transaction.atomic():
            services.link_pages(batch)
            services.insert_captures(batch, {self.name: size})
        self.touched |= {capture.urlkey for capture in batch}
        self.report.added += len(batch)

    def _rows(self) -> Iterator[CaptureRow]:
        """The index's captures of this file in the order of the file, a page at a time."""
        if self.known is None:
            return
        offset = -1
        while True:
            part = queries.rows('capture.warc_id = %s AND "offset" > %s', [self.known.pk, offset], '"offset"', _BATCH)
            yield from part
            if len(part) < _BATCH:
                return
            offset = part[-1].offset


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"

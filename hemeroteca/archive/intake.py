"""Captures of other tools taken into this archive: same records, same index, same deduplication as our own.

A capture keeps its record id, so importing a file twice changes nothing the second time. A revisit needs its original;
one that comes before it (or lies in a later file) waits until the end.
"""

import uuid
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from django.db import transaction

from hemeroteca import urls, warc
from hemeroteca.archive import queries, services
from hemeroteca.archive.importing import ImportedExchange, Problem, read_archive
from hemeroteca.archive.models import Capture
from hemeroteca.archive.values import NewCapture
from hemeroteca.archive.verify import renumber_versions
from hemeroteca.warc import keys, reader
from hemeroteca.warc.keys import DOM, index_key
from hemeroteca.warc.reader import http_headers
from hemeroteca.warc.writer import WarcWriter

_BATCH = 500
_LOOKED_BACK = 20  # captures of an address that a revisit may repeat
_MOST_WAITING = 200_000
_MOST_FOREIGN = 500_000
_MOST_PROBLEMS = 10_000


@dataclass
class Imported:
    files: int = 0
    taken: int = 0
    known: int = 0
    """Captures that were in the archive already."""
    repeated: int = 0
    """Captures taken as revisits because the archive has their payload."""
    bytes: int = 0
    lost: int = 0
    """Captures that could not be taken."""
    stopped: bool = False
    """A person ended it before all was read."""
    problems: list[Problem] = field(default_factory=list)


class Intake:
    """`around` gets the keys of the addresses of every batch and surrounds its commit; `progress` gets the file and the
    number of captures seen so far."""

    def __init__(
        self,
        writer: WarcWriter,
        around: Callable[[set[str]], AbstractContextManager[None]] | None = None,
        progress: Callable[[str, int], None] | None = None,
    ) -> None:
        self.done = Imported()
        self._writer = writer
        self._around = around or (lambda keys: nullcontext())
        self._progress = progress or (lambda name, captures: None)
        self._captures: dict[UUID, NewCapture] = {}
        self._originals: dict[str, warc.Original] = {}
        self._foreign: dict[str, str] = {}  # payload digests of the other tool, and ours
        self._waiting: list[ImportedExchange] = []

    def read(self, files: Iterable[Path], spool: Path) -> Imported:
        """Take everything the files hold, and commit it."""
        for path in files:
            if self.done.stopped:
                break
            self.done.files += 1
            self._read_file(path, spool)
        waiting, self._waiting = self._waiting, []
        for item in waiting if not self.done.stopped else ():
            self._take_revisit(item, last=True)
        self.commit()
        services.mark_closed(self._writer.close())
        return self.done

    def stop(self) -> None:
        """Ask `read` to end with the capture it is at; safe in a signal handler."""
        self.done.stopped = True

    def _read_file(self, path: Path, spool: Path) -> None:
        for item in read_archive(path, spool):
            if isinstance(item, Problem):
                self._tell(item)
            else:
                try:
                    self.take(item)
                finally:
                    item.discard()
                self._progress(path.name, self.done.taken + self.done.known)
            if self.done.stopped:
                return

    def take(self, item: ImportedExchange) -> None:
        if item.kind == "revisit":
            self._take_revisit(item, last=False)
        else:
            self._take_whole(item)
        if len(self._captures) >= _BATCH:
            self.commit()

    def commit(self) -> None:
        batch, self._captures = list(self._captures.values()), {}
        if not batch:
            return
        self._writer.sync()
        touched = {capture.urlkey for capture in batch}
        with self._around(touched):
            with transaction.atomic():
                services.count_alone()
                services.link_pages(batch, {capture.url: _page_key(capture.url) for capture in batch})
                services.insert_captures(batch, self._writer.sizes())
                renumber_versions(touched)
            services.mark_closed(self._writer.close_rotated())
            self._originals.clear()

    def _take_whole(self, item: ImportedExchange) -> None:
        body = warc.FileBody(item.body) if isinstance(item.body, Path) else item.body
        digest = body.digest() if isinstance(body, warc.FileBody) else warc.payload_digest(body)
        if item.stated_digest and len(self._foreign) < _MOST_FOREIGN:
            self._foreign[item.stated_digest] = digest
        record_id = item.record_id or _name(item, digest)
        if self._knows(record_id):
            return
        alone = item.kind != "response" or not len(body) or item.truncated or _filed(item) != item.url
        original = None if alone else self._original(digest)
        if item.kind == "resource":
            content = b"".join(body.chunks()) if isinstance(body, warc.FileBody) else body
            records = warc.record("resource", item.captured_ms, item.mime, content, item.url, record_id)
        elif original is not None:
            records = self._revisit(item, record_id, original, len(body))
            self.done.repeated += 1
        else:
            records = warc.exchange_records(
                item.url,
                item.captured_ms,
                item.ip,
                item.protocol,
                item.request_head,
                item.response_head,
                body,
                item.truncated,
                record_id,
                digest,
                item.sent,
            )
        self._keep(item, records, original)

    def _take_revisit(self, item: ImportedExchange, last: bool) -> None:
        record_id = item.record_id or _name(item, item.stated_digest)
        if self._knows(record_id):
            return
        original = self._original_of(item)
        if original is None:
            if not last and len(self._waiting) < _MOST_WAITING:
                self._waiting.append(item)
            else:
                where = f" (it lies in {item.refers_to_file})" if item.refers_to_file else ""
                reason = (
                    f"what {item.url} repeats is neither in the archive nor in these files{where}; import it with them"
                )
                self._tell(Problem(item.file, item.offset, reason, True))
            return
        found = Capture.objects.filter(record_id=original.record_id).values_list("body_size", flat=True).first()
        pending = self._captures.get(original.record_id)
        size = 0 if item.not_modified else pending.body_size if pending else found or 0
        records = self._revisit(item, record_id, original, size)
        self.done.repeated += 1
        self._keep(item, records, original)

    def _revisit(self, item: ImportedExchange, record_id: UUID, original: warc.Original, size: int) -> warc.Records:
        if item.url.startswith(DOM):
            return warc.repeat_record(item.url, item.captured_ms, original, record_id)
        head = item.response_head
        if not head:
            head = b"HTTP/1.1 304 Not Modified\r\n\r\n" if item.not_modified else b"HTTP/1.1 200 OK\r\n\r\n"
        return warc.revisit_records(
            item.url,
            item.captured_ms,
            item.ip,
            item.protocol,
            item.request_head,
            head,
            original,
            size,
            item.not_modified,
            record_id,
        )

    def _keep(self, item: ImportedExchange, records: warc.Records, original: warc.Original | None) -> None:
        try:
            name, offset = self._writer.append(records.data)
        finally:
            records.discard()
        url = warc.safe_url(item.url)
        capture = NewCapture(
            record_id=records.main.record_id,
            url=url,
            urlkey=index_key(_filed(item)),
            captured_ms=item.captured_ms,
            status=item.status or _status(item),
            mime="text/html" if item.url.startswith(DOM) else item.mime,
            digest=records.digest,
            kind=records.main.kind,
            version=False,
            warc_name=name,
            offset=offset,
            length=records.main.length,
            body_size=records.body_size,
            truncated=item.truncated[:12],
            refers_to=original.record_id if original else None,
        )
        self._captures[capture.record_id] = capture
        if original is None and item.kind != "revisit" and not item.truncated and keys.MARK not in capture.urlkey:
            self._originals[capture.digest] = warc.Original(
                capture.record_id, capture.url, capture.captured_ms, capture.digest
            )
        self.done.taken += 1
        self.done.bytes += records.size

    def _knows(self, record_id: UUID) -> bool:
        if record_id in self._captures or Capture.objects.filter(record_id=record_id).exists():
            self.done.known += 1
            return True
        return False

    def _original(self, digest: str) -> warc.Original | None:
        return self._originals.get(digest) or queries.originals([digest]).get(digest)

    def _original_of(self, item: ImportedExchange) -> warc.Original | None:
        """The capture a revisit repeats: by its id, by its address and time, or by the digest the other tool states."""
        if item.refers_to is not None:
            pending = self._captures.get(item.refers_to)
            if pending is not None:
                return self._original(pending.digest)
            row = queries.by_record(item.refers_to)
            if row is not None:
                return self._original(row.digest)
        if item.refers_to_url and item.refers_to_ms is not None:
            for capture in self._captures.values():
                if capture.url == item.refers_to_url and abs(capture.captured_ms - item.refers_to_ms) < 1000:
                    return self._original(capture.digest)
            row = queries.closest(item.refers_to_url, item.refers_to_ms)
            if row is not None and abs(row.captured_ms - item.refers_to_ms) < 1000:
                return self._original(row.digest)
        return self._original(self._foreign.get(item.stated_digest, item.stated_digest)) or self._by_payload(item)

    def _by_payload(self, item: ImportedExchange) -> warc.Original | None:
        """Among the captures of the same address before it, imported earlier, the one whose payload has the digest that
        the other tool states: it counts in another way than we do."""
        if not item.stated_digest or item.not_modified:
            return None
        seen = set()
        for row in queries.captures_of(item.url, until_ms=item.captured_ms, limit=_LOOKED_BACK, newest_first=True):
            if row.kind != "response" or row.truncated or row.digest in seen:
                continue
            seen.add(row.digest)
            try:
                record = reader.read(self._writer.folder, row.warc_name, row.offset, row.length)
            except reader.WarcReadError:
                continue
            if record.has_payload(item.stated_digest):
                self._foreign[item.stated_digest] = row.digest
                return self._original(row.digest)
        return None

    def _tell(self, problem: Problem) -> None:
        self.done.lost += problem.lost
        if len(self.done.problems) < _MOST_PROBLEMS:
            self.done.problems.append(problem)


def _filed(item: ImportedExchange) -> str:
    """The address a capture is filed under."""
    url = warc.safe_url(item.url)
    method = item.request_head.partition(b" ")[0].decode("latin-1")
    if method != "POST":
        return url
    kind = next((value for name, value in http_headers(item.request_head) if name.lower() == "content-type"), "")
    return keys.address(url, method, kind, item.sent)


def _status(item: ImportedExchange) -> int:
    """Of a record without one."""
    if item.not_modified:
        return 304
    return 200 if item.kind == "revisit" and not item.url.startswith(DOM) else 0


def _name(item: ImportedExchange, digest: str) -> UUID:
    """A record id for a capture without one: the same capture gets the same again."""
    return uuid.uuid5(uuid.NAMESPACE_URL, f"{item.url} {item.captured_ms} {item.kind} {digest}")


def _page_key(url: str) -> int:
    try:
        return urls.key(urls.canonical(url))
    except urls.UrlError:
        return urls.key(url)

"""Archives of other tools taken into this one: same ingest, same records, same deduplication as what is crawled.

A capture keeps its record id, so importing a file twice changes nothing the second time. A revisit needs its original;
one that comes before it (or lies in a later file) waits until the end. Pages that got captures are marked stale:
whoever writes the search index reads them again (`engine.rebuild`).
"""

import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from django.db import transaction

from hemeroteca import urls
from hemeroteca.archive import queries, services, wacz
from hemeroteca.archive.captures import CaptureWriter
from hemeroteca.archive.dedup import may_repeat
from hemeroteca.archive.models import Capture as CaptureModel
from hemeroteca.archive.values import CaptureRow, NewCapture
from hemeroteca.archive.versions import renumber_versions
from hemeroteca.ingest.ingestion import Ingest
from hemeroteca.ingest.rules import Rules
from hemeroteca.warc import Capture, Original, Problem, WarcReadError, captures, safe_url
from hemeroteca.warc.exchanges import Exchange
from hemeroteca.warc.reader import MAX_PAYLOAD
from hemeroteca.warc.writer import WarcWriter

_BATCH = 500
_LOOKED_BACK = 20  # captures of an address that a revisit may repeat
_MAX_WAITING = 200_000
_MAX_FOREIGN = 500_000
_MAX_PROBLEMS = 10_000


@dataclass
class Imported:
    files: int = 0
    taken: int = 0
    known: int = 0  # captures that were in the archive already
    repeated: int = 0  # captures taken as revisits because the archive has their payload
    bytes: int = 0
    lost: int = 0  # captures that could not be taken
    stopped: bool = False  # a person ended it before all was read
    problems: list[Problem] = field(default_factory=list)


def exchanges(path: Path, spool: Path, max_payload: int = MAX_PAYLOAD) -> Iterator[Exchange | Problem]:
    """Everything in a WARC, ARC or WACZ file, or in the files a list of WACZ names, that is a capture."""
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        yield Problem(path.name, 0, f"the file cannot be read ({error.strerror})", True)
        return
    if start == b"PK\x03\x04":
        yield from wacz.read(path, path.name, spool, max_payload)
    elif start[:1] in (b"{", b"\xef") and (listed := wacz.listed(path)) is not None:
        yield from wacz.read_listed(path, listed, spool, max_payload)
    else:
        yield from captures(path, spool, max_payload)


class Importer:
    """`progress` gets the file and the number of captures seen so far."""

    def __init__(self, warcs: WarcWriter, progress: Callable[[str, int], None] | None = None) -> None:
        self.done = Imported()
        self._captures = CaptureWriter(warcs)
        self._progress = progress or (lambda name, captures: None)
        self._ingest = Ingest()
        self._pending: dict[UUID, int] = {}  # record ids of captures not committed, and the sizes of their bodies
        self._foreign: dict[str, str] = {}  # payload digests of the other tool, and ours
        self._waiting: list[Exchange] = []

    def read(self, files: Iterable[Path], spool: Path) -> Imported:
        """Take everything the files hold, and commit it."""
        for path in files:
            if self.done.stopped:
                break
            self.done.files += 1
            self._read_file(path, spool)
        waiting, self._waiting = self._waiting, []
        for found in waiting if not self.done.stopped else ():
            self._take_revisit(found, found.capture, last=True)
        self.commit()
        self._captures.close(all_files=True)
        return self.done

    def stop(self) -> None:
        """Ask `read` to end with the capture it is at; safe in a signal handler."""
        self.done.stopped = True

    def _read_file(self, path: Path, spool: Path) -> None:
        for found in exchanges(path, spool):
            if isinstance(found, Problem):
                self._tell(found)
            else:
                try:
                    self.take(found)
                finally:
                    found.capture.discard()
                self._progress(path.name, self.done.taken + self.done.known)
            if self.done.stopped:
                return

    def take(self, found: Exchange) -> None:
        """A capture, and what a browser made of it."""
        beside, found.capture.attached = found.capture.attached, []
        for capture in (found.capture, *beside):
            capture.url = safe_url(capture.url)
            if (why := _unusable(capture.url)) is not None:
                self._tell(Problem(found.file, found.offset, f"{capture.url[:200]} is not an address ({why})", True))
            elif capture.original is not None:
                self._take_revisit(found, capture, last=False)
            else:
                self._take_whole(found, capture)
        if len(self._captures.rows) >= _BATCH:
            self.commit()

    def commit(self) -> None:
        if not self._captures.rows:
            return
        self._captures.sync()
        touched = {row.urlkey for row in self._captures.rows}
        with transaction.atomic():
            services.count_alone()
            before = queries.last_id()
            services.link_pages(self._captures.rows)
            self._captures.write()
            renumber_versions(touched)
            services.mark_stale(touched, before)
        self._captures.close()
        self._pending.clear()

    def _take_whole(self, found: Exchange, capture: Capture) -> None:
        digest = capture.digest()
        if capture is found.capture and found.stated_digest and len(self._foreign) < _MAX_FOREIGN:
            self._foreign[found.stated_digest] = digest
        capture.record_id = capture.record_id or _name(capture, digest)
        if self._knows(capture.record_id):
            return
        original = self._captures.payloads.original(digest) if may_repeat(capture) else None
        self._keep(capture, digest, capture.size, original)

    def _take_revisit(self, found: Exchange, capture: Capture, last: bool) -> None:
        assert capture.original is not None
        capture.record_id = capture.record_id or _name(capture, capture.original.digest)
        if self._knows(capture.record_id):
            return
        original = self._original_of(capture)
        if original is None:
            if not last and len(self._waiting) < _MAX_WAITING:
                self._waiting.append(Exchange(capture, found.file, found.offset, container=found.container))
            else:
                where = f" (it lies in {found.container})" if found.container else ""
                reason = f"what {capture.url} repeats is neither in the archive nor in these files{where}"
                self._tell(Problem(found.file, found.offset, f"{reason}; import it with them", True))
            return
        size = 0 if capture.not_modified else self._size_of(original)
        self._keep(capture, original.digest, size, original)

    def _keep(self, capture: Capture, digest: str, size: int, original: Original | None) -> None:
        """By the ingest that all captures pass; it is only kept here, and read when it is known what came before it."""
        rules = Rules(key=0, host="", digest=digest, obey=False, read=False, keep=original is None)
        done = self._ingest(capture, rules)
        done.size = size
        before = self._captures.stored
        row = self._captures.keep(capture, done, original)
        assert row is not None
        self._pending[row.record_id] = row.body_size
        self.done.taken += 1
        self.done.repeated += original is not None
        self.done.bytes += self._captures.stored - before

    def _knows(self, record_id: UUID) -> bool:
        if record_id in self._pending or CaptureModel.objects.filter(record_id=record_id).exists():
            self.done.known += 1
            return True
        return False

    def _size_of(self, original: Original) -> int:
        row = queries.by_record(original.record_id) if original.record_id else None
        return self._pending.get(original.record_id, 0) if row is None else row.body_size  # type: ignore[arg-type]

    def _original_of(self, capture: Capture) -> Original | None:
        """The capture a revisit repeats: by its id, by its address and time, or by the digest the other tool states."""
        stated = capture.original
        assert stated is not None
        payloads = self._captures.payloads
        if stated.record_id is not None:
            named = next((row for row in self._captures.rows if row.record_id == stated.record_id), None)
            if found := named or queries.by_record(stated.record_id):
                return payloads.original(found.digest) if self._agrees(capture, found) else None
        if stated.url and stated.captured_ms:
            rows = [row for row in self._captures.rows if row.url == stated.url]
            for row in (*rows, queries.closest(stated.url, stated.captured_ms)):
                if row is not None and abs(row.captured_ms - stated.captured_ms) < 1000 and self._agrees(capture, row):
                    return payloads.original(row.digest)
        digest = self._foreign.get(stated.digest, stated.digest)
        return payloads.original(digest) or self._by_payload(capture, stated.digest)

    def _agrees(self, capture: Capture, row: NewCapture | CaptureRow) -> bool:
        """Whether what a revisit names has the payload it states, by a digest that was computed. Without one, or from a
        server that says its own page is as it was, there is nothing to compare."""
        stated = capture.original.digest if capture.original else ""
        if not stated or (capture.not_modified and row.url == capture.url):
            return True
        if row.digest in (stated, self._foreign.get(stated)):
            return True
        if isinstance(row, NewCapture):
            return False
        try:
            return row.location(self._captures.warcs.folder).read().has_payload(stated)
        except WarcReadError:
            return False

    def _by_payload(self, capture: Capture, stated: str) -> Original | None:
        """Among the captures of the same address before it, imported earlier, the one whose payload has the digest that
        the other tool states: it counts in another way than we do."""
        if not stated or capture.not_modified:
            return None
        seen = set()
        found = queries.captures_of(capture.url, until_ms=capture.captured_ms, limit=_LOOKED_BACK, newest_first=True)
        for row in found:
            if row.kind != "response" or row.truncated or row.digest in seen:
                continue
            seen.add(row.digest)
            try:
                record = row.location(self._captures.warcs.folder).read()
            except WarcReadError:
                continue
            if record.has_payload(stated):
                self._foreign[stated] = row.digest
                return self._captures.payloads.original(row.digest)
        return None

    def _tell(self, problem: Problem) -> None:
        self.done.lost += problem.lost
        if len(self.done.problems) < _MAX_PROBLEMS:
            self.done.problems.append(problem)


def _unusable(url: str) -> urls.UrlError | None:
    try:
        if re.match(r"https?:", url, re.IGNORECASE):
            urls.host(url)
    except urls.UrlError as error:
        return error
    return None


def _name(capture: Capture, digest: str) -> UUID:
    """A record id for a capture without one: the same capture gets the same again."""
    return uuid.uuid5(uuid.NAMESPACE_URL, f"{capture.url} {capture.captured_ms} {capture.kind} {digest}")

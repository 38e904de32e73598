"""Archives of other tools taken into this one: same ingest, same records, same deduplication as what is crawled.

A capture keeps its record id, so importing a file twice changes nothing the second time; one whose id another capture
has gets a name of its own. A revisit that comes before its original (or lies in a later file) waits until the end; one
whose original does not come is kept, and joined to it when it comes (`revisits`). Pages that got captures are marked
stale: whoever writes the search index reads them again (`engine.rebuild`).
"""

import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from django.db import transaction

from hemeroteca import urls
from hemeroteca.archive import queries, revisits, services, wacz
from hemeroteca.archive.capture_rows import NewCapture
from hemeroteca.archive.captures import CaptureWriter
from hemeroteca.archive.payloads import may_repeat
from hemeroteca.archive.revisits import Originals
from hemeroteca.archive.versions import renumber_versions
from hemeroteca.errors import Refused
from hemeroteca.frontier.takedowns import Takedowns
from hemeroteca.ingest.ingestion import Ingest
from hemeroteca.ingest.rules import Rules
from hemeroteca.warc import Capture, Original, Problem, captures, records, safe_url
from hemeroteca.warc.exchanges import Exchange, unfinished
from hemeroteca.warc.segments import Segments
from hemeroteca.warc.writer import WarcWriter

_BATCH = 500
_MAX_WAITING = 200_000
_MAX_PROBLEMS = 10_000


@dataclass
class Imported:
    files: int = 0
    taken: int = 0
    known: int = 0  # captures that were in the archive already
    repeated: int = 0  # captures taken as revisits because the archive has their payload
    bytes: int = 0
    waiting: int = 0  # revisits among those taken whose original is not here; they are joined to it when it comes
    joined: int = 0  # revisits of earlier imports that got their original now
    lost: int = 0  # what could not be taken, or not whole; each is among the problems
    taken_down: int = 0  # captures of addresses that were taken down; they are not taken
    stopped: bool = False  # a person ended it before all was read
    problems: list[Problem] = field(default_factory=list)


def exchanges(
    path: Path, spool: Path, max_payload: int = 0, segments: Segments | None = None
) -> Iterator[Exchange | Problem]:
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
        yield from captures(path, spool, max_payload, segments=segments)


class Importer:
    """`progress` gets the file and the number of captures seen so far."""

    def __init__(
        self, warcs: WarcWriter, progress: Callable[[str, int], None] | None = None, min_free_bytes: int = 0
    ) -> None:
        self.done = Imported()
        self._captures = CaptureWriter(warcs)
        self._originals = Originals(warcs.folder, self._captures.payloads)
        self._progress = progress or (lambda name, captures: None)
        self._min_free_bytes = min_free_bytes
        self._ingest = Ingest()
        self._takedowns = Takedowns()
        self._pending: dict[UUID, NewCapture] = {}  # captures not committed, by record id
        self._waiting: list[tuple[Exchange, list[Exchange]]] = []  # revisits, and the warcinfo records of their file
        self._segments = Segments()
        self._infos: list[Exchange] = []  # warcinfo records of the file, until something of it is taken
        self._long_infos: list[Capture] = []  # whose bodies lie in the spool

    def read(self, files: Iterable[Path], spool: Path) -> Imported:
        """Take everything the files hold, and commit it. What was taken before the disk got full stays, too."""
        try:
            for path in files:
                if self.done.stopped:
                    break
                self.done.files += 1
                self._infos = []
                self._read_file(path, spool)
            self._infos = []
            for left in unfinished(self._segments, spool) if not self.done.stopped else ():
                self._take_or_tell(left)
            self.commit()  # what they repeat can be read then, and compared with any digest
            waiting, self._waiting = self._waiting, []
            for found, infos in waiting if not self.done.stopped else ():
                self._infos = infos
                self._take_revisit(found, found.capture, last=True)
        finally:
            for info in self._long_infos:
                info.discard()
            self.commit()
            self._captures.close(all_files=True)
        if self.done.taken:
            self.done.joined = revisits.join(self._captures.warcs.folder, self._originals)
        return self.done

    def stop(self) -> None:
        """Ask `read` to end with the capture it is at; safe in a signal handler."""
        self.done.stopped = True

    def _read_file(self, path: Path, spool: Path) -> None:
        taken, known, waiting = self.done.taken, self.done.known, len(self._waiting)
        for found in exchanges(path, spool, segments=self._segments):
            self._take_or_tell(found)
            self._progress(path.name, self.done.taken + self.done.known)
            if self.done.stopped:
                return
        if self.done.taken > taken:  # some tools end a file with one more
            self._write_infos()
        elif self.done.known == known and len(self._waiting) == waiting:
            for info in self._infos:  # no index names it, so it would come again with every import of the file
                reason = "a warcinfo record of a file of which nothing else is taken is not taken"
                self._tell(Problem(info.file, info.offset, reason, True))

    def _take_or_tell(self, found: Exchange | Problem) -> None:
        if isinstance(found, Problem):
            self._tell(found)
            return
        try:
            self.take(found)
        finally:
            if found.capture.kind != "warcinfo":
                found.capture.discard()
            elif found.capture.path:
                self._long_infos.append(found.capture)

    def take(self, found: Exchange) -> None:
        """A capture, and what a browser made of it."""
        beside, found.capture.attached = found.capture.attached, []
        for capture in (found.capture, *beside):
            capture.url = safe_url(capture.url)
            if capture.kind == "warcinfo":
                self._infos.append(found)
                continue
            if (why := _unusable(capture.url)) is not None:
                self._tell(Problem(found.file, found.offset, f"{capture.url[:200]} is not an address ({why})", True))
            elif self._takedowns.refusal(capture.url):
                self.done.taken_down += 1
            elif capture.original is not None:
                self._take_revisit(found, capture, last=False)
            else:
                self._take_whole(found, capture)
        if len(self._captures.rows) >= _BATCH:
            self.commit()

    def commit(self) -> None:
        self._captures.sync()
        if not self._captures.rows:  # a warcinfo record may have come since
            services.acknowledge(self._captures.warcs.sizes())
            return
        touched = {row.urlkey for row in self._captures.rows}
        with transaction.atomic():
            services.count_alone()
            before = queries.last_id()
            services.link_pages(self._captures.rows)
            self._captures.write()
            renumber_versions(touched, self._captures.warcs.folder)
            services.mark_stale(touched, before)
        self._captures.close()
        self._pending.clear()

    def _take_whole(self, found: Exchange, capture: Capture) -> None:
        digest = capture.digest()
        if capture is found.capture:
            self._originals.note(found.stated_digest, digest)
        if self._is_new(found, capture, digest):
            original = self._captures.payloads.original(digest) if may_repeat(capture) else None
            self._keep(capture, digest, capture.size, original)

    def _take_revisit(self, found: Exchange, capture: Capture, last: bool) -> None:
        stated = capture.original
        assert stated is not None
        original = self._originals.find(
            stated, capture.url, capture.captured_ms, capture.not_modified, self._captures.rows
        )
        if original is not None:
            if self._is_new(found, capture, original.digest):
                size = 0 if capture.not_modified else self._size_of(original)
                self._keep(capture, original.digest, size, original)
        elif not last and len(self._waiting) < _MAX_WAITING:
            waits = Exchange(capture, found.file, found.offset, container=found.container)
            self._waiting.append((waits, self._infos))
        elif self._is_new(found, capture, stated.digest):
            where = f" (it lies in {found.container})" if found.container else ""
            reason = f"what {capture.url} repeats is neither in the archive nor in these files{where}"
            self._tell(Problem(found.file, found.offset, f"{reason}; it is joined to it when that comes", False))
            self._keep(capture, stated.digest, 0, None).refers_to = None
            self.done.waiting += 1

    def _keep(self, capture: Capture, digest: str, size: int, original: Original | None) -> NewCapture:
        """By the ingest that all captures pass; it is only kept here, and read when it is known what came before it."""
        folder = self._captures.warcs.folder
        least = self._min_free_bytes
        if least and shutil.disk_usage(folder).free - capture.size < least:
            raise Refused(
                f"less than {least >> 20} MiB would be free on the disk of {folder}; make room (or "
                "lower min_free_bytes) and import again: what was taken stays"
            )
        self._write_infos()
        rules = Rules(key=0, host="", digest=digest, obey_robots=False, read=False, keep=original is None)
        done = self._ingest(capture, rules)
        done.size = size
        if original is None and done.records is None:  # a revisit that states no digest looks as if nothing changed
            done.records = records(capture)
        before = self._captures.stored
        row = self._captures.keep(capture, done, original)
        assert row is not None
        self._pending[row.record_id] = row
        self.done.taken += 1
        self.done.repeated += original is not None
        self.done.bytes += self._captures.stored - before
        return row

    def _write_infos(self) -> None:
        for info in self._infos:
            made = records(info.capture)
            self._captures.warcs.append(made.source)
            made.discard()
        self._infos.clear()

    def _is_new(self, found: Exchange, capture: Capture, digest: str) -> bool:
        """Whether the archive lacks it; it has a name then. An id that another capture has does not make it known."""
        stated, made = capture.record_id, _name(capture, digest)
        for name in (stated or made, made):
            known = self._pending.get(name) or queries.by_record(name)
            if known is None:
                if stated and name != stated:
                    reason = f"another capture has the record id of {capture.url}; it was given one of its own"
                    self._tell(Problem(found.file, found.offset, reason, False))
                capture.record_id = name
                return True
            waits = capture.kind == known.kind == "revisit" and known.refers_to is None
            if (known.url, known.captured_ms) == (capture.url, capture.captured_ms) and (
                waits or known.digest == digest
            ):
                self.done.known += 1
                return False
        self._tell(Problem(found.file, found.offset, f"other captures have the names of that of {capture.url}", True))
        return False

    def _size_of(self, original: Original) -> int:
        if original.record_id is None:
            return 0
        row = self._pending.get(original.record_id) or queries.by_record(original.record_id)
        return row.body_size if row is not None else 0

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

"""Captures handed out: as one WARC file (as a WACZ: wacz), or their metadata as CSV or JSON lines.

An export is whole in itself: a revisit whose original is not part of it is written as the response it stands for. The
file appears under its name only when it is complete.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Protocol

from django.conf import settings

from hemeroteca import __version__, spreadsheet, warc
from hemeroteca.archive import cdx, content, queries, rendered
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.archive.drafts import draft
from hemeroteca.archive.selection import Selection
from hemeroteca.errors import CannotWrite
from hemeroteca.fetch import heads
from hemeroteca.instance import spool
from hemeroteca.warc import keys, stored_record
from hemeroteca.warc.builder import DEVICE, gzip_pieces
from hemeroteca.warc.capture import Capture
from hemeroteca.warc.exchanges import IN_MEMORY, spooled
from hemeroteca.warc.keys import DOM, SCREENSHOT
from hemeroteca.warc.store import Ahead, Source, StoreUnreachableError, open_source, reading_ahead
from hemeroteca.warc.stored_record import Record, WarcReadError
from hemeroteca.warc.timestamps import iso

COLUMNS = (
    "id", "url", "captured_at", "status", "mime", "kind", "version", "importance", "digest", "body_size", "truncated",
    "warc", "offset", "length",
)  # fmt: skip


@dataclass
class Exported:
    captures: int = 0
    unreadable: int = 0  # captures whose record could not be read; `verify` tells why


Progress = Callable[[int], None]
Lister = Callable[[CaptureRow], object]
POSTED = ("method", "requestBody")


def export_warc(
    folder: Path, selection: Selection, target: Path, now_ms: int, progress: Progress | None = None
) -> Exported:
    """One `.warc.gz` with the records of a selection: responses, revisits and their requests."""
    done = Exported()
    with draft(target) as file, reading_ahead(folder) as ahead:
        for _ in write_warc(file, folder, selection, target.name, now_ms, done, ahead):
            if progress:
                progress(done.captures)
    return done


def export_list(selection: Selection, target: IO[str], form: str, progress: Progress | None = None) -> int:
    """What is known of the captures of a selection; `form` is csv or json. How many there are."""
    tell, count = lister(target, form), 0
    for count, row in enumerate(selection.rows(), 1):
        tell(row)
        if progress:
            progress(count)
    return count


def lister(target: IO[str], form: str) -> Lister:
    """Writes what is known of the captures it is given, each in a line: of CSV, or an object of JSON."""
    if form != "csv":
        return lambda row: print(json.dumps(facts(row)), file=target)
    target.write(spreadsheet.text([COLUMNS]))
    return lambda row: print(spreadsheet.text([facts(row).values()]), end="", file=target)


@contextmanager
def listed_in(target: Path | None) -> Iterator[Lister | None]:
    """Lists captures in a file, as its name says: `.csv`, else JSON lines. Without a file nothing is listed."""
    if target is None:
        yield None
        return
    try:
        file = target.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise CannotWrite(target, error)
    with file:
        yield lister(file, target.suffix.removeprefix("."))


def facts(row: CaptureRow) -> dict[str, str | int | float | bool | None]:
    """A capture for people and programs."""
    return {
        "id": str(row.record_id),
        "url": row.url,
        "captured_at": iso(row.captured_ms),
        "status": row.status,
        "mime": row.mime,
        "kind": row.kind,
        "version": row.version,
        "importance": row.importance,
        "digest": row.digest,
        "body_size": row.body_size,
        "truncated": row.truncated,
        "warc": row.warc_name,
        "offset": row.offset,
        "length": row.length,
    }


_BATCH, _BATCH_BYTES = 500, 64 << 20  # captures fetched at once, and bytes of them that are kept in memory
_LARGE = 8 << 20  # bytes; a longer record is read by itself, piece by piece
_REQUEST = 4096  # bytes behind a capture, where its request lies
_OF_PAYLOAD = ("content-type", "content-encoding", "content-language", "content-disposition")


class Chosen(Protocol):
    """What is exported: a `Selection`, or captures named one by one."""

    def rows(self) -> Iterator[CaptureRow]: ...

    def holds(self, row: CaptureRow) -> bool: ...


def write_warc(
    file: IO[bytes],
    folder: Path,
    selection: Chosen,
    name: str,
    now_ms: int,
    done: Exported,
    ahead: Ahead,
    dressed: bool = False,
) -> Iterator[tuple[CaptureRow, cdx.Line]]:
    """`dressed`: what was not modified is written with the fields of what it stands for, see `_write_dressed`."""
    about = {"software": f"Hemeroteca/{__version__}", "format": "WARC File Format 1.1", "isPartOf": "export"}
    info = warc.warcinfo(now_ms, name, about)
    file.write(info.data)
    for row, original in _fetched(selection.rows(), ahead, dressed):
        offset = file.tell()
        line = cdx.to_line(row)
        try:
            length = _write_capture(file, folder, selection, row, original, line, dressed)
        except StoreUnreachableError:
            raise
        except WarcReadError:
            file.seek(offset)
            file.truncate()
            done.unreadable += 1
            continue
        line |= {"offset": str(offset), "length": str(length), "filename": name}
        done.captures += 1
        yield row, line


def _fetched(
    rows: Iterator[CaptureRow], ahead: Ahead, rendered_too: bool
) -> Iterator[tuple[CaptureRow, CaptureRow | None]]:
    """Captures with the originals of revisits, a batch of their records fetched before; see `Ahead`."""
    while batch := list(islice(rows, _BATCH)):
        originals = {row.id: queries.by_record(row.refers_to) for row in batch if row.refers_to}
        wanted = [row for row in (*batch, *originals.values()) if row is not None]
        if rendered_too:  # their texts are read
            wanted += filter(None, map(rendered.dom_of, filter(lambda row: row.mime in content.HTML, batch)))
        room = _BATCH_BYTES
        places: list[tuple[str, int, int]] = []
        for row in wanted:
            if row.length <= _LARGE and row.length <= room:
                places.append((row.warc_name, row.offset, row.length + _REQUEST))
                room -= row.length
        ahead.fetch(places)
        for row in batch:
            yield row, originals.get(row.id)


def _write_capture(
    file: IO[bytes],
    folder: Path,
    selection: Chosen,
    row: CaptureRow,
    original: CaptureRow | None,
    line: cdx.Line,
    dressed: bool,
) -> int:
    if row.kind == "revisit" and row.refers_to:  # without, it came alone and goes so
        original = original or queries.holder(row)  # which says what is wrong
        if not selection.holds(original):
            return _write_whole(file, folder, row, original, line)
        if dressed and row.status == 304:
            return _write_dressed(file, folder, row, original, line)
    return _copy(file, folder, row, line)


def _copy(file: IO[bytes], folder: Path, row: CaptureRow, line: cdx.Line) -> int:
    """The records of a capture as they lie in the archive."""
    source = open_source(folder, row.warc_name)
    if row.warc_name.endswith(warc.ZST):
        length = _write_unpacked(file, source, row)
        _write_request(file, folder, row, line)
        return length
    try:
        if sum(map(file.write, _pieces(source, row.length, row.offset))) < row.length:
            raise WarcReadError(f"{row.warc_name} ends inside the record at {row.offset}")
    finally:
        source.close()
    _write_request(file, folder, row, line)
    return row.length


def _pieces(source: Source, size: int, position: int) -> Iterator[bytes]:
    while size > 0 and (piece := source.read_at(min(size, 1 << 20), position)):
        yield piece
        position += len(piece)
        size -= len(piece)


def _write_whole(file: IO[bytes], folder: Path, row: CaptureRow, original: CaptureRow, line: cdx.Line) -> int:
    """A revisit as the response it stands for. What was not modified has the head of what it did not modify."""
    source = original.location(folder).read()
    with with_payload(exchange_again(folder, row, source, None), source) as records:
        size = _put(file, records)
    if row.url.startswith((DOM, SCREENSHOT)):
        line["mime"] = source.mime
        return size
    _write_request(file, folder, row, line)
    line |= {"mime": source.mime or "-", "status": str(source.status)}
    return size


def exchange_again(folder: Path, row: CaptureRow, source: Record, holder: warc.Original | None) -> Capture:
    """A revisit as the response it stands for, but for the payload of `source`; or as a revisit of another `holder`."""
    revisit = row.location(folder).read()
    if holder is not None:
        again = _again(row, revisit, revisit.head)
        again.original, again.not_modified = holder, row.status == 304
        return again
    if row.url.startswith((DOM, SCREENSHOT)):
        return Capture(url=row.url, captured_ms=row.captured_ms, content_type=source.mime, record_id=row.record_id)
    return _again(row, revisit, source.head if row.status == 304 or not revisit.head else revisit.head)


@contextmanager
def with_payload(capture: Capture, source: Record) -> Iterator[warc.Records]:
    """The records of a capture that has the payload of another. A long one passes through the disk."""
    if source.size <= IN_MEMORY:
        capture.body = source.payload()
        yield warc.records(capture)
        return
    with spool.own(settings.INSTANCE) as folder:
        capture.body, capture.path = spooled(source.body, folder)
        yield warc.records(capture)


def _again(row: CaptureRow, record: Record, head: bytes) -> Capture:
    """The exchange of a row, with another head."""
    return Capture(
        url=row.url,
        captured_ms=row.captured_ms,
        response_head=head,
        ip=record.headers.get("warc-ip-address", ""),
        protocol=record.headers.get("warc-protocol", ""),
        record_id=row.record_id,
        device=record.headers.get(DEVICE.lower(), ""),
    )


def _write_dressed(file: IO[bytes], folder: Path, row: CaptureRow, original: CaptureRow, line: cdx.Line) -> int:
    """A 304 with the fields in which the original says what its payload is.

    ReplayWeb.page shows the payload of the original with the head of the revisit: servers leave such fields out of a
    304, and a page without them is shown as it lies, its links leading out of the archive.
    """
    revisit = row.location(folder).read()
    source = original.location(folder).read()
    again = _again(row, revisit, _with_fields_of(source.head, revisit.head))
    again.original = warc.Original(original.record_id, original.url, original.captured_ms, original.digest)
    again.not_modified = True
    records = warc.records(again)
    size = _put(file, records)
    _write_request(file, folder, row, line)
    line["status"] = str(original.status)
    return size


def _put(file: IO[bytes], records: warc.Records) -> int:
    if records.path:
        with open(records.path, "rb") as long:
            shutil.copyfileobj(long, file)
    else:
        file.write(records.data)
    return records.size


def _with_fields_of(source: bytes, head: bytes) -> bytes:
    given = {name.lower() for name, _ in heads.fields(head)}
    more = [
        f"{name}: {value}\r\n".encode("latin-1", "replace")
        for name, value in heads.fields(source)
        if name.lower() in _OF_PAYLOAD and name.lower() not in given
    ]
    return b"".join([head.rstrip(b"\r\n"), b"\r\n", *more, b"\r\n"])


def _write_unpacked(file: IO[bytes], source: Source, row: CaptureRow) -> int:
    """A record of a file that is packed otherwise."""
    try:
        frame = stored_record.member_at(source.read_at, row.offset, row.offset + row.length)
        return sum(map(file.write, gzip_pieces(frame.stream())))
    except (*stored_record.UNREADABLE, OSError) as error:
        raise WarcReadError(f"{row.warc_name} at {row.offset}: not a readable record ({error})")
    finally:
        source.close()


def _write_request(file: IO[bytes], folder: Path, row: CaptureRow, line: cdx.Line) -> None:
    found = request_of(folder, row)
    if found is None:
        return
    file.write(found[1])
    if keys.MARK in row.urlkey:  # other tools make the key of these
        line["method"] = "POST"
        line["requestBody"] = keys.query(found[0].header("content-type"), found[0].payload(keys.MAX_SENT))


def request_of(folder: Path, row: CaptureRow) -> tuple[Record, bytes] | None:
    """The request record that follows a capture in its file, and the bytes as which it lies there."""
    source = open_source(folder, row.warc_name)
    try:
        start = row.offset + row.length
        member = stored_record.member_at(source.read_at, start, source.size)
        record: Record | None = stored_record.next_record(member.stream())
        if record is None or record.kind != "request" or not member.eof:
            return None
        if stored_record.uuid_of(record.headers.get("warc-concurrent-to", "")) != row.record_id:
            return None
        if row.warc_name.endswith(warc.ZST):
            again = stored_record.member_at(source.read_at, start, source.size)
            return record, warc.as_gzip(again.stream().read())
        return record, b"".join(_pieces(source, member.end - start, start))
    except (*stored_record.UNREADABLE, OSError):
        return None
    finally:
        source.close()

"""Captures handed out: as one WARC file, as a WACZ (opens in ReplayWeb.page), or their metadata as CSV or JSON lines.

An export is whole in itself: a revisit whose original is not part of it is written as the response it stands for. The
file appears under its name only when it is complete.
"""

import csv
import hashlib
import heapq
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from hemeroteca import __version__, extract, warc
from hemeroteca.archive import cdx, comparing, queries, zipnum
from hemeroteca.archive.selection import Selection
from hemeroteca.archive.values import CaptureRow
from hemeroteca.warc import keys, reader
from hemeroteca.warc.keys import DOM
from hemeroteca.warc.reader import Record, WarcReadError
from hemeroteca.warc.store import Source, open_source
from hemeroteca.warc.timestamps import iso

WACZ_VERSION = "1.1.1"
COLUMNS = (
    "id", "url", "captured_at", "status", "mime", "kind", "version", "importance", "digest", "body_size", "truncated",
    "warc", "offset", "length",
)  # fmt: skip


@dataclass
class Exported:
    captures: int = 0
    unreadable: int = 0
    """Captures whose record could not be read; `verify` tells why."""


Progress = Callable[[int], None]
Lister = Callable[[CaptureRow], object]
POSTED = ("method", "requestBody")


def export_warc(
    folder: Path, selection: Selection, target: Path, now_ms: int, progress: Progress | None = None
) -> Exported:
    """One `.warc.gz` with the records of a selection: responses, revisits and their requests."""
    done = Exported()
    with _draft(target) as file:
        for _ in _write_warc(file, folder, selection, target.name, now_ms, done):
            if progress:
                progress(done.captures)
    return done


def export_wacz(
    folder: Path,
    selection: Selection,
    target: Path,
    now_ms: int,
    title: str = "",
    progress: Progress | None = None,
) -> Exported:
    """A WACZ: the WARC, its index, the pages with their titles and texts (to be searched), and digests of all of it."""
    done = Exported()
    with (
        tempfile.TemporaryDirectory(dir=target.parent, prefix=".wacz-") as work,
        _draft(target) as file,
        zipfile.ZipFile(file, "w", allowZip64=True) as archive,
    ):
        data, index, pages = (Path(work) / name for name in ("data.warc.gz", "index.cdx", "pages.jsonl"))
        with data.open("w+b") as records, index.open("w", encoding="utf-8") as lines, pages.open("w") as listed:
            listed.write(json.dumps(_PAGE_LIST) + "\n")
            last = ""
            for row, line in _write_warc(records, folder, selection, data.name, now_ms, done, dressed=True):
                rest = {name: line[name] for name in (*cdx.FIELDS[2:], *POSTED) if name in line}
                lines.write(f"{line['urlkey']} {line['timestamp']} {json.dumps(rest)}\n")
                # of an export that begins in the middle of a version, that version too
                if (row.version or row.urlkey != last) and _is_page(row, line):
                    listed.write(json.dumps(_page(folder, row)) + "\n")
                last = row.urlkey
                if progress:
                    progress(done.captures)
        resources = [_add(archive, data, "archive/data.warc.gz", zipfile.ZIP_STORED)]
        for part, compression in _indexes(index):
            resources.append(_add(archive, part, f"indexes/{part.name}", compression))
        resources.append(_add(archive, pages, "pages/pages.jsonl", zipfile.ZIP_DEFLATED))
        package = {
            "profile": "data-package",
            "wacz_version": WACZ_VERSION,
            "software": f"Hemeroteca {__version__}",
            "created": iso(now_ms),
            "title": title or target.stem,
            "metadata": {"title": title or target.stem},  # where ReplayWeb.page looks for it
            "resources": resources,
        }
        text = json.dumps(package, indent=2).encode()
        archive.writestr("datapackage.json", text, zipfile.ZIP_DEFLATED)
        digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(text).hexdigest()}"}
        archive.writestr("datapackage-digest.json", json.dumps(digest), zipfile.ZIP_DEFLATED)
    return done


def export_csv(selection: Selection, target: IO[str], progress: Progress | None = None) -> int:
    return _list(selection, csv_lister(target), progress)


def export_json(selection: Selection, target: IO[str], progress: Progress | None = None) -> int:
    """One object per line."""
    return _list(selection, json_lister(target), progress)


def csv_lister(target: IO[str]) -> Lister:
    """Writes what is known of the captures it is given, each in a line."""
    writer = csv.writer(target)
    writer.writerow(COLUMNS)
    return lambda row: writer.writerow([_cell(value) for value in facts(row).values()])


def json_lister(target: IO[str]) -> Lister:
    """The same as objects, one per line."""
    return lambda row: print(json.dumps(facts(row)), file=target)


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


def _list(selection: Selection, tell: Lister, progress: Progress | None) -> int:
    count = 0
    for count, row in enumerate(selection.rows(), 1):
        tell(row)
        if progress:
            progress(count)
    return count


_LINES = 500_000
_PAGES = ("text/html", "application/xhtml+xml", "application/pdf", "text/plain")
_OF_PAYLOAD = ("content-type", "content-encoding", "content-language", "content-disposition")
_PAGE_LIST = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": True}


def _is_page(row: CaptureRow, line: cdx.Line) -> bool:
    if row.urlkey.endswith(")/robots.txt") or keys.MARK in row.urlkey:
        return False
    return (row.mime or line["mime"]) in _PAGES and line["status"] == "200"


def _page(folder: Path, row: CaptureRow) -> dict[str, str]:
    page = {"id": str(row.record_id), "url": row.url, "ts": iso(row.captured_ms), "title": row.url}
    try:
        body, content_type = comparing.content(folder, row)
    except WarcReadError:
        return page
    document = extract.read(body, content_type, row.url)
    return page | {"title": document.title or row.url, "text": document.text}


def _write_warc(
    file: IO[bytes],
    folder: Path,
    selection: Selection,
    name: str,
    now_ms: int,
    done: Exported,
    dressed: bool = False,
) -> Iterator[tuple[CaptureRow, cdx.Line]]:
    """`dressed`: what was not modified is written with the fields of what it stands for, see `_write_dressed`."""
    about = {"software": f"Hemeroteca/{__version__}", "format": "WARC File Format 1.1", "isPartOf": "export"}
    info = warc.warcinfo(now_ms, name, about)
    assert isinstance(info.data, bytes)
    file.write(info.data)
    for row in selection.rows():
        offset = file.tell()
        line = cdx.to_line(row)
        try:
            length = _write_capture(file, folder, selection, row, line, dressed)
        except WarcReadError:
            file.seek(offset)
            file.truncate()
            done.unreadable += 1
            continue
        line |= {"offset": str(offset), "length": str(length), "filename": name}
        done.captures += 1
        yield row, line


def _write_capture(
    file: IO[bytes], folder: Path, selection: Selection, row: CaptureRow, line: cdx.Line, dressed: bool
) -> int:
    if row.kind == "revisit":
        original = queries.by_record(row.refers_to) if row.refers_to else None
        if original is None:
            raise WarcReadError(f"the original of {row.url} is not in the archive")
        if not selection.holds(original):
            return _write_whole(file, folder, row, original, line)
        if dressed and row.status == 304:
            return _write_dressed(file, folder, row, original, line)
    source = open_source(folder, row.warc_name)
    if row.warc_name.endswith(warc.ZST):
        length = _write_unpacked(file, source, row)
        _write_request(file, folder, row, line)
        return length
    try:
        position, left = row.offset, row.length
        while left > 0 and (chunk := source.read_at(min(left, 1 << 20), position)):
            file.write(chunk)
            position += len(chunk)
            left -= len(chunk)
        if left:
            raise WarcReadError(f"{row.warc_name} ends inside the record at {row.offset}")
    finally:
        source.close()
    _write_request(file, folder, row, line)
    return row.length


def _write_whole(file: IO[bytes], folder: Path, row: CaptureRow, original: CaptureRow, line: cdx.Line) -> int:
    """A revisit as the response it stands for. What was not modified has the head of what it did not modify."""
    revisit = reader.read(folder, row.warc_name, row.offset, row.length)
    source = reader.read(folder, original.warc_name, original.offset, original.length)
    if row.url.startswith(DOM):
        records = warc.record("resource", row.captured_ms, source.mime, source.payload(), row.url, row.record_id)
        line["mime"] = source.mime
        return _put(file, records)
    head = source.head if row.status == 304 or not revisit.head else revisit.head
    records = warc.exchange_records(
        row.url,
        row.captured_ms,
        revisit.headers.get("warc-ip-address", ""),
        revisit.headers.get("warc-protocol", ""),
        b"",
        head,
        source.payload(),
        record_id=row.record_id,
    )
    size = _put(file, records)
    _write_request(file, folder, row, line)
    line |= {"mime": source.mime or "-", "status": str(source.status)}
    return size


def _write_dressed(file: IO[bytes], folder: Path, row: CaptureRow, original: CaptureRow, line: cdx.Line) -> int:
    """A 304 with the fields in which the original says what its payload is.

    ReplayWeb.page shows the payload of the original with the head of the revisit: servers leave such fields out of a
    304, and a page without them is shown as it lies, its links leading out of the archive.
    """
    revisit = reader.read(folder, row.warc_name, row.offset, row.length)
    source = reader.read(folder, original.warc_name, original.offset, original.length)
    records = warc.revisit_records(
        row.url,
        row.captured_ms,
        revisit.headers.get("warc-ip-address", ""),
        revisit.headers.get("warc-protocol", ""),
        b"",
        _with_fields_of(source.head, revisit.head),
        warc.Original(original.record_id, original.url, original.captured_ms, original.digest),
        not_modified=True,
        record_id=row.record_id,
    )
    size = _put(file, records)
    _write_request(file, folder, row, line)
    line["status"] = str(original.status)
    return size


def _put(file: IO[bytes], records: warc.Records) -> int:
    assert isinstance(records.data, bytes)
    file.write(records.data)
    return records.size


def _with_fields_of(source: bytes, head: bytes) -> bytes:
    given = {name.lower() for name, _ in reader.http_headers(head)}
    more = [
        f"{name}: {value}\r\n".encode("utf-8", "replace")
        for name, value in reader.http_headers(source)
        if name.lower() in _OF_PAYLOAD and name.lower() not in given
    ]
    return b"".join([head.rstrip(b"\r\n"), b"\r\n", *more, b"\r\n"])


def _write_unpacked(file: IO[bytes], source: Source, row: CaptureRow) -> int:
    """A record of a file that is packed otherwise."""
    try:
        data = warc.as_gzip(reader.member_at(source.read_at, row.offset, row.offset + row.length).stream().read())
    except (*reader.UNREADABLE, OSError) as error:
        raise WarcReadError(f"{row.warc_name} at {row.offset}: not a readable record ({error})")
    finally:
        source.close()
    return file.write(data)


def _write_request(file: IO[bytes], folder: Path, row: CaptureRow, line: cdx.Line) -> None:
    found = _request_of(folder, row)
    if found is None:
        return
    file.write(found[1])
    if keys.MARK in row.urlkey:  # other tools make the key of these
        line["method"] = "POST"
        line["requestBody"] = keys.query(found[0].header("content-type"), found[0].payload(keys.MAX_SENT))


def _request_of(folder: Path, row: CaptureRow) -> tuple[Record, bytes] | None:
    """The request record that follows a capture in its file, and the bytes as which it lies there."""
    source = open_source(folder, row.warc_name)
    try:
        start = row.offset + row.length
        member = reader.member_at(source.read_at, start, source.size)
        record: Record | None = reader.next_record(member.stream())
        if record is None or record.kind != "request" or not member.eof:
            return None
        if reader.uuid_of(record.headers.get("warc-concurrent-to", "")) != row.record_id:
            return None
        if row.warc_name.endswith(warc.ZST):
            again = reader.member_at(source.read_at, start, source.size)
            return record, warc.as_gzip(again.stream().read())
        return record, source.read_at(member.end - start, start)
    except (*reader.UNREADABLE, OSError):
        return None
    finally:
        source.close()


@contextmanager
def _draft(target: Path) -> Iterator[IO[bytes]]:
    """A file that gets its name only when everything went well."""
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    os.replace(file.name, target)


def _indexes(lines: Path) -> list[tuple[Path, int]]:
    """The files of an index and how they are packed in the ZIP: one with all its lines, of many a file of blocks."""
    if lines.stat().st_size <= zipnum.PLAIN_BYTES:
        with lines.open("rb") as source:
            found = sorted(source)
        lines.write_bytes(b"".join(found))
        return [(lines, zipfile.ZIP_DEFLATED)]
    data, listed = lines.with_name(zipnum.DATA), lines.with_name(zipnum.LIST)
    with lines.open("rb") as source, data.open("wb") as blocks, listed.open("wb") as places, ExitStack() as stack:
        zipnum.write(_sorted(zipnum.keyed(source), lines, stack), blocks, places)
    return [(data, zipfile.ZIP_STORED), (listed, zipfile.ZIP_DEFLATED)]


def _sorted(lines: Iterable[bytes], path: Path, stack: ExitStack) -> Iterator[bytes]:
    """Lines in the order of their bytes, whatever their number: sorted in parts beside `path`, then merged."""
    rest = iter(lines)
    parts: list[Path] = []
    while part := list(islice(rest, _LINES)):
        parts.append(path.with_name(f"{path.name}.{len(parts)}"))
        parts[-1].write_bytes(b"".join(sorted(part)))
    return heapq.merge(*(stack.enter_context(part.open("rb")) for part in parts))


def _add(archive: zipfile.ZipFile, path: Path, name: str, compression: int) -> dict[str, str | int]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    archive.write(path, name, compression)
    return {"name": name.rpartition("/")[2], "path": name, "hash": f"sha256:{digest}", "bytes": path.stat().st_size}


def _cell(value: object) -> object:
    """Texts a spreadsheet would run as a formula are shown as texts."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t") else value

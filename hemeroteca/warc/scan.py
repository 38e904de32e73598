"""Whole archive files, record by record: WARC and ARC, gzip per record, gzip as a whole, or plain; good or damaged.

A damaged place is reported and skipped: reading goes on at the next record that can be found.
"""

import io
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, cast

import msgspec
from isal import isal_zlib

from hemeroteca.warc import zstd
from hemeroteca.warc.reader import MAX_PAYLOAD, UNREADABLE, GzipMember, Record, next_record


class ScannedRecord(msgspec.Struct):
    """A record and where it lies."""

    record: Record
    offset: int
    length: int  # bytes in the file; 0 when it shares a gzip member with other records


class Damage(msgspec.Struct, frozen=True):
    """A place that could not be read."""

    offset: int
    length: int
    reason: str


def scan(
    path: Path, end: int | None = None, max_payload: int = MAX_PAYLOAD, payloads: bool = True
) -> Iterator[ScannedRecord | Damage]:
    """Every record of a file (up to the byte `end`), and every place that holds none.

    Without `payloads`, records that state our own digest come with an empty body (`size` is right all the same): they
    are not unpacked beyond their heads, which is many times faster.
    """
    size = path.stat().st_size
    end = size if end is None else min(end, size)
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(0)
        if start[:2] == b"\x1f\x8b":
            yield from _members(file.fileno(), end, max_payload, payloads)
        elif zstd.is_zstd(start):
            yield from _frames(file.fileno(), end, max_payload)
        elif start:
            yield from _plain(file, end, max_payload)
        else:
            yield Damage(0, 0, "the file is empty")


def _members(fd: int, end: int, max_payload: int, payloads: bool) -> Iterator[ScannedRecord | Damage]:
    offset = 0
    while offset < end:
        if not payloads and (found := _without_payload(fd, offset, end)) is not None:
            yield found
            offset += found.length
            continue
        member = GzipMember(partial(os.pread, fd), offset, end)
        alone: Record | None = None  # the first record of the member, until it is known whether others follow
        count = 0
        reason = ""
        try:
            stream = member.stream()
            while (record := next_record(stream, max_payload)) is not None:
                count += 1
                if count == 1:
                    alone = record
                    continue
                if alone is not None:
                    yield Damage(offset, 0, "several records share one gzip member; they can be read only in order")
                    yield ScannedRecord(alone, offset, 0)
                    alone = None
                yield ScannedRecord(record, offset, 0)
            if not member.eof:
                reason = "the record is longer than it says"
        except (*UNREADABLE, OSError) as error:
            reason = _told(error)
        following = member.end if member.eof else _next_member(fd, offset + 1, end)
        if reason and following == end and member.cut:
            reason = "the file ends inside a compressed record"
        if alone is not None and alone.missing and member.eof and following < end:
            yield Damage(offset, 0, "the gzip members of the file do not end where its records do")
            yield from _joined(fd, offset, end, max_payload)
            return
        if alone is not None:
            yield ScannedRecord(alone, offset, following - offset)
        if reason:
            yield Damage(offset, following - offset, reason)
        offset = following


def _told(error: Exception) -> str:
    unpacking = isinstance(error, cast("type[Exception]", isal_zlib.error))
    return f"a record is damaged and cannot be unpacked ({error})" if unpacking else str(error)


def _frames(fd: int, end: int, max_payload: int) -> Iterator[ScannedRecord | Damage]:
    """Records of a file in Zstandard frames."""
    read_at = partial(os.pread, fd)
    try:
        dictionary = zstd.dictionary_of(read_at)
        zstd.library()
    except zstd.ZstdError as error:
        yield Damage(0, end, str(error))
        return
    offset = 0
    while offset < end:
        start = os.pread(fd, 8, offset)
        if zstd.is_skippable(start) and len(start) == 8:
            offset += 8 + int.from_bytes(start[4:], "little")
            continue
        frame = zstd.ZstdFrame(read_at, offset, end, dictionary)
        reason, record = "", None
        try:
            stream = frame.stream()
            record = next_record(stream, max_payload)
            while frame.read(1 << 16):
                pass
        except (*UNREADABLE, OSError) as error:
            reason = _told(error)
        following = frame.end if frame.eof else _next(fd, zstd.MAGIC, offset + 1, end)
        if frame.cut and following == end:
            reason = "the file ends inside a compressed record"
        if record is not None and not reason:
            yield ScannedRecord(record, offset, following - offset)
        elif reason:
            yield Damage(offset, following - offset, reason)
        offset = following


def _without_payload(fd: int, offset: int, end: int) -> ScannedRecord | None:
    """A record of which only the heads are unpacked; None when that is not enough to know it.

    Where its gzip member ends is where the next one begins whose four bytes before (the member's unpacked size) are the
    size the record says it has.
    """
    block = os.pread(fd, min(_QUICK_READ, end - offset), offset)
    try:
        start = isal_zlib.decompressobj(31).decompress(block[:_HEADS])
        stream = io.BytesIO(start)
        record = next_record(stream)
    except (*UNREADABLE, OSError):
        return None
    if record is None or (record.missing and record.head and not record.head.endswith((b"\r\n\r\n", b"\n\n"))):
        return None
    digest = record.headers.get("warc-payload-digest", "")
    if record.kind in ("response", "resource", "conversion") and not digest.startswith("sha256:"):
        return None
    top = start.find(b"\r\n\r\n") + 4
    if top < 4 or start[:5] != b"WARC/":
        return None
    size = (top + len(record.head) + record.size + record.missing + 4) & 0xFFFFFFFF
    expected = size.to_bytes(4, "little")
    at = 18  # a member's header and trailer are no shorter
    while True:
        at = block.find(b"\x1f\x8b\x08", at)
        if at < 0:
            break
        if block[at - 4 : at] == expected:
            return ScannedRecord(_emptied(record), offset, at)
        at += 1
    if len(block) == end - offset and block[-4:] == expected:
        return ScannedRecord(_emptied(record), offset, len(block))
    return None


def _emptied(record: Record) -> Record:
    return Record(record.headers, record.head, io.BytesIO(), record.size + record.missing)


def _joined(fd: int, offset: int, end: int, max_payload: int) -> Iterator[ScannedRecord | Damage]:
    """Records of a file whose members can only be read one after the other, as one stream."""
    stream = io.BufferedReader(_AllMembers(fd, offset, end), 1 << 16)
    try:
        while (record := next_record(stream, max_payload)) is not None:
            yield ScannedRecord(record, offset, 0)
    except (*UNREADABLE, OSError) as error:
        yield Damage(offset, end - offset, _told(error))


class _AllMembers(io.RawIOBase):
    """What the gzip members of a file unpack to, one after the other."""

    def __init__(self, fd: int, offset: int, end: int) -> None:
        self._fd = fd
        self._end = end
        self._member = GzipMember(partial(os.pread, fd), offset, end)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        while self._member.eof:
            if self._member.end >= self._end:
                return 0
            self._member = GzipMember(partial(os.pread, self._fd), self._member.end, self._end)
        data = self._member.read(len(buffer))
        buffer[: len(data)] = data
        return len(data) or self.readinto(buffer)


def _plain(file: IO[bytes], end: int, max_payload: int) -> Iterator[ScannedRecord | Damage]:
    while True:
        offset = _skip_blank(file)
        if offset >= end:
            return
        try:
            record = next_record(file, max_payload)
        except ValueError as error:
            following = min(end, _next(file.fileno(), b"\nWARC/1.", offset, end) + 1)
            yield Damage(offset, following - offset, _told(error))
            file.seek(following)
            continue
        if record is None:
            return
        yield ScannedRecord(record, offset, file.tell() - offset)


def _skip_blank(file: IO[bytes]) -> int:
    while (byte := file.read(1)) in (b"\r", b"\n"):
        pass
    if byte:
        file.seek(-1, os.SEEK_CUR)
    return file.tell()


def _next_member(fd: int, start: int, end: int) -> int:
    """Where the next gzip member begins that holds a record, or `end`."""
    while (start := _next(fd, b"\x1f\x8b\x08", start, end)) < end:
        try:
            if isal_zlib.decompressobj(31).decompress(os.pread(fd, 4096, start), 64).startswith(b"WARC/"):
                return start
        except UNREADABLE:
            pass
        start += 1
    return end


def _next(fd: int, mark: bytes, start: int, end: int) -> int:
    """Where a mark stands next, or `end`."""
    for position in range(start, end, _STEP):
        at = os.pread(fd, min(_STEP + len(mark) - 1, end - position), position).find(mark)
        if at >= 0:
            return position + at
    return end


_STEP = 1 << 20
_HEADS = 1536  # compressed bytes in which the heads of a record are expected; others are unpacked whole
_QUICK_READ = 1 << 16

"""Whole archive files, record by record: WARC and ARC, gzip per record, gzip as a whole, or plain; good or damaged.

A damaged place is reported and skipped: reading goes on at the next record that can be found.
"""

import io
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, cast

import msgspec
from isal import isal_zlib

from hemeroteca.errors import is_disk_full
from hemeroteca.warc import zstd
from hemeroteca.warc.stored_record import ANY, IS_WARC, UNREADABLE, GzipMember, Record, next_record


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
    path: Path, end: int | None = None, max_payload: int = ANY, payloads: bool = True
) -> Iterator[ScannedRecord | Damage]:
    """Every record of a file (up to the byte `end`), and every place that holds none.

    Without `payloads`, records that state our own digest come with an empty body (`size` is right all the same): they
    are not unpacked beyond their heads, which is many times faster.
    """
    size = path.stat().st_size
    end = size if end is None else min(end, size)
    with path.open("rb") as file:
        if not file.seekable():
            yield Damage(0, 1, "a pipe is not read here; write what comes from it into a file first")
            return
        start = file.read(4)
        file.seek(0)
        if start[:2] == b"\x1f\x8b":
            yield from _members(file.fileno(), end, max_payload, payloads)
        elif zstd.is_zstd(start):
            try:
                dictionary = zstd.dictionary_of(partial(os.pread, file.fileno()))
                zstd.library()
            except zstd.ZstdError as error:
                yield Damage(0, end, str(error))
                return
            yield from _members(file.fileno(), end, max_payload, True, dictionary)
        elif start == _LZ4:
            yield Damage(0, end, "LZ4 is not read here; `lz4 -d` unpacks the file")
        elif start:
            yield from _plain(file, end, max_payload)
        else:
            yield Damage(0, 0, "the file is empty")


def _members(
    fd: int, end: int, max_payload: int, payloads: bool, dictionary: bytes | None = None
) -> Iterator[ScannedRecord | Damage]:
    """Records in gzip members or, with a `dictionary` (which may be empty), in Zstandard frames."""
    read_at = partial(os.pread, fd)
    offset = 0
    while offset < end:
        if (zeros := _zeros(fd, offset, end)) is not None:
            yield zeros
            offset += zeros.length
            continue
        if not payloads and (found := _without_payload(fd, offset, end)) is not None:
            yield found
            offset += found.length
            continue
        if dictionary is not None and zstd.is_skippable(start := os.pread(fd, 8, offset)) and len(start) == 8:
            offset += 8 + int.from_bytes(start[4:], "little")
            continue
        member = (
            GzipMember(read_at, offset, end) if dictionary is None else zstd.ZstdFrame(read_at, offset, end, dictionary)
        )
        alone: Record | None = None  # the first record of the member, until it is known whether others follow
        count = 0
        reason = ""
        try:
            for record in _records(member.stream(), max_payload):
                if isinstance(record, str):
                    reason = reason or record
                    continue
                count += 1
                if count == 1:
                    alone = record
                    continue
                if alone is not None:
                    yield Damage(offset, 0, "several records are packed together; they can be read only in order")
                    yield ScannedRecord(alone, offset, 0)
                    alone = None
                yield ScannedRecord(record, offset, 0)
            if not member.eof:
                reason = reason or "the record is longer than it says"
        except (*UNREADABLE, OSError) as error:
            reason = _reason_of(error)
        following = member.end if member.eof else _next_member(fd, offset + 1, end, dictionary is not None)
        if reason and following == end and member.cut:
            reason = "the file ends inside a compressed record"
        if dictionary is None and alone is not None and alone.missing and member.eof and following < end:
            yield Damage(offset, 0, "the gzip members of the file do not end where its records do")
            yield from _joined(fd, offset, end, max_payload)
            return
        if alone is not None:
            yield ScannedRecord(alone, offset, following - offset)
        if reason:
            yield Damage(offset, following - offset, reason)
        offset = following


def _records(stream: IO[bytes], max_payload: int) -> Iterator[Record | str]:
    """What can only be read in order: records, and why one cannot be read; then the next that begins soon after."""
    line = b""
    while True:
        try:
            record = next_record(stream, max_payload, line)
        except ValueError as error:
            yield str(error)
            left = _MAX_SKIPPED
            while left > 0 and (line := stream.readline(_STEP)) and not _BEGINS_LINE(line):
                left -= len(line)
            if left > 0 and line:
                continue
            return
        if record is None:
            return
        yield record
        line = b""


def _zeros(fd: int, offset: int, end: int) -> Damage | None:
    """Zero bytes where a record should begin: padding of other tools, or a hole where records were. One may begin right
    behind them. None: there are none."""
    if os.pread(fd, 1, offset) != b"\0":
        return None
    at = offset
    while at < end and (block := os.pread(fd, min(1 << 16, end - at), at)):
        rest = block.lstrip(b"\0")
        at += len(block) - len(rest)
        if rest:
            break
    return Damage(offset, at - offset, f"{at - offset} zero bytes instead of a record")


def _reason_of(error: Exception) -> str:
    """Why a place cannot be read. That our own disk is full is no fault of it."""
    if is_disk_full(error):
        raise error
    unpacking = isinstance(error, cast("type[Exception]", isal_zlib.error))
    return f"a record is damaged and cannot be unpacked ({error})" if unpacking else str(error)


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
    if top < 4 or not IS_WARC(start):
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
        for record in _records(stream, max_payload):
            yield Damage(offset, 1, record) if isinstance(record, str) else ScannedRecord(record, offset, 0)
    except (*UNREADABLE, OSError) as error:
        yield Damage(offset, end - offset, _reason_of(error))


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
        if (zeros := _zeros(file.fileno(), offset, end)) is not None:
            yield zeros
            file.seek(offset + zeros.length)
            continue
        try:
            record = next_record(file, max_payload)
        except ValueError as error:
            following = min(end, _next(file.fileno(), _RECORD, offset, end) + 1)
            yield Damage(offset, following - offset, _reason_of(error))
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


def _next_member(fd: int, start: int, end: int, frames: bool) -> int:
    """Where the next gzip member begins that holds a record (or the next Zstandard frame), or `end`."""
    while (start := _next(fd, _FRAME if frames else _MEMBER, start, end)) < end:
        try:
            if frames or _BEGINS(isal_zlib.decompressobj(31).decompress(os.pread(fd, 4096, start), 64)):
                return start
        except UNREADABLE:
            pass
        start += 1
    return end


def _next(fd: int, mark: re.Pattern[bytes], start: int, end: int) -> int:
    """Where a mark stands next, or `end`."""
    for position in range(start, end, _STEP):
        found = mark.search(os.pread(fd, min(_STEP + _MARK - 1, end - position), position))
        if found is not None:
            return position + found.start()
    return end


_STEP, _MARK = 1 << 20, 4 << 10
_MEMBER, _FRAME = re.compile(rb"\x1f\x8b\x08"), re.compile(re.escape(zstd.MAGIC))
_ARC = (
    rb"[a-z]{3,12}:[!-~]{1,2000} [0-9a-fA-F.:]{2,45} [0-9]{14} "  # how the line before a record of an ARC file begins
)
_RECORD = re.compile(rb"\n(?:(?i:WARC)/\d|" + _ARC + rb")")
_BEGINS_LINE = re.compile(rb"(?i:WARC)/\d|" + _ARC).match
_MAX_SKIPPED = 16 << 20  # bytes in which the next record of a packed stream is looked for
_BEGINS = re.compile(rb"(?i:WARC)/|[a-z]{3,12}:").match
_LZ4 = b"\x04\x22\x4d\x18"
_HEADS = 1536  # compressed bytes in which the heads of a record are expected; others are unpacked whole
_QUICK_READ = 1 << 16

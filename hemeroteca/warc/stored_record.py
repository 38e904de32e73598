"""Records read back: one by its place in a file (`read`), or the next one of a stream (`next_record`).

Reads WARC of any version and ARC. Never loads more than it is told to: a payload longer than a megabyte goes to an
unnamed temporary file, and one longer than `max_payload` is refused: a record that unpacks to gigabytes costs nothing.
Records of our own are read whatever their length, as they were stored.
"""

import base64
import hashlib
import io
import re
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, cast
from uuid import UUID

from isal import isal_zlib

from hemeroteca.fetch import heads
from hemeroteca.warc import timestamps, zstd
from hemeroteca.warc.capture import MAX_CONTENT, decoded
from hemeroteca.warc.store import WarcReadError as WarcReadError
from hemeroteca.warc.store import open_source

MAX_PAYLOAD = 256 << 20  # that any record of others may unpack to; a large file may hold larger ones
ANY = 1 << 62
MAX_HEADERS = 1 << 20
IS_WARC = re.compile(rb"(?i:WARC)/").match
UNREADABLE = (ValueError, EOFError, cast("type[Exception]", isal_zlib.error))  # what reading damaged data raises


@dataclass
class Record:
    """A record as it lies in the file."""

    headers: dict[str, str]  # named fields, names in lower case; the first value of each
    head: bytes  # of HTTP; empty for records that are not HTTP
    body: IO[bytes]  # the payload; in memory when short, else in an unnamed temporary file
    size: int  # bytes of the payload
    missing: int = 0  # bytes the record promises and the file does not have

    @property
    def kind(self) -> str:
        return self.headers.get("warc-type", "")

    @property
    def url(self) -> str:
        text = self.headers.get("warc-target-uri", "")
        return text[1:-1] if text.startswith("<") and text.endswith(">") else text

    @property
    def record_id(self) -> UUID | None:
        return uuid_of(self.headers.get("warc-record-id", ""))

    @property
    def refers_to(self) -> UUID | None:
        return uuid_of(self.headers.get("warc-refers-to", ""))

    @property
    def captured_ms(self) -> int | None:
        return timestamps.from_iso(self.headers.get("warc-date", ""))

    @property
    def status(self) -> int:
        found = re.match(rb"HTTP/[\d.]+\s+(\d{3})", self.head)
        return int(found[1]) if found else 0

    @property
    def mime(self) -> str:
        """Media type of the payload, in lower case and without parameters."""
        text = self.header("content-type") if self.head else self.headers.get("content-type", "")
        return text.partition(";")[0].strip().lower()

    @cached_property
    def payload_digest(self) -> str:
        return f"sha256:{self.digest('sha256', b'').hex()}"

    @cached_property
    def block_digest(self) -> str:
        return f"sha256:{self.digest('sha256', self.head).hex()}"

    def payload(self, limit: int = -1) -> bytes:
        """In memory: who does not know that it is short gives a limit, or reads `body`."""
        self.body.seek(0)
        return self.body.read(limit)

    def header(self, name: str) -> str:
        """The first HTTP header of that name, or an empty text."""
        return heads.header(self.head, name)

    def content(self, limit: int = MAX_CONTENT) -> tuple[bytes, str]:
        """The payload without its content encoding, and a note when it is not whole."""
        return decoded(self.payload(limit), self.head, limit)

    def problems(self) -> list[str]:
        """What does not agree with what the record says of itself; empty when all is well."""
        if self.missing:
            return [f"the file ends {self.missing} bytes before the record does"]
        found = []
        stated = self.headers.get("warc-block-digest", "")
        if stated and not self._agrees(stated, self.head):
            found.append(f"the block does not have the digest the record states ({stated})")
        stated = self.headers.get("warc-payload-digest", "")
        if stated and self.kind not in ("revisit", "request") and not self._agrees(stated, b""):
            found.append(f"the payload does not have the digest the record states ({stated})")
        return found

    def digest(self, algorithm: str, before: bytes, body: IO[bytes] | None = None) -> bytes:
        hasher, body = hashlib.new(algorithm, before), body or self.body
        body.seek(0)
        while chunk := body.read(1 << 18):
            hasher.update(chunk)
        return hasher.digest()

    def has_block(self, stated: str) -> bool:
        """Whether that is the digest of the whole block, as far as it can be checked."""
        return self._agrees(stated, self.head)

    def has_payload(self, stated: str, unchunked: IO[bytes] | None = None) -> bool:
        """Whether that is the digest of the payload, as some tool or other writes it: with its chunks or without."""
        if _value_of(stated)[0] not in _ALGORITHMS:
            return False
        return self._agrees(stated, b"") or (
            unchunked not in (None, self.body) and self._agrees(stated, b"", unchunked)
        )

    def _agrees(self, stated: str, before: bytes, body: IO[bytes] | None = None) -> bool:
        algorithm, value = _value_of(stated)
        if algorithm not in _ALGORITHMS:
            return True  # proves nothing either way
        return value == self.digest(algorithm, before, body)


def plain_digest(stated: str) -> str:
    """A digest as it is usually written (SHA-256 as ours), whatever form of it a tool states."""
    algorithm, value = _value_of(stated)
    if value is None:
        return stated
    return f"{algorithm}:{value.hex() if algorithm == 'sha256' else base64.b32encode(value).decode('ascii')}"


def _value_of(stated: str) -> tuple[str, bytes | None]:
    """The algorithm of a digest, and its value when it is one: tools write it in base 16, 32 or 64."""
    label, colon, text = stated.partition(":")
    if not colon:
        label, text = _UNLABELLED.get(len(stated.strip().rstrip("=")), ""), stated
    algorithm, text = label.lower().replace("-", ""), text.strip().rstrip("=")
    length = hashlib.new(algorithm).digest_size if algorithm in _ALGORITHMS else 0
    for base, decode in ((4, base64.b16decode), (5, base64.b32decode), (6, base64.b64decode)):
        if length and len(text) == -(-length * 8 // base):
            with suppress(ValueError):
                padded = text + "=" * (-len(text) % (8 if base == 5 else 4))
                return algorithm, decode(padded if base == 6 else padded.upper())
    return algorithm, None


def read(folder: Path, name: str, offset: int, length: int, max_payload: int = ANY) -> Record:
    """The record at a place of a file of ours."""
    where = f"{name} at {offset}"
    source = open_source(folder, name)
    try:
        member = member_at(source.read_at, offset, offset + length)
        record = next_record(member.stream(), max_payload)
    except (*UNREADABLE, OSError) as error:
        raise WarcReadError(f"{where}: not a readable record ({error})")
    finally:
        source.close()
    if record is None or record.missing:
        raise WarcReadError(f"{where}: the file ends inside the record; restore it from a copy")
    return record


def member_at(read_at: zstd.ReadAt, offset: int, limit: int) -> zstd.PackedRecord:
    """The compressed record at a place of a file: a gzip member or a Zstandard frame."""
    if zstd.is_zstd(read_at(4, offset)):
        return zstd.ZstdFrame(read_at, offset, limit, zstd.dictionary_of(read_at))
    return GzipMember(read_at, offset, limit)


def next_record(stream: IO[bytes], max_payload: int = MAX_PAYLOAD, first: bytes = b"") -> Record | None:
    """The record a stream stands at, or None at its end. Raises ValueError for what is not a record. `first`: its first
    line, when it has been read."""
    line = first or stream.readline(MAX_HEADERS)
    while line in (b"\r\n", b"\n"):
        line = stream.readline(MAX_HEADERS)
    if not line:
        return None
    if IS_WARC(line):
        headers = _fields_at_once(stream) or _named_fields(stream)
        headers["warc-type"] = headers.get("warc-type", "").lower()
    else:
        headers = _arc_fields(line)
    try:
        length = int(headers.get("content-length", ""))
    except ValueError:
        raise ValueError("the record does not say how long it is")
    if length < 0:
        raise ValueError(f"the record says it is {length} bytes long")
    head = b""
    http = headers.get("content-type", "").replace(" ", "").lower().startswith("application/http")
    if http and headers["warc-type"] in ("response", "request", "revisit"):
        head = _http_head(stream, length)
    body, size = _body(stream, length - len(head), max_payload)
    record = Record(headers, head, body, size, length - len(head) - size)
    if headers["warc-type"] == "arc":
        record.headers["warc-type"] = "warcinfo" if record.url.startswith("filedesc:") else _kind_of_arc(record)
    elif headers["warc-type"] == "response" and not head.strip():  # without its content type, or behind an empty line
        _part_head(record)
    return record


def uuid_of(text: str) -> UUID | None:
    """The UUID of a record id, or None when it has another form."""
    try:
        return UUID(text.strip("<> ").removeprefix("urn:uuid:"))
    except ValueError:
        return None


class GzipMember(zstd.PackedRecord):
    def __init__(self, read_at: zstd.ReadAt, offset: int, limit: int) -> None:
        super().__init__(read_at, offset, limit)
        self._unpacker = isal_zlib.decompressobj(31)
        self._waiting = b""

    def read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size > 0 and not self.eof:
            if not self._waiting:
                self._waiting = self._packed()
                self._position += len(self._waiting)
                if not self._waiting:
                    self.cut = True
                    if parts:
                        break
                    raise EOFError("the file ends inside a compressed record")
            data = self._unpacker.decompress(self._waiting, size)
            self._waiting = self._unpacker.unconsumed_tail
            if self._unpacker.eof:
                self.eof = True
                self.end = self._position - len(self._unpacker.unused_data)
            size -= len(data)
            parts.append(data)
        return b"".join(parts)


_ARC_LINE = re.compile(r"(\S.{0,5000}) ([0-9A-Fa-f.:-]{1,45}) (\d{8,17}) ([^\s;]+;.{0,500}) (\d+)").fullmatch
_PLAIN = 2048
_PLAIN_FIELDS = re.compile(rb"(?:[A-Za-z-]+: [!-~](?:[ -~]*[!-~])?(?:\r\n|\Z))+\Z").match
_SPOOL, _MUCH = 1 << 20, 64 << 20
_UNLABELLED = {26: "md5", 32: "sha1", 40: "sha1", 52: "sha256", 64: "sha256"}  # by length; 32 digits are base 32
_ALGORITHMS = {"md5", "sha1", "sha256", "sha384", "sha512", "blake2b"}


def _fields_at_once(stream: IO[bytes]) -> dict[str, str] | None:
    """The fields of a record that is in memory and written plainly; None for any other, and nothing is read."""
    if not isinstance(stream, io.BytesIO):
        return None
    data, start = stream.getbuffer(), stream.tell()
    block = bytes(data[start : start + _PLAIN])
    end = block.find(b"\r\n\r\n")
    if end < 0 or not _PLAIN_FIELDS(block, 0, end):
        return None
    stream.seek(start + end + 4)
    headers: dict[str, str] = {}
    for line in block[:end].decode("ascii").split("\r\n"):
        name, _, value = line.partition(": ")
        headers.setdefault(name.lower(), value)
    return headers


def _named_fields(stream: IO[bytes]) -> dict[str, str]:
    headers: dict[str, str] = {}
    total = 0
    name = ""
    while True:
        line = stream.readline(MAX_HEADERS)
        total += len(line)
        if not line or total > MAX_HEADERS:
            raise ValueError("the header of the record does not end")
        line = line.rstrip(b"\r\n")
        if not line:
            return headers
        if line[:1] in b" \t" and name:
            headers[name] = f"{headers[name]} {_text(line).strip()}".strip()
            continue
        key, _, value = _text(line).partition(":")
        key = key.strip().lower()
        name = key if key not in headers else ""
        headers.setdefault(key, value.strip())


def _arc_fields(line: bytes) -> dict[str, str]:
    """The fields of an ARC record (version 1, or 2 with its five further fields) by their WARC names."""
    text = _text(line).strip()
    for count in (9, 4):
        parts = text.rsplit(" ", count)
        if len(parts) == count + 1 and re.fullmatch(r"\d{8,17}", parts[2]) and parts[-1].isdigit():
            break
    else:  # some tools write the parameters of the type, too
        found = _ARC_LINE(text)
        if found is None:
            raise ValueError(f"no record begins here, but {text[:60]!r}")
        parts = list(found.groups())
    url, ip, date, mime = parts[:4]
    moment = timestamps.start_ms(date[:14])
    return {
        "warc-type": "arc",
        "warc-target-uri": url,
        "warc-date": timestamps.iso(moment),
        "warc-ip-address": ip,
        "content-type": mime,
        "content-length": parts[-1],
    }


def _kind_of_arc(record: Record) -> str:
    """An ARC record tells only by its first bytes whether it is an HTTP response."""
    if _part_head(record):
        record.headers["content-type"] = "application/http; msgtype=response"
        return "response"
    return "resource"


def _part_head(record: Record) -> bool:
    """Part head and payload of a record that does not say it is HTTP, when it is."""
    record.body.seek(0)
    found = record.body.read(5) == b"HTTP/"
    record.body.seek(0)
    if found:
        record.head = _http_head(record.body, record.size)
        record.body, record.size = _body(record.body, record.size - len(record.head), record.size)
    return found


def _http_head(stream: IO[bytes], length: int) -> bytes:
    if isinstance(stream, io.BytesIO):
        start = stream.tell()
        block = bytes(stream.getbuffer()[start : start + min(length, _PLAIN)])
        end = block.find(b"\r\n\r\n") + 4
        if end > 4 and block[:1] not in b"\r\n" and b"\n\n" not in block[:end] and b"\n\r\n" not in block[: end - 2]:
            stream.seek(start + end)
            return block[:end]
    lines = []
    left = min(length, MAX_HEADERS)
    while left > 0:
        line = stream.readline(left)
        lines.append(line)
        left -= len(line)
        if not line or line in (b"\r\n", b"\n"):
            break
    return b"".join(lines)


def _body(stream: IO[bytes], length: int, max_payload: int) -> tuple[IO[bytes], int]:
    if length > max_payload:
        raise ValueError(f"the payload has {length} bytes, more than the {max_payload} allowed")
    if length > _MUCH and length > (free := shutil.disk_usage(tempfile.gettempdir()).free):
        raise ValueError(f"the payload has {length} bytes, {tempfile.gettempdir()}, where it is put, has {free} free")
    if length <= _SPOOL:
        data = stream.read(length)
        return io.BytesIO(data), len(data)
    body: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the record
    left = length
    while left > 0 and (chunk := stream.read(min(left, 1 << 18))):
        body.write(chunk)
        left -= len(chunk)
    body.seek(0)
    return body, length - left


def _text(line: bytes) -> str:
    if line.isascii():
        return line.decode("ascii")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")

"""Random access to the records of the archive: a place in a file in, the exchange with its payload out.

Never loads more than it is told to: every read has a limit, so a record that unpacks to gigabytes costs no memory.
"""

import base64
import hashlib
import io
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO
from uuid import UUID

import msgspec
from isal import igzip

from hemeroteca.archive.writer import OPEN

MAX_PAYLOAD = 256 << 20
MAX_HEADERS = 1 << 20


class WarcReadError(Exception):
    """A record that cannot be read; the message names the file, the place and the reason."""


class Record(msgspec.Struct):
    """A record as it lies in the file."""

    headers: dict[str, str]
    """Named fields, names in lower case."""
    head: bytes
    """HTTP head; empty for records that are not HTTP."""
    body: IO[bytes]
    """The payload, from its beginning; in memory when short, else in an unnamed temporary file."""
    size: int
    payload_digest: str
    block_digest: str

    @property
    def kind(self) -> str:
        return self.headers.get("warc-type", "")

    @property
    def url(self) -> str:
        return self.headers.get("warc-target-uri", "").strip("<>")

    @property
    def record_id(self) -> UUID | None:
        return _uuid(self.headers.get("warc-record-id", ""))

    @property
    def refers_to(self) -> UUID | None:
        return _uuid(self.headers.get("warc-refers-to", ""))

    def payload(self, limit: int = MAX_PAYLOAD) -> bytes:
        self.body.seek(0)
        return self.body.read(limit)

    def header(self, name: str) -> str:
        """The first HTTP header of that name, or an empty text."""
        for key, value in http_headers(self.head):
            if key.lower() == name.lower():
                return value
        return ""

    @property
    def status(self) -> int:
        found = re.match(rb"HTTP/[\d.]+\s+(\d{3})", self.head)
        return int(found[1]) if found else 0

    def problems(self) -> list[str]:
        """What does not agree with the digests the record states; empty when all is well."""
        found = []
        stated = self.headers.get("warc-block-digest", "")
        if stated and not same_digest(stated, self.block_digest, self._again(block=True)):
            found.append(f"block digest is {self.block_digest}, the record says {stated}")
        stated = self.headers.get("warc-payload-digest", "")
        if (
            stated
            and self.kind not in ("revisit", "request")
            and not same_digest(stated, self.payload_digest, self._again(block=False))
        ):
            found.append(f"payload digest is {self.payload_digest}, the record says {stated}")
        return found

    def _again(self, block: bool) -> Callable[[str], bytes | None]:
        def compute(algorithm: str) -> bytes | None:
            try:
                hasher = hashlib.new(algorithm)
            except ValueError:
                return None
            if block:
                hasher.update(self.head)
            self.body.seek(0)
            while chunk := self.body.read(1 << 18):
                hasher.update(chunk)
            return hasher.digest()

        return compute


def find(folder: Path, name: str) -> Path:
    """Where the file of that name lies: closed, or still being written."""
    if "/" in name or name.startswith(".") or "\x00" in name:
        raise WarcReadError(f"{name!r} is not the name of a WARC file")
    for candidate in (name, name + OPEN, name):  # again: it may have been closed between the two looks
        if (folder / candidate).exists():
            return folder / candidate
    raise WarcReadError(f"the WARC file {name} is not in {folder}; `hemeroteca archive verify` tells what is missing")


def read(folder: Path, name: str, offset: int, length: int, max_payload: int = MAX_PAYLOAD) -> Record:
    """The record at a place of a file."""
    path = find(folder, name)
    where = f"{name} at {offset}"
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read(length) if length <= _IN_MEMORY else None
        if data is not None and len(data) < length:
            raise WarcReadError(f"{where}: the file ends inside the record; restore it from a copy")
        return _read_member(_Part(file, length) if data is None else io.BytesIO(data), where, max_payload)


def http_headers(head: bytes) -> Iterator[tuple[str, str]]:
    """Names and values of an HTTP head, continuation lines joined."""
    name, value = "", ""
    for line in head.split(b"\n")[1:]:
        text = line.rstrip(b"\r").decode("utf-8" if not line.isascii() and _is_utf8(line) else "latin-1")
        if text[:1] in (" ", "\t") and name:
            value += " " + text.strip()
            continue
        if name:
            yield name, value
        name, colon, value = text.partition(":")
        name, value = (name.strip(), value.strip()) if colon else ("", "")
    if name:
        yield name, value


def same_digest(stated: str, ours: str, compute: Callable[[str], bytes | None]) -> bool:
    """Whether a digest of any algorithm and spelling (hexadecimal, Base32) is that of the data."""
    if stated == ours:
        return True
    algorithm, _, text = stated.partition(":")
    value = compute(algorithm.lower().replace("-", ""))
    if value is None:
        return True  # an algorithm we do not know proves nothing either way
    text = text.rstrip("=")
    return text.lower() == value.hex() or text.upper() == base64.b32encode(value).decode("ascii").rstrip("=")


_IN_MEMORY = 4 << 20
_SPOOL = 1 << 20


class _Part(io.RawIOBase):
    """The next `length` bytes of a file."""

    def __init__(self, file: IO[bytes], length: int) -> None:
        self._file = file
        self._left = length

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data


def _read_member(stream: io.IOBase, where: str, max_payload: int) -> Record:
    try:
        with igzip.IGzipFile(fileobj=stream, mode="rb") as unpacked:  # type: ignore[no-untyped-call]
            headers = _read_headers(unpacked, where)
            length = int(headers.get("content-length", "0"))
            head = b""
            left = length
            is_http = headers.get("content-type", "").replace(" ", "").lower().startswith("application/http")
            if is_http and headers.get("warc-type") in ("response", "request", "revisit"):
                head = _read_head(unpacked, length)
                left -= len(head)
            block, payload = hashlib.sha256(head), hashlib.sha256()
            body = tempfile.SpooledTemporaryFile(max_size=_SPOOL)  # noqa: SIM115
            size = 0
            while left > 0:
                chunk = unpacked.read(min(left, 1 << 18))
                if not chunk:
                    raise WarcReadError(f"{where}: the record is {left} bytes shorter than it says")
                left -= len(chunk)
                size += len(chunk)
                if size > max_payload:
                    raise WarcReadError(f"{where}: the payload is longer than {max_payload} bytes; raise the limit")
                block.update(chunk)
                payload.update(chunk)
                body.write(chunk)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise WarcReadError(f"{where}: not a readable record ({error})")
    body.seek(0)
    return Record(headers, head, body, size, f"sha256:{payload.hexdigest()}", f"sha256:{block.hexdigest()}")


def _read_headers(stream: io.BufferedIOBase, where: str) -> dict[str, str]:
    first = stream.readline(64)
    if not first.startswith(b"WARC/"):
        raise WarcReadError(f"{where}: no WARC record begins here")
    headers: dict[str, str] = {}
    total = 0
    while True:
        line = stream.readline(MAX_HEADERS)
        total += len(line)
        if not line or total > MAX_HEADERS:
            raise WarcReadError(f"{where}: the record's header does not end")
        line = line.rstrip(b"\r\n")
        if not line:
            return headers
        name, _, value = line.decode("utf-8", "replace").partition(":")
        headers.setdefault(name.strip().lower(), value.strip())


def _read_head(stream: io.BufferedIOBase, length: int) -> bytes:
    head = b""
    while len(head) < length:
        line = stream.readline(length - len(head))
        head += line
        if not line or line in (b"\r\n", b"\n"):
            break
        if len(head) > MAX_HEADERS:
            break
    return head


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text.strip("<> ").removeprefix("urn:uuid:"))
    except ValueError:
        return None

"""WARC/1.1 records, built in memory as gzip members: one record, one member.

Used by worker processes on the crawl's hot path, so it knows neither Django nor files of the archive: values in, bytes
out (`writer.WarcWriter` puts them into files). A body that was spooled to disk is streamed into a file beside it and
never held in memory.

The stored HTTP head is the one received, with the changes that let every reader agree about the body: the body is
stored without its transfer encoding, so `Transfer-Encoding` (and a `Content-Length` that is not the stored length) is
kept under `X-Archive-Orig-…`; HTTP/2 heads, which have no text form of their own, get an HTTP/1.1 status line and
`WARC-Protocol: h2`. Passwords and cookies we sent are not stored. Why: docs/decisions/0026-stored-http-heads.md.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from typing import Protocol
from uuid import UUID

import msgspec
from isal import igzip_lib, isal_zlib

from hemeroteca.warc import zstd
from hemeroteca.warc.timestamps import iso

IDENTICAL_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
TRUNCATED = ("length", "time", "disconnect", "unspecified")
GZ, ZST = ".warc.gz", ".warc.zst"
_packing = ""
_packer: zstd.Packer | None = None


class Body(Protocol):
    """What this module needs of `fetch.Body`."""

    path: Path | None

    def __len__(self) -> int: ...
    def chunks(self) -> Iterable[bytes]: ...


class FileBody:
    """A body that lies in a file."""

    def __init__(self, path: Path) -> None:
        self.path: Path | None = path
        self._file = path

    def __len__(self) -> int:
        return self._file.stat().st_size

    def chunks(self) -> Iterator[bytes]:
        with self._file.open("rb") as file:
            while chunk := file.read(1 << 18):
                yield chunk

    def digest(self) -> str:
        with self._file.open("rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


class Member(msgspec.Struct, frozen=True, gc=False):
    """Where one record lies, relative to the first byte of the records it was built with."""

    kind: str
    record_id: UUID
    offset: int
    length: int


class Records(msgspec.Struct):
    """Gzip members ready to be appended to a WARC file, the capture's own record first."""

    data: bytes | Path
    size: int
    digest: str
    body_size: int
    members: tuple[Member, ...]

    @property
    def main(self) -> Member:
        return self.members[0]

    def discard(self) -> None:
        """Remove the file of streamed records; nothing to do for those in memory."""
        if isinstance(self.data, Path):
            self.data.unlink(missing_ok=True)


class Original(msgspec.Struct, frozen=True):
    """The capture whose payload a revisit repeats."""

    record_id: UUID
    url: str
    captured_ms: int
    digest: str


def exchange_records(
    url: str,
    started_ms: int,
    ip: str,
    protocol: str,
    request_head: bytes,
    response_head: bytes,
    body: Body | bytes,
    truncated: str = "",
    record_id: UUID | None = None,
    digest: str = "",
    sent: bytes = b"",
) -> Records:
    """A response record and the request record that caused it (left out when there is no request head).

    `digest`: the payload digest where the caller knows it already. `sent`: the content of the request.
    """
    record_id = record_id or new_id(started_ms)
    size = len(body)
    head = stored_head(response_head, size)
    fields = about = _fields(url, ip, protocol)
    if truncated:
        fields += f"WARC-Truncated: {truncated if truncated in TRUNCATED else 'unspecified'}\r\n"
    if isinstance(body, bytes) or body.path is None:
        payload = body if isinstance(body, bytes) else b"".join(body.chunks())
        digest = digest or payload_digest(payload)
        block = hashlib.sha256(head)
        block.update(payload)
        length = len(head) + size
        top = _top(
            "response", record_id, started_ms, length, HTTP_RESPONSE, fields, f"sha256:{block.hexdigest()}", digest
        )
        response = _pack(b"".join((top, head, payload, b"\r\n\r\n")))
        request = _request(about, started_ms, request_head, record_id, sent)
        members = _members(("response", record_id, len(response)), request)
        return Records(response + request[2], len(response) + len(request[2]), digest, size, members)
    digest, block_digest = _stream_digests(head, body)
    top = _top("response", record_id, started_ms, len(head) + size, HTTP_RESPONSE, fields, block_digest, digest)
    path = body.path.with_name(body.path.name + ".warc.gz")
    request = _request(about, started_ms, request_head, record_id, sent)
    try:
        with path.open("wb") as file:
            for piece in _pack_stream(top + head, body.chunks()):
                file.write(piece)
            length = file.tell()
            file.write(request[2])
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    members = _members(("response", record_id, length), request)
    return Records(path, length + len(request[2]), digest, size, members)


def revisit_records(
    url: str,
    started_ms: int,
    ip: str,
    protocol: str,
    request_head: bytes,
    response_head: bytes,
    original: Original,
    body_size: int = 0,
    not_modified: bool = False,
    record_id: UUID | None = None,
) -> Records:
    """A revisit record (head kept, payload left out because `original` has it) and its request record.

    `not_modified`: the server said so itself (304); else the payload came again and was identical.
    """
    record_id = record_id or new_id(started_ms)
    head = stored_head(response_head, None if not_modified else body_size)
    about = _fields(url, ip, protocol)
    fields = (
        about
        + f"WARC-Profile: {NOT_MODIFIED if not_modified else IDENTICAL_PAYLOAD}\r\n"
        + f"WARC-Refers-To: <urn:uuid:{original.record_id}>\r\n"
        + f"WARC-Refers-To-Target-URI: {safe_url(original.url)}\r\n"
        + f"WARC-Refers-To-Date: {iso(original.captured_ms)}\r\n"
    )
    if not not_modified:
        fields += "WARC-Truncated: length\r\n"  # ISO 28500:2017 6.7.2: shall be used for the payload left out
    top = _top("revisit", record_id, started_ms, len(head), HTTP_RESPONSE, fields, _digest(head), original.digest)
    revisit = _pack(top + head + b"\r\n\r\n")
    request = _request(about, started_ms, request_head, record_id)
    members = _members(("revisit", record_id, len(revisit)), request)
    return Records(revisit + request[2], len(revisit) + len(request[2]), original.digest, body_size, members)


def record(
    kind: str,
    started_ms: int,
    content_type: str,
    block: bytes,
    url: str = "",
    record_id: UUID | None = None,
    concurrent_to: UUID | None = None,
    refers_to: UUID | None = None,
    filename: str = "",
) -> Records:
    """One record of the other kinds: warcinfo, metadata, resource, conversion."""
    record_id = record_id or new_id(started_ms)
    fields = ""
    if url:
        fields += f"WARC-Target-URI: {safe_url(url)}\r\n"
    if filename:
        fields += f"WARC-Filename: {_safe_value(filename)}\r\n"
    if concurrent_to:
        fields += f"WARC-Concurrent-To: <urn:uuid:{concurrent_to}>\r\n"
    if refers_to:
        fields += f"WARC-Refers-To: <urn:uuid:{refers_to}>\r\n"
    digest = _digest(block)
    payload = digest if kind in ("resource", "conversion") else ""
    top = _top(kind, record_id, started_ms, len(block), _safe_value(content_type), fields, digest, payload)
    data = _pack(top + block + b"\r\n\r\n")
    return Records(data, len(data), digest, len(block), _members((kind, record_id, len(data))))


def repeat_record(url: str, started_ms: int, original: Original, record_id: UUID | None = None) -> Records:
    """A revisit record of what is not HTTP: `original` has the same payload, and there is no head to keep."""
    record_id = record_id or new_id(started_ms)
    fields = (
        f"WARC-Target-URI: {safe_url(url)}\r\nWARC-Profile: {IDENTICAL_PAYLOAD}\r\n"
        f"WARC-Refers-To: <urn:uuid:{original.record_id}>\r\n"
        f"WARC-Refers-To-Target-URI: {safe_url(original.url)}\r\nWARC-Refers-To-Date: {iso(original.captured_ms)}\r\n"
    )
    kind = "application/octet-stream"
    top = _top("revisit", record_id, started_ms, 0, kind, fields, _digest(b""), original.digest)
    data = _pack(top + b"\r\n\r\n")
    return Records(data, len(data), original.digest, 0, _members(("revisit", record_id, len(data))))


def warcinfo(started_ms: int, filename: str, facts: dict[str, str]) -> Records:
    """The record that begins every file: who wrote it, with what, and by which rules."""
    lines = "".join(f"{_safe_value(name)}: {_safe_value(value)}\r\n" for name, value in facts.items())
    return record("warcinfo", started_ms, "application/warc-fields", lines.encode(), filename=filename)


def pack_as(place: str) -> None:
    """From now on this process packs records with the Zstandard dictionary in that file (`-`: without one), or, when it
    is empty, with gzip."""
    global _packing, _packer
    dictionary = Path(place).read_bytes() if place and place != "-" else b""
    _packing, _packer = place, zstd.Packer(dictionary) if place else None


def packing() -> str:
    """What `pack_as` was told."""
    return _packing


def beginning() -> tuple[str, bytes]:
    """How names of files end and what files begin with."""
    return (ZST, _packer.beginning) if _packer is not None else (GZ, b"")


def as_gzip(record: bytes) -> bytes:
    """An unpacked record as others read it, whatever files are packed with here."""
    return _gzip(record)


def payload_digest(data: bytes) -> str:
    """The labelled digest of a payload in memory."""
    return _digest(data)


def new_id(ms: int) -> UUID:
    """UUID version 7: sorts by time, so the unique index of captures grows at its end."""
    value = (ms & 0xFFFF_FFFF_FFFF) << 80 | int.from_bytes(os.urandom(10))
    return UUID(int=value & ~(0xF000 << 64) & ~(0xC000 << 48) | (0x7000 << 64) | (0x8000 << 48))


def safe_url(url: str) -> str:
    """The URL with what could end or break a header line percent-encoded."""
    if _UNSAFE_URL.search(url):
        url = _UNSAFE_URL.sub(lambda m: "".join(f"%{byte:02X}" for byte in m[0].encode("utf-8", "replace")), url)
    return url


def stored_head(head: bytes, size: int | None) -> bytes:
    """The response head as it is stored before a body of `size` bytes (None: no body belongs to it)."""
    if _PLAIN_RESPONSE.fullmatch(head) and not _TRANSFER.search(head):
        lengths = _LENGTH.findall(head)
        if not lengths or size is None or (len(lengths) == 1 and lengths[0] == b"%d" % size):
            return head
    return _rewritten_head(head, size)


def stored_request_head(head: bytes) -> bytes:
    """The request head without the secrets we sent, and in HTTP/1.1 form."""
    end = head.find(b"\n") + 1
    if not _SECRET_LINE.search(head) and _PLAIN_REQUEST_LINE.fullmatch(head, 0, end) and _are_plain(head[end:]):
        return head
    lines = [line.replace(b"\r", b" ") for line in _lines(head)]
    if not lines:
        return b""
    lines[0] = re.sub(rb" HTTP/[23](\.0)?$", b" HTTP/1.1", lines[0])
    return b"\r\n".join(_SECRET.sub(rb"\1: (not stored)", line) for line in lines) + b"\r\n\r\n"


HTTP_RESPONSE = "application/http; msgtype=response"
HTTP_REQUEST = "application/http; msgtype=request"
_UNSAFE_URL = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\ud800-\udfff]+")
_UNSAFE_VALUE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_VISIBLE = re.compile(rb"[!-~]")
_STATUS = re.compile(rb"HTTP/1\.[01] \d{3}(?: |\r)")
_ANY_STATUS = re.compile(rb"HTTP/[\d.]+[ \t]+(\d{3})(?:[ \t]+(.*))?$")
_TRANSFER = re.compile(rb"\n(?i:transfer-encoding)[ \t]*:")
_LENGTH = re.compile(rb"\n(?i:content-length)[ \t]*:[ \t]*([^\r\n]*?)[ \t]*\r\n")
_SECRET = re.compile(rb"(?is)^(authorization|proxy-authorization|cookie)\s*:.*$")
_SECRET_LINE = re.compile(rb"\n(?i:authorization|proxy-authorization|cookie)\s*:")
_PLAIN_RESPONSE = re.compile(rb"HTTP/1\.[01] \d{3}(?: [^\x00\r\n]*)?\r\n(?:[!-9;-~]+[ \t]*:[^\x00\r\n]*\r\n)*\r\n")
_PLAIN_REQUEST_LINE = re.compile(rb"[A-Z]+ [!-~]+ HTTP/1\.[01]\r\n")
_PLAIN_REQUEST_REST = re.compile(rb"(?:[^\r\n]+\r\n)*\r\n")
_IP = re.compile(r"[0-9A-Fa-f:.]{2,45}")
_PROTOCOL = re.compile(r"[a-z0-9]+(/[0-9.]+)?")


@lru_cache(256)
def _are_plain(lines: bytes) -> bool:
    """Of a request, its first line aside; most requests have the same. Not asked about secrets, which it would keep."""
    return bool(_PLAIN_REQUEST_REST.fullmatch(lines))


def _rewritten_head(head: bytes, size: int | None) -> bytes:
    lines = [line.replace(b"\r", b" ").replace(b"\x00", b" ") for line in _lines(head)]
    first = lines[0] if lines else b""
    result = [first]
    if not _STATUS.match(first + b"\r"):
        known = _ANY_STATUS.match(first)
        if known:
            phrase = known[2] or _phrase(int(known[1]))
            result = [b"HTTP/1.1 " + known[1] + b" " + phrase]
        else:  # libcurl takes such servers (ICY 200 OK); warcio would refuse the whole rest of the file
            result = [b"HTTP/1.1 200 OK", b"X-Archive-Orig-Status-Line: " + first]
    corrected = False
    for line in lines[1:]:
        name = line.partition(b":")[0].strip(b" \t").lower()
        if name == b"transfer-encoding":
            result.append(b"X-Archive-Orig-" + line.lstrip(b" \t"))
        elif name == b"content-length" and size is not None:
            if not corrected:
                result.append(b"Content-Length: %d" % size)
                corrected = True
            if line.partition(b":")[2].strip(b" \t") != b"%d" % size:
                result.append(b"X-Archive-Orig-" + line.lstrip(b" \t"))
        else:
            result.append(line)
    return b"\r\n".join(result) + b"\r\n\r\n"


def _lines(head: bytes) -> list[bytes]:
    """Lines without their ends. Those without a visible character are left out: a line that a reader takes for blank
    is where it sees the body begin, and readers differ in what they take for blank."""
    return [line for line in (raw.rstrip(b"\r") for raw in head.split(b"\n")) if _VISIBLE.search(line)]


def _phrase(status: int) -> bytes:
    try:
        return HTTPStatus(status).phrase.encode("ascii")
    except ValueError:
        return b""


def _safe_value(text: str) -> str:
    return _UNSAFE_VALUE.sub(" ", text).strip()


def _fields(url: str, ip: str, protocol: str) -> str:
    return f"WARC-Target-URI: {safe_url(url)}\r\n{_server_fields(ip, protocol)}"


@lru_cache(1024)
def _server_fields(ip: str, protocol: str) -> str:
    fields = f"WARC-IP-Address: {ip}\r\n" if ip and _IP.fullmatch(ip) else ""
    return fields + (f"WARC-Protocol: {protocol}\r\n" if protocol and _PROTOCOL.fullmatch(protocol) else "")


def _top(
    kind: str, record_id: UUID, ms: int, length: int, content_type: str, fields: str, block: str, payload: str
) -> bytes:
    return (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{record_id}>\r\nWARC-Date: {iso(ms)}\r\n"
        f"{fields}"
        f"Content-Type: {content_type}\r\n"
        + (f"WARC-Payload-Digest: {payload}\r\n" if payload else "")
        + f"WARC-Block-Digest: {block}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def _request(about: str, ms: int, request_head: bytes, response_id: UUID, sent: bytes = b"") -> tuple[str, UUID, bytes]:
    head = stored_request_head(request_head)
    if not head:
        return "", response_id, b""
    head += sent
    record_id = new_id(ms)
    fields = f"{about}WARC-Concurrent-To: <urn:uuid:{response_id}>\r\n"
    top = _top("request", record_id, ms, len(head), HTTP_REQUEST, fields, _digest(head), "")
    return "request", record_id, _pack(top + head + b"\r\n\r\n")


def _members(first: tuple[str, UUID, int], request: tuple[str, UUID, bytes] | None = None) -> tuple[Member, ...]:
    kind, record_id, length = first
    main = Member(kind, record_id, 0, length)
    if request is None or not request[2]:
        return (main,)
    return main, Member("request", request[1], length, len(request[2]))


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _gzip(data: bytes) -> bytes:
    return igzip_lib.compress(data, 1, flag=igzip_lib.COMP_GZIP)


def _stream_digests(head: bytes, body: Body) -> tuple[str, str]:
    payload, block = hashlib.sha256(), hashlib.sha256(head)
    for chunk in body.chunks():
        payload.update(chunk)
        block.update(chunk)
    return f"sha256:{payload.hexdigest()}", f"sha256:{block.hexdigest()}"


def _pack(data: bytes) -> bytes:
    return _packer.pack(data) if _packer is not None else _gzip(data)


def _pack_stream(start: bytes, chunks: Iterable[bytes]) -> Iterator[bytes]:
    if _packer is not None:
        return _packer.stream(chain([start], chunks, [b"\r\n\r\n"]))
    return _gzip_stream(start, chunks)


def _gzip_stream(start: bytes, chunks: Iterable[bytes]) -> Iterator[bytes]:
    packer = isal_zlib.compressobj(1, isal_zlib.DEFLATED, 31)
    yield packer.compress(start)
    for chunk in chunks:
        yield packer.compress(chunk)
    yield packer.compress(b"\r\n\r\n") + packer.flush()

"""Captures as WARC/1.1 records, built in memory as gzip members: one record, one member.

Used by worker processes on the crawl's hot path, so it knows neither Django nor files of the archive: values in, bytes
out (`writer.WarcWriter` puts them into files). A body that was spooled to disk is streamed into a file beside it and
never held in memory.

The stored HTTP head is the one received, with the changes that let every reader agree about the body: the body is
stored without its transfer encoding, so `Transfer-Encoding` (and a `Content-Length` that is not the stored length) is
kept under `X-Archive-Orig-…`; HTTP/2 heads, which have no text form of their own, get an HTTP/1.1 status line and
`WARC-Protocol: h2`. Passwords and cookies we sent are not stored. Why: docs/decisions/0025-warc-files.md.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from typing import IO
from uuid import UUID

import msgspec
from isal import igzip_lib, isal_zlib

from hemeroteca.warc import keys, zstd
from hemeroteca.warc.capture import Capture, Original
from hemeroteca.warc.timestamps import iso

IDENTICAL_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
TRUNCATED = ("length", "time", "disconnect", "unspecified")
FINAL_URL = "Hemeroteca-Final-URI"  # of a DOM: the address the browser showed
DEVICE = "Hemeroteca-Device"  # pseudonym of the volunteer's device that fetched it
GZ, ZST = ".warc.gz", ".warc.zst"
_packing = ""
_packer: zstd.Packer | None = None


class Member(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where one record lies, relative to the first byte of the records it was built with."""

    kind: str
    record_id: UUID
    offset: int
    length: int


class Records(msgspec.Struct, array_like=True):
    """Gzip members ready to be appended to a WARC file, the capture's own record first."""

    size: int
    digest: str
    body_size: int
    members: tuple[Member, ...]
    data: bytes = b""
    path: str = ""  # the file they were streamed to, instead of `data`

    @property
    def main(self) -> Member:
        return self.members[0]

    @property
    def source(self) -> bytes | Path:
        """What `WarcWriter.append` takes."""
        return Path(self.path) if self.path else self.data

    def discard(self) -> None:
        """Remove the file of streamed records; nothing to do for those in memory."""
        if self.path:
            Path(self.path).unlink(missing_ok=True)


def records(capture: Capture, digest: str = "", body_size: int | None = None) -> Records:
    """A capture as records: its own and, where there is one, that of the request; without what is attached to it.

    `digest`: of the body, where the caller knows it already. `body_size`: of the payload that a revisit leaves out.
    """
    if capture.original is not None:
        return _revisit(capture, capture.original, body_size or 0)
    return _whole(capture, digest)


def _whole(capture: Capture, digest: str) -> Records:
    ms, kind = capture.captured_ms, capture.kind
    record_id = capture.record_id or new_id(ms)
    size = capture.size
    head = stored_head(capture.response_head, size) if capture.response_head else b""
    content_type = HTTP_RESPONSE if head else _safe_value(capture.content_type)
    fields = about = _about(capture, kind)
    if capture.device:
        fields += f"{DEVICE}: {safe_url(capture.device)}\r\n"
    if capture.final_url:
        fields += f"{FINAL_URL}: {safe_url(capture.final_url)}\r\n"
    if capture.truncated:
        fields += f"WARC-Truncated: {capture.truncated if capture.truncated in TRUNCATED else 'unspecified'}\r\n"
    fields += "".join(f"{_safe_value(line)}\r\n" for line in capture.relations)
    request_id, request = _request(about, capture, record_id)
    length = len(head) + size
    if not capture.path:
        digest = digest or payload_digest(capture.body)
        block = hashlib.sha256(head)
        block.update(capture.body)
        top = _top(kind, record_id, ms, length, content_type, fields, f"sha256:{block.hexdigest()}", digest)
        own = _pack(b"".join((top, head, capture.body, b"\r\n\r\n")))
        members = _members(kind, record_id, len(own), request_id, request)
        return Records(len(own) + len(request), digest, size, members, own + request)
    digest, block_digest = _stream_digests(head, capture.chunks())
    top = _top(kind, record_id, ms, length, content_type, fields, block_digest, digest)
    path = Path(capture.path + ".warc.gz")
    try:
        with path.open("wb") as file:
            for piece in _pack_stream(chain([top + head], capture.chunks(), [b"\r\n\r\n"])):
                file.write(piece)
            packed = file.tell()
            file.write(request)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    members = _members(kind, record_id, packed, request_id, request)
    return Records(packed + len(request), digest, size, members, path=str(path))


def _about(capture: Capture, kind: str) -> str:
    if kind not in (*keys.ABOUT, "warcinfo"):
        return _fields(capture.url, capture.ip, capture.protocol)
    url = capture.url.removeprefix(f"urn:{kind}:")
    return "" if url in ("", str(capture.record_id)) else f"WARC-Target-URI: {safe_url(url)}\r\n"


def _revisit(capture: Capture, original: Original, body_size: int) -> Records:
    """Head kept, payload left out because `original` has it."""
    ms = capture.captured_ms
    record_id = capture.record_id or new_id(ms)
    refers = f"WARC-Profile: {NOT_MODIFIED if capture.not_modified else IDENTICAL_PAYLOAD}\r\n"
    if original.record_id is not None:
        refers += f"WARC-Refers-To: <urn:uuid:{original.record_id}>\r\n"
    if original.url:
        refers += f"WARC-Refers-To-Target-URI: {safe_url(original.url)}\r\n"
    if original.captured_ms:
        refers += f"WARC-Refers-To-Date: {iso(original.captured_ms)}\r\n"
    if capture.url[:4].lower() != "http":  # it has no head to keep
        if capture.final_url:
            refers += f"{FINAL_URL}: {safe_url(capture.final_url)}\r\n"
        about = f"WARC-Target-URI: {safe_url(capture.url)}\r\n"
        kind = "application/octet-stream"
        top = _top("revisit", record_id, ms, 0, kind, about + refers, payload_digest(b""), original.digest)
        data = _pack(top + b"\r\n\r\n")
        return Records(len(data), original.digest, body_size, _members("revisit", record_id, len(data)), data)
    received = capture.response_head
    if not received:
        received = b"HTTP/1.1 304 Not Modified\r\n\r\n" if capture.not_modified else b"HTTP/1.1 200 OK\r\n\r\n"
    head = stored_head(received, None if capture.not_modified else body_size)
    about = _fields(capture.url, capture.ip, capture.protocol)
    if capture.device:
        refers += f"{DEVICE}: {safe_url(capture.device)}\r\n"
    if not capture.not_modified:
        refers += "WARC-Truncated: length\r\n"  # ISO 28500:2017 6.7.2: shall be used for the payload left out
    top = _top(
        "revisit", record_id, ms, len(head), HTTP_RESPONSE, about + refers, payload_digest(head), original.digest
    )
    revisit = _pack(top + head + b"\r\n\r\n")
    request_id, request = _request(about, capture, record_id)
    members = _members("revisit", record_id, len(revisit), request_id, request)
    return Records(len(revisit) + len(request), original.digest, body_size, members, revisit + request)


def record(
    kind: str,
    started_ms: int,
    content_type: str,
    block: bytes,
    url: str = "",
    record_id: UUID | None = None,
    fields: str = "",
) -> Records:
    """One record of the other kinds: warcinfo, resource. `fields`: further ones, as written."""
    record_id = record_id or new_id(started_ms)
    if url:
        fields += f"WARC-Target-URI: {safe_url(url)}\r\n"
    digest = payload_digest(block)
    payload = digest if kind == "resource" else ""
    top = _top(kind, record_id, started_ms, len(block), _safe_value(content_type), fields, digest, payload)
    data = _pack(top + block + b"\r\n\r\n")
    return Records(len(data), digest, len(block), _members(kind, record_id, len(data)), data)


def warcinfo(started_ms: int, filename: str, facts: dict[str, str]) -> Records:
    """The record that begins every file: who wrote it, with what, and by which rules."""
    lines = "".join(f"{_safe_value(name)}: {_safe_value(value)}\r\n" for name, value in facts.items())
    named = f"WARC-Filename: {_safe_value(filename)}\r\n"
    return record("warcinfo", started_ms, "application/warc-fields", lines.encode(), fields=named)


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
    return igzip_lib.compress(record, 1, flag=igzip_lib.COMP_GZIP)


def gzip_pieces(record: IO[bytes]) -> Iterator[bytes]:
    """The same of a record of any length."""
    packer = isal_zlib.compressobj(1, isal_zlib.DEFLATED, 31)
    while piece := record.read(1 << 18):
        yield packer.compress(piece)
    yield packer.flush()


def payload_digest(data: bytes) -> str:
    """The labelled digest of a payload in memory."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


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
        + (f"Content-Type: {content_type}\r\n" if content_type else "")
        + (f"WARC-Payload-Digest: {payload}\r\n" if payload else "")
        + f"WARC-Block-Digest: {block}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def _request(about: str, capture: Capture, response_id: UUID) -> tuple[UUID, bytes]:
    """The record of the request; empty when there is none."""
    head = stored_request_head(capture.request_head)
    if not head:
        return response_id, b""
    head += capture.sent
    record_id = new_id(capture.captured_ms)
    fields = f"{about}WARC-Concurrent-To: <urn:uuid:{response_id}>\r\n"
    top = _top("request", record_id, capture.captured_ms, len(head), HTTP_REQUEST, fields, payload_digest(head), "")
    return record_id, _pack(top + head + b"\r\n\r\n")


def _members(
    kind: str, record_id: UUID, length: int, request_id: UUID | None = None, request: bytes = b""
) -> tuple[Member, ...]:
    main = Member(kind, record_id, 0, length)
    if request_id is None or not request:
        return (main,)
    return main, Member("request", request_id, length, len(request))


def _stream_digests(head: bytes, chunks: Iterable[bytes]) -> tuple[str, str]:
    payload, block = hashlib.sha256(), hashlib.sha256(head)
    for chunk in chunks:
        payload.update(chunk)
        block.update(chunk)
    return f"sha256:{payload.hexdigest()}", f"sha256:{block.hexdigest()}"


def _pack(data: bytes) -> bytes:
    return _packer.pack(data) if _packer is not None else as_gzip(data)


def _pack_stream(chunks: Iterable[bytes]) -> Iterator[bytes]:
    packer = _packer.stream() if _packer is not None else isal_zlib.compressobj(1, isal_zlib.DEFLATED, 31)
    for chunk in chunks:
        yield packer.compress(chunk)
    yield packer.flush()

"""The captures of a WARC or ARC file, plain or compressed; good, damaged or hostile.

A response is put together with its request and with what a browser made of it. What cannot be taken is reported as a
`Problem` with its place, and reading goes on.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from uuid import UUID

import msgspec

from hemeroteca.warc import keys, scan, timestamps
from hemeroteca.warc.builder import FINAL_URL
from hemeroteca.warc.capture import Capture, Original
from hemeroteca.warc.keys import DOM, SCREENSHOT
from hemeroteca.warc.reader import MAX_HEADERS, MAX_PAYLOAD, Record, uuid_of

IN_MEMORY = 1 << 20


class Exchange(msgspec.Struct):
    """A capture and where it was found."""

    capture: Capture
    file: str
    offset: int
    stated_digest: str = ""  # of the payload, as the other tool wrote it; empty when the payload has another
    note: str = ""  # what is wrong with it, though it can be taken
    container: str = ""  # of a revisit: another archive in which the original lies, as the tool names it


class Problem(msgspec.Struct, frozen=True):
    """A place in a file that is not as it should be."""

    file: str
    offset: int
    reason: str
    lost: bool  # a capture that belongs here could not be taken because of it


def captures(path: Path, spool: Path, max_payload: int = MAX_PAYLOAD, name: str = "") -> Iterator[Exchange | Problem]:
    """Everything in a file that is a capture. Bodies longer than a megabyte are put into the folder `spool`; who takes
    the capture discards them. `name`: what the file is called in reports."""
    name = name or path.name
    requests = _Requests()
    held: Exchange | None = None  # until the next record shows whether it belongs to it
    for found in scan.scan(path, max_payload=max_payload):
        if isinstance(found, scan.Damage):
            yield Problem(name, found.offset, found.reason, bool(found.length))
            continue
        record = found.record
        if record.kind == "request":
            other = uuid_of(record.headers.get("warc-concurrent-to", ""))
            if held is not None and held.capture.record_id is not None and held.capture.record_id == other:
                _add_request(held.capture, _whole_request(record))
            else:
                requests.put(record.record_id, _whole_request(record))
                requests.put(other, _whole_request(record))
            continue
        if record.kind not in ("response", "revisit", "resource"):
            continue
        taken = _exchange(record, name, found.offset, spool, requests)
        if held is not None and isinstance(taken, Exchange) and _belongs(taken.capture, held.capture):
            held.capture.attached = [*held.capture.attached, taken.capture]
        else:
            if held is not None:
                yield _checked(held)
            held = taken if isinstance(taken, Exchange) else None
        if isinstance(taken, Problem):
            yield taken
        elif taken.note:
            yield Problem(name, found.offset, taken.note, False)
    if held is not None:
        yield _checked(held)


def dechunk(body: IO[bytes]) -> tuple[IO[bytes], str]:
    """A body without its chunks, and a note when they were wrong. What is not chunked at all stays as it is."""
    body.seek(0)
    target = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - handed on
    first = True
    while True:
        line = body.readline(_CHUNK_LINE)
        found = _CHUNK_SIZE.match(line)
        if found is None:
            if first:
                body.seek(0)
                return body, "says it is chunked and is not"
            if line.strip():
                target.write(line)
                shutil.copyfileobj(body, target)
                note = "a wrong chunk; the rest was taken as it is"
            else:
                note = "ends before its last chunk"
            break
        first = False
        left = int(found[1], 16)
        if left == 0:
            note = ""
            break
        while left > 0 and (data := body.read(min(left, 1 << 18))):
            target.write(data)
            left -= len(data)
        if left:
            note = "ends before its last chunk"
            break
        end = body.read(1)
        if end == b"\r":
            end = body.read(1)
        if end not in (b"\n", b""):
            target.write(end)
    target.seek(0)
    return target, note


_CHUNK_LINE = 1024
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,12})[ \t]*(?:;[^\r\n]*)?\r?\n")
_CHUNKED = re.compile(rb"\n(?i:transfer-encoding)[ \t]*:[^\r\n]*(?i:chunked)")
_MANY = 1000


class _Requests:
    """Request heads waiting for their response; the oldest are forgotten."""

    def __init__(self) -> None:
        self._heads: dict[UUID, bytes] = {}

    def put(self, key: UUID | None, head: bytes) -> None:
        if key is not None:
            self._heads[key] = head
            if len(self._heads) > _MANY:
                del self._heads[next(iter(self._heads))]

    def take(self, *keys: UUID | None) -> bytes:
        return next((self._heads.pop(key) for key in keys if key is not None and key in self._heads), b"")


def _belongs(beside: Capture, capture: Capture) -> bool:
    """Whether that is what a browser made of this capture."""
    return beside.captured_ms == capture.captured_ms and beside.url in (DOM + capture.url, SCREENSHOT + capture.url)


def _whole_request(record: Record) -> bytes:
    """Head and what was sent, as far as that decides whether the answer is taken."""
    return record.head + record.payload(keys.MAX_SENT + 1)


def _add_request(capture: Capture, request: bytes) -> None:
    head, end, capture.sent = request.partition(b"\r\n\r\n")
    capture.request_head = head + end


def _checked(exchange: Exchange) -> Exchange | Problem:
    capture = exchange.capture
    method = capture.request_head.partition(b" ")[0].decode("latin-1")
    if keys.is_kept(method, capture.sent):
        return exchange
    capture.discard()
    reason = f"{capture.url} answers a {method[:10]}; only what a plain request or a short POST gets is taken"
    return Problem(exchange.file, exchange.offset, reason, False)


def _exchange(record: Record, name: str, offset: int, spool: Path, requests: _Requests) -> Exchange | Problem:
    def wrong(reason: str) -> Problem:
        return Problem(name, offset, reason, True)

    url, moment = record.url, record.captured_ms
    if moment is None:
        return wrong(f"the record of {url[:200]} has no readable date")
    shown = record.kind == "revisit" and url.startswith(DOM)
    if not re.match(r"https?://", url, re.IGNORECASE) and record.kind != "resource" and not shown:
        return Problem(name, offset, f"{url[:200]} is not a web address", False)
    if record.kind == "response" and not record.head.startswith(b"HTTP/"):
        return wrong(f"the record of {url[:200]} does not hold an HTTP response")
    if len(record.head) >= MAX_HEADERS:  # the rest of it would be taken for the payload
        return wrong(f"the record of {url[:200]} has a head of more than {MAX_HEADERS >> 20} MiB")
    fields = record.headers
    body = record.body
    note = ""
    if record.kind == "response" and _CHUNKED.search(record.head):
        body, problem = dechunk(record.body)
        note = f"the body of {url[:200]} {problem}" if problem else ""
    if record.missing:
        note = f"the record of {url} lacks its last {record.missing} bytes; what there is was taken"
    elif not note and (damage := record.problems()):
        note = f"the record of {url} is damaged: {damage[0]}"
    data, path = _keep(body, spool)
    capture = Capture(
        url=url,
        captured_ms=moment,
        status=record.status,
        response_head=record.head,
        body=data,
        path=path,
        ip=fields.get("warc-ip-address", ""),
        protocol=fields.get("warc-protocol", "").partition(",")[0].strip(),
        record_id=record.record_id,
        final_url=fields.get(FINAL_URL.lower(), ""),
    )
    _add_request(capture, requests.take(uuid_of(fields.get("warc-concurrent-to", "")), record.record_id))
    stated = fields.get("warc-payload-digest", "")
    if record.kind == "revisit":
        since = timestamps.from_iso(fields.get("warc-refers-to-date", ""))
        target = fields.get("warc-refers-to-target-uri", "")
        capture.original = Original(record.refers_to, target, since or 0, stated)
        if not capture.status and not shown:
            capture.status = 304 if "server-not-modified" in fields.get("warc-profile", "") else 200
        capture.not_modified = "server-not-modified" in fields.get("warc-profile", "")
    else:
        capture.truncated = fields.get("warc-truncated", "") or ("unspecified" if record.missing else "")
        if not record.head:
            capture.content_type = fields.get("content-type", "")
    container = fields.get("warc-refers-to-container", "").removeprefix("file://")[:200]
    believed = stated if record.kind != "revisit" and record.has_payload(stated, body) else ""
    return Exchange(capture, name, offset, believed, note, container)


def _keep(body: IO[bytes], spool: Path) -> tuple[bytes, str]:
    """A short body, or the file that holds a long one."""
    body.seek(0)
    data = body.read(IN_MEMORY + 1)
    if len(data) <= IN_MEMORY:
        return data, ""
    with tempfile.NamedTemporaryFile(dir=spool, prefix="import-", delete=False) as file:
        file.write(data)
        shutil.copyfileobj(body, file)
    return b"", file.name

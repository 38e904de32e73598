"""The captures of a WARC or ARC file, plain or compressed; good, damaged or hostile.

A response is put together with its request and with what a browser made of it. What cannot be taken is reported as a
`Problem` with its place, and reading goes on.
"""

import re
import shutil
import tempfile
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from hemeroteca.warc import keys, scan, timestamps
from hemeroteca.warc.builder import DEVICE, FINAL_URL
from hemeroteca.warc.capture import Capture, Original
from hemeroteca.warc.keys import DOM, SCREENSHOT
from hemeroteca.warc.segments import NUMBER, Segmented, Segments
from hemeroteca.warc.stored_record import MAX_HEADERS, MAX_PAYLOAD, Record, plain_digest

IN_MEMORY = 1 << 20


class Exchange(msgspec.Struct):
    """A capture and where it was found."""

    capture: Capture
    file: str
    offset: int
    stated_digest: str = ""  # of the payload, as the other tool wrote it; empty when the payload has another
    note: str = ""  # what is wrong with it, though it can be taken
    container: str = ""  # of a revisit: another archive in which the original lies, as the tool names it
    names: frozenset[str] = frozenset()  # by which its request is known
    partial: bool = False  # a part of it is not in the file


class Problem(msgspec.Struct, frozen=True):
    """A place in a file that is not as it should be."""

    file: str
    offset: int
    reason: str
    lost: bool  # whether something that belongs here was left out because of it


def captures(
    path: Path, spool: Path, max_payload: int = 0, name: str = "", segments: Segments | None = None
) -> Iterator[Exchange | Problem]:
    """Every record of a file: those that are captures, and warcinfo records, which tell where they come from. Bodies
    longer than a megabyte are put into the folder `spool`; who takes the capture discards them. `name`: of the file in
    reports. `segments`: parts of records that go on in another file; who gives them asks for `unfinished` at the end.
    Nothing is left out without a `Problem` that says so."""
    name = name or path.name
    max_payload = max_payload or max(MAX_PAYLOAD, _MAX_PACKED * path.stat().st_size)
    requests: list[_Request] = []
    held: list[Exchange] = []  # until the next records show whether they belong to one of them
    answered: deque[str] = deque(maxlen=_MANY)  # addresses of the last answers
    parts = segments if segments is not None else Segments()
    empty = True
    try:
        for found in scan.scan(path, max_payload=max_payload):
            empty = False
            if isinstance(found, scan.Damage):
                yield Problem(name, found.offset, found.reason, bool(found.length))
                continue
            record, begun, note = found.record, found.offset, ""
            if record.kind == "continuation":
                joined = parts.add(record, max_payload)
                if isinstance(joined, str):
                    yield Problem(name, begun, joined, True)
                if not isinstance(joined, Segmented):
                    continue
                record, note = joined.record, joined.note
                begun = joined.offset if joined.file == name else begun
            elif record.headers.get(NUMBER, "").strip() == "1":
                if (waited := parts.begin(record, name, begun)) is not None:
                    yield from _unfinished(waited, spool)
                continue
            if record.kind == "request":
                request = _Request.read(record, begun)
                if not any(request.give(one, late) for late in (False, True) for one in reversed(held)):
                    request.answered = request.url in answered
                    requests.append(request)
                    if len(requests) > _MANY:
                        yield requests.pop(0).alone(name)
                continue
            taken = _exchange(record, name, begun, spool, note)
            if isinstance(taken, Problem):
                yield taken
                continue
            if taken.note:
                yield Problem(name, begun, taken.note, taken.partial)
            whole = next((one for one in reversed(held) if _belongs(taken.capture, one.capture)), None)
            if whole is not None:
                whole.capture.attached = [*whole.capture.attached, taken.capture]
                continue
            asked = next((one for one in reversed(requests) if one.give(taken)), None)
            if asked is not None:
                requests.remove(asked)
            for request in requests:
                request.repeated = request.repeated or request.url == taken.capture.url
            held.append(taken)
            answered.append(taken.capture.url)
            if len(held) > _CLOSE:
                yield _checked(held.pop(0), requests)
        if empty:  # as packed by gzip: what has no byte at all was told by the scan
            yield Problem(name, 0, "the file holds no record", False)
        while held:
            yield _checked(held.pop(0), requests)
        if segments is None:
            yield from unfinished(parts, spool)
        yield from (request.alone(name) for request in requests)
    finally:
        for one in held:
            one.capture.discard()


def unfinished(segments: Segments, spool: Path) -> Iterator[Exchange | Problem]:
    """Records whose last part is in no file: what there is of them."""
    for found in segments.rest():
        yield from _unfinished(found, spool)


def _unfinished(found: Segmented, spool: Path) -> Iterator[Exchange | Problem]:
    taken = _exchange(found.record, found.file, found.offset, spool)
    if isinstance(taken, Exchange):
        yield Problem(found.file, found.offset, taken.note, taken.partial)
    yield taken


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
_MANY = 1000  # requests that wait for their answer
_CLOSE = 8  # captures that wait for their request
_MAX_PACKED = 1100  # times its size that a file may unpack to, when that is much: zeros in gzip become 1,032 times less
_KINDS = ("response", "revisit", "resource", "warcinfo", *keys.ABOUT)
_RELATIONS = ("WARC-Refers-To", "WARC-Concurrent-To", "WARC-Filename")
_MAX_DIGEST = 200
_IS_HTTP = re.compile(rb"(?i:HTTP)/|ICY \d{3}").match
_NAMES_STATUS = re.compile(rb"HTTP/[\d.]+[ \t]+\d{3}(?!\d)").match
_OF_HTTP = re.compile(r"\s*application/http\b", re.IGNORECASE).match
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE).match


class _Request(msgspec.Struct):
    """A request, and by what its answer is known."""

    url: str
    moment: int | None
    offset: int
    whole: bytes  # head and what was sent, as far as that decides whether the answer is taken
    names: frozenset[str]
    repeated: bool = False  # the same address was answered after it, to another request
    answered: bool = False  # the same address was answered before it

    @classmethod
    def read(cls, record: Record, offset: int) -> "_Request":
        whole = record.head + record.payload(keys.MAX_SENT + 1)
        return cls(record.url, record.captured_ms, offset, whole, _names(record))

    def give(self, answer: Exchange, late: bool = False, misnamed: bool = False) -> bool:
        """Add it to its answer; False when that is another's. `late`: it stands after the answer, with its own date.
        `misnamed`: what it says it belongs to did not come."""
        capture = answer.capture
        unnamed = (misnamed or len(self.names) < 2) and len(answer.names) < 2  # neither says to what it belongs
        whole = capture.kind in ("response", "revisit")
        alike = self.names & answer.names or (whole and unnamed and (late or self.moment == capture.captured_ms))
        if not alike or self.url != capture.url or capture.request_head or not (whole or capture.kind == "resource"):
            return False
        head, end, capture.sent = self.whole.partition(b"\r\n\r\n")
        capture.request_head = head + end
        return True

    def alone(self, name: str) -> Problem:
        if self.repeated:  # a try that failed: wget keeps those too
            return Problem(name, self.offset, f"the request for {self.url[:200]} was answered when made again", False)
        if self.answered:  # long before, or to a request that stands there too
            return Problem(name, self.offset, f"the request for {self.url[:200]} stands after its answer", False)
        return Problem(name, self.offset, f"the request for {self.url[:200]} has no answer here", True)


def _names(record: Record) -> frozenset[str]:
    """The ids of a record and of those it belongs to."""
    stated = (record.headers.get(name, "").strip("<> ") for name in ("warc-record-id", "warc-concurrent-to"))
    return frozenset(name for name in stated if name)


def _belongs(beside: Capture, capture: Capture) -> bool:
    """Whether that is what a browser made of this capture."""
    return beside.captured_ms == capture.captured_ms and beside.url in (DOM + capture.url, SCREENSHOT + capture.url)


def _checked(exchange: Exchange, requests: list[_Request]) -> Exchange | Problem:
    """An answer as it is handed on. Some tools (WARCreate) give a request the name of no record."""
    asked = next((request for request in requests if request.give(exchange, misnamed=True)), None)
    if asked is not None:
        requests.remove(asked)
    capture = exchange.capture
    method = keys.method(capture.request_head)
    if keys.is_kept(method, capture.sent):
        return exchange
    capture.discard()
    reason = f"{capture.url} answers a {method} of more than {keys.MAX_SENT} bytes; such answers are not filed"
    return Problem(exchange.file, exchange.offset, reason, True)


def _exchange(record: Record, name: str, offset: int, spool: Path, flaw: str = "") -> Exchange | Problem:
    """`flaw`: what is already known to be wrong with the record."""

    def wrong(reason: str) -> Problem:
        return Problem(name, offset, reason, True)

    kind, url, moment, fields = record.kind, record.url, record.captured_ms, record.headers
    if kind not in _KINDS:
        what = f"a record of the type {kind[:40]!r}" if kind else "a record without a type"
        return wrong(f"{what} ({url[:200] or 'no address'}) is not taken")
    if moment is None:
        return wrong(f"the record of {url[:200]} has no readable date")
    if not _SCHEME(url) and kind not in ("warcinfo", *keys.ABOUT):
        return wrong(f"{url[:200]!r} is not an address")
    web = bool(re.match(r"https?://", url, re.IGNORECASE))
    note = ""
    if kind == "response" and web and not _IS_HTTP(record.head) and record.head + record.payload(1):
        flaw = flaw or next(iter(record.problems()), "")
        record, kind = _without_head(record), "resource"
        note = f"the record of {url[:200]} does not hold an HTTP response; it is kept as a resource"
    if (record.head and not web) or (kind == "response" and url.lower().startswith(("javascript:", "data:"))):
        return wrong(f"{url[:200]} is not a web address")
    if kind == "response" and web and not record.head:
        return wrong(f"the record of {url[:200]} is empty; it does not hold an HTTP response")
    if len(record.head) >= MAX_HEADERS:  # the rest of it would be taken for the payload
        return wrong(f"the record of {url[:200]} has a head of more than {MAX_HEADERS >> 20} MiB")
    body = record.body
    what = url[:200] or f"the type {kind!r}"
    not_modified = "server-not-modified" in fields.get("warc-profile", "")
    if record.size and kind in ("response", "revisit") and _CHUNKED.search(record.head):
        body, problem = dechunk(record.body)
        note = f"the body of {url[:200]} {problem}" if problem else ""
    if kind == "revisit" and record.size and not not_modified and record.has_payload(_payload_digest(fields), body):
        kind = "response" if record.head else "resource"  # nothing is left out of it
        note = note or f"the revisit of {url[:200]} holds the payload it repeats; it is kept as a {kind}"
    in_parts = NUMBER in fields
    if record.missing:
        note = f"the record of {what} lacks its last {record.missing} bytes; what there is was taken"
    elif in_parts:
        note = f"the last parts of the record of {what} are not here; what there is was taken"
    elif not note and (damage := flaw or next(iter(record.problems()), "")):
        note = f"the record of {what} is damaged: {damage}"
    beside = kind == "revisit" and record.size and not note  # some tool wrote the payload that the record leaves out
    if beside:
        note = f"the revisit of {url} has {record.size} bytes of its own, which are not taken"
    data, path = spooled(body, spool) if kind != "revisit" else (b"", "")
    capture = Capture(
        url=keys.address_about(kind, url, record.record_id) if kind in keys.ABOUT else url,
        captured_ms=moment,
        status=_status(record) if kind in ("response", "revisit") else 0,
        response_head=record.head,
        body=data,
        path=path,
        ip=fields.get("warc-ip-address", ""),
        protocol=fields.get("warc-protocol", "").partition(",")[0].strip(),
        record_id=record.record_id,
        record_type="" if record.head or kind in ("revisit", "resource") else kind,
        relations=() if kind in ("response", "revisit") else _relations(fields),
        final_url=fields.get(FINAL_URL.lower(), ""),
        device=fields.get(DEVICE.lower(), ""),
    )
    stated = plain_digest(_payload_digest(fields))
    if kind == "revisit":
        since = timestamps.from_iso(fields.get("warc-refers-to-date", ""))
        target = fields.get("warc-refers-to-target-uri", "").strip("<> ")
        capture.original = Original(record.refers_to, target, since or 0, stated[:_MAX_DIGEST])
        capture.not_modified = not_modified
        if not capture.status and web:
            capture.status = 304 if capture.not_modified else 200
    else:
        capture.truncated = fields.get("warc-truncated", "") or ("unspecified" if record.missing or in_parts else "")
        if not record.head:
            capture.content_type = "" if _OF_HTTP(fields.get("content-type", "")) else fields.get("content-type", "")
    container = fields.get("warc-refers-to-container", "").removeprefix("file://")[:200]
    believed = stated if kind != "revisit" and record.has_payload(stated, body) else ""
    partial = bool(record.missing or in_parts or beside)
    return Exchange(
        capture=capture,
        file=name,
        offset=offset,
        stated_digest=believed,
        note=note,
        container=container,
        names=_names(record),
        partial=partial,
    )


def _payload_digest(fields: dict[str, str]) -> str:
    return fields.get("warc-payload-digest", "")


def _status(record: Record) -> int:
    """Of a response that names none it is the one it is stored with, see `builder.stored_head`."""
    return record.status if not record.head or _NAMES_STATUS(record.head) else 200


def _without_head(record: Record) -> Record:
    """The whole block as the body: an answer in HTTP/0.9 has no head, some tools give the page alone."""
    body = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - handed on
    body.write(record.head)
    record.body.seek(0)
    shutil.copyfileobj(record.body, body)
    return Record(record.headers, b"", body, len(record.head) + record.size, record.missing)


def _relations(fields: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"{name}: {fields[name.lower()]}" for name in _RELATIONS if name.lower() in fields)


def spooled(body: IO[bytes], spool: Path) -> tuple[bytes, str]:
    """A short body, or the file that holds a long one."""
    body.seek(0)
    data = body.read(IN_MEMORY + 1)
    if len(data) <= IN_MEMORY:
        return data, ""
    with tempfile.NamedTemporaryFile(dir=spool, prefix="import-", delete=False) as file:
        file.write(data)
        shutil.copyfileobj(body, file)
    return b"", file.name

"""Archives of other tools as a stream of exchanges: WARC, ARC (plain or gzip) and WACZ; good, damaged or hostile.

`read_archive` says what is in a file; taking it in is the business of ingest, as for every capture. What cannot be
taken is reported as a `Problem` with its place, and reading goes on.
"""

import hashlib
import io
import json
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import urlsplit
from uuid import UUID

import msgspec

from hemeroteca.warc import keys, scan, timestamps
from hemeroteca.warc.keys import DOM
from hemeroteca.warc.reader import MAX_HEADERS, MAX_PAYLOAD, Record, uuid_of

IN_MEMORY = 1 << 20


class ImportedExchange(msgspec.Struct):
    """A capture made by another tool."""

    kind: str
    """response, revisit or resource"""
    url: str
    captured_ms: int
    record_id: UUID | None
    ip: str
    protocol: str
    request_head: bytes
    """While the file is read, followed by what was sent."""
    response_head: bytes
    body: bytes | Path
    """Without transfer encoding; a file of its own (the taker removes it) when it is longer than a megabyte."""
    status: int
    mime: str
    truncated: str
    file: str
    offset: int
    stated_digest: str = ""
    """Payload digest as the other tool wrote it, of whatever algorithm."""
    sent: bytes = b""
    """Content of the request."""
    not_modified: bool = False
    refers_to: UUID | None = None
    refers_to_url: str = ""
    refers_to_ms: int | None = None
    refers_to_file: str = ""
    """Another archive in which the original lies, as the tool names it."""

    def discard(self) -> None:
        if isinstance(self.body, Path):
            self.body.unlink(missing_ok=True)


class Problem(msgspec.Struct, frozen=True):
    """A place in a file that is not as it should be."""

    file: str
    offset: int
    reason: str
    lost: bool
    """Whether a capture that belongs here could not be taken because of it."""


_Item = ImportedExchange | Problem


def read_archive(path: Path, spool: Path, max_payload: int = MAX_PAYLOAD) -> Iterator[_Item]:
    """Everything in a file that is a capture. Long bodies are put into the folder `spool`."""
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        yield Problem(path.name, 0, f"the file cannot be read ({error.strerror})", True)
        return
    if start == b"PK\x03\x04":
        yield from _read_wacz(path, path.name, spool, max_payload)
    elif start[:1] in (b"{", b"\xef") and (listed := _listed(path)) is not None:
        yield from _read_listed(path, listed, spool, max_payload)
    else:
        yield from _read_records(path, path.name, spool, max_payload)


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
_MOST_LIST = 16 << 20
_UNSUSPECTED, _MOST_PACKED = 256 << 20, 200  # bytes that any entry may unpack to; else so many times its packed size


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


def _read_records(path: Path, name: str, spool: Path, max_payload: int) -> Iterator[_Item]:
    requests = _Requests()
    held: ImportedExchange | None = None  # until the next record shows whether it is its request
    for found in scan.scan(path, max_payload=max_payload):
        if isinstance(found, scan.Damage):
            yield Problem(name, found.offset, found.reason, bool(found.length))
            continue
        record = found.record
        if record.kind == "request":
            other = uuid_of(record.headers.get("warc-concurrent-to", ""))
            if held is not None and held.record_id is not None and held.record_id == other:
                held.request_head = _whole_request(record)
            else:
                requests.put(record.record_id, _whole_request(record))
                requests.put(other, _whole_request(record))
            continue
        if record.kind not in ("response", "revisit", "resource"):
            continue
        if held is not None:
            yield from _checked(held)
        held = None
        taken = _exchange(record, name, found.offset, spool, requests)
        if isinstance(taken, Problem):
            yield taken
            continue
        held, note = taken
        if not note and not record.missing and (wrong := record.problems()):
            note = f"the record of {record.url} is damaged: {wrong[0]}"
        if record.missing:
            note = f"the record of {record.url} lacks its last {record.missing} bytes; what there is was taken"
        if note:
            yield Problem(name, found.offset, note, False)
    if held is not None:
        yield from _checked(held)


def _whole_request(record: Record) -> bytes:
    """Head and what was sent, as far as that decides whether the answer is taken."""
    return record.head + record.payload(keys.MAX_SENT + 1)


def _checked(exchange: ImportedExchange) -> Iterator[_Item]:
    head, end, exchange.sent = exchange.request_head.partition(b"\r\n\r\n")
    exchange.request_head = head + end
    method = head.partition(b" ")[0]
    if not keys.is_kept(method.decode("latin-1"), exchange.sent):
        exchange.discard()
        name = method[:10].decode("latin-1")
        reason = f"{exchange.url} answers a {name}; only what a plain request or a short POST gets is taken"
        yield Problem(exchange.file, exchange.offset, reason, False)
    else:
        yield exchange


def _exchange(
    record: Record, name: str, offset: int, spool: Path, requests: _Requests
) -> tuple[ImportedExchange, str] | Problem:
    def wrong(reason: str) -> Problem:
        return Problem(name, offset, reason, True)

    moment = record.captured_ms
    if moment is None:
        return wrong(f"the record of {record.url[:200]} has no readable date")
    shown = record.kind == "revisit" and record.url.startswith(DOM)
    if not re.match(r"https?://", record.url, re.IGNORECASE) and record.kind != "resource" and not shown:
        return Problem(name, offset, f"{record.url[:200]} is not a web address", False)
    if record.kind == "response" and not record.head.startswith(b"HTTP/"):
        return wrong(f"the record of {record.url[:200]} does not hold an HTTP response")
    if len(record.head) >= MAX_HEADERS:  # the rest of it would be taken for the payload
        return wrong(f"the record of {record.url[:200]} has a head of more than {MAX_HEADERS >> 20} MiB")
    note = ""
    body = record.body
    if record.kind == "response" and _CHUNKED.search(record.head):
        body, problem = dechunk(record.body)
        if problem:
            note = f"the body of {record.url[:200]} {problem}"
    truncated = record.headers.get("warc-truncated", "") if record.kind != "revisit" else ""
    exchange = ImportedExchange(
        kind=record.kind,
        url=record.url,
        captured_ms=moment,
        record_id=record.record_id,
        ip=record.headers.get("warc-ip-address", ""),
        protocol=record.headers.get("warc-protocol", "").partition(",")[0].strip(),
        request_head=requests.take(uuid_of(record.headers.get("warc-concurrent-to", "")), record.record_id),
        response_head=record.head,
        body=_keep(body, spool),
        status=record.status,
        mime=record.mime,
        truncated=truncated or ("unspecified" if record.missing else ""),
        file=name,
        offset=offset,
        stated_digest=record.headers.get("warc-payload-digest", ""),
        not_modified="server-not-modified" in record.headers.get("warc-profile", ""),
        refers_to=record.refers_to,
        refers_to_url=record.headers.get("warc-refers-to-target-uri", ""),
        refers_to_ms=timestamps.from_iso(record.headers.get("warc-refers-to-date", "")),
        refers_to_file=record.headers.get("warc-refers-to-container", "").removeprefix("file://")[:200],
    )
    return exchange, note


def _keep(body: IO[bytes], spool: Path) -> bytes | Path:
    body.seek(0)
    data = body.read(IN_MEMORY + 1)
    if len(data) <= IN_MEMORY:
        return data
    with tempfile.NamedTemporaryFile(dir=spool, prefix="import-", delete=False) as file:
        file.write(data)
        shutil.copyfileobj(body, file)
    return Path(file.name)


def _read_wacz(path: Path, name: str, spool: Path, max_payload: int, deep: bool = True) -> Iterator[_Item]:
    """`deep`: a WACZ of several (`multi-wacz-package`) holds others, which hold none."""
    try:
        with zipfile.ZipFile(path) as archive:
            stated = _stated_digests(archive)
            entries = [entry for entry in archive.infolist() if _is_warc(entry.filename)]
            inner = [entry for entry in archive.infolist() if deep and entry.filename.lower().endswith(".wacz")]
            if not entries and not inner:
                yield Problem(name, 0, "the ZIP file holds no archive/*.warc.gz; it is not a WACZ", True)
            for entry in entries + inner:
                yield from _read_entry(archive, entry, name, stated.get(entry.filename, ""), spool, max_payload)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        yield Problem(name, 0, f"the WACZ cannot be read to its end ({error})", True)


def _listed(path: Path) -> list[tuple[str, str, str]] | None:
    """Names, places and digests of the files of a `multi-wacz-package`; None when it is something else."""
    with path.open("rb") as file:
        text = file.read(_MOST_LIST + 1)
    try:
        data = json.loads(text.decode("utf-8-sig"))
        if len(text) > _MOST_LIST or data["profile"] not in ("multi-wacz-package", "wacz-package"):
            return None
        return [
            (str(item.get("name", "")), str(item.get("path", "")), str(item.get("hash", "")))
            for item in data["resources"]
        ]
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        return None


def _read_listed(path: Path, listed: list[tuple[str, str, str]], spool: Path, max_payload: int) -> Iterator[_Item]:
    """The files such a list names, as far as they lie beside it; nothing is fetched and no other folder is opened."""
    for name, place, stated in listed:
        known = [PurePosixPath(urlsplit(text).path).name for text in (place, name)]
        found = next((path.parent / one for one in known if one and (path.parent / one).is_file()), None)
        if found is None:
            reason = f"{(place or name)[:200]} is named here and does not lie beside this file; put it there"
            yield Problem(path.name, 0, reason, True)
            continue
        label = f"{path.name}/{found.name}"
        if stated and stated.removeprefix("sha256:") != _digest_of(found):
            yield Problem(label, 0, f"the file is not the one that {path.name} describes (digest)", False)
        yield from _read_wacz(found, label, spool, max_payload)


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_entry(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, outer: str, stated: str, spool: Path, max_payload: int
) -> Iterator[_Item]:
    name = f"{outer}/{PurePosixPath(entry.filename).name}"
    with tempfile.NamedTemporaryFile(dir=spool, prefix="import-") as copy:
        hasher = hashlib.sha256()
        try:
            with archive.open(entry) as source:
                while data := source.read(1 << 20):
                    hasher.update(data)
                    copy.write(data)
                    if copy.tell() > max(_UNSUSPECTED, entry.compress_size * _MOST_PACKED):
                        raise zipfile.BadZipFile(f"it unpacks to more than {_MOST_PACKED} times its size")
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
            yield Problem(name, 0, f"the entry is damaged ({error}); what could be unpacked was read", True)
        else:
            if stated and stated != f"sha256:{hasher.hexdigest()}":
                yield Problem(name, 0, "the entry is not the one that datapackage.json describes (digest)", False)
        copy.flush()
        if entry.filename.lower().endswith(".wacz"):
            yield from _read_wacz(Path(copy.name), name, spool, max_payload, deep=False)
        else:
            yield from _read_records(Path(copy.name), name, spool, max_payload)


def _stated_digests(archive: zipfile.ZipFile) -> dict[str, str]:
    try:
        with archive.open("datapackage.json") as file:
            data = json.load(io.BytesIO(file.read(16 << 20)))
        return {str(item["path"]): str(item.get("hash", "")) for item in data["resources"]}
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}


def _is_warc(name: str) -> bool:
    return name.startswith("archive/") and name.lower().endswith((".warc.gz", ".warc.zst", ".warc", ".arc.gz", ".arc"))

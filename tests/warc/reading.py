"""The three readers every file of ours must satisfy, brought to one shape."""

import io
from pathlib import Path

import msgspec
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator as WarcioIterator
from warcio.checker import Checker


class Seen(msgspec.Struct, frozen=True):
    kind: str
    record_id: str
    url: str
    status: str
    payload: bytes


def by_warcio(data: bytes) -> list[Seen]:
    seen = []
    for record in WarcioIterator(io.BytesIO(data), check_digests="raise"):
        http = record.http_headers
        seen.append(
            Seen(
                record.rec_type,
                record.rec_headers.get_header("WARC-Record-ID"),
                record.rec_headers.get_header("WARC-Target-URI") or "",
                http.get_statuscode() if http and record.rec_type != "request" else "",
                record.content_stream().read() if not _is_packed(http) else record.raw_stream.read(),
            )
        )
    return seen


def by_fastwarc(data: bytes) -> list[Seen]:
    seen = []
    for record in FastIterator(io.BytesIO(data), parse_http=False):
        assert record.verify_block_digest()
        record.parse_http()
        http = record.http_headers
        kind = record.headers["WARC-Type"]
        if kind == "response":
            assert record.verify_payload_digest()
        seen.append(
            Seen(
                kind,
                record.headers["WARC-Record-ID"],
                record.headers.get("WARC-Target-URI") or "",
                f"{http.status_code}" if http is not None and kind in ("response", "revisit") else "",
                record.reader.read(),
            )
        )
    return seen


def warcio_check(path: Path) -> int:
    class Command:
        inputs = [str(path)]
        verbose = True

    return Checker(Command()).process_all()


def _is_packed(http) -> bool:
    return bool(http and http.get_header("content-encoding"))

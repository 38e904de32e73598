"""Records in a line."""

from pathlib import Path
from uuid import UUID

from hemeroteca import warc


def exchange(
    url: str,
    ms: int,
    ip: str = "",
    protocol: str = "",
    request: bytes = b"",
    head: bytes = b"HTTP/1.1 200 OK\r\n\r\n",
    body: bytes | Path = b"",
    truncated: str = "",
    record_id: UUID | None = None,
    sent: bytes = b"",
) -> warc.Records:
    """A response and its request."""
    capture = warc.Capture(
        url=url,
        captured_ms=ms,
        ip=ip,
        protocol=protocol,
        request_head=request,
        sent=sent,
        response_head=head,
        truncated=truncated,
        record_id=record_id,
    )
    if isinstance(body, Path):
        capture.path = str(body)
    else:
        capture.body = body
    return warc.records(capture)


def revisit(
    url: str,
    ms: int,
    ip: str,
    protocol: str,
    request: bytes,
    head: bytes,
    original: warc.Original,
    body_size: int = 0,
    not_modified: bool = False,
) -> warc.Records:
    """The same without its payload, which `original` has."""
    capture = warc.Capture(
        url=url,
        captured_ms=ms,
        ip=ip,
        protocol=protocol,
        request_head=request,
        response_head=head,
        original=original,
        not_modified=not_modified,
    )
    return warc.records(capture, body_size=body_size)

"""The bytes and the text of a capture as they may be handed out: bounded, never as something a browser would run."""

from typing import IO, NamedTuple

from django.conf import settings

from hemeroteca import extract
from hemeroteca.archive import comparing, queries, rendered
from hemeroteca.archive.values import CaptureRow
from hemeroteca.ingest import costly
from hemeroteca.ingest.costly import Stored
from hemeroteca.warc.reader import Record

HTML = ("text/html", "application/xhtml+xml")
SMALL = 256 << 10  # bytes of HTML that are read in a few milliseconds
MAX_SHOWN = 8 << 20  # a copy longer than this is only offered as a download

# On every answer that carries bytes of a stranger. Opened directly or in a frame, the document gets an origin of its
# own: no scripts, no cookies of ours, no forms, nothing loaded from anywhere.
SANDBOX = (
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)


_ENDINGS = {
    "text/html": "html",
    "application/pdf": "pdf",
    "text/plain": "txt",
    "text/css": "css",
    "image/png": "png",
}


class Copy(NamedTuple):
    body: bytes  # content-decoded
    media_type: str
    charset_header: str  # the Content-Type header as received
    note: str  # why it is not whole; empty when it is


def original(capture: CaptureRow) -> Record:
    """The record that holds the payload: the capture's own, or the one a revisit refers to."""
    return _holder(capture).location(settings.INSTANCE.warc_dir).read()


def _holder(capture: CaptureRow) -> CaptureRow:
    revisit = capture.kind == "revisit" and capture.refers_to
    return queries.by_record(revisit) or capture if revisit else capture


def decoded(capture: CaptureRow) -> Copy:
    """What a reader would have seen, without the coding it travelled in; at most MAX_SHOWN bytes."""
    record = original(capture)
    body, note = record.content(MAX_SHOWN)
    header = record.header("content-type")
    if not note and record.size > MAX_SHOWN:
        note = "cut"
    return Copy(body, header.partition(";")[0].strip().lower() or capture.mime, header, note)


class Download(NamedTuple):
    """The body as received, still in its content coding, for whoever wants the bytes."""

    file: IO[bytes]
    name: str
    headers: dict[str, str]


def download(capture: CaptureRow) -> Download:
    """Never as something a browser would show. Raises WarcReadError when bytes are missing."""
    record = original(capture)
    record.body.seek(0)
    headers = {
        "Content-Length": str(record.size),
        "Content-Security-Policy": SANDBOX,
        "X-Content-Type-Options": "nosniff",
        "X-Hemeroteca-Media-Type": record.header("content-type")[:200].encode("ascii", "ignore").decode(),
        # Not Content-Encoding: a client would unpack it, and these are the bytes as they were received.
        "X-Hemeroteca-Content-Encoding": record.header("content-encoding")[:100].encode("ascii", "ignore").decode(),
    }
    ending = _ENDINGS.get(capture.mime.partition(";")[0].strip().lower(), "bin")
    return Download(
        record.body, f"{capture.record_id}.{ending}", {name: text for name, text in headers.items() if text}
    )


def compare(old: CaptureRow, new: CaptureRow, view: str) -> costly.Comparison:
    """Two captures compared as their site's rules say. Raises `WarcReadError` when bytes are missing."""
    folder = settings.INSTANCE.warc_dir
    before, after = comparing.stored(folder, old), comparing.stored(folder, new)
    rules, noisy = comparing.rules_of(new.url), comparing.noisy(new.url)
    return costly.run(costly.compare, before, after, rules, noisy, view)


def text(capture: CaptureRow) -> extract.Document:
    """Title, text and language of a capture, read again from the archive; at once where that costs little."""
    if capture.body_size <= SMALL and capture.mime in HTML and rendered.dom_of(capture) is None:
        copy = decoded(capture)
        if len(copy.body) <= SMALL and copy.media_type in HTML:
            return extract.read(copy.body, copy.charset_header, capture.url)
    folder = settings.INSTANCE.warc_dir
    dom = rendered.dom_of(capture)
    place = Stored(
        capture.url, capture.status, _holder(capture).location(folder), dom=dom.location(folder) if dom else None
    )
    return costly.run(costly.text, place, MAX_SHOWN)

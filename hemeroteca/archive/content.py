"""The bytes and the text of a capture as they may be handed out: bounded, never as something a browser would run.

And two captures compared, for the command line, the API and the console alike.
"""

from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import msgspec
from django.conf import settings

from hemeroteca import change, extract, urls
from hemeroteca.archive import learned_noise, lookup, queries, rendered
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.errors import NotFound, Refused
from hemeroteca.frontier import services as sites
from hemeroteca.ingest import heavy_reads
from hemeroteca.ingest.heavy_reads import Stored
from hemeroteca.warc import DOM_TYPE
from hemeroteca.warc.stored_record import Record

if TYPE_CHECKING:
    from hemeroteca.change import picture

HTML = ("text/html", "application/xhtml+xml")
FEW_PIXELS = 12_000_000  # of a screenshot that is made small at once
SMALL = 256 << 10  # bytes of HTML that are read in a few milliseconds
MAX_SHOWN = 8 << 20  # a copy longer than this is only offered as a download

# On every answer that carries bytes of a stranger. Opened directly or in a frame, the document gets an origin of its
# own: no scripts, no cookies of ours, no forms, nothing loaded from anywhere.
SANDBOX = (
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)


_ENDINGS = {
    "text/html": "html", "application/pdf": "pdf", "text/plain": "txt", "text/css": "css", "image/png": "png",
}  # fmt: skip


class Copy(NamedTuple):
    body: bytes  # content-decoded
    media_type: str
    charset_header: str  # the Content-Type header as received
    note: str  # why it is not whole; empty when it is


def original(capture: CaptureRow) -> Record:
    """The record that holds the payload: the capture's own, or the one a revisit refers to."""
    return queries.holder(capture).location(settings.INSTANCE.warc_dir).read()


def decoded(capture: CaptureRow) -> Copy:
    """What a reader would have seen, without the coding it travelled in; at most MAX_SHOWN bytes."""
    place = queries.holder(capture).location(settings.INSTANCE.warc_dir)
    small = capture.body_size <= SMALL  # packed, it may still become long: that is for a bounded process
    found = heavy_reads.body(place, SMALL) if small else heavy_reads.DecodedBody(b"", "cut", "", 0)
    if found.note or found.size > SMALL:
        found = heavy_reads.run(heavy_reads.body, place, MAX_SHOWN)
    note = found.note or ("cut" if found.size > MAX_SHOWN else "")
    return Copy(found.data, found.header.partition(";")[0].strip().lower() or capture.mime, found.header, note)


def rendered_html(capture: CaptureRow) -> bytes:
    """The HTML as a browser showed it; empty when none opened the page."""
    return rendered.dom(settings.INSTANCE.warc_dir, _shown(capture))[:MAX_SHOWN]


def screenshot(capture: CaptureRow, small: bool = False) -> bytes:
    """PNG of the page as a browser showed it, or its top in small; empty when none did. Needs Pillow to be small."""
    found = rendered.screenshot_of(_shown(capture))
    if found is None:
        return b""
    place = found.location(settings.INSTANCE.warc_dir)
    whole = place.read().payload(rendered.PICTURE_BYTES)
    if not small:
        return whole
    from hemeroteca.change import picture

    try:
        if picture.pixels(whole) <= FEW_PIXELS:
            return picture.thumbnail(whole)
        return heavy_reads.run(heavy_reads.thumbnail, place)
    except (ImportError, ValueError, Refused):
        return b""


def has_screenshot(capture: CaptureRow) -> bool:
    return rendered.screenshot_of(_shown(capture)) is not None


def marked_picture(old: CaptureRow, new: CaptureRow) -> "picture.MarkedPicture":
    """The newer screenshot with what differs marked, made in a bounded process. Raises NotFound, Busy and Invalid."""
    rows = [rendered.screenshot_of(_shown(row)) for row in (old, new)]
    if rows[0] is None or rows[1] is None:
        raise NotFound("no browser took a picture of both captures; `render` of the site's settings says when one does")
    folder = settings.INSTANCE.warc_dir
    return heavy_reads.run(heavy_reads.marked_picture, rows[0].location(folder), rows[1].location(folder))


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


def text(capture: CaptureRow) -> extract.Document:
    """Title, text and language of a capture, read again from the archive; at once where that costs little."""
    dom = rendered.dom_of(capture)
    if dom is None and capture.body_size <= SMALL and capture.mime in HTML:
        copy = decoded(capture)
        if len(copy.body) <= SMALL and copy.media_type in HTML:
            return extract.read(copy.body, copy.charset_header, capture.url)
    folder = settings.INSTANCE.warc_dir
    shown = dom.location(folder) if dom is not None else None
    place = Stored(capture.url, capture.status, queries.holder(capture).location(folder), dom=shown)
    return heavy_reads.run(heavy_reads.text, place, MAX_SHOWN)


class Pair(NamedTuple):
    """Two captures ready to be compared and shown."""

    old: change.Snapshot
    new: change.Snapshot
    rules: change.ChangeRules
    change: change.Judgement


def compare(old: CaptureRow, new: CaptureRow, rules: change.ChangeRules | None = None) -> Pair:
    """Two captures compared as their site's rules say, or by other `rules`. Raises `WarcReadError`."""
    given = rules or rules_of(new.url)
    before, after = _stored(old).snapshot(), _stored(new).snapshot()
    known = learned_noise.load(_host(new.url)).noisy()
    return Pair(before, after, given, change.compare(before, after, given, frozenset(known) or None))


def comparison(
    old: CaptureRow, new: CaptureRow, view: str, rules: change.ChangeRules | None = None
) -> heavy_reads.ComparedVersions:
    """The same for whoever asks over the network: in a bounded process, in its turn. Also raises Busy and Invalid."""
    known = learned_noise.load(_host(new.url)).noisy()
    return heavy_reads.run(heavy_reads.compare, _stored(old), _stored(new), rules or rules_of(new.url), known, view)


def rules_of(url: str) -> change.ChangeRules:
    """What a person set for the site of an address."""
    comparison = sites.settings_of(_host(url)).comparison()
    return change.ChangeRules(**msgspec.structs.asdict(comparison))


def _stored(row: CaptureRow) -> Stored:
    """Where a capture lies: what a browser made of it, where one opened it, and what was received."""
    folder, shown = settings.INSTANCE.warc_dir, _shown(row)
    dom, picture = rendered.dom_of(shown), rendered.screenshot_of(shown)
    holder = row if dom is not None else queries.holder(row)
    return Stored(
        url=row.url,
        status=holder.status if row.status == 304 else row.status,
        body=holder.location(folder),
        mime=holder.mime,
        dom=dom.location(folder) if dom is not None else None,
        picture=picture.location(folder) if picture is not None else None,
    )


class Readable(NamedTuple):
    """What is read of a capture: what a browser made of it, else the bytes received."""

    body: bytes
    content_type: str
    head: bytes  # of the response


def readable(folder: Path, row: CaptureRow) -> Readable:
    holder = queries.holder(row)
    record = holder.location(folder).read()
    if dom := rendered.dom(folder, _shown(row)):
        return Readable(dom, DOM_TYPE, record.head)
    return Readable(record.content()[0], record.header("content-type") or holder.mime, record.head)


def _shown(row: CaptureRow) -> CaptureRow:
    """The capture that has what a browser made: this one, or the version it repeats (of captures before 0111)."""
    if row.version or rendered.dom_of(row) is not None:
        return row
    return lookup.version_shown(row) or row


def _host(url: str) -> str:
    try:
        return urls.host(url)
    except urls.UrlError:
        return ""

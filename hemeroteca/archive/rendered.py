"""What a browser made of a capture: the page's HTML and its picture, records of their own with the capture's time."""

from pathlib import Path

from hemeroteca.archive import queries
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.warc import MAX_CONTENT
from hemeroteca.warc.keys import DOM, SCREENSHOT, index_key

PICTURE_BYTES = 64 << 20


def dom_of(row: CaptureRow) -> CaptureRow | None:
    """The record of the HTML; of a page that came out the same again, that of the earlier time."""
    return _beside(row, DOM)


def screenshot_of(row: CaptureRow) -> CaptureRow | None:
    """The picture taken of a capture, or of the version it repeats; `row` may also be the record of the HTML."""
    found = _beside(row, SCREENSHOT)
    if found is None and not row.url.startswith(DOM) and (dom := dom_of(row)) is not None:
        found = _beside(dom, SCREENSHOT)
    return found


def dom(folder: Path, row: CaptureRow) -> bytes:
    """The HTML a browser made of this capture; empty when none opened it."""
    found = dom_of(row)
    return _read(folder, found, MAX_CONTENT) if found is not None else b""


def screenshot(folder: Path, row: CaptureRow) -> bytes:
    """PNG; empty when there is none."""
    found = screenshot_of(row)
    return _read(folder, found, PICTURE_BYTES) if found is not None else b""


def _beside(row: CaptureRow, prefix: str) -> CaptureRow | None:
    key = index_key(prefix + row.url.removeprefix(DOM))
    found = queries.rows("urlkey = %s AND captured_ms = %s", [key, row.captured_ms], "capture.id", 1)
    if found and found[0].kind == "revisit" and found[0].refers_to:
        return queries.by_record(found[0].refers_to)
    return found[0] if found else None


def _read(folder: Path, row: CaptureRow, limit: int) -> bytes:
    return row.location(folder).read().payload(limit)

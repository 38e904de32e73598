"""What the archive keeps of a capture: whole records, a revisit where it has the payload already, and what a browser
made of it."""

from pathlib import Path
from typing import NamedTuple

from hemeroteca import warc
from hemeroteca.archive.values import NewCapture
from hemeroteca.engine.ledger import Ledger
from hemeroteca.engine.messages import Attached, Ingested, Job
from hemeroteca.frontier.visit import Visit
from hemeroteca.urls.candidate import Role


class Kept(NamedTuple):
    capture: NewCapture
    stored: int  # bytes written; 0 when nothing was kept
    unchanged: bool  # the server said so, or the payload is the last version's


class PayloadGoneError(Exception):
    """A reader built no records because the payload is the last version's, which the archive no longer has."""


def keep(ledger: Ledger, job: Job, done: Ingested, visit: Visit, originals: dict[str, warc.Original]) -> Kept:
    """Give the ledger what is to be kept; may add a note to `done`. `originals`: captures that hold these payloads."""
    not_modified = job.status == 304 and bool(job.previous)
    unchanged = not_modified or done.same
    original = originals.get(job.previous if not_modified else done.digest)
    if done.same and original is None and not job.dom:
        raise PayloadGoneError
    capture = NewCapture(
        record_id=done.record_id or warc.new_id(job.started_ms),
        url=job.url,
        captured_ms=job.started_ms,
        status=job.status,
        mime=done.mime,
        digest=job.previous if not_modified else done.digest,
        kind="response",
        version=not unchanged,
        warc_name="",
        offset=0,
        length=done.record_length,
        body_size=done.body_size,
        truncated=job.truncated,
        page_id=visit.page or None,
        crawl_id=visit.crawl,
        urlkey=done.urlkey,
    )
    if visit.served:  # the crawl that made it has kept it
        return Kept(capture, 0, True)
    first_seen = original is not None and not visit.digest and visit.role == Role.REQUISITE
    if not visit.page or first_seen:  # nobody knows its last version; a browser may have brought it
        capture.version = ledger.is_news(capture)
    kept = not done.noarchive and done.digest != ""
    stored = 0
    repeats = unchanged or (done.body_size and not job.truncated and not job.filed)
    if kept and original is not None and repeats:
        stored = _revisit(ledger, job, done, capture, original, not_modified)
        if original.url != job.url and not unchanged and visit.page and not job.dom:
            done.notes.append(f"duplicate: the same bytes as {original.url[:200]}")
    elif kept and (done.data or done.path):
        ledger.keep(capture, done.data or Path(done.path))
        stored = done.size
    stored += sum(_attach(ledger, attached, capture) for attached in done.attached)
    if kept and job.dom and done.same and (shown := originals.get(job.previous)) is not None:
        stored += ledger.repeat(capture, shown, len(job.dom))
    if done.path:
        Path(done.path).unlink(missing_ok=True)
    return Kept(capture, stored, unchanged)


def _revisit(
    ledger: Ledger, job: Job, done: Ingested, capture: NewCapture, original: warc.Original, not_modified: bool
) -> int:
    records = warc.revisit_records(
        job.url,
        job.started_ms,
        job.ip,
        job.protocol,
        job.request_head,
        job.response_head,
        original,
        done.body_size,
        not_modified,
    )
    capture.kind = "revisit"
    capture.record_id = records.main.record_id
    capture.length = records.main.length
    capture.refers_to = original.record_id
    ledger.keep(capture, records.data)
    return records.size


def _attach(ledger: Ledger, attached: Attached, capture: NewCapture) -> int:
    """Keep what a browser made of a capture: a row of its own with the same time."""
    row = NewCapture(
        record_id=attached.record_id,
        url=attached.url,
        captured_ms=capture.captured_ms,
        status=0,
        mime=attached.mime,
        digest=attached.digest,
        kind="resource",
        version=True,
        warc_name="",
        offset=0,
        length=len(attached.data),
        body_size=attached.body_size,
        page_id=capture.page_id,
        crawl_id=capture.crawl_id,
    )
    ledger.keep(row, attached.data)
    return len(attached.data)

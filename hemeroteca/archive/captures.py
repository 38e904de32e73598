"""Captures on their way into the archive: records appended to WARC files, rows that wait for the commit.

The order that makes a crash harmless: `keep` … → `sync` → `write` in the transaction → `close`.
"""

from hemeroteca.archive import queries, services
from hemeroteca.archive.capture_rows import NewCapture
from hemeroteca.archive.payloads import Payloads
from hemeroteca.ingest.ingested import Ingested
from hemeroteca.warc import Capture, Original, Records, records
from hemeroteca.warc.keys import DOM, index_key
from hemeroteca.warc.writer import ClosedFile, WarcWriter


class CaptureWriter:
    def __init__(self, warcs: WarcWriter) -> None:
        self.warcs = warcs
        self.payloads = Payloads()
        self.rows: list[NewCapture] = []  # kept, not written
        self.stored = 0  # bytes so far

    def keep(self, capture: Capture, done: Ingested, original: Original | None = None) -> NewCapture | None:
        """Append its records: those ingest made, or a revisit of `original`, which has the same payload. The row waits
        for `write`; who keeps it may still say more in it. None when there is nothing to keep."""
        made = done.records
        if original is not None:
            repeated = Capture(
                url=capture.url,
                captured_ms=capture.captured_ms,
                request_head=capture.request_head,
                sent=capture.sent,
                response_head=capture.response_head,
                ip=capture.ip,
                protocol=capture.protocol,
                record_id=capture.record_id,
                original=original,
                not_modified=capture.not_modified or capture.status == 304,
                final_url=capture.final_url,
                device=capture.device,
            )
            made = records(repeated, body_size=done.size)
        if made is None:
            return None
        return self._append(capture, made, done.mime, done.urlkey, original or capture.original)

    def attach(self, row: NewCapture, beside: Capture, made: Records) -> None:
        """Append what a browser made of a capture: a row of its own with the same time."""
        also = self._append(beside, made, beside.content_type or "text/html", "", beside.original)
        also.version = beside.original is None
        also.page_id, also.crawl_id = row.page_id, row.crawl_id

    def _append(self, capture: Capture, made: Records, mime: str, urlkey: str, original: Original | None) -> NewCapture:
        main = made.main
        try:
            name, offset = self.warcs.append(made.source)
        finally:
            made.discard()
        row = NewCapture(
            record_id=main.record_id,
            url=capture.url,
            captured_ms=capture.captured_ms,
            status=capture.status,
            mime="text/html" if capture.url.startswith(DOM) else mime,
            digest=made.digest,
            kind=main.kind,
            version=False,
            warc_name=name,
            offset=offset,
            length=main.length,
            body_size=made.body_size,
            truncated=capture.truncated[:12] if main.kind != "revisit" else "",
            refers_to=original.record_id if original is not None else None,
            urlkey=urlkey or index_key(capture.url),
        )
        self.stored += made.size
        self.rows.append(row)
        self.payloads.note(row)
        return row

    def is_news(self, row: NewCapture) -> bool:
        """Whether the capture of the same address before it, committed or about to be, had another payload."""
        for other in reversed(self.rows):
            if other is not row and other.urlkey == row.urlkey and other.url == row.url:
                return other.digest != row.digest
        last = queries.latest(row.url, row.urlkey)
        return last is None or last.digest != row.digest

    def sync(self) -> None:
        """Make the records durable, before the rows that point at them are committed."""
        self.warcs.sync()

    def write(self) -> list[NewCapture]:
        """The rows, inside the transaction of the batch; gives them."""
        rows, self.rows = self.rows, []
        services.insert_captures(rows, self.warcs.sizes())
        return rows

    def close(self, all_files: bool = False) -> list[ClosedFile]:
        """After the transaction: give full files (or all) their final names."""
        self.payloads.clear()
        files = self.warcs.close() if all_files else self.warcs.close_rotated()
        services.mark_closed(files)
        return files

"""A small archive, made the way the engine makes it."""

from pathlib import Path

from hemeroteca import warc
from hemeroteca.archive import queries, services
from hemeroteca.archive.capture_rows import NewCapture
from hemeroteca.warc.keys import index_key
from hemeroteca.warc.timestamps import start_ms
from hemeroteca.warc.writer import WarcWriter
from tests.warc.making import exchange as exchange_of
from tests.warc.making import revisit

REQUEST = b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"


class Archive:
    def __init__(self, folder: Path, **options) -> None:
        self.folder = folder
        self.writer = WarcWriter(folder, **options)
        self.last: dict[str, str] = {}
        self.captures: list[NewCapture] = []

    def add(
        self,
        url: str,
        stamp: str,
        body: bytes | None,
        mime: str = "text/html",
        status: int = 200,
        headers: bytes = b"",
    ) -> NewCapture:
        """A capture; a body of None means the server answered that nothing was modified."""
        ms = start_ms(stamp)
        wanted = self.last[url] if body is None else warc.payload_digest(body)
        original = queries.originals([wanted]).get(wanted) if body != b"" else None
        if body is None:
            head = b"HTTP/1.1 304 Not Modified\r\n\r\n"
        else:
            head = b"HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n" % (
                status,
                mime.encode(),
                len(body),
                headers,
            )
        exchange = (url, ms, "93.184.216.34", "http/1.1", REQUEST, head)
        if original:
            records = revisit(*exchange, original, len(body or b""), not_modified=body is None)
        else:
            records = exchange_of(*exchange, body)
        name, offset = self.writer.append(records.data)
        capture = NewCapture(
            record_id=records.main.record_id,
            url=url,
            urlkey=index_key(url),
            captured_ms=ms,
            status=304 if body is None else status,
            mime=mime if body is not None else "",
            digest=records.digest,
            kind=records.main.kind,
            version=self.last.get(url) != records.digest,
            warc_name=name,
            offset=offset,
            length=records.main.length,
            body_size=records.body_size,
            refers_to=original.record_id if original else None,
        )
        self.last[url] = records.digest
        self.captures.append(capture)
        self.writer.sync()
        services.insert_captures([capture], self.writer.sizes())
        services.mark_closed(self.writer.close_rotated())
        return capture

    def close(self) -> "Archive":
        services.mark_closed(self.writer.close())
        return self


def small_archive(folder: Path, **options) -> Archive:
    """Two pages with three versions between them, an unchanged visit, a 304, a mirror of one page, a redirect."""
    archive = Archive(folder, **options)
    archive.add("http://example.org/", "20240101", b"<p>first" + b" words" * 100)
    archive.add("http://example.org/", "20240102", b"<p>first" + b" words" * 100)
    archive.add("http://example.org/", "20240103", None)
    archive.add("http://example.org/", "20240104", b"<p>second" + b" words" * 100)
    archive.add("http://example.org/about", "20240101", b"<p>about us")
    archive.add("http://mirror.example/", "20240105", b"<p>second" + b" words" * 100)
    archive.add("http://example.org/gone", "20240105", b"", status=301)
    return archive.close()

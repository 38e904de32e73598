"""`Capture`: one exchange as it was. Built from a fetch or read from the records of a WARC file; written as records."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import msgspec

from hemeroteca.fetch import heads
from hemeroteca.warc import keys
from hemeroteca.warc.keys import DOM, SCREENSHOT

if TYPE_CHECKING:
    from hemeroteca.fetch import Result

MAX_CONTENT = 16 << 20  # of a decoded body, that anybody reads; the archive keeps all of it
DOM_TYPE = "text/html; charset=utf-8"


class Original(msgspec.Struct, frozen=True, array_like=True):
    """The capture whose payload another one repeats."""

    record_id: UUID | None
    url: str
    captured_ms: int
    digest: str


class Capture(msgspec.Struct, kw_only=True, array_like=True):
    """Request, response, time, address, and what a browser made of it."""

    url: str
    captured_ms: int  # when the request was sent
    status: int = 0
    request_head: bytes = b""
    sent: bytes = b""  # content of the request
    response_head: bytes = b""  # empty: it is no HTTP exchange but a resource
    body: bytes = b""  # as it came, without transfer encoding, with content encoding …
    path: str = ""  # … or the file it lies in, when it is too long for memory
    ip: str = ""
    protocol: str = ""
    truncated: str = ""  # why the body is not whole: length, time, disconnect, unspecified
    content_type: str = ""  # of a resource
    record_id: UUID | None = None  # its permanent name, once it has one
    original: Original | None = None  # it repeats the payload of this one, and has no body of its own …
    not_modified: bool = False  # … because the server said so (304)
    attached: list["Capture"] = []  # what a browser made of it: resources `urn:dom:…` and `urn:screenshot:…`
    device: str = ""  # pseudonym of the volunteer's device that fetched it; empty: we did ourselves
    record_type: str = ""  # when it is no HTTP exchange: of its record, else resource
    relations: tuple[str, ...] = ()  # of a record about another: the fields that name it, as written
    final_url: str = ""  # of such a DOM: the address the browser showed, when it is not that of the page

    @classmethod
    def fetched(cls, url: str, result: "Result") -> "Capture":
        """What a fetcher brought for an address."""
        body = result.body
        return cls(
            url=url,
            captured_ms=result.started_ms,
            status=result.status,
            request_head=result.request_head,
            sent=result.request.content,
            response_head=result.response_head,
            body=b"" if body.path else body.bytes(),
            path=body.path or "",
            ip=result.ip,
            protocol=result.protocol,
            truncated=result.truncated,
        )

    def attach(self, dom: bytes, screenshot: bytes, final_url: str = "") -> None:
        """What a browser made of it."""
        for prefix, kind, data in ((DOM, "text/html", dom), (SCREENSHOT, "image/png", screenshot)):
            if data:
                beside = Capture(url=prefix + self.url, captured_ms=self.captured_ms, body=data, content_type=kind)
                if prefix == DOM and final_url != self.url:
                    beside.final_url = final_url
                self.attached = [*self.attached, beside]

    @property
    def kind(self) -> str:
        """Of its record: response, revisit, resource, metadata, conversion."""
        if self.original is not None:
            return "revisit"
        return "response" if self.response_head else self.record_type or "resource"

    @property
    def dom(self) -> bytes:
        """HTML a browser made of the body; empty when none opened it."""
        return self._beside(DOM).body if self.attached else b""

    @property
    def screenshot(self) -> bytes:
        """PNG."""
        return self._beside(SCREENSHOT).body if self.attached else b""

    @property
    def dom_url(self) -> str:
        """The address the links of the DOM are relative to."""
        return (self._beside(DOM).final_url if self.attached else "") or self.url

    def _beside(self, prefix: str) -> "Capture":
        return next((one for one in self.attached if one.url.startswith(prefix)), _NOTHING)

    def header(self, name: str) -> str:
        """The first value of a header of the response; empty when it has none."""
        return heads.header(self.response_head, name)

    def address(self, name: str) -> str:
        """The same, of a header that holds an address."""
        return heads.address(self.response_head, name)

    def addresses(self, name: str) -> list[str]:
        """The same, of all headers of that name."""
        return heads.addresses(self.response_head, name)

    def header_all(self, name: str) -> list[str]:
        return heads.header_all(self.response_head, name)

    @property
    def media_type(self) -> str:
        """The content type as it was sent."""
        return self.header("content-type") if self.response_head else self.content_type

    @property
    def filed(self) -> str:
        """The address it is filed under: by method and what was sent, too, unless it answers a plain GET."""
        if not self.request_head or self.request_head.startswith(b"GET "):
            return self.url
        method = keys.method(self.request_head)
        return keys.address(self.url, method, heads.header(self.request_head, "content-type"), self.sent)

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return Path(self.path).stat().st_size if self.path else len(self.body)

    def chunks(self) -> Iterator[bytes]:
        """The body in pieces; never all of a long one in memory."""
        if not self.path:
            yield self.body
            return
        with open(self.path, "rb") as file:
            while chunk := file.read(1 << 18):
                yield chunk

    def digest(self) -> str:
        """Of the body as it came."""
        if not self.path:
            return "sha256:" + hashlib.sha256(self.body).hexdigest()
        with open(self.path, "rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"

    def content(self, limit: int = MAX_CONTENT) -> tuple[bytes, str]:
        """The body without its content encoding, and a note when it is not whole."""
        return decoded(self.raw(limit), self.response_head, limit)

    def raw(self, limit: int = MAX_CONTENT) -> bytes:
        """The beginning of the body as it came."""
        if not self.path:
            return self.body if len(self.body) <= limit else self.body[:limit]
        with open(self.path, "rb") as file:
            return file.read(limit)

    def discard(self) -> None:
        """Remove the file of a long body."""
        if self.path:
            Path(self.path).unlink(missing_ok=True)


def decoded(body: bytes, head: bytes, limit: int = MAX_CONTENT) -> tuple[bytes, str]:
    """A body without the content encoding its head names, and a note when it is not whole."""
    encoding = heads.header(head, "content-encoding")
    if not encoding:
        return body, ""
    from hemeroteca.extract import decode_body  # only here: WARC files are read and written without the readers

    return decode_body(body, encoding, limit)


_NOTHING = Capture(url="", captured_ms=0)

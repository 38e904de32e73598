"""Answers as a compressed WARC/1.1 file: a response and its request for each, and one report at the end."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from typing import IO, Any

IN_MEMORY = 2 << 20  # of the file under way; the rest lies on disk


@dataclass
class FetchedUrl:
    """What came of one request."""

    url: str
    status: int = 0
    request_head: bytes = b""
    response_head: bytes = b""
    body: bytes = b""
    ip: str = ""
    protocol: str = "http/1.1"
    failure: str = ""
    detail: str = ""
    truncated: str = ""
    seconds: float = 0.0
    certificate: str = ""  # SHA-256 of the site's, where it was asked for
    started: float = field(default_factory=time.time)

    def header(self, name: str) -> str:
        for line in self.response_head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.strip().lower() == name.lower().encode():
                return value.strip().decode("latin-1")
        return ""


class ResultFile:
    """The file of one block; answers are added as they come. One thread at a time."""

    def __init__(self, software: str) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - closed by `close`
        self._reports: list[dict[str, Any]] = []
        self.size = 0
        self._add("warcinfo", "", "application/warc-fields", f"software: {software}\r\n".encode(), time.time())

    def add(self, answer: FetchedUrl) -> None:
        report = {"url": answer.url, "seconds": round(answer.seconds, 3)}
        for name in ("failure", "detail", "truncated", "certificate"):
            if getattr(answer, name):
                report[name] = str(getattr(answer, name))[:300]
        self._reports.append(report)
        if not answer.status:
            return
        head = _stored(answer.response_head, len(answer.body))
        digest = hashlib.sha256(answer.body).digest()
        about = {"WARC-IP-Address": answer.ip, "WARC-Protocol": answer.protocol}
        payload = {"WARC-Payload-Digest": "sha256:" + digest.hex()}
        if answer.truncated:
            payload["WARC-Truncated"] = answer.truncated
        made = self._add(
            "response", answer.url, "application/http; msgtype=response", head + answer.body, answer.started,
            {**about, **payload},
        )  # fmt: skip
        concurrent = {**about, "WARC-Concurrent-To": made}
        self._add(
            "request", answer.url, "application/http; msgtype=request", answer.request_head, answer.started, concurrent
        )

    def finish(self) -> IO[bytes]:
        """The whole file, with its report; nothing is added after it."""
        self._add("metadata", "urn:fleet:report", "application/json", json.dumps(self._reports).encode(), time.time())
        return self._file

    def close(self) -> None:
        self._file.close()

    def _add(
        self, kind: str, url: str, content_type: str, block: bytes, at: float, more: dict[str, str] | None = None
    ) -> str:
        name = f"<urn:uuid:{uuid.uuid4()}>"
        date = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at * 1000) % 1000:03d}Z"
        fields = {"WARC-Type": kind, "WARC-Record-ID": name, "WARC-Date": date}
        if url:
            fields["WARC-Target-URI"] = url
        fields.update(more or {})
        fields["WARC-Block-Digest"] = "sha1:" + base64.b32encode(hashlib.sha1(block).digest()).decode()  # noqa: S324
        fields["Content-Type"] = content_type
        fields["Content-Length"] = str(len(block))
        top = "WARC/1.1\r\n" + "".join(f"{key}: {value}\r\n" for key, value in fields.items() if value) + "\r\n"
        packed = gzip.compress(top.encode("utf-8", "replace") + block + b"\r\n\r\n", 1)
        self._file.write(packed)
        self.size += len(packed)
        return name


def _stored(head: bytes, size: int) -> bytes:
    """The head as every reader agrees with the body: it is stored without its transfer encoding."""
    lines = head.rstrip(b"\r\n").split(b"\r\n")
    kept = [lines[0]]
    for line in lines[1:]:
        name, _, value = line.partition(b":")
        lower = name.strip().lower()
        if lower == b"transfer-encoding" or (lower == b"content-length" and value.strip() != str(size).encode()):
            line = b"X-Archive-Orig-" + line
        kept.append(line)
    return b"\r\n".join(kept) + b"\r\n\r\n"

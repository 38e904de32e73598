"""What a device says to the coordinator: small JSON requests, and uploads in pieces that survive a cut."""

from __future__ import annotations

import hashlib
import http.client
import json
import random
import socket
import ssl
import threading
from collections.abc import Callable
from typing import IO, Any
from urllib.parse import urlsplit

SECONDS = 30.0
MAX_ANSWER = 64 << 20


class LinkError(Exception):
    """No answer: the network, or the server, is away. Try again later."""


class RefusedByCoordinator(Exception):  # noqa: N818 - what happened
    """An answer that says no. `code` says why, `seconds` when to come back."""

    def __init__(self, status: int, code: str, message: str, seconds: float) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.seconds = seconds


class CoordinatorLink:
    def __init__(self, server: str, token: str, insecure: bool = False) -> None:
        parts = urlsplit(server)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"the server {server!r} is not an address; write it like https://example.org")
        self._host, self._port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
        self._base = parts.path.rstrip("/")
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        if self._tls is not None and insecure:
            self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE
        self.token = token
        self._local = threading.local()  # a connection for each thread, kept open

    def post(self, path: str, value: Any = None, headers: dict[str, str] | None = None, body: bytes = b"") -> Any:
        """The answer as JSON. Raises LinkError or Refused."""
        content = json.dumps(value).encode() if value is not None else body
        sent = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}", **(headers or {})}
        for fresh in (False, True):  # a kept connection may have been closed meanwhile
            connection = self._connection(fresh)
            try:
                connection.request("POST", f"{self._base}/fleet/v1/{path}", body=content, headers=sent)
                response = connection.getresponse()
                data = response.read(MAX_ANSWER)
                break
            except (OSError, http.client.HTTPException) as error:
                self._drop()
                if fresh or isinstance(error, socket.timeout):
                    raise LinkError(f"{self._host} does not answer ({error or type(error).__name__})")
        try:
            found = json.loads(data)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            away = response.status in (502, 503, 504)
            told = (
                "is away" if away else "is no coordinator: look at --server, and whether this network wants a sign-in"
            )
            raise LinkError(f"{self._host} {told} (status {response.status})")
        if response.status < 300:
            return found
        wait = response.getheader("Retry-After", "")
        seconds = float(found.get("seconds") or (wait if wait.isdigit() else 0) or random.uniform(5, 30))  # noqa: S311 - spreads devices
        raise RefusedByCoordinator(
            response.status, str(found.get("code", "")), str(found.get("error", response.reason)), seconds
        )

    def upload(
        self,
        block: int,
        nonce: str,
        file: IO[bytes],
        part_bytes: int,
        live: Callable[[], bool],
        wait: Callable[[float], bool],
    ) -> None:
        """Send the results of a block; after a cut it goes on where the server has it. `live`: whether it still counts.
        `wait`: pause; True when it must end."""
        whole = hashlib.sha256()
        file.seek(0)
        while chunk := file.read(1 << 20):
            whole.update(chunk)
        size, at, pause = file.tell(), 0, 0.5  # -1: after a cut, ask how much is there
        while live():
            try:
                if at < 0:
                    at = self._send(block, nonce, 0, b"", "")
                file.seek(at)
                data = file.read(part_bytes)
                last = at + len(data) >= size
                at = self._send(block, nonce, at, data, whole.hexdigest() if last else "")
                if last and at >= size:
                    return
            except LinkError:
                at, pause = -1, min(pause * 2, 15.0)
                if wait(pause * random.uniform(0.5, 1.5)):  # noqa: S311 - spreads devices
                    pause = 0.5
            except RefusedByCoordinator as error:
                if error.code == "lease-ended" and "returned already" in str(error):
                    return  # the answer to the last piece was lost, not the piece
                if error.code != "wrong-hash":
                    raise
                at = -1

    def _send(self, block: int, nonce: str, at: int, data: bytes, sha256: str) -> int:
        headers = {"Content-Type": "application/warc", "X-Nonce": nonce, "Upload-Offset": str(at)}
        if sha256:
            headers["Upload-SHA256"] = sha256
        return int(self.post(f"blocks/{block}/results", headers=headers, body=data)["received"])

    def _connection(self, fresh: bool) -> http.client.HTTPConnection:
        if fresh or getattr(self._local, "connection", None) is None:
            self._drop()
            if self._tls is not None:
                made: http.client.HTTPConnection = http.client.HTTPSConnection(
                    self._host, self._port, timeout=SECONDS, context=self._tls
                )
            else:
                made = http.client.HTTPConnection(self._host, self._port, timeout=SECONDS)
            self._local.connection = made
        return self._local.connection

    def _drop(self) -> None:
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
        self._local.connection = None

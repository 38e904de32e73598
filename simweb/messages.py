"""Requests and answers, as the server and the sites exchange them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(slots=True)
class Request:
    method: str
    target: str
    host: str
    version: str
    headers: dict[str, str]
    body: bytes = b""


@dataclass(slots=True)
class Response:
    """An answer with a known body. `extra` are header lines, each ended by CRLF."""

    status: int
    media_type: str = ""
    body: bytes = b""
    extra: str = ""
    chunked: bool = False


@dataclass(slots=True)
class Stream:
    """Raw bytes of a connection, head included: bytes are sent, numbers are seconds to wait.

    At the end the connection is closed, or reset, or (with `hang`) left alone until the client gives up.
    """

    parts: Iterator[bytes | float]
    status: int = 200
    end: str = "close"


class OpenConnection(Protocol):
    """What the server needs of a connection that is open."""

    def close_if_idle(self, oldest: float) -> None: ...

    def abort(self) -> None: ...

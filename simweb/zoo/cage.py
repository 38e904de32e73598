"""What all monsters are made of: their description, their address, and shorthands for the bytes they send."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from simweb.messages import Request, Response, Stream
from simweb.model import DOMAIN

ZOO_HOST = f"zoo.{DOMAIN}"
MIB = 1 << 20

Answer = Callable[[Request], Response | Stream]


@dataclass(frozen=True)
class Monster:
    """One monster. `codes` are the short reasons a good crawler may record; () when nothing special is recorded."""

    name: str
    host: str
    path: str
    what: str
    outcome: str
    codes: tuple[str, ...]
    answer: Answer
    whole_host: bool = False
    scheme: str = "http"
    needs_tls: bool = False

    @property
    def url(self) -> str:
        """The address the index links to."""
        return f"{self.scheme}://{self.host}{self.path}"


class Zoo(Protocol):
    """What the index asks of the running web."""

    tls_port: int | None


_PATHS: dict[str, Monster] = {}
_HOSTS: dict[str, Monster] = {}
ALL: list[Monster] = []


def monster(
    name: str,
    what: str,
    outcome: str,
    *codes: str,
    host: str = "zoo",
    path: str = "",
    whole_host: bool = False,
    scheme: str = "http",
    needs_tls: bool = False,
) -> Callable[[Answer], Answer]:
    """Register the function below as a monster: at `/name` of the zoo, or everywhere on a host of its own."""

    def register(function: Answer) -> Answer:
        full = f"{host}.{DOMAIN}"
        beast = Monster(name, full, path or f"/{name}", what, outcome, codes, function, whole_host, scheme, needs_tls)
        ALL.append(beast)
        if host != "zoo":
            _HOSTS[full] = beast
        if not whole_host:
            _PATHS[_cage(beast.path)] = beast
        return function

    return register


def by_address(host: str, target: str) -> Monster | None:
    """The monster that lives there. Those with one path answer on their own host and on the zoo's."""
    own = _HOSTS.get(host)
    if own and own.whole_host:
        return own
    beast = _PATHS.get(_cage(target))
    return beast if beast and host in (ZOO_HOST, beast.host) else None


def is_zoo(host: str) -> bool:
    return host == ZOO_HOST or host in _HOSTS


def _cage(target: str) -> str:
    """The first part of a path, which names the monster: `/chain/12?x` → `chain`."""
    return target.split("?", 1)[0].split("/", 2)[1]


def html(title: str, body: str, media_type: str = "text/html; charset=utf-8", status: int = 200) -> Response:
    page = f"<!DOCTYPE html>\n<html lang=en><head><title>{title}</title></head>\n<body>\n<h1>{title}</h1>\n{body}\n"
    return Response(status, media_type, f"{page}</body></html>\n".encode())


def redirect(location: str, status: int = 302) -> Response:
    return Response(status, "text/plain", b"elsewhere\n", f"Location: {location}\r\n")


def head(*lines: str, media_type: str = "text/html; charset=utf-8", status: str = "200 OK") -> bytes:
    """A response head for streams; the connection is closed after the body."""
    everything = (f"HTTP/1.1 {status}", f"Content-Type: {media_type}", "Connection: close", *lines, "", "")
    return "\r\n".join(everything).encode()


def repeat(block: bytes, times: int) -> Iterator[bytes]:
    for _ in range(times):
        yield block

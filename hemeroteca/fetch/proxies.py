"""Proxies: which addresses of them are understood, and how they are reached."""

from typing import NamedTuple
from urllib.parse import urlsplit

from hemeroteca.fetch.origins import is_address

_PORTS = {"http": 80, "https": 443, "socks5h": 1080}


class Proxy(NamedTuple):
    """A proxy, taken apart. `url` goes to libcurl and may hold a password: never show it."""

    url: str
    host: str
    port: int
    literal: bool  # the host is an address, not a name


def read(url: str) -> Proxy:
    """The parts of a proxy's address; ValueError, with a reason for people, when it cannot be used."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"the proxy's address cannot be read ({error}); write e.g. socks5h://127.0.0.1:9050")
    if parts.scheme not in _PORTS:
        raise ValueError("a proxy's address begins with http://, https:// or socks5h:// (names resolved by the proxy)")
    if not host or not host.isascii():
        raise ValueError("the proxy's address has no host; write e.g. socks5h://127.0.0.1:9050")
    port = port or _PORTS[parts.scheme]
    login, at, _ = parts.netloc.rpartition("@")
    shown = f"[{host}]" if ":" in host else host
    return Proxy(f"{parts.scheme}://{login}{at}{shown}:{port}", host, port, is_address(host))

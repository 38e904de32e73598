"""Where a URL points to: scheme, host, port and the request target, with what is known about reaching that origin."""

import re
from fnmatch import fnmatchcase
from ipaddress import ip_address

import ada_url

from hemeroteca.fetch import failures
from hemeroteca.fetch.failures import Failure
from hemeroteca.fetch.guard import Guard
from hemeroteca.fetch.resolver import Resolution

_PORTS = {"http": 80, "https": 443}
_TARGET = re.compile(r"/[!-\"$-~]*").fullmatch  # printable ASCII without space and fragment: safe in a request line
_ENTRIES = 20_000

# Names that never mean a public host (RFC 6761, 6762, 8375, 9476 and the habits of home routers).
_LOCAL_NAMES = (".localhost", ".local", ".internal", ".home.arpa", ".localdomain", ".lan", ".intranet", ".corp")


class Origin:
    """A scheme, host and port, and how connections to it are made."""

    __slots__ = (
        "answer", "connect_to", "fixed", "host", "literal", "pinned", "pinned_until", "port", "refusal", "root",
    )  # fmt: skip

    def __init__(self, scheme: str, host: str, port: int, authority: str) -> None:
        self.host = host  # in ASCII, without brackets
        self.port = port
        self.root = f"{scheme}://{authority}"
        self.literal = is_address(host)
        self.fixed: tuple[str, ...] = (host,) if self.literal else ()  # addresses known without asking DNS
        self.connect_to: list[str] = []  # for libcurl, when address and port come from a setting
        self.refusal: Failure | None = None  # unless private addresses are allowed
        self.answer: Resolution | None = None
        self.pinned: tuple[str, ...] = ()  # addresses libcurl was told
        self.pinned_until = 0.0


class Origins:
    """Splits URLs into origin and request target; remembers origins, because most URLs share one."""

    def __init__(self, overrides: tuple[str, ...], guard: Guard) -> None:
        self._overrides = [_read_override(text) for text in overrides]
        self._guard = guard
        self._known: dict[str, Origin] = {}

    def split(self, url: str) -> tuple[Origin, str]:
        """The origin and the request target (path and query) of a URL; ValueError with a reason for people."""
        end = url.find("/", 8)
        if end > 0:
            origin = self._known.get(url[:end])
            if origin is not None:
                target = url[end:]
                if _TARGET(target):
                    return origin, target
        return self._parse(url)

    def _parse(self, url: str) -> tuple[Origin, str]:
        try:
            parsed = ada_url.URL(url)
        except ValueError:
            raise ValueError(f"{url[:200]!r} is not a URL")
        scheme = parsed.protocol[:-1]
        if scheme not in _PORTS:
            raise ValueError(f"only http and https are fetched, not {scheme}:")
        if parsed.username or parsed.password:
            raise ValueError("the URL carries a user name or password; give them as the site's login instead")
        key = f"{scheme}://{parsed.host}"
        origin = self._known.get(key)
        if origin is None:
            origin = self._new(scheme, parsed.hostname, int(parsed.port or _PORTS[scheme]), parsed.host)
            if len(self._known) >= _ENTRIES:
                self._known.clear()
            self._known[key] = origin
        return origin, parsed.pathname + parsed.search

    def _new(self, scheme: str, hostname: str, port: int, authority: str) -> Origin:
        origin = Origin(scheme, hostname.strip("[]"), port, authority)
        reason = self._guard.check_port(port)
        for pattern, ip, to_port in self._overrides:
            if fnmatchcase(origin.host, pattern):
                origin.fixed = (ip,)
                origin.connect_to = [f"::{_bracketed(ip)}:{to_port or port}"]
                reason = reason or self._guard.check_port(to_port or port)
                break
        if reason:
            origin.refusal = Failure(failures.REFUSED_PORT, reason)
        elif origin.fixed:
            refused = self._guard.check(origin.fixed[0])
            if refused:
                origin.refusal = refused_address(origin.host, [(origin.fixed[0], refused)])
        elif origin.host.rstrip(".") == "localhost" or origin.host.rstrip(".").endswith(".localhost"):
            origin.refusal = refused_address(origin.host, [("", "name of this machine")])
        return origin


def refused_address(host: str, refused: list[tuple[str, str]]) -> Failure:
    """The failure that names a host and what is wrong with each of its addresses."""
    parts = ", ".join(f"{reason} {ip}".strip() for ip, reason in refused[:4])
    return Failure(
        failures.REFUSED_ADDRESS,
        f"{host} is not on the public internet ({parts}); allow_networks opens single networks, allow_private all",
    )


def local_name(host: str) -> bool:
    """Whether a proxy would look for this name in its own network: asked when we cannot see the address."""
    name = host.rstrip(".")
    return "." not in name or name.endswith(_LOCAL_NAMES)


def pins(host: str, port: int, addresses: tuple[str, ...]) -> list[str]:
    """For CURLOPT_RESOLVE: libcurl uses these addresses and asks nobody. `+`: the entry may leave its cache again."""
    return [f"+{host}:{port}:{','.join(map(_bracketed, addresses))}"]


def _read_override(text: str) -> tuple[str, str, int]:
    pattern, _, place = text.partition("=")
    address, port = place.strip(), ""
    if address.startswith("["):
        address, _, port = address[1:].partition("]")
        port = port.removeprefix(":")
    elif address.count(":") == 1:
        address, _, port = address.partition(":")
    if not pattern.strip() or not is_address(address) or (port and not (port.isascii() and port.isdigit())):
        raise ValueError(
            f"setting `resolve` has {text!r}; write `pattern=ip` or `pattern=ip:port`, e.g. *.sim.test=127.0.0.1:8900"
        )
    return pattern.strip().lower(), str(ip_address(address)), int(port or 0)


def is_address(host: str) -> bool:
    if not (host[:1].isdigit() or ":" in host):
        return False
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _bracketed(ip: str) -> str:
    return f"[{ip}]" if ":" in ip else ip

"""Which addresses and ports a fetcher may connect to: public ones only, unless the operator opened it.

`Guard.check` is asked twice for every connection: about the addresses a name resolved to, before connecting, and about
the address libcurl really opens a socket to. It must never resolve a name itself.
"""

from __future__ import annotations  # a volunteer's worker carries this file too, on Python 3.9

from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

_CACHE_ENTRIES = 10_000


class Guard:
    """Says why an address or a port is refused; None when it may be used."""

    __slots__ = ("_known", "_networks", "allow_private")

    def __init__(self, allow_private: bool = False, networks: Iterable[str] = ()) -> None:
        """`networks`: exactly these are open as well. ValueError names one that is none."""
        self.allow_private = allow_private
        self._networks = [ip_network(network.strip()) for network in networks]
        self._known: dict[str, str | None] = {}

    def check(self, ip: str) -> str | None:
        """The reason why `ip` is refused, in words, or None when it is a public address."""
        try:
            return self._known[ip]
        except KeyError:
            pass
        reason = _reason(ip)
        if reason is not None and reason != _NOT_AN_ADDRESS and (self.allow_private or self._is_opened(ip)):
            reason = None
        if len(self._known) >= _CACHE_ENTRIES:
            self._known.clear()
        self._known[ip] = reason
        return reason

    def _is_opened(self, ip: str) -> bool:
        address = ip_address(ip)
        return any(address in network for network in self._networks)

    def check_port(self, port: int) -> str | None:
        """The reason why `port` is refused: it belongs to a service that could be harmed by an HTTP request."""
        if self.allow_private or port not in BLOCKED_PORTS:
            return None
        return f"port {port} belongs to another service than the web (browsers refuse it too)"


# The "bad ports" of the Fetch standard: services that might obey a line of an HTTP request (mail, IRC, printers …).
# fmt: off
BLOCKED_PORTS = frozenset([
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530,
    531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190,
    5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
])
# fmt: on

_NOT_AN_ADDRESS = "not an IP address"

# IANA special-purpose registries (2024) and the addresses at which clouds hand out credentials.
# The more particular network stands first, because the first match gives the reason.
_REFUSED_V4 = [
    (IPv4Network(network), reason)
    for network, reason in [
        ("169.254.169.254/32", "cloud metadata address"),
        ("100.100.100.200/32", "cloud metadata address"),
        ("168.63.129.16/32", "cloud metadata address"),
        ("255.255.255.255/32", "broadcast address"),
        ("0.0.0.0/8", "address of this network"),
        ("10.0.0.0/8", "private address"),
        ("100.64.0.0/10", "carrier-grade NAT address"),
        ("127.0.0.0/8", "loopback address"),
        ("169.254.0.0/16", "link-local address"),
        ("172.16.0.0/12", "private address"),
        ("192.0.0.0/24", "reserved address"),
        ("192.0.2.0/24", "documentation address"),
        ("192.88.99.0/24", "6to4 relay address"),
        ("192.168.0.0/16", "private address"),
        ("198.18.0.0/15", "benchmarking address"),
        ("198.51.100.0/24", "documentation address"),
        ("203.0.113.0/24", "documentation address"),
        ("224.0.0.0/4", "multicast address"),
        ("240.0.0.0/4", "reserved address"),
    ]
]
_REFUSED_V6 = [
    (IPv6Network(network), reason)
    for network, reason in [
        ("::/128", "unspecified address"),
        ("::1/128", "loopback address"),
        ("::ffff:0:0/96", "IPv4-mapped address"),
        ("::/96", "IPv4-compatible address"),
        ("64:ff9b::/96", "NAT64 address"),
        ("64:ff9b:1::/48", "NAT64 address"),
        ("100::/64", "discard address"),
        ("fd00:ec2::254/128", "cloud metadata address"),
        ("fd20:ce::254/128", "cloud metadata address"),
        ("fc00::/7", "private address"),
        ("fe80::/10", "link-local address"),
        ("fec0::/10", "site-local address"),
        ("ff00::/8", "multicast address"),
        ("2001::/32", "Teredo address"),
        ("2001:2::/48", "benchmarking address"),
        ("2001:db8::/32", "documentation address"),
        ("2001::/23", "reserved address"),
        ("2002::/16", "6to4 address"),
        ("3fff::/20", "documentation address"),
    ]
]
_GLOBAL_V6 = IPv6Network("2000::/3")  # the only part of IPv6 that has been given out for global unicast


def _reason(ip: str) -> str | None:
    try:
        if ":" in ip:
            v6 = IPv6Address(ip)
            refused = next((reason for network, reason in _REFUSED_V6 if v6 in network), None)
            return refused or (None if v6 in _GLOBAL_V6 else "reserved address")
        v4 = IPv4Address(ip)
        return next((reason for network, reason in _REFUSED_V4 if v4 in network), None)
    except AddressValueError:
        return _NOT_AN_ADDRESS

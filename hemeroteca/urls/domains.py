"""Registrable domains by the public suffix list: the part of a host name that somebody registered."""

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList


@lru_cache(maxsize=16_384)
def registrable_domain(host: str) -> str:
    """`example.co.uk` for `www.example.co.uk`; the host itself for addresses, single names and public suffixes."""
    name = host.strip(".").lower()
    if not name or _ADDRESS(name) or ".." in name or len(name) > 255:
        return host
    return _suffixes().privatesuffix(name) or name


_ADDRESS = re.compile(r"\[.*|[0-9.]+").fullmatch


@cache
def _suffixes() -> "PublicSuffixList":
    from publicsuffixlist import PublicSuffixList  # many names need no list

    # Private suffixes count: alice.github.io and bob.github.io are two people's sites.
    return PublicSuffixList()

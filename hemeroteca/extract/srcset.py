"""The `srcset` attribute: several addresses with widths or densities."""

import re
from collections.abc import Iterator

_CANDIDATE = re.compile(r"[\s,]*+(\S++)([^,]*+)")
MAX_CANDIDATES = 64


def addresses(value: str) -> Iterator[str]:
    """Each address of a srcset. Addresses may contain commas, but do not end in one."""
    at = 0
    for _ in range(MAX_CANDIDATES):
        match = _CANDIDATE.match(value, at)
        if not match:
            return
        address = match[1]
        if address.endswith(","):  # no descriptor: the comma ends the candidate
            address = address.rstrip(",")
            at = match.end(1)
        else:
            at = match.end()
        if address:
            yield address

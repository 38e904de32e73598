"""Countries and continents of editors without an account, by a file that the operator has (MMDB; `wiki_countries`).

Addresses are those of historic edits: temporary accounts hide them today. Nothing is looked up over the network.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from hemeroteca.errors import Unavailable

UNKNOWN = "?"


class Country(msgspec.Struct, frozen=True):
    """Edits from one country; codes are ISO 3166 and those of the file."""

    country: str
    continent: str
    edits: int
    editors: int
    share: float


def countries(file: str, editors: Iterable[tuple[str, int]]) -> list[Country]:
    """Edits by country, most first, from (address, edits). Raises Unavailable when the file cannot be read."""
    if not file:
        raise Unavailable("which country an address is in is not known: set `wiki_countries` to a file (MMDB)")
    try:
        import maxminddb
    except ImportError:
        raise Unavailable("files of countries need maxminddb: pip install 'hemeroteca[countries]'")
    edits: dict[tuple[str, str], int] = {}
    people: dict[tuple[str, str], int] = {}
    try:
        with maxminddb.open_database(file) as database:
            for address, count in editors:
                place = _place(database, address)
                edits[place] = edits.get(place, 0) + count
                people[place] = people.get(place, 0) + 1
    except (OSError, maxminddb.InvalidDatabaseError) as error:
        raise Unavailable(f"the file of countries {file} cannot be read ({error}); set `wiki_countries` to another")
    whole = sum(edits.values())
    found = [Country(*place, count, people[place], count / whole) for place, count in edits.items()]
    return sorted(found, key=lambda row: (-row.edits, row.country))


def _place(database: Any, address: str) -> tuple[str, str]:
    try:
        found = database.get(address) or {}
    except ValueError:  # 192.0.2.xxx, as wikis wrote addresses once
        return UNKNOWN, UNKNOWN
    country = found.get("country") or found.get("registered_country") or {}
    return country.get("iso_code", UNKNOWN), (found.get("continent") or {}).get("code", UNKNOWN)

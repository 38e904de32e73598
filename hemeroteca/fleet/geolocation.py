"""Countries of addresses, from a file of the operator's, and the centres of countries. Offline; cached, so that it
costs nothing per URL.

The file (setting `address_database`) has a line `first address,last address,country` for each range, as DB-IP,
IP2Location and others publish them; IPv4 and IPv6 may be mixed. Without it every country is unknown.
"""

import csv
import ipaddress
import logging
import re
from bisect import bisect_right
from functools import lru_cache
from pathlib import Path

from django.conf import settings

# fmt: off
CENTRES = {  # latitude, longitude, rounded: distances between countries need no more
    "AD": (42, 2), "AE": (24, 54), "AF": (34, 66), "AL": (41, 20), "AM": (40, 45), "AO": (-12, 18), "AR": (-34, -64),
    "AT": (47, 13), "AU": (-25, 134), "AZ": (40, 48), "BA": (44, 18), "BD": (24, 90), "BE": (51, 4), "BF": (12, -2),
    "BG": (43, 25), "BH": (26, 51), "BO": (-17, -65), "BR": (-10, -52), "BW": (-22, 24), "BY": (54, 28),
    "CA": (60, -96), "CD": (-3, 24), "CH": (47, 8), "CI": (8, -6), "CL": (-35, -71), "CM": (6, 12), "CN": (36, 104),
    "CO": (4, -73), "CR": (10, -84), "CU": (22, -79), "CY": (35, 33), "CZ": (50, 15), "DE": (51, 10), "DK": (56, 10),
    "DO": (19, -70), "DZ": (28, 3), "EC": (-1, -78), "EE": (59, 26), "EG": (26, 30), "ES": (40, -4), "ET": (9, 40),
    "FI": (64, 26), "FR": (47, 2), "GB": (54, -2), "GE": (42, 43), "GH": (8, -1), "GR": (39, 22), "GT": (16, -90),
    "HK": (22, 114), "HN": (15, -86), "HR": (45, 16), "HT": (19, -72), "HU": (47, 20), "ID": (-3, 118), "IE": (53, -8),
    "IL": (31, 35), "IN": (22, 79), "IQ": (33, 44), "IR": (32, 53), "IS": (65, -18), "IT": (43, 12), "JM": (18, -77),
    "JO": (31, 36), "JP": (36, 138), "KE": (1, 38), "KG": (41, 75), "KH": (13, 105), "KR": (36, 128), "KW": (29, 48),
    "KZ": (48, 67), "LA": (18, 104), "LB": (34, 36), "LK": (8, 81), "LT": (55, 24), "LU": (50, 6), "LV": (57, 25),
    "LY": (27, 17), "MA": (32, -6), "MD": (47, 29), "ME": (43, 19), "MG": (-19, 47), "MK": (42, 22), "MM": (22, 96),
    "MN": (47, 104), "MT": (36, 14), "MX": (24, -102), "MY": (4, 102), "MZ": (-18, 35), "NA": (-22, 17),
    "NG": (10, 8), "NI": (13, -85), "NL": (52, 5), "NO": (65, 13), "NP": (28, 84), "NZ": (-42, 173), "OM": (21, 57),
    "PA": (9, -80), "PE": (-10, -75), "PH": (12, 123), "PK": (30, 70), "PL": (52, 19), "PR": (18, -66), "PT": (40, -8),
    "PY": (-23, -58), "QA": (25, 51), "RO": (46, 25), "RS": (44, 21), "RU": (62, 97), "RW": (-2, 30), "SA": (24, 45),
    "SD": (16, 30), "SE": (63, 16), "SG": (1, 104), "SI": (46, 15), "SK": (49, 19), "SN": (14, -14), "SV": (14, -89),
    "SY": (35, 38), "TH": (15, 101), "TN": (34, 10), "TR": (39, 35), "TW": (24, 121), "TZ": (-6, 35), "UA": (49, 31),
    "UG": (1, 32), "US": (39, -98), "UY": (-33, -56), "UZ": (41, 64), "VE": (7, -66), "VN": (16, 106), "YE": (16, 48),
    "ZA": (-29, 25), "ZM": (-13, 28), "ZW": (-19, 30),
}
# fmt: on


def centre(country: str) -> tuple[float, float] | None:
    return CENTRES.get(country)


@lru_cache(maxsize=100_000)
def country(address: str) -> str:
    """The country of an address, two letters; empty when nobody knows."""
    try:
        version, number = _place(address)
    except ValueError:
        return ""
    ranges = _ranges(settings.CONFIG.address_database)
    found = bisect_right(ranges, _packed(version, number, _MASK, b"\xff\xff")) - 1
    if found < 0 or ranges[found] >> 144 != version or ranges[found] >> 16 & _MASK < number:
        return ""
    return (ranges[found] & 0xFFFF).to_bytes(2, "big").decode()


_MASK = (1 << 64) - 1


@lru_cache(maxsize=1)
def _ranges(path: str) -> list[int]:
    """Sorted. A range is one number: a file has half a million of them, and every web process reads it."""
    if not path or not Path(path).is_file():
        if path:
            logging.getLogger(__name__).warning("address_database: there is no file %s; countries stay unknown", path)
        return []
    found = []
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        for row in csv.reader(file):
            try:
                (version, first), (other, last) = (_place(text) for text in row[:2])
                name = row[2].strip().upper()
            except (ValueError, IndexError):
                continue  # a headline, or a range of another kind
            if version == other and re.fullmatch("[A-Z]{2}", name):
                found.append(_packed(version, first, last, name.encode()))
    return sorted(found)


def _packed(version: int, first: int, last: int, name: bytes) -> int:
    return version << 144 | first << 80 | last << 16 | int.from_bytes(name, "big")


def _place(text: str) -> tuple[int, int]:
    """Version and number of an address; of IPv6 its first half, below which no country changes. IPv4 in the clothes of
    IPv6 (::ffff:192.0.2.1) is IPv4. IP2Location writes addresses as decimal numbers."""
    text = text.strip()
    ip = ipaddress.ip_address(int(text) if text.isdecimal() and len(text) < 40 else text)
    if isinstance(ip, ipaddress.IPv6Address):
        return (6, int(ip) >> 64) if ip.ipv4_mapped is None else (4, int(ip.ipv4_mapped))
    return 4, int(ip)

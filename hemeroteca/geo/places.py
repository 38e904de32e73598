"""Bounding boxes and names of coordinate systems, as documents write them and as everything else wants them."""

import math
import re
from collections.abc import Iterable
from functools import lru_cache

from hemeroteca.geo.description import BBox

_CODE = re.compile(
    r"(?:EPSG(?:[:/#]{1,2}|\.xml#)(?:[\w.]*[:/])?|epsg\.xml#|geographicCRS:|projectedCRS:)0*(\d{3,6})\b", re.I
)
_CRS84 = re.compile(r"\bCRS:?84(h?)\b", re.I)
_OTHER = re.compile(r"\b(CRS|AUTO2?|IGNF|ESRI|IAU\w*|SR-ORG)[:/]{1,2}(?:[\d.]*[:/])?(\w+)", re.I)
_GEOGRAPHIC = ("EPSG:4326", "CRS:84", "EPSG:4258", "EPSG:4269", "EPSG:4979", "CRS:83")
_NUMBER = re.compile(r"[-+]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][-+]?\d+)?")


@lru_cache(4096)
def crs_name(text: str) -> str:
    """`EPSG:25830` of any of the ways in which that is written; the text itself where nothing is known of it."""
    text = text.strip()
    if match := _CODE.search(text):
        return f"EPSG:{match[1]}"
    if match := _CRS84.search(text):
        return "CRS:84" + match[1].lower()
    if match := _OTHER.search(text):
        return f"{match[1].upper()}:{match[2]}"
    return text[:100]


def crs_names(texts: Iterable[str]) -> list[str]:
    """Each once, in order; WMS 1.0 and 1.1.0 put several into one element."""
    return list(_crs_names(tuple(texts)))


@lru_cache(64)
def _crs_names(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Remembered: layers of one service list the same systems, often hundreds."""
    return tuple(dict.fromkeys(crs_name(part) for text in texts for part in text.split()))


def is_geographic(crs: str) -> bool:
    return crs_name(crs) in _GEOGRAPHIC


@lru_cache(1024)
def latitude_first(crs: str) -> bool:
    """Whether this spelling of a geographic system means latitude before longitude."""
    return crs_name(crs) in ("EPSG:4326", "EPSG:4258", "EPSG:4269") and bool(
        re.match(r"(?i)urn:|https?://www\.opengis\.net/def/", crs.strip())
    )


def number(text: object) -> float | None:
    """A finite number, also with a comma; None for anything else."""
    if isinstance(text, str):
        try:
            value = float(text)
            return value if math.isfinite(value) and "_" not in text else None
        except ValueError:
            pass
    elif isinstance(text, (int, float)) and not isinstance(text, bool):
        return float(text) if math.isfinite(text) else None
    else:
        return None
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    value = float(match[0].replace(",", "."))
    return value if math.isfinite(value) else None


def numbers(text: str) -> list[float]:
    """The numbers of `-9.5 35.2` or `-9.5,35.2`."""
    parts = text.replace(",", " ").split()
    values = [number(part) for part in parts]
    return [value for value in values if value is not None] if None not in values else []


def box(west: object, south: object, east: object, north: object) -> BBox | None:
    """A box in degrees; None when it is none on this planet. Sides that change places are put right, except west and
    east, which may say that it crosses the date line."""
    w = number(west)
    if w is None or (s := number(south)) is None or (e := number(east)) is None or (n := number(north)) is None:
        return None
    if s > n:
        s, n = n, s
    slack = 0.5  # rounding beyond the edge of the world is usual
    if not (-360 - slack <= w <= 360 + slack and -360 - slack <= e <= 360 + slack):
        return None
    if not (-90 - slack <= s <= 90 + slack and -90 - slack <= n <= 90 + slack):
        return None
    if w > e and (w - e < 1e-9 or not (-180 <= w <= 180 and -180 <= e <= 180)):
        w, e = e, w
    if s < -90.0:
        s = -90.0
    if n > 90.0:
        n = 90.0
    return (round(w, 8) + 0.0, round(s, 8) + 0.0, round(e, 8) + 0.0, round(n, 8) + 0.0)  # + 0.0: no negative zero


def of_corners(lower: str, upper: str, latitude_before: bool = False) -> BBox | None:
    """Of `LowerCorner` and `UpperCorner`."""
    low = numbers(lower)
    high = low if upper == lower else numbers(upper)  # of a station both are the same place
    if len(low) < 2 or len(high) < 2:
        return None
    if latitude_before:
        return box(low[1], low[0], high[1], high[0])
    return box(low[0], low[1], high[0], high[1])


def union(boxes: Iterable[BBox | None]) -> BBox | None:
    """The box around all; one that crosses the date line makes it the whole width."""
    found = [one for one in boxes if one is not None]
    if not found:
        return None
    if any(one[0] > one[2] for one in found):
        return (-180.0, min(one[1] for one in found), 180.0, max(one[3] for one in found))
    return (
        min(one[0] for one in found),
        min(one[1] for one in found),
        max(one[2] for one in found),
        max(one[3] for one in found),
    )


def from_mercator(west: float, south: float, east: float, north: float) -> BBox | None:
    """A box in Web Mercator (EPSG:3857) as degrees."""
    radius = 6378137.0

    def latitude(y: float) -> float:
        return math.degrees(2 * math.atan(math.exp(max(-50.0, min(50.0, y / radius)))) - math.pi / 2)

    return box(
        max(-180.0, math.degrees(west / radius)),
        latitude(south),
        min(180.0, math.degrees(east / radius)),
        latitude(north),
    )

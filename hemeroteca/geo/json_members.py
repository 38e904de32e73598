"""Members of JSON objects that strangers wrote, each of the type that is wanted or empty."""

import re
from typing import Any
from urllib.parse import urljoin

Json = dict[str, Any]
MAX_LINKS = 1000
_REL = re.compile(r"(?:https?://www\.opengis\.net/def/rel/ogc/1\.0/|\[?ogc-rel:)?([\w-]+)\]?")


def links_of(data: Json) -> list[Json]:
    return [one for one in list_of(data, "links")[:5000] if isinstance(one, dict) and isinstance(one.get("href"), str)]


def relation_of(link: Json) -> str:
    rel = link.get("rel")
    match = _REL.fullmatch(rel) if isinstance(rel, str) else None
    return match[1] if match else str(rel or "")


def address_of(link: Json, base: str) -> str:
    href = text_of(link, "href")
    try:
        return urljoin(base, href) if base and href else href
    except ValueError:
        return ""


def is_json(link: Json) -> bool:
    kind = text_of(link, "type")
    return not kind or "json" in kind


def text_of(data: Json, name: str) -> str:
    value = data.get(name)
    return value.strip() if isinstance(value, str) else ""


def list_of(data: Json, name: str) -> list[Any]:
    value = data.get(name)
    return value if isinstance(value, list) else []


def object_of(data: Json, name: str) -> Json:
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def strings_of(data: Json, name: str) -> list[str]:
    return [one for one in list_of(data, name) if isinstance(one, str)]


def without_tags(text: str) -> str:
    """Without the HTML that ArcGIS and TileJSON put into texts."""
    return " ".join(re.sub(r"<[^<>]{0,500}>", " ", text).split())


def day_of(value: Any) -> str:
    from datetime import UTC, datetime

    if not isinstance(value, (int, float)):
        return ""
    try:
        return datetime.fromtimestamp(value / 1000, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""

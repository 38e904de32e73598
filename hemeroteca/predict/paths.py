"""Sections of a site: the path prefixes a page lives under, as 64-bit keys."""

from __future__ import annotations

from hashlib import blake2b
from urllib.parse import urlsplit

LEVELS = 6  # the site itself and the first five path segments


def sections(site: str, url: str) -> list[str]:
    """Names of the sections of a page, widest first: "site", "site/noticias", "site/noticias/2024" …

    `url` may be a whole address or only a path. The last segment is the page itself, not a section.
    """
    path = urlsplit(url).path if "://" in url[:12] else url.split("?", 1)[0]
    segments = [s for s in path.split("/")[:-1] if s][: LEVELS - 1]
    names = [site]
    for segment in segments:
        names.append(f"{names[-1]}/{segment}")
    return names


def section_keys(site: str, url: str) -> list[int]:
    return [section_key(name) for name in sections(site, url)]


def section_key(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little", signed=True)

"""What archived pages need to be shown: the pictures, styles, scripts and frames they name, and what those need."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from hemeroteca import extract, urls
from hemeroteca.archive import content, queries
from hemeroteca.archive.selection import Selection
from hemeroteca.extract import modules
from hemeroteca.extract.link_elements import in_headers
from hemeroteca.fetch import heads
from hemeroteca.warc.stored_record import WarcReadError

_STEPS = 16  # as a crawl goes along style sheets and modules; most pages are done after two
_VERSIONS = 20  # of each address, the newest
_MOST = 100_000
_READ = ("text/html", "application/xhtml+xml", "text/css", "image/svg+xml", *modules.TYPES)
_KINDS = ("requisite", "frame")


def of(folder: Path, addresses: Iterable[str]) -> list[str]:
    """Their addresses, whether the archive has them or not; without what scripts ask for."""
    pages = list(addresses)
    known = dict.fromkeys(pages)
    for _ in range(_STEPS):
        found = dict.fromkeys(target for url in pages for target in _named(folder, url))
        pages = [url for url in found if url not in known][: max(0, _MOST - len(known))]
        if not pages:
            break
        known |= dict.fromkeys(pages)
    return list(known)


def with_patterns(folder: Path, patterns: Iterable[str]) -> list[str]:
    """Patterns of the CDX server and what the pages need that they name. Those of a whole host or domain stand for
    themselves: what is theirs lies there."""
    wanted = list(patterns)
    pages: dict[str, None] = {}
    for pattern in wanted:
        if not pattern.endswith("*"):
            pages[pattern] = None
        elif not pattern.endswith("/*") and not pattern.startswith("*"):
            rows = Selection((pattern,)).rows()
            pages |= dict.fromkeys(islice((row.url for row in rows if row.mime in _READ), _MOST))
    return list(dict.fromkeys([*wanted, *(url for url in of(folder, pages) if "*" not in url)]))


def _named(folder: Path, url: str) -> list[str]:
    found: list[str] = []
    for row in queries.versions_newest(url, _VERSIONS):
        if row.status != 200 or row.mime not in _READ:
            continue
        try:
            copy = content.readable(folder, row)
        except WarcReadError:
            continue
        document = extract.read(copy.body, copy.content_type, url)
        base = urls.resolve_links(url, [document.base])[0] if document.base else None
        beside = [link for entry in in_headers(heads.addresses(copy.head, "link")) for link in entry.links]
        for place, links in ((base or url, document.links), (url, beside)):
            hrefs = [link.href for link in links if link.kind in _KINDS]
            found += [target for target in urls.resolve_links(place, hrefs) if target]
    return found

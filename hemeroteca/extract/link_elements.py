"""What `<link>` elements lead to, and the HTTP header `Link` (RFC 8288), which says the same beside any body."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from hemeroteca.extract import feeds
from hemeroteca.extract.document import Link, names

MAX_IN_HEADERS = 1000
MAX_CANDIDATES = 64

_REQUISITES = names("stylesheet icon apple-touch-icon mask-icon manifest preload modulepreload")
_CANDIDATE = re.compile(r"[\s,]*+(\S++)([^,]*+)")  # of a srcset
_ENTRY = re.compile(r"<([^<>]{1,4096})>((?:[^,\"<]|\"(?:[^\"\\]|\\.)*+\")*+)")
_PARAMETER = re.compile(r";\s*+([\w*-]++)\s*+=\s*+(?:\"((?:[^\"\\]|\\.)*+)\"|([^\s;,\"]++))")


def kind_of(relations: list[str], media: str) -> str:
    """The kind of link (`Link.kind`) such a `rel` in small letters makes, with its `type`; empty: none we follow."""
    if "canonical" in relations:
        return "canonical"
    if "alternate" in relations and "stylesheet" not in relations:
        return "feed" if media.partition(";")[0].strip().lower() in feeds.TYPES else "alternate"
    if "amphtml" in relations:
        return "alternate"
    if "sitemap" in relations:
        return "sitemap"
    if "next" in relations or "prev" in relations:
        return "page"
    return "" if _REQUISITES.isdisjoint(relations) else "requisite"


def srcset(value: str) -> Iterator[str]:
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


class HeaderLink(NamedTuple):
    """An entry of a header `Link`."""

    href: str  # relative to the address that was asked for, whatever `<base>` the body has
    relations: list[str]
    parameters: dict[str, str]  # names in small letters, of each the first

    @property
    def links(self) -> Iterator[Link]:
        """What the same `<link>` element leads to."""
        kind = kind_of(self.relations, self.parameters.get("type", ""))
        if kind:
            text = self.parameters.get("hreflang", "")[:20] if "alternate" in self.relations else ""
            yield Link(self.href, kind, text, region="nav" if kind == "page" else "main")
        if kind == "requisite":
            for address in srcset(self.parameters.get("imagesrcset", "")):
                yield Link(address, kind)


def in_headers(values: Iterable[str]) -> Iterator[HeaderLink]:
    """The entries of all headers `Link`; those about another page (`anchor`) are left out."""
    every = (found for value in values for found in _ENTRY.finditer(value))
    for found in islice(every, MAX_IN_HEADERS):
        parameters: dict[str, str] = {}
        for name, quoted, plain in _PARAMETER.findall(found[2]):
            parameters.setdefault(name.lower(), quoted or plain)
        if "anchor" not in parameters:
            yield HeaderLink(found[1].strip(), parameters.get("rel", "").lower().split(), parameters)

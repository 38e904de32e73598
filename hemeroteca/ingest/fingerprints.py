"""Fingerprints of what a page says, by which the frontier sees the pages of a trap."""

import hashlib
import re
from functools import lru_cache

from hemeroteca import extract
from hemeroteca.extract import native
from hemeroteca.ingest.search_document import LOOKED_AT, without_digits


def fingerprints(url: str, document: extract.Document, digest: str) -> tuple[int, int]:
    """Of what a page says, which is the same for all pages of a trap: of its text, the images and frames it shows and
    the texts of its links, with all numbers but those of its own address; and without any number. What is no HTML says
    what its bytes say."""
    if document.kind not in ("html", "xhtml"):
        return _hash(digest), _hash(digest)
    shown, named = (document.leads.shown, document.leads.named) if document.leads is not None else _of_links(document)
    text = f"{document.title}\n{(document.main or document.text)[:LOOKED_AT]}{named}"
    own = {form for text in _NUMBER.findall(url) for form in _forms(text)}
    return native.fingerprints(text, shown, own) or _fingerprints(text, shown, own)


def _of_links(document: extract.Document) -> tuple[str, str]:
    """What a page shows, and how it calls what it leads to; a line break before each."""
    shown, named = [""], [""]
    for link in document.links:
        if link.kind in ("requisite", "frame") and not _FURNITURE(link.href):
            shown.append(link.href)
        elif link.kind == "page" and "/" not in link.text:
            named.append(link.text)
    return "\n".join(shown), "\n".join(named)


def _fingerprints(text: str, after: str, own: set[str]) -> tuple[int, int]:
    """The same without the compiled reader. `own`: numbers that are left out; `after`: what is shown."""
    says = _without_addresses(text)
    worded = _hash(without_digits(says) + after)
    return _hash(" ".join([str(worded), *(number for number in _NUMBER.findall(says) if number not in own)])), worded


def _without_addresses(text: str) -> str:
    """The text of many a link is where it leads."""
    return _PATH("", _ADDRESS("", text)) if "/" in text else text


_ADDRESS = re.compile(r"http(?<!\Shttp)s?://\S+").sub  # the look behind comes second: the search is for fixed letters
_PATH = re.compile(r"/(?<!\S/)\S+").sub
_NUMBER = re.compile(r"[0-9]+")
_FURNITURE = re.compile(r"\.(?:css|js|mjs|ico|woff2?|ttf)\b", re.IGNORECASE).search


@lru_cache(1000)  # most numbers are those of the host, or of the page before
def _forms(number: str) -> list[str]:
    """How the number of an address may stand on its page; a year, or what is counted, with its neighbours."""
    value = int(number[:18])
    near = (value - 1, value, value + 1) if value >= 100 else (value,)
    return [number, *(form for one in near for form in (str(one), f"{one:02}"))]


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little")

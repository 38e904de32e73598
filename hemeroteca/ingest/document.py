"""What search learns of a page: its document made from what was read, and the fingerprints of its text."""

import hashlib
import re

from hemeroteca import extract
from hemeroteca.ingest.rules import Rules
from hemeroteca.ingest.search_document import LOOKED_AT, SearchDocument, simhash, without_digits
from hemeroteca.warc import Capture


def search_document(
    capture: Capture, rules: Rules, document: extract.Document, digest: str, likeness: int
) -> SearchDocument | None:
    """What search should know about a page; None when it should not find it."""
    text = document.main or document.text
    if capture.status != 200 or not (text or document.title):
        return None
    return SearchDocument(
        key=rules.key,
        url=capture.url,
        title=document.title,
        headings=document.headings,
        description=document.description,
        text=text,
        host=rules.host,
        language=document.language,
        type="html" if document.kind == "xhtml" else document.kind,
        captured_ms=capture.captured_ms,
        published_ms=document.published,
        author=document.author,
        digest=digest,
        simhash=likeness,
    )


def likeness_of(document: extract.Document) -> int:
    """A fingerprint near-equal for near-equal texts; numbers do not count. 0 when there is too little text."""
    return simhash(document.main or document.text, digits=False)


def fingerprints(url: str, document: extract.Document, digest: str) -> tuple[int, int]:
    """Of what a page says, which is the same for all pages of a trap: of its text, the images and frames it shows and
    the texts of its links, with all numbers but those of its own address; and without any number. What is no HTML says
    what its bytes say."""
    if document.kind not in ("html", "xhtml"):
        return _hash(digest), _hash(digest)
    shown = [link.href for link in document.links if link.kind in ("requisite", "frame") and not _FURNITURE(link.href)]
    named = [link.text for link in document.links if link.kind == "page" and "/" not in link.text]
    says = "\n".join((document.title, (document.main or document.text)[:LOOKED_AT], *named))
    own = {form for text in _NUMBER.findall(url) for form in _forms(text)}
    exact = _NUMBER.sub(lambda number: "" if number[0] in own else number[0], says) if own else says
    return _hash("\n".join((exact, *shown))), _hash("\n".join((without_digits(says), *shown)))


_NUMBER = re.compile(r"[0-9]+")
_FURNITURE = re.compile(r"\.(?:css|js|mjs|ico|woff2?|ttf)\b", re.IGNORECASE).search


def _forms(number: str) -> list[str]:
    """How the number of an address may stand on its page; a year, or what is counted, with its neighbours."""
    value = int(number[:18])
    near = (value - 1, value, value + 1) if value >= 100 else (value,)
    return [number, *(form for one in near for form in (str(one), f"{one:02}"))]


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little")

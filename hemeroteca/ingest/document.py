"""What search learns of a page: its document made from what was read, and the fingerprints of its text."""

import hashlib

from hemeroteca import extract
from hemeroteca.ingest.rules import Rules
from hemeroteca.ingest.search_document import SearchDocument, simhash, without_digits
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


def exact(document: extract.Document) -> int:
    """The fingerprint of a short text; 0 when there is none."""
    text = document.main or document.text
    if not text:
        return 0
    data = without_digits(f"{document.title}\n{text}").encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little", signed=True)

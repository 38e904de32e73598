"""What search learns of a page: its document, and the fingerprints of its text."""

import hashlib

from hemeroteca import extract, urls, warc
from hemeroteca.engine import version_changes
from hemeroteca.engine.edges import edges_of
from hemeroteca.engine.headers import header, header_all
from hemeroteca.engine.messages import AGENT, Edges
from hemeroteca.extract import elements
from hemeroteca.extract.office import KINDS as OFFICE
from hemeroteca.search.document import SearchDocument, simhash, without_digits

READ_BYTES = 16 << 20  # of a decoded body; the archive keeps all of it
SEARCHABLE = {"html", "xhtml", "pdf", "text", "feed", *OFFICE}


def read_document(
    key: int,
    url: str,
    status: int,
    head: bytes,
    body: bytes,
    captured_ms: int,
    digest: str,
    dom: bytes = b"",
    *,
    obey: bool = True,
    include: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
) -> tuple[SearchDocument | None, Edges | None]:
    """The search document of an archived capture and its links, as ingest would have made them.

    `dom`: what a browser made of it. `obey`: what it says to robots counts. `include`, `exclude`: rules of its site.
    """
    content_type = header(head, b"content-type")
    if dom:
        body, content_type = dom, version_changes.DOM_TYPE
        digest = warc.payload_digest(dom)
    elif encoding := header(head, b"content-encoding"):
        body, _ = extract.decode_body(body, encoding, READ_BYTES)
    content_language = "" if dom else header(head, b"content-language")
    document = extract.read(body, content_type, url, content_language=content_language)
    if include or exclude:
        elements.narrow(document, body, content_type, include, exclude)
    directives = urls.robots.directives(header_all(head, b"x-robots-tag"), AGENT)
    host = urls.host(url)
    edges = None
    if status == 200 and not (obey and (document.nofollow or directives.nofollow)):
        base = urls.resolve_links(url, [document.base])[0] if document.base else None
        resolved = urls.resolve_targets(base or url, [link.href for link in document.links])
        edges = edges_of(key, host, document.links, resolved, set())
    if obey and (document.noindex or directives.noindex):
        return None, edges
    return search_document(key, url, status, document, host, captured_ms, digest, likeness_of(document)), edges


def search_document(
    key: int,
    url: str,
    status: int,
    document: extract.Document,
    host: str,
    captured_ms: int,
    digest: str,
    likeness: int,
) -> SearchDocument | None:
    """What search should know about a page; None when it should not find it."""
    text = document.main or document.text
    if status != 200 or document.kind not in SEARCHABLE or not (text or document.title):
        return None
    return SearchDocument(
        key=key,
        url=url,
        title=document.title,
        headings=document.headings,
        description=document.description,
        text=text,
        host=host,
        language=document.language,
        type="html" if document.kind == "xhtml" else document.kind,
        captured_ms=captured_ms,
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

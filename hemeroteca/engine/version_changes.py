"""What ingest looks at besides: how a version differs from the last one and, in a standing crawl, what a feed
announces."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Union

import msgspec

from hemeroteca import extract, urls
from hemeroteca.warc import reader
from hemeroteca.watch.visits import Difference, Listing

if TYPE_CHECKING:
    from hemeroteca import change
    from hemeroteca.engine.messages import Ingested, Job
    from hemeroteca.engine.spooled_body import SpooledBody

COMPARED_BYTES = 8 << 20  # of a decoded body
DIFF_CHARS = 6000
MAX_COMPARED = 8  # sets of rules by which a page is compared; further subscriptions only have their threshold
PICTURE_BYTES = 64 << 20
DOM_TYPE = "text/html; charset=utf-8"
HEAD_BYTES = 64 << 10  # of a feed, searched for its hub
_LINK = re.compile(rb"<(?:\w+:)?link\b[^<>]{0,2000}>", re.I)
_ATTRIBUTE = re.compile(rb"""\b(rel|href)\s*=\s*["']([^"'<>]{1,2000})["']""", re.I)
_LINK_HEADER = re.compile(r"<([^<>]{1,2000})>\s*;([^,<]{0,500})")


def look(
    job: "Job",
    body: Union[bytes, "SpooledBody"],
    document: extract.Document | None,
    result: "Ingested",
) -> None:
    """Fill `difference` and `listing`."""
    raw = body if isinstance(body, bytes) else body.beginning(COMPARED_BYTES)
    if document is not None and document.kind in ("feed", "sitemap"):
        result.listing = _listing(job, document, raw)
    elif job.earlier is not None:
        result.difference = _difference(job, raw, result, diff=True)


def weigh(job: "Job", body: Union[bytes, "SpooledBody"], result: "Ingested") -> None:
    """Fill `difference` in a crawl nobody waits for: how much the page changed, without the text of it."""
    if job.earlier is not None:
        raw = body if isinstance(body, bytes) else body.beginning(COMPARED_BYTES)
        result.difference = _difference(job, raw, result, diff=False)


def _difference(job: "Job", raw: bytes, result: "Ingested", diff: bool) -> Difference | None:
    """None when the version before cannot be read: then the new bytes alone say that it changed."""
    from hemeroteca import change  # only here: a reader of ordinary crawls stays small

    assert job.earlier is not None
    folder, name, offset, length = job.earlier
    try:
        record = reader.read(Path(folder), name, offset, length, COMPARED_BYTES)
    except reader.WarcReadError:
        return None
    old = change.Snapshot(
        _decoded(record.payload(COMPARED_BYTES), record.head),
        _header(record.head, "content-type") if record.head else DOM_TYPE,  # a page as a browser showed it has no head
        job.url,
        record.status or job.status,
        _picture(job) if job.screenshot else b"",
    )
    if job.dom:
        new = change.Snapshot(job.dom[:COMPARED_BYTES], DOM_TYPE, job.url, job.status, job.screenshot)
    else:
        kind = _header(job.response_head, "content-type")
        new = change.Snapshot(_decoded(raw, job.response_head), kind, job.url, job.status)
    verdicts: list[Difference] = []
    compared: dict[tuple[tuple[str, ...], ...], tuple[change.Change, str]] = {}
    for judge in job.judges:
        given = change.ChangeRules(**msgspec.structs.asdict(judge.comparison))
        parts = given.ignore, given.keep, given.ignore_text
        if parts not in compared:
            if len(compared) == MAX_COMPARED:
                continue
            compared[parts] = change.compare(old, new, given, change.NoisePlaces(job.noise)), ""
        found, text = compared[parts]
        important = found.total > given.threshold
        if important and diff and not text:
            text = change.text_diff(old, new, given)[:DIFF_CHARS]
            compared[parts] = found, text
        verdicts.append(_verdict(found, important, text if important else "", judge.subscriptions))
    first, _ = next(iter(compared.values()))
    result.sightings = [msgspec.structs.astuple(sighting) for sighting in change.sightings(first)]
    return msgspec.structs.replace(verdicts[0], others=verdicts[1:])


def _verdict(found: "change.Change", important: bool, text: str, subscriptions: tuple[int, ...]) -> Difference:
    view, form, content = found.sums
    return Difference(
        view=view,
        form=form,
        content=content,
        total=found.total,
        important=important,
        words_added=found.words_added,
        words_removed=found.words_removed,
        diff=text,
        subscriptions=subscriptions,
    )


def _picture(job: "Job") -> bytes:
    """The screenshot of the version before, where there is one."""
    if job.earlier_picture is None:
        return b""
    folder, name, offset, length = job.earlier_picture
    try:
        return reader.read(Path(folder), name, offset, length, PICTURE_BYTES).payload()
    except reader.WarcReadError:
        return b""


def _listing(job: "Job", document: extract.Document, raw: bytes) -> Listing:
    links = [link for link in document.links if link.kind in ("page", "alternate")]
    resolved = urls.resolve_targets(document.base or job.url, [link.href for link in links])
    entries = [
        (address.key, link.modified, "") for link, address in zip(links, resolved, strict=True) if address is not None
    ]
    hub = topic = ""
    if document.kind == "feed":
        hub, topic = _hub(_decoded(raw, job.response_head)[:HEAD_BYTES], job.response_head)
        hub, topic = (urls.resolve_links(job.url, [address])[0] or "" if address else "" for address in (hub, topic))
    return Listing(document.kind, entries, hub, topic)


def _hub(start: bytes, head: bytes) -> tuple[str, str]:
    """Hub and topic of a feed (WebSub discovery): from its Link headers, else from its own links."""
    found: dict[str, str] = {}
    for name, value in reader.http_headers(head):
        if name.lower() == "link":
            for address, parameters in _LINK_HEADER.findall(value):
                for rel in ("hub", "self"):
                    if re.search(rf'\brel\s*=\s*"?[^"]*\b{rel}\b', parameters, re.I):
                        found.setdefault(rel, address)
    for link in _LINK.findall(start):
        attributes = {key.lower(): value for key, value in _ATTRIBUTE.findall(link)}
        rel = attributes.get(b"rel", b"").decode("ascii", "ignore").lower()
        if rel in ("hub", "self") and b"href" in attributes:
            found.setdefault(rel, attributes[b"href"].decode("utf-8", "replace").replace("&amp;", "&"))
    return found.get("hub", ""), found.get("self", "")


def _decoded(raw: bytes, head: bytes) -> bytes:
    encoding = _header(head, "content-encoding")
    return extract.decode_body(raw, encoding, COMPARED_BYTES)[0] if encoding else raw


def _header(head: bytes, name: str) -> str:
    return next((value for key, value in reader.http_headers(head) if key.lower() == name), "")

"""How a version differs from the one before, and what a feed or sitemap announces."""

import re
from typing import TYPE_CHECKING

import msgspec

from hemeroteca import extract, urls
from hemeroteca.extract.link_elements import in_headers
from hemeroteca.ingest.rules import Rules
from hemeroteca.warc import DOM_TYPE, Capture, Location, WarcReadError

if TYPE_CHECKING:
    from hemeroteca import change

COMPARED_BYTES = 8 << 20  # of a decoded body
DIFF_CHARS = 6000
MAX_COMPARED = 8  # sets of rules by which a page is compared; further subscriptions only have their threshold
PICTURE_BYTES = 64 << 20
HEAD_BYTES = 64 << 10  # of a feed, searched for its hub
_LINK = re.compile(rb"<(?:\w+:)?link\b[^<>]{0,2000}>", re.I)
_ATTRIBUTE = re.compile(rb"""\b(rel|href)\s*=\s*["']([^"'<>]{1,2000})["']""", re.I)

Sighted = tuple[str, bool, bool, int]
"""A block that differs, as `change.Sighting` has it."""


class Difference(msgspec.Struct, array_like=True, frozen=True):
    """How a new version differs from the last one (`hemeroteca.change`)."""

    view: float
    form: float
    content: float
    total: float
    important: bool  # by the threshold of those who judge it
    words_added: int = 0
    words_removed: int = 0
    diff: str = ""  # the beginning of a unified diff of the text
    subscriptions: tuple[int, ...] = ()  # who judges it so
    others: list["Difference"] = []  # as other subscriptions judge it, by their rules


class FeedListing(msgspec.Struct, array_like=True, frozen=True):
    """What a feed or sitemap says: pages with the time of their last change, and its hub. A find: `listing`."""

    kind: str  # feed, sitemap
    entries: list[tuple[int, int, str]] = []  # page key, ms of the change (0 unknown), URL
    hub: str = ""
    topic: str = ""  # the address the hub knows the feed by


def difference(capture: Capture, rules: Rules, diff: bool) -> tuple[Difference, list[Sighted]] | None:
    """With the text of it where `diff` is asked for. None when the version before cannot be read: then the new bytes
    alone say that it changed."""
    from hemeroteca import change  # only here: a reader of first visits stays small

    assert rules.earlier is not None
    try:
        record = rules.earlier.read(COMPARED_BYTES)
    except WarcReadError:
        return None
    dom, shot = capture.dom, capture.screenshot
    old = change.Snapshot(
        body=record.content(COMPARED_BYTES)[0],
        content_type=record.header("content-type")
        if record.head
        else DOM_TYPE,  # a page as a browser showed it has no head
        url=capture.url,
        status=record.status or capture.status,
        screenshot=_picture(rules.earlier_picture) if shot else b"",
        at_ms=record.captured_ms or 0,
    )
    if dom:
        new = change.Snapshot(
            body=dom[:COMPARED_BYTES],
            content_type=DOM_TYPE,
            url=capture.url,
            status=capture.status,
            screenshot=shot,
            at_ms=capture.captured_ms,
        )
    else:
        body = capture.content(COMPARED_BYTES)[0]
        new = change.Snapshot(body, capture.media_type, capture.url, capture.status, at_ms=capture.captured_ms)
    verdicts: list[Difference] = []
    compared: dict[tuple[tuple[str, ...], ...], change.Comparison] = {}  # once per set of rules
    texts: dict[tuple[tuple[str, ...], ...], str] = {}
    for judge in rules.judges:
        given = change.ChangeRules(**msgspec.structs.asdict(judge.comparison))
        parts = given.ignore, given.keep, given.ignore_text, given.weights
        if parts not in compared:
            if len(compared) == MAX_COMPARED:
                continue
            compared[parts] = change.Comparison(old, new, given, frozenset(rules.noise))
        found = compared[parts].change
        important = found.total > given.threshold
        if important and diff and parts not in texts:
            texts[parts] = compared[parts].text_diff()[:DIFF_CHARS]
        verdicts.append(_verdict(found, important, texts.get(parts, "") if important else "", judge.subscriptions))
    first = next(iter(compared.values()))
    sightings = [msgspec.structs.astuple(sighting) for sighting in change.sightings(first.change)]
    return msgspec.structs.replace(verdicts[0], others=verdicts[1:]), sightings


def _verdict(found: "change.Judgement", important: bool, text: str, subscriptions: tuple[int, ...]) -> Difference:
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


def _picture(place: Location | None) -> bytes:
    """The screenshot of the version before, where there is one."""
    try:
        return place.read(PICTURE_BYTES).payload() if place is not None else b""
    except WarcReadError:
        return b""


def listing(capture: Capture, document: extract.Document) -> FeedListing:
    """Of a feed or sitemap."""
    links = [link for link in document.links if link.kind in ("page", "alternate")]
    resolved = urls.resolve_targets(document.base or capture.url, [link.href for link in links])
    entries = [
        (address.key, link.modified, "") for link, address in zip(links, resolved, strict=True) if address is not None
    ]
    hub = topic = ""
    if document.kind == "feed":
        hub, topic = _hub(capture.content(COMPARED_BYTES)[0][:HEAD_BYTES], capture)
        hub, topic = (urls.resolve_links(capture.url, [a])[0] or "" if a else "" for a in (hub, topic))
    return FeedListing(document.kind, entries, hub, topic)


def _hub(start: bytes, capture: Capture) -> tuple[str, str]:
    """Hub and topic of a feed (WebSub discovery): from its Link headers, else from its own links."""
    found: dict[str, str] = {}
    for entry in in_headers(capture.addresses("link")):
        for rel in ("hub", "self"):
            if rel in entry.relations:
                found.setdefault(rel, entry.href)
    for link in _LINK.findall(start):
        attributes = {key.lower(): value for key, value in _ATTRIBUTE.findall(link)}
        rel = attributes.get(b"rel", b"").decode("ascii", "ignore").lower()
        if rel in ("hub", "self") and b"href" in attributes:
            found.setdefault(rel, attributes[b"href"].decode("utf-8", "replace").replace("&amp;", "&"))
    return found.get("hub", ""), found.get("self", "")

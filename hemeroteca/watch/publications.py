"""Collections that everybody may read at an address of their own, even where the rest of the archive is closed.

What belongs to one is what its subscriptions covered when somebody decided to publish it, and what their crawls fetched
elsewhere to show their pages: pictures, styles and scripts, not pages that they visit because they cover more by now.
Subscriptions that come later, or cover more later, are not public before that is decided anew; those that go are not
public any more. Every page and every answer of replay asks `Published.holds` of each capture: nothing else leaves by
this door.
"""

import re
import time
from bisect import bisect_right
from typing import NamedTuple

from hemeroteca import urls
from hemeroteca.accounts import Actor, audit, require
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.archive.selection import Selection
from hemeroteca.errors import Conflict, Invalid, NotFound
from hemeroteca.frontier.queries import visited_as_page
from hemeroteca.ingest import heavy_reads
from hemeroteca.plain import storable
from hemeroteca.warc.keys import index_key
from hemeroteca.watch.models import Publication, Subscription
from hemeroteca.watch.queries import pattern_of
from hemeroteca.watch.services import find_collection

MAX_PICTURE = 2 << 20  # bytes of a picture as it is sent
SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,58}[a-z0-9])?")


class PublishedSite(NamedTuple):
    number: int
    name: str
    url: str
    host: str
    pattern: str  # what belongs to it, as the CDX server takes it


class Published:
    """A publication, and what belongs to it."""

    def __init__(self, row: Publication) -> None:
        self.row = row
        self.collection = row.collection.name
        decided = Subscription.objects.filter(collection_id=row.collection_id, pk__in=[int(pk) for pk in row.patterns])
        self._subscriptions = list(decided.order_by("name"))
        self._patterns = tuple(sorted({row.patterns[str(one.pk)] for one in self._subscriptions}))
        crawls = tuple(sorted(one.crawl_id for one in self._subscriptions))
        self._selection = Selection(self._patterns, crawls=crawls) if self._patterns else None

    @property
    def selection(self) -> Selection | None:
        """Of the pages alone; None: the collection is empty, which must not mean everything."""
        return Selection(self._patterns) if self._patterns else None

    def holds(self, capture: CaptureRow | None) -> bool:
        if capture is None or self._selection is None:
            return False
        if Selection(self._patterns).holds(capture):
            return True
        return self._selection.holds(capture) and not visited_as_page(capture.crawl_id, capture.page_id)

    def covers(self, url: str) -> bool:
        """Whether an address is one of its pages."""
        if self._selection is None:
            return False
        try:
            key = index_key(url)
        except urls.UrlError:
            return False
        spans = [query.ranges[0] for query in self._selection.queries()]
        position = bisect_right([low for low, _ in spans], key) - 1
        return position >= 0 and (not spans[position][1] or key < spans[position][1])

    def sites(self) -> list[PublishedSite]:
        return [
            PublishedSite(one.pk, one.name, one.url, urls.host(one.url), self.row.patterns[str(one.pk)])
            for one in self._subscriptions[:500]
        ]


def find(slug: str) -> Published:
    """Whoever asks. Raises NotFound."""
    row = Publication.objects.select_related("collection").filter(slug=storable(slug)[:60]).first()
    if row is None:
        raise NotFound("there is no published collection at that address")
    return Published(row)


def listed() -> list[Publication]:
    return list(Publication.objects.select_related("collection").order_by("title"))


def undecided(row: Publication) -> int:
    """Sites of a published collection that came, or cover something else, since it was published."""
    return sum(row.patterns.get(number) != pattern for number, pattern in _patterns(row.collection_id).items())


def _patterns(collection_id: int) -> dict[str, str]:
    """What the approved subscriptions of a collection cover now."""
    found = Subscription.objects.filter(collection_id=collection_id, proposed_ms=0, refusal="")
    return {str(pk): pattern_of(url, scope) for pk, url, scope in found.values_list("pk", "url", "scope")}


def publish(
    actor: Actor,
    collection: str,
    slug: str = "",
    title: str = "",
    description: str = "",
    colour: str = "",
    picture: bytes | None = None,
) -> Publication:
    """Let everybody read a collection, or change how it is shown. `picture`: PNG or JPEG; None: as it was."""
    require(actor, "watch.publish")
    found = find_collection(storable(collection))
    row = Publication.objects.filter(collection=found).first() or Publication(
        collection=found, published_ms=time.time_ns() // 1_000_000
    )
    row.slug = slug.strip().lower() or row.slug or re.sub(r"[^a-z0-9]+", "-", found.name.lower()).strip("-")[:60]
    row.title = storable(title).strip() or found.name
    row.description, row.colour, row.actor = storable(description).strip(), colour.strip().lower(), actor.name
    row.patterns = _patterns(found.pk)
    if not SLUG.fullmatch(row.slug):
        raise Invalid(f"{row.slug[:80]!r} is not an address: small letters, digits and hyphens, at most 60")
    if len(row.title) > 200 or len(row.description) > 10_000:
        raise Invalid("a title has at most 200 characters, a description 10,000")
    if row.colour and not re.fullmatch(r"#[0-9a-f]{6}", row.colour):
        raise Invalid(f"{row.colour[:20]!r} is not a colour; write it like #1a5fb4")
    if Publication.objects.filter(slug=row.slug).exclude(pk=row.pk).exists():
        raise Conflict(f"another collection is published at /c/{row.slug}; choose another address")
    if picture is not None:
        if len(picture) > MAX_PICTURE:
            raise Invalid(f"a picture has at most {MAX_PICTURE >> 20} MiB")
        row.picture = heavy_reads.run(heavy_reads.cover, picture) if picture else b""
    row.save()
    audit.note(actor, "published", found.name, f"/c/{row.slug}; sites: {len(row.patterns)}")
    return row


def unpublish(actor: Actor, collection: str) -> None:
    """The collection is read again only by those who may read the archive."""
    require(actor, "watch.publish")
    if not Publication.objects.filter(collection=find_collection(storable(collection))).delete()[0]:
        raise Conflict(f"the collection {collection!r} is not published")
    audit.note(actor, "unpublished", collection)

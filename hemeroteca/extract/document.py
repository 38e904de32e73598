"""What `read` returns, and the limits it keeps."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

BREAK = "\t"  # between the lines of a page's text, before they are told apart


class Limits(msgspec.Struct, frozen=True):
    """The most that is taken from one body. What lies beyond is cut and named in `Document.notes`."""

    html_bytes: int = 4 << 20  # given to the HTML parser
    html_tags: int = 100_000
    depth: int = 1000  # elements inside one another; browsers stop at 512
    xml_bytes: int = 52 << 20  # a sitemap may be 50 MiB
    css_bytes: int = 2 << 20
    plain_bytes: int = 4 << 20
    pdf_bytes: int = 64 << 20
    pdf_pages: int = 300
    pdf_seconds: int = 4  # of processor time
    pdf_memory: int = 768 << 20  # address space of the process that reads a PDF
    office_bytes: int = 48 << 20  # that one office file may unpack to
    office_parts: int = 20_000  # files in it
    text_chars: int = 1_000_000
    line_chars: int = 500  # title, author
    description_chars: int = 1000
    headings_chars: int = 4000
    anchor_chars: int = 200
    context_chars: int = 30  # each side of an anchor
    href_chars: int = 4096
    links: int = 50_000  # as many as a sitemap may have


class Link(msgspec.Struct, array_like=True, gc=False):
    """An address found in a document, as written there (no fragment); `urls.resolve_links` makes it absolute."""

    href: str
    kind: str  # page, requisite, frame, feed, sitemap, canonical, alternate, redirect
    text: str = ""  # of the anchor; of a feed entry its title; of an alternate its language
    nofollow: bool = False
    region: str = "main"  # main, nav, header, footer, aside
    context: str = ""  # text on both sides of this anchor
    modified: int = 0  # sitemaps and feeds: ms since 1970, UTC; 0 unknown
    priority: float = 0.5  # sitemaps


_link = msgspec.msgpack.Decoder(Link).decode


class PackedLinks(msgspec.Struct, array_like=True, gc=False):
    """The links of a page as the compiled reader packs them: a link is made when it is looked at."""

    packed: bytes
    ends: bytes  # where each ends, four bytes each

    def __len__(self) -> int:
        return len(self.ends) // 4

    def __iter__(self) -> Iterator[Link]:
        start = 0
        for end in memoryview(self.ends).cast("I"):
            yield _link(self.packed[start:end])
            start = end

    def __getitem__(self, number: int) -> Link:
        ends = memoryview(self.ends).cast("I")
        return _link(self.packed[ends[number - 1] if number else 0 : ends[number]])


class Place(NamedTuple):
    """Where a page lies, for those who want to know where its links lead."""

    directory: bytes  # canonical address of its folder (`urls.directory`)
    host: int  # key of the folder's host
    page: int  # the page's own key


class Leads(msgspec.Struct, array_like=True, gc=False):
    """Where the links of a plainly written page lead: numbers, packed."""

    keys: bytes  # of the canonical address of each link, in their order
    edges: bytes  # keys of other pages that this one recommends, as the link graph takes them …
    hosts: bytes  # … and of their hosts
    places: bytes  # of the links to them with a short text, four bytes each …
    marks: bytes  # … and a key for each of these links and texts
    pages: bytes  # for each link whether it is one to a page: 1 or 0
    shown: str  # what the page shows (`ingest.fingerprints`), a line break before each …
    named: str  # … and how it calls what it leads to


class Document(msgspec.Struct):
    """What was read from one body."""

    kind: str = "other"  # html, xhtml, pdf, feed, sitemap, text, css, docx and other office files, …; other: not read
    media_type: str = ""
    charset: str = ""
    title: str = ""
    description: str = ""
    headings: str = ""  # h1 to h3, a line each
    text: str = ""  # all visible text, a line per block
    main: str = ""  # the same without navigation and the like
    language: str = ""  # two letters; empty when unknown
    published: int = 0  # ms since 1970, UTC; 0 unknown
    author: str = ""
    listed: list[Link] = []  # its links, where they have been looked at …
    packed: PackedLinks | None = None  # … and where that is put off
    canonical: str | None = None
    base: str | None = None
    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    refresh: str | None = None
    notes: list[str] = []
    leads: Leads | None = None  # of packed links, when asked for and all are plain
    finds: dict[str, Any] = {}  # of readers of other rooms, by name; anything msgpack can carry

    @property
    def links(self) -> list[Link]:
        """All of them, in the order of the document."""
        if self.packed is not None and not self.listed:
            self.listed = list(self.packed)
        return self.listed

    @links.setter
    def links(self, links: list[Link]) -> None:
        self.listed, self.packed, self.leads = links, None, None

    def note(self, reason: str) -> None:
        """Record why something was left out, once."""
        if reason not in self.notes:
            self.notes.append(reason)


def names(text: str) -> frozenset[str]:
    """A set of names, written as one would read them."""
    return frozenset(text.split())


def cut(data: bytes, limits: Limits, note: Callable[[str], None]) -> bytes:
    """As much of UTF-8 `data` as is read."""
    if len(data) > limits.html_bytes:
        data = data[: limits.html_bytes].decode("utf-8", "ignore").encode()
        note("html-cut")
    if len(data) > limits.html_tags and data.count(b"<") > limits.html_tags:
        data = data[: _place_of(data, b"<", limits.html_tags)]
        note("tags-cut")
    return data


def _place_of(data: bytes, sign: bytes, number: int) -> int:
    """Where the sign (one byte) stands that has so many before it. By halves: numpy takes a reader longer to load than
    it would save."""
    start, end = 0, len(data)
    while end - start > 1:
        middle = (start + end) // 2
        before = data.count(sign, start, middle)
        if before > number:
            end = middle
        else:
            start, number = middle, number - before
    return start

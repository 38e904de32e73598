"""`Ingested`: what was found in a capture."""

from typing import Any, TypeVar

import msgspec

from hemeroteca.ingest.difference import Difference, Sighted
from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.urls.candidate import Candidate
from hemeroteca.warc import Records

Find = TypeVar("Find", bound=msgspec.Struct)


class Edges(msgspec.Struct, array_like=True):
    """The links of a page as the link graph takes them: keys of the targets and of their hosts, packed."""

    host: int  # key of the page's own host
    targets: bytes
    hosts: bytes
    texts: list[tuple[int, str]]  # target, text of a link to it; only what was not sent before


class Ingested(msgspec.Struct, array_like=True):
    """Records to write, document, candidates, edges, difference, and finds of other rooms by name."""

    digest: str = ""
    size: int = 0  # of the body
    urlkey: str = ""  # the key it is filed under
    mime: str = ""
    etag: str = ""
    last_modified: str = ""
    same: bool = False  # the last version again; records are made only of what a browser opened
    dom_digest: str = (
        ""  # of what a browser made of the body, or of status and target of an empty answer: it tells of changes
    )
    records: Records | None = None
    attached: list[Records] = []  # of what is attached to the capture
    notes: list[str] = []
    candidates: list[Candidate] = []
    redirect: Candidate | None = None
    requisites: list[int] = []  # keys of what the page needs to be shown, where its pages are watched
    outside: str = ""  # where a redirect leads when that is not part of the crawl
    document: SearchDocument | None = None
    edges: Edges | None = None
    said: int = 0  # fingerprint of what the page says; equal for the pages of a trap; 0: unknown …
    worded: int = 0  # … and without its numbers
    noarchive: bool = False
    noindex: bool = False
    difference: Difference | None = None  # from the version before
    sightings: list[Sighted] | None = None  # blocks that differ; None: it was not compared
    needs_browser: bool = False  # scripts have yet to write the page; nothing else was done
    finds: dict[str, bytes] = {}  # by the name of the room or kind; `find` reads them

    @property
    def shown_digest(self) -> str:
        """What tells whether the page has changed: that of the DOM where a browser opened it, else of the body."""
        return self.dom_digest or self.digest

    def add_find(self, name: str, value: Any) -> None:
        self.finds = {**self.finds, name: msgspec.msgpack.encode(value)}

    def find(self, name: str, kind: type[Find]) -> Find | None:
        """A find of that name; None when there is none."""
        raw = self.finds.get(name)
        return None if raw is None else msgspec.msgpack.decode(raw, type=kind)

"""A URL that somebody found, and where: what seeds, links, sitemaps, feeds and signals give the frontier."""

from enum import IntEnum

import msgspec

REQUISITE_DEPTH = 10_000  # depth of a requisite: its steps from a page times this, plus the depth of that page


class UrlRole(IntEnum):
    """Why a page is visited."""

    PAGE = 0  # for itself: it is in scope
    REQUISITE = 1  # a page in scope needs it: image, style, script, frame
    SITEMAP = 2  # it lists pages


class Cues(msgspec.Struct, gc=False, array_like=True):
    """What ingest found, for the focus of a crawl, in a link and around it; relevance is from 0 to 1."""

    page: float = 0.0  # relevance of the page the link stands on
    anchor: float = 0.0  # of its text
    context: float = 0.0  # of the text around it
    address: float = 0.0  # of the address it leads to
    place: int = 0  # its number among the links of the page
    parent_url: str = ""  # the page it stands on
    away: float = 0.0  # how surely it leads elsewhere, by its words


class Candidate(msgspec.Struct, gc=False, array_like=True):
    """A URL that belongs to a crawl, with where it was found."""

    key: int
    url: str
    host: str
    crawl: int
    depth: int = 0
    redirects: int = 0  # redirects in a row that led here
    role: int = UrlRole.PAGE
    due_ms: int = 0  # not before this time
    parent: int = 0  # key of the page that links here; 0: a seed, a sitemap, a signal
    anchor: str = ""  # text of the link
    context: str = ""  # text around the link
    held: str = ""  # why it is held back until a person decides
    cues: Cues | None = None  # of a crawl with a focus

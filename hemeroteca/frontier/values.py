"""Values that travel between the frontier, the engine and the people's rooms. No Django here."""

from typing import Literal

import msgspec

from hemeroteca.ingest.rules import THRESHOLD, Comparison

_USUAL = Comparison()


class SiteSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person set for one host; wins over the crawl and the instance."""

    delay: float | None = None
    ignore_robots: bool = False
    allow_private: bool = False
    insecure: bool = False
    proxy: str = ""
    username: str = ""
    password: str = ""
    paused: bool = False
    visits_per_day: int = 0  # most visits of watched pages; 0: no limit of its own
    bytes_per_day: int = 0  # the same in bytes received
    render: Literal["auto", "always", "never"] = "auto"  # which of its pages are opened in a browser
    include: tuple[str, ...] = ()  # elements that hold its text, as `div[id=content]`; empty: found by themselves …
    exclude: tuple[str, ...] = ()  # … and elements that never do
    threshold: float | None = None  # F(μ): changes of its pages matter above it; None: 0.05
    ignore: tuple[str, ...] = ()  # CSS selectors or XPath: parts of its pages that are not compared
    keep: tuple[str, ...] = ()  # the same: when given, only these parts are compared
    ignore_text: tuple[str, ...] = ()  # RE2: text that does not count as a change

    def comparison(self, own: Comparison | None = None) -> Comparison:
        """How versions of its pages are compared; `own` is what a subscription says, which goes before."""
        own = own or _USUAL
        threshold = own.threshold
        if threshold == THRESHOLD and self.threshold is not None:
            threshold = self.threshold
        return Comparison(
            threshold, (*self.ignore, *own.ignore), own.keep or self.keep, (*self.ignore_text, *own.ignore_text)
        )


class Counts(msgspec.Struct):
    """Totals of one run of a crawl."""

    pages: int = 0  # pages that answered
    captures: int = 0  # records kept: responses and revisits
    versions: int = 0  # captures that differ from the one before
    unchanged: int = 0  # not modified, or the same bytes again
    failed: int = 0  # pages given up
    excluded: int = 0  # pages robots.txt or a directive closes
    bytes: int = 0  # received in bodies
    stored_bytes: int = 0  # written to WARC files
    queued: int = 0  # still to visit
    targets: int = 0  # of a crawl with a focus: pages that are what it looks for
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    pages_per_second: float = 0.0
    max_rss_bytes: int = 0
    reasons: dict[str, int] = {}  # failures, exclusions and refusals by reason

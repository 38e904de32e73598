"""What a run of a crawl came to. A value: it knows no tables."""

import msgspec


class Counts(msgspec.Struct):
    """Totals of one run of a crawl."""

    pages: int = 0  # pages that answered
    captures: int = 0  # records kept: responses and revisits
    versions: int = 0  # captures that differ from the one before
    unchanged: int = 0  # not modified, or the same bytes again
    failed: int = 0  # pages given up, or answered with an error
    errors: int = 0  # answers that were errors (404 …), of sitemaps too
    excluded: int = 0  # pages robots.txt or a directive closes
    held: int = 0  # addresses held back as a possible trap, until a person decides
    bytes: int = 0  # received in bodies
    stored_bytes: int = 0  # written to WARC files
    queued: int = 0  # still to visit
    targets: int = 0  # of a crawl with a focus: pages that are what it looks for
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    pages_per_second: float = 0.0
    max_rss_bytes: int = 0
    reasons: dict[str, int] = {}  # failures, exclusions and refusals by reason
    notes: dict[str, int] = {}  # remarks on what was captured, by code

"""WARC files read, written and checked, without a database: usable alone.

    from hemeroteca import warc
    for found in warc.captures(Path("a.warc.gz"), spool): …      # Capture or Problem
    writer.append(warc.records(capture).source)

capture        `Capture`: one exchange as it was
builder        a capture as records: one record, one gzip member (or Zstandard frame: zstd)
exchanges      the captures of a file, requests and attachments put together
stored_record  one record, by its place (location) or from a stream;  scan: every record of a file, good or damaged
writer         the files records are appended to, and their repair after a crash
store          where files lie: a folder, or an object store
keys           the key a capture is filed under;  timestamps: times as web archives write them
"""

from typing import TYPE_CHECKING

from hemeroteca.lazy import lazily

if TYPE_CHECKING:
    from hemeroteca.warc.builder import (
        ZST,
        Records,
        as_gzip,
        new_id,
        pack_as,
        packing,
        payload_digest,
        record,
        records,
        safe_url,
        warcinfo,
    )
    from hemeroteca.warc.capture import DOM_TYPE, MAX_CONTENT, Capture, Original
    from hemeroteca.warc.exchanges import Problem, captures
    from hemeroteca.warc.location import Location
    from hemeroteca.warc.store import WarcReadError
else:
    __getattr__ = lazily(
        __name__,
        builder="ZST Records as_gzip new_id pack_as packing payload_digest record records safe_url warcinfo",
        capture="DOM_TYPE MAX_CONTENT Capture Original",
        exchanges="Problem captures",
        location="Location",
        store="WarcReadError",
    )

__all__ = [
    "DOM_TYPE", "MAX_CONTENT", "ZST", "Capture", "Location", "Original", "Problem", "Records", "WarcReadError",
    "as_gzip", "captures", "new_id", "pack_as", "packing", "payload_digest", "record", "records", "safe_url",
    "warcinfo",
]  # fmt: skip

"""WARC files read, written and checked, without a database: usable alone.

capture     `Capture`: one exchange as it was, and how it becomes records
builder     records as bytes: one record, one gzip member (or Zstandard frame: zstd)
reader      one record, by its place or from a stream;  scan: every record of a file, good or damaged
writer      the files records are appended to, and their repair after a crash
store       where files lie: a folder, or an object store
keys        the key a capture is filed under;  timestamps: times as web archives write them
"""

from hemeroteca.warc.builder import (
    GZ,
    ZST,
    FileBody,
    Original,
    Records,
    as_gzip,
    beginning,
    exchange_records,
    new_id,
    pack_as,
    packing,
    payload_digest,
    record,
    repeat_record,
    revisit_records,
    safe_url,
    warcinfo,
)

__all__ = [
    "GZ",
    "ZST",
    "FileBody",
    "Original",
    "Records",
    "as_gzip",
    "beginning",
    "exchange_records",
    "new_id",
    "pack_as",
    "packing",
    "payload_digest",
    "record",
    "repeat_record",
    "revisit_records",
    "safe_url",
    "warcinfo",
]

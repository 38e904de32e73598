"""What the tables hold: revisions, the texts they brought, events of the log. MediaWiki's own names."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    import pyarrow as pa

REVISIONS, TEXTS, EARLIER, EVENTS = "revisions", "texts", "earlier", "events"
TABLES = (REVISIONS, TEXTS, EARLIER, EVENTS)
BUCKETS = 16  # of a wiki's articles, by page id


class Revision(msgspec.Struct, kw_only=True, gc=False):
    """One revision as the wiki told it at `extraction_date`. What the wiki hides is None and has its flag."""

    wiki: str  # host and path of the wiki: es.wikipedia.org
    locale: str  # its language
    ns: int
    pageid: int
    title: str
    revid: int
    parentid: int | None = None
    timestamp: int  # ms since 1970, UTC
    user: str | None = None
    userid: int | None = None
    anon: bool = False  # edited without an account; `user` is an address
    temp: bool = False  # a temporary account
    minor: bool = False
    size: int | None = None  # bytes
    sha1: str | None = None  # hexadecimal; of all slots together
    text_sha1: str | None = None  # of the main slot: its row in `texts`
    contentmodel: str | None = None
    contentformat: str | None = None
    comment: str | None = None
    parsedcomment: str | None = None
    tags: list[str] = []
    slots: str = ""  # slots besides `main`, as JSON: {"mediainfo": {"sha1": …, "size": …}}
    userhidden: bool = False
    commenthidden: bool = False
    texthidden: bool = False
    sha1hidden: bool = False
    suppressed: bool = False
    gone: bool = False  # the wiki had it and has it no more: deleted, or moved to another article's history
    extraction_date: int = 0  # ms since 1970, UTC
    version: int = 0  # of the article's history; a later one replaces an earlier one
    fingerprint: int = 0  # 64 bits over everything but when we looked, and but what only a request with text tells

    def __post_init__(self) -> None:
        values = _encode(_compared(self))
        self.fingerprint = int.from_bytes(hashlib.blake2b(values, digest_size=8).digest(), signed=True)


# The title is the article's; the content format comes with the text only, and says nothing the model does not.
_NOT_COMPARED = {
    "extraction_date", "version", "title", "ns", "locale", "contentformat", "text_sha1", "slots", "fingerprint",
}  # fmt: skip
_encode = msgspec.msgpack.Encoder().encode
_compared = attrgetter(*(name for name in Revision.__struct_fields__ if name not in _NOT_COMPARED))


class Passage(Protocol):
    """A text that still lies in the answer it came with, escaped as it came. It is in UTF-8."""

    def __len__(self) -> int:
        """Its bytes, unescaped."""

    def __bytes__(self) -> bytes: ...

    def write(self, target: memoryview, start: int, /) -> None: ...


class Text(msgspec.Struct, kw_only=True, gc=False):
    """The text of a slot; revisions with the same text share it."""

    wiki: str
    pageid: int  # of the article it was first met in
    sha1: str
    text: str | Passage


class Event(msgspec.Struct, kw_only=True):
    """An entry of the wiki's log about an article: move, delete, merge, import, protect."""

    wiki: str
    locale: str
    pageid: int
    title: str
    logid: int
    type: str
    action: str
    timestamp: int  # ms since 1970, UTC
    user: str | None = None
    userid: int | None = None
    comment: str | None = None
    params: str = ""  # JSON, as the wiki gave them
    extraction_date: int = 0


def bucket(pageid: int) -> int:
    return pageid % BUCKETS


def row_type(table: str) -> type[msgspec.Struct]:
    types: dict[str, type[msgspec.Struct]] = {REVISIONS: Revision, EARLIER: Revision, TEXTS: Text, EVENTS: Event}
    return types[table]


@lru_cache
def schema(table: str) -> pa.Schema:
    """The Arrow schema of a table; times are UTC without a zone, as every engine reads them alike."""
    import pyarrow as pa

    kinds: dict[Any, pa.DataType] = {
        "int": pa.int64(),
        "int | None": pa.int64(),
        "str": pa.string(),
        "str | None": pa.string(),
        "str | Passage": pa.string(),
        "bool": pa.bool_(),
        "list[str]": pa.list_(pa.string()),
    }
    row = row_type(table)
    return pa.schema(
        pa.field(name, pa.timestamp("ms") if name in TIMES else kinds[row.__annotations__[name]])
        for name in row.__struct_fields__
    )


TIMES = ("timestamp", "extraction_date")
ORDER = {  # rows of an article lie together; consecutive texts differ little, which zstd turns into bytes saved
    REVISIONS: ("pageid", "timestamp", "revid"),
    EARLIER: ("pageid", "revid", "version"),
    TEXTS: ("pageid",),
    EVENTS: ("pageid", "timestamp", "logid"),
}
KEYS = {  # what makes two rows of a table the same thing
    REVISIONS: ("wiki", "revid"),
    EARLIER: ("wiki", "revid", "version"),
    TEXTS: ("wiki", "sha1"),
    EVENTS: ("wiki", "logid", "pageid"),
}

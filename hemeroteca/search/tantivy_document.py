"""A page as the engine holds it: the fields it is found by, and what is stored for display as one blob."""

from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import msgspec
import tantivy
from tantivy import Document

from hemeroteca.ingest.document import SearchDocument, document_key, simhash
from hemeroteca.search import analysis

SCHEMA_VERSION = 3
LONGEST_TEXT = 1_000_000  # characters of a page that are indexed and kept
TITLE_TIMES = 2  # a word of the title counts as so many words of the text; part of the index
LAST_MS = 1 << 62  # "until" of a version that is still the last one
_MASK = (1 << 64) - 1


class Stored(msgspec.Struct, array_like=True, gc=False):
    """What a result shows: kept in the index next to the document. New fields go at the end, with a default."""

    url: str
    title: str
    description: str
    text: str
    language: str
    field: str
    host: str
    type: str
    author: str
    digest: str
    id: str
    captured_ms: int
    published_ms: int
    versions: int
    headings: str
    anchors: str
    collections: tuple[str, ...]
    page: int
    until_ms: int


def schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("key", indexed=True, fast=True)
    builder.add_integer_field("page", indexed=True, fast=True)
    builder.add_bytes_field("stored", stored=True)
    for field in analysis.FIELDS:
        options = "freq" if field == analysis.BIGRAMS else "position"
        builder.add_text_field(f"body_{field}", tokenizer_name=f"body_{field}", index_option=options)
    for name in ("title", "anchor", "url"):
        builder.add_text_field(name, tokenizer_name="words", index_option="position")
    for name in ("host", "language", "type", "collection"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=True)
    builder.add_text_field("site", tokenizer_name="raw", index_option="basic")
    for name in ("captured", "published", "until", "host_key"):
        builder.add_integer_field(name, fast=True)
    # `depth` has the language above its eight bits (`language_number`)
    for name in ("simhash", "depth", "length", "year"):
        builder.add_unsigned_field(name, fast=True)
    return builder.build()


def document(page: SearchDocument) -> Document:
    """The page for the engine. Half a character (from a broken page) raises UnicodeEncodeError: see `whole`."""
    field = analysis.field_of(page.language)
    title = page.title[:1000]
    text = page.text[:LONGEST_TEXT]
    document = Document()
    _add_properties(document, page)
    document.add_unsigned("simhash", (page.simhash or simhash(text)) & _MASK)
    _add_words(document, page, title, text, field)
    document.add_bytes("stored", _encode(_shown(page, title, text, field)))
    return document


def _add_properties(document: Document, page: SearchDocument) -> None:
    """What a page is narrowed, ordered and counted by."""
    captured = page.captured_ms
    document.add_integer("key", page.key)
    document.add_integer("page", page.page or page.key)
    document.add_text("host", page.host)
    for site in _sites(page.host):
        document.add_text("site", site)
    document.add_text("language", page.language)
    document.add_text("type", page.type)
    for collection in page.collections:
        document.add_text("collection", collection)
    document.add_integer("captured", captured)
    document.add_integer("until", page.until_ms or LAST_MS)
    document.add_integer("published", page.published_ms or captured)
    if page.published_ms or captured:
        document.add_unsigned("year", _year(page.published_ms or captured))
    document.add_integer("host_key", _host_key(page.host))
    document.add_unsigned("depth", _depth(page) | language_number(page.language) << 8)
    document.add_unsigned("length", len(page.text))


def _add_words(document: Document, page: SearchDocument, title: str, text: str, field: str) -> None:
    """What a page is found by."""
    body = f"body_{field}"
    document.add_text("title", title)
    document.add_text("url", unquote(page.url[:2000]) if "%" in page.url else page.url[:2000])
    # BM25F: a word of the title counts as several words of the text. The terms go into the same field, so that
    # their weight is saturated together and one list of postings per word is read.
    for _ in range(TITLE_TIMES):
        document.add_text(body, analysis.prepared(title, field))
    if page.anchors:
        document.add_text("anchor", page.anchors)
    for part in (page.headings, page.description, page.anchors, text):
        if part:
            document.add_text(body, analysis.prepared(part, field))


def _shown(page: SearchDocument, title: str, text: str, field: str) -> Stored:
    return Stored(
        url=page.url,
        title=title,
        description=page.description,
        text=text,
        language=page.language,
        field=field,
        host=page.host,
        type=page.type,
        author=page.author,
        digest=page.digest,
        id=page.id,
        captured_ms=page.captured_ms,
        published_ms=page.published_ms,
        versions=page.versions,
        headings=page.headings,
        anchors=page.anchors,
        collections=page.collections,
        page=page.page,
        until_ms=page.until_ms,
    )


def stored(searcher: tantivy.Searcher, address: tantivy.DocAddress) -> Stored:
    return _decode(searcher.doc(address)["stored"][0])


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Stored).decode


def restored(key: int, kept: Stored) -> SearchDocument:
    return SearchDocument(
        key=key,
        page=kept.page,
        url=kept.url,
        title=kept.title,
        headings=kept.headings,
        description=kept.description,
        text=kept.text,
        host=kept.host,
        language=kept.language,
        type=kept.type,
        captured_ms=kept.captured_ms,
        published_ms=kept.published_ms,
        until_ms=kept.until_ms,
        author=kept.author,
        anchors=kept.anchors,
        collections=kept.collections,
        digest=kept.digest,
        versions=kept.versions,
        id=kept.id,
    )


def whole(page: SearchDocument) -> SearchDocument:
    """The document without half characters (lone surrogates), which cannot be written."""
    cleaned: dict[str, Any] = {
        name: clean(value) if isinstance(value, str) else value for name, value in msgspec.structs.asdict(page).items()
    }
    return SearchDocument(**cleaned)


def clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


_host_key = lru_cache(maxsize=4096)(document_key)


@lru_cache(maxsize=4096)
def _sites(host: str) -> tuple[str, ...]:
    """The host and every domain above it: `site:example.org` finds `docs.example.org`."""
    labels = host.split(".")
    return tuple(".".join(labels[i:]) for i in range(min(len(labels), 8)))


def _year(milliseconds: int) -> int:
    # good to a day at the turn of the year, and 20 times faster than a datetime
    return max(0, 1970 + int(milliseconds // 86_400_000 // 365.2425))


def _depth(page: SearchDocument) -> int:
    """Levels of the path below the host; 255 for what was not crawled."""
    if page.id or not page.host:
        return 255
    path = page.url.partition("?")[0].partition("://")[2]
    last = path.rpartition("/")[2]
    return min(254, max(0, path.count("/") - (not last or last.startswith("index."))))


def language_number(code: str) -> int:
    """ISO 639-1 as a number below 1024; 0: unknown."""
    if len(code) == 2 and code.isascii() and code.islower():
        return (ord(code[0]) - 96) << 5 | (ord(code[1]) - 96)
    return 0

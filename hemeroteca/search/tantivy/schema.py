"""A document as Tantivy holds it: the fields it is found by, and the document itself as one blob for display."""

from typing import Any

import msgspec
import tantivy
from tantivy import Document

from hemeroteca.search import analysis
from hemeroteca.search.document import SearchDocument
from hemeroteca.search.index import fields

SCHEMA_VERSION = 4


def schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_bytes_field("stored", stored=True)
    for kind, name in fields.BODIES.items():
        builder.add_text_field(
            name, tokenizer_name=name, index_option="freq" if kind == analysis.BIGRAMS else "position"
        )
    for name in fields.TEXTS:
        builder.add_text_field(name, tokenizer_name="words", index_option="position")
    for name in fields.KEYWORDS:
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=name in fields.FACETS)
    for name in fields.SIGNED:
        builder.add_integer_field(name, indexed=name in ("key", "page"), fast=True)
    for name in fields.UNSIGNED:
        builder.add_unsigned_field(name, fast=True)
    return builder.build()


def document(page: SearchDocument) -> Document:
    """The page for the engine. Half a character (from a broken page) raises UnicodeEncodeError: see `whole`."""
    page = fields.prepared(page)
    document = Document()
    for name, number in fields.numbers(page).items():
        if name in fields.SIGNED:
            document.add_integer(name, number)
        else:
            document.add_unsigned(name, number)
    for name, text in fields.keywords(page):
        document.add_text(name, text)
    for name, text in fields.texts(page):
        document.add_text(name, text)
    document.add_bytes("stored", _encode(page))
    return document


def stored(searcher: tantivy.Searcher, address: tantivy.DocAddress) -> SearchDocument:
    return _decode(searcher.doc(address)["stored"][0])


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(SearchDocument).decode


def whole(page: SearchDocument) -> SearchDocument:
    """The document without half characters (lone surrogates), which cannot be written."""
    cleaned: dict[str, Any] = {
        name: clean(value) if isinstance(value, str) else value for name, value in msgspec.structs.asdict(page).items()
    }
    return SearchDocument(**cleaned)


def clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")

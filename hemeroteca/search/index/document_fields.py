"""The fields of a document in the index, the same in every engine.

*Texts* are cut into words and found by them; *keywords* are found whole; *numbers* are columns by which documents are
narrowed, ordered and ranked.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import unquote

import msgspec

from hemeroteca.ingest.search_document import SearchDocument, document_key, simhash
from hemeroteca.search import analysis

MAX_TEXT = 1_000_000  # characters of a page that are indexed and kept
MAX_TITLE = 1000
MAX_ADDRESS = 2000
TITLE_TIMES = 2  # a word of the title counts as so many words of the text; part of the index
LAST_MS = 1 << 62  # "until" of a version that is still the last one
STUFFED_TEXT = 1000  # characters from which a text is looked at for words that are only repeated to be found
STUFFED = 0.2  # … part of it that is one word: no text of people is so …
DISTINCT = 0.05  # … or part of it that is different words, if so few …
MAX_DISTINCT = 20_000  # … of so many: a book does not have more and more of them
REPEATED = 3  # times such a word counts
_FILLER = "wordrepeatedtobefound"
NOT_CRAWLED = 255  # "depth" of an imported document

BODIES = {name: f"body_{name}" for name in analysis.FIELDS}  # all words of a page, by the kind of its script
TEXTS = ("title", "anchor", "url")  # parts of it by themselves, with places
KEYWORDS = ("host", "site", "language", "type", "collection")
NUMBERS = (  # of 64 bits, signed
    "key", "page", "captured", "published", "until", "year", "host_key", "language_number", "depth", "length",
    "simhash",
)  # fmt: skip
FACETS = ("host", "language", "type", "year", "collection")


def prepared(page: SearchDocument) -> SearchDocument:
    """The document as it is kept: of bounded length, with its fingerprint."""
    if len(page.title) > MAX_TITLE or len(page.text) > MAX_TEXT or not page.simhash:
        text = page.text[:MAX_TEXT]
        page = msgspec.structs.replace(
            page, title=page.title[:MAX_TITLE], text=text, simhash=page.simhash or simhash(text)
        )
    return page


def keywords(page: SearchDocument) -> list[tuple[str, str]]:
    found = [("host", page.host), ("language", page.language), ("type", page.type)]
    found += [("site", site) for site in _sites(page.host)]
    found += [("collection", collection) for collection in page.collections]
    return found


def numbers(page: SearchDocument) -> dict[str, int]:
    published = page.published_ms or page.captured_ms
    found = {
        "key": page.key,
        "page": page.page or page.key,
        "captured": page.captured_ms,
        "until": page.until_ms or LAST_MS,
        "published": published,
        "host_key": document_key(page.host),
        "simhash": _signed(page.simhash),
        "depth": _depth(page),
        "length": len(page.text),
        "language_number": language_number(page.language),
    }
    if published:
        found["year"] = _year(published)
    return found


def texts(page: SearchDocument) -> Sequence[tuple[str, str]]:
    """What a page is found by, as (field, text).

    BM25F: a word of the title counts as several words of the text. The terms go into the same field, so that their
    weight is saturated together and one list of postings per word is read.
    """
    kind = analysis.field_of(page.language)
    body = BODIES[kind]
    address = page.url[:MAX_ADDRESS]
    found = [("title", page.title), ("url", unquote(address) if "%" in address else address)]
    if page.anchors:
        found.append(("anchor", page.anchors))
    found += [(body, analysis.prepared(page.title, kind))] * TITLE_TIMES
    found += [
        (body, analysis.prepared(without_stuffing(part), kind))
        for part in (page.headings, page.description, page.anchors, page.text)
        if part
    ]
    return found


def without_stuffing(text: str) -> str:
    """The text with words written hundreds of times only to be found replaced, all but a few times each.

    Something stands in their places: a text that got short would be taken for one that is about nothing else.
    """
    if len(text) < STUFFED_TEXT or not _is_stuffed(text):
        return text
    words = text.split()
    most = max(REPEATED, len(words) // 50)
    # numbers: a table
    left = {word: REPEATED for word, count in Counter(words).items() if count > most and word[0].isalpha()}
    for at, word in enumerate(words):
        if (more := left.get(word)) is not None:
            left[word] = more - 1
            if more <= 0:
                words[at] = _FILLER
    return " ".join(words)


def _is_stuffed(text: str) -> bool:
    from hemeroteca.extract import native  # a search puts nothing into the index, and starts sooner without

    found = native.is_stuffed(text, STUFFED, DISTINCT, MAX_DISTINCT)
    if found is not None:
        return found
    times = Counter(text.split())
    words = times.total()
    often = max(times.values(), default=0)
    return words > 0 and (often >= STUFFED * words or len(times) <= DISTINCT * min(words, MAX_DISTINCT))


def language_number(code: str) -> int:
    """ISO 639-1 as a number below 1024, for a column; 0: unknown."""
    if len(code) == 2 and code.isascii() and code.islower():
        return (ord(code[0]) - 96) << 5 | (ord(code[1]) - 96)
    return 0


def _signed(number: int) -> int:
    """The same 64 bits as a signed number."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


@lru_cache(maxsize=4096)
def _sites(host: str) -> tuple[str, ...]:
    """The host and every domain above it: `site:example.org` finds `docs.example.org`."""
    labels = host.split(".")
    return tuple(".".join(labels[i:]) for i in range(min(len(labels), 8)))


def _year(milliseconds: int) -> int:
    # good to a day at the turn of the year, and 20 times faster than a datetime
    return max(0, 1970 + int(milliseconds // 86_400_000 // 365.2425))


def _depth(page: SearchDocument) -> int:
    """Levels of the path below the host."""
    if page.id or not page.host:
        return NOT_CRAWLED
    path = page.url.partition("?")[0].partition("://")[2]
    last = path.rpartition("/")[2]
    return min(NOT_CRAWLED - 1, max(0, path.count("/") - (not last or last.startswith("index."))))

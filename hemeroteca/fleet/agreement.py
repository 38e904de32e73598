"""Whether two answers to one URL say the same: status, links and numbers exactly, text by similarity, and stable
headers. Not bytes: dates, tokens and advertisements differ between two honest answers.

Pure, and bounded: a hostile body costs no more than `MAX_BYTES` of reading. Two answers of an unstable page may differ;
who compares decides by asking twice itself (`engine.confirmations`).
"""

import hashlib
import re
from heapq import nsmallest

import msgspec

from hemeroteca.warc import Capture

MAX_BYTES = 2 << 20  # of a decoded body that is compared
MAX_WORDS = 50_000
SKETCH = 128  # hashes of the text that are kept: similarity to about ± 0.04
MIN_SIMILARITY = 0.85
STABLE_HEADERS = ("content-type", "content-language", "location", "content-disposition")

_TAG = re.compile(rb"<(script|style|noscript|template)\b.*?</\1\s*>|<!--.*?-->|<[^>]{0,2000}>", re.S | re.I)
_LINK = re.compile(
    rb"<(?:a|area|link|img|iframe|form)\b[^>]{0,2000}?\b(?:href|src|action)\s*=\s*[\"']?([^\"'\s>]{1,1000})", re.I
)
_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d[\d.,]*")
_CHANGING = re.compile(r"[?&;#].*$")  # what follows often holds a session or a token


class Fingerprint(msgspec.Struct, frozen=True):
    """What is compared of an answer; a few hundred bytes."""

    status: int
    headers: str = ""  # hash of the stable ones
    links: str = ""  # hash of their set, without queries
    numbers: str = ""  # hash of their multiset
    sketch: tuple[int, ...] = ()  # the least hashes of its word triples
    digest: str = ""  # of the whole body: equal bytes need no further look


def fingerprint(capture: Capture) -> Fingerprint:
    body, _ = capture.content(MAX_BYTES)
    headers = "\n".join(f"{name}: {capture.header(name).strip().lower()}" for name in STABLE_HEADERS)
    if capture.status == 304 or not body:
        return Fingerprint(capture.status, _hash(headers.encode()), digest=capture.digest())
    if not _is_text(capture.media_type, body):
        whole = _hash(body)
        return Fingerprint(capture.status, _hash(headers.encode()), numbers=whole, digest=capture.digest())
    links = sorted({_CHANGING.sub("", link.decode("utf-8", "replace")) for link in _LINK.findall(body)})
    text = _TAG.sub(b" ", body).decode("utf-8", "replace").lower()
    words = _WORD.findall(text)[:MAX_WORDS]
    triples = {" ".join(words[i : i + 3]) for i in range(max(1, len(words) - 2))} if words else set()
    sketch = tuple(nsmallest(SKETCH, (int.from_bytes(_short(triple.encode()), "big") for triple in triples)))
    numbers = sorted(_NUMBER.findall(text)[:MAX_WORDS])
    return Fingerprint(
        status=capture.status,
        headers=_hash(headers.encode()),
        links=_hash("\n".join(links).encode()),
        numbers=_hash("\n".join(numbers).encode()),
        sketch=sketch,
        digest=capture.digest(),
    )


def agree(one: Fingerprint, other: Fingerprint) -> bool:
    return difference(one, other) == ""


def difference(one: Fingerprint, other: Fingerprint) -> str:
    """The first thing in which two answers differ, in a word for people; empty when they agree."""
    if one.status != other.status:
        return f"status {one.status} and {other.status}"
    if one.digest and one.digest == other.digest and one.headers == other.headers:
        return ""
    for name in ("headers", "links", "numbers"):
        if getattr(one, name) != getattr(other, name):
            return name
    return "" if similarity(one.sketch, other.sketch) >= MIN_SIMILARITY else "text"


def similarity(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """Estimated share of word triples two texts have in common (bottom-k sketches)."""
    if not one or not other:
        return 1.0 if one == other else 0.0
    least = set(sorted({*one, *other})[:SKETCH])
    return len(least.intersection(one, other)) / len(least)


def _is_text(media_type: str, body: bytes) -> bool:
    kind = media_type.partition(";")[0].strip().lower()
    if not kind:
        return b"\0" not in body[:1024]
    return kind.startswith("text/") or kind.endswith(("xml", "json", "javascript"))


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _short(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=5).digest()

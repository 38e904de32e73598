"""The compiled reader of plainly written HTML (native/, in Rust). Where it was not built nothing is missing but speed.

`read` gives what the page says, or None: the page is not plain (or there is no compiled reader), and `html` reads it.
"""

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, cast

import msgspec
import re2

import hemeroteca
from hemeroteca.extract.document import Leads, Limits, PackedLinks, Place

OFF = "HEMEROTECA_NATIVE"  # set to 0: pages are read without it

DATE, AUTHOR, LINKED_DATA = range(3)
CSS, SRCSET, REFRESH, MODULE = "css", "srcset", "refresh", "module"  # links still to be read: `Read.pending`
_LIMITS = (
    "html_bytes", "html_tags", "depth", "text_chars", "line_chars", "description_chars", "headings_chars",
    "anchor_chars", "context_chars", "href_chars", "links", "css_bytes",
)  # fmt: skip


class Read(msgspec.Struct, array_like=True, gc=False):
    """What was read, in the order of `Answer` in native/src/page/answer.rs."""

    doubtful: bool  # so long that it must be asked whether it is a bomb
    pending: bool
    title: str
    description: str
    headings: str
    text: str
    main: str | None  # None: the same as `text`
    links: PackedLinks
    canonical: str | None
    base: str | None
    noindex: bool
    nofollow: bool
    noarchive: bool
    language: str  # as declared
    facts: list[tuple[int, str]]
    social_title: str  # of og:title
    cut: bool  # the text was longer than the limit
    leads: Leads | None


def load() -> Any:
    """The compiled module; None where it is absent, of another version or an older build of it, or not wanted."""
    if os.environ.get(OFF) == "0":
        return None
    try:
        import hemeroteca_native as module
    except ImportError:
        return None
    built = module.__version__ == hemeroteca.__version__ and all(hasattr(module, name) for name in _NAMES)
    return module if built else None


_NAMES = (
    "KeySet", "Passage", "Reader", "Signs", "Terms", "WordWeights",
    "cut", "fingerprints", "is_stuffed", "link_features", "mark", "simhash",
)  # fmt: skip
_module = load()
_decode = msgspec.msgpack.Decoder(Read).decode
_NOWHERE = Place(b"", 0, 0)


def read(data: bytes, limits: Limits, *, context: bool = False, place: Place | None = None) -> Read | None:
    """Read UTF-8 `data`; None: it is not plain. `context`: of each link. `place`: its links are resolved from there."""
    if _module is None:
        return None
    answer = _reader(limits).read(data, context, *(place or _NOWHERE))
    return None if answer is None else _decode(answer)


def simhash(text: bytes, digits: bool = True) -> int | None:
    """The fingerprint of a text (`search.document.simhash`); None: there is no compiled reader."""
    return None if _module is None else _module.simhash(text, digits)


def fingerprints(text: str, shown: str, own: set[str]) -> tuple[int, int] | None:
    """Those of `ingest.fingerprints`; None: there is no compiled reader."""
    if _module is None:
        return None
    return _module.fingerprints(text.encode("utf-8", "replace"), shown.encode("utf-8", "replace"), own)


def is_stuffed(text: str, share: float, distinct: float, most: int) -> bool | None:
    """That of `search.index.document_fields`; None: there is no compiled reader. Half a character raises
    UnicodeEncodeError."""
    return None if _module is None else _module.is_stuffed(text, share, distinct, most)


def mark(target: int, text: str) -> int:
    """A key for a link with this text."""
    return target ^ hash(text) if _module is None else _module.mark(target, text)


def cut(answer: bytes) -> tuple[bytes, list[Any]] | None:
    """An answer of a wiki without its texts, and these (`lake.revisions.Passage`); see native/src/passages.rs.

    None: it is not plain, or there is no compiled reader.
    """
    return None if _module is None else _module.cut(answer)


# Of `focus`, which has them in Python too; None: there is no compiled reader.
Terms: Any = getattr(_module, "Terms", None)
WordWeights: Any = getattr(_module, "WordWeights", None)
link_features: Any = getattr(_module, "link_features", None)


class KeySet(set[int]):
    """Keys that were met. Lists of keys are bytes, eight a key."""

    def missing(self, keys: bytes) -> list[int]:
        """Which of these keys are not in the set, by their places."""
        return [place for place, key in enumerate(memoryview(keys).cast("q")) if key not in self]

    def add_missing(self, keys: bytes, most: int) -> list[int]:
        """The same, `most` at most, which are in the set from now on."""
        found: list[int] = []
        for place, key in enumerate(memoryview(keys).cast("q")):
            if len(found) < most and key not in self:
                self.add(key)
                found.append(place)
        return found


def key_set() -> KeySet:
    """An empty one; the compiled one looks up all links of a page at once."""
    return KeySet() if _module is None else cast(KeySet, _module.KeySet())


class Signs:
    """Byte strings, any of which may be in a body; one pass over it looks for all."""

    def __init__(self, signs: Sequence[bytes]) -> None:
        compiled = _module.Signs(list(signs)) if _module is not None else None
        self.are_in: Callable[[bytes], bool] = compiled.are_in if compiled is not None else _searched(signs)


def _searched(signs: Sequence[bytes]) -> Callable[[bytes], bool]:
    search = re2.compile(b"|".join(map(re2.escape, signs))).search
    return lambda data: search(data) is not None


@lru_cache(8)
def _reader(limits: Limits) -> Any:
    return _module.Reader(**{name: getattr(limits, name) for name in _LIMITS})

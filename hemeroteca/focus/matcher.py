"""Which terms occur in a text: one pass over its bytes, however many terms there are.

Text and terms are folded in the same way: letters become small, everything that is neither letter nor digit becomes a
space. Folding works on UTF-8 bytes by one table, because that costs 1 ns a character; that it also merges some letters
of other scripts with each other does no harm, as it happens on both sides.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hemeroteca.extract import native
from hemeroteca.focus.definition import TermTable

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

SPACE = 32
MAX_ACCENTED = 4  # words of a term whose accents are mixed


def fold(text: str) -> bytes:
    """Small letters, and spaces between and around words."""
    return b" " + _encoded(text).translate(_TABLE) + b" "


def fold_all(texts: Iterable[str]) -> tuple[bytes, list[int]]:
    """Several short texts folded in one go, two spaces between them so that no term spans two; and for each the place
    where what begins belongs to the next."""
    encoded = _encoded("\n\n".join([text.replace("\n", " ") for text in texts]))
    ends, size = [], 0
    for line in encoded.split(b"\n")[::2]:
        size += len(line) + 2
        ends.append(size)
    return b" " + encoded.translate(_TABLE) + b" ", ends


def fold_words(*texts: str) -> list[list[bytes]]:
    """The words of each of a few short texts."""
    encoded = _encoded("\n".join([text.replace("\n", " ") for text in texts]))
    return [line.split() for line in encoded.translate(_LINE_TABLE).split(b"\n")]


def _encoded(text: str) -> bytes:
    encoded = text.encode("utf-8", "replace")
    if not text.isascii() and (b"\xe2" in encoded or b"\xcc" in encoded or b"\xc2" in encoded):
        if _COMBINED.search(text):  # letters and their accents apart, as some systems write them
            text = unicodedata.normalize("NFC", text)
        encoded = text.translate(_MARKS).encode("utf-8", "replace")
    return encoded


def spellings(term: str) -> list[bytes]:
    """A term as it may be found in folded text: as it is written, without its accents, and, where several words have
    some, with those of each word alone (`información geografica`): people leave out some and write others."""
    words = unicodedata.normalize("NFC", term).split()
    bare = [_bare(word) for word in words]
    accented = [place for place, word in enumerate(words) if word != bare[place]]
    forms = [words, bare]
    if 1 < len(accented) <= MAX_ACCENTED:
        for kept in range(1, (1 << len(accented)) - 1):
            chosen = {place for bit, place in enumerate(accented) if kept >> bit & 1}
            forms.append([word if place in chosen else bare[place] for place, word in enumerate(words)])
    written = (b" " + b" ".join(fold(" ".join(form)).split()) for form in forms)
    return [form for form in dict.fromkeys(written) if len(form) > 1]


def _bare(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


def table(terms: Iterable[tuple[str, Sequence[str], float]]) -> TermTable:
    """Of (name of the term, its forms, its weight); of a form that belongs to several terms the heaviest has it."""
    names: dict[str, int] = {}
    weights: list[float] = []
    owners: dict[bytes, int] = {}
    for name, forms, weight in terms:
        number = names.setdefault(name, len(weights))
        if number == len(weights):
            weights.append(weight)
        else:
            weights[number] = max(weights[number], weight)
        for form in forms:
            for pattern in spellings(form):
                owner = owners.get(pattern)
                if owner is None or weights[owner] < weights[number]:
                    owners[pattern] = number
    return TermTable(list(owners), list(owners.values()), weights)


class Matcher:
    """Finds terms in folded text; of several at one place, the longest."""

    def __init__(self, table: TermTable) -> None:
        self._table = table
        self.weights = table.weights

    @cached_property
    def compiled(self) -> Any:
        """The same in Rust, where it was built; it gives None for texts that are not plain."""
        table = self._table
        return native.Terms and native.Terms(table.patterns, table.terms, table.weights)

    @cached_property
    def _automaton(self) -> "BytesAhoCorasick":
        from ahocorasick_rs import BytesAhoCorasick, MatchKind

        return BytesAhoCorasick(self._table.patterns, matchkind=MatchKind.LeftmostLongest)

    def find(self, folded: bytes) -> list[tuple[int, int]]:
        """Term and place of each occurrence, in order."""
        if not self._table.patterns:
            return []
        terms = self._table.terms
        return [
            (terms[pattern], start)
            for pattern, start, end in self._automaton.find_matches_as_indexes(folded)
            if folded[end] == SPACE
        ]


# In UTF-8 all of these begin with CC, E2 or C2.
_COMBINED = re.compile("[\u0301\u0300\u0303\u0308\u0302\u0327]")
_MARKS = str.maketrans(dict.fromkeys("«»“”„‘’–—…¿¡·•\u00a0\u2009", " "))


def _fold_table() -> bytes:
    folded = bytearray(range(256))
    for code in range(128):
        letter = chr(code)
        folded[code] = ord(letter.lower()) if letter.isalnum() else SPACE
    for code in range(0x80, 0x9F):  # the second byte of À to Þ: that of à to þ
        folded[code] = code + 0x20
    return bytes(folded)


_TABLE = _fold_table()
_LINE_TABLE = _TABLE[:10] + b"\n" + _TABLE[11:]

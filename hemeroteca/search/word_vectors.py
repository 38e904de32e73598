"""What words mean, by vectors somebody else has learned: pages about the same thing in other words come first.

The vectors are those of the package `wordllama` (32,000 pieces of words, 256 numbers each, 16 MB): nothing is fetched,
and none of its code is run. A text is the sum of its words, without those that say nothing. That takes microseconds
where a sentence model (`semantic`) takes tens of milliseconds, and knows no more than which words are alike.
The table is mapped, not read: a process that answers no query does not pay for it.
"""

from __future__ import annotations

import math
import mmap
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from itertools import count, islice, pairwise
from pathlib import Path

import msgspec
import numpy as np

from hemeroteca.search import analysis

BEGINNING = 60  # words of a text that say something, by which it is compared …
_CHARACTERS = 15  # … for each of which so many characters are looked at
_LONG = 300  # words of a query
_LONGEST = 40  # letters of a word; what has more is none
_REMEMBERED = 32_768  # words whose vectors are kept: 1 kB each
_MAX_NEW = 4096  # of one text
_WORD = re.compile("[a-z0-9\u00df-\u024f]+")  # of other scripts the pieces are single letters
_CODE = re.compile(r"\d|\w[_./:]\w|^-")
_OTHER_SCRIPT = "[\u0370-\u1fff\u2c00-\ud7ff\uf900-\uffdc\U00010000-\U0003ffff]"  # not compiled before it is needed
_HYPHEN = re.compile(r"\w-\w")
_FEW = 2  # words of a query, among which one with a hyphen is a name
_OTHERS_COUNT = 3.0  # a query of which a third are codes or of other scripts is not compared
_REPEATED = 4  # times each word is there, on average, from which a text is stuffed and says nothing
_OFTEN = 3  # … and so is one of which a word is more than this part of what is looked at
_GLUE = "\u2581"  # how the package writes the space before a word
_SPACED = bytes(  # words in small letters with spaces between; what is beyond ASCII is looked at when a word is learned
    code if code >= 0x80 else ord(chr(code).lower()) if chr(code).isalnum() else 0x20 for code in range(256)
)
_HEADER = 8  # bytes before the header of the file of vectors: its length


class WordVectors:
    """Vectors of texts; `pieces` are the rows of `table` by how they are written, those joined first lowest."""

    def __init__(self, pieces: dict[str, int], table: np.ndarray) -> None:
        self._pieces, self._table = pieces, table
        self._met = _Met(table.shape[1])
        self.nothing = np.zeros(table.shape[1], dtype=np.float32)  # near no text

    def of(self, text: str, language: str, most: int = BEGINNING) -> np.ndarray | None:
        """Of length 1, by the first words that say something; None where none is known or it is stuffed with a few."""
        met = self._met
        if met.is_full:
            met = self._met = _Met(self._table.shape[1])
        known = met.words.get(language)
        if known is None:
            known = met.words.setdefault(language, _Words(lambda written: self._learn(written, language, met)))
        words = text[: most * _CHARACTERS].encode("utf-8", "replace").translate(_SPACED).split()
        said = list(islice(filter(None, map(known.__getitem__, words)), most))
        if not said or len(set(said)) < len(said) // _REPEATED or max(Counter(said).values()) > most // _OFTEN:
            return None
        summed: np.ndarray = np.add.reduce(met.table.take(said, axis=0))
        length = math.sqrt(summed.dot(summed))
        return summed / length if length else None

    def of_query(self, words: list[str]) -> tuple[np.ndarray, float] | None:
        """The same of a query, and how far it is of words, up to 1: codes and other scripts mean only themselves."""
        named = len(words) <= _FEW
        other = sum(_is_other(word) or (named and bool(_HYPHEN.search(word))) for word in words)
        share = 1 - _OTHERS_COUNT * other / max(1, len(words))
        vector = self.of(" ".join(words), "", _LONG) if share > 0 else None
        return None if vector is None else (vector, share)

    def _learn(self, written: bytes, language: str, met: _Met) -> int:
        """Row of a word, as it is written between spaces and ASCII signs; 0: it says nothing."""
        rows = [
            row
            for word in _WORD.findall(written.decode("utf-8").lower())
            if len(word) <= _LONGEST and not _says_nothing(word, language)
            for row in self._cut(word)
        ]
        return met.keep(np.add.reduce(self._table[rows], dtype=np.float32)) if rows else 0

    def _cut(self, word: str) -> tuple[int, ...]:
        """Pieces of a word: the two neighbours that make the piece learned first are joined, while there are any."""
        parts = list(_GLUE + word)
        number, none = self._pieces.get, len(self._pieces)
        joined = [number(one + other, none) for one, other in pairwise(parts)]
        while joined and (first := min(joined)) < none:
            at = joined.index(first)
            del joined[at]
            parts[at] += parts.pop(at + 1)
            if at:
                joined[at - 1] = number(parts[at - 1] + parts[at], none)
            if at < len(joined):
                joined[at] = number(parts[at] + parts[at + 1], none)
        return tuple(self._pieces[part] for part in parts if part in self._pieces)


def _says_nothing(word: str, language: str) -> bool:
    """Whether it is a little word, or a letter that an apostrophe cut off."""
    return language in analysis.LANGUAGES and analysis.is_stop_word(f"'{word}" if len(word) == 1 else word, language)


def _is_other(word: str) -> bool:
    """Whether it is a code, or of another script."""
    return bool(_CODE.search(word) or (not word.isascii() and re.search(_OTHER_SCRIPT, word)))


class _Met:
    """Words met so far. When it is full another takes its place, and who still reads this one is not disturbed."""

    def __init__(self, width: int) -> None:
        self.table = np.zeros((_REMEMBERED, width), dtype=np.float32)  # rows without a word take no memory
        self.words: dict[str, _Words] = {}  # by language
        self._rows = count(1)
        self._last = 0

    @property
    def is_full(self) -> bool:
        return self._last + _MAX_NEW >= len(self.table)

    def keep(self, vector: np.ndarray) -> int:
        self._last = row = next(self._rows)
        if row >= len(self.table):  # many threads at once: it says nothing this time
            return 0
        self.table[row] = vector
        return row


class _Words(dict[bytes, int]):
    """Rows of words, learned when they are asked for."""

    def __init__(self, learn: Callable[[bytes], int]) -> None:
        self._learn = learn

    def __missing__(self, written: bytes) -> int:
        row = self._learn(written)
        if len(written) <= _LONGEST and len(self) < _REMEMBERED:
            self[written] = row
        return row


class _Model(msgspec.Struct):
    vocab: dict[str, int]


class _Tokenizer(msgspec.Struct):
    model: _Model


class _Tensor(msgspec.Struct):
    shape: tuple[int, int]
    data_offsets: tuple[int, int]


@cache
def load() -> WordVectors | None:
    """None where the package is not installed: then words alone order the results."""
    package = find_spec("wordllama")
    if package is None or not package.submodule_search_locations:
        return None
    folder = Path(package.submodule_search_locations[0])
    try:
        written = (folder / "tokenizers" / "l2_supercat_tokenizer_config.json").read_bytes()
        table = _table(folder / "weights" / "l2_supercat_256.safetensors")
    except FileNotFoundError:
        return None
    return WordVectors(msgspec.json.decode(written, type=_Tokenizer).model.vocab, table)


def _table(file: Path) -> np.ndarray:
    with file.open("rb") as opened:
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    begin = _HEADER + int.from_bytes(mapped[:_HEADER], "little")
    header = msgspec.json.decode(mapped[_HEADER:begin], type=dict[str, _Tensor])
    (tensor,) = header.values()
    rows, width = tensor.shape
    start, _ = tensor.data_offsets
    return np.frombuffer(mapped, dtype="<f2", count=rows * width, offset=begin + start).reshape(rows, width)

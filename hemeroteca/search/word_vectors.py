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
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np

from hemeroteca.search import analysis

BEGINNING = 60  # words of a text that say something, by which it is compared …
_CHARACTERS = 15  # … for each of which so many characters are looked at
_LONG = 300  # words of a query
_LONGEST = 40  # letters of a word; what has more is none
_REMEMBERED = 50_000  # words whose pieces are known
_WORD = re.compile("[a-z0-9\u00df-\u024f]+")  # of other scripts the pieces are single letters
_CODE = re.compile(r"\d|\w[_./:]\w|^-")
_OTHER_SCRIPT = "[\u0370-\u1fff\u2c00-\ud7ff\uf900-\uffdc\U00010000-\U0003ffff]"  # not compiled before it is needed
_HYPHEN = re.compile(r"\w-\w")
_FEW = 2  # words of a query, among which one with a hyphen is a name
_OTHERS_COUNT = 3.0  # a query of which a third are codes or of other scripts is not compared
_REPEATED = 4  # times each word is there, on average, from which a text is stuffed and says nothing
_GLUE = "\u2581"  # how the package writes the space before a word
_HEADER = 8  # bytes before the header of the file of vectors: its length


class WordVectors:
    """Vectors of texts; `pieces` are the rows of `table` by how they are written, those joined first lowest."""

    def __init__(self, pieces: dict[str, int], table: np.ndarray) -> None:
        self._pieces, self._table = pieces, table
        self._unpacked = np.zeros(table.shape, dtype=np.float32)  # rows met so far; the others take no memory
        self._is_unpacked = np.zeros(len(table), dtype=bool)
        self._known: dict[str, dict[str, tuple[int, ...]]] = {}  # language → word → its pieces; of stop words none

    def of(self, text: str, language: str, most: int = BEGINNING) -> np.ndarray | None:
        """Of length 1, by the first words that say something; None where none is known or it is stuffed with a few."""
        rows: list[int] = []
        words: set[str] = set()
        said = 0
        known = self._known.setdefault(language, {})
        for word in _WORD.findall(text[: most * _CHARACTERS].lower()):
            found = known.get(word)
            if found is None:
                found = known[word] = self._learn(word, language)
            if found:
                rows += found
                words.add(word)
                said += 1
                if said == most:
                    break
        if not rows or len(words) < said // _REPEATED:
            return None
        summed: np.ndarray = np.add.reduce(self._unpacked.take(rows, axis=0))
        length = math.sqrt(summed.dot(summed))
        return summed / length if length else None

    def of_query(self, words: list[str]) -> tuple[np.ndarray, float] | None:
        """The same of a query, and how far it is of words, up to 1: codes and other scripts mean only themselves."""
        named = len(words) <= _FEW
        other = sum(_is_other(word) or (named and bool(_HYPHEN.search(word))) for word in words)
        share = 1 - _OTHERS_COUNT * other / max(1, len(words))
        vector = self.of(" ".join(words), "", _LONG) if share > 0 else None
        return None if vector is None else (vector, share)

    def _learn(self, word: str, language: str) -> tuple[int, ...]:
        if sum(map(len, self._known.values())) >= _REMEMBERED:
            self._known.clear()
        little = language in analysis.LANGUAGES and analysis.is_stop_word(word, language)
        rows = () if little or len(word) > _LONGEST else self._cut(word)
        new = [row for row in rows if not self._is_unpacked[row]]
        if new:
            self._unpacked[new] = self._table[new]
            self._is_unpacked[new] = True
        return rows

    def _cut(self, word: str) -> tuple[int, ...]:
        """Pieces of a word: the two neighbours that make the piece learned first are joined, while there are any."""
        parts = list(_GLUE + word)
        none = len(self._pieces)
        while len(parts) > 1:
            joined = [self._pieces.get(one + other, none) for one, other in pairwise(parts)]
            first = min(joined)
            if first == none:
                break
            at = joined.index(first)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return tuple(self._pieces[part] for part in parts if part in self._pieces)


def _is_other(word: str) -> bool:
    """Whether it is a code, or of another script."""
    return bool(_CODE.search(word) or (not word.isascii() and re.search(_OTHER_SCRIPT, word)))


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

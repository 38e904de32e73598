"""The language of the indexed pages: which words exist, how often, and what follows what.

Learned from a sample of the texts and written as flat arrays that `suggester` maps into memory. N-grams up to n = 3 are
counted by sorting packed numbers, not in dictionaries, so that memory is bounded by `Bounds`, not by the text.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hemeroteca import lazy
from hemeroteca.search.suggest.query_log import LoggedQuery

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy.Module("numpy")

_PIECE = re.compile(r"[^\W\d_]+|[.!?;:¿¡\n()\"]")
# Titles nobody types: addresses, and names made of letters and digits by a machine
_NOISE = re.compile(r"://|(?=[^\W_]*\d[^\W_]*\d[^\W_]*\d)(?=[^\W_]*[^\W\d_])[^\W_]{12,}|^[\W\d_]*$")
BITS = 21  # of a packed word number: two million words
_END, _RARE = 0, 1  # numbers of "a sentence ends here" and "some word not kept"


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """How much is kept. The defaults need about 60 MB on disk, mapped, and 250 MB for a moment while learning."""

    words: int = 100_000
    ngrams: int = 1_500_000  # of each order
    followers: int = 12  # next words kept after each context
    titles: int = 60_000
    text: int = 6_000  # characters read of each document
    words_seen: int = 1_500_000  # different words counted before the rare ones are given up


class Learner:
    """Takes texts, writes a model."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self._bounds = bounds or Bounds()
        self._numbers: dict[str, int] = {"\n": _END, "\0": _RARE}
        self._waiting: list[np.ndarray] = []
        self._waiting_size = 0
        self._pairs = _Counts(self._bounds.ngrams * 2)
        self._triples = _Counts(self._bounds.ngrams * 2)
        self._counts = np.zeros(1 << 12, dtype=np.int64)
        self._languages: dict[str, Counter[str]] = {}
        self._titles: Counter[str] = Counter()

    def add(self, title: str, text: str, language: str = "") -> None:
        title = " ".join(title.split())
        if (
            3 <= len(title) <= 100
            and not _NOISE.search(title)
            and (title in self._titles or len(self._titles) < self._bounds.titles * 2)
        ):
            self._titles[title] += 1
        pieces = _PIECE.findall(f"{title}\n{text[: self._bounds.text]}".lower())
        numbers, full = self._numbers, len(self._numbers) >= self._bounds.words_seen
        if full:
            ids = [numbers.get(piece, _RARE) if len(piece) > 1 or piece.isalnum() else _END for piece in pieces]
        else:
            ids = [
                numbers.setdefault(piece, len(numbers)) if len(piece) > 1 or piece.isalnum() else _END
                for piece in pieces
            ]
        if language:
            languages = self._languages.setdefault(language, Counter())
            if len(languages) < self._bounds.words_seen:
                languages.update(set(pieces))
        self._waiting.append(np.array([*ids, _END], dtype=np.int64))
        self._waiting_size += len(ids)
        if self._waiting_size > 1_000_000:
            self._count()

    def write(self, path: Path, queries: Iterable[LoggedQuery] = ()) -> None:
        """Put the model in place of the one in `path`; who reads the old one goes on with it."""
        self._count()
        _clear_drafts(path)
        fresh = path / f"model.{os.getpid()}.draft"
        fresh.mkdir(mode=0o700, parents=True)
        kept = self._write_words(fresh)
        for order, counts in ((2, self._pairs), (3, self._triples)):
            self._write_followers(fresh, order, counts, kept)
        titles = (LoggedQuery(title, times) for title, times in self._titles.most_common(self._bounds.titles))
        _write_phrases(fresh / "titles", titles)
        most_asked = sorted(queries, key=lambda one: -one.times)[: self._bounds.titles]
        _write_phrases(fresh / "queries", most_asked)
        _to_disk(fresh)
        while True:
            generations = [int(old.name[6:]) for old in path.glob("model.*") if old.name[6:].isdecimal()]
            try:
                fresh.rename(path / f"model.{max(generations, default=0) + 1}")
                break
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # another process was as far
                    raise
        for old in generations:
            shutil.rmtree(path / f"model.{old}", ignore_errors=True)

    def _count(self) -> None:
        if not self._waiting:
            return
        ids = np.concatenate(self._waiting)
        self._waiting, self._waiting_size = [], 0
        if len(self._numbers) > len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros(len(self._numbers), dtype=np.int64)])
        found = np.bincount(ids, minlength=len(self._counts))
        self._counts = self._counts + found[: len(self._counts)]
        known = ids > _RARE
        first, second = ids[:-1], ids[1:]
        pair = (first << BITS) | second
        self._pairs.add(pair[known[:-1] & known[1:]])
        triple = (pair[:-1] << BITS) | ids[2:]
        self._triples.add(triple[known[:-2] & known[1:-1] & known[2:]])

    def _write_words(self, folder: Path) -> np.ndarray:
        """The vocabulary by folded form. Returns old number → new number, -1 for words not kept."""
        counts = self._counts
        forms: dict[str, list[tuple[int, str, int]]] = {}
        least = 2 if len(self._numbers) > self._bounds.words else 1
        for word, number in self._numbers.items():
            count = int(counts[number]) if number < len(counts) else 0
            if number > _RARE and count >= least and len(word) <= 40:
                forms.setdefault(fold(word), []).append((count, word, number))
        weight = {form: sum(count for count, _, _ in parts) for form, parts in forms.items()}
        chosen = sorted(sorted(weight, key=weight.__getitem__, reverse=True)[: self._bounds.words])
        languages = sorted(self._languages)
        kept = np.full(len(self._numbers), -1, dtype=np.int64)
        shown, spoken = [], []
        for number, form in enumerate(chosen):
            best = max(forms[form])
            shown.append(best[1])
            for _, _, old in forms[form]:
                kept[old] = number
            uses = [self._languages[name].get(best[1], 0) for name in languages]
            most = max(uses, default=0)
            spoken.append(uses.index(most) if most else -1)
        (folder / "words").write_text("\n".join(shown), "utf-8")
        (folder / "forms").write_text("\n".join(chosen), "utf-8")
        (folder / "languages").write_text("\n".join(languages), "utf-8")
        np.save(folder / "counts.npy", np.array([weight[form] for form in chosen], dtype=np.uint32))
        np.save(folder / "lengths.npy", np.array([len(form) for form in chosen], dtype=np.uint8))
        np.save(folder / "letters.npy", letters(chosen))
        np.save(folder / "spoken.npy", np.array(spoken, dtype=np.int8))
        _write_deletes(folder, chosen)
        return kept

    def _write_followers(self, folder: Path, order: int, counts: _Counts, kept: np.ndarray) -> None:
        packed, times = counts.result()
        mask = (1 << BITS) - 1
        parts = [kept[(packed >> (BITS * i)) & mask] for i in range(order)]  # last word first
        good = np.logical_and.reduce([part >= 0 for part in parts]) if len(packed) else np.zeros(0, bool)
        parts, times = [part[good] for part in parts], times[good]
        following = parts[0]
        context = parts[1] if order == 2 else (parts[2] << BITS) | parts[1]
        # several written forms may have become one: add them up
        merged, place = np.unique((context << BITS) | following, return_inverse=True)
        times = np.bincount(place, weights=times, minlength=len(merged)).astype(np.int64)
        context, following = merged >> BITS, merged & mask
        by_count = np.lexsort((-times, context))
        context, following, times = context[by_count], following[by_count], times[by_count]
        starts = np.flatnonzero(np.diff(context, prepend=-1))
        place_in_context = np.arange(len(context)) - np.repeat(starts, np.diff(starts, append=len(context)))
        top = place_in_context < self._bounds.followers
        if top.sum() > self._bounds.ngrams:
            top &= times >= np.partition(times[top], -self._bounds.ngrams)[-self._bounds.ngrams]
        np.save(folder / f"context{order}.npy", context[top])
        np.save(folder / f"next{order}.npy", following[top].astype(np.uint32))
        np.save(folder / f"times{order}.npy", times[top].astype(np.uint32))


class _Counts:
    """How often each number came, in sorted arrays; the rarest are given up above `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values = np.empty(0, np.int64)
        self._times = np.empty(0, np.int64)

    def add(self, values: np.ndarray) -> None:
        values, times = np.unique(values, return_counts=True)
        both = np.concatenate([self._values, values])
        self._values, place = np.unique(both, return_inverse=True)
        self._times = np.bincount(
            place, weights=np.concatenate([self._times, times]), minlength=len(self._values)
        ).astype(np.int64)
        if len(self._values) > self._most:
            floor = np.partition(self._times, -self._most)[-self._most]
            often = self._times > floor
            self._values, self._times = self._values[often], self._times[often]

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        return self._values, self._times


def fold(word: str) -> str:
    """Small letters without accents."""
    word = word.lower()
    if word.isascii():
        return word
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


def letters(forms: list[str]) -> np.ndarray:
    """Which letters each word has, as bits: two words within n edits differ in at most 2n of them."""
    marks = np.uint32(1) << (_codes("".join(forms)) & np.uint32(31))
    lengths = np.array([len(form) for form in forms], np.int64)
    return np.bitwise_or.reduceat(marks, np.cumsum(lengths) - lengths)  # no word is empty


def deletes(forms: list[str]) -> np.ndarray:
    """A row for each word: hashes of its beginning with up to two letters left out (SymSpell). Short words lose one,
    and have the same hash several times."""
    codes = _codes("".join(form[:_STEM].ljust(_STEM, "\0") for form in forms)).reshape(-1, _STEM)
    hashes = codes @ _factors()
    is_short = np.array([len(form) < 5 for form in forms], bool)
    hashes[is_short, 1 + _STEM :] = hashes[is_short, :1]
    return hashes


def _codes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


_STEM = 7  # letters of a word's beginning
_MIXED = [0x9E3779B1, 0x85EBCA6B, 0xC2B2AE35, 0x27D4EB2F, 0x165667B1, 0xD3A2646D, 0xFD7046C5]


@cache
def _factors() -> np.ndarray:
    """By what letters are multiplied: a column for each choice of letters left out, a row for each place.

    It goes by the place among those that are left; what is left out counts nothing.
    """
    choices: list[tuple[int, ...]] = [(), *((one,) for one in range(_STEM)), *combinations(range(_STEM), 2)]
    rows = [
        [0 if at in gone else _MIXED[at - sum(other < at for other in gone)] for gone in choices] for at in range(_STEM)
    ]
    return np.array(rows, np.uint32)


def _write_deletes(folder: Path, forms: list[str]) -> None:
    owners = np.arange(len(forms), dtype=np.uint64)
    pairs = np.sort((deletes(forms).astype(np.uint64) << np.uint64(32) | owners[:, None]).ravel())
    pairs = pairs[np.diff(pairs, prepend=~pairs[:1]) != 0]  # each once
    np.save(folder / "delete_keys.npy", (pairs >> np.uint64(32)).astype(np.uint32))
    np.save(folder / "delete_words.npy", pairs.astype(np.uint32))


def _write_phrases(stem: Path, phrases: Iterable[LoggedQuery]) -> None:
    chosen = sorted((fold(one.text), one.text, one.times, one.by) for one in phrases)
    stem.with_suffix(".forms").write_text("\n".join(form for form, _, _, _ in chosen), "utf-8")
    stem.with_suffix(".texts").write_text("\n".join(text for _, text, _, _ in chosen), "utf-8")
    np.save(stem.with_suffix(".npy"), np.array([(count, by) for _, _, count, by in chosen], np.int64).reshape(-1, 2))


def _clear_drafts(path: Path) -> None:
    """Remove what processes left that were killed while they wrote."""
    for draft in path.glob("model.*.draft"):
        writer = draft.name.split(".")[1]
        if not writer.isdecimal() or int(writer) == os.getpid() or not _is_alive(int(writer)):
            shutil.rmtree(draft, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def _to_disk(folder: Path) -> None:
    """So that a model that is in place is whole, also after a loss of power."""
    for file in (*folder.iterdir(), folder):
        number = os.open(file, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)

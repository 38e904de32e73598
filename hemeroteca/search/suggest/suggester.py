"""While a person types: how the word goes on, which word comes next, and what was probably meant.

Reads what `model` has learned; the arrays are mapped, so a process that only completes a word touches little memory.
Everything comes from the indexed pages themselves: no dictionary, any language.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np

from hemeroteca.search import analysis
from hemeroteca.search.graph import distinct
from hemeroteca.search.suggest.language_model import BITS, deletes, fold, letters
from hemeroteca.search.suggest.query_log import EVERYBODY

BACK_OFF = 0.4  # stupid back-off (Brants et al. 2007): a shorter context counts this much
MIN_PROBABILITY = 0.02  # below it, no next word is offered
UNKNOWN, UNKNOWN_BESIDE = 14.0, 8.0  # cost of a word the index does not know, at least and beyond the rarest known one
SECOND_EDIT = {3: 4.5, 4: 4.5, 5: 4.5, 6: 3.5, 7: 3.0, 8: 2.5, 9: 2.0}  # by letters of the word
_LAST = "\U0010ffff"
_PIECES = re.compile(r"[^\W\d_]+")
# operators with their values, patterns, addresses and names of hosts are meant as they are written
_AS_WRITTEN = re.compile(r"""\b\w+:(?:"[^"]*"?|\([^)]*\)?|\S*)|(?<!\S)\S*[*~]\S*|(?<!\S)\S*\w[.@/]\w\S*""")


class Suggestion(msgspec.Struct, frozen=True):
    text: str
    source: str  # query, title, word
    weight: float


class Suggester:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._forms = (folder / "forms").read_text("utf-8").split("\n")
        self._words = (folder / "words").read_text("utf-8").split("\n")
        self._counts = np.load(folder / "counts.npy", mmap_mode="r")
        self._spoken = np.load(folder / "spoken.npy", mmap_mode="r")
        self._languages = (folder / "languages").read_text("utf-8").split("\n")
        self._lengths = np.load(folder / "lengths.npy", mmap_mode="r")
        self._letters = np.load(folder / "letters.npy", mmap_mode="r")
        self._delete_keys = np.load(folder / "delete_keys.npy", mmap_mode="r")
        self._delete_words = np.load(folder / "delete_words.npy", mmap_mode="r")
        self._grams = {
            order: tuple(np.load(folder / f"{part}{order}.npy", mmap_mode="r") for part in ("context", "next", "times"))
            for order in (2, 3)
        }
        self._phrases = {name: _Phrases(folder / name) for name in ("queries", "titles")}
        self._total = float(self._counts.sum()) or 1.0
        if not len(self._forms) == len(self._words) == max(1, len(self._counts)):
            raise ValueError(f"the model in {folder} is not whole")

    @classmethod
    def load(cls, path: Path) -> Suggester | None:
        """The newest model in `path`; None when none was learned yet."""
        found = [folder for folder in path.glob("model.*") if folder.name[6:].isdigit()]
        for folder in sorted(found, key=lambda folder: -int(folder.name[6:])):
            try:
                return _load(folder)
            except (OSError, ValueError):
                continue  # replaced by a newer one just now
        return None

    def complete(self, text: str, limit: int = 8, asker: int | None = None) -> list[Suggestion]:
        """How what was typed may go on, best first: earlier queries, titles, words that fit.

        `asker`: the person who types, who is offered what they or many people asked; None for a stranger.
        """
        text = text[-200:].lstrip()
        if not text.strip():
            return []
        found = self._known_phrases(text, limit, asker)
        head, space, _ = text.rpartition(" ")
        for word, weight in self._continuing(text, limit):
            whole = f"{head}{space}{word}"
            known = found.get(fold(whole))
            if known is None or known.source == "title":  # a title that is also what the words say stands among them
                found[fold(whole)] = Suggestion(known.text if known else whole, "word", weight)
        return _mixed(found.values(), limit)

    def _known_phrases(self, text: str, limit: int, asker: int | None) -> dict[str, Suggestion]:
        """Earlier queries and titles that begin so, by their folded texts."""
        found: dict[str, Suggestion] = {}
        for phrases, source, factor in (("queries", "query", 3.0), ("titles", "title", 1.0)):
            if source == "query" and asker is None:
                continue
            for phrase, times in self._phrases[phrases].beginning(fold(text), limit, asker):
                if fold(phrase) != fold(text.strip()):
                    found.setdefault(fold(phrase), Suggestion(phrase, source, factor * math.log1p(times)))
        return found

    def _continuing(self, text: str, limit: int) -> list[tuple[str, float]]:
        """How the word being typed may go on, or after a space which may come next."""
        head, _, partial = text.rpartition(" ")
        if not partial:
            return self.next_words(text, limit)
        completed = self._completed(fold(partial), self._numbers(head), limit)
        return [(word, weight) for word, weight in completed if fold(word) != fold(partial)]

    def next_words(self, text: str, limit: int = 5, threshold: float = MIN_PROBABILITY) -> list[tuple[str, float]]:
        """Words that probably come next, with their score; nothing when no word is likely enough."""
        numbers = self._numbers(text)[-2:]
        scores = self._following(numbers)
        best = sorted(scores.items(), key=lambda item: -item[1])[:limit]
        return [(self._words[number], score) for number, score in best if score >= threshold]

    def correct(self, query: str, typing: bool = False, is_known: Callable[[str], bool] = lambda word: False) -> str:
        """The query with its misspelt words replaced, all at once; empty when it looks right.

        `typing`: the last word is not finished, and right if any word begins so. `is_known`: words that are right
        though they were not learned, which is done from a sample.
        """
        words = [(match.start(), match.group()) for match in _PIECES.finditer(query[:1000])][:30]
        if not words:
            return ""
        protected = self._protected(query, words, typing)
        known = [self._number(fold(word)) for _, word in words]
        language = self._language([number for number in known if number is not None])
        options = [
            [(word, 0.0, number)]
            if at in protected or self._is_right(word, number) or is_known(word)
            else self._candidates(word, number, language)
            for (at, word), number in zip(words, known, strict=True)
        ]
        chosen = self._best_path(options)
        changed = [(at, word, new) for (at, word), new in zip(words, chosen, strict=True) if fold(new) != fold(word)]
        return _replaced(query, changed) if changed else ""

    def _protected(self, query: str, words: list[tuple[int, str]], typing: bool) -> set[int]:
        """Where words stand that are meant as they are written."""
        spans = [match.span() for match in _AS_WRITTEN.finditer(query[:1000])]
        protected = {at for at, _ in words if any(start <= at < end for start, end in spans)}
        last_at, last = words[-1]
        if typing and query.endswith(last) and self._begins(fold(last)):
            protected.add(last_at)
        return protected

    def spoken(self, words: list[str]) -> Counter[str]:
        """Languages of the words: how many of them are mostly in pages of each."""
        numbers = [self._number(fold(word)) for word in words]
        spoken = [int(self._spoken[number]) for number in numbers if number is not None]
        return Counter(self._languages[language] for language in spoken if language >= 0)

    # words

    def _number(self, form: str) -> int | None:
        place = bisect_left(self._forms, form)
        return place if place < len(self._forms) and self._forms[place] == form else None

    def _begins(self, form: str) -> bool:
        """Whether a known word begins so."""
        place = bisect_left(self._forms, form)
        return place < len(self._forms) and self._forms[place].startswith(form)

    def _numbers(self, text: str) -> list[int]:
        found = (self._number(fold(word)) for word in _PIECES.findall(text)[-3:])
        return [number for number in found if number is not None]

    def _completed(self, partial: str, context: list[int], limit: int) -> list[tuple[str, float]]:
        low, high = bisect_left(self._forms, partial), bisect_right(self._forms, partial + _LAST)
        if low == high:
            return []
        scores: dict[int, float] = (
            {number: score * 10 for number, score in self._following(context[-2:]).items() if low <= number < high}
            if context
            else {}
        )
        counts = self._counts[low:high]
        if context:  # words that never stood here may fill the list, but not those of another language
            same = (self._spoken[low:high] == self._spoken[context[-1]]) | (self._spoken[low:high] < 0)
            counts = np.where(same, counts, 0)
        top = np.argpartition(counts, -min(limit, len(counts)))[-min(limit, len(counts)) :]
        for place in top.tolist():
            if counts[place]:
                scores.setdefault(low + place, float(counts[place]) / self._total * BACK_OFF**2)
        best = sorted(scores.items(), key=lambda item: -item[1])[:limit]
        return [(self._words[number], score) for number, score in best]

    def _following(self, numbers: list[int]) -> dict[int, float]:
        """Stupid back-off: the longest context that was seen, then shorter ones at a discount."""
        scores: dict[int, float] = {}
        discount = 1.0
        for order in (3, 2):
            if len(numbers) < order - 1:
                continue
            context = numbers[-1] if order == 2 else (numbers[-2] << BITS) | numbers[-1]
            for number, times in self._after(order, context):
                base = float(self._counts[numbers[-1]]) if order == 2 else self._pair(numbers[-2], numbers[-1])
                scores.setdefault(number, discount * times / max(base, times, 1.0))
            discount *= BACK_OFF
        return scores

    def _after(self, order: int, context: int) -> list[tuple[int, int]]:
        contexts, following, times = self._grams[order]
        low, high = np.searchsorted(contexts, context, "left"), np.searchsorted(contexts, context, "right")
        return list(zip(following[low:high].tolist(), times[low:high].tolist(), strict=True))

    def _pair(self, first: int, second: int) -> float:
        return float(dict(self._after(2, first)).get(second, 0))

    # spelling

    def _is_right(self, word: str, number: int | None) -> bool:
        """Short words that are common, and the little words of a language, are meant as they are written."""
        if number is not None and self._counts[number] >= 8 and len(word) < 4:
            return True
        return any(analysis.is_stop_word(word, language) for language in self._languages)

    def _language(self, numbers: list[int]) -> int:
        spoken = [int(self._spoken[number]) for number in numbers if self._spoken[number] >= 0]
        return max(set(spoken), key=spoken.count) if spoken else -1

    def _candidates(self, word: str, number: int | None, language: int) -> list[tuple[str, float, int | None]]:
        """(word, cost, number): the word itself and likely corrections; cost is a negative log probability."""
        form = fold(word)
        count = int(self._counts[number]) if number is not None else 0
        own = self._cost(count, 0.0) if count else max(UNKNOWN, self._cost(0, UNKNOWN_BESIDE))
        options: list[tuple[str, float, int | None]] = [(word, own - 3.0, number)]  # what was typed has a head start
        if len(form) < 3 or len(form) > 40:
            return options
        most = 1 if len(form) <= 4 else 2
        for other in self._near(form, most, 20 * count):  # a known word gives way only to a far more frequent one
            candidate = self._forms[other]
            edits = distance(form, candidate, most)
            if other == number or edits > most:
                continue
            # the second mistake is less of a surprise in a long word
            penalty = 4.5 + SECOND_EDIT[min(len(form), 9)] * (edits - 1) + (1.5 if candidate[0] != form[0] else 0.0)
            if language >= 0 and self._spoken[other] not in (language, -1):
                penalty += 1.5
            options.append((self._words[other], self._cost(int(self._counts[other]), penalty), other))
        if not count and len(form) >= 6:
            options += self._split(form)
        options.sort(key=lambda option: option[1])
        return options[:6]

    def _near(self, form: str, most: int, least_count: int) -> list[int]:
        """Words that may be within `most` edits, the most frequent first: by shared deletes, length and letters."""
        keys = distinct(deletes([form]).ravel())
        low = np.searchsorted(self._delete_keys, keys, "left")
        high = np.minimum(np.searchsorted(self._delete_keys, keys, "right"), low + 2000)
        parts = [self._delete_words[start:end] for start, end in zip(low, high, strict=True) if end > start]
        if not parts:
            return []
        near = distinct(np.concatenate(parts))
        near = near[self._counts[near] >= max(1, least_count)]
        lengths = self._lengths[near].astype(np.int16)
        near = near[np.abs(lengths - len(form)) <= most]
        near = near[np.bitwise_count(self._letters[near] ^ letters([form])) <= 2 * most]
        return near[np.argsort(-self._counts[near].astype(np.int64), kind="stable")][:100].tolist()

    def _split(self, form: str) -> list[tuple[str, float, int | None]]:
        """Two words written as one."""
        found: list[tuple[str, float, int | None]] = []
        for at in range(2, len(form) - 1):
            left, right = self._number(form[:at]), self._number(form[at:])
            if left is not None and right is not None:
                together = self._pair(left, right)
                if together >= 2:
                    text = f"{self._words[left]} {self._words[right]}"
                    found.append((text, self._cost(together, 5.0), right))
        return found

    def _cost(self, count: float, penalty: float) -> float:
        return -math.log((count + 0.5) / self._total) * 0.6 + penalty

    def _best_path(self, options: list[list[tuple[str, float, int | None]]]) -> list[str]:
        """The cheapest sentence: each word's cost, less for pairs that were seen together (Viterbi)."""
        paths: list[tuple[float, list[str], int | None]] = [(0.0, [], None)]
        for choices in options:
            fresh = []
            for word, cost, number in choices:
                best: tuple[float, list[str], int | None] | None = None
                for so_far, words, before in paths:
                    bonus = 0.0
                    if before is not None and number is not None:
                        together = self._pair(before, number)
                        if together:
                            bonus = min(4.0, 1.0 + math.log1p(together) * 0.6)
                    total = so_far + cost - bonus
                    if best is None or total < best[0]:
                        best = (total, [*words, word], number)
                assert best is not None
                fresh.append(best)
            paths = fresh
        return min(paths, key=lambda path: path[0])[1]


def _mixed(found: Iterable[Suggestion], limit: int) -> list[Suggestion]:
    """Earlier queries first, then a mixture of words and titles."""
    by_weight = sorted(found, key=lambda suggestion: -suggestion.weight)
    queries = [suggestion for suggestion in by_weight if suggestion.source == "query"]
    words = [suggestion for suggestion in by_weight if suggestion.source == "word"]
    titles = [suggestion for suggestion in by_weight if suggestion.source == "title"]
    most_words = max(2, limit // 2)
    return [*queries, *words[:most_words], *titles, *words[most_words:]][:limit]


def _replaced(query: str, changed: list[tuple[int, str, str]]) -> str:
    """The query with new words in place of others, given with where these stand; capitals stay."""
    for at, word, new in reversed(changed):
        new = new.capitalize() if word[0].isupper() and not word.isupper() else new
        query = query[:at] + new + query[at + len(word) :]
    return query


class _Phrases:
    """Whole lines (titles, queries) sorted by their folded form."""

    def __init__(self, stem: Path) -> None:
        self._forms = stem.with_suffix(".forms").read_text("utf-8").split("\n")
        self._texts = stem.with_suffix(".texts").read_text("utf-8").split("\n")
        counted = np.load(stem.with_suffix(".npy"), mmap_mode="r")
        self._counts, self._by = counted[:, 0].astype(np.int64), counted[:, 1]
        if not len(self._forms) == len(self._texts) == max(1, len(counted)):
            raise ValueError(f"{stem} is not whole")

    def beginning(self, prefix: str, limit: int, asker: int | None = None) -> list[tuple[str, int]]:
        """The most frequent lines that begin so, of those that are everybody's or the asker's."""
        low, high = bisect_left(self._forms, prefix), bisect_right(self._forms, prefix + _LAST)
        high = min(high, len(self._counts), low + 5000)
        if low >= high:
            return []
        counts, by = self._counts[low:high], self._by[low:high]
        counts = np.where((by == EVERYBODY) | (by == (asker or EVERYBODY)), counts, 0)
        top = np.argsort(-counts, kind="stable")[:limit]
        return [(self._texts[low + place], int(counts[place])) for place in top.tolist() if counts[place]]


def distance(one: str, two: str, most: int) -> int:
    """Edits between two words (insert, delete, replace, swap neighbours); `most` + 1 when there are more."""
    if abs(len(one) - len(two)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        row = [i] + [0] * len(two)
        for j, b in enumerate(two, 1):
            row[j] = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == two[j - 2] and one[i - 2] == b:
                row[j] = min(row[j], before[j - 2] + 1)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return min(last[-1], most + 1)


@lru_cache(maxsize=2)
def _load(folder: Path) -> Suggester:
    return Suggester(folder)

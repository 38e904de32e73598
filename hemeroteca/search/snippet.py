"""The part of a page that shows why it was found, with the words of the query in bold. Computed when asked."""

import html
import re
import unicodedata
from collections.abc import Collection
from contextlib import suppress

from hemeroteca.search import analysis

_WORD = re.compile(r"[^\W_]+")
_STEPS = (4_000, 40_000)  # characters looked at: more only while words of the query are missing
_ENOUGH = 4  # matches in a window; more do not make it better
_MAX_MATCHES = 24  # of one word, enough to choose a window
_MAX_KNOWN = 60_000  # words remembered with their terms


class Highlighter:
    """The words of one query, as they are marked in the texts of its results."""

    def __init__(self, wanted: Collection[str], field: str) -> None:
        self._wanted = wanted
        self._field = field
        # a word among words with a space on each side: `find` is far faster than reading every word
        self._needles: list[tuple[bytes, int, str]] = []
        if field != analysis.BIGRAMS:
            for term in wanted:
                with suppress(UnicodeEncodeError):
                    self._needles.append((f" {term} ".encode("latin-1"), len(term), term))

    def snippet(self, text: str, length: int = 220) -> str:
        """HTML of the window of `text` that holds most of the words; its beginning when none is there."""
        found: list[tuple[int, int, str]] = []
        for step in _STEPS:
            found = self._matches(text[:step])
            if len(text) <= step or len({term for _, _, term in found}) >= min(2, len(self._wanted)):
                break
        text = text[: _STEPS[-1]]
        if not found:
            return _escaped(_squeeze(text[: _word_end(text, length)]))
        # near the end of a text the window begins earlier, so that it is full
        start = max(0, min(_best_window(found, length) - length // 6, len(text) - length))
        start = _word_start(text, start)
        end = _word_end(text, start + length)
        inside = [match for match in found if match[0] >= start and match[1] <= end]
        marked = _squeeze(_marked(text, inside, start, end))
        if "</b> <b>" in marked:
            marked = marked.replace("</b> <b>", " ")
        return ("… " if start else "") + marked + (" …" if end < len(text) else "")

    def highlight(self, text: str) -> str:
        """The whole of a short text (a title) as HTML with the words in bold."""
        return _marked(text, self._matches(text), 0, len(text))

    def _matches(self, text: str) -> list[tuple[int, int, str]]:
        if not self._wanted:
            return []
        if self._field == analysis.BIGRAMS:
            return _pair_matches(text, self._wanted)
        try:
            folded = b" " + text.encode("latin-1").translate(_FOLDED) + b" "
        except UnicodeEncodeError:  # other letters than those of Western Europe: word by word
            words = {(match.start(), match.group()) for match in _WORD.finditer(text)}
            term_of = _terms({word for _, word in words})
            return sorted((at, at + len(word), term) for at, word in words if (term := term_of[word]) in self._wanted)
        found: list[tuple[int, int, str]] = []
        find = folded.find
        for needle, length, term in self._needles:
            at, left = find(needle), _MAX_MATCHES
            while at >= 0 and left:
                found.append((at, at + length, term))
                at, left = find(needle, at + length + 1), left - 1
        found.sort()
        return found


def _marked(text: str, matches: list[tuple[int, int, str]], start: int, end: int) -> str:
    escaped = _escaped if _SPECIAL.search(text, start, end) else str
    parts: list[str] = []
    at = start
    for begin, stop, _ in matches:
        if begin < at:  # pairs of characters overlap
            begin = at
        parts += (escaped(text[at:begin]), "<b>", escaped(text[begin:stop]), "</b>")
        at = stop
    parts.append(escaped(text[at:end]))
    return "".join(parts).replace("</b><b>", "")


def _escaped(text: str) -> str:
    return html.escape(text) if _SPECIAL.search(text) else text


_SPECIAL = re.compile(r"[&<>\"']")


def _pair_matches(text: str, wanted: Collection[str]) -> list[tuple[int, int, str]]:
    """Pairs of characters wherever they stand; words of other scripts only whole."""
    pairs = [re.escape(term) for term in wanted if analysis.is_spaceless(term)]
    words = [re.escape(term) for term in wanted if not analysis.is_spaceless(term)]
    either = [*pairs, *(rf"(?<!{_LETTER}){word}(?!{_LETTER})" for word in words)]
    pattern = re.compile(f"(?=({'|'.join(either)}))", re.IGNORECASE)  # looking ahead finds those that overlap too
    return [(match.start(), match.end(1), match[1].lower()) for match in pattern.finditer(text)]


_LETTER = rf"[^\W_{analysis.SPACELESS}]"


def _folded_byte(code: int) -> int:
    """A letter of Latin-1 as the index has it; a space for what is no part of a word."""
    plain = unicodedata.normalize("NFD", chr(code).lower())[0]
    if chr(code).isalnum():
        return ord(plain) if plain.isascii() else code
    return 0x20


_FOLDED = bytes(map(_folded_byte, range(256)))


_known: dict[str, str] = {}


def _terms(words: set[str]) -> dict[str, str]:
    """The term of each word. Most words were met before, so they are remembered."""
    new = list(words.difference(_known))
    if new:
        if len(_known) > _MAX_KNOWN:
            _known.clear()
            new = list(words)
        _known.update(zip(new, analysis.word_terms(new), strict=True))
    return _known


def _best_window(found: list[tuple[int, int, str]], length: int) -> int:
    """Start of the first match of the window with most different terms, then most matches."""
    best_terms = best_matches = best_at = left = 0
    span = length * 3 // 4
    different = len({term for _, _, term in found})
    inside: dict[str, int] = {}
    for right, (_, stop, term) in enumerate(found):
        inside[term] = inside.get(term, 0) + 1
        while left < right and stop - found[left][0] > span:
            gone = found[left][2]
            if inside[gone] == 1:
                del inside[gone]
            else:
                inside[gone] -= 1
            left += 1
        terms, matches = len(inside), min(right - left + 1, _ENOUGH)
        if terms > best_terms or (terms == best_terms and matches > best_matches):
            best_terms, best_matches, best_at = terms, matches, found[left][0]
            if terms == different and matches == _ENOUGH:
                break
    return best_at


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _word_start(text: str, at: int) -> int:
    for back in range(min(at, 30)):
        if text[at - back - 1].isspace():
            return at - back
    return 0 if at <= 30 else at


def _word_end(text: str, at: int) -> int:
    if at >= len(text):
        return len(text)
    for ahead in range(30):
        if at + ahead >= len(text) or text[at + ahead].isspace():
            return at + ahead
    return at

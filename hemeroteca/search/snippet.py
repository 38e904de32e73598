"""The part of a page that shows why it was found, with the words of the query in bold. Computed when asked."""

import html
import re
import unicodedata
from collections.abc import Collection

from hemeroteca.search import analysis

_WORD = re.compile(r"[^\W_]+")
_STEPS = (4_000, 40_000)  # characters looked at: more only while words of the query are missing
_MOST_MATCHES = 24  # of one word, enough to choose a window
_MOST_KNOWN = 60_000  # words remembered with their terms


def snippet(text: str, wanted: Collection[str], field: str, length: int = 220) -> str:
    """HTML of the window of `text` that holds most of the `wanted` terms; its beginning when none is there."""
    found: list[tuple[int, int, str]] = []
    for step in _STEPS:
        found = _matches(text[:step], wanted, field)
        if len(text) <= step or len({term for _, _, term in found}) >= min(2, len(wanted)):
            break
    text = text[: _STEPS[-1]]
    if not found:
        return html.escape(_squeeze(text[: _word_end(text, length)]))
    start = _word_start(text, max(0, _best_window(found, length) - length // 6))
    end = _word_end(text, start + length)
    inside = [match for match in found if match[0] >= start and match[1] <= end]
    marked = _marked(text, inside, start, end)
    return ("… " if start else "") + _squeeze(marked).replace("</b> <b>", " ") + (" …" if end < len(text) else "")


def highlight(text: str, wanted: Collection[str], field: str) -> str:
    """The whole of a short text (a title) as HTML with the words in bold."""
    return _marked(text, _matches(text, wanted, field), 0, len(text))


def _marked(text: str, matches: list[tuple[int, int, str]], start: int, end: int) -> str:
    if _OPEN in text or _CLOSE in text:
        text = text.replace(_OPEN, " ").replace(_CLOSE, " ")
    parts, at = [], start
    for begin, stop, _ in matches:
        begin = max(begin, at)  # pairs of characters overlap
        parts += [text[at:begin], _OPEN, text[begin:stop], _CLOSE]
        at = stop
    marked = html.escape("".join([*parts, text[at:end]]))
    return marked.replace(_CLOSE + _OPEN, "").replace(_OPEN, "<b>").replace(_CLOSE, "</b>")


# Stand for the marks until the text around them is escaped; they are taken out of the text before.
_OPEN, _CLOSE = "\ue000", "\ue001"


def _matches(text: str, wanted: Collection[str], field: str) -> list[tuple[int, int, str]]:
    if not wanted:
        return []
    if field == analysis.BIGRAMS:
        return _pair_matches(text, wanted)
    try:
        found: list[tuple[int, int, str]] = []
        folded = b" " + text.encode("latin-1").translate(_FOLDED) + b" "
        for term in wanted:
            found += _places(folded, term)
        return sorted(found)
    except UnicodeEncodeError:  # other letters than those of Western Europe: word by word
        words = {(match.start(), match.group()) for match in _WORD.finditer(text)}
        term_of = _terms({word for _, word in words})
        return sorted((at, at + len(word), term) for at, word in words if (term := term_of[word]) in wanted)


def _pair_matches(text: str, wanted: Collection[str]) -> list[tuple[int, int, str]]:
    """Pairs of characters wherever they stand; words of other scripts only whole."""
    pairs = [re.escape(term) for term in wanted if _SPACELESS.match(term)]
    words = [re.escape(term) for term in wanted if not _SPACELESS.match(term)]
    either = [*pairs, *(rf"(?<!{_LETTER}){word}(?!{_LETTER})" for word in words)]
    pattern = re.compile(f"(?=({'|'.join(either)}))", re.IGNORECASE)  # looking ahead finds those that overlap too
    return [(match.start(), match.end(1), match[1].lower()) for match in pattern.finditer(text)]


_SPACELESS = re.compile(f"[{analysis.SPACELESS}]")
_LETTER = rf"[^\W_{analysis.SPACELESS}]"


def _folded_byte(code: int) -> int:
    """A letter of Latin-1 as the index has it; a space for what is no part of a word."""
    plain = unicodedata.normalize("NFD", chr(code).lower())[0]
    if chr(code).isalnum():
        return ord(plain) if plain.isascii() else code
    return 0x20


_FOLDED = bytes(map(_folded_byte, range(256)))


def _places(folded: bytes, term: str) -> list[tuple[int, int, str]]:
    """Where a word stands among words with a space on each side: `find` is far faster than reading every word."""
    needle = f" {term} ".encode("latin-1")
    found: list[tuple[int, int, str]] = []
    at, length = folded.find(needle), len(term)
    while at >= 0 and len(found) < _MOST_MATCHES:
        found.append((at, at + length, term))
        at = folded.find(needle, at + length + 1)
    return found


_known: dict[str, str] = {}


def _terms(words: set[str]) -> dict[str, str]:
    """The term of each word. Most words were met before, so they are remembered."""
    new = list(words.difference(_known))
    if new:
        if len(_known) > _MOST_KNOWN:
            _known.clear()
            new = list(words)
        _known.update(zip(new, analysis.word_terms(new), strict=True))
    return _known


def _best_window(found: list[tuple[int, int, str]], length: int) -> int:
    """Start of the first match of the window with most different terms, then most matches."""
    best, best_at, left = (0, 0), 0, 0
    inside: dict[str, int] = {}
    for right, (_, stop, term) in enumerate(found):
        inside[term] = inside.get(term, 0) + 1
        while left < right and stop - found[left][0] > length * 3 // 4:
            gone = found[left][2]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            left += 1
        value = (len(inside), min(right - left + 1, 4))
        if value > best:
            best, best_at = value, found[left][0]
    return best_at


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _word_start(text: str, at: int) -> int:
    for back in range(min(at, 30)):
        if text[at - back - 1].isspace():
            return at - back
    return at


def _word_end(text: str, at: int) -> int:
    if at >= len(text):
        return len(text)
    for ahead in range(30):
        if at + ahead >= len(text) or text[at + ahead].isspace():
            return at + ahead
    return at

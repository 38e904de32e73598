"""The part of a page that shows why it was found, with the words of the query in bold. Computed when asked."""

import html
import re
from collections.abc import Callable, Collection

_WORD = re.compile(r"[^\W_]+")
LONGEST_TEXT = 120_000  # characters looked at; a bound on time, far beyond a usual page


def snippet(text: str, wanted: Collection[str], stem: Callable[[list[str]], list[str]], length: int = 220) -> str:
    """HTML of the window of `text` that holds most of the `wanted` terms; its beginning when none is there.

    `stem` gives the term of each word.
    """
    text = text[:LONGEST_TEXT]
    found = _matches(text, wanted, stem) if wanted else []
    if not found:
        return html.escape(_cut(text, 0, length).strip())
    start = _best_window(found, length)
    start = _word_start(text, max(0, start - length // 6))
    end = _word_end(text, start + length)
    parts = ["… "] if start > 0 else []
    at = start
    for begin, stop, _ in found:
        if begin < at or stop > end:
            continue
        parts += [html.escape(text[at:begin]), "<b>", html.escape(text[begin:stop]), "</b>"]
        at = stop
    parts.append(html.escape(text[at:end]))
    if end < len(text):
        parts.append(" …")
    return re.sub(r"\s+", " ", "".join(parts)).strip().replace("</b> <b>", " ")


def highlight(text: str, wanted: Collection[str], stem: Callable[[list[str]], list[str]]) -> str:
    """The whole of a short text (a title) as HTML with the words in bold."""
    parts, at = [], 0
    for begin, stop, _ in _matches(text, wanted, stem):
        parts += [html.escape(text[at:begin]), "<b>", html.escape(text[begin:stop]), "</b>"]
        at = stop
    return "".join([*parts, html.escape(text[at:])])


def _matches(text: str, wanted: Collection[str], stem: Callable[[list[str]], list[str]]) -> list[tuple[int, int, str]]:
    words = list({match for match in _WORD.findall(text) if len(match) <= 80})
    term_of = {word: term for word, term in zip(words, stem(words), strict=True) if term in wanted}
    if not term_of:
        return []
    return [
        (match.start(), match.end(), term)
        for match in _WORD.finditer(text)
        if (term := term_of.get(match.group())) is not None
    ]


def _best_window(found: list[tuple[int, int, str]], length: int) -> int:
    """Start of the first match of the window with most different terms, then most matches."""
    best, best_at, left = (0, 0), 0, 0
    inside: dict[str, int] = {}
    for _, stop, term in found:
        inside[term] = inside.get(term, 0) + 1
        while stop - found[left][0] > length and found[left][2] in inside:
            gone = found[left][2]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            left += 1
        value = (len(inside), min(sum(inside.values()), 6))
        if value > best:
            best, best_at = value, found[left][0]
    return best_at


def _cut(text: str, start: int, length: int) -> str:
    return re.sub(r"\s+", " ", text[start : _word_end(text, start + length)])


def _word_start(text: str, at: int) -> int:
    if at == 0:
        return 0
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

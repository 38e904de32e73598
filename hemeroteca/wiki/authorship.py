"""Whose words an article is made of, and how long words stayed. Pure.

The idea of WikiWho (Flöck & Acosta, 2014): text is compared as paragraphs, then sentences, then words. A paragraph or a
sentence that was there in *any* earlier revision keeps its words and their authors when it comes back, so whoever
undoes vandalism does not become an author. Checked against the package WikiWho.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import TypeVar

import msgspec

MAX_COMPARED = 4_000_000  # pairs of words compared at once; beyond it the rest counts as new
MAX_TOKENS = 400_000  # of a revision; what follows is left out
_TOKEN = re.compile(r"\[\[|\]\]|\{\{|\}\}|<!--|-->|\w+|[^\w\s]")
_SENTENCE = re.compile(r"(?<=[^\s.=]{3}\.) |(?<=[;?!:]) |\n|(?=<ref)|(?<=/ref>)")


class Token:
    """A word or a sign, from the revision that brought it."""

    __slots__ = ("added", "alive", "revisions", "text", "user")

    def __init__(self, text: str, added: int, user: str | None) -> None:
        self.text = text
        self.added = added  # revision
        self.user = user
        self.revisions = 0  # it was in, its first one included
        self.alive = False


class Author(msgspec.Struct):
    """What became of somebody's words."""

    user: str | None
    added: int = 0  # words they brought
    present: int = 0  # of these, in the last revision
    share: float = 0.0  # of the last revision
    persistence: float = 0.0  # revisions that a word of theirs was in, on average


class Version(msgspec.Struct, frozen=True):
    revid: int
    user: str | None
    text: str | None  # None: hidden or not kept; such revisions are passed over


class Authorship:
    """Feed it the revisions in order; `tokens` is the last one, `authors` the sum."""

    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self._all: list[Token] = []
        self._units: dict[int, dict[str, list[list[Token]]]] = {0: defaultdict(list), 1: defaultdict(list)}
        self._last_text: str | None = None

    def add(self, version: Version) -> None:
        if version.text is None:
            return
        if version.text != self._last_text:
            self.tokens = self._compare(version)
            self._last_text = version.text
        for token in self.tokens:
            token.revisions += 1

    def authors(self) -> list[Author]:
        """Who brought what, most words in the last revision first."""
        for token in self._all:
            token.alive = False
        for token in self.tokens:
            token.alive = True
        found: dict[str | None, Author] = {}
        spans: dict[str | None, int] = defaultdict(int)
        for token in self._all:
            author = found.setdefault(token.user, Author(token.user))
            author.added += 1
            author.present += token.alive
            spans[token.user] += token.revisions
        for user, author in found.items():
            author.share = author.present / len(self.tokens) if self.tokens else 0.0
            author.persistence = spans[user] / author.added
        return sorted(found.values(), key=lambda author: (-author.present, -author.added, author.user or ""))

    def _compare(self, version: Version) -> list[Token]:
        """Tokens of a revision: known ones where they were there before."""
        free = {id(token) for token in self.tokens}  # of the revision before, not yet found again
        used: set[int] = set()
        slots: list[list[Token] | str] = []  # in order: what was found, and texts that were not
        for paragraph in _paragraphs(version.text or ""):
            known = self._take(0, paragraph, free, used)
            if known is not None:
                slots.append(known)
                continue
            for sentence in _sentences(paragraph):
                slots.append(self._take(1, sentence, free, used) or sentence)
        words = [(place, text) for place, slot in enumerate(slots) if isinstance(slot, str) for text in _tokens(slot)]
        before = [token for token in self.tokens if id(token) in free]
        made = self._words([text for _, text in words], before, version)
        fresh: dict[int, list[Token]] = defaultdict(list)
        for (place, _), token in zip(words, made, strict=True):
            fresh[place].append(token)
        result: list[Token] = []
        for place, slot in enumerate(slots):
            result += fresh[place] if isinstance(slot, str) else slot
        self._remember(version.text or "", result)
        return result[:MAX_TOKENS]

    def _take(self, level: int, text: str, free: set[int], used: set[int]) -> list[Token] | None:
        """The tokens of a unit that was there before, the revision before first; each is given once."""
        found = self._units[level].get(text)
        if not found:
            return None
        for latest in (True, False):
            for tokens in reversed(found):
                ids = {id(token) for token in tokens}
                if not tokens or ids & used or (latest and not ids <= free):
                    continue
                used |= ids
                free -= ids
                return tokens
        return None

    def _words(self, texts: list[str], before: list[Token], version: Version) -> list[Token]:
        made: list[Token | None] = [None] * len(texts)
        if texts and before and len(texts) * len(before) <= MAX_COMPARED:
            matcher = SequenceMatcher(None, [token.text for token in before], texts, autojunk=False)
            for old, new, size in matcher.get_matching_blocks():
                made[new : new + size] = before[old : old + size]
        result = []
        for text, token in zip(texts, made, strict=True):
            if token is None:
                token = Token(text, version.revid, version.user)
                self._all.append(token)
            result.append(token)
        return result

    def _remember(self, text: str, tokens: list[Token]) -> None:
        """Units of this revision, for those to come."""
        stream = iter(tokens)
        for paragraph in _paragraphs(text):
            whole: list[Token] = []
            for sentence in _sentences(paragraph):
                part = list(_first(stream, len(_tokens(sentence))))
                whole += part
                self._note(1, sentence, part)
            self._note(0, paragraph, whole)

    def _note(self, level: int, text: str, tokens: list[Token]) -> None:
        known = self._units[level][text]
        if tokens and not any(len(old) == len(tokens) and old[0] is tokens[0] for old in known):
            known.append(tokens)


def authorship(versions: Iterable[Version]) -> Authorship:
    found = Authorship()
    for version in versions:
        found.add(version)
    return found


T = TypeVar("T")


def _first(stream: Iterator[T], count: int) -> Iterator[T]:
    for _ in range(count):
        yield next(stream)


def _paragraphs(text: str) -> list[str]:
    return [part for part in re.split(r"\n\n+", text.lower().replace("\r\n", "\n")) if part.strip()]


def _sentences(paragraph: str) -> list[str]:
    return [part for part in _SENTENCE.split(paragraph) if part and part.strip()]


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)

"""The query language: from what a person typed to a tree of clauses. Never an error.

What cannot be understood is read as plain words or left out, and `Parsed.notes` says so. The language is described in
docs/reference/search.md. Nothing here knows the index engine.
"""

from __future__ import annotations

import re

from hemeroteca.search.clauses import (
    Clause,
    Fuzzy,
    Group,
    Near,
    Node,
    Numbers,
    Only,
    Parsed,
    Phrase,
    When,
    Wildcard,
    Within,
    Word,
    nodes,
)
from hemeroteca.search.dates import moment
from hemeroteca.search.languages import code_of
from hemeroteca.search.notes import Note

LONGEST_QUERY = 100_000  # characters read; the rest is left out and noted
MOST_WORDS = 10_000
DEEPEST = 20  # levels of parentheses
MOST_PATTERNS = 8  # words with wildcards or `~`: each is compared with a part of the vocabulary …
MOST_OPEN_PATTERNS = 1  # … and one that begins with a wildcard with the whole of it
MOST_PHRASES = 24  # and pairs of words with `near:`: the positions of common words are many
LONGEST_PHRASE = 100  # words
LONGEST_RANGE = 200  # numbers a bare `1990..2000` may stand for


def parse(text: str) -> Parsed:
    """Read a query. `notes` lists, for people, what was ignored."""
    return _Parser(text).parse()


def parse_words(text: str) -> Parsed:
    """A query without operators: everything in it is a word."""
    words = text[:LONGEST_QUERY].split()[:MOST_WORDS]
    return Parsed(Group(tuple(Clause(Word(word)) for word in words)), words=len(words))


def asks_for_the_past(text: str) -> bool:
    """Whether a query has `at:`, which only an index of all versions can answer."""
    return "at:" in text.lower() and any(
        isinstance(node, When) and node.what == "at" for node in nodes(parse(text).root)
    )


_TOKEN = re.compile(
    r"""
    (?P<space>[\s\x00-\x1f\x7f\u200b-\u200f\u2060\ufeff]+)
  | (?P<open>\() | (?P<close>\)) | (?P<bar>\|\|?)
  | (?P<quote>["“”«»„])
  | (?P<sign>[-+−!](?=[^\s\-+]))
  | (?P<field>[^\W\d_]{2,12}:(?=[^\s/]))
  | (?P<word>[^\s\x00-\x1f\x7f\u200b-\u200f\u2060\ufeff()|"“”«»„]+)
    """,
    re.VERBOSE,
)
_CLOSING = {'"': '"“”', "“": '”"', "”": '”"', "«": "»", "»": "»«", "„": '“”"'}

_FIELDS = {
    "site": "site",
    "sitio": "site",
    "domain": "site",
    "dominio": "site",
    "host": "host",
    "url": "url",
    "inurl": "url",
    "enurl": "url",
    "intitle": "title",
    "title": "title",
    "titulo": "title",
    "título": "title",
    "entitulo": "title",
    "inbody": "body",
    "body": "body",
    "intext": "body",
    "texto": "body",
    "entexto": "body",
    "inanchor": "anchor",
    "anchor": "anchor",
    "enlace": "anchor",
    "filetype": "type",
    "type": "type",
    "tipo": "type",
    "ext": "type",
    "lang": "language",
    "language": "language",
    "idioma": "language",
    "lengua": "language",
    "collection": "collection",
    "coleccion": "collection",
    "colección": "collection",
    "before": "before",
    "antes": "before",
    "after": "after",
    "since": "after",
    "desde": "after",
    "despues": "after",
    "después": "after",
    "hasta": "until",
    "until": "until",
    "at": "at",
    "date": "date",
    "fecha": "date",
    "year": "date",
    "anno": "date",
    "año": "date",
    "captured": "captured",
    "captura": "captured",
    "near": "near",
    "cerca": "near",
}


def field_of(name: str) -> str:
    """What a name before a colon means: `sitio` is `site`; empty when it means nothing."""
    return _FIELDS.get(name.lower(), "")


_TEXT_PARTS = frozenset(("title", "body", "anchor", "url"))
_PROPERTIES = frozenset(("site", "host", "type", "language", "collection"))
_TIMES = frozenset(("before", "after", "until", "at", "date", "captured"))
_NUMBERS = re.compile(r"(\d{1,9})\.\.(\d{1,9})")
_FUZZY = re.compile(r"(.+)~(\d?)")


class _Parser:
    def __init__(self, text: str) -> None:
        self.notes: list[str] = []
        if len(text) > LONGEST_QUERY:
            self.notes.append(Note("only the first {number} characters of the query were read", number=LONGEST_QUERY))
            text = text[:LONGEST_QUERY]
        self.text = text
        self.at = 0
        self.words = 0
        self.either = False
        self.patterns = 0
        self.open_patterns = 0
        self.phrases = 0

    def parse(self) -> Parsed:
        root = self._group(0)
        if self.words > MOST_WORDS:
            self.notes.append(Note("only the first {number} words of the query were read", number=MOST_WORDS))
        return Parsed(root, list(dict.fromkeys(self.notes)), self.words, self.either)

    def _group(self, depth: int) -> Group:
        """Clauses up to the closing parenthesis or the end."""
        clauses: list[Clause] = []
        joins: list[str] = []  # what stands before each clause: "", OR, AND
        sign, join = "", ""
        while (match := _TOKEN.match(self.text, self.at)) is not None:
            self.at = match.end()
            kind, piece = match.lastgroup, match.group()
            node: Node | None = None
            if kind == "space":
                continue
            if kind == "close":
                if depth:
                    break
                self.notes.append(Note("a closing parenthesis without an opening one was ignored"))
                continue
            if kind == "bar" or piece == "OR":
                join = "OR"
                continue
            if piece == "AND" or piece == "&&":
                join = "AND"
                continue
            if piece == "NOT":
                sign = "-"
                continue
            if kind == "sign":
                sign = "-" if piece in "-−!" else "+"
                continue
            if self.words >= MOST_WORDS:
                self.words += 1
                continue
            if kind == "open":
                if depth >= DEEPEST:
                    self.notes.append(Note("parentheses deeper than {number} levels were ignored", number=DEEPEST))
                    continue
                group = self._group(depth + 1)
                node = group if group.clauses else None
            elif kind == "quote":
                node = self._phrase(piece)
            elif kind == "field":
                node = self._field(piece, clauses, joins)
            elif kind == "word":
                node = self._word(piece)
            if node is not None:
                occurs = {"-": "not", "+": "must", "": "may"}[sign]
                if occurs == "may" and not isinstance(node, Word | Wildcard | Fuzzy):
                    occurs = "must"
                clauses.append(Clause(node, occurs))
                joins.append(join)
            sign, join = "", ""
        else:
            if depth:
                self.notes.append(Note("a parenthesis that was never closed was closed at the end"))
        if sign or join:
            self.notes.append(Note("an operator with nothing after it was ignored"))
        if joins and joins[0]:
            self.notes.append(Note("an operator with nothing before it was ignored"))
        if not depth:
            self.either = "OR" in joins[1:] and "" not in joins[1:]
        return Group(tuple(_joined(clauses, joins)))

    def _phrase(self, opening: str) -> Node | None:
        closing = _CLOSING[opening]
        end = next((i for i in range(self.at, len(self.text)) if self.text[i] in closing), -1)
        if end < 0:
            self.notes.append(Note("a quotation mark that was never closed was ignored"))
            return None
        inside, self.at = self.text[self.at : end], end + 1
        slop = re.compile(r"~(\d{1,2})").match(self.text, self.at)
        if slop:
            self.at = slop.end()
        parts = re.findall(r"\w+", inside)
        self.words += max(1, len(parts))
        if not parts:
            return None
        if len(parts) > LONGEST_PHRASE:
            self.notes.append(Note("only the first {number} words of a phrase were read", number=LONGEST_PHRASE))
            inside = " ".join(parts[:LONGEST_PHRASE])
        self.phrases += len(parts) > 1
        if self.phrases > MOST_PHRASES:
            self.notes.append(
                Note("only {number} phrases are looked for; of the others, their words", number=MOST_PHRASES)
            )
            return Group(tuple(Clause(Word(part)) for part in parts[:LONGEST_PHRASE]))
        return Phrase(inside, int(slop.group(1)) if slop else 0)

    def _word(self, token: str) -> Node | None:
        if token.endswith(":") and token[:-1].lower() in _FIELDS:
            self._note_no_value(token)
            return None
        self.words += 1
        numbers = _NUMBERS.fullmatch(token)
        if numbers:
            low, high = sorted(map(int, numbers.groups()))
            if high - low >= LONGEST_RANGE:
                self.notes.append(
                    Note(
                        "the range {text} is longer than {number} numbers and was cut", text=token, number=LONGEST_RANGE
                    )
                )
                high = low + LONGEST_RANGE - 1
            return Numbers(low, high)
        if "*" in token or "?" in token or "~" in token:
            self.patterns += 1
            if token[0] in "*?" and len(token) > 1:
                self.open_patterns += 1
                if self.open_patterns > MOST_OPEN_PATTERNS:
                    self.notes.append(Note("only one word may begin with `*` or `?`; the others were read as written"))
                    token = token.lstrip("*?")
            if self.patterns > MOST_PATTERNS:
                self.notes.append(
                    Note(
                        "only {number} words may have `*`, `?` or `~`; the others were read as written",
                        number=MOST_PATTERNS,
                    )
                )
                token = re.sub(r"[*?]|~\d?", "", token)
        fuzzy = _FUZZY.fullmatch(token)
        if fuzzy and re.fullmatch(r"\w+", fuzzy.group(1)):
            return Fuzzy(fuzzy.group(1)[:60], min(2, int(fuzzy.group(2) or 1)))
        if token.startswith("~") and re.fullmatch(r"\w+", token[1:]):
            return Fuzzy(token[1:61], 1)
        if "*" in token or re.search(r"\w\?\w", token):
            return self._wildcard(token)
        if not re.search(r"\w", token):
            if token not in ("-", "+", "&", "/", ":", ",", ".", "–", "—", "¿", "?", "!", "¡", "…"):
                self.notes.append(Note("`{text}` was ignored", text=token[:20]))
            return None
        return Word(token)

    def _wildcard(self, token: str) -> Node | None:
        pattern = re.sub(r"[^\w*?]", "", token)[:60]
        pattern = re.sub(r"\*+", "*", pattern)
        letters = len(re.sub(r"[*?]", "", pattern))
        least = 3 if pattern[0] in "*?" else 2
        if letters < least:
            self.notes.append(
                Note(
                    "`{text}` matches too much: give at least {number} letters besides the wildcard",
                    text=token[:20],
                    number=least,
                )
            )
            return None
        return Wildcard(pattern)

    def _field(self, token: str, clauses: list[Clause], joins: list[str]) -> Node | None:
        name = _FIELDS.get(token[:-1].lower())
        if name is None:
            # not one of our words: "std::vector", "12:30", "error: disk full" are just text
            rest = _TOKEN.match(self.text, self.at)
            return self._word(token[:-1]) if rest is None else self._word_and_rest(token)
        value, quoted = self._value()
        if not value:
            self._note_no_value(token)
            return None
        self.words += 1
        if name in _TEXT_PARTS:
            return Within(name, value, phrase=quoted) if re.search(r"\w", value) else None
        if name in _PROPERTIES:
            if wanted := _property(name, value):
                return Only(name, wanted)
            self.notes.append(Note("`{text}` was ignored: there is nothing of that name", text=f"{token}{value[:30]}"))
            return None
        if name in _TIMES:
            return self._when(name, token, value)
        return self._near(token, value, clauses, joins)

    def _note_no_value(self, token: str) -> None:
        self.notes.append(Note("`{text}` without a value was ignored", text=token))

    def _word_and_rest(self, token: str) -> Node | None:
        match = re.compile(r"[^\s()|\"“”«»„]*").match(self.text, self.at)
        if match is not None:
            self.at = match.end()
            token += match.group()
        return self._word(token)

    def _value(self) -> tuple[str, bool]:
        if self.at < len(self.text) and self.text[self.at] in _CLOSING:
            opening = self.text[self.at]
            self.at += 1
            node = self._phrase(opening)
            return (node.text, True) if isinstance(node, Phrase) else ("", True)
        match = re.compile(r"[^\s()|\"“”«»„]+").match(self.text, self.at)
        if match is None:
            return "", False
        self.at = match.end()
        return match.group()[:500], False

    def _when(self, name: str, token: str, value: str) -> Node | None:
        low_text, dots, high_text = value.partition("..")
        low = moment(low_text) if low_text else None
        high = moment(high_text) if dots and high_text else None
        if (low_text and low is None) or (high_text and high is None) or (low is None and high is None):
            self.notes.append(
                Note("`{text}` was ignored: write a date as 2024, 2024-03 or 2024-03-31", text=f"{token}{value[:30]}")
            )
            return None
        if name == "before" and low:
            return When("date", high=low[0] - 1)
        if name == "until" and low:
            return When("date", high=low[1])
        if name == "after" and low:
            return When("date", low=low[0])
        if name == "at":
            return When("at", low[0] if low else None, high[1] if high else None if dots or not low else low[1])
        what = "captured" if name == "captured" else "date"
        if not dots and low:
            return When(what, low[0], low[1])
        return When(what, low[0] if low else None, high[1] if high else None)

    def _near(self, token: str, value: str, clauses: list[Clause], joins: list[str]) -> Node | None:
        """`word near:5 other`: the word before and the word after within five words."""
        self.phrases += 4  # several forms of both words, in two orders
        if self.phrases > MOST_PHRASES:
            self.notes.append(
                Note("only {number} phrases are looked for; of the others, their words", number=MOST_PHRASES)
            )
            return None
        if value.isdigit() and clauses and isinstance(clauses[-1].node, Word | Phrase):
            rest = re.compile(r"\s+([^\s()|\"]+|\"[^\"]*\")").match(self.text, self.at)
            if rest and re.search(r"\w", rest.group(1)):
                self.at = rest.end()
                self.words += 1
                left = clauses.pop().node
                joins.pop()
                assert isinstance(left, Word | Phrase)
                return Near(left.text, rest.group(1).strip('"'), max(1, min(50, int(value))))
        self.notes.append(
            Note(
                "`{text}` was ignored: write it between two words, as in `war near:5 peace`",
                text=f"{token}{value[:20]}",
            )
        )
        return None


def _joined(clauses: list[Clause], joins: list[str]) -> list[Clause]:
    """Give AND and OR their meaning. AND binds closer than OR; words side by side are wanted, not required."""
    if "OR" not in joins[1:] and "AND" not in joins[1:]:
        return clauses
    runs: list[list[int]] = []
    for i, join in enumerate(joins):
        if i and join in ("OR", "AND"):
            runs[-1].append(i)
        else:
            runs.append([i])
    out: list[Clause] = []
    for run in runs:
        if len(run) == 1:
            out.append(clauses[run[0]])
            continue
        alternatives: list[list[Clause]] = [[clauses[run[0]]]]
        for i in run[1:]:
            if joins[i] == "AND":
                alternatives[-1].append(clauses[i])
            else:
                alternatives.append([clauses[i]])
        groups = [
            Clause(part[0].node, part[0].occurs if part[0].occurs == "not" else "may")
            if len(part) == 1
            else Clause(Group(tuple(Clause(c.node, "must" if c.occurs != "not" else "not") for c in part)))
            for part in alternatives
        ]
        if len(runs) == 1 and len(groups) > 1:
            return groups
        if len(groups) == 1:
            inner = groups[0].node
            assert isinstance(inner, Group)
            out += inner.clauses
        else:
            out.append(Clause(Group(tuple(groups)), "must"))
    return out


def _property(name: str, value: str) -> str:
    value = value.strip().lower() if name != "collection" else value.strip()
    if name in ("site", "host"):
        value = re.sub(r"^[a-z]+://", "", value).split("/")[0].split("@")[-1]
        value = re.sub(r":\d+$", "", value).strip(".").removeprefix("*.")
        try:
            value = value.encode("idna").decode("ascii") if not value.isascii() else value
        except UnicodeError:
            pass
        return value
    if name == "type":
        value = value.lstrip(".")
        return {"htm": "html", "xhtml": "html", "txt": "text", "rss": "feed", "atom": "feed"}.get(value, value)
    if name == "language":
        return code_of(value)
    return value

"""The query language: from what a person typed to a tree of clauses. Never an error.

What cannot be understood is read as plain words or left out, and `Parsed.notes` says so. The language is described in
docs/reference/search.md. Nothing here knows the index engine.
"""

from __future__ import annotations

import re

from hemeroteca.search.query.clauses import (
    Clause,
    ClauseGroup,
    Fuzzy,
    Near,
    Node,
    Note,
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
from hemeroteca.search.query.operators import (
    FIELDS,
    FOREIGN,
    PROPERTIES,
    TEXT_PARTS,
    TIMES,
    address,
    field_of,
    is_ago,
    moment,
    only,
)

MAX_QUERY = 100_000  # characters read; the rest is left out and noted
MAX_WORDS = 10_000
MAX_DEPTH = 20  # levels of parentheses
MAX_PATTERNS = 8  # words with wildcards or `~`: each is compared with a part of the vocabulary …
MAX_OPEN_PATTERNS = 1  # … and one that begins with a wildcard with the whole of it
MAX_RANGES = 8  # of numbers: all numbers of the vocabulary may be in one
MAX_IN_BODY = 24  # looked for in the texts of results, one after the other
MAX_PHRASES = 24  # and pairs of words with `near:`: the positions of common words are many
MAX_PHRASE_WORDS = 100  # words
MAX_VALUE = 500  # characters
MAX_DISTANCE = 50  # words between those of a `near:`


def parse(text: str) -> Parsed:
    """Read a query. `notes` lists, for people, what was ignored."""
    return _Parser(text).parse()


def parse_words(text: str) -> Parsed:
    """A query without operators: everything in it is a word."""
    words = text[:MAX_QUERY].split()[:MAX_WORDS]
    return Parsed(ClauseGroup(tuple(Clause(Word(word)) for word in words)), words=len(words))


def asks_for_the_past(text: str) -> bool:
    """Whether a query has `at:`, which only an index of all versions can answer."""
    return "at:" in text.lower() and any(
        isinstance(node, When) and node.what == "at" for node in nodes(parse(text).root)
    )


def asks_for_tags(text: str) -> bool:
    """Whether a query has `tag:`: tags are not in the index, so whoever searches must say where they are."""
    return ":" in text and any(isinstance(node, Only) and node.property == "tag" for node in nodes(parse(text).root))


_BLANK = r"\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"  # spaces, controls, marks of direction
_QUOTES = '"“”«»„'
_TOKEN = re.compile(
    rf"""
    (?P<space>[{_BLANK}]+)
  | (?P<address>(?:https?|ftp)://[^{_BLANK}{_QUOTES}|]+ | www\.[^{_BLANK}{_QUOTES}|()]+)
  | (?P<open>\() | (?P<close>\)) | (?P<bar>\|\|?)
  | (?P<quote>[{_QUOTES}])
  | (?P<sign>[-+−!](?=[^{_BLANK}\-+]))
  | (?P<field>[^\W\d_]{{2,12}}:(?=[^{_BLANK}/]))
  | (?P<word>[^{_BLANK}()|{_QUOTES}]+)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_VALUE = re.compile(rf"[^{_BLANK}()|{_QUOTES}]+")
_BESIDE = re.compile(rf"[{_BLANK}]+(?:\"([^\"]*)\"|([^{_BLANK}()|{_QUOTES}]+))")
_AFTER_ADDRESS = ".,;:!?*"
_CLOSING = {'"': '"“”', "“": '”"', "”": '”"', "«": "»", "»": "»«", "„": '“”"'}

_AMOUNT = r"[$€£¥]?(\d{1,3}(?:[.,]\d{3})+|\d{1,15})[$€£¥%]?"
_NUMBERS = re.compile(rf"{_AMOUNT}\.\.{_AMOUNT}")
_FUZZY = re.compile(r"(?P<before>\w+)~(?P<edits>\d?)|~(?P<after>\w+)")
_WILD = re.compile(r"\*|\w\?\w")  # a question mark at the end is one
_PATTERN = re.compile(rf"{_WILD.pattern}|~")


class _Parser:
    def __init__(self, text: str) -> None:
        self.notes: list[str] = []
        if len(text) > MAX_QUERY:
            self._note("only the first {number} characters of the query were read", number=MAX_QUERY)
            text = text[:MAX_QUERY]
        self.text, self.at = text, 0
        self.either = False
        self.words = self.patterns = self.open_patterns = self.phrases = self.ranges = self.in_body = 0  # so far
        self.missing: set[str] = set()  # quotation marks that do not come any more

    def parse(self) -> Parsed:
        root = self._group(0)
        if self.words > MAX_WORDS:
            self._note("only the first {number} words of the query were read", number=MAX_WORDS)
        return Parsed(root, self.notes, self.words, self.either)

    def _group(self, depth: int, operator: str = "") -> ClauseGroup:
        """Clauses up to the closing parenthesis or the end; all values of an `operator` in `site:(a OR b)`."""
        level = _Level(operator)
        while (match := _TOKEN.match(self.text, self.at)) is not None:
            self.at = match.end()
            kind, piece = match.lastgroup, match.group()
            if kind == "space" or level.is_operator(kind, piece):
                continue
            if kind == "close":
                if depth:
                    break
                self._note("a closing parenthesis without an opening one was ignored")
            elif self.words >= MAX_WORDS:
                self.words += 1
            else:
                level.add(self._node(match, depth, level))
        else:
            if depth:
                self._note("a parenthesis that was never closed was closed at the end")
        if level.sign or level.join:
            self._note("an operator with nothing after it was ignored")
        if level.joins and level.joins[0]:
            self._note("an operator with nothing before it was ignored")
        if not depth:
            self.either = level.either
        return level.group()

    def _node(self, match: re.Match[str], depth: int, level: _Level) -> Node | None:
        """What a piece of the query, and perhaps what follows it, looks for."""
        kind, piece = match.lastgroup, match.group()
        if kind == "open":
            return self._inner(depth, level.operator)
        if level.operator:
            return self._operand(level.operator, *self._value(match.start()))
        if kind == "quote":
            return self._phrase(piece)
        if kind == "address":
            return self._address(piece)
        if kind == "word":
            return self._word(piece)
        if kind != "field":
            return None
        if field_of(piece[:-1]) != "near":
            return self._field(piece, depth)
        node = self._near(piece, level.clauses)
        if node is not None:
            level.replace_last()
        return node

    def _inner(self, depth: int, operator: str) -> ClauseGroup | None:
        """What follows an opening parenthesis."""
        if depth >= MAX_DEPTH:
            self._note("parentheses deeper than {number} levels were ignored", number=MAX_DEPTH)
            return None
        group = self._group(depth + 1, operator)
        return group if group.clauses else None

    def _address(self, token: str) -> Node | None:
        """A pasted address. What belongs to the sentence around it is given back."""
        bare = token.rstrip(_AFTER_ADDRESS)
        for _ in range(bare.count(")") - bare.count("(")):
            bare = bare.removesuffix(")").rstrip(_AFTER_ADDRESS)
        self.at -= len(token) - len(bare)
        self.words += 1
        self.phrases += 2
        if self.phrases > MAX_PHRASES:
            self._note_phrases()
            return Word(bare)
        return address(bare[:MAX_VALUE])

    def _phrase(self, opening: str) -> Node | None:
        closing = _CLOSING[opening]
        ends = [end for mark in closing if mark not in self.missing and (end := self._next(mark)) >= 0]
        if not ends:
            self._note("a quotation mark that was never closed was ignored")
            return None
        inside, self.at = self.text[self.at : min(ends)], min(ends) + 1
        slop = re.compile(r"~(\d{1,2})").match(self.text, self.at)
        if slop:
            self.at = slop.end()
        parts = re.findall(r"\w+", inside)
        self.words += max(1, len(parts))
        if not parts:
            return None
        if re.search(r"\w\*|\*\w", inside):
            self._note("inside quotation marks `*` stands for a whole word")
        if len(parts) > MAX_PHRASE_WORDS:
            self._note("only the first {number} words of a phrase were read", number=MAX_PHRASE_WORDS)
            inside = " ".join(parts[:MAX_PHRASE_WORDS])
        self.phrases += len(parts) > 1
        if self.phrases > MAX_PHRASES:
            self._note_phrases()
            return ClauseGroup(tuple(Clause(Word(part)) for part in parts[:MAX_PHRASE_WORDS]))
        return Phrase(inside, int(slop.group(1)) if slop else 0)

    def _next(self, mark: str) -> int:
        """Where a quotation mark comes next. What does not come is remembered: ten thousand marks ask only once."""
        place = self.text.find(mark, self.at)
        if place < 0:
            self.missing.add(mark)
        return place

    def _word(self, token: str) -> Node | None:
        if token.endswith(":") and token[:-1].lower() in FIELDS:
            self._note_no_value(token)
            return None
        self.words += 1
        numbers = _NUMBERS.fullmatch(token)
        if numbers:
            self.ranges += 1
            if self.ranges > MAX_RANGES:
                self._note("only {number} ranges of numbers are looked for; the others were ignored", number=MAX_RANGES)
                return None
            return Numbers(*sorted(int(re.sub(r"\D", "", end)) for end in numbers.groups()))
        if _PATTERN.search(token):
            token = self._allowed(token)
        fuzzy = _FUZZY.fullmatch(token)
        if fuzzy and not token.strip("~").isdecimal():
            return Fuzzy((fuzzy["before"] or fuzzy["after"])[:60], min(2, int(fuzzy["edits"] or 1)))
        if _WILD.search(token):
            return self._wildcard(token)
        if not re.search(r"\w", token):
            if token not in ("-", "+", "&", "/", ":", ",", ".", "–", "—", "¿", "?", "!", "¡", "…"):
                self._note("`{text}` was ignored", text=token[:20])
            return None
        return Word(token)

    def _allowed(self, token: str) -> str:
        """A word with `*`, `?` or `~`, or without them where there are too many."""
        self.patterns += 1
        if token[0] == "*" and len(token) > 1:
            self.open_patterns += 1
            if self.open_patterns > MAX_OPEN_PATTERNS:
                self._note("only one word may begin with `*` or `?`; the others were read as written")
                token = token.lstrip("*?")
        if self.patterns > MAX_PATTERNS:
            self._note(
                "only {number} words may have `*`, `?` or `~`; the others were read as written", number=MAX_PATTERNS
            )
            token = re.sub(r"[*?]|~\d?", "", token)
        return token

    def _wildcard(self, token: str) -> Node | None:
        """A word with wildcards; where it is several words for the index (`e-mai*`), all of them."""
        pieces = [piece for piece in re.split(r"[^\w*?]|_", token) if re.search(r"\w", piece)] or [token]
        found: list[Node] = []
        for piece in pieces[:MAX_PHRASE_WORDS]:
            pattern = re.sub(r"\*+", "*", piece.rstrip("?"))[:60]
            if not re.search(r"[*?]", pattern):
                found.append(Word(pattern))
                continue
            least = 3 if pattern[0] in "*?" else 2
            if len(re.sub(r"[*?]", "", pattern)) >= least:
                found.append(Wildcard(pattern))
            else:
                self._note(
                    "`{text}` matches too much: give at least {number} letters besides the wildcard",
                    text=token[:20],
                    number=least,
                )
        if len(found) > 1:
            return ClauseGroup(tuple(Clause(node, "must") for node in found))
        return found[0] if found else None

    def _field(self, token: str, depth: int) -> Node | None:
        if token[:-1].lower() not in FIELDS:
            # not one of our words: "std::vector", "12:30", "error: disk full" are just text
            if token[:-1].lower() in FOREIGN:
                self._note("`{text}` is not known here and was read as a word", text=token)
            match = _VALUE.match(self.text, self.at)
            self.at = match.end() if match else self.at
            return self._word(token + (match.group() if match else ""))
        if self.text[self.at] == "(":
            self.at += 1
            return self._inner(depth, token)
        return self._operand(token, *self._value(self.at))

    def _operand(self, operator: str, value: str, quoted: bool) -> Node | None:
        """What an operator asks for with one value."""
        name = field_of(operator[:-1])
        if not value:
            self._note_no_value(operator)
            return None
        self.words += 1
        if name in TEXT_PARTS:
            self.in_body += name == "body"
            if self.in_body > MAX_IN_BODY and name == "body":
                self._note("only {number} `inbody:` are looked for; the others were ignored", number=MAX_IN_BODY)
                return None
            if not quoted and _WILD.search(value):
                value = self._allowed(value)
            return Within(name, value, phrase=quoted) if re.search(r"\w", value) else None
        if name in TIMES:
            return self._when(name, operator, value)
        wanted = only(name, value)
        if wanted is None:
            self._note("`{text}` was ignored: there is nothing of that name", text=f"{operator}{value[:30]}")
        return wanted

    def _value(self, at: int) -> tuple[str, bool]:
        """The value that begins at a place, and whether it is quoted."""
        self.at = at
        if self.text[at] in _CLOSING:
            self.at += 1
            node = self._phrase(self.text[at])
            return (node.text, True) if isinstance(node, Phrase) else ("", True)
        match = _VALUE.match(self.text, at)
        if match is None:
            return "", False
        self.at = match.end()
        return match.group()[:MAX_VALUE], False

    def _when(self, name: str, token: str, value: str) -> Node | None:
        low_text, dots, high_text = value.partition("..")
        low = moment(low_text) if low_text else None
        high = moment(high_text) if dots and high_text else None
        if (low_text and low is None) or (high_text and high is None) or (low is None and high is None):
            self._note("`{text}` was ignored: write a date as 2024, 2024-03 or 2024-03-31", text=f"{token}{value[:30]}")
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
            return When(what, low[0], None if is_ago(value) else low[1])
        return When(what, low[0] if low else None, high[1] if high else None)

    def _near(self, token: str, clauses: list[Clause]) -> Node | None:
        """`word near:5 other`: the word before and the word after within five words."""
        value, _ = self._value(self.at)
        self.phrases += 4  # several forms of both words, in two orders
        if self.phrases > MAX_PHRASES:
            self._note_phrases()
            return None
        left = clauses[-1].node if clauses else None
        if re.fullmatch(r"\d+", value) and isinstance(left, Word | Phrase):
            beside = _BESIDE.match(self.text, self.at)
            right = (beside[1] or beside[2]) if beside else ""
            if beside and right and re.search(r"\w", right):
                self.at = beside.end()
                self.words += 1
                return Near(left.text, right[:MAX_VALUE], max(1, min(MAX_DISTANCE, int(value))))
        self._note(
            "`{text}` was ignored: write it between two words, as in `war near:5 peace`", text=f"{token}{value[:20]}"
        )
        return None

    def _note(self, template: str, **values: object) -> None:
        """Tell the reader, once, however often it is due."""
        note = Note(template, **values)
        if note not in self.notes:
            self.notes.append(note)

    def _note_no_value(self, token: str) -> None:
        self._note("`{text}` without a value was ignored", text=token)

    def _note_phrases(self) -> None:
        self._note("only {number} phrases are looked for; of the others, their words", number=MAX_PHRASES)


class _Level:
    """The clauses of one level of parentheses, as they are read."""

    def __init__(self, operator: str) -> None:
        self.operator = operator  # whose values they are, in `site:(a OR b)`
        self.clauses: list[Clause] = []
        self.joins: list[str] = []  # what stands before each clause: "", OR, AND
        self.sign = ""  # of the next clause: "", +, -
        self.join = ""  # before it

    def is_operator(self, kind: str | None, piece: str) -> bool:
        """Whether a piece only says something about the clause after it; it is taken note of."""
        if kind == "bar" or piece == "OR":
            self.join = "OR"
        elif piece in ("AND", "&&"):
            self.join = "AND"
        elif piece == "NOT":
            self.sign = "-"
        elif kind == "sign":
            self.sign = "-" if piece in "-−!" else "+"
        else:
            return False
        return True

    def add(self, node: Node | None) -> None:
        if node is not None:
            occurs = {"-": "not", "+": "must", "": "may"}[self.sign]
            asked_of_a_property = field_of(self.operator[:-1]) in PROPERTIES
            if occurs == "may" and not isinstance(node, Word | Wildcard | Fuzzy) and not asked_of_a_property:
                occurs = "must"
            self.clauses.append(Clause(node, occurs))
            self.joins.append(self.join)
        self.sign, self.join = "", ""

    def replace_last(self) -> None:
        """The next clause stands where the last one stood."""
        if self.clauses.pop().occurs == "not":
            self.sign = "-"
        self.join = self.joins.pop()

    @property
    def either(self) -> bool:
        """All of it is alternatives: a OR b OR c."""
        return "OR" in self.joins[1:] and "" not in self.joins[1:]

    def group(self) -> ClauseGroup:
        return ClauseGroup(tuple(_joined(self.clauses, self.joins)))


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
            Clause(part[0].node if part[0].occurs != "not" else ClauseGroup((part[0],)))
            if len(part) == 1
            else Clause(ClauseGroup(tuple(Clause(c.node, "must" if c.occurs != "not" else "not") for c in part)))
            for part in alternatives
        ]
        if len(runs) == 1 and len(groups) > 1:
            return groups
        if len(groups) == 1:
            inner = groups[0].node
            assert isinstance(inner, ClauseGroup)
            out += inner.clauses
        else:
            out.append(Clause(ClauseGroup(tuple(groups)), "must"))
    return out

"""What a query asks for, as a tree of clauses: `parser` makes it, `query_plan` reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec


class Word(msgspec.Struct, frozen=True):
    text: str


class Wildcard(msgspec.Struct, frozen=True):
    pattern: str  # * any letters, ? one letter


class Fuzzy(msgspec.Struct, frozen=True):
    text: str
    distance: int


class Phrase(msgspec.Struct, frozen=True):
    text: str
    slop: int = 0


class Near(msgspec.Struct, frozen=True):
    """The words (or phrases) within `distance` words of each other, in any order."""

    left: str
    right: str
    distance: int


class Numbers(msgspec.Struct, frozen=True):
    """Any whole number of a range, as a word of the text."""

    low: int
    high: int


class Within(msgspec.Struct, frozen=True):
    """Words looked for in one part of the page: title, body, anchor or url."""

    part: str
    text: str
    phrase: bool = False


class Only(msgspec.Struct, frozen=True):
    """A property the page must have: site, host, type, language, collection, tag."""

    property: str
    value: str


class When(msgspec.Struct, frozen=True):
    """A range of time in milliseconds, both ends included; `what` is date, captured or at."""

    what: str
    low: int | None = None
    high: int | None = None


class Clause(msgspec.Struct, frozen=True):
    node: Node
    occurs: str = "may"  # may, must, not


class ClauseGroup(msgspec.Struct, frozen=True):
    clauses: tuple[Clause, ...]


Node = Word | Wildcard | Fuzzy | Phrase | Near | Numbers | Within | Only | When | ClauseGroup


Tagged = Callable[[str, int], Sequence[int]]  # (tag, most) → keys of the pages that got it, the last first


class Note(str):
    """What a reader is told about a query: an English sentence that remembers what it was made of, to be translated.

    `Note("only the first {number} words were read", number=100)`; the console translates `template`.
    """

    template: str
    values: dict[str, object]

    def __new__(cls, template: str, **values: object) -> Note:
        note = super().__new__(cls, template.format(**values) if values else template)
        note.template = template
        note.values = values
        return note

    def said(self, template: str) -> str:
        """The same in other words, which have the same places for values."""
        return template.format(**self.values) if self.values else template


class Parsed(msgspec.Struct):
    root: ClauseGroup
    notes: list[str] = []
    words: int = 0
    either: bool = False  # the whole of it is alternatives: a OR b OR c

    @property
    def plain(self) -> bool:
        """Only words: what most people type."""
        return all(isinstance(clause.node, Word) and clause.occurs == "may" for clause in self.root.clauses)


def nodes(group: ClauseGroup) -> Iterator[Node]:
    """Every node of a group and of the groups in it."""
    for clause in group.clauses:
        yield clause.node
        if isinstance(clause.node, ClauseGroup):
            yield from nodes(clause.node)


def is_filter(node: Node) -> bool:
    """Whether a node only says which pages are meant (`site:`, `before:`, `intitle:`), not what they are about."""
    if isinstance(node, ClauseGroup):
        return all(is_filter(clause.node) for clause in node.clauses)
    return isinstance(node, Only | When | Within)


def properties(clauses: Iterable[Clause]) -> Iterator[Only]:
    """Properties that every page must have, also those in groups of which all must hold (`site:example.org/blog`)."""
    for clause in clauses:
        if clause.occurs == "must" and isinstance(clause.node, Only):
            yield clause.node
        elif clause.occurs == "must" and isinstance(clause.node, ClauseGroup):
            yield from properties(clause.node.clauses)


def required(parsed: Parsed, is_stop_word: Callable[[str], bool]) -> Parsed:
    """The same query with every word required, except stop words."""
    if parsed.either:
        return parsed
    clauses = parsed.root.clauses
    wanted = [c.occurs == "may" and not (isinstance(c.node, Word) and is_stop_word(c.node.text)) for c in clauses]
    made = [Clause(c.node, "must") if want else c for c, want in zip(clauses, wanted, strict=True)]
    return msgspec.structs.replace(parsed, root=ClauseGroup(tuple(made)))

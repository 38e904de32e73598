"""The focus of a crawl as a person writes it: a TOML file, or the built-in `geo`. How to write one:
docs/reference/focus.md."""

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from hemeroteca.errors import Invalid, in_words
from hemeroteca.focus.targets import TargetRule, check
from hemeroteca.urls import UrlError

BUILT_IN = ("geo",)
DEFAULT_STRATEGY = "focused"
MAX_FILE = 1 << 20
MAX_TERMS = 20_000

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Weight = Annotated[float, msgspec.Meta(ge=0, le=10)]


class Tuning(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Settings of the strategies; the names and defaults of Shark-Search."""

    delta: Share = 0.5  # how much of a page's relevance its links inherit
    beta: Share = 0.5  # share of the anchor in the neighbourhood of a link; the rest is its context's
    gamma: Share = 0.5  # share of what is inherited in a link's score; the rest is its neighbourhood's
    context: Annotated[int, msgspec.Meta(ge=0, le=500)] = 30  # characters on each side of an anchor
    depth: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 5  # links followed in a row without a relevant page
    width: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 10  # links of a page that Fish-Search prefers
    threshold: Share = 0.05  # relevance below it counts as none
    spread: Annotated[float, msgspec.Meta(ge=0, le=100)] = (
        1.0  # how fast a host without targets loses its place; 0: never
    )
    learn: Share = 0.85  # the most the learned part may count in `focused`


class AwayWords(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Words of anchors and addresses of links that hardly ever lead to a target: `news`, `privacy policy`."""

    words: tuple[str, ...]
    weight: Weight = 2.0  # of each


class Definition(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a crawl looks for."""

    name: str = ""
    thesauri: tuple[str, ...] = ()  # names of imported ones, or `geography`
    themes: tuple[str, ...] = ()  # only their concepts count: words of labels of themes, groups or broader concepts
    languages: tuple[str, ...] = ()  # only labels in these; empty: all
    thesaurus_weight: Weight = 1.0  # all weights of thesauri are multiplied with it
    relevance: Literal["weighted", "terms-2016"] = "weighted"
    terms: dict[str, Weight] = {}  # words of texts, with their weights
    hints: dict[str, Weight] = {}  # words of addresses, with their weights
    away: tuple[AwayWords, ...] = ()  # words of links that hardly ever lead to a target
    targets: tuple[TargetRule, ...] = ()  # a capture that is one of these is what the crawl looks for
    tuning: Tuning = Tuning()


class TermTable(msgspec.Struct, array_like=True, frozen=True):
    """Terms with their weights, ready for a matcher."""

    patterns: list[bytes] = []
    terms: list[int] = []  # the term each pattern is a spelling of
    weights: list[float] = []  # of each term


class CompiledFocus(msgspec.Struct, array_like=True):
    """A focus with its thesauri, as an ingest process is told once."""

    definition: Definition
    table: TermTable  # of texts
    hints: TermTable  # of addresses
    away: TermTable  # of anchors and addresses
    label_words: dict[str, int] = {}  # `terms-2016`: labels in which a word stands


class PageFocus(msgspec.Struct, array_like=True):
    """What a page that was read is to the focus of its crawl: a find of ingest, named `focus`."""

    relevance: float
    target: str = ""  # what it is of what the crawl looks for; empty: nothing


def load(given: str) -> Definition:
    """The built-in focus of that name, or the one in that file. Raises `Invalid`."""
    if given in BUILT_IN:
        return _built_in(given)
    path = Path(given)
    try:
        if path.stat().st_size > MAX_FILE:
            raise Invalid(f"the focus file {given} is larger than {MAX_FILE >> 20} MiB; it is probably another file")
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise Invalid(f"there is no focus {given!r} ({why}); write {' or '.join(BUILT_IN)}, or the name of a TOML file")
    found = parse(text, given)
    return found if found.name else msgspec.structs.replace(found, name=path.stem)


def parse(text: str, source: str = "focus") -> Definition:
    """A focus from the text of its file. Raises `Invalid`."""
    import tomllib  # only here: few processes read a file

    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"{source} is not TOML ({error}); docs/reference/focus.md shows how a focus is written")
    return convert(values, source)


def convert(values: dict[str, Any], source: str = "focus") -> Definition:
    """A focus from the values of its file, as the API gives them. Raises `Invalid`."""
    try:
        found = msgspec.convert(values, Definition, strict=False)
    except msgspec.ValidationError as error:
        raise Invalid(f"{source}: {in_words(error)}; docs/reference/focus.md lists what a focus may hold")
    if len(found.terms) + len(found.hints) + sum(len(one.words) for one in found.away) > MAX_TERMS:
        raise Invalid(f"{source} has more than {MAX_TERMS:,} words of its own; import them as a thesaurus")
    if not (found.terms or found.thesauri or found.hints):
        raise Invalid(f"{source} names no terms, thesaurus or hints; without them all links are alike")
    for target in found.targets:
        try:
            check(target)
        except UrlError as error:
            raise Invalid(f"{source}: {error}")
    return found


@cache
def _built_in(name: str) -> Definition:
    text = resources.files("hemeroteca.focus").joinpath(f"vocabularies/{name}.toml").read_text("utf-8")
    return parse(text, name)

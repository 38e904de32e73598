"""Thesauri: SKOS files (RDF/XML, Turtle, JSON-LD and the like) read once, kept in the data folder, and compiled to a
table of weighted terms for the focus of a crawl.

The founding work of 2016 asked a thesaurus by SPARQL for every word of a page and switched it off: it took seconds a
page. Here it is asked once, at import.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from hemeroteca.errors import Invalid, NotFound
from hemeroteca.extract.document import names
from hemeroteca.focus.matcher import fold

BUILT_IN = ("geography",)
MAX_BYTES = 1 << 30  # of one file
MAX_CONCEPTS = 1_000_000
MAX_LABEL = 200  # characters
MAX_DEPTH = 30  # broader concepts in a row
ENDINGS = {".rdf": "rdf", ".xml": "rdf", ".owl": "rdf", ".ttl": "ttl", ".turtle": "ttl", ".nt": "nt", ".n3": "n3",
           ".jsonld": "jsonld", ".json": "jsonld", ".trig": "trig", ".nq": "nq"}  # fmt: skip

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}\Z")
_QUALIFIER = re.compile(
    r"\s*\([^()]*\)\s*\Z"
)  # `absorption (exposure)`: it tells concepts apart, pages do not write it
_SKOS = ("http://www.w3.org/2004/02/skos/core#", "http://www.w3.org/2008/05/skos#", "http://www.w3.org/2009/08/skos#")


class Label(msgspec.Struct, array_like=True, frozen=True, gc=False):
    text: str
    language: str  # small letters; empty: none was given
    preferred: bool = True  # else an alternative


class Concept(msgspec.Struct, array_like=True, gc=False):
    """What a thesaurus knows by several labels."""

    uri: str
    labels: list[Label] = []
    broader: list[int] = []  # numbers of concepts
    groups: list[int] = []  # numbers of the themes and groups it is a member of


class ConceptGroup(msgspec.Struct, array_like=True, gc=False):
    """A theme, a group, a collection, or a scheme."""

    uri: str
    labels: list[Label] = []


class Thesaurus(msgspec.Struct):
    name: str
    concepts: list[Concept]
    groups: list[ConceptGroup]
    files: list[str] = []  # names of the files it was read from
    notes: list[str] = []  # what was left out

    def summary(self) -> dict[str, Any]:
        """What people are told of it."""
        return {
            "name": self.name,
            "concepts": len(self.concepts),
            "groups": len(self.groups),
            "languages": self.languages(),
            "files": self.files,
            "notes": self.notes,
        }

    def languages(self) -> dict[str, int]:
        """Number of labels by language, the most first."""
        counts: dict[str, int] = {}
        for concept in self.concepts:
            for label in concept.labels:
                counts[label.language] = counts.get(label.language, 0) + 1
        return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))

    def depths(self) -> list[int]:
        """Broader concepts above each concept, by the shortest way; 0: a top concept."""
        depths = [0 if not concept.broader else -1 for concept in self.concepts]
        narrower: dict[int, list[int]] = {}
        for number, concept in enumerate(self.concepts):
            for above in concept.broader:
                narrower.setdefault(above, []).append(number)
        level = [number for number, depth in enumerate(depths) if depth == 0]
        for depth in range(1, MAX_DEPTH + 1):
            level = [below for number in level for below in narrower.get(number, ()) if depths[below] < 0]
            for number in level:
                depths[number] = depth
        return [max(depth, 0) for depth in depths]  # what is left goes in circles

    def members(self, themes: Sequence[str]) -> set[int]:
        """Concepts of themes: those of groups, or below concepts, whose label has these words or whose address ends
        with them."""
        wanted = [b" " + b" ".join(fold(theme).split()) + b" " for theme in themes]
        groups = {number for number, group in enumerate(self.groups) if _is_named(group, wanted, themes)}
        found = {
            number
            for number, concept in enumerate(self.concepts)
            if not groups.isdisjoint(concept.groups) or _is_named(concept, wanted, themes, whole=True)
        }
        narrower: dict[int, list[int]] = {}
        for number, concept in enumerate(self.concepts):
            for above in concept.broader:
                narrower.setdefault(above, []).append(number)
        named = [n for n in found if _is_named(self.concepts[n], wanted, themes, whole=True)]
        while named:
            named = [below for number in named for below in narrower.get(number, ()) if below not in found]
            found.update(named)
        return found


def read(name: str, files: Iterable[Path]) -> Thesaurus:
    """Read the SKOS files of a thesaurus together. Raises `Invalid`."""
    if not _NAME.match(name):
        raise Invalid(f"{name!r} is no name for a thesaurus; write small letters, digits, - and _, like gemet")
    reading = _Reading(name)
    for path in files:
        reading.add(path)
    return reading.thesaurus()


def terms(
    thesaurus: Thesaurus, themes: Sequence[str] = (), languages: Sequence[str] = ()
) -> Iterator[tuple[str, list[str], float]]:
    """Name, forms and weight of each term: the deeper a concept lies, the more it says; so do several words."""
    depths = thesaurus.depths()
    chosen = thesaurus.members(themes) if themes else None
    for number, concept in enumerate(thesaurus.concepts):
        if chosen is not None and number not in chosen:
            continue
        forms: dict[str, None] = {}
        words = 1
        for label in concept.labels:
            if languages and label.language and label.language.partition("-")[0] not in languages:
                continue
            text = _QUALIFIER.sub("", label.text)
            if len(text) < 3 and not text.isupper():
                continue
            words = max(words, len(text.split()))
            forms.update(dict.fromkeys((text, *plurals(text, label.language))))
        if forms:
            deep = depths[number] / (depths[number] + 2)
            yield concept.uri, list(forms), (0.08 + 0.12 * deep) * (1.5 if words > 1 else 1.0)


def plurals(text: str, language: str) -> list[str]:
    """Other numbers of a label, by the plain rules of a few languages; a form that nobody writes does no harm."""
    words = text.split()
    if not words or not words[-1].isalpha():
        return []
    language = language.partition("-")[0]
    if language == "en":
        return [" ".join((*words[:-1], _english_plural(words[-1])))]
    if language in ("es", "gl", "pt", "ca", "fr"):
        return [" ".join(word if word.lower() in _LITTLE or len(word) < 3 else _romance_plural(word) for word in words)]
    return []


# kept in the data folder


def save(folder: Path, thesaurus: Thesaurus) -> Path:
    """Keep a thesaurus, in place of the one of the same name."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{thesaurus.name}.thesaurus"
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_bytes(msgspec.msgpack.encode(thesaurus))
    os.replace(draft, path)
    return path


def kept(folder: Path) -> list[str]:
    """Names of those that were imported."""
    return sorted(path.stem for path in folder.glob("*.thesaurus"))


def load(folder: Path | None, name: str) -> Thesaurus:
    """An imported thesaurus, or a built-in one. Raises `NotFound`."""
    path = folder / f"{name}.thesaurus" if folder is not None and _NAME.match(name) else None
    if path is not None and path.exists():
        try:
            return msgspec.msgpack.decode(path.read_bytes(), type=Thesaurus)
        except (OSError, msgspec.MsgspecError) as error:
            raise Invalid(
                f"the thesaurus {name} cannot be read ({error}); import it again with "
                f"`hemeroteca focus thesaurus import {name} FILES…`"
            )
    if name in BUILT_IN:
        return _built_in(name)
    known = ", ".join((*BUILT_IN, *(kept(folder) if folder is not None else ())))
    raise NotFound(
        f"there is no thesaurus {name!r}, only {known}; `hemeroteca focus thesaurus import {name} FILES…` makes one"
    )


@cache
def _built_in(name: str) -> Thesaurus:
    with resources.as_file(resources.files("hemeroteca.focus").joinpath(f"vocabularies/{name}.ttl")) as path:
        return read(name, [path])


class _Reading:
    """The statements of all files, put together at the end: labels may stand in another file than their concept."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._files: list[str] = []
        self._labels: dict[str, dict[Label, None]] = {}
        self._concepts: dict[str, None] = {}
        self._broader: dict[str, dict[str, None]] = {}
        self._members: dict[str, dict[str, None]] = {}  # group → what it has

    def add(self, path: Path) -> None:
        import pyoxigraph as rdf  # only here: it is large, and needed at import only

        formats = {
            "rdf": rdf.RdfFormat.RDF_XML, "ttl": rdf.RdfFormat.TURTLE, "nt": rdf.RdfFormat.N_TRIPLES,
            "n3": rdf.RdfFormat.N3, "jsonld": rdf.RdfFormat.JSON_LD, "trig": rdf.RdfFormat.TRIG,
            "nq": rdf.RdfFormat.N_QUADS,
        }  # fmt: skip
        self._files.append(path.name)
        try:
            if path.stat().st_size > MAX_BYTES:
                raise Invalid(f"{path} is larger than {MAX_BYTES >> 30} GiB; cut it into files of one language each")
            with path.open("rb") as file:
                chosen = formats[ENDINGS.get(path.suffix.lower()) or _guess(file.read(2048))]
            base = "http://localhost/"
            for statement in rdf.parse(path=str(path), format=chosen, base_iri=base, lenient=True):
                self._take(statement, rdf.Literal, rdf.NamedNode)
        except (OSError, SyntaxError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise Invalid(
                f"{path} cannot be read as SKOS ({reason}); RDF/XML (.rdf), Turtle (.ttl), JSON-LD (.jsonld) and "
                "N-Triples (.nt) are understood"
            )

    def _take(self, statement, literal: type, node: type) -> None:  # type: ignore[no-untyped-def]  # pyoxigraph has no types
        subject, predicate, value = statement.subject, statement.predicate.value, statement.object
        if not isinstance(subject, node):
            return
        about, relation = subject.value, _relation(predicate)  # type: ignore[attr-defined]
        if isinstance(value, literal):
            if relation in ("prefLabel", "altLabel", "hiddenLabel", "label"):
                text = " ".join(value.value.split())[:MAX_LABEL]  # type: ignore[attr-defined]
                label = Label(text, (value.language or "").lower(), relation in ("prefLabel", "label"))  # type: ignore[attr-defined]
                if text:
                    self._labels.setdefault(about, {})[label] = None
        elif isinstance(value, node):
            other: str = value.value  # type: ignore[attr-defined]
            if relation == "type" and other.startswith(_SKOS) and other.endswith("#Concept"):
                self._concepts[about] = None
            elif relation in ("broader", "broaderGeneric", "broaderPartitive", "broaderInstantive"):
                self._broader.setdefault(about, {})[other] = None
                self._concepts.update({about: None, other: None})
            elif relation == "narrower":
                self._broader.setdefault(other, {})[about] = None
                self._concepts.update({about: None, other: None})
            elif relation == "member":
                self._members.setdefault(about, {})[other] = None
            elif relation in ("theme", "group"):
                self._members.setdefault(other, {})[about] = None
        if len(self._concepts) > MAX_CONCEPTS:
            raise Invalid(f"{self._name} has more than {MAX_CONCEPTS:,} concepts; import a part of it")

    def thesaurus(self) -> Thesaurus:
        groups = [about for about in self._members if about not in self._concepts]
        group_numbers = {about: number for number, about in enumerate(groups)}
        above: dict[str, list[str]] = {}  # member → groups
        for group, members in self._members.items():
            for member in members:
                if group in group_numbers:
                    above.setdefault(member, []).append(group)
        # What has a label and stands in a group is a concept too: labels are often kept apart from the structure.
        concepts = [
            about
            for about in dict.fromkeys((*self._concepts, *above))
            if about not in group_numbers and about in self._labels
        ]
        numbers = {about: number for number, about in enumerate(concepts)}
        bare = len(self._concepts.keys() - numbers.keys())
        notes = [f"{bare} concepts have no label"] if bare else []
        if not concepts:
            raise Invalid(
                f"no concept with a label was found in {', '.join(self._files)}; labels and structure may stand in "
                "several files, which are imported together"
            )
        return Thesaurus(
            name=self._name,
            concepts=[
                Concept(
                    uri=about,
                    labels=list(self._labels[about]),
                    broader=[numbers[one] for one in self._broader.get(about, ()) if one in numbers and one != about],
                    groups=sorted({group_numbers[one] for one in _all_above(about, above)}),
                )
                for about in concepts
            ],
            groups=[ConceptGroup(about, list(self._labels.get(about, ()))) for about in groups],
            files=self._files,
            notes=notes,
        )


def _all_above(about: str, above: dict[str, list[str]]) -> set[str]:
    """The groups something belongs to, and those these belong to."""
    found: set[str] = set()
    level = above.get(about, [])
    while level:
        found.update(level)
        level = [higher for group in level for higher in above.get(group, ()) if higher not in found]
    return found


def _relation(predicate: str) -> str:
    """The local name of a relation of SKOS, RDF or RDFS, and of the vocabularies built on them."""
    return predicate[max(predicate.rfind("#"), predicate.rfind("/")) + 1 :]


def _guess(start: bytes) -> str:
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    return "rdf" if text.startswith(b"<?xml") or b"<rdf:RDF" in text else "jsonld" if text[:1] in b"{[" else "ttl"


def _is_named(
    thing: Concept | ConceptGroup, wanted: Sequence[bytes], themes: Sequence[str], whole: bool = False
) -> bool:
    if any(thing.uri == theme or thing.uri.endswith(("/" + theme, "#" + theme)) for theme in themes):
        return True
    for label in thing.labels:
        folded = b" " + b" ".join(fold(label.text).split()) + b" "
        if folded in wanted or (not whole and any(words in folded for words in wanted)):
            return True
    return False


_LITTLE = names("de del la las el los y e o en con para por a da do das dos du des et i per amb em na no")


def _english_plural(word: str) -> str:
    if word.endswith("s"):
        return word
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("x", "ch", "sh")) else "s")


def _romance_plural(word: str) -> str:
    if word[-1] in "sx":
        return word
    if word[-1] == "z":
        return word[:-1] + "ces"
    if word.endswith("ión"):
        return word[:-3] + "iones"
    return word + ("s" if word[-1] in "aeiouáéó" else "es")

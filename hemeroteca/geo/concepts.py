"""Keywords of services as concepts of the thesauri that are known here: the same idea in every language."""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from django.conf import settings

from hemeroteca.focus import thesaurus
from hemeroteca.focus.thesaurus import plurals
from hemeroteca.frontier import thesauri
from hemeroteca.geo.services import fold

MAX_KEYWORDS = 200
MAX_LABELS = 100


class KeywordConcept(NamedTuple):
    """A keyword that is the label of a concept, in its singular or plural."""

    keyword: str
    thesaurus: str
    number: int  # of the concept in it
    uri: str
    label: str  # preferred, in the language of the keyword


def of_keywords(keywords: list[str]) -> list[KeywordConcept]:
    """Concepts of keywords, one for each thesaurus that has it; keywords without one are left out."""
    index = _index(_stamp())
    found = []
    for keyword in keywords[:MAX_KEYWORDS]:
        for name, number, uri, label in index.get(_folded(keyword), {}).values():
            found.append(KeywordConcept(keyword, name, number, uri, label))
    return found


def labels(keyword: str) -> list[str]:
    """What else the concept of a keyword is called, in every language, folded; `keyword` may be its URI."""
    index = _index(_stamp())
    wanted: Iterable[tuple[str, int, str, str]] = index.get(_folded(keyword), {}).values()
    if keyword.startswith(("http://", "https://")):
        wanted = [found for named in index.values() for found in named.values() if found[2] == keyword][:1]
    forms: dict[str, None] = {}
    for name, number, _, _ in wanted:
        for label in thesauri.by_name(name).concepts[number].labels:
            forms |= dict.fromkeys(_folded(form) for form in (label.text, *plurals(label.text, label.language)))
    return list(forms)[:MAX_LABELS]


def _stamp() -> tuple[tuple[str, int], ...]:
    """Names of the thesauri and when each was imported: a new one is seen at once."""
    folder = settings.INSTANCE.thesauri_dir
    kept = [(path.stem, path.stat().st_mtime_ns) for path in sorted(folder.glob("*.thesaurus"))]
    return (*((name, 0) for name in thesaurus.BUILT_IN), *kept)


@lru_cache(1)
def _index(stamp: tuple[tuple[str, int], ...]) -> dict[str, dict[str, tuple[str, int, str, str]]]:
    index: dict[str, dict[str, tuple[str, int, str, str]]] = {}
    for name in dict.fromkeys(name for name, _ in stamp):
        for number, concept in enumerate(thesauri.by_name(name).concepts):
            for label in concept.labels:
                same = (one.text for one in concept.labels if one.preferred and one.language == label.language)
                preferred = next(same, label.text)
                for form in (label.text, *plurals(label.text, label.language)):
                    index.setdefault(_folded(form), {}).setdefault(name, (name, number, concept.uri, preferred))
    return index


def _folded(text: str) -> str:
    return " ".join(fold(text).split())

"""`inbody:`: words that must stand in the text itself, not only in the title or in links to the page.

The index has all words of a page in one field, so that they are found and weighed together. Whether some of them stand
in the text is told by reading it, of the pages that are shown only.
"""

from functools import lru_cache

from hemeroteca.search import analysis
from hemeroteca.search.document import SearchDocument
from hemeroteca.search.query.clauses import Clause, Group, Node, Within


def stands(asked: Group, page: SearchDocument) -> bool:
    """Whether a page the index found for a query can be meant by it, by what its `inbody:` ask for."""
    return _holds(asked, _Text(page)) is not False


class _Text:
    def __init__(self, page: SearchDocument) -> None:
        self._field, self._language = analysis.field_of(page.language), page.language
        parts = [_stemmed(part, self._field, self._language) for part in (page.text, page.description)]
        self._words = [*parts[0], "", *parts[1]]
        self._known = frozenset(self._words)

    def has(self, text: str) -> bool:
        """Whether the words stand together somewhere."""
        wanted = _wanted(text, self._field, self._language)
        if not self._known.issuperset(wanted):
            return False
        size = len(wanted)
        return size < 2 or any(
            self._words[at : at + size] == wanted for at, word in enumerate(self._words) if word == wanted[0]
        )


def _stemmed(text: str, field: str, language: str) -> list[str]:
    terms = analysis.terms(text, field)
    stem = analysis.stems(terms, language)
    return [stem[term] for term in terms]


_wanted = lru_cache(maxsize=1000)(_stemmed)  # the same few words are looked for in every result


def _holds(node: Node, text: _Text) -> bool | None:
    """None: the text does not tell; the index has."""
    if isinstance(node, Within) and node.part == "body":
        return text.has(node.text)
    return _all(node.clauses, text) if isinstance(node, Group) else None


def _all(clauses: tuple[Clause, ...], text: _Text) -> bool | None:
    needed = [_holds(clause.node, text) for clause in clauses if clause.occurs == "must"]
    needed += [_contrary(_holds(clause.node, text)) for clause in clauses if clause.occurs == "not"]
    wanted = [_holds(clause.node, text) for clause in clauses if clause.occurs == "may"]
    if wanted and not needed:
        needed = [True if True in wanted else None if None in wanted else False]
    return False if False in needed else None if None in needed else True


def _contrary(held: bool | None) -> bool | None:
    return None if held is None else not held

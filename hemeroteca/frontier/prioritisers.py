"""Prioritisers: how much a crawl wants to see a candidate. The frontier asks its host's best visit first, and among
hosts that may be asked the one with the best visit.

A crawl's options name its prioritiser (`order`). Another room adds one with `register`. A crawl with a focus has one of
the strategies of `hemeroteca.focus`, which are told what every visited page was worth (`focused`).
"""

from collections.abc import Callable
from typing import Protocol

from hemeroteca.errors import Invalid
from hemeroteca.focus.definition import Definition
from hemeroteca.urls import Candidate, UrlRole
from hemeroteca.urls.candidate import REQUISITE_DEPTH

SITEMAP = 100.0  # it names pages: before all others
KNOWN = 50.0  # a page that is due for another visit goes before those just met


class Prioritiser(Protocol):
    def score(self, candidate: Candidate) -> float:
        """Higher goes first."""
        ...


class BreadthFirst:
    """Sitemaps, then by the number of links from a seed; what a redirect leads to before the others of its depth."""

    def score(self, candidate: Candidate) -> float:
        if candidate.role == UrlRole.SITEMAP:
            return SITEMAP
        return float((candidate.redirects > 0) - candidate.depth % REQUISITE_DEPTH)


class Freshness(BreadthFirst):
    """As breadth-first, but a page that is due (nobody just found a link to it) goes before those just met."""

    def score(self, candidate: Candidate) -> float:
        if candidate.role != UrlRole.SITEMAP and not candidate.parent and not candidate.redirects:
            return KNOWN
        return super().score(candidate)


_KNOWN: dict[str, Callable[[], Prioritiser]] = {}


def register(name: str, make: Callable[[], Prioritiser]) -> None:
    """Make a prioritiser known by the name that crawls give it."""
    _KNOWN[name] = make


def names(focus: bool = False) -> list[str]:
    """Of those a crawl may have; `focus`: a crawl with a focus."""
    if not focus:
        return sorted(_KNOWN)
    from hemeroteca.focus.strategies import STRATEGIES  # only here: most crawls have none

    return sorted(STRATEGIES)


def prioritiser(name: str, focus: Definition | None = None) -> Prioritiser:
    """A new one, of a crawl with that focus. Raises `Invalid` for a name that nobody registered."""
    if name not in names(focus is not None):
        reason = f"order={name} is not known"
        if focus is None and name in names(True):
            reason = f"order={name} is for crawls with a focus"
        raise Invalid(f"{reason}; write one of: {', '.join(names(focus is not None))}")
    if focus is None:
        return _KNOWN[name]()
    from hemeroteca.focus.strategies import STRATEGIES

    return STRATEGIES[name](focus.tuning)


register("breadth-first", BreadthFirst)
register("freshness", Freshness)

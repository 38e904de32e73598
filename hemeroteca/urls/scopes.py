"""Which URLs belong to a crawl."""

from functools import lru_cache
from typing import Literal

import msgspec

from hemeroteca.urls.domains import registrable_domain
from hemeroteca.urls.patterns import Patterns
from hemeroteca.urls.whatwg import UrlError, host

Kind = Literal["page", "prefix", "host", "domain", "web"]


class Scope(msgspec.Struct, frozen=True):
    """What a crawl may visit, as people ask for it and as it is stored.

    Seeds are canonical URLs and always in scope. `kind` says how far around them: the pages themselves, all under their
    folders, their hosts, their registrable domains, or the whole web.
    http and https, with `www.` or without, are the same place.
    Of those URLs `exclude` takes away what matches any expression; `include`, if given, leaves only what matches one;
    `depth` is the greatest number of links from a seed.
    """

    kind: Kind = "host"
    seeds: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    depth: int | None = None

    def refusal(self, url: str, depth: int) -> str | None:
        """Why a canonical URL, so many links from a seed, is not visited; None when it is."""
        return _matcher(self).refusal(url, depth)


class ScopeMatcher:
    """A scope made ready for many questions. `UrlError` when an expression or a seed cannot be used."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._seeds = frozenset(scope.seeds)
        self._places = tuple(sorted({_place(seed, scope.kind) for seed in scope.seeds}))
        self._include = Patterns(scope.include) if scope.include else None
        self._exclude = Patterns(scope.exclude) if scope.exclude else None
        self.outside = _OUTSIDE[scope.kind]  # the reason that holds at any depth

    def refusal(self, url: str, depth: int) -> str | None:
        """As `Scope.refusal`."""
        if url in self._seeds:
            return None
        limit = self.scope.depth
        if limit is not None and depth > limit:
            return f"more than {limit} links from a seed"
        if not self._near(url):
            return self.outside
        if self._exclude is not None:
            expression = self._exclude.first(url)
            if expression is not None:
                return f"excluded by {expression!r}"
        if self._include is not None and self._include.first(url) is None:
            return "matches no include expression"
        return None

    def _near(self, url: str) -> bool:
        kind = self.scope.kind
        if kind == "web":
            return True
        if kind == "domain":
            return registrable_domain(_host(url)) in self._places
        if kind == "page":
            return False
        # "host/" of "https://www.host/path", by text: the hot path of every link found.
        start = url.find("//") + 2
        if url.startswith("www.", start):
            start += 4
        return url.startswith(self._places, start)


_OUTSIDE = {
    "page": "not one of the pages asked for",
    "prefix": "not under the folder of a seed",
    "host": "on another host",
    "domain": "on another domain",
    "web": "nowhere on the web",
}


@lru_cache(maxsize=64)
def _matcher(scope: Scope) -> ScopeMatcher:
    return ScopeMatcher(scope)


def _place(seed: str, kind: Kind) -> str:
    """What URLs near this seed begin with (after scheme and `www.`), or their registrable domain."""
    name = host(seed)
    if kind == "domain":
        return registrable_domain(name)
    bare = seed.partition("//")[2].removeprefix("www.").partition("?")[0]
    if "/" not in bare:
        raise UrlError(f"{seed!r} is not a canonical URL; pass seeds through urls.canonical first")
    return bare[: (bare.find("/") if kind == "host" else bare.rfind("/")) + 1]


def _host(url: str) -> str:
    try:
        return host(url)
    except UrlError:
        return ""

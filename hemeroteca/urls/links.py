"""From the links of a page to canonical URLs and keys: the busiest function of a crawl.

Two things make it cheap. What a relative link means depends on the page's directory only, and pages of one directory
share most of their links: a directory remembers what it resolved. And most links are plain enough to be put together
without a parser; `_PLAIN_PATH` and `_PLAIN_RELATIVE` say which. All others go through `whatwg.join` and `canon`; the
tests hold both ways to the same answers.
"""

import re
from typing import NamedTuple

from hemeroteca.urls import whatwg
from hemeroteca.urls.canon import DEFAULT_RULES, Rules, clean_query, key, of_href
from hemeroteca.urls.whatwg import UrlError


class Target(NamedTuple):
    """Where a link leads."""

    url: str
    key: int


def resolve_links(base: str, hrefs: list[str], rules: Rules = DEFAULT_RULES) -> list[str | None]:
    """For each `href` on the page `base` its canonical URL, None where it is not a web address."""
    return [target and target.url for target in resolve_targets(base, hrefs, rules)]


def resolve_targets(base: str, hrefs: list[str], rules: Rules = DEFAULT_RULES) -> list[Target | None]:
    """As `resolve_links`, with the keys, which are remembered too."""
    try:
        page = whatwg.parse(base)
    except UrlError:
        page = ""  # absolute links still mean something
    directory = _memory.directory(page, rules)
    known = len(directory)
    targets = [directory[href] for href in hrefs]
    _memory.grew(len(directory) - known)

    itself: Target | None = None
    for place, target in enumerate(targets):
        if target is _PAGE_ITSELF:
            itself = itself or _resolve(page, "", rules)
            targets[place] = itself
        elif target is _BY_PAGE:
            targets[place] = _resolve(page, hrefs[place], rules)
    return targets


# Stand for links whose meaning depends on the whole address of the page, not on its directory.
_PAGE_ITSELF = Target("", 1)
_BY_PAGE = Target("", 2)

_MAX_ENTRIES = 20_000  # links remembered, about 8 MB; then all is forgotten, which costs one parsing of each
_MAX_DIRECTORY = 5_000
_MAX_REMEMBERED_LENGTH = 500
_DIRECTORY_COST = 5  # a directory weighs about as much as this many links


class _Directory(dict[str, Target | None]):
    """Links met on pages of one directory, and where they lead."""

    def __init__(self, url: str, rules: Rules) -> None:
        super().__init__()
        self._url = url
        self._rules = rules
        self._ancestors = _ancestors(url, rules)

    def __missing__(self, href: str) -> Target | None:
        if href[:1] in ("#", ""):
            return _PAGE_ITSELF
        if href[0] == "?":
            return _BY_PAGE
        target = self._resolve(href)
        if len(href) <= _MAX_REMEMBERED_LENGTH and len(self) < _MAX_DIRECTORY:
            self[href] = target
        return target

    def _resolve(self, href: str) -> Target | None:
        ancestors, rules = self._ancestors, self._rules
        if ancestors and len(href) <= _MAX_REMEMBERED_LENGTH:
            if href[0] == "/" or href.startswith("http"):
                plain = _PLAIN_PATH(href)
                if plain:
                    site, path, query = plain.groups()
                    if site is None:
                        url = ancestors[0] + path
                    elif not rules.drop_www:
                        url = f"{site}/{path or ''}"
                    else:
                        return _resolve(self._url, href, rules)
                    return self._target(url, query)
            else:
                plain = _PLAIN_RELATIVE(href)
                if plain:
                    up, path, query = plain.groups()
                    if not up or up == "./":
                        url = ancestors[-1] + path
                    else:
                        url = ancestors[max(0, len(ancestors) - 1 - len(up) // 3)] + path
                    return self._target(url, query)
        return _resolve(self._url, href, rules) if _BY_DIRECTORY(href) else _BY_PAGE

    def _target(self, url: str, query: str | None) -> Target:
        if query:
            query = clean_query(query, self._rules)
            if query:
                url = f"{url}?{query}"
        return Target(url, key(url))


class _Memory:
    """The directories of late, bounded by the links they hold."""

    def __init__(self) -> None:
        self._directories: dict[tuple[str, Rules], _Directory] = {}
        self._entries = 0

    def directory(self, page: str, rules: Rules) -> _Directory:
        url = page[: page.partition("#")[0].partition("?")[0].rfind("/") + 1] if page.startswith("http") else ""
        directory = self._directories.get((url, rules))
        if directory is None:
            directory = self._directories[url, rules] = _Directory(url, rules)
            self.grew(_DIRECTORY_COST)
        return directory

    def grew(self, entries: int) -> None:
        self._entries += entries
        if self._entries > _MAX_ENTRIES:
            self._directories.clear()
            self._entries = 0


_memory = _Memory()


def _resolve(base: str, href: str, rules: Rules) -> Target | None:
    """The long way, for any text."""
    try:
        absolute = whatwg.join(base, href) if base else whatwg.parse(href)
        if absolute is None:
            return None
        url = of_href(absolute, rules)
    except UrlError:
        return None
    return Target(url, key(url))


def _ancestors(url: str, rules: Rules) -> list[str]:
    """Canonical URLs of a directory and all above it, root first; empty where they cannot be had by cutting text."""
    if not url or len(url) > 4000:
        return []
    try:
        directory = of_href(url, rules)
    except UrlError:
        return []
    if directory.count("/") != url.count("/"):
        return []
    root, *names = directory[:-1].split("/")[2:]
    ancestors = [f"{directory.partition('/')[0]}//{root}/"]
    for name in names:
        ancestors.append(f"{ancestors[-1]}{name}/")
    return ancestors


# Escapes that are canonical as they stand: upper case, not of an unreserved character.
_ESCAPES = r"%(?:[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|[46]0|5[B-E]|7[B-DF])"
_NAME = r"[A-Za-z0-9_~.+,@!*'()=&$-]"
_NAME_COLON = r"[A-Za-z0-9_~.+,@!*'()=&$:-]"
# A path segment that begins with a dot may be a dot segment, one with `;` may hold a session id: the long way.
_SEGMENT = rf"(?!\.){_NAME_COLON}+(?:{_ESCAPES}{_NAME_COLON}*)*"
_FIRST_SEGMENT = rf"(?!\.){_NAME}+(?:{_ESCAPES}{_NAME}*)*"
_QUERY = rf"\?([A-Za-z0-9_.~!$&()*+,;=:@/?-]+(?:{_ESCAPES}[A-Za-z0-9_.~!$&()*+,;=:@/?-]*)*)"
_END = rf"(?:{_QUERY})?(?:#.*)?"
# A host that parsing would not change: lower case, no Punycode to check, a last label that no IPv4 address ends with.
_SITE = r"https?://(?:(?!xn--)[a-z0-9_-]+\.)+(?!xn--)[a-z]{2,}"
_PLAIN_PATH = re.compile(
    rf"(?:({_SITE})(?=[/?#]|\Z)|(?=/))(?:/((?:{_SEGMENT}(?:/{_SEGMENT})*/?)?))?{_END}", re.DOTALL
).fullmatch
_PLAIN_RELATIVE = re.compile(rf"((?:\.\./)+|\./)?((?:{_FIRST_SEGMENT}(?:/{_SEGMENT})*/?)?){_END}", re.DOTALL).fullmatch
# Certainly not about the page itself: something other than ? and # comes first, and "https:?x" is no exception.
_BY_DIRECTORY = re.compile(r"[\x00-\x20]*(?!https?:(?![/\\]))[^\x00-\x20?#][^\t\n\r]*", re.IGNORECASE).fullmatch

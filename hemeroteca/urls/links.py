"""From the links of a page to canonical URLs and keys: the busiest function of a crawl.

Two things make it cheap. What a relative link means depends on the page's directory only, and pages of one directory
share most of their links: a directory remembers what it resolved. And most links are plain enough to be put together
without a parser (`_Directory._plain`). All others go through `whatwg.join` and `canon`; the
tests hold both ways to the same answers.
"""

import re
from typing import NamedTuple

from hemeroteca.urls import whatwg
from hemeroteca.urls.canon import DEFAULT_RULES, CanonRules, clean_query, key, of_href
from hemeroteca.urls.whatwg import UrlError


class Target(NamedTuple):
    """Where a link leads."""

    url: str
    key: int


def resolve_links(base: str, hrefs: list[str], rules: CanonRules = DEFAULT_RULES) -> list[str | None]:
    """For each `href` on the page `base` its canonical URL, None where it is not a web address."""
    return [target and target.url for target in resolve_targets(base, hrefs, rules)]


def resolve_targets(base: str, hrefs: list[str], rules: CanonRules = DEFAULT_RULES) -> list[Target | None]:
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


def directory(page: str) -> str:
    """The canonical address of the folder a page lies in; empty where plain links cannot be put after it as text."""
    try:
        ancestors = _memory.directory(whatwg.parse(page), DEFAULT_RULES).ancestors
    except UrlError:
        return ""
    return ancestors[-1] if ancestors else ""


# Stand for links whose meaning depends on the whole address of the page, not on its directory.
_PAGE_ITSELF = Target("", 1)
_BY_PAGE = Target("", 2)

_MAX_ENTRIES = 40_000  # links remembered, about 15 MB; then all is forgotten, which costs one parsing of each
_MAX_DIRECTORY = 5_000
_MAX_REMEMBERED = 500  # characters of a link
_DIRECTORY_COST = 5  # a directory weighs about as much as this many links


class _Directory(dict[str, Target | None]):
    """Links met on pages of one directory, and where they lead."""

    def __init__(self, url: str, rules: CanonRules, targets: dict[str, Target]) -> None:
        super().__init__()
        self._url = url
        self._targets = targets
        self._rules = rules
        self.ancestors = _ancestors(url, rules)

    def __missing__(self, href: str) -> Target | None:
        fragment = href.find("#")
        if fragment > 0 and href[fragment - 1] > " ":
            return self[href[:fragment]]
        if fragment == 0 or not href:
            return _PAGE_ITSELF
        target = self._plain(href) or (_resolve(self._url, href, self._rules) if _BY_DIRECTORY(href) else _BY_PAGE)
        if len(href) <= _MAX_REMEMBERED and len(self) < _MAX_DIRECTORY:
            self[href] = target
        return target

    def _plain(self, href: str) -> Target | None:
        """By putting texts together; None when it takes a parser."""
        ancestors = self.ancestors
        if not ancestors or len(href) > _MAX_REMEMBERED:
            return None
        path, mark, query = href.partition("?")
        if mark and not (query and _PLAIN_QUERY(query)):
            return None
        if path.startswith("http"):
            site = _PLAIN_SITE(path)
            if site is None or self._rules.drop_www:
                return None
            directory, path = site[0] + "/", path[site.end() + 1 :]
        elif path.startswith("/"):
            directory, path = ancestors[0], path[1:]
        else:
            up = 0
            while path.startswith("../", up):
                up += 3
            if up:
                directory, path = ancestors[max(0, len(ancestors) - 1 - up // 3)], path[up:]
            elif path and ":" not in path:
                directory = ancestors[-1]
                path = path.removeprefix("./")
            else:
                return None  # "?a=b" is about the page, "mailto:a" about something else
        # A name that begins with a dot may be a dot segment.
        if path and (path[0] in "/." or "/." in path or not _PLAIN_PATH(path)):
            return None
        url = directory + path
        if mark:
            query = clean_query(query, self._rules)
            if query:
                url = f"{url}?{query}"
        target = self._targets.get(url)  # pages of other directories led there too: no need for another key
        if target is None:
            target = self._targets[url] = Target(url, key(url))
        return target


class _Memory:
    """The directories of late, bounded by the links they hold."""

    def __init__(self) -> None:
        self._directories: dict[tuple[str, CanonRules], _Directory] = {}
        self._targets: dict[str, Target] = {}
        self._entries = 0

    def directory(self, page: str, rules: CanonRules) -> _Directory:
        url = (
            page[: page.partition("#")[0].partition("?")[0].rfind("/") + 1]
            if page.startswith(("http://", "https://"))
            else ""
        )
        directory = self._directories.get((url, rules))
        if directory is None:
            directory = self._directories[url, rules] = _Directory(url, rules, self._targets)
            self.grew(_DIRECTORY_COST)
        return directory

    def grew(self, entries: int) -> None:
        self._entries += entries
        if self._entries > _MAX_ENTRIES or len(self._targets) > _MAX_ENTRIES:
            self._directories.clear()
            self._targets.clear()
            self._entries = 0


_memory = _Memory()


def _resolve(base: str, href: str, rules: CanonRules) -> Target | None:
    """The long way, for any text."""
    try:
        absolute = whatwg.join(base, href) if base else whatwg.parse(href)
        if absolute is None:
            return None
        url = of_href(absolute, rules)
    except UrlError:
        return None
    return Target(url, key(url))


def _ancestors(url: str, rules: CanonRules) -> list[str]:
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


# Escapes that are canonical as they stand: upper case, not of an unreserved character. A `;` may begin a session id.
_ESCAPE = r"%(?:[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|[46]0|5[B-E]|7[B-DF])"
_PATH = r"[A-Za-z0-9_~.+,@!*'()=&$:/-]*"
_QUERY = r"[A-Za-z0-9_.~!$&()*+,;=:@/?-]*"
_PLAIN_PATH = re.compile(f"{_PATH}(?:{_ESCAPE}{_PATH})*").fullmatch
_PLAIN_QUERY = re.compile(f"{_QUERY}(?:{_ESCAPE}{_QUERY})*").fullmatch
# A host that parsing would not change: lower case, no Punycode to check, a last label that no IPv4 address ends with.
_PLAIN_SITE = re.compile(r"https?://(?:(?!xn--)[a-z0-9_-]+\.)+(?!xn--)[a-z]{2,}(?=/|\Z)").match
# Certainly not about the page itself: something other than ? and # comes first, and "https:?x" is no exception.
_BY_DIRECTORY = re.compile(r"[\x00-\x20]*(?!https?:(?![/\\]))[^\x00-\x20?#][^\t\n\r]*", re.IGNORECASE).fullmatch

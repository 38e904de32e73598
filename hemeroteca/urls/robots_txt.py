"""robots.txt as RFC 9309 reads it, on protego; and, from `directives`, what single pages say.

Here the file is cut into lines and groups, and the group of one robot is found by the letter of the RFC; protego then
matches the paths. Doing the first part here mends what protego reads otherwise (byte order marks, line ends, names of
several words, names that only begin alike) and bounds the work: in protego a thousand names over a thousand rules are a
million rules.
"""

import re
from typing import NamedTuple

from protego import Protego

from hemeroteca.urls.directives import Directives, directives

__all__ = ["MAX_BYTES", "Directives", "Robots", "directives"]

MAX_BYTES = 500 * 1024  # RFC 9309, 2.5: at least this much must be read


class Robots:
    """What an origin allows. Build it with `Robots.read`."""

    def __init__(self, groups: "list[_Group]", sitemaps: list[str], unreachable: str = "") -> None:
        self._groups = groups
        self._rules: dict[str, _Rules] = {}
        self.unreachable = unreachable  # why nobody knows the rules; '' when they are known
        self.sitemaps = sitemaps

    @property
    def size(self) -> int:
        """Bytes held in memory at most, roughly; a cache of many hosts' rules should count them."""
        return 1000 + 400 * sum(len(group.lines) + len(group.agents) for group in self._groups)

    @classmethod
    def read(cls, status: int, body: bytes, failure: str = "") -> "Robots":
        """From the answer to `GET /robots.txt`, redirects followed (at least five); status 0 when there was none, for
        the reason `failure`.

        2xx: as written. 3xx (too many redirects) and 4xx: there are no rules. 5xx and no answer: nothing is allowed for
        now. 429 counts as 5xx: a server that asks for patience has not said that all is allowed.
        """
        if 200 <= status < 300:
            return cls(*_parse(body))
        if 300 <= status < 500 and status != 429:
            return cls([], [])
        return cls([], [], unreachable=failure or (f"http-{status}" if status else "no answer"))

    def allows(self, url: str, token: str) -> bool:
        """May the robot called `token` (its product token, `hemeroteca`) fetch this URL?"""
        if self.unreachable:
            return False
        rules = self._rules.get(token) or self._for(token)
        try:
            return rules.matcher is None or rules.matcher.can_fetch(url, "*")
        except ValueError:
            return False  # not a URL at all

    def token_for(self, *tokens: str) -> str:
        """The first of a robot's names that the file speaks to; the last when it knows none."""
        named = {agent for group in self._groups for agent in group.agents}
        return next((token for token in tokens if token.lower() in named), tokens[-1])

    def rule(self, url: str, token: str) -> str:
        """The rule that forbids the URL, as the site wrote it, for messages; '' when it is allowed."""
        if self.unreachable:
            return f"robots.txt could not be read ({self.unreachable})"
        if self.allows(url, token):
            return ""
        path = url[url.find("/", 8) :]
        for line in self._for(token).disallows:
            literal = _LITERAL(line, len("Disallow: "))
            # The plain beginning of a rule rules out nearly all; protego decides on the rest.
            if literal and path.startswith(literal[0]) and not _protego([line]).can_fetch(url, "*"):
                return line
        return ""

    def crawl_delay(self, token: str) -> float | None:
        """Seconds between two requests that the site asks for."""
        matcher = self._for(token).matcher
        return matcher.crawl_delay("*") if matcher else None

    def _for(self, token: str) -> "_Rules":
        rules = self._rules.get(token)
        if rules is None:
            rules = _rules(self._groups, token)
            if len(self._rules) < 16:
                self._rules[token] = rules
        return rules


class _Group(NamedTuple):
    agents: set[str]
    lines: list[str]


class _Rules(NamedTuple):
    """Of one robot."""

    matcher: Protego | None  # None: no rules
    disallows: list[str]  # as written, longest first: the first that matches is the one that counts


_LINE = re.compile(r"[\r\n]+")
# Generous where a site's meaning is plain: a colon left out, spelling mistakes that big crawlers accept too.
_USER_AGENT = re.compile(r"user[- ]?agents?\s*(?::|\s)\s*(.*)", re.IGNORECASE).fullmatch
_RULE = re.compile(
    r"(allow|dis+al+[ao]w|diasllow|crawl[- ]?delay|sitemaps?|site-map)\s*(?::|\s)\s*(.*)", re.IGNORECASE
).fullmatch
_LITERAL = re.compile(r"[A-Za-z0-9/_.~-]*").match
_TOKEN = re.compile(r"\*(?=\s|(?:%C2)?%A0|$)|[A-Za-z0-9_-]+").match  # %A0: a no-break space after the asterisk


def _parse(body: bytes) -> tuple[list[_Group], list[str]]:
    groups: list[_Group] = []
    sitemaps: list[str] = []
    naming = False  # in a run of user-agent lines
    for raw in _LINE.split(_text(body)):
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        agent = _USER_AGENT(line)
        if agent:
            if not naming:
                groups.append(_Group(set(), []))
                naming = True
            token = _TOKEN(agent[1])
            if token:
                groups[-1].agents.add(token[0].lower())
            continue
        rule = _RULE(line)
        if rule is None:
            continue  # unknown lines say nothing, not even that a group of names ends
        field, value = rule[1].lower(), rule[2].strip()
        if field.startswith("site"):
            sitemaps.append(value)
            continue
        delay = field.startswith("crawl")
        naming = naming and delay  # no rule by RFC 9309: names that follow belong to the same group
        if value and groups:
            name = "Crawl-delay" if delay else "Allow" if field == "allow" else "Disallow"
            groups[-1].lines.append(f"{name}: {value}")
    return groups, sitemaps


def _text(body: bytes) -> str:
    """Whole lines of the first 500 KiB, bytes beyond ASCII percent-encoded as in a URL."""
    if len(body) > MAX_BYTES:
        # Half a line could say more than the site did: "Disallow: /" of "Disallow: /private".
        body = body[:MAX_BYTES]
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    for mark in (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"):  # Google's parser forgives a byte order mark cut short
        if body.startswith(mark):
            body = body[len(mark) :]
            break
    return _BEYOND_ASCII.sub(lambda byte: f"%{ord(byte[0]):02X}", body.decode("latin-1"))


_BEYOND_ASCII = re.compile(r"[\x80-\xff]")


def _rules(groups: list[_Group], token: str) -> _Rules:
    mine = [group for group in groups if token.lower() in group.agents]
    if not mine:
        mine = [group for group in groups if "*" in group.agents]
    lines = list(dict.fromkeys(line for group in mine for line in group.lines))
    if not lines:
        return _Rules(None, [])
    disallows = sorted((line for line in lines if line.startswith("D")), key=len, reverse=True)
    return _Rules(_protego(lines), disallows)


def _protego(lines: list[str]) -> Protego:
    return Protego.parse("\n".join(["User-agent: *", *lines]))

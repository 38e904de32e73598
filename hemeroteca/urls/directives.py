"""What a page says to robots about itself: the X-Robots-Tag header and, with the same words, `<meta name=robots>`."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

MAX_HEADERS = 50
MAX_LENGTH = 4000  # characters of one header


class Directives(msgspec.Struct, frozen=True):
    """What may not be done with a page. Times are milliseconds since 1970 UTC."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    unavailable_after: int | None = None

    def hidden(self, now_ms: int) -> bool:
        """Not to be shown in search at this time."""
        return self.noindex or (self.unavailable_after is not None and now_ms > self.unavailable_after)


def directives(headers: list[str], token: str) -> Directives:
    """Those that apply to the robot called `token`, of all values of the header (or of one meta element's content)."""
    words: set[str] = set()
    until: int | None = None
    for header in headers[:MAX_HEADERS]:
        for agent, word in _words(header[:MAX_LENGTH]):
            if agent and agent != token.lower():
                continue
            name, _, value = word.partition(":")
            if name.strip() == "unavailable_after":
                time = _time(value.strip())
                until = time if until is None else min(until, time if time is not None else until)
            else:
                words.add(word)
    everything = "none" in words
    return Directives(
        noindex=everything or "noindex" in words,
        nofollow=everything or "nofollow" in words,
        noarchive="noarchive" in words or "nocache" in words,
        unavailable_after=until,
    )


# Directives with a value; any other word before a colon is the name of a robot.
_VALUED = {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
_PLAIN = {
    *("all", "none", "noindex", "nofollow", "noarchive", "nocache", "nosnippet", "noimageindex", "notranslate"),
    *("index", "follow", "archive", "indexifembedded", "noodp", "noydir", "noimageclick"),
}
_NAMED = re.compile(r"([a-z0-9_.*-]+)\s*:\s*(.*)", re.DOTALL).fullmatch


def _words(header: str) -> list[tuple[str, str]]:
    """Pairs of robot ('' for all) and directive. A robot's name holds for the rest of its header."""
    pairs: list[tuple[str, str]] = []
    agent = ""
    for piece in header.lower().split(","):
        text = piece.strip()
        named = _NAMED(text)
        if pairs and _is_rest_of_date(pairs[-1][1], text, named):
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]}, {text}")
            continue
        if named and named[1] not in _VALUED and named[1] not in _PLAIN:
            agent = "" if named[1] == "*" else named[1]
            text = named[2].strip()
        if text:
            pairs.append((agent, text))
    return pairs


def _is_rest_of_date(before: str, text: str, named: re.Match[str] | None) -> bool:
    """Dates have commas too: `unavailable_after: Friday, 25-Jun-10 15:00:00 UTC`."""
    if not before.startswith("unavailable_after") or text in _PLAIN:
        return False
    return named is None or named[1][0].isdigit()


def _time(text: str) -> int | None:
    if len(text) > 64:
        return None
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(text.upper())
            return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None
